/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks -> events of the portable flavour. The hot path of an export: texts made once are copied
 * in whole pieces and digits are put straight into the output's buffer.
 */
#include <inttypes.h>
#include <math.h>

#include "base/num.h"
#include "formats/fmt_trace_event.h"
#include "writers/wr_trace_event.h"

#include "base/banned.h"

#define FLUSH_BYTES ((size_t)64 * 1024)
#define NUMBERS_BYTES ((size_t)320) /* all digits, keys and slack of one event beside its fragments */

/* ---------------------------------------------------------------- digits */

static const char pairs[200] = "00010203040506070809101112131415161718192021222324"
			       "25262728293031323334353637383940414243444546474849"
			       "50515253545556575859606162636465666768697071727374"
			       "75767778798081828384858687888990919293949596979899";

static inline char *put_pair(char *to, uint32_t value)
{
	memcpy(to, &pairs[2 * value], 2);
	return to + 2;
}

/* Below 10^4, as many digits as needed. */
static inline char *put_to_4(char *to, uint32_t value)
{
	if (value >= 100) {
		if (value >= 1000)
			to = put_pair(to, value / 100);
		else
			*to++ = (char)('0' + value / 100);
		return put_pair(to, value % 100);
	}
	if (value >= 10)
		return put_pair(to, value);
	*to = (char)('0' + value);
	return to + 1;
}

static inline char *put_4(char *to, uint32_t value)
{
	return put_pair(put_pair(to, value / 100), value % 100);
}

static inline char *put_8(char *to, uint32_t value)
{
	return put_4(put_4(to, value / 10000), value % 10000);
}

static char *put_u64(char *to, uint64_t value)
{
	if (value < 10000)
		return put_to_4(to, (uint32_t)value);
	if (value < 100000000) {
		to = put_to_4(to, (uint32_t)value / 10000);
		return put_4(to, (uint32_t)value % 10000);
	}
	to = put_u64(to, value / 100000000);
	return put_8(to, (uint32_t)(value % 100000000));
}

static inline char *put_us(char *to, uint64_t ns)
{
	uint64_t us = ns / 1000;
	uint32_t rest = (uint32_t)(ns - us * 1000);

	to = put_u64(to, us);
	*to++ = '.';
	*to++ = (char)('0' + rest / 100);
	return put_pair(to, rest % 100);
}

size_t mp_trace_put_us(char *to, uint64_t ns)
{
	return (size_t)(put_us(to, ns) - to);
}

/* ---------------------------------------------------------------- pieces */

/* Copies up to 15 bytes more than the text has; both sides have the room. */
static inline char *put_fragment(char *to, const struct mp_fragment *fragment)
{
	const char *from = fragment->at, *end = from + fragment->len;
	char *at = to;

	do {
		memcpy(at, from, 16);
		at += 16;
		from += 16;
	} while (from < end);
	return to + fragment->len;
}

#define put_literal(to, text) ((char *)memcpy((to), (text), sizeof(text) - 1) + (sizeof(text) - 1))

/* The part of a lane's head behind the phase: `"pid":1,"tid":2,"ts":`. */
static inline struct mp_fragment place_of(const struct mp_lane *lane)
{
	const uint32_t skip = sizeof(",\n{\"ph\":\"X\",") - 1;

	return (struct mp_fragment){.at = lane->head.at + skip, .len = lane->head.len - skip};
}

/* Room for one event with so many bytes of fragments; false when it does not fit a buffer, or the output
 * failed. */
static inline bool has_room(struct mp_trace_sink *sink, size_t fragments)
{
	size_t need = fragments + NUMBERS_BYTES;

	if (MP_LIKELY((size_t)(sink->end - sink->at) >= need))
		return true;
	return need <= MP_SINK_BYTES && mp_trace_sink_renew(sink);
}

/* Appends a fragment of any length; at least NUMBERS_BYTES are free afterwards, unless the output failed. */
static bool put_any(struct mp_trace_sink *sink, const struct mp_fragment *fragment)
{
	if (has_room(sink, fragment->len))
		sink->at = put_fragment(sink->at, fragment);
	else
		mp_trace_sink_put(sink, fragment->at, fragment->len);
	return !sink->seen && has_room(sink, 0);
}

/* ---------------------------------------------------------------- ranges */

static void put_long_range(struct mp_trace_writer *writer, const struct mp_lane *lane, uint64_t ts,
			   uint64_t dur, const struct mp_fragment *name, const struct mp_fragment *detail)
{
	struct mp_trace_sink *sink = &writer->sink;

	if (!has_room(sink, lane->head.len))
		return;
	sink->at = put_fragment(sink->at, &lane->head);
	sink->at = put_us(sink->at, ts);
	sink->at = put_literal(sink->at, ",\"dur\":");
	sink->at = put_us(sink->at, dur);
	if (put_any(sink, name))
		put_any(sink, detail);
}

/* The lane of a range on a track that is not plain; NULL when it was not planned. */
static mp_status decide_lane(struct mp_trace_writer *writer, uint32_t track_index, int64_t begin, int64_t end,
			     struct mp_lane **out, mp_err *err)
{
	struct mp_out_track *track = &writer->tracks[track_index];
	uint32_t lane = 0;

