/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome trace event JSON, own and foreign, `{...}` and `[...]`, packed or not, whole or cut off.
 * Input: one file. Output: events, names, facts and notes. Document: docs/formats/chrome-json.md.
 */
#include "readers/rd_chrome.h"

#include <inttypes.h>

#include "base/input.h"
#include "base/json_in.h"
#include "base/num.h"
#include "formats/fmt_trace_event.h"

#include "base/banned.h"

#define SNIFF_BYTES ((size_t)64 * 1024)
#define METADATA_PIECES 4u /* metadata events are looked for in so many pieces at each end first */
#define FACT_BYTES ((size_t)4096)
#define ARGS_BYTES ((size_t)16 << 20) /* args texts up to this are kept, and 1/16 of a larger input */

const struct mp_fault_kind chrome_fault_kinds[CHROME_FAULTS] = {
	[CHROME_BAD_EVENT] = {MP_PROBLEM, "bad-event", "event is not valid JSON, skipped"},
	[CHROME_NO_TIME] = {MP_PROBLEM, "no-time", "event has no usable ts, skipped"},
	[CHROME_BAD_DURATION] = {MP_WARNING, "bad-duration", "dur is no number or negative, taken as 0"},
	[CHROME_NO_DURATION] = {MP_INFO, "no-duration", "complete event without dur, taken as 0"},
	[CHROME_NO_PHASE] = {MP_WARNING, "no-phase", "object without ph in the event array, skipped"},
	[CHROME_BAD_ARGS] = {MP_WARNING, "bad-args", "args of an event are not valid JSON, left out"},
	[CHROME_BAD_UTF8] = {MP_WARNING, "bad-utf8", "text is not UTF-8, bad bytes are replaced"},
	[CHROME_BAD_CONTROL] = {MP_WARNING, "bad-text",
				"text holds control bytes or escapes that JSON does not allow"},
	[CHROME_BAD_VALUE] = {MP_WARNING, "bad-value",
			      "counter, step, memory or flow event without a usable value"},
	[CHROME_IGNORED] = {MP_INFO, "ignored-phase",
			    "event of a kind that is not read (samples, objects, ...)"},
	[CHROME_NO_BEGIN] = {MP_WARNING, "end-without-begin", "end of a range that did not begin, skipped"},
	[CHROME_NO_END] = {MP_WARNING, "begin-without-end",
			   "range without an end, lasts until the end of the trace"},
	[CHROME_CUT] = {MP_PROBLEM, "truncated", "file ends inside an event, the rest is missing"},
	[CHROME_UNCLOSED] = {MP_WARNING, "unclosed",
			     "event array is not closed, events may be missing at the end"},
	[CHROME_ARGS_NOT_KEPT] = {MP_INFO, "args-not-kept", "args of events are more than is kept, left out"},
	[CHROME_TRAILING] = {MP_WARNING, "trailing-text",
			     "what follows the event array is cut off or not valid JSON"},
	[CHROME_DAMAGED] = {MP_PROBLEM, "damaged",
			    "too much of the file is broken, the rest of it is skipped"},
};

/* ---------------------------------------------------------------- recognising */

/* The text without a byte order mark. */
static struct mp_str without_mark(const void *data, size_t size)
{
	struct mp_str text = {data, size};

	if (size >= 3 && !memcmp(data, "\xef\xbb\xbf", 3)) {
		text.text += 3;
		text.len -= 3;
	}
	return text;
}

/* By the first bytes: an array of objects with a phase, or an object with an event array. */
static int score_text(const void *data, size_t size)
{
	struct mp_str text = without_mark(data, size);
	const char *end = text.text + text.len, *at = chrome_skip_space(text.text, end);
	size_t left = MP_MIN((size_t)(end - at), SNIFF_BYTES);

	if (!left || (*at != '[' && *at != '{'))
		return 0;
	if (*at == '{')
		return memmem(at, left, "\"traceEvents\"", 13) ? 90 : 0;
	at = chrome_skip_space(at + 1, end);
	if (at == end || *at == ']')
		return 10;
	return *at == '{' && memmem(at, MP_MIN((size_t)(end - at), SNIFF_BYTES), "\"ph\"", 4) ? 90 : 0;
}

