/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MindProf's own recordings. Input: the directory MINDPROF/ of a rank directory (or itself): session.mpr
 * for names and clock, events.mpr for sealed segments, ring.mpr for what a kill left behind.
 * Output: all kinds of events, facts, notes on what was lost. Document: docs/formats/native.md.
 */
#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "readers/rd_native.h"

#include "base/banned.h"

#define BATCH_BYTES (1u << 20)
#define LAYER_PIDS 16       /* pids up to this are layers of MindSpore in the same directory */
#define PID_SHIFT (1 << 22) /* above any pid of the system */
#define TID_STEP 10000000   /* above any tid of the system: a reused tid gets index steps added */
#define LISTED_THREADS 12u

static const char *const file_names[NATIVE_FILES] = {MP_NATIVE_SESSION_FILE, MP_NATIVE_EVENTS_FILE,
						     MP_NATIVE_RING_FILE};

/* ---- files ---- */

/* MINDPROF/ below the source, or the source when it is that directory itself. */
static mp_status native_dir_open(const struct mp_source *source, struct mp_dir *out, mp_err *err)
{
	struct mp_file file;

	if (source->name)
		return mp_err_set(err, MINDPROF_E_UNSUPPORTED, source->name, -1,
				  "a recording is a directory");
	if (mp_dir_open_at(source->dir, MP_NATIVE_DIR, out, NULL) == MINDPROF_OK)
		return MINDPROF_OK;
	for (int i = 0; i < NATIVE_FILES; i++) {
		if (mp_file_open_at(source->dir, file_names[i], &file, NULL) != MINDPROF_OK)
			continue;
		mp_file_close(&file);
		return mp_dir_reopen(source->dir, out, err);
	}
	return mp_err_set(err, MINDPROF_E_NOT_FOUND, source->dir->path, -1, "no '%s' here", MP_NATIVE_DIR);
}

/* A file that is damaged at its head or of another recording is left out. */
static bool open_file(struct native *in, const struct mp_dir *dir, int which,
		      struct mp_native_file_header *header)
{
	mp_err err = {0};
	mp_status status = native_file_open(dir, file_names[which], (enum mp_native_file_kind)(which + 1),
					    &in->files[which], header, &err);

	if (status == MINDPROF_OK) {
		in->have[which] = true;
		return true;
	}
	if (status == MINDPROF_E_NOMEM)
		return false;
	if (status == MINDPROF_E_NOT_FOUND || status == MINDPROF_E_TRUNCATED)
		in->unborn[which] = true;
	else
		mp_store_note(in->store, MP_PROBLEM, "unreadable", err.causes[0].path,
			      err.causes[0].byte_offset, "%s", err.causes[0].text);
	return true;
}

static bool open_files(struct native *in, const struct mp_dir *dir)
{
	struct mp_native_file_header headers[NATIVE_FILES] = {0};
	int first = -1;

	for (int i = 0; i < NATIVE_FILES; i++) {
		if (!open_file(in, dir, i, &headers[i]))
			return false;
		if (!in->have[i])
			continue;
		if (first < 0) {
			first = i;
			in->header_pid = headers[i].pid;
		} else if (memcmp(headers[i].session_id, headers[first].session_id,
				  sizeof(headers[i].session_id)) != 0) {
			mp_store_note(in->store, MP_PROBLEM, "other-recording", in->files[i].path, 0,
				      "file belongs to another recording than '%s' and is not read",
				      file_names[first]);
			mp_file_close(&in->files[i]);
			in->have[i] = false;
		}
	}
	return true;
}