	MP_TRY(mp_track_cursor_lane(&track->cursor, &writer->plans.at[track_index], begin, end, &lane, err));
	*out = NULL;
	if (lane == MP_LANE_NONE)
		return MINDPROF_OK;
	if (track->has_flows)
		mp_flows_bind(&writer->flows, track_index, begin, end, lane);
	*out = &track->lanes[lane];
	return MINDPROF_OK;
}

static mp_status write_range(struct mp_trace_writer *writer, const struct mp_block *block, uint32_t i,
			     mp_err *err)
{
	uint32_t track_index = block->track[i];
	struct mp_out_track *track = &writer->tracks[track_index];
	int64_t begin = block->ts_ns[i], dur = MP_MAX(block->a[i], 0);
	const struct mp_fragment *name, *detail;
	struct mp_trace_sink *sink = &writer->sink;
	struct mp_lane *lane = track->lanes;
	char *at;

	if (writer->plans.at[track_index].state == MP_PLAN_NESTS) {
		if (MP_UNLIKELY(!track->n_left)) {
			writer->n_not_planned++;
			return MINDPROF_OK;
		}
		track->n_left--;
	}
	if (!track->plain) {
		MP_TRY(decide_lane(writer, track_index, begin, mp_end_ns(begin, dur), &lane, err));
		if (!lane) {
			writer->n_not_planned++;
			return MINDPROF_OK;
		}
	}
	lane->used = true;
	name = mp_texts_name(&writer->texts, block->name[i]);
	detail = mp_texts_detail(&writer->texts, block->detail[i], block->cls[i]);
	if (MP_UNLIKELY(!name || !detail))
		return mp_err_nomem(err, FLUSH_BYTES);
	writer->n_events++;
	if (MP_UNLIKELY(!has_room(sink, (size_t)lane->head.len + name->len + detail->len))) {
		put_long_range(writer, lane, mp_trace_since_begin(writer, begin), (uint64_t)dur, name,
			       detail);
		return MINDPROF_OK;
	}
	at = put_fragment(sink->at, &lane->head);
	at = put_us(at, mp_trace_since_begin(writer, begin));
	at = put_literal(at, ",\"dur\":");
	at = put_us(at, (uint64_t)dur);
	at = put_fragment(at, name);
	sink->at = put_fragment(at, detail);
	return MINDPROF_OK;
}

/* ---------------------------------------------------------------- other kinds */

static char *put_i64(char *to, int64_t value)
{
	return to + mp_num_put_i64(to, value);
}

static char *put_value(char *at, double value)
{
	if (value == floor(value) && fabs(value) < 1e15 && !signbit(value))
		return put_literal(put_u64(at, (uint64_t)value), ".0");
	return at + mp_num_put_double(at, value);
}

/* Numbers and closing text of an event behind its name. */
static char *put_tail(char *at, const struct mp_event *event, enum mp_kind kind)
{
	switch (kind) {
	case MP_KIND_COUNTER:
		at = put_literal(at, ",\"cat\":\"" MP_TRACE_CAT_COUNTER "\",\"args\":{\"value\":");
		at = put_value(at, mp_bits_double(event->a));
		break;
	case MP_KIND_MEMORY_TOTAL:
		at = put_literal(at, ",\"cat\":\"" MP_TRACE_CAT_TOTAL "\",\"args\":{\"allocated\":");
		at = put_i64(at, event->a);
		at = put_literal(at, ",\"reserved\":");
		at = put_i64(at, event->b);
		at = put_literal(at, ",\"active\":");
		at = put_i64(at, event->c);
		break;
	case MP_KIND_QUEUE:
		at = put_literal(at, ",\"wait\":");
		at = put_us(at, (uint64_t)MP_MAX(event->a, 0));
		at = put_literal(at, ",\"capacity\":");
		at = put_u64(at, (uint64_t)event->b & UINT32_MAX);
		if (event->cls == MP_QUEUE_PUSH)
			at = put_literal(at, ",\"cat\":\"" MP_TRACE_CAT_PUSH "\",\"args\":{\"depth\":");
		else
			at = put_literal(at, ",\"cat\":\"" MP_TRACE_CAT_POP "\",\"args\":{\"depth\":");
		at = put_u64(at, (uint64_t)event->b >> 32);
		break;
	default:
		break;
	}
	return put_literal(at, "}}");
}

/* What stands between the place and the name of a memory event, whose name is the owner. */
static char *put_memory_head(char *at, const struct mp_event *event)
{
	at = put_literal(at, ",\"name\":\"" MP_TRACE_NAME_MEMORY "\",\"cat\":\"" MP_TRACE_CAT_MEMORY
			     "\",\"args\":{\"Bytes\":");
	at = put_i64(at, event->a);
	at = put_literal(at, ",\"Addr\":");
	return put_u64(at, (uint64_t)event->b);
}

