/* SPDX-License-Identifier: Apache-2.0 */
/*
 * String table. 64 shards, chosen by hash, each with a lock for adding, an arena for texts and a
 * slot array that is read without the lock. Ids are handed out by one counter; id -> text goes
 * through an array of chunks of growing size, published before the id is.
 *
 *   slot = upper 32 bits of the hash << 32 | id, 0 = free (the empty string has no slot)
 *   chunk k holds the 1024 << k ids from ((1 << k) - 1) * 1024 on
 */
#include "base/strtab.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"

#include "base/banned.h"

#define SHARDS 64
#define FIRST_CHUNK_BITS 10
#define CHUNKS (32 - FIRST_CHUNK_BITS + 1)
#define FIRST_SLOTS 16

/* Readers may still walk an outgrown array, so it is kept until the table is freed. */
struct slots {
	struct slots *outgrown;
	size_t cap; /* a power of two */
	_Atomic uint64_t at[];
};

struct shard {
	_Atomic(struct slots *) slots;
	size_t len;
	struct mp_arena arena;
	pthread_mutex_t lock;
};

struct mp_strtab {
	_Atomic(struct mp_str *) chunks[CHUNKS];
	_Atomic uint32_t count;
	_Atomic size_t total_bytes;
	size_t max_bytes;
	uint64_t seed;
	pthread_mutex_t ids_lock;
	struct shard shards[SHARDS];
};

static inline unsigned chunk_of(uint32_t id)
{
	return 31u - (unsigned)__builtin_clz((id >> FIRST_CHUNK_BITS) + 1);
}

static inline uint32_t chunk_first(unsigned chunk)
{
	return ((1u << chunk) - 1) << FIRST_CHUNK_BITS;
}

/* Different in every process, so that nobody can prepare texts that collide. */
static uint64_t random_seed(void)
{
	const void *bytes = (const void *)getauxval(AT_RANDOM);

	return bytes ? mp_hash_bytes(bytes, 16, 0) : 0;
}

/* Appends the text under the next id; MP_STR_NONE when memory or ids are exhausted. */
static uint32_t publish(struct mp_strtab *table, const char *text, size_t len)
{
	uint32_t id;
	unsigned chunk;
	struct mp_str *items;

	pthread_mutex_lock(&table->ids_lock);
	id = atomic_load_explicit(&table->count, memory_order_relaxed);
	if (id == MP_STR_NONE)
		goto out;
	chunk = chunk_of(id);
	items = atomic_load_explicit(&table->chunks[chunk], memory_order_relaxed);
	if (!items) {
		items = mp_realloc_array(NULL, (size_t)1 << (FIRST_CHUNK_BITS + chunk), sizeof(*items));
		if (!items) {
			id = MP_STR_NONE;
			goto out;
		}
		atomic_store_explicit(&table->chunks[chunk], items, memory_order_release);
	}
	items[id - chunk_first(chunk)] = (struct mp_str){text, len};
	atomic_store_explicit(&table->count, id + 1, memory_order_release);
out:
	pthread_mutex_unlock(&table->ids_lock);
	return id;
}

mp_status mp_strtab_new(size_t max_bytes, struct mp_strtab **out, mp_err *err)
{
	struct mp_strtab *table = mp_calloc(1, sizeof(*table));

	*out = NULL;
	if (!table)
		return mp_err_nomem(err, sizeof(*table));
	table->max_bytes = max_bytes ? max_bytes : SIZE_MAX;
	table->seed = random_seed();
	pthread_mutex_init(&table->ids_lock, NULL);
	for (unsigned i = 0; i < SHARDS; i++)
		pthread_mutex_init(&table->shards[i].lock, NULL);
	if (publish(table, "", 0) != MP_STR_EMPTY) {
		mp_strtab_free(table);
		return mp_err_nomem(err, sizeof(struct mp_str) << FIRST_CHUNK_BITS);
	}
	*out = table;
	return MINDPROF_OK;
}

static void release_shard(struct shard *shard)
{
	struct slots *slots = atomic_load_explicit(&shard->slots, memory_order_relaxed);

	while (slots) {
		struct slots *outgrown = slots->outgrown;

		mp_free(slots);
		slots = outgrown;
	}
	mp_arena_release(&shard->arena);
	pthread_mutex_destroy(&shard->lock);
}

void mp_strtab_free(struct mp_strtab *table)
{
	if (!table)
		return;
	for (unsigned i = 0; i < SHARDS; i++)
		release_shard(&table->shards[i]);
	for (unsigned i = 0; i < CHUNKS; i++)
		mp_free(atomic_load_explicit(&table->chunks[i], memory_order_relaxed));
	pthread_mutex_destroy(&table->ids_lock);
	mp_free(table);
}

uint32_t mp_strtab_count(const struct mp_strtab *table)
{
	return atomic_load_explicit(&table->count, memory_order_acquire);
}

struct mp_str mp_strtab_get(const struct mp_strtab *table, uint32_t id)
{
	const struct mp_str *items;
	unsigned chunk;

	/* The acquiring load makes everything below count visible, however the id came here. */
	if (id >= mp_strtab_count(table))
		return (struct mp_str){"", 0};
	chunk = chunk_of(id);
	items = atomic_load_explicit(&table->chunks[chunk], memory_order_acquire);
	return items[id - chunk_first(chunk)];
}

static inline bool same_text(const struct mp_strtab *table, uint32_t id, const char *text, size_t len)
{
	struct mp_str there = mp_strtab_get(table, id);

	return there.len == len && memcmp(there.text, text, len) == 0;
}

