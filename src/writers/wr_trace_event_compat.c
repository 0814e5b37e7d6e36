/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compatible flavour: a bare array in the original's forms, for MindStudio Insight. Input: a
 * store that kept its blocks. Output: layer after layer M, X grouped by track, i; then the flows.
 * analysis-current.md sections 7.1, 7.2 and 7.4; docs/formats/chrome-json.md.
 */
#include <inttypes.h>
#include <math.h>

#include "base/num.h"
#include "writers/wr_trace_event.h"

#include "base/banned.h"

#define FLUSH_BYTES ((size_t)64 * 1024)
#define SELF_FLOW_NAME "mindspore_to_self"
#define SELF_FLOW_CATEGORY "async_mindspore"

struct compat {
	const struct mp_store *store;
	struct mp_out *out;
	struct mp_buf buf;
	bool any;
	size_t n_tracks;
	/* References of all ranges, then all marks, and so on, grouped by track in order of appending. */
	struct mp_ref *refs;
	size_t *first[MP_KINDS]; /* n_tracks + 1 places in refs for RANGE, MARK and COUNTER */
	uint32_t *seen;          /* tracks in order of their first range */
	size_t n_seen;
};

static void begin_event(struct compat *compat)
{
	mp_buf_add_str(&compat->buf, compat->any ? ", " : "[");
	compat->any = true;
}

static mp_status flush(struct compat *compat, size_t above, mp_err *err)
{
	if (compat->buf.failed)
		return mp_err_set(err, compat->buf.failed, NULL, -1, "cannot write an event");
	if (compat->buf.len <= above)
		return MINDPROF_OK;
	mp_out_write(compat->out, compat->buf.data, compat->buf.len);
	mp_buf_clear(&compat->buf);
	if (compat->out->failed)
		return mp_err_sys(err, compat->out->errnum, compat->out->path, "cannot write the trace");
	return MINDPROF_OK;
}

static void add_text(struct mp_buf *buf, struct mp_str text)
{
	mp_json_escape(buf, text.text, text.len);
}

static void add_us(struct mp_buf *buf, int64_t ns)
{
	char digits[MP_NUM_MAX];

	mp_buf_add_char(buf, '"');
	mp_buf_add(buf, digits, mp_num_put_us3(digits, ns));
	mp_buf_add_char(buf, '"');
}

/* ---------------------------------------------------------------- grouping */

static bool is_grouped(unsigned kind)
{
	return kind == MP_KIND_RANGE || kind == MP_KIND_MARK || kind == MP_KIND_COUNTER;
}

/* Counts events per track into first[kind][track + 1]. */
static void count_events(struct compat *compat)
{
	for (size_t b = 0; b < mp_store_n_blocks(compat->store); b++) {
		const struct mp_block *block = mp_store_get_block(compat->store, b);

		if (!is_grouped(block->kind))
			continue;
		for (uint32_t i = 0; i < block->n; i++) {
			size_t *count = &compat->first[block->kind][block->track[i] + 1];

			if (block->kind == MP_KIND_RANGE && !*count)
				compat->seen[compat->n_seen++] = block->track[i];
			++*count;
		}
	}
}

/* Places of the groups, then the references; each first[kind][track] ends as the place of the next track's
 * group. */
static void fill_groups(struct compat *compat)
{
	size_t at = 0;

	for (unsigned kind = 0; kind < MP_KINDS; kind++) {
		if (!is_grouped(kind))
			continue;
		for (size_t track = 0; track <= compat->n_tracks; track++) {
			at += compat->first[kind][track];
			compat->first[kind][track] = at;
		}
	}
	for (size_t b = 0; b < mp_store_n_blocks(compat->store); b++) {
		const struct mp_block *block = mp_store_get_block(compat->store, b);

		for (uint32_t i = 0; is_grouped(block->kind) && i < block->n; i++)
			compat->refs[compat->first[block->kind][block->track[i]]++] =
				(struct mp_ref){.block = (uint32_t)b, .row = i};
	}
}

