/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of the timeline. Input: events of msprof_*.json with their args (prof-raw.md section 9.2). Output:
 * TASK, CANN_API, COMMUNICATION_OP, COMMUNICATION_TASK_INFO, OVERLAP_ANALYSIS, HBM, AICORE_FREQ.
 */
#include "base/num.h"
#include "current/cur_communication.h"
#include "current/cur_db.h"

#include "base/banned.h"

/* What the tables need of args. */
enum arg {
	ARG_CONNECTION,
	ARG_MODEL,
	ARG_MODEL_OF_OP,
	ARG_STREAM,
	ARG_TASK,
	ARG_SUBTASK,
	ARG_PLANE_STREAM,
	ARG_PLANE_TASK,
	ARG_PLANE_CONTEXT,
	ARG_SRC,
	ARG_DST,
	ARG_SIZE,
	ARG_COUNT,
	ARG_RELAY,
	ARG_RETRY,
	ARG_RANKS,
	ARG_NOTIFY,
	ARG_NUMBERS,
	ARG_TASK_TYPE = ARG_NUMBERS,
	ARG_PLANE_TYPE,
	ARG_LEVEL,
	ARG_DATA_TYPE,
	ARG_PLANE_DATA_TYPE,
	ARG_ALGORITHM,
	ARG_TRANSPORT,
	ARG_LINK,
	ARGS
};

#define KEY(text)                      \
	{                              \
		text, sizeof(text) - 1 \
	}

static const struct mp_str arg_keys[ARGS] = {
	KEY("connection_id"), KEY("Model Id"),   KEY("model id"),  KEY("Physic Stream Id"),
	KEY("Task Id"),       KEY("Subtask Id"), KEY("stream id"), KEY("task id"),
	KEY("context id"),    KEY("src rank"),   KEY("dst rank"),  KEY("size(Byte)"),
	KEY("count"),         KEY("relay"),      KEY("retry"),     KEY("rank_size"),
	KEY("notify_id"),     KEY("Task Type"),  KEY("task type"), KEY("level"),
	KEY("data_type"),     KEY("data type"),  KEY("alg_type"),  KEY("transport type"),
	KEY("link type"),
};

enum field { FIELD_NAME, FIELD_PHASE, FIELD_PID, FIELD_TID, FIELD_TS, FIELD_DUR, FIELDS };

static const struct mp_str field_keys[FIELDS] = {KEY("name"), KEY("ph"), KEY("pid"),
						 KEY("tid"),  KEY("ts"), KEY("dur")};

struct event {
	char phase;
	int64_t pid, tid, ts_ns, dur_ns;
	struct mp_str name;
	int64_t numbers[ARG_NUMBERS]; /* CUR_DB_NONE = not there */
	struct mp_str texts[ARGS - ARG_NUMBERS];
	double bandwidth, value; /* GB/s; the first number of a counter */
	bool has_ts, has_value;
};

struct events {
	struct cur_db *db;
	struct cur_db_rows apis, ops, op_tasks, overlaps, hbm, frequencies;
	struct mp_buf text; /* decoded texts of one event */
	int64_t n_ops, n_overlaps;
	struct mp_map64 tracks; /* pid and tid -> track of the device model */
	struct mp_map64 groups; /* operator by name -> group, string id of the store */
};

/* ---- one event ---- */

/* The text of a scalar; strings stay as they are in the file unless they have escapes. */
static struct mp_str scalar(struct events *events, const struct mp_json *json, enum mp_json_type type)
{
	struct mp_json_str text = {json->text, json->len};
	size_t before = events->text.len;

	if (type != MP_JSON_STRING || !json->escaped)
		return (struct mp_str){json->text, json->len};
	/* Kept behind each other; the room is reserved before, so that earlier ones stay where they are. */
	if (events->text.cap - before > json->len + 1) {
		struct mp_buf part;

		mp_buf_init(&part, SIZE_MAX / 8);
		text = mp_json_string(json, &part);
		mp_buf_add(&events->text, text.text, text.len);
		mp_buf_release(&part);
		return (struct mp_str){events->text.data + before, events->text.len - before};
	}
	return (struct mp_str){json->text, json->len};
}

