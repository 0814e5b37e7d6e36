/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome trace event JSON: the order of calls, planning, and the end of the file. Input: blocks of
 * the event store, several times. Output: one JSON document. docs/formats/chrome-json.md.
 */
#include <inttypes.h>

#include "writers/wr_trace_event.h"

#include "base/banned.h"

mp_status mp_trace_writer_new(enum mp_flavour flavour, struct mp_trace_writer **out, mp_err *err)
{
	struct mp_trace_writer *writer = mp_calloc(1, sizeof(*writer));

	*out = NULL;
	if (!writer)
		return mp_err_nomem(err, sizeof(*writer));
	writer->flavour = flavour;
	writer->begin_ns = INT64_MAX;
	writer->end_ns = INT64_MIN;
	mp_arena_init(&writer->arena, 0);
	mp_buf_init(&writer->buf, SIZE_MAX / 2);
	*out = writer;
	return MINDPROF_OK;
}

void mp_trace_writer_free(struct mp_trace_writer *writer)
{
	if (!writer)
		return;
	mp_trace_sink_close(&writer->sink);
	for (size_t i = 0; i < writer->plans.len; i++)
		mp_track_plan_release(&writer->plans.at[i]);
	for (size_t i = 0; i < writer->n_tracks; i++)
		mp_track_cursor_release(&writer->tracks[i].cursor);
	mp_vec_release(&writer->plans);
	mp_vec_release(&writer->steps);
	mp_flows_release(&writer->flows);
	mp_texts_release(&writer->texts);
	mp_arena_release(&writer->arena);
	mp_buf_release(&writer->buf);
	mp_free(writer->tracks);
	mp_free(writer);
}

/* ---------------------------------------------------------------- planning */

static mp_status grow_plans(struct mp_trace_writer *writer, uint32_t track, mp_err *err)
{
	size_t more = (size_t)track + 1 - writer->plans.len;

	if (!mp_vec_reserve(&writer->plans, more))
		return mp_err_nomem(err, more * sizeof(*writer->plans.at));
	memset(&writer->plans.at[writer->plans.len], 0, more * sizeof(*writer->plans.at));
	writer->plans.len += more;
	return MINDPROF_OK;
}

static mp_status plan_ranges(struct mp_trace_writer *writer, const struct mp_block *block, mp_err *err)
{
	for (uint32_t i = 0; i < block->n; i++) {
		uint32_t track = block->track[i];

		if (MP_UNLIKELY(track >= writer->plans.len))
			MP_TRY(grow_plans(writer, track, err));
		MP_TRY(mp_track_plan_range(&writer->plans.at[track], block->ts_ns[i],
					   mp_end_ns(block->ts_ns[i], block->a[i]), err));
	}
	return MINDPROF_OK;
}

static mp_status plan_steps(struct mp_trace_writer *writer, const struct mp_block *block, mp_err *err)
{
	for (uint32_t i = 0; i < block->n; i++) {
		struct mp_step step = {
			.ts_ns = block->ts_ns[i], .number = block->a[i], .track = block->track[i]};

		if (!mp_vec_push(&writer->steps, step))
			return mp_err_nomem(err, writer->steps.cap * sizeof(step));
	}
	return MINDPROF_OK;
}

static void plan_times(struct mp_trace_writer *writer, const struct mp_block *block)
{
	bool lasts = block->kind == MP_KIND_RANGE || block->kind == MP_KIND_QUEUE;
	int64_t begin = writer->begin_ns, end = writer->end_ns;

	for (uint32_t i = 0; i < block->n; i++) {
		int64_t ts = block->ts_ns[i], until = lasts ? mp_end_ns(ts, block->a[i]) : ts;

		begin = MP_MIN(begin, ts);
		end = MP_MAX(end, until);
	}
	writer->begin_ns = begin;
	writer->end_ns = end;
}

