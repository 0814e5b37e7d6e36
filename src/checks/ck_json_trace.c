/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome JSON trace -> faults, event by event; what needs other events is left to ck_json_lanes.c.
 * Forms of events: Trace Event Format; those of the original: analysis-current.md section 7.
 */
#include <string.h>

#include "base/num.h"
#include "checks/ck_json.h"

#include "base/banned.h"

enum field { F_NAME, F_CAT, F_PH, F_PID, F_TID, F_TS, F_DUR, F_ID, F_BP, F_ARGS, N_FIELDS };

static const char *const field_names[N_FIELDS] = {
	[F_NAME] = "name", [F_CAT] = "cat", [F_PH] = "ph", [F_PID] = "pid", [F_TID] = "tid",
	[F_TS] = "ts",     [F_DUR] = "dur", [F_ID] = "id", [F_BP] = "bp",   [F_ARGS] = "args",
};

enum arg { A_NAME, A_LABELS, A_SORT_INDEX, N_ARGS };

static const char *const arg_names[N_ARGS] = {"name", "labels", "sort_index"};

/* type MP_JSON_END = absent. Texts as they stand in the file. */
struct value {
	enum mp_json_type type;
	const char *text;
	size_t len;
	int64_t offset; /* where the value begins, the quote included */
};

struct event {
	struct value fields[N_FIELDS];
	struct value args[N_ARGS];
	int64_t offset;
};

struct trace_check {
	struct mp_faults faults;
	struct ck_tokens tokens;
	struct ck_lanes lanes;
	enum mp_json_type time_type; /* of the first ts; MP_JSON_END = none yet */
};

/* Phases of the Trace Event Format, the deprecated ones too. */
static const char phases[] = "BEXiICbneSTpFstfPNODMVvRc(),=";

/* An absent value is a fault of the event. */
static int64_t offset_of(const struct value *value, const struct event *event)
{
	return value->type == MP_JSON_END ? event->offset : value->offset;
}

static bool is_integer(const struct value *value)
{
	size_t i;

	for (i = 0; i < value->len; i++)
		if (value->text[i] == '.' || value->text[i] == 'e' || value->text[i] == 'E')
			return false;
	return value->type == MP_JSON_NUMBER;
}

static bool has_text(const struct value *value, const char *text)
{
	return value->type == MP_JSON_STRING && value->len == strlen(text) &&
	       memcmp(value->text, text, value->len) == 0;
}

/* --- times */

/* More than three decimals of a microsecond, or an exponent. */
static bool is_inexact(const struct value *value)
{
	const char *point = memchr(value->text, '.', value->len);

	return memchr(value->text, 'e', value->len) || memchr(value->text, 'E', value->len) ||
	       (point && value->text + value->len - point > 4);
}

static bool parse_time(struct trace_check *ck, const struct event *event, enum field field, int64_t *ns)
{
	const struct value *value = &event->fields[field];
	const char *name = field_names[field];
	const char *text = NULL;

	if (value->type == MP_JSON_END)
		text = "is missing";
	else if (value->type != MP_JSON_NUMBER && value->type != MP_JSON_STRING)
		text = "is not a number";
	else if (value->type == MP_JSON_STRING && field == F_DUR &&
		 event->fields[F_TS].type == MP_JSON_NUMBER)
		text = "is text although ts is a number";
	else if (!mp_num_parse_scaled(value->text, value->len, 3, ns))
		text = value->type == MP_JSON_STRING ? "is text that is not a time in microseconds"
						     : "is beyond the range of nanoseconds";
	if (!text)
		return true;
	mp_faults_add(&ck->faults, "event-time", offset_of(value, event), "%s %s", name, text);
	return false;
}

static bool parse_begin(struct trace_check *ck, const struct event *event, int64_t *ns)
{
	const struct value *ts = &event->fields[F_TS];

	if (!parse_time(ck, event, F_TS, ns))
		return false;
	if (ck->time_type == MP_JSON_END)
		ck->time_type = ts->type;
	else if (ts->type != ck->time_type)
		mp_faults_add(&ck->faults, "mixed-time", offset_of(ts, event),
			      "ts is %s, in the first event %s",
			      ts->type == MP_JSON_STRING ? "text" : "a number",
			      ts->type == MP_JSON_STRING ? "a number" : "text");
	return true;
}

/* --- kinds of events */

static bool start_item(struct trace_check *ck, const struct event *event, int64_t begin_ns,
		       struct ck_item *item)
{
	const struct value *pid = &event->fields[F_PID], *tid = &event->fields[F_TID];

	*item = (struct ck_item){
		.begin_ns = begin_ns,
		.end_ns = begin_ns,
		.offset = event->offset,
		.phase = event->fields[F_PH].text[0],
		.inexact = is_inexact(&event->fields[F_TS]),
	};
	item->lane = ck_lanes_find(&ck->lanes, pid->text, pid->len, tid->text, tid->len);
	if (item->lane == UINT32_MAX)
		ck->faults.no_memory = true;
	return item->lane != UINT32_MAX;
}