/* The place of the current key; n = not there. Keys with escapes are none of these. */
static int place_of(const struct mp_json *json, const struct mp_str *keys, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (keys[i].len == json->len && !memcmp(keys[i].text, json->text, json->len))
			return i;
	return n;
}

static void take_arg(struct event *event, int arg, struct mp_str text)
{
	if (arg >= ARG_NUMBERS)
		event->texts[arg - ARG_NUMBERS] = text;
	else
		mp_num_parse_i64(text.text, text.len, &event->numbers[arg]);
}

static bool read_args(struct events *events, struct mp_json *json, struct event *event)
{
	enum mp_json_type type;

	while ((type = mp_json_next(json)) == MP_JSON_KEY) {
		int arg = place_of(json, arg_keys, ARGS);
		bool is_bandwidth = arg == ARGS && mp_json_key_is(json, "bandwidth(GB/s)");

		type = mp_json_next(json);
		if (type == MP_JSON_ERROR ||
		    ((type == MP_JSON_OBJECT || type == MP_JSON_ARRAY) && !mp_json_skip(json, type)))
			return false;
		if (arg < ARGS && (type == MP_JSON_NUMBER || type == MP_JSON_STRING))
			take_arg(event, arg, scalar(events, json, type));
		else if (is_bandwidth && type == MP_JSON_NUMBER)
			mp_num_parse_double(json->text, json->len, &event->bandwidth);
		else if (!event->has_value && type == MP_JSON_NUMBER)
			event->has_value = mp_num_parse_double(json->text, json->len, &event->value);
	}
	return type == MP_JSON_OBJECT_END;
}

/* "ts" is text or a number, "dur" a number, both of microseconds. */
static void take_field(struct event *event, int field, struct mp_str text)
{
	switch (field) {
	case FIELD_NAME:
		event->name = text;
		break;
	case FIELD_PHASE:
		event->phase = text.len == 1 ? text.text[0] : 0;
		break;
	case FIELD_PID:
		mp_num_parse_i64(text.text, text.len, &event->pid);
		break;
	case FIELD_TID:
		mp_num_parse_i64(text.text, text.len, &event->tid);
		break;
	case FIELD_TS:
		event->has_ts = mp_num_parse_scaled(text.text, text.len, 3, &event->ts_ns);
		break;
	case FIELD_DUR:
		mp_num_parse_scaled(text.text, text.len, 3, &event->dur_ns);
		break;
	}
}

/* The object has begun. False when the text is no JSON from here on. */
static bool read_event(struct events *events, struct mp_json *json, struct event *event)
{
	enum mp_json_type type;
	size_t i;

	*event = (struct event){.name = {"", 0}};
	for (i = 0; i < ARG_NUMBERS; i++)
		event->numbers[i] = CUR_DB_NONE;
	for (i = 0; i < MP_COUNT(event->texts); i++)
		event->texts[i] = (struct mp_str){"", 0};
	events->text.len = 0;
	while ((type = mp_json_next(json)) == MP_JSON_KEY) {
		int field = place_of(json, field_keys, FIELDS);
		bool is_args = field == FIELDS && mp_json_key_is(json, "args");

		type = mp_json_next(json);
		if (type == MP_JSON_OBJECT && is_args) {
			if (!read_args(events, json, event))
				return false;
			continue;
		}
		if (type == MP_JSON_ERROR ||
		    ((type == MP_JSON_OBJECT || type == MP_JSON_ARRAY) && !mp_json_skip(json, type)))
			return false;
		if (field < FIELDS && (type == MP_JSON_NUMBER || type == MP_JSON_STRING))
			take_field(event, field, scalar(events, json, type));
	}
	return type == MP_JSON_OBJECT_END;
}

/* ---- tables ---- */

