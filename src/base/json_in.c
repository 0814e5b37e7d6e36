/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text -> tokens, in place and without allocation (RFC 8259, strict). One step function serves
 * both the token-wise reader and the skipper, so both check the same things. Strings are scanned
 * sixteen bytes at a time where the machine can.
 */
#include "base/json_in.h"

#include <assert.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/utf8.h"

#include "base/banned.h"

/* What may come next. The order of the two AFTER states is used: IN_OBJECT = IN_ARRAY + 1. */
enum expect {
	EXPECT_VALUE,           /* the outermost one */
	EXPECT_MEMBER,          /* the value that belongs to a key */
	EXPECT_VALUE_OR_END,    /* after '[' */
	EXPECT_KEY_OR_END,      /* after '{' */
	EXPECT_AFTER_IN_ARRAY,  /* ',' or ']' */
	EXPECT_AFTER_IN_OBJECT, /* ',' or '}' */
	EXPECT_NOTHING,         /* after the outermost value */
	EXPECT_FAILED,
};

static inline bool is_space(uint8_t c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline bool is_digit(uint8_t c)
{
	return (uint8_t)(c - '0') < 10;
}

static const uint8_t *skip_space_run(const uint8_t *p, const uint8_t *end)
{
#if defined(__SSE2__)
	const __m128i blank = _mm_set1_epi8(' '), line = _mm_set1_epi8('\n');
	const __m128i tab = _mm_set1_epi8('\t'), cr = _mm_set1_epi8('\r');

	for (; end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)p);
		__m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, blank), _mm_cmpeq_epi8(v, line)),
					   _mm_or_si128(_mm_cmpeq_epi8(v, tab), _mm_cmpeq_epi8(v, cr)));
		unsigned others = (unsigned)_mm_movemask_epi8(hit) ^ 0xffffu;

		if (others)
			return p + __builtin_ctz(others);
	}
#endif
	while (p < end && is_space(*p))
		p++;
	return p;
}

/* No space and one space, the usual cases, are settled without a loop. */
static inline const uint8_t *skip_space(const uint8_t *p, const uint8_t *end)
{
	if (MP_LIKELY(p < end) && *p <= ' ') {
		if (*p == ' ')
			p++;
		if (MP_UNLIKELY(p < end && *p <= ' '))
			p = skip_space_run(p, end);
	}
	return p;
}

/* --- faults */

static MP_COLD enum mp_json_type fail(struct mp_json *json, const uint8_t *at, const char *text)
{
	json->expect = EXPECT_FAILED;
	json->at = (const char *)at;
	json->err_offset = (const char *)at - json->begin;
	json->err_text = text;
	json->err_truncated = false;
	json->text = (const char *)at;
	json->len = 0;
	return MP_JSON_ERROR;
}

static MP_COLD enum mp_json_type fail_cut(struct mp_json *json, const char *text)
{
	fail(json, (const uint8_t *)json->end, text);
	json->err_truncated = true;
	return MP_JSON_ERROR;
}

/* A byte that begins no value: names the usual mistakes. */
static MP_COLD enum mp_json_type fail_value(struct mp_json *json, const uint8_t *at)
{
	const uint8_t *end = (const uint8_t *)json->end;

	switch (*at) {
	case 'N':
		return fail(json, at, "NaN is not JSON");
	case 'I':
		return fail(json, at, "infinity is not JSON");
	case '\'':
		return fail(json, at, "single quotes are not JSON");
	case '/':
	case '#':
		return fail(json, at, "comments are not JSON");
	case '+':
		return fail(json, at, "number begins with '+'");
	case '.':
		return fail(json, at, "number begins with '.'");
	case ',':
		return fail(json, at, "value missing before ','");
	case ']':
	case '}':
		return fail(json, at, "value missing before the closing bracket");
	case 0xef:
		if (end - at >= 3 && at[1] == 0xbb && at[2] == 0xbf)
			return fail(json, at, "byte order mark");
		break;
	default:
		break;
	}
	return fail(json, at, "value expected");
}

/* --- strings */

