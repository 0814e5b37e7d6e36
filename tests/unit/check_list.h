/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of a check as one text: "code@byte(line:column) ...", and comparison with what is expected. */
#ifndef MP_TEST_CHECK_LIST_H
#define MP_TEST_CHECK_LIST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/checks.h"

struct check_list {
	char text[8192];
	size_t len, n;
	int64_t last;
};

static inline void check_list_add(void *user, const struct mp_check_fault *fault)
{
	struct check_list *list = user;

	list->len += (size_t)snprintf(list->text + list->len, sizeof(list->text) - list->len, "%s%s@%d(%d:%d)",
				      list->n ? " " : "", fault->code, (int)fault->byte_offset, (int)fault->line,
				      (int)fault->column);
	assert_true(list->len < sizeof(list->text));
	assert_true(fault->text[0] != '\0');
	assert_true(fault->byte_offset >= list->last);
	list->last = fault->byte_offset;
	list->n++;
}

typedef mp_status (*check_fn)(const void *data, size_t size, const struct mp_check *check, uint64_t *n_faults,
			      mp_err *err);

/* The data stand at the end of their block, so that a sanitizer sees reads behind them. */
static inline void expect_faults_in(check_fn check, const char *data, size_t size, const char *expected)
{
	static struct check_list list;
	struct mp_check options = {.fn = check_list_add, .user = &list};
	char *copy = malloc(size ? size : 1);
	uint64_t n;

	assert_non_null(copy);
	memcpy(copy, data, size);
	memset(&list, 0, sizeof(list));
	assert_int_equal(check(copy, size, &options, &n, NULL), MINDPROF_OK);
	if (strcmp(list.text, expected) != 0)
		fail_msg("%s\n  is:       %s\n  expected: %s", data, list.text, expected);
	assert_int_equal(n, list.n);
	free(copy);
}

static inline void expect_faults(check_fn check, const char *text, const char *expected)
{
	expect_faults_in(check, text, strlen(text), expected);
}

#endif
