/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the reader of Chrome trace event JSON; included by src/readers/rd_chrome*.c only.
 *
 *	scan    cut the event array into pieces, exactly, in parallel (rd_chrome_scan.c)
 *	decode  text of one event -> spans and numbers, in place (rd_chrome_decode.c)
 *	lanes   pid and tid -> tracks; metadata events (rd_chrome_lanes.c)
 *	texts   names, categories and args -> ids, through caches (rd_chrome_texts.c)
 *	sink    decoded events -> the store (rd_chrome_sink.c)
 *	pairs   B/E, b/e, S/F and flow ends without bp, when all events are known (rd_chrome_pairs.c)
 *
 * docs/formats/chrome-json.md specifies what becomes of each event.
 */
#ifndef MP_RD_CHROME_H
#define MP_RD_CHROME_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "readers/readers.h"

/* A part of the input, in place. */
struct chrome_text {
	const char *at;
	size_t len;
	uint8_t flags; /* CHROME_* below */
};
#define CHROME_STRING 1u    /* stood in quotes, which are not part of it */
#define CHROME_ESCAPED 2u   /* holds a backslash */
#define CHROME_HIGH 4u      /* holds bytes from 0x80 */
#define CHROME_CONTROL 8u   /* holds bytes below 0x20 */
#define CHROME_CONTAINER 16u /* an object or array, brackets included */

/* ---- scan ---- */

#define CHROME_PIECE_BYTES ((size_t)256 * 1024)

struct chrome_piece {
	size_t begin, end;   /* bytes of the input that were scanned */
	size_t first, stop;  /* events that begin in [first, stop) belong to the piece; equal: none */
	/* What the bytes do to the state, when they begin outside [0] and inside [1] of a string. */
	int64_t depth[2], lowest[2];
	bool flips; /* an odd number of quotes */
};

/* The events of an array whose bracket stands before begin. */
struct chrome_array {
	const char *text;
	size_t size;
	size_t begin;        /* first byte after the bracket */
	size_t end;          /* place of the closing bracket; size when there is none */
	bool closed;
	struct chrome_piece *pieces; /* owned */
	size_t n_pieces;
};
mp_status chrome_scan(struct mp_ctx *ctx, struct chrome_array *array, mp_err *err);

/* ---- decode ---- */

/* Members of an event, as bits of `has`. */
enum chrome_member {
	CHROME_TS, CHROME_DUR, CHROME_PID, CHROME_TID, /* numbers */
	CHROME_PH, CHROME_NAME, CHROME_CAT, CHROME_ARGS, CHROME_ID, CHROME_ID2, CHROME_SCOPE, CHROME_BP, CHROME_S,
	CHROME_WAIT, CHROME_CAPACITY,
	CHROME_MEMBERS, /* any other */
};
#define CHROME_HAS(event, member) (((event)->has >> (member)) & 1u)
#define CHROME_PARSED(event, member) (((event)->parsed >> (member)) & 1u)

struct chrome_event {
	uint32_t has, parsed;
	char phase;         /* first byte of ph, 0 = none */
	int64_t number[4];  /* ns, ns, pid, tid: valid where `parsed`, else the text has to be looked at */
	struct chrome_text member[CHROME_MEMBERS + 1]; /* not set for what is parsed, and for ph of one byte */
};

/* Up to 16 bytes to compare with; len 0 = nothing. */
struct chrome_pattern {
	uint64_t word[2], mask[2];
	uint8_t len;
};

/* What the last event had at this place: writers repeat their keys in one order, and many of their values. */
struct chrome_key {
	struct chrome_pattern link;  /* what leads to the value: comma, key, colon and the space between */
	struct chrome_pattern value; /* with the byte behind it */
	uint8_t member;              /* enum chrome_member */
	uint32_t bit;                /* of it */
	int64_t number;              /* of the value, when it is a number */
	struct chrome_text text;     /* the value, else */
};
struct chrome_keys {
	struct chrome_key at[12];
	/* The last event's text up to the value of ts, when only values that repeat stand before it. */
	const char *head;  /* NULL = none */
	size_t head_len;
	unsigned head_n;   /* members in it, ts included */
	uint32_t head_has, head_parsed;
	char head_phase;
	int64_t head_number[4];
	struct chrome_text head_category;
};
/* Decodes the object at `at`; the byte after it, or NULL with the place of the fault: end when the text runs out. */
const char *chrome_decode(const char *at, const char *end, struct chrome_event *event, struct chrome_keys *keys,
			  const char **fault);
