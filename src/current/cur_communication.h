/* SPDX-License-Identifier: Apache-2.0 */
/* Communication operators of PROF_x/analyze (cur_communication.c; analysis-current.md section 8.4). */
#ifndef MP_CUR_COMMUNICATION_H
#define MP_CUR_COMMUNICATION_H

#include "base/hash.h"
#include "current/cur_json.h"

struct cur_communication_op {
	struct cur_member text;
	int64_t start_ns;
	uint32_t step; /* index into steps of the set; UINT32_MAX = none */
	bool has_start;
	bool p2p; /* "Send" or "Receive" in its name */
};

struct cur_communication_input {
	struct mp_input file;
	struct mp_buf clean; /* its text when it had to be changed */
	struct mp_str text;  /* of file or clean */
};

/* All operators, the totals of the input left out, in file order. */
struct cur_communication {
	struct cur_communication_input input, matrix_input;
	bool has_input, has_matrix; /* there and a JSON object, at least in part */
	MP_VEC(struct cur_communication_op) ops;
	cur_members matrix;          /* operators of communication_matrix.json */
	struct mp_map64 by_name;     /* hash of the key -> op */
	MP_VEC(struct mp_str) steps; /* names "2", or "0" */
	uint32_t *first;             /* owned; of step s: by_step[first[s]] to by_step[first[s + 1]] */
	uint32_t *by_step;           /* owned; indexes into ops */
	bool lost;                   /* the original writes nothing */
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

/* Into run->communication, once. */
mp_status cur_load_communication(struct cur_run *run, mp_err *err);
/* "step2": {  */
mp_status cur_communication_put_step(struct mp_out *out, struct mp_str step, mp_err *err);

/* "Total Op Info" of the operators of one group of a step, as JSON text (cur_communication_total.c). */
mp_status cur_communication_total(struct cur_run *run, const struct cur_communication *communication,
				  uint32_t step, bool p2p, struct mp_buf *out, mp_err *err);

#endif
