/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the op_range reader: clock, names, splitting, decoding (docs/formats/framework.md). */
#ifndef MP_RD_OP_RANGE_H
#define MP_RD_OP_RANGE_H

#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/fmt_framework.h"
#include "readers/readers.h"

/* ---- clock: counter ticks to ns ---- */

struct op_range_clock {
	bool divides;       /* the rule of 2.7: ns = (ticks - base) * 1000 / mhz; else (ticks - base) * ns_per_tick */
	int64_t base_tick;
	int64_t offset_ns;  /* at base_tick */
	double mhz, ns_per_tick;
	size_t n_fitted; /* operator executions that it was fitted to, 0 = not fitted */
	double deviation_ns; /* median, of the fit */
	/* Ticks for which nothing can overflow, a part of those around base_tick; set by op_range_clock_ready. */
	uint64_t first_near, n_near;
};

/* offset + d, rounded half to even on the sum, as the original does. The caller knows that it fits. */
static inline int64_t op_range_add_rounded_(int64_t offset_ns, double d)
{
	int64_t whole = (int64_t)d, sum;
	double rest;

	whole -= (double)whole > d; /* floor */
	rest = d - (double)whole;
	sum = offset_ns + whole;
	return sum + ((rest > 0.5) | ((rest == 0.5) & (int)(sum & 1)));
}

static inline bool op_range_clock_is_near(const struct op_range_clock *clock, uint64_t tick)
{
	return tick - clock->first_near < clock->n_near;
}

/* Of a tick that is near: (ticks - base) * 1000 is exact, then comes one division, the order of 2.7. */
static inline int64_t op_range_clock_near_ns(const struct op_range_clock *clock, uint64_t tick)
{
	int64_t ticks = (int64_t)(tick - (uint64_t)clock->base_tick);

	return op_range_add_rounded_(clock->offset_ns, clock->divides ? (double)(ticks * 1000) / clock->mhz
								      : (double)ticks * clock->ns_per_tick);
}

/* Of any tick; false when the time does not fit 64 bits. */
bool op_range_clock_ns(const struct op_range_clock *clock, uint64_t tick, int64_t *out_ns);
/* After the other fields are set. */
void op_range_clock_ready(struct op_range_clock *clock);

enum op_range_device_clock {
	OP_RANGE_CLOCK_ABSENT, /* no host directory */
	OP_RANGE_CLOCK_LOST,   /* its files do not give a clock, which is noted */
	OP_RANGE_CLOCK_FOUND,
};
/* From PROF_x/host and profiler_info in the rank directory; prof NULL = the first that has a host directory.
 * Failure: memory. */
mp_status op_range_clock_from_device_tool(struct op_range_clock *clock, const struct mp_dir *rank_dir,
					  const struct mp_dir *prof, enum mp_fwk_form form, struct mp_store *store,
					  enum op_range_device_clock *result, mp_err *err);

/* A kernel launch of the file: begin in ticks, full name of the operator (borrowed). */
struct op_range_launch {
	uint64_t tick;
	const char *name;
	uint32_t name_len;
};
typedef MP_VEC(struct op_range_launch) op_range_launches;
/* Fits the clock to the executions of the same operators that cpu_op_execute_timestamp has; *fitted tells
 * whether they gave one. Fails only when memory is out. */
mp_status op_range_clock_fit(struct op_range_clock *clock, const struct mp_dir *framework,
			     const op_range_launches *launches, struct mp_store *store, bool *fitted, mp_err *err);
/* 100 MHz from 0, as the original. */
void op_range_clock_assume(struct op_range_clock *clock);
/* Notes a clock that was fitted or assumed; path: the file whose ticks it counts. */
void op_range_clock_tell(const struct op_range_clock *clock, const char *path, struct mp_store *store);

/* ---- faults ---- */

enum op_range_fault {
	OP_RANGE_CUT, OP_RANGE_SHORT, OP_RANGE_FIELD, OP_RANGE_UTF8, OP_RANGE_INDEX, OP_RANGE_NO_START,
	OP_RANGE_REVERSED, OP_RANGE_TIME, OP_RANGE_FAULTS,
};
extern const struct mp_fault_kind op_range_fault_kinds[OP_RANGE_FAULTS];

/* ---- names: what a record says beside its numbers ---- */

struct op_range_name {
	uint32_t name, detail;
	int64_t step;     /* of "ProfilerStep#", -1 = none */
	uint8_t cls;      /* enum mp_class */
	uint8_t is_flow;  /* the record marks the begin of a flow */
	uint8_t is_stack;
	uint8_t is_special; /* is_flow, step or faults */
	uint8_t faults;     /* bits 1 << enum op_range_fault */
};

/* Composes the name of one record from its body; buf is scratch. False when memory is out. */
bool op_range_name_compose(struct mp_store *store, enum mp_fwk_form form, const uint8_t *body, uint32_t len,
			   struct mp_buf *buf, struct op_range_name *out);

/* Names by the hash of what they are composed of: 64 bits and the length, which no file has twice by accident. */
#define OP_RANGE_CACHE_SLOTS 4096u

struct op_range_cache_slot {
	uint64_t hash;
	uint32_t len; /* 0 = empty */
	struct op_range_name value;
};

/* ---- splitting and decoding ---- */

struct op_range_worker { /* of one thread of the pool */
	struct mp_appender *appender;
	struct op_range_cache_slot *slots; /* owned */
	struct mp_buf buf;
	uint64_t last_thread; /* whose track is last_track; UINT32_MAX = none yet */
	uint32_t last_track;
	struct mp_fault faults[OP_RANGE_FAULTS];
};

struct op_range_file {
	struct mp_file file; /* owned */
	enum mp_fwk_form form;
	struct mp_store *store; /* borrowed */
	uint32_t process, flow_name;
	struct op_range_clock clock;
	struct mp_map64 tracks;     /* thread id -> track */
	MP_VEC(uint64_t) chunks;    /* of the current window: byte offsets, the last one ends it */
	struct mp_fault faults[OP_RANGE_FAULTS]; /* of splitting */
	struct op_range_worker *workers;         /* owned */
	unsigned n_workers;
};

/* The form of the fixed part: by the file's first records; `likely` when they do not tell. */
enum mp_fwk_form op_range_form_of(const void *data, size_t size, enum mp_fwk_form likely, bool *sure);

/* All kernel launches of a 2.7 file, for the fit (at most OP_RANGE_LAUNCHES_MAX). False when memory is out. */
#define OP_RANGE_LAUNCHES_MAX 1000000u
bool op_range_find_launches(const struct op_range_file *in, op_range_launches *out);
/* Splits the next window at *at into chunks of whole records and makes the tracks. Sets *at to its end, to the
 * file's size when nothing is left. False when memory is out. */
bool op_range_split(struct op_range_file *in, uint64_t *at);
/* Decodes chunk `index` of the window (mp_pool_fn; user is the struct op_range_file). */
mp_status op_range_decode(void *user, size_t index, unsigned worker, mp_err *err);

static inline uint16_t op_range_u16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint32_t op_range_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint64_t op_range_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

#endif
