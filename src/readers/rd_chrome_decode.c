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
	while (at < end && (unsigned char)*at <= ' ' && is_space(*at))
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

/*
 * at is behind the opening quote; the byte after the closing one, NULL when there is none. A line end means
 * that a quote is missing: no string goes over it, and what is broken stays in its line.
 */
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
		} else if (*at == '\n') {
			return NULL;
		} else {
			out->flags |= (unsigned char)*at < 0x20 ? CHROME_CONTROL : CHROME_HIGH;
			at++;
		}
	}
	out->len = (size_t)(at - out->at);
	return at + 1;
}

/* Whatever may stand in a number or a word. */
static const bool scalar_bytes[256] = {
	['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1, ['7'] = 1, ['8'] = 1,
	['9'] = 1, ['.'] = 1, ['-'] = 1, ['+'] = 1, ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1,
	['F'] = 1, ['G'] = 1, ['H'] = 1, ['I'] = 1, ['J'] = 1, ['K'] = 1, ['L'] = 1, ['M'] = 1, ['N'] = 1,
	['O'] = 1, ['P'] = 1, ['Q'] = 1, ['R'] = 1, ['S'] = 1, ['T'] = 1, ['U'] = 1, ['V'] = 1, ['W'] = 1,
	['X'] = 1, ['Y'] = 1, ['Z'] = 1, ['a'] = 1, ['b'] = 1, ['c'] = 1, ['d'] = 1, ['e'] = 1, ['f'] = 1,
	['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1, ['k'] = 1, ['l'] = 1, ['m'] = 1, ['n'] = 1, ['o'] = 1,
	['p'] = 1, ['q'] = 1, ['r'] = 1, ['s'] = 1, ['t'] = 1, ['u'] = 1, ['v'] = 1, ['w'] = 1, ['x'] = 1,
	['y'] = 1, ['z'] = 1,
};

/* Walk through a container, which goes on from block to block. */
struct walk {
	size_t depth;
	const char *escaped; /* the byte that a backslash hides */
	bool in_string;
};

/* One quote, backslash, bracket or line end; true at the end of the container, or where it is seen to be
 * broken. */
static inline bool walk_byte(struct walk *walk, const char *at)
{
	char c = *at;

	if (walk->in_string) {
		if (at == walk->escaped)
			return false;
		if (c == '"')
			walk->in_string = false;
		else if (c == '\\')
			walk->escaped = at + 1;
		return c == '\n';
	}
	if (c == '"') {
		walk->in_string = true;
	} else if (c == '{' || c == '[') {
		walk->depth++;
	} else if (c == '}' || c == ']') {
		return --walk->depth == 0;
	}
	return false;
}

#if defined(__SSE2__)
static inline unsigned bits_of(__m128i low, __m128i high)
{
	return (unsigned)_mm_movemask_epi8(low) | (unsigned)_mm_movemask_epi8(high) << 16;
}

/* The closing brace of an object of at most 32 bytes without objects in it or anything odd; NULL when it is
 * another. */
static inline const char *end_of_small(const char *at)
{
	const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)at);
	const __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(at + 16));
	const __m128i bit = _mm_set1_epi8(0x20), quote = _mm_set1_epi8('"'), brace = _mm_set1_epi8('{');
	__m128i low_brace = _mm_or_si128(low, bit), high_brace = _mm_or_si128(high, bit);
	unsigned inside = bits_of(_mm_cmpeq_epi8(low, quote), _mm_cmpeq_epi8(high, quote));
	unsigned closes = bits_of(_mm_cmpeq_epi8(low_brace, _mm_set1_epi8('}')),
				  _mm_cmpeq_epi8(high_brace, _mm_set1_epi8('}')));
	unsigned opens = bits_of(_mm_cmpeq_epi8(low_brace, brace), _mm_cmpeq_epi8(high_brace, brace));
	/* Controls, bytes from 0x80 and backslashes are left to the general way. */
	unsigned odd =
		bits_of(_mm_or_si128(_mm_cmplt_epi8(low, bit), _mm_cmpeq_epi8(low, _mm_set1_epi8('\\'))),
			_mm_or_si128(_mm_cmplt_epi8(high, bit), _mm_cmpeq_epi8(high, _mm_set1_epi8('\\'))));

	/* Bit i becomes the parity of the quotes up to it. */
	inside ^= inside << 1;
	inside ^= inside << 2;
	inside ^= inside << 4;
	inside ^= inside << 8;
	inside ^= inside << 16;
	closes &= ~inside;
	if (!closes)
		return NULL;
	closes &= 0 - closes;
	return ((opens & ~inside & ~1u) | odd) & (closes - 1) ? NULL : at + __builtin_ctz(closes);
}
#endif

