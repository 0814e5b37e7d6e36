/* SPDX-License-Identifier: Apache-2.0 */
/* Packed and plain inputs: recognition by content, several members, damage, limits, torture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/input.h"
#include "base/mem.h"

static char folder[] = "/tmp/mindprof-input-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/file", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static void store(const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void add_gzip(struct mp_buf *buf, const char *text, size_t len)
{
	z_stream z = {0};
	size_t room = compressBound(len) + 64;

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = (Bytef *)mp_buf_reserve(buf, room);
	assert_non_null(z.next_out);
	z.avail_out = (uInt)room;
	z.next_in = (Bytef *)text;
	z.avail_in = (uInt)len;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf->len += room - z.avail_out;
	deflateEnd(&z);
}

static void add_zstd(struct mp_buf *buf, const char *text, size_t len)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t room = ZSTD_compressBound(len), got;
	char *to = mp_buf_reserve(buf, room);

	assert_non_null(context);
	assert_non_null(to);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	got = ZSTD_compress2(context, to, room, text, len);
	assert_false(ZSTD_isError(got));
	buf->len += got;
	ZSTD_freeCCtx(context);
}

/* Text that packs, but not to nothing. */
static char *sample(size_t len)
{
	char *text = malloc(len + 1);
	uint32_t seed = 5;
	size_t i;

	assert_non_null(text);
	for (i = 0; i < len; i++) {
		seed = seed * 1664525u + 1013904223u;
		text[i] = "MatMul, "[(seed >> 24) % 8];
	}
	text[len] = '\0';
	return text;
}

static void expect_content(size_t max_bytes, enum mp_packing packing, const char *text, size_t len)
{
	struct mp_input input;

	assert_int_equal(mp_input_open(path, max_bytes, &input, NULL), MINDPROF_OK);
	assert_int_equal(input.packing, packing);
	assert_int_equal(input.damage, MINDPROF_OK);
	assert_int_equal(input.size, len);
	if (len)
		assert_memory_equal(input.data, text, len);
	mp_input_close(&input);
}

static void expect_failure(size_t max_bytes, mp_status status)
{
	struct mp_input input;
	mp_err err = {0};

	assert_int_equal(mp_input_open(path, max_bytes, &input, &err), status);
	assert_int_equal(err.status, status);
	assert_true(err.n_causes > 0 && err.causes[0].text[0] != '\0');
	/* Closing after a failure is harmless. */
	mp_input_close(&input);
}

static void test_plain(void **state)
{
	(void)state;
	store("", 0);
	expect_content(0, MP_PACKING_NONE, "", 0);
	store("\x1f", 1);
	expect_content(0, MP_PACKING_NONE, "\x1f", 1);
	store("\x1f\x8b\x07", 3); /* not the deflate method */
	expect_content(0, MP_PACKING_NONE, "\x1f\x8b\x07", 3);
	/* The bound is for what is unpacked; a mapped file costs no memory. */
	store("[1, 2]", 6);
	expect_content(3, MP_PACKING_NONE, "[1, 2]", 6);
	unlink(path);
	expect_failure(0, MINDPROF_E_NOT_FOUND);
}

static void test_open_at(void **state)
{
	struct mp_input input;
	struct mp_dir dir;

	(void)state;
	store("abc", 3);
	assert_int_equal(mp_dir_open(folder, &dir, NULL), MINDPROF_OK);
	assert_int_equal(mp_input_open_at(&dir, "file", 0, &input, NULL), MINDPROF_OK);
	assert_int_equal(input.size, 3);
	mp_input_close(&input);
	assert_int_equal(mp_input_open_at(&dir, "other", 0, &input, NULL), MINDPROF_E_NOT_FOUND);
	mp_dir_close(&dir);
}

typedef void (*pack_fn)(struct mp_buf *buf, const char *text, size_t len);

