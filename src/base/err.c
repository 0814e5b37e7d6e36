/* SPDX-License-Identifier: Apache-2.0 */
/* The error object: filling and wrapping. Texts are cut to the arrays, never inside UTF-8. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
/* Not translated, unlike strerror: a library does not speak the language of its host's locale. */
#define errno_text(errnum) strerrordesc_np(errnum)
#else
#define errno_text(errnum) NULL
#endif

#define REASON_BYTES 64

/* Length of text without a UTF-8 sequence that a cut at len, which is at least 4, left incomplete. */
static size_t whole_utf8(const char *text, size_t len)
{
	size_t lead = len, want = 1;
	unsigned char c;

	while (len - lead < 3 && ((unsigned char)text[lead - 1] & 0xc0) == 0x80)
		lead--;
	c = (unsigned char)text[--lead];
	if (c >= 0xc0)
		want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
	return len - lead < want ? lead : len;
}

static void copy_path(struct mindprof_cause *cause, const char *path)
{
	size_t len = path ? strlen(path) : 0;
	size_t max = sizeof(cause->path) - 1;

	/* The end of a long path says more than its beginning. */
	if (len > max) {
		path += len - max;
		for (len = max; max - len < 3 && ((unsigned char)*path & 0xc0) == 0x80; len--)
			path++;
	}
	if (len)
		memmove(cause->path, path, len);
	cause->path[len] = '\0';
}

/* Formats into the first `size` bytes of the cause's text; returns the length. */
static MP_PRINTF(4, 0) size_t
	fill_cause(struct mindprof_cause *cause, size_t size, const char *path, const char *fmt, va_list args)
{
	int printed = vsnprintf(cause->text, size, fmt, args);
	size_t len = printed < 0 ? 0 : (size_t)printed;

	if (len >= size)
		len = whole_utf8(cause->text, size - 1);
	cause->text[len] = '\0';
	copy_path(cause, path);
	cause->byte_offset = -1;
	return len;
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
	fill_cause(&err->causes[0], sizeof(err->causes[0].text), path, fmt, args);
	va_end(args);
	err->causes[0].byte_offset = byte_offset;
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
	const char *reason = errno_text(errnum);
	struct mindprof_cause *cause;
	size_t len;
	va_list args;

	if (!err)
		return status;
	err->status = status;
	err->n_causes = 1;
	cause = &err->causes[0];
	/* The reason is never what gets cut. */
	va_start(args, fmt);
	len = fill_cause(cause, sizeof(cause->text) - REASON_BYTES, path, fmt, args);
	va_end(args);
	if (reason)
		snprintf(cause->text + len, sizeof(cause->text) - len, ": %s", reason);
	else
		snprintf(cause->text + len, sizeof(cause->text) - len, ": error number %d", errnum);
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
	fill_cause(&err->causes[err->n_causes - 1], sizeof(err->causes[0].text), path, fmt, args);
	va_end(args);
	return status;
}

mp_status mp_err_nomem(mp_err *err, size_t bytes)
{
	return mp_err_set(err, MINDPROF_E_NOMEM, NULL, -1, "out of memory (%zu bytes)", bytes);
}
