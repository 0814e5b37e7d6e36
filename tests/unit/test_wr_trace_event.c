/* SPDX-License-Identifier: Apache-2.0 */
/* The portable trace: exact forms, flows, odd names and values, order of calls, failures. */
#include "test_wr_trace_event_helpers.h"

#include <math.h>

/* ---- forms ---- */

static uint32_t detail_of(struct mp_store *store, struct mp_detail detail)
{
	return mp_store_detail(store, &detail);
}

/* One event of each kind on one thread, times after 1000 ns. */
static struct mp_store *sample_store(void)
{
	struct mp_store *store = new_store();
	struct mp_process process = {.pid = 7,
				     .rank = 3,
				     .name = mp_store_string(store, "train \"1\""),
				     .labels = mp_store_string(store, "CPU"),
				     .sort_index = 5};
	struct mp_track thread = {
		.tid = 11, .stream = -1, .name = mp_store_string(store, "main"), .sort_index = 2};
	struct mp_appender *to = appender_of(store);
	struct mp_event event = {0};
	uint32_t track;

	thread.process = mp_store_process(store, &process);
	track = mp_store_track(store, &thread);
	event.detail = detail_of(store, (struct mp_detail){.category = mp_store_string(store, "math"),
							   .type = mp_store_string(store, "MatMul"),
							   .shapes = mp_store_string(store, "[2,3];[3,4]"),
							   .dtypes = mp_store_string(store, "f32"),
							   .args = mp_store_string(store, "{\"k\": [1]}"),
							   .stream = 4,
							   .flops = 24});
	event.ts_ns = 2500;
	event.a = 1500;
	event.track = track;
	event.name = mp_store_string(store, "op");
	event.cls = MP_CLASS_OPERATOR;
	assert_true(mp_append(to, MP_KIND_RANGE, &event));
	event = (struct mp_event){
		.ts_ns = 3000, .track = track, .name = mp_store_string(store, "here"), .cls = MP_CLASS_RANGE};
	assert_true(mp_append(to, MP_KIND_MARK, &event));
	event = (struct mp_event){.ts_ns = 3001,
				  .track = track,
				  .name = mp_store_string(store, "loss"),
				  .a = mp_double_bits(0.25)};
	assert_true(mp_append(to, MP_KIND_COUNTER, &event));
	event = (struct mp_event){.ts_ns = 3002,
				  .track = track,
				  .name = mp_store_string(store, "pool"),
				  .a = 10,
				  .b = 20,
				  .c = 5};
	assert_true(mp_append(to, MP_KIND_MEMORY_TOTAL, &event));
	event = (struct mp_event){
		.ts_ns = 3003, .track = track, .name = mp_store_string(store, "heap"), .a = -64, .b = 4096};
	assert_true(mp_append(to, MP_KIND_MEMORY, &event));
	event = (struct mp_event){.ts_ns = 3004,
				  .track = track,
				  .name = mp_store_string(store, "batches"),
				  .a = 1000,
				  .b = (int64_t)(3ull << 32 | 8),
				  .cls = MP_QUEUE_PUSH};
	assert_true(mp_append(to, MP_KIND_QUEUE, &event));
	event = (struct mp_event){.ts_ns = 1000, .track = track, .a = 41};
	assert_true(mp_append(to, MP_KIND_STEP, &event));
	event = (struct mp_event){.ts_ns = 3500, .track = track, .a = 42};
	assert_true(mp_append(to, MP_KIND_STEP, &event));
	put_flow(to, track, 2500, 9, MP_FLOW_BEGIN);
	put_flow(to, track, 4000, 9, MP_FLOW_END);
	finish(to);
	mp_store_set_fact(store, "mode", "stream", 6);
	return store;
}

/* The trace begins at 1000 ns (first step) and ends at 4004 ns (queue). Lanes: 11 is taken, so the steps
 * get 12. */
