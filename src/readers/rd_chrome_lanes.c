/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which track an event belongs to: numbers or words as pid and tid, names and order from metadata
 * events. The tables are shared; each worker has a cache in front.
 */
#include "formats/fmt_trace_event.h"
#include "readers/rd_chrome.h"

#include "base/banned.h"

/* Numbers for pids and tids that are words: above what a kernel gives to processes and threads. */
#define FIRST_WORD_NUMBER INT64_C(4000000001)

mp_status chrome_lanes_init(struct chrome_lanes *lanes, struct mp_store *store, mp_err *err)
{
	memset(lanes, 0, sizeof(*lanes));
	lanes->store = store;
	lanes->rank = -1;
	if (pthread_mutex_init(&lanes->lock, NULL) != 0)
		return mp_err_nomem(err, sizeof(lanes->lock));
	return MINDPROF_OK;
}

void chrome_lanes_release(struct chrome_lanes *lanes)
{
	if (lanes->store)
		pthread_mutex_destroy(&lanes->lock);
	mp_vec_release(&lanes->processes);
	mp_vec_release(&lanes->lanes);
	mp_vec_release(&lanes->words);
	mp_map64_release(&lanes->process_at);
	mp_map64_release(&lanes->lane_at);
	mp_map64_release(&lanes->word_at);
	memset(lanes, 0, sizeof(*lanes));
}

/* ---------------------------------------------------------------- tables, under the lock */

/* Place + 1 of a key's entry is stored at the first free slot of its own sequence of hashes. */
static uint64_t key_hash(int64_t pid, int64_t tid, unsigned rows, uint64_t attempt)
{
	return mp_hash_u64((uint64_t)pid ^ mp_hash_u64((uint64_t)tid ^ mp_hash_u64(rows + 4 * attempt + 1)));
}

static struct chrome_process *find_process(struct chrome_lanes *lanes, int64_t pid)
{
	struct chrome_process fresh = {.pid = pid, .rank = lanes->rank, .index = UINT32_MAX};
	uint64_t *at = mp_map64_lookup(&lanes->process_at, (uint64_t)pid);

	if (at)
		return &lanes->processes.at[*at];
	if (!mp_vec_push(&lanes->processes, fresh))
		return NULL;
	if (!mp_map64_put(&lanes->process_at, (uint64_t)pid, lanes->processes.len - 1)) {
		lanes->processes.len--;
		return NULL;
	}
	return &lanes->processes.at[lanes->processes.len - 1];
}

static struct chrome_lane *find_lane(struct chrome_lanes *lanes, int64_t pid, int64_t tid,
				     enum chrome_rows rows)
{
	struct chrome_lane fresh = {
		.pid = pid, .tid = tid, .rows = (uint8_t)rows, .stream = -1, .track = UINT32_MAX};
	uint64_t attempt, key;

	for (attempt = 0;; attempt++) {
		uint64_t *at;

		key = key_hash(pid, tid, rows, attempt);
		at = mp_map64_lookup(&lanes->lane_at, key);
		if (!at)
			break;
		if (lanes->lanes.at[*at].pid == pid && lanes->lanes.at[*at].tid == tid &&
		    lanes->lanes.at[*at].rows == rows)
			return &lanes->lanes.at[*at];
	}
	if (!mp_vec_push(&lanes->lanes, fresh))
		return NULL;
	if (!mp_map64_put(&lanes->lane_at, key, lanes->lanes.len - 1)) {
		lanes->lanes.len--;
		return NULL;
	}
	return &lanes->lanes.at[lanes->lanes.len - 1];
}

static bool create_process(struct chrome_lanes *lanes, struct chrome_process *process)
{
	struct mp_process entry = {.rank = process->rank,
				   .pid = process->pid,
				   .name = process->name,
				   .labels = process->labels,
				   .sort_index = process->sort_index};

	process->index = mp_store_process(lanes->store, &entry);
	return process->index != UINT32_MAX;
}

static uint8_t kind_of_rows(enum chrome_rows rows, bool on_device)
{
	if (rows == CHROME_COUNTERS)
		return MP_TRACK_COUNTER;
	if (rows == CHROME_ASYNC)
		return MP_TRACK_ASYNC;
	return on_device ? MP_TRACK_STREAM : MP_TRACK_THREAD;
}

