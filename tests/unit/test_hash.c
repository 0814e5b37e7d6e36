/* SPDX-License-Identifier: Apache-2.0 */
/* base/hash: CRC-32C against published vectors and a bitwise model, spread of the hash, the map. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "unit/torture.h"

static uint64_t next_random(uint64_t *random)
{
	*random += 0x9e3779b97f4a7c15ull;
	return mp_hash_u64(*random);
}

typedef uint32_t (*crc_fn)(uint32_t crc, const void *bytes, size_t len);

/* The definition: one bit after the other, polynomial 0x1edc6f41 reflected. */
static uint32_t crc_bitwise(uint32_t crc, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	crc = ~crc;
	while (len--) {
		crc ^= *at++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static const crc_fn crcs[] = {mp_crc32c, mp_crc32c_table, crc_bitwise};

/* RFC 3720, appendix B.4, and the usual check value. */
static void crc_vectors(void **state)
{
	uint8_t bytes[32];

	(void)state;
	for (size_t i = 0; i < sizeof(crcs) / sizeof(crcs[0]); i++) {
		assert_int_equal(crcs[i](0, "", 0), 0);
		assert_int_equal(crcs[i](0, "123456789", 9), 0xe3069283u);
		memset(bytes, 0, 32);
		assert_int_equal(crcs[i](0, bytes, 32), 0x8a9136aau);
		memset(bytes, 0xff, 32);
		assert_int_equal(crcs[i](0, bytes, 32), 0x62a8ab43u);
		for (int j = 0; j < 32; j++)
			bytes[j] = (uint8_t)j;
		assert_int_equal(crcs[i](0, bytes, 32), 0x46dd794eu);
		for (int j = 0; j < 32; j++)
			bytes[j] = (uint8_t)(31 - j);
		assert_int_equal(crcs[i](0, bytes, 32), 0x113fdb5cu);
	}
}

/* All lengths around the borders of the block sizes, every alignment, and continuation. */
static void crc_implementations_agree(void **state)
{
	static uint8_t bytes[40000];
	uint64_t random = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)next_random(&random);
	for (int i = 0; i < 1500; i++) {
		size_t len = i < 900 ? (size_t)i : (size_t)(next_random(&random) % 30000);
		size_t at = next_random(&random) % 16;
		size_t cut = len ? next_random(&random) % len : 0;
		uint32_t want = crc_bitwise(0, bytes + at, len);

		assert_int_equal(mp_crc32c(0, bytes + at, len), want);
		assert_int_equal(mp_crc32c_table(0, bytes + at, len), want);
		assert_int_equal(mp_crc32c(mp_crc32c(0, bytes + at, cut), bytes + at + cut, len - cut), want);
	}
}

static void crc_at_block_borders(void **state)
{
	static uint8_t bytes[2 * 6144 + 768 + 16];
	static const size_t borders[] = {8, 256, 768, 1536, 2048, 6144, 6144 + 768, 2 * 6144, 2 * 6144 + 768};
	uint64_t random = 2;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)next_random(&random);
	for (size_t i = 0; i < sizeof(borders) / sizeof(borders[0]); i++) {
		for (size_t len = borders[i] - 1; len <= borders[i] + 1; len++)
			assert_int_equal(mp_crc32c(7, bytes, len), crc_bitwise(7, bytes, len));
	}
}

static void hash_depends_on_every_bit_and_the_length(void **state)
{
	uint8_t bytes[100] = {0};

	(void)state;
	for (size_t len = 0; len < sizeof(bytes); len++) {
		uint64_t plain = mp_hash_bytes(bytes, len, 5);

		assert_int_equal(mp_hash_bytes(bytes, len, 5), plain);
		assert_int_not_equal(mp_hash_bytes(bytes, len + 1, 5), plain);
		assert_int_not_equal(mp_hash_bytes(bytes, len, 6), plain);
		for (size_t bit = 0; bit < len * 8; bit++) {
			uint64_t flipped;

			bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			flipped = mp_hash_bytes(bytes, len, 5);
			bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			/* Fewer than 10 of 64 bits change with probability below 10^-8. */
			assert_true(__builtin_popcountll(flipped ^ plain) >= 10);
		}
	}
}

/* Words that make a factor 0, if somebody knew the constants, must not hide the words beside them. */
static void hash_survives_zero_factors(void **state)
{
	static const uint64_t constants[] = {0, 0x6a09e667f3bcc909ull, 0xbb67ae8584caa73bull,
					     0x3c6ef372fe94f82bull, 0xa54ff53a5f1d36f1ull};
	uint64_t words[8] = {0};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(constants); i++) {
		for (size_t at = 0; at < 8; at++) {
			uint64_t first, second;

			for (size_t j = 0; j < 8; j++)
				words[j] = constants[i];
			words[at] = 1;
			first = mp_hash_bytes(words, sizeof(words), 1);
			words[at] = 2;
			second = mp_hash_bytes(words, sizeof(words), 1);
			assert_int_not_equal(first, second);
			assert_int_not_equal(first, mp_hash_bytes(words, sizeof(words), 2));
		}
	}
}