/* ---- process and tracks ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool make_process(struct native *in)
{
	int64_t pid = in->pid ? in->pid : in->header_pid;
	struct mp_str name = mp_store_fact(in->store, "process_name");
	char digits[MP_NUM_MAX];
	struct mp_process process = {
		.rank = in->rank,
		.pid = pid <= LAYER_PIDS ? pid + PID_SHIFT : pid,
		.sort_index = 0,
	};

	if (!name.len)
		name = mp_store_fact(in->store, "program");
	process.name = mp_store_string(in->store, name.len ? base_name(name.text) : "program");
	in->process = mp_store_process(in->store, &process);
	if (!mp_store_fact(in->store, "pid").len)
		mp_store_set_fact(in->store, "pid", digits, mp_num_put_i64(digits, pid));
	return process.name != MP_STR_NONE && in->process != UINT32_MAX;
}

/* Reused thread numbers become distinct. */
static int64_t shown_tid(struct mp_map64 *seen, const struct native_thread *thread, bool *ok)
{
	uint64_t *owner = mp_map64_lookup(seen, thread->os_tid);

	if (owner && *owner != thread->index)
		return ((int64_t)thread->index + 1) * TID_STEP + thread->os_tid;
	if (!owner)
		*ok = mp_map64_put(seen, thread->os_tid, thread->index);
	return thread->os_tid;
}

static bool make_tracks(struct native *in)
{
	struct mp_map64 seen = {0};
	bool ok = true;

	for (size_t i = 0; ok && i < in->threads.len; i++) {
		struct native_thread *thread = &in->threads.at[i];
		struct mp_track track = {
			.process = in->process,
			.tid = shown_tid(&seen, thread, &ok),
			.stream = -1,
			.name = thread->name,
			.sort_index = (int32_t)MP_MIN(thread->index, (uint32_t)INT32_MAX),
			.kind = MP_TRACK_THREAD,
		};

		thread->track = ok ? mp_store_track(in->store, &track) : UINT32_MAX;
		ok = thread->track != UINT32_MAX;
	}
	mp_map64_release(&seen);
	return ok;
}

/* Threads that only their events tell of. */
static bool complete_threads(struct native *in)
{
	for (size_t i = 0; i < in->pieces.len; i++) {
		const struct native_piece *piece = &in->pieces.at[i];

		if (mp_map64_lookup(&in->thread_of_index, piece->thread_index))
			continue;
		mp_fault_add(&in->faults[piece->file - in->files][NATIVE_UNKNOWN_THREAD],
			     (int64_t)piece->payload, 1);
		if (!native_thread_get(in, piece->thread_index, 0))
			return false;
	}
	return true;
}

static void set_piece_tracks(struct native *in)
{
	for (size_t i = 0; i < in->pieces.len; i++) {
		uint64_t *position = mp_map64_lookup(&in->thread_of_index, in->pieces.at[i].thread_index);

		in->pieces.at[i].track = in->threads.at[*position].track;
	}
}

/* ---- clock ---- */

/* The axis follows the monotonic clock from the real time of the first point. */
static mp_status make_clock(struct native *in, mp_err *err)
{
	static const struct mp_clock_point nothing = {0, 0};
	size_t n = in->clock_points.len;
	struct mp_clock_point *points = mp_malloc((n + 1) * sizeof(*points));
	double hz = in->clock_hz > 0 ? in->clock_hz : 1e9;
	mp_status status;
	size_t n_good = 0;

	if (!points)
		return mp_err_nomem(err, (n + 1) * sizeof(*points));
	for (size_t i = 0; i < n; i++) {
		const struct mp_native_clock *first = &in->clock_points.at[0],
					     *point = &in->clock_points.at[i];
		int64_t since, ns;

		if (!__builtin_sub_overflow(point->monotonic_ns, first->monotonic_ns, &since) &&
		    !__builtin_add_overflow(first->realtime_ns, since, &ns))
			points[n_good++] = (struct mp_clock_point){point->tick, ns};
	}
	status = n_good ? mp_clock_init(&in->clock, points, n_good, hz, err) : MINDPROF_E_FORMAT;
	if (status == MINDPROF_E_FORMAT) {
		mp_store_note(in->store, MP_WARNING, "clock-assumed", in->files[NATIVE_IN_SESSION].path, -1,
			      "no usable clock point: times count from 0 at %.0f ticks per second", hz);
		status = mp_clock_init(&in->clock, &nothing, 1, hz, err);
	} else if (status == MINDPROF_OK && in->clock.n == 1 && in->clock_hz <= 0) {
		mp_store_note(in->store, MP_WARNING, "clock-assumed", in->files[NATIVE_IN_SESSION].path, -1,
			      "one clock point and no frequency: 1 GHz assumed");
	}
	mp_free(points);
	return status;
}