static void check_slice(struct trace_check *ck, const struct event *event, int64_t begin_ns)
{
	struct ck_item item;
	int64_t dur_ns;

	if (!parse_time(ck, event, F_DUR, &dur_ns) || !start_item(ck, event, begin_ns, &item))
		return;
	item.inexact |= is_inexact(&event->fields[F_DUR]);
	if (dur_ns < 0)
		mp_faults_add(&ck->faults, "negative-duration", offset_of(&event->fields[F_DUR], event),
			      "dur is negative");
	else if (__builtin_add_overflow(begin_ns, dur_ns, &item.end_ns))
		mp_faults_add(&ck->faults, "event-time", event->offset,
			      "the end is beyond the range of nanoseconds");
	else if (!mp_vec_push(&ck->lanes.slices, item))
		ck->faults.no_memory = true;
}

static void check_end(struct trace_check *ck, const struct event *event, int64_t ts_ns)
{
	struct ck_item item;

	if (start_item(ck, event, ts_ns, &item) && !mp_vec_push(&ck->lanes.ends, item))
		ck->faults.no_memory = true;
}

static void check_flow(struct trace_check *ck, const struct event *event, int64_t ts_ns)
{
	const struct value *id = &event->fields[F_ID], *cat = &event->fields[F_CAT],
			   *name = &event->fields[F_NAME];
	bool text_allowed = event->fields[F_TS].type == MP_JSON_STRING;
	struct ck_flow flow = {.offset = event->offset, .phase = event->fields[F_PH].text[0]};
	struct ck_item item;

	if (!is_integer(id) && !(text_allowed && id->type == MP_JSON_STRING)) {
		mp_faults_add(&ck->faults, "flow-id", offset_of(id, event), "%s",
			      id->type == MP_JSON_END ? "flow has no id"
						      : "id of the flow is not an integer");
		if (id->type != MP_JSON_STRING && id->type != MP_JSON_NUMBER)
			return;
	}
	flow.key = mp_hash_bytes(cat->text, cat->len, 2);
	flow.key = mp_hash_bytes(name->text, name->len, flow.key);
	flow.key = mp_hash_bytes(id->text, id->len, flow.key);
	if (!mp_vec_push(&ck->lanes.flows, flow))
		ck->faults.no_memory = true;
	if (flow.phase != 'f' || !start_item(ck, event, ts_ns, &item))
		return;
	item.next_slice = !has_text(&event->fields[F_BP], "e");
	if (!mp_vec_push(&ck->lanes.flow_ends, item))
		ck->faults.no_memory = true;
}

static void check_metadata(struct trace_check *ck, const struct event *event)
{
	static const struct {
		const char *name;
		enum arg arg;
	} known[] = {
		{"process_name", A_NAME},
		{"thread_name", A_NAME},
		{"process_labels", A_LABELS},
		{"process_sort_index", A_SORT_INDEX},
		{"thread_sort_index", A_SORT_INDEX},
	};
	const struct value *arg;
	bool good;
	size_t i;

	for (i = 0; i < MP_COUNT(known); i++) {
		if (!has_text(&event->fields[F_NAME], known[i].name))
			continue;
		arg = &event->args[known[i].arg];
		good = known[i].arg == A_SORT_INDEX ? is_integer(arg) : arg->type == MP_JSON_STRING;
		if (!good)
			mp_faults_add(&ck->faults, "metadata-args", offset_of(arg, event),
				      "%s needs args with %s \"%s\"", known[i].name,
				      known[i].arg == A_SORT_INDEX ? "an integer" : "a text",
				      arg_names[known[i].arg]);
	}
}

static void check_name(struct trace_check *ck, const struct event *event, char phase)
{
	const struct value *name = &event->fields[F_NAME];

	/* The end of a slice may leave out what its begin said. */
	if (name->type == MP_JSON_END && !strchr("BXiICMbstf", phase))
		return;
	if (name->type != MP_JSON_STRING)
		mp_faults_add(&ck->faults, "event-name", offset_of(name, event),
			      name->type == MP_JSON_END ? "event has no name" : "name is not text");
}

static void check_event(struct trace_check *ck, const struct event *event)
{
	const struct value *ph = &event->fields[F_PH];
	int64_t ts_ns;
	char phase;

	if (ph->type != MP_JSON_STRING || ph->len != 1 || !strchr(phases, ph->text[0])) {
		mp_faults_add(&ck->faults, "event-phase", offset_of(ph, event), "%s",
			      ph->type == MP_JSON_END ? "event has no phase (ph)"
						      : "phase (ph) is not a known one");
		return;
	}
	phase = ph->text[0];
	check_name(ck, event, phase);
	if (phase == 'M') {
		check_metadata(ck, event);
		return;
	}
	if (!parse_begin(ck, event, &ts_ns))
		return;
	if (phase == 'X')
		check_slice(ck, event, ts_ns);
	else if (phase == 'B' || phase == 'E')
		check_end(ck, event, ts_ns);
	else if (phase == 's' || phase == 't' || phase == 'f')
		check_flow(ck, event, ts_ns);
}

