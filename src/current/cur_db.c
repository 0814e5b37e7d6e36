/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The databases of the current layout: copies of what the device tool made, else made from the exported text.
 * Schema: prof-raw.md section 9.3. Output: one SQLite file.
 */
#include <string.h>

#include "base/num.h"
#include "current/cur_communication.h"
#include "current/cur_db.h"

#include "base/banned.h"

static const char sqlite_magic[] = "SQLite format 3"; /* with its NUL */

/* ---- what tables share ---- */

int64_t cur_db_string(struct cur_db *db, struct mp_str text)
{
	uint32_t id = mp_strtab_add(mp_store_strings(db->run->store), text.text, text.len);
	const uint64_t *found = id == MP_STR_NONE ? NULL : mp_map64_lookup(&db->string_ids, id);

	if (found)
		return (int64_t)*found;
	if (id == MP_STR_NONE || !mp_map64_put(&db->string_ids, id, db->strings.len) ||
	    !mp_vec_push(&db->strings, id)) {
		db->no_memory = true;
		return CUR_DB_NONE;
	}
	return (int64_t)db->strings.len - 1;
}

static void put_task(struct cur_db *db, const struct cur_db_task *task, int64_t id)
{
	const int64_t values[] = {task->begin_ns, task->end_ns, task->device,  task->connection, id,
				  task->pid,      task->type,   task->context, task->stream,     task->task,
				  task->model};
	size_t i;

	for (i = 0; i < MP_COUNT(values); i++)
		cur_db_int(&db->tasks, values[i]);
	cur_db_row_end(&db->tasks);
	cur_db_span(db, task->begin_ns, task->end_ns);
	if (task->device >= 0 && task->device < 64)
		db->devices |= UINT64_C(1) << task->device;
}

int64_t cur_db_task_id(struct cur_db *db, const struct cur_db_task *task)
{
	const int64_t identity[] = {task->device, task->stream, task->task, task->begin_ns};
	uint64_t key = mp_hash_bytes(identity, sizeof(identity), 0);
	const uint64_t *found = mp_map64_lookup(&db->task_ids, key);
	int64_t id = (int64_t)db->tasks.n_rows;

	if (found)
		return (int64_t)*found;
	if (!mp_map64_put(&db->task_ids, key, (uint64_t)id)) {
		db->no_memory = true;
		return CUR_DB_NONE;
	}
	put_task(db, task, id);
	return id;
}

void cur_db_span(struct cur_db *db, int64_t begin_ns, int64_t end_ns)
{
	db->begin_ns = MP_MIN(db->begin_ns, begin_ns);
	db->end_ns = MP_MAX(db->end_ns, end_ns);
}

/* ---- small tables ---- */

static void put_pair(struct cur_db_rows *rows, const char *name, const char *value)
{
	cur_db_text(rows, (struct mp_str){name, strlen(name)});
	cur_db_text(rows, (struct mp_str){value, strlen(value)});
	cur_db_row_end(rows);
}

static mp_status put_meta(struct cur_db *db, mp_err *err MP_UNUSED)
{
	struct cur_db_rows rows;

	cur_db_table(&db->out, "META_DATA", "name TEXT, value TEXT", &rows);
	put_pair(&rows, "SCHEMA_VERSION", "1.2.0");
	put_pair(&rows, "SCHEMA_VERSION_MAJOR", "1");
	put_pair(&rows, "SCHEMA_VERSION_MINOR", "2");
	put_pair(&rows, "SCHEMA_VERSION_MICRO", "0");
	cur_db_rows_end(&rows);
	return MINDPROF_OK;
}

