/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON reader: tokens, every kind of fault with its offset, truncation, torture (RFC 8259). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_in.h"
#include "base/mem.h"

#define DATA_DIR MP_SOURCE_DIR "/tests/data/json/"

/* A copy whose end is the end of its block, so that a sanitizer sees reads behind it. */
static char *exact_copy(const char *text, size_t len)
{
	char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	return copy;
}

/* All tokens as text: { } [ ] k:KEY s:STRING n:NUMBER t f z $ (end) !(fault). */
static void tokens(const char *text, size_t len, char *out, size_t size)
{
	static const char *const marks[] = {"$", "{", "}", "[", "]", "k:", "s:", "n:", "t", "f", "z", "!"};
	struct mp_json json;
	enum mp_json_type type;
	size_t at = 0;

	mp_json_init(&json, text, len);
	do {
		bool shown;

		type = mp_json_next(&json);
		shown = type == MP_JSON_KEY || type == MP_JSON_STRING || type == MP_JSON_NUMBER;
		at += (size_t)snprintf(out + at, size - at, "%s%.*s ", marks[type], shown ? (int)json.len : 0,
				       json.text);
		assert_true(at < size);
	} while (type != MP_JSON_END && type != MP_JSON_ERROR);
	out[at - 1] = '\0';
}

static void test_tokens(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"{}", "{ } $"},
		{"[]", "[ ] $"},
		{" [ ] ", "[ ] $"},
		{"\t\r\n[\n]\r\n", "[ ] $"},
		{"0", "n:0 $"},
		{"-0.5e+3", "n:-0.5e+3 $"},
		{" true ", "t $"},
		{"false", "f $"},
		{"null", "z $"},
		{"\"\"", "s: $"},
		{"[1,2, 3 ,4]", "[ n:1 n:2 n:3 n:4 ] $"},
		{"[[],[[]],{}]", "[ [ ] [ [ ] ] { } ] $"},
		{"{\"a\":1,\"b\":{\"c\":[true,null]},\"d\":\"x\"}",
		 "{ k:a n:1 k:b { k:c [ t z ] } k:d s:x } $"},
		{"{\"a\" : \"b\" , \"c\" : -1}", "{ k:a s:b k:c n:-1 } $"},
		{"[{\"ph\": \"X\", \"ts\": 1719800000000010.100}]",
		 "[ { k:ph s:X k:ts n:1719800000000010.100 } ] $"},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"", "s:\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9 $"},
		{"[1                                        ,\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n2]",
		 "[ n:1 n:2 ] $"},
	};
	char out[512];
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(cases); i++) {
		tokens(cases[i].text, strlen(cases[i].text), out, sizeof(out));
		assert_string_equal(out, cases[i].expected);
	}
}

struct fault {
	const char *text;
	const char *err_text;
	int64_t offset;
	bool truncated;
};

