/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file, packed or not -> one memory range. Packing is known by the first bytes (RFC 1952 for gzip,
 * RFC 8878 for zstd). Files of several members or frames are unpacked to their concatenation.
 */
#include "base/input.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"

#include "base/banned.h"

/* The growing output. max is the caller's bound, never 0. */
struct area {
	uint8_t *data; /* owned */
	size_t len, cap, max;
};

static enum mp_packing recognise(const uint8_t *data, size_t size)
{
	uint32_t magic;

	if (size >= 3 && data[0] == 0x1f && data[1] == 0x8b && data[2] == 8)
		return MP_PACKING_GZIP;
	if (size < 4)
		return MP_PACKING_NONE;
	magic = (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
		(uint32_t)data[3] << 24;
	if (magic == ZSTD_MAGICNUMBER || (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START)
		return MP_PACKING_ZSTD;
	return MP_PACKING_NONE;
}

/* Makes room for at least one more byte. One byte more than max may be used, to see that it overflows. */
static mp_status area_grow(struct area *area, const char *path, mp_err *err)
{
	size_t cap = area->cap, bound = area->max == SIZE_MAX ? SIZE_MAX : area->max + 1;
	uint8_t *grown;

	if (area->len > area->max)
		return mp_err_set(err, MINDPROF_E_LIMIT, path, -1,
				  "unpacked size exceeds the limit of %zu bytes", area->max);
	if (area->len < cap)
		return MINDPROF_OK;
	cap = cap > bound / 2 ? bound : cap * 2;
	grown = cap > area->cap ? mp_realloc_array(area->data, cap, 1) : NULL;
	if (!grown)
		return mp_err_nomem(err, cap);
	area->data = grown;
	area->cap = cap;
	return MINDPROF_OK;
}

static void set_damage(struct mp_input *input, mp_status status, size_t offset)
{
	input->damage = status;
	input->damage_offset = (int64_t)offset;
}

/* --- gzip */

static void *zlib_alloc(void *user, unsigned count, unsigned size)
{
	(void)user;
	return mp_calloc(count, size);
}

static void zlib_free(void *user, void *block)
{
	(void)user;
	mp_free(block);
}

static bool all_zero(const uint8_t *p, size_t len)
{
	while (len && *p == 0) {
		p++;
		len--;
	}
	return len == 0;
}

static void feed_zlib(z_stream *z, const struct mp_file *file, struct area *area)
{
	size_t room = area->cap - area->len, left = file->size - (size_t)(z->next_in - file->data);

	z->next_out = area->data + area->len;
	z->avail_out = (uInt)MP_MIN(room, (size_t)1 << 30);
	z->avail_in = (uInt)MP_MIN(left, (size_t)1 << 30);
}

/* One member; *done tells that its end was reached. Damage is noted in input. */
static mp_status inflate_member(struct mp_input *input, z_stream *z, struct area *area, bool *done,
				mp_err *err)
{
	uInt gave;
	int rc;

	*done = false;
	for (;;) {
		MP_TRY(area_grow(area, input->file.path, err));
		feed_zlib(z, &input->file, area);
		gave = z->avail_out;
		rc = inflate(z, Z_NO_FLUSH);
		area->len += gave - z->avail_out;
		if (rc == Z_STREAM_END) {
			*done = true;
			return area->len > area->max ? area_grow(area, input->file.path, err) : MINDPROF_OK;
		}
		if (rc == Z_MEM_ERROR)
			return mp_err_nomem(err, (size_t)1 << 15);
		if (rc == Z_OK && (z->avail_in || z->avail_out == 0))
			continue;
		if (rc == Z_OK && z->next_in != input->file.data + input->file.size)
			continue;
		if (rc == Z_OK || rc == Z_BUF_ERROR)
			set_damage(input, MINDPROF_E_TRUNCATED, input->file.size);
		else
			set_damage(input, MINDPROF_E_FORMAT, (size_t)(z->next_in - input->file.data));
		return MINDPROF_OK;
	}
}

static mp_status unpack_gzip(struct mp_input *input, struct area *area, mp_err *err)
{
	const struct mp_file *file = &input->file;
	z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free, .next_in = (Bytef *)(uintptr_t)file->data};
	mp_status status = MINDPROF_OK;
	bool done = true;

	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return mp_err_nomem(err, (size_t)1 << 13);
	while (status == MINDPROF_OK && done) {
		size_t at = (size_t)(z.next_in - file->data);

		if (all_zero(z.next_in, file->size - at))
			break; /* the end, perhaps padded */
		if (at && recognise(z.next_in, file->size - at) != MP_PACKING_GZIP) {
			set_damage(input, MINDPROF_E_FORMAT, at);
			break;
		}
		inflateReset(&z);
		status = inflate_member(input, &z, area, &done, err);
	}
	inflateEnd(&z);
	return status;
}

/* --- zstd */

static mp_status unpack_zstd(struct mp_input *input, struct area *area, mp_err *err)
{
	ZSTD_inBuffer in = {.src = input->file.data, .size = input->file.size, .pos = 0};
	ZSTD_DStream *stream = ZSTD_createDStream();
	mp_status status = MINDPROF_OK;
	size_t hint = 0, frame = 0;

	if (!stream)
		return mp_err_nomem(err, (size_t)1 << 17);
	for (;;) {
		ZSTD_outBuffer out;
		size_t at = in.pos;

		status = area_grow(area, input->file.path, err);
		if (status != MINDPROF_OK)
			break;
		out = (ZSTD_outBuffer){
			.dst = area->data + area->len, .size = area->cap - area->len, .pos = 0};
		hint = ZSTD_decompressStream(stream, &out, &in);
		area->len += out.pos;
		if (ZSTD_isError(hint)) {
			bool foreign =
				recognise(input->file.data + frame, in.size - frame) != MP_PACKING_ZSTD;

			set_damage(input, MINDPROF_E_FORMAT, foreign ? frame : in.pos);
			break;
		}
		if (hint == 0)
			frame = in.pos;
		if (in.pos == in.size && hint == 0)
			break;
		if (in.pos == in.size && out.pos < out.size && in.pos == at) {
			set_damage(input, MINDPROF_E_TRUNCATED, in.size);
			break;
		}
	}
	ZSTD_freeDStream(stream);
	if (status == MINDPROF_OK && area->len > area->max)
		status = area_grow(area, input->file.path, err);
	return status;
}

/* --- opening */

static mp_status unpack(struct mp_input *input, size_t max_bytes, mp_err *err)
{
	struct area area = {.max = max_bytes ? max_bytes : SIZE_MAX};
	const char *path = input->file.path;
	size_t first = MP_MAX(input->file.size, (size_t)16384);
	mp_status status;

	area.cap = MP_MIN(first > SIZE_MAX / 4 ? SIZE_MAX : first * 4,
			  area.max == SIZE_MAX ? SIZE_MAX : area.max + 1);
	area.data = mp_malloc(area.cap);
	if (!area.data)
		return mp_err_nomem(err, area.cap);
	status = input->packing == MP_PACKING_GZIP ? unpack_gzip(input, &area, err)
						   : unpack_zstd(input, &area, err);
	if (status == MINDPROF_OK && input->damage != MINDPROF_OK && area.len == 0)
		status = mp_err_set(err, input->damage, path, input->damage_offset,
				    "nothing could be unpacked");
	if (status != MINDPROF_OK) {
		mp_free(area.data);
		return status;
	}
	input->data = area.data;
	input->size = area.len;
	mp_file_forget(&input->file, 0, input->file.size);
	return MINDPROF_OK;
}

static mp_status open_opened(struct mp_input *input, size_t max_bytes, mp_err *err)
{
	mp_status status;

	input->packing = recognise(input->file.data, input->file.size);
	if (input->packing == MP_PACKING_NONE) {
		input->data = input->file.data;
		input->size = input->file.size;
		return MINDPROF_OK;
	}
	status = unpack(input, max_bytes, err);
	if (status != MINDPROF_OK) {
		mp_file_close(&input->file);
		memset(input, 0, sizeof(*input));
	}
	return status;
}

mp_status mp_input_open_at(const struct mp_dir *dir, const char *name, size_t max_bytes, struct mp_input *out,
			   mp_err *err)
{
	memset(out, 0, sizeof(*out));
	MP_TRY(mp_file_open_at(dir, name, &out->file, err));
	return open_opened(out, max_bytes, err);
}

mp_status mp_input_open(const char *path, size_t max_bytes, struct mp_input *out, mp_err *err)
{
	memset(out, 0, sizeof(*out));
	MP_TRY(mp_file_open(path, &out->file, err));
	return open_opened(out, max_bytes, err);
}

void mp_input_close(struct mp_input *input)
{
	if (input->packing != MP_PACKING_NONE)
		mp_free((void *)(uintptr_t)input->data);
	mp_file_close(&input->file);
	memset(input, 0, sizeof(*input));
}
