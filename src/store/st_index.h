/* SPDX-License-Identifier: Apache-2.0 */
/* Hash index over the entries of some array: finds the number of an entry by its content. */
#ifndef MP_ST_INDEX_H
#define MP_ST_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MP_INDEX_NONE UINT32_MAX

struct mp_index_slot {
	uint32_t hash;
	uint32_t id; /* MP_INDEX_NONE = empty */
};

/* Open addressing; zero-initialised is a valid empty index. */
struct mp_index {
	struct mp_index_slot *slots; /* owned */
	size_t len, cap;             /* cap is 0 or a power of two */
};

/* True when entry `id` is the wanted one. */
typedef bool (*mp_index_match_fn)(const void *wanted, const void *entries, uint32_t id);

uint32_t mp_index_lookup(const struct mp_index *index, uint64_t hash, mp_index_match_fn match,
			 const void *wanted, const void *entries);
/* Makes room for one more; false when memory is out. */
bool mp_index_reserve(struct mp_index *index);
/* After a reserve; the entry must not be there yet. */
void mp_index_add(struct mp_index *index, uint64_t hash, uint32_t id);
void mp_index_release(struct mp_index *index);

#endif
