/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline that the device tool would have exported, from its database (prof-raw.md section 9.2). Input:
 * TASK, COMPUTE_TASK_INFO, CANN_API, COMMUNICATION_OP, COMMUNICATION_TASK_INFO, OVERLAP_ANALYSIS. Output: a
 * Chrome trace.
 */
#include <string.h>

#include "base/hash.h"
#include "current/cur_db_text.h"

#include "base/banned.h"

/* Places of the layers in the timeline. */
enum layer { LAYER_CANN = 7, LAYER_HARDWARE = 14, LAYER_COMMUNICATION = 16, LAYER_OVERLAP = 31 };

#define HOST 31
#define NODE 10000 /* of ENUM_API_TYPE */

/* Where an interface begins that launches tasks. */
struct api_begin {
	int64_t ts_ns, tid;
	uint32_t n_tasks;
};

struct writing {
	struct cur_run *run;
	struct mp_out *out;
	struct mp_buf text;      /* escaped */
	struct mp_map64 threads; /* pid and tid that have a name */
	struct mp_map64 groups;  /* string id of a group -> number */
	struct mp_map64 api;     /* connection -> place in begins */
	MP_VEC(struct api_begin) begins;
	int64_t process; /* of the host */
	bool any;
};

/* ---- pieces of events ---- */

static void begin_event(struct writing *writing)
{
	mp_out_str(writing->out, writing->any ? ", " : "[");
	writing->any = true;
}

static void put_string(struct writing *writing, struct mp_str text)
{
	writing->text.len = 0;
	mp_json_escape(&writing->text, text.text, text.len);
	mp_out_write(writing->out, writing->text.data, writing->text.len);
}

static void put_place(struct writing *writing, int64_t pid, int64_t tid)
{
	mp_out_str(writing->out, ", \"pid\": ");
	mp_out_i64(writing->out, pid);
	mp_out_str(writing->out, ", \"tid\": ");
	mp_out_i64(writing->out, tid);
}

static void put_ts(struct writing *writing, int64_t ts_ns)
{
	mp_out_str(writing->out, ", \"ts\": \"");
	mp_out_us3(writing->out, ts_ns);
	mp_out_str(writing->out, "\"");
}

/* {"name": ..., "pid", "tid", "ts", "dur", "ph": "X", "args": { */
static void put_range(struct writing *writing, const char *prefix, struct mp_str name, int64_t pid,
		      int64_t tid, int64_t begin_ns, int64_t end_ns)
{
	int64_t dur_ns;

	if (__builtin_sub_overflow(end_ns, begin_ns, &dur_ns) || dur_ns < 0)
		dur_ns = 0;
	begin_event(writing);
	mp_out_str(writing->out, "{\"name\": ");
	if (*prefix) {
		mp_out_str(writing->out, "\"");
		mp_out_str(writing->out, prefix);
		writing->text.len = 0;
		mp_json_escape(&writing->text, name.text, name.len);
		if (writing->text.len > 1)
			mp_out_write(writing->out, writing->text.data + 1, writing->text.len - 1);
	} else {
		put_string(writing, name);
	}
	put_place(writing, pid, tid);
	put_ts(writing, begin_ns);
	mp_out_str(writing->out, ", \"dur\": ");
	mp_out_us3(writing->out, dur_ns);
	mp_out_str(writing->out, ", \"ph\": \"X\", \"args\": {");
}

static void put_arg(struct writing *writing, const char *before, int64_t value)
{
	mp_out_str(writing->out, before);
	mp_out_i64(writing->out, value);
}

static void put_label(struct writing *writing, const char *kind, int64_t pid, int64_t tid, const char *name)
{
	begin_event(writing);
	mp_out_printf(writing->out, "{\"name\": \"%s\", \"ph\": \"M\"", kind);
	put_place(writing, pid, tid);
	mp_out_str(writing->out, ", \"args\": {\"name\": ");
	put_string(writing, (struct mp_str){name, strlen(name)});
	mp_out_str(writing->out, "}}");
}

