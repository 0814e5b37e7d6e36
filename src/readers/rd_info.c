/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about a MindSpore run. Input: profiler_info_{rank}.json and profiler_metadata.json of the
 * rank directory. Output: facts ("ms_version", "rank_id", "profiler_parameters.with_stack", ...).
 * Document: docs/formats/framework.md, section "Facts".
 */
#include "base/json_in.h"
#include "base/mem.h"
#include "formats/fmt_framework.h"
#include "readers/readers.h"

#include "base/banned.h"

#define FACT_BYTES_MAX 65536u

struct facts {
	struct mp_store *store;
	struct mp_json json;
	struct mp_buf key, value, scratch;
};

/* The value that follows becomes the fact facts->key: strings without quotes, all else as JSON text. */
static bool take_value(struct facts *facts, enum mp_json_type type)
{
	struct mp_json_str text;

	switch (type) {
	case MP_JSON_STRING:
		text = mp_json_string(&facts->json, &facts->value);
		break;
	case MP_JSON_OBJECT:
	case MP_JSON_ARRAY:
		if (!mp_json_skip(&facts->json, type))
			return false;
		text = (struct mp_json_str){facts->json.text, facts->json.len};
		break;
	case MP_JSON_NUMBER:
	case MP_JSON_TRUE:
	case MP_JSON_FALSE:
		text = (struct mp_json_str){facts->json.text, facts->json.len};
		break;
	case MP_JSON_NULL:
		return true;
	default:
		return false;
	}
	mp_store_set_fact(facts->store, mp_buf_str(&facts->key), text.text, MP_MIN(text.len, FACT_BYTES_MAX));
	return true;
}

static bool take_key(struct facts *facts, const char *prefix)
{
	struct mp_json_str key = mp_json_string(&facts->json, &facts->scratch);

	mp_buf_clear(&facts->key);
	mp_buf_add_str(&facts->key, prefix);
	mp_buf_add(&facts->key, key.text, MP_MIN(key.len, 1024));
	return facts->key.failed == MINDPROF_OK;
}

/* The members of the object just entered; objects named in `flat` are entered, too. */
static bool take_members(struct facts *facts, const char *prefix, const char *const *flat)
{
	enum mp_json_type type;

	while ((type = mp_json_next(&facts->json)) == MP_JSON_KEY) {
		const char *inner = NULL;

		for (size_t i = 0; flat && flat[i]; i += 2)
			if (mp_json_key_is(&facts->json, flat[i]))
				inner = flat[i + 1];
		if (!take_key(facts, prefix))
			return false;
		type = mp_json_next(&facts->json);
		if (inner && type == MP_JSON_OBJECT) {
			if (!take_members(facts, inner, NULL))
				return false;
		} else if (!take_value(facts, type)) {
			return false;
		}
	}
	return type == MP_JSON_OBJECT_END;
}

static void read_file(const struct mp_dir *dir, const char *name, const char *const *flat,
		      struct mp_store *store)
{
	struct facts facts = {.store = store};
	struct mp_file file;
	mp_err err = {0};
	bool ok;

	if (mp_file_open_at(dir, name, &file, &err) != MINDPROF_OK) {
		mp_store_note(store, MP_WARNING, "unreadable", dir->path, -1, "cannot read '%s': %s", name,
			      err.n_causes ? err.causes[0].text : "unknown");
		return;
	}
	mp_buf_init(&facts.key, 4096);
	mp_buf_init(&facts.value, file.size + 1);
	mp_buf_init(&facts.scratch, file.size + 1);
	mp_json_init(&facts.json, file.data, file.size);
	ok = mp_json_next(&facts.json) == MP_JSON_OBJECT && take_members(&facts, "", flat) &&
	     mp_json_next(&facts.json) == MP_JSON_END;
	if (!ok)
		mp_store_note(store, MP_WARNING, "bad-json", file.path,
			      facts.json.err_text ? facts.json.err_offset
						  : (int64_t)(facts.json.at - facts.json.begin),
			      "%s",
			      facts.json.err_text ? facts.json.err_text : "file is not one JSON object");
	mp_buf_release(&facts.key);
	mp_buf_release(&facts.value);
	mp_buf_release(&facts.scratch);
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
	static const char *const flat[] = {"ms_profiler_info", "", "profiler_parameters",
					   "profiler_parameters.", NULL};
	struct mp_ranked_file info;
	bool found = mp_ranked_file_find(source->dir, MP_FWK_INFO_PREFIX, MP_FWK_INFO_SUFFIX, -1, &info);
	bool metadata = has_file(source->dir, MP_FWK_METADATA_FILE);

	(void)ctx;
	if (!found && !metadata)
		return mp_err_set(err, MINDPROF_E_NOT_FOUND, source->dir->path, -1, "no '%s*' here",
				  MP_FWK_INFO_PREFIX);
	if (found)
		read_file(source->dir, info.name, flat, store);
	if (metadata)
		read_file(source->dir, MP_FWK_METADATA_FILE, NULL, store);
	return MINDPROF_OK;
}

/* Low scores: these files say nothing without data beside them. */
static int info_recognise(const struct mp_source *source)
{
	struct mp_ranked_file info;

	if (source->name)
		return 0;
	if (mp_ranked_file_find(source->dir, MP_FWK_INFO_PREFIX, MP_FWK_INFO_SUFFIX, -1, &info))
		return 30;
	return has_file(source->dir, MP_FWK_METADATA_FILE) ? 30 : 0;
}

const struct mp_reader mp_reader_run_info = {
	.name = "run-info",
	.title = "MindSpore profiler parameters",
	.recognise = info_recognise,
	.read = info_read,
};
