/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands before the events of the portable flavour: facts, processes, lanes and steps. Every
 * lane gets a tid of its own in its process; lanes that a track needs beyond its first follow it.
 */
#include <inttypes.h>

#include "base/num.h"
#include "formats/fmt_trace_event.h"
#include "writers/wr_trace_event.h"

#include "base/banned.h"

#define TRACK_KIND(id, text) [id] = text,
static const char *const track_kinds[] = {MP_TRACE_TRACK_MAP(TRACK_KIND)};

/* ---------------------------------------------------------------- facts */

static void add_text_member(struct mp_buf *buf, const char *key, size_t key_len, const char *text, size_t len)
{
	mp_json_escape(buf, key, key_len);
	mp_buf_add_char(buf, ':');
	mp_json_escape(buf, text, len);
}

static bool is_own_key(struct mp_str key)
{
	static const char *const own[] = {MP_TRACE_VERSION_KEY, MP_TRACE_BASE_KEY, "program"};

	for (size_t i = 0; i < MP_COUNT(own); i++) {
		if (key.len == strlen(own[i]) && !memcmp(key.text, own[i], key.len))
			return true;
	}
	return false;
}

/* Bytes that are not UTF-8 are replaced, so two facts may get equal keys: the first one is written. */
static void add_fact(struct mp_trace_writer *writer, struct mp_map64 *keys, struct mp_str key,
		     struct mp_str text)
{
	struct mp_buf *buf = &writer->buf;
	size_t at = buf->len, key_at = at + 2;
	uint64_t hash;

	if (is_own_key(key))
		return;
	mp_buf_add_str(buf, ",\n");
	mp_json_escape(buf, key.text, key.len);
	if (buf->failed)
		return;
	hash = mp_hash_bytes(buf->data + key_at, buf->len - key_at, 0);
	if (mp_map64_lookup(keys, hash)) {
		buf->len = at;
		return;
	}
	if (!mp_map64_put(keys, hash, 1))
		buf->failed = MINDPROF_E_NOMEM;
	mp_buf_add_char(buf, ':');
	mp_json_escape(buf, text.text, text.len);
}

static mp_status write_other_data(struct mp_trace_writer *writer, mp_err *err)
{
	static const char program[] = "mindprof " MINDPROF_VERSION;
	struct mp_buf *buf = &writer->buf;
	struct mp_map64 keys = {0};
	mp_status status;

	mp_buf_printf(
		buf, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\n\"%s\":\"%s\",\n\"%s\":\"%" PRId64 "\",\n",
		MP_TRACE_VERSION_KEY, MP_TRACE_VERSION, MP_TRACE_BASE_KEY, writer->begin_ns);
	add_text_member(buf, "program", strlen("program"), program, strlen(program));
	for (size_t i = 0; i < mp_store_n_facts(writer->store); i++) {
		struct mp_str key, text;

		mp_store_get_fact(writer->store, i, &key, &text);
		add_fact(writer, &keys, key, text);
	}
	mp_map64_release(&keys);
	mp_buf_add_str(buf, "},\"traceEvents\":[");
	status = buf->failed;
	if (status)
		return mp_err_set(err, status, NULL, -1, "cannot write the head of the trace");
	mp_trace_sink_put(&writer->sink, buf->data, buf->len);
	mp_buf_clear(buf);
	return MINDPROF_OK;
}

/* ---------------------------------------------------------------- metadata events */

static void begin_metadata(struct mp_trace_writer *writer, const char *name, int64_t pid, int64_t tid)
{
	mp_buf_printf(&writer->buf,
		      ",\n{\"ph\":\"M\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"name\":\"%s\",\"args\":{",
		      pid, tid, name);
	writer->n_events++;
}

