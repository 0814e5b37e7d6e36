/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions of CPU operators. Input: cpu_op_execute_timestamp_{rank}.txt. Output: a plain array of
 * executions, exact nanoseconds. Document: docs/formats/cpu.md.
 */
#include "readers/rd_cpu_ops.h"

#include "base/mem.h"
#include "base/num.h"
#include "formats/fmt_cpu.h"

#include "base/banned.h"

const struct mp_fault_kind mp_cpu_fault_kinds[MP_CPU_FAULTS] = {
	[MP_CPU_BAD_LINE] = {MP_PROBLEM, "bad-line", "line is not 'name;kind;executions', skipped"},
	[MP_CPU_BAD_ITEM] = {MP_PROBLEM, "bad-item", "execution is not 'start,duration[,worker]', skipped"},
	[MP_CPU_CUT] = {MP_PROBLEM, "truncated", "file ends inside a line, the rest is missing"},
};

struct mp_str mp_cpu_short_name(const char *name, size_t len)
{
	const char *slash = len ? memrchr(name, '/', len) : NULL;
	struct mp_str all = {name, len}, tail;

	if (!slash)
		return all;
	tail.text = slash + 1;
	tail.len = len - (size_t)(tail.text - name);
	return tail;
}

struct mp_str mp_cpu_type_of_name(const char *name, size_t len)
{
	struct mp_str type = mp_cpu_short_name(name, len);
	const char *dash = type.len ? memrchr(type.text, '-', type.len) : NULL;

	if (dash && dash != type.text)
		type.len = (size_t)(dash - type.text);
	return type;
}

/* "start,duration" or "start,duration,worker". */
static bool parse_item(const char *at, const char *end, struct mp_cpu_run *run)
{
	const char *comma = memchr(at, ',', (size_t)(end - at));
	const char *second, *third;
	int64_t stop;

	if (!comma || !mp_num_parse_i64(at, (size_t)(comma - at), &run->start_ns))
		return false;
	second = comma + 1;
	comma = memchr(second, ',', (size_t)(end - second));
	third = comma ? comma + 1 : end;
	if (!mp_num_parse_scaled(second, (size_t)((comma ? comma : end) - second), 6, &run->dur_ns))
		return false;
	run->tid = 0;
	if (comma && !mp_num_parse_i64(third, (size_t)(end - third), &run->tid))
		return false;
	return run->dur_ns >= 0 && run->start_ns >= 0 &&
	       !__builtin_add_overflow(run->start_ns, run->dur_ns, &stop);
}

/* The blank-separated executions of one line. `whole`: the line has its line end. */
static bool read_items(struct mp_cpu_runs *out, const char *at, const char *end, bool whole)
{
	const char *data = (const char *)out->file.data;

	while (at < end) {
		const char *blank = memchr(at, ' ', (size_t)(end - at));
		const char *item_end = blank ? blank : end;
		struct mp_cpu_run run = {.op = (uint32_t)(out->ops.len - 1)};

		if (item_end == at) {
			at++;
			continue;
		}
		if (!blank && !whole)
			return true; /* may be a part of a number: MP_CPU_CUT tells */
		if (!parse_item(at, item_end, &run))
			mp_fault_add(&out->faults[MP_CPU_BAD_ITEM], at - data, 1);
		else if (!mp_vec_push(&out->runs, run))
			return false;
		at = item_end;
	}
	return true;
}

static bool read_line(struct mp_cpu_runs *out, const char *at, const char *end, bool whole)
{
	const char *first = memchr(at, ';', (size_t)(end - at));
	const char *last = memrchr(at, ';', (size_t)(end - at));
	struct mp_cpu_op op = {.name = at, .name_len = first ? (size_t)(first - at) : 0};

	if (!first || first == last || first == at) {
		if (whole)
			mp_fault_add(&out->faults[MP_CPU_BAD_LINE], at - (const char *)out->file.data, 1);
		return true;
	}
	if (out->ops.len >= UINT32_MAX || !mp_vec_push(&out->ops, op))
		return false;
	return read_items(out, last + 1, end, whole);
}

static bool read_lines(struct mp_cpu_runs *out)
{
	const char *at = (const char *)out->file.data, *end = at + out->file.size;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline ? newline : end;
		const char *text_end = line_end > at && line_end[-1] == '\r' ? line_end - 1 : line_end;

		if (!newline)
			mp_fault_add(&out->faults[MP_CPU_CUT], at - (const char *)out->file.data, 1);
		if (text_end > at && !read_line(out, at, text_end, newline != NULL))
			return false;
		at = newline ? newline + 1 : end;
	}
	return true;
}

mp_status mp_cpu_runs_load(const struct mp_dir *framework, int32_t rank, struct mp_cpu_runs *out, mp_err *err)
{
	struct mp_ranked_file found;
	mp_status status;

	memset(out, 0, sizeof(*out));
	out->rank = -1;
	status = mp_ranked_file_find(framework, MP_CPU_TIMESTAMP_PREFIX, MP_CPU_TEXT_SUFFIX, rank, &found);
	if (status == MINDPROF_E_NOMEM)
		return mp_err_nomem(err, 0);
	if (status != MINDPROF_OK)
		return mp_err_set(err, MINDPROF_E_NOT_FOUND, framework->path, -1, "no '%s*%s' here",
				  MP_CPU_TIMESTAMP_PREFIX, MP_CPU_TEXT_SUFFIX);
	out->rank = found.rank;
	out->n_other_files = found.n_others;
	MP_TRY(mp_file_open_at(framework, found.name, &out->file, err));
	if (out->file.size && !read_lines(out))
		return mp_err_nomem(err, out->runs.cap * sizeof(*out->runs.at));
	return MINDPROF_OK;
}

void mp_cpu_runs_release(struct mp_cpu_runs *runs)
{
	mp_vec_release(&runs->ops);
	mp_vec_release(&runs->runs);
	mp_file_close(&runs->file);
}
