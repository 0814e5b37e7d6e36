/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording: ranges, operators, marks, counters, flows, memory, queues and steps of the calling
 * process, written to <output>/<worker>_<pid>_<UTC ms stamp>_ascend_ms/MINDPROF/ (format:
 * docs/formats/native.md). Link with -lmindprof-record.
 *
 * Cost: while nothing is recorded, one relaxed load per call; while recording, a clock read and a
 * 16-byte store, without lock, allocation or system call. Names live in static call sites, so they
 * cost nothing per event. Memory is bounded by one parameter; what does not fit is counted per
 * thread and kind and the counts are written into the data.
 *
 * The library never prints, exits, blocks the caller on input or output, or changes signals,
 * locale, directory or errno. Every function may be called from any thread at any time, also before
 * start and after stop. Functions that record an event (range, op, mark, counter, flow, memory, queue,
 * step) may be called from signal handlers; an event whose handler interrupted the recorder itself is
 * counted as lost.
 *
 * -DMINDPROF_DISABLE removes everything below from the program: no code, no data, no library needed.
 * Arguments are not evaluated then, and mindprof_record_start answers E_UNSUPPORTED.
 */
#ifndef MINDPROF_RECORD_H
#define MINDPROF_RECORD_H

#include <mindprof/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ control */

/*
 * The environment, read when the library is loaded and at each start; `mindprof record` sets it.
 * MINDPROF_RECORD=1          start recording when the library is loaded (linked or preloaded)
 * MINDPROF_STATUS_FILE       then append a line "<pid> <directory>" or "<pid> error: <text>" to this file
 * MINDPROF_OUTPUT, _WORKER, _MODE, _MEMORY, _FOLLOW_FORK, RANK_ID: defaults of the options below
 * MINDPROF_CLOCK=clock_gettime  do not use the processor's counter
 */

enum mindprof_record_mode {
	MINDPROF_RECORD_STREAM = 1, /* a background thread drains to disk */
	MINDPROF_RECORD_RING = 2    /* the newest memory_bytes are kept and written on demand or at stop */
};

/* Set size = sizeof(struct mindprof_record_options) and leave the rest 0 for the defaults. */
struct mindprof_record_options {
	size_t size;
	const char *output_path; /* NULL: environment MINDPROF_OUTPUT, else "./data" (analysis-current.md section 1) */
	const char *worker_name; /* NULL: environment MINDPROF_WORKER, else the host's name */
	enum mindprof_record_mode mode; /* 0: environment MINDPROF_MODE ("stream", "ring"), else stream */
	uint64_t memory_bytes;   /* bound of all event buffers; 0: environment MINDPROF_MEMORY (bytes, K, M, G), else
	                            64 MiB; less than 256 KiB counts as that */
	int32_t rank;            /* -1 or 0: environment RANK_ID, else 0 */
	uint32_t flags;          /* MINDPROF_RECORD_* */
};
/* A forked child records into a directory of its own, made at its first event (else it does not record).
 * Environment MINDPROF_FOLLOW_FORK=1 means the same. */
#define MINDPROF_RECORD_FOLLOW_FORK 1u

struct mindprof_record_stats {
	size_t size; /* set by the caller */
	uint64_t events;        /* recorded since start, all threads (approximate while running) */
	uint64_t dropped;       /* lost since start */
	uint64_t bytes_written; /* to disk, without what only the ring file holds */
	uint32_t threads;       /* that recorded at least one event */
	int32_t on;
};

#ifndef MINDPROF_DISABLE

/*
 * Starts recording. E_STATE when it already runs, E_IO and its kin when the directory or its files
 * cannot be made (nothing is left behind then). options may be NULL.
 */
MINDPROF_API enum mindprof_status mindprof_record_start(const struct mindprof_record_options *options,
							 struct mindprof_error *error);
/*
 * Stops, writes what is buffered, closes the files. E_STATE when not recording; E_IO when the disk took
 * not everything (the rest is kept in the ring file, readable like the rest). Threads may record
 * meanwhile; ranges that are open are listed as such.
 */
MINDPROF_API enum mindprof_status mindprof_record_stop(struct mindprof_error *error);
/* Writes what the buffers hold now to the files and goes on (ring mode: the flight recorder's dump). */
MINDPROF_API enum mindprof_status mindprof_record_dump(struct mindprof_error *error);
/* The same from a signal handler: async-signal-safe, never waits, returns 0 or -1. */
MINDPROF_API int mindprof_record_dump_from_signal(void);
/* Copies the rank directory of the current (or last) recording; returns its length, 0 if none. */
MINDPROF_API size_t mindprof_record_directory(char *buf, size_t size);