/* One part, two parts, an empty part between; from nothing to far more than the first allocation. */
static void check_parts(pack_fn pack, enum mp_packing packing)
{
	static const size_t lens[] = {0, 1, 1000, 65536, 3000000};
	struct mp_buf buf;
	size_t i;

	mp_buf_init(&buf, 64 << 20);
	for (i = 0; i < MP_COUNT(lens); i++) {
		char *text = sample(lens[i]);

		mp_buf_clear(&buf);
		pack(&buf, text, lens[i]);
		store(buf.data, buf.len);
		expect_content(0, packing, text, lens[i]);
		expect_content(lens[i] ? lens[i] : 1, packing, text, lens[i]);
		if (lens[i] > 1)
			expect_failure(lens[i] - 1, MINDPROF_E_LIMIT);
		mp_buf_clear(&buf);
		pack(&buf, text, lens[i] / 3);
		pack(&buf, text, 0);
		pack(&buf, text + lens[i] / 3, lens[i] - lens[i] / 3);
		store(buf.data, buf.len);
		expect_content(0, packing, text, lens[i]);
		free(text);
	}
	mp_buf_release(&buf);
}

static void test_gzip_parts(void **state)
{
	(void)state;
	check_parts(add_gzip, MP_PACKING_GZIP);
}

static void test_zstd_parts(void **state)
{
	(void)state;
	check_parts(add_zstd, MP_PACKING_ZSTD);
}

/* A megabyte of zeros packs a thousandfold: the bound must hold, not a guess from the packed size. */
static void test_bomb(void **state)
{
	size_t len = 16 << 20;
	char *zeros = calloc(1, len);
	struct mp_buf buf;

	(void)state;
	assert_non_null(zeros);
	mp_buf_init(&buf, 32 << 20);
	add_gzip(&buf, zeros, len);
	store(buf.data, buf.len);
	expect_content(0, MP_PACKING_GZIP, zeros, len);
	expect_failure(1 << 20, MINDPROF_E_LIMIT);
	mp_buf_clear(&buf);
	add_zstd(&buf, zeros, len);
	store(buf.data, buf.len);
	expect_content(0, MP_PACKING_ZSTD, zeros, len);
	expect_failure(1 << 20, MINDPROF_E_LIMIT);
	mp_buf_release(&buf);
	free(zeros);
}

static void test_skippable_frame(void **state)
{
	struct mp_buf buf;

	(void)state;
	mp_buf_init(&buf, 1 << 20);
	mp_buf_add(&buf, "\x53\x2a\x4d\x18\x03\x00\x00\x00xyz", 11);
	add_zstd(&buf, "content", 7);
	store(buf.data, buf.len);
	expect_content(0, MP_PACKING_ZSTD, "content", 7);
	mp_buf_release(&buf);
}

/* What stands behind the last part: zeros are padding to gzip, the rest is damage at that place. */
static void check_garbage(pack_fn pack, const char *text, const char *garbage, bool padding)
{
	struct mp_buf buf;
	struct mp_input input;
	size_t good;

	mp_buf_init(&buf, 1 << 20);
	pack(&buf, text, strlen(text));
	good = buf.len;
	mp_buf_add(&buf, garbage, 12);
	store(buf.data, buf.len);
	assert_int_equal(mp_input_open(path, 0, &input, NULL), MINDPROF_OK);
	assert_int_equal(input.size, strlen(text));
	assert_memory_equal(input.data, text, input.size);
	assert_int_equal(input.damage, padding ? MINDPROF_OK : MINDPROF_E_FORMAT);
	if (!padding)
		assert_int_equal(input.damage_offset, good);
	mp_input_close(&input);
	mp_buf_release(&buf);
}

static void test_garbage_behind(void **state)
{
	static const char zeros[12];

	(void)state;
	check_garbage(add_gzip, "content", "garbage here", false);
	check_garbage(add_gzip, "content", zeros, true);
	check_garbage(add_zstd, "content", "garbage here", false);
}

