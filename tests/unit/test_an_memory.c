/* SPDX-License-Identifier: Apache-2.0 */
/* Tables memory, memory_peak and memory_curve: pairing, peak, growth, thinning. */
#include "an_timeline.h"

/*
 *  at   what                               weights  cache  total
 *   0   weights A 100                        100       0     100
 *  10   cache   B  50                        100      50     150
 *  20   cache   C  30                        100      80     180   <- peak, in step 1
 *  30   release B (says owner "other")       100      30     130
 *  40   release X: nobody holds it           100      30     130
 *  50   cache   C  40: replaces the 30       100      40     140
 *  60   release C, size not known            100       0     100
 *  70   release C again                      100       0     100
 *  80   weights D  60                        160       0     160
 */
static struct timeline small_life(void)
{
	struct timeline t = timeline_new();
	uint32_t track = timeline_thread(&t, 1, 1, "main");

	timeline_step(&t, track, 1, 15);
	timeline_step(&t, track, 2, 25);
	timeline_memory(&t, track, "weights", 0, 0xa, 100);
	timeline_memory(&t, track, "cache", 10, 0xb, 50);
	timeline_memory(&t, track, "cache", 20, 0xc, 30);
	timeline_memory(&t, track, "other", 30, 0xb, -50);
	timeline_memory(&t, track, "cache", 40, 0xf, -10);
	timeline_memory(&t, track, "cache", 50, 0xc, 40);
	timeline_memory(&t, track, "cache", 60, 0xc, 0);
	timeline_memory(&t, track, "cache", 70, 0xc, 0);
	timeline_memory(&t, track, "weights", 80, 0xd, 60);
	return t;
}

static void owners(void **state)
{
	struct timeline t = small_life();
	const struct mp_table *table = timeline_run(&t, "memory");

	(void)state;
	/* allocations releases unknown replaced allocated live peak; one known end of a step: no comparison
	 */
	assert_int_equal(table->n_rows, 2);
	assert_row(table, 0, "p1|weights|2|0|0|0|160|160|100|-|-");
	assert_row(table, 1, "p1|cache|3|2|2|1|120|0|80|-|-");
	timeline_free(&t);
}

static void peak(void **state)
{
	struct timeline t = small_life();
	const struct mp_table *table = timeline_run(&t, "memory_peak");

	(void)state;
	assert_int_equal(table->n_rows, 2);
	assert_row(table, 0, "p1|weights|100|0.5556|20|1|180");
	assert_row(table, 1, "p1|cache|80|0.4444|20|1|180");
	timeline_free(&t);
}

static void curve(void **state)
{
	static const int64_t expected[] = {100, 150, 180, 130, 130, 140, 100, 100, 160};
	struct timeline t = small_life();
	const struct mp_table *table = timeline_run(&t, "memory_curve");

	(void)state;
	assert_int_equal(table->n_rows, 9);
	for (size_t i = 0; i < 9; i++) {
		assert_int_equal(int_of(table, i, "at_ns"), 10 * i);
		assert_int_equal(int_of(table, i, "allocated_bytes"), expected[i]);
	}
	assert_row(table, 8, "80|160|-|-");
	timeline_free(&t);
}

/* The same address in two processes is two places. */
static void processes_have_their_own_addresses(void **state)
{
	struct timeline t = timeline_new();
	uint32_t a = timeline_thread(&t, 1, 1, "main"), b = timeline_thread(&t, 2, 1, "main");
	const struct mp_table *table;

	(void)state;
	timeline_memory(&t, a, "pool", 0, 0x10, 5);
	timeline_memory(&t, b, "pool", 1, 0x10, 7);
	timeline_memory(&t, a, "pool", 2, 0x10, -5);
	table = timeline_run(&t, "memory");
	assert_int_equal(table->n_rows, 2);
	assert_row(table, 0, "p2|pool|1|0|0|0|7|7|7|-|-");
	assert_row(table, 1, "p1|pool|1|1|0|0|5|0|5|-|-");
	table = timeline_run(&t, "memory_peak");
	assert_row(table, 0, "p2|pool|7|0.5833|1|-|12");
	assert_row(table, 1, "p1|pool|5|0.4167|1|-|12");
	timeline_free(&t);
}

/*
 * Seven steps of 100; the last one is open, so six ends and five comparisons.
 *   leak     +10 in each step but the third         ends 10 20 20 30 40 50: 4 of 5 rises = 80 %
 *   slow     +10 in every second step               ends 10 10 20 20 30 30: 2 of 5
 *   work     100 in each step, released in it       ends 0 ...: 0 of 5
 *   late     +1 in the last two closed steps        ends 0 0 0 0 1 2: 2 of 5
 */
