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

#endif
