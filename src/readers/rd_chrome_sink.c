/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One decoded event -> the store, by its phase. What needs a second event (B/E, b/e, S/F) or the
 * range that follows (f without bp) is set aside for rd_chrome_pairs.c.
 */
#include <inttypes.h>

#include "base/num.h"
#include "formats/fmt_trace_event.h"
#include "readers/rd_chrome.h"

#include "base/banned.h"

/* An event whose parts are known to the store. */
struct known {
	const struct chrome_event *event;
	const char *at; /* in the input */
	int64_t ts_ns;
	const struct chrome_lane *lane;
	const struct chrome_name *name;
	const struct chrome_category *category;
	uint32_t detail;
	uint8_t cls;
};

static const struct chrome_text nothing = {.at = ""};

static inline const struct chrome_text *member(const struct chrome_event *event, enum chrome_member which)
{
	return CHROME_HAS(event, which) ? &event->member[which] : &nothing;
}

/* The args when they are an object, else nothing. */
static inline const struct chrome_text *args_of(struct chrome_worker *worker, const struct known *known)
{
	const struct chrome_text *args = member(known->event, CHROME_ARGS);

	if (args->len && !(args->flags & CHROME_CONTAINER && args->at[0] == '{')) {
		chrome_fault(worker, CHROME_BAD_ARGS, args->at);
		return &nothing;
	}
	return args->len > 2 ? args : &nothing;
}

static inline void put(struct chrome_worker *worker, enum mp_kind kind, const struct mp_event *event)
{
	if (MP_UNLIKELY(!mp_append(worker->appender, kind, event)))
		worker->failed = MINDPROF_E_LIMIT; /* finishing the appender tells the reason */
}

static void note_text_faults(struct chrome_worker *worker, uint8_t flags, const struct chrome_text *text)
{
	if (flags & CHROME_NAME_BAD_UTF8)
		chrome_fault(worker, CHROME_BAD_UTF8, text->at);
	if (flags & CHROME_NAME_CONTROL)
		chrome_fault(worker, CHROME_BAD_CONTROL, text->at);
}

/* ts or dur. */
static inline bool take_ns(const struct chrome_event *event, enum chrome_member which, int64_t *ns)
{
	*ns = event->number[which];
	return CHROME_PARSED(event, which) ||
	       (CHROME_HAS(event, which) && chrome_time(&event->member[which], ns));
}

/* Time on the store's axis; false and a fault when there is none. */
static inline bool take_time(struct chrome_worker *worker, struct known *known)
{
	int64_t ns = 0;

	if (MP_UNLIKELY(!take_ns(known->event, CHROME_TS, &ns) ||
			__builtin_add_overflow(ns, worker->read->base_ns, &known->ts_ns))) {
		chrome_fault(worker, CHROME_NO_TIME, known->at);
		return false;
	}
	worker->end_ns = MP_MAX(worker->end_ns, known->ts_ns);
	return true;
}

/* Name, category and track; false when memory is out. */
static inline bool take_common(struct chrome_worker *worker, struct known *known, enum chrome_rows rows)
{
	const struct chrome_text *name = member(known->event, CHROME_NAME),
				 *cat = member(known->event, CHROME_CAT);

	known->name = chrome_name_of(worker, name);
	known->category = chrome_category_of(worker, cat);
	if (MP_UNLIKELY(!known->name || !known->category))
		return false;
	if (MP_UNLIKELY((known->name->flags | known->category->flags) &
			(CHROME_NAME_BAD_UTF8 | CHROME_NAME_CONTROL))) {
		note_text_faults(worker, known->name->flags, name);
		note_text_faults(worker, known->category->flags, cat);
	}
	known->lane = chrome_lane_of(worker, known->event, rows, known->category->is_device);
	return known->lane != NULL;
}

/* Args and class. Elsewhere than in our own files the name tells what is communication. */
static inline bool take_detail(struct chrome_worker *worker, struct known *known)
{
	const struct chrome_detail *detail =
		chrome_detail_of(worker, known->category->id, args_of(worker, known));

	if (MP_UNLIKELY(!detail))
		return false;
	known->detail = detail->id;
	known->cls = detail->cls != CHROME_CLASS_UNKNOWN ? detail->cls : known->category->cls;
	if (known->cls == CHROME_CLASS_UNKNOWN)
		known->cls = MP_CLASS_RANGE;
	if (MP_UNLIKELY(known->name->flags & CHROME_NAME_COMMUNICATION) && !worker->read->is_own &&
	    known->cls <= MP_CLASS_MEMCPY)
		known->cls = MP_CLASS_COMMUNICATION;
	return true;
}

