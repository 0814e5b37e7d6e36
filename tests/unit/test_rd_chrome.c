/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome JSON -> store: each phase, the forms that writers use, Kineto's words, and our own traces
 * back to the events they were made of. Expected values are those of the texts beside them.
 */
#include "test_wr_trace_event_helpers.h"

static struct mp_track track_of(const struct mp_store *store, const struct mp_event *event)
{
	return mp_store_get_track(store, event->track);
}

static int64_t pid_of(const struct mp_store *store, const struct mp_event *event)
{
	return mp_store_get_process(store, track_of(store, event).process).pid;
}

static struct mp_detail detail_at(const struct mp_store *store, const struct mp_event *event)
{
	return mp_store_get_detail(store, event->detail);
}

static void check_range(const struct mp_store *store, size_t n, const char *name, int64_t ts, int64_t dur)
{
	struct mp_event event = event_at(store, MP_KIND_RANGE, n);

	assert_string_equal(text_of(store, event.name), name);
	assert_int_equal(event.ts_ns, ts);
	assert_int_equal(event.a, dur);
}

/* ---- complete events ---- */

static void test_complete(void **state)
{
	struct mp_store *store = read_json(
		"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":5},\n"
		" {\"name\" : \"b\" , \"dur\":\"0.5\",\"ts\" : \"12.0005\",\"tid\":\"2\",\"pid\":\"1\",\"ph\":\"X\"},"
		"{\"ph\":\"X\",\"name\":\"c\",\"pid\":1,\"tid\":3,\"ts\":1.2345e3,\"dur\":0}]}");
	struct mp_event event;

	(void)state;
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), 3);
	check_range(store, 0, "a", 10000, 5000);
	check_range(store, 1, "b", 12000, 500); /* 12000.5 ns: half to even */
	check_range(store, 2, "c", 1234500, 0);
	event = event_at(store, MP_KIND_RANGE, 1);
	assert_int_equal(track_of(store, &event).tid, 2);
	assert_int_equal(pid_of(store, &event), 1);
	assert_int_equal(event.track, event_at(store, MP_KIND_RANGE, 0).track);
	assert_int_equal(mp_store_n_tracks(store), 2);
	assert_int_equal(mp_store_n_notes(store), 0);
	mp_store_free(store);
}

/* Keys and values that the event before had are known by their bytes: what differs by little must not be
 * mixed up. */
static void test_repetition(void **state)
{
	struct mp_store *store = read_json(
		"[{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1,\"name\":\"a\",\"cat\":\"c\",\"args\":{}},\n"
		"{\"ph\":\"X\",\"pid\":12,\"tid\":2,\"ts\":2,\"dur\":1,\"name\":\"a\",\"cat\":\"cc\",\"args\":{}},\n"
		"{\"ph\": \"X\",\"pid\": 12,\"tid\":  2,\"ts\": 3,\"dur\":  1,\"name\": \"a\",\"cat\": \"cc\",\"args\": {}},\n"
		"{\"ph\": \"X\",\"pid\": 12,\"tid\":  22,\"ts\":  4,\"dur\":1 ,\"name\" :\"a\", \"cat\":\"\",\"args\":{} } ,\n"
		"{\"ph\": \"XX\",\"pid\": \"12\",\"tid\": 1.0,\"ts\": 5,\"dur\":1,\"name\":\"a\",\"cat\":\"cc\"},\n"
		"{\"pid\":1,\"ph\":\"X\",\"name\":\"a\",\"dur\":1,\"ts\":6},\n"
		"{\"pid\":1,\"ph\":\"X\",\"name\":\"a\",\"dur\":1,\"ts\":7,\"tid\":2},\n"
		"{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":8,\"dur\":1,\"name\":\"a\"},\n"
		"{\"ph\":\"M\",\"pid\":1,\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":\"t\"}},\n"
		"{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":9,\"dur\":1,\"name\":\"a\"},\n"
		"{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":1,\"name\":\"a\"}]");
	static const struct {
		int64_t pid, tid;
		const char *cat;
	} wanted[] = {{1, 2, "c"}, {12, 2, "cc"}, {12, 2, "cc"}, {12, 22, ""}, {12, 1, "cc"},
		      {1, 0, ""},  {1, 2, ""},    {1, 2, ""},    {1, 2, ""},   {1, 2, ""}};

	(void)state;
	assert_int_equal(mp_store_n_notes(store), 0);
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), MP_COUNT(wanted));
	for (size_t i = 0; i < MP_COUNT(wanted); i++) {
		struct mp_event event = event_at(store, MP_KIND_RANGE, i);

		assert_int_equal(event.ts_ns, 1000 * (i + 1));
		assert_int_equal(event.a, 1000);
		assert_int_equal(pid_of(store, &event), wanted[i].pid);
		assert_int_equal(track_of(store, &event).tid, wanted[i].tid);
		assert_string_equal(text_of(store, detail_at(store, &event).category), wanted[i].cat);
		assert_string_equal(text_of(store, event.name), "a");
	}
	mp_store_free(store);
}

