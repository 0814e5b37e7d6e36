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

/* From a point to the next one; the first piece also reaches back to tick 0. */
struct mp_clock_piece {
	uint64_t tick;      /* where it begins */
	int64_t ns;         /* there */
	int64_t last_ns;    /* no result is larger: begin of the next piece, INT64_MAX in the last one */
	double ns_per_tick; /* slope */
};

struct mp_clock {
	struct mp_clock_piece *pieces; /* owned, ascending ticks */
	size_t n;
	double ns_per_tick_before; /* slope before the first point: of all points together */
};

/* Copies and sorts the points; needs one point and then a nominal frequency, or two. Bad points
 * (not ascending) are left out; E_FORMAT when none is usable. nominal_hz 0 = not known. */
mp_status mp_clock_init(struct mp_clock *clock, const struct mp_clock_point *points, size_t n,
			double nominal_hz, mp_err *err);
int64_t mp_clock_ns(const struct mp_clock *clock, uint64_t tick);
/* The same with a cursor kept by the caller (0 at first): cheap while ticks stay in one piece. */
static inline int64_t mp_clock_ns_near(const struct mp_clock *clock, size_t *cursor, uint64_t tick);
/* Length in ns of an interval that begins at tick: consistent with mp_clock_ns(end) - mp_clock_ns(begin). */
int64_t mp_clock_dur_ns(const struct mp_clock *clock, uint64_t tick, uint64_t dur_ticks);
void mp_clock_release(struct mp_clock *clock);

/* Index of the piece that holds tick; ticks before the first point belong to piece 0. */
size_t mp_clock_piece_of(const struct mp_clock *clock, uint64_t tick);
int64_t mp_clock_before_ns_(const struct mp_clock *clock, uint64_t tick);

static inline int64_t mp_clock_piece_ns_(const struct mp_clock_piece *piece, uint64_t tick)
{
	double ns = (double)(tick - piece->tick) * piece->ns_per_tick + 0.5;
	int64_t sum;

	if (MP_UNLIKELY(!(ns < 9.2e18)) || __builtin_add_overflow(piece->ns, (int64_t)ns, &sum))
		return piece->last_ns;
	return MP_MIN(sum, piece->last_ns);
}

static inline int64_t mp_clock_ns_near(const struct mp_clock *clock, size_t *cursor, uint64_t tick)
{
	const struct mp_clock_piece *piece = &clock->pieces[*cursor];

	if (MP_UNLIKELY(tick < piece->tick || (*cursor + 1 < clock->n && tick >= piece[1].tick))) {
		*cursor = mp_clock_piece_of(clock, tick);
		piece = &clock->pieces[*cursor];
		if (tick < piece->tick)
			return mp_clock_before_ns_(clock, tick);
	}
	return mp_clock_piece_ns_(piece, tick);
}

#endif
