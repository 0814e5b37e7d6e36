/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input shapes of CPU operators. Input: cpu_framework_{rank}.txt, one line per execution in order
 * of execution, known by short name only. The k-th line of a short name belongs to its k-th
 * execution when their numbers agree; else its forms are joined. Document: docs/formats/cpu.md.
 */
#include "readers/rd_cpu_ops.h"

#include "base/hash.h"
#include "base/mem.h"
#include "formats/fmt_cpu.h"

#include "base/banned.h"

#define JOINED_FORMS_MAX 8u

/* A line or an execution, known by the string id of its short name. */
struct named {
	uint32_t name;
	uint32_t value; /* line: string id of the shapes; execution: index of the run */
	int64_t order;  /* line: number; execution: start */
};
typedef MP_VEC(struct named) named_list;

static int by_name_and_order(const void *left, const void *right)
{
	const struct named *a = left, *b = right;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return a->value < b->value ? -1 : a->value > b->value;
}

/* "input_1:[8, 64];input_2:[];input_3:NoShape;" -> "8,64;". Inputs without shape at the end are left out. */
static void shapes_text(const char *at, const char *end, struct mp_buf *out)
{
	size_t keep = 0;

	mp_buf_clear(out);
	for (bool first = true; at < end; first = false) {
		const char *stop = memchr(at, ';', (size_t)(end - at));
		const char *colon;

		stop = stop ? stop : end;
		colon = memchr(at, ':', (size_t)(stop - at));
		if (!first)
			mp_buf_add_char(out, ';');
		if (colon && colon + 1 < stop && colon[1] == '[') {
			for (const char *p = colon + 2; p < stop && *p != ']'; p++)
				if (*p != ' ')
					mp_buf_add_char(out, *p);
			keep = out->len;
		}
		at = stop + 1;
	}
	if (out->len > keep) {
		out->len = keep;
		out->data[keep] = '\0';
	}
}

static bool add_line(named_list *lines, const char *at, const char *end, struct mp_store *store,
		     struct mp_buf *buf)
{
	const char *field[4] = {at};
	struct named line = {.order = (int64_t)lines->len};

	for (int i = 1; i < 4; i++) {
		const char *semicolon = memchr(field[i - 1], ';', (size_t)(end - field[i - 1]));

		if (!semicolon)
			return true;
		field[i] = semicolon + 1;
	}
	if (field[2] - field[1] <= 1)
		return true; /* ";;id;": a kernel without a name */
	shapes_text(field[3], end, buf);
	line.name = mp_strtab_add(mp_store_strings(store), field[1], (size_t)(field[2] - field[1]) - 1);
	line.value = mp_strtab_add(mp_store_strings(store), mp_buf_str(buf), buf->len);
	if (line.name == MP_STR_NONE || line.value == MP_STR_NONE || buf->failed)
		return false;
	return mp_vec_push(lines, line);
}

static bool read_lines(const struct mp_file *file, struct mp_store *store, named_list *lines)
{
	const char *at = (const char *)file->data, *end = at + file->size;
	struct mp_buf buf;
	bool ok = true;

	mp_buf_init(&buf, file->size + 1);
	while (ok && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		if (!newline)
			break; /* a cut line may lack a part of its shapes */
		ok = add_line(lines, at, newline, store, &buf);
		at = newline + 1;
	}
	mp_buf_release(&buf);
	return ok;
}

/* All distinct forms of the lines, joined. */
static uint32_t joined_forms(const struct named *lines, size_t n, struct mp_store *store)
{
	uint32_t forms[JOINED_FORMS_MAX], id;
	size_t n_forms = 0;
	struct mp_buf buf;

	for (size_t i = 0; i < n && n_forms < JOINED_FORMS_MAX; i++) {
		size_t k = 0;

		while (k < n_forms && forms[k] != lines[i].value)
			k++;
		if (k == n_forms)
			forms[n_forms++] = lines[i].value;
	}
	if (n_forms == 1)
		return forms[0];
	mp_buf_init(&buf, SIZE_MAX / 2);
	for (size_t k = 0; k < n_forms; k++) {
		struct mp_str form = mp_store_text(store, forms[k]);

		mp_buf_add_str(&buf, k ? " | " : "");
		mp_buf_add(&buf, form.text, form.len);
	}
	id = buf.failed ? MP_STR_EMPTY : mp_strtab_add(mp_store_strings(store), mp_buf_str(&buf), buf.len);
	mp_buf_release(&buf);
	return id == MP_STR_NONE ? MP_STR_EMPTY : id;
}

