/* SPDX-License-Identifier: Apache-2.0 */
/* Executions of CPU operators as their text file has them; shared by the readers that need them. */
#ifndef MP_RD_CPU_OPS_H
#define MP_RD_CPU_OPS_H

#include "base/vec.h"
#include "readers/readers.h"

struct mp_cpu_op {
	const char *name; /* full name; borrowed from the file */
	size_t name_len;
};

struct mp_cpu_run { /* one execution */
	int64_t start_ns, dur_ns;
	int64_t tid; /* worker of the actor thread pool, not an OS thread */
	uint32_t op; /* index into ops */
};

enum mp_cpu_fault { MP_CPU_BAD_LINE, MP_CPU_BAD_ITEM, MP_CPU_CUT, MP_CPU_FAULTS };
extern const struct mp_fault_kind mp_cpu_fault_kinds[MP_CPU_FAULTS];

struct mp_cpu_runs {
	struct mp_file file; /* owned */
	int32_t rank;        /* from the file's name */
	uint32_t n_other_files;
	MP_VEC(struct mp_cpu_op) ops;   /* in file order */
	MP_VEC(struct mp_cpu_run) runs; /* in file order */
	struct mp_fault faults[MP_CPU_FAULTS];
};

/* Finds cpu_op_execute_timestamp_{rank}.txt (readers.h: mp_ranked_file_find) and reads all of it.
 * E_NOT_FOUND when there is none. Release in either case. */
mp_status mp_cpu_runs_load(const struct mp_dir *framework, int32_t rank, struct mp_cpu_runs *out, mp_err *err);
void mp_cpu_runs_release(struct mp_cpu_runs *runs);

/* Text after the last '/', and of that the text before the last '-': "Default/fc-Dense/MatMul-op0" is a "MatMul". */
struct mp_str mp_cpu_short_name(const char *name, size_t len);
struct mp_str mp_cpu_type_of_name(const char *name, size_t len);

/*
 * Input shapes from cpu_framework_{rank}.txt: shape_ids[i] is the string id of the shapes of run i
 * ("2,3;3,4"), 0 when not known. The array has room for every run.
 */
mp_status mp_cpu_shapes_read(const struct mp_dir *framework, const struct mp_cpu_runs *runs, struct mp_store *store,
			     uint32_t *shape_ids, mp_err *err);

/* Compares the counts and totals that the detail and type files give with the executions; notes what differs. */
mp_status mp_cpu_totals_check(const struct mp_dir *framework, const struct mp_cpu_runs *runs,
			      struct mp_store *store, mp_err *err);

#endif