static mp_status write_other(struct mp_trace_writer *writer, enum mp_kind kind, const struct mp_event *event,
			     mp_err *err)
{
	struct mp_lane *lane = writer->tracks[event->track].lanes;
	struct mp_fragment place = place_of(lane);
	struct mp_trace_sink *sink = &writer->sink;
	const struct mp_fragment *name = mp_texts_name(&writer->texts, event->name), *detail = NULL;
	int64_t ts = kind == MP_KIND_QUEUE ? mp_end_ns(event->ts_ns, event->a) : event->ts_ns;

	if (kind == MP_KIND_MARK)
		detail = mp_texts_detail(&writer->texts, event->detail, event->cls);
	if (!name || (kind == MP_KIND_MARK && !detail))
		return mp_err_nomem(err, FLUSH_BYTES);
	if (!has_room(sink, 0))
		return MINDPROF_OK; /* the output failed; it tells at the end of the block */
	lane->used = true;
	writer->n_events++;
	sink->at = kind == MP_KIND_MARK || kind == MP_KIND_MEMORY
			   ? put_literal(sink->at, ",\n{\"ph\":\"i\",\"s\":\"t\",")
			   : put_literal(sink->at, ",\n{\"ph\":\"C\",");
	sink->at = put_fragment(sink->at, &place);
	sink->at = put_us(sink->at, mp_trace_since_begin(writer, ts));
	if (kind == MP_KIND_MEMORY)
		sink->at = put_memory_head(sink->at, event);
	if (put_any(sink, name)) {
		if (detail)
			put_any(sink, detail);
		else
			sink->at = put_tail(sink->at, event, kind);
	}
	return MINDPROF_OK;
}

static mp_status write_others(struct mp_trace_writer *writer, const struct mp_block *block, mp_err *err)
{
	enum mp_kind kind = block->kind;

	/* Flows are written at the end, steps were written before. */
	if (kind == MP_KIND_FLOW || kind == MP_KIND_STEP)
		return MINDPROF_OK;
	for (uint32_t i = 0; i < block->n && !writer->sink.seen; i++) {
		struct mp_event event = mp_block_event(block, i);

		if (event.track >= writer->n_tracks)
			writer->n_not_planned++;
		else if (kind == MP_KIND_COUNTER && !isfinite(mp_bits_double(event.a)))
			writer->n_not_finite++;
		else
			MP_TRY(write_other(writer, kind, &event, err));
	}
	return MINDPROF_OK;
}

static mp_status write_ranges(struct mp_trace_writer *writer, const struct mp_block *block, mp_err *err)
{
	for (uint32_t i = 0; i < block->n && !writer->sink.seen; i++) {
		if (MP_UNLIKELY(block->track[i] >= writer->n_tracks))
			writer->n_not_planned++;
		else
			MP_TRY(write_range(writer, block, i, err));
	}
	return MINDPROF_OK;
}

mp_status mp_trace_write_block(struct mp_trace_writer *writer, const struct mp_block *block, mp_err *err)
{
	return block->kind == MP_KIND_RANGE ? write_ranges(writer, block, err)
					    : write_others(writer, block, err);
}

/* ---------------------------------------------------------------- flows */

static void put_flow(struct mp_trace_writer *writer, const struct mp_flow *flow, uint64_t id,
		     const struct mp_fragment *name)
{
	static const char phases[] = {[MP_FLOW_BEGIN] = 's', [MP_FLOW_STEP] = 't', [MP_FLOW_END] = 'f'};
	struct mp_fragment place = place_of(&writer->tracks[flow->track].lanes[flow->lane]);
	struct mp_buf *buf = &writer->buf;
	char ts[MP_NUM_MAX];

	mp_buf_printf(buf, ",\n{\"ph\":\"%c\",\"bp\":\"e\",\"id\":%" PRIu64 ",\"cat\":\"%s\",",
		      phases[flow->phase], id, MP_TRACE_CAT_FLOW);
	mp_buf_add(buf, place.at, place.len);
	mp_buf_add(buf, ts, mp_trace_put_us(ts, mp_trace_since_begin(writer, flow->ts_ns)));
	mp_buf_add(buf, name->at, name->len);
	mp_buf_add_char(buf, '}');
	writer->n_events++;
}

mp_status mp_trace_write_flows(struct mp_trace_writer *writer, mp_err *err)
{
	uint64_t n_ids = 0, last_id = 0;
	uint32_t name = 0;

	for (size_t i = 0; i < writer->flows.flows.len; i++) {
		const struct mp_flow *flow = &writer->flows.flows.at[i];
		const struct mp_fragment *text;

		if (!n_ids || flow->id != last_id)
			n_ids++;
		last_id = flow->id;
		if (!flow->keep)
			continue;
		/* Viewers join the ends by name as well as by id, so all of them get the name of the begin.
		 */
		if (flow->phase == MP_FLOW_BEGIN)
			name = flow->name;
		text = mp_texts_name(&writer->texts, name);
		if (!text)
			return mp_err_nomem(err, FLUSH_BYTES);
		put_flow(writer, flow, writer->flows.renumber ? n_ids : flow->id, text);
		if (writer->buf.len > FLUSH_BYTES || writer->buf.failed)
			MP_TRY(mp_trace_flush_events(writer, err));
	}
	return mp_trace_flush_events(writer, err);
}
