/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start, stop and dump of the one recording that a process has at a time.
 * Output: the directory and files of docs/formats/native.md.
 */
#include "record/rec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/json_in.h"
#include "base/json_out.h"

#include "base/banned.h"

#define EXIT_PATIENCE_NS 5000000000ll /* at exit, for a start or stop in another thread */
#define JSON_MAX ((size_t)4 << 20)

uint32_t mp_rec_active;
uint32_t mp_rec_generation;

/* Guarded by `control` but for what is marked. */
static struct {
	struct mp_rec_lock control;
	struct mp_rec_options options;
	struct mp_rec_output output;
	struct mp_rec_ring *ring; /* atomic */
	char process_name[MP_REC_NAME_BYTES];
	bool forked;
	bool broken;      /* a copy of a process, made behind our back */
	uint32_t pending; /* atomic: this child starts a session of its own at its first event */
	/* Of the last session; atomic. */
	uint64_t last_events, last_dropped;
	uint32_t last_threads;
} session = {.output = {.fd = -1}};

static bool is_active(void)
{
	return __atomic_load_n(&mp_rec_active, __ATOMIC_ACQUIRE) != 0;
}

struct mp_rec_ring *mp_rec_session_ring(void)
{
	return __atomic_load_n(&session.ring, __ATOMIC_ACQUIRE);
}

/* Control functions from a signal handler that interrupted the recorder would wait for themselves. */
static mp_status enter(mp_err *err)
{
	if (!mp_rec_enter())
		return mp_err_set(err, MINDPROF_E_STATE, NULL, -1,
				  "called by a signal handler that interrupted the recorder");
	if (mp_rec_threads_wiped())
		mp_rec_session_child(false);
	mp_rec_lock(&session.control);
	return MINDPROF_OK;
}

static void leave(void)
{
	mp_rec_unlock(&session.control);
	mp_rec_leave();
}

/* ---------------------------------------------------------------------- start */

static void make_session_id(uint8_t id[16])
{
	uint64_t words[2] = {(uint64_t)mp_rec_monotonic_ns(), (uint64_t)getpid() << 32 | mp_rec_generation};

	if (getrandom(id, 16, GRND_NONBLOCK) != 16)
		memcpy(id, words, sizeof(words));
}

static mp_status log_session(const struct mp_rec_session_facts *facts, mp_err *err)
{
	struct mp_buf text;
	mp_status status;

	mp_buf_init(&text, JSON_MAX);
	mp_rec_session_json(&text, facts);
	status = text.failed;
	if (!status)
		mp_rec_log_text(MP_NATIVE_SEG_SESSION, text.data, text.len);
	mp_buf_release(&text);
	return status ? mp_err_set(err, status, NULL, -1, "cannot describe the recording") : MINDPROF_OK;
}

/* First segments: who, the time, the names that are known already. E_IO when the disk refuses them. */
static mp_status write_beginning(uint64_t base_tick, mp_err *err)
{
	struct mp_rec_session_facts facts = {.options = &session.options,
					     .process_name = session.process_name,
					     .base_tick = base_tick,
					     .begin = mp_rec_clock_point(base_tick),
					     .forked = session.forked};

	MP_TRY(log_session(&facts, err));
	mp_rec_clock_write(base_tick);
	mp_rec_sites_flush(true);
	if (mp_rec_log_errnum())
		return mp_err_sys(err, mp_rec_log_errnum(), MP_NATIVE_SESSION_FILE, "cannot write '%s'",
				  MP_NATIVE_SESSION_FILE);
	return MINDPROF_OK;
}

/* Smallest first: wherever a kill meets the start, what is there is readable. */
static mp_status open_files(mp_err *err)
{
	struct mp_rec_ring_options options = {.memory_bytes = session.options.memory_bytes,
					      .base_tick = mp_rec_tick(mp_rec_clock),
					      .dir_fd = session.output.fd,
					      .overwrite = session.options.mode == MINDPROF_RECORD_RING};
	struct mp_rec_ring *ring;
	uint8_t id[16];

	make_session_id(id);
	MP_TRY(mp_rec_log_open(session.output.fd, id, err));
	MP_TRY(write_beginning(options.base_tick, err));
	options.header = mp_rec_file_header(MP_NATIVE_FILE_RING, id);
	MP_TRY(mp_rec_ring_new(&options, &ring, err));
	__atomic_store_n(&session.ring, ring, __ATOMIC_RELEASE);
	MP_TRY(mp_rec_events_open(session.output.fd, id, ring, err));
	return mp_rec_drain_start(ring, err);
}

