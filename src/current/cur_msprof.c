/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scanner of one msprof event. Input: the text of a JSON object. Output: the fields that the analysis
 * needs. Plain ASCII objects take a fast way that checks their grammar; whatever deviates is read by the
 * general JSON reader (analysis-current.md sections 6, 7.2).
 */
#include <string.h>

#include "current/cur_msprof_text.h"

#include "base/banned.h"

#define MAX_DEPTH 32
#define FIRST_CREDIT 512

void cur_msprof_scanner_init(struct cur_msprof_scanner *scanner)
{
	memset(&scanner->shapes, 0, sizeof(scanner->shapes));
	scanner->shapes.credit = FIRST_CREDIT;
	mp_buf_init(&scanner->name, SIZE_MAX / 8);
	mp_buf_init(&scanner->task_type, SIZE_MAX / 8);
	mp_buf_init(&scanner->id, SIZE_MAX / 8);
	mp_buf_init(&scanner->args_name, SIZE_MAX / 8);
}

void cur_msprof_scanner_release(struct cur_msprof_scanner *scanner)
{
	mp_buf_release(&scanner->name);
	mp_buf_release(&scanner->task_type);
	mp_buf_release(&scanner->id);
	mp_buf_release(&scanner->args_name);
}

/* ---- the fast way: NULL = not plain, or not JSON ---- */

static const uint8_t *skip_digits(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *begin = at;

	while (at < end && cur_is_digit(*at))
		at++;
	return at == begin ? NULL : at;
}

const uint8_t *cur_number_end(const uint8_t *at, const uint8_t *end)
{
	if (at < end && *at == '-')
		at++;
	if (at < end && *at == '0')
		at++;
	else if (!(at = skip_digits(at, end)))
		return NULL;
	if (at < end && *at == '.' && !(at = skip_digits(at + 1, end)))
		return NULL;
	if (at < end && (*at == 'e' || *at == 'E')) {
		at++;
		if (at < end && (*at == '+' || *at == '-'))
			at++;
		at = skip_digits(at, end);
	}
	return at;
}

static const uint8_t *skip_word(const uint8_t *at, const uint8_t *end, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(end - at) >= len && !memcmp(at, word, len) ? at + len : NULL;
}

static const uint8_t *skip_value(const uint8_t *at, const uint8_t *end, unsigned depth);

/* The rest of an object or array behind its opening bracket. */
static const uint8_t *skip_members(const uint8_t *at, const uint8_t *end, bool is_object, unsigned depth)
{
	uint8_t close = is_object ? '}' : ']';

	at = cur_skip_blank(at, end);
	if (at < end && *at == close)
		return at + 1;
	while (depth < MAX_DEPTH && at < end) {
		if (is_object) {
			if (*at != '"' || !(at = cur_string_end(at + 1, end)))
				return NULL;
			at = cur_skip_blank(at + 1, end);
			if (at == end || *at != ':')
				return NULL;
			at = cur_skip_blank(at + 1, end);
		}
		if (at == end || !(at = skip_value(at, end, depth + 1)))
			return NULL;
		at = cur_skip_blank(at, end);
		if (at == end)
			return NULL;
		if (*at == close)
			return at + 1;
		if (*at != ',')
			return NULL;
		at = cur_skip_blank(at + 1, end);
	}
	return NULL;
}

static const uint8_t *skip_value(const uint8_t *at, const uint8_t *end, unsigned depth)
{
	switch (*at) {
	case '"':
		at = cur_string_end(at + 1, end);
		return at ? at + 1 : NULL;
	case '{':
	case '[':
		return skip_members(at + 1, end, *at == '{', depth);
	case 't':
		return skip_word(at, end, "true");
	case 'f':
		return skip_word(at, end, "false");
	case 'n':
		return skip_word(at, end, "null");
	default:
		return cur_number_end(at, end);
	}
}

