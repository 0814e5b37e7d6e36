/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread pool: workers sleep until a loop is posted, then take portions of its indices from one
 * atomic counter. A loop that finds the pool busy (nested or concurrent) runs in its caller.
 */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#include "base/banned.h"

#define THREADS_MAX 1024

/* One call of mp_pool_for; lives on the caller's stack. */
struct loop {
	mp_pool_fn fn;
	void *user;
	size_t n, portion;
	_Atomic size_t next;         /* first index that nobody has taken */
	_Atomic size_t failed_index; /* lowest index that failed, SIZE_MAX = none */
	mp_status failed;            /* of failed_index; guarded by lock */
	mp_err *err;                 /* may be NULL; guarded by lock */
	pthread_mutex_t *lock;
};

struct worker {
	struct mp_pool *pool;
	pthread_t thread;
	unsigned number; /* the caller of mp_pool_for is worker 0 */
};

struct mp_pool {
	unsigned threads; /* with the caller */
	struct worker *workers;
	pthread_mutex_t lock;
	pthread_cond_t posted, idle;
	struct loop *loop;   /* current; guarded by lock, as all below */
	uint64_t generation; /* counts loops, so that a worker joins each once */
	unsigned working;    /* workers that have joined the current loop and not left it */
	bool busy, stopping;
};

/* Which worker of which pool this thread is just now: nested loops keep the number. */
static _Thread_local const struct mp_pool *my_pool;
static _Thread_local unsigned my_number;

static void note_failure(struct loop *loop, size_t index, mp_status status, const mp_err *err)
{
	pthread_mutex_lock(loop->lock);
	if (index < atomic_load(&loop->failed_index)) {
		atomic_store(&loop->failed_index, index);
		loop->failed = status;
		if (loop->err) {
			*loop->err = *err;
			loop->err->status = status;
		}
	}
	pthread_mutex_unlock(loop->lock);
}