static size_t same_name(const struct named *list, size_t len, size_t from)
{
	size_t n = 1;

	while (from + n < len && list[from + n].name == list[from].name)
		n++;
	return n;
}

/* Both lists are sorted by name: walk them together. */
static void assign(const named_list *lines, const named_list *runs, struct mp_store *store,
		   uint32_t *shape_ids)
{
	size_t at = 0, n_runs, n_lines;

	for (size_t i = 0; i < runs->len; i += n_runs) {
		uint32_t joined = MP_STR_EMPTY;

		n_runs = same_name(runs->at, runs->len, i);
		while (at < lines->len && lines->at[at].name < runs->at[i].name)
			at++;
		n_lines = at < lines->len && lines->at[at].name == runs->at[i].name
				  ? same_name(lines->at, lines->len, at)
				  : 0;
		if (n_lines && n_lines != n_runs)
			joined = joined_forms(&lines->at[at], n_lines, store);
		for (size_t k = 0; k < n_runs; k++)
			shape_ids[runs->at[i + k].value] =
				n_lines == n_runs ? lines->at[at + k].value : joined;
		at += n_lines;
	}
}

static bool name_runs(const struct mp_cpu_runs *runs, struct mp_store *store, named_list *out)
{
	uint32_t *names = mp_malloc((runs->ops.len + 1) * sizeof(*names));
	bool ok = names && mp_vec_reserve(out, runs->runs.len);

	for (size_t i = 0; ok && i < runs->ops.len; i++) {
		struct mp_str name = mp_cpu_short_name(runs->ops.at[i].name, runs->ops.at[i].name_len);

		names[i] = mp_strtab_add(mp_store_strings(store), name.text, name.len);
		ok = names[i] != MP_STR_NONE;
	}
	for (size_t i = 0; ok && i < runs->runs.len; i++)
		out->at[out->len++] =
			(struct named){names[runs->runs.at[i].op], (uint32_t)i, runs->runs.at[i].start_ns};
	mp_free(names);
	return ok;
}

mp_status mp_cpu_shapes_read(const struct mp_dir *framework, const struct mp_cpu_runs *runs,
			     struct mp_store *store, uint32_t *shape_ids, mp_err *err)
{
	struct mp_ranked_file found;
	struct mp_file file = {0};
	named_list lines = {0}, executions = {0};
	mp_status status;
	bool ok;

	memset(shape_ids, 0, runs->runs.len * sizeof(*shape_ids));
	status = mp_ranked_file_find(framework, MP_CPU_FRAMEWORK_PREFIX, MP_CPU_TEXT_SUFFIX, runs->rank,
				     &found);
	if (status == MINDPROF_E_NOMEM)
		return mp_err_nomem(err, 0);
	if (status != MINDPROF_OK || found.rank != runs->rank)
		return MINDPROF_OK;
	MP_TRY(mp_file_open_at(framework, found.name, &file, err));
	ok = !file.size || (read_lines(&file, store, &lines) && name_runs(runs, store, &executions));
	if (ok && lines.len && executions.len) {
		qsort(lines.at, lines.len, sizeof(*lines.at), by_name_and_order);
		qsort(executions.at, executions.len, sizeof(*executions.at), by_name_and_order);
		assign(&lines, &executions, store, shape_ids);
	}
	mp_vec_release(&lines);
	mp_vec_release(&executions);
	mp_file_close(&file);
	return ok ? MINDPROF_OK : mp_err_nomem(err, 0);
}
