/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who held how much memory when: allocations and releases in order of time, paired by address. And
 * what memory pools reported about themselves.
 */
#ifndef MP_AN_HOLDINGS_H
#define MP_AN_HOLDINGS_H

#include "analyses/an_private.h"
#include "analyses/an_step_list.h"
#include "base/hash.h"
#include "base/vec.h"

/* One owner of memory in one process. */
struct mp_owner {
	uint32_t process, name;
	uint64_t allocations;
	uint64_t releases;        /* of an allocation that is known */
	uint64_t unknown_releases;/* of an address that nobody holds */
	uint64_t replaced;        /* allocations lost because the same address was allocated again */
	int64_t allocated_bytes;  /* of all allocations */
	int64_t live_bytes;       /* now; after the last event: at the end */
	int64_t peak_bytes;       /* held at the moment when all owners together held most */
	uint64_t n_rises;         /* ends of steps (open ones not counted) at which it held more than at the end before */
	/* private */
	uint64_t changed_at;      /* event number of the last change of live_bytes */
	size_t step;              /* the step whose end comes next for this owner, counted in its process */
	int64_t last_end_bytes;   /* held at the end of the previous step */
};

/* A moment of the memory's life, told after each event. */
struct mp_memory_point {
	int64_t ts_ns;
	int64_t allocated_bytes;
	int64_t reserved_bytes, active_bytes; /* -1 = not known */
	uint32_t process; /* of the event */
};
typedef mp_status (*mp_memory_fn)(void *user, const struct mp_memory_point *point, mp_err *err);

struct mp_holdings {
	MP_VEC(struct mp_owner) owners;
	int64_t live_bytes;        /* of all owners */
	int64_t peak_bytes;        /* most of it */
	int64_t peak_ns;           /* first moment when it was held */
	uint32_t peak_process;     /* of the event then */
	struct mp_step_list steps;
};

/* Number of steps of the process whose end is known. */
size_t mp_holdings_n_ends(const struct mp_holdings *holdings, uint32_t process);
/* fn may be NULL. out is zeroed first; release it in any case. */
mp_status mp_holdings_build(struct mp_holdings *out, const struct mp_store *store, mp_memory_fn fn, void *user,
			    mp_err *err);
void mp_holdings_release(struct mp_holdings *holdings);

/* The sum over all pools of what each of them reported last, after each report (MP_KIND_MEMORY_TOTAL). */
mp_status mp_pools_walk(const struct mp_store *store, mp_memory_fn fn, void *user, mp_err *err);

#endif