/* Names of the process and of the thread, once each. False when memory is out. */
static bool name_thread(struct writing *writing, int64_t pid, const char *process, int64_t tid,
			const char *thread)
{
	uint64_t process_key = mp_hash_u64((uint64_t)pid), key = mp_hash_u64(process_key ^ (uint64_t)tid) | 1;

	if (!mp_map64_lookup(&writing->threads, process_key)) {
		put_label(writing, "process_name", pid, 0, process);
		if (!mp_map64_put(&writing->threads, process_key, 0))
			return false;
	}
	if (mp_map64_lookup(&writing->threads, key))
		return true;
	put_label(writing, "thread_name", pid, tid, thread);
	return mp_map64_put(&writing->threads, key, 0);
}

/* pid = process << 10 | layer << 5 | device. */
static int64_t pid_of(const struct writing *writing, enum layer layer, int64_t device)
{
	return (int64_t)((uint64_t)writing->process << 10 | (uint64_t)layer << 5 | ((uint64_t)device & 31));
}

static void end_args(struct writing *writing)
{
	mp_out_str(writing->out, "}}");
}

/* ---- interfaces of the host ---- */

static const char *prefix_of(int64_t type)
{
	switch (type) {
	case 20000:
		return "AscendCL@";
	case 15000:
		return "Model@";
	case 10000:
		return "Node@";
	case 5500:
		return "Communication@";
	case 5000:
		return "Runtime@";
	default:
		return "";
	}
}

static const char *level_of(int64_t type)
{
	return type == 20000   ? "acl"
	       : type == 15000 ? "model"
	       : type == 10000 ? "node"
	       : type == 5500  ? "communication"
	       : type == 5000  ? "runtime"
			       : "other";
}

/* begin, end, type, globalTid, connectionId, name */
static bool put_api(void *user, sqlite3_stmt *row)
{
	struct writing *writing = user;
	int64_t begin_ns = cur_db_get_int(row, 0), type = cur_db_get_int(row, 2),
		connection = cur_db_get_int(row, 4);
	uint64_t global_tid = (uint64_t)cur_db_get_int(row, 3);
	int64_t tid = (int64_t)(global_tid & UINT32_MAX), pid;
	char thread[32];

	writing->process = (int64_t)(global_tid >> 32);
	pid = pid_of(writing, LAYER_CANN, HOST);
	snprintf(thread, sizeof(thread), "Thread %lld", (long long)tid);
	if (!name_thread(writing, pid, "CANN", tid, thread))
		return false;
	put_range(writing, prefix_of(type), cur_db_get_text(row, 5), pid, tid, begin_ns,
		  cur_db_get_int(row, 1));
	mp_out_printf(writing->out, "\"level\": \"%s\"", level_of(type));
	put_arg(writing, ", \"connection_id\": ", connection);
	end_args(writing);
	/* arrows begin at the launch, which may share its connection with the interface around it */
	if (connection < 0 || (type != NODE && mp_map64_lookup(&writing->api, (uint64_t)connection)))
		return true;
	return mp_map64_put(&writing->api, (uint64_t)connection, writing->begins.len) &&
	       mp_vec_push(&writing->begins, (struct api_begin){begin_ns, tid, 0});
}

/* ---- tasks ---- */

/* The arrow from the interface to the task; each task has an id of its own. */
static void put_flow(struct writing *writing, int64_t connection, int64_t pid, int64_t tid, int64_t ts_ns)
{
	const uint64_t *found = connection < 0 ? NULL : mp_map64_lookup(&writing->api, (uint64_t)connection);
	struct api_begin *begin;
	uint64_t id;
	int end;

	if (!found)
		return;
	begin = &writing->begins.at[*found];
	id = ((uint64_t)connection << 32) + begin->n_tasks++;
	for (end = 0; end < 2; end++) {
		begin_event(writing);
		mp_out_printf(writing->out,
			      "{\"name\": \"HostToDevice%llu\", \"ph\": \"%s\", \"cat\": \"HostToDevice\", "
			      "\"id\": \"%llu\"",
			      (unsigned long long)id, end ? "f" : "s", (unsigned long long)id);
		put_place(writing, end ? pid : pid_of(writing, LAYER_CANN, HOST), end ? tid : begin->tid);
		put_ts(writing, end ? ts_ns : begin->ts_ns);
		mp_out_str(writing->out, end ? ", \"bp\": \"e\"}" : "}");
	}
}

