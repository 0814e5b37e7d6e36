/* SPDX-License-Identifier: Apache-2.0 */
/* Exact decimal text <-> integers, scaled integers included. Doubles: num_double.c. */
#include "base/num.h"

#include <string.h>

#include "base/compiler.h"
#include "base/num_digits.h"

#include "base/banned.h"

#define EXPONENT_MAX 100000000000000000 /* larger ones are cut to it: no text has as many digits */

static const uint64_t pow10_u64[20] = {
	1ull,
	10ull,
	100ull,
	1000ull,
	10000ull,
	100000ull,
	1000000ull,
	10000000ull,
	100000000ull,
	1000000000ull,
	10000000000ull,
	100000000000ull,
	1000000000000ull,
	10000000000000ull,
	100000000000000ull,
	1000000000000000ull,
	10000000000000000ull,
	100000000000000000ull,
	1000000000000000000ull,
	10000000000000000000ull,
};

static const char two_digits[200] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";

bool mp_num_parse_u64(const char *text, size_t len, uint64_t *out)
{
	const char *at = text, *end = text + len;
	uint64_t value;

	while (end - at > 20 && *at == '0')
		at++;
	if (at == end || end - at > 20)
		return false;
	/* Nineteen digits always fit, the twentieth may not. */
	value = take_digits(&at, MP_MIN(end, at + 19), 0);
	if (at < end && is_digit(*at)) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return false;
		at++;
	}
	if (at != end)
		return false;
	*out = value;
	return true;
}

/* sign * magnitude when it fits. */
static bool signed_value(bool negative, uint64_t magnitude, int64_t *out)
{
	if (magnitude > (uint64_t)INT64_MAX + negative)
		return false;
	*out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
	return true;
}

bool mp_num_parse_i64(const char *text, size_t len, int64_t *out)
{
	bool negative = len && text[0] == '-';
	uint64_t magnitude;

	return mp_num_parse_u64(text + negative, len - negative, &magnitude) &&
	       signed_value(negative, magnitude, out);
}

/* A decimal text taken apart: 0.d1d2d3... times 10^point, d1 not 0. */
struct decimal {
	bool negative;
	const char *digits; /* d1; the text goes on to `end` and may hold one '.' */
	const char *end;
	int64_t n_digits; /* 0 = the value is zero */
	int64_t point;
};

static bool scan_exponent(const char *at, const char *end, int64_t *exponent)
{
	bool negative = at < end && *at == '-';
	int64_t value = 0;

	if (at < end && (*at == '-' || *at == '+'))
		at++;
	if (at == end)
		return false;
	for (; at < end; at++) {
		if (!is_digit(*at))
			return false;
		value = MP_MIN(value * 10 + (*at - '0'), EXPONENT_MAX);
	}
	*exponent = negative ? -value : value;
	return true;
}

static bool scan_decimal(const char *text, size_t len, struct decimal *out)
{
	const char *at = text, *end = text + len, *dot = NULL;
	int64_t exponent = 0;
	bool any = false;

	memset(out, 0, sizeof(*out));
	if (at < end && (*at == '-' || *at == '+'))
		out->negative = *at++ == '-';
	for (; at < end; at++) {
		if (*at == '.' && !dot) {
			dot = at;
		} else if (is_digit(*at)) {
			any = true;
			if (*at != '0' && !out->digits)
				out->digits = at;
		} else {
			break;
		}
	}
	out->end = at;
	if (!any)
		return false;
	if (at < end && ((*at != 'e' && *at != 'E') || !scan_exponent(at + 1, end, &exponent)))
		return false;
	if (!out->digits)
		return true;
	if (!dot)
		dot = out->end;
	out->n_digits = out->end - out->digits - (dot >= out->digits && dot < out->end);
	out->point = dot - out->digits + (dot < out->digits) + exponent;
	return true;
}

/* The usual case: no exponent, at most 19 digits, none beyond the unit. False = another case. */
static inline bool parse_plain(const char *text, size_t len, int scale, int64_t *out)
{
	const char *at = text, *end = text + len;
	bool negative = len && *at == '-';
	int64_t n_digits, decimals = 0;
	uint64_t value;

	at += negative;
	text = at;
	value = take_digits(&at, end, 0);
	n_digits = at - text;
	if (at < end && *at == '.') {
		text = ++at;
		value = take_digits(&at, end, value);
		decimals = at - text;
		n_digits += decimals;
	}
	if (at != end || n_digits == 0 || n_digits > 19 || decimals > scale || scale - decimals > 19)
		return false;
	return !__builtin_mul_overflow(value, pow10_u64[scale - decimals], &value) &&
	       signed_value(negative, value, out);
}

