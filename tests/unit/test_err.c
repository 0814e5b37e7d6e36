/* SPDX-License-Identifier: Apache-2.0 */
/* base/err: chains of causes, system reasons, texts cut at whole UTF-8 sequences. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void set_starts_a_chain(void **state)
{
	mp_err err = {0};

	(void)state;
	assert_int_equal(mp_err_set(&err, MINDPROF_E_FORMAT, "a/b.json", 4096, "bad '%s'", "x"),
			 MINDPROF_E_FORMAT);
	assert_int_equal(err.status, MINDPROF_E_FORMAT);
	assert_int_equal(err.n_causes, 1);
	assert_string_equal(err.causes[0].text, "bad 'x'");
	assert_string_equal(err.causes[0].path, "a/b.json");
	assert_int_equal(err.causes[0].byte_offset, 4096);
	mp_err_set(&err, MINDPROF_E_LIMIT, NULL, -1, "again");
	assert_int_equal(err.n_causes, 1);
	assert_string_equal(err.causes[0].text, "again");
	assert_string_equal(err.causes[0].path, "");
	assert_int_equal(err.causes[0].byte_offset, -1);
}

static void null_is_accepted(void **state)
{
	(void)state;
	assert_int_equal(mp_err_set(NULL, MINDPROF_E_FORMAT, "p", 1, "x"), MINDPROF_E_FORMAT);
	assert_int_equal(mp_err_sys(NULL, ENOENT, "p", "x"), MINDPROF_E_NOT_FOUND);
	assert_int_equal(mp_err_wrap(NULL, MINDPROF_E_IO, "p", "x"), MINDPROF_E_IO);
	assert_int_equal(mp_err_nomem(NULL, 1), MINDPROF_E_NOMEM);
}

static void wrap_adds_outer_causes(void **state)
{
	mp_err err = {0};

	(void)state;
	mp_err_set(&err, MINDPROF_E_FORMAT, "f", 3, "root");
	for (int i = 1; i <= 5; i++)
		assert_int_equal(mp_err_wrap(&err, MINDPROF_E_FORMAT, NULL, "outer %d", i),
				 MINDPROF_E_FORMAT);
	/* Four are kept: the root, the first two, and the outermost. */
	assert_int_equal(err.n_causes, 4);
	assert_string_equal(err.causes[0].text, "root");
	assert_int_equal(err.causes[0].byte_offset, 3);
	assert_string_equal(err.causes[1].text, "outer 1");
	assert_string_equal(err.causes[2].text, "outer 2");
	assert_string_equal(err.causes[3].text, "outer 5");
	assert_int_equal(err.causes[3].byte_offset, -1);
}

static void system_errors(void **state)
{
	static const struct {
		int errnum;
		mp_status status;
	} cases[] = {
		{ENOMEM, MINDPROF_E_NOMEM},  {ENOENT, MINDPROF_E_NOT_FOUND},  {ENOTDIR, MINDPROF_E_NOT_FOUND},
		{EEXIST, MINDPROF_E_EXISTS}, {ELOOP, MINDPROF_E_UNSUPPORTED}, {ENOSPC, MINDPROF_E_IO},
		{EACCES, MINDPROF_E_IO},
	};
	mp_err err = {0};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(cases); i++)
		assert_int_equal(mp_err_sys(&err, cases[i].errnum, "p", "x"), cases[i].status);
	mp_err_sys(&err, ENOSPC, "out.json", "cannot write '%s'", "out.json");
	assert_string_equal(err.causes[0].text, "cannot write 'out.json': No space left on device");
	assert_string_equal(err.causes[0].path, "out.json");
	assert_int_equal(err.causes[0].byte_offset, -1);
	mp_err_sys(&err, 123456, NULL, "x");
	assert_non_null(strstr(err.causes[0].text, "123456"));
}

