/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_record.csv and npu_module_mem.csv. Input: memory_record*, npu_mem*, npu_module_mem*.csv of the
 * export, cpu_ms_memory_record_{rank}.txt (analysis-current.md section 8.8).
 */
#include <stdlib.h>
#include <string.h>

#include "current/cur_csv.h"
#include "current/cur_outputs.h"
#include "formats/fmt_cpu.h"

#include "base/banned.h"

enum component { GE, MINDSPORE };

struct record {
	int64_t ts_ns;
	double allocated_kb, reserved_kb, active_kb;
	struct mp_str time, device; /* borrowed from the string table; of GE rows */
	uint32_t order;
	uint8_t component;
};

struct records {
	struct cur_run *run;
	MP_VEC(struct record) at;
	MP_VEC(struct record) app;
};

/* Into the string table, so that it outlives the file. False when memory is out. */
static bool keep(struct cur_run *run, struct mp_str *text)
{
	uint32_t id = mp_strtab_add(mp_store_strings(run->store), text->text, text->len);

	*text = mp_store_text(run->store, id);
	return id != MP_STR_NONE;
}

static struct mp_str without_tab(struct mp_str text)
{
	while (text.len && text.text[text.len - 1] == '\t')
		text.len--;
	return text;
}

static bool number(const struct mp_csv *csv, int column, double *out)
{
	struct mp_str text = cur_csv_field(csv, column);

	return mp_num_parse_double(text.text, text.len, out);
}

static void note_row(const struct records *records, const struct mp_csv *csv, const char *name)
{
	mp_store_note(records->run->store, MP_PROBLEM, "bad-row", name, csv->row_offset,
		      "a row has no time or no number where it should, left out");
}

/* ---- inputs ---- */

static bool take_ge(void *user, const struct mp_csv *csv, const int *columns)
{
	struct records *records = user;
	struct record record = {.component = GE, .order = (uint32_t)records->at.len};
	struct mp_str bare;

	record.time = cur_csv_field(csv, columns[0]);
	record.device = cur_csv_field(csv, columns[3]);
	bare = without_tab(record.time);
	if (!mp_num_parse_scaled(bare.text, bare.len, 3, &record.ts_ns) ||
	    !number(csv, columns[1], &record.allocated_kb) || !number(csv, columns[2], &record.reserved_kb)) {
		note_row(records, csv, "memory_record");
		return true;
	}
	return keep(records->run, &record.time) && keep(records->run, &record.device) &&
	       mp_vec_push(&records->at, record);
}

static bool take_mindspore(void *user, const struct mp_csv *csv, const int *columns)
{
	struct records *records = user;
	struct record record = {.component = MINDSPORE, .order = (uint32_t)records->at.len};
	struct mp_str time = cur_csv_field(csv, columns[0]);

	if (!mp_num_parse_i64(time.text, time.len, &record.ts_ns) ||
	    !number(csv, columns[1], &record.allocated_kb) || !number(csv, columns[2], &record.reserved_kb) ||
	    !number(csv, columns[3], &record.active_kb)) {
		note_row(records, csv, "cpu_ms_memory_record");
		return true;
	}
	record.allocated_kb /= 1024;
	record.reserved_kb /= 1024;
	record.active_kb /= 1024;
	return mp_vec_push(&records->at, record);
}

static bool take_app(void *user, const struct mp_csv *csv, const int *columns)
{
	struct records *records = user;
	struct mp_str event = cur_csv_field(csv, columns[0]);
	struct record record = {0};

	if (!mp_str_is(event, "APP"))
		return true;
	record.time = without_tab(cur_csv_field(csv, columns[2]));
	if (!number(csv, columns[1], &record.reserved_kb)) {
		note_row(records, csv, "npu_mem");
		return true;
	}
	return keep(records->run, &record.time) && mp_vec_push(&records->app, record);
}

static mp_status read_pattern(struct records *records, const char *pattern, const char *const *titles,
			      size_t n, cur_csv_row_fn fn, mp_err *err)
{
	struct cur_run *run = records->run;
	struct cur_file_list files;
	mp_status status;
	size_t i;

	MP_TRY(cur_files_find(&run->exported, pattern, &files, err));
	status = MINDPROF_OK;
	for (i = 0; !status && i < files.names.len; i++)
		status = cur_csv_rows(run, &run->exported, files.names.at[i], titles, n, fn, records, err);
	cur_files_release(&files);
	return status;
}

