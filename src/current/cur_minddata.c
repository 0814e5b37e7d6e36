/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data pipeline. Input: FRAMEWORK/pipeline_profiling, minddata_cpu_utilization, device_queue_profiling
 * and dataset_iterator_profiling of the rank. Output: struct cur_pipeline (analysis-current.md section
 * 5.4, raw-host.md section 5).
 */
#include <stdlib.h>
#include <string.h>

#include "current/cur_json.h"
#include "current/cur_minddata.h"

#include "base/banned.h"

#define MAX_OPS 100000u

/* ---- JSON ---- */

static bool integer(struct mp_str text, int64_t *out)
{
	return mp_num_parse_i64(text.text, text.len, out);
}

typedef bool (*element_fn)(void *user, struct mp_str text);

/* The elements of a JSON array text; other values have none. False when fn was. */
static bool each(struct mp_str text, element_fn fn, void *user)
{
	enum mp_json_type type;
	struct mp_json json;

	mp_json_init(&json, text.text, text.len);
	if (mp_json_next(&json) != MP_JSON_ARRAY)
		return true;
	while ((type = mp_json_next(&json)) != MP_JSON_ARRAY_END && type != MP_JSON_ERROR &&
	       type != MP_JSON_END) {
		if ((type == MP_JSON_OBJECT || type == MP_JSON_ARRAY) && !mp_json_skip(&json, type))
			return true;
		if (!fn(user, (struct mp_str){json.text, json.len}))
			return false;
	}
	return true;
}

static bool push_integer(void *user, struct mp_str text)
{
	struct cur_pipeline_op *op = user;
	int64_t value;

	return !integer(text, &value) || mp_vec_push(&op->sizes, value);
}

static bool push_child(void *user, struct mp_str text)
{
	struct cur_pipeline_op *op = user;
	int64_t value;

	return !integer(text, &value) || mp_vec_push(&op->children, value);
}

typedef bool (*member_fn)(void *user, const struct cur_member *member);

/* False when memory is out. */
static bool each_member(struct cur_run *run, struct mp_str text, member_fn fn, void *user)
{
	cur_members members = {0};
	int64_t fault;
	bool good = cur_members_read(run, text.text, text.len, &members, &fault);
	size_t i;

	for (i = 0; good && i < members.len; i++)
		good = fn(user, &members.at[i]);
	mp_vec_release(&members);
	return good;
}

/* ---- pipeline ---- */

struct loading {
	struct cur_run *run;
	struct cur_pipeline *out;
	const struct mp_input *input;
};

struct op_reading {
	struct cur_run *run;
	struct cur_pipeline_op op;
};

static bool take_queue(void *user, const struct cur_member *member)
{
	struct op_reading *reading = user;

	if (mp_str_is(member->key, "length"))
		integer(member->value, &reading->op.queue_length);
	return !mp_str_is(member->key, "size") || each(member->value, push_integer, &reading->op);
}

static bool take_metrics(void *user, const struct cur_member *member)
{
	struct op_reading *reading = user;

	if (!mp_str_is(member->key, "output_queue") || !member->value.len || member->value.text[0] != '{')
		return true;
	reading->op.has_queue = true;
	return each_member(reading->run, member->value, take_queue, reading);
}

static bool take_op_member(void *user, const struct cur_member *member)
{
	struct op_reading *reading = user;
	struct mp_str value = member->value;
	uint32_t id;

	if (mp_str_is(member->key, "op_id"))
		integer(value, &reading->op.id);
	else if (mp_str_is(member->key, "num_workers"))
		integer(value, &reading->op.n_workers);
	else if (mp_str_is(member->key, "children"))
		return each(value, push_child, &reading->op);
	else if (mp_str_is(member->key, "metrics"))
		return each_member(reading->run, value, take_metrics, reading);
	else if (mp_str_is(member->key, "op_type") && value.len >= 2) {
		id = mp_strtab_add(mp_store_strings(reading->run->store), value.text + 1, value.len - 2);
		reading->op.type = mp_store_text(reading->run->store, id);
		return id != MP_STR_NONE;
	}
	return true;
}

