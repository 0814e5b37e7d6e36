/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: Python's separators, indentation, escapes, replacement of bad UTF-8, failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_in.h"
#include "base/json_out.h"
#include "base/mem.h"

static void write_sample(struct mp_json_out *json)
{
	mp_json_out_object(json);
	mp_json_out_key(json, "a");
	mp_json_out_array(json);
	mp_json_out_i64(json, INT64_MIN);
	mp_json_out_u64(json, UINT64_MAX);
	mp_json_out_double(json, 0.1);
	mp_json_out_double(json, 1e16);
	mp_json_out_double(json, 5.0);
	mp_json_out_array_end(json);
	mp_json_out_key(json, "b");
	mp_json_out_object(json);
	mp_json_out_object_end(json);
	mp_json_out_key(json, "c");
	mp_json_out_array(json);
	mp_json_out_array_end(json);
	mp_json_out_key(json, "d\"");
	mp_json_out_cstr(json, "x");
	mp_json_out_key(json, "e");
	mp_json_out_object(json);
	mp_json_out_key(json, "f");
	mp_json_out_bool(json, true);
	mp_json_out_key(json, "g");
	mp_json_out_bool(json, false);
	mp_json_out_key(json, "h");
	mp_json_out_null(json);
	mp_json_out_key(json, "i");
	mp_json_out_raw(json, "[1,2]", 5);
	mp_json_out_object_end(json);
	mp_json_out_object_end(json);
}

/* Expected text: what Python's json.dumps writes for the same values (the raw value aside). */
static void test_one_line(void **state)
{
	struct mp_buf buf;
	struct mp_json_out json;

	(void)state;
	mp_buf_init(&buf, 4096);
	mp_json_out_init(&json, &buf, 0);
	write_sample(&json);
	assert_string_equal(
		mp_buf_str(&buf),
		"{\"a\": [-9223372036854775808, 18446744073709551615, 0.1, 1e+16, 5.0], \"b\": {}, "
		"\"c\": [], \"d\\\"\": \"x\", \"e\": {\"f\": true, \"g\": false, \"h\": null, "
		"\"i\": [1,2]}}");
	assert_int_equal(json.depth, 0);
	mp_buf_release(&buf);
}

/* As json.dumps(..., indent=2). */
static void test_indented(void **state)
{
	struct mp_buf buf;
	struct mp_json_out json;

	(void)state;
	mp_buf_init(&buf, 4096);
	mp_json_out_init(&json, &buf, 2);
	write_sample(&json);
	assert_string_equal(mp_buf_str(&buf), "{\n"
					      "  \"a\": [\n"
					      "    -9223372036854775808,\n"
					      "    18446744073709551615,\n"
					      "    0.1,\n"
					      "    1e+16,\n"
					      "    5.0\n"
					      "  ],\n"
					      "  \"b\": {},\n"
					      "  \"c\": [],\n"
					      "  \"d\\\"\": \"x\",\n"
					      "  \"e\": {\n"
					      "    \"f\": true,\n"
					      "    \"g\": false,\n"
					      "    \"h\": null,\n"
					      "    \"i\": [1,2]\n"
					      "  }\n"
					      "}");
	mp_buf_release(&buf);
}

static void test_not_finite(void **state)
{
	struct mp_buf buf;
	struct mp_json_out json;

	(void)state;
	mp_buf_init(&buf, 4096);
	mp_json_out_init(&json, &buf, 0);
	mp_json_out_array(&json);
	mp_json_out_double(&json, NAN);
	mp_json_out_double(&json, INFINITY);
	mp_json_out_double(&json, -INFINITY);
	mp_json_out_double(&json, DBL_MAX);
	mp_json_out_double(&json, -0.0);
	mp_json_out_array_end(&json);
	assert_string_equal(mp_buf_str(&buf), "[null, null, null, 1.7976931348623157e+308, -0.0]");
	mp_buf_release(&buf);
}

static void expect_escaped(const char *text, size_t len, const char *expected)
{
	struct mp_buf buf;
	char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	mp_buf_init(&buf, 1 << 20);
	mp_json_escape(&buf, copy, len);
	assert_string_equal(mp_buf_str(&buf), expected);
	assert_int_equal(buf.len, strlen(expected));
	mp_buf_release(&buf);
	free(copy);
}

static void test_escapes(void **state)
{
	(void)state;
	expect_escaped("", 0, "\"\"");
	expect_escaped("\"\\/\b\f\n\r\t", 8, "\"\\\"\\\\/\\b\\f\\n\\r\\t\"");
	expect_escaped("\0\x01\x0b\x1f\x7f", 5, "\"\\u0000\\u0001\\u000b\\u001f\x7f\"");
	expect_escaped("\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", 9, "\"\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\"");
}

/* One U+FFFD per maximal subpart of an ill-formed sequence: the examples of Unicode section 3.9. */
static void test_bad_utf8(void **state)
{
#define R "\xef\xbf\xbd"
	(void)state;
	expect_escaped("\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64", 13,
		       "\"a" R R R "b" R "c" R R "d\"");
	expect_escaped("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", 9, "\"" R R R R R R R R "A\"");
	expect_escaped("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", 9, "\"" R R R R R R R R "A\"");
	expect_escaped("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", 9, "\"" R R R R R "A" R R "B\"");
	expect_escaped("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", 9, "\"" R R R R "A\"");
	expect_escaped("x\xe4\xb8", 3, "\"x" R "\"");
#undef R
}