mp_status mp_trace_writer_plan(struct mp_trace_writer *writer, const struct mp_block *block, mp_err *err)
{
	if (writer->flavour == MP_FLAVOUR_COMPATIBLE)
		return MINDPROF_OK;
	if (block->kind == MP_KIND_RANGE)
		MP_TRY(plan_ranges(writer, block, err));
	if (writer->first_pass_done)
		return MINDPROF_OK;
	plan_times(writer, block);
	if (block->kind == MP_KIND_FLOW)
		return mp_flows_add(&writer->flows, block, err);
	if (block->kind == MP_KIND_STEP)
		return plan_steps(writer, block, err);
	return MINDPROF_OK;
}

bool mp_trace_writer_plan_again(struct mp_trace_writer *writer)
{
	bool again = false;

	for (size_t i = 0; i < writer->plans.len; i++)
		again |= mp_track_plan_pass_done(&writer->plans.at[i]);
	writer->first_pass_done = true;
	return again;
}

/* ---------------------------------------------------------------- writing */

static mp_status out_failed(const struct mp_trace_writer *writer, mp_status failed, mp_err *err)
{
	if (!failed)
		return MINDPROF_OK;
	return mp_err_sys(err, writer->out->errnum, writer->out->path, "cannot write the trace");
}

/* After a failure the output belongs to us again, so that its reason can be told. */
static mp_status sink_status(struct mp_trace_writer *writer, mp_err *err)
{
	return writer->sink.seen ? out_failed(writer, mp_trace_sink_close(&writer->sink), err) : MINDPROF_OK;
}

static mp_status check_open(const struct mp_trace_writer *writer, mp_err *err)
{
	if (writer->sink.out)
		return MINDPROF_OK;
	return mp_err_set(err, MINDPROF_E_STATE, NULL, -1, "the trace is not being written");
}

static mp_status init_tracks(struct mp_trace_writer *writer, mp_err *err)
{
	size_t n = mp_store_n_tracks(writer->store);

	if (writer->plans.len < n)
		MP_TRY(grow_plans(writer, (uint32_t)(n - 1), err));
	MP_TRY(mp_flows_sort(&writer->flows, n, err));
	writer->tracks = mp_calloc(MP_MAX(n, (size_t)1), sizeof(*writer->tracks));
	if (!writer->tracks)
		return mp_err_nomem(err, n * sizeof(*writer->tracks));
	writer->n_tracks = n;
	for (size_t i = 0; i < n; i++) {
		struct mp_track_plan *plan = &writer->plans.at[i];
		struct mp_out_track *track = &writer->tracks[i];
		const uint32_t *flows_at = writer->flows.track_at;

		if (plan->state == MP_PLAN_COLLECT)
			return mp_err_set(err, MINDPROF_E_STATE, NULL, -1, "planning was not finished");
		MP_TRY(mp_track_plan_finish(plan, err));
		MP_TRY(mp_track_cursor_init(&track->cursor, plan, err));
		track->has_flows = flows_at && flows_at[i] < flows_at[i + 1];
		track->plain = plan->n_lanes == 1 && plan->state == MP_PLAN_NESTS && !track->has_flows;
		track->n_left = plan->n_ranges;
	}
	return MINDPROF_OK;
}

mp_status mp_trace_writer_begin(struct mp_trace_writer *writer, const struct mp_store *store,
				struct mp_out *out, mp_err *err)
{
	writer->store = store;
	writer->out = out;
	if (writer->flavour == MP_FLAVOUR_COMPATIBLE)
		return mp_trace_write_compatible(store, out, err);
	if (writer->begin_ns > writer->end_ns)
		writer->begin_ns = writer->end_ns = 0;
	mp_texts_init(&writer->texts, store);
	MP_TRY(init_tracks(writer, err));
	MP_TRY(mp_trace_sink_open(&writer->sink, out, err));
	MP_TRY(mp_trace_write_head(writer, err));
	return sink_status(writer, err);
}

