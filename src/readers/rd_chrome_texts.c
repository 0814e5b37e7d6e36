/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, categories and args of events -> ids of the store. Texts repeat, so each worker has caches
 * keyed by the raw text, which is compared: a hit costs a hash and no decoding.
 */
#include "base/json_in.h"
#include "base/json_out.h"
#include "base/num.h"
#include "base/utf8.h"
#include "formats/fmt_trace_event.h"
#include "readers/rd_chrome.h"

#include "base/banned.h"

/* What one more detail takes in the store beside its texts. */
#define DETAIL_BYTES sizeof(struct mp_detail)

/* ---------------------------------------------------------------- texts */

/* Replaces what is not UTF-8 by U+FFFD. */
static void repair_utf8(struct mp_buf *to, const char *at, size_t len)
{
	const char *end = at + len;

	while (at < end) {
		size_t good = mp_utf8_valid_prefix(at, (size_t)(end - at));

		mp_buf_add(to, at, good);
		at += good;
		if (at < end) {
			mp_buf_add_str(to, "\xef\xbf\xbd");
			at += mp_utf8_step(at, (size_t)(end - at)).len;
		}
	}
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Whether every backslash begins an escape of JSON. */
static bool has_good_escapes(const struct chrome_text *text)
{
	const char *at = text->at, *end = text->at + text->len;

	while ((at = memchr(at, '\\', (size_t)(end - at)))) {
		if (end - at < 2 || !memchr("\"\\/bfnrtu", at[1], 9))
			return false;
		if (at[1] == 'u' &&
		    (end - at < 6 || !is_hex(at[2]) || !is_hex(at[3]) || !is_hex(at[4]) || !is_hex(at[5])))
			return false;
		at += 2;
	}
	return true;
}

uint32_t chrome_string(struct chrome_worker *worker, const struct chrome_text *text, uint8_t *flags)
{
	struct mp_strtab *strings = mp_store_strings(worker->store);
	struct mp_json_str plain = {text->at, text->len};
	struct mp_buf repaired;
	bool decode = text->flags & CHROME_ESCAPED && has_good_escapes(text);
	uint32_t id;

	if (flags && (text->flags & CHROME_CONTROL || (text->flags & CHROME_ESCAPED && !decode)))
		*flags |= CHROME_NAME_CONTROL;
	if (decode) {
		struct mp_json raw = {.text = text->at, .len = text->len, .escaped = true};

		plain = mp_json_string(&raw, &worker->text);
		if (worker->text.failed)
			return MP_STR_NONE;
	}
	if (!(text->flags & CHROME_HIGH) || mp_utf8_valid_prefix(plain.text, plain.len) == plain.len)
		return mp_strtab_add(strings, plain.text, plain.len);
	if (flags)
		*flags |= CHROME_NAME_BAD_UTF8;
	mp_buf_init(&repaired, SIZE_MAX / 2);
	repair_utf8(&repaired, plain.text, plain.len);
	id = repaired.failed ? MP_STR_NONE : mp_strtab_add(strings, repaired.data, repaired.len);
	mp_buf_release(&repaired);
	return id;
}

static inline uint64_t load(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Texts of events are short: they are compared by words that overlap. */
static inline bool same_text(const char *at, size_t len, const struct chrome_text *text)
{
	const char *other = text->at;
	uint64_t differ;

	if (!at || len != text->len)
		return false;
	if (at == other)
		return true;
	if (len < 8 || len > 32)
		return !memcmp(at, other, len);
	differ = (load(at) ^ load(other)) | (load(at + len - 8) ^ load(other + len - 8));
	if (len > 16)
		differ |= (load(at + 8) ^ load(other + 8)) | (load(at + len - 16) ^ load(other + len - 16));
	return !differ;
}

/* Both halves of the product, folded. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Picks a place in a cache; a bad one costs time only. */
static inline size_t place_of(const struct chrome_text *text, uint64_t seed, size_t n)
{
	const uint64_t k0 = 0x9e3779b97f4a7c15ull, k1 = 0xc2b2ae3d27d4eb4full;
	const char *at = text->at, *end = at + text->len;
	uint64_t hash = seed ^ text->len, short_word = 0;

	if (text->len < 8) {
		for (; at < end; at++)
			short_word = short_word << 8 | (unsigned char)*at;
		return mix(short_word ^ k0, hash ^ k1) % n;
	}
	for (; end - at > 16; at += 16)
		hash = mix(load(at) ^ k0, load(at + 8) ^ hash);
	/* The last 16 bytes, or the two ends of fewer. */
	return mix(load(text->len >= 16 ? end - 16 : text->at) ^ k1, load(end - 8) ^ hash) % n;
}

/* ---------------------------------------------------------------- names */

static bool contains(const struct chrome_text *text, const char *word)
{
	return memmem(text->at, text->len, word, strlen(word)) != NULL;
}

static uint8_t name_flags(const struct chrome_text *text, int64_t *step)
{
	static const char step_word[] = "ProfilerStep#";
	const size_t head = sizeof(step_word) - 1;
	uint8_t flags = 0;

	if (contains(text, "nccl") || contains(text, "hcom"))
		flags |= CHROME_NAME_COMMUNICATION;
	if (chrome_is(text, MP_TRACE_NAME_MEMORY))
		flags |= CHROME_NAME_MEMORY;
	if (text->len > head && !memcmp(text->at, step_word, head) &&
	    mp_num_parse_i64(text->at + head, text->len - head, step))
		flags |= CHROME_NAME_STEP;
	return flags;
}

const struct chrome_name *chrome_name_of(struct chrome_worker *worker, const struct chrome_text *text)
{
	/* Two places per text, so that two names that share one do not push each other out. */
	struct chrome_name *slot = &worker->names[place_of(text, 0, CHROME_NAMES / 2) * 2];

	if (MP_LIKELY(same_text(slot->at, slot->len, text))) {
		slot->at = text->at; /* the newest copy is in the processor's cache */
		return slot;
	}
	if (same_text(slot[1].at, slot[1].len, text)) {
		slot[1].at = text->at;
		return &slot[1];
	}
	slot[1] = slot[0];
	slot->flags = name_flags(text, &slot->step);
	slot->id = chrome_string(worker, text, &slot->flags);
	slot->at = text->at;
	slot->len = text->len;
	if (slot->id == MP_STR_NONE) {
		slot->at = NULL;
		worker->failed = MINDPROF_E_NOMEM;
		return NULL;
	}
	return slot;
}

/* ---------------------------------------------------------------- categories */

static const struct {
	const char *category;
	uint8_t cls;
	bool is_device;
} foreign_categories[] = {
	{"cpu_op", MP_CLASS_OPERATOR, false},
	{"Operator", MP_CLASS_OPERATOR, false}, /* Kineto before 2022 */
	{"kernel", MP_CLASS_KERNEL, true},
	{"Kernel", MP_CLASS_KERNEL, true},
	{"gpu_memcpy", MP_CLASS_MEMCPY, true},
	{"Memcpy", MP_CLASS_MEMCPY, true},
	{"gpu_memset", MP_CLASS_MEMCPY, true},
	{"Memset", MP_CLASS_MEMCPY, true},
	{"gpu_user_annotation", MP_CLASS_RANGE, true},
	{"cuda_runtime", MP_CLASS_LAUNCH, false},
	{"cuda_driver", MP_CLASS_LAUNCH, false},
	{"Runtime", MP_CLASS_LAUNCH, false},
	{"python_function", MP_CLASS_PYTHON, false},
	{"user_annotation", MP_CLASS_RANGE, false},
};

#define CLASS_CATEGORY(id, text) [id] = text,
static const char *const own_categories[MP_CLASSES] = {MP_TRACE_CLASS_MAP(CLASS_CATEGORY)};

/* Class of a category; CHROME_CLASS_UNKNOWN when it does not tell. */
static uint8_t class_of_category(const struct chrome_text *text, bool is_own, bool *is_device)
{
	*is_device = false;
	for (size_t i = 0; i < MP_COUNT(foreign_categories); i++) {
		if (chrome_is(text, foreign_categories[i].category)) {
			*is_device = foreign_categories[i].is_device;
			return foreign_categories[i].cls;
		}
	}
	for (uint8_t cls = 0; is_own && cls < MP_CLASSES; cls++) {
		if (chrome_is(text, own_categories[cls]))
			return cls;
	}
	return CHROME_CLASS_UNKNOWN;
}

/* In our files a category that only repeats the class stands for none. */
static bool is_class_word(const struct chrome_text *text)
{
	for (size_t cls = 0; cls < MP_CLASSES; cls++) {
		if (chrome_is(text, own_categories[cls]))
			return true;
	}
	return false;
}

const struct chrome_category *chrome_find_category(struct chrome_worker *worker,
						   const struct chrome_text *text)
{
	struct chrome_category *slot = &worker->categories[place_of(text, 0, CHROME_CATEGORIES)];

	if (MP_LIKELY(same_text(slot->at, slot->len, text))) {
		slot->at = text->at;
		worker->last_category = slot;
		return slot;
	}
	worker->last_category = NULL;
	slot->at = text->at;
	slot->len = text->len;
	slot->flags = 0;
	slot->cls = class_of_category(text, worker->read->is_own, &slot->is_device);
	if (worker->read->is_own && is_class_word(text))
		slot->id = 0;
	else
		slot->id = chrome_string(worker, text, &slot->flags);
	if (slot->id == MP_STR_NONE) {
		slot->at = NULL;
		worker->failed = MINDPROF_E_NOMEM;
		return NULL;
	}
	return slot;
}

/* ---------------------------------------------------------------- args */

/* The raw text of a member, quotes of strings included. */
static void keep_member(struct mp_buf *rest, const struct chrome_text *key, const struct chrome_text *value)
{
	size_t quotes = value->flags & CHROME_STRING ? 1 : 0;

	mp_buf_add_char(rest, rest->len ? ',' : '{');
	mp_buf_add(rest, key->at - 1, key->len + 2);
	mp_buf_add_char(rest, ':');
	mp_buf_add(rest, value->at - quotes, value->len + 2 * quotes);
}

/* The known fields of our own args. */
static bool take_own_field(struct chrome_worker *worker, struct mp_detail *detail, uint8_t *cls,
			   const struct chrome_text *key, const struct chrome_text *value)
{
	bool is_string = value->flags & CHROME_STRING, is_device;

	if (is_string && chrome_is(key, "class"))
		*cls = class_of_category(value, true, &is_device);
	else if (is_string && chrome_is(key, "type"))
		detail->type = chrome_string(worker, value, NULL);
	else if (is_string && chrome_is(key, "shapes"))
		detail->shapes = chrome_string(worker, value, NULL);
	else if (is_string && chrome_is(key, "dtypes"))
		detail->dtypes = chrome_string(worker, value, NULL);
	else if (is_string && chrome_is(key, "args_text"))
		detail->args = chrome_string(worker, value, NULL);
	else if (!chrome_is(key, "flops") || !mp_num_parse_double(value->at, value->len, &detail->flops))
		return false;
	return true;
}

/* As above for Kineto's words; also in our files, because a category of Kineto may have gone through them. */
static bool take_kineto_field(struct chrome_worker *worker, struct mp_detail *detail,
			      const struct chrome_text *key, const struct chrome_text *value)
{
	if (chrome_is(key, "stream") && chrome_integer(value, &detail->stream) && detail->stream >= 0)
		return true;
	detail->stream = detail->stream < 0 ? -1 : detail->stream;
	if (value->flags & CHROME_STRING || !value->len)
		return false;
	if (chrome_is(key, "Input Dims"))
		detail->shapes = chrome_string(worker, value, NULL);
	else if (chrome_is(key, "Input type") || chrome_is(key, "Input Type"))
		detail->dtypes = chrome_string(worker, value, NULL);
	else
		return false;
	return true;
}

/* The text as a JSON reader sees it, bytes that are no UTF-8 replaced; they are repaired when it is kept. */
static bool is_clean_json(const char *text, size_t len, bool may_repair)
{
	enum mp_json_type type = MP_JSON_NULL;
	struct mp_buf repaired;
	struct mp_json json;

	mp_buf_init(&repaired, SIZE_MAX / 2);
	if (may_repair && mp_utf8_valid_prefix(text, len) < len) {
		repair_utf8(&repaired, text, len);
		text = mp_buf_str(&repaired);
		len = repaired.len;
	}
	mp_json_init(&json, text, len);
	while (type != MP_JSON_END && type != MP_JSON_ERROR)
		type = mp_json_next(&json);
	mp_buf_release(&repaired);
	return type == MP_JSON_END;
}

/* Keeps what is left of the args while the budget lasts. */
static void keep_rest(struct chrome_worker *worker, struct mp_detail *detail, const struct chrome_text *args)
{
	struct chrome_text rest = {.flags = args->flags & CHROME_HIGH};
	size_t bytes;

	if (!worker->rest.len)
		return;
	mp_buf_add_char(&worker->rest, '}');
	rest.at = worker->rest.data;
	rest.len = worker->rest.len;
	bytes = rest.len + DETAIL_BYTES;
	if (worker->rest.failed) {
		detail->args = MP_STR_NONE;
	} else if (atomic_load_explicit(&worker->read->args_bytes, memory_order_relaxed) + bytes >
		   worker->read->args_budget) {
		chrome_fault(worker, CHROME_ARGS_NOT_KEPT, args->at);
	} else if (!is_clean_json(rest.at, rest.len, rest.flags & CHROME_HIGH)) {
		chrome_fault(worker, CHROME_BAD_ARGS, args->at);
	} else {
		uint8_t flags = 0;

		atomic_fetch_add_explicit(&worker->read->args_bytes, bytes, memory_order_relaxed);
		detail->args = chrome_string(worker, &rest, &flags);
		if (flags & CHROME_NAME_BAD_UTF8)
			chrome_fault(worker, CHROME_BAD_UTF8, args->at);
	}
}

/* Takes the args apart: known fields, the class hint, the rest as text. */
static void take_args(struct chrome_worker *worker, struct mp_detail *detail, uint8_t *cls,
		      const struct chrome_text *args)
{
	const char *at = args->at + 1, *end = args->at + args->len;
	struct chrome_text key, value;

	mp_buf_clear(&worker->rest);
	while (chrome_next_member(&at, end, &key, &value)) {
		if (worker->read->is_own && take_own_field(worker, detail, cls, &key, &value))
			continue;
		if (!take_kineto_field(worker, detail, &key, &value))
			keep_member(&worker->rest, &key, &value);
	}
	if (!at)
		chrome_fault(worker, CHROME_BAD_ARGS, args->at);
	else
		keep_rest(worker, detail, args);
}

static bool make_detail(struct chrome_worker *worker, struct chrome_detail *slot,
			const struct chrome_text *args)
{
	struct mp_detail detail = {.category = slot->category, .stream = -1};

	slot->cls = CHROME_CLASS_UNKNOWN;
	if (args->len)
		take_args(worker, &detail, &slot->cls, args);
	slot->id = UINT32_MAX;
	if (detail.type != MP_STR_NONE && detail.shapes != MP_STR_NONE && detail.dtypes != MP_STR_NONE &&
	    detail.args != MP_STR_NONE)
		slot->id = mp_store_detail(worker->store, &detail);
	return slot->id != UINT32_MAX;
}

const struct chrome_detail *chrome_detail_of(struct chrome_worker *worker, uint32_t category,
					     const struct chrome_text *args)
{
	struct chrome_detail *slot = &worker->details[place_of(args, category, CHROME_DETAILS)];

	if (MP_LIKELY(same_text(slot->args, slot->len, args) && slot->category == category)) {
		slot->args = args->at;
		return slot;
	}
	slot->args = args->at;
	slot->len = args->len;
	slot->category = category;
	if (!make_detail(worker, slot, args)) {
		slot->args = NULL;
		worker->failed = MINDPROF_E_NOMEM;
		return NULL;
	}
	return slot;
}
