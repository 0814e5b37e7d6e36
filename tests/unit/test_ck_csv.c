/* SPDX-License-Identifier: Apache-2.0 */
/* The strict check of CSV: each fault with line, column and byte; limits; failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check_list.h"
#include "torture.h"

static void test_good(void **state)
{
	(void)state;
	expect_faults(mp_check_csv, "a\n", "");
	expect_faults(mp_check_csv, "a,b", "");
	expect_faults(mp_check_csv, "a,b\r\n1,2\r\n3,\r\n", "");
	expect_faults(mp_check_csv, "a,b\n\"x,\"\"y\r\nz\",\"\"\n", "");
	expect_faults(mp_check_csv, "a,b\nsay \"x\",5\" disk\n", "");
	expect_faults(mp_check_csv,
		      "\xef\xbb\xbf"
		      "a,b\n\xe7\xae\x97,2\n",
		      "");
	expect_faults(mp_check_csv, "a\n\n1\n", ""); /* one column: an empty line may be an empty value */
}

static void test_columns(void **state)
{
	(void)state;
	expect_faults(mp_check_csv, "a,b\n1\n1,2\n1,2,3\n", "csv-columns@4(2:1) csv-columns@10(4:1)");
	expect_faults(mp_check_csv, "a,b\n1,2\n1", "csv-columns@8(3:1)");
	expect_faults(mp_check_csv, "a,b\n1,2\n\n3,4\n", "csv-columns@8(3:1)");
	expect_faults(mp_check_csv, "a,b\n\"x\ny\"\n1,2\n", "csv-columns@4(2:1)");
}

static void test_header(void **state)
{
	(void)state;
	expect_faults(mp_check_csv, "", "csv-header@0(1:1)");
	expect_faults(mp_check_csv, "\r\n\r\n", "csv-header@0(1:1)");
	expect_faults(mp_check_csv, "a,b,a\n1,2,3\n", "csv-header@0(1:1)");
	expect_faults(mp_check_csv, "\na,\"a\"\n1,2\n", "csv-header@1(2:1)");
	expect_faults(mp_check_csv, ",\n1,2\n", "csv-header@0(1:1)");
}

static void test_quotes(void **state)
{
	(void)state;
	expect_faults(mp_check_csv, "a,b\n1,\"x\n3,4\n", "csv-quote@6(2:3)");
	expect_faults(mp_check_csv, "a,b\n1,\"x\n3\n", "csv-quote@6(2:3) csv-columns@9(3:1)");
	expect_faults(mp_check_csv, "a,b\n1,\"", "csv-quote@6(2:3)");
	expect_faults(mp_check_csv, "a,b\n\"x\"y,2\n", "csv-quote@7(2:4)");
	expect_faults(mp_check_csv, "a,b\n\"x\" ,2\n", "csv-quote@7(2:4)");
	expect_faults(mp_check_csv, "\"a,b\n1,2\n", "csv-quote@0(1:1)");
}

static void test_bytes(void **state)
{
	(void)state;
	expect_faults(mp_check_csv, "a,b\n1\r,2\n\"x\ry\",2\n", "csv-cr@5(2:2)");
	expect_faults(mp_check_csv, "a,b\r\n1,2\r", "csv-cr@8(2:4)");
	expect_faults(mp_check_csv, "a,b\r\n1,2\n3,4\r\n", "csv-line-ends@8(2:4)");
	expect_faults(mp_check_csv, "a,b\n1,2\r\n", "csv-line-ends@7(2:4)");
	expect_faults_in(mp_check_csv, "a,b\n1,\0\n", 8, "csv-nul@6(2:3)");
	expect_faults(mp_check_csv, "a,b\n\xff,\xe4\xb8\n", "invalid-utf8@4(2:1) invalid-utf8@6(2:3)");
}

static void test_limits(void **state)
{
	static struct check_list list;
	struct mp_check options = {.fn = check_list_add, .user = &list, .max_per_code = 2};
	static const char text[] = "a,b\n1\n2\n3\n4\n\xff,1\n";
	uint64_t n = 0;

	(void)state;
	assert_int_equal(mp_check_csv(text, sizeof(text) - 1, &options, &n, NULL), MINDPROF_OK);
	assert_int_equal(n, 5);
	assert_string_equal(list.text, "csv-columns@4(2:1) csv-columns@6(3:1) invalid-utf8@12(6:1)");
	memset(&list, 0, sizeof(list));
	options.max_per_code = 0;
	options.max_faults = 3;
	assert_int_equal(mp_check_csv(text, sizeof(text) - 1, &options, &n, NULL), MINDPROF_OK);
	assert_int_equal(n, 5);
	assert_int_equal(list.n, 3);
	options.fn = NULL;
	assert_int_equal(mp_check_csv(text, sizeof(text) - 1, &options, &n, NULL), MINDPROF_OK);
	assert_int_equal(n, 5);
}

static mp_status all(void *user)
{
	static const char text[] = "a,b,\"a\"\"\",a\n1\n\"";
	struct mp_check options = {0};

	(void)user;
	return mp_check_csv(text, sizeof(text) - 1, &options, NULL, NULL);
}

static void test_without_memory(void **state)
{
	(void)state;
	assert_true(torture(all, NULL) > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),           cmocka_unit_test(test_columns),
		cmocka_unit_test(test_header),         cmocka_unit_test(test_quotes),
		cmocka_unit_test(test_bytes),          cmocka_unit_test(test_limits),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
