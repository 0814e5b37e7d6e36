/* SPDX-License-Identifier: Apache-2.0 */
/* Tables operators, operator_types and ranges: hand-calculated counts, totals, self times, FLOPs. */
#include "an_timeline.h"

/*
 *             0    10   20   30   40   50   60   70   80   90   100
 *  main       [---------------- forward (annotation) -----------]
 *               [5 MatMul/a  25]   [35 Conv  55]  [60 MatMul/a 90]
 *                 [10 Cast 15]                        [70 Cast 90]
 *  worker           [12 MatMul/b (type unknown) 42]
 */
static struct timeline two_threads(void)
{
	struct timeline t = timeline_new();
	uint32_t main_thread = timeline_thread(&t, 1, 1, "main"),
		 worker = timeline_thread(&t, 1, 2, "worker");

	timeline_range(&t, main_thread, MP_CLASS_RANGE, "forward", 0, 100);
	timeline_operator(&t, main_thread, "MatMul", "MatMulType", 1000, 5, 25);
	timeline_operator(&t, main_thread, "Cast", "CastType", 0, 10, 15);
	timeline_operator(&t, main_thread, "Conv", "ConvType", 0, 35, 55);
	timeline_operator(&t, main_thread, "MatMul", "MatMulType", 3000, 60, 90);
	timeline_operator(&t, main_thread, "Cast", "CastType", 0, 70, 90);
	timeline_operator(&t, worker, "MatMul", "", 0, 12, 42);
	return t;
}

static void operators(void **state)
{
	struct timeline t = two_threads();
	const struct mp_table *table = timeline_run(&t, "operators");

	(void)state;
	/*
	 * Totals: MatMul/MatMulType 20 + 30 = 50, MatMul/- 30, Cast 5 + 20 = 25, Conv 20: together 125.
	 * Self: MatMul 50 - 25 = 25. 4000 FLOPs in 50 ns are 8e10 per second.
	 */
	assert_int_equal(table->n_rows, 4);
	assert_row(table, 0, "MatMul|MatMulType|2|50|25|25|20|30|0.4|4000|8e+10");
	assert_row(table, 1, "MatMul|-|1|30|30|30|30|30|0.24|-|-");
	assert_row(table, 2, "Cast|CastType|2|25|25|12.5|5|20|0.2|-|-");
	assert_row(table, 3, "Conv|ConvType|1|20|20|20|20|20|0.16|-|-");
	assert_null(table->empty_reason);
	timeline_free(&t);
}

static void operator_types(void **state)
{
	struct timeline t = two_threads();
	const struct mp_table *table = timeline_run(&t, "operator_types");

	(void)state;
	assert_int_equal(table->n_rows, 4);
	assert_row(table, 0, "MatMulType|2|50|25|25|20|30|0.4|4000|8e+10");
	assert_row(table, 1, "-|1|30|30|30|30|30|0.24|-|-");
	assert_row(table, 2, "CastType|2|25|25|12.5|5|20|0.2|-|-");
	assert_row(table, 3, "ConvType|1|20|20|20|20|20|0.16|-|-");
	timeline_free(&t);
}

static void add_shaped(struct timeline *t, const char *shapes, int64_t begin, int64_t end)
{
	struct mp_detail detail = {.type = mp_store_string(t->store, "MatMul"),
				   .shapes = mp_store_string(t->store, shapes),
				   .stream = -1};

	timeline_add(t, MP_KIND_RANGE,
		     (struct mp_event){.ts_ns = begin,
				       .a = end - begin,
				       .track = 0,
				       .detail = mp_store_detail(t->store, &detail),
				       .cls = MP_CLASS_OPERATOR},
		     "a/MatMul-op0");
}

/* 2,2;2,2 for 3 and 5 ns, 4,4;4,4 for 7 ns; one without shapes; annotations do not count. */
static void operator_shapes(void **state)
{
	struct timeline t = timeline_new();
	uint32_t track = timeline_thread(&t, 1, 1, "main");
	const struct mp_table *table;

	(void)state;
	timeline_range(&t, track, MP_CLASS_RANGE, "forward", 0, 100);
	add_shaped(&t, "2,2;2,2", 0, 3);
	add_shaped(&t, "4,4;4,4", 10, 17);
	add_shaped(&t, "2,2;2,2", 20, 25);
	timeline_operator(&t, track, "Conv", "Conv", 0, 30, 35);
	table = timeline_run(&t, "operator_shapes");
	assert_int_equal(table->n_rows, 3);
	assert_row(table, 0, "a/MatMul-op0|MatMul|2,2;2,2|2|8|8|4|3|5|0.4");
	assert_row(table, 1, "a/MatMul-op0|MatMul|4,4;4,4|1|7|7|7|7|7|0.35");
	assert_row(table, 2, "Conv|Conv|-|1|5|5|5|5|5|0.25");
	timeline_free(&t);
}

