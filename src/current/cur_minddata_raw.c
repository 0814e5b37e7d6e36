/* SPDX-License-Identifier: Apache-2.0 */
/*
 * minddata_pipeline_raw_{rank}.csv: the tree of the data pipeline, operations without a queue replaced by
 * their children (analysis-current.md section 8.9).
 */
#include "current/cur_csv.h"
#include "current/cur_minddata.h"
#include "current/cur_outputs.h"

#include "base/banned.h"

struct visit {
	int64_t id, parent;
};

typedef MP_VEC(int64_t) id_list;

struct tree {
	struct cur_run *run;
	const struct cur_pipeline *pipeline;
	bool *seen; /* owned; by place of the operation */
};

/* An operation is shown once, below the first that names it: else a cycle would not end. */
static const struct cur_pipeline_op *take_child(struct tree *tree, int64_t id)
{
	const struct cur_pipeline_op *child = cur_pipeline_op(tree->pipeline, id);
	size_t place = child ? (size_t)(child - tree->pipeline->ops.at) : 0;

	if (!child || !tree->seen[place]) {
		if (child)
			tree->seen[place] = true;
		return child;
	}
	mp_store_note(tree->run->store, MP_PROBLEM, "pipeline-no-tree", tree->run->framework.path, -1,
		      "operation %lld of the data pipeline is named as a child more than once",
		      (long long)id);
	return NULL;
}

/* Children that have a queue; others give way to their own children, breadth first. False when memory is out.
 */
static bool visible_children(struct tree *tree, const struct cur_pipeline_op *op, id_list *out)
{
	id_list queue = {0};
	bool good = true;
	size_t i, c;

	for (c = 0; good && c < op->children.len; c++)
		good = mp_vec_push(&queue, op->children.at[c]);
	for (i = 0; good && i < queue.len; i++) {
		const struct cur_pipeline_op *child = take_child(tree, queue.at[i]);

		if (!child)
			continue;
		if (child->has_queue)
			good = mp_vec_push(out, child->id);
		for (c = 0; good && !child->has_queue && c < child->children.len; c++)
			good = mp_vec_push(&queue, child->children.at[c]);
	}
	mp_vec_release(&queue);
	return good;
}

static void put_list(struct mp_out *out, const int64_t *at, size_t n)
{
	size_t i;

	if (n > 1)
		mp_out_str(out, "\"");
	mp_out_str(out, "[");
	for (i = 0; i < n; i++) {
		if (i)
			mp_out_str(out, ", ");
		mp_out_i64(out, at[i]);
	}
	mp_out_str(out, n > 1 ? "]\"" : "]");
}

static void put_op(const struct cur_pipeline *pipeline, const struct cur_pipeline_op *op, int64_t parent,
		   const id_list *children, struct mp_out *out)
{
	double mean = cur_pipeline_queue_mean(op);

	mp_out_i64(out, op->id);
	mp_out_str(out, ",");
	cur_csv_text(out, op->type.text, op->type.len);
	mp_out_str(out, ",");
	mp_out_i64(out, op->n_workers);
	mp_out_str(out, ",");
	if (op->has_queue) {
		put_list(out, op->sizes.at, op->sizes.len);
		mp_out_str(out, ",");
		mp_out_double(out, mean);
		mp_out_str(out, ",");
		mp_out_i64(out, op->queue_length);
		mp_out_str(out, ",");
		mp_out_double(out, mean / (double)op->queue_length);
	} else {
		mp_out_str(out, ",,,");
	}
	mp_out_str(out, ",");
	cur_csv_text(out, pipeline->interval.text, pipeline->interval.len);
	mp_out_str(out, ",");
	if (parent >= 0)
		mp_out_i64(out, parent);
	mp_out_str(out, ",");
	if (children->len)
		put_list(out, children->at, children->len);
	mp_out_str(out, "\r\n");
}

static bool put_tree(struct tree *tree, struct mp_out *out)
{
	MP_VEC(struct visit) visits = {0};
	bool good = mp_vec_push(&visits, (struct visit){0, -1});
	size_t i, c;

	for (i = 0; good && i < visits.len; i++) {
		const struct cur_pipeline_op *op = cur_pipeline_op(tree->pipeline, visits.at[i].id);
		id_list children = {0};

		good = visible_children(tree, op, &children);
		if (good)
			put_op(tree->pipeline, op, visits.at[i].parent, &children, out);
		for (c = 0; good && c < children.len; c++)
			good = mp_vec_push(&visits, (struct visit){children.at[c], op->id});
		mp_vec_release(&children);
	}
	mp_vec_release(&visits);
	return good;
}

static mp_status write_raw(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	struct tree tree = {.run = run};
	bool good;

	MP_TRY(cur_load_pipeline(run, err));
	tree.pipeline = run->pipeline;
	if (!tree.pipeline->found)
		return MINDPROF_OK;
	tree.seen = mp_calloc(tree.pipeline->ops.len, sizeof(*tree.seen));
	if (!tree.seen)
		return mp_err_nomem(err, tree.pipeline->ops.len);
	tree.seen[0] = true; /* operation 0, the root */
	mp_out_str(out, "op_id,op_type,num_workers,output_queue_size,output_queue_average_size,"
			"output_queue_length,output_queue_usage_rate,sample_interval,parent_id,"
			"children_id\r\n");
	good = put_tree(&tree, out);
	mp_free(tree.seen);
	return good ? MINDPROF_OK : mp_err_nomem(err, 0);
}

static bool wanted(const struct cur_run *run)
{
	return (run->params.found && run->params.data_process) || cur_corrects(run, CUR_FIX_LOST_OUTPUTS);
}

const struct cur_output cur_minddata_raw = {
	.name = "minddata_pipeline_raw_%s.csv",
	.about = "The operations of the data pipeline and the samples of their queues.",
	.wanted = wanted,
	.write = write_raw,
};
