/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cross-check: the counts and total times that cpu_op_detail_info and cpu_op_type_info give must be
 * those of the executions. Input: the two CSV files. Output: notes. Document: docs/formats/cpu.md.
 */
#include "readers/rd_cpu_ops.h"

#include <assert.h>
#include <inttypes.h>

#include "base/csv_in.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/num.h"
#include "formats/fmt_cpu.h"

#include "base/banned.h"

struct total {
	int64_t count;
	int64_t dur_ns; /* saturates */
	bool listed;
};

struct totals {
	struct mp_map64 index; /* string id of the name -> index */
	MP_VEC(struct total) list;
};

struct totals_file {
	const char *prefix;
	const char *name_column, *count_column, *total_column;
	struct mp_str (*name_of)(const char *name, size_t len); /* of an operator's full name */
};

static struct mp_str full_name(const char *name, size_t len)
{
	return (struct mp_str){name, len};
}

static const struct totals_file totals_files[] = {
	{MP_CPU_DETAIL_PREFIX, MP_CPU_DETAIL_NAME, MP_CPU_DETAIL_COUNT, MP_CPU_DETAIL_TOTAL, full_name},
	{MP_CPU_TYPE_PREFIX, MP_CPU_TYPE_NAME, MP_CPU_TYPE_COUNT, MP_CPU_TYPE_TOTAL, mp_cpu_type_of_name},
};

static bool totals_fill(struct totals *totals, const struct mp_cpu_runs *runs, const struct totals_file *what,
			struct mp_store *store)
{
	uint32_t *slots = mp_malloc((runs->ops.len + 1) * sizeof(*slots));
	bool ok = slots != NULL;

	for (size_t i = 0; ok && i < runs->ops.len; i++) {
		struct mp_str name = what->name_of(runs->ops.at[i].name, runs->ops.at[i].name_len);
		uint32_t id = mp_strtab_add(mp_store_strings(store), name.text, name.len);
		uint64_t *slot = mp_map64_lookup(&totals->index, id);

		slots[i] = slot ? (uint32_t)*slot : (uint32_t)totals->list.len;
		if (!slot)
			ok = id != MP_STR_NONE && mp_vec_push(&totals->list, (struct total){0}) &&
			     mp_map64_put(&totals->index, id, slots[i]);
	}
	for (size_t i = 0; ok && i < runs->runs.len; i++) {
		struct total *total = &totals->list.at[slots[runs->runs.at[i].op]];

		total->count++;
		if (__builtin_add_overflow(total->dur_ns, runs->runs.at[i].dur_ns, &total->dur_ns))
			total->dur_ns = INT64_MAX;
	}
	mp_free(slots);
	return ok;
}

/* Each execution and the total are printed with 6 digits; the original adds in single precision. */
static bool close_enough(double listed_ms, const struct total *total)
{
	double ms = (double)total->dur_ns / 1e6;
	double slack = ms * (2e-5 + 1e-7 * (double)total->count) + 1e-6;

	return listed_ms >= ms - slack && listed_ms <= ms + slack;
}

static bool field_is(const struct mp_csv *csv, int column, double *out)
{
	return mp_num_parse_double(csv->fields[column].text, csv->fields[column].len, out);
}

/* One row against the executions; true when they agree. */
static bool row_agrees(const struct mp_csv *csv, const int *column, struct totals *totals,
		       struct mp_store *store)
{
	const struct mp_csv_field *name = &csv->fields[column[0]];
	uint32_t id = mp_strtab_lookup(mp_store_strings(store), name->text, name->len);
	uint64_t *slot = id == MP_STR_NONE ? NULL : mp_map64_lookup(&totals->index, id);
	double count, total_ms;
	struct total *total;

	if (!slot)
		return false;
	assert(totals->list.at);
	total = &totals->list.at[*slot];
	total->listed = true;
	return field_is(csv, column[1], &count) && field_is(csv, column[2], &total_ms) &&
	       count == (double)total->count && close_enough(total_ms, total);
}

static void compare_rows(const struct mp_file *file, const struct totals_file *what, struct totals *totals,
			 struct mp_store *store)
{
	struct mp_fault odd = {0};
	size_t n_columns, n_missing = 0;
	struct mp_csv csv;
	int column[3] = {-1, -1, -1};

	mp_csv_init(&csv, file->data, file->size);
	if (mp_csv_next(&csv)) {
		column[0] = mp_csv_column(&csv, what->name_column);
		column[1] = mp_csv_column(&csv, what->count_column);
		column[2] = mp_csv_column(&csv, what->total_column);
	}
	n_columns = csv.n_fields;
	if (column[0] < 0 || column[1] < 0 || column[2] < 0) {
		mp_store_note(store, MP_WARNING, "bad-header", file->path, 0,
			      "file has no header line with '%s'", what->name_column);
		mp_csv_release(&csv);
		return;
	}
	while (mp_csv_next(&csv))
		if (csv.n_fields != n_columns || !row_agrees(&csv, column, totals, store))
			mp_fault_add(&odd, csv.row_offset, 1);
	if (csv.err_text)
		mp_fault_add(&odd, csv.err_offset, 1);
	mp_csv_release(&csv);
	for (size_t i = 0; i < totals->list.len; i++)
		n_missing += !totals->list.at[i].listed && totals->list.at[i].count > 0;
	if (odd.count || n_missing)
		mp_store_note(store, MP_WARNING, "totals-differ", file->path,
			      odd.count ? odd.first_offset : -1,
			      "counts or times of %" PRIu64
			      " rows differ from the recorded executions, %zu are missing",
			      odd.count, n_missing);
}

mp_status mp_cpu_totals_check(const struct mp_dir *framework, const struct mp_cpu_runs *runs,
			      struct mp_store *store, mp_err *err)
{
	for (size_t i = 0; i < MP_COUNT(totals_files); i++) {
		const struct totals_file *what = &totals_files[i];
		struct totals totals = {0};
		struct mp_ranked_file found;
		struct mp_file file = {0};
		mp_status status =
			mp_ranked_file_find(framework, what->prefix, MP_CPU_CSV_SUFFIX, runs->rank, &found);
		bool ok = true;

		if (status == MINDPROF_E_NOMEM)
			return mp_err_nomem(err, 0);
		if (status != MINDPROF_OK || found.rank != runs->rank ||
		    mp_file_open_at(framework, found.name, &file, NULL) != MINDPROF_OK)
			continue;
		ok = totals_fill(&totals, runs, what, store);
		if (ok)
			compare_rows(&file, what, &totals, store);
		mp_map64_release(&totals.index);
		mp_vec_release(&totals.list);
		mp_file_close(&file);
		if (!ok)
			return mp_err_nomem(err, 0);
	}
	return MINDPROF_OK;
}