static int64_t text_id(struct events *events, const struct event *event, enum arg arg)
{
	struct mp_str text = event->texts[arg - ARG_NUMBERS];

	return cur_db_string(events->db, text.len ? text : (struct mp_str){"N/A", 3});
}

/* pid = process << 10 | layer << 5 | device; 31 is the host. */
static int64_t device_of(const struct event *event)
{
	return event->pid & 31;
}

static int64_t process_of(const struct event *event)
{
	return event->pid >> 10;
}

static struct cur_db_task task_of(const struct event *event, int64_t end_ns)
{
	return (struct cur_db_task){
		.begin_ns = event->ts_ns,
		.end_ns = end_ns,
		.device = device_of(event),
		.connection = event->numbers[ARG_CONNECTION],
		.pid = process_of(event),
		.model = event->numbers[ARG_MODEL],
		.context = event->numbers[ARG_SUBTASK],
		.task = event->numbers[ARG_TASK],
		.stream = event->numbers[ARG_STREAM] != CUR_DB_NONE ? event->numbers[ARG_STREAM] : event->tid,
	};
}

static void put_task(struct events *events, const struct event *event, int64_t end_ns)
{
	struct cur_db_task task = task_of(event, end_ns);

	task.type = text_id(events, event, ARG_TASK_TYPE);
	cur_db_task_id(events->db, &task);
}

/* "Node@launch" is "launch" of level node. */
static void put_api(struct events *events, const struct event *event, int64_t end_ns)
{
	const char *at = event->name.len ? memchr(event->name.text, '@', event->name.len) : NULL;
	struct mp_str level = event->texts[ARG_LEVEL - ARG_NUMBERS], name = event->name;

	if (mp_str_is(level, "hccl")) /* as older versions call it */
		level = (struct mp_str){"communication", 13};
	if (at)
		name = (struct mp_str){at + 1, event->name.len - (size_t)(at + 1 - event->name.text)};
	cur_db_int(&events->apis, event->ts_ns);
	cur_db_int(&events->apis, end_ns);
	cur_db_int(&events->apis, cur_db_code(CUR_DB_API_TYPE, level, CUR_DB_NONE));
	cur_db_int(&events->apis,
		   (int64_t)((uint64_t)process_of(event) << 32 | ((uint64_t)event->tid & UINT32_MAX)));
	cur_db_int(&events->apis, event->numbers[ARG_CONNECTION]);
	cur_db_int(&events->apis, cur_db_string(events->db, name));
	cur_db_row_end(&events->apis);
}

static int64_t group_of(struct events *events, struct mp_str name)
{
	const uint64_t *found = mp_map64_lookup(&events->groups, mp_hash_bytes(name.text, name.len, 0));

	return cur_db_string(events->db, found ? mp_store_text(events->db->run->store, (uint32_t)*found)
					       : (struct mp_str){"N/A", 3});
}

/* The type of "hcom_allReduce__586_0_1" is "hcom_allReduce_". */
static struct mp_str op_type_of(struct mp_str name)
{
	size_t i;

	for (i = 1; i + 1 < name.len; i++)
		if (name.text[i] == '_' && name.text[i + 1] == '_')
			return (struct mp_str){name.text, i + 1};
	return name;
}

static int64_t number_or(const struct event *event, enum arg arg, int64_t otherwise)
{
	return event->numbers[arg] == CUR_DB_NONE ? otherwise : event->numbers[arg];
}

static void put_op(struct events *events, const struct event *event, int64_t end_ns)
{
	struct cur_db *db = events->db;

	cur_db_int(&events->ops, cur_db_string(db, event->name));
	cur_db_int(&events->ops, event->ts_ns);
	cur_db_int(&events->ops, end_ns);
	cur_db_int(&events->ops, event->numbers[ARG_CONNECTION]);
	cur_db_int(&events->ops, group_of(events, event->name));
	cur_db_int(&events->ops, events->n_ops++);
	cur_db_int(&events->ops, number_or(event, ARG_RELAY, 0));
	cur_db_int(&events->ops, number_or(event, ARG_RETRY, 0));
	cur_db_int(&events->ops,
		   cur_db_code(CUR_DB_HCCL_DATA_TYPE, event->texts[ARG_DATA_TYPE - ARG_NUMBERS], 65534));
	cur_db_int(&events->ops, text_id(events, event, ARG_ALGORITHM));
	cur_db_int(&events->ops, number_or(event, ARG_COUNT, 0));
	cur_db_int(&events->ops, cur_db_string(db, op_type_of(event->name)));
	cur_db_int(&events->ops, device_of(event));
	cur_db_int(&events->ops, number_or(event, ARG_RANKS, 0));
	cur_db_row_end(&events->ops);
}

