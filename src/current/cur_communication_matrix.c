/* SPDX-License-Identifier: Apache-2.0 */
/*
 * communication_matrix.json. Input: PROF_x/analyze/communication_matrix.json and the steps of the
 * operators. Output: links by step, kind, type and group, ranked by bandwidth (analysis-current.md
 * section 8.4).
 */
#include <stdlib.h>
#include <string.h>

#include "current/cur_communication.h"
#include "current/cur_outputs.h"

#include "base/banned.h"

/* One link of one operator. */
struct record {
	struct cur_member link; /* "0-1": {...} */
	struct mp_str op_name;  /* before the first '@' */
	double bandwidth, size, time;
	struct mp_str transport; /* JSON text */
	size_t order;
};

/* Links of one type and group between the same two ranks. */
struct bucket {
	struct mp_str link;
	MP_VEC(struct record) records;
};

struct kind {
	struct mp_str type, group;
	MP_VEC(struct bucket) buckets;
	struct mp_map64 by_link; /* hash of the link -> bucket */
};

/* An operator and its step: UINT32_MAX = in none. */
struct placed {
	uint32_t step, op;
};

struct matrix {
	struct cur_run *run;
	const struct cur_communication *all;
	struct mp_out *out;
	MP_VEC(struct placed) placed; /* by step, then in file order */
	MP_VEC(struct kind) kinds;
	struct mp_map64 by_type; /* hash of type and group -> kind */
};

static const char *const types[] = {"invalid",       "broadcast", "allreduce", "reduce",    "allgather",
				    "reducescatter", "scatter",   "alltoall",  "alltoallv", "alltoallvc"};

/* ---- type and group of a name ---- */

static bool starts(const char *at, size_t left, const char *word)
{
	size_t len = strlen(word);
	size_t i;

	if (left < len)
		return false;
	for (i = 0; i < len; i++)
		if ((at[i] | 0x20) != word[i])
			return false;
	return true;
}

/* The first of the words at the leftmost place where one begins. */
static const char *find_first(struct mp_str name, const char *const *words, size_t n)
{
	size_t at, i;

	for (at = 0; at < name.len; at++)
		for (i = 0; i < n; i++)
			if (starts(name.text + at, name.len - at, words[i]))
				return words[i];
	return NULL;
}

static struct mp_str group_of(struct mp_str name)
{
	const char *at = name.len ? memrchr(name.text, '@', name.len) : NULL;

	return at ? (struct mp_str){at + 1, name.len - (size_t)(at + 1 - name.text)} : name;
}

/* What is left of a name that says nothing: behind the last '/', before "-op", in lower case. */
static bool plain_type(const struct cur_run *run, struct mp_str name, struct mp_str *out)
{
	const char *slash = name.len ? memrchr(name.text, '/', name.len) : NULL;
	const char *op;
	char *lower;
	uint32_t id;
	size_t i;

	if (slash)
		name = (struct mp_str){slash + 1, name.len - (size_t)(slash + 1 - name.text)};
	op = name.len ? memmem(name.text, name.len, "-op", 3) : NULL;
	if (op)
		name.len = (size_t)(op - name.text);
	lower = mp_malloc(name.len + 1);
	if (!lower)
		return false;
	for (i = 0; i < name.len; i++)
		lower[i] = name.text[i] >= 'A' && name.text[i] <= 'Z' ? (char)(name.text[i] | 0x20)
								      : name.text[i];
	id = mp_strtab_add(mp_store_strings(run->store), lower, name.len);
	mp_free(lower);
	*out = mp_store_text(run->store, id);
	return id != MP_STR_NONE;
}

static bool type_of(const struct cur_run *run, struct mp_str name, bool p2p, struct mp_str *out)
{
	static const char *const peers[] = {"receive", "send"};
	const char *found = p2p ? find_first(name, peers, 2) : find_first(name, types, MP_COUNT(types));

	if (!found)
		return plain_type(run, name, out);
	*out = (struct mp_str){found, strlen(found)};
	return true;
}

