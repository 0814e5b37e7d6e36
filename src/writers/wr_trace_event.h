/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the trace writer: plan (which ranges fit one lane), flows, texts made once, and the two
 * flavours. Included by src/writers/wr_trace_event*.c only; docs/formats/chrome-json.md tells the forms.
 */
#ifndef MP_WR_TRACE_EVENT_H
#define MP_WR_TRACE_EVENT_H

#include <pthread.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "writers/writers.h"

/* ---- lanes: wr_trace_event_lanes.c ---- */

/* A range whose lane is decided by looking at all ranges of its track. */
struct mp_lane_interval {
	int64_t begin, end;
	uint32_t lane;  /* 0 = the track's own */
	uint32_t taken; /* intervals equal to this, the first of them, that were written already */
};
typedef MP_VEC(struct mp_lane_interval) mp_lane_intervals;

void mp_lane_intervals_sort(mp_lane_intervals *intervals);
/* Gives each interval, sorted, the first lane in which it overlaps nothing partially. *n_lanes >= 1. */
mp_status mp_lane_assign(mp_lane_intervals *intervals, uint32_t *n_lanes, mp_err *err);
/* The next unused interval equal to [begin, end], NULL when there is none. *hint speeds up ascending calls. */
const struct mp_lane_interval *mp_lane_find(mp_lane_intervals *intervals, size_t *hint, int64_t begin, int64_t end);

/* ---- plan of one track: wr_trace_event_plan.c ---- */

/* A finished range that no later one contained yet, or several neighbours taken together. */
struct mp_sibling {
	int64_t begin, end;
	bool merged; /* several: what lies at a point inside is not known */
	bool unsure; /* merged, and cut at `end`, over which a range may reach */
};

/*
 * Ranges that arrive in order of their ends nest exactly when none begins inside a finished sibling
 * and ends outside. Keeping all siblings would need memory per event, so old ones are merged; a
 * range that begins inside a merged one is a *doubt*, decided when everything is written: a range
 * that straddles its begin arrives before it.
 */
enum mp_plan_state {
	MP_PLAN_NESTS,   /* arrives in order of ends and nests, as far as was seen */
	MP_PLAN_COLLECT, /* does not: the next pass keeps all its ranges */
	MP_PLAN_LANES,   /* they are kept and have lanes */
};

struct mp_track_plan {
	uint8_t state; /* enum mp_plan_state */
	bool begun;    /* end_ns is valid */
	int64_t end_ns;
	uint64_t n_ranges;
	MP_VEC(struct mp_sibling) siblings;
	mp_lane_intervals doubts;    /* NESTS: in order of arrival, later sorted */
	mp_lane_intervals intervals; /* LANES */
	uint32_t n_lanes;            /* valid after mp_track_plan_finish */
};

mp_status mp_track_plan_range(struct mp_track_plan *plan, int64_t begin, int64_t end, mp_err *err);
/* Ends a pass; true when the track needs one more. */
bool mp_track_plan_pass_done(struct mp_track_plan *plan);
mp_status mp_track_plan_finish(struct mp_track_plan *plan, mp_err *err);
void mp_track_plan_release(struct mp_track_plan *plan);

/* While writing: where the ranges of a track with doubts or lanes go. */
struct mp_track_cursor {
	size_t hint;              /* LANES */
	bool begun;               /* the rest is for doubts; end_ns is valid */
	int64_t end_ns;
	uint32_t *arrival;        /* owned; place in the sorted doubts, in order of arrival */
	size_t n_arrived;
	uint8_t *decided;         /* owned; enum mp_doubt of each sorted doubt */
	size_t n_begun;           /* so many of the sorted doubts began before end_ns */
	MP_VEC(uint32_t) open;    /* places of begun doubts that are not decided, outermost first */
};
mp_status mp_track_cursor_init(struct mp_track_cursor *cursor, struct mp_track_plan *plan, mp_err *err);
#define MP_LANE_NONE UINT32_MAX
/* Lane of the range that arrives now; MP_LANE_NONE when it was not planned. */
mp_status mp_track_cursor_lane(struct mp_track_cursor *cursor, struct mp_track_plan *plan, int64_t begin, int64_t end,
			       uint32_t *lane, mp_err *err);
void mp_track_cursor_release(struct mp_track_cursor *cursor);

/* ---- flows: wr_trace_event_flows.c ---- */

struct mp_flow {
	int64_t ts_ns;
	uint64_t id;
	uint32_t track, name;
	uint32_t lane; /* of the range that encloses it; MP_LANE_NONE = none yet */
	uint8_t phase; /* enum mp_flow_phase */
	bool keep;
};

struct mp_flows {
	MP_VEC(struct mp_flow) flows;
	uint32_t *next;      /* owned; next flow of the same track that is not bound, as a forest */
	uint32_t *track_at;  /* owned; n_tracks + 1 places of the tracks in flows */
	size_t n_tracks;
	bool renumber;       /* some id does not fit the integers of a double */
};
mp_status mp_flows_add(struct mp_flows *flows, const struct mp_block *block, mp_err *err);
/* Before the ranges come. */
mp_status mp_flows_sort(struct mp_flows *flows, size_t n_tracks, mp_err *err);
/* Binds the flows of the track in [begin, end] that are not bound yet. */
void mp_flows_bind(struct mp_flows *flows, uint32_t track, int64_t begin, int64_t end, uint32_t lane);
/* After the ranges came: sorts by (id, ts) and sets keep; returns how many are left out. */
uint64_t mp_flows_decide(struct mp_flows *flows);
void mp_flows_release(struct mp_flows *flows);

/* ---- texts made once: wr_trace_event_texts.c ---- */

