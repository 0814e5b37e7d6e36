/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges that may end on another thread: begins and ends are met in any order, by several workers. A
 * table holds the halves that wait, so its size is the number of ranges under way, not of all.
 * Document: docs/formats/native.md.
 */
#include "base/mem.h"
#include "readers/rd_native.h"

#include "base/banned.h"

#define FIRST_SLOTS 256u

struct slot {
	struct native_async_half half;
	bool used;
};

struct native_async {
	pthread_mutex_t lock;
	struct slot *slots; /* owned; linear probing */
	size_t cap, len;    /* cap is a power of two */
};

mp_status native_async_new(struct native_async **out, mp_err *err)
{
	struct native_async *async = mp_calloc(1, sizeof(*async));

	*out = NULL;
	if (!async)
		return mp_err_nomem(err, sizeof(*async));
	async->cap = FIRST_SLOTS;
	async->slots = mp_calloc(async->cap, sizeof(*async->slots));
	if (!async->slots) {
		mp_free(async);
		return mp_err_nomem(err, FIRST_SLOTS * sizeof(*async->slots));
	}
	pthread_mutex_init(&async->lock, NULL);
	*out = async;
	return MINDPROF_OK;
}

void native_async_free(struct native_async *async)
{
	if (!async)
		return;
	pthread_mutex_destroy(&async->lock);
	mp_free(async->slots);
	mp_free(async);
}

/* The slot of this id, or the free one where it belongs. */
static size_t slot_of(const struct native_async *async, uint64_t id)
{
	size_t at = mp_hash_u64(id) & (async->cap - 1);

	while (async->slots[at].used && async->slots[at].half.id != id)
		at = (at + 1) & (async->cap - 1);
	return at;
}

static bool grow(struct native_async *async)
{
	struct native_async larger = {.cap = async->cap * 2};

	larger.slots = mp_calloc(larger.cap, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < async->cap; i++)
		if (async->slots[i].used)
			larger.slots[slot_of(&larger, async->slots[i].half.id)] = async->slots[i];
	mp_free(async->slots);
	async->slots = larger.slots;
	async->cap = larger.cap;
	return true;
}

/* Takes a slot out and moves up those behind it that may be nearer to where they belong. */
static void take_out(struct native_async *async, size_t hole)
{
	size_t mask = async->cap - 1;

	for (size_t at = (hole + 1) & mask; async->slots[at].used; at = (at + 1) & mask) {
		size_t home = mp_hash_u64(async->slots[at].half.id) & mask;

		if (((at - home) & mask) >= ((at - hole) & mask)) {
			async->slots[hole] = async->slots[at];
			hole = at;
		}
	}
	async->slots[hole].used = false;
	async->len--;
}

static bool put(struct native_async *async, const struct native_async_half *half,
		struct native_async_half *other, bool *paired, bool *replaced)
{
	size_t at = slot_of(async, half->id);
	struct slot *slot = &async->slots[at];

	if (slot->used && slot->half.is_end != half->is_end) {
		*other = slot->half;
		*paired = true;
		take_out(async, at);
		return true;
	}
	*replaced = slot->used;
	if (!slot->used) {
		if (async->len * 4 >= async->cap * 3) {
			if (!grow(async))
				return false;
			slot = &async->slots[slot_of(async, half->id)];
		}
		async->len++;
	}
	*slot = (struct slot){*half, true};
	return true;
}

bool native_async_put(struct native_async *async, const struct native_async_half *half,
		      struct native_async_half *other, bool *paired, bool *replaced)
{
	bool ok;

	*paired = *replaced = false;
	pthread_mutex_lock(&async->lock);
	ok = put(async, half, other, paired, replaced);
	pthread_mutex_unlock(&async->lock);
	return ok;
}

bool native_async_next(const struct native_async *async, size_t *at, struct native_async_half *out)
{
	for (; *at < async->cap; ++*at) {
		if (async->slots[*at].used) {
			*out = async->slots[(*at)++].half;
			return true;
		}
	}
	return false;
}

uint32_t native_async_track(struct native *in, uint32_t site)
{
	struct mp_track track = {
		.process = in->process,
		.tid = site,
		.stream = -1,
		.name = in->sites.at[site].name,
		.sort_index = (int32_t)MP_MIN(site, (uint32_t)INT32_MAX),
		.kind = MP_TRACK_ASYNC,
	};

	return mp_store_track(in->store, &track);
}
