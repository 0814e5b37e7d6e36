/* SPDX-License-Identifier: Apache-2.0 */
/* Table gaps: which gaps there are, between what, and which 20 are kept. */
#include "an_timeline.h"

/*
 *           0   10   20   30   40   50   60   70
 *  main     [ a  ]   [ b       ]    [ e ]          gaps 10-20 (a, b), 45-50 (d, e)
 *                       [ c ] [ d 45]              d reaches over b
 *  step     [---------- step 0 ---------]          does not count
 *  stream 3     [ f  ]                     [ g ]   gap 15-65
 *  async    [h]                              [i]   is no thread
 */
static void between_ranges(void **state)
{
	struct timeline t = timeline_new();
	uint32_t main_thread = timeline_thread(&t, 1, 1, "main");
	uint32_t stream =
		mp_store_track(t.store, &(struct mp_track){.tid = 8, .stream = 3, .kind = MP_TRACK_STREAM});
	uint32_t async =
		mp_store_track(t.store, &(struct mp_track){.tid = 9, .stream = -1, .kind = MP_TRACK_ASYNC});
	const struct mp_table *table;

	(void)state;
	timeline_range(&t, main_thread, MP_CLASS_STEP, "step 0", 0, 60);
	timeline_range(&t, main_thread, MP_CLASS_RANGE, "a", 0, 10);
	timeline_range(&t, main_thread, MP_CLASS_RANGE, "b", 20, 40);
	timeline_range(&t, main_thread, MP_CLASS_OPERATOR, "c", 25, 30);
	timeline_range(&t, main_thread, MP_CLASS_OPERATOR, "d", 35, 45);
	timeline_range(&t, main_thread, MP_CLASS_RANGE, "nothing", 47, 47);
	timeline_range(&t, main_thread, MP_CLASS_RANGE, "e", 50, 55);
	timeline_range(&t, stream, MP_CLASS_KERNEL, "f", 5, 15);
	timeline_range(&t, stream, MP_CLASS_KERNEL, "g", 65, 70);
	timeline_range(&t, async, MP_CLASS_RANGE, "h", 0, 1);
	timeline_range(&t, async, MP_CLASS_RANGE, "i", 69, 70);
	table = timeline_run(&t, "gaps");
	assert_int_equal(table->n_rows, 3);
	assert_row(table, 0, "p1|stream 3|15|50|f|g");
	assert_row(table, 1, "p1|main|10|10|a|b");
	assert_row(table, 2, "p1|main|45|5|d|e");
	timeline_free(&t);
}

static void the_longest_twenty(void **state)
{
	struct timeline t = timeline_new();
	const struct mp_table *table;
	int64_t at = 0;

	(void)state;
	/* Gaps of 1, 2 .. 30, then once more 11 .. 30 on another thread: 30 30 29 29 .. 21 21. */
	timeline_thread(&t, 1, 0, "first");
	timeline_thread(&t, 1, 1, NULL);
	for (uint32_t track = 0; track < 2; track++, at = 0) {
		for (int gap = track ? 10 : 0; gap <= 30; at += 10 + ++gap)
			timeline_range(&t, track, MP_CLASS_RANGE, "x", at, at + 10);
	}
	table = timeline_run(&t, "gaps");
	assert_int_equal(table->n_rows, 20);
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(int_of(table, i, "gap_ns"), 30 - (int64_t)i / 2);
	/* before gap k of the first thread: k ranges of 10 and the gaps 1 .. k - 1; 30 * 10 + 29 * 30 / 2 */
	assert_row(table, 0, "p1|first|735|30|x|x");
	/* 21 ranges and the gaps 11 .. 29: 21 * 10 + 380 - 10 */
	assert_row(table, 1, "p1|thread 1|580|30|x|x");
	timeline_free(&t);
}

static void without_gaps_it_says_so(void **state)
{
	struct timeline t = timeline_new();
	uint32_t track = timeline_thread(&t, 1, 1, "main");

	(void)state;
	timeline_range(&t, track, MP_CLASS_RANGE, "a", 0, 10);
	timeline_range(&t, track, MP_CLASS_RANGE, "b", 10, 20);
	assert_int_equal(timeline_run(&t, "gaps")->n_rows, 0);
	assert_non_null(t.table.empty_reason);
	timeline_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(between_ranges),
		cmocka_unit_test(the_longest_twenty),
		cmocka_unit_test(without_gaps_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
