/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What MindSpore's CPU profiler leaves: operator executions, their shapes, totals of the memory
 * pool. Input: cpu_*_{rank} in FRAMEWORK/ or in the directory itself. Document: docs/formats/cpu.md.
 */
#include "readers/rd_cpu_ops.h"

#include <assert.h>

#include "base/csv_in.h"
#include "base/mem.h"
#include "base/num.h"
#include "formats/fmt_cpu.h"

#include "base/banned.h"

#define UNIX_NS_MIN 100000000000000000 /* 1973: smaller times count from the start of the machine */

static uint32_t add_process(struct mp_store *store, int32_t rank)
{
	struct mp_process process = {
		.rank = rank,
		.pid = MP_CPU_LAYER_PID,
		.name = mp_store_string(store, MP_CPU_LAYER_NAME),
		.labels = mp_store_string(store, MP_CPU_LAYER_LABELS),
		.sort_index = MP_CPU_LAYER_PID,
	};

	return mp_store_process(store, &process);
}

/* ---- operators ---- */

static uint32_t add_detail(struct mp_store *store, const struct mp_cpu_op *op, uint32_t shapes)
{
	struct mp_str type = mp_cpu_type_of_name(op->name, op->name_len);
	struct mp_detail detail = {
		.type = mp_strtab_add(mp_store_strings(store), type.text, type.len),
		.shapes = shapes,
		.category = mp_store_string(store, MP_CPU_OP_KIND),
		.stream = -1,
	};

	return mp_store_detail(store, &detail);
}

struct op_state { /* what consecutive executions of one operator share */
	uint32_t name, shapes, detail;
	uint32_t track;
	int64_t tid;
};

static bool append_run(struct mp_appender *appender, const struct mp_cpu_run *run,
		       const struct op_state *state)
{
	struct mp_event event = {
		.ts_ns = run->start_ns,
		.a = run->dur_ns,
		.track = state->track,
		.name = state->name,
		.detail = state->detail,
		.cls = MP_CLASS_OPERATOR,
	};

	return mp_append(appender, MP_KIND_RANGE, &event);
}

static bool append_runs(struct mp_appender *appender, const struct mp_cpu_runs *runs,
			const uint32_t *shape_ids, struct mp_store *store)
{
	uint32_t process = add_process(store, runs->rank), last_op = UINT32_MAX;
	struct op_state state = {.track = UINT32_MAX};

	assert(shape_ids);
	if (process == UINT32_MAX)
		return false;
	for (size_t i = 0; i < runs->runs.len; i++) {
		const struct mp_cpu_run *run = &runs->runs.at[i];
		const struct mp_cpu_op *op = &runs->ops.at[run->op];

		if (state.track == UINT32_MAX || state.tid != run->tid) {
			struct mp_track track = {
				process, run->tid, -1, 0, (int32_t)MP_MIN(run->tid, INT32_MAX), 0};

			state.track = mp_store_track(store, &track);
			state.tid = run->tid;
		}
		if (run->op != last_op)
			state.name = mp_strtab_add(mp_store_strings(store), op->name, op->name_len);
		if (run->op != last_op || state.shapes != shape_ids[i]) {
			state.shapes = shape_ids[i];
			state.detail = add_detail(store, op, state.shapes);
		}
		last_op = run->op;
		if (state.name == MP_STR_NONE || state.track == UINT32_MAX || state.detail == UINT32_MAX ||
		    !append_run(appender, run, &state))
			return false;
	}
	return true;
}

static void note_clock(const struct mp_cpu_runs *runs, struct mp_store *store)
{
	if (runs->runs.len && runs->runs.at[0].start_ns < UNIX_NS_MIN)
		mp_store_note(store, MP_INFO, "not-unix-time", runs->file.path, -1,
			      "times count from the start of the machine, not from 1970");
	if (runs->n_other_files)
		mp_store_note(store, MP_WARNING, "several-ranks", runs->file.path, -1,
			      "%u files of other ranks lie beside this one and are not read",
			      runs->n_other_files);
}

static mp_status read_operators(const struct mp_dir *framework, const struct mp_cpu_runs *runs,
				struct mp_appender *appender, struct mp_store *store, mp_err *err)
{
	uint32_t *shape_ids = mp_calloc(runs->runs.len + 1, sizeof(*shape_ids));
	mp_status status = shape_ids ? MINDPROF_OK : mp_err_nomem(err, runs->runs.len * sizeof(*shape_ids));

