/* SPDX-License-Identifier: Apache-2.0 */
/* The error object: filling, wrapping, and its one-line text. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* Cuts a UTF-8 sequence that the end of the array split. */
static void trim_utf8(char *text, size_t len)
{
	size_t i = len;

	while (i > 0 && ((unsigned char)text[i - 1] & 0xc0) == 0x80)
		i--;
	if (i > 0 && ((unsigned char)text[i - 1] & 0x80))
		text[i - 1] = '\0';
}

static void copy_path(struct mindprof_cause *cause, const char *path)
{
	size_t len = path ? strlen(path) : 0;
	size_t max = sizeof(cause->path) - 1;

	/* The end of a long path says more than its beginning. */
	if (len > max) {
		path += len - max;
		len = max;
	}
	if (len)
		memcpy(cause->path, path, len);
	cause->path[len] = '\0';
}

static void fill_cause(struct mindprof_cause *cause, const char *path, int64_t byte_offset, const char *fmt,
		       va_list args)
{
	int len = vsnprintf(cause->text, sizeof(cause->text), fmt, args);

	if (len < 0)
		cause->text[0] = '\0';
	else if ((size_t)len >= sizeof(cause->text))
		trim_utf8(cause->text, sizeof(cause->text) - 1);
	copy_path(cause, path);
	cause->byte_offset = byte_offset;
}

mp_status mp_err_set(mp_err *err, mp_status status, const char *path, int64_t byte_offset, const char *fmt,
		     ...)
{
	va_list args;

	if (!err)
		return status;
	err->status = status;
	err->n_causes = 1;
	va_start(args, fmt);
	fill_cause(&err->causes[0], path, byte_offset, fmt, args);
	va_end(args);
	return status;
}

static mp_status status_of_errno(int errnum)
{
	switch (errnum) {
	case ENOMEM:
		return MINDPROF_E_NOMEM;
	case ENOENT:
	case ENOTDIR:
		return MINDPROF_E_NOT_FOUND;
	case EEXIST:
		return MINDPROF_E_EXISTS;
	case ELOOP:
		return MINDPROF_E_UNSUPPORTED;
	default:
		return MINDPROF_E_IO;
	}
}

mp_status mp_err_sys(mp_err *err, int errnum, const char *path, const char *fmt, ...)
{
	mp_status status = status_of_errno(errnum);
	char reason[96];
	size_t len;
	va_list args;

	if (!err)
		return status;
	err->status = status;
	err->n_causes = 1;
	va_start(args, fmt);
	fill_cause(&err->causes[0], path, -1, fmt, args);
	va_end(args);
	len = strlen(err->causes[0].text);
	snprintf(err->causes[0].text + len, sizeof(err->causes[0].text) - len, ": %s",
		 strerror_r(errnum, reason, sizeof(reason)));
	return status;
}

mp_status mp_err_wrap(mp_err *err, mp_status status, const char *path, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return status;
	if (err->n_causes < MINDPROF_ERROR_CAUSES)
		err->n_causes++;
	err->status = status;
	va_start(args, fmt);
	fill_cause(&err->causes[err->n_causes - 1], path, -1, fmt, args);
	va_end(args);
	return status;
}

mp_status mp_err_nomem(mp_err *err, size_t bytes)
{
	return mp_err_set(err, MINDPROF_E_NOMEM, NULL, -1, "out of memory (%zu bytes)", bytes);
}
