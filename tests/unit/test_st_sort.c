/* SPDX-License-Identifier: Apache-2.0 */
/* Order of events: every way of delivery against a plain comparison sort of the same events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/st_store.h"

struct given {
	int64_t begin, dur;
	uint32_t name; /* position in order of appending */
};

static struct mp_store *store_of(const struct given *ranges, size_t n)
{
	struct mp_store *store = NULL;
	struct mp_appender *appender = NULL;
	uint32_t process, track;

	assert_int_equal(mp_store_new(NULL, &store, NULL), MINDPROF_OK);
	process = mp_store_process(store, &(struct mp_process){.rank = -1, .pid = 1});
	track = mp_store_track(store, &(struct mp_track){.process = process, .stream = -1});
	assert_int_equal(track, 0);
	assert_int_equal(mp_appender_new(store, &appender, NULL), MINDPROF_OK);
	for (size_t i = 0; i < n; i++)
		assert_true(mp_append(appender, MP_KIND_RANGE,
				      &(struct mp_event){.ts_ns = ranges[i].begin,
							 .a = ranges[i].dur,
							 .track = track,
							 .name = (uint32_t)i}));
	assert_int_equal(mp_appender_finish(appender, NULL), MINDPROF_OK);
	assert_int_equal(mp_store_sort(store, NULL, NULL), MINDPROF_OK);
	assert_int_equal(mp_store_sort(store, NULL, NULL), MINDPROF_OK);
	return store;
}

static int by_begin_and_end(const void *a, const void *b)
{
	const struct given *x = a, *y = b;
	int64_t x_end = mp_end_ns(x->begin, x->dur), y_end = mp_end_ns(y->begin, y->dur);

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x_end != y_end)
		return x_end > y_end ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

/* Compares with qsort; ties by order of appending, or the reverse. */
static void check(const struct given *ranges, size_t n, bool ties_reversed)
{
	struct given *expected = malloc(n * sizeof(*expected));
	struct mp_store *store = store_of(ranges, n);
	struct mp_ranges got = mp_store_ranges(store, 0);

	assert_int_equal(got.n, n);
	for (size_t i = 0; i < n; i++) {
		expected[i] = ranges[i];
		expected[i].name = (uint32_t)(ties_reversed ? n - 1 - i : i);
	}
	qsort(expected, n, sizeof(*expected), by_begin_and_end);
	for (size_t i = 0; i < n; i++) {
		uint32_t name = mp_store_event(store, got.refs[i]).name;

		assert_int_equal(ties_reversed ? n - 1 - name : name, expected[i].name);
	}
	free(expected);
	mp_store_free(store);
}

static void already_sorted(void **state)
{
	struct given r[] = {{0, 100, 0}, {0, 50, 0},  {0, 50, 0}, {10, 5, 0},
			    {20, 80, 0}, {200, 0, 0}, {200, 0, 0}};

	(void)state;
	check(r, 7, false);
}

static void in_order_of_ends(void **state)
{
	/*
	 *  A 0---------------------100      delivered: C D B F E A G
	 *    B 10-------50  E 60---90       G and H begin and end together: the one that came last
	 *      C 15-20 D 25-30  F 70-80     is the parent
	 *                                G 200-210, H 200-210
	 */
	struct given r[] = {{15, 5, 0},  {25, 5, 0},  {10, 40, 0},  {70, 10, 0},
			    {60, 30, 0}, {0, 100, 0}, {200, 10, 0}, {200, 10, 0}};

	(void)state;
	check(r, 8, true);
}

static void equal_children_of_one_end(void **state)
{
	/* Child and parent end together and the parent came later. */
	struct given r[] = {{5, 5, 0}, {0, 10, 0}, {5, 5, 0}, {5, 5, 0}};

	(void)state;
	check(r, 4, true);
}

static void partial_overlap(void **state)
{
	/* Ends ascend, but {5,7} belongs between {0,10} and its child {8,1}: a new run must begin. */
	struct given r[] = {{8, 1, 0}, {0, 10, 0}, {5, 7, 0}, {3, 9, 0}, {1, 1, 0}};

	(void)state;
	check(r, 5, true);
}

static void hostile_numbers(void **state)
{
	struct given r[] = {{INT64_MAX, INT64_MAX, 0},
			    {INT64_MIN, INT64_MAX, 0},
			    {0, INT64_MIN, 0},
			    {INT64_MIN, INT64_MIN, 0},
			    {INT64_MAX - 1, 5, 0},
			    {-1, 1, 0},
			    {0, -1, 0},
			    {INT64_MIN, 0, 0}};

	(void)state;
	/* Begin steps back 4 times (..MIN, ..MIN, -1, ..MIN), end 4 times (-1, MIN, 0, MIN): order of
	 * appending. */
	check(r, 8, false);
}

