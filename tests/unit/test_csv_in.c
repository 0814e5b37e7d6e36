/* SPDX-License-Identifier: Apache-2.0 */
/* The CSV reader: the dialect of analysis-current.md section 2.2, faults with offset, torture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv_in.h"
#include "base/mem.h"

/* All rows as text: fields in <>, a ; after each row, ! and the fault at the end of a bad row. */
static void rows(const char *text, size_t len, char *out, size_t size)
{
	char *copy = malloc(len ? len : 1);
	struct mp_csv csv;
	size_t at = 0, i;

	assert_non_null(copy);
	memcpy(copy, text, len);
	mp_csv_init(&csv, copy, len);
	out[0] = '\0';
	for (;;) {
		bool row = mp_csv_next(&csv);

		if (!row && !csv.err_text)
			break;
		for (i = 0; i < csv.n_fields; i++)
			at += (size_t)snprintf(out + at, size - at, "<%.*s>", (int)csv.fields[i].len,
					       csv.fields[i].text);
		if (row)
			at += (size_t)snprintf(out + at, size - at, ";");
		else
			at += (size_t)snprintf(out + at, size - at, "!%s row %d at %d;", csv.err_text,
					       (int)csv.row, (int)csv.err_offset);
		assert_true(at < size);
	}
	mp_csv_release(&csv);
	free(copy);
}

static void test_dialect(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"", ""},
		{"\n\r\n\n", ""},
		{"a", "<a>;"},
		{"a,b\n", "<a><b>;"},
		{"a,b\r\nc,d\r\n", "<a><b>;<c><d>;"},
		{"a,b\nc,d", "<a><b>;<c><d>;"},
		{"a,b\r\n\r\nc,d\n\n", "<a><b>;<c><d>;"},
		{",\n", "<><>;"},
		{",,x\n", "<><><x>;"},
		{"a,\r\n", "<a><>;"},
		{"\"\"\n", "<>;"},
		{"\"\",\"\"\n", "<><>;"},
		{"\"a,b\",c\n", "<a,b><c>;"},
		{"\"a\nb\",\"c\r\nd\"\r\n", "<a\nb><c\r\nd>;"},
		{"\"say \"\"x\"\"\",y\n", "<say \"x\"><y>;"},
		{"\"\"\"\"\n", "<\">;"},
		{"\"\"\"a\"\"\",\"b\"\"\",c,\"\"\"\"\n", "<\"a\"><b\"><c><\">;"},
		{"a\"b,c\"\"d\n", "<a\"b><c\"\"d>;"}, /* quotes inside unquoted fields are text */
		{"\"a\"b,\"c\" \n", "<ab><c >;"},     /* text behind the closing quote is kept */
		{"\"a\"\"b\"c\"d,e\n", "<a\"bc\"d><e>;"},
		{" \"a\",b\n", "< \"a\"><b>;"},
		{"a\rb,c\r\n", "<a\rb><c>;"}, /* a bare CR is text */
		{"a,b\r", "<a><b>;"},         /* the LF of the last line was cut off */
		{"1719800000000010\t,x\n", "<1719800000000010\t><x>;"},
		{" a , b \n", "< a >< b >;"},
		{"\xef\xbb\xbf"
		 "a,b\n",
		 "<a><b>;"},
		{"\xef\xbb\xbf\"a\",b\n", "<a><b>;"},
		{"a,\xef\xbb\xbf\n", "<a><\xef\xbb\xbf>;"},
	};
	char out[256];
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(cases); i++) {
		rows(cases[i].text, strlen(cases[i].text), out, sizeof(out));
		assert_string_equal(out, cases[i].expected);
	}
}

static void test_unterminated(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"\"", "!unterminated quote row 1 at 0;"},
		{"a,\"b", "!unterminated quote row 1 at 2;"},
		{"a,b\nc,\"d\ne,f\n", "<a><b>;!unterminated quote row 2 at 6;<e><f>;"},
		{"a\n\"b\"\"\nc\n\"\",d\n", "<a>;!unterminated quote row 2 at 2;<c>;<><d>;"},
		/* The quote opens on the third line of its row: the rows after that line are not lost. */
		{"\"x\ny\",\"z\nw\n", "!unterminated quote row 1 at 6;<w>;"},
	};
	char out[256];
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(cases); i++) {
		rows(cases[i].text, strlen(cases[i].text), out, sizeof(out));
		assert_string_equal(out, cases[i].expected);
	}
}

static void test_in_place(void **state)
{
	static const char text[] = "ab,\"cd\",\"e\"\"f\",\"g\"\"h\"\n";
	struct mp_csv csv;

	(void)state;
	mp_csv_init(&csv, text, sizeof(text) - 1);
	assert_true(mp_csv_next(&csv));
	assert_int_equal(csv.n_fields, 4);
	assert_ptr_equal(csv.fields[0].text, text);
	assert_ptr_equal(csv.fields[1].text, text + 4);
	assert_memory_equal(csv.fields[2].text, "e\"f", 3);
	assert_memory_equal(csv.fields[3].text, "g\"h", 3);
	mp_csv_release(&csv);
}