static mp_status put_devices(struct cur_db *db, mp_err *err MP_UNUSED)
{
	const char *rank = db->run->params.rank_id;
	int64_t rank_id = -1; /* not known */
	struct cur_db_rows rows;
	unsigned device;

	mp_num_parse_i64(rank, strlen(rank), &rank_id);
	cur_db_table(&db->out, "RANK_DEVICE_MAP", "rankId INTEGER, deviceId INTEGER", &rows);
	for (device = 0; device < 64; device++)
		if (db->devices >> device & 1) {
			cur_db_int(&rows, rank_id);
			cur_db_int(&rows, device);
			cur_db_row_end(&rows);
		}
	cur_db_rows_end(&rows);
	return MINDPROF_OK;
}

static mp_status put_session(struct cur_db *db, mp_err *err MP_UNUSED)
{
	struct cur_db_rows rows;

	if (db->begin_ns > db->end_ns)
		return MINDPROF_OK;
	cur_db_table(&db->out, "SESSION_TIME_INFO", "startTimeNs INTEGER, endTimeNs INTEGER", &rows);
	cur_db_int(&rows, db->begin_ns);
	cur_db_int(&rows, db->end_ns);
	cur_db_row_end(&rows);
	cur_db_rows_end(&rows);
	return MINDPROF_OK;
}

/* Steps whose id is a number, as the columns of other tools want them. */
static mp_status put_steps(struct cur_db *db, mp_err *err)
{
	struct cur_run *run = db->run;
	struct cur_db_rows rows;
	int64_t id;
	size_t i;

	MP_TRY(cur_load_steps(run, err));
	if (!run->steps.at.len)
		return MINDPROF_OK;
	cur_db_table(&db->out, "STEP_TIME", "id INTEGER, startNs INTEGER, endNs INTEGER", &rows);
	for (i = 0; i < run->steps.at.len; i++) {
		struct mp_str text = mp_store_text(run->store, run->steps.at.at[i].id);

		if (!mp_num_parse_i64(text.text, text.len, &id))
			continue;
		cur_db_int(&rows, id);
		cur_db_int(&rows, run->steps.at.at[i].begin_ns);
		cur_db_int(&rows, run->steps.at.at[i].end_ns);
		cur_db_row_end(&rows);
	}
	cur_db_rows_end(&rows);
	return MINDPROF_OK;
}

/* After everything that has strings. */
static mp_status put_strings(struct cur_db *db, mp_err *err MP_UNUSED)
{
	struct cur_db_rows rows;
	size_t i;

	cur_db_table(&db->out, "STRING_IDS", "id INTEGER PRIMARY KEY, value TEXT", &rows);
	for (i = 0; i < db->strings.len; i++) {
		cur_db_int(&rows, (int64_t)i);
		cur_db_text(&rows, mp_store_text(db->run->store, db->strings.at[i]));
		cur_db_row_end(&rows);
	}
	cur_db_rows_end(&rows);
	return MINDPROF_OK;
}

static mp_status end_tasks(struct cur_db *db, mp_err *err MP_UNUSED)
{
	bool any = db->tasks.n_rows > 0;

	cur_db_rows_end(&db->tasks);
	cur_db_exec(&db->out,
		    any ? "CREATE INDEX TaskIndex ON TASK (startNs, globalTaskId);" : "DROP TABLE TASK;");
	return MINDPROF_OK;
}

static mp_status begin_tasks(struct cur_db *db, mp_err *err MP_UNUSED)
{
	cur_db_table(
		&db->out, "TASK",
		"startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, "
		"globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId "
		"INTEGER",
		&db->tasks);
	return MINDPROF_OK;
}

/* ---- files ---- */

static const cur_db_fill_fn profiler_tables[] = {
	begin_tasks, cur_db_put_events, cur_db_put_kernels, end_tasks, cur_db_put_memory, put_steps,
	put_devices, put_session,       cur_db_put_enums,   put_meta,  put_strings,       NULL,
};

static const cur_db_fill_fn analyzer_tables[] = {cur_db_put_communication, NULL};

