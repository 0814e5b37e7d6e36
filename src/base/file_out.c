/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffered output: a temporary file beside the final name that is renamed at commit, or a
 * descriptor that is already open. The first failure sticks and is reported by commit.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/num.h"

#include "base/banned.h"

#define BUFFER_BYTES ((size_t)256 * 1024)
#define RESERVE_MAX ((size_t)64 * 1024)
#define TMP_FLAGS (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
#define TMP_TRIES 100
#define TMP_NAME_BYTES 200 /* of the final name that the temporary name repeats */

/* Counts temporary names of this process. */
static atomic_uint tmp_counter;

static void release(struct mp_out *out)
{
	bool is_file = out->tmp_name != NULL;

	if (is_file && out->fd >= 0)
		close(out->fd);
	if (is_file && out->dir_fd >= 0)
		close(out->dir_fd);
	mp_free(out->name);
	mp_free(out->tmp_name);
	mp_free(out->path);
	mp_free(out->data);
	memset(out, 0, sizeof(*out));
	out->fd = out->dir_fd = -1;
}

static void fail(struct mp_out *out, int errnum)
{
	if (out->failed)
		return;
	out->errnum = errnum;
	out->failed = errnum == ENOMEM ? MINDPROF_E_NOMEM : MINDPROF_E_IO;
}

/* What stands under the final name must be absent, or (overwrite) a regular file. */
static mp_status check_final_name(const struct mp_out *out, mp_err *err)
{
	struct stat st;

	if (fstatat(out->dir_fd, out->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno == ENOENT)
			return MINDPROF_OK;
		return mp_err_sys(err, errno, out->path, "cannot write '%s'", out->path);
	}
	if (!S_ISREG(st.st_mode))
		return mp_err_set(err, MINDPROF_E_UNSUPPORTED, out->path, -1,
				  "cannot write '%s': it exists and is not a regular file", out->path);
	if (!out->overwrite)
		return mp_err_sys(err, EEXIST, out->path, "cannot write '%s'", out->path);
	return MINDPROF_OK;
}

static mp_status open_tmp(struct mp_out *out, mp_err *err)
{
	int errnum = EEXIST;

	for (int tries = 0; tries < TMP_TRIES && (errnum == EEXIST || errnum == EINTR); tries++) {
		char *tmp_name = mp_asprintf(".%.*s.%ld.%u.tmp", TMP_NAME_BYTES, out->name, (long)getpid(),
					     atomic_fetch_add(&tmp_counter, 1));

		if (!tmp_name)
			return mp_err_nomem(err, strlen(out->name) + 32);
		out->fd = openat(out->dir_fd, tmp_name, TMP_FLAGS, 0640);
		if (out->fd >= 0) {
			out->tmp_name = tmp_name;
			return MINDPROF_OK;
		}
		errnum = errno;
		mp_free(tmp_name);
	}
	return mp_err_sys(err, errnum, out->path, "cannot write '%s'", out->path);
}

/* Takes over path. */
static mp_status open_out(int dir_fd, const char *name, char *path, struct mp_out *out, mp_err *err)
{
	mp_status status;

	out->path = path;
	out->name = mp_strdup(name);
	out->data = mp_malloc(BUFFER_BYTES);
	out->cap = BUFFER_BYTES;
	if (!path || !out->name || !out->data) {
		release(out);
		return mp_err_nomem(err, BUFFER_BYTES);
	}
	/* A copy, because the caller may close the directory before the commit. */
	out->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	if (out->dir_fd < 0)
		status = mp_err_sys(err, errno, path, "cannot write '%s'", path);
	else
		status = check_final_name(out, err);
	if (status == MINDPROF_OK)
		status = open_tmp(out, err);
	if (status != MINDPROF_OK) {
		if (out->dir_fd >= 0)
			close(out->dir_fd);
		release(out);
	}
	return status;
}

static void init(struct mp_out *out, bool overwrite)
{
	memset(out, 0, sizeof(*out));
	out->fd = out->dir_fd = -1;
	out->overwrite = overwrite;
}

mp_status mp_out_open_at(const struct mp_dir *dir, const char *name, bool overwrite, struct mp_out *out,
			 mp_err *err)
{
	init(out, overwrite);
	MP_TRY(mp_file_check_name(name, err));
	return open_out(dir->fd, name, mp_path_join(dir->path, name), out, err);
}

mp_status mp_out_open(const char *path, bool overwrite, struct mp_out *out, mp_err *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	struct mp_dir dir;
	mp_status status;
	char *parent;

	init(out, overwrite);
	if (mp_file_check_name(name, NULL) != MINDPROF_OK)
		return mp_err_set(err, MINDPROF_E_ARGUMENT, path, -1,
				  "cannot write '%s': it does not name a file", path);
	if (!slash)
		parent = mp_strdup(".");
	else
		parent = mp_strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (!parent)
		return mp_err_nomem(err, strlen(path) + 1);
	status = mp_dir_open(parent, &dir, err);
	mp_free(parent);
	if (status != MINDPROF_OK)
		return mp_err_wrap(err, status, path, "cannot write '%s'", path);
	status = open_out(dir.fd, name, mp_strdup(path), out, err);
	mp_dir_close(&dir);
	return status;
}

