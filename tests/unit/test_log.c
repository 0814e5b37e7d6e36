/* SPDX-License-Identifier: Apache-2.0 */
/* base/log: silent without a listener, level filter, one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"

struct heard {
	int calls;
	enum mp_log_level level;
	char module[16];
	char text[2048];
};

static void listen(void *user, enum mp_log_level level, const char *module, const char *text)
{
	struct heard *heard = user;

	heard->calls++;
	heard->level = level;
	snprintf(heard->module, sizeof(heard->module), "%s", module);
	snprintf(heard->text, sizeof(heard->text), "%s", text);
}

static void silent_without_listener(void **state)
{
	struct mp_log log = {.level = MP_LOG_DEBUG};

	(void)state;
	mp_log(NULL, MP_LOG_ERROR, "test", "nobody hears %d", 1);
	mp_log(&log, MP_LOG_ERROR, "test", "nobody hears %d", 2);
}

static void levels_are_filtered(void **state)
{
	struct heard heard = {0};
	struct mp_log log = {listen, &heard, MP_LOG_WARNING};

	(void)state;
	mp_log(&log, MP_LOG_DEBUG, "test", "no");
	mp_log(&log, MP_LOG_INFO, "test", "no");
	assert_int_equal(heard.calls, 0);
	mp_log(&log, MP_LOG_WARNING, "reader", "row %d of '%s'", 3, "x.csv");
	assert_int_equal(heard.calls, 1);
	assert_int_equal(heard.level, MP_LOG_WARNING);
	assert_string_equal(heard.module, "reader");
	assert_string_equal(heard.text, "row 3 of 'x.csv'");
	mp_log(&log, MP_LOG_ERROR, "test", "yes");
	assert_int_equal(heard.calls, 2);
}

static void one_line_without_allocation(void **state)
{
	struct heard heard = {0};
	struct mp_log log = {listen, &heard, MP_LOG_DEBUG};

	(void)state;
	mp_mem_fail_after(UINT64_MAX);
	mp_log(&log, MP_LOG_ERROR, "test", "a\nb\r\nc%*d", 3000, 1);
	assert_int_equal(mp_mem_fail_after(UINT64_MAX), 0);
	assert_memory_equal(heard.text, "a b  c ", 7);
	assert_int_equal(strlen(heard.text), 1023);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silent_without_listener),
		cmocka_unit_test(levels_are_filtered),
		cmocka_unit_test(one_line_without_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