/* *found: whether the file was there. */
static mp_status read_mindspore(struct records *records, bool *found, mp_err *err)
{
	static const char *const titles[] = {MP_CPU_MEMORY_TIME, MP_CPU_MEMORY_ALLOCATED,
					     MP_CPU_MEMORY_RESERVED, MP_CPU_MEMORY_ACTIVE};
	struct cur_run *run = records->run;
	int32_t rank = *run->params.rank_id ? (int32_t)strtol(run->params.rank_id, NULL, 10) : -1;
	struct mp_ranked_file file;
	mp_status status;

	*found = false;
	if (!run->params.cpu || run->framework.fd < 0)
		return MINDPROF_OK;
	status = mp_ranked_file_find(&run->framework, MP_CPU_MEMORY_PREFIX, MP_CPU_TEXT_SUFFIX, rank, &file);
	if (status)
		return status == MINDPROF_E_NOMEM ? mp_err_nomem(err, 0) : MINDPROF_OK;
	if (rank >= 0 && file.rank != rank) {
		mp_store_note(run->store, MP_WARNING, "memory-of-other-rank", run->framework.path, -1,
			      "there is no memory record of rank %d, that of rank %d is not used", (int)rank,
			      (int)file.rank);
		return MINDPROF_OK;
	}
	*found = true;
	return cur_csv_rows(run, &run->framework, file.name, titles, MP_COUNT(titles), take_mindspore,
			    records, err);
}

static mp_status read_all(struct records *records, mp_err *err)
{
	static const char *const ge_titles[] = {"Timestamp(us)", "Total Allocated(KB)", "Total Reserved(KB)",
						"Device"};
	static const char *const app_titles[] = {"event", "memory(KB)", "timestamp(us)"};
	struct cur_run *run = records->run;
	bool found;

	MP_TRY(read_pattern(records, "memory_record*.csv", ge_titles, MP_COUNT(ge_titles), take_ge, err));
	if (run->params.npu && run->params.found && !records->at.len)
		mp_store_note(run->store, MP_PROBLEM, "no-device-memory-record",
			      run->prof.fd >= 0 ? run->prof.path : run->rank_dir.path, -1,
			      "no memory_record*.csv: memory of the device's pool is not known");
	MP_TRY(read_mindspore(records, &found, err));
	if (!found && run->params.cpu && run->params.npu) {
		mp_store_note(run->store, MP_PROBLEM, "no-memory-record", run->framework.path, -1,
			      "no cpu_ms_memory_record_*.txt: memory of the framework's pool is not known");
		if (!cur_corrects(run, CUR_FIX_LOST_OUTPUTS)) {
			records->at.len = 0;
			return MINDPROF_OK;
		}
	}
	return read_pattern(records, "npu_mem_[0-9]*.csv", app_titles, MP_COUNT(app_titles), take_app, err);
}

/* ---- rows ---- */