mp_status mp_out_open_fd(int fd, const char *shown_name, struct mp_out *out, mp_err *err)
{
	init(out, false);
	out->path = mp_strdup(shown_name);
	out->data = mp_malloc(BUFFER_BYTES);
	out->cap = BUFFER_BYTES;
	if (!out->path || !out->data) {
		release(out);
		return mp_err_nomem(err, BUFFER_BYTES);
	}
	out->fd = fd;
	return MINDPROF_OK;
}

/* Writes all bytes to the descriptor, however small its portions. */
static void write_all(struct mp_out *out, const char *bytes, size_t len)
{
	while (len && !out->failed) {
		ssize_t n = write(out->fd, bytes, len);

		if (n >= 0) {
			bytes += n;
			len -= (size_t)n;
			out->written += (uint64_t)n;
		} else if (errno == EAGAIN) {
			struct pollfd wait = {.fd = out->fd, .events = POLLOUT};

			/* Somebody made standard output non-blocking. */
			if (poll(&wait, 1, -1) < 0 && errno != EINTR)
				fail(out, errno);
		} else if (errno != EINTR) {
			fail(out, errno);
		}
	}
}

static void flush(struct mp_out *out)
{
	write_all(out, out->data, out->len);
	out->len = 0;
}

char *mp_out_reserve(struct mp_out *out, size_t len)
{
	if (out->failed || len > RESERVE_MAX)
		return NULL;
	if (len > out->cap - out->len)
		flush(out);
	return out->failed ? NULL : out->data + out->len;
}

void mp_out_write_slow_(struct mp_out *out, const void *bytes, size_t len)
{
	if (out->failed || !len)
		return;
	flush(out);
	if (len >= out->cap)
		write_all(out, bytes, len);
	else
		mp_out_write(out, bytes, len);
}

/* A text too long for the buffer goes through memory of its own. */
static MP_PRINTF(3, 0) void write_long_text(struct mp_out *out, size_t len, const char *fmt, va_list args)
{
	char *text = mp_malloc(len + 1);

	if (!text) {
		fail(out, ENOMEM);
		return;
	}
	vsnprintf(text, len + 1, fmt, args);
	mp_out_write(out, text, len);
	mp_free(text);
}

void mp_out_i64(struct mp_out *out, int64_t value)
{
	char *to = mp_out_reserve(out, MP_NUM_MAX);

	if (to)
		out->len += mp_num_put_i64(to, value);
}

void mp_out_us3(struct mp_out *out, int64_t ns)
{
	char *to = mp_out_reserve(out, MP_NUM_MAX);

	if (to)
		out->len += mp_num_put_us3(to, ns);
}

void mp_out_double(struct mp_out *out, double value)
{
	char *to = mp_out_reserve(out, MP_NUM_MAX);

	if (to)
		out->len += mp_num_put_double(to, value);
}

void mp_out_printf(struct mp_out *out, const char *fmt, ...)
{
	va_list args;
	char *to;
	int len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0) {
		fail(out, errno);
		return;
	}
	if (out->failed)
		return;
	va_start(args, fmt);
	if ((size_t)len >= RESERVE_MAX) {
		write_long_text(out, (size_t)len, fmt, args);
	} else {
		to = mp_out_reserve(out, (size_t)len + 1);
		if (to) {
			vsnprintf(to, (size_t)len + 1, fmt, args);
			out->len += (size_t)len;
		}
	}
	va_end(args);
}

/* Gives the finished temporary file its final name, never over something that is not a regular file. */
static mp_status move_into_place(struct mp_out *out, mp_err *err)
{
	int result;

	MP_TRY(check_final_name(out, err));
	if (out->overwrite) {
		result = renameat(out->dir_fd, out->tmp_name, out->dir_fd, out->name);
	} else {
		result = renameat2(out->dir_fd, out->tmp_name, out->dir_fd, out->name, RENAME_NOREPLACE);
		if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {
			/* This file system or kernel cannot: a hard link does not replace either. */
			result = linkat(out->dir_fd, out->tmp_name, out->dir_fd, out->name, 0);
			if (result == 0)
				unlinkat(out->dir_fd, out->tmp_name, 0);
		}
	}
	if (result != 0)
		return mp_err_sys(err, errno, out->path, "cannot write '%s'", out->path);
	return MINDPROF_OK;
}

mp_status mp_out_commit(struct mp_out *out, mp_err *err)
{
	mp_status status = MINDPROF_OK;

	flush(out);
	if (out->tmp_name) {
		/* Some file systems report a full disk only here. */
		if (close(out->fd) != 0 && errno != EINTR)
			fail(out, errno);
		out->fd = -1;
	}
	if (out->failed)
		status = mp_err_sys(err, out->errnum, out->path, "cannot write '%s'", out->path);
	else if (out->tmp_name)
		status = move_into_place(out, err);
	if (status != MINDPROF_OK)
		mp_out_abort(out);
	else
		release(out);
	return status;
}

void mp_out_abort(struct mp_out *out)
{
	if (out->tmp_name)
		unlinkat(out->dir_fd, out->tmp_name, 0);
	release(out);
}
