/* SPDX-License-Identifier: Apache-2.0 */
/* base/mem: checked sizes, text copies, and the hook that makes the n-th allocation fail. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static void zero_sizes_give_a_block(void **state)
{
	void *a = mp_malloc(0), *b = mp_calloc(0, 8), *c = mp_calloc(8, 0), *d = mp_realloc_array(NULL, 0, 4);

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(c);
	assert_non_null(d);
	mp_free(a);
	mp_free(b);
	mp_free(c);
	mp_free(d);
	mp_free(NULL);
}

static void calloc_zeroes(void **state)
{
	unsigned char *block = mp_calloc(100, 3);

	(void)state;
	assert_non_null(block);
	for (int i = 0; i < 300; i++)
		assert_int_equal(block[i], 0);
	mp_free(block);
}

static void impossible_sizes_fail(void **state)
{
	volatile size_t huge = SIZE_MAX / 2;
	char *old = mp_strdup("kept");

	(void)state;
	assert_non_null(old);
	assert_null(mp_calloc(huge, 3));
	assert_null(mp_realloc_array(NULL, huge, 3));
	assert_null(mp_realloc_array(old, huge, 3));
	assert_null(mp_strndup("x", SIZE_MAX));
	assert_string_equal(old, "kept");
	mp_free(old);
}

static void huge_blocks_are_aligned_and_ordinary(void **state)
{
	char *block = mp_malloc_huge(((size_t)2 << 20) + 1);

	(void)state;
	assert_non_null(block);
	assert_int_equal((uintptr_t)block % ((size_t)2 << 20), 0);
	block[(size_t)2 << 20] = 1;
	mp_free(block);
	assert_null(mp_malloc_huge(SIZE_MAX));
}

static void texts(void **state)
{
	char *a = mp_strdup(""), *b = mp_strndup("abcdef", 3), *c = mp_strndup(NULL, 0);
	char *d = mp_strndup("a\0b", 3), *e = mp_asprintf("%s-%05d", "rank", 42);

	(void)state;
	assert_string_equal(a, "");
	assert_string_equal(b, "abc");
	assert_string_equal(c, "");
	assert_memory_equal(d, "a\0b", 4);
	assert_string_equal(e, "rank-00042");
	mp_free(a);
	mp_free(b);
	mp_free(c);
	mp_free(d);
	mp_free(e);
}

static void hook_fails_the_nth_once(void **state)
{
	void *blocks[4];

	(void)state;
	mp_mem_fail_after(2);
	blocks[0] = mp_malloc(1);
	blocks[1] = mp_calloc(1, 1);
	blocks[2] = mp_malloc(1);
	blocks[3] = mp_malloc(1);
	assert_int_equal(mp_mem_fail_after(UINT64_MAX), 4);
	assert_non_null(blocks[0]);
	assert_non_null(blocks[1]);
	assert_null(blocks[2]);
	assert_non_null(blocks[3]);
	for (int i = 0; i < 4; i++)
		mp_free(blocks[i]);
	/* Freeing is not counted. */
	assert_int_equal(mp_mem_fail_after(UINT64_MAX), 0);
}

static void every_function_can_fail(void **state)
{
	char *kept = mp_strdup("kept");

	(void)state;
	mp_mem_fail_after(0);
	assert_null(mp_malloc(8));
	mp_mem_fail_after(0);
	assert_null(mp_malloc_huge(8));
	mp_mem_fail_after(0);
	assert_null(mp_calloc(1, 8));
	mp_mem_fail_after(0);
	assert_null(mp_realloc_array(kept, 100, 1));
	mp_mem_fail_after(0);
	assert_null(mp_strdup("x"));
	mp_mem_fail_after(0);
	assert_null(mp_strndup("x", 1));
	mp_mem_fail_after(0);
	assert_null(mp_asprintf("%d", 1));
	assert_int_equal(mp_mem_fail_after(UINT64_MAX), 1);
	assert_string_equal(kept, "kept");
	mp_free(kept);
}

static void *allocate_1000(void *arg)
{
	uintptr_t failed = 0;

	(void)arg;
	for (int i = 0; i < 1000; i++) {
		void *block = mp_malloc(16);

		failed += !block;
		mp_free(block);
	}
	return (void *)failed;
}

/* However four threads interleave, exactly one of 4000 allocations fails and all are counted. */
static void hook_counts_across_threads(void **state)
{
	pthread_t threads[4];
	uintptr_t failed = 0;

	(void)state;
	mp_mem_fail_after(1500);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, allocate_1000, NULL), 0);
	for (int i = 0; i < 4; i++) {
		void *result;

		assert_int_equal(pthread_join(threads[i], &result), 0);
		failed += (uintptr_t)result;
	}
	assert_int_equal(mp_mem_fail_after(UINT64_MAX), 4000);
	assert_int_equal(failed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zero_sizes_give_a_block),
		cmocka_unit_test(calloc_zeroes),
		cmocka_unit_test(impossible_sizes_fail),
		cmocka_unit_test(huge_blocks_are_aligned_and_ordinary),
		cmocka_unit_test(texts),
		cmocka_unit_test(hook_fails_the_nth_once),
		cmocka_unit_test(every_function_can_fail),
		cmocka_unit_test(hook_counts_across_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
