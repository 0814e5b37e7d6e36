/* SPDX-License-Identifier: Apache-2.0 */
/* base/arena: alignment, content that stays, limits, large requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "unit/torture.h"

static void zeroed_struct_is_an_arena(void **state)
{
	struct mp_arena arena = {0};
	char *text = mp_arena_strndup(&arena, "hello", 5);

	(void)state;
	assert_string_equal(text, "hello");
	mp_arena_release(&arena);
	assert_null(arena.blocks);
	assert_int_equal(arena.total_bytes, 0);
	mp_arena_release(&arena);
}

static void alloc_is_aligned_after_any_bytes(void **state)
{
	struct mp_arena arena;

	(void)state;
	mp_arena_init(&arena, 0);
	for (size_t i = 0; i < 5000; i++) {
		char *bytes = mp_arena_alloc_bytes(&arena, i % 37);
		char *block = mp_arena_alloc(&arena, i % 53);

		assert_non_null(bytes);
		assert_non_null(block);
		memset(bytes, 1, i % 37);
		memset(block, 2, i % 53);
		assert_int_equal((uintptr_t)block % 16, 0);
	}
	mp_arena_release(&arena);
}

/* Every block keeps its content, so none overlaps another, also across very different sizes. */
static void blocks_do_not_overlap(void **state)
{
	static unsigned char *blocks[3000];
	static size_t sizes[3000];
	struct mp_arena arena;
	uint64_t random = 1;

	(void)state;
	mp_arena_init(&arena, 0);
	for (size_t i = 0; i < 3000; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		sizes[i] = (size_t)(random >> 33) % (i % 100 == 0 ? 200000 : 100);
		blocks[i] = i & 1 ? mp_arena_alloc(&arena, sizes[i]) : mp_arena_alloc_bytes(&arena, sizes[i]);
		assert_non_null(blocks[i]);
		memset(blocks[i], (int)(i % 251), sizes[i]);
	}
	for (size_t i = 0; i < 3000; i++) {
		for (size_t j = 0; j < sizes[i]; j++)
			assert_int_equal(blocks[i][j], i % 251);
	}
	mp_arena_release(&arena);
}

/* A large request gets a block of its own; the room that was left stays in use. */
static void large_request_keeps_the_current_block(void **state)
{
	struct mp_arena arena = {0};
	char *small = mp_arena_alloc_bytes(&arena, 10);
	char *large = mp_arena_alloc_bytes(&arena, 100000);
	char *next = mp_arena_alloc_bytes(&arena, 10);

	(void)state;
	assert_non_null(large);
	memset(large, 0, 100000);
	assert_ptr_equal(next, small + 10);
	mp_arena_release(&arena);
}

static void small_items_waste_little(void **state)
{
	struct mp_arena arena = {0};

	(void)state;
	for (int i = 0; i < 100000; i++)
		assert_non_null(mp_arena_alloc_bytes(&arena, 10));
	assert_true(arena.total_bytes >= 1000000);
	assert_true(arena.total_bytes <= 2200000);
	mp_arena_release(&arena);
}

static void limit_holds(void **state)
{
	struct mp_arena arena;
	size_t got = 0;

	(void)state;
	mp_arena_init(&arena, 10000);
	assert_null(mp_arena_alloc(&arena, 10001));
	assert_null(mp_arena_alloc_bytes(&arena, SIZE_MAX));
	assert_null(mp_arena_alloc(&arena, SIZE_MAX - 8));
	assert_null(mp_arena_strndup(&arena, "x", SIZE_MAX));
	while (mp_arena_alloc_bytes(&arena, 100))
		got += 100;
	assert_true(arena.total_bytes <= 10000);
	/* Block headers and the end of blocks take less than a tenth. */
	assert_in_range(got, 9000, 10000);
	mp_arena_release(&arena);
	assert_int_equal(arena.max_bytes, 10000);
	assert_non_null(mp_arena_alloc(&arena, 100));
	mp_arena_release(&arena);
}

static mp_status fill(void *user)
{
	struct mp_arena arena = {0};
	mp_status status = MINDPROF_OK;

	(void)user;
	for (int i = 0; i < 300 && status == MINDPROF_OK; i++) {
		if (!mp_arena_alloc(&arena, 100) || !mp_arena_strndup(&arena, "text", 4))
			status = MINDPROF_E_NOMEM;
	}
	mp_arena_release(&arena);
	return status;
}

static void allocation_failures(void **state)
{
	(void)state;
	/* 300 * 117 bytes in blocks of 1, 1, 2, 4, 8, 16, 32 KiB */
	assert_int_equal(torture(fill, NULL), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zeroed_struct_is_an_arena),
		cmocka_unit_test(alloc_is_aligned_after_any_bytes),
		cmocka_unit_test(blocks_do_not_overlap),
		cmocka_unit_test(large_request_keeps_the_current_block),
		cmocka_unit_test(small_items_waste_little),
		cmocka_unit_test(limit_holds),
		cmocka_unit_test(allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