static void release_op(struct cur_pipeline_op *op)
{
	mp_vec_release(&op->sizes);
	mp_vec_release(&op->children);
}

static bool take_op(void *user, struct mp_str text)
{
	struct loading *loading = user;
	struct op_reading reading = {loading->run, {.id = -1, .parent = -1, .type = {"", 0}}};
	bool good = each_member(loading->run, text, take_op_member, &reading);

	if (good && loading->out->ops.len == MAX_OPS)
		mp_store_note(loading->run->store, MP_PROBLEM, "many-operations", loading->input->file.path,
			      text.text - (const char *)loading->input->data,
			      "the pipeline has more than %u operations, the rest is left out", MAX_OPS);
	else if (good && reading.op.id >= 0) {
		good = mp_vec_push(&loading->out->ops, reading.op);
		if (good)
			return true;
	}
	release_op(&reading.op);
	return good;
}

static bool take_pipeline_member(void *user, const struct cur_member *member)
{
	struct loading *loading = user;
	uint32_t id;

	if (mp_str_is(member->key, "op_info"))
		return each(member->value, take_op, loading);
	if (!mp_str_is(member->key, "sampling_interval"))
		return true;
	id = mp_strtab_add(mp_store_strings(loading->run->store), member->value.text, member->value.len);
	loading->out->interval = mp_store_text(loading->run->store, id);
	return id != MP_STR_NONE;
}

static int compare_ids(const void *a, const void *b)
{
	const struct cur_pipeline_op *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

const struct cur_pipeline_op *cur_pipeline_op(const struct cur_pipeline *pipeline, int64_t id)
{
	struct cur_pipeline_op key = {.id = id};

	if (!pipeline->ops.len)
		return NULL;
	return bsearch(&key, pipeline->ops.at, pipeline->ops.len, sizeof(key), compare_ids);
}

static void set_parents(struct cur_pipeline *pipeline)
{
	size_t i, c;

	for (i = 0; i < pipeline->ops.len; i++)
		for (c = 0; c < pipeline->ops.at[i].children.len; c++) {
			struct cur_pipeline_op *child = (struct cur_pipeline_op *)cur_pipeline_op(
				pipeline, pipeline->ops.at[i].children.at[c]);

			if (child)
				child->parent = pipeline->ops.at[i].id;
		}
}

/* What makes the file unusable; NULL = it is fine. */
static const char *fault_of(const struct cur_pipeline *pipeline)
{
	size_t i;

	if (!pipeline->ops.len || pipeline->ops.at[0].id != 0)
		return "there is no operation 0";
	if (!pipeline->interval.len)
		return "there is no sampling interval";
	for (i = 0; i < pipeline->ops.len; i++) {
		if (i && pipeline->ops.at[i].id == pipeline->ops.at[i - 1].id)
			return "two operations have the same id";
		if (pipeline->ops.at[i].has_queue && pipeline->ops.at[i].queue_length <= 0)
			return "a queue has no length";
	}
	return NULL;
}

/* ---- processor use ---- */

struct cpu_reading {
	struct cur_run *run;
	int64_t id;
	double sum;
	uint64_t n_values, n_samples;
};

static bool add_use(void *user, struct mp_str text)
{
	struct cpu_reading *reading = user;
	double value;

	if (mp_num_parse_double(text.text, text.len, &value))
		reading->sum += value;
	reading->n_values++;
	return true;
}

static bool take_use(void *user, const struct cur_member *member)
{
	struct cpu_reading *reading = user;

	if (!mp_str_is(member->key, "sys_utilization") && !mp_str_is(member->key, "user_utilization"))
		return true;
	reading->n_values = 0;
	each(member->value, add_use, reading);
	reading->n_samples = MP_MAX(reading->n_samples, reading->n_values);
	return true;
}

static bool take_cpu_op_member(void *user, const struct cur_member *member)
{
	struct cpu_reading *reading = user;

	if (mp_str_is(member->key, "op_id"))
		integer(member->value, &reading->id);
	return !mp_str_is(member->key, "metrics") ||
	       each_member(reading->run, member->value, take_use, reading);
}

static bool take_cpu_op(void *user, struct mp_str text)
{
	struct loading *loading = user;
	struct cpu_reading reading = {.run = loading->run, .id = -1};
	struct cur_pipeline_op *op;

	if (!each_member(loading->run, text, take_cpu_op_member, &reading))
		return false;
	if (reading.id < 0)
		return true;
	loading->out->n_cpu_ops++;
	op = (struct cur_pipeline_op *)cur_pipeline_op(loading->out, reading.id);
	if (op) {
		op->cpu_sum = reading.sum;
		op->n_cpu = reading.n_samples;
	}
	return true;
}

static bool take_cpu_member(void *user, const struct cur_member *member)
{
	return !mp_str_is(member->key, "op_info") || each(member->value, take_cpu_op, user);
}

/* ---- times of batches ---- */

/* Up to 5 integers of a line; returns how many there are. */
static size_t split_line(const char *at, const char *end, int64_t *values)
{
	size_t n = 0;

	while (n < 5) {
		const char *begin;

		while (at < end && (*at == ' ' || *at == '\r'))
			at++;
		begin = at;
		while (at < end && *at != ' ' && *at != '\r')
			at++;
		if (at == begin || !mp_num_parse_i64(begin, (size_t)(at - begin), &values[n]))
			break;
		n++;
	}
	return n;
}

static void add_time(struct cur_pipeline *out, size_t list, int64_t value)
{
	out->times_ms[list] += (double)value;
	out->n_times[list]++;
}

static void read_times(struct cur_pipeline *out, const struct mp_input *input)
{
	const char *at = (const char *)input->data, *end = at + input->size;
	int64_t previous = 0, took;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		int64_t v[5]; /* type, extra, batch, value, time */
		size_t n = split_line(at, newline ? newline : end, v);

		at = newline ? newline + 1 : end;
		if (n < 5)
			continue;
		if (v[2] < 2) {
			previous = v[4];
		} else if (v[0] == 0 && v[1] >= 0 && v[1] < 3) {
			add_time(out, (size_t)v[1], v[3]);
		} else if (v[0] == 1 && !out->is_device_queue) {
			if (!__builtin_sub_overflow(v[4], previous, &took))
				add_time(out, 2, took);
			previous = v[4];
		}
	}
}