/* Every form of a time that ends up as the same nanosecond. */
static void test_times(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {
		{"0", 0},
		{"-1.5", -1500},
		{"1712195495406752.797", 1712195495406752797},
		{"9223372036854774.807", 9223372036854774807},
		{"9223372036854775.807", INT64_MAX},
		{"-9223372036854775.808", INT64_MIN},
		{"81995852020.381017917899232", 81995852020381},
		{"12345678", 12345678000},
		{"123456789", 123456789000},
		{"1234567.1", 1234567100},
		{"12345678.12", 12345678120},
		{"123456789.123", 123456789123},
		{"1e3", 1000000},
		{"5E-3", 5},
		{"0.0004", 0},
		{"0.0006", 1},
		{"\"445191683049.142\"", 445191683049142},
	};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(cases); i++) {
		struct mp_store *store;
		char text[256];

		snprintf(text, sizeof(text), "[{\"ph\":\"i\",\"name\":\"x\",\"ts\":%s}]", cases[i].text);
		store = read_json(text);
		assert_int_equal(mp_store_n_events(store, MP_KIND_MARK), 1);
		assert_int_equal(event_at(store, MP_KIND_MARK, 0).ts_ns, cases[i].ns);
		mp_store_free(store);
	}
}

/* Times that are none: the event is skipped, the note tells where. */
static void test_bad_times(void **state)
{
	static const char *const cases[] = {
		"null",
		"true",
		"\"\"",
		"\"x\"",
		"1e400",
		"9223372036854775.808",
		"[1]",
		"{}",
		"1.2.3",
		"--1",
		"NaN",
		"1e99999999999999999999",
		"9223372036854775807000",
		"inf",
		"\"1 \"",
	};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(cases); i++) {
		struct mp_store *store;
		struct mp_note note;
		char text[256];

		snprintf(text, sizeof(text),
			 "[{\"ph\":\"i\",\"name\":\"x\",\"ts\":%s},{\"ph\":\"i\",\"ts\":1}]", cases[i]);
		store = read_json(text);
		assert_int_equal(mp_store_n_events(store, MP_KIND_MARK), 1);
		note = note_of(store, "no-time");
		assert_int_equal(note.count, 1);
		assert_int_equal(note.byte_offset, 1);
		assert_int_equal(note.severity, MP_PROBLEM);
		mp_store_free(store);
	}
}

static void test_durations(void **state)
{
	struct mp_store *store = read_json(
		"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1},"
		"{\"ph\":\"X\",\"name\":\"b\",\"ts\":1,\"dur\":-3},"
		"{\"ph\":\"X\",\"name\":\"c\",\"ts\":9223372036854775.000,\"dur\":9223372036854775.807}]");

	(void)state;
	check_range(store, 0, "a", 1000, 0);
	check_range(store, 1, "b", 1000, 0);
	/* The end stops at INT64_MAX, 807 ns later. */
	check_range(store, 2, "c", 9223372036854775000, 807);
	assert_int_equal(note_of(store, "no-duration").byte_offset, 1);
	assert_int_equal(note_of(store, "bad-duration").count, 1);
	mp_store_free(store);
}

/* ---- begin and end ---- */

static void test_begin_end(void **state)
{
	struct mp_store *store =
		read_json("[{\"ph\":\"B\",\"name\":\"outer\",\"tid\":1,\"ts\":0,\"args\":{\"a\":1}},"
			  "{\"ph\":\"B\",\"name\":\"other\",\"tid\":2,\"ts\":1},"
			  "{\"ph\":\"B\",\"name\":\"inner\",\"tid\":1,\"ts\":2},"
			  "{\"ph\":\"E\",\"tid\":1,\"ts\":3,\"args\":{\"b\":2}},"
			  "{\"ph\":\"E\",\"name\":\"whatever\",\"tid\":1,\"ts\":5,\"args\":{\"c\":3}},"
			  "{\"ph\":\"E\",\"tid\":1,\"ts\":6},"
			  "{\"ph\":\"i\",\"tid\":1,\"ts\":9}]");
	struct mp_event event;

	(void)state;
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), 3);
	check_range(store, 0, "inner", 2000, 1000);
	event = event_at(store, MP_KIND_RANGE, 0);
	assert_string_equal(text_of(store, detail_at(store, &event).args),
			    "{\"b\":2}"); /* of the end: the begin has none */
	check_range(store, 1, "outer", 0, 5000);
	event = event_at(store, MP_KIND_RANGE, 1);
	assert_string_equal(text_of(store, detail_at(store, &event).args), "{\"a\":1}");
	check_range(store, 2, "other", 1000, 8000); /* until the end of the trace */
	assert_int_equal(event_at(store, MP_KIND_RANGE, 2).cls, MP_CLASS_OPEN);
	assert_int_equal(note_of(store, "begin-without-end").count, 1);
	assert_int_equal(note_of(store, "end-without-begin").count, 1);
	mp_store_free(store);
}

/* Out of order in the file; equal times keep its order. */
static void test_begin_end_order(void **state)
{
	struct mp_store *store =
		read_json("[{\"ph\":\"E\",\"ts\":10},{\"ph\":\"B\",\"name\":\"late\",\"ts\":7},"
			  "{\"ph\":\"B\",\"name\":\"early\",\"ts\":3},{\"ph\":\"E\",\"ts\":7},"
			  "{\"ph\":\"B\",\"name\":\"tie\",\"ts\":20},{\"ph\":\"E\",\"ts\":20}]");

	(void)state;
	/* At 7 the begin stands first, so it is the one that ends there. */
	check_range(store, 0, "late", 7000, 0);
	check_range(store, 1, "early", 3000, 7000);
	check_range(store, 2, "tie", 20000, 0);
	assert_int_equal(mp_store_n_notes(store), 0);
	mp_store_free(store);
}

/* ---- asynchronous events ---- */