/* A task of a plane; it belongs to the operator before it in the file's time order, which the text does not
 * say. */
static void put_op_task(struct events *events, const struct event *event, int64_t end_ns, int64_t plane)
{
	struct cur_db_task task = task_of(event, end_ns);
	struct cur_db *db = events->db;

	task.stream = event->numbers[ARG_PLANE_STREAM];
	task.task = event->numbers[ARG_PLANE_TASK];
	task.context = event->numbers[ARG_PLANE_CONTEXT];
	task.model = event->numbers[ARG_MODEL_OF_OP];
	task.type = text_id(events, event, ARG_PLANE_TYPE);
	cur_db_int(&events->op_tasks, cur_db_string(db, event->name));
	cur_db_int(&events->op_tasks, cur_db_task_id(db, &task));
	cur_db_int(&events->op_tasks, task.type);
	cur_db_int(&events->op_tasks, plane);
	cur_db_null(&events->op_tasks); /* groupName */
	cur_db_int(&events->op_tasks, event->numbers[ARG_NOTIFY]);
	cur_db_int(&events->op_tasks, 65534); /* rdmaType */
	cur_db_int(&events->op_tasks, event->numbers[ARG_SRC]);
	cur_db_int(&events->op_tasks, event->numbers[ARG_DST]);
	cur_db_int(&events->op_tasks,
		   cur_db_code(CUR_DB_HCCL_TRANSPORT_TYPE, event->texts[ARG_TRANSPORT - ARG_NUMBERS], 65534));
	cur_db_int(&events->op_tasks, number_or(event, ARG_SIZE, 0));
	cur_db_int(&events->op_tasks, cur_db_code(CUR_DB_HCCL_DATA_TYPE,
						  event->texts[ARG_PLANE_DATA_TYPE - ARG_NUMBERS], 65534));
	cur_db_int(&events->op_tasks,
		   cur_db_code(CUR_DB_HCCL_LINK_TYPE, event->texts[ARG_LINK - ARG_NUMBERS], 65534));
	cur_db_null(&events->op_tasks); /* opId */
	cur_db_null(&events->op_tasks); /* isMaster */
	cur_db_double(&events->op_tasks, event->bandwidth * 1e9);
	cur_db_row_end(&events->op_tasks);
}

static void put_overlap(struct events *events, const struct event *event, int64_t end_ns,
			enum cur_overlap overlap)
{
	static const int64_t types[] = {[CUR_OVERLAP_COMPUTING] = 0,
					[CUR_OVERLAP_COMMUNICATION] = 1,
					[CUR_OVERLAP_NOT_OVERLAPPED] = 2,
					[CUR_OVERLAP_FREE] = 3};

	if (overlap == CUR_OVERLAP_NONE)
		return;
	cur_db_int(&events->overlaps, events->n_overlaps++);
	cur_db_int(&events->overlaps, device_of(event));
	cur_db_int(&events->overlaps, event->ts_ns);
	cur_db_int(&events->overlaps, end_ns);
	cur_db_int(&events->overlaps, types[overlap]);
	cur_db_row_end(&events->overlaps);
}

static uint64_t track_key(int64_t pid, int64_t tid)
{
	return mp_hash_u64((uint64_t)pid ^ mp_hash_u64((uint64_t)tid + 1));
}

/* "Plane 3" is 3. */
static bool plane_of(struct mp_str thread, int64_t *plane)
{
	return mp_str_begins(thread, "Plane ") && mp_num_parse_i64(thread.text + 6, thread.len - 6, plane);
}

