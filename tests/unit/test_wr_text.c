/* SPDX-License-Identifier: Apache-2.0 */
/* Table -> terminal text: units, alignment, shortening, bars, unsafe characters, failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "table_sample.h"
#include "torture.h"

static size_t max_rows;
static unsigned width;

static mp_status print(const struct mp_table *table, struct mp_out *out, mp_err *err)
{
	return mp_write_table_text(table, max_rows, width, out, err);
}

static char *print_sample(unsigned at_width)
{
	struct mp_table table;
	char *text;

	mp_table_init(&table, &sample_shape);
	assert_true(fill_sample(&table));
	max_rows = 0;
	width = at_width;
	text = printed(print, &table);
	mp_table_release(&table);
	return text;
}

static void test_whole(void **state)
{
	char *text = print_sample(0);

	(void)state;
	assert_string_equal(
		text, "Operators by total time\n"
		      "Operator                         Stream      Count     Total   Average     "
		      "Memory         Work                Begin   Ratio   Share\n"
		      "-----------------  --------------------  ---------  --------  --------  "
		      "---------  -----------  -------------------  ------  ------\n"
		      "MatMul, \"fused\"\\n                     3  1,234,567  1.235 s   1.001 \xc2\xb5s  "
		      "1.500 KiB  2.500 TFLOP  1719800000.000010 s  0.1000  75.0 %  "
		      "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"
		      "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"
		      "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"
		      "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\n"
		      "\xe7\xae\x97\xe5\xad\x90               -9223372036854775808          0   "
		      "-999 ns         -          -            -                    -       -  25.0 %  "
		      "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"
		      "\xe2\x96\x88\xe2\x96\x88\n");
	free(text);
}

/* One value in a table of one column, as it is shown. */
static void value_is_shown_as(enum mp_type type, enum mp_unit unit, struct mp_value value,
			      const char *expected)
{
	struct mp_column column = {"v", "V", (uint8_t)type, (uint8_t)unit, ""};
	struct mp_table_shape shape = {"t", "T", "", &column, 1};
	struct mp_table table;
	struct mp_value *row;
	char *text, *line;

	mp_table_init(&table, &shape);
	row = mp_table_add_row(&table);
	assert_non_null(row);
	*row = value;
	max_rows = 0;
	width = 7; /* too narrow for a bar, which is not the matter here */
	text = printed(print, &table);
	line = strstr(text, "\n-");
	assert_non_null(line);
	line = strchr(line + 1, '\n') + 1;
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, expected);
	free(text);
	mp_table_release(&table);
}

