/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a rank directory, in the order of a report. One line per table. */
#include "current/cur_tables.h"

#include "base/banned.h"

const struct cur_table *const cur_tables[] = {
	&cur_table_step_times,
	&cur_table_kernels,
	&cur_table_kernel_shapes,
	&cur_table_communication,
	&cur_table_data_pipeline,
	&cur_table_device_memory,
	NULL,
};
