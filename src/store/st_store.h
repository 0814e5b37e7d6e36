/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event store: columns in blocks of one kind, strings and details by id, no allocation per
 * event. Readers append through an appender (one per worker thread); a full block is either kept
 * (the usual case) or handed to a hook and recycled (streaming: memory stays flat).
 */
#ifndef MP_ST_STORE_H
#define MP_ST_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/pool.h"
#include "base/strtab.h"
#include "store/st_schema.h"

#define MP_BLOCK_EVENTS 65536u /* most rows of a block; the first blocks of an appender are smaller */

struct mp_block {
	uint8_t kind; /* enum mp_kind */
	uint32_t n;   /* rows in use */
	uint32_t cap; /* rows the columns have room for */
	int64_t *ts_ns;
	int64_t *a;       /* NULL for MARK */
	int64_t *b;       /* MEMORY, QUEUE, MEMORY_TOTAL, else NULL */
	int64_t *c;       /* MEMORY_TOTAL, else NULL */
	uint32_t *track;
	uint32_t *name;
	uint32_t *detail; /* RANGE, MARK, else NULL */
	uint8_t *cls;     /* RANGE, MARK, FLOW, QUEUE, else NULL */
};

/* One event, in or out. Columns that the kind does not use are ignored on the way in, 0 on the way out. */
struct mp_event {
	int64_t ts_ns, a, b, c;
	uint32_t track, name, detail;
	uint8_t cls;
};

enum mp_severity { MP_INFO, MP_WARNING, MP_PROBLEM };

/* Something the reader or an analysis has to say about the data. PROBLEM makes the result incomplete (exit 3). */
struct mp_note {
	enum mp_severity severity;
	uint32_t code;       /* string id: short constant word, e.g. "truncated", "events-dropped" */
	uint32_t path;       /* string id; 0 = none */
	int64_t byte_offset; /* -1 = none; of the first one when count > 1 */
	uint64_t count;      /* equal (severity, code, path) are one note */
	uint32_t text;       /* string id: the whole message of the first one */
};

struct mp_store; /* opaque */

typedef mp_status (*mp_block_fn)(void *user, const struct mp_block *block, mp_err *err);

struct mp_store_options {
	uint64_t max_bytes;     /* bound of blocks + strings, 0 = none (E_LIMIT) */
	mp_block_fn on_block;   /* not NULL: streaming; called under a lock, block order is not defined */
	void *on_block_user;
	uint32_t skip_kinds;    /* bit (1u << enum mp_kind): events of these kinds are dropped at the door */
};

mp_status mp_store_new(const struct mp_store_options *options, struct mp_store **out, mp_err *err);
void mp_store_free(struct mp_store *store);

/* --- names, processes, tracks, details, notes: thread-safe, found again when equal */
struct mp_strtab *mp_store_strings(const struct mp_store *store);
uint32_t mp_store_string(struct mp_store *store, const char *text); /* of a C string */
struct mp_str mp_store_text(const struct mp_store *store, uint32_t string_id);
/* Found by pid; index, or UINT32_MAX when memory is out. Fields of the first call win; what it did not
 * know (rank -1, name 0, labels 0) is filled in by later calls. */
uint32_t mp_store_process(struct mp_store *store, const struct mp_process *process);
/* Found by (process, tid, kind). As above: stream -1 and name 0 are filled in later. */
uint32_t mp_store_track(struct mp_store *store, const struct mp_track *track);
uint32_t mp_store_detail(struct mp_store *store, const struct mp_detail *detail);
size_t mp_store_n_processes(const struct mp_store *store);
size_t mp_store_n_tracks(const struct mp_store *store);
size_t mp_store_n_details(const struct mp_store *store);
/* Copies out (entries may move while others are added); the empty entry for an index that does not exist. */
struct mp_process mp_store_get_process(const struct mp_store *store, uint32_t index);
struct mp_track mp_store_get_track(const struct mp_store *store, uint32_t index);
struct mp_detail mp_store_get_detail(const struct mp_store *store, uint32_t index);
void mp_store_set_process_name(struct mp_store *store, uint32_t process, uint32_t name);
void mp_store_set_track_name(struct mp_store *store, uint32_t track, uint32_t name);

void mp_store_note(struct mp_store *store, enum mp_severity severity, const char *code, const char *path,
		   int64_t byte_offset, const char *fmt, ...) MP_PRINTF(6, 7);
/* A note or fact could not be kept for want of memory; one note says how many. Cannot fail. */
void mp_store_count_lost(struct mp_store *store);
size_t mp_store_n_notes(const struct mp_store *store);
struct mp_note mp_store_get_note(const struct mp_store *store, size_t index);