	if (status == MINDPROF_OK)
		status = mp_cpu_shapes_read(framework, runs, store, shape_ids, err);
	if (status == MINDPROF_OK && runs->runs.len && !append_runs(appender, runs, shape_ids, store))
		status = mp_err_nomem(err, 0);
	mp_free(shape_ids);
	if (status != MINDPROF_OK)
		return status;
	mp_faults_note(store, runs->file.path, runs->faults, mp_cpu_fault_kinds, MP_CPU_FAULTS);
	note_clock(runs, store);
	return mp_cpu_totals_check(framework, runs, store, err);
}

/* ---- memory pool ---- */

static const char *const memory_columns[4] = {MP_CPU_MEMORY_TIME, MP_CPU_MEMORY_ALLOCATED,
					      MP_CPU_MEMORY_RESERVED, MP_CPU_MEMORY_ACTIVE};

static bool memory_row(const struct mp_csv *csv, const int *column, struct mp_event *event)
{
	int64_t value[4];

	for (int i = 0; i < 4; i++) {
		const struct mp_csv_field *field;

		if ((size_t)column[i] >= csv->n_fields)
			return false;
		field = &csv->fields[column[i]];
		if (!mp_num_parse_i64(field->text, field->len, &value[i]))
			return false;
	}
	event->ts_ns = value[0];
	event->a = value[1];
	event->b = value[2];
	event->c = value[3];
	return value[0] >= 0;
}

static bool append_memory(const struct mp_file *file, struct mp_csv *csv, const int *column,
			  struct mp_appender *appender, const struct mp_event *form, struct mp_fault *faults)
{
	const char *data = (const char *)file->data;
	bool whole = data[file->size - 1] == '\n';

	while (mp_csv_next(csv)) {
		struct mp_event event = *form;
		bool last = csv->at == csv->end;

		if (last && !whole)
			mp_fault_add(&faults[MP_CPU_CUT], csv->row_offset, 1);
		else if (!memory_row(csv, column, &event))
			mp_fault_add(&faults[MP_CPU_BAD_ITEM], csv->row_offset, 1);
		else if (!mp_append(appender, MP_KIND_MEMORY_TOTAL, &event))
			return false;
	}
	if (csv->err_text)
		mp_fault_add(&faults[MP_CPU_BAD_LINE], csv->err_offset, 1);
	return csv->failed != MINDPROF_E_NOMEM;
}

static const struct mp_fault_kind memory_fault_kinds[MP_CPU_FAULTS] = {
	[MP_CPU_BAD_LINE] = {MP_PROBLEM, "bad-line", "row is not CSV, the rest is not read"},
	[MP_CPU_BAD_ITEM] = {MP_PROBLEM, "bad-item", "row does not hold four whole numbers, skipped"},
	[MP_CPU_CUT] = {MP_PROBLEM, "truncated", "file ends inside a row, the rest is missing"},
};

static bool read_memory_rows(const struct mp_file *file, int32_t rank, struct mp_appender *appender,
			     struct mp_store *store)
{
	struct mp_fault faults[MP_CPU_FAULTS] = {0};
	struct mp_track track = {.process = add_process(store, rank), .stream = -1, .kind = MP_TRACK_COUNTER};
	struct mp_event form = {0};
	struct mp_csv csv;
	int column[4] = {-1, -1, -1, -1};
	bool ok = true;

	if (track.process == UINT32_MAX)
		return false;
	track.name = form.name = mp_store_string(store, "memory pool");
	if (form.name == MP_STR_NONE)
		return false;
	form.track = mp_store_track(store, &track);
	mp_csv_init(&csv, file->data, file->size);
	if (mp_csv_next(&csv))
		for (int i = 0; i < 4; i++)
			column[i] = mp_csv_column(&csv, memory_columns[i]);
	if (column[0] < 0 || column[1] < 0 || column[2] < 0 || column[3] < 0)
		mp_store_note(store, MP_PROBLEM, "bad-header", file->path, 0,
			      "file has no header line with '%s'", MP_CPU_MEMORY_TIME);
	else
		ok = form.track != UINT32_MAX && append_memory(file, &csv, column, appender, &form, faults);
	mp_csv_release(&csv);
	mp_faults_note(store, file->path, faults, memory_fault_kinds, MP_CPU_FAULTS);
	return ok;
}

