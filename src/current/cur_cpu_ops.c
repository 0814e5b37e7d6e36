/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions of CPU operators. Input: FRAMEWORK/cpu_op_execute_timestamp_{rank}.txt. Output:
 * run->cpu_ops in file order (analysis-current.md sections 5.2, 6).
 */
#include <stdlib.h>
#include <string.h>

#include "current/cur.h"
#include "readers/rd_cpu_ops.h"

#include "base/banned.h"

/*
 * The original multiplies nanoseconds with the binary fraction nearest to 0.001, which is
 * 0.001000000000000000020816681711721685..., and rounds to 3 decimals: nanoseconds plus this share of them.
 */
#define SHARE_TOO_LATE 2.0816681711721685e-17

static int64_t original_start(int64_t ns)
{
	double late_ns = (double)ns * SHARE_TOO_LATE;
	int64_t whole = (int64_t)late_ns;
	double rest = late_ns - (double)whole;
	bool up = rest > 0.5 || (rest == 0.5 && ((ns ^ whole) & 1)); /* to the even sum */

	return cur_add_ns(ns, whole + up);
}

static bool take(struct cur_run *run, const struct mp_cpu_runs *runs, const uint32_t *names)
{
	uint32_t type = mp_store_string(run->store, "HostCpuOps");
	size_t i;

	if (type == MP_STR_NONE || !mp_vec_reserve(&run->cpu_ops.events, runs->runs.len))
		return false;
	for (i = 0; i < runs->runs.len; i++) {
		const struct mp_cpu_run *at = &runs->runs.at[i];
		struct cur_cpu_op op = {.ts_ns = at->start_ns,
					.dur_ns = at->dur_ns,
					.tid = at->tid,
					.type = type,
					.name = names[at->op]};

		if (!cur_corrects(run, CUR_FIX_CPU_OP_START))
			op.ts_ns = original_start(op.ts_ns);
		run->cpu_ops.events.at[run->cpu_ops.events.len++] = op;
	}
	return true;
}

static mp_status take_all(struct cur_run *run, const struct mp_cpu_runs *runs, mp_err *err)
{
	uint32_t *names = mp_calloc(runs->ops.len, sizeof(*names));
	bool good = names != NULL;
	size_t i;

	for (i = 0; good && i < runs->ops.len; i++) {
		names[i] = mp_strtab_add(mp_store_strings(run->store), runs->ops.at[i].name,
					 runs->ops.at[i].name_len);
		good = names[i] != MP_STR_NONE;
	}
	good = good && take(run, runs, names);
	mp_free(names);
	return good ? MINDPROF_OK : mp_err_nomem(err, runs->runs.len * sizeof(struct cur_cpu_op));
}

mp_status cur_load_cpu_ops(struct cur_run *run, mp_err *err)
{
	int32_t rank = *run->params.rank_id ? (int32_t)strtol(run->params.rank_id, NULL, 10) : -1;
	struct mp_cpu_runs runs;
	mp_err failure = {0};
	mp_status status;

	if (run->loaded_cpu_ops)
		return MINDPROF_OK;
	run->loaded_cpu_ops = true;
	if (!run->params.cpu || run->framework.fd < 0)
		return MINDPROF_OK;
	status = mp_cpu_runs_load(&run->framework, rank, &runs, &failure);
	if (!status) {
		mp_faults_note(run->store, runs.file.path, runs.faults, mp_cpu_fault_kinds, MP_CPU_FAULTS);
		if (runs.runs.len)
			status = take_all(run, &runs, &failure);
	}
	if (status == MINDPROF_E_NOT_FOUND && run->params.npu)
		mp_store_note(
			run->store, MP_INFO, "no-cpu-operators", run->framework.path, -1,
			"no cpu_op_execute_timestamp_*.txt: no operator ran on the CPU, or the file is lost");
	mp_cpu_runs_release(&runs);
	if (!status || status == MINDPROF_E_NOT_FOUND)
		return MINDPROF_OK;
	return cur_go_on_without(run, failure.n_causes ? failure.causes[0].path : run->framework.path, status,
				 &failure, err);
}
