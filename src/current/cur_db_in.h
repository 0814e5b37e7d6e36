/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database of the device tool, read (cur_db_in.c). It may be damaged or made to do harm: it is opened read-only, its
 * schema is not trusted, and what cannot be read is noted and left out.
 */
#ifndef MP_CUR_DB_IN_H
#define MP_CUR_DB_IN_H

#include <sqlite3.h>

#include "current/cur.h"

struct cur_db_in {
	struct cur_run *run; /* borrowed; takes the notes */
	sqlite3 *handle;     /* owned */
	char *path;          /* owned; for notes */
};

/* *found is false when there is no such file or it is no database, which is noted. Failure: memory. */
mp_status cur_db_in_open(struct cur_run *run, const struct mp_dir *dir, const char *name, struct cur_db_in *out,
			 bool *found, mp_err *err);
void cur_db_in_close(struct cur_db_in *in);

/* Whether there is a table, and in it a column (NULL = any). */
bool cur_db_has(const struct cur_db_in *in, const char *table, const char *column);

/* False when memory is out. */
typedef bool (*cur_db_row_fn)(void *user, sqlite3_stmt *row);
/* Calls fn for every row; a query that ends early is noted. Failure: memory. */
mp_status cur_db_query(struct cur_db_in *in, const char *sql, cur_db_row_fn fn, void *user, mp_err *err);

/* Cells; NULL is 0 or "". The text is valid until the next row. */
static inline int64_t cur_db_get_int(sqlite3_stmt *row, int column)
{
	return sqlite3_column_int64(row, column);
}

static inline struct mp_str cur_db_get_text(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	return text ? (struct mp_str){text, (size_t)sqlite3_column_bytes(row, column)} : (struct mp_str){"", 0};
}

#endif