/* The first byte that needs a look: quote, backslash, control or non-ASCII byte; or end. */
static inline const uint8_t *scan_plain(const uint8_t *p, const uint8_t *end)
{
#if defined(__SSE2__)
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
	const __m128i blank = _mm_set1_epi8(' ');

	for (; end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)p);
		/* The signed comparison finds both controls and bytes from 0x80. */
		__m128i hit =
			_mm_or_si128(_mm_cmplt_epi8(v, blank),
				     _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash)));
		unsigned mask = (unsigned)_mm_movemask_epi8(hit);

		if (mask)
			return p + __builtin_ctz(mask);
	}
#endif
	while (p < end && *p >= 0x20 && *p < 0x80 && *p != '"' && *p != '\\')
		p++;
	return p;
}

static inline int hex_value(uint8_t c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Checks the escape at p; returns the byte after it, NULL after a fault. */
static const uint8_t *check_escape(struct mp_json *json, const uint8_t *p)
{
	const uint8_t *end = (const uint8_t *)json->end;
	int i;

	if (end - p < 2) {
		fail_cut(json, "data ends inside a string");
		return NULL;
	}
	switch (p[1]) {
	case '"':
	case '\\':
	case '/':
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't':
		return p + 2;
	case 'u':
		break;
	default:
		fail(json, p, "unknown escape");
		return NULL;
	}
	for (i = 2; i < 6; i++) {
		if (p + i == end) {
			fail_cut(json, "data ends inside a string");
			return NULL;
		}
		if (hex_value(p[i]) < 0) {
			fail(json, p, "escape without four hexadecimal digits");
			return NULL;
		}
	}
	return p + 6;
}

/* Goes on at the first byte that is not plain; returns the closing quote, NULL after a fault. */
static const uint8_t *scan_special(struct mp_json *json, const uint8_t *p)
{
	const uint8_t *end = (const uint8_t *)json->end;
	struct mp_utf8 sequence;

	for (;;) {
		if (p == end) {
			fail_cut(json, "data ends inside a string");
			return NULL;
		}
		if (*p == '"')
			return p;
		if (*p == '\\') {
			json->escaped = true;
			p = check_escape(json, p);
			if (!p)
				return NULL;
		} else if (*p < 0x20) {
			fail(json, p, "control byte inside a string");
			return NULL;
		} else {
			sequence = mp_utf8_step(p, (size_t)(end - p));
			if (sequence.cut) {
				fail_cut(json, "data ends inside a string");
				return NULL;
			}
			if (!sequence.valid) {
				fail(json, p, "invalid UTF-8");
				return NULL;
			}
			p += sequence.len;
			if (p < end && *p >= 0x80)
				continue;
		}
		p = scan_plain(p, end);
	}
}

/* p is behind the opening quote. Sets text and len; returns the byte after the closing quote or NULL. */
static inline const uint8_t *scan_string(struct mp_json *json, const uint8_t *p)
{
	const uint8_t *begin = p;

	json->escaped = false;
	p = scan_plain(p, (const uint8_t *)json->end);
	if (MP_UNLIKELY(p == (const uint8_t *)json->end || *p != '"')) {
		p = scan_special(json, p);
		if (!p)
			return NULL;
	}
	json->text = (const char *)begin;
	json->len = (size_t)(p - begin);
	return p + 1;
}

/* --- numbers and words */

static inline const uint8_t *scan_digits(const uint8_t *p, const uint8_t *end)
{
	while (p < end && is_digit(*p))
		p++;
	return p;
}

/* At least one digit; NULL after a fault. */
static inline const uint8_t *need_digits(struct mp_json *json, const uint8_t *p)
{
	const uint8_t *end = (const uint8_t *)json->end;
	const uint8_t *after = scan_digits(p, end);

	if (MP_LIKELY(after != p))
		return after;
	if (p == end)
		fail_cut(json, "data ends inside a number");
	else if (*p == 'I' && p[-1] == '-')
		fail(json, p - 1, "infinity is not JSON");
	else
		fail(json, p, "digit expected");
	return NULL;
}

/*
 * The usual number in one step: digits, perhaps a point and digits, together less than sixteen bytes.
 * NULL when it is another one; that is not a fault.
 */
static inline const uint8_t *scan_short_number(const uint8_t *p, const uint8_t *end)
{
#if defined(__SSE2__)
	__m128i v;
	unsigned others, n, fraction;

	if (end - p < 17)
		return NULL;
	v = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)p), _mm_set1_epi8('0'));
	/* One bit per byte that is not a digit, and one behind the last byte. */
	others = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(9)), v)) ^ 0x1ffffu;
	n = (unsigned)__builtin_ctz(others);
	if (n == 0 || n == 16 || (*p == '0' && n > 1))
		return NULL;
	if (p[n] == '.') {
		others &= others - 1;
		fraction = (unsigned)__builtin_ctz(others);
		if (fraction == n + 1 || fraction == 16)
			return NULL;
		n = fraction;
	}
	return (p[n] | 0x20) == 'e' ? NULL : p + n;
