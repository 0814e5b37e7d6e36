/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event store's schema: neutral kinds and fields. No file format is named here. Time is int64
 * nanoseconds on one axis per store (Unix time where the data allow it).
 */
#ifndef MP_ST_SCHEMA_H
#define MP_ST_SCHEMA_H

#include <stdint.h>

/* Event kinds; each block of the store holds one kind. Columns used by each kind beside ts, track, name: */
enum mp_kind {
	MP_KIND_RANGE,   /* a = duration ns (>= 0); detail; cls */
	MP_KIND_MARK,    /* an instant; detail; cls */
	MP_KIND_COUNTER, /* a = bits of a double (mp_double_bits); name = series */
	MP_KIND_FLOW,    /* a = flow id (as uint64), cls = enum mp_flow_phase; bound to the range around ts on its track */
	MP_KIND_MEMORY,  /* a = bytes (> 0 allocation, <= 0 release, 0 = size not known), b = address; name = owner */
	MP_KIND_QUEUE,   /* ts = begin of the wait, a = waited ns, b = depth << 32 | capacity, cls = enum mp_queue_op; name = queue */
	MP_KIND_STEP,    /* a = step number; the step lasts until the next one on any track of its process */
	MP_KIND_MEMORY_TOTAL, /* a = allocated bytes, b = reserved bytes, c = active bytes: what a pool reported */
	MP_KINDS,
};

/* Class of a range or mark (column cls). */
enum mp_class {
	MP_CLASS_RANGE,         /* annotation by the user or the framework */
	MP_CLASS_OPERATOR,      /* one execution of an operator */
	MP_CLASS_KERNEL,        /* work on a device */
	MP_CLASS_COMMUNICATION, /* collective or point to point */
	MP_CLASS_MEMCPY,
	MP_CLASS_LAUNCH,        /* host side of a kernel */
	MP_CLASS_PYTHON,        /* Python function */
	MP_CLASS_DATASET,       /* data pipeline */
	MP_CLASS_STEP,          /* a step drawn as a range */
	MP_CLASS_OPEN,          /* was not finished when the recording was cut; a = until the cut */
	MP_CLASSES,
};

enum mp_flow_phase { MP_FLOW_BEGIN, MP_FLOW_STEP, MP_FLOW_END };
enum mp_queue_op { MP_QUEUE_PUSH, MP_QUEUE_POP };

/* What a lane of the trace stands for. */
enum mp_track_kind {
	MP_TRACK_THREAD,
	MP_TRACK_STREAM,  /* of a device */
	MP_TRACK_COUNTER,
	MP_TRACK_ASYNC,   /* ranges that began and ended on different threads */
};

/* A process, or another group of tracks that is shown under one heading (a layer of the original). */
struct mp_process {
	int32_t rank;     /* -1 = not known */
	int64_t pid;      /* shown number, unique in a store */
	uint32_t name;    /* string id */
	uint32_t labels;  /* string id, 0 = none */
	int32_t sort_index;
};

struct mp_track {
	uint32_t process; /* index into the store's processes */
	int64_t tid;      /* shown number, unique in its process */
	int64_t stream;   /* device stream, -1 = none */
	uint32_t name;    /* string id, 0 = "Thread <tid>" */
	int32_t sort_index;
	uint8_t kind;     /* enum mp_track_kind */
};

/*
 * What is known of a range beyond name and time; interned, so equal details are one entry. Entry 0
 * has everything empty. All uint32_t are string ids, 0 = none.
 */
struct mp_detail {
	uint32_t category; /* Chrome "cat" */
	uint32_t type;     /* operator type */
	uint32_t shapes, dtypes;
	uint32_t args;     /* further arguments as JSON object text, "{...}" */
	uint32_t reserved; /* 0, so that entries can be compared as bytes */
	int64_t stream;    /* -1 = none */
	double flops;      /* 0 = not known */
};

/* Columns beside ts_ns, track and name that a kind has: bits 1u << enum mp_kind. */
#define MP_KINDS_WITH_A (((1u << MP_KINDS) - 1u) & ~(1u << MP_KIND_MARK))
#define MP_KINDS_WITH_B (1u << MP_KIND_MEMORY | 1u << MP_KIND_QUEUE | 1u << MP_KIND_MEMORY_TOTAL)
#define MP_KINDS_WITH_C (1u << MP_KIND_MEMORY_TOTAL)
#define MP_KINDS_WITH_DETAIL (1u << MP_KIND_RANGE | 1u << MP_KIND_MARK)
#define MP_KINDS_WITH_CLS (1u << MP_KIND_RANGE | 1u << MP_KIND_MARK | 1u << MP_KIND_FLOW | 1u << MP_KIND_QUEUE)

/* End of something that begins at ts_ns: a negative duration counts as 0, the end stops at INT64_MAX. */
static inline int64_t mp_end_ns(int64_t ts_ns, int64_t dur_ns)
{
	int64_t end_ns;

	if (dur_ns <= 0)
		return ts_ns;
	return __builtin_add_overflow(ts_ns, dur_ns, &end_ns) ? INT64_MAX : end_ns;
}

static inline int64_t mp_double_bits(double value)
{
	union { double d; int64_t i; } u = {.d = value};

	return u.i;
}

static inline double mp_bits_double(int64_t bits)
{
	union { int64_t i; double d; } u = {.i = bits};

	return u.d;
}

#endif