static void test_forms(void **state)
{
	struct mp_store *store = sample_store();
	struct trace_text text = written(MP_FLAVOUR_PORTABLE, store);

	(void)state;
	assert_string_equal(
		text.data,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\n\"mindprof_trace\":\"1\",\n\"base_time_ns\":\"1000\",\n"
		"\"program\":\"mindprof " MINDPROF_VERSION "\",\n\"mode\":\"stream\"},\"traceEvents\":[\n"
		"{\"ph\":\"M\",\"pid\":7,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"train \\\"1\\\"\",\"rank\":3}},\n"
		"{\"ph\":\"M\",\"pid\":7,\"tid\":0,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":5}},\n"
		"{\"ph\":\"M\",\"pid\":7,\"tid\":0,\"name\":\"process_labels\",\"args\":{\"labels\":\"CPU\"}},\n"
		"{\"ph\":\"M\",\"pid\":7,\"tid\":12,\"name\":\"thread_name\",\"args\":{\"name\":\"Steps\",\"kind\":\"steps\"}},\n"
		"{\"ph\":\"M\",\"pid\":7,\"tid\":12,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":0}},\n"
		"{\"ph\":\"X\",\"pid\":7,\"tid\":12,\"ts\":0.000,\"dur\":2.500,\"name\":\"Step 41\",\"cat\":\"step\",\"args\":{\"step\":41,\"tid\":11}},\n"
		"{\"ph\":\"X\",\"pid\":7,\"tid\":12,\"ts\":2.500,\"dur\":0.504,\"name\":\"Step 42\",\"cat\":\"step\",\"args\":{\"step\":42,\"tid\":11}},\n"
		"{\"ph\":\"M\",\"pid\":7,\"tid\":11,\"name\":\"thread_name\",\"args\":{\"name\":\"main\"}},\n"
		"{\"ph\":\"M\",\"pid\":7,\"tid\":11,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":1}},\n"
		"{\"ph\":\"X\",\"pid\":7,\"tid\":11,\"ts\":1.500,\"dur\":1.500,\"name\":\"op\",\"cat\":\"math\",\"args\":{\"class\":\"cpu_op\","
		"\"type\":\"MatMul\",\"shapes\":\"[2,3];[3,4]\",\"dtypes\":\"f32\",\"stream\":4,\"flops\":24.0,\"k\": [1]}},\n"
		"{\"ph\":\"i\",\"s\":\"t\",\"pid\":7,\"tid\":11,\"ts\":2.000,\"name\":\"here\",\"cat\":\"user_annotation\",\"args\":{}},\n"
		"{\"ph\":\"C\",\"pid\":7,\"tid\":11,\"ts\":2.001,\"name\":\"loss\",\"cat\":\"counter\",\"args\":{\"value\":0.25}},\n"
		"{\"ph\":\"i\",\"s\":\"t\",\"pid\":7,\"tid\":11,\"ts\":2.003,\"name\":\"[memory]\",\"cat\":\"cpu_instant_event\",\"args\":{\"Bytes\":-64,"
		"\"Addr\":4096,\"name\":\"heap\"}},\n"
		"{\"ph\":\"C\",\"pid\":7,\"tid\":11,\"ts\":3.004,\"name\":\"batches\",\"wait\":1.000,\"capacity\":8,\"cat\":\"queue_push\",\"args\":{\"depth\":3}},\n"
		"{\"ph\":\"C\",\"pid\":7,\"tid\":11,\"ts\":2.002,\"name\":\"pool\",\"cat\":\"memory_total\",\"args\":{\"allocated\":10,\"reserved\":20,\"active\":5}},\n"
		"{\"ph\":\"s\",\"bp\":\"e\",\"id\":9,\"cat\":\"flow\",\"pid\":7,\"tid\":11,\"ts\":1.500,\"name\":\"arrow\"},\n"
		"{\"ph\":\"f\",\"bp\":\"e\",\"id\":9,\"cat\":\"flow\",\"pid\":7,\"tid\":11,\"ts\":3.000,\"name\":\"arrow\"}\n"
		"],\"mindprof\":{\"events\":17,\"flows_unbound\":0,\"values_not_finite\":0,\"events_not_planned\":0}}\n");
	free(text.data);
	mp_store_free(store);
}

