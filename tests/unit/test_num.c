/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/num. Integers and scaled decimals against hand calculation and 128-bit arithmetic; doubles
 * against Python's repr (data/double_repr.txt, made by data/make_double_repr.py) and against the
 * exact printf and strtod of the C library in the C locale.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/num.h"

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
	uint64_t x = random_state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* A number whose length in bits is random, too. */
static uint64_t next_any_size(void)
{
	unsigned shift = (unsigned)(next_random() % 64);

	return next_random() >> shift;
}

static double of_bits(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* ---------------------------------------------------------------- integers */

static bool i64(const char *text, int64_t *out)
{
	return mp_num_parse_i64(text, strlen(text), out);
}

static void parses_integers(void **state)
{
	static const char *const bad[] = {"",
					  "-",
					  "+1",
					  " 1",
					  "1 ",
					  "1.0",
					  "1e3",
					  "0x10",
					  "--1",
					  "1-",
					  "9223372036854775808",
					  "-9223372036854775809",
					  "99999999999999999999",
					  "18446744073709551616",
					  "\xd9\xa1"};
	int64_t value = 5;
	uint64_t unsigned_value;

	(void)state;
	for (size_t i = 0; i < MP_COUNT(bad); i++)
		assert_false(i64(bad[i], &value));
	assert_int_equal(value, 5);
	assert_true(i64("0", &value) && value == 0);
	assert_true(i64("-0", &value) && value == 0);
	assert_true(i64("007", &value) && value == 7);
	assert_true(i64("9223372036854775807", &value) && value == INT64_MAX);
	assert_true(i64("-9223372036854775808", &value) && value == INT64_MIN);
	assert_true(i64("00000000000000000000000000000000000000000012", &value) && value == 12);
	assert_true(mp_num_parse_u64("18446744073709551615", 20, &unsigned_value));
	assert_true(unsigned_value == UINT64_MAX);
	assert_false(mp_num_parse_u64("18446744073709551616", 20, &unsigned_value));
	assert_false(mp_num_parse_u64("-1", 2, &unsigned_value));
	assert_true(mp_num_parse_u64("123456", 3, &unsigned_value) && unsigned_value == 123);
	/* A NUL is a byte like any other. */
	assert_false(mp_num_parse_u64("12\0", 3, &unsigned_value));
}

static void put_equals(size_t len, const char *got, const char *want)
{
	if (len != strlen(want) || memcmp(got, want, len) != 0)
		fail_msg("wrote '%.*s', wanted '%s'", (int)len, got, want);
	assert_true(len <= MP_NUM_MAX);
}

static void puts_integers(void **state)
{
	char got[MP_NUM_MAX], want[64];
	uint64_t power = 1;

	(void)state;
	put_equals(mp_num_put_i64(got, INT64_MIN), got, "-9223372036854775808");
	put_equals(mp_num_put_i64(got, INT64_MAX), got, "9223372036854775807");
	put_equals(mp_num_put_u64(got, UINT64_MAX), got, "18446744073709551615");
	put_equals(mp_num_put_i64(got, 0), got, "0");
	put_equals(mp_num_put_i64(got, -1), got, "-1");
	for (int i = 0; i < 20; i++) {
		for (uint64_t value = power - 1; value <= power + 1; value++) {
			snprintf(want, sizeof(want), "%llu", (unsigned long long)value);
			put_equals(mp_num_put_u64(got, value), got, want);
		}
		power *= 10;
	}
	for (int i = 0; i < 100000; i++) {
		int64_t value = (int64_t)next_any_size() * (i & 1 ? 1 : -1), back;
		size_t len = mp_num_put_i64(got, value);

		snprintf(want, sizeof(want), "%lld", (long long)value);
		put_equals(len, got, want);
		assert_true(mp_num_parse_i64(got, len, &back) && back == value);
	}
}

static void puts_microseconds(void **state)
{
	char got[MP_NUM_MAX], want[64];

	(void)state;
	put_equals(mp_num_put_us3(got, 0), got, "0.000");
	put_equals(mp_num_put_us3(got, 12345), got, "12.345");
	put_equals(mp_num_put_us3(got, -1), got, "-0.001");
	put_equals(mp_num_put_us3(got, 1719800000000010100), got, "1719800000000010.100");
	put_equals(mp_num_put_us3(got, INT64_MIN), got, "-9223372036854775.808");
	put_equals(mp_num_put_us_short(got, 0), got, "0");
	put_equals(mp_num_put_us_short(got, 12000), got, "12");
	put_equals(mp_num_put_us_short(got, 12300), got, "12.3");
	put_equals(mp_num_put_us_short(got, -12340), got, "-12.34");
	put_equals(mp_num_put_us_short(got, 100000), got, "100");
	put_equals(mp_num_put_us_short(got, 7), got, "0.007");
	put_equals(mp_num_put_us_short(got, INT64_MAX), got, "9223372036854775.807");
	for (int i = 0; i < 20000; i++) {
		int64_t ns = (int64_t)(next_any_size() >> 1), back;
		size_t len = mp_num_put_us3(got, ns);

		snprintf(want, sizeof(want), "%lld.%03d", (long long)(ns / 1000), (int)(ns % 1000));
		put_equals(len, got, want);
		assert_true(mp_num_parse_scaled(got, len, 3, &back) && back == ns);
		len = mp_num_put_us_short(got, -ns);
		assert_true(mp_num_parse_scaled(got, len, 3, &back) && back == -ns);
	}
}

static void puts_scaled(void **state)
{
	char got[MP_NUM_MAX];

	(void)state;
	put_equals(mp_num_put_scaled(got, 12345, 0), got, "12345");
	put_equals(mp_num_put_scaled(got, 12345, 2), got, "123.45");
	put_equals(mp_num_put_scaled(got, -5, 3), got, "-0.005");
	put_equals(mp_num_put_scaled(got, 0, 1), got, "0.0");
	put_equals(mp_num_put_scaled(got, INT64_MIN, 18), got, "-9.223372036854775808");
	put_equals(mp_num_put_scaled(got, 1, 18), got, "0.000000000000000001");
	for (int i = 0; i < 20000; i++) {
		int64_t value = (int64_t)next_any_size(), back;
		int digits = (int)(next_random() % 19);
		size_t len = mp_num_put_scaled(got, value, digits);

		assert_true(len <= MP_NUM_MAX);
		assert_true(mp_num_parse_scaled(got, len, digits, &back) && back == value);
		assert_int_equal(digits ? got[len - 1 - (size_t)digits] : '.', '.');
	}
}

struct scaled_case {
	const char *text;
	int scale;
	bool ok;
	int64_t want;
};

static const struct scaled_case scaled_cases[] = {
	{"1719800000000010.100", 3, true, 1719800000000010100},
	{"0", 3, true, 0},
	{"-0.0", 9, true, 0},
	{"+1.5", 3, true, 1500},
	{"5e-3", 3, true, 5},
	{"5E+3", 3, true, 5000000},
	{"1e0", 0, true, 1},
	{".5", 3, true, 500},
	{"5.", 3, true, 5000},
	{"0.0001e4", 0, true, 1},
	{"000012.5", 1, true, 125},
	{"12.5", -1, true, 1},
	{"0.000000001", 9, true, 1},
	/* beyond the unit: half to even */
	{"0.0005", 3, true, 0},
	{"0.0015", 3, true, 2},
	{"0.0025", 3, true, 2},
	{"0.0035", 3, true, 4},
	{"-0.0015", 3, true, -2},
	{"-0.0025", 3, true, -2},
	{"0.00050000000000000000000000000000000001", 3, true, 1},
	{"0.00049999999999999999999999999999999999", 3, true, 0},
	{"0.00149999999999999999999999999999999999", 3, true, 1},
	{"2.5", 0, true, 2},
	{"3.5", 0, true, 4},
	{"9.5", 0, true, 10},
	{"99.9996", 3, true, 100000},
	{"0.5", 0, true, 0},
	{"0.51", 0, true, 1},
	{"0.05", 0, true, 0},
	{"0.09999", 0, true, 0},
	{"0.9999", 0, true, 1},
	/* ends of the range */
	{"9223372036854775807", 0, true, INT64_MAX},
	{"9223372036854775807.4", 0, true, INT64_MAX},
	{"9223372036854775807.5", 0, false, 0},
	{"9223372036854775808", 0, false, 0},
	{"-9223372036854775808", 0, true, INT64_MIN},
	{"-9223372036854775808.5", 0, true, INT64_MIN},
	{"-9223372036854775808.6", 0, false, 0},
	{"-9223372036854775809", 0, false, 0},
	{"9223372036.854775807", 9, true, INT64_MAX},
	{"9223372036.854775808", 9, false, 0},
	{"9999999999999999999.9", 0, false, 0},
	{"18446744073709551616", 0, false, 0},
	{"1e18", 0, true, 1000000000000000000},
	{"1e19", 0, false, 0},
	{"1e18", 1, false, 0},
	{"1e999999999999999999999999", 0, false, 0},
	{"-1e999999999999999999999999", 0, false, 0},
	{"1e-999999999999999999999999", 0, true, 0},
	{"0e999999999999999999999999", 9, true, 0},
	{"12345678901234567890123456789012345678901234567890e-40", 0, true, 1234567890},
	{"0.00000000000000000000000000000000000000012345e40", 3, true, 1234},
	/* not numbers */
	{"", 3, false, 0},
	{"-", 3, false, 0},
	{".", 3, false, 0},
	{"-.", 3, false, 0},
	{"e5", 3, false, 0},
	{"1e", 3, false, 0},
	{"1e+", 3, false, 0},
	{"1e5.5", 3, false, 0},
	{"1.2.3", 3, false, 0},
	{"1 ", 3, false, 0},
	{" 1", 3, false, 0},
	{"nan", 3, false, 0},
	{"inf", 3, false, 0},
	{"0x1p3", 3, false, 0},
	{"1,5", 3, false, 0},
	{"--1", 3, false, 0},
};

static void parses_scaled(void **state)
{
	(void)state;
	for (size_t i = 0; i < MP_COUNT(scaled_cases); i++) {
		const struct scaled_case *c = &scaled_cases[i];
		int64_t value = 77;

		if (mp_num_parse_scaled(c->text, strlen(c->text), c->scale, &value) != c->ok)
			fail_msg("'%s' scale %d: wrong verdict", c->text, c->scale);
		if (value != (c->ok ? c->want : 77))
			fail_msg("'%s' scale %d: got %lld", c->text, c->scale, (long long)value);
	}
}

/* whole.fraction with 0..12 decimals, rounded with 128-bit integers. */
static void parses_scaled_like_wide_integers(void **state)
{
	(void)state;
	for (int i = 0; i < 100000; i++) {
		unsigned decimals = 1 + (unsigned)(next_random() % 12);
		int scale = (int)(next_random() % 10);
		uint64_t whole = next_any_size() >> 31, fraction, power = 1;
		unsigned __int128 exact;
		char text[64];
		int64_t got, want;
		int len;

		for (unsigned j = 0; j < decimals; j++)
			power *= 10;
		fraction = next_random() % power;
		if (i % 4 == 0)
			fraction = fraction / (power / 10) * (power / 10) + power / 10 / 2;
		len = snprintf(text, sizeof(text), "%llu.%0*llu", (unsigned long long)whole, (int)decimals,
			       (unsigned long long)fraction);
		exact = (unsigned __int128)whole * power + fraction;
		for (int j = 0; j < scale; j++)
			exact *= 10;
		want = (int64_t)(exact / power);
		exact %= power;
		if (exact * 2 > power || (exact * 2 == power && (want & 1)))
			want++;
		if (!mp_num_parse_scaled(text, (size_t)len, scale, &got) || got != want)
			fail_msg("'%s' scale %d", text, scale);
	}
}

/* A million digits neither overflow anything nor take long. */
static void parses_a_million_digits(void **state)
{
	size_t len = 1000000;
	char *text = malloc(len);
	int64_t value;
	double number;

	(void)state;
	assert_non_null(text);
	memset(text, '0', len);
	text[1] = '.';
	text[len - 1] = '1';
	assert_true(mp_num_parse_scaled(text, len, 9, &value) && value == 0);
	assert_true(mp_num_parse_double(text, len, &number) && number == 0);
	text[0] = '1';
	assert_true(mp_num_parse_scaled(text, len, 9, &value) && value == 1000000000);
	assert_true(mp_num_parse_double(text, len, &number) && number == 1);
	memset(text, '9', len);
	assert_false(mp_num_parse_scaled(text, len, 9, &value));
	assert_false(mp_num_parse_double(text, len, &number));
	/* 0.999...9e-999999... with the exponent undoing the digits: 10^0 just not reached */
	memcpy(text + len - 7, "e-99990", 7);
	assert_false(mp_num_parse_double(text, len, &number));
	memcpy(text + len - 8, "e-999992", 8);
	assert_true(mp_num_parse_double(text, len, &number) && number == 1);
	assert_true(mp_num_parse_scaled(text, len, 0, &value) && value == 1);
	free(text);
}

/* ----------------------------------------------------------------- doubles */

static void doubles_like_python(void **state)
{
	FILE *file = fopen(MP_SOURCE_DIR "/tests/unit/data/double_repr.txt", "r");
	char line[128];
	size_t n = 0;

	(void)state;
	assert_non_null(file);
	for (; fgets(line, sizeof(line), file); n++) {
		uint64_t bits = strtoull(line, NULL, 16);
		char *text = strchr(line, ' ') + 1, got[MP_NUM_MAX];
		double back;

		text[strcspn(text, "\n")] = '\0';
		put_equals(mp_num_put_double(got, of_bits(bits)), got, text);
		if (strchr(text, 'n'))
			continue;
		if (!mp_num_parse_double(text, strlen(text), &back) || bits_of(back) != bits)
			fail_msg("'%s' is read as another double", text);
	}
	fclose(file);
	assert_true(n > 2000);
}

static void puts_special_doubles(void **state)
{
	char got[MP_NUM_MAX];

	(void)state;
	put_equals(mp_num_put_double(got, 0.0), got, "0.0");
	put_equals(mp_num_put_double(got, -0.0), got, "-0.0");
	put_equals(mp_num_put_double(got, NAN), got, "nan");
	put_equals(mp_num_put_double(got, -NAN), got, "nan");
	put_equals(mp_num_put_double(got, INFINITY), got, "inf");
	put_equals(mp_num_put_double(got, -INFINITY), got, "-inf");
	put_equals(mp_num_put_double(got, -2.2250738585072014e-308), got, "-2.2250738585072014e-308");
	put_equals(mp_num_put_double(got, 1e16), got, "1e+16");
	put_equals(mp_num_put_double(got, 1e15), got, "1000000000000000.0");
	put_equals(mp_num_put_double(got, 0.0001), got, "0.0001");
	put_equals(mp_num_put_double(got, 0.00001), got, "1e-05");
}

/*
 * The shortest text by trial: the first precision at which the exact printf reads back. Right for
 * every double but powers of two, whose interval is lopsided (those are in the file above).
 */
static void expected_repr(char *to, size_t size, double value)
{
	char text[40], digits[32];
	int precision = 0, exponent, n = 0;

	do
		snprintf(text, sizeof(text), "%.*e", precision, fabs(value));
	while (strtod(text, NULL) != fabs(value) && ++precision < 17);
	exponent = atoi(strchr(text, 'e') + 1);
	for (const char *at = text; *at != 'e'; at++) {
		if (*at != '.')
			digits[n++] = *at;
	}
	while (n > 1 && digits[n - 1] == '0')
		n--;
	digits[n] = '\0';
	if (exponent < -4 || exponent >= 16)
		snprintf(to, size, "%s%c%s%se%+03d", signbit(value) ? "-" : "", digits[0], n > 1 ? "." : "",
			 digits + 1, exponent);
	else
		snprintf(to, size, "%s%.*f", signbit(value) ? "-" : "",
			 exponent < n - 1 ? n - 1 - exponent : 1, fabs(value));
}

static double random_double(int kind)
{
	static const double powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};

	switch (kind) {
	case 0: /* any finite pattern */
	case 1:
		return of_bits(next_random() & ~(1ull << 62));
	case 2: /* large ones, too */
		return of_bits(next_random() % 0x7ff0000000000000ull);
	case 3: /* subnormal */
		return of_bits(next_any_size() >> 12);
	case 4: /* integers */
		return (double)next_any_size();
	default: /* a few decimals */
		return (double)(next_any_size() >> 20) / powers[next_random() % MP_COUNT(powers)];
	}
}

