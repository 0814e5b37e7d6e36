/* SPDX-License-Identifier: Apache-2.0 */
/* Times of each step: the rows of step_trace_time.csv (cur_step_trace.c). */
#ifndef MP_CUR_STEP_TRACE_H
#define MP_CUR_STEP_TRACE_H

#include "current/cur.h"

struct cur_span {
	int64_t ts_ns, dur_ns;
	uint64_t order;  /* of equal starts: thread by thread in the order of their first event, then of arrival */
	bool is_receive; /* waits for its peer: a bubble of the pipeline */
};

struct cur_spans {
	MP_VEC(struct cur_span) at;  /* by start */
	MP_VEC(int64_t) before;      /* sum of durations before each, and of all */
};

struct cur_step_time {
	uint32_t id; /* string id */
	int64_t begin_ns, end_ns;
	int64_t computing_ns, communication_ns, not_overlapped_ns, free_ns;
	int64_t stage_ns, bubble_ns, preparing_ns;
	bool has_operators; /* communication operators begin in it: stage and bubble are known */
};

struct cur_step_trace {
	struct cur_spans computing, communication, not_overlapped, free, operators;
	MP_VEC(struct cur_step_time) rows;
};

/* No rows when there is nothing to make them from. Release it. Failure: memory. */
mp_status cur_step_trace_make(struct cur_run *run, struct cur_step_trace *trace, mp_err *err);
void cur_step_trace_release(struct cur_step_trace *trace);

#endif
