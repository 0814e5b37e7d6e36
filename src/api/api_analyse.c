/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Analyses a run into files: trace_view.json, the other outputs of the current layout and one CSV per
 * table in ASCEND_PROFILER_OUTPUT (product.md section 5). Files that were there and are not ours are
 * left alone.
 */
#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api_trace.h"
#include "base/mem.h"

#include "base/banned.h"

#define TRACE_FILE "trace_view.json"

enum file_kind {
	FILE_OUTPUT, /* of the current layout */
	FILE_DB,     /* of the current layout */
	FILE_TRACE,  /* of the events in the store */
	FILE_TABLE,
};

struct file {
	char name[64];
	enum file_kind kind;
	size_t table;                    /* of a FILE_TABLE */
	const struct cur_output *output; /* of a FILE_OUTPUT */
	const struct cur_db_file *db;    /* of a FILE_DB */
};

struct analyser {
	struct mindprof_trace *trace;
	const struct mindprof_analyse_options *options;
	bool only_original, is_current;
	bool text, db;               /* what to write */
	struct api_current own;      /* with other options than the trace's */
	struct api_current *current; /* that one or the trace's */
	MP_VEC(struct file) files;
	struct mp_dir dir; /* output folder */
	struct api_manifest manifest;
	uint64_t fingerprint; /* of this analysis */
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

static bool is_planned(const struct analyser *analyser, const char *name)
{
	size_t i;

	for (i = 0; i < analyser->files.len; i++)
		if (!strcmp(name, analyser->files.at[i].name))
			return true;
	return !strcmp(name, API_MANIFEST);
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
		if (is_planned(analyser, entries[i].name) && !is_ours(&analyser->manifest, &entries[i]))
			status = refuse(analyser, entries[i].name, err);
	mp_free(entries);
	return status;
}

/* Before anything is written: a killed analysis leaves files that the next one knows as ours. */
static mp_status claim(struct analyser *analyser, mp_err *err)
{
	size_t i;

	analyser->manifest.fingerprint = 0;
	mp_table_release(&analyser->manifest.notes);
	mp_table_init(&analyser->manifest.notes, &api_notes_shape);
	for (i = 0; i < analyser->files.len; i++)
		if (!api_manifest_put(&analyser->manifest, analyser->files.at[i].name, API_BYTES_ANY))
			return mp_err_nomem(err, sizeof(struct api_written));
	return api_manifest_write(&analyser->dir, &analyser->manifest, analyser->options->pretty, err);
}

/* ---------------------------------------------------------------- finished before */

static bool is_there(const struct analyser *analyser, const struct mp_dir_entry *entries, size_t n,
		     const struct file *file)
{
	const struct api_written *written = api_manifest_lookup(&analyser->manifest, file->name);
	size_t i;

	if (!written)
		return true; /* there was nothing to say */
	for (i = 0; i < n; i++)
		if (!strcmp(entries[i].name, file->name))
			return entries[i].is_file && entries[i].size == written->bytes;
	return false;
}

/* Whether an earlier analysis of the same input, in the same way, ended and its files are still there. */
static mp_status check_finished(struct analyser *analyser, bool *finished, mp_err *err)
{
	struct mp_dir_entry *entries;
	size_t n, i;

	*finished = false;
	MP_TRY(api_fingerprint(analyser->trace, analyser->options, &analyser->fingerprint, err));
	if (analyser->options->again || !analyser->fingerprint ||
	    analyser->fingerprint != analyser->manifest.fingerprint)
		return MINDPROF_OK;
	MP_TRY(mp_dir_list(&analyser->dir, &entries, &n, err));
	*finished = true;
	for (i = 0; i < analyser->files.len && *finished; i++)
		*finished = is_there(analyser, entries, n, &analyser->files.at[i]);
	mp_free(entries);
	return MINDPROF_OK;
}

static mp_status tell(const struct analyser *analyser, const char *name, mp_err *err)
{
	const struct mindprof_analyse_options *options = analyser->options;
	char *path;

	if (!options->wrote)
		return MINDPROF_OK;
	path = mp_path_join(analyser->dir.path, name);
	if (!path)
		return mp_err_nomem(err, strlen(name));
	options->wrote(options->wrote_user, path);
	mp_free(path);
	return MINDPROF_OK;
}

static void tell_notes(const struct analyser *analyser)
{
	const struct mindprof_analyse_options *options = analyser->options;
	size_t i;

	for (i = 0; options->noted && i < analyser->manifest.notes.n_rows; i++) {
		struct mindprof_note note = api_note_of_row(mp_table_row(&analyser->manifest.notes, i));

		options->noted(options->wrote_user, &note);
	}
}

static mp_status tell_finished(const struct analyser *analyser, mp_err *err)
{
	size_t i;

	for (i = 0; i < analyser->files.len; i++)
		if (api_manifest_lookup(&analyser->manifest, analyser->files.at[i].name))
			MP_TRY(tell(analyser, analyser->files.at[i].name, err));
	tell_notes(analyser);
	return MINDPROF_OK;
}

/* ---------------------------------------------------------------- what is written */

static mp_status add_file(struct analyser *analyser, struct file file, mp_err *err)
{
	return mp_vec_push(&analyser->files, file) ? MINDPROF_OK : mp_err_nomem(err, sizeof(file));
}

static bool has_native(const struct mindprof_trace *trace)
{
	size_t i;

	for (i = 0; i < trace->n_sources; i++)
		if (trace->sources[i].reader == &mp_reader_native)
			return true;
	return false;
}

/* A native recording shows everything in one trace, which only the store's events can give. */
static bool makes_trace(const struct analyser *analyser, const struct cur_output *output)
{
	return strcmp(output->name, TRACE_FILE) != 0 || !has_native(analyser->trace);
}

static mp_status plan_outputs(struct analyser *analyser, mp_err *err)
{
	size_t i;

	if (!analyser->is_current || cur_original_gives_up(&analyser->current->run))
		return MINDPROF_OK;
	for (i = 0; cur_outputs[i]; i++) {
		struct file file = {.kind = FILE_OUTPUT, .output = cur_outputs[i]};

		if (!makes_trace(analyser, file.output) || !file.output->wanted(&analyser->current->run))
			continue;
		api_current_name(analyser->current, file.output->name, file.name, sizeof(file.name));
		MP_TRY(add_file(analyser, file, err));
	}
	return MINDPROF_OK;
}

static mp_status plan_databases(struct analyser *analyser, mp_err *err)
{
	size_t i;

	for (i = 0; analyser->is_current && analyser->db && cur_db_files[i].name; i++) {
		struct file file = {.kind = FILE_DB, .db = &cur_db_files[i]};

		api_current_name(analyser->current, file.db->name, file.name, sizeof(file.name));
		MP_TRY(add_file(analyser, file, err));
	}
	return MINDPROF_OK;
}

static mp_status plan_files(struct analyser *analyser, mp_err *err)
{
	size_t i;

	if (analyser->text)
		MP_TRY(plan_outputs(analyser, err));
	MP_TRY(plan_databases(analyser, err));
	if (analyser->only_original || !analyser->text)
		return MINDPROF_OK;
	if (!is_planned(analyser, TRACE_FILE))
		MP_TRY(add_file(analyser, (struct file){.kind = FILE_TRACE, .name = TRACE_FILE}, err));
	for (i = 0; i < api_n_tables(); i++) {
		struct file file = {.kind = FILE_TABLE, .table = i};

		snprintf(file.name, sizeof(file.name), "%s.csv", api_table_shape(i)->name);
		MP_TRY(add_file(analyser, file, err));
	}
	return MINDPROF_OK;
}

static mp_status write_content(struct analyser *analyser, const struct file *file, struct mp_out *out,
			       mp_err *err)
{
	enum mindprof_flavour flavour = analyser->options->flavour;
	const struct mindprof_table *made;

	switch (file->kind) {
	case FILE_TRACE:
		return api_write_trace(analyser->trace, flavour, out, err);
	case FILE_TABLE:
		MP_TRY(mindprof_trace_table(analyser->trace, api_table_shape(file->table)->name, &made, err));
		return mp_write_table_csv(&made->table, out, err);
	case FILE_DB: /* not written as a stream */
		break;
	case FILE_OUTPUT:
		if (!strcmp(file->name, TRACE_FILE))
			return api_current_trace(analyser->current, file->output, &analyser->dir,
						 flavour == MINDPROF_FLAVOUR_PORTABLE, out, err);
		return cur_output_write(&analyser->current->run, file->output, out, err);
	}
	return MINDPROF_OK;
}

/* Nothing to say: what an earlier analysis of ours left under that name goes. */
static void drop_file(struct analyser *analyser, const struct file *file, struct mp_out *out)
{
	if (out)
		mp_out_abort(out);
	unlinkat(analyser->dir.fd, file->name, 0);
	api_manifest_remove(&analyser->manifest, file->name);
}

static mp_status write_database(struct analyser *analyser, const struct file *file, mp_err *err)
{
	struct stat info;
	bool written;
	mp_status status =
		cur_db_write(&analyser->current->run, file->db, &analyser->dir, file->name, &written, err);

	if (status)
		return mp_err_wrap(err, status, NULL, "cannot write '%s'", file->name);
	if (!written) {
		drop_file(analyser, file, NULL);
		return MINDPROF_OK;
	}
	if (fstatat(analyser->dir.fd, file->name, &info, AT_SYMLINK_NOFOLLOW))
		return mp_err_sys(err, errno, NULL, "cannot read '%s'", file->name);
	api_manifest_put(&analyser->manifest, file->name,
			 (uint64_t)info.st_size); /* present already: cannot fail */
	return tell(analyser, file->name, err);
}

static mp_status write_file(struct analyser *analyser, const struct file *file, mp_err *err)
{
	struct mp_out out;
	mp_status status;
	uint64_t bytes;

	if (file->kind == FILE_DB)
		return write_database(analyser, file, err);
	MP_TRY(mp_out_open_at(&analyser->dir, file->name, true, &out, err));
	status = write_content(analyser, file, &out, err);
	if (status) {
		mp_out_abort(&out);
		return mp_err_wrap(err, status, NULL, "cannot write '%s'", file->name);
	}
	bytes = out.written + out.len;
	if (!bytes && file->kind == FILE_OUTPUT) {
		drop_file(analyser, file, &out);
		return MINDPROF_OK;
	}
	MP_TRY(mp_out_commit(&out, err));
	api_manifest_put(&analyser->manifest, file->name, bytes); /* present already: cannot fail */
	return tell(analyser, file->name, err);
}

/* Everything is tried; the first failure is told. */
static mp_status write_files(struct analyser *analyser, enum file_kind from, enum file_kind to, mp_err *err)
{
	mp_status first = MINDPROF_OK, status;
	mp_err failure = {0};
	size_t i;

	for (i = 0; i < analyser->files.len; i++) {
		const struct file *file = &analyser->files.at[i];

		if (file->kind < from || file->kind > to)
			continue;
		status = write_file(analyser, file, &failure);
		if (status && !first) {
			first = status;
			if (err)
				*err = failure;
		}
	}
	return first;
}

/* What the outputs found goes into the notes before their table is written. */
static mp_status take_notes(struct analyser *analyser, mp_err *err)
{
	struct mindprof_trace *trace = analyser->trace;

	if (!analyser->is_current)
		return MINDPROF_OK;
	if (!trace->described)
		return api_make_descriptions(trace, analyser->current->store, err);
	return api_add_notes(trace, analyser->current->store, err);
}

/* The manifest takes what the next analysis of the same input will tell. */
static mp_status finish(struct analyser *analyser, mp_err *err)
{
	struct mindprof_note note;
	size_t i;

	MP_TRY(api_describe(analyser->trace, err));
	for (i = 0; mindprof_trace_note(analyser->trace, i, &note); i++)
		if (!api_add_note(&analyser->manifest.notes, &note))
			return mp_err_nomem(err, sizeof(struct mp_value));
	analyser->manifest.fingerprint = analyser->fingerprint;
	return MINDPROF_OK;
}

static mp_status write_all(struct analyser *analyser, mp_err *err)
{
	mp_status status = write_files(analyser, FILE_OUTPUT, FILE_DB, err), later;

	/* The tables need all events: with them in memory the trace is not read again. */
	if (!status && !analyser->only_original && analyser->text)
		status = api_load(analyser->trace, err);
	if (!status)
		status = take_notes(analyser, err);
	if (!status)
		status = write_files(analyser, FILE_TRACE, FILE_TABLE, err);
	if (!status)
		status = finish(analyser, err);
	later = api_manifest_write(&analyser->dir, &analyser->manifest, analyser->options->pretty,
				   status ? NULL : err);
	if (!status && !later)
		tell_notes(analyser);
	return status ? status : later;
}

/* ---------------------------------------------------------------- options */

/* Turns off what is named in "a,b"; "" = everything. */
static mp_status take_corrections(const char *names, uint64_t *corrections, mp_err *err)
{
	const char *at = names;

	if (!names || !*names) {
		*corrections = names ? 0 : CUR_FIX_ALL;
		return MINDPROF_OK;
	}
	*corrections = CUR_FIX_ALL;
	while (at) {
		size_t len = strcspn(at, ","), i = 0;

		while (i < CUR_CORRECTIONS && (strlen(cur_correction_texts[i].name) != len ||
					       memcmp(cur_correction_texts[i].name, at, len) != 0))
			i++;
		if (i == CUR_CORRECTIONS)
			return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1,
					  "no correction is called '%.*s'", (int)MP_MIN(len, 100), at);
		*corrections &= ~(UINT64_C(1) << i);
		at = at[len] ? at + len + 1 : NULL;
	}
	return MINDPROF_OK;
}

