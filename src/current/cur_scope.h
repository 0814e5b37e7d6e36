/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes derived from the names of operators and kernels (cur_scope.c; analysis-current.md section 7.5). */
#ifndef MP_CUR_SCOPE_H
#define MP_CUR_SCOPE_H

#include "current/cur_scope_time.h"

struct cur_scope {
	struct cur_begin begin;
	struct cur_exact dur;
	struct mp_str name; /* borrowed from the string table */
	uint32_t depth;     /* thread of the layer */
};
typedef MP_VEC(struct cur_scope) cur_scopes;

/* From run->cpu_ops and run->device with links, in the order in which they are closed. False when memory is out. */
bool cur_scopes_make(const struct cur_run *run, cur_scopes *out);

#endif