static const struct fault faults[] = {
	{"", "no value", 0, true},
	{"  ", "no value", 2, true},
	{"nul", "data ends inside a word", 3, true},
	{"nulx", "unknown word", 0, false},
	{"[True]", "value expected", 1, false},
	{"[tru]", "unknown word", 1, false},
	{"[NaN]", "NaN is not JSON", 1, false},
	{"[Infinity]", "infinity is not JSON", 1, false},
	{"[-Infinity]", "infinity is not JSON", 1, false},
	{"['a']", "single quotes are not JSON", 1, false},
	{"[1, // one\n2]", "comments are not JSON", 4, false},
	{"[1, /* one */ 2]", "comments are not JSON", 4, false},
	{"# x", "comments are not JSON", 0, false},
	{"[+1]", "number begins with '+'", 1, false},
	{"[.5]", "number begins with '.'", 1, false},
	{"[1.]", "digit expected", 3, false},
	{"[1.e3]", "digit expected", 3, false},
	{"[1e]", "digit expected", 3, false},
	{"[1e+]", "digit expected", 4, false},
	{"[-]", "digit expected", 2, false},
	{"[--1]", "digit expected", 2, false},
	{"[01]", "number with a leading zero", 2, false},
	{"[-01]", "number with a leading zero", 3, false},
	{"[1", "data ends inside a number", 2, true},
	{"[1.", "data ends inside a number", 3, true},
	{"[-", "data ends inside a number", 2, true},
	{"-", "data ends inside a number", 1, true},
	{"1e", "data ends inside a number", 2, true},
	{"[1 2]", "',' or ']' expected", 3, false},
	{"[0x10]", "',' or ']' expected", 2, false},
	{"[1}", "',' or ']' expected", 2, false},
	{"{\"a\":1]", "',' or '}' expected", 6, false},
	{"{\"a\":1 \"b\":2}", "',' or '}' expected", 7, false},
	{"[1,]", "trailing comma", 3, false},
	{"{\"a\":1,}", "trailing comma", 7, false},
	{"[,1]", "value missing before ','", 1, false},
	{"[1,,2]", "value missing before ','", 3, false},
	{"{\"a\":}", "value missing before the closing bracket", 5, false},
	{"]", "value missing before the closing bracket", 0, false},
	{"{,}", "key in double quotes expected", 1, false},
	{"{a:1}", "key in double quotes expected", 1, false},
	{"{1:1}", "key in double quotes expected", 1, false},
	{"{\"a\" 1}", "':' expected", 5, false},
	{"{\"a\"}", "':' expected", 4, false},
	{"{\"a\"", "data ends inside an object", 4, true},
	{"{", "data ends inside an object", 1, true},
	{"{\"a\":1", "data ends inside a number", 6, true},
	{"{\"a\":1 ", "data ends inside an object", 7, true},
	{"{\"a\":", "data ends before a value", 5, true},
	{"[", "data ends before a value", 1, true},
	{"[1,", "data ends before a value", 3, true},
	{"[[]", "data ends inside an array", 3, true},
	{"1 2", "data after the value", 2, false},
	{"[] ]", "data after the value", 3, false},
	{"{} ,", "data after the value", 3, false},
	{"\xef\xbb\xbf[]", "byte order mark", 0, false},
	{"\"abc", "data ends inside a string", 4, true},
	{"\"ab\\", "data ends inside a string", 4, true},
	{"\"ab\\u12", "data ends inside a string", 7, true},
	{"\"ab\xc3", "data ends inside a string", 4, true},
	{"\"ab\xf0\x9f\x98", "data ends inside a string", 6, true},
	{"\"a\\x41\"", "unknown escape", 2, false},
	{"\"a\\'\"", "unknown escape", 2, false},
	{"\"a\\U0041\"", "unknown escape", 2, false},
	{"\"a\\u00g0\"", "escape without four hexadecimal digits", 2, false},
	{"\"a\\u 041\"", "escape without four hexadecimal digits", 2, false},
	{"\"a\tb\"", "control byte inside a string", 2, false},
	{"\"a\nb\"", "control byte inside a string", 2, false},
	{"\"a\x80\"", "invalid UTF-8", 2, false},
	{"\"a\xc0\xaf\"", "invalid UTF-8", 2, false},         /* overlong */
	{"\"a\xe0\x80\xaf\"", "invalid UTF-8", 2, false},     /* overlong */
	{"\"a\xed\xa0\x80\"", "invalid UTF-8", 2, false},     /* surrogate */
	{"\"a\xf4\x90\x80\x80\"", "invalid UTF-8", 2, false}, /* above U+10FFFF */
	{"\"a\xe4\xb8\"", "invalid UTF-8", 2, false},         /* cut, then a quote */
	{"\"\xe4\xb8\xad\xff\"", "invalid UTF-8", 4, false},
	{"{\"k\x01\":1}", "control byte inside a string", 3, false},
};

static void expect_fault(const struct mp_json *json, const struct fault *fault)
{
	if (!json->err_text || strcmp(json->err_text, fault->err_text) != 0)
		fail_msg("%s: '%s', not '%s'", fault->text, json->err_text, fault->err_text);
	if (json->err_offset != fault->offset)
		fail_msg("%s: offset %d, not %d", fault->text, (int)json->err_offset, (int)fault->offset);
	assert_int_equal(json->err_truncated, fault->truncated);
}