/* ---- decoding ---- */

static bool make_batches(struct native *in)
{
	uint64_t bytes = 0;

	if (!mp_vec_push(&in->batches, (size_t)0))
		return false;
	for (size_t i = 0; i < in->pieces.len; i++) {
		bytes += in->pieces.at[i].bytes;
		if (bytes < BATCH_BYTES && i + 1 < in->pieces.len)
			continue;
		bytes = 0;
		if (!mp_vec_push(&in->batches, i + 1))
			return false;
	}
	return true;
}

static mp_status workers_init(struct native *in, struct mp_pool *pool, mp_err *err)
{
	in->n_workers = mp_pool_threads(pool);
	in->workers = mp_calloc(in->n_workers, sizeof(*in->workers));
	if (!in->workers)
		return mp_err_nomem(err, in->n_workers * sizeof(*in->workers));
	for (unsigned i = 0; i < in->n_workers; i++)
		mp_buf_init(&in->workers[i].copy, (size_t)UINT32_MAX + 1);
	for (unsigned i = 0; i < in->n_workers; i++)
		MP_TRY(mp_appender_new(in->store, &in->workers[i].appender, err));
	return native_async_new(&in->async, err);
}

/* Begun ranges whose end is not there last until the recording ends; they are marked as open. */
static bool append_open(struct native *in, uint64_t begin_tick, uint64_t end_tick, uint32_t site_id,
			uint32_t track)
{
	const struct native_site *site = &in->sites.at[site_id < in->sites.len ? site_id : 0];
	struct mp_event event = {
		.ts_ns = mp_clock_ns(&in->clock, begin_tick),
		.track = track,
		.name = site->name,
		.detail = site->detail,
		.cls = MP_CLASS_OPEN,
	};

	event.a = end_tick > begin_tick ? mp_clock_dur_ns(&in->clock, begin_tick, end_tick - begin_tick) : 0;
	return track != UINT32_MAX && mp_append(in->workers[0].appender, MP_KIND_RANGE, &event);
}

static bool append_all_open(struct native *in, uint64_t end_tick, size_t *n_open)
{
	struct native_async_half half;
	size_t at = 0;

	while (native_async_next(in->async, &at, &half)) {
		if (half.is_end) {
			mp_fault_add(&in->faults[NATIVE_IN_EVENTS][NATIVE_LOST_END], -1, 1);
			continue;
		}
		++*n_open;
		if (!append_open(in, half.tick, end_tick, half.site,
				 native_async_track(in, half.site < in->sites.len ? half.site : 0)))
			return false;
	}
	for (size_t i = 0; i < in->open_ranges.len; i++) {
		const struct native_open_range *range = &in->open_ranges.at[i];
		uint64_t *position = mp_map64_lookup(&in->thread_of_index, range->thread_index);

		if (!position)
			continue;
		++*n_open;
		if (!append_open(in, range->tick, end_tick, range->site, in->threads.at[*position].track))
			return false;
	}
	return true;
}

/* The last tick that anything tells of. */
static uint64_t last_tick(const struct native *in)
{
	uint64_t last = in->end_tick;

	for (unsigned i = 0; i < in->n_workers; i++)
		last = MP_MAX(last, in->workers[i].last_tick);
	for (size_t i = 0; !in->ended && i < in->clock_points.len; i++)
		last = MP_MAX(last, in->clock_points.at[i].tick);
	for (size_t i = 0; i < in->open_ranges.len; i++)
		last = MP_MAX(last, in->open_ranges.at[i].tick);
	return last;
}