static void reason_survives_a_long_text(void **state)
{
	static const char reason[] = ": No space left on device";
	mp_err err = {0};
	size_t len;

	(void)state;
	mp_err_sys(&err, ENOSPC, NULL, "%*d", 500, 1);
	len = strlen(err.causes[0].text);
	assert_true(len > 200 && len < sizeof(err.causes[0].text));
	assert_string_equal(err.causes[0].text + len - strlen(reason), reason);
}

/* A text of n ASCII bytes and then sequences; returns the length that was kept of it. */
static size_t kept(int n_ascii, const char *sequence)
{
	mp_err err = {0};
	char tail[600] = "";

	for (size_t i = 0; i + strlen(sequence) < sizeof(tail); i += strlen(sequence))
		memcpy(tail + i, sequence, strlen(sequence));
	mp_err_set(&err, MINDPROF_E_FORMAT, NULL, -1, "%.*s%s", n_ascii, "abcd", tail);
	return strlen(err.causes[0].text);
}

static void text_is_cut_between_characters(void **state)
{
	(void)state;
	/* 255 bytes have room; "\u00e4" has 2 bytes, "\u20ac" 3, U+1F600 4. */
	assert_int_equal(kept(0, "a"), 255);
	assert_int_equal(kept(0, "\xc3\xa4"), 254);
	assert_int_equal(kept(1, "\xc3\xa4"), 255);
	assert_int_equal(kept(0, "\xe2\x82\xac"), 255);
	assert_int_equal(kept(1, "\xe2\x82\xac"), 253);
	assert_int_equal(kept(2, "\xe2\x82\xac"), 254);
	assert_int_equal(kept(0, "\xf0\x9f\x98\x80"), 252);
	assert_int_equal(kept(1, "\xf0\x9f\x98\x80"), 253);
	assert_int_equal(kept(2, "\xf0\x9f\x98\x80"), 254);
	assert_int_equal(kept(3, "\xf0\x9f\x98\x80"), 255);
	/* Not UTF-8 at all: nothing to keep whole. */
	assert_int_equal(kept(0, "\x80"), 255);
}

static void long_path_keeps_its_end(void **state)
{
	mp_err err = {0};
	char path[600];

	(void)state;
	memset(path, 'd', sizeof(path));
	memcpy(path + sizeof(path) - 8, "/x.json", 8);
	mp_err_set(&err, MINDPROF_E_IO, path, -1, "x");
	assert_int_equal(strlen(err.causes[0].path), 255);
	assert_string_equal(err.causes[0].path + 255 - 7, "/x.json");
	/* The cut would fall into a 3-byte sequence: 599 - 255 = 344 = 3 * 114 + 2 */
	for (size_t i = 0; i + 3 < sizeof(path); i += 3)
		memcpy(path + i, "\xe2\x82\xac", 3);
	path[599] = '\0';
	path[597] = path[598] = 'z';
	mp_err_set(&err, MINDPROF_E_IO, path, -1, "x");
	assert_int_equal(strlen(err.causes[0].path), 254);
	assert_memory_equal(err.causes[0].path, "\xe2\x82\xac", 3);
}

static mp_status tries(mp_status status, int *after)
{
	MP_TRY(status);
	*after = 1;
	return MINDPROF_OK;
}

static void try_returns_failures(void **state)
{
	int after = 0;

	(void)state;
	assert_int_equal(tries(MINDPROF_E_LIMIT, &after), MINDPROF_E_LIMIT);
	assert_int_equal(after, 0);
	assert_int_equal(tries(MINDPROF_OK, &after), MINDPROF_OK);
	assert_int_equal(after, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_starts_a_chain),
		cmocka_unit_test(null_is_accepted),
		cmocka_unit_test(wrap_adds_outer_causes),
		cmocka_unit_test(system_errors),
		cmocka_unit_test(reason_survives_a_long_text),
		cmocka_unit_test(text_is_cut_between_characters),
		cmocka_unit_test(long_path_keeps_its_end),
		cmocka_unit_test(try_returns_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
