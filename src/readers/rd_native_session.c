/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.mpr of a native recording: who recorded, call sites, threads, clock points, losses, how it
 * ended. Output: struct native, facts of the store. Document: docs/formats/native.md.
 */
#include "base/json_in.h"
#include "base/mem.h"
#include "base/num.h"
#include "readers/rd_native.h"

#include "base/banned.h"

/* One segment being read. */
struct payload {
	struct native *in;
	const uint8_t *data;
	uint64_t offset; /* of data in the file */
	uint32_t len;
};

static void bad_entry(struct payload *p, uint64_t at)
{
	mp_fault_add(&p->in->faults[NATIVE_IN_SESSION][NATIVE_BAD_ENTRY], (int64_t)(p->offset + at), 1);
}

/* ---- threads, losses, clock ---- */

struct native_thread *native_thread_get(struct native *in, uint32_t index, uint32_t os_tid)
{
	uint64_t *position = mp_map64_lookup(&in->thread_of_index, index);
	struct native_thread thread = {.index = index, .os_tid = os_tid, .track = UINT32_MAX};

	if (position)
		return &in->threads.at[*position];
	if (!mp_vec_push(&in->threads, thread) ||
	    !mp_map64_put(&in->thread_of_index, index, in->threads.len - 1))
		return NULL;
	return &in->threads.at[in->threads.len - 1];
}

static bool take_threads(struct payload *p)
{
	uint64_t at = 0;

	while (p->len - at >= sizeof(struct mp_native_thread)) {
		struct mp_native_thread entry;
		struct native_thread *thread;
		uint64_t name = at + sizeof(entry);

		memcpy(&entry, p->data + at, sizeof(entry));
		if (entry.name_bytes > p->len - name)
			break;
		thread = native_thread_get(p->in, entry.index, entry.os_tid);
		if (!thread)
			return false;
		thread->os_tid = entry.os_tid;
		thread->name = mp_strtab_add(mp_store_strings(p->in->store), (const char *)p->data + name,
					     entry.name_bytes);
		if (thread->name == MP_STR_NONE)
			return false;
		at = MP_ALIGN_UP(name + entry.name_bytes, (uint64_t)8);
		if (at >= p->len)
			return true;
	}
	if (at < p->len)
		bad_entry(p, at);
	return true;
}

bool native_drops_set(struct native *in, uint32_t thread_index, uint32_t kind, uint64_t count,
		      bool larger_only)
{
	uint64_t key = (uint64_t)thread_index << 8 | kind;
	uint64_t *known = mp_map64_lookup(&in->drops, key);

	if (known) {
		if (!larger_only || count > *known)
			*known = count;
		return true;
	}
	return mp_map64_put(&in->drops, key, count) && mp_vec_push(&in->drop_keys, key);
}

static bool take_drops(struct payload *p)
{
	struct mp_native_drop entry;
	uint64_t at = 0;

	for (; p->len - at >= sizeof(entry); at += sizeof(entry)) {
		memcpy(&entry, p->data + at, sizeof(entry));
		if (entry.kind < MP_NATIVE_DROP_KINDS && /* others are of a later version */
		    !native_drops_set(p->in, entry.thread_index, entry.kind, entry.count, false))
			return false;
	}
	if (at < p->len)
		bad_entry(p, at);
	return true;
}

static bool take_clock(struct payload *p)
{
	struct mp_native_clock entry;
	uint64_t at = 0;

	for (; p->len - at >= sizeof(entry); at += sizeof(entry)) {
		memcpy(&entry, p->data + at, sizeof(entry));
		if (!mp_vec_push(&p->in->clock_points, entry))
			return false;
	}
	if (at < p->len)
		bad_entry(p, at);
	return true;
}

/* ---- sites ---- */

struct attributes {
	struct mp_store *store;
	struct mp_json json;
	struct mp_buf text, rest; /* decoded text; members that no field of the detail holds */
	struct mp_detail detail;
};

static uint32_t string_value(struct attributes *a, enum mp_json_type type)
{
	struct mp_json_str text;

	if (type != MP_JSON_STRING)
		return MP_STR_EMPTY;
	text = mp_json_string(&a->json, &a->text);
	return mp_strtab_add(mp_store_strings(a->store), text.text, text.len);
}

