/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decimal arithmetic as the original has it for scopes: a sum is exact unless it has more than 28 digits,
 * then it is rounded half to even; the decimals of a result are those of the operand with more
 * (analysis-current.md section 7.5).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "current/cur_scope_time.h"

#include "base/banned.h"

#define DIGITS 28
#define MAX_DECIMALS 1074 /* of a double */
#define TEXT_BYTES (MAX_DECIMALS + 330)

static __int128 pow10_i128(int n)
{
	__int128 power = 1;

	while (n-- > 0)
		power *= 10;
	return power;
}

/* 10^28, which has one digit too many: what everything beyond stops at. */
static __int128 stop_of(bool negative)
{
	return negative ? -pow10_i128(DIGITS) : pow10_i128(DIGITS);
}

/* value * 10^n */
static __int128 scaled(__int128 value, int n)
{
	__int128 product, stop = stop_of(value < 0);

	if (!n)
		return value;
	if (__builtin_mul_overflow(value, pow10_i128(n), &product) || product / 10 > stop_of(false) ||
	    product / 10 < stop_of(true))
		return stop;
	return product;
}

/* The begin in units of 10^-decimals us. */
static __int128 begin_in(struct cur_begin begin, int decimals)
{
	return decimals >= 3 ? scaled(begin.ns, decimals - 3) : begin.ns / (int64_t)pow10_i128(3 - decimals);
}

/* A binary fraction m / 2^n with odd m has n decimals. */
static int decimals_of(double us)
{
	int exponent, n;
	double part = frexp(us, &exponent);

	if (us == 0)
		return 0;
	for (n = 0; part != rint(part); n++)
		part *= 2;
	return MP_MAX(n - exponent, 0);
}

/* Whole digits of a begin in us and of a sum with it. */
static int whole_digits(__int128 us)
{
	int n = 1;

	for (; us > 9 || us < -9; us /= 10)
		n++;
	return n;
}

/* Rounded half to even, which printf does exactly; the point may be any character. */
static __int128 double_in(double us, int decimals)
{
	char text[TEXT_BYTES], *at;
	__int128 value = 0;
	int digits = 0;

	if (!(fabs(us) < 1e28))
		return stop_of(us < 0);
	snprintf(text, sizeof(text), "%.*f", decimals, fabs(us));
	for (at = text; *at; at++) {
		if (*at < '0' || *at > '9')
			continue;
		digits += digits || *at != '0';
		if (digits > DIGITS + 1)
			return stop_of(us < 0);
		value = value * 10 + (*at - '0');
	}
	return us < 0 ? -value : value;
}

struct cur_begin cur_begin_of(int64_t ns, bool is_binary)
{
	struct cur_begin begin = {ns, 3};

	for (; is_binary && begin.decimals && !(ns % 10); ns /= 10)
		begin.decimals--;
	return begin;
}

struct cur_exact cur_exact_ns(int64_t ns)
{
	return (struct cur_exact){.value = ns, .decimals = 3};
}

struct cur_exact cur_exact_double(double us)
{
	return (struct cur_exact){.binary = us, .is_binary = true};
}

struct cur_exact cur_exact_end(struct cur_begin begin, const struct cur_exact *dur)
{
	int decimals = dur->is_binary ? decimals_of(dur->binary) : dur->decimals, whole;
	struct cur_exact end = {.value = begin.ns, .decimals = 3};

	decimals = MP_MAX(decimals, begin.decimals);
	if (!dur->is_binary && dur->decimals == 3 && begin.decimals == 3) {
		end.value += dur->value;
		return end;
	}
	/* A carry may make the sum one digit longer. */
	for (whole = whole_digits(begin.ns / 1000);; whole++) {
		end.decimals = MP_MIN(decimals, MP_MAX(DIGITS - whole, 0));
		end.value = begin_in(begin, end.decimals);
		if (dur->is_binary)
			end.value += double_in(dur->binary, end.decimals);
		else if (dur->decimals <= end.decimals)
			end.value += scaled(dur->value, end.decimals - dur->decimals);
		else
			end.value += dur->value / pow10_i128(dur->decimals - end.decimals);
		if (whole >= DIGITS || whole_digits(end.value / pow10_i128(end.decimals)) <= whole)
			return end;
	}
}

struct cur_exact cur_exact_since(const struct cur_exact *end, struct cur_begin begin)
{
	struct cur_exact dur = {.decimals = MP_MAX(end->decimals, begin.decimals)};

	dur.value = scaled(end->value, dur.decimals - end->decimals) - begin_in(begin, dur.decimals);
	return dur;
}

bool cur_exact_is_before(struct cur_begin begin, const struct cur_exact *end)
{
	int decimals = MP_MAX(end->decimals, begin.decimals);

	return begin_in(begin, decimals) < scaled(end->value, decimals - end->decimals);
}

static void put_binary(struct mp_out *out, double us)
{
	char text[TEXT_BYTES];
	int decimals = decimals_of(us), len = snprintf(text, sizeof(text), "%.*f", decimals, us);

	if (decimals && len > decimals)
		text[len - decimals - 1] = '.';
	mp_out_write(out, text, (size_t)MP_MIN(len, (int)sizeof(text) - 1));
}

void cur_exact_put(struct mp_out *out, const struct cur_exact *time)
{
	char text[64], *at = text + sizeof(text);
	__int128 value = time->value < 0 ? -time->value : time->value;
	int n;

	if (time->is_binary) {
		put_binary(out, time->binary);
		return;
	}
	if (time->decimals == 3 && time->value > INT64_MIN && time->value < INT64_MAX) {
		mp_out_us3(out, (int64_t)time->value);
		return;
	}
	for (n = 0; value || n <= time->decimals; n++, value /= 10) {
		if (n && n == time->decimals)
			*--at = '.';
		*--at = (char)('0' + (int)(value % 10));
	}
	if (time->value < 0)
		*--at = '-';
	mp_out_write(out, at, (size_t)(text + sizeof(text) - at));
}
