/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types that both MindProf libraries share: status codes, the error object, and what marks a
 * public function. Includes C standard headers only.
 */
#ifndef MINDPROF_TYPES_H
#define MINDPROF_TYPES_H

#include <stddef.h>
#include <stdint.h>

#define MINDPROF_VERSION_MAJOR 0
#define MINDPROF_VERSION_MINOR 1
#define MINDPROF_VERSION_PATCH 0
#define MINDPROF_VERSION "0.1.0"

#if defined(__GNUC__)
#define MINDPROF_API __attribute__((visibility("default")))
#define MINDPROF_PRINTF(fmt_at, args_at) __attribute__((format(printf, fmt_at, args_at)))
#else
#define MINDPROF_API
#define MINDPROF_PRINTF(fmt_at, args_at)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Every status code with the text that `mindprof_status_text` returns for it. 0 is success, all
 * failures are negative, so `if (status < 0)` and `if (status)` mean the same.
 */
#define MINDPROF_STATUS_MAP(X)                                              \
	X(MINDPROF_OK, 0, "success")                                        \
	X(MINDPROF_E_NOMEM, -1, "out of memory")                            \
	X(MINDPROF_E_IO, -2, "input or output failed")                      \
	X(MINDPROF_E_FORMAT, -3, "malformed data")                          \
	X(MINDPROF_E_TRUNCATED, -4, "data ends too early")                  \
	X(MINDPROF_E_LIMIT, -5, "a limit was exceeded")                     \
	X(MINDPROF_E_ARGUMENT, -6, "invalid argument")                      \
	X(MINDPROF_E_NOT_FOUND, -7, "not found")                            \
	X(MINDPROF_E_EXISTS, -8, "already exists")                          \
	X(MINDPROF_E_UNSUPPORTED, -9, "not supported")                      \
	X(MINDPROF_E_STATE, -10, "not possible in this state")              \
	X(MINDPROF_E_CANCELLED, -11, "cancelled")                           \
	X(MINDPROF_E_INTERNAL, -12, "internal error")

enum mindprof_status {
#define MINDPROF_STATUS_ENUM(name, value, text) name = value,
	MINDPROF_STATUS_MAP(MINDPROF_STATUS_ENUM)
#undef MINDPROF_STATUS_ENUM
};

/* Most causes that one error object keeps; further ones replace the outermost. */
#define MINDPROF_ERROR_CAUSES 4

/*
 * One link of the chain of causes.
 *
 * text: what failed, in lower case without a final stop, cut at the size of the array (never
 *       inside a UTF-8 sequence); path: the file concerned, "" if none; byte_offset: where in
 *       that file, counted from 0, -1 if not known.
 */
struct mindprof_cause {
	char text[256];
	char path[256];
	int64_t byte_offset;
};

/*
 * Why a call failed. The caller owns it (usually on the stack, zero-initialised); every function
 * that can fail accepts NULL in its place. It is written on failure only. causes[0] is the root
 * cause, causes[n_causes - 1] the outermost operation.
 */
struct mindprof_error {
	enum mindprof_status status;
	uint32_t n_causes;
	struct mindprof_cause causes[MINDPROF_ERROR_CAUSES];
};

/* The constant English text of a status code; never NULL ("unknown status" for other numbers). */
MINDPROF_API const char *mindprof_status_text(enum mindprof_status status);

/*
 * Writes the error as one line, outermost operation first:
 * "cannot read 'x': checksum does not match (x, byte 4096)". Returns buf, always terminated.
 */
MINDPROF_API char *mindprof_error_text(const struct mindprof_error *error, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif
