/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the data pipeline keep up, and if not, which operation holds it up? One row per operation, from the
 * device down to the files. Input: the pipeline as MindData sampled it. docs/analyses.md, "data_pipeline".
 */
#include <string.h>

#include "current/cur_minddata.h"
#include "current/cur_tables.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"operation", "Operation", MP_TYPE_TEXT, MP_UNIT_NONE, "Its name and number, \"Map(id=2)\"."},
	{"workers", "Workers", MP_TYPE_INT, MP_UNIT_COUNT, "Threads that it works with."},
	{"queue_length", "Queue", MP_TYPE_INT, MP_UNIT_COUNT,
	 "Places in its output queue; missing when it has none."},
	{"queue_used_share", "Used", MP_TYPE_DOUBLE, MP_UNIT_SHARE, "Mean part of the queue that is filled."},
	{"queue_empty_share", "Empty", MP_TYPE_DOUBLE, MP_UNIT_SHARE,
	 "Part of the samples in which it was empty."},
	{"cpu_share", "CPU by worker", MP_TYPE_DOUBLE, MP_UNIT_SHARE, "Of one core, by each worker."},
	{"verdict", "Verdict", MP_TYPE_TEXT, MP_UNIT_NONE,
	 "bottleneck: its workers are busy, or its queues are out of balance; starves: the device queue finds "
	 "nothing; keeps up: the device queue always finds something; missing where there is nothing to say."},
};

static const struct mp_table_shape shape = {
	.name = "data_pipeline",
	.title = "Data pipeline",
	.text = "Queues and processors of the operations of the data pipeline, and what holds it up.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

static const char *verdict_of(const struct cur_run *run, const struct cur_pipeline_op *op,
			      const struct cur_pipeline_op *bottleneck, bool busy)
{
	const struct cur_pipeline_op *in = cur_pipeline_feeder(run->pipeline, op);

	if (op == bottleneck)
		return busy ? "bottleneck: workers are busy" : "bottleneck: queues are out of balance";
	if (!in || !cur_pipeline_is_device_queue(run, op))
		return NULL;
	return cur_pipeline_queue_empty(in) > CUR_PIPELINE_STARVED_PCT ? "starves" : "keeps up";
}

static void put_percent(struct mp_value *value, double percent)
{
	if (percent >= 0 && percent < 1e15)
		mp_value_double(value, percent / 100);
}

static bool put_row(const struct cur_run *run, const struct cur_pipeline_op *op, const char *verdict,
		    struct mp_table *out)
{
	struct mp_str name = cur_pipeline_name(op);
	struct mp_value *row = mp_table_add_row(out);
	char text[128];
	int len = snprintf(text, sizeof(text), "%.*s(id=%lld)", (int)MP_MIN(name.len, 80u), name.text,
			   (long long)op->id);

	if (!row || !mp_value_text(out, &row[0], text, (size_t)len))
		return false;
	mp_value_int(&row[1], op->n_workers);
	if (op->has_queue)
		mp_value_int(&row[2], op->queue_length);
	put_percent(&row[3], cur_pipeline_queue_use(op));
	put_percent(&row[4], cur_pipeline_queue_empty(op));
	if (run->pipeline->has_cpu)
		put_percent(&row[5], cur_pipeline_cpu_per_worker(op));
	return !verdict || mp_value_text(out, &row[6], verdict, strlen(verdict));
}

static mp_status fill(struct cur_run *run, struct mp_table *out, mp_err *err)
{
	const struct cur_pipeline_op *bottleneck;
	const struct cur_pipeline *pipeline;
	bool busy = false;
	size_t i;

	MP_TRY(cur_load_pipeline(run, err));
	pipeline = run->pipeline;
	if (!pipeline->found) {
		out->empty_reason = "no data pipeline was sampled";
		return MINDPROF_OK;
	}
	bottleneck = pipeline->has_cpu ? cur_pipeline_bottleneck(run, pipeline, &busy) : NULL;
	for (i = 0; i < pipeline->ops.len; i++) {
		const struct cur_pipeline_op *op = &pipeline->ops.at[i];

		if (!put_row(run, op, verdict_of(run, op, bottleneck, busy), out))
			return mp_err_nomem(err, 0);
	}
	return MINDPROF_OK;
}

const struct cur_table cur_table_data_pipeline = {&shape, fill};