static void declare_process(struct mp_trace_writer *writer, const struct mp_process *process)
{
	struct mp_buf *buf = &writer->buf;
	struct mp_str name = mp_store_text(writer->store, process->name);
	struct mp_str labels = mp_store_text(writer->store, process->labels);
	char made[64];

	if (!name.len) {
		name.len = (size_t)snprintf(made, sizeof(made), "Process %" PRId64, process->pid);
		name.text = made;
	}
	begin_metadata(writer, "process_name", process->pid, 0);
	add_text_member(buf, "name", 4, name.text, name.len);
	if (process->rank >= 0)
		mp_buf_printf(buf, ",\"rank\":%" PRId32, process->rank);
	mp_buf_add_str(buf, "}}");
	begin_metadata(writer, "process_sort_index", process->pid, 0);
	mp_buf_printf(buf, "\"sort_index\":%" PRId32 "}}", process->sort_index);
	if (labels.len) {
		begin_metadata(writer, "process_labels", process->pid, 0);
		add_text_member(buf, "labels", 6, labels.text, labels.len);
		mp_buf_add_str(buf, "}}");
	}
}

static void add_lane_name(struct mp_buf *buf, const struct mp_store *store, const struct mp_track *track,
			  uint32_t lane)
{
	struct mp_str text = mp_store_text(store, track->name);

	mp_buf_add_str(buf, "\"name\":");
	if (text.len)
		mp_json_escape(buf, text.text, text.len);
	else
		mp_buf_printf(buf, "\"Thread %" PRId64 "%s\"", track->tid,
			      track->kind == MP_TRACK_ASYNC ? " async" : "");
	if (lane && !buf->failed) {
		buf->len--; /* back over the closing quote */
		mp_buf_printf(buf, " (%" PRIu32 ")\"", lane + 1);
	}
}

void mp_trace_declare_lane(struct mp_trace_writer *writer, uint32_t track_index, uint32_t lane_index)
{
	struct mp_track track = mp_store_get_track(writer->store, track_index);
	struct mp_process process = mp_store_get_process(writer->store, track.process);
	const struct mp_lane *lanes = writer->tracks[track_index].lanes;
	struct mp_lane *lane = &writer->tracks[track_index].lanes[lane_index];
	struct mp_buf *buf = &writer->buf;

	lane->declared = true;
	begin_metadata(writer, "thread_name", process.pid, lane->tid);
	add_lane_name(buf, writer->store, &track, lane_index);
	if (track.kind != MP_TRACK_THREAD && track.kind < MP_COUNT(track_kinds))
		mp_buf_printf(buf, ",\"kind\":\"%s\"", track_kinds[track.kind]);
	if (track.stream >= 0)
		mp_buf_printf(buf, ",\"stream\":%" PRId64, track.stream);
	if (lane_index)
		mp_buf_printf(buf, ",\"lane_of\":%" PRId64, lanes[0].tid);
	else if (lane->tid != track.tid)
		mp_buf_printf(buf, ",\"tid\":%" PRId64, track.tid);
	mp_buf_add_str(buf, "}}");
	begin_metadata(writer, "thread_sort_index", process.pid, lane->tid);
	mp_buf_printf(buf, "\"sort_index\":%" PRId32 "}}", lane->sort_index);
}

/* ---------------------------------------------------------------- lanes */

/* A track in the order of the viewer's rows. */
struct row {
	struct mp_track track;
	uint32_t index;
};

static int by_place(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->track.process != b->track.process)
		return a->track.process < b->track.process ? -1 : 1;
	if (a->track.sort_index != b->track.sort_index)
		return a->track.sort_index < b->track.sort_index ? -1 : 1;
	if (a->track.tid != b->track.tid)
		return a->track.tid < b->track.tid ? -1 : 1;
	return a->track.kind < b->track.kind ? -1 : a->track.kind > b->track.kind;
}

/* Numbers of one process: which tids are taken, and where to look for free ones. */
struct tids {
	struct mp_map64 taken;
	int64_t next;
	int32_t sort_index;
	bool no_memory;
};

static int64_t fresh_tid(struct tids *tids)
{
	while (mp_map64_lookup(&tids->taken, (uint64_t)tids->next))
		tids->next++;
	tids->no_memory |= !mp_map64_put(&tids->taken, (uint64_t)tids->next, 1);
	return tids->next++;
}

