/* SPDX-License-Identifier: Apache-2.0 */
/* JSON objects as lists of members. Input: the text of an object. Output: its members in order. */
#include <string.h>

#include "base/hash.h"
#include "current/cur_json.h"

#include "base/banned.h"

static bool put_member(cur_members *out, struct mp_map64 *seen, struct cur_member member)
{
	uint64_t key = mp_hash_bytes(member.key.text, member.key.len, 0);
	const uint64_t *found = mp_map64_lookup(seen, key);

	if (found) {
		out->at[*found].value = member.value;
		return true;
	}
	return mp_map64_put(seen, key, out->len) && mp_vec_push(out, member);
}

/* The one spelling of a key with escapes. */
static bool spell_key(struct cur_run *run, const struct mp_json *json, struct mp_str *out)
{
	struct mp_json_str decoded;
	struct mp_buf plain, spelled;
	uint32_t id = MP_STR_NONE;

	mp_buf_init(&plain, SIZE_MAX / 8);
	mp_buf_init(&spelled, SIZE_MAX / 8);
	decoded = mp_json_string(json, &plain);
	mp_json_escape(&spelled, decoded.text, decoded.len);
	if (!plain.failed && !spelled.failed)
		id = mp_strtab_add(mp_store_strings(run->store), spelled.data + 1, spelled.len - 2);
	mp_buf_release(&plain);
	mp_buf_release(&spelled);
	*out = mp_store_text(run->store, id);
	return id != MP_STR_NONE;
}

/* Takes the value behind a key. False at a fault of the text. */
static bool take_value(struct mp_json *json, struct mp_str *out)
{
	enum mp_json_type type = mp_json_next(json);

	if ((type == MP_JSON_OBJECT || type == MP_JSON_ARRAY) && !mp_json_skip(json, type))
		return false;
	*out = (struct mp_str){json->text, json->len};
	if (type == MP_JSON_STRING) /* with its quotes */
		*out = (struct mp_str){json->text - 1, json->len + 2};
	return type != MP_JSON_ERROR;
}

bool cur_members_read(struct cur_run *run, const char *data, size_t size, cur_members *out,
		      int64_t *fault_offset)
{
	struct mp_map64 seen = {0};
	enum mp_json_type type;
	struct mp_json json;
	bool good = true;

	*fault_offset = -1;
	mp_json_init(&json, data, size);
	type = mp_json_next(&json);
	if (type != MP_JSON_OBJECT)
		*fault_offset = type == MP_JSON_ERROR ? json.err_offset : 0;
	while (good && type == MP_JSON_OBJECT && (type = mp_json_next(&json)) == MP_JSON_KEY) {
		struct cur_member member = {.key = {json.text, json.len}};

		good = !json.escaped || spell_key(run, &json, &member.key);
		if (good && !take_value(&json, &member.value))
			break;
		good = good && put_member(out, &seen, member);
		type = MP_JSON_OBJECT;
	}
	if (*fault_offset < 0 && type != MP_JSON_OBJECT_END)
		*fault_offset = json.err_text ? json.err_offset : (int64_t)size;
	mp_map64_release(&seen);
	return good;
}

const struct mp_str *cur_members_value(const cur_members *members, const char *key)
{
	size_t i;

	for (i = 0; i < members->len; i++)
		if (mp_str_is(members->at[i].key, key))
			return &members->at[i].value;
	return NULL;
}

/* ---- NaN ---- */

/* Length of a number that JSON does not have, 0 = none here. */
static size_t nan_len(const char *at, size_t left)
{
	static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
	size_t i;

	for (i = 0; i < MP_COUNT(words); i++)
		if (left >= strlen(words[i]) && !memcmp(at, words[i], strlen(words[i])))
			return strlen(words[i]);
	return 0;
}

/* Behind the quote that ends a string; size when none does. */
static size_t string_end(const char *data, size_t size, size_t at)
{
	while (at < size && data[at] != '"')
		at += data[at] == '\\' ? 2 : 1;
	return at < size ? at + 1 : size;
}

void cur_json_without_nan(const char *data, size_t size, struct mp_buf *out, int64_t *first)
{
	size_t at = 0, copied = 0, len;

	*first = -1;
	if (!size || (!memmem(data, size, "NaN", 3) && !memmem(data, size, "Infinity", 8)))
		return;
	while (at < size) {
		if (data[at] == '"') {
			at = string_end(data, size, at + 1);
			continue;
		}
		len = nan_len(data + at, size - at);
		if (!len) {
			at++;
			continue;
		}
		if (*first < 0)
			*first = (int64_t)at;
		mp_buf_add(out, data + copied, at - copied);
		mp_buf_add_str(out, "null");
		at += len;
		copied = at;
	}
	if (*first >= 0)
		mp_buf_add(out, data + copied, size - copied);
}
