/* SPDX-License-Identifier: Apache-2.0 */
/* CSV cells straight into an output file: minimal quoting, CRLF (analysis-current.md section 2.2). */
#ifndef MP_CUR_CSV_H
#define MP_CUR_CSV_H

#include "current/cur.h"

void cur_csv_text(struct mp_out *out, const char *text, size_t len);

#define CUR_CSV_TITLES 32 /* at most */

/* A CSV file of the export by column titles (cur_csv.c). */
typedef bool (*cur_csv_row_fn)(void *user, const struct mp_csv *csv, const int *columns);
/*
 * Calls fn for every row behind the header with the places of n titles, -1 = not there. A fault is noted and the
 * rows around it are used. Failure: memory (also when fn is false).
 */
mp_status cur_csv_rows(struct cur_run *run, const struct mp_dir *dir, const char *name, const char *const *titles,
		       size_t n, cur_csv_row_fn fn, void *user, mp_err *err);

/*
 * For the last row of a file that has no line end: notes that the file may be cut. True when cells are missing, so
 * that the row is not to be used.
 */
bool cur_csv_is_cut(struct cur_run *run, const struct mp_input *input, int64_t row_offset, size_t n_cells,
		    size_t n_titles);

/* The table <prefix>_* of the export as it is, nothing when there is none (cur_copies.c). Failure: memory. */
mp_status cur_copy_table(struct cur_run *run, const char *prefix, const char *pattern, struct mp_out *out,
			 mp_err *err);

static inline struct mp_str cur_csv_field(const struct mp_csv *csv, int column)
{
	if (column < 0 || (size_t)column >= csv->n_fields)
		return (struct mp_str){"", 0};
	return (struct mp_str){csv->fields[column].text, csv->fields[column].len};
}

/* "Task Type" of the rows of op_summary that are communication operators and no tasks; HCCL before CANN 8. */
static inline bool cur_is_communication(struct mp_str task_type)
{
	return mp_str_is(task_type, "COMMUNICATION") || mp_str_is(task_type, "HCCL");
}

#endif
