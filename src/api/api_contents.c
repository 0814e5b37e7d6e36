/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rank directory holds and who reads it (raw-host.md section 0, analysis-current.md section
 * 1). Used to say what was found, what is not read, and what nobody knows.
 */
#include <fnmatch.h>

#include "api/api_trace.h"

#include "base/banned.h"

#define FWK "FRAMEWORK"

const struct api_content api_contents[] = {
	{"", "MINDPROF/", "native", "MindProf recording", MP_INFO},
	{"", "*.mpr", "native", "MindProf recording", MP_INFO},
	{"", FWK "/", NULL, "", MP_INFO},
	{"", API_OUTPUT_DIR "/", NULL, "results of an analysis", MP_INFO},
	{"", "logs/", NULL, "logs of MindSpore's profiler", MP_INFO},
	{"", "profiler_info_*.json", "run-info", "profiler parameters", MP_INFO},
	{"", "profiler_metadata.json", "run-info", "user metadata", MP_INFO},
	{"", "PROF_*/", API_BY_OUTPUTS, "CANN device data", MP_INFO},
	{FWK, "mindspore.op_range", "op-range", "framework ranges", MP_INFO},
	{FWK, "op_range_*", "op-range", "framework ranges", MP_INFO},
	{FWK, "cpu_op_*", "cpu-ops", "CPU operators", MP_INFO},
	{FWK, "cpu_framework_*.txt", "cpu-ops", "CPU operator shapes", MP_INFO},
	{FWK, "cpu_ms_memory_record_*.txt", "cpu-ops", "CPU memory pools", MP_INFO},
	{FWK, "mindspore.memory_usage", API_BY_OUTPUTS, "device memory of operators", MP_INFO},
	{FWK, "mindspore.record_shapes", API_BY_OUTPUTS, "operator shapes", MP_INFO},
	{FWK, "pipeline_profiling_*.json", API_BY_OUTPUTS, "data pipeline", MP_INFO},
	{FWK, "minddata_cpu_utilization_*.json", API_BY_OUTPUTS, "data pipeline CPU use", MP_INFO},
	{FWK, "device_queue_profiling_*.txt", API_BY_OUTPUTS, "device queue", MP_INFO},
	{FWK, "dataset_iterator_profiling_*.txt", API_BY_OUTPUTS, "dataset iterator", MP_INFO},
	{FWK, "parallel_strategy_*.json", NULL, "parallel strategy", MP_INFO},
	{FWK, "gpu_*", NULL, "GPU operators", MP_WARNING},
	{FWK, "activity_execute_timestamp_*.txt", NULL, "GPU activities", MP_WARNING},
	{NULL, NULL, NULL, NULL, MP_INFO},
};

static bool matches(const struct api_content *content, const char *folder, const struct mp_dir_entry *entry)
{
	char pattern[64];
	size_t len = strlen(content->pattern);
	bool wants_dir = content->pattern[len - 1] == '/';

	/* MindSpore 2.3 has the files of FRAMEWORK in the directory itself. */
	if ((*folder && strcmp(content->folder, folder) != 0) ||
	    (wants_dir ? !entry->is_dir : !entry->is_file))
		return false;
	memcpy(pattern, content->pattern, len + 1);
	pattern[len - wants_dir] = '\0';
	return !fnmatch(pattern, entry->name, FNM_PERIOD);
}

const struct api_content *api_content_lookup(const char *folder, const struct mp_dir_entry *entry)
{
	const struct api_content *content;

	for (content = api_contents; content->pattern; content++)
		if (matches(content, folder, entry))
			return content;
	return NULL;
}
