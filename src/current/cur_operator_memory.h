/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory that operators held (cur_operator_memory.c; analysis-current.md section 8.7). */
#ifndef MP_CUR_OPERATOR_MEMORY_H
#define MP_CUR_OPERATOR_MEMORY_H

#include "current/cur.h"

/* One record of memory_usage. */
struct cur_memory_event {
	int64_t ts_ns;
	uint64_t address, size, used, reserved, stream; /* size UINT64_MAX = release */
	uint32_t owner; /* string id */
	int32_t device;
};

/* An allocation and its release. */
struct cur_memory_block {
	uint32_t alloc, release; /* indexes of events; release UINT32_MAX = none */
};

struct cur_operator_memory {
	MP_VEC(struct cur_memory_event) events; /* by time */
	MP_VEC(struct cur_memory_block) blocks; /* by time of allocation */
	bool found;
};

mp_status cur_operator_memory_load(struct cur_run *run, struct cur_operator_memory *out, mp_err *err);
void cur_operator_memory_release(struct cur_operator_memory *memory);

#endif
