/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON objects as facts of the store. Input: JSON text of parameters and metadata. Output: facts.
 * Documents: docs/formats/framework.md and native.md say which objects.
 */
#include "base/json_in.h"
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

static const struct mp_fact_rule *rule_of(const struct facts *facts, const struct mp_fact_rule *rules)
{
	for (; rules && rules->key; rules++)
		if (mp_json_key_is(&facts->json, rules->key))
			return rules;
	return NULL;
}

/* The members of the object just entered. */
static bool take_members(struct facts *facts, const char *prefix, const struct mp_fact_rule *rules)
{
	enum mp_json_type type;

	while ((type = mp_json_next(&facts->json)) == MP_JSON_KEY) {
		const struct mp_fact_rule *rule = rule_of(facts, rules);
		bool ok = take_key(facts, prefix);

		type = mp_json_next(&facts->json);
		if (rule && !rule->inner_prefix)
			ok = ok && mp_json_skip(&facts->json, type);
		else if (rule && type == MP_JSON_OBJECT)
			ok = ok && take_members(facts, rule->inner_prefix, NULL);
		else
			ok = ok && take_value(facts, type);
		if (!ok)
			return false;
	}
	return type == MP_JSON_OBJECT_END;
}

bool mp_facts_from_json(struct mp_store *store, const void *data, size_t size, const char *prefix,
			const struct mp_fact_rule *rules, int64_t *fault_offset)
{
	struct facts facts = {.store = store};
	bool ok;

	mp_buf_init(&facts.key, 4096);
	mp_buf_init(&facts.value, size + 1);
	mp_buf_init(&facts.scratch, size + 1);
	mp_json_init(&facts.json, data, size);
	ok = mp_json_next(&facts.json) == MP_JSON_OBJECT && take_members(&facts, prefix, rules) &&
	     mp_json_next(&facts.json) == MP_JSON_END;
	if (!ok && fault_offset)
		*fault_offset =
			facts.json.err_text ? facts.json.err_offset : facts.json.at - facts.json.begin;
	if (!ok && (facts.key.failed == MINDPROF_E_NOMEM || facts.value.failed == MINDPROF_E_NOMEM ||
		    facts.scratch.failed == MINDPROF_E_NOMEM)) {
		mp_store_count_lost(store);
		ok = true; /* no fault of the text */
	}
	mp_buf_release(&facts.key);
	mp_buf_release(&facts.value);
	mp_buf_release(&facts.scratch);
	return ok;
}