static void test_faults(void **state)
{
	struct mp_json json;
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(faults); i++) {
		size_t len = strlen(faults[i].text);
		char *copy = exact_copy(faults[i].text, len);
		enum mp_json_type type;

		mp_json_init(&json, copy, len);
		while ((type = mp_json_next(&json)) != MP_JSON_ERROR && type != MP_JSON_END)
			;
		assert_int_equal(type, MP_JSON_ERROR);
		expect_fault(&json, &faults[i]);
		/* It stays there. */
		assert_int_equal(mp_json_next(&json), MP_JSON_ERROR);
		expect_fault(&json, &faults[i]);
		free(copy);
	}
}

static void test_nul_bytes(void **state)
{
	struct mp_json json;

	(void)state;
	mp_json_init(&json, "[\0]", 3);
	assert_int_equal(mp_json_next(&json), MP_JSON_ARRAY);
	assert_int_equal(mp_json_next(&json), MP_JSON_ERROR);
	assert_int_equal(json.err_offset, 1);
	mp_json_init(&json, "\"a\0b\"", 5);
	assert_int_equal(mp_json_next(&json), MP_JSON_ERROR);
	assert_string_equal(json.err_text, "control byte inside a string");
	assert_int_equal(json.err_offset, 2);
	mp_json_init(&json, "[]\0", 3);
	assert_true(mp_json_skip(&json, mp_json_next(&json)));
	assert_int_equal(mp_json_next(&json), MP_JSON_ERROR);
	assert_int_equal(json.err_offset, 2);
	mp_json_init(&json, NULL, 0);
	assert_int_equal(mp_json_next(&json), MP_JSON_ERROR);
	assert_true(json.err_truncated);
}

static const char document[] =
	"{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"\\u00e9\xe4\xb8\xad\\n\", \"ts\": -12.5e-3, "
	"\"args\": {\"a\": [true, false, null, {}], \"\\ud83d\\ude00\": \"\"}}, []]}";

/* A document that is an object is cut at every length but the full one. */
static void test_every_truncation(void **state)
{
	size_t len;

	(void)state;
	for (len = 0; len <= sizeof(document) - 1; len++) {
		char *copy = exact_copy(document, len);
		struct mp_json json;
		enum mp_json_type type;

		mp_json_init(&json, copy, len);
		while ((type = mp_json_next(&json)) != MP_JSON_ERROR && type != MP_JSON_END)
			;
		if (len == sizeof(document) - 1) {
			assert_int_equal(type, MP_JSON_END);
		} else {
			assert_int_equal(type, MP_JSON_ERROR);
			assert_true(json.err_truncated);
			assert_int_equal(json.err_offset, len);
		}
		free(copy);
	}
}

static void test_depth(void **state)
{
	static const char mixed[] = "[{\"a\":[{\"b\":[{\"c\":[{}]}]}]}]";
	char text[2 * MP_JSON_DEPTH + 2];
	struct mp_json json;
	size_t i;

	(void)state;
	memset(text, '[', MP_JSON_DEPTH + 1);
	memset(text + MP_JSON_DEPTH + 1, ']', MP_JSON_DEPTH + 1);
	mp_json_init(&json, text + 1, sizeof(text) - 2);
	assert_true(mp_json_skip(&json, mp_json_next(&json)));
	assert_int_equal(mp_json_next(&json), MP_JSON_END);
	mp_json_init(&json, text, sizeof(text));
	assert_false(mp_json_skip(&json, mp_json_next(&json)));
	assert_string_equal(json.err_text, "nested too deeply");
	assert_int_equal(json.err_offset, MP_JSON_DEPTH);
	assert_false(json.err_truncated);

	/* Objects and arrays in turn: the stack remembers which is which at every level. */
	mp_json_init(&json, mixed, sizeof(mixed) - 1);
	for (i = 0; mp_json_next(&json) != MP_JSON_END; i++)
		assert_null(json.err_text);
	assert_int_equal(i, 19);
}