/* ---- collecting ---- */

static struct kind *kind_of(struct matrix *matrix, struct mp_str type, struct mp_str group)
{
	uint64_t key = mp_hash_bytes(group.text, group.len, mp_hash_bytes(type.text, type.len, 0));
	const uint64_t *found = mp_map64_lookup(&matrix->by_type, key);

	if (found)
		return &matrix->kinds.at[*found];
	if (!mp_map64_put(&matrix->by_type, key, matrix->kinds.len) ||
	    !mp_vec_push(&matrix->kinds, (struct kind){.type = type, .group = group}))
		return NULL;
	return &matrix->kinds.at[matrix->kinds.len - 1];
}

static struct bucket *bucket_of(struct kind *kind, struct mp_str link)
{
	uint64_t key = mp_hash_bytes(link.text, link.len, 0);
	const uint64_t *found = mp_map64_lookup(&kind->by_link, key);

	if (found)
		return &kind->buckets.at[*found];
	if (!mp_map64_put(&kind->by_link, key, kind->buckets.len) ||
	    !mp_vec_push(&kind->buckets, (struct bucket){.link = link}))
		return NULL;
	return &kind->buckets.at[kind->buckets.len - 1];
}

static bool fill_record(struct cur_run *run, struct record *record)
{
	cur_members fields = {0};
	int64_t fault;
	bool good = cur_members_read(run, record->link.value.text, record->link.value.len, &fields, &fault);
	size_t i;

	record->transport = (struct mp_str){"\"\"", 2};
	for (i = 0; good && i < fields.len; i++) {
		struct mp_str value = fields.at[i].value;

		if (mp_str_is(fields.at[i].key, "Transport Type"))
			record->transport = value;
		else if (mp_str_is(fields.at[i].key, "Transit Size(MB)"))
			mp_num_parse_double(value.text, value.len, &record->size);
		else if (mp_str_is(fields.at[i].key, "Transit Time(ms)"))
			mp_num_parse_double(value.text, value.len, &record->time);
		else if (mp_str_is(fields.at[i].key, "Bandwidth(GB/s)"))
			mp_num_parse_double(value.text, value.len, &record->bandwidth);
	}
	mp_vec_release(&fields);
	return good;
}

static bool add_operator(struct matrix *matrix, const struct cur_member *op, bool p2p)
{
	const char *at = op->key.len ? memchr(op->key.text, '@', op->key.len) : NULL;
	struct mp_str type, name = {op->key.text, at ? (size_t)(at - op->key.text) : op->key.len};
	cur_members links = {0};
	struct kind *kind;
	int64_t fault;
	bool good = type_of(matrix->run, op->key, p2p, &type);
	size_t i;

	kind = good ? kind_of(matrix, type, group_of(op->key)) : NULL;
	good = kind && cur_members_read(matrix->run, op->value.text, op->value.len, &links, &fault);
	for (i = 0; good && i < links.len; i++) {
		struct record record = {.link = links.at[i], .op_name = name};
		struct bucket *bucket;

		if (record.link.value.len < 2 || record.link.value.text[0] != '{')
			continue;
		bucket = bucket_of(kind, links.at[i].key);
		good = bucket && fill_record(matrix->run, &record);
		record.order = bucket ? bucket->records.len : 0;
		good = good && mp_vec_push(&bucket->records, record);
	}
	mp_vec_release(&links);
	return good;
}

static int compare_bandwidth(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->bandwidth != y->bandwidth)
		return x->bandwidth > y->bandwidth ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static void release_kinds(struct matrix *matrix)
{
	size_t i, b;

	for (i = 0; i < matrix->kinds.len; i++) {
		for (b = 0; b < matrix->kinds.at[i].buckets.len; b++)
			mp_vec_release(&matrix->kinds.at[i].buckets.at[b].records);
		mp_vec_release(&matrix->kinds.at[i].buckets);
		mp_map64_release(&matrix->kinds.at[i].by_link);
	}
	matrix->kinds.len = 0;
	mp_map64_release(&matrix->by_type);
}