/* Readable for 16 bytes past len, so that it can be copied in whole pieces. */
struct mp_fragment {
	const char *at;
	uint32_t len;
	uint8_t cls; /* that a detail's text was made for */
};
typedef MP_VEC(struct mp_fragment) mp_fragments;
#define MP_FRAGMENT_SLACK 16u

struct mp_texts {
	const struct mp_store *store;    /* borrowed */
	struct mp_arena arena;
	mp_fragments names;                 /* by string id; at NULL = not made yet */
	mp_fragments details;               /* of detail 0 by class, then by id - 1 */
	struct mp_buf scratch[2];           /* the text being made: name, detail */
	struct mp_fragment uncached[2];     /* it, when the cache has no room */
	struct mp_buf work;
};
void mp_texts_init(struct mp_texts *texts, const struct mp_store *store);
/* `,"name":"..."` ; NULL when memory is out. Valid until the next call. */
const struct mp_fragment *mp_texts_name(struct mp_texts *texts, uint32_t name);
/* `,"cat":"...","args":{...}}` of a range or mark. */
const struct mp_fragment *mp_texts_detail(struct mp_texts *texts, uint32_t detail, uint8_t cls);
void mp_texts_release(struct mp_texts *texts);

/* The args object of a detail: hints, known fields, further arguments (wr_trace_event_args.c). */
void mp_trace_args(struct mp_buf *to, const struct mp_store *store, const struct mp_detail *detail, uint8_t cls,
		   struct mp_buf *work);
/* Category that is written for a class. */
const char *mp_trace_class_category(uint8_t cls);

/* ---- output: wr_trace_event_sink.c ---- */

#define MP_SINK_BYTES ((size_t)1 << 20)
#define MP_SINK_NONE 2u

/* While it is open, nobody else may touch `out`. */
struct mp_trace_sink {
	struct mp_out *out;  /* borrowed; NULL = closed */
	char *buffers[2];    /* owned, MP_SINK_BYTES each */
	size_t len[2];       /* of what was handed over */
	unsigned current;    /* the buffer that is being filled */
	char *at, *end;      /* its free part */
	mp_status seen;      /* what is known of the output's failure */
	bool has_thread;
	pthread_t thread;
	/* The rest is under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned waiting;    /* buffer that the thread has to write, MP_SINK_NONE = none */
	bool stop;
	mp_status failed;    /* of the output */
};
mp_status mp_trace_sink_open(struct mp_trace_sink *sink, struct mp_out *out, mp_err *err);
/* An empty buffer in place of the current one; false when the output failed. */
bool mp_trace_sink_renew(struct mp_trace_sink *sink);
void mp_trace_sink_put(struct mp_trace_sink *sink, const char *bytes, size_t len);
/* Writes the rest; the output's state. When it is closed only the latter. */
mp_status mp_trace_sink_close(struct mp_trace_sink *sink);

/* ---- the portable flavour: wr_trace_event.c, _head.c, _blocks.c ---- */

/* A row of the viewer. */
struct mp_lane {
	int64_t tid;
	int32_t sort_index;
	bool used, declared; /* holds an event; its name was written */
	struct mp_fragment head; /* `,\n{"ph":"X","pid":1,"tid":2,"ts":` */
};

/* A track while it is written. */
struct mp_out_track {
	struct mp_track_cursor cursor;
	uint64_t n_left;       /* ranges of the plan that did not come yet; no bound for MP_PLAN_LANES */
	struct mp_lane *lanes; /* in the writer's arena */
	bool plain;            /* one lane, no flows: nothing to decide per range */
	bool has_flows;
};

struct mp_step {
	int64_t ts_ns, number;
	uint32_t track, process;
};

struct mp_trace_writer {
	enum mp_flavour flavour;
	/* plan */
	MP_VEC(struct mp_track_plan) plans; /* by track */
	MP_VEC(struct mp_step) steps;
	struct mp_flows flows;
	int64_t begin_ns, end_ns; /* of all events; begin > end: none */
	bool first_pass_done;
	/* writing */
	const struct mp_store *store; /* borrowed, as out */
	struct mp_out *out;
	struct mp_trace_sink sink;
	struct mp_arena arena;
	struct mp_texts texts;
	struct mp_out_track *tracks;  /* owned */
	size_t n_tracks;
	struct mp_buf buf;
	bool any; /* an event was written: the next one needs a comma */
	uint64_t n_events, n_not_planned, n_not_finite, n_unbound;
};

/* otherData, processes, lanes and steps. */
mp_status mp_trace_write_head(struct mp_trace_writer *writer, mp_err *err);
/* The lane's thread_name and thread_sort_index into writer->buf. */
void mp_trace_declare_lane(struct mp_trace_writer *writer, uint32_t track, uint32_t lane);
/* Writes writer->buf, which holds whole events that begin with ",\n", and clears it. */
mp_status mp_trace_flush_events(struct mp_trace_writer *writer, mp_err *err);
mp_status mp_trace_write_block(struct mp_trace_writer *writer, const struct mp_block *block, mp_err *err);
mp_status mp_trace_write_flows(struct mp_trace_writer *writer, mp_err *err);

static inline uint64_t mp_trace_since_begin(const struct mp_trace_writer *writer, int64_t ns)
{
	return (uint64_t)ns - (uint64_t)writer->begin_ns;
}

/* Microseconds with three digits; at most MP_NUM_MAX bytes. */
size_t mp_trace_put_us(char *to, uint64_t ns);

/* ---- the compatible flavour: wr_trace_event_compat.c ---- */

mp_status mp_trace_write_compatible(const struct mp_store *store, struct mp_out *out, mp_err *err);

#endif