/* at is at the opening bracket. Kinds of brackets are not compared: whoever needs the content parses it. */
static const char *take_container(const char *at, const char *end, struct chrome_text *out)
{
	struct walk walk = {0};
	uint8_t flags = CHROME_CONTAINER;

	out->at = at;
#if defined(__SSE2__)
	if (end - at >= 32) {
		const char *close = end_of_small(at);

		if (close) {
			out->flags = CHROME_CONTAINER;
			out->len = (size_t)(close + 1 - at);
			return close + 1;
		}
	}
	for (; end - at >= 16; at += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
		__m128i brace = _mm_or_si128(v, _mm_set1_epi8(0x20));
		__m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
							_mm_cmpeq_epi8(v, _mm_set1_epi8('\\'))),
					   _mm_or_si128(_mm_cmpeq_epi8(brace, _mm_set1_epi8('{')),
							_mm_cmpeq_epi8(brace, _mm_set1_epi8('}'))));
		__m128i line = _mm_cmpeq_epi8(v, _mm_set1_epi8('\n'));
		unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(hit, line));

		if (_mm_movemask_epi8(v))
			flags |= CHROME_HIGH;
		for (; mask; mask &= mask - 1) {
			const char *byte = at + __builtin_ctz(mask);

			if (walk_byte(&walk, byte)) {
				out->flags = flags;
				out->len = (size_t)(byte + 1 - out->at);
				return walk.in_string ? NULL : byte + 1;
			}
		}
	}
#endif
	for (; at < end; at++) {
		if ((unsigned char)*at >= 0x80)
			flags |= CHROME_HIGH;
		if (walk_byte(&walk, at)) {
			out->flags = flags;
			out->len = (size_t)(at + 1 - out->at);
			return walk.in_string ? NULL : at + 1;
		}
	}
	return NULL;
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
	while (at < end && scalar_bytes[(unsigned char)*at])
		at++;
	out->len = (size_t)(at - out->at);
	return out->len ? at : NULL;
}

/* ---------------------------------------------------------------- numbers */

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

