/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An SQLite file being written: one transaction into a temporary name, renamed at the end (cur_db_out.c). The first
 * failure sticks, so that a long run of rows needs one check at the end.
 */
#ifndef MP_CUR_DB_OUT_H
#define MP_CUR_DB_OUT_H

#include <sqlite3.h>

#include "base/file.h"
#include "current/cur.h"

struct cur_db_out {
	sqlite3 *handle; /* owned */
	struct mp_dir dir; /* owned */
	char name[128], tmp_name[160];
	mp_status failed;
	mp_err failure; /* of it */
};

/* After a failure *out is empty, so that closing it is harmless. */
mp_status cur_db_open(const struct mp_dir *dir, const char *name, struct cur_db_out *out, mp_err *err);
/* Statements without results. */
void cur_db_exec(struct cur_db_out *out, const char *sql);
/* Ends the transaction and renames; or, after a failure, removes the file and tells the failure. Closes. */
mp_status cur_db_commit(struct cur_db_out *out, mp_err *err);
/* Removes the file and closes; safe after commit. */
void cur_db_abort(struct cur_db_out *out);

/* Rows of one table, value by value. */
struct cur_db_rows {
	struct cur_db_out *out;
	sqlite3_stmt *insert; /* owned; NULL after a failure */
	int n_columns, at;
	uint64_t n_rows;
};

/* Makes the table from its columns, "name TYPE, name TYPE", and gets ready for its rows. */
void cur_db_table(struct cur_db_out *out, const char *table, const char *columns, struct cur_db_rows *rows);
void cur_db_int(struct cur_db_rows *rows, int64_t value);
/* NULL when it is not finite. */
void cur_db_double(struct cur_db_rows *rows, double value);
/* Copied; what is no UTF-8 is replaced. */
void cur_db_text(struct cur_db_rows *rows, struct mp_str text);
void cur_db_null(struct cur_db_rows *rows);
void cur_db_row_end(struct cur_db_rows *rows);
void cur_db_rows_end(struct cur_db_rows *rows);

#endif