/* Every index below the lowest failing one is run, so the result does not depend on timing. */
static void run_portions(struct loop *loop, unsigned number)
{
	mp_err err;

	memset(&err, 0, sizeof(err));
	for (;;) {
		size_t at = atomic_load_explicit(&loop->next, memory_order_relaxed);
		size_t end;

		do {
			if (at >= loop->n)
				return;
			end = at + MP_MIN(loop->portion, loop->n - at);
		} while (!atomic_compare_exchange_weak(&loop->next, &at, end));
		for (; at < end; at++) {
			mp_status status;

			if (at > atomic_load(&loop->failed_index))
				return;
			status = loop->fn(loop->user, at, number, &err);
			if (status != MINDPROF_OK) {
				note_failure(loop, at, status, &err);
				return;
			}
		}
	}
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct mp_pool *pool = worker->pool;
	uint64_t seen = 0;

	my_pool = pool;
	my_number = worker->number;
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		struct loop *loop;

		while (!pool->stopping && (!pool->loop || pool->generation == seen))
			pthread_cond_wait(&pool->posted, &pool->lock);
		if (pool->stopping)
			break;
		seen = pool->generation;
		loop = pool->loop;
		pool->working++;
		pthread_mutex_unlock(&pool->lock);
		run_portions(loop, worker->number);
		pthread_mutex_lock(&pool->lock);
		if (--pool->working == 0)
			pthread_cond_signal(&pool->idle);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Whole cores that the control group's quota allows, 0 = no quota known. */
static unsigned quota_cores(void)
{
	unsigned long long quota, period;
	char line[64];
	FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
	bool ok;

	if (!file)
		return 0;
	ok = fgets(line, sizeof(line), file) && sscanf(line, "%llu %llu", &quota, &period) == 2 && period;
	fclose(file);
	if (!ok || quota / period >= THREADS_MAX)
		return 0;
	return (unsigned)((quota + period - 1) / period);
}

static unsigned usable_cores(void)
{
	unsigned quota = quota_cores();
	cpu_set_t set;
	long cores;

	/* The set is too small for machines of more than 1024 cores. */
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		cores = CPU_COUNT(&set);
	else
		cores = sysconf(_SC_NPROCESSORS_ONLN);
	if (quota && quota < cores)
		cores = quota;
	return (unsigned)MP_MAX(cores, 1);
}

/* Starts workers 1 .. threads-1; with fewer threads than asked for the pool is only slower. */
static void start_workers(struct mp_pool *pool, unsigned threads)
{
	sigset_t all, old;

	/* Signals of the program belong to the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (pool->threads < threads) {
		struct worker *worker = &pool->workers[pool->threads];

		worker->pool = pool;
		worker->number = pool->threads;
		if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0)
			break;
		pool->threads++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

mp_status mp_pool_new(unsigned threads, struct mp_pool **out, mp_err *err)
{
	struct mp_pool *pool;

	*out = NULL;
	if (threads == 0)
		threads = usable_cores();
	threads = MP_MIN(threads, (unsigned)THREADS_MAX);
	pool = mp_calloc(1, sizeof(*pool));
	if (!pool)
		return mp_err_nomem(err, sizeof(*pool));
	pool->workers = mp_calloc(threads, sizeof(*pool->workers));
	if (!pool->workers) {
		mp_free(pool);
		return mp_err_nomem(err, threads * sizeof(*pool->workers));
	}
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->posted, NULL);
	pthread_cond_init(&pool->idle, NULL);
	pool->threads = 1;
	start_workers(pool, threads);
	*out = pool;
	return MINDPROF_OK;
}

void mp_pool_free(struct mp_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stopping = true;
	pthread_cond_broadcast(&pool->posted);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 1; i < pool->threads; i++)
		pthread_join(pool->workers[i].thread, NULL);
	pthread_cond_destroy(&pool->idle);
	pthread_cond_destroy(&pool->posted);
	pthread_mutex_destroy(&pool->lock);
	mp_free(pool->workers);
	mp_free(pool);
}

unsigned mp_pool_threads(const struct mp_pool *pool)
{
	return pool ? pool->threads : 1;
}

static mp_status run_inline(size_t n, mp_pool_fn fn, void *user, unsigned number, mp_err *err)
{
	for (size_t i = 0; i < n; i++) {
		mp_status status = fn(user, i, number, err);

		if (status != MINDPROF_OK)
			return status;
	}
	return MINDPROF_OK;
}

/* True when the loop is posted; the caller then works and waits. */
static bool post(struct mp_pool *pool, struct loop *loop)
{
	bool taken = false;

	pthread_mutex_lock(&pool->lock);
	if (!pool->busy) {
		pool->busy = taken = true;
		pool->loop = loop;
		pool->generation++;
		pthread_cond_broadcast(&pool->posted);
	}
	pthread_mutex_unlock(&pool->lock);
	return taken;
}

static void wait_until_done(struct mp_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->loop = NULL;
	while (pool->working)
		pthread_cond_wait(&pool->idle, &pool->lock);
	pool->busy = false;
	pthread_mutex_unlock(&pool->lock);
}

mp_status mp_pool_for(struct mp_pool *pool, size_t n, mp_pool_fn fn, void *user, mp_err *err)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct loop loop = {.fn = fn, .user = user, .n = n, .err = err, .lock = &lock};
	const struct mp_pool *outer_pool = my_pool;
	unsigned outer_number = my_number;

	loop.portion = MP_MIN(MP_MAX(n / (mp_pool_threads(pool) * (size_t)16), (size_t)1), (size_t)256);
	atomic_init(&loop.failed_index, SIZE_MAX);
	if (!pool || pool->threads == 1 || n < 2 || !post(pool, &loop))
		return run_inline(n, fn, user, pool && my_pool == pool ? my_number : 0, err);
	my_pool = pool;
	my_number = 0;
	run_portions(&loop, 0);
	wait_until_done(pool);
	my_pool = outer_pool;
	my_number = outer_number;
	return loop.failed;
}