/* A special byte at every place of a long string, so at every place of a vector and of its tail. */
static void test_string_positions(void **state)
{
	static const struct {
		const char *piece;
		bool escaped, valid;
	} pieces[] = {{"\\n", true, true},
		      {"\xe4\xb8\xad", false, true},
		      {"\xf0\x9f\x98\x80", false, true},
		      {"\x1f", false, false},
		      {"\xff", false, false},
		      {"\\q", true, false},
		      {"\\u12x4", true, false},
		      {" ", false, true},
		      {"\x7f", false, true}};
	char text[128];
	size_t len, at, i;

	(void)state;
	for (i = 0; i < MP_COUNT(pieces); i++) {
		size_t piece = strlen(pieces[i].piece);

		for (len = 1; len <= 50; len++) {
			for (at = 0; at < len; at++) {
				size_t size = len + piece + 1;
				struct mp_json json;
				char *copy;

				memset(text, 'a', sizeof(text));
				text[0] = '"';
				memcpy(text + 1 + at, pieces[i].piece, piece);
				text[size] = '"';
				copy = exact_copy(text, size + 1);
				mp_json_init(&json, copy, size + 1);
				assert_int_equal(mp_json_next(&json),
						 pieces[i].valid ? MP_JSON_STRING : MP_JSON_ERROR);
				if (pieces[i].valid) {
					assert_int_equal(json.len, size - 1);
					assert_ptr_equal(json.text, copy + 1);
					assert_int_equal(json.escaped, pieces[i].escaped);
				} else {
					assert_int_equal(json.err_offset, 1 + at);
				}
				free(copy);
			}
		}
	}
}

static void test_values(void **state)
{
	static const struct {
		const char *text, *value;
		size_t len;
	} cases[] = {
		{"\"plain\"", "plain", 5},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
		{"\"\\u0041\\u00e9\\u4E2d\"", "A\xc3\xa9\xe4\xb8\xad", 6},
		{"\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!", 5},
		{"\"\\udbff\\udfff\"", "\xf4\x8f\xbf\xbf", 4},
		{"\"\\ud800\"", "\xef\xbf\xbd", 3},   /* high alone */
		{"\"\\udc00x\"", "\xef\xbf\xbdx", 4}, /* low alone */
		{"\"\\ud800\\u0041\"",
		 "\xef\xbf\xbd"
		 "A",
		 4}, /* high, then no low */
		{"\"\\ud800\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80", 7},
		{"\"\\ud800\\n\"", "\xef\xbf\xbd\n", 4},
		{"\"a\\u0000b\"", "a\0b", 3},
	};
	struct mp_buf buf;
	struct mp_json json;
	struct mp_json_str value;
	size_t i;

	(void)state;
	mp_buf_init(&buf, 1024);
	for (i = 0; i < MP_COUNT(cases); i++) {
		mp_json_init(&json, cases[i].text, strlen(cases[i].text));
		assert_int_equal(mp_json_next(&json), MP_JSON_STRING);
		value = mp_json_string(&json, &buf);
		assert_int_equal(value.len, cases[i].len);
		assert_memory_equal(value.text, cases[i].value, value.len);
		if (!json.escaped)
			assert_ptr_equal(value.text, cases[i].text + 1);
	}
	mp_buf_release(&buf);
}

static void test_value_without_memory(void **state)
{
	struct mp_buf buf;
	struct mp_json json;

	(void)state;
	mp_buf_init(&buf, 1024);
	mp_json_init(&json, "\"a\\nb\"", 6);
	assert_int_equal(mp_json_next(&json), MP_JSON_STRING);
	mp_mem_fail_after(0);
	mp_json_string(&json, &buf);
	mp_mem_fail_after(UINT64_MAX);
	assert_int_equal(buf.failed, MINDPROF_E_NOMEM);
	assert_int_equal(mp_json_string(&json, &buf).len, 3);
	assert_int_equal(buf.failed, MINDPROF_OK);
	mp_buf_release(&buf);
}

static void test_key_is(void **state)
{
	static const char text[] = "{\"name\": 1, \"n\\u0061me\": 2, \"a\\nb\": 3, \"\": 4}";
	struct mp_json json;

	(void)state;
	mp_json_init(&json, text, sizeof(text) - 1);
	mp_json_next(&json);
	assert_int_equal(mp_json_next(&json), MP_JSON_KEY);
	assert_true(mp_json_key_is(&json, "name"));
	assert_false(mp_json_key_is(&json, "nam"));
	assert_false(mp_json_key_is(&json, "names"));
	assert_false(mp_json_key_is(&json, ""));
	mp_json_next(&json);
	assert_int_equal(mp_json_next(&json), MP_JSON_KEY);
	assert_true(mp_json_key_is(&json, "name"));
	assert_false(mp_json_key_is(&json, "nam"));
	assert_false(mp_json_key_is(&json, "names"));
	assert_false(mp_json_key_is(&json, "n"));
	mp_json_next(&json);
	assert_int_equal(mp_json_next(&json), MP_JSON_KEY);
	assert_true(mp_json_key_is(&json, "a\nb"));
	mp_json_next(&json);
	assert_int_equal(mp_json_next(&json), MP_JSON_KEY);
	assert_true(mp_json_key_is(&json, ""));
}

