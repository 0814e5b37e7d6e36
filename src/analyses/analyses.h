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

/* NULL-terminated list, in the order in which a report shows them. */
extern const struct mp_analysis *const mp_analyses[];

#endif