/* Cut at every byte: what could be unpacked is a prefix, and the end is reported as the place. */
static void check_cuts(pack_fn pack, size_t recognised_from)
{
	char *text = sample(1500);
	struct mp_buf buf;
	struct mp_input input;
	size_t len, with_content = 0;
	mp_err err;

	mp_buf_init(&buf, 1 << 20);
	pack(&buf, text, 1000);
	pack(&buf, text + 1000, 500);
	for (len = recognised_from; len < buf.len; len++) {
		mp_status status;

		store(buf.data, len);
		status = mp_input_open(path, 0, &input, &err);
		if (status != MINDPROF_OK) {
			assert_int_equal(status, MINDPROF_E_TRUNCATED);
			assert_int_equal(err.causes[0].byte_offset, len);
			continue;
		}
		assert_true(input.size <= 1500);
		assert_memory_equal(input.data, text, input.size);
		/* A cut exactly between the parts cannot be seen; a cut in the second magic looks like
		 * garbage. */
		if (input.damage == MINDPROF_OK)
			assert_int_equal(input.size, 1000);
		else if (input.damage == MINDPROF_E_TRUNCATED)
			assert_int_equal(input.damage_offset, len);
		else
			assert_int_equal(input.size, 1000);
		with_content++;
		mp_input_close(&input);
	}
	assert_true(with_content > 100);
	mp_buf_release(&buf);
	free(text);
}

static void test_cuts(void **state)
{
	(void)state;
	check_cuts(add_gzip, 3);
	check_cuts(add_zstd, 4);
}

/* Changed bytes: never more than a clean failure or a noted damage; both packings carry a checksum. */
static void check_flips(pack_fn pack)
{
	char *text = sample(2000);
	struct mp_buf buf;
	struct mp_input input;
	uint32_t seed = 11;
	size_t damaged = 0;
	int round;

	mp_buf_init(&buf, 1 << 20);
	pack(&buf, text, 2000);
	for (round = 0; round < 1500; round++) {
		size_t at;
		char old;

		seed = seed * 1664525u + 1013904223u;
		at = (seed >> 8) % buf.len;
		old = buf.data[at];
		buf.data[at] = (char)(old ^ (1 << (seed >> 4) % 8));
		store(buf.data, buf.len);
		buf.data[at] = old;
		if (mp_input_open(path, 1 << 20, &input, NULL) != MINDPROF_OK) {
			damaged++;
			continue;
		}
		if (input.damage != MINDPROF_OK) {
			damaged++;
			assert_in_range(input.damage_offset, 0, buf.len);
		} else if (input.packing != MP_PACKING_NONE) {
			assert_int_equal(input.size, 2000);
			assert_memory_equal(input.data, text, 2000);
		}
		mp_input_close(&input);
	}
	assert_true(damaged > 1000);
	mp_buf_release(&buf);
	free(text);
}

static void test_flips(void **state)
{
	(void)state;
	check_flips(add_gzip);
	check_flips(add_zstd);
}

static void test_nothing_unpacked(void **state)
{
	(void)state;
	store("\x1f\x8b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
	expect_failure(0, MINDPROF_E_FORMAT);
	store("\x1f\x8b\x08", 3);
	expect_failure(0, MINDPROF_E_TRUNCATED);
	store("\x28\xb5\x2f\xfd", 4);
	expect_failure(0, MINDPROF_E_TRUNCATED);
	store("\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 20);
	expect_failure(0, MINDPROF_E_FORMAT);
}

static void test_without_memory(void **state)
{
	char *text = sample(400000);
	struct mp_buf buf;
	pack_fn packs[] = {add_gzip, add_zstd};
	size_t i;
	uint64_t n;

	(void)state;
	mp_buf_init(&buf, 1 << 22);
	for (i = 0; i < MP_COUNT(packs); i++) {
		mp_buf_clear(&buf);
		packs[i](&buf, text, 400000);
		store(buf.data, buf.len);
		for (n = 0;; n++) {
			struct mp_input input;
			mp_status status;

			mp_mem_fail_after(n);
			status = mp_input_open(path, 0, &input, NULL);
			mp_mem_fail_after(UINT64_MAX);
			mp_input_close(&input);
			if (status == MINDPROF_OK)
				break;
			assert_int_equal(status, MINDPROF_E_NOMEM);
		}
		assert_true(n >= 2);
	}
	mp_buf_release(&buf);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),          cmocka_unit_test(test_open_at),
		cmocka_unit_test(test_gzip_parts),     cmocka_unit_test(test_zstd_parts),
		cmocka_unit_test(test_bomb),           cmocka_unit_test(test_skippable_frame),
		cmocka_unit_test(test_garbage_behind), cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_flips),          cmocka_unit_test(test_nothing_unpacked),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