static void expect_skip(struct mp_json *json, enum mp_json_type first, const char *raw)
{
	assert_true(mp_json_skip(json, first));
	assert_int_equal(json->len, strlen(raw));
	assert_memory_equal(json->text, raw, json->len);
}

static void test_skip(void **state)
{
	static const char text[] =
		"{\"a\": {\"b\": [1, \"]}\", {}]} , \"c\": \"d\\\"\", \"e\": -1.5, \"f\": [null]}";
	struct mp_json json;

	(void)state;
	mp_json_init(&json, text, sizeof(text) - 1);
	assert_int_equal(mp_json_next(&json), MP_JSON_OBJECT);
	assert_int_equal(mp_json_next(&json), MP_JSON_KEY);
	expect_skip(&json, mp_json_next(&json), "{\"b\": [1, \"]}\", {}]}");
	assert_int_equal(mp_json_next(&json), MP_JSON_KEY);
	assert_true(mp_json_key_is(&json, "c"));
	expect_skip(&json, mp_json_next(&json), "\"d\\\"\"");
	assert_int_equal(mp_json_next(&json), MP_JSON_KEY);
	expect_skip(&json, MP_JSON_KEY, "-1.5");
	assert_int_equal(mp_json_next(&json), MP_JSON_KEY);
	expect_skip(&json, MP_JSON_KEY, "[null]");
	assert_int_equal(mp_json_next(&json), MP_JSON_OBJECT_END);
	/* There is nothing to skip in the end of an object, nor in the end of the data. */
	assert_false(mp_json_skip(&json, MP_JSON_OBJECT_END));
	assert_int_equal(mp_json_next(&json), MP_JSON_END);
	assert_false(mp_json_skip(&json, MP_JSON_END));
	/* The whole, from the beginning. */
	mp_json_init(&json, text, sizeof(text) - 1);
	expect_skip(&json, MP_JSON_END, text);
}

static void test_where(void **state)
{
	static const char text[] = "ab\ncd\r\n\nx";
	static const struct {
		int64_t offset;
		uint64_t line, column;
	} cases[] = {{0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 2, 1}, {6, 2, 4}, {7, 3, 1}, {8, 4, 1}, {9, 4, 2}};
	uint64_t line, column;
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(cases); i++) {
		mp_json_where(text, cases[i].offset, &line, &column);
		assert_int_equal(line, cases[i].line);
		assert_int_equal(column, cases[i].column);
	}
}

/* --- a second opinion: byte by byte, recursive, nothing shared with the reader */

struct simple {
	const unsigned char *p, *end;
};

static bool simple_value(struct simple *s);

static void simple_space(struct simple *s)
{
	while (s->p < s->end && strchr(" \t\r\n", *s->p) && *s->p)
		s->p++;
}

static bool simple_take(struct simple *s, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(s->end - s->p) < len || memcmp(s->p, text, len) != 0)
		return false;
	s->p += len;
	return true;
}

