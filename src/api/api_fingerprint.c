/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an analysis depends on, as one number: the program, its options, and path, size and time of every
 * file of the run. Equal numbers = the same analysis, which need not be done twice.
 */
#include <dlfcn.h>
#include <sys/stat.h>

#include "api/api_trace.h"
#include "base/hash.h"
#include "base/mem.h"

#include "base/banned.h"

#define MAX_DEPTH 8 /* of folders below the run; nothing reads deeper */

typedef mp_status (*file_fn)(void *user, const char *folder, const struct mp_dir_entry *entry);

static mp_status walk(const struct mp_dir *dir, const char *folder, int depth, file_fn fn, void *user,
		      mp_err *err);

static mp_status walk_below(const struct mp_dir *dir, const struct mp_dir_entry *entry, int depth, file_fn fn,
			    void *user, mp_err *err)
{
	struct mp_dir below;
	mp_status status;

	if (depth == MAX_DEPTH || (!depth && !strcmp(entry->name, API_OUTPUT_DIR)))
		return MINDPROF_OK;
	status = mp_dir_open_at(dir, entry->name, &below, err);
	if (status)
		return status == MINDPROF_E_NOMEM ? status : MINDPROF_OK; /* whoever needs it says so */
	status = walk(&below, entry->name, depth + 1, fn, user, err);
	mp_dir_close(&below);
	return status;
}

static mp_status walk(const struct mp_dir *dir, const char *folder, int depth, file_fn fn, void *user,
		      mp_err *err)
{
	struct mp_dir_entry *entries;
	mp_status status = MINDPROF_OK;
	size_t n, i;

	MP_TRY(mp_dir_list(dir, &entries, &n, err));
	for (i = 0; i < n && !status; i++) {
		if (entries[i].is_dir)
			status = walk_below(dir, &entries[i], depth, fn, user, err);
		else if (entries[i].is_file)
			status = fn(user, folder, &entries[i]);
	}
	mp_free(entries);
	return status;
}

static mp_status walk_run(const struct mindprof_trace *trace, file_fn fn, void *user, mp_err *err)
{
	struct mp_dir_entry *entries;
	mp_status status = MINDPROF_OK;
	size_t n, i;

	if (!trace->file)
		return walk(&trace->dir, "", 0, fn, user, err);
	MP_TRY(mp_dir_list(&trace->dir, &entries, &n, err));
	for (i = 0; i < n; i++)
		if (!strcmp(entries[i].name, trace->file))
			status = fn(user, "", &entries[i]);
	mp_free(entries);
	return status;
}

static mp_status add_bytes(void *user, const char *folder MP_UNUSED, const struct mp_dir_entry *entry)
{
	uint64_t *bytes = user;

	*bytes += entry->size;
	return MINDPROF_OK;
}

uint64_t mindprof_trace_input_bytes(const struct mindprof_trace *trace)
{
	uint64_t bytes = 0;

	walk_run(trace, add_bytes, &bytes, NULL); /* a folder that cannot be listed adds nothing */
	return bytes;
}

static mp_status add_file(void *user, const char *folder, const struct mp_dir_entry *entry)
{
	const int64_t numbers[] = {(int64_t)entry->size, entry->mtime_ns};
	uint64_t *hash = user;

	*hash = mp_hash_bytes(folder, strlen(folder) + 1, *hash);
	*hash = mp_hash_bytes(entry->name, strlen(entry->name) + 1, *hash);
	*hash = mp_hash_bytes(numbers, sizeof(numbers), *hash);
	return MINDPROF_OK;
}

/* The file that this code was loaded from: another build may compute something else. False when not known. */
static bool add_program(uint64_t *hash)
{
	struct stat info;
	Dl_info loaded;

	if (!dladdr((void *)(uintptr_t)api_fingerprint, &loaded) || stat(loaded.dli_fname, &info))
		return false;
	*hash = mp_hash_bytes(&info.st_size, sizeof(info.st_size), *hash);
	*hash = mp_hash_bytes(&info.st_mtim, sizeof(info.st_mtim), *hash);
	return true;
}

static void add_options(const struct mindprof_analyse_options *options, uint64_t *hash)
{
	const char *corrections = options->as_original ? options->as_original : "-";
	const char *types = options->export_types ? options->export_types : "";

	*hash = mp_hash_bytes(&options->flavour, sizeof(options->flavour), *hash);
	*hash = mp_hash_bytes(corrections, strlen(corrections) + 1, *hash);
	*hash = mp_hash_bytes(types, strlen(types) + 1, *hash);
	*hash = mp_hash_bytes(options->step_list, options->n_step_list * sizeof(*options->step_list), *hash);
}

mp_status api_fingerprint(const struct mindprof_trace *trace, const struct mindprof_analyse_options *options,
			  uint64_t *out, mp_err *err)
{
	*out = 1;
	if (!add_program(out)) {
		*out = 0;
		return MINDPROF_OK;
	}
	add_options(options, out);
	MP_TRY(walk_run(trace, add_file, out, err));
	*out |= !*out;
	return MINDPROF_OK;
}
