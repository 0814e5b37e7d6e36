/* SPDX-License-Identifier: Apache-2.0 */
/* An SQLite file being written. Input: tables and rows. Output: the file, whole or not there. */
#include "current/cur_db_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"

#include "base/banned.h"

/* Nothing else reads the file before it is renamed, and a half-written one is thrown away. */
static const char settings[] =
	"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
	"PRAGMA page_size = 8192; BEGIN;";

static void fail(struct cur_db_out *out, int code)
{
	if (out->failed)
		return;
	if (code == SQLITE_NOMEM)
		out->failed = mp_err_nomem(&out->failure, 0);
	else
		out->failed = mp_err_set(&out->failure, MINDPROF_E_IO, out->dir.path, -1,
					 "cannot write '%s': %s", out->name,
					 out->handle ? sqlite3_errmsg(out->handle) : sqlite3_errstr(code));
}

static void release(struct cur_db_out *out)
{
	sqlite3_close(out->handle);
	out->handle = NULL;
	if (out->dir.path)
		mp_dir_close(&out->dir);
}

/* SQLite takes paths only: the directory is named by its descriptor, so that no link is followed. */
static int open_handle(struct cur_db_out *out)
{
	char path[256];
	int code;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", out->dir.fd, out->tmp_name);
	code = sqlite3_open_v2(path, &out->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	return code ? code : sqlite3_exec(out->handle, settings, NULL, NULL, NULL);
}

mp_status cur_db_open(const struct mp_dir *dir, const char *name, struct cur_db_out *out, mp_err *err)
{
	int fd, code;

	*out = (struct cur_db_out){.dir = {.fd = -1}};
	MP_TRY(mp_file_check_name(name, err));
	MP_TRY(mp_dir_reopen(dir, &out->dir, err));
	snprintf(out->name, sizeof(out->name), "%s", name);
	snprintf(out->tmp_name, sizeof(out->tmp_name), ".%s.%d.tmp", name, (int)getpid());
	unlinkat(out->dir.fd, out->tmp_name, 0);
	fd = openat(out->dir.fd, out->tmp_name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (fd < 0) {
		mp_status status = mp_err_sys(err, errno, out->dir.path, "cannot write '%s'", name);

		release(out);
		return status;
	}
	close(fd);
	code = open_handle(out);
	if (code) {
		fail(out, code);
		return cur_db_commit(out, err);
	}
	return MINDPROF_OK;
}

void cur_db_exec(struct cur_db_out *out, const char *sql)
{
	int code = out->failed ? SQLITE_OK : sqlite3_exec(out->handle, sql, NULL, NULL, NULL);

	if (code)
		fail(out, code);
}

mp_status cur_db_commit(struct cur_db_out *out, mp_err *err)
{
	mp_status status;
	int code;

	cur_db_exec(out, "COMMIT;");
	code = sqlite3_close(out->handle);
	out->handle = NULL;
	if (code)
		fail(out, code);
	if (!out->failed && renameat(out->dir.fd, out->tmp_name, out->dir.fd, out->name))
		out->failed = mp_err_sys(&out->failure, errno, out->dir.path, "cannot write '%s'", out->name);
	status = out->failed;
	if (status && err)
		*err = out->failure;
	cur_db_abort(out);
	return status;
}

void cur_db_abort(struct cur_db_out *out)
{
	if (out->dir.path)
		unlinkat(out->dir.fd, out->tmp_name, 0);
	release(out);
}

/* ---- rows ---- */

static int count_columns(const char *columns)
{
	int n = 1;

	for (; *columns; columns++)
		n += *columns == ',';
	return n;
}

/* INSERT INTO table VALUES (?, ?, ?); */
static void prepare(struct cur_db_rows *rows, const char *table)
{
	struct mp_buf sql;
	int i, code;

	mp_buf_init(&sql, 1 << 16);
	mp_buf_printf(&sql, "INSERT INTO %s VALUES (", table);
	for (i = 0; i < rows->n_columns; i++)
		mp_buf_add_str(&sql, i ? ", ?" : "?");
	mp_buf_add_str(&sql, ");");
	code = sql.failed ? SQLITE_NOMEM
			  : sqlite3_prepare_v3(rows->out->handle, sql.data, -1, SQLITE_PREPARE_PERSISTENT,
					       &rows->insert, NULL);
	if (code)
		fail(rows->out, code);
	mp_buf_release(&sql);
}

void cur_db_table(struct cur_db_out *out, const char *table, const char *columns, struct cur_db_rows *rows)
{
	char *sql = mp_asprintf("CREATE TABLE %s (%s);", table, columns);

	*rows = (struct cur_db_rows){.out = out, .n_columns = count_columns(columns)};
	if (sql)
		cur_db_exec(out, sql);
	else
		fail(out, SQLITE_NOMEM);
	mp_free(sql);
	if (!out->failed)
		prepare(rows, table);
}

static void check(struct cur_db_rows *rows, int code)
{
	if (code != SQLITE_OK && code != SQLITE_DONE)
		fail(rows->out, code);
}

void cur_db_int(struct cur_db_rows *rows, int64_t value)
{
	if (rows->insert)
		check(rows, sqlite3_bind_int64(rows->insert, ++rows->at, value));
}

void cur_db_double(struct cur_db_rows *rows, double value)
{
	if (rows->insert) /* SQLite stores NaN as NULL */
		check(rows,
		      sqlite3_bind_double(rows->insert, ++rows->at, value - value == 0 ? value : 0.0 / 0.0));
}

void cur_db_text(struct cur_db_rows *rows, struct mp_str text)
{
	size_t valid = mp_utf8_valid_prefix(text.text, text.len);

	if (!rows->insert)
		return;
	if (text.len > INT32_MAX)
		text.len = INT32_MAX;
	if (valid < text.len) /* the rest cannot be told */
		text.len = valid;
	check(rows, sqlite3_bind_text(rows->insert, ++rows->at, text.len ? text.text : "", (int)text.len,
				      SQLITE_TRANSIENT));
}

void cur_db_null(struct cur_db_rows *rows)
{
	if (rows->insert)
		check(rows, sqlite3_bind_null(rows->insert, ++rows->at));
}

void cur_db_row_end(struct cur_db_rows *rows)
{
	rows->at = 0;
	rows->n_rows++;
	if (!rows->insert || rows->out->failed)
		return;
	check(rows, sqlite3_step(rows->insert));
	check(rows, sqlite3_reset(rows->insert));
}

void cur_db_rows_end(struct cur_db_rows *rows)
{
	sqlite3_finalize(rows->insert);
	rows->insert = NULL;
}