static void test_empty(void **state)
{
	struct mp_store *store = new_store();
	struct trace_text text = written(MP_FLAVOUR_PORTABLE, store);

	(void)state;
	assert_string_equal(
		text.data,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\n\"mindprof_trace\":\"1\",\n\"base_time_ns\":\"0\",\n"
		"\"program\":\"mindprof " MINDPROF_VERSION
		"\"},\"traceEvents\":[\n],\"mindprof\":{\"events\":0,"
		"\"flows_unbound\":0,\"values_not_finite\":0,\"events_not_planned\":0}}\n");
	free(text.data);
	mp_store_free(store);
}

/* Tracks that share a number in one process get numbers of their own, and tell the old one. */
static void test_tids(void **state)
{
	struct mp_store *store = new_store();
	uint32_t process = add_process(store, 1, "p");
	uint32_t tracks[3];
	struct mp_appender *to = appender_of(store);
	struct trace_text text;

	(void)state;
	tracks[0] = add_track(store, process, 5, "", MP_TRACK_THREAD);
	tracks[1] = add_track(store, process, 5, "", MP_TRACK_ASYNC);
	tracks[2] = add_track(store, process, INT64_MAX, "far", MP_TRACK_STREAM);
	for (int i = 0; i < 3; i++)
		put_range(to, tracks[i], "r", 10 * i, 10 * i + 5);
	finish(to);
	text = written(MP_FLAVOUR_PORTABLE, store);
	assert_int_equal(times(&text, "\"tid\":5,\"name\":\"thread_name\",\"args\":{\"name\":\"Thread 5\"}}"),
			 1);
	assert_int_equal(
		times(&text,
		      "\"tid\":6,\"name\":\"thread_name\",\"args\":{\"name\":\"Thread 5 async\",\"kind\":"
		      "\"async\",\"tid\":5}}"),
		1);
	assert_int_equal(
		times(&text,
		      "\"tid\":9223372036854775807,\"name\":\"thread_name\",\"args\":{\"name\":\"far\","
		      "\"kind\":\"stream\"}}"),
		1);
	assert_int_equal(times(&text, "{\"ph\":\"X\",\"pid\":1,\"tid\":6,\"ts\":0.010,\"dur\":0.005,"), 1);
	free(text.data);
	mp_store_free(store);
}

/* ---- flows ---- */

/* A thread with ranges [100, 200] and [300, 400], another with [100, 400]. */
struct flow_case {
	struct mp_store *store;
	struct mp_appender *to;
	uint32_t first, second;
};

static struct flow_case new_flow_case(void)
{
	struct flow_case c = {.store = new_store()};
	uint32_t process = add_process(c.store, 1, "p");

	c.first = add_track(c.store, process, 1, "", MP_TRACK_THREAD);
	c.second = add_track(c.store, process, 2, "", MP_TRACK_THREAD);
	c.to = appender_of(c.store);
	put_range(c.to, c.first, "a", 100, 200);
	put_range(c.to, c.first, "b", 300, 400);
	put_range(c.to, c.second, "c", 100, 400);
	return c;
}

static struct trace_text flow_result(struct flow_case *c)
{
	struct trace_text text;

	finish(c->to);
	text = written(MP_FLAVOUR_PORTABLE, c->store);
	mp_store_free(c->store);
	return text;
}

static void check_flows(struct flow_case *c, size_t starts, size_t steps, size_t ends, int unbound)
{
	struct trace_text text = flow_result(c);
	char piece[64];

	snprintf(piece, sizeof(piece), "\"flows_unbound\":%d,", unbound);
	assert_int_equal(times(&text, "{\"ph\":\"s\","), starts);
	assert_int_equal(times(&text, "{\"ph\":\"t\","), steps);
	assert_int_equal(times(&text, "{\"ph\":\"f\","), ends);
	assert_int_equal(times(&text, piece), 1);
	free(text.data);
}

