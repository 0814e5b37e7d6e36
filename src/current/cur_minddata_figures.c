/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of the data pipeline, rounded as the original rounds them, and what holds the pipeline up
 * (analysis-current.md section 8.10). Input: struct cur_pipeline.
 */
#include <string.h>

#include "current/cur_json.h"
#include "current/cur_minddata.h"

#include "base/banned.h"

double cur_pipeline_queue_size(const struct cur_pipeline_op *op)
{
	return op->has_queue && op->sizes.len ? cur_round(cur_pipeline_queue_mean(op), 2) : -1;
}

double cur_pipeline_queue_use(const struct cur_pipeline_op *op)
{
	if (!op->has_queue || !op->sizes.len || op->queue_length <= 0)
		return -1;
	return cur_round(100 * cur_pipeline_queue_size(op) / (double)op->queue_length, 2);
}

double cur_pipeline_queue_empty(const struct cur_pipeline_op *op)
{
	size_t n = 0, i;

	if (!op->has_queue || !op->sizes.len)
		return -1;
	for (i = 0; i < op->sizes.len; i++)
		n += op->sizes.at[i] == 0;
	return cur_round(100 * (double)n / (double)op->sizes.len, 2);
}

double cur_pipeline_cpu_use(const struct cur_pipeline_op *op)
{
	return op->n_cpu ? cur_round(op->cpu_sum / (double)op->n_cpu, 2) : 0;
}

double cur_pipeline_cpu_per_worker(const struct cur_pipeline_op *op)
{
	if (op->n_workers <= 0 || cur_pipeline_cpu_use(op) < 0)
		return -1;
	return cur_round(cur_pipeline_cpu_use(op) / (double)op->n_workers, 2);
}

struct mp_str cur_pipeline_name(const struct cur_pipeline_op *op)
{
	return (struct mp_str){op->type.text, op->type.len >= 2 ? op->type.len - 2 : 0};
}

bool cur_pipeline_is(const struct cur_pipeline_op *op, const char *text)
{
	return mp_str_is(cur_pipeline_name(op), text);
}

bool cur_pipeline_is_device_queue(const struct cur_run *run, const struct cur_pipeline_op *op)
{
	return cur_pipeline_is(op, "DeviceQueue") ||
	       (cur_corrects(run, CUR_FIX_DATA_QUEUE) && cur_pipeline_is(op, "DataQueue"));
}

/* Operations that do no work of their own. */
bool cur_pipeline_is_passive(const struct cur_pipeline_op *op)
{
	static const char *const names[] = {"Barrier", "Concat", "EpochCtrl", "Rename", "Repeat",
					    "Shuffle", "Skip",   "Take",      "Zip"};
	size_t i;

	for (i = 0; i < MP_COUNT(names); i++)
		if (cur_pipeline_is(op, names[i]))
			return true;
	return false;
}

/*
 * Of each operation the nearest one along first children that has a queue; NULL = none. The operations that
 * one passes on the way have the same, so that each is passed once. False when memory is out.
 */
bool cur_pipeline_find_feeders(struct cur_pipeline *pipeline)
{
	size_t n = pipeline->ops.len, i;
	bool *known = mp_calloc(n + 1, sizeof(*known));
	MP_VEC(size_t) way = {0};
	bool good = known != NULL;

	pipeline->feeders = mp_calloc(n + 1, sizeof(struct cur_pipeline_op *));
	good = good && pipeline->feeders;
	for (i = 0; good && i < n; i++) {
		const struct cur_pipeline_op *op = &pipeline->ops.at[i], *found = NULL;
		size_t place = i;

		for (way.len = 0; good && op && !known[place];) {
			known[place] = true; /* also ends a cycle */
			good = mp_vec_push(&way, place);
			op = op->children.len ? cur_pipeline_op(pipeline, op->children.at[0]) : NULL;
			if (op && cur_pipeline_queue_size(op) != -1) {
				found = op;
				break;
			}
			place = op ? (size_t)(op - pipeline->ops.at) : 0;
		}
		if (op && !found)
			found = pipeline->feeders[place];
		while (way.len)
			pipeline->feeders[way.at[--way.len]] = found;
	}
	mp_vec_release(&way);
	mp_free(known);
	return good;
}

const struct cur_pipeline_op *cur_pipeline_feeder(const struct cur_pipeline *pipeline,
						  const struct cur_pipeline_op *op)
{
	return pipeline->feeders[op - pipeline->ops.at];
}

/* The operation nearest to the root that holds the others up; *busy tells why. */
const struct cur_pipeline_op *cur_pipeline_bottleneck(const struct cur_run *run,
						      const struct cur_pipeline *pipeline, bool *busy)
{
	const struct cur_pipeline_op *found = NULL;
	size_t i;

	for (i = pipeline->ops.len; i-- > 0;) {
		const struct cur_pipeline_op *op = &pipeline->ops.at[i];
		const struct cur_pipeline_op *in = cur_pipeline_feeder(pipeline, op);
		double use = cur_pipeline_cpu_per_worker(op);

		if (cur_pipeline_is_passive(op) || cur_pipeline_is_device_queue(run, op))
			continue;
		if (use > CUR_PIPELINE_BUSY_PCT ||
		    (use < CUR_PIPELINE_IDLE_PCT && in &&
		     (cur_pipeline_queue_use(in) < CUR_PIPELINE_EMPTY_QUEUE_PCT ||
		      cur_pipeline_queue_use(op) - cur_pipeline_queue_use(in) >
			      CUR_PIPELINE_QUEUE_GAP_PCT))) {
			found = op;
			*busy = use > CUR_PIPELINE_BUSY_PCT;
		}
	}
	return found;
}
