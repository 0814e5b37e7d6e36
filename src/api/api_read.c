/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the sources of a run: into a store that is kept (tables need it), or past one that keeps
 * nothing (descriptions and exports, in flat memory).
 */
#include "api/api_trace.h"
#include "base/mem.h"

#include "base/banned.h"

static uint64_t count_events(const struct mp_store *store)
{
	uint64_t n = 0;
	unsigned kind;

	for (kind = 0; kind < MP_KINDS; kind++)
		n += mp_store_n_events(store, (enum mp_kind)kind);
	return n;
}

/* A note has a path and an offset of its own, so they leave the text. */
static void note_failure(struct mp_store *store, const struct mp_reader *reader, const mp_err *failure)
{
	mp_err bare = *failure;
	char text[512];
	uint32_t i;

	for (i = 0; i < bare.n_causes; i++) {
		bare.causes[i].path[0] = '\0';
		bare.causes[i].byte_offset = -1;
	}
	mp_store_note(store, MP_PROBLEM, "unreadable", failure->causes[0].path,
		      failure->causes[0].byte_offset, "%s cannot be used: %s", reader->title,
		      mindprof_error_text(&bare, text, sizeof(text)));
}

mp_status api_read_sources(struct mindprof_trace *trace, struct mp_pool *pool, struct mp_store *store,
			   mp_err *err)
{
	struct mp_source source = {.dir = &trace->dir, .name = trace->file};
	struct mp_ctx ctx = trace->ctx;
	uint64_t before;
	mp_status status;
	size_t i;

	ctx.pool = pool;
	for (i = 0; i < trace->n_sources; i++) {
		struct api_source *at = &trace->sources[i];
		mp_err failure = {0};

		before = count_events(store);
		status = at->reader->read(&ctx, &source, store, &failure);
		at->events = count_events(store) - before;
		at->failed = status != MINDPROF_OK;
		if (status == MINDPROF_E_NOMEM || status == MINDPROF_E_CANCELLED) {
			if (err)
				*err = failure;
			return mp_err_wrap(err, status, NULL, "cannot read '%s'", trace->path);
		}
		if (status)
			note_failure(store, at->reader, &failure);
	}
	return MINDPROF_OK;
}

mp_status api_load(struct mindprof_trace *trace, mp_err *err)
{
	struct mp_store_options options = {.max_bytes = trace->memory_bytes};
	struct mp_store *store;
	mp_status status;

	if (trace->store)
		return MINDPROF_OK;
	MP_TRY(mp_store_new(&options, &store, err));
	status = api_read_sources(trace, trace->pool, store, err);
	if (!status)
		status = mp_store_sort(store, trace->pool, err);
	if (!status)
		status = api_make_descriptions(trace, store, err);
	if (status)
		mp_store_free(store);
	else
		trace->store = store;
	return status;
}

static mp_status keep_nothing(void *user MP_UNUSED, const struct mp_block *block MP_UNUSED,
			      mp_err *err MP_UNUSED)
{
	return MINDPROF_OK;
}

mp_status api_describe(struct mindprof_trace *trace, mp_err *err)
{
	struct mp_store_options options = {.max_bytes = trace->memory_bytes, .on_block = keep_nothing};
	struct mp_store *store;
	mp_status status;

	if (trace->described)
		return MINDPROF_OK;
	MP_TRY(mp_store_new(&options, &store, err));
	status = api_read_sources(trace, trace->pool, store, err);
	if (!status)
		status = api_make_descriptions(trace, store, err);
	mp_store_free(store);
	return status;
}
