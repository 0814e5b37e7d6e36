/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables that the device tool exported and that go into the results as they are. Input:
 * PROF_x/mindstudio_profiler_output/<prefix>_*.csv. Output: <name>.csv (analysis-current.md section 8.3).
 */
#include <string.h>

#include "current/cur_outputs.h"

#include "base/banned.h"

/* A slice is a part of one table: <prefix>_slice_<i>_<stamp>.csv; the parts share a header. */
static bool is_slice(const char *name, const char *prefix)
{
	return !strncmp(name + strlen(prefix), "_slice_", 7);
}

/* Behind the first line. */
static const uint8_t *after_header(const struct mp_input *input)
{
	const uint8_t *newline = input->size ? memchr(input->data, '\n', input->size) : NULL;

	return newline ? newline + 1 : input->data + input->size;
}

static mp_status copy_file(struct cur_run *run, const char *name, bool without_header, struct mp_out *out,
			   mp_err *err)
{
	struct mp_input input;
	mp_err failure = {0};
	const uint8_t *from;
	mp_status status = mp_input_open_at(&run->exported, name, run->ctx->max_unpacked, &input, &failure);

	if (status)
		return cur_go_on_without(run, run->exported.path, status, &failure, err);
	from = without_header ? after_header(&input) : input.data;
	mp_out_write(out, from, input.size - (size_t)(from - input.data));
	mp_input_close(&input);
	return MINDPROF_OK;
}

/* The stamp at the end of "hbm_20250705072100000.csv". */
static const char *stamp_of(const char *name)
{
	const char *last = strrchr(name, '_');

	return last ? last : name;
}

static size_t choose(const struct cur_run *run, const struct cur_file_list *list)
{
	size_t best = 0, i;

	for (i = 1; cur_corrects(run, CUR_FIX_NEWEST_FILE) && i < list->names.len; i++)
		if (strcmp(stamp_of(list->names.at[i]), stamp_of(list->names.at[best])) > 0)
			best = i;
	return best;
}

static mp_status copy(struct cur_run *run, const char *prefix, const char *pattern, struct mp_out *out,
		      mp_err *err)
{
	struct cur_file_list list;
	mp_status status = MINDPROF_OK;
	bool slices, first = true;
	size_t i;

	MP_TRY(cur_files_find(&run->exported, pattern, &list, err));
	if (!list.names.len && run->exported.fd >= 0 && strstr(prefix, "_statistic"))
		mp_store_note(run->store, MP_PROBLEM, "no-statistic", run->exported.path, -1,
			      "no '%s': every export has one", pattern);
	slices = list.names.len > 1 && is_slice(list.names.at[0], prefix) &&
		 cur_corrects(run, CUR_FIX_LOST_OUTPUTS);
	if (list.names.len && !slices) {
		size_t chosen = choose(run, &list);

		if (list.names.len > 1)
			mp_store_note(run->store, MP_INFO, "several-files", run->exported.path, -1,
				      "%zu files are called '%s', '%s' is used", list.names.len, pattern,
				      list.names.at[chosen]);
		status = copy_file(run, list.names.at[chosen], false, out, err);
	}
	for (i = 0; slices && !status && i < list.names.len; i++) {
		if (!is_slice(list.names.at[i], prefix))
			continue;
		status = copy_file(run, list.names.at[i], !first, out, err);
		first = false;
	}
	cur_files_release(&list);
	return status;
}

static bool wanted(const struct cur_run *run)
{
	return run->params.npu;
}

#define COPY(object, prefix, pattern, result, text)                                           \
	static mp_status write_##object(struct cur_run *run, struct mp_out *out, mp_err *err) \
	{                                                                                     \
		return copy(run, prefix, pattern, out, err);                                  \
	}                                                                                     \
	const struct cur_output cur_##object = {                                              \
		.name = result,                                                               \
		.about = text,                                                                \
		.wanted = wanted,                                                             \
		.write = write_##object,                                                      \
		.original_needs = CUR_NEEDS_TIMELINE,                                         \
	}

COPY(api_statistic, "api_statistic", "api_statistic_*.csv", "api_statistic.csv",
     "Calls of host interfaces by name.");
COPY(static_op_mem, "static_op_mem", "static_op_mem_*.csv", "static_op_mem.csv",
     "Memory of operators as the graph planned it.");
COPY(l2_cache, "l2_cache", "l2_cache_*.csv", "l2_cache.csv", "Hits in the L2 cache by task.");
COPY(hbm, "hbm", "hbm_*.csv", "hbm.csv", "Bandwidth of the device memory.");
COPY(pcie, "pcie", "pcie_*.csv", "pcie.csv", "Bandwidth of PCIe.");
COPY(hccs, "hccs", "hccs_*.csv", "hccs.csv", "Bandwidth of the links between devices.");
COPY(nic, "nic", "nic_*.csv", "nic.csv", "Traffic of the network cards.");
COPY(roce, "roce", "roce_*.csv", "roce.csv", "Traffic of RoCE.");
COPY(data_preprocess, "aicpu", "aicpu_[0-9]*.csv", "data_preprocess.csv", "Operators on the AI CPU.");
COPY(op_statistic, "op_statistic", "op_statistic_*.csv", "op_statistic.csv", "Operators by type.");
