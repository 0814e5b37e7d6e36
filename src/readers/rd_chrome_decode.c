/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of one event -> its members, in place: no tokens, no allocation, known keys in any order. A
 * repeated key counts with its last value. What stands in args is only stepped over here.
 */
#include "base/num.h"
#include "readers/rd_chrome.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/banned.h"

static inline bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *skip_space(const char *at, const char *end)
{
	while (at < end && is_space(*at))
		at++;
	return at;
}

const char *chrome_skip_space(const char *at, const char *end)
{
	return skip_space(at, end);
}

/* ---------------------------------------------------------------- strings and containers */

/* The first byte from `at` on that ends a string or needs a look. */
static inline const char *skip_plain(const char *at, const char *end)
{
#if defined(__SSE2__)
	for (; end - at >= 16; at += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
		/* The signed comparison finds controls and bytes from 0x80. */
		__m128i hit = _mm_or_si128(_mm_cmplt_epi8(v, _mm_set1_epi8(' ')),
					   _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
							_mm_cmpeq_epi8(v, _mm_set1_epi8('\\'))));
		unsigned mask = (unsigned)_mm_movemask_epi8(hit);

		if (mask)
			return at + __builtin_ctz(mask);
	}
#endif
	while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80 && *at != '"' &&
	       *at != '\\')
		at++;
	return at;
}

/* at is behind the opening quote; the byte after the closing one, NULL when there is none. */
static inline const char *take_string(const char *at, const char *end, struct chrome_text *out)
{
	out->at = at;
	out->flags = CHROME_STRING;
	for (;;) {
		at = skip_plain(at, end);
		if (at >= end)
			return NULL;
		if (*at == '"')
			break;
		if (*at == '\\') {
			if (end - at < 2)
				return NULL;
			out->flags |= CHROME_ESCAPED;
			at += 2;
		} else {
			out->flags |= (unsigned char)*at < 0x20 ? CHROME_CONTROL : CHROME_HIGH;
			at++;
		}
	}
	out->len = (size_t)(at - out->at);
	return at + 1;
}

/* The first quote or bracket from `at` on. */
static inline const char *find_structure(const char *at, const char *end)
{
#if defined(__SSE2__)
	for (; end - at >= 16; at += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
		__m128i brace = _mm_or_si128(v, _mm_set1_epi8(0x20));
		__m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
					   _mm_or_si128(_mm_cmpeq_epi8(brace, _mm_set1_epi8('{')),
							_mm_cmpeq_epi8(brace, _mm_set1_epi8('}'))));
		unsigned mask = (unsigned)_mm_movemask_epi8(hit);

		if (mask)
			return at + __builtin_ctz(mask);
	}
#endif
	while (at < end && *at != '"' && *at != '{' && *at != '}' && *at != '[' && *at != ']')
		at++;
	return at;
}

/* at is at the opening bracket. Kinds of brackets are not compared: whoever needs the content parses it. */
static const char *take_container(const char *at, const char *end, struct chrome_text *out)
{
	struct chrome_text string;
	size_t depth = 0;

	out->at = at;
	out->flags = CHROME_CONTAINER;
	for (;;) {
		at = find_structure(at, end);
		if (at >= end)
			return NULL;
		if (*at == '"') {
			at = take_string(at + 1, end, &string);
			if (!at)
				return NULL;
			out->flags |= string.flags & (CHROME_HIGH | CHROME_CONTROL);
			continue;
		}
		depth += *at == '{' || *at == '[' ? 1 : (size_t)-1;
		at++;
		if (!depth)
			break;
	}
	out->len = (size_t)(at - out->at);
	return at;
}

/* Whatever may stand in a number or a word. */
static inline bool is_scalar(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
	       c == '-' || c == '+';
}

static inline const char *take_value(const char *at, const char *end, struct chrome_text *out)
{
	if (at >= end)
		return NULL;
	if (*at == '"')
		return take_string(at + 1, end, out);
	if (*at == '{' || *at == '[')
		return take_container(at, end, out);
	out->at = at;
	out->flags = 0;
	while (at < end && is_scalar(*at))
		at++;
	out->len = (size_t)(at - out->at);
	return out->len ? at : NULL;
}

/* ---------------------------------------------------------------- members */

static inline bool same(const char *text, const char *word, size_t len)
{
	return memcmp(text, word, len) == 0;
}

/* CHROME_MEMBERS when it is none that counts. */
static inline unsigned member_of(const char *key, size_t len)
{
	switch (len) {
	case 1:
		return key[0] == 's' ? CHROME_S : CHROME_MEMBERS;
	case 2:
		if (same(key, "ph", 2))
			return CHROME_PH;
		if (same(key, "ts", 2))
			return CHROME_TS;
		if (same(key, "id", 2))
			return CHROME_ID;
		return same(key, "bp", 2) ? CHROME_BP : CHROME_MEMBERS;
	case 3:
		if (same(key, "pid", 3))
			return CHROME_PID;
		if (same(key, "tid", 3))
			return CHROME_TID;
		if (same(key, "dur", 3))
			return CHROME_DUR;
		if (same(key, "cat", 3))
			return CHROME_CAT;
		return same(key, "id2", 3) ? CHROME_ID2 : CHROME_MEMBERS;
	case 4:
		if (same(key, "name", 4))
			return CHROME_NAME;
		if (same(key, "args", 4))
			return CHROME_ARGS;
		return same(key, "wait", 4) ? CHROME_WAIT : CHROME_MEMBERS;
	case 5:
		return same(key, "scope", 5) ? CHROME_SCOPE : CHROME_MEMBERS;
	case 8:
		return same(key, "capacity", 8) ? CHROME_CAPACITY : CHROME_MEMBERS;
	default:
		return CHROME_MEMBERS;
	}
}

