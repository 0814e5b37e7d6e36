/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for the report made from a rank directory; listed in cur_tables.c, one file each. */
#ifndef MP_CUR_TABLES_H
#define MP_CUR_TABLES_H

#include "current/cur.h"
#include "store/st_table.h"

struct cur_table {
	const struct mp_table_shape *shape;
	/* Failure: memory. An empty table says why. */
	mp_status (*fill)(struct cur_run *run, struct mp_table *out, mp_err *err);
};

/* NULL-terminated, in the order of a report. */
extern const struct cur_table *const cur_tables[];
extern const struct cur_table cur_table_step_times, cur_table_kernels, cur_table_kernel_shapes,
	cur_table_communication, cur_table_data_pipeline, cur_table_device_memory;

#endif