/* 100,000 operator names into 65,536 buckets by low and by high bits: near 1.53 a bucket. */
static void hash_spreads_names(void **state)
{
	static uint8_t low[65536], high[65536];
	uint8_t most_low = 0, most_high = 0;
	size_t used_low = 0;

	(void)state;
	memset(low, 0, sizeof(low));
	memset(high, 0, sizeof(high));
	for (int i = 0; i < 100000; i++) {
		char name[64];
		int len = snprintf(name, sizeof(name), "Default/network/layer%d/MatMul-op%d", i / 100, i);
		uint64_t hash = mp_hash_bytes(name, (size_t)len, 0);

		used_low += low[hash & 0xffff]++ == 0;
		high[hash >> 48]++;
		most_low = MP_MAX(most_low, low[hash & 0xffff]);
		most_high = MP_MAX(most_high, high[hash >> 48]);
	}
	/* Random hashing leaves 65536 * e^-1.526 = 14,250 empty and no bucket above 13. */
	assert_in_range(65536 - used_low, 13700, 14800);
	assert_true(most_low <= 13);
	assert_true(most_high <= 13);
}

/* Texts are read as they lie, never beyond their end (the sanitizer build looks). */
static void hash_reads_only_the_text(void **state)
{
	(void)state;
	for (size_t len = 0; len < 80; len++) {
		uint8_t *exact = mp_malloc(len);
		uint8_t padded[100];

		assert_non_null(exact);
		memset(exact, 'a', len);
		memset(padded, 'z', sizeof(padded));
		memset(padded + 3, 'a', len);
		assert_int_equal(mp_hash_bytes(exact, len, 1), mp_hash_bytes(padded + 3, len, 1));
		mp_free(exact);
	}
}

static void map_holds_any_key(void **state)
{
	static const uint64_t keys[] = {0, 1, UINT64_MAX, 1ull << 63, 16, 32, 48};
	struct mp_map64 map = {0};

	(void)state;
	assert_null(mp_map64_lookup(&map, 0));
	for (uint64_t i = 0; i < MP_COUNT(keys); i++) {
		assert_null(mp_map64_lookup(&map, keys[i]));
		assert_true(mp_map64_put(&map, keys[i], i));
	}
	assert_int_equal(map.len, MP_COUNT(keys));
	for (uint64_t i = 0; i < MP_COUNT(keys); i++)
		assert_int_equal(*mp_map64_lookup(&map, keys[i]), i);
	assert_null(mp_map64_lookup(&map, 2));
	mp_map64_release(&map);
	mp_map64_release(&map);
}

/* Against a plain array: 200,000 puts of 5,000 keys. */
static void map_overwrites(void **state)
{
	static uint64_t model[5000];
	struct mp_map64 map = {0};
	uint64_t random = 3;

	(void)state;
	memset(model, 0xff, sizeof(model));
	for (uint64_t i = 0; i < 200000; i++) {
		uint64_t key = next_random(&random) % 5000;

		assert_true(mp_map64_put(&map, key << 32, i));
		model[key] = i;
	}
	for (uint64_t key = 0; key < 5000; key++) {
		const uint64_t *value = mp_map64_lookup(&map, key << 32);

		if (model[key] == UINT64_MAX)
			assert_null(value);
		else
			assert_int_equal(*value, model[key]);
	}
	assert_null(mp_map64_lookup(&map, 5000ull << 32));
	assert_true(map.len <= 5000 && map.cap <= 8192);
	mp_map64_release(&map);
}

static void map_value_can_be_changed_in_place(void **state)
{
	struct mp_map64 map = {0};

	(void)state;
	assert_true(mp_map64_put(&map, 7, 1));
	*mp_map64_lookup(&map, 7) += 41;
	assert_int_equal(*mp_map64_lookup(&map, 7), 42);
	mp_map64_release(&map);
}

static mp_status fill_map(void *user)
{
	struct mp_map64 map = {0};
	mp_status status = MINDPROF_OK;
	size_t n = 0;

	(void)user;
	while (n < 40 && mp_map64_put(&map, n, n))
		n++;
	if (n < 40)
		status = MINDPROF_E_NOMEM;
	assert_int_equal(map.len, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(*mp_map64_lookup(&map, i), i);
	mp_map64_release(&map);
	return status;
}

static void map_allocation_failures(void **state)
{
	(void)state;
	/* capacities 16, 32, 64 */
	assert_int_equal(torture(fill_map, NULL), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc_vectors),
		cmocka_unit_test(crc_implementations_agree),
		cmocka_unit_test(crc_at_block_borders),
		cmocka_unit_test(hash_depends_on_every_bit_and_the_length),
		cmocka_unit_test(hash_survives_zero_factors),
		cmocka_unit_test(hash_spreads_names),
		cmocka_unit_test(hash_reads_only_the_text),
		cmocka_unit_test(map_holds_any_key),
		cmocka_unit_test(map_overwrites),
		cmocka_unit_test(map_value_can_be_changed_in_place),
		cmocka_unit_test(map_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
