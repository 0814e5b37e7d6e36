/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device side of a run. Input: PROF_x/mindstudio_profiler_output/msprof_*.json, in pieces on the pool.
 * Output: run->device, columns in file order (analysis-current.md sections 5.1, 7.1, 7.4).
 */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "current/cur_msprof_text.h"

#include "base/banned.h"

#define PIECE_BYTES (4u << 20)
#define EVENT_BYTES_GUESS 192 /* of text per event that is kept */
#define LAST_TRACKS 64        /* a power of two */
#define TID_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* A name of a process or thread. */
struct label {
	int64_t pid, tid;
	uint32_t name;
	bool is_thread;
};

/* What one piece of a file gave. */
struct piece {
	const uint8_t *begin, *end; /* events between; `end` is where the scan ended when it ended early */
	const uint8_t *last;        /* behind the last whole event */
	const uint8_t *fault;       /* where it is no valid JSON; NULL = fine */
	cur_device_tracks tracks;
	MP_VEC(struct cur_device_event) events;
	MP_VEC(double) durs_us;
	MP_VEC(struct cur_device_flow) flows;
	MP_VEC(struct label) labels;
	struct mp_map64 track_index;
	uint32_t last_tracks[LAST_TRACKS]; /* index + 1 of the last track by hash */
	bool closed;                       /* the array ended here */
};

struct worker {
	struct cur_msprof_scanner scanner;
	struct mp_strcache *names; /* owned */
};

struct device_read {
	struct cur_run *run;
	const struct cur_device_file *file;
	size_t file_index;
	MP_VEC(struct piece) pieces;
	struct worker *workers; /* owned */
	unsigned n_workers;
};

/* ---- one piece ---- */

static uint64_t track_key(int64_t pid, int64_t tid)
{
	return mp_hash_u64((uint64_t)pid) ^ ((uint64_t)tid * TID_FACTOR);
}

/* Adds it when it is new; UINT32_MAX when memory is out. */
static uint32_t find_track(cur_device_tracks *tracks, struct mp_map64 *index, int64_t pid, int64_t tid)
{
	uint64_t key = track_key(pid, tid);
	uint64_t *found;

	while ((found = mp_map64_lookup(index, key)) != NULL) {
		const struct cur_device_track *at = &tracks->at[*found];

		if (at->pid == pid && at->tid == tid)
			return (uint32_t)*found;
		key++;
	}
	if (!mp_map64_put(index, key, tracks->len) ||
	    !mp_vec_push(tracks, (struct cur_device_track){.pid = pid, .tid = tid}))
		return UINT32_MAX;
	return (uint32_t)tracks->len - 1;
}

static inline uint32_t track_of(struct piece *piece, int64_t pid, int64_t tid)
{
	uint32_t *last =
		&piece->last_tracks[((uint64_t)pid ^ (uint64_t)pid >> 5 ^ (uint64_t)tid) % LAST_TRACKS];

	if (*last) {
		const struct cur_device_track *track = &piece->tracks.at[*last - 1];

		if (track->pid == pid && track->tid == tid)
			return *last - 1;
	}
	*last = find_track(&piece->tracks, &piece->track_index, pid, tid) +
		1; /* 0 again when memory is out */
	return *last - 1;
}

static enum cur_task task_of(struct mp_str type, struct mp_str name)
{
	/* DSA makes random numbers and is an operator as well. */
	static const char *const compute[] = {"AI_VECTOR_CORE", "AI_CORE", "MIX_AIC",
					      "MIX_AIV",        "AI_CPU",  "DSA_SQE"};
	static const char *const host[] = {"KERNEL_AICORE",    "KERNEL_AIVEC",   "FFTS_PLUS",
					   "KERNEL_MIX_AIC",   "KERNEL_MIX_AIV", "PROFILING_ENABLE",
					   "PROFILING_DISABLE"};
	size_t i;

	if (!type.len)
		return CUR_TASK_NONE;
	/* A task that is called like its type is known to no operator. */
	for (i = 0; i < MP_COUNT(compute); i++)
		if (mp_str_is(type, compute[i]))
			return mp_str_equal(type, name) ? CUR_TASK_OTHER : CUR_TASK_COMPUTE;
	for (i = 0; i < MP_COUNT(host); i++)
		if (mp_str_is(type, host[i]) || mp_str_is(name, host[i]))
			return CUR_TASK_HOST;
	return CUR_TASK_OTHER;
}