/* ---- text ---- */

static void put_double(struct mp_out *out, double value)
{
	mp_out_double(out, isfinite(value) ? value : 0);
}

static void put_record(struct mp_out *out, const struct record *record)
{
	struct mp_str text = record->link.value;
	size_t len = text.len - 1; /* without the closing brace */
	bool empty;

	while (len && (text.text[len - 1] == ' ' || text.text[len - 1] == '\n' ||
		       text.text[len - 1] == '\t' || text.text[len - 1] == '\r'))
		len--;
	empty = len == 1;
	mp_out_write(out, text.text, len);
	mp_out_str(out, empty ? "\"op_name\": \"" : ", \"op_name\": \"");
	mp_out_write(out, record->op_name.text, record->op_name.len);
	mp_out_str(out, "\"}");
}

static void put_sum(struct mp_out *out, const struct bucket *bucket)
{
	double size = 0, time = 0;
	size_t i;

	for (i = 0; i < bucket->records.len; i++) {
		size += bucket->records.at[i].size;
		time += bucket->records.at[i].time;
	}
	mp_out_str(out, "{\"Transport Type\": ");
	mp_out_write(out, bucket->records.at[0].transport.text, bucket->records.at[0].transport.len);
	mp_out_str(out, ", \"Transit Size(MB)\": ");
	put_double(out, size);
	mp_out_str(out, ", \"Transit Time(ms)\": ");
	put_double(out, time);
	mp_out_str(out, ", \"Bandwidth(GB/s)\": ");
	put_double(out, time != 0 ? cur_round(size / time, 4) : 0);
	mp_out_str(out, "}");
}

/* Which record of n, best first, each rank shows; rank 5 is the sum. */
static size_t place_of(size_t rank, size_t n)
{
	switch (rank) {
	case 0:
		return 0;
	case 1:
		return n / 2;
	case 2:
		return n - 1;
	case 3:
		return n >= 2 ? n - 2 : 0;
	default:
		return n >= 3 ? n - 3 : 0;
	}
}

static void put_kind(struct matrix *matrix, const struct kind *kind, bool *first)
{
	static const char *const ranks[] = {"top1", "middle", "bottom1", "bottom2", "bottom3", "total"};
	struct mp_out *out = matrix->out;
	size_t rank, b;

	for (rank = 0; rank < MP_COUNT(ranks); rank++) {
		mp_out_str(out, *first ? "\"" : ", \"");
		*first = false;
		mp_out_write(out, kind->type.text, kind->type.len);
		mp_out_str(out, "-");
		mp_out_str(out, ranks[rank]);
		mp_out_str(out, "@");
		mp_out_write(out, kind->group.text, kind->group.len);
		mp_out_str(out, "\": {");
		for (b = 0; b < kind->buckets.len; b++) {
			const struct bucket *bucket = &kind->buckets.at[b];

			mp_out_str(out, b ? ", \"" : "\"");
			mp_out_write(out, bucket->link.text, bucket->link.len);
			mp_out_str(out, "\": ");
			if (rank == 5)
				put_sum(out, bucket);
			else
				put_record(out, &bucket->records.at[place_of(rank, bucket->records.len)]);
		}
		mp_out_str(out, "}");
	}
}

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return (x->op > y->op) - (x->op < y->op);
}

/* The step of a link list is that of the communication operator with its name. */
static bool place(struct matrix *matrix)
{
	const struct cur_communication *all = matrix->all;
	uint32_t i;

	for (i = 0; i < all->matrix.len; i++) {
		struct mp_str name = all->matrix.at[i].key;
		const uint64_t *found = mp_map64_lookup(&all->by_name, mp_hash_bytes(name.text, name.len, 0));
		struct placed placed = {.step = found ? all->ops.at[*found].step : UINT32_MAX, .op = i};

		if (!mp_vec_push(&matrix->placed, placed))
			return false;
	}
	if (matrix->placed.len)
		qsort(matrix->placed.at, matrix->placed.len, sizeof(struct placed), compare_placed);
	return true;
}