/* The id of a text that is not empty, or MP_STR_NONE. Needs no lock. */
static uint32_t find(const struct mp_strtab *table, const struct slots *slots, const char *text, size_t len,
		     uint64_t hash)
{
	size_t i;

	if (!slots)
		return MP_STR_NONE;
	for (i = hash & (slots->cap - 1);; i = (i + 1) & (slots->cap - 1)) {
		uint64_t slot = atomic_load_explicit(&slots->at[i], memory_order_acquire);

		if (!slot)
			return MP_STR_NONE;
		if (slot >> 32 == hash >> 32 && same_text(table, (uint32_t)slot, text, len))
			return (uint32_t)slot;
	}
}

static void put_slot(struct slots *slots, uint64_t slot, uint64_t hash)
{
	size_t i = hash & (slots->cap - 1);

	while (atomic_load_explicit(&slots->at[i], memory_order_relaxed))
		i = (i + 1) & (slots->cap - 1);
	atomic_store_explicit(&slots->at[i], slot, memory_order_release);
}

/* Makes sure that one more slot is free; the shard's lock is held. */
static struct slots *slots_with_room(struct mp_strtab *table, struct shard *shard)
{
	struct slots *old = atomic_load_explicit(&shard->slots, memory_order_relaxed);
	size_t cap = old ? old->cap : 0;
	struct slots *grown;

	if (old && shard->len < cap / 2)
		return old;
	cap = cap ? cap * 2 : FIRST_SLOTS;
	grown = mp_calloc(1, sizeof(*grown) + cap * sizeof(grown->at[0]));
	if (!grown)
		return NULL;
	grown->cap = cap;
	grown->outgrown = old;
	for (size_t i = 0; old && i < old->cap; i++) {
		uint64_t slot = atomic_load_explicit(&old->at[i], memory_order_relaxed);

		if (slot) {
			struct mp_str str = mp_strtab_get(table, (uint32_t)slot);

			put_slot(grown, slot, mp_hash_bytes(str.text, str.len, table->seed));
		}
	}
	atomic_store_explicit(&shard->slots, grown, memory_order_release);
	return grown;
}

static bool take_bytes(struct mp_strtab *table, size_t len)
{
	size_t total = atomic_load_explicit(&table->total_bytes, memory_order_relaxed);

	do {
		if (len > table->max_bytes - total)
			return false;
	} while (!atomic_compare_exchange_weak(&table->total_bytes, &total, total + len));
	return true;
}

/* Adds a text that the shard, whose lock is held, does not have. */
static uint32_t insert(struct mp_strtab *table, struct shard *shard, const char *text, size_t len,
		       uint64_t hash)
{
	struct slots *slots = slots_with_room(table, shard);
	uint32_t id = MP_STR_NONE;
	char *copy;

	if (!slots || !take_bytes(table, len))
		return MP_STR_NONE;
	copy = mp_arena_strndup(&shard->arena, text, len);
	if (copy)
		id = publish(table, copy, len);
	if (id == MP_STR_NONE) {
		atomic_fetch_sub(&table->total_bytes, len);
		return MP_STR_NONE;
	}
	put_slot(slots, hash >> 32 << 32 | id, hash);
	shard->len++;
	return id;
}

static inline struct shard *shard_of(struct mp_strtab *table, uint64_t hash)
{
	return &table->shards[hash >> 26 & (SHARDS - 1)];
}

static uint32_t add_hashed(struct mp_strtab *table, const char *text, size_t len, uint64_t hash)
{
	struct shard *shard = shard_of(table, hash);
	uint32_t id;

	id = find(table, atomic_load_explicit(&shard->slots, memory_order_acquire), text, len, hash);
	if (id != MP_STR_NONE)
		return id;
	pthread_mutex_lock(&shard->lock);
	/* Somebody may have added it in between. */
	id = find(table, atomic_load_explicit(&shard->slots, memory_order_relaxed), text, len, hash);
	if (id == MP_STR_NONE)
		id = insert(table, shard, text, len, hash);
	pthread_mutex_unlock(&shard->lock);
	return id;
}

uint32_t mp_strtab_add(struct mp_strtab *table, const char *text, size_t len)
{
	if (!len)
		return MP_STR_EMPTY;
	return add_hashed(table, text, len, mp_hash_bytes(text, len, table->seed));
}

uint32_t mp_strtab_lookup(struct mp_strtab *table, const char *text, size_t len)
{
	uint64_t hash;
	const struct slots *slots;

	if (!len)
		return MP_STR_EMPTY;
	hash = mp_hash_bytes(text, len, table->seed);
	slots = atomic_load_explicit(&shard_of(table, hash)->slots, memory_order_acquire);
	return find(table, slots, text, len, hash);
}

void mp_strcache_init(struct mp_strcache *cache, struct mp_strtab *table)
{
	memset(cache, 0, sizeof(*cache));
	cache->table = table;
}

uint32_t mp_strcache_add(struct mp_strcache *cache, const char *text, size_t len)
{
	uint64_t hash;
	size_t i;

	if (!len)
		return MP_STR_EMPTY;
	hash = mp_hash_bytes(text, len, cache->table->seed);
	i = hash % MP_COUNT(cache->slots);
	/* A slot never used has id 0, the empty string, which text is not. */
	if (cache->slots[i].hash == hash && same_text(cache->table, cache->slots[i].id, text, len))
		return cache->slots[i].id;
	cache->slots[i].id = add_hashed(cache->table, text, len, hash);
	cache->slots[i].hash = hash;
	return cache->slots[i].id;
}
