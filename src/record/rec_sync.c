/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting and ordering on bare futexes and membarrier: signal-safe, and simple to reset after fork. */
#include "record/rec.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

static uint32_t membarrier_ready; /* atomic */

static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

bool mp_rec_try_lock(struct mp_rec_lock *lock)
{
	uint32_t is_free = 0;

	return __atomic_compare_exchange_n(&lock->state, &is_free, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

void mp_rec_lock(struct mp_rec_lock *lock)
{
	if (mp_rec_try_lock(lock))
		return;
	while (__atomic_exchange_n(&lock->state, 2, __ATOMIC_ACQUIRE) != 0)
		futex(&lock->state, FUTEX_WAIT, 2, NULL);
}

void mp_rec_unlock(struct mp_rec_lock *lock)
{
	if (__atomic_exchange_n(&lock->state, 0, __ATOMIC_RELEASE) == 2)
		futex(&lock->state, FUTEX_WAKE, 1, NULL);
}

void mp_rec_lock_reset(struct mp_rec_lock *lock)
{
	mp_rec_try_lock(lock);
	__atomic_store_n(&lock->state, 0, __ATOMIC_RELEASE);
}

void mp_rec_wait(uint32_t *word, uint32_t value, int64_t timeout_ns)
{
	struct timespec timeout = {(time_t)(timeout_ns / 1000000000), (long)(timeout_ns % 1000000000)};

	futex(word, FUTEX_WAIT, value, &timeout);
}

void mp_rec_wake(uint32_t *word)
{
	futex(word, FUTEX_WAKE, 1, NULL);
}

void mp_rec_barrier_prepare(void)
{
	bool ready = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;

	__atomic_store_n(&membarrier_ready, ready, __ATOMIC_RELAXED);
}

void mp_rec_barrier(void)
{
	struct timespec pause = {0, 2000000};

	if (__atomic_load_n(&membarrier_ready, __ATOMIC_RELAXED) &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
		return;
	/* An old kernel or a sandbox: in this time every store buffer has drained many times over. */
	nanosleep(&pause, NULL);
}