#else
	(void)p;
	(void)end;
	return NULL;
#endif
}

static const uint8_t *scan_any_number(struct mp_json *json, const uint8_t *p)
{
	const uint8_t *end = (const uint8_t *)json->end;

	if (p < end && *p == '0') {
		p++;
		if (p < end && is_digit(*p)) {
			fail(json, p, "number with a leading zero");
			return NULL;
		}
	} else {
		p = need_digits(json, p);
	}
	if (p && p < end && *p == '.')
		p = need_digits(json, p + 1);
	if (p && p < end && (*p | 0x20) == 'e') {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		p = need_digits(json, p);
	}
	/* Inside a container more digits may have been lost. */
	if (p == end && json->depth) {
		fail_cut(json, "data ends inside a number");
		return NULL;
	}
	return p;
}

static inline const uint8_t *scan_number(struct mp_json *json, const uint8_t *begin)
{
	const uint8_t *digits = begin + (*begin == '-');
	const uint8_t *p = scan_short_number(digits, (const uint8_t *)json->end);

	if (MP_UNLIKELY(!p)) {
		p = scan_any_number(json, digits);
		if (!p)
			return NULL;
	}
	json->text = (const char *)begin;
	json->len = (size_t)(p - begin);
	return p;
}

static inline const uint8_t *scan_word(struct mp_json *json, const uint8_t *p, const char *word)
{
	size_t avail = (size_t)((const uint8_t *)json->end - p), len = strlen(word);

	if (MP_LIKELY(avail >= len && memcmp(p, word, len) == 0)) {
		json->text = (const char *)p;
		json->len = len;
		return p + len;
	}
	if (avail < len && memcmp(p, word, avail) == 0)
		fail_cut(json, "data ends inside a word");
	else
		fail(json, p, "unknown word");
	return NULL;
}

/* --- structure */

static inline enum mp_json_type open_container(struct mp_json *json, const uint8_t *p, bool object)
{
	uint32_t level = json->depth;
	uint8_t bit = (uint8_t)(1u << (level % 8));

	if (MP_UNLIKELY(level == MP_JSON_DEPTH))
		return fail(json, p, "nested too deeply");
	if (object)
		json->stack[level / 8] |= bit;
	else
		json->stack[level / 8] &= (uint8_t)~bit;
	json->depth++;
	json->expect = object ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
	json->text = (const char *)p;
	json->len = 1;
	json->at = (const char *)p + 1;
	return object ? MP_JSON_OBJECT : MP_JSON_ARRAY;
}

static inline enum mp_json_type close_container(struct mp_json *json, const uint8_t *p)
{
	uint32_t level = --json->depth - 1;

	if (json->depth == 0)
		json->expect = EXPECT_NOTHING;
	else
		json->expect = (uint8_t)(EXPECT_AFTER_IN_ARRAY + (json->stack[level / 8] >> (level % 8) & 1));
	json->text = (const char *)p;
	json->len = 1;
	json->at = (const char *)p + 1;
	return *p == '}' ? MP_JSON_OBJECT_END : MP_JSON_ARRAY_END;
}

