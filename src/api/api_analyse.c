/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Analyses a run into files: trace_view.json and one CSV per table in ASCEND_PROFILER_OUTPUT
 * (product.md section 5). Files that were there and are not ours are left alone.
 */
#include <errno.h>
#include <limits.h>

#include "api/api_trace.h"
#include "base/mem.h"

#include "base/banned.h"

#define TRACE_FILE "trace_view.json"

struct analyser {
	struct mindprof_trace *trace;
	const struct mindprof_analyse_options *options;
	struct mp_dir dir; /* output folder */
	struct api_manifest manifest;
};

/* The name that the run's outputs go by: its last component, also for "." and "x/". */
static mp_status run_name(const struct mindprof_trace *trace, char *name, size_t size, mp_err *err)
{
	char real[PATH_MAX];
	const char *slash;

	if (trace->file) {
		snprintf(name, size, "%s", trace->file);
		return MINDPROF_OK;
	}
	if (!realpath(trace->path, real))
		return mp_err_sys(err, errno, NULL, "cannot open '%s'", trace->path);
	slash = strrchr(real, '/');
	snprintf(name, size, "%s", slash[1] ? slash + 1 : "root");
	return MINDPROF_OK;
}

/* <parent>/<folder>/ASCEND_PROFILER_OUTPUT */
static mp_status make_below(const struct mp_dir *parent, const char *folder, struct mp_dir *out, mp_err *err)
{
	struct mp_dir middle;
	mp_status status = mp_dir_make_at(parent, folder, &middle, err);

	if (status)
		return status;
	status = mp_dir_make_at(&middle, API_OUTPUT_DIR, out, err);
	mp_dir_close(&middle);
	return status;
}

static mp_status open_output(struct analyser *analyser, mp_err *err)
{
	struct mindprof_trace *trace = analyser->trace;
	char name[NAME_MAX + 16];
	struct mp_dir parent;
	mp_status status;

	MP_TRY(run_name(trace, name, NAME_MAX + 1, err));
	if (analyser->options->out_path) {
		MP_TRY(mp_dir_make(analyser->options->out_path, &parent, err));
		status = make_below(&parent, name, &analyser->dir, err);
		mp_dir_close(&parent);
		return status;
	}
	if (!trace->file)
		return mp_dir_make_at(&trace->dir, API_OUTPUT_DIR, &analyser->dir, err);
	snprintf(name, sizeof(name), "%s.analysis", trace->file);
	return make_below(&trace->dir, name, &analyser->dir, err);
}

static mp_status refuse(const struct analyser *analyser, const char *name, mp_err *err)
{
	char *path = mp_path_join(analyser->dir.path, name);
	mp_status status = mp_err_set(err, MINDPROF_E_EXISTS, NULL, -1,
				      "'%s' exists and was not written by mindprof", path ? path : name);

	mp_free(path);
	return status;
}

/* Our own files are those that the manifest lists with their present size, and the manifest itself. */
static bool is_ours(const struct api_manifest *manifest, const struct mp_dir_entry *entry)
{
	const struct api_written *written;

	if (!manifest->found || !entry->is_file)
		return false;
	if (!strcmp(entry->name, API_MANIFEST))
		return true;
	written = api_manifest_lookup(manifest, entry->name);
	return written && (written->bytes == API_BYTES_ANY || written->bytes == entry->size);
}

/* A file name that this analysis writes. */
static void table_file(size_t table, char *name, size_t size)
{
	snprintf(name, size, "%s.csv", api_table_shape(table)->name);
}

static bool is_planned(const char *name)
{
	char planned[64];
	size_t i;

	for (i = 0; i < api_n_tables(); i++) {
		table_file(i, planned, sizeof(planned));
		if (!strcmp(name, planned))
			return true;
	}
	return !strcmp(name, TRACE_FILE) || !strcmp(name, API_MANIFEST);
}