static int compare_records(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static void put_device(struct records *records, struct mp_out *out)
{
	const struct cur_params *params = &records->run->params;

	mp_out_str(out, params->npu ? "NPU:" : "CPU:");
	mp_out_str(out, *params->rank_id ? params->rank_id : "0");
}

static void put_time(struct mp_out *out, const struct record *record)
{
	char *to;

	if (record->time.len) {
		struct mp_str bare = without_tab(record->time);

		cur_csv_text(out, bare.text, bare.len);
	} else if ((to = mp_out_reserve(out, MP_NUM_MAX)) != NULL) {
		out->len += mp_num_put_us_short(to, record->ts_ns);
	}
}

static void put_sizes(struct mp_out *out, const struct record *a, const struct record *b)
{
	mp_out_str(out, ",");
	mp_out_double(out, (a->allocated_kb + b->allocated_kb) / 1000);
	mp_out_str(out, ",");
	mp_out_double(out, (a->reserved_kb + b->reserved_kb) / 1000);
	mp_out_str(out, ",");
	mp_out_double(out, (a->active_kb + b->active_kb) / 1000);
	mp_out_str(out, ",");
}

/* The record's own row, and the sum with the last record of the other pool. */
static void put_record(struct records *records, struct mp_out *out, const struct record *record,
		       const struct record *other)
{
	static const struct record nothing;

	mp_out_str(out, record->component == GE ? "GE," : "MindSpore,");
	if (record->component == GE)
		cur_csv_text(out, record->time.text, record->time.len);
	else
		put_time(out, record);
	put_sizes(out, record, &nothing);
	if (record->component == GE)
		cur_csv_text(out, record->device.text, record->device.len);
	else
		put_device(records, out);
	mp_out_str(out, "\r\n");
	if (!records->run->params.npu) /* one pool only */
		return;
	mp_out_str(out, "MindSpore+GE,");
	put_time(out, record);
	put_sizes(out, record, other);
	put_device(records, out);
	mp_out_str(out, "\r\n");
}

static void put_all(struct records *records, struct mp_out *out)
{
	struct record last[2] = {{0}, {0}};
	size_t i;

	if (!records->at.len && !records->app.len)
		return;
	if (records->at.len)
		qsort(records->at.at, records->at.len, sizeof(*records->at.at), compare_records);
	mp_out_str(out, "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),"
			"Device Type\r\n");
	for (i = 0; i < records->at.len; i++) {
		const struct record *record = &records->at.at[i];

		put_record(records, out, record, &last[!record->component]);
		last[record->component] = *record;
	}
	for (i = 0; i < records->app.len; i++) {
		static const struct record nothing;

		mp_out_str(out, "APP,");
		put_time(out, &records->app.at[i]);
		put_sizes(out, &records->app.at[i], &nothing);
		put_device(records, out);
		mp_out_str(out, "\r\n");
	}
}

static mp_status write_memory_record(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	struct records records = {.run = run};
	mp_status status;

	status = read_all(&records, err);
	if (!status)
		put_all(&records, out);
	mp_vec_release(&records.at);
	mp_vec_release(&records.app);
	return status;
}

static bool wanted(const struct cur_run *run)
{
	return (run->params.npu && run->params.profile_memory) ||
	       (!run->params.npu && cur_corrects(run, CUR_FIX_ALL_TARGETS));
}

const struct cur_output cur_memory_record = {
	.name = "memory_record.csv",
	.about = "Memory of the framework's and the device's pools over time.",
	.wanted = wanted,
	.write = write_memory_record,
	.original_needs = CUR_NEEDS_EXPORT,
};

/* ---- npu_module_mem.csv ---- */

struct module_rows {
	struct mp_out *out;
	struct mp_buf rows; /* the header first */
	bool any;
};

static void put_module_row(struct module_rows *rows, const struct mp_csv *csv)
{
	struct mp_csv_out row;
	size_t i;

	mp_csv_out_init(&row, &rows->rows);
	for (i = 0; i < csv->n_fields; i++)
		mp_csv_out_field(&row, csv->fields[i].text, csv->fields[i].len);
	mp_csv_out_end_row(&row);
}

static bool take_module_row(void *user, const struct mp_csv *csv, const int *columns MP_UNUSED)
{
	struct module_rows *rows = user;

	rows->any = true;
	put_module_row(rows, csv);
	if (rows->rows.len > 65536) {
		mp_out_write(rows->out, rows->rows.data, rows->rows.len);
		mp_buf_clear(&rows->rows);
	}
	return !rows->rows.failed;
}

/* The header line of the last file. */
static mp_status put_module_header(struct cur_run *run, const char *name, struct module_rows *rows,
				   mp_err *err)
{
	struct mp_input input;
	struct mp_csv csv;
	mp_status failed = mp_input_open_at(&run->exported, name, run->ctx->max_unpacked, &input, NULL);

	if (failed) /* noted by who reads its rows */
		return failed == MINDPROF_E_NOMEM ? mp_err_nomem(err, 0) : MINDPROF_OK;
	mp_csv_init(&csv, input.data, input.size);
	if (mp_csv_next(&csv))
		put_module_row(rows, &csv);
	failed = csv.failed;
	mp_csv_release(&csv);
	mp_input_close(&input);
	return failed ? mp_err_nomem(err, 0) : MINDPROF_OK;
}

static mp_status write_module_mem(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	struct module_rows rows = {.out = out};
	struct cur_file_list files;
	mp_status status;
	size_t i;

	MP_TRY(cur_files_find(&run->exported, "npu_module_mem*.csv", &files, err));
	status = MINDPROF_OK;
	mp_buf_init(&rows.rows, SIZE_MAX / 8);
	if (files.names.len)
		status = put_module_header(run, files.names.at[files.names.len - 1], &rows, err);
	for (i = 0; !status && i < files.names.len; i++)
		status = cur_csv_rows(run, &run->exported, files.names.at[i], NULL, 0, take_module_row, &rows,
				      err);
	if (rows.any)
		mp_out_write(out, rows.rows.data, rows.rows.len);
	mp_buf_release(&rows.rows);
	cur_files_release(&files);
	return status;
}

static bool module_mem_wanted(const struct cur_run *run)
{
	return run->params.npu && run->params.profile_memory;
}

const struct cur_output cur_npu_module_mem = {
	.name = "npu_module_mem.csv",
	.about = "Memory that components of the device software reserved over time.",
	.wanted = module_mem_wanted,
	.write = write_module_mem,
	.original_needs = CUR_NEEDS_EXPORT,
};
