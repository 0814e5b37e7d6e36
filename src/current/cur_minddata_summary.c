/* SPDX-License-Identifier: Apache-2.0 */
/*
 * minddata_pipeline_summary_{rank}.json and .csv: what each operation of the data pipeline used and where
 * the pipeline is held up (analysis-current.md section 8.10). The sentences are our own in every mode.
 */
#include <string.h>

#include "current/cur_json.h"
#include "current/cur_csv.h"
#include "current/cur_minddata.h"
#include "current/cur_outputs.h"

#include "base/banned.h"

struct summary {
	const struct cur_run *run;
	const struct cur_pipeline *pipeline;
	struct mp_out *out;
	struct mp_buf buf; /* one item */
	bool no_memory;
	bool csv;
	bool first_key, first_item;
};

/* ---- items ---- */

static void begin_key(struct summary *summary, const char *key)
{
	if (summary->csv) {
		if (!summary->first_key)
			mp_out_str(summary->out, "\r\n");
		mp_out_str(summary->out, key);
	} else {
		mp_out_str(summary->out, summary->first_key ? "{\"" : "], \"");
		mp_out_str(summary->out, key);
		mp_out_str(summary->out, "\": [");
	}
	summary->first_key = false;
	summary->first_item = true;
}

static void begin_item(struct summary *summary)
{
	if (summary->csv)
		mp_out_str(summary->out, ",");
	else if (!summary->first_item)
		mp_out_str(summary->out, ", ");
	summary->first_item = false;
}

static void put_integer(struct summary *summary, int64_t value)
{
	begin_item(summary);
	mp_out_i64(summary->out, value);
}

/* -1 stands for "not known" and is an integer. */
static void put_figure(struct summary *summary, double value)
{
	begin_item(summary);
	if (value == -1 || !isfinite(value))
		mp_out_str(summary->out, "-1");
	else
		mp_out_double(summary->out, value);
}

static void put_text(struct summary *summary)
{
	begin_item(summary);
	if (summary->csv) {
		cur_csv_text(summary->out, summary->buf.data, summary->buf.len);
	} else {
		struct mp_buf quoted;

		mp_buf_init(&quoted, SIZE_MAX / 8);
		mp_json_escape(&quoted, summary->buf.data, summary->buf.len);
		mp_out_write(summary->out, quoted.data, quoted.len);
		summary->no_memory |= quoted.failed != MINDPROF_OK;
		mp_buf_release(&quoted);
	}
	summary->no_memory |= summary->buf.failed != MINDPROF_OK;
	mp_buf_clear(&summary->buf);
}

static void add_label(struct summary *summary, const struct cur_pipeline_op *op)
{
	struct mp_str name = cur_pipeline_name(op);

	mp_buf_add(&summary->buf, name.text, name.len);
	mp_buf_printf(&summary->buf, "(id=%lld)", (long long)op->id);
}

static void put_children(struct summary *summary, const struct cur_pipeline_op *op)
{
	size_t i;

	begin_item(summary);
	mp_out_str(summary->out, summary->csv && op->children.len > 1 ? "\"[" : "[");
	for (i = 0; i < op->children.len; i++) {
		if (i)
			mp_out_str(summary->out, ", ");
		mp_out_i64(summary->out, op->children.at[i]);
	}
	mp_out_str(summary->out, summary->csv && op->children.len > 1 ? "]\"" : "]");
}

typedef double (*figure_fn)(const struct cur_pipeline_op *op);

static void put_figures(struct summary *summary, const char *key, figure_fn figure)
{
	size_t i;

	begin_key(summary, key);
	for (i = 0; i < summary->pipeline->ops.len; i++)
		put_figure(summary, figure(&summary->pipeline->ops.at[i]));
}

enum column { IDS, NAMES, LABELS, WORKERS, CHILDREN, PARENT };

static void put_column(struct summary *summary, const char *key, enum column column)
{
	size_t i;

	begin_key(summary, key);
	for (i = 0; i < summary->pipeline->ops.len; i++) {
		const struct cur_pipeline_op *op = &summary->pipeline->ops.at[i];
		struct mp_str name = cur_pipeline_name(op);

		if (column == NAMES)
			mp_buf_add(&summary->buf, name.text, name.len);
		else if (column == LABELS)
			add_label(summary, op);
		if (column == NAMES || column == LABELS)
			put_text(summary);
		else if (column == CHILDREN)
			put_children(summary, op);
		else
			put_integer(summary, column == IDS       ? op->id
					     : column == WORKERS ? op->n_workers
								 : op->parent);
	}
}

