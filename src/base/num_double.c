/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doubles <-> decimal text without the C library, which depends on the locale.
 *
 * Reading: digits and a 128-bit power of ten give bounds of the exact value; when both bounds
 * round to the same double that is the answer, else big integers decide. Writing: shortest text
 * within the rounding interval, after R. Giulietti, "The Schubfach way to render doubles" (2020).
 */
#include "base/num.h"

#include <assert.h>
#include <string.h>

#include "base/compiler.h"
#include "base/num_digits.h"
#include "base/num_pow10.h"

#include "base/banned.h"

typedef unsigned __int128 u128;

#define FRACTION_BITS 52
#define HIDDEN_BIT (1ull << FRACTION_BITS)
#define EXPONENT_BIAS 1075 /* value = significand * 2^(biased - 1075) */
#define INFINITY_BITS 0x7ff0000000000000ull

static inline double double_of_bits(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint64_t bits_of_double(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* floor(e * log2(10)) and floor(e * log10(2)) for |e| < 1650. */
static inline int floor_log2_pow10(int e)
{
	return (e * 1741647) >> 19;
}

static inline int floor_log10_pow2(int e)
{
	return (e * 1262611) >> 22;
}

/* ------------------------------------------------------------------ reading */

#define KEPT_DIGITS 19 /* fit in 64 bits */
#define EXACT_DIGITS \
	800 /* enough to tell any decimal from a midpoint of two doubles; one more stands for the rest */
#define EXPONENT_MAX 100000000000000000 /* larger ones are cut to it: no text has as many digits */
#define BIG_WORDS 48                    /* 801 digits, or 54 bits times 5^1126 times 2^51: under 2,800 bits */

struct number {
	bool negative, cut;      /* cut: digits beyond KEPT_DIGITS that are not all 0 */
	uint64_t digits;         /* leading digits */
	int64_t exponent;        /* of the last digit in `digits` */
	int64_t first_exponent;  /* of the first significant digit */
	const char *first, *end; /* the significant digits in the text, with at most one '.' */
};

static const char *skip_digits(const char *at, const char *end)
{
	while (at < end && is_digit(*at))
		at++;
	return at;
}

static bool scan_exponent(const char *at, const char *end, int64_t *exponent)
{
	bool negative = at < end && *at == '-';
	int64_t value = 0;

	if (at < end && (*at == '-' || *at == '+'))
		at++;
	if (at == end || skip_digits(at, end) != end)
		return false;
	for (; at < end; at++)
		value = MP_MIN(value * 10 + (*at - '0'), EXPONENT_MAX);
	*exponent = negative ? -value : value;
	return true;
}

/* Takes the significant digits from [first, end); `dot` is where the point is or would be. */
static void take_significant(struct number *number, const char *first, const char *end, const char *dot)
{
	int kept = 0;

	while (first < end && (*first == '0' || *first == '.'))
		first++;
	number->first = first;
	number->end = end;
	number->first_exponent = dot - first - (dot > first);
	for (const char *at = first; at < end; at++) {
		if (*at == '.')
			continue;
		if (kept < KEPT_DIGITS) {
			number->digits = number->digits * 10 + (uint64_t)(*at - '0');
			kept++;
		} else if (*at != '0') {
			number->cut = true;
			break;
		}
	}
	number->exponent = number->first_exponent + 1 - kept;
}

/* The grammar of RFC 8259, section 6. */
static bool scan_number(const char *text, size_t len, struct number *number)
{
	const char *at = text, *end = text + len, *whole, *dot, *digits_end;
	int64_t exponent = 0;

	memset(number, 0, sizeof(*number));
	if (at < end && *at == '-') {
		number->negative = true;
		at++;
	}
	whole = at;
	dot = at = skip_digits(at, end);
	if (dot == whole || (*whole == '0' && dot - whole > 1))
		return false;
	if (at < end && *at == '.') {
		at = skip_digits(at + 1, end);
		if (at == dot + 1)
			return false;
	}
	digits_end = at;
	if (at < end && ((*at != 'e' && *at != 'E') || !scan_exponent(at + 1, end, &exponent)))
		return false;
	take_significant(number, whole, digits_end, dot);
	number->exponent += exponent;
	number->first_exponent += exponent;
	return true;
}

/*
 * The double nearest to top * 2^exponent plus something that is not 0 when `sticky`, ties to even.
 * top has its highest bit set. The result may be infinity.
 */
static uint64_t round_to_double(u128 top, int exponent, bool sticky)
{
	/* Bits to drop so that 53 remain, or fewer for subnormals. */
	int biased = exponent + (128 - 53) + EXPONENT_BIAS;
	int drop = 128 - 53;
	u128 half;
	uint64_t bits;

	if (biased < 1) {
		drop += 1 - biased;
		biased = 1;
	}
	if (drop > 128)
		return 0;
	half = (u128)1 << (drop - 1);
	bits = drop == 128 ? 0 : (uint64_t)(top >> drop);
	top &= (half << 1) - 1;
	if (top > half || (top == half && (sticky || (bits & 1))))
		bits++;
	/* The hidden bit, and a carry out of rounding, count up the exponent by themselves. */
	bits += (uint64_t)(biased - 1) << FRACTION_BITS;
	return MP_MIN(bits, INFINITY_BITS);
}

/* product (192 bits: high, low) * 2^exponent as a double. */
static uint64_t round_product(u128 high, uint64_t low, int exponent)
{
	int shift =
		high >> 64 ? __builtin_clzll((uint64_t)(high >> 64)) : 64 + __builtin_clzll((uint64_t)high);

	if (shift) {
		high = high << shift | (u128)low << 64 >> (128 - shift);
		low = shift < 64 ? low << shift : 0;
	}
	return round_to_double(high, exponent + 64 - shift, low != 0);
}

/*
 * digits * 10^power as a double, from a power that is rounded up by less than one unit in 2^127:
 * not below the correct result; with `lower`, not above it. Exact where the power is.
 */
static uint64_t round_estimate(uint64_t digits, int power, bool lower)
{
	const uint64_t *pow10 = pow10_table[power - POW10_FIRST];
	int shift = __builtin_clzll(digits);
	u128 low, high;

	digits <<= shift;
	low = (u128)digits * pow10[1];
	high = (u128)digits * pow10[0] + (low >> 64);
	/* The product is too high by less than `digits`, which is less than one unit of `high`. */
	if (lower && (power < POW10_EXACT_FIRST || power > POW10_EXACT_LAST))
		high--;
	return round_product(high, (uint64_t)low, floor_log2_pow10(power) - 127 - shift);
}

/* A natural number, lowest word first. */
struct big {
	size_t len;
	uint64_t words[BIG_WORDS];
};

static void big_push(struct big *big, uint64_t word)
{
	if (!word)
		return;
	assert(big->len < BIG_WORDS);
	big->words[big->len++] = word;
}

/* big = big * factor + add */
static void big_mul_add(struct big *big, uint64_t factor, uint64_t add)
{
	uint64_t carry = add;

	for (size_t i = 0; i < big->len; i++) {
		u128 product = (u128)big->words[i] * factor + carry;

		big->words[i] = (uint64_t)product;
		carry = (uint64_t)(product >> 64);
	}
	big_push(big, carry);
}

static void big_mul_pow5(struct big *big, int64_t n)
{
	for (; n >= 27; n -= 27)
		big_mul_add(big, 7450580596923828125ull, 0); /* 5^27 */
	for (; n > 0; n--)
		big_mul_add(big, 5, 0);
}

static void big_shift_left(struct big *big, int64_t n)
{
	size_t words = (size_t)n / 64;

	big_mul_add(big, 1ull << (n % 64), 0);
	assert(big->len + words <= BIG_WORDS);
	memmove(big->words + words, big->words, big->len * sizeof(big->words[0]));
	memset(big->words, 0, words * sizeof(big->words[0]));
	big->len += words;
}

static int big_compare(const struct big *a, const struct big *b)
{
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	for (size_t i = a->len; i-- > 0;) {
		if (a->words[i] != b->words[i])
			return a->words[i] < b->words[i] ? -1 : 1;
	}
	return 0;
}

/* The significant digits as a natural number; returns how many digits it stands for. */
static int64_t big_of_digits(struct big *big, const struct number *number)
{
	int64_t n = 0;
	const char *at = number->first;

	big->len = 0;
	for (; at < number->end && n < EXACT_DIGITS; at++) {
		if (*at == '.')
			continue;
		big_mul_add(big, 10, (uint64_t)(*at - '0'));
		n++;
	}
	for (; at < number->end; at++) {
		if (*at != '0' && *at != '.') {
			big_mul_add(big, 10, 1);
			return n + 1;
		}
	}
	return n;
}

/* The correct one of the neighbours `bits` and `bits` + 1, by comparing with the middle of them. */
static uint64_t round_exactly(const struct number *number, uint64_t bits)
{
	uint64_t biased = bits >> FRACTION_BITS;
	uint64_t fraction = bits & (HIDDEN_BIT - 1);
	uint64_t significand = biased ? fraction | HIDDEN_BIT : fraction;
	int64_t pow2 = (biased ? (int64_t)biased : 1) - EXPONENT_BIAS - 1;
	struct big decimal, middle = {.len = 1, .words = {2 * significand + 1}};
	int64_t pow10 = number->first_exponent + 1 - big_of_digits(&decimal, number);
	int order;

	/* decimal * 10^pow10 against middle * 2^pow2 */
	if (pow10 >= 0)
		big_mul_pow5(&decimal, pow10);
	else
		big_mul_pow5(&middle, -pow10);
	if (pow2 >= pow10)
		big_shift_left(&middle, pow2 - pow10);
	else
		big_shift_left(&decimal, pow10 - pow2);
	order = big_compare(&decimal, &middle);
	return bits + (order > 0 || (order == 0 && (bits & 1)));
}

/* Digits and power of ten are doubles themselves, so one operation rounds once. False = another case. */
static inline bool parse_small(const struct number *number, double *value)
{
	static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
					1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
					1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

	if (number->digits > 1ull << 53 || number->cut || number->exponent < -22 || number->exponent > 22)
		return false;
	if (number->exponent < 0)
		*value = (double)number->digits / powers[-number->exponent];
	else
		*value = (double)number->digits * powers[number->exponent];
	return true;
}

bool mp_num_parse_double(const char *text, size_t len, double *out)
{
	struct number number;
	uint64_t bits = 0;

	if (!scan_number(text, len, &number))
		return false;
	if (parse_small(&number, out)) {
		*out = number.negative ? -*out : *out;
		return true;
	}
	if (number.digits && number.exponent > POW10_LAST)
		return false;
	/* Below 10^19 * 10^-343 everything rounds to 0. */
	if (number.digits && number.exponent >= POW10_FIRST) {
		int power = (int)number.exponent;

		bits = round_estimate(number.digits, power, true);
		if (bits != round_estimate(number.digits + number.cut, power, false))
			bits = round_exactly(&number, bits);
	}
	if (bits >= INFINITY_BITS)
		return false;
	*out = double_of_bits(bits | (uint64_t)number.negative << 63);
	return true;
}

/* ------------------------------------------------------------------ writing */

/* factor * power / 2^128 with the lowest bit set when anything was cut off. */
static inline uint64_t scale_to_odd(const uint64_t *power, uint64_t factor)
{
	u128 low = (u128)factor * power[1] >> 64;
	u128 sum = (u128)factor * power[0] + low;

	return (uint64_t)(sum >> 64) | ((uint64_t)sum > 1);
}

/*
 * The shortest digits * 10^*exponent that read back as significand * 2^pow2, the closest one when
 * there are several. `narrow`: the next lower double is only half as far as the next higher one.
 */
static uint64_t shortest(uint64_t significand, int pow2, bool narrow, int *exponent)
{
	/* floor(log10(2^pow2)), or of three quarters of it */
	int k = narrow ? (pow2 * 1262611 - 524031) >> 22 : floor_log10_pow2(pow2);
	int shift = pow2 + floor_log2_pow10(-k) + 1;
	const uint64_t *power = pow10_table[-k - POW10_FIRST];
	/* The value and the ends of its interval, in quarters of 10^k; an odd significand owns no end. */
	uint64_t value = scale_to_odd(power, (4 * significand) << shift);
	uint64_t lower = scale_to_odd(power, (4 * significand - 2 + narrow) << shift) + (significand & 1);
	uint64_t upper = scale_to_odd(power, (4 * significand + 2) << shift) - (significand & 1);
	uint64_t digits = value / 4;
	bool below, above;

	if (digits >= 10) {
		uint64_t tens = digits / 10;

		below = lower <= 40 * tens;
		above = 40 * tens + 40 <= upper;
		if (below != above) {
			*exponent = k + 1;
			return tens + above;
		}
	}
	*exponent = k;
	below = lower <= 4 * digits;
	above = 4 * digits + 4 <= upper;
	if (below != above)
		return digits + above;
	/* Both or none: the closer one, the even one of two equally close. */
	return digits + (value > 4 * digits + 2 || (value == 4 * digits + 2 && (digits & 1)));
}

static size_t put_exponent(char *to, int exponent)
{
	size_t len = 2;

	to[0] = 'e';
	to[1] = exponent < 0 ? '-' : '+';
	exponent = exponent < 0 ? -exponent : exponent;
	if (exponent < 10)
		to[len++] = '0';
	return len + mp_num_put_u64(to + len, (uint64_t)exponent);
}

/* digits * 10^exponent in the form of Python's repr. */
static size_t put_decimal(char *to, uint64_t digits, int exponent)
{
	char text[20];
	size_t n, len;
	int point; /* position of the decimal point: 0.text * 10^point */

	while (digits % 10 == 0) {
		digits /= 10;
		exponent++;
	}
	n = mp_num_put_u64(text, digits);
	point = (int)n + exponent;
	if (point <= -4 || point > 16) {
		to[0] = text[0];
		to[1] = '.';
		memcpy(to + 2, text + 1, n - 1);
		len = n > 1 ? n + 1 : 1;
		return len + put_exponent(to + len, point - 1);
	}
	if (point <= 0) {
		memcpy(to, "0.000", 5);
		memcpy(to + 2 - point, text, n);
		return 2 + (size_t)-point + n;
	}
	if ((size_t)point < n) {
		memcpy(to, text, (size_t)point);
		to[point] = '.';
		memcpy(to + point + 1, text + point, n - (size_t)point);
		return n + 1;
	}
	memcpy(to, text, n);
	memset(to + n, '0', (size_t)point - n);
	memcpy(to + point, ".0", 2);
	return (size_t)point + 2;
}

static size_t put_text(char *to, const char *text, size_t len)
{
	memcpy(to, text, len);
	return len;
}

/*
 * Integers, and values with up to three decimals and 15 digits: a text that short that reads back
 * as the value is its only one. False = another case.
 */
static inline bool put_thousandths(char *to, double value, size_t *len)
{
	uint64_t thousandths;

	if (value < 9007199254740992.0 && value == (double)(uint64_t)value) {
		*len = mp_num_put_u64(to, (uint64_t)value);
		memcpy(to + *len, ".0", 2);
		*len += 2;
		return true;
	}
	if (!(value < 1e12))
		return false;
	thousandths = (uint64_t)(value * 1000 + 0.5);
	if ((double)thousandths / 1000 != value)
		return false;
	*len = mp_num_put_us_short(to, (int64_t)thousandths);
	return true;
}

size_t mp_num_put_double(char *to, double value)
{
	uint64_t bits = bits_of_double(value);
	uint64_t fraction = bits & (HIDDEN_BIT - 1);
	int biased = (int)(bits >> FRACTION_BITS & 0x7ff);
	size_t sign = bits >> 63, len;
	uint64_t digits;
	int exponent;

	if (biased == 0x7ff && fraction)
		return put_text(to, "nan", 3);
	if (sign)
		*to++ = '-';
	if (biased == 0x7ff)
		return sign + put_text(to, "inf", 3);
	value = double_of_bits(bits << 1 >> 1);
	if (put_thousandths(to, value, &len))
		return sign + len;
	if (biased)
		digits = shortest(fraction | HIDDEN_BIT, biased - EXPONENT_BIAS, !fraction && biased > 1,
				  &exponent);
	else
		digits = shortest(fraction, 1 - EXPONENT_BIAS, false, &exponent);
	return sign + put_decimal(to, digits, exponent);
}