/* One value of the event: the text without quotes. */
static void take_field(struct cur_msprof_event *event, struct mp_str key, struct mp_str value, bool is_string)
{
	if (mp_str_is(key, "name")) {
		event->name = value;
	} else if (mp_str_is(key, "ph")) {
		event->phase = is_string && value.len == 1 ? value.text[0] : 0;
	} else if (mp_str_is(key, "ts")) {
		event->has_ts = mp_num_parse_scaled(value.text, value.len, 3, &event->ts_ns);
		event->numeric_ts = !is_string;
	} else if (mp_str_is(key, "id")) {
		event->id = value;
	} else if (mp_str_is(key, "pid")) {
		event->has_pid = mp_num_parse_i64(value.text, value.len, &event->pid);
	} else if (mp_str_is(key, "tid")) {
		if (!mp_num_parse_i64(value.text, value.len, &event->tid))
			event->tid = 0;
	} else if (mp_str_is(key, "dur")) {
		if (!mp_num_parse_scaled(value.text, value.len, 3, &event->dur_ns))
			event->dur_ns = 0;
		event->dur = is_string ? (struct mp_str){"", 0} : value;
	} else if (mp_str_is(key, "cat")) {
		event->host_to_device = mp_str_is(value, "HostToDevice");
	}
}

/* "name" at the beginning of the args: metadata have nothing else. */
static void take_args_name(struct cur_msprof_event *event)
{
	const uint8_t *at = cur_skip_blank(event->args + 1, event->args_close);
	const uint8_t *close;

	if (event->args_close - at < 8 || memcmp(at, "\"name\"", 6) != 0)
		return;
	at = cur_skip_blank(at + 6, event->args_close);
	if (at == event->args_close || *at != ':')
		return;
	at = cur_skip_blank(at + 1, event->args_close);
	if (at < event->args_close && *at == '"' &&
	    (close = cur_string_end(at + 1, event->args_close)) != NULL)
		event->args_name = (struct mp_str){(const char *)at + 1, (size_t)(close - at - 1)};
}

/* What the args of a kernel tell; a text that only looks like the key does no harm. */
static void take_args_values(struct cur_msprof_event *event)
{
	static const char task_type[] = "\"Task Type\"", named[] = "\"mindspore_op\"";
	const uint8_t *end = event->args_close, *at, *close;
	size_t len = (size_t)(end - event->args);

	event->args_named = memmem(event->args, len, named, sizeof(named) - 1) != NULL;
	at = memmem(event->args, len, task_type, sizeof(task_type) - 1);
	if (!at)
		return;
	at = cur_skip_blank(at + sizeof(task_type) - 1, end);
	if (at == end || *at != ':')
		return;
	at = cur_skip_blank(at + 1, end);
	if (at < end && *at == '"' && (close = cur_string_end(at + 1, end)) != NULL)
		event->task_type = (struct mp_str){(const char *)at + 1, (size_t)(close - at - 1)};
}

static void take_value(struct cur_msprof_event *event, struct mp_str key, const uint8_t *from,
		       const uint8_t *to)
{
	if (mp_str_is(key, "args")) {
		if (*from != '{')
			return;
		event->args = from;
		event->args_close = to - 1;
		event->args_empty = cur_skip_blank(from + 1, to) == to - 1;
	} else if (*from == '"') {
		take_field(event, key, (struct mp_str){(const char *)from + 1, (size_t)(to - from - 2)},
			   true);
	} else {
		take_field(event, key, (struct mp_str){(const char *)from, (size_t)(to - from)}, false);
	}
}

static const uint8_t *scan_plain(const uint8_t *at, const uint8_t *end, struct cur_msprof_event *event)
{
	at = cur_skip_blank(at + 1, end);
	if (at < end && *at == '}')
		return at + 1;
	while (at < end) {
		struct mp_str key = {(const char *)at + 1, 0};
		const uint8_t *value;

		if (*at != '"' || !(at = cur_string_end(at + 1, end)))
			return NULL;
		key.len = (size_t)(at - (const uint8_t *)key.text);
		at = cur_skip_blank(at + 1, end);
		if (at == end || *at != ':')
			return NULL;
		value = cur_skip_blank(at + 1, end);
		if (value == end || !(at = skip_value(value, end, 1)))
			return NULL;
		take_value(event, key, value, at);
		at = cur_skip_blank(at, end);
		if (at == end)
			return NULL;
		if (*at == '}')
			return at + 1;
		if (*at != ',')
			return NULL;
		at = cur_skip_blank(at + 1, end);
	}
	return NULL;
}

/* ---- the general way ---- */

