/* SPDX-License-Identifier: Apache-2.0 */
/* base/strtab: dense ids, any bytes, limits, and four threads that add overlapping sets. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strtab.h"
#include "unit/torture.h"

static struct mp_strtab *new_table(size_t max_bytes)
{
	struct mp_strtab *table;

	assert_int_equal(mp_strtab_new(max_bytes, &table, NULL), MINDPROF_OK);
	return table;
}

static void assert_text(const struct mp_strtab *table, uint32_t id, const char *text, size_t len)
{
	struct mp_str str = mp_strtab_get(table, id);

	assert_int_equal(str.len, len);
	assert_memory_equal(str.text, text, len);
	assert_int_equal(str.text[len], 0);
}

static void empty_string_is_id_0(void **state)
{
	struct mp_strtab *table = new_table(0);

	(void)state;
	assert_int_equal(mp_strtab_count(table), 1);
	assert_int_equal(mp_strtab_add(table, "", 0), MP_STR_EMPTY);
	assert_int_equal(mp_strtab_add(table, NULL, 0), MP_STR_EMPTY);
	assert_int_equal(mp_strtab_lookup(table, "", 0), MP_STR_EMPTY);
	assert_int_equal(mp_strtab_count(table), 1);
	assert_text(table, MP_STR_EMPTY, "", 0);
	assert_text(table, MP_STR_NONE, "", 0);
	assert_text(table, 1, "", 0);
	mp_strtab_free(table);
	mp_strtab_free(NULL);
}

static void ids_are_dense_and_stable(void **state)
{
	struct mp_strtab *table = new_table(0);
	char name[32];

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 1; i <= 50000; i++) {
			int len = snprintf(name, sizeof(name), "op%u", i);

			assert_int_equal(mp_strtab_add(table, name, (size_t)len), i);
		}
	}
	assert_int_equal(mp_strtab_count(table), 50001);
	for (uint32_t i = 1; i <= 50000; i++) {
		int len = snprintf(name, sizeof(name), "op%u", i);

		assert_text(table, i, name, (size_t)len);
		assert_int_equal(mp_strtab_lookup(table, name, (size_t)len), i);
	}
	assert_int_equal(mp_strtab_lookup(table, "op0", 3), MP_STR_NONE);
	assert_int_equal(mp_strtab_count(table), 50001);
	mp_strtab_free(table);
}

static void any_bytes(void **state)
{
	static char big[100000];
	struct mp_strtab *table = new_table(0);

	(void)state;
	assert_int_equal(mp_strtab_add(table, "a\0b", 3), 1);
	assert_int_equal(mp_strtab_add(table, "a\0c", 3), 2);
	assert_int_equal(mp_strtab_add(table, "a", 1), 3);
	assert_int_equal(mp_strtab_add(table, "a\0", 2), 4);
	assert_int_equal(mp_strtab_add(table, "\0", 1), 5);
	assert_int_equal(mp_strtab_add(table, "\xff\xfe\x80", 3), 6);
	memset(big, 'x', sizeof(big));
	assert_int_equal(mp_strtab_add(table, big, sizeof(big)), 7);
	big[50000] = 'y';
	assert_int_equal(mp_strtab_add(table, big, sizeof(big)), 8);
	assert_text(table, 8, big, sizeof(big));
	big[50000] = 'x';
	assert_text(table, 7, big, sizeof(big));
	assert_int_equal(mp_strtab_add(table, big, sizeof(big)), 7);
	assert_text(table, 1, "a\0b", 3);
	assert_text(table, 4, "a\0", 2);
	assert_text(table, 5, "\0", 1);
	mp_strtab_free(table);
}

static void limit_bounds_all_texts(void **state)
{
	struct mp_strtab *table = new_table(10);

	(void)state;
	assert_int_equal(mp_strtab_add(table, "abcdef", 6), 1);
	assert_int_equal(mp_strtab_add(table, "ghijk", 5), MP_STR_NONE);
	assert_int_equal(mp_strtab_add(table, "ghij", 4), 2);
	assert_int_equal(mp_strtab_add(table, "k", 1), MP_STR_NONE);
	assert_int_equal(mp_strtab_add(table, "abcdef", 6), 1);
	assert_int_equal(mp_strtab_count(table), 3);
	mp_strtab_free(table);
}

static void cache_answers_like_the_table(void **state)
{
	struct mp_strtab *table = new_table(0);
	struct mp_strcache *cache = mp_malloc(sizeof(*cache));
	char name[32];

	(void)state;
	assert_non_null(cache);
	mp_strcache_init(cache, table);
	assert_int_equal(mp_strcache_add(cache, "", 0), MP_STR_EMPTY);
	/* More texts than slots, so that slots are taken over. */
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 1; i <= 10000; i++) {
			int len = snprintf(name, sizeof(name), "op%u", i);

			assert_int_equal(mp_strcache_add(cache, name, (size_t)len), i);
			assert_int_equal(mp_strcache_add(cache, name, (size_t)len), i);
		}
	}
	assert_int_equal(mp_strtab_count(table), 10001);
	mp_free(cache);
	mp_strtab_free(table);
}

