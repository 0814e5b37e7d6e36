/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank directory of the current layout: its directories and parameters. Input: FRAMEWORK/, PROF_x/,
 * profiler_info (analysis-current.md section 1). Output: struct cur_run.
 */
#include <fnmatch.h>
#include <string.h>

#include "current/cur_db_text.h"

#include "base/banned.h"

/* PROF_{digits}_{digits}_{alnum}; the newest is the last by name: the second number is a time stamp. */
#define PROF_PATTERN "PROF_[0-9]*_[0-9]*_*"

static const struct mp_dir no_dir = {.fd = -1};

/* The text behind the second '_'. */
static const char *stamp_of(const char *name)
{
	const char *second = strchr(name + sizeof("PROF_") - 1, '_');

	return second ? second : name;
}

/* The name of the PROF_ directory to use; false when there is none. */
static bool choose_prof(struct cur_run *run, const struct mp_dir_entry *entries, size_t n, char *chosen,
			size_t size)
{
	const char *best = NULL;
	size_t found = 0, i;

	for (i = 0; i < n; i++) {
		const char *name = entries[i].name;

		if (!entries[i].is_dir || fnmatch(PROF_PATTERN, name, 0) != 0)
			continue;
		found++;
		if (!best ||
		    (cur_corrects(run, CUR_FIX_NEWEST_FILE) && strcmp(stamp_of(name), stamp_of(best)) > 0))
			best = name;
	}
	if (!best)
		return false;
	if (found > 1)
		mp_store_note(run->store, MP_WARNING, "several-prof", run->rank_dir.path, -1,
			      "%zu PROF_ directories, '%s' is used", found, best);
	memcpy(chosen, best, MP_MIN(strlen(best) + 1, size));
	return true;
}

/* An absent directory is fd -1; what is in the way is noted. */
static mp_status open_part(struct cur_run *run, const struct mp_dir *parent, const char *name,
			   struct mp_dir *out, mp_err *err)
{
	mp_err failure = {0};
	mp_status status;

	*out = no_dir;
	if (parent->fd < 0)
		return MINDPROF_OK;
	status = mp_dir_open_at(parent, name, out, &failure);
	if (!status)
		return MINDPROF_OK;
	*out = no_dir;
	if (status == MINDPROF_E_NOT_FOUND)
		return MINDPROF_OK;
	return cur_go_on_without(run, parent->path, status, &failure, err);
}

/* No output needs the device's own files. A copy of the exported tables alone has no host directory. */
static mp_status check_device(struct cur_run *run, mp_err *err)
{
	struct mp_dir_entry *entries = NULL;
	bool device = false, host = false;
	size_t n = 0, i;

	if (run->prof.fd < 0)
		return MINDPROF_OK;
	MP_TRY(mp_dir_list(&run->prof, &entries, &n, err));
	for (i = 0; i < n; i++) {
		device |= entries[i].is_dir && !strncmp(entries[i].name, "device_", 7);
		host |= entries[i].is_dir && !strcmp(entries[i].name, "host");
	}
	mp_free(entries);
	if (host && !device)
		mp_store_note(run->store, MP_PROBLEM, "no-device-directory", run->prof.path, -1,
			      "no device_* directory: the device's own files are lost");
	return MINDPROF_OK;
}

static mp_status open_parts(struct cur_run *run, mp_err *err)
{
	struct mp_dir_entry *entries = NULL;
	char prof[256];
	size_t n = 0;
	bool found;

	MP_TRY(mp_dir_list(&run->rank_dir, &entries, &n, err));
	found = choose_prof(run, entries, n, prof, sizeof(prof));
	mp_free(entries);
	MP_TRY(open_part(run, &run->rank_dir, "FRAMEWORK", &run->framework, err));
	if (found)
		MP_TRY(open_part(run, &run->rank_dir, prof, &run->prof, err));
	MP_TRY(open_part(run, &run->prof, "mindstudio_profiler_output", &run->exported, err));
	MP_TRY(open_part(run, &run->prof, "analyze", &run->analyze, err));
	MP_TRY(cur_db_text_make(run, err));
	return found ? check_device(run, err) : MINDPROF_OK;
}

/* A regular file with some content. */
static bool has_file(const struct mp_dir *dir, const char *name)
{
	struct mp_file file;
	bool found;

	if (mp_file_open_at(dir, name, &file, NULL))
		return false;
	found = file.size > 0;
	mp_file_close(&file);
	return found;
}

bool cur_original_gives_up(const struct cur_run *run)
{
	struct mp_dir host;
	bool has_clock;

	if (cur_corrects(run, CUR_FIX_LOST_OUTPUTS))
		return false;
	if (!run->params.found)
		return run->prof.fd >= 0;
	if (!run->params.npu)
		return false;
	if (!run->params.text || run->prof.fd < 0 || mp_dir_open_at(&run->prof, "host", &host, NULL))
		return true;
	has_clock = has_file(&host, "host_start.log") && has_file(&host, "start_info");
	mp_dir_close(&host);
	return !has_clock;
}

mp_status cur_open(const struct mp_ctx *ctx, const struct mp_dir *rank_dir, const struct cur_options *options,
		   struct mp_store *store, struct cur_run *run, mp_err *err)
{
	mp_status status;

	*run = (struct cur_run){
		.ctx = ctx,
		.store = store,
		.rank_dir = no_dir,
		.framework = no_dir,
		.prof = no_dir,
		.exported = no_dir,
		.analyze = no_dir,
		.corrections = options->corrections,
		.step_list = options->step_list,
		.n_step_list = options->n_step_list,
	};
	status = mp_dir_reopen(rank_dir, &run->rank_dir, err);
	if (status) {
		run->rank_dir = no_dir;
		return status;
	}
	status = open_parts(run, err);
	if (!status)
		status = cur_params_load(run, err);
	if (status)
		cur_close(run);
	if (!status && !run->params.found && run->prof.fd >= 0)
		mp_store_note(
			store, MP_PROBLEM, "no-profiler-info", run->rank_dir.path, -1,
			"no profiler_info_*.json: the parameters of the run are guessed from its files");
	return status;
}

static void release_device(struct cur_device *device)
{
	size_t i;

	for (i = 0; i < device->files.len; i++)
		mp_input_close(&device->files.at[i].input);
	mp_vec_release(&device->files);
	mp_vec_release(&device->tracks);
	mp_vec_release(&device->events);
	mp_vec_release(&device->durs_us);
	mp_vec_release(&device->flows);
}

static void release_links(struct cur_links *links)
{
	mp_vec_release(&links->self);
	mp_vec_release(&links->mstx);
	mp_vec_release(&links->npu);
}

void cur_close(struct cur_run *run)
{
	struct mp_dir *const dirs[] = {&run->rank_dir, &run->framework, &run->prof, &run->exported,
				       &run->analyze};
	size_t i;

	mp_vec_release(&run->host.events);
	mp_vec_release(&run->cpu_ops.events);
	mp_vec_release(&run->steps.at);
	mp_vec_release(&run->steps.parts);
	release_device(&run->device);
	release_links(&run->links);
	cur_communication_free(run->communication);
	cur_pipeline_free(run->pipeline);
	mp_free(run->clock);
	cur_db_text_remove(run);
	for (i = 0; i < MP_COUNT(dirs); i++)
		if (dirs[i]->fd >= 0)
			mp_dir_close(dirs[i]);
	*run = (struct cur_run){.rank_dir = no_dir,
				.framework = no_dir,
				.prof = no_dir,
				.exported = no_dir,
				.analyze = no_dir};
}