static void put_time(struct summary *summary, const char *key, size_t list)
{
	const struct cur_pipeline *pipeline = summary->pipeline;

	begin_key(summary, key);
	if (pipeline->n_times[list])
		put_figure(summary, cur_round(pipeline->times_ms[list] / (double)pipeline->n_times[list], 3));
	else
		put_figure(summary, -1);
}

/* ---- findings ---- */

static void add_figure(struct summary *summary, double value)
{
	char text[MP_NUM_MAX];

	mp_buf_add(&summary->buf, text, mp_num_put_double(text, value));
	mp_buf_add_char(&summary->buf, '%');
}

/* Puts the key before the first finding of a list. */
static void begin_finding(struct summary *summary, const char *key, bool *any)
{
	if (!*any)
		begin_key(summary, key);
	*any = true;
}

static void put_cpu_findings(struct summary *summary)
{
	bool any = false;
	size_t i;

	for (i = 0; i < summary->pipeline->ops.len; i++) {
		const struct cur_pipeline_op *op = &summary->pipeline->ops.at[i];
		double use = cur_pipeline_cpu_per_worker(op);
		bool busy = use > CUR_PIPELINE_BUSY_PCT,
		     idle = use < CUR_PIPELINE_IDLE_PCT && op->n_workers > 1;

		if (cur_pipeline_is_passive(op) || (!busy && !idle))
			continue;
		begin_finding(summary, "cpu_analysis_details", &any);
		add_label(summary, op);
		mp_buf_add_str(&summary->buf, ": each worker keeps ");
		add_figure(summary, use);
		mp_buf_printf(&summary->buf,
			      busy ? " of a core busy; try more than %lld workers"
				   : " of a core busy; %lld workers may be more than it needs",
			      (long long)op->n_workers);
		put_text(summary);
	}
}

static void put_leaf(struct summary *summary, const struct cur_pipeline_op *op, bool *any)
{
	begin_finding(summary, "queue_analysis_details", any);
	add_label(summary, op);
	mp_buf_add_str(&summary->buf, ": reads the data and fills ");
	add_figure(summary, cur_pipeline_queue_use(op));
	mp_buf_printf(&summary->buf, " of its queue with %lld workers; more may read faster",
		      (long long)op->n_workers);
	put_text(summary);
}

static void put_gap(struct summary *summary, const struct cur_pipeline_op *op,
		    const struct cur_pipeline_op *in, bool *any)
{
	begin_finding(summary, "queue_analysis_details", any);
	add_label(summary, op);
	mp_buf_add_str(&summary->buf, ": its input queue is ");
	add_figure(summary, cur_pipeline_queue_use(in));
	mp_buf_add_str(&summary->buf, " full and its output queue ");
	add_figure(summary, cur_pipeline_queue_use(op));
	mp_buf_add_str(&summary->buf, "; ");
	add_label(summary, in);
	mp_buf_printf(&summary->buf, " is faster than its %lld workers", (long long)op->n_workers);
	put_text(summary);
}

static void put_starved(struct summary *summary, const struct cur_pipeline_op *op,
			const struct cur_pipeline_op *in, bool *any)
{
	begin_finding(summary, "queue_analysis_details", any);
	add_label(summary, op);
	mp_buf_add_str(&summary->buf, ": finds its input queue empty in ");
	add_figure(summary, cur_pipeline_queue_empty(in));
	mp_buf_add_str(&summary->buf, " of the samples; the host is slower than the device");
	put_text(summary);
}

static void put_queue_findings(struct summary *summary)
{
	bool any = false;
	size_t i;

	for (i = 0; i < summary->pipeline->ops.len; i++) {
		const struct cur_pipeline_op *op = &summary->pipeline->ops.at[i];
		const struct cur_pipeline_op *in = cur_pipeline_feeder(summary->pipeline, op);
		double use = cur_pipeline_queue_use(op);

		if (cur_pipeline_is_passive(op) || cur_pipeline_is(op, "Batch"))
			continue;
		if (!in && use != -1 && use < CUR_PIPELINE_LEAF_QUEUE_PCT)
			put_leaf(summary, op, &any);
		else if (in && cur_pipeline_is_device_queue(summary->run, op) &&
			 cur_pipeline_queue_empty(in) > CUR_PIPELINE_STARVED_PCT)
			put_starved(summary, op, in, &any);
		else if (in && use != -1 && cur_pipeline_queue_use(in) != -1 &&
			 cur_pipeline_queue_use(in) - use > CUR_PIPELINE_QUEUE_GAP_PCT)
			put_gap(summary, op, in, &any);
	}
}

