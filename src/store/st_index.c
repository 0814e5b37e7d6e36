/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash index of the store's entry arrays (processes, tracks, details, notes, facts): linear
 * probing, at most three quarters full, nothing is ever taken out.
 */
#include "store/st_index.h"

#include <assert.h>

#include "base/mem.h"

#include "base/banned.h"

static uint32_t fold(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

uint32_t mp_index_lookup(const struct mp_index *index, uint64_t hash, mp_index_match_fn match,
			 const void *wanted, const void *entries)
{
	uint32_t folded = fold(hash);

	if (index->cap == 0)
		return MP_INDEX_NONE;
	for (size_t at = folded & (index->cap - 1);; at = (at + 1) & (index->cap - 1)) {
		const struct mp_index_slot *slot = &index->slots[at];

		if (slot->id == MP_INDEX_NONE)
			return MP_INDEX_NONE;
		if (slot->hash == folded && match(wanted, entries, slot->id))
			return slot->id;
	}
}

static void place(struct mp_index_slot *slots, size_t cap, struct mp_index_slot slot)
{
	size_t at = slot.hash & (cap - 1);

	while (slots[at].id != MP_INDEX_NONE)
		at = (at + 1) & (cap - 1);
	slots[at] = slot;
}

bool mp_index_reserve(struct mp_index *index)
{
	struct mp_index_slot *slots;
	size_t cap = index->cap ? index->cap * 2 : 16;

	if (index->len + 1 <= index->cap / 4 * 3)
		return true;
	slots = mp_realloc_array(NULL, cap, sizeof(*slots));
	if (slots == NULL)
		return false;
	memset(slots, 0xff, cap * sizeof(*slots));
	for (size_t i = 0; i < index->cap; i++) {
		if (index->slots[i].id != MP_INDEX_NONE)
			place(slots, cap, index->slots[i]);
	}
	mp_free(index->slots);
	index->slots = slots;
	index->cap = cap;
	return true;
}

void mp_index_add(struct mp_index *index, uint64_t hash, uint32_t id)
{
	assert(index->len < index->cap && id != MP_INDEX_NONE);
	place(index->slots, index->cap, (struct mp_index_slot){.hash = fold(hash), .id = id});
	index->len++;
}

void mp_index_release(struct mp_index *index)
{
	mp_free(index->slots);
	*index = (struct mp_index){0};
}