static void ranges(void **state)
{
	struct timeline t = two_threads();
	const struct mp_table *table;

	(void)state;
	/* The same name as a Python function, and a range that was cut: rows of their own. */
	timeline_range(&t, 0, MP_CLASS_PYTHON, "forward", 100, 110);
	timeline_range(&t, 0, MP_CLASS_PYTHON, "forward", 110, 130);
	timeline_range(&t, 0, MP_CLASS_OPEN, "backward", 130, 135);
	table = timeline_run(&t, "ranges");
	/* forward: 100 - (20 + 20 + 30) = 30 self; together 100 + 30 + 5 = 135 */
	assert_int_equal(table->n_rows, 3);
	assert_row(table, 0, "forward|annotation|1|100|30|100|100|100|0.7407");
	assert_row(table, 1, "forward|python|2|30|30|15|10|20|0.2222");
	assert_row(table, 2, "backward|unfinished|1|5|5|5|5|5|0.03704");
	timeline_free(&t);
}

static void annotations_stand_in_for_operators(void **state)
{
	struct timeline t = timeline_new();
	uint32_t track = timeline_thread(&t, 1, 1, "main");
	const struct mp_table *table;

	(void)state;
	timeline_range(&t, track, MP_CLASS_RANGE, "load", 0, 10);
	timeline_range(&t, track, MP_CLASS_RANGE, "compute", 10, 40);
	timeline_range(&t, track, MP_CLASS_PYTHON, "python is not shown", 0, 100);
	table = timeline_run(&t, "operators");
	assert_int_equal(table->n_rows, 2);
	assert_row(table, 0, "compute|-|1|30|30|30|30|30|0.75|-|-");
	assert_row(table, 1, "load|-|1|10|10|10|10|10|0.25|-|-");
	table = timeline_run(&t, "operator_types");
	assert_int_equal(table->n_rows, 0);
	assert_non_null(table->empty_reason);
	timeline_free(&t);
}

/*
 *   A [0----------10]           B begins in A and ends after it: it counts for A up to 10,
 *   B       [5----------15]     C is inside B, also the part after A
 *   C             [8----------20]
 *   D                     [15-17]  in C, as B has ended
 */
static void partial_overlap_never_makes_self_negative(void **state)
{
	struct timeline t = timeline_new();
	uint32_t track = timeline_thread(&t, 1, 1, "main");
	const struct mp_table *table;

	(void)state;
	timeline_operator(&t, track, "A", "", 0, 0, 10);
	timeline_operator(&t, track, "B", "", 0, 5, 15);
	timeline_operator(&t, track, "C", "", 0, 8, 20);
	timeline_operator(&t, track, "D", "", 0, 15, 17);
	table = timeline_run(&t, "operators");
	/* total 10 + 10 + 12 + 2 = 34; C first (12), then A, B by name, D */
	assert_row(table, 0, "C|-|1|12|10|12|12|12|0.3529|-|-");
	assert_row(table, 1, "A|-|1|10|5|10|10|10|0.2941|-|-");
	assert_row(table, 2, "B|-|1|10|3|10|10|10|0.2941|-|-");
	assert_row(table, 3, "D|-|1|2|2|2|2|2|0.05882|-|-");
	timeline_free(&t);
}

static void equal_totals_are_in_order_of_names(void **state)
{
	struct timeline t = timeline_new();
	uint32_t track = timeline_thread(&t, 1, 1, "main");
	const struct mp_table *table;

	(void)state;
	timeline_operator(&t, track, "b", "y", 0, 0, 10);
	timeline_operator(&t, track, "c", "x", 0, 10, 20);
	timeline_operator(&t, track, "b", "x", 0, 20, 30);
	timeline_operator(&t, track, "a", "z", 0, 30, 40);
	table = timeline_run(&t, "operators");
	assert_row(table, 0, "a|z|1|10|10|10|10|10|0.25|-|-");
	assert_row(table, 1, "b|x|1|10|10|10|10|10|0.25|-|-");
	assert_row(table, 2, "b|y|1|10|10|10|10|10|0.25|-|-");
	assert_row(table, 3, "c|x|1|10|10|10|10|10|0.25|-|-");
	timeline_free(&t);
}

