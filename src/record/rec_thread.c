/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads: the table of their states, entry into the slow path, registration with a session, and what is
 * left to do when a thread ends. Output: THREADS and DROPS segments of the session file, thread slots of
 * the ring file (docs/formats/native.md).
 */
#include "record/rec.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

#define HALT_PATIENCE_NS 500000000 /* for a thread that is inside the recorder at stop */
#define ENDS_MAX 2                 /* times a thread may register again from its own destructors */
#define DROPS_BATCH 64

__thread struct mp_rec_thread *mp_rec_self MP_REC_TLS;
static __thread uint32_t inside MP_REC_TLS_MODEL; /* 1 between enter and leave */
static __thread uint32_t ends MP_REC_TLS_MODEL;   /* times the destructor ran */

/* Anonymous memory that a forked child finds zeroed. */
struct table {
	uint32_t alive; /* 1; 0 = wiped */
	struct mp_rec_thread threads[MP_REC_THREADS];
};
static struct table *table; /* atomic; set once */
static pthread_key_t end_key;
static uint32_t key_made; /* atomic: 0 no, 1 being made, 2 yes, 3 failed */
static uint32_t n_used;   /* atomic: entries from here on were never used */
static uint32_t n_in_use; /* atomic */
static uint32_t n_bound;  /* atomic: thread indexes given out in this session */

static struct mp_rec_lock drops_lock;
static uint64_t unregistered[MP_NATIVE_DROP_KINDS]; /* atomic: events of threads without a slot */
static uint64_t unregistered_flushed;               /* drops lock */
static uint64_t ended_events, ended_dropped;        /* atomic: of threads that ended in this session */

/* --------------------------------------------------------------------- table */

static struct table *get_table(void)
{
	return __atomic_load_n(&table, __ATOMIC_ACQUIRE);
}

static void thread_end(void *unused);