static void close_files(bool unmap)
{
	struct mp_rec_ring *ring = session.ring;

	mp_rec_log_close();
	mp_rec_events_close();
	__atomic_store_n(&session.ring, NULL, __ATOMIC_RELEASE);
	mp_rec_ring_free(ring, unmap);
}

/* A forked child that follows may stand in another directory by then. */
static void keep_absolute_output(void)
{
	const char *directory = session.output.directory;
	size_t len = (size_t)(strrchr(directory, '/') - directory);

	len = MP_MAX(len, (size_t)1);
	memcpy(session.options.output, directory, len);
	session.options.output[len] = '\0';
}

/* With session.options set. */
static mp_status begin(mp_err *err)
{
	mp_status status;

	mp_rec_clock_choose();
	mp_rec_barrier_prepare();
	MP_TRY(mp_rec_threads_prepare(err));
	MP_TRY(mp_rec_output_make(&session.options, &session.output, err));
	/* From here on no thread belongs to the session; the background thread may look at once. */
	__atomic_add_fetch(&mp_rec_generation, 1, __ATOMIC_RELAXED);
	mp_rec_threads_begin();
	status = open_files(err);
	if (status) {
		close_files(true);
		mp_rec_output_remove(&session.options, &session.output);
		return mp_err_wrap(err, status, NULL, "cannot record");
	}
	keep_absolute_output();
	__atomic_store_n(&mp_rec_active, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&mindprof_recording_, 1, __ATOMIC_RELEASE);
	return MINDPROF_OK;
}

static mp_status start(const struct mindprof_record_options *options, mp_err *err)
{
	struct mp_rec_options resolved;

	if (session.broken)
		return mp_err_set(err, MINDPROF_E_STATE, NULL, -1,
				  "this process is a copy that was made without fork handlers");
	if (is_active())
		return mp_err_set(err, MINDPROF_E_STATE, NULL, -1, "already recording to '%s'",
				  session.output.directory);
	MP_TRY(mp_rec_options_resolve(options, &resolved, err));
	__atomic_store_n(&session.pending, 0, __ATOMIC_RELAXED);
	session.options = resolved;
	session.forked = false;
	return begin(err);
}

mp_status mp_rec_start(const struct mindprof_record_options *options, mp_err *err)
{
	mp_status status;

	MP_TRY(enter(err));
	status = start(options, err);
	leave();
	return status;
}

/* ----------------------------------------------------------------------- stop */

static void put_open_range(void *user, uint32_t thread_index, uint32_t site, uint64_t tick)
{
	struct mp_json_out *json = user;

	mp_json_out_object(json);
	mp_json_out_key(json, "thread");
	mp_json_out_u64(json, thread_index);
	mp_json_out_key(json, "site");
	mp_json_out_u64(json, site);
	mp_json_out_key(json, "tick");
	mp_json_out_u64(json, tick);
	mp_json_out_object_end(json);
}

struct ending {
	const char *reason;
	uint64_t tick;
	struct mp_rec_totals totals;
	unsigned stuck;
	bool complete; /* all events are in the events file */
};

static void log_end(const struct ending *end)
{
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{"tick", end->tick},
		{"events", end->totals.events},
		{"dropped", end->totals.dropped},
		{"threads", end->totals.threads},
		{"overwritten_chunks", __atomic_load_n(&session.ring->n_overwritten, __ATOMIC_RELAXED)},
		{"stuck_threads", end->stuck},
	};
	struct mp_json_out json;
	struct mp_buf text;

	mp_buf_init(&text, JSON_MAX);
	mp_json_out_init(&json, &text, 0);
	mp_json_out_object(&json);
	mp_json_out_key(&json, "reason");
	mp_json_out_cstr(&json, end->reason);
	for (size_t i = 0; i < MP_COUNT(numbers); i++) {
		mp_json_out_key(&json, numbers[i].key);
		mp_json_out_u64(&json, numbers[i].value);
	}
	mp_json_out_key(&json, "complete");
	mp_json_out_bool(&json, end->complete);
	mp_json_out_key(&json, "open_ranges");
	mp_json_out_array(&json);
	mp_rec_threads_open_ranges(put_open_range, &json);
	mp_json_out_array_end(&json);
	mp_json_out_object_end(&json);
	if (text.failed)
		mp_rec_log_text(MP_NATIVE_SEG_END, "{}", 2);
	else
		mp_rec_log_text(MP_NATIVE_SEG_END, text.data, text.len);
	mp_buf_release(&text);
}

static void remember(const struct mp_rec_totals *totals)
{
	__atomic_store_n(&session.last_events, totals->events, __ATOMIC_RELAXED);
	__atomic_store_n(&session.last_dropped, totals->dropped, __ATOMIC_RELAXED);
	__atomic_store_n(&session.last_threads, totals->threads, __ATOMIC_RELAXED);
}