/* ---- files ---- */

/* *found is false when there is no such file, or none that can be read, which is noted. */
static mp_status open_file(struct cur_run *run, const char *prefix, const char *suffix,
			   struct mp_input *input, bool *found, mp_err *err)
{
	const char *id = run->params.npu ? run->params.rank_id : run->params.device_id;
	struct mp_ranked_file file;
	int32_t rank = *id ? (int32_t)strtol(id, NULL, 10) : -1;
	mp_err failure = {0};
	mp_status status;

	*found = false;
	if (run->framework.fd < 0)
		return MINDPROF_OK;
	status = mp_ranked_file_find(&run->framework, prefix, suffix, rank, &file);
	if (status)
		return status == MINDPROF_E_NOMEM ? mp_err_nomem(err, 0) : MINDPROF_OK;
	status = mp_input_open_at(&run->framework, file.name, run->ctx->max_unpacked, input, &failure);
	*found = !status;
	return status ? cur_go_on_without(run, run->framework.path, status, &failure, err) : MINDPROF_OK;
}

static mp_status read_json(struct loading *loading, member_fn fn, mp_err *err)
{
	const struct mp_input *input = loading->input;
	cur_members members = {0};
	int64_t fault;
	bool good = cur_members_read(loading->run, (const char *)input->data, input->size, &members, &fault);
	size_t i;

	if (good && fault >= 0) {
		mp_store_note(loading->run->store, MP_PROBLEM, "bad-json", input->file.path, fault,
			      "no valid JSON here, the file is not used");
		members.len = 0;
	}
	for (i = 0; good && i < members.len; i++)
		good = fn(loading, &members.at[i]);
	mp_vec_release(&members);
	return good ? MINDPROF_OK : mp_err_nomem(err, 0);
}

