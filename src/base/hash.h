/* SPDX-License-Identifier: Apache-2.0 */
/* Hash functions, the CRC of the native format, and a map from 64-bit keys to 64-bit values. */
#ifndef MP_HASH_H
#define MP_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fast non-cryptographic hash, seeded; not stable across releases: on disk only where a new value does no harm. */
uint64_t mp_hash_bytes(const void *bytes, size_t len, uint64_t seed);

static inline uint64_t mp_hash_u64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ (x >> 32);
}

/* CRC-32C (Castagnoli, reflected, start and final value inverted); crc = 0 starts a new one. */
uint32_t mp_crc32c(uint32_t crc, const void *bytes, size_t len);
/* The same without special instructions; what mp_crc32c falls back to. */
uint32_t mp_crc32c_table(uint32_t crc, const void *bytes, size_t len);

struct mp_map64_slot {
	uint64_t key, value; /* key 0 = free */
};

/* Open addressing; any key is allowed. Zero-initialised is a valid empty map. */
struct mp_map64 {
	struct mp_map64_slot *slots; /* owned */
	size_t len, cap;             /* cap is 0 or a power of two */
	size_t filled;               /* slots in use: len without key 0 */
	uint64_t zero_value;         /* of key 0, when len is not filled */
};

/* Pointer to the value of key, or NULL. Valid until the next put. */
uint64_t *mp_map64_lookup(const struct mp_map64 *map, uint64_t key);
/* Inserts or overwrites; false when memory is out (the map is unchanged then). */
bool mp_map64_put(struct mp_map64 *map, uint64_t key, uint64_t value);
void mp_map64_release(struct mp_map64 *map);

#endif
