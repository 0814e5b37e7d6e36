/* SPDX-License-Identifier: Apache-2.0 */
/* The output files of the current layout, in the order of writing: one line per file. Writing one of them. */
#include "current/cur_outputs.h"

#include "base/banned.h"

const struct cur_output *const cur_outputs[] = {
	&cur_operator_memory_csv, /* while nothing else is in memory */
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
	&cur_operator_details,
	&cur_dataset,
	&cur_minddata_raw,
	&cur_minddata_summary_json,
	&cur_minddata_summary_csv,
	NULL,
};

static bool is_lost(const struct cur_run *run, const struct cur_output *output)
{
	return (output->original_needs & CUR_NEEDS_EXPORT && !cur_corrects(run, CUR_FIX_LOST_OUTPUTS) &&
		!run->device.files.len) ||
	       (output->original_needs & CUR_NEEDS_TIMELINE && !cur_corrects(run, CUR_FIX_PROCESS_TWICE) &&
		run->device.duplicate_process);
}

mp_status cur_output_write(struct cur_run *run, const struct cur_output *output, struct mp_out *out,
			   mp_err *err)
{
	if (output->original_needs & CUR_NEEDS_EXPORT && !cur_corrects(run, CUR_FIX_LOST_OUTPUTS))
		MP_TRY(cur_open_device(run, err));
	if (output->original_needs & CUR_NEEDS_TIMELINE && !cur_corrects(run, CUR_FIX_PROCESS_TWICE))
		MP_TRY(cur_load_device(run, err));
	return is_lost(run, output) ? MINDPROF_OK : output->write(run, out, err);
}