const struct cur_db_file cur_db_files[] = {
	{"ascend_mindspore_profiler_%s.db", "What the device tool knows of the run, as a database.", "",
	 "msprof_[0-9]*.db", profiler_tables},
	{"communication_analyzer.db", "Communication operators and links, as a database.", "analyze",
	 "communication_analyzer.db", analyzer_tables},
	{NULL, NULL, NULL, NULL, NULL},
};

static mp_status copy(struct cur_run *run, const struct mp_dir *from, const char *source,
		      const struct mp_dir *dir, const char *name, bool *written, mp_err *err)
{
	struct mp_file file;
	struct mp_out out;
	mp_err failure = {0};
	mp_status status = mp_file_open_at(from, source, &file, &failure);

	if (status)
		return cur_go_on_without(run, from->path, status, &failure, err);
	if (file.size < sizeof(sqlite_magic) || memcmp(file.data, sqlite_magic, sizeof(sqlite_magic)) != 0) {
		mp_store_note(run->store, MP_PROBLEM, "bad-database", file.path, 0,
			      "this is no SQLite database");
		mp_file_close(&file);
		return MINDPROF_OK;
	}
	status = mp_out_open_at(dir, name, true, &out, err);
	if (!status) {
		mp_out_write(&out, file.data, file.size);
		status = mp_out_commit(&out, err);
	}
	mp_file_close(&file);
	*written = !status;
	return status;
}

/* *written is false when there is no usable one. */
static mp_status copy_finished(struct cur_run *run, const struct cur_db_file *file, const struct mp_dir *dir,
			       const char *name, bool *written, mp_err *err)
{
	const struct mp_dir *from = *file->dir ? &run->analyze : &run->prof;
	struct cur_file_list files;
	mp_status status;

	MP_TRY(cur_files_find(from, file->pattern, &files, err));
	status = MINDPROF_OK;
	if (files.names.len)
		status = copy(run, from, files.names.at[files.names.len - 1], dir, name, written, err);
	cur_files_release(&files);
	return status;
}

/* Whether the text has something to make the database from. */
static mp_status has_text(struct cur_run *run, const struct cur_db_file *file, bool *has, mp_err *err)
{
	struct cur_file_list files;

	if (*file->dir) {
		MP_TRY(cur_load_communication(run, err));
		*has = run->communication->has_input || run->communication->has_matrix;
		return MINDPROF_OK;
	}
	MP_TRY(cur_files_find(&run->exported, "*[0-9].*", &files, err));
	*has = files.names.len > 0;
	cur_files_release(&files);
	return MINDPROF_OK;
}

static mp_status make(struct cur_run *run, const struct cur_db_file *file, const struct mp_dir *dir,
		      const char *name, mp_err *err)
{
	struct cur_db db = {.run = run, .begin_ns = INT64_MAX, .end_ns = INT64_MIN};
	mp_status status;
	size_t i;

	MP_TRY(cur_db_open(dir, name, &db.out, err));
	status = MINDPROF_OK;
	for (i = 0; !status && file->fill[i]; i++) {
		status = file->fill[i](&db, err);
		if (!status && db.no_memory)
			status = mp_err_nomem(err, 0);
	}
	cur_db_rows_end(&db.tasks);
	if (status)
		cur_db_abort(&db.out);
	else
		status = cur_db_commit(&db.out, err);
	mp_map64_release(&db.string_ids);
	mp_map64_release(&db.task_ids);
	mp_vec_release(&db.strings);
	mp_vec_release(&db.modules);
	return status;
}

mp_status cur_db_write(struct cur_run *run, const struct cur_db_file *file, const struct mp_dir *dir,
		       const char *name, bool *written, mp_err *err)
{
	bool has = false;

	*written = false;
	MP_TRY(copy_finished(run, file, dir, name, written, err));
	if (*written)
		return MINDPROF_OK;
	MP_TRY(has_text(run, file, &has, err));
	if (has)
		MP_TRY(make(run, file, dir, name, err));
	*written = has;
	return MINDPROF_OK;
}
