/* SPDX-License-Identifier: Apache-2.0 */
/* The output files of the current layout, in the order of writing. One line per file. */
#include "current/cur_outputs.h"

#include "base/banned.h"

const struct cur_output *const cur_outputs[] = {
	&cur_trace_view,
	&cur_step_trace_time,
	&cur_op_statistic,
	&cur_api_statistic,
	&cur_static_op_mem,
	&cur_l2_cache,
	&cur_hbm,
	&cur_pcie,
	&cur_hccs,
	&cur_nic,
	&cur_roce,
	&cur_data_preprocess,
	&cur_kernel_details,
	&cur_communication_json,
	&cur_communication_matrix,
	&cur_memory_record,
	&cur_npu_module_mem,
	&cur_operator_memory_csv,
	&cur_operator_details,
	&cur_dataset,
	&cur_minddata_raw,
	&cur_minddata_summary_json,
	&cur_minddata_summary_csv,
	NULL,
};
