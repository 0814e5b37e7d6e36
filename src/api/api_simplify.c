/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes from a run what its results were made from and nothing else needs: the exports of the device tool
 * (analysis-current.md section 3.6). Only on demand: the original does it unless told not to.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <unistd.h>

#include "api/api_trace.h"
#include "base/mem.h"

#include "base/banned.h"

#define MAX_DEPTH 16

static mp_status tree_bytes(const struct mp_dir *parent, const struct mp_dir_entry *entry, int depth,
			    uint64_t *bytes, mp_err *err)
{
	struct mp_dir_entry *entries = NULL;
	struct mp_dir dir;
	mp_status status;
	size_t n = 0, i;

	*bytes += entry->size;
	if (!entry->is_dir)
		return MINDPROF_OK;
	if (depth == MAX_DEPTH)
		return mp_err_set(err, MINDPROF_E_LIMIT, parent->path, -1,
				  "'%s' holds folders too deep to remove", parent->path);
	MP_TRY(mp_dir_open_at(parent, entry->name, &dir, err));
	status = mp_dir_list(&dir, &entries, &n, err);
	for (i = 0; !status && i < n; i++)
		status = tree_bytes(&dir, &entries[i], depth + 1, bytes, err);
	mp_free(entries);
	mp_dir_close(&dir);
	return status;
}

/* Links are removed and not followed. */
static mp_status remove_tree(const struct mp_dir *parent, const struct mp_dir_entry *entry, mp_err *err)
{
	struct mp_dir_entry *entries = NULL;
	struct mp_dir dir;
	mp_status status = MINDPROF_OK;
	size_t n = 0, i;

	if (entry->is_dir) {
		MP_TRY(mp_dir_open_at(parent, entry->name, &dir, err));
		status = mp_dir_list(&dir, &entries, &n, err);
		for (i = 0; !status && i < n; i++)
			status = remove_tree(&dir, &entries[i], err);
		mp_free(entries);
		mp_dir_close(&dir);
	}
	if (!status && unlinkat(parent->fd, entry->name, entry->is_dir ? AT_REMOVEDIR : 0))
		status = mp_err_sys(err, errno, parent->path, "cannot remove '%s' in '%s'", entry->name,
				    parent->path);
	return status;
}

static mp_status take(const struct mindprof_analyse_options *options, const struct mp_dir *parent,
		      const struct mp_dir_entry *entry, mp_err *err)
{
	uint64_t bytes = 0;
	char *path;

	MP_TRY(tree_bytes(parent, entry, 0, &bytes, err));
	if (!options->dry_run)
		MP_TRY(remove_tree(parent, entry, err));
	if (!options->removed)
		return MINDPROF_OK;
	path = mp_path_join(parent->path, entry->name);
	if (!path)
		return mp_err_nomem(err, strlen(entry->name));
	options->removed(options->wrote_user, path, bytes);
	mp_free(path);
	return MINDPROF_OK;
}

/* What goes, as shell patterns from the run down. */
static const char *const paths[][5] = {
	{"PROF_*", "mindstudio_profiler_output"},
	{"PROF_*", "mindstudio_profiler_log"},
	{"PROF_*", "host", "sqlite"},
	{"PROF_*", "host", "data", "all_file.complete"},
	{"PROF_*", "device_*", "sqlite"},
	{"PROF_*", "device_*", "data", "all_file.complete"},
};

static mp_status go_down(const struct mindprof_analyse_options *options, const struct mp_dir *dir,
			 const char *const *path, mp_err *err)
{
	struct mp_dir_entry *entries;
	mp_status status;
	size_t n, i;

	MP_TRY(mp_dir_list(dir, &entries, &n, err));
	status = MINDPROF_OK;
	for (i = 0; !status && i < n; i++) {
		struct mp_dir below;

		if (fnmatch(path[0], entries[i].name, 0) != 0)
			continue;
		if (!path[1]) {
			status = take(options, dir, &entries[i], err);
		} else if (entries[i].is_dir) {
			status = mp_dir_open_at(dir, entries[i].name, &below, err);
			if (!status) {
				status = go_down(options, &below, path + 1, err);
				mp_dir_close(&below);
			}
		}
	}
	mp_free(entries);
	return status;
}

mp_status api_simplify(const struct mindprof_trace *trace, const struct mindprof_analyse_options *options,
		       mp_err *err)
{
	size_t i;

	for (i = 0; !trace->file && i < MP_COUNT(paths); i++)
		MP_TRY(go_down(options, &trace->dir, paths[i], err));
	return MINDPROF_OK;
}