/* Table 3-7 of the Unicode standard, written as ranges. */
static bool simple_utf8(struct simple *s)
{
	static const unsigned char table[][8] = {
		{0xc2, 0xdf, 0x80, 0xbf},
		{0xe0, 0xe0, 0xa0, 0xbf, 0x80, 0xbf},
		{0xe1, 0xec, 0x80, 0xbf, 0x80, 0xbf},
		{0xed, 0xed, 0x80, 0x9f, 0x80, 0xbf},
		{0xee, 0xef, 0x80, 0xbf, 0x80, 0xbf},
		{0xf0, 0xf0, 0x90, 0xbf, 0x80, 0xbf, 0x80, 0xbf},
		{0xf1, 0xf3, 0x80, 0xbf, 0x80, 0xbf, 0x80, 0xbf},
		{0xf4, 0xf4, 0x80, 0x8f, 0x80, 0xbf, 0x80, 0xbf},
	};
	size_t i, k;

	for (i = 0; i < MP_COUNT(table); i++) {
		if (*s->p < table[i][0] || *s->p > table[i][1])
			continue;
		for (k = 0; k < 4 && table[i][2 * k]; k++)
			if (s->p + k >= s->end || s->p[k] < table[i][2 * k] || s->p[k] > table[i][2 * k + 1])
				return false;
		s->p += k;
		return true;
	}
	return false;
}

static bool simple_string(struct simple *s)
{
	int i;

	if (!simple_take(s, "\""))
		return false;
	while (s->p < s->end && *s->p != '"') {
		if (*s->p < 0x20)
			return false;
		if (*s->p >= 0x80) {
			if (!simple_utf8(s))
				return false;
		} else if (*s->p != '\\') {
			s->p++;
		} else if (simple_take(s, "\\u")) {
			for (i = 0; i < 4; i++, s->p++)
				if (s->p == s->end || !*s->p || !strchr("0123456789abcdefABCDEF", *s->p))
					return false;
		} else {
			s->p++;
			if (s->p == s->end || !*s->p || !strchr("\"\\/bfnrt", *s->p))
				return false;
			s->p++;
		}
	}
	return simple_take(s, "\"");
}

static bool simple_digits(struct simple *s)
{
	const unsigned char *begin = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > begin;
}

static bool simple_number(struct simple *s)
{
	simple_take(s, "-");
	if (!simple_take(s, "0") && !simple_digits(s))
		return false;
	if (simple_take(s, ".") && !simple_digits(s))
		return false;
	if (simple_take(s, "e") || simple_take(s, "E")) {
		if (!simple_take(s, "+"))
			simple_take(s, "-");
		return simple_digits(s);
	}
	return true;
}

static bool simple_list(struct simple *s, const char *close, bool object)
{
	simple_space(s);
	if (simple_take(s, close))
		return true;
	do {
		simple_space(s);
		if (object) {
			if (!simple_string(s))
				return false;
			simple_space(s);
			if (!simple_take(s, ":"))
				return false;
		}
		if (!simple_value(s))
			return false;
		simple_space(s);
	} while (simple_take(s, ","));
	return simple_take(s, close);
}

static bool simple_value(struct simple *s)
{
	simple_space(s);
	if (simple_take(s, "{"))
		return simple_list(s, "}", true);
	if (simple_take(s, "["))
		return simple_list(s, "]", false);
	if (s->p < s->end && *s->p == '"')
		return simple_string(s);
	return simple_take(s, "true") || simple_take(s, "false") || simple_take(s, "null") ||
	       simple_number(s);
}

static bool simple_valid(const char *text, size_t len)
{
	struct simple s = {(const unsigned char *)text, (const unsigned char *)text + len};

	if (!simple_value(&s))
		return false;
	simple_space(&s);
	return s.p == s.end;
}

