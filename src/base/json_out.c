/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values -> JSON text in the form of Python's json.dumps(ensure_ascii=False): ", " and ": " on one
 * line, or indented. Strings are copied in clean runs; only what must be escaped is looked at.
 */
#include "base/json_out.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/num.h"
#include "base/utf8.h"

#include "base/banned.h"

void mp_json_out_init(struct mp_json_out *json, struct mp_buf *buf, int indent)
{
	json->buf = buf;
	json->indent = indent;
	json->depth = 0;
	json->first = true;
	json->after_key = false;
}

static void new_line(struct mp_json_out *json)
{
	size_t blanks = (size_t)json->indent * json->depth;
	char *to = mp_buf_reserve(json->buf, blanks + 1);

	if (!to)
		return;
	*to = '\n';
	memset(to + 1, ' ', blanks);
	json->buf->len += blanks + 1;
}

/* What must stand between the previous value and the next one. */
static void separate(struct mp_json_out *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (!json->first)
		mp_buf_add(json->buf, ", ", json->indent ? 1 : 2);
	json->first = false;
	if (json->indent && json->depth)
		new_line(json);
}

static void open_container(struct mp_json_out *json, char bracket)
{
	separate(json);
	mp_buf_add_char(json->buf, bracket);
	json->depth++;
	json->first = true;
}

static void close_container(struct mp_json_out *json, char bracket)
{
	assert(json->depth > 0 && !json->after_key);
	json->depth--;
	if (json->indent && !json->first)
		new_line(json);
	mp_buf_add_char(json->buf, bracket);
	json->first = false;
}

void mp_json_out_object(struct mp_json_out *json)
{
	open_container(json, '{');
}

void mp_json_out_object_end(struct mp_json_out *json)
{
	close_container(json, '}');
}

void mp_json_out_array(struct mp_json_out *json)
{
	open_container(json, '[');
}

void mp_json_out_array_end(struct mp_json_out *json)
{
	close_container(json, ']');
}

void mp_json_out_key(struct mp_json_out *json, const char *key)
{
	assert(!json->after_key);
	separate(json);
	mp_json_escape(json->buf, key, strlen(key));
	mp_buf_add(json->buf, ": ", 2);
	json->after_key = true;
}

void mp_json_out_str(struct mp_json_out *json, const char *text, size_t len)
{
	separate(json);
	mp_json_escape(json->buf, text, len);
}

void mp_json_out_cstr(struct mp_json_out *json, const char *text)
{
	mp_json_out_str(json, text, strlen(text));
}

void mp_json_out_i64(struct mp_json_out *json, int64_t value)
{
	char text[MP_NUM_MAX];

	mp_json_out_raw(json, text, mp_num_put_i64(text, value));
}

void mp_json_out_u64(struct mp_json_out *json, uint64_t value)
{
	char text[MP_NUM_MAX];

	mp_json_out_raw(json, text, mp_num_put_u64(text, value));
}

void mp_json_out_double(struct mp_json_out *json, double value)
{
	char text[MP_NUM_MAX];

	if (isfinite(value))
		mp_json_out_raw(json, text, mp_num_put_double(text, value));
	else
		mp_json_out_null(json);
}

void mp_json_out_bool(struct mp_json_out *json, bool value)
{
	mp_json_out_raw(json, value ? "true" : "false", value ? 4 : 5);
}

void mp_json_out_null(struct mp_json_out *json)
{
	mp_json_out_raw(json, "null", 4);
}

void mp_json_out_raw(struct mp_json_out *json, const char *text, size_t len)
{
	separate(json);
	mp_buf_add(json->buf, text, len);
}

/* --- strings */

#if defined(__SSE2__)
/* One bit per byte that cannot be copied as it is: control, quote, backslash, non-ASCII. */
static inline unsigned unclean(__m128i v)
{
	/* The signed comparison finds both controls and bytes from 0x80. */
	__m128i hit = _mm_or_si128(
		_mm_cmplt_epi8(v, _mm_set1_epi8(' ')),
		_mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'))));

	return (unsigned)_mm_movemask_epi8(hit);
}
#endif

/* Copies clean bytes from p to *to; returns the first byte that is not clean, or end. */
static inline const char *copy_clean(const char *p, const char *end, char **to)
{
	char *out = *to;

#if defined(__SSE2__)
	for (; end - p >= 16; p += 16, out += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		unsigned mask = unclean(v);

		/* What is copied behind the first unclean byte is overwritten: there is room for 16. */
		_mm_storeu_si128((__m128i *)(void *)out, v);
		if (mask) {
			*to = out + __builtin_ctz(mask);
			return p + __builtin_ctz(mask);
		}
	}
#endif
	while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' && *p != '\\')
		*out++ = *p++;
	*to = out;
	return p;
}

/* Writes the escape of one ASCII byte; returns its length, at most 6. */
static size_t put_escape(char *to, char c)
{
	static const char hex[] = "0123456789abcdef";
	static const char from[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
	const char *found = memchr(from, c, sizeof(from) - 1);

	to[0] = '\\';
	if (found) {
		to[1] = letter[found - from];
		return 2;
	}
	memcpy(to + 1, "u00", 3);
	to[4] = hex[(c >> 4) & 0xf];
	to[5] = hex[c & 0xf];
	return 6;
}

/* Escapes one piece; the room at `to` is 6 bytes per input byte, so nothing is checked. */
static char *escape_piece(char *to, const char *p, const char *end)
{
	struct mp_utf8 sequence;

	for (;;) {
		p = copy_clean(p, end, &to);
		if (p == end)
			return to;
		if ((unsigned char)*p < 0x80) {
			to += put_escape(to, *p++);
			continue;
		}
		sequence = mp_utf8_step(p, (size_t)(end - p));
		if (sequence.valid)
			memcpy(to, p, sequence.len);
		else
			memcpy(to, "\xef\xbf\xbd", 3);
		to += sequence.valid ? sequence.len : 3;
		p += sequence.len;
	}
}

/* End of a piece of at most `max` bytes that does not split a UTF-8 sequence. */
static const char *piece_end(const char *p, const char *end, size_t max)
{
	size_t back;

	if ((size_t)(end - p) <= max)
		return end;
	for (back = 0; back < 4 && ((unsigned char)p[max - back] & 0xc0) == 0x80; back++)
		;
	return p + max - (back < 4 ? back : 0);
}

void mp_json_escape(struct mp_buf *buf, const char *text, size_t len)
{
	enum { PIECE = 4096 };
	const char *p = text, *end = text + len, *stop;
	char *to;

	mp_buf_add_char(buf, '"');
	while (p < end) {
		stop = piece_end(p, end, PIECE);
		to = mp_buf_reserve(buf, (size_t)(stop - p) * 6);
		if (!to)
			return;
		buf->len = (size_t)(escape_piece(to, p, stop) - buf->data);
		p = stop;
	}
	mp_buf_add_char(buf, '"');
}

size_t mp_utf8_valid_prefix(const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	struct mp_utf8 sequence;

	for (;;) {
#if defined(__SSE2__)
		while (end - p >= 16 && !_mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(const void *)p)))
			p += 16;
#endif
		while (p < end && (unsigned char)*p < 0x80)
			p++;
		if (p == end)
			return len;
		sequence = mp_utf8_step(p, (size_t)(end - p));
		if (!sequence.valid)
			return (size_t)(p - text);
		p += sequence.len;
	}
}
