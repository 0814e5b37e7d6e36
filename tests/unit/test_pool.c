/* SPDX-License-Identifier: Apache-2.0 */
/* base/pool: every index once, worker numbers, the lowest failure, nested and concurrent loops. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"
#include "unit/torture.h"

static struct mp_pool *new_pool(unsigned threads)
{
	struct mp_pool *pool;

	assert_int_equal(mp_pool_new(threads, &pool, NULL), MINDPROF_OK);
	return pool;
}

#define N_MAX 100000

struct visits {
	unsigned threads;
	uint8_t times[N_MAX];
	atomic_uint bad_workers;
	/* Per-worker state without atomics: two threads with one number would be a data race. */
	struct {
		uint64_t count;
		char pad[56];
	} workers[64];
};

static mp_status visit(void *user, size_t index, unsigned worker, mp_err *err)
{
	struct visits *visits = user;

	(void)err;
	visits->times[index]++;
	if (worker >= visits->threads)
		visits->bad_workers++;
	else
		visits->workers[worker].count++;
	return MINDPROF_OK;
}

static void check_visits(struct mp_pool *pool, size_t n)
{
	static struct visits visits;
	uint64_t sum = 0;

	memset(&visits, 0, sizeof(visits));
	visits.threads = mp_pool_threads(pool);
	assert_int_equal(mp_pool_for(pool, n, visit, &visits, NULL), MINDPROF_OK);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(visits.times[i], 1);
	for (size_t i = n; i < N_MAX; i++)
		assert_int_equal(visits.times[i], 0);
	assert_int_equal(visits.bad_workers, 0);
	for (unsigned i = 0; i < 64; i++)
		sum += visits.workers[i].count;
	assert_int_equal(sum, n);
}

static void every_index_once(void **state)
{
	static const size_t sizes[] = {0, 1, 2, 3, 7, 64, 1000, N_MAX};
	static const unsigned threads[] = {1, 2, 3, 8};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(threads); i++) {
		struct mp_pool *pool = new_pool(threads[i]);

		assert_int_equal(mp_pool_threads(pool), threads[i]);
		for (size_t j = 0; j < MP_COUNT(sizes); j++)
			check_visits(pool, sizes[j]);
		mp_pool_free(pool);
	}
}

static void no_pool_is_inline(void **state)
{
	(void)state;
	assert_int_equal(mp_pool_threads(NULL), 1);
	check_visits(NULL, 1000);
	mp_pool_free(NULL);
}

static void many_short_loops(void **state)
{
	struct mp_pool *pool = new_pool(4);
	static struct visits visits;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		memset(visits.times, 0, 8);
		visits.threads = 4;
		assert_int_equal(mp_pool_for(pool, 5, visit, &visits, NULL), MINDPROF_OK);
		assert_memory_equal(visits.times, "\1\1\1\1\1\0\0\0", 8);
	}
	mp_pool_free(pool);
}

static void default_is_the_usable_cores(void **state)
{
	struct mp_pool *pool = new_pool(0);

	(void)state;
	assert_in_range(mp_pool_threads(pool), 1, 1024);
	check_visits(pool, 100);
	mp_pool_free(pool);
}

struct failing {
	size_t first, every;
	atomic_size_t runs;
	uint8_t ran[10000];
	bool silent;
};

static mp_status fail_some(void *user, size_t index, unsigned worker, mp_err *err)
{
	struct failing *failing = user;

	(void)worker;
	failing->runs++;
	failing->ran[index] = 1;
	if (index < failing->first || (index - failing->first) % failing->every)
		return MINDPROF_OK;
	if (failing->silent)
		return MINDPROF_E_LIMIT;
	return mp_err_set(err, MINDPROF_E_FORMAT, NULL, (int64_t)index, "index %zu", index);
}

static void lowest_failure_wins(void **state)
{
	static const size_t firsts[] = {0, 1, 57, 5000, 9999};

	(void)state;
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct mp_pool *pool = new_pool(threads);

		for (int round = 0; round < 20; round++) {
			static struct failing failing;
			mp_err err = {0};

			memset(&failing, 0, sizeof(failing));
			failing.first = firsts[round % 5];
			failing.every = 3;
			assert_int_equal(mp_pool_for(pool, 10000, fail_some, &failing, &err),
					 MINDPROF_E_FORMAT);
			assert_int_equal(err.status, MINDPROF_E_FORMAT);
			assert_int_equal(err.causes[0].byte_offset, failing.first);
			/* All indices before it were run, and the loop did not go on to the end. */
			for (size_t i = 0; i <= failing.first; i++)
				assert_int_equal(failing.ran[i], 1);
			if (failing.first < 100)
				assert_true(failing.runs < 9000);
		}
		/* The pool works on. */
		check_visits(pool, 100);
		mp_pool_free(pool);
	}
}