static int recognise(const struct mp_source *source)
{
	struct mp_input input;
	int score;
	mp_status status;

	if (!source->name)
		return 0;
	status = mp_input_open_at(source->dir, source->name, SNIFF_BYTES, &input, NULL);
	if (status == MINDPROF_OK) {
		score = score_text(input.data, input.size);
		mp_input_close(&input);
		return score;
	}
	/* Too long to unpack for a look: then the name has to do. */
	if (status == MINDPROF_E_LIMIT && (strstr(source->name, ".json") || strstr(source->name, "trace")))
		return 50;
	return 0;
}

/* ---------------------------------------------------------------- members beside the events */

static void set_fact(struct chrome_read *read, struct mp_str key, const struct mp_json *json,
		     enum mp_json_type type)
{
	struct mp_json raw = {
		.text = key.text, .len = key.len, .escaped = memchr(key.text, '\\', key.len) != NULL};
	struct mp_json_str text = {json->text, json->len}, plain;
	struct mp_buf value, decoded;
	char *name;

	mp_buf_init(&value, SIZE_MAX / 2);
	mp_buf_init(&decoded, SIZE_MAX / 2);
	plain = mp_json_string(&raw, &decoded);
	name = mp_strndup(plain.text, plain.len);
	if (type == MP_JSON_STRING)
		text = mp_json_string(json, &value);
	if (name && text.len <= FACT_BYTES)
		mp_store_set_fact(read->store, name, text.text, text.len);
	mp_free(name);
	mp_buf_release(&value);
	mp_buf_release(&decoded);
}

/* The value of the current key: *json is behind it afterwards, its text in json->text. False after a fault.
 */
static bool next_value(struct mp_json *json, enum mp_json_type *type)
{
	*type = mp_json_next(json);
	if (*type == MP_JSON_OBJECT || *type == MP_JSON_ARRAY)
		return mp_json_skip(json, *type);
	return *type != MP_JSON_ERROR;
}

/* Members of otherData; they tell whether the file is ours. */
static void take_other_data(struct chrome_read *read, const char *text, size_t len)
{
	struct mp_json json;
	enum mp_json_type type;
	int64_t base_ns = 0;
	bool is_own = false, has_base = false;

	mp_json_init(&json, text, len);
	for (mp_json_next(&json); mp_json_next(&json) == MP_JSON_KEY;) {
		struct mp_str key = {json.text, json.len};

		if (!next_value(&json, &type))
			return;
		if (key.len == strlen(MP_TRACE_VERSION_KEY) &&
		    !memcmp(key.text, MP_TRACE_VERSION_KEY, key.len))
			is_own = true;
		else if (key.len == strlen(MP_TRACE_BASE_KEY) &&
			 !memcmp(key.text, MP_TRACE_BASE_KEY, key.len))
			has_base = mp_num_parse_i64(json.text, json.len, &base_ns);
		else
			set_fact(read, key, &json, type);
	}
	read->is_own = is_own && has_base;
	if (read->is_own)
		read->base_ns = base_ns;
}

/* distributedInfo of Kineto. */
static void take_rank(struct chrome_read *read, const char *text, size_t len)
{
	struct mp_json json;
	enum mp_json_type type;
	int64_t rank;

	mp_json_init(&json, text, len);
	for (mp_json_next(&json); mp_json_next(&json) == MP_JSON_KEY;) {
		bool is_rank = mp_json_key_is(&json, "rank");

		if (!next_value(&json, &type))
			return;
		if (is_rank && mp_num_parse_i64(json.text, json.len, &rank) && rank >= 0 && rank <= INT32_MAX)
			read->lanes.rank = (int32_t)rank;
	}
}

/* One member of the outer object whose value was just read. */
static void take_member(struct chrome_read *read, struct mp_str key, const struct mp_json *json,
			enum mp_json_type type)
{
	struct chrome_text name = {.at = key.text, .len = key.len};

	if (chrome_is(&name, "otherData") && type == MP_JSON_OBJECT) {
		take_other_data(read, json->text, json->len);
	} else if (chrome_is(&name, MP_TRACE_KINETO_BASE_KEY) && type == MP_JSON_NUMBER && !read->is_own) {
		if (!mp_num_parse_i64(json->text, json->len, &read->base_ns))
			read->base_ns = 0;
	} else if (!chrome_is(&name, "displayTimeUnit") && !(read->is_own && chrome_is(&name, "mindprof"))) {
		if (chrome_is(&name, "distributedInfo") && type == MP_JSON_OBJECT)
			take_rank(read, json->text, json->len);
		set_fact(read, key, json, type);
	}
}