/* One member of an object: *at is behind its brace or behind the last member. False at the end or a fault (*at NULL). */
bool chrome_next_member(const char **at, const char *end, struct chrome_text *key, struct chrome_text *value);
const char *chrome_skip_space(const char *at, const char *end);
/* Microseconds as a number or string -> ns, exact; false when it is none or too large. */
bool chrome_time(const struct chrome_text *text, int64_t *ns);
/* A whole number, plain or in quotes. */
bool chrome_integer(const struct chrome_text *text, int64_t *value);
static inline bool chrome_is(const struct chrome_text *text, const char *word)
{
	size_t len = strlen(word);

	return text->len == len && !memcmp(text->at, word, len);
}
/* Where decoding goes on after a fault: the next object with a phase; NULL when there is none. Failed tries use up
 * the budget of bytes. */
const char *chrome_resync(const char *begin, const char *at, const char *end, size_t *budget);

/* ---- faults ---- */

enum chrome_fault {
	CHROME_BAD_EVENT, CHROME_NO_TIME, CHROME_BAD_DURATION, CHROME_NO_DURATION, CHROME_NO_PHASE, CHROME_BAD_ARGS, CHROME_BAD_UTF8,
	CHROME_BAD_CONTROL, CHROME_BAD_VALUE, CHROME_IGNORED, CHROME_NO_BEGIN, CHROME_NO_END, CHROME_CUT,
	CHROME_UNCLOSED, CHROME_TRAILING, CHROME_ARGS_NOT_KEPT, CHROME_DAMAGED, CHROME_FAULTS,
};
extern const struct mp_fault_kind chrome_fault_kinds[CHROME_FAULTS];

/* ---- lanes ---- */

/* Chrome keeps counters and asynchronous events beside the threads: tracks of other kinds with the same tid. */
enum chrome_rows { CHROME_THREADS, CHROME_COUNTERS, CHROME_ASYNC };

struct chrome_process {
	int64_t pid;
	int32_t rank, sort_index;
	uint32_t name, labels; /* string ids */
	uint32_t index;        /* in the store; UINT32_MAX = not there yet */
};

struct chrome_lane {
	int64_t pid, tid;
	uint8_t rows;       /* enum chrome_rows */
	uint8_t kind;       /* enum mp_track_kind, valid when has_kind */
	bool has_kind, has_own_tid, has_lane_of, is_steps;
	int64_t own_tid, lane_of, stream;
	int32_t sort_index;
	uint32_t name;
	uint32_t track;     /* in the store; UINT32_MAX = not there yet */
};

/* Shared by all workers, under its lock. */
struct chrome_lanes {
	pthread_mutex_t lock;
	struct mp_store *store;
	int32_t rank; /* of all processes that do not tell theirs, -1 = not known */
	MP_VEC(struct chrome_process) processes;
	MP_VEC(struct chrome_lane) lanes;
	MP_VEC(uint32_t) words; /* pids and tids that are no numbers, string ids; the place gives the number */
	struct mp_map64 process_at, lane_at, word_at;
};

/* ---- texts ---- */

struct chrome_name {
	const char *at; /* raw text in the input; NULL = unused */
	size_t len;
	uint32_t id;
	uint8_t flags;   /* CHROME_NAME_* */
	int64_t step;    /* of ProfilerStep#N */
};
#define CHROME_NAME_BAD_UTF8 1u
#define CHROME_NAME_CONTROL 2u
#define CHROME_NAME_COMMUNICATION 4u
#define CHROME_NAME_STEP 8u
#define CHROME_NAME_MEMORY 16u

struct chrome_category {
	const char *at;
	size_t len;
	uint32_t id;
	uint8_t cls;     /* enum mp_class; CHROME_CLASS_UNKNOWN */
	uint8_t flags;   /* CHROME_NAME_BAD_UTF8, _CONTROL */
	bool is_device;  /* happens on a device */
};
#define CHROME_CLASS_UNKNOWN 0xffu

struct chrome_detail {
	const char *args; /* raw text; NULL = unused */
	size_t len;
	uint32_t category;
	uint32_t id;
	uint8_t cls; /* from the hint; CHROME_CLASS_UNKNOWN */
};

#define CHROME_NAMES 4096u
#define CHROME_CATEGORIES 64u
#define CHROME_DETAILS 4096u
#define CHROME_LANES 256u

/* ---- workers ---- */

/* Half of a range that is told by two events. */
struct chrome_half {
	/* What both halves have in common; B/E: the track only. */
	uint32_t track, category, id, scope, name_key;
	int64_t pid; /* of an id that is local to its process, else 0 */
	/* The half. */
	int64_t ts_ns;
	size_t offset; /* in the input: order of equal times */
	uint32_t lane; /* track of the range */
	uint32_t name, detail;
	uint8_t cls;
	bool is_end;
};
typedef MP_VEC(struct chrome_half) chrome_halves;