static mp_status group_events(struct compat *compat, mp_err *err)
{
	size_t n = 0, n_tracks = mp_store_n_tracks(compat->store);

	compat->n_tracks = n_tracks;
	compat->seen = mp_calloc(n_tracks + 1, sizeof(*compat->seen));
	for (unsigned kind = 0; kind < MP_KINDS; kind++) {
		if (!is_grouped(kind))
			continue;
		n += mp_store_n_events(compat->store, (enum mp_kind)kind);
		compat->first[kind] = mp_calloc(n_tracks + 1, sizeof(*compat->first[kind]));
		if (!compat->first[kind])
			return mp_err_nomem(err, n_tracks * sizeof(*compat->first[kind]));
	}
	compat->refs = mp_calloc(n + 1, sizeof(*compat->refs));
	if (!compat->refs || !compat->seen)
		return mp_err_nomem(err, n * sizeof(*compat->refs));
	count_events(compat);
	fill_groups(compat);
	return MINDPROF_OK;
}

/* After fill_groups, first[kind][t] is the end of the group of t, and its begin is the end of the group
 * before. */
static struct mp_ranges group_of(const struct compat *compat, enum mp_kind kind, uint32_t track)
{
	size_t end = compat->first[kind][track], begin = 0;

	if (track > 0)
		begin = compat->first[kind][track - 1];
	else
		for (unsigned other = 0; other < kind; other++)
			begin +=
				is_grouped(other) ? mp_store_n_events(compat->store, (enum mp_kind)other) : 0;
	return (struct mp_ranges){.refs = compat->refs + begin, .n = end - begin};
}

/* ---------------------------------------------------------------- events */

/* The original calls the kind of its CPU operators ("HostCpuOps") their type; here that is the category. */
static struct mp_str shown_type(const struct compat *compat, const struct mp_event *event)
{
	struct mp_detail detail;

	if (event->cls != MP_CLASS_OPERATOR)
		return (struct mp_str){"", 0};
	detail = mp_store_get_detail(compat->store, event->detail);
	return mp_store_text(compat->store, detail.category ? detail.category : detail.type);
}

static void add_range(struct compat *compat, const struct mp_event *event, int64_t pid, int64_t tid)
{
	struct mp_buf *buf = &compat->buf;
	struct mp_str type = shown_type(compat, event);

	begin_event(compat);
	mp_buf_add_str(buf, "{\"ph\": \"X\", \"name\": ");
	add_text(buf, mp_store_text(compat->store, event->name));
	mp_buf_printf(buf, ", \"pid\": %" PRId64 ", \"tid\": %" PRId64 ", \"ts\": ", pid, tid);
	add_us(buf, event->ts_ns);
	mp_buf_add_str(buf, ", \"dur\": ");
	add_us(buf, MP_MAX(event->a, 0));
	mp_buf_printf(buf, ", \"cat\": \"%s\", \"args\": {",
		      event->cls == MP_CLASS_PYTHON ? "python_function" : "");
	if (type.len) {
		mp_buf_add_str(buf, "\"type\": ");
		add_text(buf, type);
	}
	mp_buf_add_str(buf, "}}");
}

static void add_mark(struct compat *compat, const struct mp_event *event, int64_t pid, int64_t tid)
{
	begin_event(compat);
	mp_buf_add_str(&compat->buf, "{\"name\": ");
	add_text(&compat->buf, mp_store_text(compat->store, event->name));
	mp_buf_add_str(&compat->buf, ", \"ph\": \"i\", \"ts\": ");
	add_us(&compat->buf, event->ts_ns);
	mp_buf_printf(&compat->buf, ", \"pid\": %" PRId64 ", \"tid\": %" PRId64 ", \"args\": {}}", pid, tid);
}

static void add_counter(struct compat *compat, const struct mp_event *event, int64_t pid, int64_t tid)
{
	double value = mp_bits_double(event->a);
	char digits[MP_NUM_MAX];

	if (!isfinite(value))
		return;
	begin_event(compat);
	mp_buf_add_str(&compat->buf, "{\"name\": ");
	add_text(&compat->buf, mp_store_text(compat->store, event->name));
	mp_buf_printf(&compat->buf, ", \"pid\": %" PRId64 ", \"tid\": %" PRId64 ", \"ts\": ", pid, tid);
	add_us(&compat->buf, event->ts_ns);
	mp_buf_printf(&compat->buf, ", \"ph\": \"C\", \"args\": {\"value\": %.*s}}",
		      (int)mp_num_put_double(digits, value), digits);
}

