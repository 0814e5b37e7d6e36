/* SPDX-License-Identifier: Apache-2.0 */
/* Table steps: hand-calculated durations, covered time, waiting, gaps, marks. */
#include "an_timeline.h"

/*
 *            0         100        200        300           500   540
 *  main      |step 1   |step 2    |step 3    |step 4       |step 5 (open)
 *            [10 a  80][100 b 130][200 c 250][300 d     500][520 e 540]
 *                         [110 f 120 inside b]
 *  loader       [50 g      110]     [240 h 290]
 *  waits        pop 60-90, 95-105       pop 190-310 (loader)
 */
static struct timeline five_steps(void)
{
	struct timeline t = timeline_new();
	uint32_t main_thread = timeline_thread(&t, 1, 1, "main"),
		 loader = timeline_thread(&t, 1, 2, "loader");

	for (int i = 0; i < 4; i++)
		timeline_step(&t, main_thread, i + 1, i * 100);
	timeline_step(&t, main_thread, 5, 500);
	timeline_range(&t, main_thread, MP_CLASS_RANGE, "a", 10, 80);
	timeline_range(&t, main_thread, MP_CLASS_RANGE, "b", 100, 130);
	timeline_range(&t, main_thread, MP_CLASS_OPERATOR, "f", 110, 120);
	timeline_range(&t, main_thread, MP_CLASS_RANGE, "c", 200, 250);
	timeline_range(&t, main_thread, MP_CLASS_RANGE, "d", 300, 500);
	timeline_range(&t, main_thread, MP_CLASS_RANGE, "e", 520, 540);
	timeline_range(&t, loader, MP_CLASS_RANGE, "g", 50, 110);
	timeline_range(&t, loader, MP_CLASS_RANGE, "h", 240, 290);
	timeline_queue(&t, main_thread, MP_QUEUE_POP, 60, 90, 0, 4);
	timeline_queue(&t, main_thread, MP_QUEUE_POP, 95, 105, 0, 4);
	timeline_queue(&t, loader, MP_QUEUE_POP, 190, 310, 0, 4);
	timeline_queue(&t, loader, MP_QUEUE_PUSH, 0, 500, 1, 4); /* no waiting for data: does not count */
	return t;
}

static void from_marks(void **state)
{
	struct timeline t = five_steps();
	const struct mp_table *table = timeline_run(&t, "steps");

	(void)state;
	/*
	 * step 1: covered 10-100 = 90; waits 30 + 5; main idle 0-10 and 80-100 = 30
	 * step 2: covered 100-130 = 30; waits 5 + 10 (190-200); main idle 130-200 = 70
	 * step 3: covered 200-290 = 90; waits 100 (all of it); main idle 250-300 = 50
	 * step 4: 200 long, median of 100 100 100 200 is 100: slow; waits 10
	 * step 5: until the last event (540); covered 20, idle 20
	 */
	assert_int_equal(table->n_rows, 5);
	assert_row(table, 0, "p1|1|0|100|90|35|30|0.1852|-");
	assert_row(table, 1, "p1|2|100|100|30|15|70|0.1852|-");
	assert_row(table, 2, "p1|3|200|100|90|100|50|0.1852|-");
	assert_row(table, 3, "p1|4|300|200|200|10|0|0.3704|slow");
	assert_row(table, 4, "p1|5|500|40|20|0|20|0.07407|open end");
	timeline_free(&t);
}

/*
 *  p1  main    ProfilerStep#7 [0----------100] ProfilerStep#8 [100-----200]   inner step 120-150 is part of
 * #8 op [20-50]                       op [100-160] stream  its annotation of the same steps, later:
 * ProfilerStep#7 [30----130] p2  main    steps without number: "epoch" [50-60], [60-80], [90-95]
 */
static void from_ranges(void **state)
{
	struct timeline t = timeline_new();
	uint32_t main_thread = timeline_thread(&t, 1, 1, "main"),
		 stream = timeline_thread(&t, 1, 2, "stream");
	uint32_t other = timeline_thread(&t, 2, 1, "main");
	const struct mp_table *table;

	(void)state;
	timeline_range(&t, stream, MP_CLASS_STEP, "ProfilerStep#7", 30, 130);
	timeline_range(&t, main_thread, MP_CLASS_STEP, "ProfilerStep#7", 0, 100);
	timeline_range(&t, main_thread, MP_CLASS_OPERATOR, "op", 20, 50);
	timeline_range(&t, main_thread, MP_CLASS_STEP, "ProfilerStep#8", 100, 200);
	timeline_range(&t, main_thread, MP_CLASS_OPERATOR, "op", 100, 160);
	timeline_range(&t, main_thread, MP_CLASS_STEP, "inner99", 120, 150);
	timeline_range(&t, other, MP_CLASS_STEP, "epoch", 50, 60);
	timeline_range(&t, other, MP_CLASS_STEP, "epoch", 60, 80);
	timeline_range(&t, other, MP_CLASS_STEP, "epoch", 90, 95);
	table = timeline_run(&t, "steps");
	/* p2: durations 10 20 5, median 10, 20 > 15; nothing runs inside */
	assert_int_equal(table->n_rows, 5);
	assert_row(table, 0, "p1|7|0|100|30|0|70|0.5|-");
	assert_row(table, 1, "p1|8|100|100|60|0|40|0.5|-");
	assert_row(table, 2, "p2|0|50|10|0|0|10|0.2857|-");
	assert_row(table, 3, "p2|1|60|20|0|0|20|0.5714|slow");
	assert_row(table, 4, "p2|2|90|5|0|0|5|0.1429|-");
	timeline_free(&t);
}