/* The value of one member; false when the text is not JSON. */
static bool take_attribute(struct attributes *a, const char *key, size_t key_len)
{
	static const char *const known[] = {"type", "shapes", "dtypes", "stream", "flops"};
	enum mp_json_type type;
	size_t field = 0;
	double number;

	while (field < MP_COUNT(known) &&
	       (strlen(known[field]) != key_len || memcmp(known[field], key, key_len) != 0))
		field++;
	type = mp_json_next(&a->json);
	if (type == MP_JSON_STRING && field < 3) {
		uint32_t id = string_value(a, type);

		*(field == 0 ? &a->detail.type : field == 1 ? &a->detail.shapes : &a->detail.dtypes) = id;
		return true;
	}
	if (type == MP_JSON_NUMBER && field == 3 &&
	    mp_num_parse_i64(a->json.text, a->json.len, &a->detail.stream))
		return true;
	if (type == MP_JSON_NUMBER && field == 4 && mp_num_parse_double(a->json.text, a->json.len, &number)) {
		a->detail.flops = number;
		return true;
	}
	if (type == MP_JSON_ERROR || !mp_json_skip(&a->json, type))
		return false;
	mp_buf_add_str(&a->rest, a->rest.len ? ", \"" : "{\"");
	mp_buf_add(&a->rest, key, key_len);
	mp_buf_add_str(&a->rest, "\": ");
	mp_buf_add(&a->rest, a->json.text, a->json.len);
	return true;
}

/* Detail of a site from its attributes; UINT32_MAX when memory is out. *valid: they are one JSON object. */
static uint32_t detail_of(struct mp_store *store, const void *text, uint32_t len, bool *valid)
{
	struct attributes a = {.store = store, .detail = {.stream = -1}};
	enum mp_json_type type;
	uint32_t id = UINT32_MAX;
	bool ok = true;

	*valid = true;
	if (!len)
		return 0;
	mp_buf_init(&a.text, (size_t)len + 1);
	mp_buf_init(&a.rest, (size_t)len * 2 + 64);
	mp_json_init(&a.json, text, len);
	*valid = mp_json_next(&a.json) == MP_JSON_OBJECT;
	while (*valid && (type = mp_json_next(&a.json)) != MP_JSON_OBJECT_END) {
		const char *key = a.json.text;

		*valid = type == MP_JSON_KEY && take_attribute(&a, key, a.json.len);
	}
	if (!*valid) {
		a.detail = (struct mp_detail){.stream = -1};
		mp_buf_clear(&a.rest);
	}
	if (a.rest.len) {
		mp_buf_add_char(&a.rest, '}');
		a.detail.args = mp_strtab_add(mp_store_strings(store), a.rest.data, a.rest.len);
	}
	ok = !a.rest.failed && !a.text.failed && a.detail.args != MP_STR_NONE &&
	     a.detail.type != MP_STR_NONE && a.detail.shapes != MP_STR_NONE && a.detail.dtypes != MP_STR_NONE;
	if (ok)
		id = mp_store_detail(store, &a.detail);
	mp_buf_release(&a.text);
	mp_buf_release(&a.rest);
	return id;
}

/* Room for the site of this id; NULL when memory is out. */
static struct native_site *site_slot(struct native *in, uint32_t id)
{
	if (id >= in->sites.len) {
		if (!mp_vec_reserve(&in->sites, id + 1 - in->sites.len))
			return NULL;
		for (; in->sites.len <= id; in->sites.len++)
			in->sites.at[in->sites.len] = in->sites.at[0];
	}
	return &in->sites.at[id];
}

static bool take_site(struct payload *p, const struct mp_native_site *entry, uint64_t at)
{
	const uint8_t *name = p->data + at + sizeof(*entry);
	struct native_site *site;
	bool valid;

	/* Ids are dense from 1, so no id is larger than the number of entries that fit into the file. */
	if (!entry->id || entry->id > p->in->files[NATIVE_IN_SESSION].size / sizeof(*entry)) {
		bad_entry(p, at);
		return true;
	}
	site = site_slot(p->in, entry->id);
	if (!site)
		return false;
	site->kind = (uint8_t)MP_MIN(entry->kind, UINT8_MAX);
	site->cls = entry->kind == MP_NATIVE_SITE_OPERATOR ? MP_CLASS_OPERATOR : MP_CLASS_RANGE;
	site->name = mp_strtab_add(mp_store_strings(p->in->store), (const char *)name, entry->name_bytes);
	site->detail = detail_of(p->in->store, name + entry->name_bytes, entry->attributes_bytes, &valid);
	if (!valid)
		bad_entry(p, at);
	return site->name != MP_STR_NONE && site->detail != UINT32_MAX;
}

static bool take_sites(struct payload *p)
{
	uint64_t at = 0;

	while (p->len - at >= sizeof(struct mp_native_site)) {
		struct mp_native_site entry;
		uint64_t end;

		memcpy(&entry, p->data + at, sizeof(entry));
		end = at + sizeof(entry) + entry.name_bytes + entry.attributes_bytes;
		if (end > p->len)
			break;
		if (!take_site(p, &entry, at))
			return false;
		at = MP_ALIGN_UP(end, (uint64_t)8);
		if (at >= p->len)
			return true;
	}
	if (at < p->len)
		bad_entry(p, at);
	return true;
}

/* ---- JSON segments ---- */

/* The value of a member of the payload's object, its raw text in *json. MP_JSON_END when there is none. */
static enum mp_json_type member_of(const struct payload *p, const char *key, struct mp_json *json)
{
	enum mp_json_type type;