static void test_integers(void **state)
{
	static const struct {
		enum mp_unit unit;
		int64_t value;
		const char *expected;
	} cases[] = {
		{MP_UNIT_NONE, 1234567, "1234567"},
		{MP_UNIT_NONE, -5, "-5"},
		{MP_UNIT_COUNT, 0, "0"},
		{MP_UNIT_COUNT, 999, "999"},
		{MP_UNIT_COUNT, 1000, "1,000"},
		{MP_UNIT_COUNT, -123456, "-123,456"},
		{MP_UNIT_COUNT, INT64_MIN, "-9,223,372,036,854,775,808"},
		{MP_UNIT_NS, 0, "0 ns"},
		{MP_UNIT_NS, 999, "999 ns"},
		{MP_UNIT_NS, 1000, "1.000 \xc2\xb5s"},
		{MP_UNIT_NS, 12345, "12.35 \xc2\xb5s"}, /* half up */
		{MP_UNIT_NS, 123456, "123.5 \xc2\xb5s"},
		{MP_UNIT_NS, 999499, "999.5 \xc2\xb5s"},
		{MP_UNIT_NS, 999960, "1.000 ms"},
		{MP_UNIT_NS, 9999600, "10.00 ms"},
		{MP_UNIT_NS, 59000000000, "59.00 s"},
		{MP_UNIT_NS, 123456000000000, "123456 s"},
		{MP_UNIT_NS, -1500, "-1.500 \xc2\xb5s"},
		{MP_UNIT_NS, INT64_MIN, "-9223372037 s"},
		{MP_UNIT_BYTES, 1023, "1023 B"},
		{MP_UNIT_BYTES, 1024, "1.000 KiB"},
		{MP_UNIT_BYTES, 1048575, "1.000 MiB"},
		{MP_UNIT_BYTES, 1022ll << 20, "1022 MiB"},
		{MP_UNIT_BYTES, 5ll << 30, "5.000 GiB"},
		{MP_UNIT_BYTES, INT64_MAX, "8192 PiB"},
		{MP_UNIT_FLOPS, 1500000, "1.500 MFLOP"},
		{MP_UNIT_FLOPS, 12, "12  FLOP"},
		{MP_UNIT_TIME_NS, 1499, "0.000001 s"},
		{MP_UNIT_TIME_NS, 1500, "0.000002 s"},
		{MP_UNIT_TIME_NS, -1500, "-0.000002 s"},
		{MP_UNIT_TIME_NS, 12345678901, "12.345679 s"},
		{MP_UNIT_SHARE, 1, "100.0 %"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(cases); i++)
		value_is_shown_as(MP_TYPE_INT, cases[i].unit, (struct mp_value){.i = cases[i].value},
				  cases[i].expected);
	value_is_shown_as(MP_TYPE_INT, MP_UNIT_NS, (struct mp_value){.missing = 1}, "-");
}

static void test_doubles(void **state)
{
	static const struct {
		enum mp_unit unit;
		double value;
		const char *expected;
	} cases[] = {
		{MP_UNIT_NONE, 0, "0.0000"},
		{MP_UNIT_NONE, 1.0 / 3, "0.3333"},
		{MP_UNIT_NONE, -2.5, "-2.500"},
		{MP_UNIT_NONE, 12345.678, "12346"},
		{MP_UNIT_NONE, 1e-5, "1e-05"},
		{MP_UNIT_NONE, 1e300, "1e+300"},
		{MP_UNIT_NONE, NAN, "-"},
		{MP_UNIT_NS, INFINITY, "-"},
		{MP_UNIT_NS, 1234.5, "1.235 \xc2\xb5s"},
		{MP_UNIT_NS, 1e300, "1e+300"},
		{MP_UNIT_SHARE, 0, "0.0 %"},
		{MP_UNIT_SHARE, 0.0001, "<0.1 %"},
		{MP_UNIT_SHARE, 0.1234, "12.3 %"},
		{MP_UNIT_SHARE, 1, "100.0 %"},
		{MP_UNIT_SHARE, -0.05, "-5.0 %"},
		{MP_UNIT_SHARE, 1e300, "1e+302 %"},
		{MP_UNIT_FLOPS, 3.25e9, "3.250 GFLOP"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(cases); i++)
		value_is_shown_as(MP_TYPE_DOUBLE, cases[i].unit, (struct mp_value){.d = cases[i].value},
				  cases[i].expected);
}

/* A text in a table of one column, shown in `cells` cells. */
static void text_is_shown_as(const char *value, unsigned cells, const char *expected)
{
	struct mp_column column = {"v", "V", MP_TYPE_TEXT, MP_UNIT_NONE, ""};
	struct mp_table_shape shape = {"t", "T", "", &column, 1};
	struct mp_table table;
	char *text, *line;

	mp_table_init(&table, &shape);
	assert_true(mp_value_text(&table, mp_table_add_row(&table), value, strlen(value)));
	max_rows = 0;
	width = cells;
	text = printed(print, &table);
	line = strchr(strchr(strchr(text, '\n') + 1, '\n') + 1, '\n') + 1;
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, expected);
	free(text);
	mp_table_release(&table);
}

static void test_unsafe_texts(void **state)
{
	(void)state;
	text_is_shown_as("a\nb\tc\rd", 0, "a\\nb\\tc\\rd");
	text_is_shown_as("\x1b[31mred\x07\x7f", 0, "\\x1b[31mred\\x07\\x7f");
	text_is_shown_as("a\xc2\x9b"
			 "b",
			 0, "a\\u009bb"); /* control sequence introducer, 8 bits */
	text_is_shown_as("\xe2\x80\xae"
			 "abc",
			 0, "\\u202eabc"); /* right-to-left override */
	text_is_shown_as("bad \xff\xe4\xb8 end", 0, "bad \xef\xbf\xbd\xef\xbf\xbd end");
	text_is_shown_as("", 0, "");
}

static void test_shortening(void **state)
{
	(void)state;
	/* 12 cells is the least: 5 of the head, the dots, 6 of the tail. */
	text_is_shown_as("Default/network-Net/MatMul-op0", 12, "Defau\xe2\x80\xa6ul-op0");
	text_is_shown_as("Default/network-Net/MatMul-op0", 3, "Defau\xe2\x80\xa6ul-op0");
	text_is_shown_as("abcdefghijkl", 12, "abcdefghijkl");
	text_is_shown_as("abcdefghijklm", 12, "abcde\xe2\x80\xa6hijklm");
	/* Wide characters take two cells: two of them and three fit into 5 and 6. */
	text_is_shown_as(
		"\xe4\xb8\x80\xe4\xb8\x81\xe4\xb8\x83\xe4\xb8\x87\xe4\xb8\x88\xe4\xb8\x89\xe4\xb8\x8a", 12,
		"\xe4\xb8\x80\xe4\xb8\x81\xe2\x80\xa6\xe4\xb8\x88\xe4\xb8\x89\xe4\xb8\x8a");
	/* A combining mark takes none and stays with its letter. */
	text_is_shown_as("e\xcc\x81"
			 "bcdefghijkl",
			 12,
			 "e\xcc\x81"
			 "bcdefghijkl");
	text_is_shown_as("abcdee\xcc\x81ghijk\xcc\x81l", 12, "abcdee\xcc\x81ghijk\xcc\x81l");
	text_is_shown_as("abcdefe\xcc\x81ghijk\xcc\x81l", 12, "abcde\xe2\x80\xa6ghijk\xcc\x81l");
}

/* No line is wider than asked, and what is left out is named. */
static void test_narrow(void **state)
{
	static const unsigned widths[] = {140, 120, 100, 80, 60, 40, 20};
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(widths); i++) {
		char *text = print_sample(widths[i]), *line, *next;
		size_t cells;

		for (line = text; *line; line = next) {
			next = strchr(line, '\n') + 1;
			if (line[0] == '(' || line == text)
				continue;
			/* Cells: bytes that begin a character, and one more for the two wide ones. */
			for (cells = 0; *line != '\n'; line++)
				cells += ((unsigned char)*line & 0xc0) != 0x80;
			assert_true(cells <= widths[i]);
		}
		if (widths[i] < 140)
			assert_non_null(strstr(text, "(too narrow for: "));
		assert_non_null(strstr(text, "\nOperator"));
		free(text);
	}
}

