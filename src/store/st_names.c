/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes, tracks and details of the event store: each distinct one is kept once and found
 * again by its key. All under one lock; readers look names up once per source, not per event.
 */
#include <assert.h>

#include "base/hash.h"
#include "store/st_private.h"

#include "base/banned.h"

_Static_assert(sizeof(struct mp_detail) == 6 * 4 + 2 * 8, "details are compared as bytes");

static bool same_process(const void *wanted, const void *entries, uint32_t id)
{
	return ((const struct mp_process *)entries)[id].pid == ((const struct mp_process *)wanted)->pid;
}

static bool same_track(const void *wanted, const void *entries, uint32_t id)
{
	const struct mp_track *a = wanted, *b = (const struct mp_track *)entries + id;

	return a->process == b->process && a->tid == b->tid && a->kind == b->kind;
}

static bool same_detail(const void *wanted, const void *entries, uint32_t id)
{
	return memcmp(wanted, (const struct mp_detail *)entries + id, sizeof(struct mp_detail)) == 0;
}

/* Fills what the entry does not know yet. */
static void complete_process(struct mp_process *entry, const struct mp_process *process)
{
	if (entry->rank < 0)
		entry->rank = process->rank;
	if (entry->name == 0)
		entry->name = process->name;
	if (entry->labels == 0)
		entry->labels = process->labels;
}

uint32_t mp_store_process(struct mp_store *store, const struct mp_process *process)
{
	uint64_t hash = mp_hash_u64((uint64_t)process->pid ^ store->seed);
	uint32_t id;

	mp_store_lock(&store->names_lock);
	id = mp_index_lookup(&store->process_index, hash, same_process, process, store->processes.at);
	if (id != MP_INDEX_NONE) {
		complete_process(&store->processes.at[id], process);
	} else if (store->processes.len < MP_INDEX_NONE && mp_index_reserve(&store->process_index) &&
		   mp_vec_push(&store->processes, *process)) {
		id = (uint32_t)(store->processes.len - 1);
		mp_index_add(&store->process_index, hash, id);
	}
	mp_store_unlock(&store->names_lock);
	return id;
}

uint32_t mp_store_track(struct mp_store *store, const struct mp_track *track)
{
	uint64_t hash = mp_hash_u64((uint64_t)track->tid ^
				    mp_hash_u64(((uint64_t)track->process << 8 | track->kind) ^ store->seed));
	uint32_t id;

	mp_store_lock(&store->names_lock);
	assert(track->process < store->processes.len);
	id = mp_index_lookup(&store->track_index, hash, same_track, track, store->tracks.at);
	if (id != MP_INDEX_NONE) {
		struct mp_track *entry = &store->tracks.at[id];

		if (entry->stream < 0)
			entry->stream = track->stream;
		if (entry->name == 0)
			entry->name = track->name;
	} else if (store->tracks.len < MP_INDEX_NONE && mp_index_reserve(&store->track_index) &&
		   mp_vec_push(&store->tracks, *track)) {
		id = (uint32_t)(store->tracks.len - 1);
		mp_index_add(&store->track_index, hash, id);
	}
	mp_store_unlock(&store->names_lock);
	return id;
}

uint32_t mp_store_detail(struct mp_store *store, const struct mp_detail *detail)
{
	struct mp_detail wanted = *detail;
	uint64_t hash;
	uint32_t id;

	wanted.reserved = 0;
	hash = mp_hash_bytes(&wanted, sizeof(wanted), store->seed);
	mp_store_lock(&store->names_lock);
	id = mp_index_lookup(&store->detail_index, hash, same_detail, &wanted, store->details.at);
	if (id == MP_INDEX_NONE && store->details.len < MP_INDEX_NONE &&
	    mp_index_reserve(&store->detail_index) && mp_vec_push(&store->details, wanted)) {
		id = (uint32_t)(store->details.len - 1);
		mp_index_add(&store->detail_index, hash, id);
	}
	mp_store_unlock(&store->names_lock);
	return id;
}

size_t mp_store_n_processes(const struct mp_store *store)
{
	size_t n;

	mp_store_lock(&store->names_lock);
	n = store->processes.len;
	mp_store_unlock(&store->names_lock);
	return n;
}

size_t mp_store_n_tracks(const struct mp_store *store)
{
	size_t n;

	mp_store_lock(&store->names_lock);
	n = store->tracks.len;
	mp_store_unlock(&store->names_lock);
	return n;
}

size_t mp_store_n_details(const struct mp_store *store)
{
	size_t n;

	mp_store_lock(&store->names_lock);
	n = store->details.len;
	mp_store_unlock(&store->names_lock);
	return n;
}

struct mp_process mp_store_get_process(const struct mp_store *store, uint32_t index)
{
	struct mp_process process = {.rank = -1};

	mp_store_lock(&store->names_lock);
	if (index < store->processes.len)
		process = store->processes.at[index];
	mp_store_unlock(&store->names_lock);
	return process;
}

struct mp_track mp_store_get_track(const struct mp_store *store, uint32_t index)
{
	struct mp_track track = {.stream = -1};

	mp_store_lock(&store->names_lock);
	if (index < store->tracks.len)
		track = store->tracks.at[index];
	mp_store_unlock(&store->names_lock);
	return track;
}

struct mp_detail mp_store_get_detail(const struct mp_store *store, uint32_t index)
{
	struct mp_detail detail = {.stream = -1};

	mp_store_lock(&store->names_lock);
	if (index < store->details.len)
		detail = store->details.at[index];
	mp_store_unlock(&store->names_lock);
	return detail;
}

void mp_store_set_process_name(struct mp_store *store, uint32_t process, uint32_t name)
{
	mp_store_lock(&store->names_lock);
	if (process < store->processes.len)
		store->processes.at[process].name = name;
	mp_store_unlock(&store->names_lock);
}

void mp_store_set_track_name(struct mp_store *store, uint32_t track, uint32_t name)
{
	mp_store_lock(&store->names_lock);
	if (track < store->tracks.len)
		store->tracks.at[track].name = name;
	mp_store_unlock(&store->names_lock);
}
