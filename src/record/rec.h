/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room-private header of the recorder: the hot path inside the traced process and what stands
 * behind it. What reaches the disk is specified in docs/formats/native.md.
 *
 * One recording ("session") exists at a time. Its event memory is struct mp_rec_ring, the mapped
 * ring.mpr. Each thread owns a struct mp_rec_thread for as long as it lives; the table of them is
 * never unmapped and reads as zero in a forked child (MADV_WIPEONFORK), which makes every hot
 * function there take its slow path.
 *
 * Who may touch the mapping:
 * - a recording thread while its `busy` is 1 and its `capacity` (hot path) or the session's
 *   `active` (slow path) was seen not 0 after that;
 * - anyone who holds the events lock and found `ring` not NULL.
 * Stopping clears active and every capacity, issues a barrier on all cores (membarrier), then waits
 * until no thread is busy.
 *
 * Lock order: control, events, sites, drops, log. Recording threads take sites, drops and log only.
 * Nothing on the way of an event calls malloc, so events may come from signal handlers.
 */
#ifndef MP_REC_H
#define MP_REC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <mindprof/record.h>

#include "base/err.h"
#include "formats/fmt_native.h"

#define MP_REC_THREADS 1024     /* recording threads alive at the same time; further ones are counted as lost */
#define MP_REC_PUSH_DEPTH 256   /* range_push levels of a thread; deeper ones are counted as lost */
#define MP_REC_NAME_BYTES 128   /* of thread and process names, with the NUL */
#define MP_REC_CACHE_PAIR 128   /* two lines: the neighbour line is prefetched, too */
#define MP_REC_DEFAULT_MEMORY (64ull << 20)
#define MP_REC_MIN_MEMORY (256ull << 10)
#define MP_REC_MAX_MEMORY (64ull << 30)

#define MP_REC_TLS_MODEL __attribute__((tls_model("initial-exec")))
#define MP_REC_TLS MP_REC_TLS_MODEL __attribute__((visibility("hidden")))

/* ---------------------------------------------------------------- rec_sync.c */

/* A futex mutex: usable from signal handlers, and it can be set free in a forked child. */
struct mp_rec_lock {
	uint32_t state; /* 0 free, 1 held, 2 held and waited for */
};
void mp_rec_lock(struct mp_rec_lock *lock);
bool mp_rec_try_lock(struct mp_rec_lock *lock);
void mp_rec_unlock(struct mp_rec_lock *lock);
/* In a child whose other threads are gone: free, whoever held it; what it guarded is visible if it was free. */
void mp_rec_lock_reset(struct mp_rec_lock *lock);
/* Sleeps while *word == value, at most timeout_ns. */
void mp_rec_wait(uint32_t *word, uint32_t value, int64_t timeout_ns);
void mp_rec_wake(uint32_t *word);
/* A full barrier on every core that runs a thread of this process. prepare() is needed once before. */
void mp_rec_barrier_prepare(void);
void mp_rec_barrier(void);

/* --------------------------------------------------------------- rec_clock.c */

enum mp_rec_clock { MP_REC_CLOCK_GETTIME = 1, MP_REC_CLOCK_TSC, MP_REC_CLOCK_CNTVCT };

extern uint32_t mp_rec_clock; /* enum mp_rec_clock, 0 until the first start; then fixed */

void mp_rec_clock_choose(void);
const char *mp_rec_clock_name(void);
uint64_t mp_rec_clock_hz(void); /* nominal, 0 = not known */
uint64_t mp_rec_clock_gettime(void);
int64_t mp_rec_monotonic_ns(void);
struct mp_native_clock mp_rec_clock_point(uint64_t base_tick);
void mp_rec_clock_write(uint64_t base_tick); /* a point into the log */

static inline __attribute__((always_inline)) uint64_t mp_rec_tick(uint32_t clock)
{
#if defined(__x86_64__)
	if (MP_LIKELY(clock == MP_REC_CLOCK_TSC))
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	if (MP_LIKELY(clock == MP_REC_CLOCK_CNTVCT)) {
		uint64_t tick;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(tick));
		return tick;
	}
#endif
	(void)clock;
	return mp_rec_clock_gettime();
}

/* ---------------------------------------------------------------- rec_file.c */