static void put_bottleneck(struct summary *summary)
{
	bool busy = false;
	const struct cur_pipeline_op *op = cur_pipeline_bottleneck(summary->run, summary->pipeline, &busy);

	if (!op)
		return;
	begin_key(summary, "bottleneck_warning");
	add_label(summary, op);
	put_text(summary);
	begin_key(summary, "bottleneck_suggestion");
	add_label(summary, op);
	mp_buf_add_str(&summary->buf, ": each worker keeps ");
	add_figure(summary, cur_pipeline_cpu_per_worker(op));
	mp_buf_printf(&summary->buf, " of a core busy with %lld workers; ", (long long)op->n_workers);
	mp_buf_add_str(&summary->buf,
		       busy ? "raise their number" : "its queues are out of balance, raise prefetch_size");
	put_text(summary);
}

/* The original uses ids as places in a list and gives up when they are not. */
static bool ids_are_places(const struct cur_pipeline *pipeline)
{
	return pipeline->ops.len &&
	       pipeline->ops.at[pipeline->ops.len - 1].id == (int64_t)pipeline->ops.len - 1;
}

static void put_all(struct summary *summary)
{
	const struct cur_pipeline *pipeline = summary->pipeline;

	put_column(summary, "op_ids", IDS);
	put_column(summary, "op_names", NAMES);
	put_column(summary, "pipeline_ops", LABELS);
	put_column(summary, "num_workers", WORKERS);
	put_figures(summary, "queue_average_size", cur_pipeline_queue_size);
	put_figures(summary, "queue_utilization_pct", cur_pipeline_queue_use);
	put_figures(summary, "queue_empty_freq_pct", cur_pipeline_queue_empty);
	put_column(summary, "children_ids", CHILDREN);
	put_column(summary, "parent_id", PARENT);
	put_figures(summary, "avg_cpu_pct", cur_pipeline_cpu_use);
	put_time(summary, "per_pipeline_time", 0);
	put_time(summary, "per_push_queue_time", 1);
	put_time(summary, "per_batch_time", 2);
	if (pipeline->n_cpu_ops == pipeline->ops.len) {
		put_figures(summary, "avg_cpu_pct_per_worker", cur_pipeline_cpu_per_worker);
		if (ids_are_places(pipeline)) {
			put_cpu_findings(summary);
			put_queue_findings(summary);
			put_bottleneck(summary);
		}
	}
	mp_out_str(summary->out, summary->csv ? "\r\n" : "]}");
}

static mp_status write_summary(struct cur_run *run, bool csv, struct mp_out *out, mp_err *err)
{
	struct summary summary = {.run = run, .out = out, .csv = csv, .first_key = true};
	const struct cur_pipeline *pipeline;

	MP_TRY(cur_load_pipeline(run, err));
	summary.pipeline = pipeline = run->pipeline;
	if (!pipeline->found ||
	    ((!pipeline->has_cpu || !pipeline->has_times) && !cur_corrects(run, CUR_FIX_LOST_OUTPUTS)))
		return MINDPROF_OK;
	mp_buf_init(&summary.buf, SIZE_MAX / 8);
	put_all(&summary);
	mp_buf_release(&summary.buf);
	return summary.no_memory ? mp_err_nomem(err, 0) : MINDPROF_OK;
}

static mp_status write_json(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	return write_summary(run, false, out, err);
}

static mp_status write_csv(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	return write_summary(run, true, out, err);
}

static bool wanted(const struct cur_run *run)
{
	return (run->params.found && run->params.data_process) || cur_corrects(run, CUR_FIX_LOST_OUTPUTS);
}

const struct cur_output cur_minddata_summary_json = {
	.name = "minddata_pipeline_summary_%s.json",
	.about = "Use of processors and queues by operation of the data pipeline, and what holds it up.",
	.wanted = wanted,
	.write = write_json,
};

const struct cur_output cur_minddata_summary_csv = {
	.name = "minddata_pipeline_summary_%s.csv",
	.about = "The same as rows.",
	.wanted = wanted,
	.write = write_csv,
};