static void descending(void **state)
{
	static struct given r[5000];

	(void)state;
	for (int i = 0; i < 5000; i++)
		r[i] = (struct given){5000 - i, 1, 0};
	check(r, 5000, false);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void random_order(void **state)
{
	static struct given r[20000];
	uint32_t seed = 1;

	(void)state;
	for (uint32_t rounds = 0; rounds < 20; rounds++) {
		size_t n = 1 + next_random(&seed) % (rounds < 10 ? 50 : 20000);
		uint32_t spread = rounds % 2 ? 1000000 : 20; /* many ties */
		uint32_t back_of_begin = 0, back_of_end = 0;

		for (size_t i = 0; i < n; i++) {
			r[i] = (struct given){next_random(&seed) % spread, next_random(&seed) % spread, 0};
			if (i == 0)
				continue;
			back_of_begin += r[i].begin < r[i - 1].begin ||
					 (r[i].begin == r[i - 1].begin && r[i].dur > r[i - 1].dur);
			back_of_end += r[i].begin + r[i].dur < r[i - 1].begin + r[i - 1].dur;
		}
		check(r, n, back_of_begin > back_of_end);
	}
}

/* Chunks of a recording in order of ends, handed over in another order, as parallel readers do. */
static void shuffled_chunks(void **state)
{
	static struct given r[10000];
	size_t n = 0;

	(void)state;
	for (int chunk = 9; chunk >= 0; chunk--) {
		for (int tree = 0; tree < 100; tree++) {
			int64_t at = (chunk * 100 + tree) * 1000;

			for (int leaf = 0; leaf < 9; leaf++)
				r[n++] = (struct given){at + 10 + leaf * 100, 90, 0};
			r[n++] = (struct given){at, 990, 0};
		}
	}
	check(r, n, true);
}

/* One million ranges inside each other, innermost first: linear, not quadratic. */
static void deep_nesting(void **state)
{
	size_t n = 1000000;
	struct given *r = malloc(n * sizeof(*r));

	(void)state;
	for (size_t i = 0; i < n; i++)
		r[i] = (struct given){(int64_t)(n - i), 2 * (int64_t)i, 0};
	check(r, n, true);
	free(r);
}

static void other_kinds_by_time_and_appending(void **state)
{
	static const int64_t times[] = {5, 3, 3, 9, 1, 3, INT64_MIN, INT64_MAX, 5};
	static const uint32_t expected[] = {6, 4, 1, 2, 5, 0, 8, 3, 7};
	struct mp_store *store = NULL;
	struct mp_appender *appender = NULL;
	struct mp_ranges got;

	(void)state;
	assert_int_equal(mp_store_new(NULL, &store, NULL), MINDPROF_OK);
	mp_store_process(store, &(struct mp_process){.rank = -1, .pid = 1});
	mp_store_track(store, &(struct mp_track){.stream = -1});
	assert_int_equal(mp_appender_new(store, &appender, NULL), MINDPROF_OK);
	for (uint32_t i = 0; i < 9; i++)
		assert_true(
			mp_append(appender, MP_KIND_MARK, &(struct mp_event){.ts_ns = times[i], .name = i}));
	assert_int_equal(mp_appender_finish(appender, NULL), MINDPROF_OK);
	assert_int_equal(mp_store_sort(store, NULL, NULL), MINDPROF_OK);
	got = mp_store_ordered(store, MP_KIND_MARK);
	assert_int_equal(got.n, 9);
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(mp_store_event(store, got.refs[i]).name, expected[i]);
	assert_int_equal(mp_store_ordered(store, MP_KIND_FLOW).n, 0);
	assert_int_equal(mp_store_ranges(store, 0).n, 0);
	assert_int_equal(mp_store_ranges(store, 12345).n, 0);
	mp_store_free(store);
}

static void events_added_later_are_sorted_in(void **state)
{
	struct given r[] = {{10, 1, 0}, {20, 1, 0}};
	struct mp_store *store = store_of(r, 2);
	struct mp_appender *appender = NULL;

	(void)state;
	assert_int_equal(mp_appender_new(store, &appender, NULL), MINDPROF_OK);
	assert_true(mp_append(appender, MP_KIND_RANGE, &(struct mp_event){.ts_ns = 15, .name = 2}));
	assert_int_equal(mp_appender_finish(appender, NULL), MINDPROF_OK);
	assert_int_equal(mp_store_sort(store, NULL, NULL), MINDPROF_OK);
	assert_int_equal(mp_store_ranges(store, 0).n, 3);
	assert_int_equal(mp_store_event(store, mp_store_ranges(store, 0).refs[1]).name, 2);
	mp_store_free(store);
}

static void wrong_track_is_refused(void **state)
{
	struct given r[] = {{10, 1, 0}, {20, 1, 0}};
	struct mp_store *store = store_of(r, 2);
	struct mp_appender *appender = NULL;

	(void)state;
	assert_int_equal(mp_appender_new(store, &appender, NULL), MINDPROF_OK);
	assert_true(mp_append(appender, MP_KIND_RANGE, &(struct mp_event){.ts_ns = 15, .track = 1}));
	assert_int_equal(mp_appender_finish(appender, NULL), MINDPROF_OK);
	assert_int_equal(mp_store_sort(store, NULL, NULL), MINDPROF_E_INTERNAL);
	mp_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(already_sorted),
		cmocka_unit_test(in_order_of_ends),
		cmocka_unit_test(equal_children_of_one_end),
		cmocka_unit_test(partial_overlap),
		cmocka_unit_test(hostile_numbers),
		cmocka_unit_test(descending),
		cmocka_unit_test(random_order),
		cmocka_unit_test(shuffled_chunks),
		cmocka_unit_test(deep_nesting),
		cmocka_unit_test(other_kinds_by_time_and_appending),
		cmocka_unit_test(events_added_later_are_sorted_in),
		cmocka_unit_test(wrong_track_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
