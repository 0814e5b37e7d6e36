/* SPDX-License-Identifier: Apache-2.0 */
/* Log hook: the libraries are silent by default; a program may listen. */
#ifndef MP_LOG_H
#define MP_LOG_H

#include "base/compiler.h"

enum mp_log_level { MP_LOG_ERROR, MP_LOG_WARNING, MP_LOG_INFO, MP_LOG_DEBUG };

typedef void (*mp_log_fn)(void *user, enum mp_log_level level, const char *module, const char *text);

struct mp_log {
	mp_log_fn fn; /* NULL = silent */
	void *user;
	enum mp_log_level level; /* least important level that is passed on */
};

/* log may be NULL. One line, no line end. */
void mp_log(const struct mp_log *log, enum mp_log_level level, const char *module, const char *fmt,
	    ...) MP_PRINTF(4, 5);

#endif