static void test_async(void **state)
{
	struct mp_store *store = read_json(
		"[{\"ph\":\"b\",\"cat\":\"c\",\"name\":\"one\",\"id\":\"0x1\",\"pid\":1,\"tid\":5,\"ts\":1},"
		"{\"ph\":\"b\",\"cat\":\"c\",\"name\":\"nested\",\"id\":\"0x1\",\"pid\":1,\"tid\":6,\"ts\":2},"
		"{\"ph\":\"n\",\"cat\":\"c\",\"name\":\"mark\",\"id\":\"0x1\",\"pid\":1,\"tid\":6,\"ts\":2},"
		"{\"ph\":\"b\",\"cat\":\"d\",\"name\":\"two\",\"id\":\"0x1\",\"pid\":1,\"tid\":5,\"ts\":2},"
		"{\"ph\":\"e\",\"cat\":\"c\",\"name\":\"nested\",\"id\":\"0x1\",\"pid\":1,\"tid\":9,\"ts\":4},"
		"{\"ph\":\"e\",\"cat\":\"d\",\"name\":\"two\",\"id\":\"0x1\",\"pid\":1,\"tid\":9,\"ts\":5},"
		"{\"ph\":\"e\",\"cat\":\"c\",\"name\":\"one\",\"id\":\"0x1\",\"pid\":1,\"tid\":5,\"ts\":7},"
		"{\"ph\":\"b\",\"cat\":\"c\",\"name\":\"s\",\"id\":1,\"scope\":\"x\",\"pid\":1,\"tid\":5,\"ts\":8},"
		"{\"ph\":\"e\",\"cat\":\"c\",\"name\":\"s\",\"id\":1,\"scope\":\"y\",\"pid\":1,\"tid\":5,\"ts\":9}]");
	struct mp_event event;

	(void)state;
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), 4);
	event = event_at(store, MP_KIND_RANGE, 0);
	assert_int_equal(track_of(store, &event).kind, MP_TRACK_ASYNC);
	for (size_t i = 0; i < 4; i++) {
		event = event_at(store, MP_KIND_RANGE, i);
		if (!strcmp(text_of(store, event.name), "one"))
			assert_true(event.ts_ns == 1000 && event.a == 6000 &&
				    track_of(store, &event).tid == 5);
		else if (!strcmp(text_of(store, event.name), "nested"))
			assert_true(event.ts_ns == 2000 && event.a == 2000 &&
				    track_of(store, &event).tid == 6);
		else if (!strcmp(text_of(store, event.name), "two"))
			assert_true(event.ts_ns == 2000 && event.a == 3000);
		else
			assert_true(event.ts_ns == 8000 && event.cls == MP_CLASS_OPEN);
	}
	assert_int_equal(mp_store_n_events(store, MP_KIND_MARK), 1);
	assert_int_equal(note_of(store, "end-without-begin").count, 1);
	mp_store_free(store);
}

/* The old pair S and F is joined by name, too; T and p are marks. An id that is local means the process. */
static void test_async_ids(void **state)
{
	struct mp_store *store = read_json(
		"[{\"ph\":\"S\",\"cat\":\"c\",\"name\":\"a\",\"id\":1,\"ts\":1},{\"ph\":\"S\",\"cat\":\"c\",\"name\":\"b\",\"id\":1,\"ts\":2},"
		"{\"ph\":\"T\",\"cat\":\"c\",\"name\":\"a\",\"id\":1,\"ts\":3},{\"ph\":\"F\",\"cat\":\"c\",\"name\":\"a\",\"id\":1,\"ts\":4},"
		"{\"ph\":\"F\",\"cat\":\"c\",\"name\":\"b\",\"id\":1,\"ts\":5},"
		"{\"ph\":\"b\",\"name\":\"l\",\"pid\":1,\"id2\":{\"local\":\"7\"},\"ts\":11},"
		"{\"ph\":\"b\",\"name\":\"m\",\"pid\":2,\"id2\":{\"local\":\"7\"},\"ts\":12},"
		"{\"ph\":\"e\",\"name\":\"l\",\"pid\":1,\"id2\":{\"local\":\"7\"},\"ts\":14},"
		"{\"ph\":\"e\",\"name\":\"m\",\"pid\":2,\"id2\":{\"local\":\"7\"},\"ts\":18}]");

	(void)state;
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), 4);
	for (size_t i = 0; i < 4; i++) {
		struct mp_event event = event_at(store, MP_KIND_RANGE, i);
		const char *name = text_of(store, event.name);

		assert_int_equal(event.a, *name == 'm' ? 6000 : 3000);
	}
	assert_int_equal(mp_store_n_events(store, MP_KIND_MARK), 1);
	assert_int_equal(mp_store_n_notes(store), 0);
	mp_store_free(store);
}

/* ---- counters and marks ---- */

static void check_counter(struct mp_store *store, size_t n, const char *name, double value)
{
	struct mp_event event = event_at(store, MP_KIND_COUNTER, n);

	assert_string_equal(text_of(store, event.name), name);
	assert_true(mp_bits_double(event.a) == value);
}