/* ---------------------------------------------------------------- ranges and marks */

/* Length of an X event; absent is 0, as old Chrome wrote it. */
static inline int64_t take_duration(struct chrome_worker *worker, const struct known *known)
{
	int64_t dur = 0, end;

	if (MP_UNLIKELY(!CHROME_HAS(known->event, CHROME_DUR))) {
		chrome_fault(worker, CHROME_NO_DURATION, known->at);
		return 0;
	}
	if (MP_UNLIKELY(!take_ns(known->event, CHROME_DUR, &dur) || dur < 0)) {
		chrome_fault(worker, CHROME_BAD_DURATION, known->at);
		return 0;
	}
	end = mp_end_ns(known->ts_ns, dur);
	worker->end_ns = MP_MAX(worker->end_ns, end);
	return end == INT64_MAX ? INT64_MAX - MP_MAX(known->ts_ns, 0) : dur;
}

/* Our own drawn step: {"step": number, "tid": of the track that counted it}. */
static void sink_own_step(struct chrome_worker *worker, const struct known *known)
{
	const struct chrome_text *args = args_of(worker, known);
	const char *at = args->at + 1, *end = args->at + args->len;
	struct mp_event step = {.ts_ns = known->ts_ns, .name = 0};
	struct chrome_text key, value;
	int64_t tid = 0;
	bool has_number = false;

	while (args->len && chrome_next_member(&at, end, &key, &value)) {
		if (chrome_is(&key, "step"))
			has_number = chrome_integer(&value, &step.a);
		else if (chrome_is(&key, "tid"))
			chrome_integer(&value, &tid);
	}
	if (!has_number) {
		chrome_fault(worker, CHROME_BAD_VALUE, known->at);
		return;
	}
	step.track = chrome_track_of_tid(worker, known->event, tid);
	if (step.track != UINT32_MAX)
		put(worker, MP_KIND_STEP, &step);
}

static void sink_range(struct chrome_worker *worker, struct known *known)
{
	struct mp_event range = {.ts_ns = known->ts_ns};

	if (!take_common(worker, known, CHROME_THREADS))
		return;
	if (MP_UNLIKELY(known->lane->is_steps)) {
		sink_own_step(worker, known);
		return;
	}
	if (!take_detail(worker, known))
		return;
	range.a = take_duration(worker, known);
	range.track = known->lane->track;
	range.name = known->name->id;
	range.detail = known->detail;
	range.cls = known->cls;
	if (MP_UNLIKELY(known->name->flags & CHROME_NAME_STEP) && !worker->read->is_own &&
	    !known->category->is_device) {
		struct mp_event step = {.ts_ns = known->ts_ns,
					.a = known->name->step,
					.track = range.track,
					.name = range.name};

		range.cls = MP_CLASS_STEP;
		put(worker, MP_KIND_STEP, &step);
	}
	put(worker, MP_KIND_RANGE, &range);
}

/* What a [memory] event tells, Kineto's or ours. */
struct memory {
	struct mp_event change, total;
	int64_t device_type, device;
	bool has_bytes, has_total;
};

static void take_memory(struct chrome_worker *worker, const struct chrome_text *args, struct memory *memory)
{
	const char *at = args->at + 1, *end = args->at + args->len;
	struct chrome_text key, value;

	while (args->len && chrome_next_member(&at, end, &key, &value)) {
		if (chrome_is(&key, "Bytes"))
			memory->has_bytes = chrome_integer(&value, &memory->change.a);
		else if (chrome_is(&key, "Addr"))
			chrome_integer(&value, &memory->change.b);
		else if (chrome_is(&key, "Total Allocated"))
			memory->has_total = chrome_integer(&value, &memory->total.a);
		else if (chrome_is(&key, "Total Reserved"))
			chrome_integer(&value, &memory->total.b);
		else if (chrome_is(&key, "Device Type"))
			chrome_integer(&value, &memory->device_type);
		else if (chrome_is(&key, "Device Id"))
			chrome_integer(&value, &memory->device);
		else if (worker->read->is_own && chrome_is(&key, "name"))
			memory->change.name = chrome_string(worker, &value, NULL);
	}
}

