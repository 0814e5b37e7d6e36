/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Covered time: when at least one range runs, on one track or on several. Ranges of class STEP do
 * not count (they cover everything), nor do ranges without length.
 */
#ifndef MP_AN_COVER_H
#define MP_AN_COVER_H

#include "base/vec.h"
#include "store/st_store.h"

/* A maximal interval in which something runs. */
struct mp_cover {
	int64_t begin_ns, end_ns; /* begin < end */
	uint32_t first_name;      /* string id of the range that begins it */
	uint32_t last_name;       /* of the range that ends it */
};

/* Intervals of one track, ascending, not touching each other. */
struct mp_cover_track {
	const struct mp_block *const *blocks;
	struct mp_ranges ranges;
	size_t next;
};

void mp_cover_track_init(struct mp_cover_track *cover, const struct mp_store *store, uint32_t track);
/* False at the end. */
bool mp_cover_track_next(struct mp_cover_track *cover, struct mp_cover *out);

struct mp_cover_head {
	struct mp_cover at; /* the next interval of the track */
	struct mp_cover_track track;
};

/* The union over several tracks. */
struct mp_cover_union {
	MP_VEC(struct mp_cover_head) heap; /* smallest begin first */
};

/* Zero-initialised is an empty union. False when memory is out. */
bool mp_cover_union_add(struct mp_cover_union *cover, const struct mp_store *store, uint32_t track);
/* As mp_cover_track_next, when all tracks are added. Names are those of any of the ranges. */
bool mp_cover_union_next(struct mp_cover_union *cover, struct mp_cover *out);
void mp_cover_union_release(struct mp_cover_union *cover);

#endif