/* One million operators inside each other: each has self 2 (1 before and 1 after its child), the innermost 0.
 */
static void deep_nesting(void **state)
{
	struct timeline t = timeline_new();
	uint32_t track = timeline_thread(&t, 1, 1, "main");
	int64_t n = 1000000;
	const struct mp_table *table;

	(void)state;
	for (int64_t i = 0; i < n; i++)
		timeline_operator(&t, track, "op", "", 0, n - i, n + i);
	table = timeline_run(&t, "operators");
	assert_int_equal(int_of(table, 0, "count"), n);
	assert_int_equal(int_of(table, 0, "total_ns"), n * (n - 1));
	assert_int_equal(int_of(table, 0, "self_ns"), 2 * (n - 1));
	assert_int_equal(int_of(table, 0, "min_ns"), 0);
	timeline_free(&t);
}

/* The result does not depend on the number of workers, FLOPs included. */
static void workers_do_not_change_the_result(void **state)
{
	struct timeline t = timeline_new();
	const struct mp_table *table;
	struct mp_table parallel;
	struct mp_pool *pool = NULL;

	(void)state;
	for (int64_t thread = 0; thread < 20; thread++) {
		uint32_t track = timeline_thread(&t, 1, thread, NULL);

		for (int i = 0; i < 200; i++) {
			char name[16];

			snprintf(name, sizeof(name), "op%d", i * 7 % (10 + (int)thread));
			timeline_operator(&t, track, name, i % 3 ? "a" : "b", 1e15 + i * 0.1, i * 10,
					  i * 10 + i % 9);
		}
	}
	table = timeline_run(&t, "operators");
	mp_table_init(&parallel, table->shape);
	assert_int_equal(mp_pool_new(4, &pool, NULL), MINDPROF_OK);
	assert_int_equal(timeline_analysis("operators")->run(t.store, pool, &parallel, NULL), MINDPROF_OK);
	assert_int_equal(parallel.n_rows, table->n_rows);
	for (size_t row = 0; row < table->n_rows; row++) {
		for (size_t i = 0; i < table->shape->n_columns; i++) {
			const struct mp_value *a = &mp_table_row(table, row)[i],
					      *b = &mp_table_row(&parallel, row)[i];

			if (table->shape->columns[i].type == MP_TYPE_TEXT)
				assert_string_equal(a->s.text, b->s.text);
			else
				assert_int_equal(a->i, b->i); /* bits of doubles, too */
		}
	}
	mp_pool_free(pool);
	mp_table_release(&parallel);
	timeline_free(&t);
}

static void hostile_flops(void **state)
{
	static const double values[] = {1e300, -5, 0.0 / 0.0, 1.0 / 0.0, 0.25};
	struct timeline t = timeline_new();
	uint32_t track = timeline_thread(&t, 1, 1, "main");
	const struct mp_table *table;

	(void)state;
	for (int i = 0; i < 5; i++) {
		char name[2] = {(char)('a' + i), 0};

		timeline_operator(&t, track, name, "", values[i], i * 10, i * 10 + 10 - i);
	}
	table = timeline_run(&t, "operators");
	/* By total: a 10, b 9, c 8, d 7, e 6. Above 1e28 the number is cut, what is no number is not known.
	 */
	assert_row(table, 0, "a|-|1|10|10|10|10|10|0.25|1e+28|1e+36");
	assert_row(table, 1, "b|-|1|9|9|9|9|9|0.225|-|-");
	assert_row(table, 2, "c|-|1|8|8|8|8|8|0.2|-|-");
	assert_row(table, 3, "d|-|1|7|7|7|7|7|0.175|1e+28|1.429e+36");
	assert_row(table, 4, "e|-|1|6|6|6|6|6|0.15|-|-");
	timeline_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operators),
		cmocka_unit_test(operator_types),
		cmocka_unit_test(operator_shapes),
		cmocka_unit_test(ranges),
		cmocka_unit_test(annotations_stand_in_for_operators),
		cmocka_unit_test(partial_overlap_never_makes_self_negative),
		cmocka_unit_test(equal_totals_are_in_order_of_names),
		cmocka_unit_test(deep_nesting),
		cmocka_unit_test(workers_do_not_change_the_result),
		cmocka_unit_test(hostile_flops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