/* Sums of the workers; the first failure of an appender is the reason for everything else. */
static mp_status workers_finish(struct native *in, mp_status status, mp_err *err)
{
	bool reason_known = false;

	for (unsigned i = 0; in->workers && i < in->n_workers; i++) {
		mp_status finished = mp_appender_finish(in->workers[i].appender, reason_known ? NULL : err);

		mp_buf_release(&in->workers[i].copy);
		if (finished != MINDPROF_OK && !reason_known) {
			reason_known = true;
			status = finished;
		}
		for (int file = 0; file < NATIVE_FILES; file++)
			mp_faults_merge(in->faults[file], in->workers[i].faults[file], NATIVE_FAULTS);
	}
	return status;
}

static mp_status decode_all(struct mp_ctx *ctx, struct native *in, uint64_t *end_tick, size_t *n_open,
			    mp_err *err)
{
	mp_status status = workers_init(in, ctx->pool, err);

	if (status == MINDPROF_OK)
		status = mp_pool_for(ctx->pool, in->batches.len - 1, native_decode, in, err);
	if (status == MINDPROF_OK) {
		*end_tick = last_tick(in);
		if (!append_all_open(in, *end_tick, n_open))
			status = mp_err_nomem(err, 0);
	}
	return workers_finish(in, status, err);
}

/* ---- what was lost ---- */

static int by_key(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static const char *const drop_names[MP_NATIVE_DROP_KINDS] = {
	"ranges",           "marks",         "steps",        "counter values", "flow points",
	"async range ends", "memory events", "queue events",
};

static void put_thread(struct mp_buf *text, const struct native *in, uint32_t index)
{
	uint64_t *position = mp_map64_lookup(&in->thread_of_index, index);
	const struct native_thread *thread = position ? &in->threads.at[*position] : NULL;

	if (index == MP_NATIVE_THREAD_NONE)
		mp_buf_add_str(text, "threads without a place");
	else if (thread && thread->name)
		mp_buf_printf(text, "thread %u '%s'", thread->os_tid,
			      mp_store_text(in->store, thread->name).text);
	else
		mp_buf_printf(text, "thread %u", thread ? thread->os_tid : index);
}

/* "lost 12 events: thread 77 'loader' 10 ranges, 2 marks; ..." */
static void note_drops(struct native *in)
{
	uint32_t n_threads = 0, last_thread = 0;
	uint64_t total = 0;
	char digits[MP_NUM_MAX];
	struct mp_buf text;

	mp_buf_init(&text, 1u << 20);
	if (in->drop_keys.len)
		qsort(in->drop_keys.at, in->drop_keys.len, sizeof(*in->drop_keys.at), by_key);
	for (size_t i = 0; i < in->drop_keys.len; i++) {
		uint64_t key = in->drop_keys.at[i], count = *mp_map64_lookup(&in->drops, key);
		uint32_t thread = (uint32_t)(key >> 8);

		if (!count)
			continue;
		total = count > UINT64_MAX - total ? UINT64_MAX : total + count;
		if (!n_threads || thread != last_thread) {
			if (++n_threads <= LISTED_THREADS) {
				mp_buf_add_str(&text, n_threads > 1 ? "; " : "");
				put_thread(&text, in, thread);
			}
		} else if (n_threads <= LISTED_THREADS) {
			mp_buf_add_char(&text, ',');
		}
		last_thread = thread;
		if (n_threads <= LISTED_THREADS)
			mp_buf_printf(&text, " %" PRIu64 " %s", count, drop_names[key & 0xff]);
	}
	if (n_threads > LISTED_THREADS)
		mp_buf_printf(&text, "; and %u more threads", n_threads - LISTED_THREADS);
	if (total)
		mp_store_note(in->store, MP_PROBLEM, "events-dropped", in->files[NATIVE_IN_SESSION].path, -1,
			      "%" PRIu64
			      " events were lost while recording because the buffers were full: %s",
			      total, mp_buf_str(&text));
	mp_store_set_fact(in->store, "events_dropped", digits, mp_num_put_u64(digits, total));
	mp_buf_release(&text);
}

/* Sequences count from 0 in each thread, so what is missing is known. */
static bool note_gaps(struct native *in)
{
	uint64_t n_missing = 0, next = 0, n = in->pieces.len;
	uint64_t *keys = mp_malloc((n + 1) * sizeof(*keys));
	uint32_t first_thread = 0;

	if (!keys)
		return false;
	for (size_t i = 0; i < n; i++)
		keys[i] = (uint64_t)in->pieces.at[i].thread_index << 32 | in->pieces.at[i].sequence;
	qsort(keys, n, sizeof(*keys), by_key);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || keys[i] >> 32 != keys[i - 1] >> 32)
			next = keys[i] >> 32 << 32;
		if (keys[i] > next) {
			if (!n_missing)
				first_thread = (uint32_t)(keys[i] >> 32);
			n_missing += keys[i] - next;
		}
		next = keys[i] + 1;
	}
	mp_free(keys);
	if (n_missing && in->ring_mode)
		mp_store_note(in->store, MP_INFO, "history-overwritten", in->files[NATIVE_IN_EVENTS].path, -1,
			      "%" PRIu64 " older segments made room for newer ones (ring mode)", n_missing);
	else if (n_missing)
		mp_store_note(in->store, MP_PROBLEM, "segments-missing", in->files[NATIVE_IN_EVENTS].path, -1,
			      "%" PRIu64
			      " segments are missing between those that are there, first of thread number %u",
			      n_missing, first_thread);
	return true;
}