	mp_json_init(json, p->data, p->len);
	if (mp_json_next(json) != MP_JSON_OBJECT)
		return MP_JSON_END;
	while (mp_json_next(json) == MP_JSON_KEY) {
		bool wanted = mp_json_key_is(json, key);

		type = mp_json_next(json);
		if (wanted)
			return type;
		if (type == MP_JSON_ERROR || !mp_json_skip(json, type))
			break;
	}
	return MP_JSON_END;
}

static bool number_in(const struct payload *p, const char *key, int64_t *out)
{
	struct mp_json json;

	return member_of(p, key, &json) == MP_JSON_NUMBER && mp_num_parse_i64(json.text, json.len, out);
}

static void take_session(struct payload *p)
{
	struct native *in = p->in;
	int64_t number;

	if (number_in(p, "pid", &number) && number > 0)
		in->pid = number;
	if (number_in(p, "rank", &number) && number >= 0 && number <= INT32_MAX)
		in->rank = (int32_t)number;
	if (number_in(p, "clock_hz", &number) && number > 0)
		in->clock_hz = (double)number;
	if (!mp_facts_from_json(in->store, p->data, p->len, "", NULL, NULL))
		bad_entry(p, 0);
	in->ring_mode = strcmp(mp_store_fact(in->store, "mode").text, "ring") == 0;
}

static bool take_open_range(struct payload *p, struct mp_json *json)
{
	struct native_open_range range = {0};
	enum mp_json_type type;
	int have = 0;

	while ((type = mp_json_next(json)) == MP_JSON_KEY) {
		int field = mp_json_key_is(json, "thread") ? 1
			    : mp_json_key_is(json, "site") ? 2
			    : mp_json_key_is(json, "tick") ? 4
							   : 0;
		uint64_t value = 0;

		type = mp_json_next(json);
		if (type == MP_JSON_ERROR || !mp_json_skip(json, type))
			return true;
		if (!field || type != MP_JSON_NUMBER || !mp_num_parse_u64(json->text, json->len, &value) ||
		    (field != 4 && value > UINT32_MAX))
			continue;
		have |= field;
		if (field == 1)
			range.thread_index = (uint32_t)value;
		else if (field == 2)
			range.site = (uint32_t)value;
		else
			range.tick = value;
	}
	return have != 7 || mp_vec_push(&p->in->open_ranges, range);
}

static bool take_end(struct payload *p)
{
	static const struct mp_fact_rule rules[] = {{"open_ranges", NULL}, {NULL, NULL}};
	struct native *in = p->in;
	struct mp_json json;
	int64_t tick = 0;

	in->ended = true;
	if (number_in(p, "tick", &tick) && tick > 0)
		in->end_tick = (uint64_t)tick;
	in->complete = member_of(p, "complete", &json) != MP_JSON_FALSE;
	if (!mp_facts_from_json(in->store, p->data, p->len, "end.", rules, NULL))
		bad_entry(p, 0);
	if (member_of(p, "open_ranges", &json) != MP_JSON_ARRAY)
		return true;
	while (mp_json_next(&json) == MP_JSON_OBJECT)
		if (!take_open_range(p, &json))
			return false;
	return true;
}

static bool take_segment(struct payload *p, unsigned kind)
{
	switch (kind) {
	case MP_NATIVE_SEG_SESSION:
		take_session(p);
		return true;
	case MP_NATIVE_SEG_SITES:
		return take_sites(p);
	case MP_NATIVE_SEG_THREADS:
		return take_threads(p);
	case MP_NATIVE_SEG_CLOCK:
		return take_clock(p);
	case MP_NATIVE_SEG_DROPS:
		return take_drops(p);
	case MP_NATIVE_SEG_METADATA:
		if (!mp_facts_from_json(p->in->store, p->data, p->len, "metadata.", NULL, NULL))
			bad_entry(p, 0);
		return true;
	case MP_NATIVE_SEG_END:
		return take_end(p);
	default: /* of a later version */
		return true;
	}
}

bool native_session_read(struct native *in)
{
	const struct mp_file *file = &in->files[NATIVE_IN_SESSION];
	struct native_walk walk = {.file = file, .faults = in->faults[NATIVE_IN_SESSION]};
	struct native_site unknown = {.name = mp_store_string(in->store, "(unknown site)")};
	struct mp_native_segment segment;
	uint64_t payload;

	if (unknown.name == MP_STR_NONE || !mp_vec_push(&in->sites, unknown))
		return false;
	if (!in->have[NATIVE_IN_SESSION])
		return true;
	walk.at = ((const struct mp_native_file_header *)(const void *)file->data)->header_bytes;
	while (native_walk_next(&walk, &segment, &payload)) {
		struct payload p = {in, file->data + payload, payload, segment.payload_bytes};

		if (!native_payload_is_sound(file, &segment, payload))
			mp_fault_add(&walk.faults[NATIVE_BAD_PAYLOAD], (int64_t)payload, 1);
		else if (!take_segment(&p, segment.kind))
			return false;
	}
	return true;
}
