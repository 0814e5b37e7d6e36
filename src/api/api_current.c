/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output files of the current layout of one run (src/current/), with a store of their own for
 * strings and notes, and the conversion of their trace to the portable flavour.
 */
#include <unistd.h>

#include "api/api_trace.h"
#include "base/mem.h"

#include "base/banned.h"

#define TRACE_DRAFT ".trace_view.draft.json"

mp_status api_current_open(struct mindprof_trace *trace, const struct cur_options *options,
			   struct api_current *out, mp_err *err)
{
	struct mp_store_options store_options = {.max_bytes = trace->memory_bytes};
	mp_status status;

	*out = (struct api_current){0};
	MP_TRY(mp_store_new(&store_options, &out->store, err));
	status = cur_open(&trace->ctx, &trace->dir, options, out->store, &out->run, err);
	if (status) {
		mp_store_free(out->store);
		out->store = NULL;
	}
	return status;
}

void api_current_close(struct api_current *current)
{
	if (!current->store)
		return;
	cur_close(&current->run);
	mp_store_free(current->store);
	current->store = NULL;
}

mp_status api_current_shared(struct mindprof_trace *trace, struct api_current **out, mp_err *err)
{
	struct cur_options options = {.corrections = CUR_FIX_ALL};

	*out = &trace->current;
	return trace->current.store ? MINDPROF_OK : api_current_open(trace, &options, &trace->current, err);
}

void api_current_name(const struct api_current *current, const char *pattern, char *name, size_t size)
{
	const char *mark = strstr(pattern, "%s");
	const struct cur_params *params = &current->run.params;
	const char *rank = params->npu || !*params->device_id ? params->rank_id : params->device_id;

	if (mark)
		snprintf(name, size, "%.*s%s%s", (int)(mark - pattern), pattern, *rank ? rank : "0",
			 mark + 2);
	else
		snprintf(name, size, "%s", pattern);
}

/* The portable form of a Chrome trace in dir. */
static mp_status convert(struct api_current *current, const struct mp_dir *dir, const char *name,
			 struct mp_out *out, mp_err *err)
{
	struct mp_source source = {.dir = dir, .name = name};
	struct mp_store_options options = {0};
	struct mp_store *events;
	mp_status status;

	MP_TRY(mp_store_new(&options, &events, err));
	status = mp_reader_chrome_json.read((struct mp_ctx *)current->run.ctx, &source, events, err);
	if (!status)
		status = mp_store_sort(events, current->run.ctx->pool, err);
	if (!status)
		status = mp_trace_write_store(MP_FLAVOUR_PORTABLE, events, out, err);
	mp_store_free(events);
	return status;
}

mp_status api_current_trace(struct api_current *current, const struct cur_output *output,
			    const struct mp_dir *dir, bool portable, struct mp_out *out, mp_err *err)
{
	struct mp_out draft;
	mp_status status;
	bool empty;

	if (!portable)
		return cur_output_write(&current->run, output, out, err);
	MP_TRY(mp_out_open_at(dir, TRACE_DRAFT, true, &draft, err));
	status = cur_output_write(&current->run, output, &draft, err);
	empty = !draft.written && !draft.len;
	if (status || empty) {
		mp_out_abort(&draft);
		return status;
	}
	MP_TRY(mp_out_commit(&draft, err));
	status = convert(current, dir, TRACE_DRAFT, out, err);
	unlinkat(dir->fd, TRACE_DRAFT, 0);
	return status;
}