static void note_end(struct native *in, uint64_t end_tick, size_t n_open)
{
	const char *path = in->files[NATIVE_IN_SESSION].path;
	int64_t span_ns = mp_clock_dur_ns(&in->clock, 0, end_tick);
	char seconds[MP_NUM_MAX + 1];

	if (in->ended && in->complete)
		return;
	seconds[mp_num_put_scaled(seconds, span_ns / 1000000, 3)] = '\0';
	if (!in->ended)
		mp_store_note(
			in->store, MP_WARNING, "recording-cut", path, -1,
			"the recording was not ended: the process was killed or is still running; the last event is "
			"at %s s from its begin, %zu ranges were open then%s",
			seconds, n_open,
			in->have[NATIVE_IN_RING] ? ""
						 : "; without 'ring.mpr' the last events may be missing");
	else if (!in->have[NATIVE_IN_RING])
		mp_store_note(in->store, MP_WARNING, "recording-cut", path, -1,
			      "the recording says that a part of it is in 'ring.mpr', which is missing");
}

static void note_all(struct native *in, uint64_t end_tick, size_t n_open)
{
	uint64_t n_records = 0, n_lost = 0;
	char digits[MP_NUM_MAX];

	for (unsigned i = 0; i < in->n_workers; i++) {
		n_records += in->workers[i].n_records;
		n_lost += in->workers[i].n_lost;
	}
	/* Before the faults: a cut file says less, and the first text of a kind is the one that is kept. */
	note_end(in, end_tick, n_open);
	for (int file = 0; file < NATIVE_FILES; file++)
		if (in->files[file].path)
			mp_faults_note(in->store, in->files[file].path, in->faults[file], native_fault_kinds,
				       NATIVE_FAULTS);
	mp_store_set_fact(in->store, "records_read", digits, mp_num_put_u64(digits, n_records));
	if (n_lost)
		mp_store_set_fact(in->store, "records_damaged", digits, mp_num_put_u64(digits, n_lost));
	note_drops(in);
}

/* ---- the reader ---- */

