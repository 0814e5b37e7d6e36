/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of a CPU run as kernels of the device "CPU". Input: cpu_op_execute_timestamp, cpu_framework.
 * Output: kernel_details.csv, operator_details.csv and the groups of op_statistic.csv.
 */
#include "current/cur_cpu_kernels.h"

#include <stdlib.h>

#include "base/hash.h"
#include "current/cur_csv.h"
#include "readers/rd_cpu_ops.h"

#include "base/banned.h"

struct kernel {
	int64_t ts_ns, dur_ns, tid;
	struct mp_str name; /* borrowed from the file */
	uint32_t shapes;    /* string id, 0 = not known */
	uint32_t order;     /* in the file */
};

struct kernels {
	struct cur_run *run;
	struct mp_cpu_runs runs;  /* owned */
	MP_VEC(struct kernel) at; /* by begin */
};

static int compare_kernels(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static bool take_runs(struct kernels *kernels, const uint32_t *shapes)
{
	size_t i;

	if (!mp_vec_reserve(&kernels->at, kernels->runs.runs.len))
		return false;
	for (i = 0; i < kernels->runs.runs.len; i++) {
		const struct mp_cpu_run *run = &kernels->runs.runs.at[i];
		const struct mp_cpu_op *op = &kernels->runs.ops.at[run->op];

		kernels->at.at[kernels->at.len++] =
			(struct kernel){run->start_ns, run->dur_ns, run->tid, {op->name, op->name_len},
					shapes[i],     (uint32_t)i};
	}
	if (kernels->at.len)
		qsort(kernels->at.at, kernels->at.len, sizeof(*kernels->at.at), compare_kernels);
	return true;
}

/* Faults of the files are noted by those who read them for the timeline. Release in every case. */
static mp_status load(struct cur_run *run, struct kernels *out, mp_err *err)
{
	int32_t rank = *run->params.rank_id ? (int32_t)strtol(run->params.rank_id, NULL, 10) : -1;
	uint32_t *shapes;
	mp_status status;

	*out = (struct kernels){.run = run};
	if (run->framework.fd < 0)
		return MINDPROF_OK;
	status = mp_cpu_runs_load(&run->framework, rank, &out->runs, NULL);
	if (status)
		return status == MINDPROF_E_NOMEM ? mp_err_nomem(err, 0) : MINDPROF_OK;
	shapes = mp_calloc(out->runs.runs.len + 1, sizeof(*shapes));
	if (!shapes)
		return mp_err_nomem(err, out->runs.runs.len * sizeof(*shapes));
	status = mp_cpu_shapes_read(&run->framework, &out->runs, run->store, shapes, err);
	if (!status && !take_runs(out, shapes))
		status = mp_err_nomem(err, out->runs.runs.len * sizeof(struct kernel));
	mp_free(shapes);
	return status;
}

static void release(struct kernels *kernels)
{
	mp_cpu_runs_release(&kernels->runs);
	mp_vec_release(&kernels->at);
}

/* ---- kernel_details.csv ---- */

/* End of the kernel before, by thread. */
static bool wait_of(struct mp_map64 *ends, const struct kernel *kernel, int64_t *wait_ns)
{
	const uint64_t *before = mp_map64_lookup(ends, (uint64_t)kernel->tid);
	int64_t end_ns;

	if (!before || __builtin_sub_overflow(kernel->ts_ns, (int64_t)*before, wait_ns) || *wait_ns < 0)
		*wait_ns = 0;
	if (__builtin_add_overflow(kernel->ts_ns, kernel->dur_ns, &end_ns))
		end_ns = INT64_MAX;
	return mp_map64_put(ends, (uint64_t)kernel->tid, (uint64_t)end_ns);
}

static void put_text(struct mp_out *out, struct mp_str text)
{
	cur_csv_text(out, text.text, text.len);
	mp_out_str(out, ",");
}

static void put_kernel(const struct kernels *kernels, const struct kernel *kernel, int64_t wait_ns,
		       struct mp_out *out)
{
	const struct cur_run *run = kernels->run;
	const struct cur_step *step;

	if (run->steps.at.len) {
		step = cur_step_at(&run->steps, kernel->ts_ns);
		put_text(out, step ? mp_store_text(run->store, step->id) : (struct mp_str){"", 0});
	}
	mp_out_i64(out, kernel->tid);
	mp_out_str(out, ",");
	put_text(out, kernel->name);
	put_text(out, mp_cpu_type_of_name(kernel->name.text, kernel->name.len));
	mp_out_str(out, "CPU,");
	mp_out_us3(out, kernel->ts_ns);
	mp_out_str(out, ",");
	mp_out_us3(out, kernel->dur_ns);
	mp_out_str(out, ",");
	mp_out_us3(out, wait_ns);
	mp_out_str(out, ",");
	if (kernel->shapes) {
		struct mp_str shapes = mp_store_text(run->store, kernel->shapes);

		cur_csv_text(out, shapes.text, shapes.len);
	} else {
		mp_out_str(out, "N/A");
	}
	mp_out_str(out, "\r\n");
}

mp_status cur_cpu_kernel_details(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	struct mp_map64 ends = {0};
	struct kernels kernels;
	mp_status status;
	int64_t wait_ns;
	size_t i;

	MP_TRY(cur_load_steps(run, err));
	status = load(run, &kernels, err);
	if (!status && kernels.at.len) {
		mp_out_str(out, run->steps.at.len ? "Step ID," : "");
		mp_out_str(out,
			   "Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),"
			   "Input Shapes\r\n");
	}
	for (i = 0; !status && i < kernels.at.len; i++) {
		if (!wait_of(&ends, &kernels.at.at[i], &wait_ns))
			status = mp_err_nomem(err, 0);
		put_kernel(&kernels, &kernels.at.at[i], wait_ns, out);
	}
	mp_map64_release(&ends);
	release(&kernels);
	return status;
}

/* ---- operator_details.csv ---- */

mp_status cur_cpu_operator_details(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	struct kernels kernels;
	mp_status status = load(run, &kernels, err);
	bool first = true;
	size_t i;

	for (i = 0; !status && i < kernels.at.len; i++) {
		const struct kernel *kernel = &kernels.at.at[i];
		struct mp_str shapes = mp_store_text(run->store, kernel->shapes);

		if (!kernel->shapes)
			continue;
		if (first)
			mp_out_str(out, "Name,Input Shapes\r\n");
		first = false;
		put_text(out, kernel->name);
		cur_csv_text(out, shapes.text, shapes.len);
		mp_out_str(out, "\r\n");
	}
	release(&kernels);
	return status;
}

/* ---- groups ---- */

static bool add_to_group(cur_op_groups *groups, struct mp_map64 *index, struct mp_str type, int64_t dur_ns)
{
	uint64_t hash = mp_hash_bytes(type.text, type.len, 0);
	const uint64_t *found = mp_map64_lookup(index, hash);
	struct cur_op_group key = {.device = {"CPU", 3}, .type = type, .core = {"CPU", 3}};

	if (!found && (!mp_map64_put(index, hash, groups->len) || !mp_vec_push(groups, key)))
		return false;
	cur_op_group_add(&groups->at[found ? (size_t)*found : groups->len - 1], dur_ns);
	return true;
}

/* A type outlives the file that it stands in. */
static bool keep_types(struct cur_run *run, cur_op_groups *groups)
{
	size_t i;

	for (i = 0; i < groups->len; i++) {
		uint32_t id = mp_strtab_add(mp_store_strings(run->store), groups->at[i].type.text,
					    groups->at[i].type.len);

		if (id == MP_STR_NONE)
			return false;
		groups->at[i].type = mp_store_text(run->store, id);
	}
	return true;
}

mp_status cur_cpu_op_groups(struct cur_run *run, cur_op_groups *out, mp_err *err)
{
	struct mp_map64 index = {0};
	struct kernels kernels;
	mp_status status = load(run, &kernels, err);
	bool good = true;
	size_t i;

	for (i = 0; !status && good && i < kernels.at.len; i++) {
		const struct kernel *kernel = &kernels.at.at[i];

		good = add_to_group(out, &index, mp_cpu_type_of_name(kernel->name.text, kernel->name.len),
				    kernel->dur_ns);
	}
	if (!status && (!good || !keep_types(run, out)))
		status = mp_err_nomem(err, 0);
	mp_map64_release(&index);
	release(&kernels);
	return status;
}