/* A new file, 0640, never through a symlink; -1 and errno on failure. */
int mp_rec_file_create(int dir_fd, const char *name, bool readable);
/* Header of one of the three files. */
struct mp_native_file_header mp_rec_file_header(enum mp_native_file_kind kind, const uint8_t session_id[16]);
/* Would writing up to `end` exceed the file size limit of the process (and raise SIGXFSZ)? */
bool mp_rec_file_too_big(uint64_t end);
/* Writes everything at offset; iov is used up. 0 or an errno. */
int mp_rec_write_at(int fd, struct iovec *iov, int n, uint64_t offset);
/* The checksum of a segment header whose other fields are set. */
void mp_rec_segment_seal(struct mp_native_segment *segment);

/* ----------------------------------------------------------------- rec_log.c */

/* The session file. All functions but open and close are async-signal-safe if no lock is held. */
mp_status mp_rec_log_open(int dir_fd, const uint8_t session_id[16], mp_err *err);
/* Appends one segment of n entries; false when the file is closed or the disk refuses. */
bool mp_rec_log_add(enum mp_native_segment_kind kind, uint32_t n, const struct iovec *iov, int n_iov);
bool mp_rec_log_text(enum mp_native_segment_kind kind, const char *text, size_t len);
uint64_t mp_rec_log_bytes(void);
int mp_rec_log_errnum(void); /* of the last failure in this session, 0 = none */
void mp_rec_log_close(void);
/* In a forked child: forgets the parent's file. */
void mp_rec_log_child(bool close_fd);
#define MP_REC_LOG_IOV 258

/* --------------------------------------------------------------- rec_sites.c */

/* The id of a site, resolved and written to the log at first use. Never 0. */
uint32_t mp_rec_site_id(struct mindprof_site *site);
struct mindprof_site *mp_rec_site_get(uint32_t kind, const char *name, const char *attributes);
struct mindprof_site *mp_rec_op_site(const struct mindprof_op *op);
/* Writes sites that the log does not hold yet; restart = all of them (a new session). */
void mp_rec_sites_flush(bool restart);
void mp_rec_sites_fork_prepare(void);
void mp_rec_sites_fork_done(void);
void mp_rec_sites_child(void);
/* Shared by everyone who handles sites while memory or the bound is exhausted. */
#define MP_REC_OUT_OF_NAMES "(out of names)"

/* ---------------------------------------------------------------- rec_ring.c */

/* The mapped ring.mpr and, in private memory, what the recorder alone needs to know of its chunks. */
struct mp_rec_ring {
	/* constant after creation */
	char *base; /* mapping, `bytes` long */
	size_t bytes;
	char *slots;      /* MP_REC_THREADS of struct mp_native_slot, slot_bytes apart */
	uint32_t *states; /* atomic, enum mp_native_chunk_state */
	char *chunks;
	uint32_t n_chunks, chunk_bytes;
	uint32_t wake_at; /* stream: number of FULL chunks at which the drain thread is woken */
	bool overwrite;   /* ring mode */
	bool in_child; /* a forked child has the mapping, too (MADV_DONTFORK is not known) */
	uint64_t base_tick;
	size_t populated; /* bytes of the mapping whose page faults are over; background thread */
	/* One element per chunk, owned. */
	uint64_t *tickets; /* order in which chunks became FULL; written by the owner before FULL */
	uint32_t *written; /* atomic: payload bytes that the events file holds of this filling */
	uint32_t *pins;    /* atomic: a dump is going to read this chunk, it must not be taken */
	uint32_t *order;   /* scratch of the writer; events lock */
	char pad[MP_REC_CACHE_PAIR];
	/* atomic, changed once per chunk */
	uint64_t ticket;
	int32_t n_free, n_full;
	uint64_t n_overwritten; /* chunks of history that made room (ring mode) */
};

struct mp_rec_thread;

struct mp_rec_ring_options {
	struct mp_native_file_header header;
	uint64_t memory_bytes, base_tick;
	int dir_fd;
	bool overwrite;
};
mp_status mp_rec_ring_new(const struct mp_rec_ring_options *options, struct mp_rec_ring **out, mp_err *err);
/* unmap false: a thread may still write; mapping and memory are left alone for good. */
void mp_rec_ring_free(struct mp_rec_ring *ring, bool unmap);
/* Takes the page faults of the next part, instead of on the way of an event; true when there is more. */
bool mp_rec_ring_populate(struct mp_rec_ring *ring);
struct mp_native_slot *mp_rec_ring_slot(const struct mp_rec_ring *ring, uint32_t index);
static inline struct mp_native_segment *mp_rec_ring_chunk(const struct mp_rec_ring *ring, uint32_t index)
{
	return (struct mp_native_segment *)(ring->chunks + (size_t)index * ring->chunk_bytes);
}
/* Gives the thread an empty chunk; false when there is none. */
bool mp_rec_chunk_take(struct mp_rec_thread *t);
/* Marks the thread's chunk FULL; the thread has none then. */
void mp_rec_chunk_retire(struct mp_rec_thread *t);