static inline enum mp_json_type read_key(struct mp_json *json, const uint8_t *p)
{
	const uint8_t *end = (const uint8_t *)json->end;

	if (MP_UNLIKELY(p == end))
		return fail_cut(json, "data ends inside an object");
	if (MP_UNLIKELY(*p != '"'))
		return fail(json, p, *p == '}' ? "trailing comma" : "key in double quotes expected");
	p = scan_string(json, p + 1);
	if (MP_UNLIKELY(!p))
		return MP_JSON_ERROR;
	p = skip_space(p, end);
	if (MP_UNLIKELY(p == end))
		return fail_cut(json, "data ends inside an object");
	if (MP_UNLIKELY(*p != ':'))
		return fail(json, p, "':' expected");
	json->at = (const char *)p + 1;
	json->expect = EXPECT_MEMBER;
	return MP_JSON_KEY;
}

/* after: what to expect behind the value when it is no container. */
static inline __attribute__((always_inline)) enum mp_json_type read_value(struct mp_json *json,
									  const uint8_t *p, enum expect after)
{
	enum mp_json_type type;

	if (MP_UNLIKELY(p == (const uint8_t *)json->end))
		return fail_cut(json, json->depth ? "data ends before a value" : "no value");
	switch (*p) {
	case '"':
		type = MP_JSON_STRING;
		p = scan_string(json, p + 1);
		break;
	case '{':
		return open_container(json, p, true);
	case '[':
		return open_container(json, p, false);
	case '-':
	case '0':
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
	case '6':
	case '7':
	case '8':
	case '9':
		type = MP_JSON_NUMBER;
		p = scan_number(json, p);
		break;
	case 't':
		type = MP_JSON_TRUE;
		p = scan_word(json, p, "true");
		break;
	case 'f':
		type = MP_JSON_FALSE;
		p = scan_word(json, p, "false");
		break;
	case 'n':
		type = MP_JSON_NULL;
		p = scan_word(json, p, "null");
		break;
	default:
		return fail_value(json, p);
	}
	if (MP_UNLIKELY(!p))
		return MP_JSON_ERROR;
	json->at = (const char *)p;
	json->expect = (uint8_t)after;
	return type;
}

/* Inside a container after a value, at no comma. */
static inline enum mp_json_type read_close(struct mp_json *json, const uint8_t *p, bool object)
{
	if (MP_UNLIKELY(p == (const uint8_t *)json->end))
		return fail_cut(json, object ? "data ends inside an object" : "data ends inside an array");
	if (MP_LIKELY(*p == (object ? '}' : ']')))
		return close_container(json, p);
	return fail(json, p, object ? "',' or '}' expected" : "',' or ']' expected");
}

/* Values are read at one place only, so that the compiler puts it into line. */
static inline __attribute__((always_inline)) enum mp_json_type step(struct mp_json *json)
{
	const uint8_t *end = (const uint8_t *)json->end;
	const uint8_t *p = skip_space((const uint8_t *)json->at, end);
	enum expect after = EXPECT_AFTER_IN_ARRAY;

	switch (json->expect) {
	case EXPECT_AFTER_IN_OBJECT:
		if (MP_UNLIKELY(p == end || *p != ','))
			return read_close(json, p, true);
		return read_key(json, skip_space(p + 1, end));
	case EXPECT_KEY_OR_END:
		if (p < end && *p == '}')
			return close_container(json, p);
		return read_key(json, p);
	case EXPECT_MEMBER:
		after = EXPECT_AFTER_IN_OBJECT;
		break;
	case EXPECT_AFTER_IN_ARRAY:
		if (p == end || *p != ',')
			return read_close(json, p, false);
		p = skip_space(p + 1, end);
		if (MP_UNLIKELY(p < end && *p == ']'))
			return fail(json, p, "trailing comma");
		break;
	case EXPECT_VALUE_OR_END:
		if (p < end && *p == ']')
			return close_container(json, p);
		break;
	case EXPECT_VALUE:
		after = EXPECT_NOTHING;
		break;
	case EXPECT_NOTHING:
		json->text = json->at = (const char *)p;
		json->len = 0;
		return p == end ? MP_JSON_END : fail(json, p, "data after the value");
	default:
		return MP_JSON_ERROR;
	}
	return read_value(json, p, after);
}