/*
 * unmap false: at exit, when what is mapped goes away with the process. Whatever could not be moved to the
 * events file, or may still be written by a thread that does not come out of the recorder, stays in the
 * ring file; only when it is empty of news, it is removed.
 */
static mp_status finish(const char *reason, bool unmap, mp_err *err)
{
	struct mp_rec_ring *ring = session.ring;
	struct ending end = {.reason = reason};
	int errnum = 0;

	__atomic_store_n(&mindprof_recording_, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&mp_rec_active, 0, __ATOMIC_SEQ_CST);
	mp_rec_drain_stop();
	end.stuck = mp_rec_threads_halt();
	end.tick = mp_rec_tick(mp_rec_clock) - ring->base_tick;
	mp_rec_clock_write(ring->base_tick);
	if (!ring->overwrite && mp_rec_events_drain() < 0)
		errnum = mp_rec_events_errnum();
	if (!errnum)
		errnum = mp_rec_events_dump(false);
	mp_rec_sites_flush(false);
	mp_rec_threads_finish(ring);
	mp_rec_drops_flush();
	end.totals = mp_rec_threads_totals();
	end.complete = !errnum && !end.stuck;
	log_end(&end);
	if (!errnum)
		errnum = mp_rec_log_errnum();
	remember(&end.totals);
	if (end.complete)
		unlinkat(session.output.fd, MP_NATIVE_RING_FILE, 0);
	close_files(unmap && !end.stuck);
	close(session.output.fd);
	session.output.fd = -1;
	if (errnum)
		return mp_err_sys(err, errnum, session.output.directory, "cannot write the whole recording");
	return MINDPROF_OK;
}

mp_status mp_rec_stop(mp_err *err)
{
	mp_status status;

	MP_TRY(enter(err));
	if (is_active())
		status = finish("stop", true, err);
	else
		status = mp_err_set(err, MINDPROF_E_STATE, NULL, -1, "not recording");
	leave();
	return status;
}

void mp_rec_stop_at_exit(void)
{
	int64_t until_ns = mp_rec_monotonic_ns() + EXIT_PATIENCE_NS;

	/* Inside a handler that interrupted the recorder: what is committed is readable as it is. */
	if (!is_active() || mp_rec_threads_wiped() || !mp_rec_enter())
		return;
	while (!mp_rec_try_lock(&session.control)) {
		uint32_t nothing = 0;

		if (mp_rec_monotonic_ns() > until_ns)
			return;
		mp_rec_wait(&nothing, 0, 1000000);
	}
	if (is_active())
		finish("exit", false, NULL);
	leave();
}

/* ----------------------------------------------------------------------- dump */

mp_status mp_rec_dump(mp_err *err)
{
	mp_status status = MINDPROF_OK;
	int errnum = 0;

	MP_TRY(enter(err));
	if (!is_active()) {
		status = mp_err_set(err, MINDPROF_E_STATE, NULL, -1, "not recording");
	} else {
		mp_rec_clock_write(session.ring->base_tick);
		mp_rec_drops_flush();
		if (!session.ring->overwrite && mp_rec_events_drain() < 0)
			errnum = mp_rec_events_errnum();
		if (!errnum)
			errnum = mp_rec_events_dump(false);
		if (errnum)
			status = mp_err_sys(err, errnum, session.output.directory, "cannot write all events");
	}
	leave();
	return status;
}

int mp_rec_dump_from_signal(void)
{
	if (!is_active() || mp_rec_threads_wiped())
		return -1;
	return mp_rec_events_dump(true) == 0 ? 0 : -1;
}

/* ------------------------------------------------------------------- questions */

void mp_rec_stats(struct mindprof_record_stats *stats)
{
	struct mindprof_record_stats now = {.size = stats->size, .on = is_active()};

	if (now.on) {
		struct mp_rec_totals totals = mp_rec_threads_totals();

		now.events = totals.events;
		now.dropped = totals.dropped;
		now.threads = totals.threads;
	} else {
		now.events = __atomic_load_n(&session.last_events, __ATOMIC_RELAXED);
		now.dropped = __atomic_load_n(&session.last_dropped, __ATOMIC_RELAXED);
		now.threads = __atomic_load_n(&session.last_threads, __ATOMIC_RELAXED);
	}
	now.bytes_written = mp_rec_log_bytes() + mp_rec_events_bytes();
	memcpy(stats, &now, MP_MIN(stats->size, sizeof(now)));
}