static void make_key(void)
{
	uint32_t none = 0;

	if (!__atomic_compare_exchange_n(&key_made, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&key_made, pthread_key_create(&end_key, thread_end) == 0 ? 2 : 3, __ATOMIC_RELEASE);
}

mp_status mp_rec_threads_prepare(mp_err *err)
{
	struct table *made;
	struct table *none = NULL;

	make_key();
	if (get_table())
		return MINDPROF_OK;
	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0);
	if (made == MAP_FAILED)
		return mp_err_sys(err, errno, NULL, "cannot map %zu bytes for thread states", sizeof(*made));
	madvise(made, sizeof(*made), MADV_WIPEONFORK);
	made->alive = 1;
	if (!__atomic_compare_exchange_n(&table, &none, made, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		munmap(made, sizeof(*made));
	return MINDPROF_OK;
}

/* An entry of the table for the calling thread; NULL when there is none. */
static struct mp_rec_thread *claim(void)
{
	struct table *there = get_table();

	if (!there || ends > ENDS_MAX || __atomic_load_n(&n_in_use, __ATOMIC_RELAXED) >= MP_REC_THREADS)
		return NULL;
	for (uint32_t i = 0; i < MP_REC_THREADS; i++) {
		struct mp_rec_thread *t = &there->threads[i];
		uint32_t is_free = 0, seen;

		if (__atomic_load_n(&t->in_use, __ATOMIC_RELAXED) ||
		    !__atomic_compare_exchange_n(&t->in_use, &is_free, 1, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		__atomic_add_fetch(&n_in_use, 1, __ATOMIC_RELAXED);
		seen = __atomic_load_n(&n_used, __ATOMIC_RELAXED);
		while (seen <= i && !__atomic_compare_exchange_n(&n_used, &seen, i + 1, false,
								 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			;
		t->name_is_set = 0;
		t->os_tid = (uint32_t)syscall(SYS_gettid);
		if (__atomic_load_n(&key_made, __ATOMIC_ACQUIRE) == 2)
			pthread_setspecific(end_key, t);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		mp_rec_self = t;
		return t;
	}
	return NULL;
}

static uint32_t count_used(void)
{
	return get_table() ? __atomic_load_n(&n_used, __ATOMIC_ACQUIRE) : 0;
}

static bool is_bound(const struct mp_rec_thread *t)
{
	return __atomic_load_n(&t->in_use, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&t->generation, __ATOMIC_ACQUIRE) ==
		       __atomic_load_n(&mp_rec_generation, __ATOMIC_RELAXED);
}

/* --------------------------------------------------------------------- losses */

void mp_rec_drop_unregistered(unsigned drop_kind)
{
	__atomic_add_fetch(&unregistered[drop_kind], 1, __ATOMIC_RELAXED);
}

void mp_rec_drop(struct mp_rec_thread *t, unsigned drop_kind)
{
	__atomic_add_fetch(&t->slot->drops[drop_kind], 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&t->dropped, 1, __ATOMIC_RELAXED);
}

struct drop_batch {
	struct mp_native_drop at[DROPS_BATCH];
	uint32_t len;
	bool failed;
};

static void write_drops(struct drop_batch *batch)
{
	struct iovec iov = {batch->at, batch->len * sizeof(*batch->at)};

	if (batch->len && !mp_rec_log_add(MP_NATIVE_SEG_DROPS, batch->len, &iov, 1))
		batch->failed = true;
	batch->len = 0;
}

/* The counts of one thread that are not 0; true when they are on disk. */
static bool put_drops(struct drop_batch *batch, uint32_t thread_index, const uint64_t *counts)
{
	for (uint32_t kind = 0; kind < MP_NATIVE_DROP_KINDS; kind++) {
		uint64_t count = __atomic_load_n(&counts[kind], __ATOMIC_RELAXED);

		if (count)
			batch->at[batch->len++] = (struct mp_native_drop){thread_index, kind, count};
	}
	write_drops(batch);
	return !batch->failed;
}

/* Under the drops lock, which a thread that gives its slot up takes, too. */
static void flush_thread(struct drop_batch *batch, struct mp_rec_thread *t)
{
	uint64_t dropped = __atomic_load_n(&t->dropped, __ATOMIC_RELAXED);

	if (dropped == t->dropped_flushed)
		return;
	if (put_drops(batch, t->thread_index, t->slot->drops))
		t->dropped_flushed = dropped;
}

static uint64_t count_unregistered(void)
{
	uint64_t sum = 0;

	for (uint32_t kind = 0; kind < MP_NATIVE_DROP_KINDS; kind++)
		sum += __atomic_load_n(&unregistered[kind], __ATOMIC_RELAXED);
	return sum;
}

/* The caller keeps the ring mapped. */
void mp_rec_drops_flush(void)
{
	struct drop_batch batch = {.len = 0};
	uint32_t n = count_used();
	uint64_t sum;

	mp_rec_lock(&drops_lock);
	for (uint32_t i = 0; i < n; i++) {
		struct mp_rec_thread *t = &get_table()->threads[i];

		if (is_bound(t))
			flush_thread(&batch, t);
	}
	sum = count_unregistered();
	if (sum != unregistered_flushed && put_drops(&batch, MP_NATIVE_THREAD_NONE, unregistered))
		unregistered_flushed = sum;
	mp_rec_unlock(&drops_lock);
}

/* --------------------------------------------------------------------- entering */

bool mp_rec_inside(void)
{
	return inside || (mp_rec_self && __atomic_load_n(&mp_rec_self->busy, __ATOMIC_RELAXED));
}

bool mp_rec_enter(void)
{
	if (mp_rec_inside())
		return false;
	inside = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

/* The slot stays where it is while the thread, or the code that was interrupted, is busy. */
void mp_rec_lost_inside(unsigned drop_kind, const struct mindprof_range *ended)
{
	struct mp_rec_thread *t = mp_rec_self;
	uint32_t was_busy = t ? __atomic_exchange_n(&t->busy, 1, __ATOMIC_SEQ_CST) : 0;

	if (__atomic_load_n(&mp_rec_active, __ATOMIC_SEQ_CST)) {
		if (!t || !is_bound(t)) {
			mp_rec_drop_unregistered(drop_kind);
		} else {
			mp_rec_drop(t, drop_kind);
			if (ended && ended->depth < t->slot->depth)
				__atomic_store_n(&t->slot->depth, ended->depth, __ATOMIC_RELEASE);
		}
	}
	if (t)
		__atomic_store_n(&t->busy, was_busy, __ATOMIC_RELEASE);
}

void mp_rec_leave(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	inside = 0;
}

static void write_thread(struct mp_rec_thread *t, uint64_t end_tick)
{
	static const char zeros[8];
	struct mp_native_thread entry = {
		.index = t->thread_index,
		.os_tid = t->os_tid,
		.first_tick = t->first_tick,
		.end_tick = end_tick,
		.name_bytes = (uint32_t)strlen(t->name),
	};
	struct iovec iov[3] = {{&entry, sizeof(entry)},
			       {t->name, entry.name_bytes},
			       {(void *)zeros, MP_ALIGN_UP(entry.name_bytes, 8u) - entry.name_bytes}};

	mp_rec_log_add(MP_NATIVE_SEG_THREADS, 1, iov, 3);
}

/* A thread meets a session for the first time. */
static void bind(struct mp_rec_thread *t, struct mp_rec_ring *ring, uint32_t generation)
{
	struct mp_native_slot *slot = mp_rec_ring_slot(ring, (uint32_t)(t - get_table()->threads));

	__atomic_store_n(&t->capacity, 0, __ATOMIC_RELAXED);
	t->chunk = NULL;
	t->n_pushed = t->sequence = 0;
	mp_rec_thread_reset_chunk(t);
	t->base_tick = ring->base_tick;
	t->clock = __atomic_load_n(&mp_rec_clock, __ATOMIC_RELAXED);
	t->first_tick = mp_rec_tick(t->clock) - t->base_tick;
	t->thread_index = __atomic_fetch_add(&n_bound, 1, __ATOMIC_RELAXED);
	t->ring = ring;
	__atomic_store_n(&t->events, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&t->dropped, 0, __ATOMIC_RELAXED);
	t->dropped_reported = t->dropped_flushed = 0;
	slot->thread_index = t->thread_index;
	__atomic_store_n(&slot->depth, 0, __ATOMIC_RELAXED);
	slot->first_tick = t->first_tick;
	for (uint32_t kind = 0; kind < MP_NATIVE_DROP_KINDS; kind++)
		__atomic_store_n(&slot->drops[kind], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->os_tid, t->os_tid, __ATOMIC_RELEASE);
	t->slot = slot;
	__atomic_store_n(&t->generation, generation, __ATOMIC_RELEASE);
	if (!t->name_is_set)
		prctl(PR_GET_NAME, t->name);
	write_thread(t, 0);
}

struct mp_rec_thread *mp_rec_attach(bool *active)
{
	struct mp_rec_thread *t = mp_rec_self;
	uint32_t generation;

	*active = __atomic_load_n(&mp_rec_active, __ATOMIC_ACQUIRE) != 0;
	if (!*active)
		return NULL;
	if (!t)
		t = claim();
	if (!t)
		return NULL;
	__atomic_exchange_n(&t->busy, 1, __ATOMIC_SEQ_CST);
	*active = __atomic_load_n(&mp_rec_active, __ATOMIC_SEQ_CST) != 0;
	if (!*active) {
		mp_rec_detach(t);
		return NULL;
	}
	generation = __atomic_load_n(&mp_rec_generation, __ATOMIC_RELAXED);
	if (t->generation != generation)
		bind(t, mp_rec_session_ring(), generation);
	return t;
}

void mp_rec_detach(struct mp_rec_thread *t)
{
	__atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------ names, end */

void mp_rec_copy_name(char to[MP_REC_NAME_BYTES], const char *name)
{
	size_t len = name ? strlen(name) : 0;

	if (len >= MP_REC_NAME_BYTES) {
		len = MP_REC_NAME_BYTES - 1;
		while (len > 0 && ((unsigned char)name[len] & 0xc0) == 0x80)
			len--;
	}
	if (len)
		memcpy(to, name, len);
	to[len] = '\0';
}

void mp_rec_thread_rename(const char *name)
{
	struct mp_rec_thread *t;
	bool active;

	if (mp_rec_threads_prepare(NULL))
		return;
	t = mp_rec_self ? mp_rec_self : claim();
	if (!t)
		return;
	mp_rec_copy_name(t->name, name);
	t->name_is_set = 1;
	if (is_bound(t) && mp_rec_attach(&active)) {
		write_thread(t, 0);
		mp_rec_detach(t);
	}
}

/* What the thread recorded is handed over, its slot and its table entry are free again. */
static void say_goodbye(struct mp_rec_thread *t)
{
	struct drop_batch batch = {.len = 0};

	mp_rec_chunk_retire(t);
	if (!t->name_is_set)
		prctl(PR_GET_NAME, t->name);
	write_thread(t, mp_rec_tick(t->clock) - t->base_tick);
	mp_rec_lock(&drops_lock);
	flush_thread(&batch, t);
	__atomic_add_fetch(&ended_events, t->events, __ATOMIC_RELAXED);
	__atomic_add_fetch(&ended_dropped, t->dropped, __ATOMIC_RELAXED);
	__atomic_store_n(&t->generation, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&t->slot->os_tid, 0, __ATOMIC_RELEASE);
	mp_rec_unlock(&drops_lock);
	t->slot = NULL;
}

static void thread_end(void *unused)
{
	struct mp_rec_thread *t = mp_rec_self;
	int saved = errno;

	(void)unused;
	if (!t || !mp_rec_enter())
		return;
	ends++;
	__atomic_exchange_n(&t->busy, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&mp_rec_active, __ATOMIC_SEQ_CST) &&
	    t->generation == __atomic_load_n(&mp_rec_generation, __ATOMIC_RELAXED))
		say_goodbye(t);
	mp_rec_self = NULL;
	__atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&t->in_use, 0, __ATOMIC_RELEASE);
	__atomic_sub_fetch(&n_in_use, 1, __ATOMIC_RELAXED);
	mp_rec_leave();
	errno = saved;
}

/* --------------------------------------------------------------- start and stop */

void mp_rec_threads_begin(void)
{
	for (uint32_t kind = 0; kind < MP_NATIVE_DROP_KINDS; kind++)
		__atomic_store_n(&unregistered[kind], 0, __ATOMIC_RELAXED);
	unregistered_flushed = 0;
	__atomic_store_n(&n_bound, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ended_events, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ended_dropped, 0, __ATOMIC_RELAXED);
}

static void close_all(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		__atomic_store_n(&get_table()->threads[i].capacity, 0, __ATOMIC_RELAXED);
}

/* False when the thread did not come out of the recorder in time. */
static bool wait_for(struct mp_rec_thread *t, int64_t until_ns)
{
	const struct timespec pause = {0, 50000};

	while (__atomic_load_n(&t->busy, __ATOMIC_SEQ_CST)) {
		if (t == mp_rec_self || mp_rec_monotonic_ns() > until_ns)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

unsigned mp_rec_threads_halt(void)
{
	int64_t until_ns = mp_rec_monotonic_ns() + HALT_PATIENCE_NS;
	uint32_t n = MP_REC_THREADS;
	unsigned stuck = 0;

	if (!get_table())
		return 0;
	n = count_used();
	close_all(n);
	mp_rec_barrier();
	/* A thread may have come in on its way to its first event. */
	n = count_used();
	for (uint32_t i = 0; i < n; i++)
		stuck += !wait_for(&get_table()->threads[i], until_ns);
	close_all(n);
	return stuck;
}

/* The system's name of a thread, which may have changed since its first event; true when it has. */
static bool refresh_name(struct mp_rec_thread *t)
{
	char path[64], name[MP_REC_NAME_BYTES];
	ssize_t len;
	int fd;

	if (t->name_is_set)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%u/comm", t->os_tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, name, sizeof(name) - 1);
	close(fd);
	if (len > 0 && name[len - 1] == '\n')
		len--;
	if (len <= 0)
		return false;
	name[len] = '\0';
	if (strcmp(name, t->name) == 0)
		return false;
	memcpy(t->name, name, (size_t)len + 1);
	return true;
}

/* Also when an entry may have been refused by the disk. */
void mp_rec_threads_finish(const struct mp_rec_ring *ring)
{
	bool again = mp_rec_log_errnum() != 0;
	uint32_t n = count_used();

	for (uint32_t i = 0; i < n; i++) {
		struct mp_rec_thread *t = &get_table()->threads[i];

		if (!__atomic_load_n(&t->in_use, __ATOMIC_ACQUIRE) || t->ring != ring || !t->slot ||
		    __atomic_load_n(&t->busy, __ATOMIC_ACQUIRE))
			continue;
		if (refresh_name(t) || again)
			write_thread(t, 0);
	}
}

void mp_rec_threads_open_ranges(mp_rec_open_range_fn fn, void *user)
{
	uint32_t n = count_used();

	for (uint32_t i = 0; i < n; i++) {
		struct mp_rec_thread *t = &get_table()->threads[i];
		uint32_t depth;

		if (!is_bound(t))
			continue;
		depth = __atomic_load_n(&t->slot->depth, __ATOMIC_ACQUIRE);
		for (uint32_t at = 0; at < MP_MIN(depth, (uint32_t)MP_NATIVE_OPEN_RANGES); at++)
			fn(user, t->thread_index, t->slot->open[at].site, t->slot->open[at].tick);
	}
}

struct mp_rec_totals mp_rec_threads_totals(void)
{
	struct mp_rec_totals totals = {0};
	uint32_t n = count_used();

	totals.threads = __atomic_load_n(&n_bound, __ATOMIC_RELAXED);
	totals.events = __atomic_load_n(&ended_events, __ATOMIC_RELAXED);
	totals.dropped = __atomic_load_n(&ended_dropped, __ATOMIC_RELAXED) + count_unregistered();
	for (uint32_t i = 0; i < n; i++) {
		struct mp_rec_thread *t = &get_table()->threads[i];

		if (!is_bound(t))
			continue;
		totals.events += __atomic_load_n(&t->events, __ATOMIC_RELAXED);
		totals.events +=
			__atomic_load_n(&t->used, __ATOMIC_RELAXED) / sizeof(struct mp_native_event) -
			__atomic_load_n(&t->n_long, __ATOMIC_RELAXED);
		totals.dropped += __atomic_load_n(&t->dropped, __ATOMIC_RELAXED);
	}
	return totals;
}

/* ------------------------------------------------------------------------ fork */

bool mp_rec_threads_wiped(void)
{
	return get_table() && !__atomic_load_n(&get_table()->alive, __ATOMIC_RELAXED);
}

void mp_rec_threads_child(void)
{
	struct table *there = get_table();

	if (there) {
		/* Where the kernel wiped it, n_used is all that would be cleared. */
		if (there->alive)
			memset(there->threads, 0, n_used * sizeof(there->threads[0]));
		there->alive = 1;
	}
	n_used = n_in_use = 0;
	mp_rec_self = NULL;
	inside = 0;
	mp_rec_lock_reset(&drops_lock);
}
