/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of a recording. Input: profiler_info_{rank}.json (analysis-current.md section 1). Output:
 * struct cur_params; without the file, what fits the directories that are there.
 */
#include <string.h>

#include "current/cur.h"
#include "formats/fmt_framework.h"

#include "base/banned.h"

/* Members of these become facts "<name>" without a prefix: their keys differ. */
static const struct mp_fact_rule rules[] = {
	{"profiler_parameters", ""},
	{"ms_profiler_info", ""},
	{"cann_profiler_info", NULL},
	{"analysis_cost_time", NULL},
	{NULL, NULL},
};

static bool is_text(const struct mp_store *facts, const char *key, const char *text)
{
	return mp_str_is(mp_store_fact(facts, key), text);
}

static bool is_true(const struct mp_store *facts, const char *key)
{
	return is_text(facts, key, "true");
}

/* A JSON array of strings holds one of them; `quoted` is with its quotes. */
static bool lists(const struct mp_store *facts, const char *key, const char *quoted)
{
	return mp_str_holds(mp_store_fact(facts, key), quoted);
}

/* Decimal text only, as file names hold it. */
static void take_id(const struct mp_store *facts, const char *key, char *out, size_t size)
{
	struct mp_str value = mp_store_fact(facts, key);
	size_t i;

	for (i = 0; i < value.len; i++)
		if (value.text[i] < '0' || value.text[i] > '9')
			return;
	if (value.len && value.len < size) {
		memcpy(out, value.text, value.len);
		out[value.len] = '\0';
	}
}

static void take_facts(const struct mp_store *facts, struct cur_params *params)
{
	params->found = true;
	params->cpu = lists(facts, "activities", "\"CPU\"");
	params->npu = lists(facts, "activities", "\"NPU\"");
	params->schedule = is_true(facts, "is_set_schedule");
	params->o2 = is_text(facts, "jit_level", "O2");
	params->level_none = is_text(facts, "profiler_level", "LevelNone");
	params->level0 = is_text(facts, "profiler_level", "Level0");
	params->data_process = is_true(facts, "data_process");
	params->profile_memory = is_true(facts, "profile_memory");
	params->record_shapes = is_true(facts, "record_shapes");
	params->text = lists(facts, "export_type", "\"text\"");
	params->db = lists(facts, "export_type", "\"db\"");
	take_id(facts, "rank_id", params->rank_id, sizeof(params->rank_id));
	take_id(facts, "device_id", params->device_id, sizeof(params->device_id));
}

/* Everything that the data may carry is wanted. */
static void assume(struct cur_run *run)
{
	run->params = (struct cur_params){
		.cpu = run->framework.fd >= 0,
		.npu = run->prof.fd >= 0 || run->exported.fd >= 0,
		.schedule = true,
		.data_process = true,
		.profile_memory = true,
		.record_shapes = true,
		.text = true,
	};
}

mp_status cur_params_load(struct cur_run *run, mp_err *err)
{
	struct mp_store_options options = {0};
	struct mp_ranked_file info;
	struct mp_store *facts;
	struct mp_file file;
	mp_status status;
	int64_t offset;

	assume(run);
	status = mp_ranked_file_find(&run->rank_dir, MP_FWK_INFO_PREFIX, MP_FWK_INFO_SUFFIX, -1, &info);
	if (!status)
		status = mp_file_open_at(&run->rank_dir, info.name, &file, NULL);
	if (status) /* a file that cannot be read is noted by the reader of facts (rd_info.c), like a damaged
		       one */
		return status == MINDPROF_E_NOMEM ? mp_err_nomem(err, 0) : MINDPROF_OK;
	status = mp_store_new(&options, &facts, err);
	if (!status) {
		/* another profiler's file of that name says nothing of activities */
		if (mp_facts_from_json(facts, file.data, file.size, "", rules, &offset) &&
		    mp_store_fact(facts, "activities").len)
			take_facts(facts, &run->params);
		if (mp_store_n_notes(facts)) /* some are lost */
			status = mp_err_nomem(err, 0);
		mp_store_free(facts);
	}
	mp_file_close(&file);
	return status;
}