/* Makes the lane's track. Lanes that a writer split off a track lead back to it. */
static bool create_track(struct chrome_lanes *lanes, struct chrome_lane *lane, bool on_device)
{
	struct chrome_process *process = find_process(lanes, lane->pid);
	struct mp_track entry = {.tid = lane->has_own_tid ? lane->own_tid : lane->tid,
				 .stream = lane->stream,
				 .name = lane->name,
				 .sort_index = lane->sort_index};

	if (!process || (process->index == UINT32_MAX && !create_process(lanes, process)))
		return false;
	entry.process = process->index;
	entry.kind = lane->has_kind ? lane->kind : kind_of_rows(lane->rows, on_device);
	if (entry.kind == MP_TRACK_STREAM && entry.stream < 0)
		entry.stream = lane->tid;
	lane->track = mp_store_track(lanes->store, &entry);
	return lane->track != UINT32_MAX;
}

/* The entry with its track. */
static struct chrome_lane *lane_with_track(struct chrome_lanes *lanes, int64_t pid, int64_t tid,
					   enum chrome_rows rows, bool on_device)
{
	struct chrome_lane *lane = find_lane(lanes, pid, tid, rows);
	size_t place;

	if (!lane || lane->track != UINT32_MAX)
		return lane;
	place = (size_t)(lane - lanes->lanes.at);
	if (lane->has_lane_of && lane->lane_of != tid) {
		struct chrome_lane *first = find_lane(lanes, pid, lane->lane_of, rows);

		/* One step only: the first lane of a track is nobody's further lane. */
		if (!first || (first->track == UINT32_MAX && !create_track(lanes, first, on_device)))
			return NULL;
		lanes->lanes.at[place].track = first->track;
	} else if (!create_track(lanes, lane, on_device)) {
		return NULL;
	}
	return &lanes->lanes.at[place];
}

bool chrome_lanes_create(struct chrome_lanes *lanes)
{
	for (size_t i = 0; i < lanes->processes.len; i++) {
		if (lanes->processes.at[i].index == UINT32_MAX &&
		    !create_process(lanes, &lanes->processes.at[i]))
			return false;
	}
	for (size_t i = 0; i < lanes->lanes.len; i++) {
		struct chrome_lane lane = lanes->lanes.at[i];

		if (!lane.is_steps && lane.track == UINT32_MAX &&
		    !lane_with_track(lanes, lane.pid, lane.tid, lane.rows, false))
			return false;
	}
	return true;
}

/* ---------------------------------------------------------------- numbers */

/* The number that stands for a word, always the same one. */
static bool number_of_word(struct chrome_worker *worker, const struct chrome_text *text, int64_t *number)
{
	struct chrome_lanes *lanes = &worker->read->lanes;
	uint32_t word = chrome_string(worker, text, NULL);
	uint64_t *at;
	bool done = true;

	if (word == MP_STR_NONE)
		return false;
	pthread_mutex_lock(&lanes->lock);
	at = mp_map64_lookup(&lanes->word_at, word);
	if (at) {
		*number = FIRST_WORD_NUMBER + (int64_t)*at;
	} else {
		*number = FIRST_WORD_NUMBER + (int64_t)lanes->words.len;
		done = mp_map64_put(&lanes->word_at, word, lanes->words.len) &&
		       mp_vec_push(&lanes->words, word);
	}
	pthread_mutex_unlock(&lanes->lock);
	return done;
}

/* A pid or tid; absent ones are 0. False when memory is out. */
static inline bool number_of(struct chrome_worker *worker, const struct chrome_event *event,
			     enum chrome_member member, int64_t *number)
{
	const struct chrome_text *text = &event->member[member];

	*number = event->number[member];
	if (CHROME_PARSED(event, member))
		return true;
	*number = 0;
	if (!CHROME_HAS(event, member) || chrome_integer(text, number))
		return true;
	return number_of_word(worker, text, number);
}

/* A process or lane whose number stands for a word is called by the word, until it gets another name. */
static uint32_t word_of(const struct chrome_lanes *lanes, int64_t number)
{
	if (number < FIRST_WORD_NUMBER || (uint64_t)(number - FIRST_WORD_NUMBER) >= lanes->words.len)
		return 0;
	return lanes->words.at[number - FIRST_WORD_NUMBER];
}

/* ---------------------------------------------------------------- events */

