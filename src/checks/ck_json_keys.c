/* SPDX-License-Identifier: Apache-2.0 */
/* JSON tokens for the trace check: faults of syntax and duplicate keys are reported on the way. */
#include <string.h>

#include "base/mem.h"
#include "checks/ck_json.h"

#include "base/banned.h"

/* Up to here keys are compared in pairs, above through a map. */
#define PAIRS_MAX 32

void ck_tokens_init(struct ck_tokens *tokens, const void *data, size_t size, struct mp_faults *faults)
{
	memset(tokens, 0, sizeof(*tokens));
	mp_json_init(&tokens->json, data, size);
	mp_buf_init(&tokens->decoded, size);
	tokens->faults = faults;
}

void ck_tokens_release(struct ck_tokens *tokens)
{
	mp_vec_release(&tokens->keys);
	mp_buf_release(&tokens->decoded);
}

static void report_syntax(struct ck_tokens *tokens)
{
	const struct mp_json *json = &tokens->json;
	const char *code = "json-syntax";

	if (json->err_truncated)
		code = "json-truncated";
	else if (strcmp(json->err_text, "invalid UTF-8") == 0)
		code = "invalid-utf8";
	else if (strcmp(json->err_text, "NaN is not JSON") == 0 ||
		 strcmp(json->err_text, "infinity is not JSON") == 0)
		code = "json-nan";
	else if (strcmp(json->err_text, "nested too deeply") == 0)
		code = "json-depth";
	mp_faults_add(tokens->faults, code, json->err_offset, "%s", json->err_text);
}

static void report_duplicate(struct ck_tokens *tokens, const struct ck_key *first,
			     const struct ck_key *second)
{
	mp_faults_add(tokens->faults, "duplicate-key", second->offset,
		      "key stands in the same object at byte %lld, too", (long long)first->offset);
}

static void compare_by_map(struct ck_tokens *tokens, const struct ck_key *keys, size_t n)
{
	struct mp_map64 seen = {0};
	uint64_t *first;
	size_t i;

	for (i = 0; i < n; i++) {
		first = mp_map64_lookup(&seen, keys[i].hash);
		if (first)
			report_duplicate(tokens, &keys[*first], &keys[i]);
		else if (!mp_map64_put(&seen, keys[i].hash, i))
			tokens->faults->no_memory = true;
	}
	mp_map64_release(&seen);
}

static void end_object(struct ck_tokens *tokens)
{
	size_t mark = tokens->marks[tokens->json.depth], n = tokens->keys.len - mark, i, k;
	const struct ck_key *keys = tokens->keys.at + mark;

	if (n > PAIRS_MAX) {
		compare_by_map(tokens, keys, n);
	} else {
		for (i = 1; i < n; i++) {
			for (k = 0; k < i && keys[k].hash != keys[i].hash; k++)
				;
			if (k < i)
				report_duplicate(tokens, &keys[k], &keys[i]);
		}
	}
	tokens->keys.len = mark;
}

static void add_key(struct ck_tokens *tokens)
{
	struct mp_json_str key = mp_json_string(&tokens->json, &tokens->decoded);
	struct ck_key kept = {.hash = mp_hash_bytes(key.text, key.len, 0),
			      .offset = ck_tokens_at(tokens, MP_JSON_KEY)};

	if (tokens->decoded.failed || !mp_vec_push(&tokens->keys, kept))
		tokens->faults->no_memory = true;
}

enum mp_json_type ck_tokens_next(struct ck_tokens *tokens)
{
	bool failed = tokens->json.err_text != NULL;
	enum mp_json_type type = mp_json_next(&tokens->json);

	switch (type) {
	case MP_JSON_OBJECT:
		tokens->marks[tokens->json.depth - 1] = tokens->keys.len;
		break;
	case MP_JSON_KEY:
		add_key(tokens);
		break;
	case MP_JSON_OBJECT_END:
		end_object(tokens);
		break;
	case MP_JSON_ERROR:
		if (!failed)
			report_syntax(tokens);
		break;
	default:
		break;
	}
	return type;
}

bool ck_tokens_skip(struct ck_tokens *tokens, enum mp_json_type first)
{
	enum mp_json_type type = first;
	uint32_t outside;

	if (first == MP_JSON_OBJECT || first == MP_JSON_ARRAY) {
		outside = tokens->json.depth - 1;
		while (tokens->json.depth != outside && type != MP_JSON_ERROR)
			type = ck_tokens_next(tokens);
	}
	return type != MP_JSON_ERROR;
}
