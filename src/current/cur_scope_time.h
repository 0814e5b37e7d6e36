/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of scopes with the digits that the original writes (CUR_FIX_SCOPE_DECIMALS off): it computes in decimal
 * numbers of 28 digits, from durations that are binary fractions (cur_scope_time.c).
 */
#ifndef MP_CUR_SCOPE_TIME_H
#define MP_CUR_SCOPE_TIME_H

#include "current/cur.h"

/* A begin: ns, and how many decimals its microseconds have. */
struct cur_begin {
	int64_t ns;
	int decimals;
};

/* A duration or an end in us: a double as it is, or value / 10^decimals. */
struct cur_exact {
	__int128 value;
	int decimals;
	double binary;
	bool is_binary;
};

struct cur_begin cur_begin_of(int64_t ns, bool is_binary);
struct cur_exact cur_exact_ns(int64_t ns);
struct cur_exact cur_exact_double(double us);
/* begin + dur; end - begin; begin < end. Beyond 28 digits they stop at some large number. */
struct cur_exact cur_exact_end(struct cur_begin begin, const struct cur_exact *dur);
struct cur_exact cur_exact_since(const struct cur_exact *end, struct cur_begin begin);
bool cur_exact_is_before(struct cur_begin begin, const struct cur_exact *end);
void cur_exact_put(struct mp_out *out, const struct cur_exact *time);

#endif
