/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a run: recognises what is there, reads no events yet. */
#include <errno.h>
#include <sys/stat.h>

#include "api/api_trace.h"
#include "base/mem.h"
#include "base/pool.h"

#include "base/banned.h"

/* Text packs up to 1000 to 1, so a small file may not ask for more than this times its size. */
#define UNPACKED_PER_BYTE 256u
#define UNPACKED_LEAST (64u << 20)

uint64_t api_max_unpacked(uint64_t file_bytes)
{
	return file_bytes > (UINT64_MAX >> 9) ? UINT64_MAX : UNPACKED_LEAST + file_bytes * UNPACKED_PER_BYTE;
}

static bool add_source(struct mindprof_trace *trace, const struct mp_reader *reader)
{
	struct api_source *grown =
		mp_realloc_array(trace->sources, trace->n_sources + 1, sizeof(*trace->sources));

	if (!grown)
		return false;
	trace->sources = grown;
	trace->sources[trace->n_sources++] = (struct api_source){.reader = reader};
	return true;
}

static mp_status recognise_dir(struct mindprof_trace *trace, mp_err *err)
{
	struct mp_source source = {.dir = &trace->dir};
	size_t i;

	for (i = 0; mp_readers[i]; i++)
		if (mp_readers[i]->recognise(&source) > 0 && !add_source(trace, mp_readers[i]))
			return mp_err_nomem(err, sizeof(struct api_source));
	if (!trace->n_sources && !api_is_run_dir(&trace->dir))
		return mp_err_set(err, MINDPROF_E_UNSUPPORTED, NULL, -1, "'%s' is no recording", trace->path);
	return MINDPROF_OK;
}

static mp_status recognise_file(struct mindprof_trace *trace, mp_err *err)
{
	const struct mp_reader *reader = api_file_reader(&trace->dir, trace->file);

	if (!reader)
		return mp_err_set(err, MINDPROF_E_UNSUPPORTED, NULL, -1, "'%s' is of no known format",
				  trace->path);
	if (!add_source(trace, reader))
		return mp_err_nomem(err, sizeof(struct api_source));
	return MINDPROF_OK;
}

static mp_status open_path(struct mindprof_trace *trace, mp_err *err)
{
	struct stat info;

	if (stat(trace->path, &info))
		return mp_err_sys(err, errno, NULL, "cannot open '%s'", trace->path);
	trace->ctx.max_unpacked = api_max_unpacked(S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0);
	if (S_ISDIR(info.st_mode)) {
		MP_TRY(mp_dir_open(trace->path, &trace->dir, err));
		return recognise_dir(trace, err);
	}
	MP_TRY(api_open_parent(trace->path, &trace->dir, &trace->file, err));
	return recognise_file(trace, err);
}

static mp_status make_tables(struct mindprof_trace *trace, mp_err *err)
{
	size_t n = api_n_tables(), i;

	trace->tables = mp_calloc(n, sizeof(*trace->tables));
	if (!trace->tables)
		return mp_err_nomem(err, n * sizeof(*trace->tables));
	for (i = 0; i < n; i++)
		mp_table_init(&trace->tables[i].table, api_table_shape(i));
	return MINDPROF_OK;
}

static mp_status init_trace(struct mindprof_trace *trace, const char *path,
			    const struct mindprof_open_options *options, mp_err *err)
{
	trace->path = mp_strdup(path);
	if (!trace->path)
		return mp_err_nomem(err, strlen(path) + 1);
	trace->memory_bytes = options->memory_bytes;
	trace->ctx.progress = options->progress;
	trace->ctx.progress_user = options->progress_user;
	MP_TRY(mp_pool_new(options->jobs, &trace->pool, err));
	trace->ctx.pool = trace->pool;
	MP_TRY(make_tables(trace, err));
	return open_path(trace, err);
}

enum mindprof_status mindprof_trace_open(const char *path, const struct mindprof_open_options *options,
					 struct mindprof_trace **out, struct mindprof_error *error)
{
	struct mindprof_open_options taken;
	struct mindprof_trace *trace;
	mp_status status = api_take_options(&taken, sizeof(taken), options, error);

	if (status)
		return status;
	trace = mp_calloc(1, sizeof(*trace));
	if (!trace)
		return mp_err_nomem(error, sizeof(*trace));
	trace->dir.fd = -1;
	status = init_trace(trace, path, &taken, error);
	if (status)
		mindprof_trace_free(trace);
	else
		*out = trace;
	return status;
}

void mindprof_trace_free(struct mindprof_trace *trace)
{
	size_t i;

	if (!trace)
		return;
	for (i = 0; trace->tables && i < api_n_tables(); i++)
		mp_table_release(&trace->tables[i].table);
	mp_free(trace->tables);
	api_current_close(&trace->current);
	mp_store_free(trace->store);
	mp_free(trace->sources);
	mp_pool_free(trace->pool);
	if (trace->dir.path)
		mp_dir_close(&trace->dir);
	mp_free(trace->file);
	mp_free(trace->path);
	mp_free(trace);
}

const char *mindprof_trace_path(const struct mindprof_trace *trace)
{
	return trace->path;
}
