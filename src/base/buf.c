/* SPDX-License-Identifier: Apache-2.0 */
/* The growing byte buffer: sizes double, the first failure sticks. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

#define FIRST_CAP 64

void mp_buf_init(struct mp_buf *buf, size_t max_bytes)
{
	memset(buf, 0, sizeof(*buf));
	buf->max = max_bytes;
}

/* Makes cap hold at least `need` content bytes and the NUL. */
static bool grow(struct mp_buf *buf, size_t need)
{
	size_t cap = buf->cap ? buf->cap : FIRST_CAP;
	char *data;

	if (need == SIZE_MAX) {
		buf->failed = MINDPROF_E_NOMEM;
		return false;
	}
	while (cap < need + 1)
		cap = cap > SIZE_MAX / 2 ? SIZE_MAX : cap * 2;
	if (cap - 1 > buf->max)
		cap = buf->max + 1;
	data = mp_realloc_array(buf->data, cap, 1);
	if (!data) {
		buf->failed = MINDPROF_E_NOMEM;
		return false;
	}
	buf->data = data;
	buf->cap = cap;
	buf->data[buf->len] = '\0';
	return true;
}

char *mp_buf_reserve(struct mp_buf *buf, size_t more)
{
	if (buf->failed)
		return NULL;
	if (buf->len > buf->max || more > buf->max - buf->len) {
		buf->failed = MINDPROF_E_LIMIT;
		return NULL;
	}
	if (buf->len + more >= buf->cap && !grow(buf, buf->len + more))
		return NULL;
	return buf->data + buf->len;
}

void mp_buf_add_slow_(struct mp_buf *buf, const void *bytes, size_t len)
{
	if (mp_buf_reserve(buf, len))
		mp_buf_add(buf, bytes, len);
}

void mp_buf_printf(struct mp_buf *buf, const char *fmt, ...)
{
	va_list args;
	int len;
	char *to;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0) {
		if (!buf->failed)
			buf->failed = MINDPROF_E_LIMIT;
		return;
	}
	to = mp_buf_reserve(buf, (size_t)len);
	if (!to)
		return;
	va_start(args, fmt);
	vsnprintf(to, (size_t)len + 1, fmt, args);
	va_end(args);
	buf->len += (size_t)len;
}

/* A caller of reserve may have written over the NUL, so it is put back here. */
const char *mp_buf_str(const struct mp_buf *buf)
{
	if (!buf->data)
		return "";
	buf->data[buf->len] = '\0';
	return buf->data;
}

void mp_buf_clear(struct mp_buf *buf)
{
	buf->len = 0;
	buf->failed = MINDPROF_OK;
	if (buf->data)
		buf->data[0] = '\0';
}

void mp_buf_release(struct mp_buf *buf)
{
	mp_free(buf->data);
	buf->data = NULL;
	buf->len = buf->cap = 0;
	buf->failed = MINDPROF_OK;
}
