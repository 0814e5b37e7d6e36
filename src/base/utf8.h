/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 one sequence at a time, strict: no surrogates, no overlong forms, nothing above U+10FFFF. */
#ifndef MP_UTF8_H
#define MP_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mp_utf8 {
	uint32_t code; /* U+FFFD when not valid */
	uint8_t len;   /* of the sequence, or of the longest bad part that counts as one (Unicode section 3.9)
			*/
	bool valid;
	bool cut; /* not valid only because the bytes ran out */
};

/* The sequence at `at`; avail >= 1 bytes may be read. */
static inline struct mp_utf8 mp_utf8_step(const void *at, size_t avail)
{
	const uint8_t *p = (const uint8_t *)at;
	struct mp_utf8 s = {.code = p[0], .len = 1, .valid = true, .cut = false};
	unsigned more, low = 0x80, high = 0xbf;

	if (p[0] < 0x80)
		return s;
	if (p[0] >= 0xc2 && p[0] <= 0xdf) {
		more = 1;
		s.code = p[0] & 0x1fu;
	} else if ((p[0] & 0xf0) == 0xe0) {
		more = 2;
		s.code = p[0] & 0x0fu;
		low = p[0] == 0xe0 ? 0xa0 : 0x80;
		high = p[0] == 0xed ? 0x9f : 0xbf;
	} else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		more = 3;
		s.code = p[0] & 0x07u;
		low = p[0] == 0xf0 ? 0x90 : 0x80;
		high = p[0] == 0xf4 ? 0x8f : 0xbf;
	} else {
		more = 0;
		s.valid = false;
	}
	for (; s.valid && s.len <= more; s.len++) {
		s.cut = s.len >= avail;
		if (s.cut || p[s.len] < low || p[s.len] > high) {
			s.valid = false;
			break;
		}
		s.code = s.code << 6 | (p[s.len] & 0x3fu);
		low = 0x80;
		high = 0xbf;
	}
	if (!s.valid)
		s.code = 0xfffd;
	return s;
}

/* Writes the sequence of a code point (not a surrogate, at most U+10FFFF); returns its length, 1..4. */
static inline size_t mp_utf8_put(char *to, uint32_t code)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

#endif