/* The numbers of the current, else of the last recording. */
MINDPROF_API void mindprof_record_get_stats(struct mindprof_record_stats *stats);

/* Not 0 while recording. Read through mindprof_record_is_on(). */
MINDPROF_API extern int mindprof_recording_;

#endif

/* -------------------------------------------------------------- call sites */

enum mindprof_site_kind {
	MINDPROF_SITE_RANGE = 1,
	MINDPROF_SITE_OPERATOR = 2,
	MINDPROF_SITE_MARK = 3,
	MINDPROF_SITE_COUNTER = 4,
	MINDPROF_SITE_FLOW = 5,
	MINDPROF_SITE_MEMORY = 6,
	MINDPROF_SITE_QUEUE = 7
};

/*
 * A named place of the program. Static and zero but for name, kind, file, line; id is filled in at
 * first use and stays for the life of the process. name and attributes are copied at first use.
 */
struct mindprof_site {
	const char *name;       /* any bytes; invalid UTF-8 is replaced when a trace is written */
	const char *attributes; /* JSON object text or NULL, e.g. {"unit":"MB"} */
	const char *file;       /* or NULL */
	uint32_t line;
	uint32_t kind; /* enum mindprof_site_kind */
	uint32_t id;   /* 0 until first use; owned by the library */
};

#ifndef MINDPROF_DISABLE
/*
 * Sites for names that are only known at run time: looked up by (kind, name, attributes), made once,
 * owned by the library for the life of the process. Costs a hash look-up under a lock: keep the
 * result. Never NULL: when memory or the bound of a million sites and 64 MiB of text is exhausted, a
 * shared site named "(out of names)". attributes as in struct mindprof_site; a text that is no JSON
 * object is kept as {"text": "..."}.
 */
MINDPROF_API struct mindprof_site *mindprof_site_get(enum mindprof_site_kind kind, const char *name,
						     const char *attributes);
#endif

/* An operator: what it is and what it works on. Zero or NULL = not known. */
struct mindprof_op {
	size_t size;        /* sizeof(struct mindprof_op) */
	const char *name;   /* full name, "Default/network/fc-Dense/MatMul-op0" */
	const char *type;   /* "MatMul" */
	const char *shapes; /* "2,3;3,4": dims joined by ',', tensors by ';' (raw-host.md section 1.8) */
	const char *dtypes; /* "Float32;Float32" */
	const char *device; /* "CPU", "GPU", ... */
	int64_t stream;     /* -1 = none */
	double flops;       /* per execution */
};
#ifndef MINDPROF_DISABLE
/* As mindprof_site_get, for an operator. */
MINDPROF_API struct mindprof_site *mindprof_op_site(const struct mindprof_op *op);
#endif

/* ------------------------------------------------- functions behind the macros */

/* An open range of this thread; lives on the caller's stack. start_tick 0 = nothing is recorded, or
 * the range has ended. */
struct mindprof_range {
	uint64_t start_tick;
	uint32_t site_id;
	uint32_t depth;
};

#ifndef MINDPROF_DISABLE

MINDPROF_API struct mindprof_range mindprof_range_begin_(struct mindprof_site *site);
MINDPROF_API void mindprof_range_end_(struct mindprof_range *range);
MINDPROF_API void mindprof_range_push_(struct mindprof_site *site);
MINDPROF_API void mindprof_range_pop_(void);
MINDPROF_API uint64_t mindprof_range_start_(struct mindprof_site *site);
MINDPROF_API void mindprof_range_stop_(uint64_t id);
MINDPROF_API void mindprof_mark_(struct mindprof_site *site);
MINDPROF_API void mindprof_counter_(struct mindprof_site *site, double value);
MINDPROF_API void mindprof_flow_(struct mindprof_site *site, uint64_t id, int phase);
MINDPROF_API void mindprof_memory_alloc_(struct mindprof_site *site, const void *address, uint64_t bytes);
MINDPROF_API void mindprof_memory_free_(struct mindprof_site *site, const void *address, uint64_t bytes);
MINDPROF_API uint64_t mindprof_now_(void);
MINDPROF_API void mindprof_queue_(struct mindprof_site *site, int pop, uint64_t wait_began, uint64_t depth,
				  uint64_t capacity);
