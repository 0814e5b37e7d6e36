/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout of a native recording: the directory MINDPROF/ inside a rank directory. Constants and
 * packed structs only. docs/formats/native.md is the specification; sizes are asserted below.
 * All numbers are little-endian; a big-endian host does not record.
 */
#ifndef MP_FMT_NATIVE_H
#define MP_FMT_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#define MP_NATIVE_DIR "MINDPROF"
#define MP_NATIVE_SESSION_FILE "session.mpr" /* who, names, threads, clock, losses: appended, never changed */
#define MP_NATIVE_EVENTS_FILE "events.mpr"   /* sealed event segments: appended, never changed */
#define MP_NATIVE_RING_FILE "ring.mpr"       /* live chunks shared with the process; what a kill leaves behind */

#define MP_NATIVE_MAGIC "MINDPROF" /* 8 bytes, no NUL */
#define MP_NATIVE_VERSION 1u
#define MP_NATIVE_ALIGN 16u /* segments begin at multiples of this */

/* Feature bits a reader must know, else it refuses the file (none yet), and those it may ignore. */
#define MP_NATIVE_FEATURES_KNOWN 0ull

enum mp_native_file_kind { MP_NATIVE_FILE_SESSION = 1, MP_NATIVE_FILE_EVENTS = 2, MP_NATIVE_FILE_RING = 3 };

struct mp_native_file_header { /* at byte 0 of each of the three files */
	char magic[8];
	uint32_t version;
	uint32_t header_bytes; /* of this struct; later versions may be longer */
	uint32_t kind;         /* enum mp_native_file_kind */
	uint32_t pid;
	uint64_t features;          /* must be understood */
	uint64_t features_optional; /* may be ignored */
	uint8_t session_id[16];     /* random, the same in all files of one recording */
	uint32_t reserved;
	uint32_t crc; /* CRC-32C of the preceding header bytes */
};
_Static_assert(sizeof(struct mp_native_file_header) == 64, "file header");

#define MP_NATIVE_SEGMENT_MAGIC 0x4753504du /* "MPSG" */

enum mp_native_segment_kind {
	MP_NATIVE_SEG_EVENTS = 1,   /* payload: event records of one thread, in the order they were finished */
	MP_NATIVE_SEG_SESSION = 2,  /* payload: one JSON object, see docs/formats/native.md */
	MP_NATIVE_SEG_SITES = 3,    /* payload: struct mp_native_site entries */
	MP_NATIVE_SEG_THREADS = 4,  /* payload: struct mp_native_thread entries */
	MP_NATIVE_SEG_CLOCK = 5,    /* payload: struct mp_native_clock array */
	MP_NATIVE_SEG_DROPS = 6,    /* payload: struct mp_native_drop array; totals, later ones replace earlier ones */
	MP_NATIVE_SEG_METADATA = 7, /* payload: one JSON object of user metadata; later keys win */
	MP_NATIVE_SEG_END = 8,      /* payload: one JSON object; written by a clean stop and nothing follows */
};

struct mp_native_segment { /* begins each segment, and each live chunk of the ring file */
	uint32_t magic;
	uint16_t kind;          /* enum mp_native_segment_kind; unknown kinds are skipped */
	uint16_t header_bytes;  /* of this struct */
	uint32_t payload_bytes; /* used bytes after the header. In a live chunk: the commit position, stored
	                           with release order after each record */
	uint32_t segment_bytes; /* header + payload + padding to MP_NATIVE_ALIGN: distance to the next segment.
	                           In a live chunk: the size of the chunk */
	uint32_t thread_index;  /* recorder's number of the thread (events), else 0 */
	uint32_t sequence;      /* per thread and file-independent, from 0: a gap is a loss, a repeat is the same data */
	uint64_t first_tick, last_tick; /* smallest and largest tick of the records (relative, see mp_native_event) */
	uint32_t n_records;
	uint32_t dropped_before; /* events this thread lost since its previous segment; saturates */
	uint32_t flags;          /* MP_NATIVE_SEGMENT_* */
	uint32_t payload_crc;    /* CRC-32C of payload_bytes bytes; 0 in a live chunk */
	uint32_t reserved;
	uint32_t header_crc;     /* CRC-32C of the preceding header bytes; 0 in a live chunk */
};
_Static_assert(sizeof(struct mp_native_segment) == 64, "segment header");

