/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The framework's host events. Input: FRAMEWORK/mindspore.op_range (2.7) or op_range_{rank} (2.3), or
 * such a file alone. Output: ranges, instants, flows and steps of process "MindSpore".
 * Document: docs/formats/framework.md.
 */
#include "base/mem.h"
#include "formats/fmt_cpu.h"
#include "readers/rd_op_range.h"

#include "base/banned.h"

/* ---- finding the file ---- */

struct found_file {
	char name[256];
	enum mp_fwk_form likely; /* by its name */
	int32_t rank;            /* -1 = the name does not tell */
	uint32_t n_others;
};

/* E_NOT_FOUND when there is none. */
static mp_status find_file(const struct mp_dir *framework, struct found_file *out)
{
	struct mp_ranked_file ranked;
	struct mp_file file;
	mp_status status;

	memset(out, 0, sizeof(*out));
	status = mp_file_open_at(framework, MP_FWK_OP_RANGE_FILE, &file, NULL);
	if (status == MINDPROF_OK) {
		mp_file_close(&file);
		memcpy(out->name, MP_FWK_OP_RANGE_FILE, sizeof(MP_FWK_OP_RANGE_FILE));
		out->likely = MP_FWK_27;
		out->rank = -1;
	}
	if (status == MINDPROF_OK || status == MINDPROF_E_NOMEM)
		return status;
	status = mp_ranked_file_find(framework, MP_FWK_OP_RANGE_23_PREFIX, "", -1, &ranked);
	if (status)
		return status;
	memcpy(out->name, ranked.name, sizeof(out->name));
	out->likely = MP_FWK_23_73;
	out->rank = ranked.rank;
	out->n_others = ranked.n_others;
	return MINDPROF_OK;
}

/* Rank of a 2.7 directory by the names of the files that carry it, -1 = they do not. Failure: memory. */
static mp_status rank_of_dir(const struct mp_dir *rank_dir, const struct mp_dir *framework, int32_t *rank,
			     mp_err *err)
{
	struct mp_ranked_file ranked;
	mp_status status = mp_ranked_file_find(rank_dir, MP_FWK_INFO_PREFIX, MP_FWK_INFO_SUFFIX, -1, &ranked);

	if (status && status != MINDPROF_E_NOMEM)
		status = mp_ranked_file_find(framework, MP_CPU_TIMESTAMP_PREFIX, MP_CPU_TEXT_SUFFIX, -1,
					     &ranked);
	*rank = status ? -1 : ranked.rank;
	return status == MINDPROF_E_NOMEM ? mp_err_nomem(err, 0) : MINDPROF_OK;
}

/* ---- reading ---- */

static mp_status workers_init(struct op_range_file *in, struct mp_pool *pool, mp_err *err)
{
	in->n_workers = mp_pool_threads(pool);
	in->workers = mp_calloc(in->n_workers, sizeof(*in->workers));
	if (!in->workers)
		return mp_err_nomem(err, in->n_workers * sizeof(*in->workers));
	for (unsigned i = 0; i < in->n_workers; i++) {
		struct op_range_worker *worker = &in->workers[i];

		mp_buf_init(&worker->buf, SIZE_MAX / 8);
		worker->last_track = UINT32_MAX;
		worker->slots = mp_calloc(OP_RANGE_CACHE_SLOTS, sizeof(*worker->slots));
		if (!worker->slots)
			return mp_err_nomem(err, OP_RANGE_CACHE_SLOTS * sizeof(*worker->slots));
		MP_TRY(mp_appender_new(in->store, &worker->appender, err));
	}
	return MINDPROF_OK;
}

/* Finishes all appenders; the first failure of one is the reason for everything else. */
static mp_status workers_finish(struct op_range_file *in, mp_status status, mp_err *err)
{
	bool reason_known = false;

	for (unsigned i = 0; i < in->n_workers && in->workers; i++) {
		struct op_range_worker *worker = &in->workers[i];
		mp_status finished = mp_appender_finish(worker->appender, reason_known ? NULL : err);

		if (finished != MINDPROF_OK && !reason_known) {
			reason_known = true;
			status = finished;
		}
		mp_faults_merge(in->faults, worker->faults, OP_RANGE_FAULTS);
		mp_buf_release(&worker->buf);
		mp_free(worker->slots);
	}
	mp_free(in->workers);
	return status;
}

static mp_status decode_windows(struct mp_ctx *ctx, struct op_range_file *in, mp_err *err)
{
	uint64_t at = 0;

	while (at < in->file.size) {
		if (!op_range_split(in, &at))
			return mp_err_nomem(err, 0);
		MP_TRY(mp_pool_for(ctx->pool, in->chunks.len - 1, op_range_decode, in, err));
		if (ctx->progress)
			ctx->progress(ctx->progress_user, "framework events", at, in->file.size);
	}
	return MINDPROF_OK;
}