static void test_positions_and_columns(void **state)
{
	static const char text[] = "Name,Self (us),Name\r\n\r\nx,\"1\",y\nlast,2,\n";
	struct mp_csv csv;

	(void)state;
	mp_csv_init(&csv, text, sizeof(text) - 1);
	assert_true(mp_csv_next(&csv));
	assert_int_equal(csv.row, 1);
	assert_int_equal(csv.row_offset, 0);
	assert_int_equal(mp_csv_column(&csv, "Name"), 0);
	assert_int_equal(mp_csv_column(&csv, "Self (us)"), 1);
	assert_int_equal(mp_csv_column(&csv, "Self"), -1);
	assert_int_equal(mp_csv_column(&csv, ""), -1);
	assert_true(mp_csv_next(&csv));
	assert_int_equal(csv.row, 2);
	assert_int_equal(csv.row_offset, 23);
	assert_true(mp_csv_next(&csv));
	assert_int_equal(csv.row, 3);
	assert_int_equal(csv.row_offset, 31);
	assert_int_equal(mp_csv_column(&csv, ""), 2);
	assert_false(mp_csv_next(&csv));
	assert_null(csv.err_text);
	assert_int_equal(csv.n_fields, 0);
	assert_false(mp_csv_next(&csv));
	mp_csv_release(&csv);
}

static void test_nul_bytes(void **state)
{
	struct mp_csv csv;

	(void)state;
	mp_csv_init(&csv, "a\0b,\"\0\"\n", 8);
	assert_true(mp_csv_next(&csv));
	assert_int_equal(csv.n_fields, 2);
	assert_int_equal(csv.fields[0].len, 3);
	assert_memory_equal(csv.fields[0].text, "a\0b", 3);
	assert_int_equal(csv.fields[1].len, 1);
	mp_csv_release(&csv);
	mp_csv_init(&csv, NULL, 0);
	assert_false(mp_csv_next(&csv));
	mp_csv_release(&csv);
}

/* Many fields and many copied ones: the array and the buffer grow while texts point into the buffer. */
static void test_wide_row(void **state)
{
	enum { N = 5000 };
	struct mp_buf text;
	struct mp_csv csv;
	int i;

	(void)state;
	mp_buf_init(&text, 1 << 20);
	for (i = 0; i < N; i++)
		mp_buf_printf(&text, "%s\"\"\"%d\"", i ? "," : "", i);
	mp_csv_init(&csv, text.data, text.len);
	assert_true(mp_csv_next(&csv));
	assert_int_equal(csv.n_fields, N);
	for (i = 0; i < N; i++) {
		char expected[16];

		snprintf(expected, sizeof(expected), "\"%d", i);
		assert_int_equal(csv.fields[i].len, strlen(expected));
		assert_memory_equal(csv.fields[i].text, expected, csv.fields[i].len);
	}
	mp_csv_release(&csv);
	mp_buf_release(&text);
}

/* Whatever the bytes: no fault of memory, texts inside the data or the buffer, and it ends. */
static void test_any_bytes(void **state)
{
	static const char alphabet[] = ",,\"\"\r\n\nab\0 \xef";
	uint32_t seed = 4711;
	int round;

	(void)state;
	for (round = 0; round < 20000; round++) {
		size_t len = (size_t)round % 61, i, calls = 0, total = 0;
		char *text = malloc(len ? len : 1);
		struct mp_csv csv;

		assert_non_null(text);
		for (i = 0; i < len; i++) {
			seed = seed * 1664525u + 1013904223u;
			text[i] = alphabet[(seed >> 24) % (sizeof(alphabet) - 1)];
		}
		mp_csv_init(&csv, text, len);
		while (mp_csv_next(&csv) || csv.err_text) {
			for (i = 0; i < csv.n_fields; i++) {
				total += csv.fields[i].len;
				assert_true(csv.fields[i].len == 0 || csv.fields[i].text[0] != 127);
			}
			assert_true(csv.err_text || csv.n_fields > 0);
			assert_in_range(csv.row_offset, 0, len);
			assert_true(++calls <= len);
		}
		assert_true(total <= len);
		mp_csv_release(&csv);
		free(text);
	}
}

static void test_without_memory(void **state)
{
	static const char text[] = "a,b\n\"c\"\"d\",e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u\n\"x\"y\n";
	uint64_t n;
	bool failed;

	(void)state;
	for (n = 0, failed = true; failed; n++) {
		struct mp_csv csv;
		size_t n_rows = 0;

		mp_csv_init(&csv, text, sizeof(text) - 1);
		mp_mem_fail_after(n);
		while (mp_csv_next(&csv))
			n_rows++;
		mp_mem_fail_after(UINT64_MAX);
		failed = csv.failed != MINDPROF_OK;
		if (failed) {
			assert_string_equal(csv.err_text, "out of memory");
			assert_true(n_rows < 3);
			assert_false(mp_csv_next(&csv));
		} else {
			assert_null(csv.err_text);
			assert_int_equal(n_rows, 3);
		}
		mp_csv_release(&csv);
	}
	/* The array of fields, its growth, the buffer. */
	assert_int_equal(n, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dialect),   cmocka_unit_test(test_unterminated),
		cmocka_unit_test(test_in_place),  cmocka_unit_test(test_positions_and_columns),
		cmocka_unit_test(test_nul_bytes), cmocka_unit_test(test_wide_row),
		cmocka_unit_test(test_any_bytes), cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