static void sink_memory(struct chrome_worker *worker, const struct known *known)
{
	struct mp_event event = {.ts_ns = known->ts_ns, .track = known->lane->track};
	struct memory memory = {.change = event, .total = event, .device_type = -1};
	char pool[32] = "cpu";

	take_memory(worker, args_of(worker, known), &memory);
	/* Kineto counts per device; type 0 is the host. */
	if (memory.device_type > 0)
		snprintf(pool, sizeof(pool), "device %" PRId64, memory.device);
	if (memory.device_type >= 0)
		memory.change.name = memory.total.name = mp_store_string(worker->store, pool);
	if (memory.change.name == MP_STR_NONE || memory.total.name == MP_STR_NONE)
		worker->failed = MINDPROF_E_NOMEM;
	if (!memory.has_bytes)
		chrome_fault(worker, CHROME_BAD_VALUE, known->at);
	if (memory.has_bytes && !worker->failed)
		put(worker, MP_KIND_MEMORY, &memory.change);
	if (memory.has_total && !worker->failed)
		put(worker, MP_KIND_MEMORY_TOTAL, &memory.total);
}

static void sink_mark(struct chrome_worker *worker, struct known *known, enum chrome_rows rows)
{
	struct mp_event mark = {.ts_ns = known->ts_ns};

	if (!take_common(worker, known, rows))
		return;
	if (known->name->flags & CHROME_NAME_MEMORY) {
		sink_memory(worker, known);
		return;
	}
	if (known->lane->is_steps || !take_detail(worker, known))
		return;
	mark.track = known->lane->track;
	mark.name = known->name->id;
	mark.detail = known->detail;
	mark.cls = known->cls;
	put(worker, MP_KIND_MARK, &mark);
}

/* ---------------------------------------------------------------- counters */

/* The name of one series of a counter: the counter's own when it has one series called value. */
static uint32_t series_name(struct chrome_worker *worker, const struct known *known,
			    const struct chrome_text *key, bool is_only)
{
	const struct chrome_text *id = member(known->event, CHROME_ID);
	uint32_t key_id = chrome_string(worker, key, NULL), name = known->name->id;
	struct mp_str base = mp_store_text(worker->store, name),
		      series = mp_store_text(worker->store, key_id);
	bool is_plain = is_only && (!key->len || key_id == name || chrome_is(key, "value"));
	struct chrome_text full = {.flags = CHROME_HIGH};
	struct mp_buf made;

	if (key_id == MP_STR_NONE || (is_plain && !id->len))
		return key_id == MP_STR_NONE ? key_id : name;
	mp_buf_init(&made, SIZE_MAX / 2);
	mp_buf_add(&made, base.text, base.len);
	if (id->len) {
		mp_buf_add_char(&made, '[');
		mp_buf_add(&made, id->at, id->len);
		mp_buf_add_char(&made, ']');
	}
	if (!is_plain) {
		mp_buf_add_char(&made, ' ');
		mp_buf_add(&made, series.text, series.len);
	}
	full.at = made.data;
	full.len = made.len;
	name = made.failed ? MP_STR_NONE : chrome_string(worker, &full, NULL);
	mp_buf_release(&made);
	return name;
}

/* Our own totals and queues; false when the counter is another one. */
static bool take_own_counter(struct chrome_worker *worker, const struct known *known,
			     const struct chrome_text *args)
{
	const char *at = args->at + 1, *end = args->at + args->len;
	struct mp_event event = {.ts_ns = known->ts_ns,
				 .track = known->lane->track,
				 .name = known->name->id,
				 .cls = MP_QUEUE_POP};
	const struct chrome_text *cat = member(known->event, CHROME_CAT);
	bool is_total = chrome_is(cat, MP_TRACE_CAT_TOTAL), is_push = chrome_is(cat, MP_TRACE_CAT_PUSH);
	int64_t depth = 0, capacity = 0, wait = 0;
	struct chrome_text key, value;

	if (!is_total && !is_push && !chrome_is(cat, MP_TRACE_CAT_POP))
		return false;
	while (chrome_next_member(&at, end, &key, &value)) {
		if (chrome_is(&key, "allocated"))
			chrome_integer(&value, &event.a);
		else if (chrome_is(&key, "reserved"))
			chrome_integer(&value, &event.b);
		else if (chrome_is(&key, "active"))
			chrome_integer(&value, &event.c);
		else if (chrome_is(&key, "depth"))
			chrome_integer(&value, &depth);
	}
	if (is_total) {
		put(worker, MP_KIND_MEMORY_TOTAL, &event);
		return true;
	}
	chrome_integer(member(known->event, CHROME_CAPACITY), &capacity);
	if (!chrome_time(member(known->event, CHROME_WAIT), &wait) || wait < 0 ||
	    __builtin_sub_overflow(event.ts_ns, wait, &event.ts_ns))
		wait = 0;
	event.cls = is_push ? MP_QUEUE_PUSH : MP_QUEUE_POP;
	event.a = wait;
	event.b = (int64_t)((uint64_t)depth << 32 | (uint32_t)capacity);
	put(worker, MP_KIND_QUEUE, &event);
	return true;
}