/* A special byte at every place, so in every part of the vector loop and of its tail. */
static void test_positions(void **state)
{
	char text[64], expected[80];
	size_t len, at;

	(void)state;
	for (len = 1; len <= 50; len++) {
		for (at = 0; at < len; at++) {
			memset(text, 'a', len);
			text[at] = '\n';
			memset(expected, 'a', sizeof(expected));
			expected[0] = '"';
			memcpy(expected + 1 + at, "\\n", 2);
			memcpy(expected + len + 2, "\"", 2);
			expect_escaped(text, len, expected);
		}
	}
}

/* Long texts are handled in pieces; a sequence across the border of two pieces stays whole. */
static void test_pieces(void **state)
{
	size_t shift, n = 20000, i;
	char *text = malloc(n + 1);
	struct mp_buf buf;

	(void)state;
	assert_non_null(text);
	for (shift = 0; shift < 5; shift++) {
		memset(text, 'x', shift);
		for (i = shift; i + 4 <= n; i += 4)
			memcpy(text + i, "\xf0\x9f\x98\x80", 4);
		mp_buf_init(&buf, 1 << 20);
		mp_json_escape(&buf, text, i);
		assert_int_equal(buf.len, i + 2);
		assert_memory_equal(buf.data + 1, text, i);
		mp_buf_release(&buf);
	}
	/* Bad bytes only: one replacement each, wherever the border falls. */
	memset(text, '\x80', n);
	mp_buf_init(&buf, 1 << 20);
	mp_json_escape(&buf, text, n);
	assert_int_equal(buf.len, 3 * n + 2);
	mp_buf_release(&buf);
	free(text);
}

/* Whatever the bytes, what is written is JSON, and reads back as the valid parts. */
static void test_any_bytes_read_back(void **state)
{
	uint32_t seed = 7;
	char text[97];
	struct mp_buf buf;
	struct mp_json json;
	int round;

	(void)state;
	mp_buf_init(&buf, 4096);
	for (round = 0; round < 20000; round++) {
		size_t len = round % sizeof(text), i;

		for (i = 0; i < len; i++) {
			seed = seed * 1664525u + 1013904223u;
			text[i] = (char)(seed >> 24);
		}
		mp_buf_clear(&buf);
		mp_json_escape(&buf, text, len);
		mp_json_init(&json, buf.data, buf.len);
		assert_int_equal(mp_json_next(&json), MP_JSON_STRING);
		assert_int_equal(mp_json_next(&json), MP_JSON_END);
	}
	mp_buf_release(&buf);
}

static void test_valid_prefix(void **state)
{
	char text[64];
	size_t at;

	(void)state;
	assert_int_equal(mp_utf8_valid_prefix("", 0), 0);
	assert_int_equal(mp_utf8_valid_prefix("abc", 3), 3);
	assert_int_equal(mp_utf8_valid_prefix("ab\xe4\xb8\xad", 5), 5);
	assert_int_equal(mp_utf8_valid_prefix("ab\xe4\xb8", 4), 2);
	assert_int_equal(mp_utf8_valid_prefix("\xff", 1), 0);
	assert_int_equal(mp_utf8_valid_prefix("a\0b\x80", 4), 3);
	for (at = 0; at < 60; at++) {
		memset(text, 'a', sizeof(text));
		text[at] = '\xc0';
		assert_int_equal(mp_utf8_valid_prefix(text, sizeof(text)), at);
		memcpy(text + at, "\xf0\x9f\x98\x80", 4);
		assert_int_equal(mp_utf8_valid_prefix(text, sizeof(text)), sizeof(text));
	}
}

static void test_failures_stick(void **state)
{
	struct mp_buf buf;
	struct mp_json_out json;
	uint64_t n;

	(void)state;
	for (n = 0;; n++) {
		mp_buf_init(&buf, 4096);
		mp_json_out_init(&json, &buf, 2);
		mp_mem_fail_after(n);
		write_sample(&json);
		mp_mem_fail_after(UINT64_MAX);
		if (buf.failed == MINDPROF_OK)
			break;
		assert_int_equal(buf.failed, MINDPROF_E_NOMEM);
		mp_buf_release(&buf);
	}
	assert_true(n > 0);
	mp_buf_release(&buf);

	mp_buf_init(&buf, 100);
	mp_json_out_init(&json, &buf, 0);
	write_sample(&json);
	assert_int_equal(buf.failed, MINDPROF_E_LIMIT);
	mp_buf_release(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_line),     cmocka_unit_test(test_indented),
		cmocka_unit_test(test_not_finite),   cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_bad_utf8),     cmocka_unit_test(test_positions),
		cmocka_unit_test(test_pieces),       cmocka_unit_test(test_any_bytes_read_back),
		cmocka_unit_test(test_valid_prefix), cmocka_unit_test(test_failures_stick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
