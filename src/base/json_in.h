/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streaming JSON reader over a memory range: a pull parser without allocation. Strict RFC 8259
 * (UTF-8 checked, no NaN, no comments, no trailing comma, duplicate keys are the caller's business),
 * depth bounded. Also used for configuration, so it belongs to both libraries.
 */
#ifndef MP_JSON_IN_H
#define MP_JSON_IN_H

#include <stdbool.h>

#include "base/buf.h"

enum mp_json_type {
	MP_JSON_END, /* after the last value */
	MP_JSON_OBJECT, MP_JSON_OBJECT_END, MP_JSON_ARRAY, MP_JSON_ARRAY_END,
	MP_JSON_KEY, MP_JSON_STRING, MP_JSON_NUMBER, MP_JSON_TRUE, MP_JSON_FALSE, MP_JSON_NULL,
	MP_JSON_ERROR, /* see json->err_*; the reader stays there */
};

#define MP_JSON_DEPTH 512

struct mp_json {
	const char *begin, *at, *end;
	/* The current token: raw text. Strings and keys without quotes, escapes still in. */
	const char *text;
	size_t len;
	bool escaped; /* the string holds a backslash */
	/* state */
	uint32_t depth;
	uint8_t expect;
	uint8_t stack[MP_JSON_DEPTH / 8]; /* one bit per level: object or array */
	/* after MP_JSON_ERROR */
	const char *err_text;  /* constant */
	int64_t err_offset;    /* byte in the range */
	bool err_truncated;    /* the range ended inside a value */
};

void mp_json_init(struct mp_json *json, const void *data, size_t size);
enum mp_json_type mp_json_next(struct mp_json *json);
/* After OBJECT or ARRAY was returned, or before any value: skips to after its end; raw text in text/len. */
bool mp_json_skip(struct mp_json *json, enum mp_json_type first);
/* The value of the current STRING or KEY as UTF-8. Unescaped strings are returned in place, others
 * are decoded into buf (cleared first). Lone surrogates become U+FFFD. */
struct mp_json_str { const char *text; size_t len; };
struct mp_json_str mp_json_string(const struct mp_json *json, struct mp_buf *buf);
bool mp_json_key_is(const struct mp_json *json, const char *key);
/* line and column (from 1, column in bytes) of a byte offset; one pass over the range. */
void mp_json_where(const void *data, int64_t offset, uint64_t *line, uint64_t *column);

#endif
