/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON reader (RFC 8259): all tokens, all strings decoded, the place of a fault looked up. */
#include "harness.h"

#include "base/json_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mp_json json;
	struct mp_buf text;
	enum mp_json_type type;

	mp_buf_init(&text, size * 4 + 16);
	mp_json_init(&json, data, size);
	while ((type = mp_json_next(&json)) != MP_JSON_END && type != MP_JSON_ERROR) {
		if (type == MP_JSON_STRING || type == MP_JSON_KEY) {
			struct mp_json_str decoded = mp_json_string(&json, &text);

			assert(decoded.len <= json.len); /* an escape is never shorter than what it means */
		}
	}
	if (type == MP_JSON_ERROR) {
		uint64_t line, column;

		assert(json.err_text && json.err_offset >= 0 && (uint64_t)json.err_offset <= size);
		mp_json_where(data, json.err_offset, &line, &column);
		assert(line >= 1 && column >= 1 && line + column <= size + 2);
	}
	mp_buf_release(&text);
	return 0;
}