static void cache_retries_after_failure(void **state)
{
	struct mp_strtab *table = new_table(0);
	struct mp_strcache *cache = mp_malloc(sizeof(*cache));

	(void)state;
	assert_non_null(cache);
	mp_strcache_init(cache, table);
	mp_mem_fail_after(0);
	assert_int_equal(mp_strcache_add(cache, "abc", 3), MP_STR_NONE);
	mp_mem_fail_after(UINT64_MAX);
	assert_int_equal(mp_strcache_add(cache, "abc", 3), 1);
	assert_int_equal(mp_strcache_add(cache, "abc", 3), 1);
	mp_free(cache);
	mp_strtab_free(table);
}

#define N_THREADS 4
#define N_TEXTS 20000

struct adder {
	struct mp_strtab *table;
	unsigned number;
	bool with_cache;
	atomic_uint *newest; /* an id that some thread has just got */
	uint32_t ids[N_TEXTS];
	unsigned wrong;
};

/* Each thread adds 15,000 of 20,000 texts, beginning at another place, and reads others' ids. */
static void *add_texts(void *arg)
{
	struct adder *adder = arg;
	struct mp_strcache *cache = adder->with_cache ? mp_malloc(sizeof(*cache)) : NULL;

	if (cache)
		mp_strcache_init(cache, adder->table);
	for (unsigned i = 0; i < N_TEXTS * 3 / 4; i++) {
		unsigned number = (i + adder->number * (N_TEXTS / 4)) % N_TEXTS;
		char name[32];
		int len = snprintf(name, sizeof(name), "text number %u", number);
		uint32_t id = cache ? mp_strcache_add(cache, name, (size_t)len)
				    : mp_strtab_add(adder->table, name, (size_t)len);
		struct mp_str str = mp_strtab_get(adder->table, id);
		struct mp_str other;

		adder->ids[number] = id;
		adder->wrong += str.len != (size_t)len || memcmp(str.text, name, str.len) != 0;
		/* Relaxed on purpose: the table itself makes the text visible. */
		other = mp_strtab_get(adder->table,
				      atomic_load_explicit(adder->newest, memory_order_relaxed));
		adder->wrong += other.len && memcmp(other.text, "text number ", 12) != 0;
		atomic_store_explicit(adder->newest, id, memory_order_relaxed);
		adder->wrong += mp_strtab_lookup(adder->table, name, (size_t)len) != id;
	}
	mp_free(cache);
	return NULL;
}

static void threads_add_overlapping_sets(void **state)
{
	static struct adder adders[N_THREADS];
	static uint8_t seen[N_TEXTS + 1];
	struct mp_strtab *table = new_table(0);
	pthread_t threads[N_THREADS];
	atomic_uint newest = 0;

	(void)state;
	for (unsigned i = 0; i < N_THREADS; i++) {
		adders[i] =
			(struct adder){.table = table, .number = i, .with_cache = i & 1, .newest = &newest};
		assert_int_equal(pthread_create(&threads[i], NULL, add_texts, &adders[i]), 0);
	}
	for (unsigned i = 0; i < N_THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(adders[i].wrong, 0);
	}
	assert_int_equal(mp_strtab_count(table), N_TEXTS + 1);
	for (unsigned number = 0; number < N_TEXTS; number++) {
		uint32_t id = MP_STR_EMPTY;

		for (unsigned i = 0; i < N_THREADS; i++) {
			uint32_t his = adders[i].ids[number];

			if (his && id)
				assert_int_equal(his, id);
			if (his)
				id = his;
		}
		assert_in_range(id, 1, N_TEXTS);
		assert_int_equal(seen[id]++, 0);
	}
	mp_strtab_free(table);
}

static mp_status fill(void *user)
{
	struct mp_strtab *table;
	mp_err err = {0};
	mp_status status = mp_strtab_new(0, &table, &err);
	uint32_t added = 0;

	(void)user;
	if (status != MINDPROF_OK) {
		assert_int_equal(err.status, MINDPROF_E_NOMEM);
		assert_null(table);
		return status;
	}
	for (uint32_t i = 0; i < 2000; i++) {
		char name[32];
		int len = snprintf(name, sizeof(name), "text %u", i);
		uint32_t id = mp_strtab_add(table, name, (size_t)len);

		if (id == MP_STR_NONE) {
			status = MINDPROF_E_NOMEM;
			/* The hook fires once: the table goes on as if nothing had been. */
			id = mp_strtab_add(table, name, (size_t)len);
		}
		assert_int_equal(id, ++added);
		assert_text(table, id, name, (size_t)len);
	}
	assert_int_equal(mp_strtab_count(table), 2001);
	mp_strtab_free(table);
	return status;
}

static void allocation_failures(void **state)
{
	(void)state;
	/* The table, two chunks of ids, and for each of 64 shards at least a slot array and a text block. */
	assert_true(torture(fill, NULL) >= 1 + 2 + 64 * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_string_is_id_0),
		cmocka_unit_test(ids_are_dense_and_stable),
		cmocka_unit_test(any_bytes),
		cmocka_unit_test(limit_bounds_all_texts),
		cmocka_unit_test(cache_answers_like_the_table),
		cmocka_unit_test(cache_retries_after_failure),
		cmocka_unit_test(threads_add_overlapping_sets),
		cmocka_unit_test(allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