MINDPROF_API void mindprof_step_(uint64_t number);
MINDPROF_API void mindprof_thread_name_(const char *name);
MINDPROF_API void mindprof_process_name_(const char *name);
MINDPROF_API void mindprof_metadata_(const char *key, const char *json);

#define MINDPROF_ON_() (__atomic_load_n(&mindprof_recording_, __ATOMIC_RELAXED) != 0)
#define MINDPROF_LIKELY_OFF_(on) __builtin_expect(!!(on), 0)

static inline int mindprof_record_is_on(void)
{
	return MINDPROF_ON_();
}

/* begin/end for shapes that the scope macro does not fit; a range ends on the thread that began it. */
static inline struct mindprof_range mindprof_range_begin(struct mindprof_site *site)
{
	struct mindprof_range none = {0, 0, 0};

	return MINDPROF_LIKELY_OFF_(MINDPROF_ON_()) ? mindprof_range_begin_(site) : none;
}
static inline void mindprof_range_end(struct mindprof_range *range)
{
	if (MINDPROF_LIKELY_OFF_(range->start_tick))
		mindprof_range_end_(range);
}
/* A stack kept by the library, per thread, 256 levels; a pop without push does nothing. */
static inline void mindprof_range_push(struct mindprof_site *site)
{
	if (MINDPROF_LIKELY_OFF_(MINDPROF_ON_()))
		mindprof_range_push_(site);
}
static inline void mindprof_range_pop(void)
{
	if (MINDPROF_LIKELY_OFF_(MINDPROF_ON_()))
		mindprof_range_pop_();
}
/* A range that may end on another thread; id 0 (nothing recorded) is accepted by stop. */
static inline uint64_t mindprof_range_start(struct mindprof_site *site)
{
	return MINDPROF_LIKELY_OFF_(MINDPROF_ON_()) ? mindprof_range_start_(site) : 0;
}
static inline void mindprof_range_stop(uint64_t id)
{
	if (MINDPROF_LIKELY_OFF_(id != 0))
		mindprof_range_stop_(id);
}
/* An operator's execution: a range at a site from mindprof_op_site. */
static inline struct mindprof_range mindprof_op_begin(struct mindprof_site *site)
{
	return mindprof_range_begin(site);
}
static inline void mindprof_op_end(struct mindprof_range *range)
{
	mindprof_range_end(range);
}
static inline void mindprof_mark(struct mindprof_site *site)
{
	if (MINDPROF_LIKELY_OFF_(MINDPROF_ON_()))
		mindprof_mark_(site);
}
static inline void mindprof_counter(struct mindprof_site *site, double value)
{
	if (MINDPROF_LIKELY_OFF_(MINDPROF_ON_()))
		mindprof_counter_(site, value);
}
/* An arrow between ranges: begin and end with the same id, each called inside the range it belongs to. */
static inline void mindprof_flow_begin(struct mindprof_site *site, uint64_t id)
{
	if (MINDPROF_LIKELY_OFF_(MINDPROF_ON_()))
		mindprof_flow_(site, id, 0);
}
static inline void mindprof_flow_step(struct mindprof_site *site, uint64_t id)
{
	if (MINDPROF_LIKELY_OFF_(MINDPROF_ON_()))
		mindprof_flow_(site, id, 1);
}
static inline void mindprof_flow_end(struct mindprof_site *site, uint64_t id)
{
	if (MINDPROF_LIKELY_OFF_(MINDPROF_ON_()))
		mindprof_flow_(site, id, 2);
}
static inline void mindprof_memory_alloc(struct mindprof_site *site, const void *address, uint64_t bytes)
{
	if (MINDPROF_LIKELY_OFF_(MINDPROF_ON_()))
		mindprof_memory_alloc_(site, address, bytes);
}
/* bytes may be 0 when not known: the reader takes them from the allocation. */
static inline void mindprof_memory_free(struct mindprof_site *site, const void *address, uint64_t bytes)
{
	if (MINDPROF_LIKELY_OFF_(MINDPROF_ON_()))
		mindprof_memory_free_(site, address, bytes);
}
/* The recorder's clock, 0 when off: take it before waiting for a queue. */
static inline uint64_t mindprof_now(void)
{
	return MINDPROF_LIKELY_OFF_(MINDPROF_ON_()) ? mindprof_now_() : 0;
}
/*
 * One item went in or out. wait_began: mindprof_now() before the caller asked (the time until now
 * is its waiting time), 0 = did not wait; depth: items in the queue afterwards; capacity 0 = unbounded.
 */