static mp_status read_memory(const struct mp_dir *framework, int32_t rank, struct mp_appender *appender,
			     struct mp_store *store, mp_err *err)
{
	struct mp_ranked_file found;
	struct mp_file file = {0};
	bool ok;

	MP_TRY(mp_ranked_file_find(framework, MP_CPU_MEMORY_PREFIX, MP_CPU_TEXT_SUFFIX, rank, &found));
	if (rank >= 0 && found.rank != rank)
		return MINDPROF_OK;
	MP_TRY(mp_file_open_at(framework, found.name, &file, err));
	ok = !file.size || read_memory_rows(&file, found.rank, appender, store);
	mp_file_close(&file);
	return ok ? MINDPROF_OK : mp_err_nomem(err, 0);
}

/* ---- the reader ---- */

/* One of the two parts is enough. */
static mp_status read_parts(const struct mp_dir *framework, struct mp_appender *appender,
			    struct mp_store *store, mp_err *err)
{
	struct mp_cpu_runs runs;
	mp_status operators = mp_cpu_runs_load(framework, -1, &runs, err), memory;
	int32_t rank = operators == MINDPROF_OK ? runs.rank : -1;

	if (operators == MINDPROF_OK)
		operators = read_operators(framework, &runs, appender, store, err);
	else if (operators != MINDPROF_E_NOT_FOUND)
		mp_store_note(store, MP_PROBLEM, "unreadable", framework->path, -1, "cannot read '%s*'",
			      MP_CPU_TIMESTAMP_PREFIX);
	mp_cpu_runs_release(&runs);
	if (operators == MINDPROF_E_NOMEM)
		return operators;
	memory = read_memory(framework, rank, appender, store, operators == MINDPROF_OK ? NULL : err);
	if (memory == MINDPROF_E_NOMEM)
		return mp_err_nomem(err, 0);
	if (memory != MINDPROF_OK && memory != MINDPROF_E_NOT_FOUND)
		mp_store_note(store, MP_PROBLEM, "unreadable", framework->path, -1, "cannot read '%s*'",
			      MP_CPU_MEMORY_PREFIX);
	return memory == MINDPROF_OK ? MINDPROF_OK : operators;
}

static mp_status cpu_read(struct mp_ctx *ctx, const struct mp_source *source, struct mp_store *store,
			  mp_err *err)
{
	struct mp_dir framework;
	struct mp_appender *appender;
	mp_status status, finished;

	(void)ctx;
	MP_TRY(mp_framework_dir_open(source->dir, &framework, err));
	status = mp_appender_new(store, &appender, err);
	if (status == MINDPROF_OK) {
		status = read_parts(&framework, appender, store, err);
		finished = mp_appender_finish(appender, err);
		status = finished != MINDPROF_OK ? finished : status;
	}
	mp_dir_close(&framework);
	return status;
}

static int cpu_recognise(const struct mp_source *source)
{
	static const char kind[] = ";" MP_CPU_OP_KIND ";";
	struct mp_ranked_file found;
	struct mp_dir framework;
	struct mp_file file;
	int score = 0;

	if (source->name || mp_framework_dir_open(source->dir, &framework, NULL) != MINDPROF_OK)
		return 0;
	if (mp_ranked_file_find(&framework, MP_CPU_TIMESTAMP_PREFIX, MP_CPU_TEXT_SUFFIX, -1, &found) ==
		    MINDPROF_OK &&
	    mp_file_open_at(&framework, found.name, &file, NULL) == MINDPROF_OK) {
		size_t head = MP_MIN(file.size, 65536);

		score = head && memmem(file.data, head, kind, sizeof(kind) - 1) ? 90 : 20;
		mp_file_close(&file);
	}
	if (!score && mp_ranked_file_find(&framework, MP_CPU_MEMORY_PREFIX, MP_CPU_TEXT_SUFFIX, -1, &found) ==
			      MINDPROF_OK)
		score = 20;
	mp_dir_close(&framework);
	return score;
}

const struct mp_reader mp_reader_cpu_ops = {
	.name = "cpu-ops",
	.title = "MindSpore CPU operators",
	.recognise = cpu_recognise,
	.read = cpu_read,
};
