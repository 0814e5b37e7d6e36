/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With which input shapes does a kernel run, and how long does it take with each? Input: op_summary_*.csv.
 * One row per kernel, operator type and input shapes. docs/analyses.md, "kernel_shapes".
 */
#include "base/hash.h"
#include "base/num.h"
#include "current/cur_csv.h"
#include "current/cur_tables.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"name", "Kernel", MP_TYPE_TEXT, MP_UNIT_NONE, "Name of the kernel on the device."},
	{"type", "Type", MP_TYPE_TEXT, MP_UNIT_NONE, "Operator type."},
	{"core", "Core", MP_TYPE_TEXT, MP_UNIT_NONE, "What it ran on: AI_CORE, AI_VECTOR_CORE, AI_CPU ..."},
	{"input_shapes", "Input shapes", MP_TYPE_TEXT, MP_UNIT_NONE,
	 "Of each input its sizes, \"8,64;10,64\"; missing when not known."},
	{"count", "Count", MP_TYPE_INT, MP_UNIT_COUNT, "Executions."},
	{"total_ns", "Total", MP_TYPE_INT, MP_UNIT_NS, "Sum of their durations."},
	{"min_ns", "Min", MP_TYPE_INT, MP_UNIT_NS, "Shortest one."},
	{"avg_ns", "Avg", MP_TYPE_INT, MP_UNIT_NS, "Mean, whole nanoseconds."},
	{"max_ns", "Max", MP_TYPE_INT, MP_UNIT_NS, "Longest one."},
};

static const struct mp_table_shape shape = {
	.name = "kernel_shapes",
	.title = "Kernels by input shapes",
	.text = "Count and time of each kernel with each of its input shapes.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

enum { NAME, TYPE, CORE, SHAPES, DURATION, TITLES };

static const char *const titles[TITLES] = {"Op Name", "OP Type", "Task Type", "Input Shapes",
					   "Task Duration(us)"};

struct kernel {
	uint32_t texts[DURATION]; /* string ids */
	int64_t count, total_ns, min_ns, max_ns;
};

struct kernels {
	struct cur_run *run;
	MP_VEC(struct kernel) at;
	struct mp_map64 index; /* hash of the texts -> place */
};

static bool take_texts(struct kernels *kernels, const struct mp_csv *csv, const int *columns_of,
		       struct kernel *out)
{
	int i;

	for (i = 0; i < DURATION; i++) {
		struct mp_str text = cur_csv_field(csv, columns_of[i]);

		/* the shapes carry quotes of their own */
		if (i == SHAPES && text.len >= 2 && text.text[0] == '"' && text.text[text.len - 1] == '"')
			text = (struct mp_str){text.text + 1, text.len - 2};
		if (i == SHAPES && mp_str_is(text, "N/A"))
			text.len = 0;
		out->texts[i] = mp_strtab_add(mp_store_strings(kernels->run->store), text.text, text.len);
		if (out->texts[i] == MP_STR_NONE)
			return false;
	}
	return true;
}

static bool take(void *user, const struct mp_csv *csv, const int *columns_of)
{
	struct mp_str text = cur_csv_field(csv, columns_of[DURATION]);
	struct kernel key = {.min_ns = INT64_MAX};
	struct kernels *kernels = user;
	struct kernel *kernel;
	const uint64_t *found;
	uint64_t hash;
	int64_t dur_ns;

	if (!mp_num_parse_scaled(text.text, text.len, 3, &dur_ns) || dur_ns < 0)
		return true; /* noted by who writes kernel_details.csv */
	if (!take_texts(kernels, csv, columns_of, &key))
		return false;
	hash = mp_hash_bytes(key.texts, sizeof(key.texts), 0);
	found = mp_map64_lookup(&kernels->index, hash);
	if (!found &&
	    (!mp_map64_put(&kernels->index, hash, kernels->at.len) || !mp_vec_push(&kernels->at, key)))
		return false;
	kernel = &kernels->at.at[found ? (size_t)*found : kernels->at.len - 1];
	kernel->count++;
	if (__builtin_add_overflow(kernel->total_ns, dur_ns, &kernel->total_ns))
		kernel->total_ns = INT64_MAX;
	kernel->min_ns = MP_MIN(kernel->min_ns, dur_ns);
	kernel->max_ns = MP_MAX(kernel->max_ns, dur_ns);
	return true;
}

static bool add_row(const struct cur_run *run, const struct kernel *kernel, struct mp_table *out)
{
	struct mp_value *row = mp_table_add_row(out);
	int i;

	for (i = 0; row && i < DURATION; i++) {
		struct mp_str text = mp_store_text(run->store, kernel->texts[i]);

		if (text.len && !mp_value_text(out, &row[i], text.text, text.len))
			return false;
	}
	if (!row)
		return false;
	mp_value_int(&row[DURATION], kernel->count);
	mp_value_int(&row[DURATION + 1], kernel->total_ns);
	mp_value_int(&row[DURATION + 2], kernel->min_ns);
	mp_value_int(&row[DURATION + 3], kernel->total_ns / kernel->count);
	mp_value_int(&row[DURATION + 4], kernel->max_ns);
	return true;
}

static mp_status read_all(struct kernels *kernels, mp_err *err)
{
	struct cur_run *run = kernels->run;
	struct cur_file_list files;
	mp_status status;
	size_t i;

	MP_TRY(cur_files_find(&run->exported, "op_summary_*.csv", &files, err));
	status = MINDPROF_OK;
	for (i = 0; !status && i < files.names.len; i++)
		status = cur_csv_rows(run, &run->exported, files.names.at[i], titles, TITLES, take, kernels,
				      err);
	cur_files_release(&files);
	return status;
}

static mp_status fill(struct cur_run *run, struct mp_table *out, mp_err *err)
{
	struct kernels kernels = {.run = run};
	mp_status status = read_all(&kernels, err);
	size_t i;
	int column;

	for (i = 0; !status && i < kernels.at.len; i++)
		if (!add_row(run, &kernels.at.at[i], out))
			status = mp_err_nomem(err, 0);
	mp_vec_release(&kernels.at);
	mp_map64_release(&kernels.index);
	MP_TRY(status);
	if (!out->n_rows)
		out->empty_reason = "the device tool exported no op_summary";
	for (column = SHAPES; column >= 0; column--)
		MP_TRY(mp_table_sort(out, (size_t)column, false, err));
	return mp_table_sort(out, DURATION + 1, true, err);
}

const struct cur_table cur_table_kernel_shapes = {&shape, fill};