/* begin, end, device, connection, stream, task, model, context, task type, name */
static bool put_task(void *user, sqlite3_stmt *row)
{
	struct writing *writing = user;
	int64_t begin_ns = cur_db_get_int(row, 0), stream = cur_db_get_int(row, 4);
	int64_t pid = pid_of(writing, LAYER_HARDWARE, cur_db_get_int(row, 2));
	struct mp_str name = cur_db_get_text(row, 9);
	char thread[32];

	snprintf(thread, sizeof(thread), "Stream %lld", (long long)stream);
	if (!name_thread(writing, pid, "Ascend Hardware", stream, thread))
		return false;
	put_range(writing, "", name.len ? name : cur_db_get_text(row, 8), pid, stream, begin_ns,
		  cur_db_get_int(row, 1));
	put_arg(writing, "\"Model Id\": ", cur_db_get_int(row, 6));
	mp_out_str(writing->out, ", \"Task Type\": ");
	put_string(writing, cur_db_get_text(row, 8));
	put_arg(writing, ", \"Physic Stream Id\": ", stream);
	put_arg(writing, ", \"Task Id\": ", cur_db_get_int(row, 5));
	put_arg(writing, ", \"Subtask Id\": ", cur_db_get_int(row, 7));
	put_arg(writing, ", \"connection_id\": ", cur_db_get_int(row, 3));
	end_args(writing);
	put_flow(writing, cur_db_get_int(row, 3), pid, stream, begin_ns);
	return true;
}

/* ---- communication ---- */

/* Groups are numbered as they come; the thread of operators is 100 * number, those of planes follow it. */
#define PLANES 100

static bool group_tid(struct writing *writing, int64_t group, int64_t *tid)
{
	const uint64_t *found = mp_map64_lookup(&writing->groups, (uint64_t)group);
	uint64_t number = found ? *found : writing->groups.len;

	*tid = (int64_t)(number * PLANES);
	return found || mp_map64_put(&writing->groups, (uint64_t)group, number);
}

/* begin, end, device, connection, group id, group, name, count */
static bool put_op(void *user, sqlite3_stmt *row)
{
	struct writing *writing = user;
	int64_t pid = pid_of(writing, LAYER_COMMUNICATION, cur_db_get_int(row, 2)), tid;
	struct mp_str group = cur_db_get_text(row, 5);
	char thread[128];

	snprintf(thread, sizeof(thread), "Group %.*s Communication", (int)MP_MIN(group.len, 64u), group.text);
	if (!group_tid(writing, cur_db_get_int(row, 4), &tid) ||
	    !name_thread(writing, pid, "HCCL", tid, thread))
		return false;
	put_range(writing, "", cur_db_get_text(row, 6), pid, tid, cur_db_get_int(row, 0),
		  cur_db_get_int(row, 1));
	put_arg(writing, "\"connection_id\": ", cur_db_get_int(row, 3));
	put_arg(writing, ", \"count\": ", cur_db_get_int(row, 7));
	end_args(writing);
	put_flow(writing, cur_db_get_int(row, 3), pid, tid, cur_db_get_int(row, 0));
	return true;
}

/* begin, end, device, group id, plane, name, stream, task, source, destination, size */
static bool put_op_task(void *user, sqlite3_stmt *row)
{
	struct writing *writing = user;
	int64_t pid = pid_of(writing, LAYER_COMMUNICATION, cur_db_get_int(row, 2)), tid,
		plane = cur_db_get_int(row, 4);
	char thread[32];

	if (plane < 0 || plane >= PLANES - 1)
		plane = PLANES - 2;
	snprintf(thread, sizeof(thread), "Plane %lld", (long long)plane);
	if (!group_tid(writing, cur_db_get_int(row, 3), &tid) ||
	    !name_thread(writing, pid, "HCCL", tid + plane + 1, thread))
		return false;
	put_range(writing, "", cur_db_get_text(row, 5), pid, tid + plane + 1, cur_db_get_int(row, 0),
		  cur_db_get_int(row, 1));
	put_arg(writing, "\"stream id\": ", cur_db_get_int(row, 6));
	put_arg(writing, ", \"task id\": ", cur_db_get_int(row, 7));
	put_arg(writing, ", \"src rank\": ", cur_db_get_int(row, 8));
	put_arg(writing, ", \"dst rank\": ", cur_db_get_int(row, 9));
	put_arg(writing, ", \"size(Byte)\": ", cur_db_get_int(row, 10));
	end_args(writing);
	return true;
}