static void failure_without_text(void **state)
{
	struct mp_pool *pool = new_pool(2);
	static struct failing failing;
	mp_err err = {0};

	(void)state;
	failing = (struct failing){.first = 5, .every = 1, .silent = true};
	assert_int_equal(mp_pool_for(pool, 1000, fail_some, &failing, &err), MINDPROF_E_LIMIT);
	assert_int_equal(err.status, MINDPROF_E_LIMIT);
	failing = (struct failing){.first = 5, .every = 1};
	assert_int_equal(mp_pool_for(pool, 1000, fail_some, &failing, NULL), MINDPROF_E_FORMAT);
	mp_pool_free(pool);
}

struct nested {
	struct mp_pool *pool;
	uint64_t sums[64][8]; /* by worker; padded */
};

static mp_status add_to_sum(void *user, size_t index, unsigned worker, mp_err *err)
{
	struct nested *nested = user;

	(void)err;
	nested->sums[worker][0] += index;
	return MINDPROF_OK;
}

static mp_status run_inner(void *user, size_t index, unsigned worker, mp_err *err)
{
	struct nested *nested = user;

	(void)index;
	(void)worker;
	return mp_pool_for(nested->pool, 100, add_to_sum, nested, err);
}

/* An inner loop runs in its worker and keeps its number, so the shared sums need no lock. */
static void nested_loops(void **state)
{
	struct nested nested = {.pool = new_pool(4)};
	uint64_t sum = 0;

	(void)state;
	assert_int_equal(mp_pool_for(nested.pool, 200, run_inner, &nested, NULL), MINDPROF_OK);
	for (int i = 0; i < 64; i++)
		sum += nested.sums[i][0];
	/* 200 times 0 + 1 + ... + 99 */
	assert_int_equal(sum, 200 * 4950);
	mp_pool_free(nested.pool);
}

static void *loop_often(void *arg)
{
	struct mp_pool *pool = arg;
	uintptr_t wrong = 0;

	for (int i = 0; i < 200; i++) {
		struct nested nested = {.pool = pool};
		uint64_t sum = 0;

		wrong += mp_pool_for(pool, 100, add_to_sum, &nested, NULL) != MINDPROF_OK;
		for (int j = 0; j < 64; j++)
			sum += nested.sums[j][0];
		wrong += sum != 4950;
	}
	return (void *)wrong;
}

static void concurrent_loops(void **state)
{
	struct mp_pool *pool = new_pool(3);
	pthread_t threads[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, loop_often, pool), 0);
	for (int i = 0; i < 3; i++) {
		void *wrong;

		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	mp_pool_free(pool);
}

/* No address space for the stacks of threads: the pool works with the caller alone. */
static void works_without_threads(void **state)
{
	pthread_attr_t usual, huge;
	struct mp_pool *pool;

	(void)state;
	assert_int_equal(pthread_getattr_default_np(&usual), 0);
	assert_int_equal(pthread_attr_init(&huge), 0);
	assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0);
	assert_int_equal(pthread_setattr_default_np(&huge), 0);
	pool = new_pool(4);
	assert_int_equal(pthread_setattr_default_np(&usual), 0);
	assert_int_equal(mp_pool_threads(pool), 1);
	check_visits(pool, 1000);
	mp_pool_free(pool);
	pthread_attr_destroy(&huge);
	pthread_attr_destroy(&usual);
}

static mp_status make_pool(void *user)
{
	struct mp_pool *pool;
	mp_err err = {0};
	mp_status status = mp_pool_new(3, &pool, &err);

	(void)user;
	if (status != MINDPROF_OK) {
		assert_null(pool);
		assert_int_equal(err.status, status);
		return status;
	}
	check_visits(pool, 100);
	mp_pool_free(pool);
	return MINDPROF_OK;
}

static void allocation_failures(void **state)
{
	(void)state;
	assert_int_equal(torture(make_pool, NULL), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_index_once),      cmocka_unit_test(no_pool_is_inline),
		cmocka_unit_test(many_short_loops),      cmocka_unit_test(default_is_the_usable_cores),
		cmocka_unit_test(lowest_failure_wins),   cmocka_unit_test(failure_without_text),
		cmocka_unit_test(nested_loops),          cmocka_unit_test(concurrent_loops),
		cmocka_unit_test(works_without_threads), cmocka_unit_test(allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