/* The operators of one kind among placed[begin, end). */
static bool collect(struct matrix *matrix, size_t begin, size_t end, bool p2p)
{
	size_t i, k, b;

	release_kinds(matrix);
	for (i = begin; i < end; i++) {
		const struct cur_member *op = &matrix->all->matrix.at[matrix->placed.at[i].op];

		if (cur_communication_is_p2p(op->key) != p2p || cur_communication_is_total(op->key))
			continue;
		if (!add_operator(matrix, op, p2p))
			return false;
	}
	for (k = 0; k < matrix->kinds.len; k++)
		for (b = 0; b < matrix->kinds.at[k].buckets.len; b++)
			qsort(matrix->kinds.at[k].buckets.at[b].records.at,
			      matrix->kinds.at[k].buckets.at[b].records.len, sizeof(struct record),
			      compare_bandwidth);
	return true;
}

static mp_status put_step(struct matrix *matrix, struct mp_str name, size_t begin, size_t end, mp_err *err)
{
	int p2p;

	if (begin)
		mp_out_str(matrix->out, ", ");
	MP_TRY(cur_communication_put_step(matrix->out, name, err));
	for (p2p = 1; p2p >= 0; p2p--) {
		bool first = true;
		size_t i;

		mp_out_str(matrix->out, p2p ? "\"p2p\": {" : "}, \"collective\": {");
		if (!collect(matrix, begin, end, p2p))
			return mp_err_nomem(err, 0);
		for (i = 0; i < matrix->kinds.len; i++)
			put_kind(matrix, &matrix->kinds.at[i], &first);
	}
	mp_out_str(matrix->out, "}}");
	return MINDPROF_OK;
}

/* Steps that have operators; when no communication operator is in a step, all operators as one step without
 * name. */
static mp_status put_all(struct matrix *matrix, mp_err *err)
{
	const struct cur_communication *all = matrix->all;
	size_t i, begin, end;
	bool any = false;

	for (i = 0; i < all->ops.len && !any; i++)
		any = all->ops.at[i].step != UINT32_MAX;
	mp_out_str(matrix->out, "{");
	if (!any)
		MP_TRY(put_step(matrix, (struct mp_str){"", 0}, 0, matrix->placed.len, err));
	for (begin = 0; any && begin < matrix->placed.len; begin = end) {
		uint32_t step = matrix->placed.at[begin].step;

		for (end = begin; end < matrix->placed.len && matrix->placed.at[end].step == step; end++)
			continue;
		if (step != UINT32_MAX)
			MP_TRY(put_step(matrix, all->steps.at[step], begin, end, err));
	}
	mp_out_str(matrix->out, "}");
	return MINDPROF_OK;
}

static mp_status write_matrix(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	struct matrix matrix = {.run = run, .out = out};
	const struct cur_communication *all;
	mp_status status;

	MP_TRY(cur_load_communication(run, err));
	matrix.all = all = run->communication;
	if (!all->has_matrix || all->lost || (!all->has_input && !cur_corrects(run, CUR_FIX_LOST_OUTPUTS)))
		return MINDPROF_OK;
	status = place(&matrix) ? put_all(&matrix, err) : mp_err_nomem(err, 0);
	release_kinds(&matrix);
	mp_vec_release(&matrix.placed);
	mp_vec_release(&matrix.kinds);
	return status;
}

static bool wanted(const struct cur_run *run)
{
	return run->params.npu;
}

const struct cur_output cur_communication_matrix = {
	.name = "communication_matrix.json",
	.about = "Links between ranks by type and group, ranked by bandwidth.",
	.wanted = wanted,
	.write = write_matrix,
	.original_needs = CUR_NEEDS_TIMELINE,
};