static inline void mindprof_queue_push(struct mindprof_site *site, uint64_t wait_began, uint64_t depth,
				       uint64_t capacity)
{
	if (MINDPROF_LIKELY_OFF_(MINDPROF_ON_()))
		mindprof_queue_(site, 0, wait_began, depth, capacity);
}
static inline void mindprof_queue_pop(struct mindprof_site *site, uint64_t wait_began, uint64_t depth,
				      uint64_t capacity)
{
	if (MINDPROF_LIKELY_OFF_(MINDPROF_ON_()))
		mindprof_queue_(site, 1, wait_began, depth, capacity);
}
/* Step `number` begins (the previous one ends here, the last one at stop). */
static inline void mindprof_step(uint64_t number)
{
	if (MINDPROF_LIKELY_OFF_(MINDPROF_ON_()))
		mindprof_step_(number);
}
/* Names shown for the calling thread and the process, at most 127 bytes; kept for recordings that start
 * later, too. */
static inline void mindprof_thread_name(const char *name)
{
	mindprof_thread_name_(name);
}
static inline void mindprof_process_name(const char *name)
{
	mindprof_process_name_(name);
}
/* Key and JSON value (text of one valid value; other text becomes a string) written into the running
 * recording, if there is one; the last value of a key counts. */
static inline void mindprof_metadata(const char *key, const char *json)
{
	mindprof_metadata_(key, json);
}

#define MINDPROF_SITE_(kind_, name_)                                                        \
	(__extension__({                                                                    \
		static struct mindprof_site mindprof_site_ = {name_, NULL, __FILE__,        \
							      (uint32_t)__LINE__, kind_, 0};\
		&mindprof_site_;                                                            \
	}))

#define MINDPROF_PASTE2_(a, b) a##b
#define MINDPROF_PASTE_(a, b) MINDPROF_PASTE2_(a, b)
#define MINDPROF_RANGE_NAMED_(variable_, name_)                                                   \
	for (struct mindprof_range variable_ __attribute__((cleanup(mindprof_range_end))) =       \
		     mindprof_range_begin(MINDPROF_SITE_(MINDPROF_SITE_RANGE, name_)),            \
		     *MINDPROF_PASTE_(variable_, _once) = &variable_;                             \
	     MINDPROF_PASTE_(variable_, _once); MINDPROF_PASTE_(variable_, _once) = NULL)

/*
 * MINDPROF_RANGE("name") { ... }: the block is a range, however it is left. It is a loop that runs once, so
 * break and continue leave the block, not a loop around it.
 */
#define MINDPROF_RANGE(name_) MINDPROF_RANGE_NAMED_(MINDPROF_PASTE_(mindprof_range_, __LINE__), name_)
/* MINDPROF_SCOPE("name"); the rest of the enclosing block is a range. */
#define MINDPROF_SCOPE(name_)                                                                     \
	struct mindprof_range MINDPROF_PASTE_(mindprof_scope_, __LINE__)                          \
		__attribute__((cleanup(mindprof_range_end), unused)) =                            \
			mindprof_range_begin(MINDPROF_SITE_(MINDPROF_SITE_RANGE, name_))
#define MINDPROF_PUSH(name_) mindprof_range_push(MINDPROF_SITE_(MINDPROF_SITE_RANGE, name_))
#define MINDPROF_POP() mindprof_range_pop()
#define MINDPROF_MARK(name_) mindprof_mark(MINDPROF_SITE_(MINDPROF_SITE_MARK, name_))
#define MINDPROF_COUNTER(name_, value_) mindprof_counter(MINDPROF_SITE_(MINDPROF_SITE_COUNTER, name_), value_)
/* A site to keep: struct mindprof_site *s = MINDPROF_SITE(MINDPROF_SITE_QUEUE, "batches"); */
#define MINDPROF_SITE(kind_, name_) MINDPROF_SITE_(kind_, name_)

#else /* MINDPROF_DISABLE: no code at all; arguments are looked at by the compiler, never evaluated */

#define MINDPROF_NOT_(arguments_as_void, result) (0 ? (arguments_as_void, result) : result)

