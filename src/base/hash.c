/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashing: a multiply-mix hash for tables, CRC-32C for the native format (hardware instructions
 * where the machine has them, else eight tables), and the map from 64-bit keys to values.
 */
#include "base/hash.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

#include "base/compiler.h"
#include "base/crc32c_table.h"
#include "base/mem.h"

#include "base/banned.h"

/* Odd constants with evenly spread bits: the fractional parts of the roots of 2, 3, 5 and 7. */
#define K0 0x6a09e667f3bcc909ull
#define K1 0xbb67ae8584caa73bull
#define K2 0x3c6ef372fe94f82bull
#define K3 0xa54ff53a5f1d36f1ull

static inline uint64_t load64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint64_t load32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* Both halves of the 128-bit product, folded; the factors again, so that none can be lost by a 0. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ a ^ b;
}

uint64_t mp_hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
	const uint8_t *at = bytes;
	const uint8_t *end = at + len;
	uint64_t a = 0, b = 0;

	seed ^= mix(seed ^ K0, len ^ K1);
	if (len > 16) {
		if (len > 32) {
			uint64_t other = seed ^ K3;

			for (; end - at > 32; at += 32) {
				seed = mix(load64(at) ^ K1, load64(at + 8) ^ seed);
				other = mix(load64(at + 16) ^ K2, load64(at + 24) ^ other);
			}
			seed ^= other;
		}
		if (end - at > 16)
			seed = mix(load64(at) ^ K2, load64(at + 8) ^ seed);
		a = load64(end - 16);
		b = load64(end - 8);
	} else if (len >= 8) {
		a = load64(at);
		b = load64(end - 8);
	} else if (len >= 4) {
		a = load32(at);
		b = load32(end - 4);
	} else if (len) {
		a = (uint64_t)at[0] << 16 | (uint64_t)at[len / 2] << 8 | end[-1];
	}
	return mix(mix(a ^ K1, b ^ seed) ^ K0, len ^ K3);
}

uint32_t mp_crc32c_table(uint32_t crc, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	crc = ~crc;
	for (; len >= 8; len -= 8, at += 8) {
		uint32_t low = crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
				      (uint32_t)at[3] << 24);

		crc = crc32c_tables[7][low & 0xff] ^ crc32c_tables[6][low >> 8 & 0xff] ^
		      crc32c_tables[5][low >> 16 & 0xff] ^ crc32c_tables[4][low >> 24] ^
		      crc32c_tables[3][at[4]] ^ crc32c_tables[2][at[5]] ^ crc32c_tables[1][at[6]] ^
		      crc32c_tables[0][at[7]];
	}
	for (; len; len--)
		crc = crc >> 8 ^ crc32c_tables[0][(crc ^ *at++) & 0xff];
	return ~crc;
}

#if defined(__x86_64__)
#define CRC_TARGET __attribute__((target("sse4.2,pclmul")))

/* Three streams of LONG or SHORT bytes each hide the latency of the instruction. */
#define LONG ((size_t)2048)
#define SHORT ((size_t)256)

/* crc times x^(8n): the state after n further zero bytes. factor = x^(8n - 33) mod P, reflected. */
CRC_TARGET static inline uint64_t shift(uint64_t crc, uint32_t factor)
{
	__m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc),
					       _mm_cvtsi64_si128((long long)factor), 0);

	return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

CRC_TARGET static inline uint64_t three_streams(uint64_t crc, const uint8_t *at, size_t n,
						const uint32_t *factors)
{
	const uint8_t *end = at + n;
	uint64_t second = 0, third = 0;

	for (; at < end; at += 8) {
		crc = _mm_crc32_u64(crc, load64(at));
		second = _mm_crc32_u64(second, load64(at + n));
		third = _mm_crc32_u64(third, load64(at + 2 * n));
	}
	return shift(crc, factors[1]) ^ shift(second, factors[0]) ^ third;
}

CRC_TARGET static uint32_t crc32c_sse42(uint32_t start, const uint8_t *at, size_t len)
{
	uint64_t crc = ~start;

	for (; len >= 3 * LONG; len -= 3 * LONG, at += 3 * LONG)
		crc = three_streams(crc, at, LONG, crc32c_shift_2048);
	for (; len >= 3 * SHORT; len -= 3 * SHORT, at += 3 * SHORT)
		crc = three_streams(crc, at, SHORT, crc32c_shift_256);
	for (; len >= 8; len -= 8, at += 8)
		crc = _mm_crc32_u64(crc, load64(at));
	for (; len; len--)
		crc = _mm_crc32_u8((uint32_t)crc, *at++);
	return ~(uint32_t)crc;
}

uint32_t mp_crc32c(uint32_t crc, const void *bytes, size_t len)
{
	if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
		return crc32c_sse42(crc, bytes, len);
	return mp_crc32c_table(crc, bytes, len);
}

#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)

uint32_t mp_crc32c(uint32_t crc, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	crc = ~crc;
	for (; len >= 8; len -= 8, at += 8)
		crc = __crc32cd(crc, load64(at));
	for (; len; len--)
		crc = __crc32cb(crc, *at++);
	return ~crc;
}

#else

uint32_t mp_crc32c(uint32_t crc, const void *bytes, size_t len)
{
	return mp_crc32c_table(crc, bytes, len);
}

#endif

/* The slot of a key that is not 0, or the free slot where it belongs. */
static struct mp_map64_slot *map64_slot(const struct mp_map64 *map, uint64_t key)
{
	size_t at = (size_t)mp_hash_u64(key) & (map->cap - 1);

	while (map->slots[at].key && map->slots[at].key != key)
		at = (at + 1) & (map->cap - 1);
	return &map->slots[at];
}

uint64_t *mp_map64_lookup(const struct mp_map64 *map, uint64_t key)
{
	struct mp_map64_slot *slot;

	if (!key)
		return map->len > map->filled ? (uint64_t *)&map->zero_value : NULL;
	if (!map->cap)
		return NULL;
	slot = map64_slot(map, key);
	return slot->key ? &slot->value : NULL;
}

static bool map64_grow(struct mp_map64 *map)
{
	struct mp_map64 grown = *map;

	grown.cap = map->cap ? map->cap * 2 : 16;
	grown.slots = mp_calloc(grown.cap, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < map->cap; i++) {
		if (map->slots[i].key)
			*map64_slot(&grown, map->slots[i].key) = map->slots[i];
	}
	mp_free(map->slots);
	*map = grown;
	return true;
}

bool mp_map64_put(struct mp_map64 *map, uint64_t key, uint64_t value)
{
	uint64_t *there = mp_map64_lookup(map, key);

	if (there) {
		*there = value;
		return true;
	}
	if (!key) {
		map->zero_value = value;
		map->len++;
		return true;
	}
	if (map->filled >= map->cap - map->cap / 4 && !map64_grow(map))
		return false;
	*map64_slot(map, key) = (struct mp_map64_slot){key, value};
	map->filled++;
	map->len++;
	return true;
}

void mp_map64_release(struct mp_map64 *map)
{
	mp_free(map->slots);
	memset(map, 0, sizeof(*map));
}