size_t mp_rec_directory(char *buf, size_t size)
{
	size_t len = 0;

	if (enter(NULL))
		return 0;
	len = strlen(session.output.directory);
	if (size) {
		size_t copied = MP_MIN(len, size - 1);

		memcpy(buf, session.output.directory, copied);
		buf[copied] = '\0';
	}
	leave();
	return len;
}

/* ------------------------------------------------------------------ descriptions */

/* Is the text one JSON value? */
static bool is_json(const char *text)
{
	struct mp_json json;
	enum mp_json_type first;

	mp_json_init(&json, text, strlen(text));
	first = mp_json_next(&json);
	return mp_json_skip(&json, first) && mp_json_next(&json) == MP_JSON_END;
}

static void log_pair(enum mp_native_segment_kind kind, const char *key, const char *value, bool is_text)
{
	struct mp_json_out json;
	struct mp_buf text;

	mp_buf_init(&text, JSON_MAX);
	mp_json_out_init(&json, &text, 0);
	mp_json_out_object(&json);
	mp_json_out_key(&json, key);
	if (is_text)
		mp_json_out_cstr(&json, value);
	else
		mp_json_out_raw(&json, value, strlen(value));
	mp_json_out_object_end(&json);
	if (!text.failed)
		mp_rec_log_text(kind, text.data, text.len);
	mp_buf_release(&text);
}

void mp_rec_metadata(const char *key, const char *json)
{
	if (!key || !json || !is_active() || !mp_rec_enter())
		return;
	log_pair(MP_NATIVE_SEG_METADATA, key, json, !is_json(json));
	mp_rec_leave();
}

void mp_rec_process_rename(const char *name)
{
	if (enter(NULL))
		return;
	mp_rec_copy_name(session.process_name, name);
	if (is_active())
		log_pair(MP_NATIVE_SEG_SESSION, "process_name", session.process_name, true);
	leave();
}

/* ----------------------------------------------------------------- environment */

/* One line for whoever started this program: where the recording is, or why there is none. */
static void report(mp_status status, const mp_err *err)
{
	const char *path = getenv("MINDPROF_STATUS_FILE");
	char line[sizeof(session.output.directory) + 64];
	int fd, len;

	if (!path || !*path)
		return;
	if (status)
		len = snprintf(line, sizeof(line), "%d error: %s%s%s\n", (int)getpid(),
			       err->n_causes > 1 ? err->causes[err->n_causes - 1].text : "",
			       err->n_causes > 1 ? ": " : "", err->causes[0].text);
	else
		len = snprintf(line, sizeof(line), "%d %s\n", (int)getpid(), session.output.directory);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
	if (fd < 0)
		return;
	if (len > 0 && write(fd, line, (size_t)len) != len)
		len = 0; /* nobody is left to be told */
	close(fd);
}

void mp_rec_start_from_environment(void)
{
	const char *wish = getenv("MINDPROF_RECORD");
	mp_err err = {0};

	if (!wish || strcmp(wish, "1") != 0)
		return;
	report(mp_rec_start(NULL, &err), &err);
}

/* ------------------------------------------------------------------------ fork */

bool mp_rec_session_pending(void)
{
	return __atomic_load_n(&session.pending, __ATOMIC_RELAXED) != 0;
}

void mp_rec_session_start_pending(void)
{
	mp_err err = {0};
	mp_status status;

	mp_rec_lock(&session.control);
	if (session.pending && !is_active()) {
		session.forked = true;
		status = begin(&err);
		if (status)
			__atomic_store_n(&mindprof_recording_, 0, __ATOMIC_RELAXED);
		report(status, &err);
	}
	__atomic_store_n(&session.pending, 0, __ATOMIC_RELAXED);
	mp_rec_unlock(&session.control);
}

/* The parent's session is no concern of the child: its files are closed, nothing is written. */
void mp_rec_session_child(bool announced)
{
	struct mp_rec_ring *ring = mp_rec_events_child(announced);
	bool follow;

	mp_rec_lock_reset(&session.control);
	follow = announced && session.options.follow_fork && (is_active() || session.pending);
	session.broken = session.broken || !announced;
	mp_rec_log_child(announced);
	mp_rec_drain_child();
	mp_rec_sites_child();
	mp_rec_threads_child();
	if (announced && session.output.fd >= 0)
		close(session.output.fd);
	session.output.fd = -1;
	session.output.directory[0] = '\0';
	session.ring = NULL;
	if (announced && ring) {
		if (!ring->in_child)
			ring->base = NULL;
		mp_rec_ring_free(ring, true);
	}
	remember(&(struct mp_rec_totals){0});
	mp_rec_active = 0;
	session.pending = follow;
	mindprof_recording_ = follow;
}
