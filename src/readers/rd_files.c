/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the framework's files by name and rank, and single values of its small JSON files.
 * Input: a rank directory. Documents: docs/formats/framework.md and cpu.md (who writes which suffix).
 */
#include "readers/readers.h"

#include <errno.h>
#include <fcntl.h>

#include "base/json_in.h"
#include "base/mem.h"
#include "base/num.h"
#include "formats/fmt_framework.h"

#include "base/banned.h"

mp_status mp_dir_reopen(const struct mp_dir *dir, struct mp_dir *out, mp_err *err)
{
	char *path = mp_strdup(dir->path);

	if (!path)
		return mp_err_nomem(err, strlen(dir->path) + 1);
	out->fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out->fd < 0) {
		int errnum = errno;

		mp_free(path);
		return mp_err_sys(err, errnum, dir->path, "cannot open directory '%s'", dir->path);
	}
	out->path = path;
	return MINDPROF_OK;
}

mp_status mp_framework_dir_open(const struct mp_dir *dir, struct mp_dir *out, mp_err *err)
{
	mp_status status = mp_dir_open_at(dir, MP_FWK_DIR, out, NULL);

	if (status == MINDPROF_E_NOMEM)
		return mp_err_nomem(err, 0);
	return status == MINDPROF_OK ? status : mp_dir_reopen(dir, out, err);
}

/* The rank in a name of the pattern, -1 when it is another name. */
static int32_t rank_of_name(const char *name, const char *prefix, const char *suffix)
{
	size_t len = strlen(name), head = strlen(prefix), tail = strlen(suffix);
	uint64_t rank;

	if (len <= head + tail || memcmp(name, prefix, head) != 0 ||
	    memcmp(name + len - tail, suffix, tail) != 0)
		return -1;
	if (!mp_num_parse_u64(name + head, len - head - tail, &rank) || rank > INT32_MAX)
		return -1;
	return (int32_t)rank;
}

mp_status mp_ranked_file_find(const struct mp_dir *dir, const char *prefix, const char *suffix, int32_t rank,
			      struct mp_ranked_file *out)
{
	struct mp_dir_entry *entries = NULL;
	const struct mp_dir_entry *best = NULL;
	int32_t best_rank = -1;
	uint32_t n_matches = 0;
	size_t n = 0;

	MP_TRY(mp_dir_list(dir, &entries, &n, NULL));
	for (size_t i = 0; i < n; i++) {
		int32_t found = entries[i].is_file ? rank_of_name(entries[i].name, prefix, suffix) : -1;

		if (found < 0)
			continue;
		n_matches++;
		if (!best || found == rank || (best_rank != rank && found < best_rank)) {
			best = &entries[i];
			best_rank = found;
		}
	}
	if (best) {
		memcpy(out->name, best->name, sizeof(out->name));
		out->rank = best_rank;
		out->n_others = n_matches - 1;
	}
	mp_free(entries);
	return best ? MINDPROF_OK : MINDPROF_E_NOT_FOUND;
}

/* Moves to the value of `key` in the object just entered. */
static bool enter_member(struct mp_json *json, const char *key)
{
	enum mp_json_type type;

	while ((type = mp_json_next(json)) == MP_JSON_KEY) {
		if (mp_json_key_is(json, key))
			return true;
		type = mp_json_next(json);
		if (type == MP_JSON_ERROR)
			return false;
		if ((type == MP_JSON_OBJECT || type == MP_JSON_ARRAY) && !mp_json_skip(json, type))
			return false;
	}
	return false;
}

/* Moves before item number `index` of the array just entered. */
static bool enter_item(struct mp_json *json, uint64_t index)
{
	for (; index > 0; index--) {
		enum mp_json_type type = mp_json_next(json);

		if (type == MP_JSON_ERROR || type == MP_JSON_ARRAY_END)
			return false;
		if ((type == MP_JSON_OBJECT || type == MP_JSON_ARRAY) && !mp_json_skip(json, type))
			return false;
	}
	return true;
}

bool mp_json_scalar(const void *data, size_t size, const char *const *keys, size_t n_keys, struct mp_buf *out)
{
	struct mp_json json;
	enum mp_json_type type;

	mp_json_init(&json, data, size);
	type = mp_json_next(&json);
	for (size_t i = 0; i < n_keys; i++) {
		uint64_t index;

		if (type == MP_JSON_OBJECT) {
			if (!enter_member(&json, keys[i]))
				return false;
		} else if (type != MP_JSON_ARRAY || !mp_num_parse_u64(keys[i], strlen(keys[i]), &index) ||
			   !enter_item(&json, index)) {
			return false;
		}
		type = mp_json_next(&json);
	}
	mp_buf_clear(out);
	if (type == MP_JSON_STRING) {
		struct mp_json_str text = mp_json_string(&json, out);

		if (text.text != out->data) {
			mp_buf_clear(out);
			mp_buf_add(out, text.text, text.len);
		}
	} else if (type == MP_JSON_NUMBER || type == MP_JSON_TRUE || type == MP_JSON_FALSE) {
		mp_buf_add(out, json.text, json.len);
	} else {
		return false;
	}
	return out->failed == MINDPROF_OK;
}
