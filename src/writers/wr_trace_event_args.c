/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The args object of a range or mark: a class hint where the category does not tell the class, the
 * known fields, then the members of the detail's own args. What is written is valid JSON without
 * duplicate keys whatever the store holds.
 */
#include "writers/wr_trace_event.h"

#include <math.h>

#include "base/json_in.h"
#include "base/num.h"
#include "formats/fmt_trace_event.h"

#include "base/banned.h"

#define CLASS_CATEGORY(id, text) [id] = text,
static const char *const class_categories[MP_CLASSES] = {MP_TRACE_CLASS_MAP(CLASS_CATEGORY)};

const char *mp_trace_class_category(uint8_t cls)
{
	return class_categories[cls < MP_CLASSES ? cls : MP_CLASS_RANGE];
}

/* Keys of an object tree, to find duplicates: (number of the object, key) as hashes. */
struct key_set {
	struct mp_map64 seen;
	struct mp_buf text; /* a decoded key */
	bool no_memory;
};

static uint64_t key_hash(uint64_t object, const char *key, size_t len)
{
	return mp_hash_bytes(key, len, mp_hash_u64(object));
}

/* False when the key was there already, or memory is out. */
static bool add_key(struct key_set *keys, uint64_t object, const struct mp_json *json)
{
	struct mp_json_str key = mp_json_string(json, &keys->text);
	uint64_t hash = key_hash(object, key.text, key.len);

	if (!keys->text.failed && mp_map64_lookup(&keys->seen, hash))
		return false;
	keys->no_memory = keys->text.failed || !mp_map64_put(&keys->seen, hash, 1);
	return !keys->no_memory;
}

/* Whether the text is one JSON object in which no object has a key twice. The top object has number 1. */
static bool is_clean_object(struct key_set *keys, const char *text, size_t len)
{
	uint64_t numbers[MP_JSON_DEPTH + 1] = {0}, n_objects = 0;
	enum mp_json_type type;
	struct mp_json json;
	size_t depth = 0;

	mp_json_init(&json, text, len);
	type = mp_json_next(&json);
	if (type != MP_JSON_OBJECT)
		return false;
	for (; type != MP_JSON_END; type = mp_json_next(&json)) {
		if (type == MP_JSON_ERROR ||
		    (type == MP_JSON_KEY && !add_key(keys, numbers[depth - 1], &json)))
			return false;
		if (type == MP_JSON_OBJECT || type == MP_JSON_ARRAY)
			numbers[depth++] = ++n_objects;
		else if (type == MP_JSON_OBJECT_END || type == MP_JSON_ARRAY_END)
			depth--;
	}
	return true;
}

struct members {
	struct mp_buf *to;
	const struct key_set *taken; /* keys of the detail's own args, which win */
	bool first;
};

/* Writes the key; false when the object has it already. */
static bool begin_member(struct members *members, const char *key)
{
	if (mp_map64_lookup(&members->taken->seen, key_hash(1, key, strlen(key))))
		return false;
	if (!members->first)
		mp_buf_add_char(members->to, ',');
	members->first = false;
	mp_json_escape(members->to, key, strlen(key));
	mp_buf_add_char(members->to, ':');
	return true;
}

static void text_member(struct members *members, const char *key, struct mp_str text)
{
	if (text.len && begin_member(members, key))
		mp_json_escape(members->to, text.text, text.len);
}

static void number_members(struct members *members, const struct mp_detail *detail)
{
	char digits[MP_NUM_MAX];

	if (detail->stream >= 0 && begin_member(members, "stream"))
		mp_buf_add(members->to, digits, mp_num_put_i64(digits, detail->stream));
	if (detail->flops != 0 && isfinite(detail->flops) && begin_member(members, "flops"))
		mp_buf_add(members->to, digits, mp_num_put_double(digits, detail->flops));
}

void mp_trace_args(struct mp_buf *to, const struct mp_store *store, const struct mp_detail *detail,
		   uint8_t cls, struct mp_buf *work)
{
	struct mp_str category = mp_store_text(store, detail->category),
		      args = mp_store_text(store, detail->args);
	const char *own = mp_trace_class_category(cls);
	struct key_set keys = {.text = *work};
	struct members members = {.to = to, .taken = &keys, .first = true};
	bool clean = args.len && is_clean_object(&keys, args.text, args.len);

	if (!clean)
		mp_map64_release(&keys.seen);
	mp_buf_add_char(to, '{');
	if (category.len && (category.len != strlen(own) || memcmp(category.text, own, category.len) != 0))
		text_member(&members, "class", (struct mp_str){own, strlen(own)});
	text_member(&members, "type", mp_store_text(store, detail->type));
	text_member(&members, "shapes", mp_store_text(store, detail->shapes));
	text_member(&members, "dtypes", mp_store_text(store, detail->dtypes));
	number_members(&members, detail);
	if (clean) {
		const char *inner = memchr(args.text, '{', args.len);
		const char *end = memrchr(args.text, '}', args.len);

		inner++;
		while (inner < end && (*inner == ' ' || *inner == '\n' || *inner == '\t' || *inner == '\r'))
			inner++;
		if (inner < end && !members.first)
			mp_buf_add_char(to, ',');
		mp_buf_add(to, inner, (size_t)(end - inner));
	} else {
		text_member(&members, "args_text", args);
	}
	mp_buf_add_char(to, '}');
	if (keys.no_memory)
		to->failed = MINDPROF_E_NOMEM;
	*work = keys.text;
	mp_map64_release(&keys.seen);
}