static inline enum mindprof_status mindprof_no_recording_(struct mindprof_error *error)
{
	if (error) {
		error->status = MINDPROF_E_UNSUPPORTED;
		error->n_causes = 0;
	}
	return MINDPROF_E_UNSUPPORTED;
}
static inline struct mindprof_range mindprof_no_range_(void)
{
	struct mindprof_range none = {0, 0, 0};

	return none;
}
static inline void mindprof_record_get_stats(struct mindprof_record_stats *stats)
{
	size_t i;

	for (i = sizeof(stats->size); i < stats->size && i < sizeof(*stats); i++)
		((char *)stats)[i] = 0;
}
static inline size_t mindprof_record_directory(char *buf, size_t size)
{
	if (size)
		buf[0] = '\0';
	return 0;
}
static inline int mindprof_record_is_on(void)
{
	return 0;
}
static inline void mindprof_range_end(struct mindprof_range *range)
{
	(void)range;
}

#define mindprof_record_start(options, error) \
	MINDPROF_NOT_((void)(options), mindprof_no_recording_(error))
#define mindprof_record_stop(error) mindprof_no_recording_(error)
#define mindprof_record_dump(error) mindprof_no_recording_(error)
#define mindprof_record_dump_from_signal() (-1)
#define mindprof_site_get(kind, name, attributes) \
	MINDPROF_NOT_(((void)(kind), (void)(name), (void)(attributes)), (struct mindprof_site *)NULL)
#define mindprof_op_site(op) MINDPROF_NOT_((void)(op), (struct mindprof_site *)NULL)
#define mindprof_range_begin(site) MINDPROF_NOT_((void)(site), mindprof_no_range_())
#define mindprof_range_push(site) MINDPROF_NOT_((void)(site), (void)0)
#define mindprof_range_pop() ((void)0)
#define mindprof_range_start(site) MINDPROF_NOT_((void)(site), (uint64_t)0)
#define mindprof_range_stop(id) MINDPROF_NOT_((void)(id), (void)0)
#define mindprof_op_begin(site) MINDPROF_NOT_((void)(site), mindprof_no_range_())
#define mindprof_op_end(range) mindprof_range_end(range)
#define mindprof_mark(site) MINDPROF_NOT_((void)(site), (void)0)
#define mindprof_counter(site, value) MINDPROF_NOT_(((void)(site), (void)(value)), (void)0)
#define mindprof_flow_begin(site, id) MINDPROF_NOT_(((void)(site), (void)(id)), (void)0)
#define mindprof_flow_step(site, id) MINDPROF_NOT_(((void)(site), (void)(id)), (void)0)
#define mindprof_flow_end(site, id) MINDPROF_NOT_(((void)(site), (void)(id)), (void)0)
#define mindprof_memory_alloc(site, address, bytes) \
	MINDPROF_NOT_(((void)(site), (void)(address), (void)(bytes)), (void)0)
#define mindprof_memory_free(site, address, bytes) \
	MINDPROF_NOT_(((void)(site), (void)(address), (void)(bytes)), (void)0)
#define mindprof_now() ((uint64_t)0)
#define mindprof_queue_push(site, wait_began, depth, capacity) \
	MINDPROF_NOT_(((void)(site), (void)(wait_began), (void)(depth), (void)(capacity)), (void)0)
#define mindprof_queue_pop(site, wait_began, depth, capacity) \
	MINDPROF_NOT_(((void)(site), (void)(wait_began), (void)(depth), (void)(capacity)), (void)0)
#define mindprof_step(number) MINDPROF_NOT_((void)(number), (void)0)
#define mindprof_thread_name(name) MINDPROF_NOT_((void)(name), (void)0)
#define mindprof_process_name(name) MINDPROF_NOT_((void)(name), (void)0)
#define mindprof_metadata(key, json) MINDPROF_NOT_(((void)(key), (void)(json)), (void)0)
#define MINDPROF_PASTE2_(a, b) a##b
#define MINDPROF_PASTE_(a, b) MINDPROF_PASTE2_(a, b)
/* A loop here, too, so that break and continue mean the same. */
#define MINDPROF_RANGE(name_)                                                                 \
	for (int MINDPROF_PASTE_(mindprof_once_, __LINE__) = 1;                               \
	     MINDPROF_PASTE_(mindprof_once_, __LINE__); MINDPROF_PASTE_(mindprof_once_, __LINE__) = 0)
#define MINDPROF_SCOPE(name_) ((void)0)
#define MINDPROF_PUSH(name_) ((void)0)
#define MINDPROF_POP() ((void)0)
#define MINDPROF_MARK(name_) ((void)0)
#define MINDPROF_COUNTER(name_, value_) MINDPROF_NOT_((void)(value_), (void)0)
#define MINDPROF_SITE(kind_, name_) ((struct mindprof_site *)NULL)

#endif /* MINDPROF_DISABLE */

#ifdef __cplusplus
}
#endif

#endif
