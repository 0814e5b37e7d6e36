/* SPDX-License-Identifier: Apache-2.0 */
/* A database of the device tool, read. Input: an SQLite file. Output: rows of queries. */
#include "current/cur_db_in.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define MAX_CELL (64 << 20) /* bytes of one text */

/* For a file that somebody else made: no functions with side effects, every page checked. */
static const char settings[] =
	"PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
	"PRAGMA temp_store = FILE; PRAGMA query_only = ON;";

static void note(struct cur_db_in *in, int code)
{
	mp_store_note(in->run->store, MP_PROBLEM, "bad-database", in->path, -1,
		      "the database cannot be read: %s",
		      in->handle ? sqlite3_errmsg(in->handle) : sqlite3_errstr(code));
}

/* Like the other readers, no link is followed below the run: the file is named by an open descriptor's
 * directory. */
static mp_status check_file(struct cur_db_in *in, const struct mp_dir *dir, const char *name, bool *found,
			    mp_err *err)
{
	mp_err failure = {0};
	struct mp_file file;
	mp_status status = mp_file_open_at(dir, name, &file, &failure);

	*found = false;
	if (status == MINDPROF_E_NOT_FOUND)
		return MINDPROF_OK;
	if (status)
		return cur_go_on_without(in->run, dir->path, status, &failure, err);
	*found = file.size >= 16 && !memcmp(file.data, "SQLite format 3", 16);
	if (!*found)
		mp_store_note(in->run->store, MP_PROBLEM, "bad-database", file.path, 0,
			      "this is no SQLite database");
	mp_file_close(&file);
	return MINDPROF_OK;
}

mp_status cur_db_in_open(struct cur_run *run, const struct mp_dir *dir, const char *name,
			 struct cur_db_in *out, bool *found, mp_err *err)
{
	char uri[512];
	int code;

	*out = (struct cur_db_in){.run = run};
	MP_TRY(check_file(out, dir, name, found, err));
	if (!*found)
		return MINDPROF_OK;
	out->path = mp_path_join(dir->path, name);
	if (!out->path)
		return mp_err_nomem(err, strlen(name));
	snprintf(uri, sizeof(uri), "/proc/self/fd/%d/%s", dir->fd, name);
	code = sqlite3_open_v2(uri, &out->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
	if (!code) {
		sqlite3_limit(out->handle, SQLITE_LIMIT_LENGTH, MAX_CELL);
		sqlite3_db_config(out->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		code = sqlite3_exec(out->handle, settings, NULL, NULL, NULL);
	}
	if (!code)
		return MINDPROF_OK;
	*found = false;
	if (code != SQLITE_NOMEM)
		note(out, code);
	cur_db_in_close(out);
	return code == SQLITE_NOMEM ? mp_err_nomem(err, 0) : MINDPROF_OK;
}

void cur_db_in_close(struct cur_db_in *in)
{
	sqlite3_close(in->handle);
	mp_free(in->path);
	*in = (struct cur_db_in){0};
}

bool cur_db_has(const struct cur_db_in *in, const char *table, const char *column)
{
	sqlite3_stmt *statement = NULL;
	char sql[256];
	int code;

	snprintf(sql, sizeof(sql), "SELECT %s FROM %s LIMIT 0;", column ? column : "1", table);
	code = sqlite3_prepare_v2(in->handle, sql, -1, &statement, NULL);
	sqlite3_finalize(statement);
	return code == SQLITE_OK;
}

mp_status cur_db_query(struct cur_db_in *in, const char *sql, cur_db_row_fn fn, void *user, mp_err *err)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(in->handle, sql, -1, &statement, NULL);
	bool good = true;

	if (!code)
		while (good && (code = sqlite3_step(statement)) == SQLITE_ROW)
			good = fn(user, statement);
	if (good && code != SQLITE_DONE && code != SQLITE_OK && code != SQLITE_NOMEM)
		note(in, code);
	sqlite3_finalize(statement);
	return good && code != SQLITE_NOMEM ? MINDPROF_OK : mp_err_nomem(err, 0);
}
