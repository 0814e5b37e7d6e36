/* SPDX-License-Identifier: Apache-2.0 */
/* base/buf: appending, the limit, and failures that stick. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "unit/torture.h"

static void empty_is_a_string(void **state)
{
	struct mp_buf buf;

	(void)state;
	mp_buf_init(&buf, 100);
	assert_string_equal(mp_buf_str(&buf), "");
	mp_buf_clear(&buf);
	mp_buf_add(&buf, NULL, 0);
	assert_string_equal(mp_buf_str(&buf), "");
	mp_buf_release(&buf);
	mp_buf_release(&buf);
}

static void appends(void **state)
{
	struct mp_buf buf;

	(void)state;
	mp_buf_init(&buf, SIZE_MAX);
	mp_buf_add_str(&buf, "step ");
	mp_buf_printf(&buf, "%d of %s", 7, "ten");
	mp_buf_add_char(&buf, '!');
	mp_buf_add(&buf, "a\0b", 3);
	assert_int_equal(buf.len, 5 + 8 + 1 + 3);
	assert_memory_equal(buf.data, "step 7 of ten!a\0b", 18);
	mp_buf_clear(&buf);
	assert_string_equal(buf.data, "");
	assert_int_equal(buf.len, 0);
	mp_buf_release(&buf);
}

static void grows_byte_by_byte(void **state)
{
	struct mp_buf buf;

	(void)state;
	mp_buf_init(&buf, SIZE_MAX);
	for (size_t i = 0; i < 10000; i++) {
		mp_buf_add_char(&buf, (char)('a' + i % 26));
		assert_int_equal(buf.data[buf.len], 0);
	}
	assert_int_equal(buf.failed, MINDPROF_OK);
	assert_int_equal(buf.len, 10000);
	for (size_t i = 0; i < 10000; i++)
		assert_int_equal(buf.data[i], 'a' + i % 26);
	mp_buf_release(&buf);
}

static void long_printf(void **state)
{
	struct mp_buf buf;

	(void)state;
	mp_buf_init(&buf, SIZE_MAX);
	mp_buf_printf(&buf, "%*d", 5000, 1);
	assert_int_equal(buf.len, 5000);
	assert_int_equal(buf.data[4998], ' ');
	assert_string_equal(buf.data + 4999, "1");
	mp_buf_release(&buf);
}

static void reserve_then_write(void **state)
{
	struct mp_buf buf;
	char *to;

	(void)state;
	mp_buf_init(&buf, 1000);
	mp_buf_add_str(&buf, "ab");
	to = mp_buf_reserve(&buf, 998);
	assert_non_null(to);
	assert_ptr_equal(to, buf.data + 2);
	memset(to, 'x', 998);
	buf.len += 998;
	assert_int_equal(strlen(mp_buf_str(&buf)), 1000);
	assert_null(mp_buf_reserve(&buf, 1));
	assert_int_equal(buf.failed, MINDPROF_E_LIMIT);
	mp_buf_release(&buf);
}

static void limit_sticks_and_keeps_the_content(void **state)
{
	struct mp_buf buf;

	(void)state;
	mp_buf_init(&buf, 5);
	mp_buf_add_str(&buf, "abc");
	mp_buf_add_str(&buf, "def");
	assert_int_equal(buf.failed, MINDPROF_E_LIMIT);
	mp_buf_add_char(&buf, 'd');
	mp_buf_printf(&buf, "%d", 1);
	assert_string_equal(mp_buf_str(&buf), "abc");
	mp_buf_clear(&buf);
	assert_int_equal(buf.failed, MINDPROF_OK);
	mp_buf_add_str(&buf, "abcde");
	assert_string_equal(mp_buf_str(&buf), "abcde");
	mp_buf_release(&buf);
}

static void sizes_do_not_overflow(void **state)
{
	struct mp_buf buf;

	(void)state;
	mp_buf_init(&buf, SIZE_MAX);
	mp_buf_add_str(&buf, "abc");
	assert_null(mp_buf_reserve(&buf, SIZE_MAX - 3));
	assert_int_equal(buf.failed, MINDPROF_E_NOMEM);
	mp_buf_clear(&buf);
	mp_buf_add_str(&buf, "abc");
	assert_null(mp_buf_reserve(&buf, SIZE_MAX));
	assert_int_equal(buf.failed, MINDPROF_E_LIMIT);
	mp_buf_release(&buf);
}

static mp_status fill(void *user)
{
	struct mp_buf buf;
	mp_status status;

	(void)user;
	mp_buf_init(&buf, SIZE_MAX);
	for (int i = 0; i < 100; i++)
		mp_buf_printf(&buf, "%s ", "0123456789");
	status = buf.failed;
	if (status == MINDPROF_OK)
		assert_int_equal(buf.len, 1100);
	mp_buf_release(&buf);
	return status;
}

static void allocation_failures(void **state)
{
	(void)state;
	/* 64, 128, 256, 512, 1024, 2048 bytes */
	assert_int_equal(torture(fill, NULL), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_is_a_string),     cmocka_unit_test(appends),
		cmocka_unit_test(grows_byte_by_byte),    cmocka_unit_test(long_printf),
		cmocka_unit_test(reserve_then_write),    cmocka_unit_test(limit_sticks_and_keeps_the_content),
		cmocka_unit_test(sizes_do_not_overflow), cmocka_unit_test(allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
