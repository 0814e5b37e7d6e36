/* SPDX-License-Identifier: Apache-2.0 */
/* Table losses: warnings and problems of the readers, problems first. */
#include "an_timeline.h"

static void warnings_and_problems(void **state)
{
	struct timeline t = timeline_new();
	const struct mp_table *table;

	(void)state;
	mp_store_note(t.store, MP_INFO, "clock", NULL, -1, "not a loss");
	mp_store_note(t.store, MP_WARNING, "odd-name", "a.csv", 17, "a name is empty");
	mp_store_note(t.store, MP_PROBLEM, "events-dropped", NULL, -1, "thread 'main' dropped 5 ranges");
	mp_store_note(t.store, MP_WARNING, "odd-name", "a.csv", 99, "another name is empty");
	mp_store_note(t.store, MP_PROBLEM, "recording-cut", "events.mpr", 0, "the recording was not closed");
	table = timeline_run(&t, "losses");
	assert_int_equal(table->n_rows, 3);
	assert_row(table, 0, "problem|events-dropped|-|-|1|thread 'main' dropped 5 ranges");
	assert_row(table, 1, "problem|recording-cut|events.mpr|0|1|the recording was not closed");
	assert_row(table, 2, "warning|odd-name|a.csv|17|2|a name is empty");
	timeline_free(&t);
}

static void nothing_lost(void **state)
{
	struct timeline t = timeline_new();

	(void)state;
	assert_int_equal(timeline_run(&t, "losses")->n_rows, 0);
	assert_string_equal(t.table.empty_reason, "nothing was lost");
	timeline_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(warnings_and_problems),
		cmocka_unit_test(nothing_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
