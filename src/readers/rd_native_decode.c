/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding event records of a native recording into the store, batch by batch on the pool. Plain
 * ranges, most of all records, are written straight into the columns of a block.
 * Document: docs/formats/native.md.
 */
#include "readers/rd_native.h"

#include "base/banned.h"

#define TICKS_MAX (1ull << (64 - MP_NATIVE_TICK_SHIFT))

/* One piece being decoded. */
struct decoder {
	struct native *in;
	struct native_worker *worker;
	const struct native_piece *piece;
	struct mp_fault *faults; /* of the piece's file */
	const uint8_t *at, *end; /* in the file, or in a copy */
};

static inline struct mp_native_event load_event(const uint8_t *at)
{
	struct mp_native_event event;

	memcpy(&event, at, sizeof(event));
	return event;
}

/* Where in the file the decoder is. */
static int64_t offset_of(const struct decoder *d)
{
	return (int64_t)(d->piece->payload + d->piece->bytes) - (d->end - d->at);
}

static void count_fault(const struct decoder *d, enum native_fault fault)
{
	mp_fault_add(&d->faults[fault], offset_of(d), 1);
}

static inline const struct native_site *site_of(const struct native *in, uint32_t id)
{
	return &in->sites.at[MP_LIKELY(id < in->sites.len) ? id : 0];
}

/* ---- plain ranges ---- */

/* As many plain ranges as follow each other and fit into a block. False when no block can be had. */
static bool decode_ranges(struct decoder *d)
{
	struct mp_block *block = mp_append_block(d->worker->appender, MP_KIND_RANGE);
	const struct native *in = d->in;
	size_t n = (size_t)(d->end - d->at) / sizeof(struct mp_native_event),
	       cursor = d->worker->clock_cursor;
	uint64_t last = d->worker->last_tick;
	uint32_t n_unknown = 0, row, first;
	const uint8_t *at = d->at;

	if (!block)
		return false;
	row = first = block->n;
	n = MP_MIN(n, block->cap - row);
	for (; n; n--, row++, at += sizeof(struct mp_native_event)) {
		struct mp_native_event event = load_event(at);
		uint64_t tick = MP_NATIVE_EVENT_TICK(event.tick_kind), end_tick = tick + event.dur;
		const struct native_site *site = site_of(in, event.site);

		if (MP_NATIVE_EVENT_KIND(event.tick_kind) != MP_NATIVE_RANGE)
			break;
		block->ts_ns[row] = mp_clock_ns_near(&in->clock, &cursor, tick);
		block->a[row] = mp_clock_ns_near(&in->clock, &cursor, end_tick) - block->ts_ns[row];
		block->track[row] = d->piece->track;
		block->name[row] = site->name;
		block->detail[row] = site->detail;
		block->cls[row] = site->cls;
		n_unknown += !site->kind;
		last = MP_MAX(last, end_tick);
	}
	if (MP_UNLIKELY(n_unknown))
		mp_fault_add(&d->faults[NATIVE_UNKNOWN_SITE], offset_of(d), n_unknown);
	block->n = row;
	d->worker->n_records += row - first;
	d->worker->last_tick = last;
	d->worker->clock_cursor = cursor;
	d->at = at;
	return true;
}

/* ---- all other kinds ---- */

static int64_t to_ns(struct decoder *d, uint64_t tick)
{
	d->worker->last_tick = MP_MAX(d->worker->last_tick, tick);
	return mp_clock_ns_near(&d->in->clock, &d->worker->clock_cursor, tick);
}

