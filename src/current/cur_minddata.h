/* SPDX-License-Identifier: Apache-2.0 */
/* The data pipeline as MindData sampled it (cur_minddata.c; analysis-current.md sections 5.4, 8.9, 8.10). */
#ifndef MP_CUR_MINDDATA_H
#define MP_CUR_MINDDATA_H

#include "current/cur.h"

struct cur_pipeline_op {
	int64_t id, n_workers;
	struct mp_str type;      /* "BatchOp"; borrowed from the string table */
	bool has_queue;
	int64_t queue_length;
	MP_VEC(int64_t) sizes;   /* queue depth by sample */
	MP_VEC(int64_t) children;
	int64_t parent;          /* -1 = none */
	double cpu_sum;          /* of user + system by sample */
	uint64_t n_cpu;
};

struct cur_pipeline {
	MP_VEC(struct cur_pipeline_op) ops; /* by id */
	struct mp_str interval;             /* JSON text; borrowed from the string table */
	const struct cur_pipeline_op **feeders; /* owned; by place: see cur_pipeline_feeder */
	bool found, has_cpu, has_times, is_device_queue;
	size_t n_cpu_ops;                   /* of the CPU file, op -1 left out */
	double times_ms[3];                 /* sums: pipeline, push, batch */
	uint64_t n_times[3];
};

/* Into run->pipeline, once; empty when the files are absent or broken, which is noted. Failure: memory. */
mp_status cur_load_pipeline(struct cur_run *run, mp_err *err);
/* NULL when there is no such op. */
const struct cur_pipeline_op *cur_pipeline_op(const struct cur_pipeline *pipeline, int64_t id);
double cur_pipeline_queue_mean(const struct cur_pipeline_op *op);

/* ---- figures (cur_minddata_figures.c); -1 = not known ---- */

#define CUR_PIPELINE_BUSY_PCT 75.0
#define CUR_PIPELINE_IDLE_PCT 20.0
#define CUR_PIPELINE_EMPTY_QUEUE_PCT 10.0
#define CUR_PIPELINE_LEAF_QUEUE_PCT 50.0
#define CUR_PIPELINE_QUEUE_GAP_PCT 50.0
#define CUR_PIPELINE_STARVED_PCT 60.0

double cur_pipeline_queue_size(const struct cur_pipeline_op *op);     /* mean, 2 decimals */
double cur_pipeline_queue_use(const struct cur_pipeline_op *op);      /* percent of its length */
double cur_pipeline_queue_empty(const struct cur_pipeline_op *op);    /* percent of the samples */
double cur_pipeline_cpu_use(const struct cur_pipeline_op *op);        /* percent of a core */
double cur_pipeline_cpu_per_worker(const struct cur_pipeline_op *op); /* percent of a core */
/* "Batch" of "BatchOp". */
struct mp_str cur_pipeline_name(const struct cur_pipeline_op *op);
bool cur_pipeline_is(const struct cur_pipeline_op *op, const char *name);
/* Operations that do no work of their own. */
bool cur_pipeline_is_passive(const struct cur_pipeline_op *op);
bool cur_pipeline_is_device_queue(const struct cur_run *run, const struct cur_pipeline_op *op);
/* Fills feeders, after everything else. False when memory is out. */
bool cur_pipeline_find_feeders(struct cur_pipeline *pipeline);
/* The nearest operation along first children that has a queue; NULL = none. */
const struct cur_pipeline_op *cur_pipeline_feeder(const struct cur_pipeline *pipeline,
						  const struct cur_pipeline_op *op);
/* The operation nearest to the root that holds the others up, NULL = none; *busy tells why. */
const struct cur_pipeline_op *cur_pipeline_bottleneck(const struct cur_run *run, const struct cur_pipeline *pipeline,
						      bool *busy);

#endif
