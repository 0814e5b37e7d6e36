/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the event store; included by src/store/st_*.c only. */
#ifndef MP_ST_PRIVATE_H
#define MP_ST_PRIVATE_H

#include <pthread.h>

#include "base/mem.h"
#include "base/vec.h"
#include "store/st_index.h"
#include "store/st_store.h"

struct mp_fact {
	uint32_t key, text; /* string ids */
};

/* Order of events, built by mp_store_sort. */
struct mp_order {
	struct mp_ref *refs[MP_KINDS];        /* owned; RANGE: track after track */
	size_t n[MP_KINDS];
	size_t *track_at;                     /* owned; n_tracks + 1 positions in refs[MP_KIND_RANGE] */
	size_t n_tracks;
	size_t n_blocks;                      /* the order is of so many blocks */
	bool built;
};

struct mp_store {
	struct mp_store_options options;
	struct mp_strtab *strings; /* owned */
	uint64_t seed;             /* of hashes, so that no file can be made of colliding numbers */

	/* Lock of everything down to facts. */
	pthread_mutex_t names_lock;
	MP_VEC(struct mp_process) processes;
	MP_VEC(struct mp_track) tracks;
	MP_VEC(struct mp_detail) details;
	MP_VEC(struct mp_note) notes; /* room for one more is always kept, for the note below */
	struct mp_note lost_note;     /* what is noted when a message cannot be kept; made in advance */
	size_t lost_note_at;          /* its place, once it was needed */
	MP_VEC(struct mp_fact) facts;
	struct mp_index process_index, track_index, detail_index, note_index, fact_index;

	/* Lock of everything down to bytes, and of the streaming hook. */
	pthread_mutex_t blocks_lock;
	MP_VEC(struct mp_block *) blocks; /* owned */
	uint64_t n_events[MP_KINDS];
	int64_t begin_ns, end_ns; /* begin > end: no event yet */
	uint64_t block_bytes;     /* of all blocks, open ones too */
	uint64_t string_bytes;    /* of the first strings_counted strings; kept only when there is a bound */
	uint32_t strings_counted;

	struct mp_order order;
};

void mp_order_release(struct mp_order *order);
/* Bytes of the strings from id *from on; *from becomes the number of strings. */
uint64_t mp_store_string_bytes(const struct mp_store *store, uint32_t *from);

static inline void mp_store_lock(const pthread_mutex_t *lock)
{
	/* Getters take a const store; the lock in it is not part of its value. */
	pthread_mutex_lock((pthread_mutex_t *)lock);
}

static inline void mp_store_unlock(const pthread_mutex_t *lock)
{
	pthread_mutex_unlock((pthread_mutex_t *)lock);
}

#endif