static void test_counters(void **state)
{
	struct mp_store *store = read_json(
		"[{\"ph\":\"C\",\"name\":\"ctr\",\"ts\":1,\"args\":{\"cats\":0,\"dogs\":7.5}},"
		"{\"ph\":\"C\",\"name\":\"loss\",\"ts\":2,\"args\":{\"value\":-1e-3}},"
		"{\"ph\":\"C\",\"name\":\"same\",\"ts\":3,\"args\":{\"same\":2}},"
		"{\"ph\":\"C\",\"name\":\"by id\",\"id\":\"0x2\",\"ts\":3,\"args\":{\"value\":3}},"
		"{\"ph\":\"C\",\"name\":\"text\",\"ts\":4,\"args\":{\"value\":\"+05.\"}},"
		"{\"ph\":\"C\",\"name\":\"bad\",\"ts\":5,\"args\":{\"a\":null,\"b\":{},\"c\":NaN,\"d\":1e400,\"e\":\"x\"}},"
		"{\"ph\":\"C\",\"name\":\"none\",\"ts\":6}]");
	struct mp_event event = event_at(store, MP_KIND_COUNTER, 0);

	(void)state;
	assert_int_equal(mp_store_n_events(store, MP_KIND_COUNTER), 6);
	check_counter(store, 0, "ctr cats", 0);
	check_counter(store, 1, "ctr dogs", 7.5);
	check_counter(store, 2, "loss", -0.001);
	check_counter(store, 3, "same", 2);
	check_counter(store, 4, "by id[0x2]", 3);
	check_counter(store, 5, "text", 5);
	assert_int_equal(track_of(store, &event).kind, MP_TRACK_COUNTER);
	assert_int_equal(note_of(store, "bad-value").severity, MP_WARNING);
	mp_store_free(store);
}

static void test_marks(void **state)
{
	struct mp_store *store = read_json(
		"[{\"ph\":\"i\",\"name\":\"a\",\"ts\":1,\"s\":\"g\"},{\"ph\":\"I\",\"name\":\"b\",\"ts\":2,\"s\":\"t\",\"args\":{\"k\":\"v\"}},"
		"{\"ph\":\"R\",\"name\":\"c\",\"ts\":3},{\"ph\":\"P\",\"ts\":4},{\"ph\":\"N\",\"ts\":4},{\"ph\":\"O\",\"ts\":4},"
		"{\"ph\":\"D\",\"ts\":4},{},{\"name\":\"no phase\"}]");
	struct mp_event event = event_at(store, MP_KIND_MARK, 1);

	(void)state;
	assert_int_equal(mp_store_n_events(store, MP_KIND_MARK), 3);
	assert_string_equal(text_of(store, detail_at(store, &event).args), "{\"k\":\"v\"}");
	assert_non_null(strstr(text_of(store, note_of(store, "ignored-phase").text), "4 times"));
	assert_int_equal(note_of(store, "no-phase").count, 1);
	mp_store_free(store);
}

/* ---- flows ---- */

static void check_flow(struct mp_store *store, size_t n, int64_t ts, enum mp_flow_phase phase)
{
	struct mp_event event = event_at(store, MP_KIND_FLOW, n);

	assert_int_equal(event.ts_ns, ts);
	assert_int_equal(event.cls, phase);
}

/* An end without bp belongs to the range that begins next on its thread; without one it stays where it is. */
static void test_flows(void **state)
{
	struct mp_store *store = read_json(
		"[{\"ph\":\"X\",\"name\":\"a\",\"tid\":1,\"ts\":0,\"dur\":10},{\"ph\":\"s\",\"cat\":\"k\",\"id\":1,\"tid\":1,\"ts\":5},"
		"{\"ph\":\"t\",\"cat\":\"k\",\"id\":1,\"tid\":1,\"ts\":6},"
		"{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"k\",\"id\":1,\"tid\":2,\"ts\":20},"
		"{\"ph\":\"f\",\"cat\":\"k\",\"id\":1,\"tid\":2,\"ts\":21},"
		"{\"ph\":\"f\",\"cat\":\"k\",\"id\":1,\"tid\":2,\"ts\":27},"
		"{\"ph\":\"f\",\"cat\":\"k\",\"id\":1,\"tid\":2,\"ts\":99},"
		"{\"ph\":\"X\",\"name\":\"c\",\"tid\":2,\"ts\":30,\"dur\":5},{\"ph\":\"X\",\"name\":\"b\",\"tid\":2,\"ts\":25,\"dur\":1},"
		"{\"ph\":\"X\",\"name\":\"d\",\"tid\":3,\"ts\":22,\"dur\":5}]");

	(void)state;
	assert_int_equal(mp_store_n_events(store, MP_KIND_FLOW), 6);
	check_flow(store, 0, 5000, MP_FLOW_BEGIN);
	check_flow(store, 1, 6000, MP_FLOW_STEP);
	check_flow(store, 2, 20000, MP_FLOW_END);
	check_flow(store, 3, 25000, MP_FLOW_END);
	check_flow(store, 4, 30000, MP_FLOW_END);
	check_flow(store, 5, 99000, MP_FLOW_END);
	assert_int_equal(mp_store_n_notes(store), 0);
	mp_store_free(store);
}