static void puts_random_doubles(void **state)
{
	(void)state;
	for (int i = 0; i < 100000; i++) {
		double value = random_double(i % 6), back;
		char got[MP_NUM_MAX], want[64];
		size_t len = mp_num_put_double(got, value);

		expected_repr(want, sizeof(want), value);
		if (!(bits_of(value) << 12))
			continue;
		put_equals(len, got, want);
		if (!mp_num_parse_double(got, len, &back) || bits_of(back) != bits_of(value))
			fail_msg("'%s' is read as another double", want);
	}
}

static void parse_must_be(const char *text, double want)
{
	double got = 77;
	bool ok = mp_num_parse_double(text, strlen(text), &got);

	if (isinf(want)) {
		if (ok || got != 77)
			fail_msg("'%s' must not be read", text);
	} else if (!ok || bits_of(got) != bits_of(want)) {
		fail_msg("'%s' is read as %.17g, not %.17g", text, got, want);
	}
}

static void parses_random_decimals(void **state)
{
	(void)state;
	for (int i = 0; i < 100000; i++) {
		char text[1200];
		int exponent = (int)(next_random() % 680) - 345;
		size_t len = 0, n_digits = 1 + next_random() % (i % 10 == 0 ? 900 : 30);

		if (i % 3 == 0) {
			snprintf(text, sizeof(text), "%llue%d", (unsigned long long)next_any_size(),
				 exponent);
		} else {
			text[len++] = (char)('1' + next_random() % 9);
			if (i % 3 == 1)
				text[len++] = '.';
			for (size_t j = 0; j < n_digits; j++)
				text[len++] = (char)('0' + next_random() % 10);
			if (i % 3 == 2)
				exponent -= (int)n_digits;
			snprintf(text + len, sizeof(text) - len, "e%d", exponent);
		}
		parse_must_be(text, strtod(text, NULL));
	}
}