/* Files are made one after the other at the start; after a clean stop, only the ring file may be gone. */
static void note_missing(const struct native *in, const struct mp_dir *dir)
{
	for (int i = 0; i < NATIVE_IN_RING; i++)
		if (in->unborn[i] &&
		    (i == NATIVE_IN_SESSION ? in->have[NATIVE_IN_EVENTS] || in->have[NATIVE_IN_RING]
					    : in->ended))
			mp_store_note(in->store, MP_PROBLEM, "missing-file", dir->path, -1,
				      "'%s' is missing or without its header", file_names[i]);
}

static mp_status read_recording(struct mp_ctx *ctx, struct native *in, const struct mp_dir *dir, mp_err *err)
{
	uint64_t end_tick = 0;
	size_t n_open = 0;

	if (!open_files(in, dir))
		return mp_err_nomem(err, 0);
	if (in->unborn[NATIVE_IN_SESSION] && in->unborn[NATIVE_IN_EVENTS] && in->unborn[NATIVE_IN_RING]) {
		mp_store_note(in->store, MP_WARNING, "recording-cut", dir->path, -1,
			      "the process ended while the recording started: there are no events");
		return MINDPROF_OK;
	}
	if (!in->have[NATIVE_IN_SESSION] && !in->have[NATIVE_IN_EVENTS] && !in->have[NATIVE_IN_RING])
		return mp_err_set(err, MINDPROF_E_FORMAT, dir->path, -1,
				  "no file of the recording can be read");
	if (!native_session_read(in) || !native_events_list(in) || !native_ring_list(in) ||
	    !complete_threads(in) || !make_process(in) || !make_tracks(in) || !note_gaps(in) ||
	    !make_batches(in))
		return mp_err_nomem(err, 0);
	note_missing(in, dir);
	set_piece_tracks(in);
	MP_TRY(make_clock(in, err));
	MP_TRY(decode_all(ctx, in, &end_tick, &n_open, err));
	note_all(in, end_tick, n_open);
	return MINDPROF_OK;
}

static void native_release(struct native *in)
{
	for (int i = 0; i < NATIVE_FILES; i++)
		mp_file_close(&in->files[i]);
	mp_vec_release(&in->sites);
	mp_vec_release(&in->threads);
	mp_vec_release(&in->clock_points);
	mp_vec_release(&in->drop_keys);
	mp_vec_release(&in->open_ranges);
	mp_vec_release(&in->pieces);
	mp_vec_release(&in->batches);
	mp_map64_release(&in->thread_of_index);
	mp_map64_release(&in->drops);
	mp_map64_release(&in->piece_of_sequence);
	mp_clock_release(&in->clock);
	native_async_free(in->async);
	mp_free(in->workers);
}

static mp_status native_read(struct mp_ctx *ctx, const struct mp_source *source, struct mp_store *store,
			     mp_err *err)
{
	struct native in = {.store = store, .rank = -1};
	struct mp_dir dir;
	mp_status status;

	MP_TRY(native_dir_open(source, &dir, err));
	status = read_recording(ctx, &in, &dir, err);
	native_release(&in);
	mp_dir_close(&dir);
	return status;
}

/* Certain when one of the files begins as it should; a directory of that name with other content is told of.
 */
static int native_recognise(const struct mp_source *source)
{
	struct mp_dir dir;
	int score = 20;

	if (native_dir_open(source, &dir, NULL) != MINDPROF_OK)
		return 0;
	for (int i = 0; i < NATIVE_FILES && score < 100; i++) {
		struct mp_file file;

		if (mp_file_open_at(&dir, file_names[i], &file, NULL) != MINDPROF_OK)
			continue;
		if (file.size >= sizeof(MP_NATIVE_MAGIC) - 1 &&
		    memcmp(file.data, MP_NATIVE_MAGIC, sizeof(MP_NATIVE_MAGIC) - 1) == 0)
			score = 100;
		mp_file_close(&file);
	}
	mp_dir_close(&dir);
	return score;
}

const struct mp_reader mp_reader_native = {
	.name = "native",
	.title = "MindProf recording",
	.recognise = native_recognise,
	.read = native_read,
};