static const uint64_t pow10_u64[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* The digits at `at`, eight bytes at a time: value and number of digits, at most 16. */
static inline const char *take_digits(const char *at, const char *end, uint64_t *value)
{
	*value = 0;
	for (unsigned round = 0; round < 2 && end - at >= 8; round++) {
		const uint64_t tops = 0x8080808080808080ull;
		uint64_t word, over;
		unsigned n;

		memcpy(&word, at, sizeof(word));
		word ^= 0x3030303030303030ull;
		/* The top bit of each byte that is no digit; wrong only above the first of them. */
		over = ((word + 0x7676767676767676ull) | word) & tops;
		n = over ? (unsigned)__builtin_ctzll(over) / 8 : 8;
		if (!n)
			return at;
		/* Leading zeros come in from below; then neighbours are added up: 2, 4 and 8 digits. */
		word <<= 64 - 8 * n;
		word = (word & 0x0f0f0f0f0f0f0f0full) * 2561 >> 8;
		word = (word & 0x00ff00ff00ff00ffull) * 6553601 >> 16;
		word = (word & 0x0000ffff0000ffffull) * 42949672960001ull >> 32;
		*value = *value * pow10_u64[n] + word;
		at += n;
		if (n < 8)
			return at;
	}
	return at;
}
#else
static inline const char *take_digits(const char *at, const char *end, uint64_t *value)
{
	const char *stop = end - at > 16 ? at + 16 : end;

	for (*value = 0; at < stop && (unsigned char)(*at - '0') < 10; at++)
		*value = *value * 10 + (uint64_t)(*at - '0');
	return at;
}
#endif

/* Up to three digits behind a point as thousandths; NULL when there are more. */
static inline const char *take_decimals(const char *at, const char *end, uint64_t *part)
{
	uint64_t value = 0, unit = 1000;

	if (MP_LIKELY(end - at > 3 && is_digit(at[0]) && is_digit(at[1]) && is_digit(at[2]))) {
		*part = (unsigned)(at[0] - '0') * 100u + (unsigned)(at[1] - '0') * 10u +
			(unsigned)(at[2] - '0');
		return is_digit(at[3]) ? NULL : at + 3;
	}
	for (; unit > 1 && at < end && is_digit(*at); at++) {
		value = value * 10 + (uint64_t)(*at - '0');
		unit /= 10;
	}
	*part = value * unit;
	return at;
}

/* Microseconds in the usual form: up to 16 digits, perhaps a point and up to three more. NULL when it is
 * another. */
static inline const char *take_time(const char *at, const char *end, int64_t *ns)
{
	uint64_t whole, part = 0;
	const char *next = take_digits(at, end, &whole);

	if (next == at || whole > INT64_MAX / 1000 - 1)
		return NULL;
	if (next < end && *next == '.') {
		next = take_decimals(next + 1, end, &part);
		if (!next)
			return NULL;
	}
	if (next >= end || scalar_bytes[(unsigned char)*next])
		return NULL;
	*ns = (int64_t)(whole * 1000 + part);
	return next;
}

static inline const char *take_integer(const char *at, const char *end, int64_t *value)
{
	uint64_t whole;
	const char *next = take_digits(at, end, &whole);

	if (next == at || next >= end || scalar_bytes[(unsigned char)*next])
		return NULL;
	*value = (int64_t)whole;
	return next;
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

/* A pattern of the first `len` bytes at `at`, at most 16; cleared when there are more. */
static void remember(struct chrome_pattern *pattern, const char *at, size_t len)
{
	memset(pattern, 0, sizeof(*pattern));
	if (len > sizeof(pattern->word))
		return;
	memcpy(pattern->word, at, len);
	memset(pattern->mask, 0xff, len);
	pattern->len = (uint8_t)len;
}

/* at has 16 readable bytes. A cleared pattern matches nothing. */
static inline bool matches(const struct chrome_pattern *pattern, const char *at)
{
	uint64_t word[2];

	memcpy(word, at, sizeof(word));
	return pattern->len && !(((word[0] ^ pattern->word[0]) & pattern->mask[0]) |
				 ((word[1] ^ pattern->word[1]) & pattern->mask[1]));
}

/*
 * From `at`, where an event begins or a value ends, to the next value. NULL at the end of the event, with
 * *done behind it, and after a fault. The text on the way is remembered for the next event.
 */
static const char *next_value(const char *at, const char *end, struct chrome_key *known, bool is_first,
			      const char **done, const char **fault)
{
	const char *begin = at, *next;
	struct chrome_text key;

	*done = NULL;
	at = skip_space(is_first ? at + 1 : at, end);
	*fault = at;
	if (at < end && *at == '}')
		*done = at + 1;
	if (!is_first) {
		if (at >= end || *at != ',')
			return NULL;
		at = skip_space(at + 1, end);
	}
	*fault = at;
	if (at >= end || *at != '"')
		return NULL;
	next = take_string(at + 1, end, &key);
	*fault = next ? at : end;
	if (!next)
		return NULL;
	next = skip_space(next, end);
	*fault = next;
	if (next >= end || *next != ':')
		return NULL;
	next = skip_space(next + 1, end);
	remember(&known->link, begin, (size_t)(next - begin));
	known->value.len = 0;
	known->member = (uint8_t)member_of(key.at, key.len);
	known->bit = 1u << known->member;
	return next;
}

/* The value of a member; numbers that are needed are parsed on the way. */
static inline const char *take_member(const char *at, const char *end, unsigned member,
				      struct chrome_event *event)
{
	const char *next = NULL;

	switch (member) {
	case CHROME_TS:
	case CHROME_DUR:
		next = take_time(at, end, &event->number[member - CHROME_TS]);
		break;
	case CHROME_PID:
	case CHROME_TID:
		next = take_integer(at, end, &event->number[member - CHROME_TS]);
		break;
	default:
		break;
	}
	if (next) {
		event->parsed |= 1u << member;
		return next;
	}
	event->parsed &= ~(1u << member);
	next = take_value(at, end, &event->member[member]);
	if (next && member == CHROME_PH)
		event->phase = event->member[member].len ? event->member[member].at[0] : '\0';
	return next;
}

/* Values that are mostly the same from event to event. */
#define REPEATED (1u << CHROME_PH | 1u << CHROME_PID | 1u << CHROME_TID | 1u << CHROME_CAT)

/* As take_member, but a value that the last event had at this place, too, is known by its bytes. */
static inline const char *take_repeated(const char *at, const char *end, struct chrome_key *known,
					struct chrome_event *event)
{
	unsigned member = known->member;
	const char *next;

	if (end - at > 16 && matches(&known->value, at)) {
		event->member[member] = known->text;
		if (member < CHROME_PH) {
			event->number[member] = known->number;
			event->parsed |= 1u << member;
		} else if (member == CHROME_PH) {
			event->phase = known->text.at[0];
		}
		return at + known->value.len - 1;
	}
	next = take_member(at, end, member, event);
	known->value.len = 0;
	if (!next || next >= end || (member < CHROME_PH && !CHROME_PARSED(event, member)) ||
	    (member >= CHROME_PH && !event->member[member].len))
		return next;
	/* With the byte behind it, so that 1 is not taken for the begin of 12. */
	remember(&known->value, at, (size_t)(next + 1 - at));
	if (member < CHROME_PH)
		known->number = event->number[member];
	else
		known->text = event->member[member];
	return next;
}

/* Remembers what stands before the value of ts at `at`; n members came before it. */
static void remember_head(struct chrome_keys *keys, const struct chrome_event *event, const char *begin,
			  const char *at, unsigned n)
{
	keys->head = NULL;
	if (event->has & ~REPEATED || (size_t)(at - begin) < 16)
		return;
	keys->head = begin;
	keys->head_len = (size_t)(at - begin);
	keys->head_n = n;
	keys->head_has = event->has;
	keys->head_parsed = event->parsed;
	keys->head_phase = event->phase;
	keys->head_category = event->member[CHROME_CAT];
	memcpy(keys->head_number, event->number, sizeof(keys->head_number));
}

/* Whether the event at `at` begins as the last one did; then its members are filled in. */
static inline bool take_head(const struct chrome_keys *keys, const char *at, const char *end,
			     struct chrome_event *event)
{
	const char *head = keys->head;
	size_t i, len = keys->head_len;

	if (!head || (size_t)(end - at) < len)
		return false;
	for (i = 0; i + 16 < len; i += 16) {
		if (!same(at + i, head + i, 16))
			return false;
	}
	if (!same(at + len - 16, head + len - 16, 16))
		return false;
	event->has = keys->head_has;
	event->parsed = keys->head_parsed;
	event->phase = keys->head_phase;
	event->member[CHROME_CAT] = keys->head_category;
	event->number[CHROME_PID] = keys->head_number[CHROME_PID];
	event->number[CHROME_TID] = keys->head_number[CHROME_TID];
	return true;
}

/* As next_value, by the bytes of the last event when they are the same. */
static inline const char *follow(const char *at, const char *end, struct chrome_key *known, bool is_first,
				 const char **done, const char **fault)
{
	if (MP_LIKELY(end - at > 16 && matches(&known->link, at))) {
		at += known->link.len;
		/* There may be more space than last time. */
		return MP_LIKELY((unsigned char)*at > ' ') ? at : skip_space(at, end);
	}
	*done = at < end && *at == '}' ? at + 1 : NULL;
	return *done ? NULL : next_value(at, end, known, is_first, done, fault);
}

const char *chrome_decode(const char *at, const char *end, struct chrome_event *event,
			  struct chrome_keys *keys, const char **fault)
{
	const char *begin = at, *next, *done = NULL;
	/* The last place is shared by all further members. */
	struct chrome_key *known = keys->at, *last = &keys->at[MP_COUNT(keys->at) - 1];

	if (take_head(keys, at, end, event)) {
		known += keys->head_n;
		at = skip_space(at + keys->head_len, end);
		if (known->member != CHROME_TS) /* an event of another form came in between */
			*known = (struct chrome_key){.member = CHROME_TS, .bit = 1u << CHROME_TS};
	} else {
		event->has = event->parsed = 0;
		event->phase = '\0';
		at = follow(at, end, known, true, &done, fault);
		if (!at)
			return done;
		if (known->member == CHROME_TS)
			remember_head(keys, event, begin, at, 0);
	}
	for (;;) {
		if (known->bit & REPEATED)
			next = take_repeated(at, end, known, event);
		else
			next = take_member(at, end, known->member, event);
		if (MP_UNLIKELY(!next)) {
			*fault = at < end && (*at == '"' || *at == '{' || *at == '[') ? end : at;
			return NULL;
		}
		event->has |= known->bit;
		known += known < last;
		at = follow(next, end, known, false, &done, fault);
		if (MP_UNLIKELY(!at))
			return done;
		if (known->member == CHROME_TS)
			remember_head(keys, event, begin, at, (unsigned)(known - keys->at));
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

/* ---------------------------------------------------------------- numbers of members */

bool chrome_time(const struct chrome_text *text, int64_t *ns)
{
	return !(text->flags & CHROME_CONTAINER) && mp_num_parse_scaled(text->at, text->len, 3, ns);
}

bool chrome_integer(const struct chrome_text *text, int64_t *value)
{
	uint64_t large;

	if (text->flags & CHROME_CONTAINER)
		return false;
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
	struct chrome_keys keys = {0};
	struct chrome_event event;
	const char *fault, *after;

	while (at < end && (at = memchr(at, '{', (size_t)(end - at)))) {
		if (!looks_like_event(begin, at, end)) {
			at++;
			continue;
		}
		after = chrome_decode(at, end, &event, &keys, &fault);
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