static void test_flow_borders(void **state)
{
	struct flow_case c = new_flow_case();

	(void)state;
	/* At the first and the last instant of a range: bound. */
	put_flow(c.to, c.first, 100, 1, MP_FLOW_BEGIN);
	put_flow(c.to, c.second, 400, 1, MP_FLOW_END);
	/* One before, one after: not. */
	put_flow(c.to, c.first, 99, 2, MP_FLOW_BEGIN);
	put_flow(c.to, c.second, 200, 2, MP_FLOW_END);
	put_flow(c.to, c.first, 150, 3, MP_FLOW_BEGIN);
	put_flow(c.to, c.first, 201, 3, MP_FLOW_END);
	check_flows(&c, 1, 0, 1, 4);
}

static void test_flow_parts(void **state)
{
	struct flow_case c = new_flow_case();

	(void)state;
	put_flow(c.to, c.first, 150, 1, MP_FLOW_BEGIN); /* no end */
	put_flow(c.to, c.first, 150, 2, MP_FLOW_END);   /* no begin */
	put_flow(c.to, c.first, 150, 3, MP_FLOW_STEP);  /* neither */
	put_flow(c.to, c.first, 350, 4, MP_FLOW_BEGIN); /* the end is earlier */
	put_flow(c.to, c.second, 150, 4, MP_FLOW_END);
	put_flow(c.to, c.first, 150, 5, MP_FLOW_BEGIN); /* whole, with a step and two ends */
	put_flow(c.to, c.second, 160, 5, MP_FLOW_STEP);
	put_flow(c.to, c.first, 350, 5, MP_FLOW_END);
	put_flow(c.to, c.second, 390, 5, MP_FLOW_END);
	put_flow(c.to, c.first, 120, 6, MP_FLOW_BEGIN); /* used twice, then begun again without an end */
	put_flow(c.to, c.second, 130, 6, MP_FLOW_END);
	put_flow(c.to, c.first, 140, 6, MP_FLOW_BEGIN);
	put_flow(c.to, c.second, 150, 6, MP_FLOW_END);
	put_flow(c.to, c.first, 160, 6, MP_FLOW_BEGIN);
	check_flows(&c, 3, 1, 4, 6);
}

/* The begin and the end at one instant: an arrow without length. */
static void test_flow_tie(void **state)
{
	struct flow_case c = new_flow_case();

	(void)state;
	put_flow(c.to, c.second, 150, 1, MP_FLOW_END);
	put_flow(c.to, c.first, 150, 1, MP_FLOW_BEGIN);
	check_flows(&c, 1, 0, 1, 0);
}

/* Ids above 2^53 would lose digits in most readers: then all are numbered anew. */
static void test_flow_ids(void **state)
{
	struct flow_case c = new_flow_case();
	struct trace_text text;

	(void)state;
	put_flow(c.to, c.first, 150, UINT64_MAX, MP_FLOW_BEGIN);
	put_flow(c.to, c.second, 160, UINT64_MAX, MP_FLOW_END);
	put_flow(c.to, c.first, 150, UINT64_C(9007199254740991), MP_FLOW_BEGIN);
	put_flow(c.to, c.second, 160, UINT64_C(9007199254740991), MP_FLOW_END);
	text = flow_result(&c);
	assert_int_equal(times(&text, "\"id\":1,"), 2);
	assert_int_equal(times(&text, "\"id\":2,"), 2);
	free(text.data);
	c = new_flow_case();
	put_flow(c.to, c.first, 150, UINT64_C(9007199254740991), MP_FLOW_BEGIN);
	put_flow(c.to, c.second, 160, UINT64_C(9007199254740991), MP_FLOW_END);
	text = flow_result(&c);
	assert_int_equal(times(&text, "\"id\":9007199254740991,"), 2);
	free(text.data);
}

/* The name of the begin counts for all parts, because viewers join them by it. */
static void test_flow_names(void **state)
{
	struct flow_case c = new_flow_case();
	struct mp_event end = {.ts_ns = 150, .a = 1, .track = c.second, .cls = MP_FLOW_END};
	struct trace_text text;

	(void)state;
	end.name = mp_store_string(c.store, "other");
	put_flow(c.to, c.first, 150, 1, MP_FLOW_BEGIN);
	assert_true(mp_append(c.to, MP_KIND_FLOW, &end));
	text = flow_result(&c);
	assert_int_equal(times(&text, "\"name\":\"arrow\"}"), 2);
	free(text.data);
}

