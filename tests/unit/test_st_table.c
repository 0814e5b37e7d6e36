/* SPDX-License-Identifier: Apache-2.0 */
/* Result tables: rows, texts, look-up of columns, stable sort, failing memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "base/mem.h"
#include "store/st_table.h"

static const struct mp_column columns[] = {
	{"name", "Name", MP_TYPE_TEXT, MP_UNIT_NONE, "who"},
	{"count", "Count", MP_TYPE_INT, MP_UNIT_COUNT, "how many"},
	{"avg_ns", "Average", MP_TYPE_DOUBLE, MP_UNIT_NS, "how long"},
};
static const struct mp_table_shape shape = {"things", "Things", "Things of a test.", columns, 3};

static void add(struct mp_table *table, const char *name, int64_t count, double avg)
{
	struct mp_value *row = mp_table_add_row(table);

	assert_non_null(row);
	assert_true(row[0].missing && row[1].missing && row[2].missing);
	if (name)
		assert_true(mp_value_text(table, &row[0], name, strlen(name)));
	if (count >= 0)
		mp_value_int(&row[1], count);
	mp_value_double(&row[2], avg);
}

/* The names in order, "-" for a missing one. */
static void assert_names(const struct mp_table *table, const char *expected)
{
	char names[64] = "";

	for (size_t i = 0; i < table->n_rows; i++) {
		const struct mp_value *v = &mp_table_row(table, i)[0];

		strcat(names, v->missing ? "-" : v->s.text);
	}
	assert_string_equal(names, expected);
}

static void values_and_columns(void **state)
{
	struct mp_table table;
	const struct mp_value *row;

	(void)state;
	mp_table_init(&table, &shape);
	assert_int_equal(table.n_rows, 0);
	add(&table, "a", 3, 1.5);
	add(&table, NULL, -1, 2);
	row = mp_table_row(&table, 0);
	assert_string_equal(row[0].s.text, "a");
	assert_int_equal(row[0].s.len, 1);
	assert_int_equal(row[1].i, 3);
	assert_true(row[2].d == 1.5);
	assert_true(mp_table_row(&table, 1)[1].missing);
	assert_int_equal(mp_table_find_column(&shape, "avg_ns"), 2);
	assert_int_equal(mp_table_find_column(&shape, "avg"), -1);
	mp_table_release(&table);
	mp_table_release(&table);
}

static void texts_may_hold_anything(void **state)
{
	struct mp_table table;
	struct mp_value *row;

	(void)state;
	mp_table_init(&table, &shape);
	row = mp_table_add_row(&table);
	assert_true(mp_value_text(&table, &row[0], "a\0b", 3));
	assert_int_equal(mp_table_row(&table, 0)[0].s.len, 3);
	assert_memory_equal(mp_table_row(&table, 0)[0].s.text, "a\0b", 4);
	mp_table_release(&table);
}

static void sort_is_stable_and_puts_missing_last(void **state)
{
	struct mp_table table;

	(void)state;
	mp_table_init(&table, &shape);
	add(&table, "d", 2, 4.0);
	add(&table, NULL, 1, NAN);
	add(&table, "b", -1, -INFINITY);
	add(&table, "a", 2, 4.0);
	add(&table, "c", INT64_MAX, 1.0);
	add(&table, "ab", 0, 9.0);
	assert_int_equal(mp_table_sort(&table, 1, false, NULL), MINDPROF_OK);
	assert_names(&table, "ab-dacb"); /* 0 1 2 2 max missing; d before a as they came */
	assert_int_equal(mp_table_sort(&table, 0, false, NULL), MINDPROF_OK);
	assert_names(&table, "aabbcd-");
	assert_int_equal(mp_table_sort(&table, 1, true, NULL), MINDPROF_OK);
	assert_names(&table, "cad-abb"); /* max 2 2 1 0 missing */
	assert_int_equal(mp_table_sort(&table, 2, true, NULL), MINDPROF_OK);
	assert_names(&table, "abadcb-"); /* 9 4 4 1 -inf NaN */
	assert_int_equal(mp_table_sort(&table, 2, false, NULL), MINDPROF_OK);
	assert_names(&table, "bcadab-");
	mp_table_release(&table);
}

static void rows_after_a_sort(void **state)
{
	struct mp_table table;

	(void)state;
	mp_table_init(&table, &shape);
	for (int i = 0; i < 1000; i++)
		add(&table, "x", (i * 37) % 1000, i);
	assert_int_equal(mp_table_sort(&table, 1, true, NULL), MINDPROF_OK);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(mp_table_row(&table, i)[1].i, 999 - i);
		add(&table, "y", 5000, 0);
	}
	assert_int_equal(table.n_rows, 2000);
	mp_table_release(&table);
}

static bool fill_and_sort(void)
{
	struct mp_table table;
	bool ok = true;

	mp_table_init(&table, &shape);
	for (int i = 0; ok && i < 100; i++) {
		struct mp_value *row = mp_table_add_row(&table);

		ok = row && mp_value_text(&table, &row[0], "some text", 9);
		if (ok)
			mp_value_int(&row[1], -i);
	}
	ok = ok && mp_table_sort(&table, 1, false, NULL) == MINDPROF_OK;
	mp_table_release(&table);
	return ok;
}

static void allocations_may_fail(void **state)
{
	uint64_t n = 0;
	bool ok;

	(void)state;
	do {
		mp_mem_fail_after(n++);
		ok = fill_and_sort();
		mp_mem_fail_after(UINT64_MAX);
	} while (!ok);
	assert_true(n > 6); /* 16, 32, 64, 128 rows, one arena block, two for the sort: 7 may fail */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_and_columns),
		cmocka_unit_test(texts_may_hold_anything),
		cmocka_unit_test(sort_is_stable_and_puts_missing_last),
		cmocka_unit_test(rows_after_a_sort),
		cmocka_unit_test(allocations_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
