/* SPDX-License-Identifier: Apache-2.0 */
/* Table -> JSON: exact text, nulls, the reason of an empty table, failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/json_in.h"
#include "table_sample.h"
#include "torture.h"

static const struct mp_column two_columns[] = {
	{"name", "Operator", MP_TYPE_TEXT, MP_UNIT_NONE, ""},
	{"share", "Share", MP_TYPE_DOUBLE, MP_UNIT_SHARE, ""},
};
static const struct mp_table_shape two = {"t", "A \"title\"", "", two_columns, 2};

static void test_text(void **state)
{
	struct mp_table table;
	struct mp_buf buf;
	struct mp_json_out json;
	struct mp_value *row;

	(void)state;
	mp_table_init(&table, &two);
	row = mp_table_add_row(&table);
	mp_value_text(&table, &row[0], "a\"b\xff", 4);
	mp_value_double(&row[1], 0.1);
	row = mp_table_add_row(&table);
	mp_value_double(&row[1], NAN);
	mp_buf_init(&buf, 1 << 16);
	mp_json_out_init(&json, &buf, 0);
	mp_write_table_json(&table, &json);
	assert_string_equal(
		mp_buf_str(&buf),
		"{\"name\": \"t\", \"title\": \"A \\\"title\\\"\", \"columns\": ["
		"{\"key\": \"name\", \"title\": \"Operator\", \"type\": \"text\", \"unit\": \"none\"}, "
		"{\"key\": \"share\", \"title\": \"Share\", \"type\": \"double\", \"unit\": \"share\"}], "
		"\"rows\": [{\"name\": \"a\\\"b\xef\xbf\xbd\", \"share\": 0.1}, "
		"{\"name\": null, \"share\": null}]}");
	mp_buf_release(&buf);
	mp_table_release(&table);
}

static void test_empty(void **state)
{
	struct mp_table table;
	struct mp_buf buf;
	struct mp_json_out json;
	int said;

	(void)state;
	for (said = 0; said < 2; said++) {
		mp_table_init(&table, &two);
		table.empty_reason = said ? "no operators were recorded" : NULL;
		mp_buf_init(&buf, 1 << 16);
		mp_json_out_init(&json, &buf, 0);
		mp_write_table_json(&table, &json);
		assert_non_null(
			strstr(mp_buf_str(&buf),
			       said ? "\"rows\": [], \"empty_reason\": \"no operators were recorded\"}"
				    : "\"rows\": []}"));
		mp_buf_release(&buf);
		mp_table_release(&table);
	}
}

/* Every type and unit has a name, and the whole is JSON, on one line and indented. */
static void test_all_units(void **state)
{
	static const char *const names[] = {"none", "count", "ns", "bytes", "flops", "time_ns", "share"};
	struct mp_table table;
	struct mp_buf buf;
	struct mp_json_out out;
	struct mp_json in;
	int indent;
	size_t i;

	(void)state;
	mp_table_init(&table, &sample_shape);
	assert_true(fill_sample(&table));
	for (indent = 0; indent <= 4; indent += 4) {
		mp_buf_init(&buf, 1 << 16);
		mp_json_out_init(&out, &buf, indent);
		mp_write_table_json(&table, &out);
		mp_json_init(&in, buf.data, buf.len);
		assert_true(mp_json_skip(&in, mp_json_next(&in)));
		assert_int_equal(mp_json_next(&in), MP_JSON_END);
		for (i = 0; i < MP_COUNT(names); i++) {
			char unit[32];

			snprintf(unit, sizeof(unit), "\"unit\": \"%s\"", names[i]);
			assert_non_null(strstr(mp_buf_str(&buf), unit));
		}
		assert_non_null(strstr(mp_buf_str(&buf), "\"begin_ns\": 1719800000000010100"));
		mp_buf_release(&buf);
	}
	mp_table_release(&table);
}

static mp_status all(void *user)
{
	struct mp_table table;
	struct mp_buf buf;
	struct mp_json_out out;
	mp_status status = MINDPROF_E_NOMEM;

	(void)user;
	mp_table_init(&table, &sample_shape);
	mp_buf_init(&buf, 1 << 16);
	if (fill_sample(&table)) {
		mp_json_out_init(&out, &buf, 0);
		mp_write_table_json(&table, &out);
		status = buf.failed;
	}
	mp_buf_release(&buf);
	mp_table_release(&table);
	return status;
}

static void test_without_memory(void **state)
{
	(void)state;
	assert_true(torture(all, NULL) > 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_all_units),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