static mp_status load_pipeline(struct loading *loading, mp_err *err)
{
	struct cur_pipeline *out = loading->out;
	const char *fault;

	MP_TRY(read_json(loading, take_pipeline_member, err));
	if (out->ops.len)
		qsort(out->ops.at, out->ops.len, sizeof(*out->ops.at), compare_ids);
	set_parents(out);
	fault = fault_of(out);
	out->found = !fault;
	if (fault)
		mp_store_note(loading->run->store, MP_PROBLEM, "bad-pipeline", loading->input->file.path, -1,
			      "%s", fault);
	return MINDPROF_OK;
}

static mp_status load_cpu(struct loading *loading, mp_err *err)
{
	struct cur_pipeline *out = loading->out;
	struct mp_input input;
	mp_status status;
	bool found;

	MP_TRY(open_file(loading->run, "minddata_cpu_utilization_", ".json", &input, &found, err));
	if (!found) {
		mp_store_note(loading->run->store, MP_PROBLEM, "no-pipeline-cpu",
			      loading->run->framework.path, -1,
			      "no 'minddata_cpu_utilization_*.json' is beside pipeline_profiling: the use of "
			      "processors is not known");
		return MINDPROF_OK;
	}
	loading->input = &input;
	status = read_json(loading, take_cpu_member, err);
	out->has_cpu = out->n_cpu_ops > 0;
	mp_input_close(&input);
	return status;
}

static mp_status load_times(struct loading *loading, mp_err *err)
{
	struct cur_pipeline *out = loading->out;
	struct mp_input input;
	bool found;

	MP_TRY(open_file(loading->run, "device_queue_profiling_", ".txt", &input, &found, err));
	out->is_device_queue = found;
	if (!found)
		MP_TRY(open_file(loading->run, "dataset_iterator_profiling_", ".txt", &input, &found, err));
	out->has_times = found;
	if (!found) {
		mp_store_note(
			loading->run->store, MP_PROBLEM, "no-pipeline-times", loading->run->framework.path,
			-1,
			"neither 'device_queue_profiling_*.txt' nor 'dataset_iterator_profiling_*.txt' is "
			"beside pipeline_profiling: the times of batches are not known");
		return MINDPROF_OK;
	}
	read_times(out, &input);
	mp_input_close(&input);
	return MINDPROF_OK;
}

static mp_status load(struct cur_run *run, struct cur_pipeline *out, mp_err *err)
{
	struct mp_input input;
	struct loading loading = {run, out, &input};
	mp_status status;
	bool found;

	MP_TRY(open_file(run, "pipeline_profiling_", ".json", &input, &found, err));
	if (!found)
		return MINDPROF_OK;
	status = load_pipeline(&loading, err);
	mp_input_close(&input);
	if (status || !out->found)
		return status;
	if (!cur_pipeline_find_feeders(out))
		return mp_err_nomem(err, out->ops.len * sizeof(*out->feeders));
	MP_TRY(load_cpu(&loading, err));
	return load_times(&loading, err);
}

mp_status cur_load_pipeline(struct cur_run *run, mp_err *err)
{
	struct cur_pipeline *pipeline;
	mp_status status;

	if (run->pipeline)
		return MINDPROF_OK;
	pipeline = mp_calloc(1, sizeof(*pipeline));
	if (!pipeline)
		return mp_err_nomem(err, sizeof(*pipeline));
	status = load(run, pipeline, err);
	if (status)
		cur_pipeline_free(pipeline);
	else
		run->pipeline = pipeline;
	return status;
}

void cur_pipeline_free(struct cur_pipeline *pipeline)
{
	size_t i;

	if (!pipeline)
		return;
	for (i = 0; i < pipeline->ops.len; i++)
		release_op(&pipeline->ops.at[i]);
	mp_vec_release(&pipeline->ops);
	mp_free(pipeline->feeders);
	mp_free(pipeline);
}

double cur_pipeline_queue_mean(const struct cur_pipeline_op *op)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < op->sizes.len; i++)
		sum += (double)op->sizes.at[i];
	return op->sizes.len ? sum / (double)op->sizes.len : 0;
}