static mp_status check_steps(const struct mindprof_analyse_options *options, mp_err *err)
{
	size_t i;

	for (i = 1; i < options->n_step_list; i++)
		if (options->step_list[i] - 1 != options->step_list[i - 1])
			return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1,
					  "steps must follow each other, but %lld comes after %lld",
					  (long long)options->step_list[i],
					  (long long)options->step_list[i - 1]);
	return MINDPROF_OK;
}

int mindprof_correction_at(size_t index, struct mindprof_correction *out)
{
	const struct cur_correction_text *text;

	if (index >= CUR_CORRECTIONS)
		return 0;
	text = &cur_correction_texts[index];
	*out = (struct mindprof_correction){text->name, text->original, text->ours, text->where};
	return 1;
}

/* "text,db". */
static mp_status take_export_types(struct analyser *analyser, mp_err *err)
{
	const char *at = analyser->options->export_types;

	analyser->text = !at;
	analyser->db =
		!at && analyser->is_current && analyser->current->run.params.db && !analyser->only_original;
	while (at) {
		size_t len = strcspn(at, ",");

		if (len == 4 && !memcmp(at, "text", 4))
			analyser->text = true;
		else if (len == 2 && !memcmp(at, "db", 2))
			analyser->db = true;
		else
			return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1,
					  "no export is called '%.*s'; text and db are",
					  (int)MP_MIN(len, 100), at);
		at = at[len] ? at + len + 1 : NULL;
	}
	return MINDPROF_OK;
}