static bool take_label(struct worker *worker, struct piece *piece, const struct cur_msprof_event *event)
{
	bool is_thread = mp_str_is(event->name, "thread_name");
	struct label label = {.pid = event->pid, .tid = event->tid, .is_thread = is_thread};

	if (!is_thread && !mp_str_is(event->name, "process_name"))
		return true;
	label.name = mp_strcache_add(worker->names, event->args_name.text, event->args_name.len);
	return label.name != MP_STR_NONE && mp_vec_push(&piece->labels, label);
}

/* The original takes a time that is a number as the nearest double, of which microseconds since 1970 keep
 * quarters. */
static bool keeps_binary(const struct cur_run *run, const struct cur_msprof_event *event)
{
	return event->numeric_ts && !cur_corrects(run, CUR_FIX_NUMERIC_TS);
}

static int64_t binary_ns(int64_t ts_ns)
{
	char text[MP_NUM_MAX];
	double us = 0, whole_us;

	mp_num_parse_double(text, mp_num_put_us3(text, ts_ns), &us);
	whole_us = floor(us);
	return cur_add_ns((int64_t)whole_us * 1000, (int64_t)rint((us - whole_us) * 1000));
}

static bool take_dur(struct piece *piece, const struct cur_msprof_event *event)
{
	double us;

	if (!event->dur.len || !mp_num_parse_double(event->dur.text, event->dur.len, &us))
		us = NAN;
	return mp_vec_push(&piece->durs_us, us);
}

static bool take_range(const struct device_read *read, struct worker *worker, struct piece *piece,
		       const struct cur_msprof_event *event)
{
	struct cur_device_event out = {
		.ts_ns = event->ts_ns,
		.dur_ns = event->dur_ns,
		.track = track_of(piece, event->pid, event->tid),
		.parent = CUR_NO_PARENT,
		.file = (uint16_t)read->file_index,
		.args = event->args_named   ? CUR_ARGS_NAMED
			: event->args_empty ? CUR_ARGS_EMPTY
					    : CUR_ARGS_SOME,
		.task = task_of(event->task_type, event->name) & 0x7f,
		.binary_ts = keeps_binary(read->run, event),
	};

	if (event->args)
		out.args_at = (uint64_t)((event->args_named ? event->args : event->args_close) -
					 read->file->input.data);
	out.name = mp_strcache_add(worker->names, event->name.text, event->name.len);
	if (!cur_corrects(read->run, CUR_FIX_SCOPE_DECIMALS) && !take_dur(piece, event))
		return false;
	return out.track != UINT32_MAX && out.name != MP_STR_NONE && mp_vec_push(&piece->events, out);
}

static bool take_flow(struct piece *piece, const struct cur_msprof_event *event)
{
	struct cur_device_flow flow = {
		.id = mp_hash_bytes(event->id.text, event->id.len, 0),
		.ts_ns = event->ts_ns,
		.track = track_of(piece, event->pid, event->tid),
		.is_end = event->phase == 'f',
	};

	return flow.track != UINT32_MAX && mp_vec_push(&piece->flows, flow);
}

static bool take_event(const struct device_read *read, struct worker *worker, struct piece *piece,
		       struct cur_msprof_event *event)
{
	if (event->phase == 'M')
		return !event->has_pid || take_label(worker, piece, event);
	if (!event->has_pid || !event->has_ts)
		return true;
	if (keeps_binary(read->run, event))
		event->ts_ns = binary_ns(event->ts_ns);
	if (event->phase == 'X')
		return take_range(read, worker, piece, event);
	if (event->host_to_device && (event->phase == 's' || event->phase == 'f'))
		return take_flow(piece, event);
	return true;
}

