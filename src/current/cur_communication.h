/* SPDX-License-Identifier: Apache-2.0 */
/* Communication operators of PROF_x/analyze (cur_communication.c; analysis-current.md section 8.4). */
#ifndef MP_CUR_COMMUNICATION_H
#define MP_CUR_COMMUNICATION_H

#include <math.h>

#include "base/hash.h"
#include "current/cur.h"

/* A member of a JSON object: raw texts, escapes still in, the key without quotes. Borrowed from the input. */
struct cur_member {
	struct mp_str key, value;
};
typedef MP_VEC(struct cur_member) cur_members;

struct cur_communication_op {
	struct cur_member text;
	int64_t start_ns;
	uint32_t step;  /* index into steps of the set; UINT32_MAX = none */
	bool has_start;
	bool p2p;       /* "Send" or "Receive" in its name */
};

/* All operators, the totals of the input left out, in file order. */
struct cur_communication {
	struct mp_input input, matrix_input;
	bool has_input, has_matrix; /* there and a JSON object, at least in part */
	MP_VEC(struct cur_communication_op) ops;
	cur_members matrix;           /* operators of communication_matrix.json */
	struct mp_map64 by_name;      /* hash of the key -> op */
	MP_VEC(struct mp_str) steps;  /* names "2", or "0" */
	bool lost;                    /* the original writes nothing */
};

/* By the name of an operator, escapes still in. */
static inline bool cur_communication_is_p2p(struct mp_str name)
{
	return mp_str_holds(name, "Send") || mp_str_holds(name, "Receive");
}

/* Not an operator but a sum of some. */
static inline bool cur_communication_is_total(struct mp_str name)
{
	return mp_str_begins(name, "Total");
}

mp_status cur_communication_load(struct cur_run *run, struct cur_communication *out, mp_err *err);
void cur_communication_release(struct cur_communication *communication);

/* "Total Op Info" of the operators of one group of a step, as JSON text (cur_communication_total.c). */
mp_status cur_communication_total(struct cur_run *run, const struct cur_communication *communication, uint32_t step,
				  bool p2p, struct mp_buf *out, mp_err *err);

/* Members of a JSON object text, the last of equal keys at the place of the first. False when memory is out. */
bool cur_members_read(const char *data, size_t size, cur_members *out, int64_t *fault_offset);

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