static mp_status check_existing(const struct analyser *analyser, mp_err *err)
{
	struct mp_dir_entry *entries;
	mp_status status = MINDPROF_OK;
	size_t n, i;

	if (analyser->options->overwrite)
		return MINDPROF_OK;
	MP_TRY(mp_dir_list(&analyser->dir, &entries, &n, err));
	for (i = 0; i < n && !status; i++)
		if (is_planned(entries[i].name) && !is_ours(&analyser->manifest, &entries[i]))
			status = refuse(analyser, entries[i].name, err);
	mp_free(entries);
	return status;
}

/* Before anything is written: a killed analysis leaves files that the next one knows as ours. */
static mp_status claim(struct analyser *analyser, mp_err *err)
{
	char name[64];
	size_t i;

	if (!api_manifest_put(&analyser->manifest, TRACE_FILE, API_BYTES_ANY))
		return mp_err_nomem(err, sizeof(struct api_written));
	for (i = 0; i < api_n_tables(); i++) {
		table_file(i, name, sizeof(name));
		if (!api_manifest_put(&analyser->manifest, name, API_BYTES_ANY))
			return mp_err_nomem(err, sizeof(struct api_written));
	}
	return api_manifest_write(&analyser->dir, &analyser->manifest, analyser->options->pretty, err);
}

/* table SIZE_MAX = the trace. */
static mp_status write_content(struct analyser *analyser, size_t table, struct mp_out *out, mp_err *err)
{
	const struct mindprof_table *made;

	if (table == SIZE_MAX)
		return api_write_trace(analyser->trace, analyser->options->flavour, out, err);
	MP_TRY(mindprof_trace_table(analyser->trace, api_table_shape(table)->name, &made, err));
	return mp_write_table_csv(&made->table, out, err);
}

static mp_status write_file(struct analyser *analyser, size_t table, mp_err *err)
{
	const struct mindprof_analyse_options *options = analyser->options;
	char name[64] = TRACE_FILE;
	struct mp_out out;
	mp_status status;
	uint64_t bytes;
	char *path;

	if (table != SIZE_MAX)
		table_file(table, name, sizeof(name));
	MP_TRY(mp_out_open_at(&analyser->dir, name, true, &out, err));
	status = write_content(analyser, table, &out, err);
	if (status) {
		mp_out_abort(&out);
		return mp_err_wrap(err, status, NULL, "cannot write '%s'", name);
	}
	bytes = out.written + out.len;
	MP_TRY(mp_out_commit(&out, err));
	api_manifest_put(&analyser->manifest, name, bytes); /* present already: cannot fail */
	if (!options->wrote)
		return MINDPROF_OK;
	path = mp_path_join(analyser->dir.path, name);
	if (!path)
		return mp_err_nomem(err, strlen(name));
	options->wrote(options->wrote_user, path);
	mp_free(path);
	return MINDPROF_OK;
}

/* Everything is tried; the first failure is told. */
static mp_status write_all(struct analyser *analyser, mp_err *err)
{
	mp_status first, status;
	mp_err failure = {0};
	size_t i;

	first = write_file(analyser, SIZE_MAX, err);
	for (i = 0; i < api_n_tables(); i++) {
		status = write_file(analyser, i, &failure);
		if (status && !first) {
			first = status;
			if (err)
				*err = failure;
		}
	}
	status = api_manifest_write(&analyser->dir, &analyser->manifest, analyser->options->pretty,
				    first ? NULL : err);
	return first ? first : status;
}

enum mindprof_status mindprof_trace_analyse(struct mindprof_trace *trace,
					    const struct mindprof_analyse_options *options,
					    struct mindprof_error *error)
{
	struct mindprof_analyse_options taken;
	struct analyser analyser = {.trace = trace, .options = &taken};
	mp_status status = api_take_options(&taken, sizeof(taken), options, error);

	if (status)
		return status;
	MP_TRY(open_output(&analyser, error));
	status = api_manifest_read(&analyser.dir, &analyser.manifest, error);
	if (!status)
		status = check_existing(&analyser, error);
	if (!status)
		status = claim(&analyser, error);
	/* The tables need all events: with them in memory the trace is not read again. */
	if (!status)
		status = api_load(trace, error);
	if (!status)
		status = write_all(&analyser, error);
	api_manifest_release(&analyser.manifest);
	mp_dir_close(&analyser.dir);
	return status;
}
