/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock alignment: counter ticks to Unix nanoseconds through calibration points, piecewise linear,
 * monotone. The axis follows the monotonic clock, anchored to real time at the first point, so a
 * step of the wall clock during the recording does not tear the trace.
 */
#ifndef MP_ST_CLOCK_H
#define MP_ST_CLOCK_H

#include <stddef.h>

#include "base/err.h"

struct mp_clock_point {
	uint64_t tick;
	int64_t ns; /* Unix ns on the store's axis */
};

struct mp_clock {
	struct mp_clock_point *points; /* owned, ascending ticks */
	double *ns_per_tick;           /* owned; slope after each point */
	size_t n;
};

/* Copies and sorts the points; needs one point and then a nominal frequency, or two. Bad points
 * (not ascending) are left out; E_FORMAT when none is usable. nominal_hz 0 = not known. */
mp_status mp_clock_init(struct mp_clock *clock, const struct mp_clock_point *points, size_t n,
			double nominal_hz, mp_err *err);
int64_t mp_clock_ns(const struct mp_clock *clock, uint64_t tick);
/* Length in ns of an interval that begins at tick: consistent with mp_clock_ns(end) - mp_clock_ns(begin). */
int64_t mp_clock_dur_ns(const struct mp_clock *clock, uint64_t tick, uint64_t dur_ticks);
void mp_clock_release(struct mp_clock *clock);

#endif
