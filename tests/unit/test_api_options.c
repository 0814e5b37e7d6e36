/* SPDX-License-Identifier: Apache-2.0 */
/* Option structs of older and newer programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/api_trace.h"

struct now {
	size_t size;
	int a, b;
};
struct before {
	size_t size;
	int a;
};
struct later {
	size_t size;
	int a, b;
	long c;
};

static void none_is_all_defaults(void **state)
{
	struct now out = {1, 2, 3};

	(void)state;
	assert_int_equal(api_take_options(&out, sizeof(out), NULL, NULL), MINDPROF_OK);
	assert_true(!out.size && !out.a && !out.b);
}

static void older_structs_lack_fields(void **state)
{
	struct before old = {offsetof(struct before, a) + sizeof(int), 5};
	struct now out = {0, 0, 9};

	(void)state;
	assert_int_equal(api_take_options(&out, sizeof(out), &old, NULL), MINDPROF_OK);
	assert_int_equal(out.a, 5);
	assert_int_equal(out.b, 0);
}

static void newer_fields_must_be_empty(void **state)
{
	struct later new = {.size = sizeof(new), .a = 1, .b = 2};
	struct now out;
	struct mindprof_error error = {0};

	(void)state;
	assert_int_equal(api_take_options(&out, sizeof(out), &new, &error), MINDPROF_OK);
	assert_true(out.a == 1 && out.b == 2);
	new.c = 1;
	assert_int_equal(api_take_options(&out, sizeof(out), &new, &error), MINDPROF_E_UNSUPPORTED);
	assert_string_equal(error.causes[0].text,
			    "option struct has a field that this library does not know");
}

static void a_size_is_needed(void **state)
{
	struct now none = {0}, out;

	(void)state;
	assert_int_equal(api_take_options(&out, sizeof(out), &none, NULL), MINDPROF_E_ARGUMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_is_all_defaults),
		cmocka_unit_test(older_structs_lack_fields),
		cmocka_unit_test(newer_fields_must_be_empty),
		cmocka_unit_test(a_size_is_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
