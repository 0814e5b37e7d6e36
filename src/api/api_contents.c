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
	{"", "MINDPROF/", "native", "MindProf recording", false},
	{"", "*.mpr", "native", "MindProf recording", false},
	{"", FWK "/", NULL, "", false},
	{"", API_OUTPUT_DIR "/", NULL, "results of an analysis", false},
	{"", "logs/", NULL, "logs of MindSpore's profiler", false},
	{"", "profiler_info_*.json", "run-info", "profiler parameters", false},
	{"", "profiler_metadata.json", "run-info", "user metadata", false},
	{"", "PROF_*/", NULL, "device data (CANN)", true},
	{FWK, "mindspore.op_range", "op-range", "framework ranges", false},
	{FWK, "op_range_*", "op-range", "framework ranges", false},
	{FWK, "cpu_op_*", "cpu-ops", "CPU operators", false},
	{FWK, "cpu_framework_*.txt", "cpu-ops", "CPU operator shapes", false},
	{FWK, "cpu_ms_memory_record_*.txt", "cpu-ops", "CPU memory pools", false},
	{FWK, "mindspore.memory_usage", NULL, "device memory of operators", true},
	{FWK, "mindspore.record_shapes", NULL, "operator shapes", true},
	{FWK, "pipeline_profiling_*.json", NULL, "data pipeline", true},
	{FWK, "minddata_cpu_utilization_*.json", NULL, "data pipeline CPU use", true},
	{FWK, "device_queue_profiling_*.txt", NULL, "device queue", true},
	{FWK, "dataset_iterator_profiling_*.txt", NULL, "dataset iterator", true},
	{FWK, "parallel_strategy_*.json", NULL, "parallel strategy", false},
	{FWK, "gpu_*", NULL, "GPU operators", true},
	{FWK, "activity_execute_timestamp_*.txt", NULL, "GPU activities", true},
	{NULL, NULL, NULL, NULL, false},
};

static bool matches(const struct api_content *content, const char *folder, const struct mp_dir_entry *entry)
{
	char pattern[64];
	size_t len = strlen(content->pattern);
	bool wants_dir = content->pattern[len - 1] == '/';

	if (strcmp(content->folder, folder) || (wants_dir ? !entry->is_dir : !entry->is_file))
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