/* Token by token and skipping must come to the same end. */
static bool reader_valid(const char *text, size_t len)
{
	struct mp_json by_token, by_skip;
	enum mp_json_type type;
	bool skipped;

	mp_json_init(&by_token, text, len);
	while ((type = mp_json_next(&by_token)) != MP_JSON_ERROR && type != MP_JSON_END)
		assert_true(by_token.text >= text && by_token.text + by_token.len <= text + len);
	mp_json_init(&by_skip, text, len);
	skipped = mp_json_skip(&by_skip, mp_json_next(&by_skip)) && mp_json_next(&by_skip) == MP_JSON_END;
	assert_int_equal(skipped, type == MP_JSON_END);
	if (!skipped) {
		assert_int_equal(by_token.err_offset, by_skip.err_offset);
		assert_ptr_equal(by_token.err_text, by_skip.err_text);
		assert_int_equal(by_token.err_truncated, by_skip.err_truncated);
		assert_in_range(by_token.err_offset, 0, len);
	}
	return skipped;
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void test_random_changes(void **state)
{
	static const char alphabet[] = "{}[]\",:\\u0123456789abcdef-+.eE tfn\x80\xc3\xe4\xf0\xff\n\x01";
	char *copy = exact_copy(document, sizeof(document) - 1);
	size_t len = sizeof(document) - 1, valid = 0;
	uint32_t seed = 20240501;
	int round, change;

	(void)state;
	for (round = 0; round < 40000; round++) {
		memcpy(copy, document, len);
		for (change = (int)(next_random(&seed) % 4); change >= 0; change--) {
			size_t at = next_random(&seed) % len;

			if (next_random(&seed) % 2)
				copy[at] = (char)(copy[at] ^ (1 << next_random(&seed) % 8));
			else
				copy[at] = alphabet[next_random(&seed) % (sizeof(alphabet) - 1)];
		}
		if (reader_valid(copy, len) != simple_valid(copy, len))
			fail_msg("the opinions differ: %.*s", (int)len, copy);
		valid += simple_valid(copy, len);
	}
	/* Both outcomes must have been seen often, or the comparison says little. */
	assert_in_range(valid, 2000, 38000);
	free(copy);
}

/* Numbers of all forms and lengths, close to the end of the data and far from it. */
static void test_number_forms(void **state)
{
	static const char *const wholes[] = {"",
					     "0",
					     "7",
					     "01",
					     "12",
					     "1234567",
					     "123456789012345",
					     "1234567890123456",
					     "12345678901234567890"};
	static const char *const tails[] = {"",    ".",   ".0", ".123", ".123456789012345",
					    "e5",  "E+5", "e-", "e",    ".5e3",
					    ".e3", "..1", "-",  ".1.2"};
	size_t i, k, blanks, n_valid = 0;
	char text[96];
	int minus;

	(void)state;
	for (i = 0; i < MP_COUNT(wholes); i++)
		for (k = 0; k < MP_COUNT(tails); k++)
			for (blanks = 0; blanks < 20; blanks++)
				for (minus = 0; minus < 2; minus++) {
					int len =
						snprintf(text, sizeof(text), "[%s%s%s%*s]", minus ? "-" : "",
							 wholes[i], tails[k], (int)blanks, "");
					char *copy = exact_copy(text, (size_t)len);

					if (reader_valid(copy, (size_t)len) !=
					    simple_valid(copy, (size_t)len))
						fail_msg("the opinions differ: %s", text);
					n_valid += simple_valid(copy, (size_t)len);
					free(copy);
				}
	/* 7 good wholes, 7 good tails; "" "" makes "[ ]". */
	assert_int_equal(n_valid, (7 * 7 * 2 + 1) * 20);
}

/* --- the documents of tests/data/json: the folder is the expectation */

static char *load(const char *path, size_t *len)
{
	FILE *file = fopen(path, "rb");
	char *data;
	long size;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	data = malloc(size ? (size_t)size : 1);
	assert_non_null(data);
	*len = fread(data, 1, (size_t)size, file);
	fclose(file);
	return data;
}

static size_t check_folder(const char *folder, bool valid)
{
	char path[4096];
	DIR *dir = opendir(folder);
	struct dirent *entry;
	size_t n = 0, len;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		const char *dot = strrchr(entry->d_name, '.');
		char *data;

		if (!dot || strcmp(dot, ".json") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		data = load(path, &len);
		if (reader_valid(data, len) != valid)
			fail_msg("%s should be %s", path, valid ? "accepted" : "refused");
		free(data);
		n++;
	}
	closedir(dir);
	return n;
}

static void test_documents(void **state)
{
	(void)state;
	assert_true(check_folder(DATA_DIR "ok", true) >= 40);
	assert_true(check_folder(DATA_DIR "fail", false) >= 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens),       cmocka_unit_test(test_faults),
		cmocka_unit_test(test_nul_bytes),    cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_depth),        cmocka_unit_test(test_string_positions),
		cmocka_unit_test(test_values),       cmocka_unit_test(test_value_without_memory),
		cmocka_unit_test(test_key_is),       cmocka_unit_test(test_skip),
		cmocka_unit_test(test_where),        cmocka_unit_test(test_random_changes),
		cmocka_unit_test(test_number_forms), cmocka_unit_test(test_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