/* Flows of two categories with one number are two; words as ids work; without an id there is none. */
static void test_flow_ids(void **state)
{
	struct mp_store *store = read_json(
		"[{\"ph\":\"s\",\"cat\":\"a\",\"id\":7,\"ts\":1},{\"ph\":\"s\",\"cat\":\"b\",\"id\":7,\"ts\":2},"
		"{\"ph\":\"t\",\"cat\":\"a\",\"id\":\"7\",\"ts\":3},{\"ph\":\"s\",\"cat\":\"a\",\"id\":\"0xabc\",\"ts\":4},"
		"{\"ph\":\"t\",\"cat\":\"a\",\"id\":\"0xabc\",\"ts\":5},{\"ph\":\"s\",\"cat\":\"a\",\"ts\":6}]");
	int64_t ids[5];

	(void)state;
	assert_int_equal(mp_store_n_events(store, MP_KIND_FLOW), 5);
	for (size_t i = 0; i < 5; i++)
		ids[i] = event_at(store, MP_KIND_FLOW, i).a;
	assert_true(ids[0] == ids[2] && ids[0] != ids[1] && ids[3] == ids[4] && ids[3] != ids[0]);
	assert_int_equal(note_of(store, "bad-value").count, 1);
	mp_store_free(store);
}

/* ---- names of processes and threads ---- */

static void test_metadata(void **state)
{
	struct mp_store *store = read_json(
		"[{\"ph\":\"X\",\"name\":\"x\",\"pid\":4,\"tid\":5,\"ts\":1,\"dur\":1},"
		"{\"ph\":\"X\",\"name\":\"x\",\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler\",\"ts\":1,\"dur\":1},"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":4,\"args\":{\"name\":\"py\\u0074hon\"}},"
		"{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":4,\"args\":{\"labels\":\"CPU\"}},"
		"{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":4,\"args\":{\"sort_index\":-3}},"
		"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":4,\"tid\":5,\"args\":{\"name\":\"main\"}},"
		"{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":4,\"tid\":5,\"args\":{\"sort_index\":99999999999}},"
		"{\"ph\":\"M\",\"name\":\"num_cpus\",\"pid\":4,\"args\":{\"number\":8}},"
		"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":4,\"tid\":77,\"args\":{\"name\":\"idle\"}}]");
	struct mp_event event = event_at(store, MP_KIND_RANGE, 0);
	struct mp_track track = track_of(store, &event);
	struct mp_process process = mp_store_get_process(store, track.process);

	(void)state;
	assert_string_equal(text_of(store, process.name), "python");
	assert_string_equal(text_of(store, process.labels), "CPU");
	assert_int_equal(process.sort_index, -3);
	assert_int_equal(process.rank, -1);
	assert_string_equal(text_of(store, track.name), "main");
	assert_int_equal(track.sort_index, INT32_MAX);
	event = event_at(store, MP_KIND_RANGE, 1);
	track = track_of(store, &event);
	assert_string_equal(text_of(store, track.name), "PyTorch Profiler");
	assert_string_equal(text_of(store, mp_store_get_process(store, track.process).name), "Spans");
	assert_int_equal(mp_store_n_tracks(store), 3); /* the idle one as well */
	mp_store_free(store);
}

/* ---- Kineto ---- */

static void test_classes(void **state)
{
	static const struct {
		const char *cat, *name;
		enum mp_class cls;
		bool is_stream;
	} cases[] = {
		{"cpu_op", "aten::mm", MP_CLASS_OPERATOR, false},
		{"Operator", "aten::mm", MP_CLASS_OPERATOR, false},
		{"kernel", "volta_sgemm", MP_CLASS_KERNEL, true},
		{"kernel", "ncclKernel_AllReduce", MP_CLASS_COMMUNICATION, true},
		{"gpu_memcpy", "Memcpy HtoD", MP_CLASS_MEMCPY, true},
		{"gpu_memset", "Memset", MP_CLASS_MEMCPY, true},
		{"cuda_runtime", "cudaLaunchKernel", MP_CLASS_LAUNCH, false},
		{"cuda_driver", "cuLaunchKernel", MP_CLASS_LAUNCH, false},
		{"cuda_runtime", "ncclLaunch", MP_CLASS_LAUNCH, false},
		{"python_function", "torch/nccl.py(1): f", MP_CLASS_PYTHON, false},
		{"user_annotation", "forward", MP_CLASS_RANGE, false},
		{"user_annotation", "nccl:all_reduce", MP_CLASS_COMMUNICATION, false},
		{"user_annotation", "ProfilerStep#12", MP_CLASS_STEP, false},
		{"gpu_user_annotation", "ProfilerStep#12", MP_CLASS_RANGE, true},
		{"whatever", "hcom_allReduce_", MP_CLASS_COMMUNICATION, false},
		{"", "x", MP_CLASS_RANGE, false},
	};
	size_t n_steps = 0;

	(void)state;
	for (size_t i = 0; i < MP_COUNT(cases); i++) {
		struct mp_store *store;
		struct mp_event event;
		char text[256];

		snprintf(
			text, sizeof(text),
			"[{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":3,\"dur\":1}]",
			cases[i].cat, cases[i].name);
		store = read_json(text);
		event = event_at(store, MP_KIND_RANGE, 0);
		if (event.cls != cases[i].cls)
			fail_msg("%s has class %d", text, event.cls);
		assert_string_equal(text_of(store, detail_at(store, &event).category), cases[i].cat);
		assert_int_equal(track_of(store, &event).kind,
				 cases[i].is_stream ? MP_TRACK_STREAM : MP_TRACK_THREAD);
		assert_int_equal(track_of(store, &event).stream, cases[i].is_stream ? 7 : -1);
		if (mp_store_n_events(store, MP_KIND_STEP)) {
			event = event_at(store, MP_KIND_STEP, 0);
			assert_true(event.a == 12 && event.ts_ns == 3000);
			n_steps++;
		}
		mp_store_free(store);
	}
	assert_int_equal(n_steps, 1);
}

