/* SPDX-License-Identifier: Apache-2.0 */
/* The CSV writer: minimal quoting and CRLF (analysis-current.md section 2.2), read back by the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/csv_in.h"
#include "base/csv_out.h"
#include "base/mem.h"

static void field(struct mp_csv_out *csv, const char *text)
{
	mp_csv_out_field(csv, text, strlen(text));
}

static void write_sample(struct mp_csv_out *csv)
{
	field(csv, "Name");
	field(csv, "a,b");
	mp_csv_out_end_row(csv);
	field(csv, "say \"x\"");
	field(csv, "two\nlines");
	field(csv, "a\rb");
	field(csv, "");
	field(csv, "1719800000000010\t");
	field(csv, " blank ");
	mp_csv_out_i64(csv, INT64_MIN);
	mp_csv_out_i64(csv, 0);
	mp_csv_out_end_row(csv);
}

static void test_rows(void **state)
{
	struct mp_buf buf;
	struct mp_csv_out csv;

	(void)state;
	mp_buf_init(&buf, 1000);
	mp_csv_out_init(&csv, &buf);
	write_sample(&csv);
	assert_string_equal(mp_buf_str(&buf),
			    "Name,\"a,b\"\r\n"
			    "\"say \"\"x\"\"\",\"two\nlines\",\"a\rb\",,1719800000000010\t, blank ,"
			    "-9223372036854775808,0\r\n");
	mp_buf_release(&buf);
}

/* A lone empty field must not look like an empty line, which readers skip. */
static void test_lone_empty_field(void **state)
{
	struct mp_buf buf;
	struct mp_csv_out csv;

	(void)state;
	mp_buf_init(&buf, 1000);
	mp_csv_out_init(&csv, &buf);
	field(&csv, "");
	mp_csv_out_end_row(&csv);
	field(&csv, "");
	field(&csv, "");
	mp_csv_out_end_row(&csv);
	field(&csv, "x");
	mp_csv_out_end_row(&csv);
	assert_string_equal(mp_buf_str(&buf), "\"\"\r\n,\r\nx\r\n");
	mp_buf_release(&buf);
}

/* Any bytes but a lone empty line survive writing and reading. */
static void test_read_back(void **state)
{
	static const char alphabet[] = ",\"\r\n ab\0\t\xe4";
	uint32_t seed = 99;
	struct mp_buf buf;
	struct mp_csv_out out;
	struct mp_csv in;
	char texts[4][12];
	size_t lens[4], i, k;
	int round;

	(void)state;
	mp_buf_init(&buf, 1000);
	for (round = 0; round < 20000; round++) {
		mp_buf_clear(&buf);
		mp_csv_out_init(&out, &buf);
		for (i = 0; i < 4; i++) {
			seed = seed * 1664525u + 1013904223u;
			lens[i] = (seed >> 24) % sizeof(texts[0]);
			for (k = 0; k < lens[i]; k++) {
				seed = seed * 1664525u + 1013904223u;
				texts[i][k] = alphabet[(seed >> 24) % (sizeof(alphabet) - 1)];
			}
			mp_csv_out_field(&out, texts[i], lens[i]);
		}
		mp_csv_out_end_row(&out);
		mp_csv_init(&in, buf.data, buf.len);
		assert_true(mp_csv_next(&in));
		assert_int_equal(in.n_fields, 4);
		for (i = 0; i < 4; i++) {
			assert_int_equal(in.fields[i].len, lens[i]);
			assert_memory_equal(in.fields[i].text, texts[i], lens[i]);
		}
		assert_false(mp_csv_next(&in));
		assert_null(in.err_text);
		mp_csv_release(&in);
	}
	mp_buf_release(&buf);
}

static void test_failures_stick(void **state)
{
	struct mp_buf buf;
	struct mp_csv_out csv;
	uint64_t n;

	(void)state;
	for (n = 0;; n++) {
		mp_buf_init(&buf, 1000);
		mp_csv_out_init(&csv, &buf);
		mp_mem_fail_after(n);
		write_sample(&csv);
		mp_mem_fail_after(UINT64_MAX);
		if (buf.failed == MINDPROF_OK)
			break;
		assert_int_equal(buf.failed, MINDPROF_E_NOMEM);
		mp_buf_release(&buf);
	}
	assert_true(n > 0);
	mp_buf_release(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_lone_empty_field),
		cmocka_unit_test(test_read_back),
		cmocka_unit_test(test_failures_stick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
