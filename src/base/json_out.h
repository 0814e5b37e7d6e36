/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text into a buffer: commas and nesting are kept track of, strings are escaped, invalid
 * UTF-8 becomes U+FFFD, NaN and infinities become null. Compact by default, indent for people.
 */
#ifndef MP_JSON_OUT_H
#define MP_JSON_OUT_H

#include <stdbool.h>

#include "base/buf.h"

struct mp_json_out {
	struct mp_buf *buf; /* borrowed; flush it whenever you like */
	int indent;         /* 0 = one line with ", " and ": " as Python's json writes */
	uint32_t depth;
	bool first, after_key;
};

void mp_json_out_init(struct mp_json_out *json, struct mp_buf *buf, int indent);
void mp_json_out_object(struct mp_json_out *json);
void mp_json_out_object_end(struct mp_json_out *json);
void mp_json_out_array(struct mp_json_out *json);
void mp_json_out_array_end(struct mp_json_out *json);
void mp_json_out_key(struct mp_json_out *json, const char *key);
void mp_json_out_str(struct mp_json_out *json, const char *text, size_t len);
void mp_json_out_cstr(struct mp_json_out *json, const char *text);
void mp_json_out_i64(struct mp_json_out *json, int64_t value);
void mp_json_out_u64(struct mp_json_out *json, uint64_t value);
void mp_json_out_double(struct mp_json_out *json, double value);
void mp_json_out_bool(struct mp_json_out *json, bool value);
void mp_json_out_null(struct mp_json_out *json);
/* Already valid JSON text of one value. */
void mp_json_out_raw(struct mp_json_out *json, const char *text, size_t len);

/* Appends the string with quotes and escapes, ASCII kept, valid UTF-8 kept, the rest replaced. */
void mp_json_escape(struct mp_buf *buf, const char *text, size_t len);
/* Length of the longest valid UTF-8 prefix. */
size_t mp_utf8_valid_prefix(const char *text, size_t len);

#endif