static const struct chrome_lane *shared_lane(struct chrome_worker *worker, int64_t pid, int64_t tid,
					     enum chrome_rows rows, bool on_device)
{
	struct chrome_lanes *lanes = &worker->read->lanes;
	struct chrome_process *process;
	struct chrome_lane *lane;

	pthread_mutex_lock(&lanes->lock);
	process = find_process(lanes, pid);
	lane = process ? find_lane(lanes, pid, tid, rows) : NULL;
	if (lane && !process->name)
		process->name = word_of(lanes, pid);
	if (lane && !lane->name)
		lane->name = word_of(lanes, tid);
	if (lane && !lane->is_steps)
		lane = lane_with_track(lanes, pid, tid, rows, on_device);
	if (lane)
		worker->last_lane = *lane;
	pthread_mutex_unlock(&lanes->lock);
	if (!lane) {
		worker->failed = MINDPROF_E_NOMEM;
		return NULL;
	}
	return &worker->last_lane;
}

static const struct chrome_lane *cached_lane(struct chrome_worker *worker, int64_t pid, int64_t tid,
					     enum chrome_rows rows, bool on_device)
{
	struct chrome_lane *last = &worker->last_lane, *slot;
	uint64_t hash;

	if (last->track != UINT32_MAX && last->tid == tid && last->pid == pid && last->rows == rows)
		return last;
	hash = key_hash(pid, tid, rows, 0);
	slot = &worker->lane_cache[hash % CHROME_LANES];
	if (slot->track == UINT32_MAX || slot->tid != tid || slot->pid != pid || slot->rows != rows) {
		const struct chrome_lane *lane = shared_lane(worker, pid, tid, rows, on_device);

		if (!lane)
			return NULL;
		*slot = *lane;
	}
	*last = *slot;
	return last;
}

const struct chrome_lane *chrome_lane_of(struct chrome_worker *worker, const struct chrome_event *event,
					 enum chrome_rows rows, bool on_device)
{
	int64_t pid, tid;

	if (!number_of(worker, event, CHROME_PID, &pid) || !number_of(worker, event, CHROME_TID, &tid)) {
		worker->failed = MINDPROF_E_NOMEM;
		return NULL;
	}
	return cached_lane(worker, pid, tid, rows, on_device);
}

uint32_t chrome_track_of_tid(struct chrome_worker *worker, const struct chrome_event *event, int64_t tid)
{
	const struct chrome_lane *lane;
	int64_t pid;

	if (!number_of(worker, event, CHROME_PID, &pid)) {
		worker->failed = MINDPROF_E_NOMEM;
		return UINT32_MAX;
	}
	lane = cached_lane(worker, pid, tid, CHROME_THREADS, false);
	return lane ? lane->track : UINT32_MAX;
}

/* ---------------------------------------------------------------- metadata events */

/* The args of a metadata event. */
struct metadata {
	uint32_t name, labels; /* string ids, 0 = not there */
	int64_t sort_index, rank, stream, own_tid, lane_of;
	bool has_sort_index, has_rank, has_stream, has_own_tid, has_lane_of, has_kind, is_steps, is_stream;
	uint8_t kind;
};

static void take_kind(struct metadata *data, const struct chrome_text *value)
{
#define TRACK_KIND(id, word) [id] = word,
	static const char *const kinds[] = {MP_TRACE_TRACK_MAP(TRACK_KIND)};

	data->is_steps = chrome_is(value, MP_TRACE_TRACK_STEPS);
	for (size_t i = 0; i < MP_COUNT(kinds); i++) {
		if (chrome_is(value, kinds[i])) {
			data->kind = (uint8_t)i;
			data->has_kind = true;
		}
	}
}

/* Hints count in our own files only: elsewhere the words may mean something else. */
static void take_hint(struct metadata *data, const struct chrome_text *key, const struct chrome_text *value)
{
	if (chrome_is(key, "kind"))
		take_kind(data, value);
	else if (chrome_is(key, "rank"))
		data->has_rank = chrome_integer(value, &data->rank);
	else if (chrome_is(key, "stream"))
		data->has_stream = chrome_integer(value, &data->stream);
	else if (chrome_is(key, "tid"))
		data->has_own_tid = chrome_integer(value, &data->own_tid);
	else if (chrome_is(key, "lane_of"))
		data->has_lane_of = chrome_integer(value, &data->lane_of);
}

static bool take_metadata(struct chrome_worker *worker, const struct chrome_event *event,
			  struct metadata *data)
{
	const struct chrome_text *args = &event->member[CHROME_ARGS];
	const char *at = args->at + 1, *end = args->at + args->len;
	struct chrome_text key, value;

