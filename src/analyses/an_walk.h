/* SPDX-License-Identifier: Apache-2.0 */
/* Walk over the nested ranges of a track: each range with its self time. */
#ifndef MP_AN_WALK_H
#define MP_AN_WALK_H

#include "base/vec.h"
#include "store/st_store.h"

/* One range, told when it ends. */
struct mp_walk_range {
	const struct mp_block *block;
	uint32_t row;
	uint32_t depth;  /* number of ranges around it */
	int64_t dur_ns;
	int64_t self_ns; /* dur_ns without the direct children; 0 <= self_ns <= dur_ns */
};

typedef mp_status (*mp_walk_fn)(void *user, const struct mp_walk_range *range, mp_err *err);

struct mp_walk_open {
	struct mp_ref ref;
	int64_t begin_ns, end_ns;
	int64_t children_ns;
};

/* Zero-initialised is valid; used again from track to track. */
struct mp_walk {
	MP_VEC(struct mp_walk_open) stack;
};

/* Calls fn for every range of the track. A child that ends after its parent counts for the parent up to its end. */
mp_status mp_walk_track(struct mp_walk *walk, const struct mp_store *store, uint32_t track, mp_walk_fn fn,
			void *user, mp_err *err);
void mp_walk_release(struct mp_walk *walk);

#endif
