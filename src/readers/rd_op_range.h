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
};

/* (ticks - base) * 1000 rounded once to double, then one division: the order of 2.7. */
static inline double op_range_divided_(const struct op_range_clock *clock, int64_t ticks)
{
	int64_t product;

	if (MP_LIKELY(!__builtin_mul_overflow(ticks, 1000, &product)))
		return (double)product / clock->mhz;
	return (double)((__int128)ticks * 1000) / clock->mhz;
}

/* False when the time does not fit 64 bits. Rounds half to even on the sum, as the original does. */
static inline bool op_range_clock_ns(const struct op_range_clock *clock, uint64_t tick, int64_t *out_ns)
{
	int64_t ticks, whole, sum;
	double d, rest;

	if (MP_UNLIKELY(tick > INT64_MAX) || __builtin_sub_overflow((int64_t)tick, clock->base_tick, &ticks))
		return false;
	d = clock->divides ? op_range_divided_(clock, ticks) : (double)ticks * clock->ns_per_tick;
	if (MP_UNLIKELY(!(d >= -9.2e18 && d <= 9.2e18)))
		return false;
	whole = (int64_t)d;
	whole -= (double)whole > d; /* floor */
	rest = d - (double)whole;
	if (__builtin_add_overflow(clock->offset_ns, whole, &sum))
		return false;
	return !__builtin_add_overflow(sum, rest > 0.5 || (rest == 0.5 && sum & 1), out_ns);
}
/* From PROF_* and profiler_info in the rank directory; false when they do not give a clock. */
bool op_range_clock_from_device_tool(struct op_range_clock *clock, const struct mp_dir *rank_dir,
				     enum mp_fwk_form form, struct mp_store *store);

/* A kernel launch of the file: begin in ticks, full name of the operator (borrowed). */
struct op_range_launch {
	uint64_t tick;
	const char *name;
	uint32_t name_len;
};
typedef MP_VEC(struct op_range_launch) op_range_launches;
/* Fits the clock to the executions of the same operators that cpu_op_execute_timestamp has; *fitted tells
 * whether they gave one. Fails only when memory is out. */
mp_status op_range_clock_fit(struct op_range_clock *clock, const struct mp_dir *framework, const char *path,
			     const op_range_launches *launches, struct mp_store *store, bool *fitted, mp_err *err);
/* 100 MHz from 0, as the original; noted. */
void op_range_clock_assume(struct op_range_clock *clock, const char *path, struct mp_store *store);

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
	uint8_t faults;   /* bits 1 << enum op_range_fault */
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
