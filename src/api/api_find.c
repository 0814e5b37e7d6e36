/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds runs: rank directories, bare recordings and trace files, at a path and one level below it
 * (analysis-current.md section 2.1).
 */
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <sys/stat.h>

#include "api/api_trace.h"
#include "base/mem.h"

#include "base/banned.h"

const struct mp_reader *api_file_reader(const struct mp_dir *dir, const char *name)
{
	struct mp_source source = {.dir = dir, .name = name};
	const struct mp_reader *best = NULL;
	int best_score = 0, score;
	size_t i;

	for (i = 0; mp_readers[i]; i++) {
		score = mp_readers[i]->recognise(&source);
		if (score > best_score) {
			best_score = score;
			best = mp_readers[i];
		}
	}
	return best;
}

/* What MindSpore or CANN fills, and what this program's recorder does. */
static bool is_original_folder(const struct mp_dir_entry *entry)
{
	return entry->is_dir && (!strcmp(entry->name, "FRAMEWORK") || !strncmp(entry->name, "PROF_", 5));
}

static bool is_raw_folder(const struct mp_dir_entry *entry)
{
	return is_original_folder(entry) || (entry->is_dir && !strcmp(entry->name, "MINDPROF"));
}

static bool holds(const struct mp_dir *dir, bool (*is_one)(const struct mp_dir_entry *entry))
{
	struct mp_dir_entry *entries;
	size_t n, i;
	bool found = false;

	if (mp_dir_list(dir, &entries, &n, NULL) != MINDPROF_OK)
		return false;
	for (i = 0; i < n && !found; i++)
		found = is_one(&entries[i]);
	mp_free(entries);
	return found;
}

static bool is_database(const struct mp_dir_entry *entry)
{
	return entry->is_file && !fnmatch("ascend_*_profiler*.db", entry->name, 0);
}

/* The device tool's database, which the original moves into the results: they can be made anew from it. */
static bool holds_database(const struct mp_dir *dir)
{
	struct mp_dir results;
	bool found;

	if (mp_dir_open_at(dir, API_OUTPUT_DIR, &results, NULL))
		return false;
	found = holds(&results, is_database);
	mp_dir_close(&results);
	return found;
}

bool api_is_current(const struct mindprof_trace *trace)
{
	return !trace->file && (holds(&trace->dir, is_original_folder) || holds_database(&trace->dir));
}

static bool is_results_folder(const struct mp_dir_entry *entry)
{
	return entry->is_dir && !strcmp(entry->name, API_OUTPUT_DIR);
}

bool api_has_no_data(const struct mindprof_trace *trace)
{
	size_t i;

	if (trace->file || !trace->n_sources || holds(&trace->dir, is_raw_folder) ||
	    holds_database(&trace->dir))
		return false;
	for (i = 0; i < trace->n_sources; i++)
		if (trace->sources[i].reader != &mp_reader_run_info)
			return false;
	return true;
}

/* Results at a directory or one level below it. */
static bool has_results(const struct mp_dir *dir)
{
	struct mp_dir_entry *entries;
	bool found = holds(dir, is_results_folder);
	size_t n, i;

	if (found || mp_dir_list(dir, &entries, &n, NULL) != MINDPROF_OK)
		return found;
	for (i = 0; i < n && !found; i++) {
		struct mp_dir below;

		if (!entries[i].is_dir || mp_dir_open_at(dir, entries[i].name, &below, NULL))
			continue;
		found = holds(&below, is_results_folder);
		mp_dir_close(&below);
	}
	mp_free(entries);
	return found;
}

mp_status api_no_recording(const struct mp_dir *dir, const char *path, mp_err *err)
{
	if (!has_results(dir))
		return mp_err_set(err, MINDPROF_E_NOT_FOUND, NULL, -1, "no recording in '%s'", path);
	return mp_err_set(
		err, MINDPROF_E_NOT_FOUND, NULL, -1,
		"no recording in '%s', only finished results: analyse a directory with FRAMEWORK or "
		"PROF_* in it, or read the trace_view.json of " API_OUTPUT_DIR,
		path);
}

bool api_is_run_dir(const struct mp_dir *dir)
{
	return holds(dir, is_raw_folder) || holds_database(dir) || api_file_reader(dir, NULL);
}