/* Takes the tids that the tracks have; small free numbers follow the largest ordinary one. */
static void take_tids(struct tids *tids, const struct row *rows, size_t n)
{
	const int64_t ordinary_max = INT32_MAX / 2;

	memset(tids, 0, sizeof(*tids));
	tids->next = 1;
	for (size_t i = 0; i < n; i++) {
		int64_t tid = rows[i].track.tid;

		tids->no_memory |= !mp_map64_put(&tids->taken, (uint64_t)tid, 0);
		if (tid >= tids->next && tid < ordinary_max)
			tids->next = tid + 1;
	}
}

/* The track's own tid the first time it is asked for, else a free one. */
static int64_t own_tid(struct tids *tids, int64_t tid)
{
	uint64_t *given = mp_map64_lookup(&tids->taken, (uint64_t)tid);

	if (!given || *given)
		return fresh_tid(tids);
	*given = 1;
	return tid;
}

static bool set_lane(struct mp_trace_writer *writer, struct mp_lane *lane, int64_t pid, struct tids *tids)
{
	char text[128];
	size_t len;
	char *head;

	lane->sort_index = tids->sort_index++;
	len = (size_t)snprintf(text, sizeof(text),
			       ",\n{\"ph\":\"X\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":", pid,
			       lane->tid);
	head = mp_arena_alloc_bytes(&writer->arena, len + MP_FRAGMENT_SLACK);
	if (!head)
		return false;
	memcpy(head, text, len);
	lane->head = (struct mp_fragment){.at = head, .len = (uint32_t)len};
	return true;
}

static bool set_lanes(struct mp_trace_writer *writer, const struct row *row, int64_t pid, struct tids *tids)
{
	uint32_t n = writer->plans.at[row->index].n_lanes;
	struct mp_lane *lanes = NULL;
	size_t bytes;

	if (!mp_mul_overflow(n, sizeof(*lanes), &bytes))
		lanes = mp_arena_alloc(&writer->arena, bytes);
	if (!lanes)
		return false;
	memset(lanes, 0, bytes);
	writer->tracks[row->index].lanes = lanes;
	for (uint32_t i = 0; i < n; i++) {
		lanes[i].tid = i ? fresh_tid(tids) : own_tid(tids, row->track.tid);
		if (!set_lane(writer, &lanes[i], pid, tids))
			return false;
	}
	return !tids->no_memory;
}

/* ---------------------------------------------------------------- steps */

static int by_time(const void *left, const void *right)
{
	const struct mp_step *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->ts_ns != b->ts_ns)
		return a->ts_ns < b->ts_ns ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void add_step(struct mp_trace_writer *writer, const struct mp_step *step, int64_t end_ns, int64_t pid,
		     int64_t tid)
{
	char begin[MP_NUM_MAX], dur[MP_NUM_MAX];
	int begin_len = (int)mp_trace_put_us(begin, mp_trace_since_begin(writer, step->ts_ns));
	int dur_len = (int)mp_trace_put_us(dur, (uint64_t)end_ns - (uint64_t)step->ts_ns);

	mp_buf_printf(&writer->buf,
		      ",\n{\"ph\":\"X\",\"pid\":%" PRId64 ",\"tid\":%" PRId64
		      ",\"ts\":%.*s,\"dur\":%.*s,\"name\":\"Step %" PRId64
		      "\",\"cat\":\"%s\",\"args\":{\"step\":%" PRId64 ",\"tid\":%" PRId64 "}}",
		      pid, tid, begin_len, begin, dur_len, dur, step->number, MP_TRACE_CAT_STEP, step->number,
		      mp_store_get_track(writer->store, step->track).tid);
	writer->n_events++;
}

/* The steps of one process, which are sorted by time, on a lane of their own. */
static void add_steps(struct mp_trace_writer *writer, const struct mp_step *steps, size_t n, int64_t pid,
		      struct tids *tids)
{
	int64_t tid = fresh_tid(tids);

