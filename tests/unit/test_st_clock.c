/* SPDX-License-Identifier: Apache-2.0 */
/* Clock alignment: exactness against 128-bit integers, monotony, extrapolation, bad points, extremes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "store/st_clock.h"

#define UNIX_2024 1720000000123456789ll

static struct mp_clock new_clock(const struct mp_clock_point *points, size_t n, double hz)
{
	struct mp_clock clock;

	assert_int_equal(mp_clock_init(&clock, points, n, hz, NULL), MINDPROF_OK);
	return clock;
}

/* ns of `ticks` at `hz`, exactly, rounded down. */
static int64_t exact_ns(uint64_t ticks, uint64_t hz)
{
	return (int64_t)((unsigned __int128)ticks * 1000000000u / hz);
}

static void one_point_and_a_frequency(void **state)
{
	struct mp_clock_point point = {1000, UNIX_2024};
	struct mp_clock clock = new_clock(&point, 1, 2.1e9);

	(void)state;
	assert_int_equal(mp_clock_ns(&clock, 1000), UNIX_2024);
	/* 2,100,000 ticks at 2.1 GHz are 1 ms */
	assert_int_equal(mp_clock_ns(&clock, 1000 + 2100000), UNIX_2024 + 1000000);
	/* before the point: 21 ticks are 10 ns */
	assert_int_equal(mp_clock_ns(&clock, 1000 - 21), UNIX_2024 - 10);
	assert_int_equal(mp_clock_dur_ns(&clock, 1000 - 21, 42), 20);
	mp_clock_release(&clock);
}

static void exact_to_a_nanosecond_for_days(void **state)
{
	const uint64_t hz = 2100000000u, hours = 3600 * hz;
	struct mp_clock_point points[2] = {{0, UNIX_2024}, {72 * hours, UNIX_2024 + 72 * 3600000000000ll}};
	struct mp_clock nominal = new_clock(points, 1, (double)hz), measured = new_clock(points, 2, 0);

	(void)state;
	for (uint64_t i = 0; i < 200000; i++) {
		uint64_t tick = i * 2721600001u; /* up to 72 hours, odd remainders */
		int64_t expected = UNIX_2024 + exact_ns(tick, hz);

		assert_true(llabs(mp_clock_ns(&nominal, tick) - expected) <= 1);
		assert_true(llabs(mp_clock_ns(&measured, tick) - expected) <= 1);
	}
	mp_clock_release(&nominal);
	mp_clock_release(&measured);
}

static void large_first_ticks_cost_no_exactness(void **state)
{
	/* 56-bit counter, nearly at its end. */
	uint64_t first = (1ull << 56) - 1 - 3600ull * 3000000000u;
	struct mp_clock_point point = {first, UNIX_2024};
	struct mp_clock clock = new_clock(&point, 1, 3e9);

	(void)state;
	for (uint64_t i = 0; i < 3600; i++)
		assert_true(llabs(mp_clock_ns(&clock, first + i * 3000000007u) -
				  (UNIX_2024 + exact_ns(i * 3000000007u, 3000000000u))) <= 1);
	mp_clock_release(&clock);
}

static void pieces_meet_in_their_points(void **state)
{
	/*
	 *  tick      0     1000    1003     2000      ticks per ns change at every point
	 *  ns        0     3000    3001    10000      3, 0.33, 7.02 ns per tick
	 */
	struct mp_clock_point points[] = {{0, 0}, {1000, 3000}, {1003, 3001}, {2000, 10000}};
	struct mp_clock clock = new_clock(points, 4, 0);
	int64_t last = INT64_MIN;
	size_t cursor = 0;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(mp_clock_ns(&clock, points[i].tick), points[i].ns);
	assert_int_equal(mp_clock_ns(&clock, 500), 1500);
	assert_int_equal(mp_clock_ns(&clock, 1001), 3000); /* 3000.33 */
	assert_int_equal(mp_clock_ns(&clock, 1002), 3001); /* 3000.67 */
	for (uint64_t tick = 0; tick < 5000; tick++) {
		int64_t ns = mp_clock_ns(&clock, tick);

		assert_true(ns >= last);
		assert_int_equal(mp_clock_ns_near(&clock, &cursor, tick), ns);
		last = ns;
	}
	for (uint64_t tick = 5000; tick-- > 0;)
		assert_int_equal(mp_clock_ns_near(&clock, &cursor, tick), mp_clock_ns(&clock, tick));
	mp_clock_release(&clock);
}

static void outside_the_points_the_overall_slope_holds(void **state)
{
	/* 2 ns per tick overall; the short last piece alone would say 11. */
	struct mp_clock_point points[] = {{1000, 1000}, {1990, 2890}, {2000, 3000}};
	struct mp_clock clock = new_clock(points, 3, 0);

	(void)state;
	assert_int_equal(mp_clock_ns(&clock, 2100), 3200);
	assert_int_equal(mp_clock_ns(&clock, 900), 800);
	assert_int_equal(mp_clock_dur_ns(&clock, 900, 1200), 2400);
	mp_clock_release(&clock);
}