/* Goes from the outer brace to the event array. */
static mp_status read_head(struct chrome_read *read, const char *path, bool *is_object, mp_err *err)
{
	struct chrome_array *array = &read->array;
	struct mp_str head = without_mark(array->text, array->size);
	struct mp_json json;
	enum mp_json_type type;

	mp_json_init(&json, head.text, head.len);
	type = mp_json_next(&json);
	*is_object = type == MP_JSON_OBJECT;
	if (type == MP_JSON_ARRAY) {
		array->begin = (size_t)(json.at - array->text);
		return MINDPROF_OK;
	}
	if (type != MP_JSON_OBJECT)
		return mp_err_set(err, MINDPROF_E_FORMAT, path, 0, "not an object or array of trace events");
	while (mp_json_next(&json) == MP_JSON_KEY) {
		struct mp_str key = {json.text, json.len};

		if (mp_json_key_is(&json, "traceEvents")) {
			if (mp_json_next(&json) != MP_JSON_ARRAY)
				break;
			array->begin = (size_t)(json.at - array->text);
			return MINDPROF_OK;
		}
		if (!next_value(&json, &type))
			break;
		take_member(read, key, &json, type);
	}
	return mp_err_set(err, MINDPROF_E_FORMAT, path, json.err_text ? json.err_offset : -1,
			  "no array 'traceEvents' found%s%s", json.err_text ? ": " : "",
			  json.err_text ? json.err_text : "");
}

/*
 * The members behind the event array. The array's end is known from the scan only, so this also tells
 * whether that was right: false when something else than the rest of a JSON document follows.
 */
static bool read_tail(struct chrome_read *read, bool is_object)
{
	const struct chrome_array *array = &read->array;
	const char *end = array->text + array->size,
		   *at = chrome_skip_space(array->text + array->end + 1, end);
	struct mp_json json;
	enum mp_json_type type;

	if (array->text[array->end] != ']')
		return false;
	if (!is_object)
		return at == end;
	while (at < end && *at == ',') {
		struct mp_str key;

		at = chrome_skip_space(at + 1, end);
		mp_json_init(&json, at, (size_t)(end - at));
		if (mp_json_next(&json) != MP_JSON_STRING)
			return false;
		key = (struct mp_str){json.text, json.len};
		at = chrome_skip_space(json.at, end);
		if (at == end || *at != ':')
			return false;
		mp_json_init(&json, at + 1, (size_t)(end - at - 1));
		if (!next_value(&json, &type))
			return false;
		take_member(read, key, &json, type);
		at = chrome_skip_space(json.at, end);
	}
	return at < end && *at == '}' && chrome_skip_space(at + 1, end) == end;
}

/* ---------------------------------------------------------------- events */

/* Goes on behind a broken event; NULL when nothing follows. */
static const char *skip_broken(struct chrome_worker *worker, const char *at, const char *fault,
			       const char *stop, size_t *budget)
{
	const struct chrome_array *array = &worker->read->array;
	bool ran_out = fault == stop && stop == array->text + array->size;
	const char *next = chrome_resync(array->text, at + 1, stop, budget);

	if (!next && *budget <= (size_t)(stop - at))
		chrome_fault(worker, CHROME_DAMAGED, at);
	if (ran_out && !next)
		chrome_fault(worker, CHROME_CUT, at);
	else
		chrome_fault(worker, CHROME_BAD_EVENT, fault);
	return next;
}

/* A bracket between events: the end of the array, unless the scan knows a later one or more objects follow.
 */
static bool is_end(const struct chrome_array *array, const char *at, const char *stop)
{
	const char *next = chrome_skip_space(at + 1, stop);

	if (*at != ']' || array->closed)
		return false;
	if (next < stop && *next == ',')
		next = chrome_skip_space(next + 1, stop);
	return next == stop || *next != '{';
}

static void decode_piece(struct chrome_worker *worker, const struct chrome_piece *piece)
{
	const struct chrome_array *array = &worker->read->array;
	const char *at = array->text + piece->first, *stop = array->text + piece->stop;
	size_t budget = 8 * (size_t)(stop - at) + SNIFF_BYTES;
	struct chrome_event event;

	while (at && !worker->failed) {
		const char *fault, *next = NULL;

		at = chrome_skip_space(at, stop);
		if (at < stop && *at == ',')
			at = chrome_skip_space(at + 1, stop);
		if (at >= stop)
			return;
		fault = at;
		if (*at == '{') {
			next = chrome_decode(at, stop, &event, &worker->keys, &fault);
		} else if (is_end(array, at, stop)) {
			worker->saw_end = true;
			return;
		}
		if (MP_LIKELY(next != NULL))
			chrome_sink(worker, &event, at);
		else
			next = skip_broken(worker, at, fault, stop, &budget);
		at = next;
	}
}

