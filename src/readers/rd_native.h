/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the reader of native recordings: session, walk over segments, ring file, decoding,
 * ranges across threads (docs/formats/native.md).
 */
#ifndef MP_RD_NATIVE_H
#define MP_RD_NATIVE_H

#include <pthread.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/fmt_native.h"
#include "readers/readers.h"
#include "store/st_clock.h"

/* ---- faults, counted per file ---- */

enum native_fault {
	NATIVE_BAD_SEGMENT, NATIVE_BAD_PAYLOAD, NATIVE_CUT, NATIVE_BAD_ENTRY, NATIVE_BAD_RECORD, NATIVE_UNKNOWN_SITE,
	NATIVE_UNKNOWN_THREAD, NATIVE_LOST_END, NATIVE_SAME_ID, NATIVE_FAULTS,
};
extern const struct mp_fault_kind native_fault_kinds[NATIVE_FAULTS];

/* ---- walking ---- */

/* Opens a file of the recording and checks its header. E_FORMAT, E_UNSUPPORTED (version, features). */
mp_status native_file_open(const struct mp_dir *dir, const char *name, enum mp_native_file_kind kind,
			   struct mp_file *file, struct mp_native_file_header *header, mp_err *err);

struct native_walk {
	const struct mp_file *file;
	uint64_t at;              /* offset of the next segment */
	uint64_t forgotten;       /* pages before it were given back */
	struct mp_fault *faults;  /* NATIVE_FAULTS of them */
};
/* The next segment with a sound header that lies in the file as a whole; false at the end. Its payload is at
 * *payload and not checked. Damage is counted, and the walk goes on at the next sound header. */
bool native_walk_next(struct native_walk *walk, struct mp_native_segment *segment, uint64_t *payload);
/* The sum of a segment's payload is right. */
bool native_payload_is_sound(const struct mp_file *file, const struct mp_native_segment *segment, uint64_t payload);

/* ---- session ---- */

struct native_site {
	uint32_t name, detail; /* string id, detail id */
	uint8_t kind;          /* enum mp_native_site_kind; 0 = not known */
	uint8_t cls;           /* enum mp_class of its ranges */
};

struct native_thread {
	uint32_t index, os_tid;
	uint32_t name;  /* string id */
	uint32_t track; /* index in the store, UINT32_MAX until made */
};

struct native_open_range {
	uint32_t thread_index, site;
	uint64_t tick;
};

/* A piece of event data to decode. */
struct native_piece {
	const struct mp_file *file;
	uint64_t payload;  /* offset of the first record to decode */
	uint32_t bytes;    /* to decode */
	uint32_t whole_bytes; /* of the segment's payload, what lies before `payload` included */
	uint32_t n_records; /* as the header says; 0 = not known */
	uint32_t crc;       /* of the whole payload; meaningful when sealed */
	uint32_t thread_index, sequence;
	uint32_t track;
	bool sealed;       /* of events.mpr; else a chunk of ring.mpr, which may change while it is read */
	uint64_t chunk_at; /* of its header */
};

enum { NATIVE_IN_SESSION, NATIVE_IN_EVENTS, NATIVE_IN_RING, NATIVE_FILES };

struct native_worker { /* of one thread of the pool */
	struct mp_appender *appender;
	uint64_t last_tick; /* largest end seen */
	uint64_t n_records, n_lost;
	size_t clock_cursor;
	struct mp_buf copy; /* of a chunk */
	struct mp_fault faults[NATIVE_FILES][NATIVE_FAULTS];
};

struct native_async; /* begun ranges that wait for their end; rd_native_async.c */

struct native {
	struct mp_store *store; /* borrowed */
	struct mp_file files[NATIVE_FILES]; /* owned */
	bool have[NATIVE_FILES];
	bool unborn[NATIVE_FILES]; /* absent or without its header: killed while it started, if not ended */
	uint8_t session_id[16];
	struct mp_fault faults[NATIVE_FILES][NATIVE_FAULTS];

	/* from the session file */
	MP_VEC(struct native_site) sites; /* by id; [0] stands for unknown ones */
	MP_VEC(struct native_thread) threads;
	struct mp_map64 thread_of_index;  /* -> position in threads */
	MP_VEC(struct mp_native_clock) clock_points;
	struct mp_map64 drops;            /* thread << 8 | kind -> count */
	MP_VEC(uint64_t) drop_keys;       /* in order of appearance */
	MP_VEC(struct native_open_range) open_ranges;
	double clock_hz;
	int64_t pid;
	int32_t rank;
	uint32_t ring_mode; /* 1: only the newest part is kept */
	uint32_t header_pid;
	bool ended;         /* a clean stop */
	bool complete;      /* and everything is in events.mpr */
	uint64_t end_tick;  /* of the END segment */

	/* event data */
	MP_VEC(struct native_piece) pieces;
	struct mp_map64 piece_of_sequence; /* thread << 32 | sequence -> position in pieces */
	MP_VEC(size_t) batches;            /* first piece of each task, the last one ends it */

	uint32_t process;
	struct mp_clock clock;
	struct native_async *async;
	struct native_worker *workers;
	unsigned n_workers;
};

/* Reads session.mpr. False when memory is out. */
bool native_session_read(struct native *in);
/* Finds or makes the thread of an index, without name. NULL when memory is out. */
struct native_thread *native_thread_get(struct native *in, uint32_t index, uint32_t os_tid);
bool native_drops_set(struct native *in, uint32_t thread_index, uint32_t kind, uint64_t count, bool larger_only);

/* Adds the segments of events.mpr, then the chunks of ring.mpr that hold more. False when memory is out. */
bool native_events_list(struct native *in);
bool native_ring_list(struct native *in);
/* Adds a piece, or what it holds beyond the piece that is there already. */
bool native_piece_add(struct native *in, const struct native_piece *piece);

/* Decodes batch `index` (mp_pool_fn; user is the struct native). */
mp_status native_decode(void *user, size_t index, unsigned worker, mp_err *err);

/* ---- ranges across threads ---- */

mp_status native_async_new(struct native_async **out, mp_err *err);
void native_async_free(struct native_async *async);
struct native_async_half {
	uint64_t id, tick;
	uint32_t site; /* 0 = as at the other half */
	uint32_t track; /* of the thread */
	bool is_end;
};
/* Pairs a half with its other half if that was seen: *other is it then and true is returned in *paired. False when
 * memory is out. A second half of the same kind replaces the first and counts as NATIVE_SAME_ID in *replaced. */
bool native_async_put(struct native_async *async, const struct native_async_half *half,
		      struct native_async_half *other, bool *paired, bool *replaced);
/* Goes over what is left; at starts at 0. False at the end. */
bool native_async_next(const struct native_async *async, size_t *at, struct native_async_half *out);
/* The track of ranges of this site that may end on another thread. UINT32_MAX when memory is out. */
uint32_t native_async_track(struct native *in, uint32_t site);

#endif