	begin_metadata(writer, "thread_name", pid, tid);
	mp_buf_printf(&writer->buf, "\"name\":\"Steps\",\"kind\":\"%s\"}}", MP_TRACE_TRACK_STEPS);
	begin_metadata(writer, "thread_sort_index", pid, tid);
	mp_buf_printf(&writer->buf, "\"sort_index\":%" PRId32 "}}", tids->sort_index++);
	for (size_t i = 0; i < n; i++)
		add_step(writer, &steps[i], i + 1 < n ? steps[i + 1].ts_ns : writer->end_ns, pid, tid);
}

/* Finds the process of each step; steps of tracks that the store does not have are left out. */
static void sort_steps(struct mp_trace_writer *writer)
{
	size_t kept = 0;

	for (size_t i = 0; i < writer->steps.len; i++) {
		struct mp_step step = writer->steps.at[i];

		step.process = mp_store_get_track(writer->store, step.track).process;
		writer->steps.at[kept] = step;
		if (step.track < writer->n_tracks)
			kept++;
	}
	writer->n_not_planned += writer->steps.len - kept;
	writer->steps.len = kept;
	if (kept)
		qsort(writer->steps.at, kept, sizeof(*writer->steps.at), by_time);
}

/* ---------------------------------------------------------------- processes */

/* Rows and steps of the processes not written yet. */
struct rest {
	const struct row *rows;
	size_t n_rows;
	const struct mp_step *steps;
	size_t n_steps;
};

static mp_status write_process(struct mp_trace_writer *writer, uint32_t index, struct rest *rest, mp_err *err)
{
	struct mp_process process = mp_store_get_process(writer->store, index);
	struct tids tids;
	size_t n_rows = 0, n_steps = 0;
	bool done = true;

	while (n_rows < rest->n_rows && rest->rows[n_rows].track.process == index)
		n_rows++;
	while (n_steps < rest->n_steps && rest->steps[n_steps].process == index)
		n_steps++;
	declare_process(writer, &process);
	take_tids(&tids, rest->rows, n_rows);
	if (n_steps)
		add_steps(writer, rest->steps, n_steps, process.pid, &tids);
	for (size_t i = 0; i < n_rows && done; i++) {
		const struct row *row = &rest->rows[i];
		/* Lanes for doubts are declared when they turn out to be needed. */
		uint32_t n_sure = writer->plans.at[row->index].state == MP_PLAN_LANES
					  ? writer->plans.at[row->index].n_lanes
					  : 1;

		done = set_lanes(writer, row, process.pid, &tids);
		for (uint32_t lane = 0; lane < n_sure && done; lane++)
			mp_trace_declare_lane(writer, row->index, lane);
	}
	mp_map64_release(&tids.taken);
	if (!done)
		return mp_err_nomem(err, sizeof(struct mp_lane));
	rest->rows += n_rows;
	rest->n_rows -= n_rows;
	rest->steps += n_steps;
	rest->n_steps -= n_steps;
	return mp_trace_flush_events(writer, err);
}

mp_status mp_trace_write_head(struct mp_trace_writer *writer, mp_err *err)
{
	struct row *rows = mp_realloc_array(NULL, MP_MAX(writer->n_tracks, (size_t)1), sizeof(*rows));
	struct rest rest = {.rows = rows, .n_rows = writer->n_tracks};
	mp_status status;

	if (!rows)
		return mp_err_nomem(err, writer->n_tracks * sizeof(*rows));
	for (size_t i = 0; i < writer->n_tracks; i++) {
		rows[i].index = (uint32_t)i;
		rows[i].track = mp_store_get_track(writer->store, rows[i].index);
	}
	if (writer->n_tracks)
		qsort(rows, writer->n_tracks, sizeof(*rows), by_place);
	sort_steps(writer);
	rest.steps = writer->steps.at;
	rest.n_steps = writer->steps.len;
	status = write_other_data(writer, err);
	for (size_t i = 0; i < mp_store_n_processes(writer->store) && !status; i++)
		status = write_process(writer, (uint32_t)i, &rest, err);
	mp_free(rows);
	return status;
}