static void test_kineto(void **state)
{
	struct mp_store *store = read_json(
		"{\"schemaVersion\": 1,\n\"deviceProperties\": [{\"id\": 0}],\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, "
		"\"world_size\": 8},\n\"traceEvents\": [\n"
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 10, \"tid\": 10, \"ts\": 1.5, \"dur\": 2,\n"
		" \"args\": {\"External id\": 5, \"Input Dims\": [[2, 3], []], \"Input type\": [\"float\", \"\"]}},\n"
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 2, \"dur\": 1, \"args\": {\"stream\": 7, "
		"\"correlation\": 9}},\n"
		"{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": 10, \"tid\": 10, \"ts\": 3,\n"
		" \"args\": {\"Total Reserved\": 40, \"Total Allocated\": 30, \"Bytes\": -20, \"Addr\": 140000, \"Device Id\": 1, \"Device "
		"Type\": 1}}\n"
		"],\n\"traceName\": \"t.json\", \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": 1700000000000000000\n}");
	struct mp_event event = event_at(store, MP_KIND_RANGE, 0);
	struct mp_detail detail = detail_at(store, &event);

	(void)state;
	assert_int_equal(event.ts_ns, 1700000000000001500);
	assert_int_equal(mp_store_get_process(store, track_of(store, &event).process).rank, 3);
	assert_string_equal(text_of(store, detail.shapes), "[[2, 3], []]");
	assert_string_equal(text_of(store, detail.dtypes), "[\"float\", \"\"]");
	assert_string_equal(text_of(store, detail.args), "{\"External id\":5}");
	event = event_at(store, MP_KIND_RANGE, 1);
	detail = detail_at(store, &event);
	assert_int_equal(detail.stream, 7);
	assert_string_equal(text_of(store, detail.args), "{\"correlation\":9}");
	event = event_at(store, MP_KIND_MEMORY, 0);
	assert_true(event.a == -20 && event.b == 140000 && event.ts_ns == 1700000000000003000);
	assert_string_equal(text_of(store, event.name), "device 1");
	event = event_at(store, MP_KIND_MEMORY_TOTAL, 0);
	assert_true(event.a == 30 && event.b == 40);
	assert_string_equal(text_of(store, event.name), "device 1");
	assert_string_equal(mp_store_fact(store, "traceName").text, "t.json");
	assert_string_equal(mp_store_fact(store, "deviceProperties").text, "[{\"id\": 0}]");
	assert_int_equal(mp_store_fact(store, "displayTimeUnit").len, 0);
	assert_int_equal(mp_store_n_notes(store), 0);
	mp_store_free(store);
}

/* ---- documents ---- */

static void test_documents(void **state)
{
	static const struct {
		const char *text;
		size_t n_marks;
		const char *note; /* "" = none */
	} cases[] = {
		{"[]", 0, ""},
		{"\xef\xbb\xbf[]", 0, ""},
		{"{\"traceEvents\":[]}", 0, ""},
		{"\r\n[\t{\"ph\":\"i\",\"ts\":1} ]\n\n", 1, ""},
		{"[{\"ph\":\"i\",\"ts\":1},\n", 1, "unclosed"},
		{"[{\"ph\":\"i\",\"ts\":1}\n", 1, "unclosed"},
		{"[", 0, "unclosed"},
		{"{\"traceEvents\":[{\"ph\":\"i\",\"ts\":1}]", 1, "trailing-text"},
		{"{\"traceEvents\":[{\"ph\":\"i\",\"ts\":1}],\"a\":1", 1, "trailing-text"},
		{"{\"traceEvents\":[{\"ph\":\"i\",\"ts\":1}", 1, "unclosed"},
		{"[{\"ph\":\"i\",\"ts\":1},{\"ph\":\"i\",\"ts\":1},]", 2, ""},
		{"[{\"ph\":\"i\",\"ts\":1},,{\"ph\":\"i\",\"ts\":1}]", 2, "bad-event"},
		{"[{\"ph\":\"i\",\"ts\":1}{\"ph\":\"i\",\"ts\":1}]", 2, ""},
		{"[{\"ph\":\"i\",\"ts\":1}] trailing", 1, "trailing-text"},
		{"[{\"ph\":\"i\",\"ts\":1},{\"ph\":\"i\",\"ts\":2", 1, "truncated"},
		{"[{\"ph\":\"i\",\"ts\":1},17,{\"ph\":\"i\",\"ts\":1}]", 2, "bad-event"},
		{"[{\"ph\":\"i\",\"ts\":1},{\"ph\" \"i\",\"ts\":1},{\"ph\":\"i\",\"ts\":1}]", 2, "bad-event"},
		{"[{\"ph\":\"i\",\"ts\":1},{\"ph:\"i\",\"ts\":1},{\"ph\":\"i\",\"ts\":1}]", 2, "bad-event"},
		{"{\"a\":[{\"ph\":\"i\",\"ts\":1}],\"traceEvents\":[{\"ph\":\"i\",\"ts\":1}],\"b\":[{\"ph\":\"i\",\"ts\":1}]}",
		 1, ""},
		{"[{\"ph\":\"i\",\"ts\":1,\"args\":{\"list\":[{\"ph\":\"i\",\"ts\":1},{\"ph\":\"i\",\"ts\":1}]}}]",
		 1, ""},
		{"[{\"ph\":\"i\",\"name\":\"},{\\\"ph\\\":\\\"i\\\",\\\"ts\\\":1}\",\"ts\":1}]", 1, ""},
		{"[{\"ph\":\"i\",\"ph\":\"i\",\"ts\":5,\"ts\":1}]", 1, ""},
		{"[{\"ph\":\"i\",\"tts\":NaN,\"ts\":1}]", 1, ""},
	};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(cases); i++) {
		struct mp_store *store = read_json(cases[i].text);
		size_t n_notes = mp_store_n_notes(store);

		if (mp_store_n_events(store, MP_KIND_MARK) != cases[i].n_marks ||
		    n_notes != (*cases[i].note != '\0') ||
		    (*cases[i].note && !note_of(store, cases[i].note).count))
			fail_msg("%s: %llu marks, %zu notes, first %s", cases[i].text,
				 (unsigned long long)mp_store_n_events(store, MP_KIND_MARK), n_notes,
				 n_notes ? text_of(store, mp_store_get_note(store, 0).code) : "-");
		mp_store_free(store);
	}
}