/* The path as given, so that messages show it; a symbolic link is followed first. */
static mp_status resolve(const char *path, char *out, mp_err *err)
{
	struct stat info;
	size_t len = strlen(path);

	if (lstat(path, &info))
		return mp_err_sys(err, errno, NULL, "cannot open '%s'", path);
	if (S_ISLNK(info.st_mode) && !realpath(path, out))
		return mp_err_sys(err, errno, NULL, "cannot open '%s'", path);
	if (!S_ISLNK(info.st_mode)) {
		if (len >= PATH_MAX)
			return mp_err_sys(err, ENAMETOOLONG, NULL, "cannot open '%s'", path);
		memcpy(out, path, len + 1);
	}
	return MINDPROF_OK;
}

mp_status api_open_parent(const char *path, struct mp_dir *dir, char **name, mp_err *err)
{
	char real[PATH_MAX];
	char *slash;
	mp_status status;

	MP_TRY(resolve(path, real, err));
	slash = strrchr(real, '/');
	*name = mp_strdup(slash ? slash + 1 : real);
	if (!*name)
		return mp_err_nomem(err, strlen(real));
	if (slash)
		slash[slash == real] = '\0';
	status = mp_dir_open(slash ? real : ".", dir, err);
	if (status) {
		mp_free(*name);
		*name = NULL;
	}
	return status;
}

/* ---------------------------------------------------------------- below a directory */

struct finder {
	mindprof_run_fn fn;
	void *user;
	size_t n_found;
	bool stopped;
};

static mp_status found(struct finder *finder, const char *path, const char *name, mp_err *err)
{
	size_t len = strlen(path);
	char *joined;

	finder->n_found++;
	if (!name) {
		finder->stopped = finder->fn(finder->user, path) != 0;
		return MINDPROF_OK;
	}
	joined = mp_asprintf("%s%s%s", path, len && path[len - 1] == '/' ? "" : "/", name);
	if (!joined)
		return mp_err_nomem(err, len + strlen(name) + 2);
	finder->stopped = finder->fn(finder->user, joined) != 0;
	mp_free(joined);
	return MINDPROF_OK;
}

static bool is_run_below(const struct mp_dir *dir, const struct mp_dir_entry *entry, bool directories)
{
	struct mp_dir below;
	bool is_run;

	if (!directories)
		return entry->is_file && api_file_reader(dir, entry->name);
	if (!entry->is_dir || mp_dir_open_at(dir, entry->name, &below, NULL))
		return false;
	is_run = api_is_run_dir(&below);
	mp_dir_close(&below);
	return is_run;
}

/* Directories first; files count only where there is no directory, because they may be our own exports of it.
 */
static mp_status find_below(struct finder *finder, const char *path, const struct mp_dir *dir, mp_err *err)
{
	struct mp_dir_entry *entries;
	size_t n, i;
	int pass;
	mp_status status = mp_dir_list(dir, &entries, &n, err);

	if (status)
		return status;
	for (pass = 0; pass < 2 && !status && !finder->n_found; pass++)
		for (i = 0; i < n && !status && !finder->stopped; i++)
			if (is_run_below(dir, &entries[i], pass == 0))
				status = found(finder, path, entries[i].name, err);
	mp_free(entries);
	return status;
}

static mp_status find_in_dir(struct finder *finder, const char *path, mp_err *err)
{
	struct mp_dir dir;
	mp_status status = mp_dir_open(path, &dir, err);

	if (status)
		return status;
	if (api_is_run_dir(&dir))
		status = found(finder, path, NULL, err);
	else
		status = find_below(finder, path, &dir, err);
	if (!status && !finder->n_found)
		status = api_no_recording(&dir, path, err);
	mp_dir_close(&dir);
	return status;
}

static mp_status find_file(struct finder *finder, const char *path, mp_err *err)
{
	struct mp_dir dir;
	char *name;
	mp_status status = api_open_parent(path, &dir, &name, err);

	if (status)
		return status;
	if (api_file_reader(&dir, name))
		status = found(finder, path, NULL, err);
	else
		status =
			mp_err_set(err, MINDPROF_E_UNSUPPORTED, NULL, -1, "'%s' is of no known format", path);
	mp_free(name);
	mp_dir_close(&dir);
	return status;
}

enum mindprof_status mindprof_find_runs(const char *path, mindprof_run_fn fn, void *user,
					struct mindprof_error *error)
{
	struct finder finder = {.fn = fn, .user = user};
	struct stat info;

	if (stat(path, &info))
		return mp_err_sys(error, errno, NULL, "cannot open '%s'", path);
	return S_ISDIR(info.st_mode) ? find_in_dir(&finder, path, error) : find_file(&finder, path, error);
}