enum mindprof_status mindprof_corrections_check(const char *names, struct mindprof_error *error)
{
	uint64_t corrections;

	return take_corrections(names, &corrections, error);
}

static mp_status prepare(struct analyser *analyser, mp_err *err)
{
	struct cur_options options = {.step_list = analyser->options->step_list,
				      .n_step_list = analyser->options->n_step_list};

	MP_TRY(take_corrections(analyser->options->as_original, &options.corrections, err));
	MP_TRY(check_steps(analyser->options, err));
	if (api_has_no_data(analyser->trace))
		return api_no_recording(&analyser->trace->dir, analyser->trace->path, err);
	analyser->only_original = analyser->options->as_original && !*analyser->options->as_original;
	analyser->is_current = api_is_current(analyser->trace);
	analyser->current = &analyser->own;
	if (analyser->is_current && options.corrections == CUR_FIX_ALL && !options.step_list)
		MP_TRY(api_current_shared(analyser->trace, &analyser->current, err));
	else if (analyser->is_current)
		MP_TRY(api_current_open(analyser->trace, &options, &analyser->own, err));
	MP_TRY(take_export_types(analyser, err));
	MP_TRY(plan_files(analyser, err));
	return open_output(analyser, err);
}

static void release(struct analyser *analyser)
{
	api_current_close(&analyser->own);
	mp_vec_release(&analyser->files);
	api_manifest_release(&analyser->manifest);
	if (analyser->dir.path)
		mp_dir_close(&analyser->dir);
}

static mp_status analyse(struct analyser *analyser, mp_err *err)
{
	bool finished;

	MP_TRY(prepare(analyser, err));
	MP_TRY(api_manifest_read(&analyser->dir, &analyser->manifest, err));
	MP_TRY(check_finished(analyser, &finished, err));
	if (analyser->options->was_finished)
		*analyser->options->was_finished = finished;
	if (finished)
		return tell_finished(analyser, err);
	MP_TRY(check_existing(analyser, err));
	MP_TRY(claim(analyser, err));
	return write_all(analyser, err);
}

/* The input is another then; the results are of the one before and stay finished. */
static mp_status simplify(struct analyser *analyser, mp_err *err)
{
	MP_TRY(api_simplify(analyser->trace, analyser->options, err));
	MP_TRY(api_fingerprint(analyser->trace, analyser->options, &analyser->manifest.fingerprint, err));
	return api_manifest_write(&analyser->dir, &analyser->manifest, analyser->options->pretty, err);
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
	if (taken.simplify && taken.dry_run)
		return api_simplify(trace, &taken, error);
	status = analyse(&analyser, error);
	if (!status && taken.simplify)
		status = simplify(&analyser, error);
	release(&analyser);
	return status;
}
