/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from a database. Input: PROF_x/msprof_*.db, or the same file where MindSpore moved it,
 * ASCEND_PROFILER_OUTPUT/ascend_*_profiler_*.db. Output: run->exported with the files that readers look for.
 */
#include "current/cur_db_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

static const struct cur_db_text *const texts[] = {
	&cur_db_text_msprof,  &cur_db_text_summary,    &cur_db_text_api,
	&cur_db_text_npu_mem, &cur_db_text_module_mem, NULL,
};

static mp_status has_file(const struct mp_dir *dir, const char *pattern, bool *has, mp_err *err)
{
	struct cur_file_list files;

	MP_TRY(cur_files_find(dir, pattern, &files, err));
	*has |= files.names.len > 0;
	cur_files_release(&files);
	return MINDPROF_OK;
}

static mp_status has_text(const struct cur_run *run, bool *has, mp_err *err)
{
	*has = false;
	MP_TRY(has_file(&run->exported, "msprof_*.json*", has, err));
	MP_TRY(has_file(&run->exported, "op_summary_*.csv*", has, err));
	return has_file(&run->exported, "task_time_*.csv*", has, err);
}

/* The last by name of those that match. */
static mp_status open_newest(struct cur_run *run, const struct mp_dir *dir, const char *pattern,
			     struct cur_db_in *out, bool *found, mp_err *err)
{
	struct cur_file_list files;
	mp_status status;

	*found = false;
	MP_TRY(cur_files_find(dir, pattern, &files, err));
	status = MINDPROF_OK;
	if (files.names.len)
		status = cur_db_in_open(run, dir, files.names.at[files.names.len - 1], out, found, err);
	cur_files_release(&files);
	return status;
}

static mp_status open_database(struct cur_run *run, struct cur_db_in *out, bool *found, mp_err *err)
{
	struct mp_dir results;
	mp_status status;

	MP_TRY(open_newest(run, &run->prof, "msprof_[0-9]*.db", out, found, err));
	if (*found)
		return MINDPROF_OK;
	status = mp_dir_open_at(&run->rank_dir, "ASCEND_PROFILER_OUTPUT", &results, NULL);
	if (status)
		return status == MINDPROF_E_NOMEM ? mp_err_nomem(err, 0) : MINDPROF_OK;
	status = open_newest(run, &results, "ascend_*_profiler*.db", out, found, err);
	mp_dir_close(&results);
	return status;
}

/* ---- the temporary directory ---- */

static mp_status make_directory(struct cur_run *run, mp_err *err)
{
	const char *parent = getenv("TMPDIR");

	run->made_text = mp_asprintf("%s/mindprof-XXXXXX", parent && *parent ? parent : "/tmp");
	if (!run->made_text)
		return mp_err_nomem(err, 0);
	if (!mkdtemp(run->made_text)) {
		mp_store_note(run->store, MP_PROBLEM, "no-temporary-directory", NULL, -1,
			      "no temporary directory can be made (%s): the database is not used; set TMPDIR",
			      strerror(errno));
		mp_free(run->made_text);
		run->made_text = NULL;
	}
	return MINDPROF_OK;
}

void cur_db_text_remove(struct cur_run *run)
{
	size_t i;

	if (!run->made_text)
		return;
	for (i = 0; texts[i]; i++)
		unlinkat(run->exported.fd, texts[i]->name, 0);
	rmdir(run->made_text);
	mp_free(run->made_text);
	run->made_text = NULL;
}

/* Notes show the database and not the temporary directory. */
static mp_status take_directory(struct cur_run *run, const char *database, mp_err *err)
{
	struct mp_dir made;
	char *shown;

	MP_TRY(mp_dir_open(run->made_text, &made, err));
	shown = mp_strdup(database);
	if (!shown) {
		mp_dir_close(&made);
		return mp_err_nomem(err, strlen(database));
	}
	mp_free(made.path);
	made.path = shown;
	if (run->exported.fd >= 0)
		mp_dir_close(&run->exported);
	run->exported = made;
	return MINDPROF_OK;
}

static mp_status write_text(struct cur_db_in *in, const struct cur_db_text *text, mp_err *err)
{
	struct mp_out out;
	mp_err failure = {0};
	mp_status status = mp_out_open_at(&in->run->exported, text->name, true, &out, &failure);

	if (!status) {
		status = text->write(in, &out, &failure);
		if (status)
			mp_out_abort(&out);
		else
			status = mp_out_commit(&out, &failure);
	}
	return status ? cur_go_on_without(in->run, in->path, status, &failure, err) : MINDPROF_OK;
}

static mp_status write_texts(struct cur_db_in *in, mp_err *err)
{
	struct cur_run *run = in->run;
	size_t i;

	MP_TRY(make_directory(run, err));
	if (!run->made_text)
		return MINDPROF_OK;
	MP_TRY(take_directory(run, in->path, err));
	for (i = 0; texts[i]; i++)
		if (cur_db_has(in, texts[i]->table, NULL))
			MP_TRY(write_text(in, texts[i], err));
	mp_store_note(run->store, MP_INFO, "text-from-database", in->path, -1,
		      "the device tool exported no text, its database is used");
	return MINDPROF_OK;
}

mp_status cur_db_text_make(struct cur_run *run, mp_err *err)
{
	struct cur_db_in in;
	mp_status status;
	bool found;

	MP_TRY(has_text(run, &found, err));
	if (found || !cur_corrects(run, CUR_FIX_LOST_OUTPUTS))
		return MINDPROF_OK;
	MP_TRY(open_database(run, &in, &found, err));
	if (!found)
		return MINDPROF_OK;
	status = write_texts(&in, err);
	cur_db_in_close(&in);
	return status;
}