/* begin, end, device, type */
static bool put_overlap(void *user, sqlite3_stmt *row)
{
	static const char *const names[] = {"Computing", "Communication", "Communication(Not Overlapped)",
					    "Free"};
	struct writing *writing = user;
	int64_t pid = pid_of(writing, LAYER_OVERLAP, cur_db_get_int(row, 2)), type = cur_db_get_int(row, 3);

	if (type < 0 || type >= (int64_t)MP_COUNT(names))
		return true;
	if (!name_thread(writing, pid, "Overlap Analysis", type, names[type]))
		return false;
	put_range(writing, "", (struct mp_str){names[type], strlen(names[type])}, pid, type,
		  cur_db_get_int(row, 0), cur_db_get_int(row, 1));
	end_args(writing);
	return true;
}

/* ---- the file ---- */

#define STRING(column) "(SELECT value FROM STRING_IDS WHERE id = " column ")"

/* First the interfaces, whose begins the arrows need. */
static const struct {
	const char *tables[3];
	const char *sql;
	cur_db_row_fn put;
} parts[] = {
	{{"CANN_API"},
	 "SELECT startNs, endNs, type, globalTid, connectionId, " STRING(
		 "name") " FROM CANN_API ORDER BY startNs;",
	 put_api},
	{{"TASK", "COMPUTE_TASK_INFO"},
	 "SELECT t.startNs, t.endNs, t.deviceId, t.connectionId, t.streamId, t.taskId, t.modelId, t.contextId, "
	 "coalesce(" STRING("c.taskType") ", " STRING("t.taskType") "), " STRING(
		 "c.name") " FROM TASK t LEFT JOIN "
			   "COMPUTE_TASK_INFO c ON c.globalTaskId = t.globalTaskId ORDER BY t.startNs;",
	 put_task},
	{{"COMMUNICATION_OP", "TASK"},
	 "SELECT startNs, endNs, coalesce((SELECT deviceId FROM TASK LIMIT 1), 0), connectionId, groupName, " STRING(
		 "groupName") ", " STRING("opName") ", count FROM COMMUNICATION_OP ORDER BY startNs;",
	 put_op},
	{{"COMMUNICATION_TASK_INFO", "TASK"},
	 "SELECT t.startNs, t.endNs, t.deviceId, c.groupName, c.planeId, " STRING(
		 "c.taskType") ", t.streamId, t.taskId, "
			       "c.srcRank, c.dstRank, c.size FROM COMMUNICATION_TASK_INFO c JOIN TASK t ON t.globalTaskId = c.globalTaskId "
			       "ORDER BY t.startNs;",
	 put_op_task},
	{{"OVERLAP_ANALYSIS"},
	 "SELECT startNs, endNs, deviceId, type FROM OVERLAP_ANALYSIS ORDER BY startNs;",
	 put_overlap},
};

static mp_status write_parts(struct cur_db_in *in, struct writing *writing, mp_err *err)
{
	size_t p, t;

	for (p = 0; p < MP_COUNT(parts); p++) {
		bool all = true;

		for (t = 0; t < MP_COUNT(parts[p].tables) && parts[p].tables[t]; t++)
			all &= cur_db_has(in, parts[p].tables[t], NULL);
		if (all)
			MP_TRY(cur_db_query(in, parts[p].sql, parts[p].put, writing, err));
	}
	mp_out_str(writing->out, writing->any ? "]" : "[]");
	return writing->text.failed ? mp_err_nomem(err, 0) : MINDPROF_OK;
}

static mp_status write_msprof(struct cur_db_in *in, struct mp_out *out, mp_err *err)
{
	struct writing writing = {.run = in->run, .out = out};
	mp_status status;

	mp_buf_init(&writing.text, SIZE_MAX / 8);
	status = write_parts(in, &writing, err);
	mp_buf_release(&writing.text);
	mp_map64_release(&writing.threads);
	mp_map64_release(&writing.groups);
	mp_map64_release(&writing.api);
	mp_vec_release(&writing.begins);
	return status;
}

const struct cur_db_text cur_db_text_msprof = {"msprof_0.json", "TASK", write_msprof};