static void put_range(struct events *events, const struct event *event)
{
	const struct cur_run *run = events->db->run;
	const uint64_t *found = mp_map64_lookup(&events->tracks, track_key(event->pid, event->tid));
	const struct cur_device_track *track = found ? &run->device.tracks.at[*found] : NULL;
	int64_t end_ns, plane;

	if (!track || !event->has_ts || __builtin_add_overflow(event->ts_ns, event->dur_ns, &end_ns))
		return;
	cur_db_span(events->db, event->ts_ns, end_ns);
	if (track->layer == CUR_LAYER_CANN)
		put_api(events, event, end_ns);
	else if (track->layer == CUR_LAYER_HARDWARE)
		put_task(events, event, end_ns);
	else if (track->layer == CUR_LAYER_OVERLAP)
		put_overlap(events, event, end_ns, (enum cur_overlap)track->overlap);
	else if (track->layer != CUR_LAYER_COMMUNICATION)
		return;
	else if (plane_of(mp_store_text(run->store, track->thread_name), &plane))
		put_op_task(events, event, end_ns, plane);
	else
		put_op(events, event, end_ns);
}

/* "HBM 0/Read", "AI Core Freq". */
static void put_counter(struct events *events, const struct event *event)
{
	int64_t hbm;
	const char *slash = event->name.len ? memchr(event->name.text, '/', event->name.len) : NULL;

	if (!event->has_ts || !event->has_value)
		return;
	if (mp_str_begins(event->name, "AI Core Freq")) {
		cur_db_int(&events->frequencies, device_of(event));
		cur_db_int(&events->frequencies, event->ts_ns);
		cur_db_int(&events->frequencies, (int64_t)event->value);
		cur_db_null(&events->frequencies); /* dieId */
		cur_db_row_end(&events->frequencies);
	} else if (slash && mp_str_begins(event->name, "HBM ") &&
		   mp_num_parse_i64(event->name.text + 4, (size_t)(slash - event->name.text) - 4, &hbm)) {
		struct mp_str type = {slash + 1, event->name.len - (size_t)(slash + 1 - event->name.text)};

		cur_db_int(&events->hbm, device_of(event));
		cur_db_int(&events->hbm, event->ts_ns);
		cur_db_double(&events->hbm, event->value * 1048576);
		cur_db_int(&events->hbm, hbm);
		cur_db_int(&events->hbm, cur_db_string(events->db, type));
		cur_db_row_end(&events->hbm);
	}
}

/* ---- all events ---- */

static bool index_tracks(struct events *events)
{
	const struct cur_device *device = &events->db->run->device;
	size_t i;

	for (i = 0; i < device->tracks.len; i++)
		if (!mp_map64_put(&events->tracks,
				  track_key(device->tracks.at[i].pid, device->tracks.at[i].tid), i))
			return false;
	return true;
}

static bool read_file(struct events *events, const struct cur_device_file *file)
{
	const char *data = (const char *)file->input.data;
	const char *begin = file->input.size ? memchr(data, '[', file->input.size) : NULL;
	enum mp_json_type type;
	struct mp_json json;
	struct event event;

	if (!begin || (uint64_t)(begin - data) > file->array_end)
		return true;
	mp_json_init(&json, begin, file->array_end - (size_t)(begin - data));
	if (mp_json_next(&json) != MP_JSON_ARRAY)
		return true;
	while ((type = mp_json_next(&json)) == MP_JSON_OBJECT && read_event(events, &json, &event)) {
		if (event.phase == 'X')
			put_range(events, &event);
		else if (event.phase == 'C')
			put_counter(events, &event);
		if (events->db->no_memory)
			return false;
	}
	return true;
}

