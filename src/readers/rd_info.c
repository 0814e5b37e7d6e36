/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about a MindSpore run. Input: profiler_info_{rank}.json and profiler_metadata.json of the
 * rank directory. Output: facts ("ms_version", "rank_id", "profiler_parameters.with_stack", ...).
 * Document: docs/formats/framework.md, section "Facts".
 */
#include "formats/fmt_framework.h"
#include "readers/readers.h"

#include "base/banned.h"

static void read_file(const struct mp_dir *dir, const char *name, const char *prefix,
		      const struct mp_fact_rule *rules, struct mp_store *store)
{
	int64_t fault_offset = 0;
	struct mp_file file;
	mp_err err = {0};

	if (mp_file_open_at(dir, name, &file, &err) != MINDPROF_OK) {
		mp_store_note(store, MP_WARNING, "unreadable", dir->path, -1, "cannot read '%s': %s", name,
			      err.n_causes ? err.causes[0].text : "unknown");
		return;
	}
	if (!mp_facts_from_json(store, file.data, file.size, prefix, rules, &fault_offset))
		mp_store_note(store, MP_WARNING, "bad-json", file.path, fault_offset,
			      "file is not one JSON object");
	mp_file_close(&file);
}

static bool has_file(const struct mp_dir *dir, const char *name)
{
	struct mp_file file;

	if (mp_file_open_at(dir, name, &file, NULL) != MINDPROF_OK)
		return false;
	mp_file_close(&file);
	return true;
}

static mp_status info_read(struct mp_ctx *ctx, const struct mp_source *source, struct mp_store *store,
			   mp_err *err)
{
	/* Objects whose members become facts of their own: key, prefix of the facts. */
	static const struct mp_fact_rule rules[] = {
		{"ms_profiler_info", ""}, {"profiler_parameters", "profiler_parameters."}, {NULL, NULL}};
	struct mp_ranked_file info;
	bool found = mp_ranked_file_find(source->dir, MP_FWK_INFO_PREFIX, MP_FWK_INFO_SUFFIX, -1, &info) ==
		     MINDPROF_OK;
	bool metadata = has_file(source->dir, MP_FWK_METADATA_FILE);

	(void)ctx;
	if (!found && !metadata)
		return mp_err_set(err, MINDPROF_E_NOT_FOUND, source->dir->path, -1, "no '%s*' here",
				  MP_FWK_INFO_PREFIX);
	if (found)
		read_file(source->dir, info.name, "", rules, store);
	if (metadata)
		read_file(source->dir, MP_FWK_METADATA_FILE, "metadata.", NULL, store);
	return MINDPROF_OK;
}

/* Low scores: these files say nothing without data beside them. */
static int info_recognise(const struct mp_source *source)
{
	struct mp_ranked_file info;

	if (source->name)
		return 0;
	if (mp_ranked_file_find(source->dir, MP_FWK_INFO_PREFIX, MP_FWK_INFO_SUFFIX, -1, &info) ==
	    MINDPROF_OK)
		return 30;
	return has_file(source->dir, MP_FWK_METADATA_FILE) ? 30 : 0;
}

const struct mp_reader mp_reader_run_info = {
	.name = "run-info",
	.title = "MindSpore profiler parameters",
	.recognise = info_recognise,
	.read = info_read,
};