/* Not traces at all. */
static void test_refused(void **state)
{
	static const char *const cases[] = {"",
					    " ",
					    "7",
					    "\"x\"",
					    "{}",
					    "{\"traceEvents\":7}",
					    "{\"traceEvents\":{}}",
					    "{\"a\":1",
					    "{\"a\":}",
					    "nul",
					    "\xff\xfe[\0"};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(cases); i++) {
		mp_err err = {0};
		mp_status status;
		struct mp_store *store = read_text(cases[i], strlen(cases[i]), NULL, &status, &err);

		assert_int_equal(status, MINDPROF_E_FORMAT);
		assert_int_equal(err.n_causes, 1);
		mp_store_free(store);
	}
}

static int score_of(const char *name, const char *text)
{
	char path[] = "/tmp/mindprof-test-XXXXXX", file[128];
	struct mp_source source = {.name = name};
	struct mp_dir dir;
	FILE *out;
	int score;

	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof(file), "%s/%s", path, name);
	out = fopen(file, "wb");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	assert_int_equal(mp_dir_open(path, &dir, NULL), MINDPROF_OK);
	source.dir = &dir;
	score = mp_reader_chrome_json.recognise(&source);
	source.name = NULL;
	assert_int_equal(mp_reader_chrome_json.recognise(&source), 0);
	mp_dir_close(&dir);
	unlink(file);
	rmdir(path);
	return score;
}

static void test_recognise(void **state)
{
	(void)state;
	assert_true(score_of("x", "[{\"ph\":\"X\"}]") > 50);
	assert_true(score_of("x", " \n{\"otherData\":{},\"traceEvents\": []}") > 50);
	assert_true(score_of("x.json", "[]") > 0);
	assert_int_equal(score_of("x.json", "{\"a\":1}"), 0);
	assert_int_equal(score_of("x.json", "[1,2]"), 0);
	assert_int_equal(score_of("x.json", ""), 0);
	assert_int_equal(score_of("x.json", "traceEvents"), 0);
}

/* ---- texts ---- */

static void test_texts(void **state)
{
	struct mp_store *store = read_json(
		"[{\"ph\":\"i\",\"name\":\"\\\"\\\\\\/\\n\\u0041\\ud83d\\udd25\\ud800\\u0000z\",\"ts\":1},"
		"{\"ph\":\"i\",\"name\":\"\xc3\xa9\xff!\",\"ts\":1},{\"ph\":\"i\",\"name\":\"a\tb\",\"ts\":1},"
		"{\"ph\":\"i\",\"name\":\"\xc3\xa9\xff!\",\"ts\":1},"
		"{\"ph\":\"i\",\"name\":\"x\",\"cat\":\"\xe4\xb8\xad\",\"ts\":1,\"args\":{\"k\":\"\xfe\"}}]");
	struct mp_str name = mp_store_text(store, event_at(store, MP_KIND_MARK, 0).name);
	struct mp_event event = event_at(store, MP_KIND_MARK, 4);

	(void)state;
	assert_int_equal(name.len, 5 + 4 + 3 + 2);
	assert_memory_equal(name.text, "\"\\/\nA\xf0\x9f\x94\xa5\xef\xbf\xbd\0z", name.len);
	assert_string_equal(text_of(store, event_at(store, MP_KIND_MARK, 1).name), "\xc3\xa9\xef\xbf\xbd!");
	assert_string_equal(text_of(store, event_at(store, MP_KIND_MARK, 2).name), "a\tb");
	assert_string_equal(text_of(store, detail_at(store, &event).category), "\xe4\xb8\xad");
	assert_string_equal(text_of(store, detail_at(store, &event).args), "{\"k\":\"\xef\xbf\xbd\"}");
	assert_non_null(strstr(text_of(store, note_of(store, "bad-utf8").text), "3 times"));
	assert_int_equal(note_of(store, "bad-text").count, 1);
	mp_store_free(store);
}

/* Equal args are one detail; args that are no JSON are left out, the event stays. */
static void test_args(void **state)
{
	struct mp_store *store = read_json(
		"[{\"ph\":\"i\",\"ts\":1,\"args\":{\"a\":[1,{}]}},{\"ph\":\"i\",\"ts\":1,\"args\":{\"a\":[1,{}]}},"
		"{\"ph\":\"i\",\"ts\":1,\"args\":{\"a\":inf}},{\"ph\":\"i\",\"ts\":1,\"args\":{\"a\":[}]}},"
		"{\"ph\":\"i\",\"ts\":1,\"args\":[1]},{\"ph\":\"i\",\"ts\":1,\"args\":\"x\"}]");

	(void)state;
	assert_int_equal(mp_store_n_events(store, MP_KIND_MARK), 6);
	assert_int_equal(event_at(store, MP_KIND_MARK, 0).detail, event_at(store, MP_KIND_MARK, 1).detail);
	assert_int_not_equal(event_at(store, MP_KIND_MARK, 0).detail, 0);
	for (size_t i = 2; i < 6; i++)
		assert_int_equal(event_at(store, MP_KIND_MARK, i).detail, 0);
	assert_non_null(strstr(text_of(store, note_of(store, "bad-args").text), "4 times"));
	mp_store_free(store);
}