/*
 * The exact middle of two neighbours (a long double holds it), one digit above, one below: ties go
 * to the even one, everything else to the nearer one.
 */
static void parses_midpoints(void **state)
{
	(void)state;
	for (int i = 0; i < 3000; i++) {
		uint64_t bits = i < 1500 ? next_random() % 0x7fe0000000000000ull : next_any_size() >> 11;
		double low = of_bits(bits), high = of_bits(bits + 1);
		long double middle = ((long double)low + (long double)high) / 2;
		char text[1400];
		char *end;

		snprintf(text, sizeof(text), "%.1150Le", middle);
		parse_must_be(text, bits & 1 ? high : low);
		/* The last of 1150 decimals is a 0, because the middle has at most 768 digits. */
		end = strchr(text, 'e');
		assert_int_equal(end[-1], '0');
		end[-1] = '1';
		parse_must_be(text, high);
		/* The same from below: ...5000 -> ...4999 */
		end[-1] = '9';
		for (char *at = end - 2; *at == '0' || *at == '.'; at--) {
			if (*at == '.')
				continue;
			*at = '9';
			if (at[-1] != '0' && at[-1] != '.')
				at[-1]--;
			else if (at[-1] == '.' && at[-2] != '0')
				at[-2]--;
			else
				continue;
			break;
		}
		parse_must_be(text, low);
	}
}

