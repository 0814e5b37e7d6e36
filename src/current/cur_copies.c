/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables that the device tool exported and that go into the results as they are. Input:
 * PROF_x/mindstudio_profiler_output/<prefix>_*.csv. Output: <name>.csv (analysis-current.md section 8.3).
 */
#include <string.h>

#include "base/hash.h"
#include "current/cur_csv.h"
#include "current/cur_outputs.h"

#include "base/banned.h"

/* A slice is a part of one table: <prefix>_slice_<i>_<stamp>.csv; the parts share a header. */
static bool is_slice(const char *name, const char *prefix)
{
	return !strncmp(name + strlen(prefix), "_slice_", 7);
}

/* What is written of one table. */
struct table {
	struct cur_run *run;
	struct mp_out *out;
	uint64_t header_hash; /* of the first part */
	bool begun;           /* a part was written */
	bool open_line;       /* and it had no line end */
};

/* Behind the first line. */
static const uint8_t *after_header(const struct mp_input *input)
{
	const uint8_t *newline = input->size ? memchr(input->data, '\n', input->size) : NULL;

	return newline ? newline + 1 : input->data + input->size;
}

static size_t count_cells(const uint8_t *from, const uint8_t *end, bool *good)
{
	struct mp_csv csv;
	size_t n;

	mp_csv_init(&csv, from, (size_t)(end - from));
	n = mp_csv_next(&csv) ? csv.n_fields : 0;
	*good &= !csv.failed;
	mp_csv_release(&csv);
	return n;
}

/* Notes a file that ends inside a line; its bytes are copied all the same. False when memory is out. */
static bool check_end(struct table *table, const struct mp_input *input)
{
	const uint8_t *end = input->data + input->size, *newline, *last;
	bool good = true;

	table->open_line = input->size && end[-1] != '\n';
	if (!table->open_line)
		return true;
	newline = memrchr(input->data, '\n', input->size);
	last = newline ? newline + 1 : input->data;
	cur_csv_is_cut(table->run, input, last - input->data, count_cells(last, end, &good),
		       count_cells(input->data, end, &good));
	return good;
}

/* Whether a further part of a table has its columns; notes it when not. */
static bool belongs(struct table *table, const struct mp_input *input)
{
	uint64_t hash = mp_hash_bytes(input->data, (size_t)(after_header(input) - input->data), 0);

	if (!table->begun)
		table->header_hash = hash;
	if (hash == table->header_hash)
		return true;
	mp_store_note(table->run->store, MP_PROBLEM, "other-columns", input->file.path, 0,
		      "columns differ from those of the first part of the table: left out");
	return false;
}

static mp_status copy_file(struct table *table, const char *name, mp_err *err)
{
	struct cur_run *run = table->run;
	struct mp_input input;
	mp_err failure = {0};
	const uint8_t *from;
	bool good = true;
	mp_status status = mp_input_open_at(&run->exported, name, run->ctx->max_unpacked, &input, &failure);

	if (status)
		return cur_go_on_without(run, run->exported.path, status, &failure, err);
	cur_note_damage(run, &input);
	if (!input.size && !input.damage)
		mp_store_note(run->store, MP_PROBLEM, "truncated", input.file.path, 0, "file is empty");
	if (input.size && belongs(table, &input)) {
		from = table->begun ? after_header(&input) : input.data;
		if (table->open_line)
			mp_out_str(table->out, "\n");
		mp_out_write(table->out, from, input.size - (size_t)(from - input.data));
		table->begun = true;
		good = check_end(table, &input);
	}
	mp_input_close(&input);
	return good ? MINDPROF_OK : mp_err_nomem(err, 0);
}

/* The stamp at the end of "hbm_20250705072100000.csv". */
static const char *stamp_of(const char *name)
{
	const char *last = strrchr(name, '_');

	return last ? last : name;
}

static size_t choose(const struct cur_run *run, const struct cur_file_list *list)
{
	size_t best = 0, i;

	for (i = 1; cur_corrects(run, CUR_FIX_NEWEST_FILE) && i < list->names.len; i++)
		if (strcmp(stamp_of(list->names.at[i]), stamp_of(list->names.at[best])) > 0)
			best = i;
	return best;
}

mp_status cur_copy_table(struct cur_run *run, const char *prefix, const char *pattern, struct mp_out *out,
			 mp_err *err)
{
	struct table table = {.run = run, .out = out};
	struct cur_file_list list;
	mp_status status = MINDPROF_OK;
	bool slices;
	size_t i;

	MP_TRY(cur_files_find(&run->exported, pattern, &list, err));
	if (!list.names.len && run->exported.fd >= 0 && strstr(prefix, "_statistic"))
		mp_store_note(run->store, MP_PROBLEM, "no-statistic", run->exported.path, -1,
			      "no '%s': every export has one", pattern);
	slices = list.names.len > 1 && is_slice(list.names.at[0], prefix) &&
		 cur_corrects(run, CUR_FIX_LOST_OUTPUTS);
	if (list.names.len && !slices) {
		size_t chosen = choose(run, &list);

		if (list.names.len > 1)
			mp_store_note(run->store, MP_INFO, "several-files", run->exported.path, -1,
				      "%zu files are called '%s', '%s' is used", list.names.len, pattern,
				      list.names.at[chosen]);
		status = copy_file(&table, list.names.at[chosen], err);
	}
	for (i = 0; slices && !status && i < list.names.len; i++)
		if (is_slice(list.names.at[i], prefix))
			status = copy_file(&table, list.names.at[i], err);
	cur_files_release(&list);
	return status;
}

static bool wanted(const struct cur_run *run)
{
	return run->params.npu;
}

#define COPY(object, prefix, pattern, result, text)                                           \
	static mp_status write_##object(struct cur_run *run, struct mp_out *out, mp_err *err) \
	{                                                                                     \
		return cur_copy_table(run, prefix, pattern, out, err);                        \
	}                                                                                     \
	const struct cur_output cur_##object = {                                              \
		.name = result,                                                               \
		.about = text,                                                                \
		.wanted = wanted,                                                             \
		.write = write_##object,                                                      \
		.original_needs = CUR_NEEDS_TIMELINE,                                         \
	}

COPY(api_statistic, "api_statistic", "api_statistic_*.csv", "api_statistic.csv",
     "Calls of host interfaces by name.");
COPY(static_op_mem, "static_op_mem", "static_op_mem_*.csv", "static_op_mem.csv",
     "Memory of operators as the graph planned it.");
COPY(l2_cache, "l2_cache", "l2_cache_*.csv", "l2_cache.csv", "Hits in the L2 cache by task.");
COPY(hbm, "hbm", "hbm_*.csv", "hbm.csv", "Bandwidth of the device memory.");
COPY(pcie, "pcie", "pcie_*.csv", "pcie.csv", "Bandwidth of PCIe.");
COPY(hccs, "hccs", "hccs_*.csv", "hccs.csv", "Bandwidth of the links between devices.");
COPY(nic, "nic", "nic_*.csv", "nic.csv", "Traffic of the network cards.");
COPY(roce, "roce", "roce_*.csv", "roce.csv", "Traffic of RoCE.");
COPY(data_preprocess, "aicpu", "aicpu_[0-9]*.csv", "data_preprocess.csv", "Operators on the AI CPU.");
