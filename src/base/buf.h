/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer with a maximum fixed at init, so that bad input cannot grow it without
 * end. Failures stick: after the first one all appends do nothing and `failed` is set, so a long
 * run of appends needs one check at the end.
 */
#ifndef MP_BUF_H
#define MP_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

struct mp_buf {
	char *data; /* owned; data[len] is always NUL when data is not NULL */
	size_t len, cap, max;
	mp_status failed; /* MINDPROF_OK, E_NOMEM or E_LIMIT */
};

/* max_bytes bounds len; SIZE_MAX = no bound. A buffer that was only zeroed takes nothing (E_LIMIT). */
void mp_buf_init(struct mp_buf *buf, size_t max_bytes);
/* Room for `more` further bytes (plus the NUL); NULL on failure. Caller writes, then adds to len. */
char *mp_buf_reserve(struct mp_buf *buf, size_t more);
void mp_buf_add_slow_(struct mp_buf *buf, const void *bytes, size_t len);

static inline void mp_buf_add(struct mp_buf *buf, const void *bytes, size_t len)
{
	if (MP_UNLIKELY(buf->failed || len >= buf->cap - buf->len)) {
		mp_buf_add_slow_(buf, bytes, len);
		return;
	}
	if (len)
		memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

static inline void mp_buf_add_str(struct mp_buf *buf, const char *text)
{
	mp_buf_add(buf, text, strlen(text));
}

static inline void mp_buf_add_char(struct mp_buf *buf, char c)
{
	mp_buf_add(buf, &c, 1);
}

void mp_buf_printf(struct mp_buf *buf, const char *fmt, ...) MP_PRINTF(2, 3);
/* Always a C string, also when empty. */
const char *mp_buf_str(const struct mp_buf *buf);
/* Keeps the memory, forgets content and failure. */
void mp_buf_clear(struct mp_buf *buf);
void mp_buf_release(struct mp_buf *buf);

#endif