/* Facts about the recording ("mode", "clock", "pid", "ms_version", user metadata...): key -> text; later ones win. */
void mp_store_set_fact(struct mp_store *store, const char *key, const char *text, size_t len);
size_t mp_store_n_facts(const struct mp_store *store);
void mp_store_get_fact(const struct mp_store *store, size_t index, struct mp_str *key, struct mp_str *text);
/* The text of a fact, len 0 and text "" when absent. */
struct mp_str mp_store_fact(const struct mp_store *store, const char *key);

/* --- appending */

/* Used by one thread at a time. Private but for the inline function below. */
struct mp_appender {
	struct mp_block *open[MP_KINDS]; /* the block being filled; an empty one without room at first */
	struct mp_block none;            /* that empty one */
	struct mp_store *store;          /* borrowed */
	mp_err *failure;                 /* owned; the first failure */
	mp_status status;                /* of it; nothing is appended any more when not OK */
};

mp_status mp_appender_new(struct mp_store *store, struct mp_appender **out, mp_err *err);
/* A block of `kind` with room for at least one event (n < cap), to fill columns directly; NULL on failure. Add to
 * block->n. Valid until the next call for the same kind. */
struct mp_block *mp_append_block(struct mp_appender *appender, enum mp_kind kind);
/* Commits what is open and frees the appender; returns the first failure of its appends. */
mp_status mp_appender_finish(struct mp_appender *appender, mp_err *err);

/* Slow path of mp_append: the open block is full. */
bool mp_append_slow_(struct mp_appender *appender, enum mp_kind kind, const struct mp_event *event);

static inline void mp_block_put_(struct mp_block *block, enum mp_kind kind, const struct mp_event *event)
{
	uint32_t i = block->n++;
	uint32_t bit = 1u << kind;

	block->ts_ns[i] = event->ts_ns;
	block->track[i] = event->track;
	block->name[i] = event->name;
	if (bit & MP_KINDS_WITH_A)
		block->a[i] = event->a;
	if (bit & MP_KINDS_WITH_B)
		block->b[i] = event->b;
	if (bit & MP_KINDS_WITH_C)
		block->c[i] = event->c;
	if (bit & MP_KINDS_WITH_DETAIL)
		block->detail[i] = event->detail;
	if (bit & MP_KINDS_WITH_CLS)
		block->cls[i] = event->cls;
}

/* False when a block could not be made or the hook failed; the reason is given by finish. */
static inline bool mp_append(struct mp_appender *appender, enum mp_kind kind, const struct mp_event *event)
{
	struct mp_block *block = appender->open[kind];

	if (MP_UNLIKELY(block->n == block->cap))
		return mp_append_slow_(appender, kind, event);
	mp_block_put_(block, kind, event);
	return true;
}

/* --- reading: after all appenders are finished */
size_t mp_store_n_blocks(const struct mp_store *store);
const struct mp_block *mp_store_get_block(const struct mp_store *store, size_t index);
/* All of them, for loops over events by reference: blocks[ref.block]. */
const struct mp_block *const *mp_store_blocks(const struct mp_store *store);
uint64_t mp_store_n_events(const struct mp_store *store, enum mp_kind kind);
/* Smallest begin and largest end of all events; false when there is none. Known in streaming mode, too. */
bool mp_store_time_range(const struct mp_store *store, int64_t *begin_ns, int64_t *end_ns);
uint64_t mp_store_bytes(const struct mp_store *store); /* of blocks, strings, details */

static inline struct mp_event mp_block_event(const struct mp_block *block, uint32_t i)
{
	struct mp_event e = {.ts_ns = block->ts_ns[i], .track = block->track[i], .name = block->name[i]};

	e.a = block->a ? block->a[i] : 0;
	e.b = block->b ? block->b[i] : 0;
	e.c = block->c ? block->c[i] : 0;
	e.detail = block->detail ? block->detail[i] : 0;
	e.cls = block->cls ? block->cls[i] : 0;
	return e;
}

/* --- order: built once on demand, kept with the store */

/* Reference to one event. */
struct mp_ref {
	uint32_t block, row;
};

/*
 * The ranges of one track by (begin ascending, end descending): parents before children. Ranges equal
 * in both keep the order of appending, or are reversed on a track that was delivered in order of ends.
 */
struct mp_ranges {
	const struct mp_ref *refs; /* borrowed from the store */
	size_t n;
};
/* Builds the order of all tracks (in parallel on pool, which may be NULL). Idempotent; in streaming mode empty. */
mp_status mp_store_sort(struct mp_store *store, struct mp_pool *pool, mp_err *err);
struct mp_ranges mp_store_ranges(const struct mp_store *store, uint32_t track);
/* The events of one other kind, all tracks, by ts (ties in order of appending). */
struct mp_ranges mp_store_ordered(const struct mp_store *store, enum mp_kind kind);
static inline struct mp_event mp_store_event(const struct mp_store *store, struct mp_ref ref)
{
	return mp_block_event(mp_store_get_block(store, ref.block), ref.row);
}

#endif
