/* SPDX-License-Identifier: Apache-2.0 */
/* JSON objects as lists of members, for inputs whose values are passed on as they are (cur_json.c). */
#ifndef MP_CUR_JSON_H
#define MP_CUR_JSON_H

#include <math.h>

#include "current/cur.h"

/*
 * A member of a JSON object: raw texts, the key without quotes. A key with escapes has the one spelling that
 * mp_json_escape gives, so that equal keys are equal texts; values keep theirs.
 */
struct cur_member {
	struct mp_str key, value; /* borrowed from the input or from the store's strings */
};
typedef MP_VEC(struct cur_member) cur_members;

/*
 * Members of a JSON object text, the last of equal keys at the place of the first. *fault_offset is where the
 * text stops being a JSON object (the members before are good), else -1. False when memory is out.
 */
bool cur_members_read(struct cur_run *run, const char *data, size_t size, cur_members *out,
		      int64_t *fault_offset);
/* The value of a key, NULL when there is none. */
const struct mp_str *cur_members_value(const cur_members *members, const char *key);

/*
 * Python reads and writes NaN, Infinity and -Infinity, which are no JSON: *out takes a copy of the text with
 * null in their place, *first the offset of the first one. out stays empty and *first -1 when there is none.
 */
void cur_json_without_nan(const char *data, size_t size, struct mp_buf *out, int64_t *first);

/* As Python rounds: half to even of the exact binary value. */
static inline double cur_round(double value, int digits)
{
	double scale = 1;
	int i;

	if (!isfinite(value) || fabs(value) > 1e13)
		return value;
	for (i = 0; i < digits; i++)
		scale *= 10;
	return (double)nearbyintl((long double)value * (long double)scale) / scale;
}

#endif