void mp_json_init(struct mp_json *json, const void *data, size_t size)
{
	memset(json, 0, sizeof(*json));
	json->begin = json->at = json->text = data ? (const char *)data : "";
	json->end = json->begin + (data ? size : 0);
	json->expect = EXPECT_VALUE;
}

enum mp_json_type mp_json_next(struct mp_json *json)
{
	return step(json);
}

bool mp_json_skip(struct mp_json *json, enum mp_json_type first)
{
	const char *begin;
	uint32_t outside;

	if (first == MP_JSON_KEY || (first == MP_JSON_END && json->at == json->begin))
		first = step(json);
	begin = json->text;
	switch (first) {
	case MP_JSON_OBJECT:
	case MP_JSON_ARRAY:
		outside = json->depth - 1;
		while (json->depth != outside)
			if (step(json) == MP_JSON_ERROR)
				return false;
		break;
	case MP_JSON_STRING:
		begin--;
		break;
	case MP_JSON_NUMBER:
	case MP_JSON_TRUE:
	case MP_JSON_FALSE:
	case MP_JSON_NULL:
		break;
	default:
		return false;
	}
	json->text = begin;
	json->len = (size_t)(json->at - begin);
	return true;
}

/* --- values */

static uint32_t hex4(const char *p)
{
	uint32_t value = 0;
	int i;

	for (i = 0; i < 4; i++)
		value = value << 4 | (uint32_t)hex_value((uint8_t)p[i]);
	return value;
}

/* Decodes the checked escape at p into at most 4 bytes; *len gets their number. Returns the byte after it. */
static const char *decode_escape(const char *p, const char *end, char *to, size_t *len)
{
	static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	uint32_t code, low;

	if (p[1] != 'u') {
		const char *found = memchr(plain, p[1], sizeof(plain) - 1);

		assert(found);
		*to = meant[found - plain];
		*len = 1;
		return p + 2;
	}
	code = hex4(p + 2);
	p += 6;
	if (code >= 0xd800 && code <= 0xdbff && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
		low = hex4(p + 2);
		if (low >= 0xdc00 && low <= 0xdfff) {
			code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
			p += 6;
		}
	}
	if (code >= 0xd800 && code <= 0xdfff)
		code = 0xfffd;
	*len = mp_utf8_put(to, code);
	return p;
}

struct mp_json_str mp_json_string(const struct mp_json *json, struct mp_buf *buf)
{
	const char *p = json->text, *end = p + json->len, *run;
	struct mp_json_str value = {.text = json->text, .len = json->len};
	char decoded[4];
	size_t len;

	if (!json->escaped)
		return value;
	mp_buf_clear(buf);
	while (p < end) {
		run = memchr(p, '\\', (size_t)(end - p));
		if (!run)
			run = end;
		mp_buf_add(buf, p, (size_t)(run - p));
		if (run == end)
			break;
		p = decode_escape(run, end, decoded, &len);
		mp_buf_add(buf, decoded, len);
	}
	value.text = mp_buf_str(buf);
	value.len = buf->len;
	return value;
}

bool mp_json_key_is(const struct mp_json *json, const char *key)
{
	const char *p = json->text, *end = p + json->len;
	size_t key_len = strlen(key), len;
	char decoded[4];

	if (MP_LIKELY(!json->escaped))
		return json->len == key_len && memcmp(json->text, key, key_len) == 0;
	while (p < end) {
		if (*p == '\\') {
			p = decode_escape(p, end, decoded, &len);
		} else {
			decoded[0] = *p++;
			len = 1;
		}
		if (key_len < len || memcmp(key, decoded, len) != 0)
			return false;
		key += len;
		key_len -= len;
	}
	return key_len == 0;
}

void mp_json_where(const void *data, int64_t offset, uint64_t *line, uint64_t *column)
{
	const char *begin = data, *at = begin + (offset > 0 ? offset : 0), *p = begin, *found;

	*line = 1;
	while (p < at && (found = memchr(p, '\n', (size_t)(at - p)))) {
		p = found + 1;
		++*line;
	}
	*column = (uint64_t)(at - p) + 1;
}