/* Any case, digit by digit. */
static MP_COLD bool parse_rounded(const char *text, size_t len, int scale, int64_t *out)
{
	struct decimal dec;
	uint64_t value = 0;
	int64_t n_whole, i = 0;
	bool half = false, above = false, more = false;

	if (!scan_decimal(text, len, &dec))
		return false;
	/* Number of digits left of the point after scaling. */
	n_whole = dec.n_digits ? dec.point + scale : 0;
	if (n_whole > 19)
		return false;
	for (const char *at = dec.digits; i < dec.n_digits && n_whole >= 0; at++) {
		int digit = *at - '0';

		if (*at == '.')
			continue;
		if (i < n_whole) {
			value = value * 10 + (uint64_t)digit;
		} else if (i == n_whole) {
			half = digit == 5;
			above = digit > 5;
		} else {
			more |= digit != 0;
		}
		i++;
	}
	/* 19 digits fit in 64 bits, whatever they are. */
	if (i < n_whole)
		value *= pow10_u64[n_whole - i];
	if (above || (half && (more || (value & 1))))
		value++;
	return signed_value(dec.negative, value, out);
}

bool mp_num_parse_scaled(const char *text, size_t len, int scale, int64_t *out)
{
	return parse_plain(text, len, scale, out) || parse_rounded(text, len, scale, out);
}

static inline void put2(char *to, uint32_t value)
{
	memcpy(to, &two_digits[value * 2], 2);
}

static inline void put4(char *to, uint32_t value)
{
	put2(to, value / 100);
	put2(to + 2, value % 100);
}

/* The halves do not depend on each other, so their divisions overlap. */
static inline void put8(char *to, uint32_t value)
{
	put4(to, value / 10000);
	put4(to + 4, value % 10000);
}

static inline size_t put_below_1e4(char *to, uint32_t value)
{
	if (value < 10) {
		*to = (char)('0' + value);
		return 1;
	}
	if (value < 100) {
		put2(to, value);
		return 2;
	}
	if (value < 1000) {
		*to = (char)('0' + value / 100);
		put2(to + 1, value % 100);
		return 3;
	}
	put4(to, value);
	return 4;
}

static inline size_t put_below_1e8(char *to, uint32_t value)
{
	size_t len;

	if (value < 10000)
		return put_below_1e4(to, value);
	len = put_below_1e4(to, value / 10000);
	put4(to + len, value % 10000);
	return len + 4;
}

size_t mp_num_put_u64(char *to, uint64_t value)
{
	uint64_t upper;
	size_t len;

	if (value < 100000000)
		return put_below_1e8(to, (uint32_t)value);
	upper = value / 100000000;
	if (upper < 100000000) {
		len = put_below_1e8(to, (uint32_t)upper);
	} else {
		len = put_below_1e4(to, (uint32_t)(upper / 100000000));
		put8(to + len, (uint32_t)(upper % 100000000));
		len += 8;
	}
	put8(to + len, (uint32_t)(value % 100000000));
	return len + 8;
}

/* Writes '-' when value is negative and gives its magnitude. */
static inline size_t put_sign(char *to, int64_t value, uint64_t *magnitude)
{
	*magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	*to = '-';
	return value < 0;
}

size_t mp_num_put_i64(char *to, int64_t value)
{
	uint64_t magnitude;
	size_t sign = put_sign(to, value, &magnitude);

	return sign + mp_num_put_u64(to + sign, magnitude);
}

size_t mp_num_put_scaled(char *to, int64_t value, int digits)
{
	uint64_t magnitude;
	size_t len = put_sign(to, value, &magnitude);

	len += mp_num_put_u64(to + len, magnitude / pow10_u64[digits]);
	if (!digits)
		return len;
	to[len++] = '.';
	magnitude %= pow10_u64[digits];
	for (int i = digits; i-- > 0; magnitude /= 10)
		to[len + (size_t)i] = (char)('0' + magnitude % 10);
	return len + (size_t)digits;
}

size_t mp_num_put_us3(char *to, int64_t ns)
{
	uint64_t magnitude;
	size_t len = put_sign(to, ns, &magnitude);
	uint32_t fraction = (uint32_t)(magnitude % 1000);

	len += mp_num_put_u64(to + len, magnitude / 1000);
	to[len] = '.';
	to[len + 1] = (char)('0' + fraction / 100);
	put2(to + len + 2, fraction % 100);
	return len + 4;
}

size_t mp_num_put_us_short(char *to, int64_t ns)
{
	size_t len = mp_num_put_us3(to, ns);

	while (to[len - 1] == '0')
		len--;
	return to[len - 1] == '.' ? len - 1 : len;
}
