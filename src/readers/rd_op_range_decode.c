/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding op_range records into the store, chunk by chunk on the pool. Names are composed once per
 * distinct record tail and thread; per record remain a hash, two clock conversions and the columns.
 * Document: docs/formats/framework.md.
 */
#include "base/mem.h"
#include "readers/rd_op_range.h"

#include "base/banned.h"

const struct mp_fault_kind op_range_fault_kinds[OP_RANGE_FAULTS] = {
	[OP_RANGE_CUT] = {MP_PROBLEM, "truncated", "file ends inside a record, the rest is missing"},
	[OP_RANGE_SHORT] = {MP_PROBLEM, "short-record", "record is shorter than its fixed part, skipped"},
	[OP_RANGE_FIELD] = {MP_PROBLEM, "short-field",
			    "a field does not fit into its record, further fields ignored"},
	[OP_RANGE_UTF8] = {MP_WARNING, "bad-utf8", "text is not valid UTF-8, shown as N/A"},
	[OP_RANGE_INDEX] = {MP_WARNING, "unknown-number",
			    "module, event or stage number is not known, shown as Default"},
	[OP_RANGE_NO_START] = {MP_INFO, "no-start", "record began before recording was on, left out"},
	[OP_RANGE_REVERSED] = {MP_WARNING, "negative-duration",
			       "record ends before it begins, shown as an instant"},
	[OP_RANGE_TIME] = {MP_WARNING, "time-out-of-range",
			   "time does not fit the time axis, record left out"},
};

/* One record, both eras brought to the same fields. */
struct record {
	uint64_t thread_id, flow_id, start_tick, end_tick;
};

static inline struct record load_record(enum mp_fwk_form form, const uint8_t *body)
{
	if (form == MP_FWK_27)
		return (struct record){
			op_range_u64(body + offsetof(struct mp_fwk_op_range, thread_id)),
			op_range_u64(body + offsetof(struct mp_fwk_op_range, flow_id)),
			op_range_u64(body + offsetof(struct mp_fwk_op_range, start_tick)),
			op_range_u64(body + offsetof(struct mp_fwk_op_range, end_tick)),
		};
	return (struct record){
		op_range_u64(body + offsetof(struct mp_fwk_op_range_23, start_thread_id)),
		mp_fwk_forms[form].has_flow
			? op_range_u64(body + offsetof(struct mp_fwk_op_range_23, flow_id))
			: MP_FWK_NO_FLOW,
		op_range_u64(body + offsetof(struct mp_fwk_op_range_23, start_tick)),
		op_range_u64(body + offsetof(struct mp_fwk_op_range_23, end_tick)),
	};
}

/* The part of a record that decides its name: from the numbers of the names on (2.7), the fields (2.3). */
static const struct op_range_name *lookup_name(struct op_range_file *in, struct op_range_worker *worker,
					       const uint8_t *body, uint32_t len)
{
	uint32_t from = in->form == MP_FWK_27 ? offsetof(struct mp_fwk_op_range, module)
					      : mp_fwk_forms[in->form].fixed_bytes;
	uint64_t hash = mp_hash_bytes(body + from, len - from, 0);
	struct op_range_cache_slot *slot = &worker->slots[hash % OP_RANGE_CACHE_SLOTS];

	if (slot->hash == hash && slot->len == len)
		return &slot->value;
	slot->len = 0;
	if (!op_range_name_compose(in->store, in->form, body, len, &worker->buf, &slot->value))
		return NULL;
	slot->hash = hash;
	slot->len = len;
	return &slot->value;
}

static uint32_t track_of(const struct op_range_file *in, struct op_range_worker *worker, uint64_t thread)
{
	if (worker->last_track == UINT32_MAX || worker->last_thread != thread) {
		worker->last_thread = thread;
		worker->last_track = (uint32_t)*mp_map64_lookup(&in->tracks, thread);
	}
	return worker->last_track;
}

static bool append_flow(struct op_range_file *in, struct op_range_worker *worker, const struct mp_event *at,
			uint64_t flow_id, enum mp_flow_phase phase)
{
	struct mp_event flow = {.ts_ns = at->ts_ns,
				.a = (int64_t)flow_id,
				.track = at->track,
				.name = in->flow_name,
				.cls = (uint8_t)phase};

	return flow_id == MP_FWK_NO_FLOW || mp_append(worker->appender, MP_KIND_FLOW, &flow);
}

/* A range or an instant, and what hangs on it. */
static bool append_record(struct op_range_file *in, struct op_range_worker *worker, const struct record *r,
			  const struct op_range_name *name, struct mp_event *event)
{
	bool lasts = event->a > 0;

	event->name = name->name;
	event->detail = name->detail;
	event->cls = name->cls;
	if (!mp_append(worker->appender, lasts ? MP_KIND_RANGE : MP_KIND_MARK, event))
		return false;
	if (name->step >= 0) {
		struct mp_event step = {.ts_ns = event->ts_ns, .a = name->step, .track = event->track};

		if (!mp_append(worker->appender, MP_KIND_STEP, &step))
			return false;
	}
	return name->is_stack || append_flow(in, worker, event, r->flow_id, MP_FLOW_END);
}

