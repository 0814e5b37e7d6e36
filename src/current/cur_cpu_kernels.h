/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outputs of CPU runs whose kernels are the operators on the CPU (cur_cpu_kernels.c): what the original makes of device
 * kernels only. See CUR_FIX_ALL_TARGETS.
 */
#ifndef MP_CUR_CPU_KERNELS_H
#define MP_CUR_CPU_KERNELS_H

#include "current/cur.h"

/* Whether a run without a device has these outputs. */
static inline bool cur_has_cpu_kernels(const struct cur_run *run)
{
	return !run->params.npu && run->params.cpu && cur_corrects(run, CUR_FIX_ALL_TARGETS);
}

/* Nothing is written when no operator ran. Failure: memory, output. */
mp_status cur_cpu_kernel_details(struct cur_run *run, struct mp_out *out, mp_err *err);
mp_status cur_cpu_operator_details(struct cur_run *run, struct mp_out *out, mp_err *err);

/* One group of op_statistic.csv. */
struct cur_op_group {
	struct mp_str device, type, core;
	int64_t count, total_ns, min_ns, max_ns; /* count 0: the others do not count yet */
};
typedef MP_VEC(struct cur_op_group) cur_op_groups;

static inline void cur_op_group_add(struct cur_op_group *group, int64_t dur_ns)
{
	group->min_ns = group->count ? MP_MIN(group->min_ns, dur_ns) : dur_ns;
	group->max_ns = group->count ? MP_MAX(group->max_ns, dur_ns) : dur_ns;
	group->count++;
	if (__builtin_add_overflow(group->total_ns, dur_ns, &group->total_ns))
		group->total_ns = INT64_MAX;
}

mp_status cur_cpu_op_groups(struct cur_run *run, cur_op_groups *out, mp_err *err);

#endif