/* -------------------------------------------------------------- rec_events.c */

mp_status mp_rec_events_open(int dir_fd, const uint8_t session_id[16], struct mp_rec_ring *ring, mp_err *err);
/* Stream mode: writes the FULL chunks and frees them; returns how many, -1 when the disk refuses. */
int mp_rec_events_drain(void);
/* Writes what the file does not hold yet of all chunks, also of live ones. from_signal: never waits. */
int mp_rec_events_dump(bool from_signal);
uint64_t mp_rec_events_bytes(void);
int mp_rec_events_errnum(void); /* of the last failure, 0 = everything asked for was written */
/* Closes the file and gives up the ring (for the caller to free). */
struct mp_rec_ring *mp_rec_events_close(void);
struct mp_rec_ring *mp_rec_events_child(bool close_fd);

/* -------------------------------------------------------------- rec_thread.c */

struct mp_rec_thread {
	/* The hot line: written by its thread only, but for capacity. */
	struct mp_native_segment *chunk;
	struct mp_native_slot *slot;
	uint64_t base_tick;
	uint32_t used;     /* atomic: payload bytes of the chunk */
	uint32_t capacity; /* atomic; 0 = take the slow path */
	uint32_t busy;     /* atomic; 1 while the thread is inside the recorder */
	uint32_t clock;
	uint32_t n_long; /* atomic: 32-byte records in the chunk */
	uint32_t generation;
	uint32_t n_pushed;
	uint32_t n_async; /* range ids given out, never reset */
	/* Cold. */
	struct mp_rec_ring *ring; /* of `generation` */
	uint32_t chunk_index;
	uint32_t sequence;     /* of the next chunk */
	uint32_t thread_index; /* atomic */
	uint32_t os_tid;
	uint32_t in_use; /* atomic: the table entry belongs to a thread */
	uint32_t name_is_set;
	uint64_t events;           /* atomic: in retired chunks */
	uint64_t dropped;          /* atomic */
	uint64_t dropped_reported; /* in dropped_before of the chunks so far */
	uint64_t dropped_flushed;  /* in the log; drops lock */
	uint64_t first_tick;
	char name[MP_REC_NAME_BYTES];  /* as set by the program, or as the system knew it */
	struct mindprof_range pushed[MP_REC_PUSH_DEPTH];
} __attribute__((aligned(MP_REC_CACHE_PAIR)));
_Static_assert(offsetof(struct mp_rec_thread, ring) <= 64, "the hot fields share a line");

static inline void mp_rec_thread_reset_chunk(struct mp_rec_thread *t)
{
	__atomic_store_n(&t->used, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&t->n_long, 0, __ATOMIC_RELAXED);
}

extern __thread struct mp_rec_thread *mp_rec_self MP_REC_TLS;

/* Entry into anything slow: false when this thread is inside already (a signal handler interrupted it). */
bool mp_rec_enter(void);
void mp_rec_leave(void);
bool mp_rec_inside(void);
/* The state of the calling thread, bound to the running session and busy; NULL when there is no session
 * or no room for the thread (*active tells). Between enter and leave. */
struct mp_rec_thread *mp_rec_attach(bool *active);
void mp_rec_detach(struct mp_rec_thread *t);
void mp_rec_drop(struct mp_rec_thread *t, unsigned drop_kind);
void mp_rec_drop_unregistered(unsigned drop_kind);
/* An event that was refused entry; ended: it is the end of this range, which is not open any more. */
void mp_rec_lost_inside(unsigned drop_kind, const struct mindprof_range *ended);
void mp_rec_thread_rename(const char *name);
void mp_rec_drops_flush(void);
/* Cut at a character boundary. */
void mp_rec_copy_name(char to[MP_REC_NAME_BYTES], const char *name);

struct mp_rec_totals {
	uint64_t events, dropped;
	uint32_t threads;
};
struct mp_rec_totals mp_rec_threads_totals(void);
/* For start, stop and fork. */
mp_status mp_rec_threads_prepare(mp_err *err); /* table and key; idempotent */
void mp_rec_threads_begin(void);               /* a new session's counts */
/* After active was cleared: waits until no thread is inside; returns how many did not come out. */
unsigned mp_rec_threads_halt(void);
void mp_rec_threads_finish(const struct mp_rec_ring *ring); /* last THREADS entries */
bool mp_rec_threads_wiped(void);                            /* this is a child that nobody announced */
void mp_rec_threads_child(void);
/* Calls fn for each open range of each halted thread. */
typedef void (*mp_rec_open_range_fn)(void *user, uint32_t thread_index, uint32_t site, uint64_t tick);
void mp_rec_threads_open_ranges(mp_rec_open_range_fn fn, void *user);