/* ---- values and names ---- */

static void test_extremes(void **state)
{
	struct mp_store *store = new_store();
	uint32_t track = add_track(store, add_process(store, INT64_MIN, "p"), -1, "", MP_TRACK_THREAD);
	struct mp_appender *to = appender_of(store);
	struct mp_event event = {.track = track, .name = mp_store_string(store, "r")};
	struct trace_text text;
	slices all;

	(void)state;
	event.ts_ns = INT64_MIN;
	event.a = -5; /* counts as 0 */
	assert_true(mp_append(to, MP_KIND_RANGE, &event));
	event.ts_ns = INT64_MAX - 1;
	event.a = 1;
	assert_true(mp_append(to, MP_KIND_RANGE, &event));
	event.ts_ns = INT64_MIN;
	event.a = INT64_MAX;
	assert_true(mp_append(to, MP_KIND_RANGE, &event));
	event.a = mp_double_bits(-0.0);
	assert_true(mp_append(to, MP_KIND_COUNTER, &event));
	event.a = mp_double_bits(1e300);
	assert_true(mp_append(to, MP_KIND_COUNTER, &event));
	event.a = INT64_C(0x7ff0000000000000); /* infinity */
	assert_true(mp_append(to, MP_KIND_COUNTER, &event));
	event.a = INT64_C(0x7ff8000000000000); /* not a number */
	assert_true(mp_append(to, MP_KIND_COUNTER, &event));
	event.a = INT64_MIN;
	event.b = -1;
	assert_true(mp_append(to, MP_KIND_MEMORY, &event));
	finish(to);
	text = written(MP_FLAVOUR_PORTABLE, store);
	assert_int_equal(times(&text, "\"base_time_ns\":\"-9223372036854775808\""), 1);
	assert_int_equal(times(&text, "\"ts\":0.000,\"dur\":0.000,"), 1);
	/* INT64_MAX - 1 - INT64_MIN = 2^64 - 2 = 18446744073709551614 ns */
	assert_int_equal(times(&text, "\"ts\":18446744073709551.614,\"dur\":0.001,"), 1);
	assert_int_equal(times(&text, "\"dur\":9223372036854775.807,"), 1);
	assert_int_equal(times(&text, "{\"value\":-0.0}"), 1);
	assert_int_equal(times(&text, "{\"value\":1e+300}"), 1);
	assert_int_equal(times(&text, "\"values_not_finite\":2,"), 1);
	assert_int_equal(times(&text, "\"Bytes\":-9223372036854775808,\"Addr\":18446744073709551615,"), 1);
	all = slices_of(&text);
	check_lanes(&all);
	mp_vec_release(&all);
	free(text.data);
	mp_store_free(store);
}