const char *chrome_decode(const char *at, const char *end, struct chrome_event *event, const char **fault)
{
	struct chrome_text key, ignored;
	const char *next;

	event->has = 0;
	at = skip_space(at + 1, end);
	if (at < end && *at == '}')
		return at + 1;
	for (;;) {
		unsigned member;

		*fault = at;
		if (at >= end || *at != '"')
			return NULL;
		next = take_string(at + 1, end, &key);
		*fault = next ? at : end;
		if (!next)
			return NULL;
		at = skip_space(next, end);
		*fault = at;
		if (at >= end || *at != ':')
			return NULL;
		at = skip_space(at + 1, end);
		member = member_of(key.at, key.len);
		next = take_value(at, end, member < CHROME_MEMBERS ? &event->member[member] : &ignored);
		*fault = at < end && (*at == '"' || *at == '{' || *at == '[') ? end : at;
		if (!next)
			return NULL;
		event->has |= 1u << member;
		at = skip_space(next, end);
		*fault = at;
		if (at >= end)
			return NULL;
		if (*at == '}')
			return at + 1;
		if (*at != ',')
			return NULL;
		at = skip_space(at + 1, end);
	}
}

bool chrome_next_member(const char **at, const char *end, struct chrome_text *key, struct chrome_text *value)
{
	const char *next = skip_space(*at, end);

	if (next < end && *next == ',')
		next = skip_space(next + 1, end);
	if (next < end && *next == '}')
		return false;
	*at = NULL;
	if (next >= end || *next != '"')
		return false;
	next = take_string(next + 1, end, key);
	if (!next)
		return false;
	next = skip_space(next, end);
	if (next >= end || *next != ':')
		return false;
	next = take_value(skip_space(next + 1, end), end, value);
	if (!next)
		return false;
	*at = next;
	return true;
}

/* ---------------------------------------------------------------- numbers */

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* The usual form: up to 16 digits, perhaps a point and up to three more. */
static inline bool plain_time(const char *at, const char *end, int64_t *ns)
{
	const char *begin = at;
	uint64_t value = 0;
	unsigned digits = 0;

	for (; at < end && is_digit(*at); at++)
		value = value * 10 + (uint64_t)(*at - '0');
	if (at == begin || at - begin > 16 || value > INT64_MAX / 1000 - 1)
		return false;
	if (at < end && *at == '.')
		for (at++; digits < 3 && at < end && is_digit(*at); at++, digits++)
			value = value * 10 + (uint64_t)(*at - '0');
	if (at != end)
		return false;
	for (; digits < 3; digits++)
		value *= 10;
	*ns = (int64_t)value;
	return true;
}

bool chrome_time(const struct chrome_text *text, int64_t *ns)
{
	if (MP_LIKELY(plain_time(text->at, text->at + text->len, ns)))
		return true;
	return !(text->flags & CHROME_CONTAINER) && mp_num_parse_scaled(text->at, text->len, 3, ns);
}

bool chrome_integer(const struct chrome_text *text, int64_t *value)
{
	uint64_t large;

	if (text->flags & CHROME_CONTAINER)
		return false;
	if (text->len && text->len < 18 && is_digit(text->at[0])) {
		int64_t sum = 0;
		size_t i;

		for (i = 0; i < text->len && is_digit(text->at[i]); i++)
			sum = sum * 10 + (text->at[i] - '0');
		*value = sum;
		if (i == text->len)
			return true;
	}
	if (mp_num_parse_i64(text->at, text->len, value))
		return true;
	if (mp_num_parse_u64(text->at, text->len, &large)) {
		*value = (int64_t)large;
		return true;
	}
	/* 7.0 or 1e3: some writers know doubles only. */
	return !(text->flags & CHROME_STRING) && text->len &&
	       mp_num_parse_scaled(text->at, text->len, 0, value);
}

/* ---------------------------------------------------------------- faults */

/* Whether an object that begins here may be an event: behind a comma or bracket, with a key or nothing
 * inside. */
static bool looks_like_event(const char *begin, const char *at, const char *end)
{
	const char *before = at, *after = skip_space(at + 1, end);

	while (before > begin && is_space(before[-1]))
		before--;
	if (before > begin && before[-1] != ',' && before[-1] != '[' && before[-1] != '}')
		return false;
	return after < end && *after == '"';
}

const char *chrome_resync(const char *begin, const char *at, const char *end, size_t *budget)
{
	struct chrome_event event;
	const char *fault, *after;

	while (at < end && (at = memchr(at, '{', (size_t)(end - at)))) {
		if (!looks_like_event(begin, at, end)) {
			at++;
			continue;
		}
		after = chrome_decode(at, end, &event, &fault);
		if (after && CHROME_HAS(&event, CHROME_PH))
			return at;
		/* Each failed try may run far ahead: without a bound a hostile file takes quadratic time. */
		if (!after && (size_t)(fault - at) >= *budget)
			return NULL;
		if (!after)
			*budget -= (size_t)(fault - at);
		at = after ? after : at + 1;
	}
	return NULL;
}