/* Events from piece->begin until one ends at or behind the end of the piece. */
static mp_status scan_piece(void *user, size_t index, unsigned worker_index, mp_err *err)
{
	struct device_read *read = user;
	struct worker *worker = &read->workers[worker_index];
	struct piece *piece = &read->pieces.at[index];
	const uint8_t *end = read->file->input.data + read->file->input.size, *at = piece->begin;
	struct cur_msprof_event event;

	if (!mp_vec_reserve(&piece->events, (size_t)(piece->end - at) / EVENT_BYTES_GUESS))
		return mp_err_nomem(err, (size_t)(piece->end - at) / EVENT_BYTES_GUESS *
						 sizeof(*piece->events.at));
	piece->last = at;
	while (!piece->fault && !piece->closed && at < piece->end) {
		const uint8_t *fault = NULL, *behind;

		at = cur_skip_blank(at, end);
		behind = at < end && *at == '{' ? cur_msprof_scan(&worker->scanner, at, end, &event, &fault)
						: NULL;
		if (!behind) {
			if (at < end && *at == '{' && !fault)
				return mp_err_nomem(err, 0);
			piece->fault = fault ? fault : at;
			break;
		}
		if (!take_event(read, worker, piece, &event))
			return mp_err_nomem(err, piece->events.cap * sizeof(*piece->events.at));
		piece->last = behind;
		at = cur_skip_blank(behind, end);
		if (at < end && *at == ',')
			at = cur_skip_blank(at + 1, end);
		else if (at < end && *at == ']')
			piece->closed = true;
		else
			piece->fault = at;
	}
	piece->end = at;
	if (read->file->input.packing == MP_PACKING_NONE && piece->last > piece->begin)
		mp_file_forget(&read->file->input.file, (size_t)(piece->begin - read->file->input.data),
			       (size_t)(piece->last - piece->begin));
	return MINDPROF_OK;
}

static void release_piece(struct piece *piece)
{
	mp_vec_release(&piece->tracks);
	mp_vec_release(&piece->events);
	mp_vec_release(&piece->durs_us);
	mp_vec_release(&piece->flows);
	mp_vec_release(&piece->labels);
	mp_map64_release(&piece->track_index);
}

/* ---- pieces into one ---- */

/* Ids of flows; the two lowest bits of a slot tell which ends were seen, 0 = free. */
struct flow_ids {
	uint64_t *slots; /* owned */
	size_t len, cap; /* cap is 0 or a power of two */
};

struct merge {
	struct cur_device *device;
	struct mp_map64 tracks; /* (pid, tid) -> index */
	struct flow_ids flows;
	MP_VEC(struct label) labels;
};

static uint64_t *flow_slot(const struct flow_ids *ids, uint64_t id)
{
	size_t i = (id >> 2) & (ids->cap - 1);

	while (ids->slots[i] && (ids->slots[i] ^ id) >> 2)
		i = (i + 1) & (ids->cap - 1);
	return &ids->slots[i];
}