/* Names of issue 3, acceptance 5, and what must be written for them. */
static void test_names(void **state)
{
	static char longest[100001];
	static const struct {
		const char *name;
		size_t len;
		const char *written;
	} cases[] = {
		{"say \"hi\"", 8, "\"say \\\"hi\\\"\""},
		{"back\\slash", 10, "\"back\\\\slash\""},
		{"\n\t\x01\x1f\x7f", 5, "\"\\n\\t\\u0001\\u001f\x7f\""},
		{"a\0b", 3, "\"a\\u0000b\""},
		{"1\xff", 2, "\"1\xef\xbf\xbd\""},
		{"2\xc3", 2, "\"2\xef\xbf\xbd\""},
		{"\xed\xa0\x80x", 4, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx\""},
		{"\xf0\x9f\x94\xa5", 4, "\"\xf0\x9f\x94\xa5\""},
		{"", 0, "\"\""},
		{"</script>", 9, "\"</script>\""},
	};
	struct mp_store *store = new_store();
	uint32_t track = add_track(store, add_process(store, 1, "p"), 1, "", MP_TRACK_THREAD);
	struct mp_appender *to = appender_of(store);
	struct mp_event event = {.track = track, .cls = MP_CLASS_RANGE};
	struct trace_text text;
	const char *at;

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	for (size_t i = 0; i < MP_COUNT(cases); i++) {
		event.name = mp_strtab_add(mp_store_strings(store), cases[i].name, cases[i].len);
		event.ts_ns = (int64_t)i * 10;
		assert_true(mp_append(to, MP_KIND_RANGE, &event));
		assert_true(mp_append(to, MP_KIND_MARK, &event));
	}
	event.name = mp_store_string(store, longest);
	assert_true(mp_append(to, MP_KIND_RANGE, &event));
	assert_true(mp_append(to, MP_KIND_MARK, &event));
	assert_true(mp_append(to, MP_KIND_COUNTER, &event));
	finish(to);
	text = written(MP_FLAVOUR_PORTABLE, store);
	for (size_t i = 0; i < MP_COUNT(cases); i++) {
		char piece[256];

		snprintf(piece, sizeof(piece), ",\"name\":%s,\"cat\":\"user_annotation\",\"args\":{}}",
			 cases[i].written);
		assert_int_equal(times(&text, piece), 2);
	}
	at = strstr(text.data, "\"name\":\"xxxx");
	for (int i = 0; i < 3; i++) {
		assert_non_null(at);
		assert_int_equal(strspn(at + 8, "x"), 100000);
		at = strstr(at + 8, "\"name\":\"xxxx");
	}
	assert_null(at);
	free(text.data);
	mp_store_free(store);
}

/* Args that would spoil the document are written as one string; keys of ours that the args have are left out.
 */
static void test_args(void **state)
{
	static const struct {
		const char *args, *written;
	} cases[] = {
		{"{\"a\": {\"b\": [1, 2, {\"b\": 3}]}}",
		 "{\"type\":\"T\",\"a\": {\"b\": [1, 2, {\"b\": 3}]}}"},
		{"{}", "{\"type\":\"T\"}"},
		{" { } ", "{\"type\":\"T\"}"},
		{"{\"type\":\"mine\"}", "{\"type\":\"mine\"}"},
		{"{\"ty\\u0070e\":1}", "{\"ty\\u0070e\":1}"},
		{"{\"a\":1,\"a\":2}", "{\"type\":\"T\",\"args_text\":\"{\\\"a\\\":1,\\\"a\\\":2}\"}"},
		{"{\"a\":{\"x\":1,\"\\u0078\":2}}",
		 "{\"type\":\"T\",\"args_text\":\"{\\\"a\\\":{\\\"x\\\":1,\\\"\\\\u0078\\\":2}}\"}"},
		{"{\"a\":NaN}", "{\"type\":\"T\",\"args_text\":\"{\\\"a\\\":NaN}\"}"},
		{"{\"a\":1", "{\"type\":\"T\",\"args_text\":\"{\\\"a\\\":1\"}"},
		{"[1]", "{\"type\":\"T\",\"args_text\":\"[1]\"}"},
		{"{\"a\":1}}", "{\"type\":\"T\",\"args_text\":\"{\\\"a\\\":1}}\"}"},
		{"{\"a\":\"\xff\"}", "{\"type\":\"T\",\"args_text\":\"{\\\"a\\\":\\\"\xef\xbf\xbd\\\"}\"}"},
	};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(cases); i++) {
		struct mp_store *store = new_store();
		uint32_t track = add_track(store, add_process(store, 1, "p"), 1, "", MP_TRACK_THREAD);
		struct mp_appender *to = appender_of(store);
		struct mp_event event = {.track = track, .cls = MP_CLASS_KERNEL};
		struct trace_text text;
		char piece[256];

		event.detail =
			detail_of(store, (struct mp_detail){.type = mp_store_string(store, "T"),
							    .args = mp_store_string(store, cases[i].args),
							    .stream = -1,
							    .flops = (double)INFINITY});
		assert_true(mp_append(to, MP_KIND_RANGE, &event));
		finish(to);
		text = written(MP_FLAVOUR_PORTABLE, store);
		snprintf(piece, sizeof(piece), ",\"cat\":\"kernel\",\"args\":%s}\n]", cases[i].written);
		if (times(&text, piece) != 1)
			fail_msg("args %s: %s not in %s", cases[i].args, piece, text.data);
		free(text.data);
		mp_store_free(store);
	}
}

