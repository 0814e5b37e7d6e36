/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock alignment (contract: st_clock.h). Each piece between two calibration points is a straight
 * line through both. A double holds 53 bits, so the error inside a piece is below 1 ns for spans of
 * months; clamping to the end of the piece keeps the whole conversion monotone.
 */
#include "store/st_clock.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "base/mem.h"

#include "base/banned.h"

static int compare_points(const void *a, const void *b)
{
	const struct mp_clock_point *x = a, *y = b;

	if (x->tick != y->tick)
		return x->tick < y->tick ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Ascending in both, first one kept of those that are not. Returns how many. */
static size_t keep_ascending(struct mp_clock_point *points, size_t n)
{
	size_t kept = 0;

	qsort(points, n, sizeof(*points), compare_points);
	for (size_t i = 0; i < n; i++) {
		if (kept == 0 ||
		    (points[i].tick > points[kept - 1].tick && points[i].ns > points[kept - 1].ns))
			points[kept++] = points[i];
	}
	return kept;
}

static double slope(const struct mp_clock_point *from, const struct mp_clock_point *to)
{
	return (double)((uint64_t)to->ns - (uint64_t)from->ns) / (double)(to->tick - from->tick);
}

static void fill_pieces(struct mp_clock *clock, const struct mp_clock_point *points, double nominal_hz)
{
	double overall = clock->n > 1 ? slope(&points[0], &points[clock->n - 1]) : 1e9 / nominal_hz;

	for (size_t i = 0; i < clock->n; i++) {
		bool last = i + 1 == clock->n;

		clock->pieces[i] = (struct mp_clock_piece){
			.tick = points[i].tick,
			.ns = points[i].ns,
			.last_ns = last ? INT64_MAX : points[i + 1].ns,
			.ns_per_tick = last ? overall : slope(&points[i], &points[i + 1]),
		};
	}
	clock->ns_per_tick_before = overall;
}

mp_status mp_clock_init(struct mp_clock *clock, const struct mp_clock_point *points, size_t n,
			double nominal_hz, mp_err *err)
{
	bool nominal_known = isfinite(nominal_hz) && nominal_hz >= 1;
	struct mp_clock_point *sorted;

	*clock = (struct mp_clock){0};
	if (n == 0)
		return mp_err_set(err, MINDPROF_E_FORMAT, NULL, -1, "no clock calibration points");
	sorted = mp_realloc_array(NULL, n, sizeof(*sorted));
	if (sorted == NULL)
		return mp_err_nomem(err, n * sizeof(*sorted));
	memcpy(sorted, points, n * sizeof(*sorted));
	clock->n = keep_ascending(sorted, n);
	if (clock->n < 2 && !nominal_known) {
		mp_free(sorted);
		*clock = (struct mp_clock){0};
		return mp_err_set(err, MINDPROF_E_FORMAT, NULL, -1,
				  "no two of %zu clock calibration points ascend and no frequency is given",
				  n);
	}
	clock->pieces = mp_realloc_array(NULL, clock->n, sizeof(*clock->pieces));
	if (clock->pieces)
		fill_pieces(clock, sorted, nominal_hz);
	mp_free(sorted);
	if (clock->pieces == NULL) {
		*clock = (struct mp_clock){0};
		return mp_err_nomem(err, n * sizeof(*clock->pieces));
	}
	return MINDPROF_OK;
}

size_t mp_clock_piece_of(const struct mp_clock *clock, uint64_t tick)
{
	size_t low = 0, n = clock->n;

	assert(n > 0);
	/* The last piece that does not begin after tick, else the first one. */
	while (n > 1) {
		size_t half = n / 2;

		if (clock->pieces[low + half].tick <= tick)
			low += half;
		n -= half;
	}
	return low;
}

int64_t mp_clock_before_ns_(const struct mp_clock *clock, uint64_t tick)
{
	const struct mp_clock_piece *first = &clock->pieces[0];
	double ns = (double)(first->tick - tick) * clock->ns_per_tick_before + 0.5;
	int64_t result;

	if (!(ns < 9.2e18) || __builtin_sub_overflow(first->ns, (int64_t)ns, &result))
		return INT64_MIN;
	return result;
}

int64_t mp_clock_ns(const struct mp_clock *clock, uint64_t tick)
{
	size_t cursor = mp_clock_piece_of(clock, tick);

	return mp_clock_ns_near(clock, &cursor, tick);
}

int64_t mp_clock_dur_ns(const struct mp_clock *clock, uint64_t tick, uint64_t dur_ticks)
{
	size_t cursor = mp_clock_piece_of(clock, tick);
	int64_t begin_ns = mp_clock_ns_near(clock, &cursor, tick);
	uint64_t end_tick = dur_ticks > UINT64_MAX - tick ? UINT64_MAX : tick + dur_ticks;
	int64_t dur_ns;

	if (__builtin_sub_overflow(mp_clock_ns_near(clock, &cursor, end_tick), begin_ns, &dur_ns))
		return INT64_MAX;
	return dur_ns;
}

void mp_clock_release(struct mp_clock *clock)
{
	mp_free(clock->pieces);
	*clock = (struct mp_clock){0};
}
