/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named corrections: places where the original computes a wrong value or loses something and we do not.
 * --as-original turns them off, all or by name. docs/differences.md is made from the table in
 * cur_corrections.c.
 */
#ifndef MP_CUR_CORRECTIONS_H
#define MP_CUR_CORRECTIONS_H

#include <stddef.h>
#include <stdint.h>

enum cur_correction {
	CUR_FIX_CLOCK,            /* ticks calibrated, not 100 MHz, where nothing tells the frequency */
	CUR_FIX_CPU_OP_START,     /* start of CPU operators not some 37 ns late */
	CUR_FIX_INSTANT_FLOW,     /* a flow mark with start == end begins its flow, is not drawn */
	CUR_FIX_NEGATIVE,         /* a range that ends before it begins is an instant, not negative */
	CUR_FIX_CUT_RECORD,       /* the last record of a cut op_range: fixed part used when it is whole */
	CUR_FIX_SCOPE_FOREIGN,    /* a scope is closed when events leave it */
	CUR_FIX_SCOPE_DECIMALS,   /* scope durations with 3 decimals */
	CUR_FIX_NUMERIC_TS,       /* "ts" of msprof that is a JSON number is exact */
	CUR_FIX_PROCESS_TWICE,    /* two msprof processes of one name are merged */
	CUR_FIX_COMMUNICATION_LAYER, /* layer HCCL may be called Communication */
	CUR_FIX_STEP_DECIMALS,    /* Stage, Bubble, Exclude Receive with 3 decimals */
	CUR_FIX_HEADERS,          /* op_summary slices with different headers: columns joined by name */
	CUR_FIX_KERNEL_STEP,      /* kernels belong to steps also when none is linked to a launch */
	CUR_FIX_BLOCK_NUM,        /* level 0 drops both spellings of a column */
	CUR_FIX_UNSTARTED_OP,     /* communication op without start: belongs to no step, loses nothing */
	CUR_FIX_TOTAL_BANDWIDTH,  /* Bandwidth(GB/s) of Total Op Info */
	CUR_FIX_CUSTOM_INFO,      /* custom_info pair with several colons */
	CUR_FIX_MEMORY_PAIRS,     /* alloc and free paired right after a stray one */
	CUR_FIX_MEMORY_DECIMALS,  /* times of operator_memory in exact microseconds */
	CUR_FIX_DATA_QUEUE,       /* DataQueueOp counts as the device queue */
	CUR_FIX_NEWEST_FILE,      /* of several files of one kind the newest is used, not any */
	CUR_FIX_LOST_OUTPUTS,     /* an output needs only its own inputs */
	CUR_FIX_ALL_TARGETS,      /* outputs for CPU and GPU runs, too */
	CUR_CORRECTIONS,
};

#define CUR_FIX_ALL ((UINT64_C(1) << CUR_CORRECTIONS) - 1)

struct cur_correction_text {
	const char *name;     /* "cpu-op-start", as given to --as-original=NAME */
	const char *original; /* what the original does */
	const char *ours;     /* what is right */
	const char *where;    /* output and column where it shows */
};
extern const struct cur_correction_text cur_correction_texts[CUR_CORRECTIONS];

#endif