static void open_tables(struct events *events)
{
	struct cur_db_out *out = &events->db->out;

	cur_db_table(
		out, "CANN_API",
		"startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER, name INTEGER",
		&events->apis);
	cur_db_table(
		out, "COMMUNICATION_OP",
		"opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER, opId "
		"INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER, count "
		"NUMERIC, opType INTEGER, deviceId INTEGER, rankSize INTEGER",
		&events->ops);
	cur_db_table(
		out, "COMMUNICATION_TASK_INFO",
		"name INTEGER, globalTaskId INTEGER, taskType INTEGER, planeId INTEGER, groupName INTEGER, notifyId "
		"INTEGER, rdmaType INTEGER, srcRank INTEGER, dstRank INTEGER, transportType INTEGER, size INTEGER, "
		"dataType INTEGER, linkType INTEGER, opId INTEGER, isMaster INTEGER, bandwidth NUMERIC",
		&events->op_tasks);
	cur_db_table(out, "OVERLAP_ANALYSIS",
		     "id INTEGER PRIMARY KEY, deviceId INTEGER, startNs NUMERIC, endNs NUMERIC, type INTEGER",
		     &events->overlaps);
	cur_db_table(out, "HBM",
		     "deviceId INTEGER, timestampNs INTEGER, bandwidth NUMERIC, hbmId INTEGER, type INTEGER",
		     &events->hbm);
	cur_db_table(out, "AICORE_FREQ", "deviceId INTEGER, timestampNs NUMERIC, freq INTEGER, dieId NUMERIC",
		     &events->frequencies);
}

/* A table that got no rows does not stay. */
static void close_table(struct events *events, const char *drop, struct cur_db_rows *rows)
{
	uint64_t n = rows->n_rows;

	cur_db_rows_end(rows);
	if (!n)
		cur_db_exec(&events->db->out, drop);
}

static void close_tables(struct events *events)
{
	close_table(events, "DROP TABLE CANN_API;", &events->apis);
	close_table(events, "DROP TABLE COMMUNICATION_OP;", &events->ops);
	close_table(events, "DROP TABLE COMMUNICATION_TASK_INFO;", &events->op_tasks);
	close_table(events, "DROP TABLE OVERLAP_ANALYSIS;", &events->overlaps);
	close_table(events, "DROP TABLE HBM;", &events->hbm);
	close_table(events, "DROP TABLE AICORE_FREQ;", &events->frequencies);
}

/* Operators of communication.json are called "name@group". */
static bool index_groups(struct events *events, mp_status *status, mp_err *err)
{
	const struct cur_communication *all;
	struct cur_run *run = events->db->run;
	size_t i;

	*status = cur_load_communication(run, err);
	if (*status)
		return true;
	all = run->communication;
	for (i = 0; i < all->ops.len; i++) {
		struct mp_str key = all->ops.at[i].text.key;
		const char *at = key.len ? memrchr(key.text, '@', key.len) : NULL;
		uint32_t group;

		if (!at)
			continue;
		group = mp_strtab_add(mp_store_strings(run->store), at + 1,
				      key.len - (size_t)(at + 1 - key.text));
		if (group == MP_STR_NONE ||
		    !mp_map64_put(&events->groups, mp_hash_bytes(key.text, (size_t)(at - key.text), 0),
				  group))
			return false;
	}
	return true;
}

mp_status cur_db_put_events(struct cur_db *db, mp_err *err)
{
	struct events events = {.db = db};
	mp_status status;
	bool good;
	size_t i;

	MP_TRY(cur_load_device(db->run, err));
	mp_buf_init(&events.text, SIZE_MAX / 8);
	good = mp_buf_reserve(&events.text, 1 << 16) && index_tracks(&events) &&
	       index_groups(&events, &status, err);
	if (!good)
		status = mp_err_nomem(err, 0);
	if (!status) {
		open_tables(&events);
		for (i = 0; good && i < db->run->device.files.len; i++)
			good = read_file(&events, &db->run->device.files.at[i]);
		close_tables(&events);
		status = good ? MINDPROF_OK : mp_err_nomem(err, 0);
	}
	mp_buf_release(&events.text);
	mp_map64_release(&events.tracks);
	mp_map64_release(&events.groups);
	return status;
}