static mp_status choose_clock(struct op_range_file *in, const struct mp_dir *rank_dir,
			      const struct mp_dir *framework, mp_err *err)
{
	op_range_launches launches = {0};
	enum op_range_device_clock device;
	bool fitted = false;
	mp_status status;

	MP_TRY(op_range_clock_from_device_tool(&in->clock, rank_dir, NULL, in->form, in->store, &device,
					       err));
	if (device == OP_RANGE_CLOCK_FOUND)
		return MINDPROF_OK;
	if (in->form == MP_FWK_27) {
		status = op_range_find_launches(in, &launches) ? MINDPROF_OK : mp_err_nomem(err, 0);
		if (status == MINDPROF_OK)
			status =
				op_range_clock_fit(&in->clock, framework, &launches, in->store, &fitted, err);
		mp_vec_release(&launches);
		MP_TRY(status);
	}
	if (!fitted)
		op_range_clock_assume(&in->clock);
	if (device == OP_RANGE_CLOCK_ABSENT)
		op_range_clock_tell(&in->clock, in->file.path, in->store);
	return MINDPROF_OK;
}

static mp_status read_events(struct mp_ctx *ctx, struct op_range_file *in, int32_t rank, mp_err *err)
{
	struct mp_store *store = in->store;
	struct mp_process process = {
		.rank = rank,
		.pid = MP_FWK_LAYER_PID,
		.name = mp_store_string(store, MP_FWK_LAYER_NAME),
		.labels = mp_store_string(store, MP_FWK_LAYER_LABELS),
		.sort_index = MP_FWK_LAYER_PID,
	};
	mp_status status;

	in->process = mp_store_process(store, &process);
	in->flow_name = mp_store_string(store, MP_FWK_SELF_FLOW);
	if (in->process == UINT32_MAX || in->flow_name == MP_STR_NONE)
		return mp_err_nomem(err, 0);
	status = workers_init(in, ctx->pool, err);
	if (status == MINDPROF_OK)
		status = decode_windows(ctx, in, err);
	return workers_finish(in, status, err);
}

static mp_status read_file(struct mp_ctx *ctx, const struct mp_source *source, const struct mp_dir *framework,
			   const struct found_file *found, struct mp_store *store, mp_err *err)
{
	struct op_range_file in = {.store = store};
	int32_t rank = found->rank;
	mp_status status;
	bool sure;

	if (rank < 0)
		MP_TRY(rank_of_dir(source->dir, framework, &rank, err));
	MP_TRY(mp_file_open_at(framework, found->name, &in.file, err));
	in.form = op_range_form_of(in.file.data, in.file.size, found->likely, &sure);
	if (in.file.size && !sure)
		mp_store_note(store, MP_PROBLEM, "bad-records", in.file.path, 0,
			      "the first record does not have the layout of framework events");
	if (found->n_others)
		mp_store_note(store, MP_WARNING, "several-ranks", in.file.path, -1,
			      "%u files of other ranks lie beside this one and are not read",
			      found->n_others);
	status = choose_clock(&in, source->dir, framework, err);
	op_range_clock_ready(&in.clock);
	if (status == MINDPROF_OK)
		status = read_events(ctx, &in, rank, err);
	mp_faults_note(store, in.file.path, in.faults, op_range_fault_kinds, OP_RANGE_FAULTS);
	mp_map64_release(&in.tracks);
	mp_vec_release(&in.chunks);
	mp_file_close(&in.file);
	return status;
}

/* The directory and the file that a source means; E_NOT_FOUND when there is none. After OK close the
 * directory. */
static mp_status locate(const struct mp_source *source, struct mp_dir *framework, struct found_file *found)
{
	mp_status status;

	if (source->name) {
		struct mp_dir none = {.fd = -1};

		*framework = none;
		memset(found, 0, sizeof(*found));
		found->rank = -1;
		if (strlen(source->name) >= sizeof(found->name))
			return MINDPROF_E_NOT_FOUND;
		memcpy(found->name, source->name, strlen(source->name) + 1);
		return MINDPROF_OK;
	}
	status = mp_framework_dir_open(source->dir, framework, NULL);
	if (status)
		return status;
	status = find_file(framework, found);
	if (status)
		mp_dir_close(framework);
	return status;
}

static mp_status op_range_read(struct mp_ctx *ctx, const struct mp_source *source, struct mp_store *store,
			       mp_err *err)
{
	struct found_file found;
	struct mp_dir framework;
	mp_status status = locate(source, &framework, &found);

	if (status == MINDPROF_E_NOMEM)
		return mp_err_nomem(err, 0);
	if (status)
		return mp_err_set(err, MINDPROF_E_NOT_FOUND, source->dir->path, -1, "no '%s' here",
				  MP_FWK_OP_RANGE_FILE);
	status = read_file(ctx, source, source->name ? source->dir : &framework, &found, store, err);
	if (!source->name)
		mp_dir_close(&framework);
	return status;
}

/* A lone file must look right; in its place under its name it is taken in any case, and its faults are told.
 */
static int op_range_recognise(const struct mp_source *source)
{
	struct found_file found;
	struct mp_dir framework;
	struct mp_file file;
	bool sure = false;

	if (locate(source, &framework, &found))
		return 0;
	if (mp_file_open_at(source->name ? source->dir : &framework, found.name, &file, NULL) ==
	    MINDPROF_OK) {
		op_range_form_of(file.data, file.size, found.likely, &sure);
		mp_file_close(&file);
	}
	if (!source->name)
		mp_dir_close(&framework);
	return sure ? 90 : source->name ? 0 : 20;
}

const struct mp_reader mp_reader_op_range = {
	.name = "op-range",
	.title = "MindSpore framework events",
	.recognise = op_range_recognise,
	.read = op_range_read,
};