	memset(data, 0, sizeof(*data));
	if (!CHROME_HAS(event, CHROME_ARGS) || args->at[0] != '{' || !(args->flags & CHROME_CONTAINER))
		return false;
	while (chrome_next_member(&at, end, &key, &value)) {
		if (chrome_is(&key, "name")) {
			data->name = chrome_string(worker, &value, NULL);
			data->is_stream =
				!worker->read->is_own && value.len > 7 && !memcmp(value.at, "stream ", 7);
		} else if (chrome_is(&key, "labels")) {
			data->labels = chrome_string(worker, &value, NULL);
		} else if (chrome_is(&key, "sort_index")) {
			data->has_sort_index = chrome_integer(&value, &data->sort_index);
		} else if (worker->read->is_own) {
			take_hint(data, &key, &value);
		}
	}
	if (data->name == MP_STR_NONE || data->labels == MP_STR_NONE)
		worker->failed = MINDPROF_E_NOMEM;
	return at != NULL && !worker->failed;
}

static int32_t clamp_i32(int64_t value)
{
	return (int32_t)MP_MAX(MP_MIN(value, (int64_t)INT32_MAX), (int64_t)INT32_MIN);
}

/* A sort index counts when it comes before the process or track was needed. */
static void apply_to_process(struct chrome_lanes *lanes, struct chrome_process *process,
			     const struct metadata *data)
{
	if (data->name)
		process->name = data->name;
	if (data->labels)
		process->labels = data->labels;
	if (data->has_sort_index)
		process->sort_index = clamp_i32(data->sort_index);
	if (data->has_rank)
		process->rank = clamp_i32(data->rank);
	if (process->index != UINT32_MAX) {
		create_process(lanes, process); /* fills in what was not known */
		if (data->name)
			mp_store_set_process_name(lanes->store, process->index, data->name);
	}
}

static void apply_to_lane(struct chrome_lanes *lanes, struct chrome_lane *lane, const struct metadata *data)
{
	if (data->name)
		lane->name = data->name;
	if (data->has_sort_index)
		lane->sort_index = clamp_i32(data->sort_index);
	if (data->has_stream)
		lane->stream = data->stream;
	if (data->has_kind || data->is_stream) {
		lane->has_kind = true;
		lane->kind = data->has_kind ? data->kind : MP_TRACK_STREAM;
	}
	lane->has_own_tid |= data->has_own_tid;
	lane->has_lane_of |= data->has_lane_of;
	lane->is_steps |= data->is_steps;
	if (data->has_own_tid)
		lane->own_tid = data->own_tid;
	if (data->has_lane_of)
		lane->lane_of = data->lane_of;
	if (lane->track != UINT32_MAX && data->name && !lane->has_lane_of)
		mp_store_set_track_name(lanes->store, lane->track, data->name);
}

void chrome_metadata(struct chrome_worker *worker, const struct chrome_event *event)
{
	const struct chrome_text *name = &event->member[CHROME_NAME];
	struct chrome_lanes *lanes = &worker->read->lanes;
	struct chrome_process *process;
	struct chrome_lane *lane;
	struct metadata data;
	int64_t pid, tid;
	bool of_process = CHROME_HAS(event, CHROME_NAME) && name->len > 8 && !memcmp(name->at, "process_", 8);
	bool of_thread = CHROME_HAS(event, CHROME_NAME) && name->len > 7 && !memcmp(name->at, "thread_", 7);

	worker->saw_metadata = true;
	if ((!of_process && !of_thread) || !take_metadata(worker, event, &data))
		return;
	if (!number_of(worker, event, CHROME_PID, &pid) || !number_of(worker, event, CHROME_TID, &tid)) {
		worker->failed = MINDPROF_E_NOMEM;
		return;
	}
	pthread_mutex_lock(&lanes->lock);
	process = find_process(lanes, pid);
	if (process && of_process)
		apply_to_process(lanes, process, &data);
	lane = process && of_thread ? find_lane(lanes, pid, tid, CHROME_THREADS) : NULL;
	if (lane)
		apply_to_lane(lanes, lane, &data);
	if (!process || (of_thread && !lane))
		worker->failed = MINDPROF_E_NOMEM;
	pthread_mutex_unlock(&lanes->lock);
}
