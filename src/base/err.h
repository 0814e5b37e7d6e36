/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling the error object: one macro records a failure and returns it, another adds an outer
 * cause on the way up. Messages: lower case, no final stop, cause first, subject in quotes.
 */
#ifndef MP_ERR_H
#define MP_ERR_H

#include <mindprof/types.h>

#include "base/compiler.h"

typedef enum mindprof_status mp_status;
typedef struct mindprof_error mp_err;

/* Starts a new chain in err (which may be NULL) and returns status. path may be NULL, byte_offset -1. */
mp_status mp_err_set(mp_err *err, mp_status status, const char *path, int64_t byte_offset,
		     const char *fmt, ...) MP_PRINTF(5, 6);

/* As mp_err_set with ": <text of errnum>" appended; maps ENOMEM, ENOENT, EEXIST, others are E_IO. */
mp_status mp_err_sys(mp_err *err, int errnum, const char *path, const char *fmt, ...)
	MP_PRINTF(4, 5);

/* Adds an outer cause to a chain that is already set; returns the chain's status unchanged. */
mp_status mp_err_wrap(mp_err *err, mp_status status, const char *path, const char *fmt, ...)
	MP_PRINTF(4, 5);

/* Out of memory, with the number of bytes that were asked for. */
mp_status mp_err_nomem(mp_err *err, size_t bytes);

#define MP_TRY(expression)                              \
	do {                                            \
		mp_status mp_try_status_ = (expression);\
		if (MP_UNLIKELY(mp_try_status_ != MINDPROF_OK)) \
			return mp_try_status_;          \
	} while (0)

#endif