#define MP_NATIVE_SEGMENT_DUMP 1u /* written by a flight-recorder dump, older data of the thread may be missing */

/*
 * Event records. The first 16 bytes of every record are this; the kind tells how many follow:
 * kind 0x00-0x3f none (16 bytes in all), 0x40-0x7f 16 more (32), 0x80-0xbf 32 more (48),
 * 0xc0-0xff: `dur` holds the total size in units of 16 bytes (1 or more).
 * A reader skips kinds that it does not know by that rule.
 */
struct mp_native_event {
	uint32_t site;      /* id of struct mp_native_site, 0 = none; see each kind */
	uint32_t dur;       /* ticks, or as the kind says */
	uint64_t tick_kind; /* bits 0-7 kind, bits 8-63 tick since the session's base_tick */
};
_Static_assert(sizeof(struct mp_native_event) == 16, "event record");

#define MP_NATIVE_TICK_SHIFT 8
#define MP_NATIVE_EVENT_KIND(tick_kind) ((unsigned)((tick_kind) & 0xff))
#define MP_NATIVE_EVENT_TICK(tick_kind) ((tick_kind) >> MP_NATIVE_TICK_SHIFT)

enum mp_native_event_kind {
	/* 16 bytes */
	MP_NATIVE_RANGE = 0x01, /* a finished range (or operator: the site's kind tells): tick = begin, dur = length */
	MP_NATIVE_MARK = 0x02,  /* an instant; dur = 0 */
	MP_NATIVE_STEP = 0x03,  /* step number `site` (low 32 bits) begins; dur = high 32 bits of the number */
	/* 32 bytes */
	MP_NATIVE_RANGE_LONG = 0x41, /* as RANGE; a = length in ticks, for lengths of 2^32 ticks and more; dur = 0 */
	MP_NATIVE_COUNTER = 0x42,    /* a = bits of an IEEE double */
	MP_NATIVE_FLOW_BEGIN = 0x43, /* a = flow id */
	MP_NATIVE_FLOW_STEP = 0x44,
	MP_NATIVE_FLOW_END = 0x45,
	MP_NATIVE_ASYNC_BEGIN = 0x46, /* a = range id; the range may end on another thread */
	MP_NATIVE_ASYNC_END = 0x47,   /* a = range id; site as at the begin, or 0 */
	MP_NATIVE_ALLOC = 0x48,       /* a = address, b = bytes; site = owner or pool */
	MP_NATIVE_FREE = 0x49,        /* a = address, b = bytes, 0 when not known */
	MP_NATIVE_QUEUE_PUSH = 0x4a,  /* tick = begin of the wait, dur = ticks waited (saturates),
	                                 a = items in the queue afterwards, b = capacity, 0 when unbounded */
	MP_NATIVE_QUEUE_POP = 0x4b,
};
struct mp_native_event32 {
	struct mp_native_event head;
	uint64_t a, b;
};
_Static_assert(sizeof(struct mp_native_event32) == 32, "long event record");

/* What drop counters are kept for. */
enum mp_native_drop_kind {
	MP_NATIVE_DROP_RANGE, MP_NATIVE_DROP_MARK, MP_NATIVE_DROP_STEP, MP_NATIVE_DROP_COUNTER,
	MP_NATIVE_DROP_FLOW, MP_NATIVE_DROP_ASYNC, MP_NATIVE_DROP_MEMORY, MP_NATIVE_DROP_QUEUE,
	MP_NATIVE_DROP_KINDS,
};

