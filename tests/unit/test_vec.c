/* SPDX-License-Identifier: Apache-2.0 */
/* base/vec: pushing, reserving, and vectors that are unchanged after a failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/vec.h"
#include "unit/torture.h"

struct pair {
	int a;
	double b;
};

static void pushes(void **state)
{
	MP_VEC(struct pair) vec = {0};

	(void)state;
	for (int i = 0; i < 10000; i++)
		assert_true(mp_vec_push(&vec, (struct pair){i, i * 0.5}));
	assert_int_equal(vec.len, 10000);
	assert_true(vec.cap >= vec.len);
	for (int i = 0; i < 10000; i++) {
		assert_int_equal(vec.at[i].a, i);
		assert_true(vec.at[i].b == i * 0.5);
	}
	mp_vec_release(&vec);
	assert_null(vec.at);
	assert_int_equal(vec.len + vec.cap, 0);
}

static void reserve_is_exact_enough(void **state)
{
	MP_VEC(uint64_t) vec = {0};
	const uint64_t *at;

	(void)state;
	assert_true(mp_vec_reserve(&vec, 1000));
	assert_int_equal(vec.cap, 1000);
	at = vec.at;
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(mp_vec_push(&vec, i));
	assert_ptr_equal(vec.at, at);
	assert_true(mp_vec_reserve(&vec, 0));
	assert_int_equal(vec.cap, 1000);
	mp_vec_release(&vec);
}

static void impossible_sizes_change_nothing(void **state)
{
	MP_VEC(uint32_t) vec = {0};

	(void)state;
	assert_true(mp_vec_push(&vec, 7));
	assert_false(mp_vec_reserve(&vec, SIZE_MAX));
	assert_false(mp_vec_reserve(&vec, SIZE_MAX / 4));
	assert_false(mp_vec_reserve(&vec, SIZE_MAX / 8));
	assert_int_equal(vec.len, 1);
	assert_int_equal(vec.at[0], 7);
	mp_vec_release(&vec);
}

static mp_status fill(void *user)
{
	MP_VEC(int) vec = {0};
	mp_status status = MINDPROF_OK;

	(void)user;
	for (int i = 0; i < 50; i++) {
		if (!mp_vec_push(&vec, i)) {
			status = MINDPROF_E_NOMEM;
			break;
		}
	}
	for (size_t i = 0; i < vec.len; i++)
		assert_int_equal(vec.at[i], i);
	mp_vec_release(&vec);
	return status;
}

static void allocation_failures(void **state)
{
	(void)state;
	/* capacities 8, 12, 18, 27, 40, 60 */
	assert_int_equal(torture(fill, NULL), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushes),
		cmocka_unit_test(reserve_is_exact_enough),
		cmocka_unit_test(impossible_sizes_change_nothing),
		cmocka_unit_test(allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
