/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every analysis: shape, empty tables, hostile values, failing memory. */
#include "an_timeline.h"

static void list_and_shapes(void **state)
{
	static const char *order[] = {"steps",  "operators",    "operator_types", "operator_shapes",
				      "ranges", "waiting",      "gaps",           "memory_peak",
				      "memory", "memory_curve", "losses",         NULL};

	(void)state;
	for (size_t i = 0; order[i] || mp_analyses[i]; i++) {
		const struct mp_table_shape *shape;

		assert_non_null(order[i]);
		assert_non_null(mp_analyses[i]);
		shape = mp_analyses[i]->shape;
		assert_string_equal(shape->name, order[i]);
		assert_true(shape->title[0] && shape->text[0] && shape->n_columns);
		for (size_t c = 0; c < shape->n_columns; c++) {
			const struct mp_column *column = &shape->columns[c];
			size_t len = strlen(column->key);

			assert_true(len && column->title[0] && column->text[0]);
			assert_int_equal(mp_table_find_column(shape, column->key), c);
			/* The unit stands at the end of the key. */
			assert_int_equal(column->unit == MP_UNIT_NS,
					 len > 3 && !strcmp(column->key + len - 3, "_ns"));
			assert_int_equal(column->unit == MP_UNIT_BYTES,
					 len > 6 && !strcmp(column->key + len - 6, "_bytes"));
		}
	}
}

static void empty_stores_give_reasons(void **state)
{
	struct timeline t = timeline_new();

	(void)state;
	for (size_t i = 0; mp_analyses[i]; i++) {
		assert_int_equal(timeline_run(&t, mp_analyses[i]->shape->name)->n_rows, 0);
		assert_non_null(t.table.empty_reason);
	}
	timeline_free(&t);
}

/* Every kind with times and numbers at the ends of int64: no overflow (under UBSan), nothing negative. */
static void hostile_values(void **state)
{
	static const int64_t values[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
	struct timeline t = timeline_new();
	uint32_t tracks[2] = {timeline_thread(&t, 1, 1, NULL), timeline_thread(&t, INT64_MAX, 2, NULL)};
	int n = (int)(sizeof(values) / sizeof(values[0]));

	(void)state;
	for (int i = 0; i < n * n * n; i++) {
		struct mp_event event = {.ts_ns = values[i % n],
					 .a = values[i / n % n],
					 .b = values[i / n / n],
					 .c = values[(i + 3) % n],
					 .track = tracks[i % 2],
					 .name = (uint32_t)(i % 5),
					 .detail = i % 3 ? 0 : UINT32_MAX,
					 .cls = (uint8_t)(i % 13)};

		for (int kind = 0; kind < MP_KINDS; kind++)
			assert_true(mp_append(t.appender, (enum mp_kind)kind, &event));
	}
	for (size_t i = 0; mp_analyses[i]; i++) {
		const struct mp_table *table = timeline_run(&t, mp_analyses[i]->shape->name);

		/* One range lasts from the begin of time to its end, so there are no gaps; nothing was noted.
		 */
		assert_true(table->n_rows > 0 || strcmp(table->shape->name, "losses") == 0 ||
			    strcmp(table->shape->name, "gaps") == 0);
		for (size_t row = 0; row < table->n_rows; row++) {
			for (size_t c = 0; c < table->shape->n_columns; c++) {
				const struct mp_column *column = &table->shape->columns[c];
				const struct mp_value *v = &mp_table_row(table, row)[c];

				if (!v->missing && column->type == MP_TYPE_INT && column->unit == MP_UNIT_NS)
					assert_true(v->i >= 0);
				if (!v->missing && column->type == MP_TYPE_DOUBLE)
					assert_true(v->d >= 0);
			}
		}
	}
	timeline_free(&t);
}

static void fill_a_bit_of_everything(struct timeline *t)
{
	uint32_t a = timeline_thread(t, 1, 1, "a"), b = timeline_thread(t, 2, 1, NULL);

	for (int i = 0; i < 40; i++) {
		char name[16];

		snprintf(name, sizeof(name), "op%d", i);
		timeline_step(t, a, i, i * 100);
		timeline_range(t, b, MP_CLASS_STEP, "step", i * 100, i * 100 + 90);
		timeline_operator(t, a, name, i % 2 ? "x" : "y", 10, i * 100, i * 100 + 50);
		timeline_range(t, b, MP_CLASS_PYTHON, name, i * 100, i * 100 + 70);
		timeline_queue(t, a, MP_QUEUE_POP, i * 100 + 50, i * 100 + 60, 0, 2);
		timeline_queue(t, b, MP_QUEUE_PUSH, i * 100 + 60, i * 100 + 60, 1, 2);
		timeline_memory(t, a, name, i * 100, (uint64_t)i, i + 1);
	}
	mp_store_note(t->store, MP_PROBLEM, "code", "path", 0, "text");
}

/* Each analysis with the n-th allocation failing, until it gets through: E_NOMEM, no crash, no leak. */
static void every_allocation_may_fail(void **state)
{
	struct timeline t = timeline_new();
	struct mp_pool *pool = NULL;

	(void)state;
	fill_a_bit_of_everything(&t);
	timeline_run(&t, "losses");
	assert_int_equal(mp_pool_new(2, &pool, NULL), MINDPROF_OK);
	for (size_t i = 0; mp_analyses[i]; i++) {
		mp_status status = MINDPROF_E_NOMEM;
		size_t n_rows = timeline_run(&t, mp_analyses[i]->shape->name)->n_rows;
		uint64_t n;

		for (n = 0; status != MINDPROF_OK; n++) {
			struct mp_table table;

			mp_table_init(&table, mp_analyses[i]->shape);
			mp_mem_fail_after(n);
			status = mp_analyses[i]->run(t.store, n % 2 ? pool : NULL, &table, NULL);
			mp_mem_fail_after(UINT64_MAX);
			assert_true(status == MINDPROF_OK || status == MINDPROF_E_NOMEM);
			if (status == MINDPROF_OK)
				assert_int_equal(table.n_rows, n_rows);
			mp_table_release(&table);
		}
		assert_true(n > 2);
	}
	mp_pool_free(pool);
	timeline_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_and_shapes),
		cmocka_unit_test(empty_stores_give_reasons),
		cmocka_unit_test(hostile_values),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