/* ---------------------------------------------------------------- rec_slow.c */

/* An event on its way through the slow path. */
struct mp_rec_event {
	uint64_t tick; /* absolute; 0 = now */
	uint64_t a, b; /* as in struct mp_native_event32 */
	uint32_t site; /* used when no struct mindprof_site is given */
	uint32_t dur;
	enum mp_native_event_kind kind;
};
MP_COLD void mp_rec_event_slow(struct mindprof_site *site, const struct mp_rec_event *event);
MP_COLD struct mindprof_range mp_rec_range_begin_slow(struct mindprof_site *site);
MP_COLD void mp_rec_range_end_slow(const struct mindprof_range *range);
/* Generation (8 bits), thread (24 bits, from 1), number (32 bits). */
uint64_t mp_rec_async_id(struct mp_rec_thread *t);
MP_COLD uint64_t mp_rec_async_begin_slow(struct mindprof_site *site);
MP_COLD void mp_rec_count_push_lost(void);

/* --------------------------------------------------------------- rec_drain.c */

mp_status mp_rec_drain_start(struct mp_rec_ring *ring, mp_err *err);
void mp_rec_drain_stop(void);
/* A producer filled a chunk and sees n_full of them. */
void mp_rec_drain_notice(const struct mp_rec_ring *ring, int32_t n_full);
void mp_rec_drain_child(void);

/* ------------------------------------------------------------- rec_options.c */

struct mp_rec_options {
	char output[4096];
	char worker[256];
	enum mindprof_record_mode mode;
	uint64_t memory_bytes;
	int32_t rank;
	bool follow_fork;
};
/* options (may be NULL), then the environment, then defaults. */
mp_status mp_rec_options_resolve(const struct mindprof_record_options *options, struct mp_rec_options *out,
				 mp_err *err);

/* -------------------------------------------------------------- rec_output.c */

struct mp_rec_output {
	char directory[4096]; /* rank directory, absolute */
	int fd;               /* its MINDPROF directory, -1 = none */
	size_t existing;      /* that many bytes of options->output existed before; the rest was made */
};
mp_status mp_rec_output_make(const struct mp_rec_options *options, struct mp_rec_output *out, mp_err *err);
/* Removes what make and the recorder made, for a start that failed. */
void mp_rec_output_remove(const struct mp_rec_options *options, struct mp_rec_output *output);

/* ------------------------------------------------------------- rec_session.c */

extern uint32_t mp_rec_active;     /* atomic: events are taken */
extern uint32_t mp_rec_generation; /* atomic: changes with each start and stop */

mp_status mp_rec_start(const struct mindprof_record_options *options, mp_err *err);
mp_status mp_rec_stop(mp_err *err);
mp_status mp_rec_dump(mp_err *err);
int mp_rec_dump_from_signal(void);
void mp_rec_stats(struct mindprof_record_stats *stats);
size_t mp_rec_directory(char *buf, size_t size);
void mp_rec_metadata(const char *key, const char *json);
void mp_rec_process_rename(const char *name);
/* The ring of the running session, for a thread that attaches. */
struct mp_rec_ring *mp_rec_session_ring(void);
/* Library loaded and unloaded. */
void mp_rec_start_from_environment(void);
void mp_rec_stop_at_exit(void);
/* Fork. announced: through pthread_atfork, so locks and memory are in order. */
void mp_rec_session_child(bool announced);
/* A forked child that follows starts its own session at its first event. */
bool mp_rec_session_pending(void);
void mp_rec_session_start_pending(void);

/* Adds the SESSION payload (one JSON object) to buf. */
struct mp_buf;
struct mp_rec_session_facts {
	const struct mp_rec_options *options;
	const char *process_name;
	uint64_t base_tick;
	struct mp_native_clock begin;
	bool forked;
};
void mp_rec_session_json(struct mp_buf *buf, const struct mp_rec_session_facts *facts);

/* ------------------------------------------------------------- rec_process.c */

void mp_rec_process_prepare(void); /* fork handlers; idempotent, called when the library is loaded */

#endif