static mp_status add_group(struct compat *compat, enum mp_kind kind, uint32_t track_index, int64_t pid,
			   mp_err *err)
{
	int64_t tid = mp_store_get_track(compat->store, track_index).tid;
	struct mp_ranges group = group_of(compat, kind, track_index);

	for (size_t i = 0; i < group.n; i++) {
		struct mp_event event = mp_store_event(compat->store, group.refs[i]);

		if (kind == MP_KIND_RANGE)
			add_range(compat, &event, pid, tid);
		else if (kind == MP_KIND_MARK)
			add_mark(compat, &event, pid, tid);
		else
			add_counter(compat, &event, pid, tid);
		MP_TRY(flush(compat, FLUSH_BYTES, err));
	}
	return MINDPROF_OK;
}

/* ---------------------------------------------------------------- layers */

static void begin_metadata(struct compat *compat, const char *name, int64_t pid, int64_t tid)
{
	begin_event(compat);
	mp_buf_printf(&compat->buf,
		      "{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %" PRId64 ", \"tid\": %" PRId64
		      ", \"args\": {",
		      name, pid, tid);
}

static void add_process(struct compat *compat, const struct mp_process *process)
{
	begin_metadata(compat, "process_name", process->pid, 0);
	mp_buf_add_str(&compat->buf, "\"name\": ");
	add_text(&compat->buf, mp_store_text(compat->store, process->name));
	mp_buf_add_str(&compat->buf, "}}");
	begin_metadata(compat, "process_sort_index", process->pid, 0);
	mp_buf_printf(&compat->buf, "\"sort_index\": %" PRId32 "}}", process->sort_index);
	if (!process->labels)
		return;
	begin_metadata(compat, "process_labels", process->pid, 0);
	mp_buf_add_str(&compat->buf, "\"labels\": ");
	add_text(&compat->buf, mp_store_text(compat->store, process->labels));
	mp_buf_add_str(&compat->buf, "}}");
}

static void add_thread(struct compat *compat, const struct mp_track *track, int64_t pid)
{
	begin_metadata(compat, "thread_name", pid, track->tid);
	mp_buf_add_str(&compat->buf, "\"name\": ");
	if (track->name)
		add_text(&compat->buf, mp_store_text(compat->store, track->name));
	else
		mp_buf_printf(&compat->buf, "\"Thread %" PRId64 "\"", track->tid);
	mp_buf_add_str(&compat->buf, "}}");
	begin_metadata(compat, "thread_sort_index", pid, track->tid);
	mp_buf_printf(&compat->buf, "\"sort_index\": %" PRId64 "}}", track->tid);
}

/* A track or a process in the order of writing. */
struct placed {
	int64_t key, number;
	uint32_t index;
};

