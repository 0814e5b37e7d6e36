/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ways through the text of an msprof event share these: tokens of plain JSON, in place
 * (cur_msprof.c, cur_msprof_shape.c).
 */
#ifndef MP_CUR_MSPROF_TEXT_H
#define MP_CUR_MSPROF_TEXT_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <string.h>

#include "current/cur_msprof.h"

static inline const uint8_t *cur_skip_blank(const uint8_t *at, const uint8_t *end)
{
	while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
		at++;
	return at;
}

/* The closing quote of a string of plain ASCII without escapes, NULL when it is another; `at` is behind the
 * opening one. */
static inline const uint8_t *cur_string_end(const uint8_t *at, const uint8_t *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\'), blank = _mm_set1_epi8(' ');

	for (; end - at >= 16; at += 16) {
		__m128i text = _mm_loadu_si128((const __m128i *)(const void *)at);
		/* Signed: bytes from 0x80 on are below the blank, too. */
		__m128i special =
			_mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(text, quote), _mm_cmpeq_epi8(text, escape)),
				     _mm_cmplt_epi8(text, blank));
		int mask = _mm_movemask_epi8(special);

		if (mask) {
			at += __builtin_ctz((unsigned)mask);
			return *at == '"' ? at : NULL;
		}
	}
#endif
	for (; at < end; at++) {
		if (*at == '"')
			return at;
		if (*at == '\\' || *at < ' ' || *at >= 0x80)
			return NULL;
	}
	return NULL;
}

static inline bool cur_is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* Behind a JSON number, NULL when it is none (cur_msprof.c). */
const uint8_t *cur_number_end(const uint8_t *at, const uint8_t *end);

/* The event at `at` when it has a shape that was learned, else NULL and *event undefined (cur_msprof_shape.c). */
const uint8_t *cur_shapes_scan(struct cur_msprof_shapes *shapes, const uint8_t *at, const uint8_t *end,
			       struct cur_msprof_event *event);
/* Learns from an event of plain valid JSON. */
void cur_shapes_learn(struct cur_msprof_shapes *shapes, const uint8_t *at, const uint8_t *behind);

#endif