static bool reserve_flows(struct flow_ids *ids, size_t more)
{
	struct flow_ids grown = {.len = ids->len, .cap = MP_MAX(ids->cap, (size_t)64)};
	size_t i;

	if (more > SIZE_MAX / 8 - ids->len)
		return false;
	while (grown.cap / 2 < ids->len + more)
		grown.cap *= 2;
	if (grown.cap == ids->cap)
		return true;
	grown.slots = mp_calloc(grown.cap, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	for (i = 0; i < ids->cap; i++)
		if (ids->slots[i])
			*flow_slot(&grown, ids->slots[i]) = ids->slots[i];
	mp_free(ids->slots);
	*ids = grown;
	return true;
}

/* The first of each id and end. */
static bool merge_flows(struct merge *merge, const struct piece *piece, const uint32_t *tracks)
{
	size_t i;

	if (!reserve_flows(&merge->flows, piece->flows.len) ||
	    !mp_vec_reserve(&merge->device->flows, piece->flows.len))
		return false;
	for (i = 0; i < piece->flows.len; i++) {
		struct cur_device_flow flow = piece->flows.at[i];
		uint64_t *slot = flow_slot(&merge->flows, flow.id);
		uint64_t end = flow.is_end ? 2 : 1;

		if (*slot & end)
			continue;
		merge->flows.len += !*slot;
		*slot |= (flow.id & ~UINT64_C(3)) | end;
		flow.track = tracks[flow.track];
		merge->device->flows.at[merge->device->flows.len++] = flow;
	}
	return true;
}

static bool merge_columns(struct merge *merge, struct piece *piece, const uint32_t *tracks)
{
	struct cur_device *device = merge->device;
	size_t i;

	if (!mp_vec_reserve(&device->events, piece->events.len) ||
	    !mp_vec_reserve(&device->durs_us, piece->durs_us.len) ||
	    !mp_vec_reserve(&merge->labels, piece->labels.len))
		return false;
	for (i = 0; i < piece->events.len; i++) {
		struct cur_device_event *to = &device->events.at[device->events.len++];

		*to = piece->events.at[i];
		to->track = tracks[to->track];
	}
	for (i = 0; i < piece->durs_us.len; i++)
		device->durs_us.at[device->durs_us.len++] = piece->durs_us.at[i];
	for (i = 0; i < piece->labels.len; i++)
		merge->labels.at[merge->labels.len++] = piece->labels.at[i];
	return merge_flows(merge, piece, tracks);
}

static bool merge_piece(struct merge *merge, struct piece *piece)
{
	uint32_t *tracks = mp_calloc(piece->tracks.len ? piece->tracks.len : 1, sizeof(*tracks));
	bool good = tracks != NULL;
	size_t i;

	for (i = 0; good && i < piece->tracks.len; i++) {
		tracks[i] = find_track(&merge->device->tracks, &merge->tracks, piece->tracks.at[i].pid,
				       piece->tracks.at[i].tid);
		good = tracks[i] != UINT32_MAX;
	}
	good = good && merge_columns(merge, piece, tracks);
	mp_free(tracks);
	return good;
}

/* ---- layers ---- */

static enum cur_layer layer_of(const struct cur_run *run, struct mp_str name)
{
	if (mp_str_is(name, "python") || mp_str_is(name, "python3"))
		return CUR_LAYER_PYTHON;
	if (mp_str_is(name, "CANN"))
		return CUR_LAYER_CANN;
	if (mp_str_is(name, "Ascend Hardware"))
		return CUR_LAYER_HARDWARE;
	if (mp_str_is(name, "HCCL") ||
	    (mp_str_is(name, "Communication") && cur_corrects(run, CUR_FIX_COMMUNICATION_LAYER)))
		return CUR_LAYER_COMMUNICATION;
	return mp_str_is(name, "Overlap Analysis") ? CUR_LAYER_OVERLAP : CUR_LAYER_OTHER;
}

static enum cur_overlap overlap_of(struct mp_str name)
{
	static const char *const names[] = {"", "Computing", "Communication", "Communication(Not Overlapped)",
					    "Free"};
	unsigned i;

	for (i = CUR_OVERLAP_COMPUTING; i <= CUR_OVERLAP_FREE; i++)
		if (mp_str_is(name, names[i]))
			return (enum cur_overlap)i;
	return CUR_OVERLAP_NONE;
}

/* Two pids of one name; the original gives up then. */
static bool find_duplicates(struct cur_run *run, const struct merge *merge)
{
	struct mp_map64 by_name = {0};
	bool good = true;
	size_t i;

	for (i = 0; good && i < merge->labels.len; i++) {
		const struct label *label = &merge->labels.at[i];
		const uint64_t *pid = mp_map64_lookup(&by_name, label->name);

		if (label->is_thread || !mp_store_text(run->store, label->name).len)
			continue;
		if (pid && *pid != (uint64_t)label->pid && !run->device.duplicate_process) {
			struct mp_str name = mp_store_text(run->store, label->name);

			run->device.duplicate_process = true;
			mp_store_note(run->store, MP_WARNING, "process-twice", run->exported.path, -1,
				      "two processes are called '%.*s'", (int)MP_MIN(name.len, 100),
				      name.text);
		}
		good = mp_map64_put(&by_name, label->name, (uint64_t)label->pid);
	}
	mp_map64_release(&by_name);
	return good;
}

/* Labels may come before or after what they name; the last one wins. */
static bool apply_labels(struct cur_run *run, const struct merge *merge)
{
	struct cur_device *device = &run->device;
	struct mp_map64 processes = {0}, threads = {0};
	bool good = true;
	size_t i;

	for (i = 0; good && i < merge->labels.len; i++) {
		const struct label *at = &merge->labels.at[i];

		good = at->is_thread ? mp_map64_put(&threads, track_key(at->pid, at->tid), at->name)
				     : mp_map64_put(&processes, (uint64_t)at->pid, at->name);
		if (!at->is_thread)
			device->has_layer[layer_of(run, mp_store_text(run->store, at->name))] = true;
	}
	for (i = 0; good && i < device->tracks.len; i++) {
		struct cur_device_track *track = &device->tracks.at[i];
		const uint64_t *process = mp_map64_lookup(&processes, (uint64_t)track->pid);
		const uint64_t *thread = mp_map64_lookup(&threads, track_key(track->pid, track->tid));

		if (process) {
			track->process_name = (uint32_t)*process;
			track->layer = (uint8_t)layer_of(run, mp_store_text(run->store, track->process_name));
		}
		if (thread) {
			track->thread_name = (uint32_t)*thread;
			if (track->layer == CUR_LAYER_OVERLAP)
				track->overlap =
					(uint8_t)overlap_of(mp_store_text(run->store, track->thread_name));
		}
	}
	mp_map64_release(&processes);
	mp_map64_release(&threads);
	return good && find_duplicates(run, merge);
}

/* ---- one file ---- */

/* Where an event seems to begin. In a JSON string no letter follows a quote, so there it is none. */
static const uint8_t *find_event(const uint8_t *from, const uint8_t *end)
{
	const uint8_t *limit = from + MP_MIN((size_t)(end - from), (size_t)PIECE_BYTES), *at = from, *begin;

	while ((at = memchr(at, '}', (size_t)(limit - at))) != NULL) {
		at = cur_skip_blank(at + 1, limit);
		if (at == limit || *at != ',')
			continue;
		begin = cur_skip_blank(at + 1, limit);
		if (begin == limit || *begin != '{')
			continue;
		at = cur_skip_blank(begin + 1, limit);
		if (limit - at >= 2 && at[0] == '"' && at[1] >= 'a' && at[1] <= 'z')
			return begin;
	}
	return NULL;
}

static bool split(struct device_read *read, const uint8_t *begin)
{
	const uint8_t *end = read->file->input.data + read->file->input.size, *at = begin;

	while (at < end) {
		struct piece piece = {.begin = at, .end = end};
		const uint8_t *next = NULL;

		if ((size_t)(end - at) > 2 * PIECE_BYTES)
			next = find_event(at + PIECE_BYTES, end);
		if (next)
			piece.end = next;
		if (!mp_vec_push(&read->pieces, piece))
			return false;
		at = piece.end;
	}
	return true;
}

/* Every piece must end where the next begins, else a boundary was inside of an event: once more as one piece.
 */
static bool fits(const struct device_read *read)
{
	size_t i;

	for (i = 0; i + 1 < read->pieces.len; i++)
		if (!read->pieces.at[i].fault && read->pieces.at[i].end != read->pieces.at[i + 1].begin)
			return false;
	return true;
}

static void release_pieces(struct device_read *read)
{
	size_t i;

	for (i = 0; i < read->pieces.len; i++)
		release_piece(&read->pieces.at[i]);
	mp_vec_release(&read->pieces);
}

static mp_status scan_file(struct device_read *read, const uint8_t *begin, mp_err *err)
{
	const uint8_t *end = read->file->input.data + read->file->input.size;
	struct mp_pool *pool = read->run->ctx->pool;

	if (!split(read, begin))
		return mp_err_nomem(err, sizeof(struct piece));
	MP_TRY(mp_pool_for(pool, read->pieces.len, scan_piece, read, err));
	if (fits(read))
		return MINDPROF_OK;
	release_pieces(read);
	if (!mp_vec_push(&read->pieces, (struct piece){.begin = begin, .end = end}))
		return mp_err_nomem(err, sizeof(struct piece));
	return scan_piece(read, 0, 0, err);
}

static void note_fault(struct cur_run *run, const struct cur_device_file *file, const uint8_t *at,
		       bool dropped)
{
	mp_store_note(run->store, MP_PROBLEM, "bad-msprof", file->input.file.path, at - file->input.data,
		      dropped ? "no valid JSON here, the file is not used"
			      : "no valid JSON here, the events before are used");
}

/*
 * How many pieces to take: up to the first fault, which is set, or the end of the array. *last is the end of
 * the last whole event.
 */
static size_t count_pieces(const struct device_read *read, const uint8_t **last, const uint8_t **fault)
{
	const uint8_t *end = read->file->input.data + read->file->input.size, *behind = end;
	bool closed = false;
	size_t n = 0;

	*fault = NULL;
	*last = read->pieces.at[0].begin;
	while (n < read->pieces.len && !*fault && !closed) {
		const struct piece *piece = &read->pieces.at[n++];

		*fault = piece->fault;
		closed = piece->closed;
		behind = piece->end;
		if (piece->last > piece->begin)
			*last = piece->last;
	}
	if (closed)
		behind = cur_skip_blank(behind + 1, end);
	if (!*fault && (!closed || behind < end || read->file->input.damage))
		*fault = behind;
	return n;
}

/* Memory for the events of n pieces. */
static bool reserve_events(struct merge *merge, const struct device_read *read, size_t n)
{
	size_t more = 0, i;

	for (i = 0; i < n; i++)
		more += read->pieces.at[i].events.len;
	return mp_vec_reserve(&merge->device->events, more);
}

static mp_status take_pieces(struct device_read *read, struct cur_device_file *file, struct merge *merge,
			     mp_err *err)
{
	const uint8_t *data = file->input.data, *fault, *last;
	size_t n = count_pieces(read, &last, &fault), i;
	bool keep = !fault || cur_corrects(read->run, CUR_FIX_LOST_OUTPUTS);

	if (fault)
		note_fault(read->run, file, fault, !keep);
	if (!keep)
		return MINDPROF_OK;
	file->array_begin = (uint64_t)(read->pieces.at[0].begin - data);
	file->array_end = (uint64_t)(last - data);
	if (!reserve_events(merge, read, n))
		return mp_err_nomem(err, 0);
	for (i = 0; i < n; i++) {
		if (!merge_piece(merge, &read->pieces.at[i]))
			return mp_err_nomem(err, 0);
		release_piece(&read->pieces.at[i]);
	}
	return MINDPROF_OK;
}

static mp_status read_file(struct device_read *read, struct cur_device_file *file, struct merge *merge,
			   mp_err *err)
{
	const uint8_t *data = file->input.data, *end = data + file->input.size;
	const uint8_t *at = cur_skip_blank(data, end);
	mp_status status;

	read->file = file;
	if (at == end || *at != '[') {
		note_fault(read->run, file, at, true);
		return MINDPROF_OK;
	}
	at = cur_skip_blank(at + 1, end);
	if (at < end && *at == ']') /* no events, not even a first one */
		return MINDPROF_OK;
	if (at == end) {
		note_fault(read->run, file, at, true);
		return MINDPROF_OK;
	}
	status = scan_file(read, at, err);
	if (!status)
		status = take_pieces(read, file, merge, err);
	release_pieces(read);
	return status;
}

/* ---- all files ---- */

static mp_status open_files(struct cur_run *run, mp_err *err)
{
	static const char *const patterns[] = {"msprof_[0-9]*.json", "msprof_slice_*.json"};
	size_t p, i;

	for (p = 0; p < MP_COUNT(patterns); p++) {
		struct cur_file_list list;
		mp_status status = cur_files_find(&run->exported, patterns[p], &list, err);

		for (i = 0; !status && i < list.names.len && run->device.files.len < UINT16_MAX; i++) {
			struct cur_device_file file = {0};
			mp_err failure = {0};

			status = mp_input_open_at(&run->exported, list.names.at[i], run->ctx->max_unpacked,
						  &file.input, &failure);
			if (status) {
				status = cur_go_on_without(run, run->exported.path, status, &failure, err);
			} else if (!mp_vec_push(&run->device.files, file)) {
				mp_input_close(&file.input);
				status = mp_err_nomem(err, sizeof(file));
			}
		}
		cur_files_release(&list);
		if (status)
			return status;
	}
	return MINDPROF_OK;
}

static mp_status make_workers(struct device_read *read, mp_err *err)
{
	unsigned i;

	read->n_workers = read->run->ctx->pool ? mp_pool_threads(read->run->ctx->pool) : 1;
	read->workers = mp_calloc(read->n_workers, sizeof(*read->workers));
	if (!read->workers)
		return mp_err_nomem(err, read->n_workers * sizeof(*read->workers));
	for (i = 0; i < read->n_workers; i++) {
		cur_msprof_scanner_init(&read->workers[i].scanner);
		read->workers[i].names = mp_calloc(1, sizeof(*read->workers[i].names));
		if (!read->workers[i].names)
			return mp_err_nomem(err, sizeof(*read->workers[i].names));
		mp_strcache_init(read->workers[i].names, mp_store_strings(read->run->store));
	}
	return MINDPROF_OK;
}

static mp_status read_files(struct cur_run *run, mp_err *err)
{
	struct device_read read = {.run = run};
	struct merge merge = {.device = &run->device};
	mp_status status = make_workers(&read, err);
	size_t i;
	unsigned w;

	for (i = 0; !status && i < run->device.files.len; i++) {
		read.file_index = i;
		status = read_file(&read, &run->device.files.at[i], &merge, err);
		run->device.present |=
			run->device.files.at[i].array_end > run->device.files.at[i].array_begin;
	}
	if (!status && !apply_labels(run, &merge))
		status = mp_err_nomem(err, 0);
	for (w = 0; w < read.n_workers && read.workers; w++) {
		cur_msprof_scanner_release(&read.workers[w].scanner);
		mp_free(read.workers[w].names);
	}
	mp_free(read.workers);
	mp_map64_release(&merge.tracks);
	mp_free(merge.flows.slots);
	mp_vec_release(&merge.labels);
	return status;
}

/* The first line of a file of the export; the hash of nothing when it cannot be read. Failure: memory. */
static mp_status hash_header(const struct cur_run *run, const char *name, uint64_t *hash, mp_err *err)
{
	const uint8_t *newline;
	struct mp_input input;
	mp_status status = mp_input_open_at(&run->exported, name, run->ctx->max_unpacked, &input, NULL);

	*hash = 0;
	if (status)
		return status == MINDPROF_E_NOMEM ? mp_err_nomem(err, 0) : MINDPROF_OK;
	newline = input.size ? memchr(input.data, '\n', input.size) : NULL;
	if (input.size)
		*hash = mp_hash_bytes(input.data, newline ? (size_t)(newline - input.data) : input.size, 0);
	mp_input_close(&input);
	return MINDPROF_OK;
}

/* The original loses all device data when files of op_summary have different headers. */
static mp_status is_lost(struct cur_run *run, bool *lost, mp_err *err)
{
	mp_status status = MINDPROF_OK;
	struct cur_file_list files;
	uint64_t first = 0, hash;
	size_t i;

	*lost = false;
	if (cur_corrects(run, CUR_FIX_HEADERS) || run->params.level_none)
		return MINDPROF_OK;
	MP_TRY(cur_files_find(&run->exported, "op_summary_*.csv", &files, err));
	for (i = 0; i < files.names.len && !status; i++) {
		status = hash_header(run, files.names.at[i], &hash, err);
		*lost |= i && hash != first;
		if (!i)
			first = hash;
	}
	cur_files_release(&files);
	return status;
}

mp_status cur_open_device(struct cur_run *run, mp_err *err)
{
	bool lost;

	if (run->opened_device)
		return MINDPROF_OK;
	run->opened_device = true;
	if (!run->params.npu)
		return MINDPROF_OK;
	MP_TRY(is_lost(run, &lost, err));
	if (lost)
		return MINDPROF_OK;
	MP_TRY(open_files(run, err));
	if (!run->device.files.len)
		mp_store_note(run->store, MP_PROBLEM, "no-msprof",
			      run->prof.fd >= 0 ? run->prof.path : run->rank_dir.path, -1,
			      "no msprof_*.json: no device events, links and step times");
	return MINDPROF_OK;
}

mp_status cur_load_device(struct cur_run *run, mp_err *err)
{
	if (run->loaded_device)
		return MINDPROF_OK;
	run->loaded_device = true;
	MP_TRY(cur_open_device(run, err));
	return run->device.files.len ? read_files(run, err) : MINDPROF_OK;
}