static int by_key(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* The tracks of a process that have events, ascending by tid; flow-only ones get no rows. */
static size_t find_threads(const struct compat *compat, uint32_t process, struct placed *threads)
{
	size_t n = 0;

	for (uint32_t i = 0; i < compat->n_tracks; i++) {
		struct mp_track track = mp_store_get_track(compat->store, i);

		if (track.process == process && group_of(compat, MP_KIND_RANGE, i).n +
							group_of(compat, MP_KIND_MARK, i).n +
							group_of(compat, MP_KIND_COUNTER, i).n)
			threads[n++] = (struct placed){.key = track.tid, .number = track.kind, .index = i};
	}
	if (n)
		qsort(threads, n, sizeof(*threads), by_key);
	return n;
}

static mp_status add_layer(struct compat *compat, uint32_t index, struct placed *threads, mp_err *err)
{
	struct mp_process process = mp_store_get_process(compat->store, index);
	size_t n = find_threads(compat, index, threads);

	if (!n)
		return MINDPROF_OK;
	add_process(compat, &process);
	for (size_t i = 0; i < n; i++) {
		struct mp_track track = mp_store_get_track(compat->store, threads[i].index);

		/* Tracks of several kinds may share a number, which gets one row. */
		if (i == 0 || threads[i - 1].key != threads[i].key)
			add_thread(compat, &track, process.pid);
	}
	for (size_t i = 0; i < compat->n_seen; i++) {
		if (mp_store_get_track(compat->store, compat->seen[i]).process == index)
			MP_TRY(add_group(compat, MP_KIND_RANGE, compat->seen[i], process.pid, err));
	}
	for (size_t i = 0; i < n; i++)
		MP_TRY(add_group(compat, MP_KIND_MARK, threads[i].index, process.pid, err));
	for (size_t i = 0; i < n; i++)
		MP_TRY(add_group(compat, MP_KIND_COUNTER, threads[i].index, process.pid, err));
	return MINDPROF_OK;
}

static mp_status add_layers(struct compat *compat, mp_err *err)
{
	size_t n = mp_store_n_processes(compat->store);
	struct placed *layers = mp_calloc(n + 1, sizeof(*layers));
	struct placed *threads = mp_calloc(compat->n_tracks + 1, sizeof(*threads));
	mp_status status = MINDPROF_OK;

	if (!layers || !threads) {
		mp_free(layers);
		mp_free(threads);
		return mp_err_nomem(err, (n + compat->n_tracks) * sizeof(*threads));
	}
	for (uint32_t i = 0; i < n; i++) {
		struct mp_process process = mp_store_get_process(compat->store, i);

		layers[i] = (struct placed){.key = process.sort_index, .number = process.pid, .index = i};
	}
	if (n)
		qsort(layers, n, sizeof(*layers), by_key);
	for (size_t i = 0; i < n && !status; i++)
		status = add_layer(compat, layers[i].index, threads, err);
	mp_free(layers);
	mp_free(threads);
	return status;
}

/* ---------------------------------------------------------------- flows */

static void add_flow_end(struct compat *compat, const struct mp_flow *flow, char phase)
{
	struct mp_track track = mp_store_get_track(compat->store, flow->track);
	struct mp_buf *buf = &compat->buf;

	begin_event(compat);
	mp_buf_printf(buf, "{\"name\": \"%s\", \"bp\": \"e\", \"ph\": \"%c\", \"ts\": ", SELF_FLOW_NAME,
		      phase);
	add_us(buf, flow->ts_ns);
	mp_buf_printf(buf,
		      ", \"pid\": %" PRId64 ", \"tid\": %" PRId64 ", \"id\": \"%" PRIu64
		      "\", \"cat\": \"%s\"}",
		      mp_store_get_process(compat->store, track.process).pid, track.tid, flow->id,
		      SELF_FLOW_CATEGORY);
}

static int by_flow_id(const void *left, const void *right)
{
	const struct mp_flow *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->phase < b->phase ? -1 : a->phase > b->phase;
}

/* An arrow is drawn when its id has exactly one begin and one end, as the original does. */
static mp_status add_flows(struct compat *compat, mp_err *err)
{
	struct mp_flows flows = {0};
	mp_status status = MINDPROF_OK;
	size_t begin, end, n;

	for (size_t b = 0; b < mp_store_n_blocks(compat->store) && !status; b++) {
		const struct mp_block *block = mp_store_get_block(compat->store, b);

		if (block->kind == MP_KIND_FLOW)
			status = mp_flows_add(&flows, block, err);
	}
	n = flows.flows.len;
	if (n)
		qsort(flows.flows.at, n, sizeof(*flows.flows.at), by_flow_id);
	for (begin = 0; begin < n && !status; begin = end) {
		const struct mp_flow *at = &flows.flows.at[begin];

		for (end = begin + 1; end < n && flows.flows.at[end].id == at->id; end++)
			;
		if (end - begin != 2 || at[0].phase != MP_FLOW_BEGIN || at[1].phase != MP_FLOW_END)
			continue;
		add_flow_end(compat, &at[0], 's');
		add_flow_end(compat, &at[1], 'f');
		status = flush(compat, FLUSH_BYTES, err);
	}
	mp_flows_release(&flows);
	return status;
}

mp_status mp_trace_write_compatible(const struct mp_store *store, struct mp_out *out, mp_err *err)
{
	struct compat compat = {.store = store, .out = out};
	mp_status status;

	mp_buf_init(&compat.buf, SIZE_MAX / 2);
	status = group_events(&compat, err);
	if (!status)
		status = add_layers(&compat, err);
	if (!status)
		status = add_flows(&compat, err);
	if (!compat.any)
		mp_buf_add_char(&compat.buf, '[');
	mp_buf_add_char(&compat.buf, ']');
	if (!status)
		status = flush(&compat, 0, err);
	for (unsigned kind = 0; kind < MP_KINDS; kind++)
		mp_free(compat.first[kind]);
	mp_free(compat.refs);
	mp_free(compat.seen);
	mp_buf_release(&compat.buf);
	return status;
}