static int64_t to_i64(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static const struct native_site *checked_site(const struct decoder *d, uint32_t id)
{
	const struct native_site *site = site_of(d->in, id);

	if (!site->kind)
		count_fault(d, NATIVE_UNKNOWN_SITE);
	return site;
}

static struct mp_event base_event(struct decoder *d, const struct mp_native_event *head)
{
	const struct native_site *site = checked_site(d, head->site);
	struct mp_event event = {
		.ts_ns = to_ns(d, MP_NATIVE_EVENT_TICK(head->tick_kind)),
		.track = d->piece->track,
		.name = site->name,
		.detail = site->detail,
		.cls = site->cls,
	};

	return event;
}

static bool decode_step(struct decoder *d, const struct mp_native_event *head)
{
	struct mp_event event = {
		.ts_ns = to_ns(d, MP_NATIVE_EVENT_TICK(head->tick_kind)),
		.a = to_i64((uint64_t)head->dur << 32 | head->site),
		.track = d->piece->track,
	};

	return mp_append(d->worker->appender, MP_KIND_STEP, &event);
}

static bool append_async(struct decoder *d, const struct native_async_half *begin,
			 const struct native_async_half *end)
{
	uint32_t site_id = begin->site && begin->site < d->in->sites.len ? begin->site : end->site;
	const struct native_site *site;
	struct mp_event event = {.ts_ns = to_ns(d, begin->tick)};

	site_id = site_id < d->in->sites.len ? site_id : 0;
	site = &d->in->sites.at[site_id];
	event.a = MP_MAX(to_ns(d, end->tick) - event.ts_ns, 0);
	event.track = native_async_track(d->in, site_id);
	event.name = site->name;
	event.detail = site->detail;
	event.cls = site->cls;
	return event.track != UINT32_MAX && mp_append(d->worker->appender, MP_KIND_RANGE, &event);
}

static bool decode_async(struct decoder *d, const struct mp_native_event32 *record, bool is_end)
{
	struct native_async_half other, half = {
						.id = record->a,
						.tick = MP_NATIVE_EVENT_TICK(record->head.tick_kind),
						.site = record->head.site,
						.track = d->piece->track,
						.is_end = is_end,
					};
	bool paired, replaced;

	if (half.site || !is_end)
		checked_site(d, half.site);
	if (!native_async_put(d->in->async, &half, &other, &paired, &replaced))
		return false;
	if (replaced)
		count_fault(d, NATIVE_SAME_ID);
	to_ns(d, half.tick);
	if (!paired)
		return true;
	return is_end ? append_async(d, &other, &half) : append_async(d, &half, &other);
}

static bool decode_range_long(struct decoder *d, const struct mp_native_event32 *record)
{
	uint64_t tick = MP_NATIVE_EVENT_TICK(record->head.tick_kind);
	struct mp_event event;

	if (record->a >= TICKS_MAX) {
		count_fault(d, NATIVE_BAD_RECORD);
		return true;
	}
	event = base_event(d, &record->head);
	event.a = to_ns(d, tick + record->a) - event.ts_ns;
	return mp_append(d->worker->appender, MP_KIND_RANGE, &event);
}

static bool decode_queue(struct decoder *d, const struct mp_native_event32 *record, enum mp_queue_op op)
{
	struct mp_event event = base_event(d, &record->head);
	uint64_t depth = MP_MIN(record->a, (uint64_t)INT32_MAX),
		 capacity = MP_MIN(record->b, (uint64_t)UINT32_MAX);

	event.a = to_ns(d, MP_NATIVE_EVENT_TICK(record->head.tick_kind) + record->head.dur) - event.ts_ns;
	event.b = (int64_t)(depth << 32 | capacity);
	event.cls = (uint8_t)op;
	return mp_append(d->worker->appender, MP_KIND_QUEUE, &event);
}

static bool decode_memory(struct decoder *d, const struct mp_native_event32 *record, bool is_free)
{
	struct mp_event event = base_event(d, &record->head);

	event.a = is_free ? -to_i64(record->b) : to_i64(record->b);
	event.b = (int64_t)record->a;
	return mp_append(d->worker->appender, MP_KIND_MEMORY, &event);
}

static bool decode_flow(struct decoder *d, const struct mp_native_event32 *record, enum mp_flow_phase phase)
{
	struct mp_event event = base_event(d, &record->head);

	event.a = (int64_t)record->a;
	event.cls = (uint8_t)phase;
	return mp_append(d->worker->appender, MP_KIND_FLOW, &event);
}

static bool decode_value(struct decoder *d, const struct mp_native_event32 *record, enum mp_kind kind)
{
	struct mp_event event = base_event(d, &record->head);

	event.a = kind == MP_KIND_COUNTER ? (int64_t)record->a : 0;
	return mp_append(d->worker->appender, kind, &event);
}

/* A record that is no plain range; of a short one a and b are 0. */
static bool decode_other(struct decoder *d, const struct mp_native_event32 *record)
{
	unsigned kind = MP_NATIVE_EVENT_KIND(record->head.tick_kind);

	switch (kind) {
	case MP_NATIVE_MARK:
		return decode_value(d, record, MP_KIND_MARK);
	case MP_NATIVE_STEP:
		return decode_step(d, &record->head);
	case MP_NATIVE_RANGE_LONG:
		return decode_range_long(d, record);
	case MP_NATIVE_COUNTER:
		return decode_value(d, record, MP_KIND_COUNTER);
	case MP_NATIVE_FLOW_BEGIN:
	case MP_NATIVE_FLOW_STEP:
	case MP_NATIVE_FLOW_END:
		return decode_flow(d, record, (enum mp_flow_phase)(kind - MP_NATIVE_FLOW_BEGIN));
	case MP_NATIVE_ASYNC_BEGIN:
	case MP_NATIVE_ASYNC_END:
		return decode_async(d, record, kind == MP_NATIVE_ASYNC_END);
	case MP_NATIVE_ALLOC:
	case MP_NATIVE_FREE:
		return decode_memory(d, record, kind == MP_NATIVE_FREE);
	case MP_NATIVE_QUEUE_PUSH:
	case MP_NATIVE_QUEUE_POP:
		return decode_queue(d, record, kind == MP_NATIVE_QUEUE_POP ? MP_QUEUE_POP : MP_QUEUE_PUSH);
	default: /* of a later version */
		return true;
	}
}

/* Size of the record at d->at by its kind; 0 when it is not valid. */
static size_t record_bytes(const struct decoder *d, const struct mp_native_event *head)
{
	unsigned kind = MP_NATIVE_EVENT_KIND(head->tick_kind);
	uint64_t bytes = kind < 0x40 ? 16 : kind < 0x80 ? 32 : kind < 0xc0 ? 48 : (uint64_t)head->dur * 16;

	return bytes <= (size_t)(d->end - d->at) ? (size_t)bytes : 0;
}

/* False when memory is out; the rest of a piece behind a bad record is left out, its beginning is kept. */
static bool decode_piece(struct decoder *d)
{
	while (d->end - d->at >= (ptrdiff_t)sizeof(struct mp_native_event)) {
		struct mp_native_event32 record = {.head = load_event(d->at)};
		size_t bytes;

		if (MP_NATIVE_EVENT_KIND(record.head.tick_kind) == MP_NATIVE_RANGE) {
			if (!decode_ranges(d))
				return false;
			continue;
		}
		bytes = record_bytes(d, &record.head);
		if (!bytes)
			break;
		memcpy(&record, d->at, MP_MIN(bytes, sizeof(record)));
		if (!decode_other(d, &record))
			return false;
		d->worker->n_records++;
		d->at += bytes;
	}
	if (d->at < d->end)
		count_fault(d, NATIVE_BAD_RECORD);
	return true;
}

/* The pages of a batch of sealed segments are not needed again. */
static void forget(const struct native_piece *first, const struct native_piece *last)
{
	if (first->file == last->file && last->sealed && last->payload >= first->payload)
		mp_file_forget(first->file, first->payload, last->payload + last->bytes - first->payload);
}

/* Whether a chunk still is what it was when it was found; the process may have gone on. */
static bool chunk_is_same(const struct native_piece *piece)
{
	struct mp_native_segment chunk;

	__sync_synchronize(); /* a fence that the thread sanitizer of gcc accepts */
	memcpy(&chunk, piece->file->data + piece->chunk_at, sizeof(chunk));
	return chunk.thread_index == piece->thread_index && chunk.sequence == piece->sequence &&
	       chunk.payload_bytes >= piece->whole_bytes;
}

/* A live chunk is copied first and then looked at again, so that what is decoded cannot change. */
static bool decode_chunk(struct native *in, struct native_worker *worker, const struct native_piece *piece)
{
	struct decoder d = {in, worker, piece, worker->faults[piece->file - in->files], NULL, NULL};

	mp_buf_clear(&worker->copy);
	mp_buf_add(&worker->copy, piece->file->data + piece->payload, piece->bytes);
	if (worker->copy.failed)
		return false;
	if (!chunk_is_same(piece))
		return true; /* in events.mpr by now, or overwritten */
	d.at = (const uint8_t *)worker->copy.data;
	d.end = d.at + piece->bytes;
	return decode_piece(&d);
}

static bool decode_segment(struct native *in, struct native_worker *worker, const struct native_piece *piece)
{
	const uint8_t *data = piece->file->data + piece->payload;
	struct decoder d = {
		in, worker, piece, worker->faults[piece->file - in->files], data, data + piece->bytes};

	if (mp_crc32c(0, data, piece->bytes) == piece->crc)
		return decode_piece(&d);
	count_fault(&d, NATIVE_BAD_PAYLOAD);
	worker->n_lost += piece->n_records;
	return true;
}

mp_status native_decode(void *user, size_t index, unsigned worker_index, mp_err *err)
{
	struct native *in = user;
	struct native_worker *worker = &in->workers[worker_index];
	size_t begin = in->batches.at[index], end = in->batches.at[index + 1];

	for (size_t i = begin; i < end; i++) {
		const struct native_piece *piece = &in->pieces.at[i];

		if (!(piece->sealed ? decode_segment(in, worker, piece) : decode_chunk(in, worker, piece)))
			return mp_err_nomem(err, 0);
	}
	forget(&in->pieces.at[begin], &in->pieces.at[end - 1]);
	return MINDPROF_OK;
}