/* Marks on two threads of a process: one sequence; the gap is that of the marking thread. */
static void marks_of_several_threads(void **state)
{
	struct timeline t = timeline_new();
	uint32_t a = timeline_thread(&t, 1, 1, "a"), b = timeline_thread(&t, 1, 2, "b");
	const struct mp_table *table;

	(void)state;
	timeline_step(&t, b, 2, 100);
	timeline_step(&t, a, 1, 0);
	timeline_step(&t, a, 3, 150);
	timeline_range(&t, a, MP_CLASS_RANGE, "x", 0, 120);
	timeline_range(&t, b, MP_CLASS_RANGE, "y", 110, 170);
	timeline_range(&t, a, MP_CLASS_STEP, "not looked at, there are marks", 0, 170);
	table = timeline_run(&t, "steps");
	assert_int_equal(table->n_rows, 3);
	assert_row(table, 0, "p1|1|0|100|100|0|0|0.5882|-");
	assert_row(table, 1, "p1|2|100|50|50|0|10|0.2941|-");
	assert_row(table, 2, "p1|3|150|20|20|0|20|0.1176|open end");
	timeline_free(&t);
}

static void only_threads_and_streams_are_work(void **state)
{
	struct timeline t = timeline_new();
	uint32_t main_thread = timeline_thread(&t, 1, 1, "main"), async;
	const struct mp_table *table;

	(void)state;
	async = mp_store_track(t.store, &(struct mp_track){.tid = 9, .stream = -1, .kind = MP_TRACK_ASYNC});
	timeline_step(&t, main_thread, 0, 0);
	timeline_step(&t, main_thread, 1, 50);
	timeline_range(&t, async, MP_CLASS_RANGE, "request", 0, 60);
	table = timeline_run(&t, "steps");
	assert_row(table, 0, "p1|0|0|50|0|0|50|0.8333|-");
	assert_row(table, 1, "p1|1|50|10|0|0|10|0.1667|open end");
	timeline_free(&t);
}

/* Many waits over many steps: in less than steps times waits, and exact. */
static void long_waits_over_many_steps(void **state)
{
	struct timeline t = timeline_new();
	uint32_t track = timeline_thread(&t, 1, 1, "main");
	int64_t n = 20000;
	const struct mp_table *table;

	(void)state;
	for (int64_t i = 0; i < n; i++) {
		timeline_step(&t, track, i, i * 10);
		timeline_queue(&t, track, MP_QUEUE_POP, i, n * 10, 0, 0); /* from i to the end */
	}
	table = timeline_run(&t, "steps");
	assert_int_equal(table->n_rows, n);
	/* step 0 (0-10): waits that began at 0..9: 10 + 9 + ... + 1 = 55 */
	assert_int_equal(int_of(table, 0, "waiting_ns"), 55);
	/* step 1 (10-20): 10 whole ones, and 10 + ... + 1 */
	assert_int_equal(int_of(table, 1, "waiting_ns"), 155);
	/* from step 2000 on all waits run through */
	assert_int_equal(int_of(table, 2000, "waiting_ns"), 10 * n);
	assert_int_equal(int_of(table, n - 1, "waiting_ns"), 10 * n);
	timeline_free(&t);
}

static void without_steps_it_says_so(void **state)
{
	struct timeline t = timeline_new();

	(void)state;
	timeline_range(&t, timeline_thread(&t, 1, 1, "main"), MP_CLASS_RANGE, "a", 0, 5);
	assert_int_equal(timeline_run(&t, "steps")->n_rows, 0);
	assert_non_null(strstr(t.table.empty_reason, "mindprof_step"));
	timeline_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_marks),
		cmocka_unit_test(from_ranges),
		cmocka_unit_test(marks_of_several_threads),
		cmocka_unit_test(only_threads_and_streams_are_work),
		cmocka_unit_test(long_waits_over_many_steps),
		cmocka_unit_test(without_steps_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