/* ---- pieces ---- */

/* A document of several pieces with everything that could be taken for a border of events. */
static struct trace_text large_text(size_t n)
{
	static const char *const names[] = {"plain", "},{\\\"ph\\\":\\\"i\\\"", "\\\\\\\"", "[{", "\\\\",
					    "]}"};
	struct mp_buf buf;
	struct trace_text text;

	mp_buf_init(&buf, SIZE_MAX / 2);
	mp_buf_add_str(&buf, "{\"before\":{\"a\":[\"]\"]},\"traceEvents\":[");
	for (size_t i = 0; i < n; i++) {
		mp_buf_printf(&buf,
			      "%s{\"ph\":\"X\",\"name\":\"%s\",\"pid\":1,\"tid\":%zu,\"ts\":%zu,\"dur\":1",
			      i ? ",\n" : "", names[i % MP_COUNT(names)], i % 3, 10 * i);
		if (i % 1000 == 7) {
			mp_buf_add_str(&buf, ",\"args\":{\"list\":[");
			for (size_t k = 0; k < 3000; k++)
				mp_buf_printf(&buf, "%s{\"ph\":\"X\",\"name\":\"%s\",\"ts\":1}", k ? "," : "",
					      names[k % MP_COUNT(names)]);
			mp_buf_add_str(&buf, "]}");
		}
		mp_buf_add_str(&buf, "}");
	}
	mp_buf_add_str(&buf, "],\"after\":[{\"ph\":\"X\",\"ts\":1}]}");
	assert_int_equal(buf.failed, MINDPROF_OK);
	text.len = buf.len;
	text.data = malloc(buf.len + 1);
	memcpy(text.data, buf.data, buf.len + 1);
	mp_buf_release(&buf);
	return text;
}

static void test_pieces(void **state)
{
	const size_t n = 30000;
	struct trace_text text = large_text(n);

	(void)state;
	assert_true(text.len > 2000000);
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct mp_pool *pool;
		struct mp_store *store;
		struct mp_ranges order;
		mp_status status;
		size_t found = 0;

		assert_int_equal(mp_pool_new(threads, &pool, NULL), MINDPROF_OK);
		store = read_text(text.data, text.len, pool, &status, NULL);
		assert_int_equal(status, MINDPROF_OK);
		assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), n);
		assert_int_equal(mp_store_n_notes(store), 0);
		assert_int_equal(mp_store_sort(store, pool, NULL), MINDPROF_OK);
		for (uint32_t track = 0; track < 3; track++) {
			order = mp_store_ranges(store, track);
			for (size_t i = 0; i < order.n; i++, found++) {
				struct mp_event event = mp_store_event(store, order.refs[i]);

				assert_int_equal(event.ts_ns,
						 10000 * (3 * (int64_t)i + track_of(store, &event).tid));
			}
		}
		assert_int_equal(found, n);
		mp_store_free(store);
		mp_pool_free(pool);
	}
	free(text.data);
}

/* One broken event in the middle: only it is lost, wherever it stands. */
static void test_broken_pieces(void **state)
{
	static const struct {
		const char *from, *to;
	} wounds[] = {
		{"\"name\":\"plain\"", "\"name\":\"plain "}, /* turns strings inside out up to the end */
		{"\"pid\":1", "\"pid\" 1"},
		{"\"dur\":1}", "\"dur\":1,"},
		{"{\"ph\"", "\"\"ph\""},
	};
	const size_t n = 12000;

	(void)state;
	for (size_t w = 0; w < MP_COUNT(wounds); w++) {
		for (size_t part = 1; part < 8; part++) {
			struct trace_text text = large_text(n);
			char *at = strstr(text.data + text.len / 8 * part, wounds[w].from);
			struct mp_pool *pool;
			struct mp_store *store;
			mp_status status;
			uint64_t found;

			assert_non_null(at);
			memcpy(at, wounds[w].to, strlen(wounds[w].to));
			assert_int_equal(mp_pool_new(2, &pool, NULL), MINDPROF_OK);
			store = read_text(text.data, text.len, pool, &status, NULL);
			assert_int_equal(status, MINDPROF_OK);
			found = mp_store_n_events(store, MP_KIND_RANGE);
			/* A wound in args leaves what stands in them as candidates for events. */
			if (found < n - 2 || found > n + 3100)
				fail_msg("wound %zu in part %zu: %llu events", w, part,
					 (unsigned long long)found);
			mp_store_free(store);
			mp_pool_free(pool);
			free(text.data);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_complete),
		cmocka_unit_test(test_repetition),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_bad_times),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_begin_end),
		cmocka_unit_test(test_begin_end_order),
		cmocka_unit_test(test_async),
		cmocka_unit_test(test_async_ids),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_flow_ids),
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_kineto),
		cmocka_unit_test(test_documents),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_recognise),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_args),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_broken_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
