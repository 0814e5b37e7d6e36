/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact conversions between text and numbers. Nothing here depends on the locale.
 * Times are int64 nanoseconds; text in other units is converted without binary floating point.
 */
#ifndef MP_NUM_H
#define MP_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest text any mp_num_put_* writes (no NUL is written). */
#define MP_NUM_MAX 40

/* Whole text must be one decimal integer (optional leading '-'); false on overflow or other bytes. */
bool mp_num_parse_i64(const char *text, size_t len, int64_t *out);
bool mp_num_parse_u64(const char *text, size_t len, uint64_t *out);

/*
 * Decimal text with optional sign, fraction and exponent ("1719800000000010.100", "5e-3") times
 * 10^scale -> int64, exact, digits beyond the unit rounded half to even. Microseconds to
 * nanoseconds: scale 3; milliseconds: 6; seconds: 9. False on syntax errors, NaN, infinity, overflow.
 */
bool mp_num_parse_scaled(const char *text, size_t len, int scale, int64_t *out);

/* JSON number grammar; correctly rounded. False on other text and on overflow to infinity. */
bool mp_num_parse_double(const char *text, size_t len, double *out);

/* Decimal integer; returns the number of bytes written at `to`. */
size_t mp_num_put_i64(char *to, int64_t value);
size_t mp_num_put_u64(char *to, uint64_t value);
/* ns as microseconds with exactly 3 decimals: 12345 -> "12.345", -1 -> "-0.001". */
size_t mp_num_put_us3(char *to, int64_t ns);
/* value / 10^digits with exactly `digits` (0..18) decimals. */
size_t mp_num_put_scaled(char *to, int64_t value, int digits);
/* ns as microseconds, trailing zeros and point dropped: 12000 -> "12", 12300 -> "12.3". */
size_t mp_num_put_us_short(char *to, int64_t ns);
/*
 * Shortest text that reads back as the same double, in the form of Python's repr: always with
 * ".0" or exponent, exponent form when the decimal exponent is < -4 or >= 16; NaN and infinities
 * as "nan", "inf", "-inf" (callers that write JSON must test first).
 */
size_t mp_num_put_double(char *to, double value);

#endif