/* A number, or a string with one: there +1, 01, .5 and 5. are taken, too, as other readers do. */
static bool take_number(const struct chrome_text *text, double *number)
{
	char plain[64] = "0";
	const char *at = text->at, *end = at + text->len;
	size_t len = 0;

	if (text->flags & CHROME_CONTAINER || mp_num_parse_double(at, text->len, number))
		return !(text->flags & CHROME_CONTAINER);
	if (!(text->flags & CHROME_STRING) || !text->len || text->len >= sizeof(plain) - 2)
		return false;
	if (*at == '+')
		at++;
	else if (*at == '-')
		plain[len++] = *at++;
	while (end - at > 1 && at[0] == '0' && at[1] != '.')
		at++;
	if (at < end && *at == '.')
		plain[len++] = '0';
	memcpy(plain + len, at, (size_t)(end - at));
	len += (size_t)(end - at);
	if (len > 1 && plain[len - 1] == '.' && end - at > 1)
		len--;
	return mp_num_parse_double(plain, len, number);
}

static void sink_series(struct chrome_worker *worker, const struct known *known,
			const struct chrome_text *args)
{
	const char *begin = args->at + 1, *end = args->at + args->len, *at = begin;
	struct chrome_text key, value;
	size_t n = 0;

	while (chrome_next_member(&at, end, &key, &value))
		n++;
	at = begin;
	while (chrome_next_member(&at, end, &key, &value)) {
		struct mp_event event = {.ts_ns = known->ts_ns, .track = known->lane->track};
		double number;

		if (!take_number(&value, &number)) {
			chrome_fault(worker, CHROME_BAD_VALUE, value.at);
			continue;
		}
		event.a = mp_double_bits(number);
		event.name = series_name(worker, known, &key, n == 1);
		if (event.name == MP_STR_NONE)
			worker->failed = MINDPROF_E_NOMEM;
		else
			put(worker, MP_KIND_COUNTER, &event);
	}
	if (!at || !n)
		chrome_fault(worker, CHROME_BAD_VALUE, known->at);
}

static void sink_counter(struct chrome_worker *worker, struct known *known)
{
	const struct chrome_text *args = args_of(worker, known);

	if (!take_common(worker, known, worker->read->is_own ? CHROME_THREADS : CHROME_COUNTERS))
		return;
	if (!args->len)
		chrome_fault(worker, CHROME_BAD_VALUE, known->at);
	else if (!worker->read->is_own || !take_own_counter(worker, known, args))
		sink_series(worker, known, args);
}

/* ---------------------------------------------------------------- flows */

/*
 * Chrome joins flows by category and id; the store by id alone. Small numbers of each category get
 * a range of their own; other ids are hashed.
 */
static bool take_flow_id(struct chrome_worker *worker, const struct known *known, int64_t *id)
{
	const struct chrome_text *text = member(known->event, CHROME_ID);
	int64_t number;

	if (!text->len || text->flags & CHROME_CONTAINER)
		return false;
	if (worker->read->is_own)
		return chrome_integer(text, id);
	if (mp_num_parse_i64(text->at, text->len, &number) && number >= 0 && number < (INT64_C(1) << 32))
		*id = (int64_t)((uint64_t)(known->category->id & 0xfffffu) << 32 | (uint64_t)number);
	else
		*id = (int64_t)(mp_hash_bytes(text->at, text->len, known->category->id) | UINT64_C(1) << 63);
	return true;
}

static void sink_flow(struct chrome_worker *worker, struct known *known, enum mp_flow_phase phase)
{
	struct mp_event flow = {.ts_ns = known->ts_ns, .cls = (uint8_t)phase};

	if (!take_common(worker, known, CHROME_THREADS))
		return;
	if (known->lane->is_steps || !take_flow_id(worker, known, &flow.a)) {
		chrome_fault(worker, CHROME_BAD_VALUE, known->at);
		return;
	}
	flow.track = known->lane->track;
	flow.name = known->name->id;
	if (phase == MP_FLOW_END && !chrome_is(member(known->event, CHROME_BP), "e")) {
		struct chrome_flow_end end = {
			.ts_ns = flow.ts_ns, .id = (uint64_t)flow.a, .track = flow.track, .name = flow.name};

		if (!mp_vec_push(&worker->flow_ends, end))
			worker->failed = MINDPROF_E_NOMEM;
		return;
	}
	put(worker, MP_KIND_FLOW, &flow);
}