/* Begin and length in ns; an end before the begin gives length 0. False when the time does not fit. */
static bool place(const struct op_range_file *in, const struct record *r, struct mp_event *event)
{
	bool unix_ns =
		r->start_tick > MP_FWK_UNIX_NS_MIN && r->start_tick <= INT64_MAX && r->end_tick <= INT64_MAX;
	int64_t end_ns = (int64_t)r->end_tick;

	if (unix_ns)
		event->ts_ns = (int64_t)r->start_tick;
	else if (!op_range_clock_ns(&in->clock, r->start_tick, &event->ts_ns))
		return false;
	event->a = 0;
	if (r->end_tick <= r->start_tick)
		return true;
	if (!unix_ns && !op_range_clock_ns(&in->clock, r->end_tick, &end_ns))
		return false;
	return !__builtin_sub_overflow(end_ns, event->ts_ns, &event->a);
}

/* Any record, at byte `offset` of the file. */
static bool decode_special(struct op_range_file *in, struct op_range_worker *worker, const struct record *r,
			   const struct op_range_name *name, int64_t offset)
{
	struct mp_event event = {0};

	if (MP_UNLIKELY(name->faults))
		for (unsigned i = 0; i < OP_RANGE_FAULTS; i++)
			mp_fault_add(&worker->faults[i], offset, name->faults >> i & 1);
	if (!r->start_tick || !place(in, r, &event)) {
		mp_fault_add(&worker->faults[r->start_tick ? OP_RANGE_TIME : OP_RANGE_NO_START], offset, 1);
		return true;
	}
	event.track = track_of(in, worker, r->thread_id);
	if (name->is_flow)
		return append_flow(in, worker, &event, r->flow_id, MP_FLOW_BEGIN);
	if (r->end_tick && r->end_tick < r->start_tick)
		mp_fault_add(&worker->faults[OP_RANGE_REVERSED], offset, 1);
	return append_record(in, worker, r, name, &event);
}

/* A plain range at a usual time: nearly all records. */
static inline bool is_plain(const struct op_range_file *in, const struct record *r,
			    const struct op_range_name *name)
{
	return !name->is_special && r->flow_id == MP_FWK_NO_FLOW && r->start_tick &&
	       r->end_tick > r->start_tick && op_range_clock_is_near(&in->clock, r->start_tick) &&
	       op_range_clock_is_near(&in->clock, r->end_tick);
}

static inline bool append_plain(const struct op_range_file *in, struct op_range_worker *worker,
				const struct record *r, const struct op_range_name *name)
{
	int64_t begin_ns = op_range_clock_near_ns(&in->clock, r->start_tick);
	int64_t dur_ns = op_range_clock_near_ns(&in->clock, r->end_tick) - begin_ns;
	struct mp_event event = {
		.ts_ns = begin_ns,
		.a = dur_ns,
		.track = track_of(in, worker, r->thread_id),
		.name = name->name,
		.detail = name->detail,
		.cls = name->cls,
	};

	/* A constant kind lets the compiler store straight from registers. */
	return MP_LIKELY(dur_ns > 0) ? mp_append(worker->appender, MP_KIND_RANGE, &event)
				     : mp_append(worker->appender, MP_KIND_MARK, &event);
}

static bool decode_record(struct op_range_file *in, struct op_range_worker *worker, const uint8_t *body,
			  uint32_t len)
{
	struct record r = load_record(in->form, body);
	const struct op_range_name *name = lookup_name(in, worker, body, len);

	if (!name)
		return false;
	if (MP_LIKELY(is_plain(in, &r, name)))
		return append_plain(in, worker, &r, name);
	return decode_special(in, worker, &r, name, body - in->file.data - MP_FWK_HEAD_BYTES);
}

mp_status op_range_decode(void *user, size_t index, unsigned worker_index, mp_err *err)
{
	struct op_range_file *in = user;
	struct op_range_worker *worker = &in->workers[worker_index];
	uint64_t at = in->chunks.at[index], end = in->chunks.at[index + 1];

	while (at < end) {
		const uint8_t *body = in->file.data + at + MP_FWK_HEAD_BYTES;
		uint32_t len = op_range_u32(body - 4);

		if (len >= mp_fwk_forms[in->form].fixed_bytes && !decode_record(in, worker, body, len))
			return mp_err_nomem(err, 0);
		at += mp_fwk_record_bytes(len);
	}
	mp_file_forget(&in->file, in->chunks.at[index], end - in->chunks.at[index]);
	return MINDPROF_OK;
}