enum mp_native_site_kind {
	MP_NATIVE_SITE_RANGE = 1, MP_NATIVE_SITE_OPERATOR = 2, MP_NATIVE_SITE_MARK = 3, MP_NATIVE_SITE_COUNTER = 4,
	MP_NATIVE_SITE_FLOW = 5, MP_NATIVE_SITE_MEMORY = 6, MP_NATIVE_SITE_QUEUE = 7,
};

struct mp_native_site { /* followed by name, then attributes, then padding to 8 */
	uint32_t id;    /* from 1, dense, valid in all files of the recording */
	uint16_t kind;  /* enum mp_native_site_kind */
	uint16_t reserved;
	uint32_t name_bytes;
	uint32_t attributes_bytes; /* JSON object text: file, line, type, shapes, dtypes, stream, flops, unit; 0 = none */
};
_Static_assert(sizeof(struct mp_native_site) == 16, "site entry");

struct mp_native_thread { /* followed by the name, then padding to 8; later entries of an index replace earlier ones */
	uint32_t index;
	uint32_t os_tid;
	uint64_t first_tick;
	uint64_t end_tick; /* 0 = still running when written */
	uint32_t name_bytes;
	uint32_t reserved;
};
_Static_assert(sizeof(struct mp_native_thread) == 32, "thread entry");

struct mp_native_clock { /* one calibration point */
	uint64_t tick;         /* relative to base_tick */
	int64_t monotonic_ns;  /* CLOCK_MONOTONIC at that tick */
	int64_t realtime_ns;   /* CLOCK_REALTIME at that tick */
	uint32_t uncertainty_ns; /* half the width of the reading */
	uint32_t reserved;
};
_Static_assert(sizeof(struct mp_native_clock) == 32, "clock entry");

#define MP_NATIVE_THREAD_NONE 0xffffffffu /* in drop entries: all threads for which there was no slot */

struct mp_native_drop {
	uint32_t thread_index;
	uint32_t kind; /* enum mp_native_drop_kind */
	uint64_t count;
};
_Static_assert(sizeof(struct mp_native_drop) == 16, "drop entry");

/*
 * ring.mpr: file header, then this, then at slots_offset n_slots thread slots of slot_bytes each, then at
 * states_offset n_chunks uint32 chunk states, then at chunks_offset n_chunks chunks of chunk_bytes each
 * (struct mp_native_segment + records). A chunk in state FREE holds nothing that counts.
 */
struct mp_native_ring {
	uint32_t n_chunks, chunk_bytes;
	uint32_t n_slots, slot_bytes;
	uint64_t slots_offset, states_offset, chunks_offset;
	uint64_t base_tick; /* absolute tick that records count from */
	uint32_t mode;      /* 1 stream, 2 ring */
	uint32_t crc;       /* CRC-32C of the preceding bytes of this struct */
};
_Static_assert(sizeof(struct mp_native_ring) == 56, "ring header");

enum mp_native_chunk_state { MP_NATIVE_CHUNK_FREE = 0, MP_NATIVE_CHUNK_OWNED = 1, MP_NATIVE_CHUNK_FULL = 2, MP_NATIVE_CHUNK_WRITING = 3 };

#define MP_NATIVE_OPEN_RANGES 64 /* depth of unfinished ranges that a slot keeps */

struct mp_native_slot { /* a thread that is recording; index 0 = unused slot is marked by os_tid 0 */
	uint32_t thread_index;
	uint32_t os_tid;
	uint32_t depth; /* number of open ranges; only the first MP_NATIVE_OPEN_RANGES are kept */
	uint32_t reserved;
	uint64_t first_tick;
	uint64_t drops[MP_NATIVE_DROP_KINDS];
	struct { /* open ranges, outermost first */
		uint32_t site, reserved;
		uint64_t tick;
	} open[MP_NATIVE_OPEN_RANGES];
};
_Static_assert(sizeof(struct mp_native_slot) == 24 + 8 * 8 + 64 * 16, "thread slot");

#endif
