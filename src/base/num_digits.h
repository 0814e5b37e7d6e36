/* SPDX-License-Identifier: Apache-2.0 */
/* Digits of a text, eight at a time where there are as many. Included by num*.c only. */
#ifndef MP_NUM_DIGITS_H
#define MP_NUM_DIGITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* The value of eight digits; false when one of the bytes is something else. */
static inline bool eight_digits(const char *at, uint32_t *value)
{
	uint64_t bytes;

	memcpy(&bytes, at, sizeof(bytes));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	bytes = __builtin_bswap64(bytes);
#endif
	/* '0' .. '9' are 0x30 .. 0x39, and adding 6 must not change their upper halves. */
	if (((bytes & 0xf0f0f0f0f0f0f0f0) | ((bytes + 0x0606060606060606) & 0xf0f0f0f0f0f0f0f0) >> 4) !=
	    0x3333333333333333)
		return false;
	bytes &= 0x0f0f0f0f0f0f0f0f;
	/* The first digit is in the lowest byte: pairs, then fours, then all. */
	bytes = (bytes * (1 + (10ull << 8))) >> 8 & 0x00ff00ff00ff00ff;
	bytes = (bytes * (1 + (100ull << 16))) >> 16 & 0x0000ffff0000ffff;
	*value = (uint32_t)((bytes * (1 + (10000ull << 32))) >> 32);
	return true;
}

/* value * 10^n + the n digits at *at, modulo 2^64; moves *at behind them. */
static inline uint64_t take_digits(const char **at, const char *end, uint64_t value)
{
	const char *digit = *at;
	uint32_t eight;

	while (end - digit >= 8 && eight_digits(digit, &eight)) {
		value = value * 100000000 + eight;
		digit += 8;
	}
	for (; digit < end && is_digit(*digit); digit++)
		value = value * 10 + (uint64_t)(*digit - '0');
	*at = digit;
	return value;
}

#endif
