/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event store: life, strings, committed blocks, time range and sizes. Names live in
 * st_names.c, messages in st_notes.c, appending in st_append.c, order in st_sort.c.
 * Contract: st_store.h; picture: docs/architecture.md.
 */
#include <assert.h>

#include "base/hash.h"
#include "store/st_private.h"

#include "base/banned.h"

static mp_status fill_new(struct mp_store *store, mp_err *err)
{
	struct mp_detail empty = {.stream = -1};
	const char *text = "a message could not be kept because memory is out";

	MP_TRY(mp_strtab_new((size_t)store->options.max_bytes, &store->strings, err));
	store->lost_note = (struct mp_note){
		.severity = MP_PROBLEM,
		.code = mp_store_string(store, "out-of-memory"),
		.byte_offset = -1,
		.text = mp_store_string(store, text),
	};
	if (store->lost_note.code == MP_STR_NONE || store->lost_note.text == MP_STR_NONE ||
	    !mp_vec_reserve(&store->notes, 1) || mp_store_detail(store, &empty) != 0)
		return mp_err_nomem(err, strlen(text));
	return MINDPROF_OK;
}

mp_status mp_store_new(const struct mp_store_options *options, struct mp_store **out, mp_err *err)
{
	struct mp_store *store = mp_calloc(1, sizeof(*store));
	mp_status status;

	*out = NULL;
	if (store == NULL)
		return mp_err_nomem(err, sizeof(*store));
	if (options)
		store->options = *options;
	store->seed = mp_hash_u64((uint64_t)(uintptr_t)store);
	store->begin_ns = INT64_MAX;
	store->end_ns = INT64_MIN;
	pthread_mutex_init(&store->names_lock, NULL);
	pthread_mutex_init(&store->blocks_lock, NULL);
	status = fill_new(store, err);
	if (status != MINDPROF_OK) {
		mp_store_free(store);
		return status;
	}
	*out = store;
	return MINDPROF_OK;
}

void mp_store_free(struct mp_store *store)
{
	if (store == NULL)
		return;
	for (size_t i = 0; i < store->blocks.len; i++)
		mp_free(store->blocks.at[i]);
	mp_vec_release(&store->blocks);
	mp_order_release(&store->order);
	mp_vec_release(&store->processes);
	mp_vec_release(&store->tracks);
	mp_vec_release(&store->details);
	mp_vec_release(&store->notes);
	mp_vec_release(&store->facts);
	mp_index_release(&store->process_index);
	mp_index_release(&store->track_index);
	mp_index_release(&store->detail_index);
	mp_index_release(&store->note_index);
	mp_index_release(&store->fact_index);
	mp_strtab_free(store->strings);
	pthread_mutex_destroy(&store->names_lock);
	pthread_mutex_destroy(&store->blocks_lock);
	mp_free(store);
}

struct mp_strtab *mp_store_strings(const struct mp_store *store)
{
	return store->strings;
}

uint32_t mp_store_string(struct mp_store *store, const char *text)
{
	return mp_strtab_add(store->strings, text, strlen(text));
}

struct mp_str mp_store_text(const struct mp_store *store, uint32_t string_id)
{
	return mp_strtab_get(store->strings, string_id);
}

size_t mp_store_n_blocks(const struct mp_store *store)
{
	return store->blocks.len;
}

const struct mp_block *mp_store_get_block(const struct mp_store *store, size_t index)
{
	assert(index < store->blocks.len);
	return store->blocks.at[index];
}

const struct mp_block *const *mp_store_blocks(const struct mp_store *store)
{
	return (const struct mp_block *const *)store->blocks.at;
}

uint64_t mp_store_n_events(const struct mp_store *store, enum mp_kind kind)
{
	return store->n_events[kind];
}

bool mp_store_time_range(const struct mp_store *store, int64_t *begin_ns, int64_t *end_ns)
{
	if (store->begin_ns > store->end_ns)
		return false;
	*begin_ns = store->begin_ns;
	*end_ns = store->end_ns;
	return true;
}

uint64_t mp_store_bytes(const struct mp_store *store)
{
	uint64_t bytes = store->block_bytes;
	uint32_t from = 0;

	mp_store_lock(&store->names_lock);
	bytes += store->details.cap * sizeof(*store->details.at);
	bytes += store->tracks.cap * sizeof(*store->tracks.at);
	mp_store_unlock(&store->names_lock);
	for (int kind = 0; kind < MP_KINDS; kind++)
		bytes += store->order.n[kind] * sizeof(struct mp_ref);
	return bytes + mp_store_string_bytes(store, &from);
}

uint64_t mp_store_string_bytes(const struct mp_store *store, uint32_t *from)
{
	uint32_t count = mp_strtab_count(store->strings);
	uint64_t bytes = 0;

	for (; *from < count; (*from)++)
		bytes += mp_strtab_get(store->strings, *from).len + sizeof(struct mp_str) + sizeof(uint64_t);
	return bytes;
}