mp_status mp_trace_writer_block(struct mp_trace_writer *writer, const struct mp_store *store,
				const struct mp_block *block, mp_err *err)
{
	if (writer->flavour == MP_FLAVOUR_COMPATIBLE)
		return MINDPROF_OK;
	writer->store = writer->texts.store = store;
	MP_TRY(check_open(writer, err));
	MP_TRY(mp_trace_write_block(writer, block, err));
	return sink_status(writer, err);
}

mp_status mp_trace_flush_events(struct mp_trace_writer *writer, mp_err *err)
{
	const struct mp_buf *buf = &writer->buf;
	size_t skip = writer->any || buf->len < 2 ? 0 : 1; /* no comma before the first one */

	if (buf->failed)
		return mp_err_set(err, buf->failed, NULL, -1, "cannot write an event");
	mp_trace_sink_put(&writer->sink, mp_buf_str(buf) + skip, buf->len - skip);
	writer->any = writer->any || buf->len;
	mp_buf_clear(&writer->buf);
	return MINDPROF_OK;
}

/* Lanes that turned out to be needed. */
static mp_status declare_late_lanes(struct mp_trace_writer *writer, mp_err *err)
{
	for (uint32_t i = 0; i < writer->n_tracks; i++) {
		for (uint32_t lane = 0; lane < writer->plans.at[i].n_lanes; lane++) {
			if (writer->tracks[i].lanes[lane].used && !writer->tracks[i].lanes[lane].declared)
				mp_trace_declare_lane(writer, i, lane);
		}
	}
	return mp_trace_flush_events(writer, err);
}

/* What was left out, and the closing brackets. */
static mp_status write_tail(struct mp_trace_writer *writer, mp_err *err)
{
	mp_buf_printf(&writer->buf,
		      "\n],\"mindprof\":{\"events\":%" PRIu64 ",\"flows_unbound\":%" PRIu64
		      ",\"values_not_finite\":%" PRIu64 ",\"events_not_planned\":%" PRIu64 "}}\n",
		      writer->n_events, writer->n_unbound, writer->n_not_finite, writer->n_not_planned);
	writer->any = true; /* nothing is to be cut off */
	return mp_trace_flush_events(writer, err);
}

mp_status mp_trace_writer_end(struct mp_trace_writer *writer, mp_err *err)
{
	if (writer->flavour == MP_FLAVOUR_COMPATIBLE)
		return MINDPROF_OK;
	MP_TRY(check_open(writer, err));
	for (size_t i = 0; i < writer->n_tracks; i++) {
		if (writer->plans.at[i].doubts.len && writer->tracks[i].n_left)
			return mp_err_set(err, MINDPROF_E_STATE, NULL, -1,
					  "fewer ranges came than were planned");
	}
	writer->n_unbound = mp_flows_decide(&writer->flows);
	MP_TRY(mp_trace_write_flows(writer, err));
	MP_TRY(declare_late_lanes(writer, err));
	MP_TRY(write_tail(writer, err));
	return out_failed(writer, mp_trace_sink_close(&writer->sink), err);
}

static mp_status write_store(struct mp_trace_writer *writer, const struct mp_store *store, struct mp_out *out,
			     mp_err *err)
{
	size_t n = writer->flavour == MP_FLAVOUR_COMPATIBLE ? 0 : mp_store_n_blocks(store);

	do {
		for (size_t i = 0; i < n; i++)
			MP_TRY(mp_trace_writer_plan(writer, mp_store_get_block(store, i), err));
	} while (mp_trace_writer_plan_again(writer));
	MP_TRY(mp_trace_writer_begin(writer, store, out, err));
	for (size_t i = 0; i < n; i++)
		MP_TRY(mp_trace_writer_block(writer, store, mp_store_get_block(store, i), err));
	return mp_trace_writer_end(writer, err);
}

mp_status mp_trace_write_store(enum mp_flavour flavour, const struct mp_store *store, struct mp_out *out,
			       mp_err *err)
{
	struct mp_trace_writer *writer;
	mp_status status;

	status = mp_trace_writer_new(flavour, &writer, err);
	if (!writer)
		return status;
	status = write_store(writer, store, out, err);
	mp_trace_writer_free(writer);
	return status;
}
