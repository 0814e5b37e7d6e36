/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The background thread of a recording: takes the page faults of the event memory, empties full chunks
 * (stream mode), takes clock points, writes counts of losses. It sleeps as long as there is nothing to do,
 * at most a second.
 */
#include "record/rec.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include "base/banned.h"

#define MS 1000000ll
#define FIRST_POINT (10 * MS) /* the clock's rate is wanted early; the distance grows tenfold up to */
#define LAST_POINT (1000 * MS)
#define SHORT_NAP (10 * MS)
#define LONG_NAP (1000 * MS)
#define STACK_BYTES (512u << 10)

static struct {
	pthread_t thread;
	bool running; /* control lock */
	bool stream;
	uint64_t base_tick;
	struct mp_rec_ring *ring;
	uint32_t wakes;  /* atomic: futex word, counts up */
	uint32_t asleep; /* atomic */
	uint32_t quit;   /* atomic */
} drain;

static void wake(void)
{
	__atomic_add_fetch(&drain.wakes, 1, __ATOMIC_SEQ_CST);
	mp_rec_wake(&drain.wakes);
}

void mp_rec_drain_notice(const struct mp_rec_ring *ring, int32_t n_full)
{
	if (n_full >= (int32_t)ring->wake_at && __atomic_load_n(&drain.asleep, __ATOMIC_SEQ_CST) &&
	    __atomic_exchange_n(&drain.asleep, 0, __ATOMIC_SEQ_CST))
		wake();
}

/* wakeable: producers may end the nap. Either they see asleep, or n_full is seen here. */
static void nap(int64_t ns, bool wakeable)
{
	uint32_t wakes = __atomic_load_n(&drain.wakes, __ATOMIC_SEQ_CST);

	if (__atomic_load_n(&drain.quit, __ATOMIC_SEQ_CST) || ns <= 0)
		return;
	if (wakeable) {
		__atomic_store_n(&drain.asleep, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&drain.ring->n_full, __ATOMIC_SEQ_CST) >= (int32_t)drain.ring->wake_at)
			ns = 0;
	}
	if (ns > 0)
		mp_rec_wait(&drain.wakes, wakes, ns);
	__atomic_store_n(&drain.asleep, 0, __ATOMIC_SEQ_CST);
}

static void *drain_main(void *unused)
{
	int64_t point_distance = FIRST_POINT;
	int64_t next_point = mp_rec_monotonic_ns() + point_distance;
	int64_t nap_ns = SHORT_NAP;

	(void)unused;
	prctl(PR_SET_NAME, "mindprof-drain");
	while (!__atomic_load_n(&drain.quit, __ATOMIC_SEQ_CST)) {
		bool populating = mp_rec_ring_populate(drain.ring);
		int drained = drain.stream ? mp_rec_events_drain() : 0;
		int64_t now = mp_rec_monotonic_ns();

		if (now >= next_point) {
			mp_rec_clock_write(drain.base_tick);
			mp_rec_drops_flush();
			mp_rec_sites_flush(false);
			point_distance = MP_MIN(point_distance * 10, LAST_POINT);
			next_point = now + point_distance;
		}
		if (drained > 0)
			nap_ns = SHORT_NAP;
		else
			nap_ns = drained < 0 || !drain.stream ? LONG_NAP : MP_MIN(nap_ns * 2, LONG_NAP);
		/* A disk that refuses is asked again once in a while, however many chunks wait. */
		if (!populating)
			nap(MP_MIN(nap_ns, next_point - now), drain.stream && drained >= 0);
	}
	return NULL;
}

mp_status mp_rec_drain_start(struct mp_rec_ring *ring, mp_err *err)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int errnum;

	drain.ring = ring;
	drain.stream = !ring->overwrite;
	drain.base_tick = ring->base_tick;
	drain.quit = drain.asleep = 0;
	errnum = pthread_attr_init(&attributes);
	if (errnum)
		return mp_err_sys(err, errnum, NULL, "cannot start the background thread");
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errnum = pthread_create(&drain.thread, &attributes, drain_main, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (errnum)
		return mp_err_sys(err, errnum, NULL, "cannot start the background thread");
	drain.running = true;
	return MINDPROF_OK;
}

void mp_rec_drain_stop(void)
{
	if (!drain.running)
		return;
	__atomic_store_n(&drain.quit, 1, __ATOMIC_SEQ_CST);
	wake();
	pthread_join(drain.thread, NULL);
	drain.running = false;
}

void mp_rec_drain_child(void)
{
	drain.running = false;
}