/* ---------------------------------------------------------------- halves */

/* What b and e have in common: category, id and scope, and the process when the id is local to it. */
static bool take_async_key(struct chrome_worker *worker, const struct known *known, struct chrome_half *half)
{
	const struct chrome_text *id = member(known->event, CHROME_ID);
	const struct chrome_text *id2 = member(known->event, CHROME_ID2);
	struct chrome_text key, value;

	half->category = known->category->id;
	half->scope = chrome_string(worker, member(known->event, CHROME_SCOPE), NULL);
	if (!id->len && id2->len > 2 && id2->at[0] == '{') {
		const char *at = id2->at + 1, *end = id2->at + id2->len;

		if (chrome_next_member(&at, end, &key, &value)) {
			half->id = chrome_string(worker, &value, NULL);
			if (chrome_is(&key, "local"))
				half->pid = known->lane->pid + 1; /* 0 = global */
		}
	} else {
		half->id = chrome_string(worker, id, NULL);
	}
	return half->scope != MP_STR_NONE && half->id != MP_STR_NONE;
}

static void sink_half(struct chrome_worker *worker, struct known *known, chrome_halves *halves, bool is_end)
{
	bool is_call = halves == &worker->calls;
	char phase = known->event->phase;
	struct chrome_half half = {.ts_ns = known->ts_ns,
				   .offset = (size_t)(known->at - worker->read->array.text),
				   .is_end = is_end};

	if (!take_common(worker, known, is_call ? CHROME_THREADS : CHROME_ASYNC) || known->lane->is_steps ||
	    !take_detail(worker, known))
		return;
	half.lane = half.track = known->lane->track;
	half.name = known->name->id;
	half.detail = known->detail;
	half.cls = known->cls;
	if (!is_call) {
		half.track = 0;
		half.name_key = phase == 'S' || phase == 'F' ? half.name + 1 : 0;
		if (!take_async_key(worker, known, &half)) {
			worker->failed = MINDPROF_E_NOMEM;
			return;
		}
	}
	if (!mp_vec_push(halves, half))
		worker->failed = MINDPROF_E_NOMEM;
}

/* ---------------------------------------------------------------- phases */

static void sink_event(struct chrome_worker *worker, struct known *known, char phase)
{
	switch (phase) {
	case 'X':
		sink_range(worker, known);
		break;
	case 'B':
	case 'E':
		sink_half(worker, known, &worker->calls, phase == 'E');
		break;
	case 'b':
	case 'S':
	case 'e':
	case 'F':
		sink_half(worker, known, &worker->async, phase == 'e' || phase == 'F');
		break;
	case 'i':
	case 'I':
	case 'R':
		sink_mark(worker, known, CHROME_THREADS);
		break;
	case 'n':
	case 'T':
	case 'p':
		sink_mark(worker, known, CHROME_ASYNC);
		break;
	case 'C':
		sink_counter(worker, known);
		break;
	case 's':
		sink_flow(worker, known, MP_FLOW_BEGIN);
		break;
	case 't':
		sink_flow(worker, known, MP_FLOW_STEP);
		break;
	case 'f':
		sink_flow(worker, known, MP_FLOW_END);
		break;
	default:
		break;
	}
}

static bool is_known_phase(char phase)
{
	return phase == 'X' || memchr("BEbSeFiIRnTpCstf", phase, 16) != NULL;
}

/* Begins of ranges, for flow ends that are bound to the next one. */
static void sink_begin(struct chrome_worker *worker, struct known *known)
{
	const struct chrome_lane *lane;

	if (!take_time(worker, known))
		return;
	lane = chrome_lane_of(worker, known->event, CHROME_THREADS, false);
	if (lane && !lane->is_steps)
		chrome_bind_flow_ends(worker, lane->track, known->ts_ns);
}

void chrome_sink(struct chrome_worker *worker, const struct chrome_event *event, const char *at)
{
	struct known known = {.event = event, .at = at};
	char phase = event->phase;

	if (!phase) {
		if (event->has && worker->mode == CHROME_EVENTS)
			chrome_fault(worker, CHROME_NO_PHASE, at);
		return;
	}
	if (worker->mode == CHROME_BEGINS) {
		if (phase == 'X' || phase == 'B')
			sink_begin(worker, &known);
	} else if (phase == 'M') {
		chrome_metadata(worker, event);
	} else if (worker->mode == CHROME_EVENTS) {
		if (!is_known_phase(phase))
			chrome_fault(worker, CHROME_IGNORED, at);
		else if (take_time(worker, &known))
			sink_event(worker, &known, phase);
	}
}