static void points_that_go_back_are_left_out(void **state)
{
	struct mp_clock_point points[] = {{3000, 3000}, {0, 0},      {1000, 1000},
					  {1000, 1200}, {2000, 900}, {2500, 1000}};
	struct mp_clock clock = new_clock(points, 6, 0);

	(void)state;
	assert_int_equal(clock.n, 3); /* (0, 0) (1000, 1000) (3000, 3000) */
	assert_int_equal(mp_clock_ns(&clock, 2500), 2500);
	mp_clock_release(&clock);
}

static void without_a_slope_there_is_no_clock(void **state)
{
	struct mp_clock_point points[] = {{5, 5}, {5, 6}, {6, 4}};
	struct mp_clock clock;
	mp_err err = {0};

	(void)state;
	assert_int_equal(mp_clock_init(&clock, points, 0, 1e9, NULL), MINDPROF_E_FORMAT);
	assert_int_equal(mp_clock_init(&clock, points, 3, 0, &err), MINDPROF_E_FORMAT);
	assert_non_null(err.causes[0].text);
	assert_null(clock.pieces);
	assert_int_equal(mp_clock_init(&clock, points, 1, NAN, NULL), MINDPROF_E_FORMAT);
	assert_int_equal(mp_clock_init(&clock, points, 1, INFINITY, NULL), MINDPROF_E_FORMAT);
	assert_int_equal(mp_clock_init(&clock, points, 1, -2e9, NULL), MINDPROF_E_FORMAT);
	clock = new_clock(points, 3, 1e9);
	assert_int_equal(mp_clock_ns(&clock, 15), 15);
	mp_clock_release(&clock);
	mp_clock_release(&clock);
}

static void extremes_saturate(void **state)
{
	struct mp_clock_point points[] = {{100, INT64_MIN}, {101, INT64_MAX}};
	struct mp_clock clock = new_clock(points, 2, 0);
	struct mp_clock_point slow_point = {1ull << 63, 0};
	struct mp_clock slow = new_clock(&slow_point, 1, 1); /* 1 s per tick */

	(void)state;
	assert_int_equal(mp_clock_ns(&clock, 0), INT64_MIN);
	assert_int_equal(mp_clock_ns(&clock, 100), INT64_MIN);
	assert_int_equal(mp_clock_ns(&clock, 101), INT64_MAX);
	assert_int_equal(mp_clock_ns(&clock, UINT64_MAX), INT64_MAX);
	assert_int_equal(mp_clock_dur_ns(&clock, 0, UINT64_MAX), INT64_MAX);
	assert_int_equal(mp_clock_dur_ns(&clock, UINT64_MAX, UINT64_MAX), 0);
	assert_int_equal(mp_clock_ns(&slow, 0), INT64_MIN);
	assert_int_equal(mp_clock_ns(&slow, UINT64_MAX), INT64_MAX);
	assert_int_equal(mp_clock_dur_ns(&slow, 1ull << 63, 3), 3000000000);
	mp_clock_release(&clock);
	mp_clock_release(&slow);
}

static void monotone_everywhere(void **state)
{
	struct mp_clock_point points[64];
	uint64_t seed = 42, tick = 1ull << 40;
	int64_t ns = -5000000000, last;
	struct mp_clock clock;

	(void)state;
	for (size_t i = 0; i < MP_COUNT(points); i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		tick += 1 + (seed >> 20) % (i % 2 ? 50 : 5000000000ull);
		ns += 1 + (int64_t)((seed >> 33) % (i % 3 ? 40 : 4000000000ull));
		points[i] = (struct mp_clock_point){tick, ns};
	}
	clock = new_clock(points, MP_COUNT(points), 0);
	last = mp_clock_ns(&clock, 0);
	for (size_t i = 0; i < MP_COUNT(points); i++) {
		for (uint64_t near = points[i].tick - 100; near < points[i].tick + 100; near++) {
			ns = mp_clock_ns(&clock, near);
			if (near > points[i].tick - 100)
				assert_true(ns >= last);
			assert_true(mp_clock_dur_ns(&clock, near, 3) >= 0);
			assert_int_equal(mp_clock_dur_ns(&clock, near, 77),
					 mp_clock_ns(&clock, near + 77) - ns);
			last = ns;
		}
		assert_int_equal(mp_clock_ns(&clock, points[i].tick), points[i].ns);
	}
	mp_clock_release(&clock);
}

static void allocations_may_fail(void **state)
{
	struct mp_clock_point points[] = {{0, 0}, {1, 1}};
	mp_status status = MINDPROF_E_NOMEM;

	(void)state;
	for (uint64_t n = 0; status != MINDPROF_OK; n++) {
		struct mp_clock clock;

		mp_mem_fail_after(n);
		status = mp_clock_init(&clock, points, 2, 0, NULL);
		mp_mem_fail_after(UINT64_MAX);
		assert_true(status == MINDPROF_OK ? n == 2 : status == MINDPROF_E_NOMEM);
		mp_clock_release(&clock);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_point_and_a_frequency),
		cmocka_unit_test(exact_to_a_nanosecond_for_days),
		cmocka_unit_test(large_first_ticks_cost_no_exactness),
		cmocka_unit_test(pieces_meet_in_their_points),
		cmocka_unit_test(outside_the_points_the_overall_slope_holds),
		cmocka_unit_test(points_that_go_back_are_left_out),
		cmocka_unit_test(without_a_slope_there_is_no_clock),
		cmocka_unit_test(extremes_saturate),
		cmocka_unit_test(monotone_everywhere),
		cmocka_unit_test(allocations_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