static void parses_json_numbers_only(void **state)
{
	static const char *const bad[] = {"",    "-",     "+1",       ".5",        "5.",   "01",
					  "-01", "1e",    "1e+",      "1.e5",      "0x10", "nan",
					  "NaN", "inf",   "Infinity", "-Infinity", "1 ",   " 1",
					  "1,5", "1e5.5", "1e1e1",    "--1",       "1_0",  "1f"};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(bad); i++) {
		double got = 77;

		if (mp_num_parse_double(bad[i], strlen(bad[i]), &got) || got != 77)
			fail_msg("'%s' is no JSON number", bad[i]);
	}
	parse_must_be("0", 0.0);
	parse_must_be("-0", -0.0);
	parse_must_be("-0.0e-5", -0.0);
	parse_must_be("0e999999999999999999999", 0.0);
	parse_must_be("1E5", 1e5);
	parse_must_be("1e+05", 1e5);
	parse_must_be("1e-999999999999999999999", 0.0);
	parse_must_be("-1e-400", -0.0);
	parse_must_be("1e999999999999999999999", INFINITY);
	parse_must_be("1e309", INFINITY);
	parse_must_be("-1e309", INFINITY);
	/* The largest double is 1.7976931348623157e308; from half a unit above it on is infinity. */
	parse_must_be("1.7976931348623157e308", 1.7976931348623157e308);
	parse_must_be("1.797693134862315807e308", 1.7976931348623157e308);
	parse_must_be("1.797693134862315808e308", INFINITY);
	/* Half of the smallest one: 2.4703282292062327208...e-324 */
	parse_must_be("2.4703282292062327e-324", 0.0);
	parse_must_be("2.4703282292062328e-324", 5e-324);
	parse_must_be("2.2250738585072011e-308", 2.2250738585072011e-308);
	parse_must_be("9007199254740993", 9007199254740992.0);
	parse_must_be("9007199254740993.0000000000000000000000000001", 9007199254740994.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_integers),
		cmocka_unit_test(puts_integers),
		cmocka_unit_test(puts_microseconds),
		cmocka_unit_test(puts_scaled),
		cmocka_unit_test(parses_scaled),
		cmocka_unit_test(parses_scaled_like_wide_integers),
		cmocka_unit_test(parses_a_million_digits),
		cmocka_unit_test(doubles_like_python),
		cmocka_unit_test(puts_special_doubles),
		cmocka_unit_test(puts_random_doubles),
		cmocka_unit_test(parses_random_decimals),
		cmocka_unit_test(parses_midpoints),
		cmocka_unit_test(parses_json_numbers_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
