/* SPDX-License-Identifier: Apache-2.0 */
/* Table -> CSV: exact bytes, read back, empty tables, failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/csv_in.h"
#include "base/num.h"
#include "table_sample.h"
#include "torture.h"

static void test_bytes(void **state)
{
	struct mp_table table;
	char *text;

	(void)state;
	mp_table_init(&table, &sample_shape);
	assert_true(fill_sample(&table));
	text = printed(mp_write_table_csv, &table);
	assert_string_equal(text,
			    "name,stream,count,total_ns,avg_ns,bytes,flops,begin_ns,ratio,share\r\n"
			    "\"MatMul, \"\"fused\"\"\n\",3,1234567,1234567890,1000.5,1536,2500000000000.0,"
			    "1719800000000010100,0.1,0.75\r\n"
			    "\xe7\xae\x97\xe5\xad\x90,-9223372036854775808,0,-999,,,,,,0.25\r\n");
	free(text);
	mp_table_release(&table);
}

static void test_read_back(void **state)
{
	struct mp_table table;
	struct mp_csv csv;
	double value;
	char *text;

	(void)state;
	mp_table_init(&table, &sample_shape);
	assert_true(fill_sample(&table));
	text = printed(mp_write_table_csv, &table);
	mp_csv_init(&csv, text, strlen(text));
	assert_true(mp_csv_next(&csv));
	assert_int_equal(csv.n_fields, sample_shape.n_columns);
	assert_int_equal(mp_csv_column(&csv, "avg_ns"), 4);
	assert_true(mp_csv_next(&csv));
	assert_int_equal(csv.fields[0].len, 16);
	assert_memory_equal(csv.fields[0].text, "MatMul, \"fused\"\n", 16);
	assert_true(mp_num_parse_double(csv.fields[4].text, csv.fields[4].len, &value));
	assert_true(value == 1000.5);
	assert_true(mp_csv_next(&csv));
	assert_int_equal(csv.n_fields, sample_shape.n_columns);
	assert_false(mp_csv_next(&csv));
	mp_csv_release(&csv);
	free(text);
	mp_table_release(&table);
}

static void test_empty(void **state)
{
	struct mp_table table;
	char *text;

	(void)state;
	mp_table_init(&table, &sample_shape);
	table.empty_reason = "nothing was recorded";
	text = printed(mp_write_table_csv, &table);
	assert_string_equal(text, "name,stream,count,total_ns,avg_ns,bytes,flops,begin_ns,ratio,share\r\n");
	free(text);
	mp_table_release(&table);
}

static mp_status all(void *user)
{
	(void)user;
	return print_and_drop(mp_write_table_csv);
}

static void test_without_memory(void **state)
{
	(void)state;
	assert_true(torture(all, NULL) > 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_read_back),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