static void test_rows_left_out(void **state)
{
	struct mp_table table;
	char *text;

	(void)state;
	mp_table_init(&table, &sample_shape);
	assert_true(fill_sample(&table));
	width = 0;
	max_rows = 1;
	text = printed(print, &table);
	assert_non_null(strstr(text, "\n(1 more row)\n"));
	assert_null(strstr(text, "-999"));
	free(text);
	assert_true(fill_sample(&table));
	text = printed(print, &table);
	assert_non_null(strstr(text, "\n(3 more rows)\n"));
	free(text);
	max_rows = 4;
	text = printed(print, &table);
	assert_null(strstr(text, "more row"));
	free(text);
	mp_table_release(&table);
}

static void test_empty(void **state)
{
	struct mp_table table;
	char *text;

	(void)state;
	max_rows = 0;
	width = 80;
	mp_table_init(&table, &sample_shape);
	text = printed(print, &table);
	assert_string_equal(text, "Operators by total time\n  no rows\n");
	free(text);
	table.empty_reason = "no operators were recorded";
	text = printed(print, &table);
	assert_string_equal(text, "Operators by total time\n  no operators were recorded\n");
	free(text);
	mp_table_release(&table);
}

/* Eighths: 0.5 of a bar of 8 cells is 4, 1/64 is one eighth, 9/64 one cell and an eighth. */
static void test_bars(void **state)
{
	struct mp_column column = {"share", "Share", MP_TYPE_DOUBLE, MP_UNIT_SHARE, ""};
	struct mp_table_shape shape = {"t", "T", "", &column, 1};
	static const double shares[] = {1, 0.5, 1.0 / 64, 9.0 / 64, 0, 1e-9};
	struct mp_table table;
	char *text;
	size_t i;

	(void)state;
	mp_table_init(&table, &shape);
	for (i = 0; i < MP_COUNT(shares); i++)
		mp_value_double(mp_table_add_row(&table), shares[i]);
	max_rows = 0;
	width = 17; /* 7 of the numbers, 2 between, 8 for the bar */
	text = printed(print, &table);
	assert_string_equal(
		text, "T\n"
		      "  Share\n"
		      "-------\n"
		      "100.0 %  \xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"
		      "\xe2\x96\x88\xe2\x96\x88\n"
		      " 50.0 %  \xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\n"
		      "  1.6 %  \xe2\x96\x8f\n"
		      " 14.1 %  \xe2\x96\x88\xe2\x96\x8f\n"
		      "  0.0 %\n"
		      " <0.1 %  \xe2\x96\x8f\n");
	free(text);
	width = 16;
	text = printed(print, &table);
	assert_null(strstr(text, "\xe2\x96\x88"));
	free(text);
	mp_table_release(&table);
}

static mp_status all(void *user)
{
	(void)user;
	max_rows = 0;
	width = 0;
	return print_and_drop(print);
}

static void test_without_memory(void **state)
{
	(void)state;
	assert_true(torture(all, NULL) > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),         cmocka_unit_test(test_integers),
		cmocka_unit_test(test_doubles),       cmocka_unit_test(test_unsafe_texts),
		cmocka_unit_test(test_shortening),    cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_rows_left_out), cmocka_unit_test(test_empty),
		cmocka_unit_test(test_bars),          cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
