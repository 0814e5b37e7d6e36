/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One converted file: Chrome JSON or the CSV of a table. A trace is written from the kept store when
 * there is one, else streaming: the sources are read once per pass, memory stays flat.
 */
#include <unistd.h>

#include "api/api_trace.h"

#include "base/banned.h"

struct streamer {
	const struct mp_ctx *ctx; /* borrowed */
	struct mp_trace_writer *writer;
	struct mp_store *store;
	bool writing;
	uint64_t n_seen;  /* events of this pass */
	uint64_t n_total; /* events of the first pass, 0 during it */
	mp_status failed; /* of the writer, so that it is not taken for a fault of a source */
	mp_err failure;
};

static mp_status pass_block(void *user, const struct mp_block *block, mp_err *err)
{
	struct streamer *streamer = user;

	if (!streamer->failed)
		streamer->failed =
			streamer->writing ? mp_trace_writer_block(streamer->writer, streamer->store, block,
								  &streamer->failure)
					  : mp_trace_writer_plan(streamer->writer, block, &streamer->failure);
	if (streamer->failed && err)
		*err = streamer->failure;
	streamer->n_seen += block->n;
	if (streamer->ctx->progress)
		streamer->ctx->progress(streamer->ctx->progress_user,
					streamer->writing ? "writing the trace" : "reading events",
					streamer->n_seen, streamer->n_total);
	return streamer->failed;
}

/* One pass over all sources, in order: without a pool the events of a track come as they were finished. */
static mp_status run_pass(struct mindprof_trace *trace, struct streamer *streamer, mp_err *err)
{
	mp_status status;

	streamer->n_seen = 0;
	status = api_read_sources(trace, NULL, streamer->store, err);
	streamer->n_total = streamer->n_seen;
	if (!streamer->failed)
		return status;
	if (err)
		*err = streamer->failure;
	return streamer->failed;
}

static mp_status stream_passes(struct mindprof_trace *trace, struct streamer *streamer, struct mp_out *out,
			       mp_err *err)
{
	do {
		MP_TRY(run_pass(trace, streamer, err));
		/* Later passes add to counts and notes again. */
		if (!trace->described)
			MP_TRY(api_make_descriptions(trace, streamer->store, err));
	} while (mp_trace_writer_plan_again(streamer->writer));
	MP_TRY(mp_trace_writer_begin(streamer->writer, streamer->store, out, err));
	streamer->writing = true;
	MP_TRY(run_pass(trace, streamer, err));
	return mp_trace_writer_end(streamer->writer, err);
}

static mp_status stream_trace(struct mindprof_trace *trace, struct mp_out *out, mp_err *err)
{
	struct streamer streamer = {.ctx = &trace->ctx};
	struct mp_store_options options = {
		.max_bytes = trace->memory_bytes, .on_block = pass_block, .on_block_user = &streamer};
	mp_status status = mp_store_new(&options, &streamer.store, err);

	if (status)
		return status;
	status = mp_trace_writer_new(MP_FLAVOUR_PORTABLE, &streamer.writer, err);
	if (!status)
		status = stream_passes(trace, &streamer, out, err);
	mp_trace_writer_free(streamer.writer);
	mp_store_free(streamer.store);
	return status;
}

mp_status api_write_trace(struct mindprof_trace *trace, enum mindprof_flavour flavour, struct mp_out *out,
			  mp_err *err)
{
	if (flavour != MINDPROF_FLAVOUR_COMPATIBLE && !trace->store)
		return stream_trace(trace, out, err);
	MP_TRY(api_load(trace, err));
	return mp_trace_write_store(flavour == MINDPROF_FLAVOUR_COMPATIBLE ? MP_FLAVOUR_COMPATIBLE
									   : MP_FLAVOUR_PORTABLE,
				    trace->store, out, err);
}

static mp_status write_table(struct mindprof_trace *trace, const char *name, struct mp_out *out, mp_err *err)
{
	const struct mindprof_table *table;

	if (!name)
		return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1, "CSV needs the name of a table");
	MP_TRY(mindprof_trace_table(trace, name, &table, err));
	return mp_write_table_csv(&table->table, out, err);
}

enum mindprof_status mindprof_trace_export(struct mindprof_trace *trace, const char *path,
					   const struct mindprof_export_options *options,
					   struct mindprof_error *error)
{
	struct mindprof_export_options taken;
	struct mp_out out;
	mp_status status;

	MP_TRY(api_take_options(&taken, sizeof(taken), options, error));
	if (!strcmp(path, "-"))
		MP_TRY(mp_out_open_fd(STDOUT_FILENO, "standard output", &out, error));
	else
		MP_TRY(mp_out_open(path, taken.overwrite, &out, error));
	if (taken.format == MINDPROF_EXPORT_CSV)
		status = write_table(trace, taken.table, &out, error);
	else
		status = api_write_trace(trace, taken.flavour, &out, error);
	if (status) {
		mp_out_abort(&out);
		return mp_err_wrap(error, status, NULL, "cannot export to '%s'", path);
	}
	return mp_out_commit(&out, error);
}