/* One detail with two classes: the hint follows the class. */
static void test_classes(void **state)
{
	struct mp_store *store = new_store();
	uint32_t track = add_track(store, add_process(store, 1, "p"), 1, "", MP_TRACK_THREAD);
	struct mp_appender *to = appender_of(store);
	struct mp_event event = {.track = track};
	struct trace_text text;

	(void)state;
	event.detail = detail_of(
		store, (struct mp_detail){.category = mp_store_string(store, "kernel"), .stream = -1});
	for (int i = 0; i < 2; i++) {
		event.cls = MP_CLASS_KERNEL;
		assert_true(mp_append(to, MP_KIND_RANGE, &event));
		event.cls = MP_CLASS_COMMUNICATION;
		assert_true(mp_append(to, MP_KIND_RANGE, &event));
	}
	finish(to);
	text = written(MP_FLAVOUR_PORTABLE, store);
	assert_int_equal(times(&text, "\"cat\":\"kernel\",\"args\":{}}"), 2);
	assert_int_equal(times(&text, "\"cat\":\"kernel\",\"args\":{\"class\":\"communication\"}}"), 2);
	free(text.data);
	mp_store_free(store);
}

/* Keys of facts that become equal, or that are ours, do not stand twice. */
static void test_facts(void **state)
{
	struct mp_store *store = new_store();
	struct trace_text text;

	(void)state;
	mp_store_set_fact(store, "base_time_ns", "5", 1);
	mp_store_set_fact(store, "k\xff", "first", 5);
	mp_store_set_fact(store, "k\xfe", "second", 6);
	text = written(MP_FLAVOUR_PORTABLE, store);
	assert_int_equal(times(&text, "\"base_time_ns\":"), 1);
	assert_int_equal(times(&text, "\"k\xef\xbf\xbd\":\"first\""), 1);
	assert_int_equal(times(&text, "second"), 0);
	free(text.data);
	mp_store_free(store);
}

/* ---- order of calls, failures ---- */

/* What comes in the second pass only is left out and counted; the document stays whole. */
static void test_growing_source(void **state)
{
	struct mp_store *store = sample_store(), *grown = new_store();
	uint32_t track = add_track(grown, add_process(grown, 7, "p"), 11, "", MP_TRACK_THREAD);
	uint32_t new_track = add_track(grown, 0, 99, "", MP_TRACK_THREAD);
	struct mp_appender *to = appender_of(grown);
	struct mp_trace_writer *writer;
	struct mp_out out = open_nameless();
	struct trace_text text;

	(void)state;
	put_range(to, track, "more", 5000, 6000);
	put_range(to, track, "and more", 5000, 6000);
	put_range(to, new_track, "new", 5000, 6000);
	finish(to);
	assert_int_equal(mp_trace_writer_new(MP_FLAVOUR_PORTABLE, &writer, NULL), MINDPROF_OK);
	for (size_t i = 0; i < mp_store_n_blocks(store); i++)
		assert_int_equal(mp_trace_writer_plan(writer, mp_store_get_block(store, i), NULL),
				 MINDPROF_OK);
	assert_false(mp_trace_writer_plan_again(writer));
	assert_int_equal(mp_trace_writer_begin(writer, store, &out, NULL), MINDPROF_OK);
	assert_int_equal(mp_trace_writer_block(writer, store, mp_store_get_block(grown, 0), NULL),
			 MINDPROF_OK);
	assert_int_equal(mp_trace_writer_end(writer, NULL), MINDPROF_OK);
	mp_trace_writer_free(writer);
	text = trace_text_of(&out);
	assert_int_equal(times(&text, "\"events_not_planned\":2}"), 1);
	assert_int_equal(times(&text, "Step 41"), 1);
	free(text.data);
	mp_store_free(store);
	mp_store_free(grown);
}