/* --- reading */

static void take_value(struct ck_tokens *tokens, enum mp_json_type type, struct value *value)
{
	value->type = type;
	value->text = tokens->json.text;
	value->len = tokens->json.len;
	value->offset = ck_tokens_at(tokens, type);
}

static int find_name(const struct mp_json *json, const char *const *names, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (mp_json_key_is(json, names[i]))
			return i;
	return -1;
}

/* Reads an object whose members of the given names go to values; false after a fault of syntax. */
static bool read_members(struct ck_tokens *tokens, const char *const *names, int n, struct value *values,
			 struct value *args)
{
	enum mp_json_type type;
	int at;

	while ((type = ck_tokens_next(tokens)) == MP_JSON_KEY) {
		at = find_name(&tokens->json, names, n);
		type = ck_tokens_next(tokens);
		if (type == MP_JSON_ERROR)
			return false;
		if (at >= 0)
			take_value(tokens, type, &values[at]);
		if (args && at == F_ARGS && type == MP_JSON_OBJECT) {
			if (!read_members(tokens, arg_names, N_ARGS, args, NULL))
				return false;
		} else if (!ck_tokens_skip(tokens, type)) {
			return false;
		}
	}
	return type == MP_JSON_OBJECT_END;
}

/* The array of events, after its bracket; false after a fault of syntax. */
static bool read_events(struct trace_check *ck)
{
	static const struct event none = {.fields[0].type = MP_JSON_END};
	struct ck_tokens *tokens = &ck->tokens;
	enum mp_json_type type;
	struct event event;

	while ((type = ck_tokens_next(tokens)) != MP_JSON_ARRAY_END) {
		if (type == MP_JSON_ERROR)
			return false;
		if (type != MP_JSON_OBJECT) {
			mp_faults_add(&ck->faults, "event-not-object", ck_tokens_at(tokens, type),
				      "event is not an object");
			if (!ck_tokens_skip(tokens, type))
				return false;
			continue;
		}
		event = none;
		event.offset = ck_tokens_at(tokens, type);
		if (!read_members(tokens, field_names, N_FIELDS, event.fields, event.args))
			return false;
		check_event(ck, &event);
	}
	return true;
}

/* The outermost object, after its bracket. */
static bool read_object(struct trace_check *ck)
{
	struct ck_tokens *tokens = &ck->tokens;
	enum mp_json_type type;
	bool found = false, events, ok = true;

	while ((type = ck_tokens_next(tokens)) == MP_JSON_KEY && ok) {
		events = mp_json_key_is(&tokens->json, "traceEvents");
		type = ck_tokens_next(tokens);
		if (events && type != MP_JSON_ARRAY && type != MP_JSON_ERROR)
			mp_faults_add(&ck->faults, "not-a-trace", ck_tokens_at(tokens, type),
				      "\"traceEvents\" is not an array");
		found |= events;
		ok = events && type == MP_JSON_ARRAY ? read_events(ck) : ck_tokens_skip(tokens, type);
	}
	if (type != MP_JSON_OBJECT_END)
		return false;
	if (!found)
		mp_faults_add(&ck->faults, "not-a-trace", 0, "object without \"traceEvents\"");
	return true;
}

static bool read_trace(struct trace_check *ck)
{
	enum mp_json_type type = ck_tokens_next(&ck->tokens);

	if (type == MP_JSON_ERROR)
		return false;
	if (type == MP_JSON_ARRAY) {
		if (!read_events(ck))
			return false;
	} else if (type == MP_JSON_OBJECT) {
		if (!read_object(ck))
			return false;
	} else {
		mp_faults_add(&ck->faults, "not-a-trace", ck_tokens_at(&ck->tokens, type),
			      "neither an array nor an object");
	}
	return ck_tokens_next(&ck->tokens) == MP_JSON_END;
}

mp_status mp_check_json_trace(const void *data, size_t size, const struct mp_check *check, uint64_t *n_faults,
			      mp_err *err)
{
	struct trace_check ck = {.time_type = MP_JSON_END};
	bool complete;

	mp_faults_init(&ck.faults, check);
	ck_tokens_init(&ck.tokens, data, size, &ck.faults);
	complete = read_trace(&ck);
	if (!ck.faults.no_memory)
		ck_lanes_judge(&ck.lanes, complete, &ck.faults);
	ck_lanes_release(&ck.lanes);
	ck_tokens_release(&ck.tokens);
	return mp_faults_finish(&ck.faults, data ? data : "", n_faults, err);
}
