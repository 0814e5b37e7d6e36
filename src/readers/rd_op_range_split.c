/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splitting an op_range file: a walk over record heads finds places where decoding can begin, makes
 * the tracks in order of first appearance, and finds the kernel launches that the clock is fitted to.
 * Input: the mapped file. Document: docs/formats/framework.md.
 */
#include "base/mem.h"
#include "readers/rd_op_range.h"

#include "base/banned.h"

#define WINDOW_BYTES (2u << 20)  /* stays in a cache from splitting to decoding */
#define CHUNK_BYTES (256u << 10) /* smaller ones spend their time giving pages back */
#define PREFETCH_BYTES 1024
#define PROBE_RECORDS 16

/* Whether the inner fields fill the body exactly and begin with the right type. */
static bool fields_fit(const uint8_t *body, uint32_t len, const struct mp_fwk_form_info *form)
{
	uint32_t at = form->fixed_bytes;

	if (len < at + MP_FWK_HEAD_BYTES || op_range_u16(body + at) != form->first_field)
		return false;
	while (len - at >= MP_FWK_HEAD_BYTES) {
		uint32_t field_len = op_range_u32(body + at + 2);

		at += MP_FWK_HEAD_BYTES;
		if (field_len > len - at)
			return false;
		at += field_len;
	}
	return at == len;
}

/* Whether more than half of the first records have this form. */
static bool most_fit(const uint8_t *data, size_t size, const struct mp_fwk_form_info *form)
{
	size_t at = 0;
	int n = 0, n_fit = 0;

	while (n < PROBE_RECORDS && size - at >= MP_FWK_HEAD_BYTES) {
		uint32_t len = op_range_u32(data + at + 2);

		at += MP_FWK_HEAD_BYTES;
		if (len > size - at)
			break;
		n_fit += fields_fit(data + at, len, form);
		at += len;
		n++;
	}
	return n_fit * 2 > n;
}

enum mp_fwk_form op_range_form_of(const void *data, size_t size, enum mp_fwk_form likely, bool *sure)
{
	*sure = false;
	for (int form = 0; form < MP_FWK_FORMS; form++) {
		if (most_fit(data, size, &mp_fwk_forms[form])) {
			*sure = true;
			return (enum mp_fwk_form)form;
		}
	}
	return likely;
}

static uint64_t thread_of(enum mp_fwk_form form, const uint8_t *body)
{
	return op_range_u64(body + (form == MP_FWK_27
					    ? offsetof(struct mp_fwk_op_range, thread_id)
					    : offsetof(struct mp_fwk_op_range_23, start_thread_id)));
}

static bool add_track(struct op_range_file *in, uint64_t thread)
{
	int64_t tid = (int64_t)thread;
	struct mp_track track = {
		.process = in->process,
		.tid = tid,
		.stream = -1,
		.sort_index = tid >= 0 && tid < INT32_MAX ? (int32_t)tid : INT32_MAX,
		.kind = MP_TRACK_THREAD,
	};
	uint32_t index = mp_store_track(in->store, &track);

	return index != UINT32_MAX && mp_map64_put(&in->tracks, thread, index);
}

/* The body of the record at *at, which moves behind it. NULL at the end and at a cut, which is counted. */
static const uint8_t *next_body(struct op_range_file *in, uint64_t *at, uint32_t *len)
{
	const uint8_t *data = in->file.data;
	uint64_t left = in->file.size - *at;

	if (!left)
		return NULL;
	__builtin_prefetch(data + *at + PREFETCH_BYTES);
	*len = left >= MP_FWK_HEAD_BYTES ? op_range_u32(data + *at + 2) : 0;
	if (left < MP_FWK_HEAD_BYTES || *len > left - MP_FWK_HEAD_BYTES) {
		mp_fault_add(&in->faults[OP_RANGE_CUT], (int64_t)*at, 1);
		return NULL;
	}
	*at += mp_fwk_record_bytes(*len);
	return data + *at - *len;
}

bool op_range_split(struct op_range_file *in, uint64_t *at)
{
	uint64_t begin = *at, chunk_begin = begin, before = begin, last_thread = 0;
	bool have_thread = false;
	const uint8_t *body;
	uint32_t len;

	in->chunks.len = 0;
	if (!mp_vec_push(&in->chunks, begin))
		return false;
	while ((body = next_body(in, at, &len)) != NULL) {
		if (len < mp_fwk_forms[in->form].fixed_bytes) {
			mp_fault_add(&in->faults[OP_RANGE_SHORT], (int64_t)before, 1);
		} else if (!have_thread || thread_of(in->form, body) != last_thread) {
			have_thread = true;
			last_thread = thread_of(in->form, body);
			if (!mp_map64_lookup(&in->tracks, last_thread) && !add_track(in, last_thread))
				return false;
		}
		before = *at;
		if (*at - chunk_begin < CHUNK_BYTES)
			continue;
		if (!mp_vec_push(&in->chunks, *at))
			return false;
		chunk_begin = *at;
		if (*at - begin >= WINDOW_BYTES)
			return true;
	}
	if (chunk_begin != *at && !mp_vec_push(&in->chunks, *at))
		return false;
	*at = in->file.size;
	return true;
}

/* The FULL_NAME of a record body. */
static bool full_name(const uint8_t *body, uint32_t len, struct op_range_launch *out)
{
	uint32_t at = mp_fwk_forms[MP_FWK_27].fixed_bytes;

	while (len - at >= MP_FWK_HEAD_BYTES) {
		uint16_t type = op_range_u16(body + at);
		uint32_t field_len = op_range_u32(body + at + 2);

		at += MP_FWK_HEAD_BYTES;
		if (field_len > len - at)
			return false;
		if (type == MP_FWK_FULL_NAME) {
			out->name = (const char *)body + at;
			out->name_len = field_len;
			return true;
		}
		at += field_len;
	}
	return false;
}

bool op_range_find_launches(const struct op_range_file *in, op_range_launches *out)
{
	const uint8_t *data = in->file.data;
	uint64_t size = in->file.size, at = 0, forgotten = 0;

	while (size - at >= MP_FWK_HEAD_BYTES && out->len < OP_RANGE_LAUNCHES_MAX) {
		uint32_t len = op_range_u32(data + at + 2);
		const uint8_t *body = data + at + MP_FWK_HEAD_BYTES;
		struct mp_fwk_op_range record;
		struct op_range_launch launch;

		if (len > size - at - MP_FWK_HEAD_BYTES)
			break;
		at += mp_fwk_record_bytes(len);
		if (at - forgotten >= WINDOW_BYTES) {
			mp_file_forget(&in->file, forgotten, at - forgotten);
			forgotten = at;
		}
		if (len < sizeof(record))
			continue;
		memcpy(&record, body, sizeof(record));
		launch.tick = record.start_tick;
		if (record.module == MP_FWK_MODULE_KERNEL && record.event == MP_FWK_EVENT_KERNEL_LAUNCH &&
		    !record.is_stack && !record.is_graph_data && !record.is_stage && launch.tick &&
		    launch.tick <= MP_FWK_UNIX_NS_MIN && full_name(body, len, &launch) &&
		    !mp_vec_push(out, launch))
			return false;
	}
	return true;
}