/* A track whose ranges overlap needs a second pass; without it nothing is written. */
static void test_unfinished_plan(void **state)
{
	struct mp_store *store = new_store();
	uint32_t track = add_track(store, add_process(store, 1, "p"), 1, "", MP_TRACK_THREAD);
	struct mp_appender *to = appender_of(store);
	struct mp_trace_writer *writer;
	struct mp_out out = open_nameless();
	int fd = out.fd;

	(void)state;
	put_range(to, track, "a", 0, 10);
	put_range(to, track, "b", 5, 15);
	finish(to);
	assert_int_equal(mp_trace_writer_new(MP_FLAVOUR_PORTABLE, &writer, NULL), MINDPROF_OK);
	assert_int_equal(mp_trace_writer_plan(writer, mp_store_get_block(store, 0), NULL), MINDPROF_OK);
	assert_int_equal(mp_trace_writer_begin(writer, store, &out, NULL), MINDPROF_E_STATE);
	mp_trace_writer_free(writer);
	mp_out_abort(&out);
	close(fd);
	mp_store_free(store);
}

static void test_full_disk(void **state)
{
	struct mp_store *store = new_store();
	uint32_t track = add_track(store, add_process(store, 1, "p"), 1, "", MP_TRACK_THREAD);
	struct mp_appender *to = appender_of(store);
	struct mp_out out;
	mp_err err = {0};
	int fd = open("/dev/full", O_WRONLY);

	(void)state;
	if (fd < 0)
		skip();
	for (int i = 0; i < 100000; i++)
		put_range(to, track, "range", 10 * i, 10 * i + 5);
	finish(to);
	assert_int_equal(mp_out_open_fd(fd, "full", &out, NULL), MINDPROF_OK);
	assert_int_equal(mp_trace_write_store(MP_FLAVOUR_PORTABLE, store, &out, &err), MINDPROF_E_IO);
	assert_non_null(strstr(err.causes[0].text, "No space left"));
	mp_out_abort(&out);
	assert_int_equal(mp_out_open_fd(fd, "full", &out, NULL), MINDPROF_OK);
	assert_int_equal(mp_trace_write_store(MP_FLAVOUR_COMPATIBLE, store, &out, &err), MINDPROF_E_IO);
	mp_out_abort(&out);
	close(fd);
	mp_store_free(store);
}

/* Whatever allocation fails, the result is the same text or E_NOMEM. */
static void test_no_memory(void **state)
{
	struct mp_store *store = sample_store();
	struct trace_text wanted[2];
	struct mp_appender *to = appender_of(store);

	(void)state;
	put_range(to, 0, "overlaps", 3000, 9000);
	finish(to);
	wanted[0] = written(MP_FLAVOUR_PORTABLE, store);
	wanted[1] = written(MP_FLAVOUR_COMPATIBLE, store);
	for (int flavour = 0; flavour < 2; flavour++) {
		uint64_t n = 0, tried;

		do {
			struct mp_out out = open_nameless();
			int fd = out.fd;
			mp_status status;

			mp_mem_fail_after(n);
			status = mp_trace_write_store((enum mp_flavour)flavour, store, &out, NULL);
			tried = mp_mem_fail_after(UINT64_MAX);
			if (status) {
				assert_int_equal(status, MINDPROF_E_NOMEM);
				mp_out_abort(&out);
				close(fd);
			} else {
				struct trace_text text = trace_text_of(&out);

				assert_string_equal(text.data, wanted[flavour].data);
				free(text.data);
			}
		} while (tried > n++);
		assert_true(n > 5);
	}
	free(wanted[0].data);
	free(wanted[1].data);
	mp_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_tids),
		cmocka_unit_test(test_flow_borders),
		cmocka_unit_test(test_flow_parts),
		cmocka_unit_test(test_flow_tie),
		cmocka_unit_test(test_flow_ids),
		cmocka_unit_test(test_flow_names),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_args),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_growing_source),
		cmocka_unit_test(test_unfinished_plan),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