/* End of a flow that is bound to the next range that begins. */
struct chrome_flow_end {
	int64_t ts_ns, bound_ns;
	uint64_t id;
	uint32_t track, name;
};
typedef MP_VEC(struct chrome_flow_end) chrome_flow_ends;

/* Everything that the workers share. */
struct chrome_read {
	struct mp_ctx *ctx;
	struct mp_store *store;
	struct chrome_array array;
	struct chrome_lanes lanes;
	bool is_own;          /* written by us: hints count */
	int64_t base_ns;      /* that all ts count from */
	size_t args_budget;   /* bytes that args may take in the store */
	_Atomic size_t args_bytes;
	chrome_flow_ends flow_ends; /* of all workers, sorted by (track, ts) while binding */
};

enum chrome_mode { CHROME_METADATA, CHROME_EVENTS, CHROME_BEGINS };

struct chrome_worker {
	struct chrome_read *read; /* borrowed, as store */
	struct mp_store *store;
	struct mp_appender *appender;
	enum chrome_mode mode;
	struct chrome_keys keys;
	mp_status failed;
	bool saw_metadata; /* in the current piece */
	bool saw_end; /* the bracket that closes the array, when the scan did not find it */
	struct mp_fault faults[CHROME_FAULTS];
	int64_t end_ns; /* of all events seen; INT64_MIN = none */
	chrome_halves calls;  /* B and E */
	chrome_halves async;  /* b, e, S, F */
	chrome_flow_ends flow_ends;
	int64_t *bound_ns;    /* owned; per shared flow end, INT64_MAX = not found */
	struct chrome_lane last_lane;
	struct chrome_lane lane_cache[CHROME_LANES];
	struct chrome_name names[CHROME_NAMES];
	struct chrome_category categories[CHROME_CATEGORIES];
	const struct chrome_category *last_category; /* NULL = none yet */
	struct chrome_detail details[CHROME_DETAILS];
	struct mp_buf text, rest; /* decoded text; args that are not known fields */
};

static inline void chrome_fault(struct chrome_worker *worker, enum chrome_fault fault, const char *at)
{
	mp_fault_add(&worker->faults[fault], at - worker->read->array.text, 1);
}

/* lanes */
mp_status chrome_lanes_init(struct chrome_lanes *lanes, struct mp_store *store, mp_err *err);
void chrome_lanes_release(struct chrome_lanes *lanes);
/* Makes the processes and tracks that metadata events announced. False when memory is out. */
bool chrome_lanes_create(struct chrome_lanes *lanes);
/* The track of an event; NULL when memory is out. on_device: a new one is a stream. */
const struct chrome_lane *chrome_lane_of(struct chrome_worker *worker, const struct chrome_event *event,
					 enum chrome_rows rows, bool on_device);
/* The track of a tid of the same process. */
uint32_t chrome_track_of_tid(struct chrome_worker *worker, const struct chrome_event *event, int64_t tid);
void chrome_metadata(struct chrome_worker *worker, const struct chrome_event *event);

/* texts */
const struct chrome_name *chrome_name_of(struct chrome_worker *worker, const struct chrome_text *text);
const struct chrome_category *chrome_find_category(struct chrome_worker *worker, const struct chrome_text *text);
/* A repeated category is the same copy of the text. */
static inline const struct chrome_category *chrome_category_of(struct chrome_worker *worker,
							       const struct chrome_text *text)
{
	const struct chrome_category *last = worker->last_category;

	if (last && last->at == text->at && last->len == text->len)
		return last;
	return chrome_find_category(worker, text);
}
const struct chrome_detail *chrome_detail_of(struct chrome_worker *worker, uint32_t category,
					     const struct chrome_text *args);
/* The id of a text: escapes decoded, bytes that are no UTF-8 replaced. *flags gets CHROME_NAME_BAD_UTF8 and _CONTROL. */
uint32_t chrome_string(struct chrome_worker *worker, const struct chrome_text *text, uint8_t *flags);

/* sink */
void chrome_sink(struct chrome_worker *worker, const struct chrome_event *event, const char *at);

/* pairs */
mp_status chrome_join_halves(struct chrome_worker *workers, size_t n, int64_t end_ns, mp_err *err);
/* Collects and sorts the flow ends of all workers; read->flow_ends.len tells whether a pass is needed. */
mp_status chrome_collect_flow_ends(struct chrome_worker *workers, size_t n, mp_err *err);
void chrome_bind_flow_ends(struct chrome_worker *worker, uint32_t track, int64_t begin_ns);
mp_status chrome_append_flow_ends(struct chrome_worker *workers, size_t n, mp_err *err);

#endif