static void growth(void **state)
{
	struct timeline t = timeline_new();
	uint32_t track = timeline_thread(&t, 1, 1, "main");
	const struct mp_table *table;

	(void)state;
	for (int64_t step = 0; step < 7; step++) {
		int64_t at = step * 100;

		timeline_step(&t, track, step, at);
		timeline_memory(&t, track, "work", at + 10, 0x1, 100);
		if (step != 2)
			timeline_memory(&t, track, "leak", at + 20, 0x100 + (uint64_t)step, 10);
		if (step % 2 == 0)
			timeline_memory(&t, track, "slow", at + 30, 0x200 + (uint64_t)step, 10);
		if (step >= 4)
			timeline_memory(&t, track, "late", at + 40, 0x300 + (uint64_t)step, 1);
		timeline_memory(&t, track, "work", at + 50, 0x1, -100);
	}
	table = timeline_run(&t, "memory");
	/* Peak in step 6: 50 leak + 10 at 620, slow 30 + 10 at 630, late 2 + 1 at 640: 100 + 60 + 40 + 3 */
	assert_int_equal(table->n_rows, 4);
	assert_row(table, 0, "p1|work|7|7|0|0|700|0|100|0|-");
	assert_row(table, 1, "p1|leak|6|0|0|0|60|60|60|4|grows: more after 4 of 5 steps, possible leak");
	assert_row(table, 2, "p1|slow|4|0|0|0|40|40|40|2|-");
	assert_row(table, 3, "p1|late|3|0|0|0|3|3|3|2|-");
	timeline_free(&t);
}

/* Two pools report; each report replaces the one before of the same pool. */
static void reports_of_pools(void **state)
{
	struct timeline t = timeline_new();
	uint32_t track = timeline_thread(&t, 1, 1, "main");
	const struct mp_table *table;

	(void)state;
	timeline_add(&t, MP_KIND_MEMORY_TOTAL,
		     (struct mp_event){.ts_ns = 0, .a = 10, .b = 100, .c = 5, .track = track}, "CPU");
	timeline_add(&t, MP_KIND_MEMORY_TOTAL,
		     (struct mp_event){.ts_ns = 5, .a = 7, .b = 50, .c = 7, .track = track}, "GPU");
	timeline_add(&t, MP_KIND_MEMORY_TOTAL,
		     (struct mp_event){.ts_ns = 9, .a = 4, .b = 100, .c = 1, .track = track}, "CPU");
	table = timeline_run(&t, "memory_curve");
	assert_int_equal(table->n_rows, 3);
	assert_row(table, 0, "0|10|100|5");
	assert_row(table, 1, "5|17|150|12");
	assert_row(table, 2, "9|11|150|8");
	table = timeline_run(&t, "memory_peak");
	assert_int_equal(table->n_rows, 1);
	assert_row(table, 0, "p1|(all)|17|1|5|-|17");
	timeline_free(&t);
}

/* 100,000 moments with one spike up and one down: at most 1,000 rows, both spikes, first and last. */
static void thinning_keeps_extremes(void **state)
{
	struct timeline t = timeline_new();
	uint32_t track = timeline_thread(&t, 1, 1, "main");
	bool up = false, down = false;
	int64_t last = -1;
	const struct mp_table *table;

	(void)state;
	for (int64_t i = 0; i < 100000; i++) {
		int64_t bytes = i == 54321 ? 999999 : i == 77777 ? 1 : 1000 + i % 100;

		timeline_add(&t, MP_KIND_MEMORY_TOTAL,
			     (struct mp_event){.ts_ns = i, .a = bytes, .track = track}, "CPU");
	}
	table = timeline_run(&t, "memory_curve");
	assert_true(table->n_rows <= 1000 && table->n_rows > 900);
	for (size_t i = 0; i < table->n_rows; i++) {
		int64_t at = int_of(table, i, "at_ns"), bytes = int_of(table, i, "allocated_bytes");

		assert_true(at > last);
		last = at;
		up |= bytes == 999999 && at == 54321;
		down |= bytes == 1 && at == 77777;
	}
	assert_true(up && down);
	assert_int_equal(int_of(table, 0, "at_ns"), 0);
	assert_int_equal(last, 99999);
	timeline_free(&t);
}

static void one_thousand_moments_are_all_kept(void **state)
{
	struct timeline t = timeline_new();
	uint32_t track = timeline_thread(&t, 1, 1, "main");

	(void)state;
	for (int64_t i = 0; i < 1000; i++)
		timeline_memory(&t, track, "pool", i, 0x1000 + (uint64_t)i, 1);
	assert_int_equal(timeline_run(&t, "memory_curve")->n_rows, 1000);
	timeline_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners),
		cmocka_unit_test(peak),
		cmocka_unit_test(curve),
		cmocka_unit_test(processes_have_their_own_addresses),
		cmocka_unit_test(growth),
		cmocka_unit_test(reports_of_pools),
		cmocka_unit_test(thinning_keeps_extremes),
		cmocka_unit_test(one_thousand_moments_are_all_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
