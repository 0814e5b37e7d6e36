/* SPDX-License-Identifier: Apache-2.0 */
/* Analyses: store -> one result table each, one question per file, listed in an_all.c. */
#ifndef MP_ANALYSES_H
#define MP_ANALYSES_H

#include "base/pool.h"
#include "store/st_store.h"
#include "store/st_table.h"

struct mp_analysis {
	const struct mp_table_shape *shape; /* the table it fills; its name is the analysis' name */
	uint32_t needs; /* event kinds it reads: bits 1u << enum mp_kind */
	/* The store is sorted (mp_store_sort). pool may be NULL. */
	mp_status (*run)(const struct mp_store *store, struct mp_pool *pool, struct mp_table *out, mp_err *err);
};

extern const struct mp_analysis mp_analysis_steps, mp_analysis_operators, mp_analysis_operator_types, mp_analysis_operator_shapes,
	mp_analysis_ranges,
	mp_analysis_waiting, mp_analysis_gaps, mp_analysis_memory_peak, mp_analysis_memory, mp_analysis_memory_curve,
	mp_analysis_losses;

/* NULL-terminated list, in the order in which a report shows them. */
extern const struct mp_analysis *const mp_analyses[];

#endif