struct job {
	struct chrome_read *read;
	struct chrome_worker *workers;
};

/* In our own files metadata events stand before all others. */
static bool may_have_metadata(const struct chrome_worker *worker, size_t index)
{
	if (worker->read->is_own)
		return index == 0 || worker->saw_metadata;
	return index < METADATA_PIECES || index + METADATA_PIECES >= worker->read->array.n_pieces;
}

static mp_status run_piece(void *user, size_t index, unsigned number, mp_err *err)
{
	struct job *job = user;
	struct chrome_worker *worker = &job->workers[number];
	const struct chrome_array *array = &job->read->array;

	if (worker->mode == CHROME_METADATA && !may_have_metadata(worker, index))
		return MINDPROF_OK;
	worker->saw_metadata = false;
	decode_piece(worker, &array->pieces[index]);
	if (worker->failed == MINDPROF_E_NOMEM)
		return mp_err_nomem(err, sizeof(*worker));
	return worker->failed;
}

/* One pass over the events. Only the pass that reads them counts faults. */
static mp_status run_pass(struct job *job, enum chrome_mode mode, mp_err *err)
{
	struct chrome_read *read = job->read;
	unsigned n = mp_pool_threads(read->ctx->pool);
	struct mp_fault *faults = mp_calloc(n, sizeof(job->workers[0].faults));
	mp_status status;

	if (!faults)
		return mp_err_nomem(err, n * sizeof(job->workers[0].faults));
	for (unsigned i = 0; i < n; i++) {
		job->workers[i].mode = mode;
		memcpy(&faults[(size_t)i * CHROME_FAULTS], job->workers[i].faults,
		       sizeof(job->workers[i].faults));
	}
	/* Metadata in the order of the file, so that numbers of tracks do not depend on timing. */
	status = mp_pool_for(mode == CHROME_METADATA ? NULL : read->ctx->pool, read->array.n_pieces,
			     run_piece, job, err);
	for (unsigned i = 0; i < n && mode != CHROME_EVENTS; i++)
		memcpy(job->workers[i].faults, &faults[(size_t)i * CHROME_FAULTS],
		       sizeof(job->workers[i].faults));
	mp_free(faults);
	return status;
}

/* ---------------------------------------------------------------- workers */

static mp_status init_worker(struct chrome_worker *worker, struct chrome_read *read, mp_err *err)
{
	worker->read = read;
	worker->store = read->store;
	worker->end_ns = INT64_MIN;
	worker->last_lane.track = UINT32_MAX;
	for (size_t i = 0; i < CHROME_LANES; i++)
		worker->lane_cache[i].track = UINT32_MAX;
	mp_buf_init(&worker->text, SIZE_MAX / 2);
	mp_buf_init(&worker->rest, SIZE_MAX / 2);
	return mp_appender_new(read->store, &worker->appender, err);
}

/* The first failure of the appenders explains why a worker failed. */
static mp_status release_workers(struct chrome_worker *workers, unsigned n, mp_status status, mp_err *err)
{
	for (unsigned i = 0; i < n; i++) {
		mp_err why = {0};
		mp_status finished =
			workers[i].appender ? mp_appender_finish(workers[i].appender, &why) : MINDPROF_OK;

		if (finished && (!status || status == MINDPROF_E_LIMIT)) {
			status = finished;
			if (err)
				*err = why;
		}
		mp_vec_release(&workers[i].calls);
		mp_vec_release(&workers[i].async);
		mp_vec_release(&workers[i].flow_ends);
		mp_free(workers[i].bound_ns);
		mp_buf_release(&workers[i].text);
		mp_buf_release(&workers[i].rest);
	}
	mp_free(workers);
	return status;
}

static mp_status read_flow_ends(struct job *job, unsigned n, mp_err *err)
{
	MP_TRY(chrome_collect_flow_ends(job->workers, n, err));
	if (!job->read->flow_ends.len)
		return MINDPROF_OK;
	MP_TRY(run_pass(job, CHROME_BEGINS, err));
	return chrome_append_flow_ends(job->workers, n, err);
}