/* The text of a string or number; false when memory is out. */
static bool text_of(const struct mp_json *json, enum mp_json_type type, struct mp_buf *buf,
		    struct mp_str *out)
{
	struct mp_json_str text = {json->text, json->len};

	if (type == MP_JSON_STRING && json->escaped) {
		text = mp_json_string(json, buf);
		if (buf->failed)
			return false;
	}
	*out = (struct mp_str){text.text, text.len};
	return true;
}

/* The members of args: the last "name" counts. */
static bool scan_args(struct cur_msprof_scanner *scanner, struct mp_json *json,
		      struct cur_msprof_event *event)
{
	enum mp_json_type type;

	event->args = (const uint8_t *)json->at - 1;
	event->args_empty = true;
	while ((type = mp_json_next(json)) == MP_JSON_KEY) {
		bool is_name = mp_json_key_is(json, "name"), is_task = mp_json_key_is(json, "Task Type");

		event->args_empty = false;
		event->args_named |= mp_json_key_is(json, "mindspore_op");
		type = mp_json_next(json);
		if ((is_name || is_task) && type == MP_JSON_STRING) {
			if (!text_of(json, type, is_name ? &scanner->args_name : &scanner->task_type,
				     is_name ? &event->args_name : &event->task_type))
				return false;
		} else if ((type == MP_JSON_OBJECT || type == MP_JSON_ARRAY) && !mp_json_skip(json, type)) {
			break;
		}
	}
	if (type == MP_JSON_OBJECT_END)
		event->args_close = (const uint8_t *)json->at - 1;
	return true;
}

static bool scan_member(struct cur_msprof_scanner *scanner, struct mp_json *json,
			struct cur_msprof_event *event)
{
	struct mp_str key, value;
	enum mp_json_type type;
	struct mp_buf *buf = mp_json_key_is(json, "id") ? &scanner->id : &scanner->name;
	bool is_args = mp_json_key_is(json, "args");

	key = (struct mp_str){json->text, json->len};
	if (json->escaped)
		key.len = 0; /* none of ours needs escapes */
	type = mp_json_next(json);
	if (is_args && type == MP_JSON_OBJECT)
		return scan_args(scanner, json, event);
	if (type == MP_JSON_OBJECT || type == MP_JSON_ARRAY) {
		mp_json_skip(json, type);
		return true;
	}
	if (type != MP_JSON_STRING && type != MP_JSON_NUMBER)
		return true;
	/* Only these two may hold anything but plain text. */
	if (!text_of(json, type, buf, &value))
		return false;
	take_field(event, key, value, type == MP_JSON_STRING);
	return true;
}

static const uint8_t *scan_general(struct cur_msprof_scanner *scanner, const uint8_t *at, const uint8_t *end,
				   struct cur_msprof_event *event, const uint8_t **fault)
{
	enum mp_json_type type;
	struct mp_json json;

	mp_json_init(&json, at, (size_t)(end - at));
	type = mp_json_next(&json);
	while (type == MP_JSON_OBJECT && (type = mp_json_next(&json)) == MP_JSON_KEY) {
		if (!scan_member(scanner, &json, event)) {
			*fault = NULL;
			return NULL;
		}
		type = MP_JSON_OBJECT; /* on to the next member */
	}
	if (type == MP_JSON_OBJECT_END)
		return (const uint8_t *)json.at;
	*fault = at + (type == MP_JSON_ERROR ? json.err_offset : 0);
	return NULL;
}

const uint8_t *cur_msprof_scan(struct cur_msprof_scanner *scanner, const uint8_t *at, const uint8_t *end,
			       struct cur_msprof_event *event, const uint8_t **fault)
{
	const uint8_t *behind = cur_shapes_scan(&scanner->shapes, at, end, event);

	if (behind)
		return behind;
	*event = (struct cur_msprof_event){0};
	behind = scan_plain(at, end, event);
	if (!behind) {
		*event = (struct cur_msprof_event){0};
		return scan_general(scanner, at, end, event, fault);
	}
	if (event->phase == 'M' && event->args)
		take_args_name(event);
	else if (event->phase == 'X' && event->args)
		take_args_values(event);
	if (event->phase != 'M')
		cur_shapes_learn(&scanner->shapes, at, behind);
	return behind;
}
