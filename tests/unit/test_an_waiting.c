/* SPDX-License-Identifier: Apache-2.0 */
/* Table waiting: hand-calculated waits, depths met, verdicts. */
#include "an_timeline.h"

/*
 * Capacity 2. A slow producer: the consumer finds the queue empty.
 *
 *   time      0     10     20     30     40     50          100
 *   push            |1            |1            |1,|2 |2*       (* waits 51-60: found 2 of 2)
 *   pop       [wait-10]0   [wait--30]0                   |1 at 60
 *
 *   push at 10 ends a wait: the pop that began at 0 leaves depth 0 at 10.
 */
static void consumer_waits(void **state)
{
	struct timeline t = timeline_new();
	uint32_t producer = timeline_thread(&t, 1, 1, "producer"),
		 consumer = timeline_thread(&t, 1, 2, "consumer");
	const struct mp_table *table;

	(void)state;
	timeline_range(&t, producer, MP_CLASS_RANGE, "all", 0, 100);
	timeline_queue(&t, consumer, MP_QUEUE_POP, 0, 10, 0, 2);
	timeline_queue(&t, producer, MP_QUEUE_PUSH, 9, 9, 1, 2);
	timeline_queue(&t, consumer, MP_QUEUE_POP, 20, 30, 0, 2);
	timeline_queue(&t, producer, MP_QUEUE_PUSH, 29, 29, 1, 2);
	timeline_queue(&t, producer, MP_QUEUE_PUSH, 50, 50, 1, 2);
	timeline_queue(&t, producer, MP_QUEUE_PUSH, 51, 51, 2, 2);
	timeline_queue(&t, producer, MP_QUEUE_PUSH, 52, 60, 2, 2);
	timeline_queue(&t, consumer, MP_QUEUE_POP, 60, 60, 1, 2);
	table = timeline_run(&t, "waiting");
	/*
	 * push: 5 items, waited 8, depths 1 1 1 2 2 = 7 / 5; one of 5 found it full
	 * pop: 3 items, waited 10 + 10, depths 0 0 1; the first two found it empty (0 at first, 0 after 10)
	 * 20 of 100 ns and more than twice 8
	 */
	assert_int_equal(table->n_rows, 2);
	assert_row(table, 0, "p1|batches|push|5|8|1.6|8|0.08|1.4|-|0.2|2|consumer waits: producer too slow");
	assert_row(table, 1,
		   "p1|batches|pop|3|20|6.667|10|0.2|0.3333|0.6667|-|2|consumer waits: producer too slow");
	timeline_free(&t);
}

static void producer_waits(void **state)
{
	struct timeline t = timeline_new();
	uint32_t track = timeline_thread(&t, 1, 1, "main");
	const struct mp_table *table;

	(void)state;
	timeline_queue(&t, track, MP_QUEUE_PUSH, 0, 0, 1, 1);
	timeline_queue(&t, track, MP_QUEUE_PUSH, 10, 40, 1, 1);
	timeline_queue(&t, track, MP_QUEUE_POP, 39, 39, 0, 1);
	timeline_queue(&t, track, MP_QUEUE_POP, 100, 100, 0, 1);
	table = timeline_run(&t, "waiting");
	assert_row(table, 0, "p1|batches|push|2|30|15|30|0.3|1|-|0.5|1|producer waits: consumer too slow");
	/* at 39 the first push is in the queue, at 100 the second one */
	assert_row(table, 1, "p1|batches|pop|2|0|0|0|0|0|0|-|1|producer waits: consumer too slow");
	timeline_free(&t);
}

/* Short waits and equal waits are balanced; without capacity nothing is full. */
static void balanced_and_unbounded(void **state)
{
	struct timeline t = timeline_new();
	uint32_t track = timeline_thread(&t, 1, 1, "main"), other = timeline_thread(&t, 2, 1, "main");
	const struct mp_table *table;

	(void)state;
	timeline_range(&t, track, MP_CLASS_RANGE, "all", 0, 1000);
	timeline_queue(&t, track, MP_QUEUE_POP, 0, 49, 7, 0); /* 4.9 % of the trace */
	timeline_queue(&t, other, MP_QUEUE_PUSH, 0, 500, 7, 9);
	timeline_queue(&t, other, MP_QUEUE_POP, 0, 250, 6, 9); /* half of the other side */
	table = timeline_run(&t, "waiting");
	assert_int_equal(table->n_rows, 3);
	assert_row(table, 0, "p1|batches|pop|1|49|49|49|0.049|7|1|-|-|balanced");
	assert_row(table, 1, "p2|batches|push|1|500|500|500|0.5|7|-|0|9|balanced");
	assert_row(table, 2, "p2|batches|pop|1|250|250|250|0.25|6|1|-|9|balanced");
	timeline_free(&t);
}

/* 1,000 consumers wait at once, the later the shorter: the heap gives their ends in order. */
static void many_waiters(void **state)
{
	struct timeline t = timeline_new();
	const struct mp_table *table;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint32_t track = timeline_thread(&t, 1, i, NULL);

		/* The end of each leaves as many behind as there are waits that end later. */
		timeline_queue(&t, track, MP_QUEUE_POP, i, 3000 - i, (uint32_t)(999 - i), 1000);
	}
	/* After 2500 those with i >= 500 have ended, the one with i = 500 last: it left 499. After 3000 i = 0
	 * left 999. */
	timeline_queue(&t, 0, MP_QUEUE_PUSH, 2500, 2500, 499, 499);
	timeline_queue(&t, 0, MP_QUEUE_PUSH, 2501, 2501, 5, 501);
	timeline_queue(&t, 0, MP_QUEUE_PUSH, 3000, 3000, 5, 999);
	timeline_queue(&t, 0, MP_QUEUE_PUSH, 3001, 3001, 5, 1000);
	table = timeline_run(&t, "waiting");
	/* found full: 499 >= 499; at 2501 i = 499 left 500 < 501; at 3000 999 >= 999; at 3001 the push left 5
	 * < 1000 */
	assert_row(table, 0, "p1|batches|push|4|0|0|0|0|128.5|-|0.5|1000|consumer waits: producer too slow");
	timeline_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(consumer_waits),
		cmocka_unit_test(producer_waits),
		cmocka_unit_test(balanced_and_unbounded),
		cmocka_unit_test(many_waiters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