static mp_status read_events(struct job *job, unsigned n, mp_err *err)
{
	struct chrome_read *read = job->read;
	int64_t end_ns = INT64_MIN;

	MP_TRY(run_pass(job, CHROME_METADATA, err));
	if (!chrome_lanes_create(&read->lanes))
		return mp_err_nomem(err, sizeof(struct chrome_lane));
	MP_TRY(run_pass(job, CHROME_EVENTS, err));
	for (unsigned i = 0; i < n; i++)
		end_ns = MP_MAX(end_ns, job->workers[i].end_ns);
	MP_TRY(chrome_join_halves(job->workers, n, end_ns, err));
	MP_TRY(read_flow_ends(job, n, err));
	if (!chrome_lanes_create(&read->lanes))
		return mp_err_nomem(err, sizeof(struct chrome_lane));
	return job->workers[0].failed;
}

static mp_status run_workers(struct chrome_read *read, struct mp_fault *faults, mp_err *err)
{
	unsigned n = mp_pool_threads(read->ctx->pool);
	struct job job = {.read = read, .workers = mp_calloc(n, sizeof(*job.workers))};
	mp_status status = MINDPROF_OK;

	if (!job.workers)
		return mp_err_nomem(err, n * sizeof(*job.workers));
	for (unsigned i = 0; i < n && !status; i++)
		status = init_worker(&job.workers[i], read, err);
	if (!status)
		status = read_events(&job, n, err);
	for (unsigned i = 0; i < n; i++) {
		mp_faults_merge(faults, job.workers[i].faults, CHROME_FAULTS);
		read->array.closed |= job.workers[i].saw_end;
	}
	return release_workers(job.workers, n, status, err);
}

/* ---------------------------------------------------------------- the reader */

/* is_cut: a note tells already that the end is missing. */
static mp_status read_document(struct chrome_read *read, const char *path, bool is_cut, mp_err *err)
{
	struct mp_fault faults[CHROME_FAULTS] = {{0}};
	struct chrome_array *array = &read->array;
	bool is_object;
	mp_status status;

	MP_TRY(read_head(read, path, &is_object, err));
	MP_TRY(chrome_scan(read->ctx, array, err));
	if (array->closed && !read_tail(read, is_object)) {
		mp_fault_add(&faults[CHROME_TRAILING], (int64_t)array->end, 1);
		array->closed = false;
		array->end = array->pieces[array->n_pieces - 1].stop = array->size;
	}
	read->args_budget = ARGS_BYTES + array->size / 16;
	status = run_workers(read, faults, err);
	if (!array->closed && !faults[CHROME_CUT].count && !faults[CHROME_TRAILING].count)
		mp_fault_add(&faults[CHROME_UNCLOSED], (int64_t)array->size, 1);
	if (is_cut)
		memset(&faults[CHROME_CUT], 0, 3 * sizeof(faults[0])); /* and UNCLOSED, TRAILING */
	mp_faults_note(read->store, path, faults, chrome_fault_kinds, CHROME_FAULTS);
	return status;
}

static void note_damage(struct mp_store *store, const struct mp_input *input)
{
	if (input->damage)
		mp_store_note(
			store, MP_PROBLEM, input->damage == MINDPROF_E_TRUNCATED ? "truncated" : "damaged",
			input->file.path, input->damage_offset, "packed file is %s, the rest is missing",
			input->damage == MINDPROF_E_TRUNCATED ? "cut off" : "damaged");
}

static mp_status read_source(struct mp_ctx *ctx, const struct mp_source *source, struct mp_store *store,
			     mp_err *err)
{
	struct chrome_read read = {.ctx = ctx, .store = store};
	struct mp_input input;
	mp_status status;

	if (!source->name)
		return mp_err_set(err, MINDPROF_E_UNSUPPORTED, NULL, -1, "a directory is not a trace file");
	MP_TRY(mp_input_open_at(source->dir, source->name, ctx->max_unpacked, &input, err));
	status = chrome_lanes_init(&read.lanes, store, err);
	if (!status) {
		read.array.text = (const char *)input.data;
		read.array.size = input.size;
		note_damage(store, &input);
		status = read_document(&read, input.file.path, input.damage != MINDPROF_OK, err);
	}
	mp_free(read.array.pieces);
	mp_vec_release(&read.flow_ends);
	chrome_lanes_release(&read.lanes);
	mp_input_close(&input);
	return status;
}

const struct mp_reader mp_reader_chrome_json = {
	.name = "chrome-json",
	.title = "Chrome trace (JSON)",
	.recognise = recognise,
	.read = read_source,
};
