/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device events from msprof JSON written by hand: times, threads, flows, shapes, slices, pieces, cuts and
 * lies, and the copy into the trace. Documents: sections 5.1, 6, 7.1, 7.2 and 7.4 of analysis-current.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <zlib.h>

#include "cur_rank.h"

#include "base/pool.h"

#define EXPORT "msprof_20250705072100000.json"

static void load(uint64_t corrections)
{
	mp_err err = {0};

	rank_open(&rank, corrections);
	rank_good(cur_load_device(&rank.run, &err), &err);
}

static void load_text(const char *text, uint64_t corrections)
{
	rank_put_text(&rank, EXPORT, text);
	load(corrections);
}

static const struct cur_device_event *event_at(size_t i)
{
	assert_true(i < rank.run.device.events.len);
	return &rank.run.device.events.at[i];
}

static const struct cur_device_track *track_of(const struct cur_device_event *event)
{
	assert_true(event->track < rank.run.device.tracks.len);
	return &rank.run.device.tracks.at[event->track];
}

static const char *text(uint32_t id)
{
	return mp_store_text(rank.store, id).text;
}

/* ---- a document that grows ---- */

static struct mp_buf document;

static void begin_document(void)
{
	mp_buf_init(&document, SIZE_MAX / 8);
}

static void put_document(void)
{
	assert_int_equal(document.failed, MINDPROF_OK);
	rank_put(&rank, EXPORT, document.data, document.len);
}

/* ---- events ---- */

/*
 * Names of processes and threads come after their use, and the last one wins. "ts" is us as text: 1000.5 us =
 * 1000500 ns. "dur" is a number: 2.0005 us = 2000.5 ns, half to even 2000; 1e1 us = 10000 ns.
 */
static void test_events(void **state)
{
	const struct cur_device_event *event;

	(void)state;
	load_text(
		"[{\"name\": \"K\", \"pid\": 5, \"tid\": 2, \"ts\": \"1000.500\", \"dur\": 2.0005, \"ph\": \"X\", "
		"\"args\": {\"Task Type\": \"AI_CORE\"}},\n"
		" {\"ph\": \"X\", \"name\": \"Computing\", \"pid\": 9, \"tid\": 0, \"ts\": \"1751700001000208.256\", "
		"\"dur\": 1e1, \"args\": {}},\n"
		" {\"name\": \"\\u004b\\n\", \"pid\": 5, \"tid\": 3, \"ts\": \"7\", \"dur\": 0, \"ph\": \"X\"},\n"
		" {\"name\": \"thread_name\", \"pid\": 9, \"tid\": 0, \"args\": {\"name\": \"Computing\"}, \"ph\": "
		"\"M\"},\n"
		" {\"name\": \"process_name\", \"pid\": 5, \"tid\": 0, \"args\": {\"name\": \"CANN\"}, \"ph\": \"M\"},\n"
		" {\"name\": \"process_name\", \"pid\": 9, \"tid\": 0, \"args\": {\"name\": \"Overlap Analysis\"}, "
		"\"ph\": \"M\"},\n"
		" {\"name\": \"process_name\", \"pid\": 5, \"tid\": 0, \"args\": {\"name\": \"Ascend Hardware\"}, "
		"\"ph\": \"M\"}]",
		ALL);
	assert_true(rank.run.device.present);
	assert_int_equal(rank.run.device.events.len, 3);
	event = event_at(0);
	assert_int_equal(event->ts_ns, 1000500);
	assert_int_equal(event->dur_ns, 2000);
	assert_string_equal(text(event->name), "K");
	assert_int_equal(event->parent, CUR_NO_PARENT);
	assert_int_equal(event->args, CUR_ARGS_SOME);
	assert_int_equal(event->task, CUR_TASK_COMPUTE);
	assert_int_equal(track_of(event)->layer, CUR_LAYER_HARDWARE);
	assert_int_equal(track_of(event)->tid, 2);
	event = event_at(1);
	assert_int_equal(event->ts_ns, INT64_C(1751700001000208256));
	assert_int_equal(event->dur_ns, 10000);
	assert_int_equal(event->args, CUR_ARGS_EMPTY);
	assert_int_equal(track_of(event)->layer, CUR_LAYER_OVERLAP);
	assert_int_equal(track_of(event)->overlap, CUR_OVERLAP_COMPUTING);
	assert_string_equal(text(track_of(event)->thread_name), "Computing");
	event = event_at(2);
	assert_string_equal(text(event->name), "K\n");
	assert_int_equal(event->ts_ns, 7000);
	assert_int_equal(event->args_at, 0);
	assert_int_equal(event->task, CUR_TASK_NONE);
	assert_true(rank.run.device.has_layer[CUR_LAYER_OVERLAP]);
	assert_int_equal(mp_store_n_notes(rank.store), 0);
}

static void test_tasks(void **state)
{
	static const struct {
		const char *type, *name;
		enum cur_task task;
	} cases[] = {
		{"AI_CORE", "k", CUR_TASK_COMPUTE},
		{"AI_VECTOR_CORE", "k", CUR_TASK_COMPUTE},
		{"MIX_AIC", "k", CUR_TASK_COMPUTE},
		{"MIX_AIV", "k", CUR_TASK_COMPUTE},
		{"AI_CPU", "k", CUR_TASK_COMPUTE},
		{"KERNEL_AICORE", "k", CUR_TASK_HOST},
		{"FFTS_PLUS", "k", CUR_TASK_HOST},
		{"PROFILING_ENABLE", "k", CUR_TASK_HOST},
		{"PLACE_HOLDER_SQE", "PROFILING_ENABLE", CUR_TASK_HOST},
		{"NOTIFY_WAIT_SQE", "k", CUR_TASK_OTHER},
		{"AI_CORE2", "k", CUR_TASK_OTHER},
	};
	size_t i;

	(void)state;
	begin_document();
	/* Twice each: the second time a known shape gives it. */
	for (i = 0; i < 2 * MP_COUNT(cases); i++)
		mp_buf_printf(
			&document,
			"%s{\"name\": \"%s\", \"pid\": 1, \"tid\": 2, \"ts\": \"3.000\", \"dur\": 1.5, \"ph\": "
			"\"X\", \"args\": {\"Task Type\": \"%s\"}}",
			i ? ", " : "[", cases[i / 2].name, cases[i / 2].type);
	mp_buf_add_char(&document, ']');
	put_document();
	load(ALL);
	for (i = 0; i < 2 * MP_COUNT(cases); i++)
		assert_int_equal(event_at(i)->task, cases[i / 2].task);
	mp_buf_release(&document);
}

/* ---- layers ---- */

static void test_layers(void **state)
{
	static const struct {
		const char *name;
		enum cur_layer original, corrected;
	} cases[] = {
		{"python", CUR_LAYER_PYTHON, CUR_LAYER_PYTHON},
		{"python3", CUR_LAYER_PYTHON, CUR_LAYER_PYTHON},
		{"CANN", CUR_LAYER_CANN, CUR_LAYER_CANN},
		{"Ascend Hardware", CUR_LAYER_HARDWARE, CUR_LAYER_HARDWARE},
		{"HCCL", CUR_LAYER_COMMUNICATION, CUR_LAYER_COMMUNICATION},
		{"Communication", CUR_LAYER_OTHER, CUR_LAYER_COMMUNICATION},
		{"Overlap Analysis", CUR_LAYER_OVERLAP, CUR_LAYER_OVERLAP},
		{"HBM", CUR_LAYER_OTHER, CUR_LAYER_OTHER},
	};
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(cases); i++) {
		char line[256];

		snprintf(
			line, sizeof(line),
			"[{\"ph\":\"X\",\"name\":\"e\",\"pid\":1,\"tid\":1,\"ts\":\"1.000\",\"dur\":1},"
			"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"%s\"}}]",
			cases[i].name);
		load_text(line, 0);
		assert_int_equal(track_of(event_at(0))->layer, cases[i].original);
		load_text(line, ALL);
		assert_int_equal(track_of(event_at(0))->layer, cases[i].corrected);
	}
}

/* A name of two processes; once more for the same pid is no second one. */
static void test_process_twice(void **state)
{
	(void)state;
	load_text("[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"CANN\"}},"
		  "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"CANN\"}},"
		  "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"args\":{\"name\":\"\"}},"
		  "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":3,\"args\":{\"name\":\"\"}}]",
		  ALL);
	assert_false(rank.run.device.duplicate_process);
	load_text("[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"CANN\"}},"
		  "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"args\":{\"name\":\"CANN\"}}]",
		  ALL);
	assert_true(rank.run.device.duplicate_process);
	assert_int_equal(rank_notes(&rank, "process-twice", NULL), 1);
}

/* ---- flows ---- */

#define FLOW(phase, id, ts)                                                                   \
	"{\"name\":\"HostToDevice\",\"ph\":\"" phase "\",\"cat\":\"HostToDevice\",\"id\":" id \
	",\"pid\":1,\"tid\":2,\"ts\":" ts "}"

/* The first begin and the first end of each id; other categories and phases are none. */
static void test_flows(void **state)
{
	static const char flows[] = "[" FLOW("f", "\"7\"", "\"9.000\"") "," FLOW("s", "\"7\"", "\"1.000\"") "," FLOW(
		"s", "\"7\"",
		"\"2.000\"") "," FLOW("s", "8",
				      "\"3.000\"") "," FLOW("t", "\"9\"",
							    "\"4.000\"") "," FLOW("f", "\"7\"",
										  "\"5.000\"") ","
											       "{\"ph\":\"s\",\"cat\":\"other\",\"id\":\"5\",\"pid\":1,\"tid\":2,\"ts\":\"6.000\"}]";

	(void)state;
	load_text(flows, ALL);
	assert_int_equal(rank.run.device.flows.len, 3);
	assert_true(rank.run.device.flows.at[0].is_end);
	assert_int_equal(rank.run.device.flows.at[0].ts_ns, 9000);
	assert_false(rank.run.device.flows.at[1].is_end);
	assert_int_equal(rank.run.device.flows.at[1].ts_ns, 1000);
	assert_true(rank.run.device.flows.at[1].id == rank.run.device.flows.at[0].id);
	assert_int_equal(rank.run.device.flows.at[2].ts_ns, 3000);
	assert_int_equal(rank.run.device.events.len, 0);
}

/*
 * The original has the double next to 1751700000004174.921, of which it can keep quarters only: ...4175.000,
 * and
 * ...4174.600 is as near to no quarter as to ...4174.500. Small times are exact in both ways.
 */
static void test_numeric_ts(void **state)
{
	static const char flows[] =
		"[" FLOW("s", "\"1\"", "1751700000004174.921") "," FLOW("s", "\"2\"", "1751700000004174.6") "," FLOW(
			"s", "\"3\"",
			"\"1751700000004174.921\"") "," FLOW("s", "\"4\"",
							     "5.25") ",{\"ph\":\"X\",\"name\":"
								     "\"e\",\"pid\":1,\"tid\":2,"
								     "\"ts\":1751700000004174.921}]";

	(void)state;
	load_text(flows, ALL);
	assert_int_equal(rank.run.device.flows.len, 4);
	assert_int_equal(rank.run.device.flows.at[0].ts_ns, INT64_C(1751700000004174921));
	assert_int_equal(rank.run.device.flows.at[1].ts_ns, INT64_C(1751700000004174600));
	assert_int_equal(rank.run.device.flows.at[2].ts_ns, INT64_C(1751700000004174921));
	assert_int_equal(event_at(0)->ts_ns, INT64_C(1751700000004174921));
	assert_false(event_at(0)->binary_ts);
	load_text(flows, BUT(CUR_FIX_NUMERIC_TS));
	assert_int_equal(rank.run.device.flows.len, 4);
	assert_int_equal(rank.run.device.flows.at[0].ts_ns, INT64_C(1751700000004175000));
	assert_int_equal(rank.run.device.flows.at[1].ts_ns, INT64_C(1751700000004174500));
	assert_int_equal(rank.run.device.flows.at[2].ts_ns, INT64_C(1751700000004174921));
	assert_int_equal(rank.run.device.flows.at[3].ts_ns, 5250);
	assert_int_equal(event_at(0)->ts_ns, INT64_C(1751700000004175000));
	assert_true(event_at(0)->binary_ts);
}

/* Many ids, each with both ends and a second begin: 2 flows of each are kept, also when the table of ids
 * grows. */
static void test_many_flows(void **state)
{
	enum { N = 5000 };
	size_t i;

	(void)state;
	begin_document();
	mp_buf_add_char(&document, '[');
	for (i = 0; i < 3 * N; i++)
		mp_buf_printf(
			&document,
			"%s{\"name\": \"HostToDevice%zu\", \"ph\": \"%c\", \"cat\": \"HostToDevice\", \"id\": "
			"\"%zu\", \"pid\": 1, \"tid\": 2, \"ts\": \"%zu.000\"}",
			i ? ", " : "", i % N, i / N == 1 ? 'f' : 's', i % N, i);
	mp_buf_add_char(&document, ']');
	put_document();
	load(ALL);
	assert_int_equal(rank.run.device.flows.len, 2 * N);
	for (i = 0; i < 2 * N; i++) {
		assert_int_equal(rank.run.device.flows.at[i].ts_ns, i * 1000);
		assert_int_equal(rank.run.device.flows.at[i].is_end, i >= N);
	}
	mp_buf_release(&document);
}

/* ---- shapes: one after the other, each with other values ---- */

/* Integers and decimals of every length, in both places; ns are written beside the text. */
static void test_values(void **state)
{
	static const struct {
		const char *ts, *dur;
		int64_t ts_ns, dur_ns;
	} values[] = {
		{"1.000", "0.5", 1000, 500},
		{"22.250", "12", 22250, 12000},
		{"12345678.001", "123.25", 12345678001, 123250},
		{"123456789.5", "0", 123456789500, 0},
		{"1751700001000208.256", "840.07675", INT64_C(1751700001000208256), 840077}, /* .75 up */
		{"1751700001000208", "2.30003125", INT64_C(1751700001000208000), 2300},
		{"0.000", "0.0005", 0, 0},              /* half a ns, to even */
		{"0.0015", "0.0015", 2, 2},             /* 1.5 ns, to even */
		{"1.00049", "1.000499999", 1000, 1000}, /* nine decimals */
		{"9.000", "1e-3", 9000, 1},
		{"-1.500", "-2", -1500, -2000},
		{"00012.000", "99999999", 12000, 99999999000},
		{"12.000", "12345678.12345678", 12000, 12345678123},
		{"3.000", "100000000.125", 3000, 100000000125},
	};
	size_t i;

	(void)state;
	begin_document();
	for (i = 0; i < 4 * MP_COUNT(values); i++)
		mp_buf_printf(
			&document,
			"%s{\"name\": \"n%zu\", \"pid\": %zu, \"tid\": %zu, \"ts\": \"%s\", \"dur\": %s, \"ph\": "
			"\"X\", \"args\": {\"a\": %zu, \"b\": \"%zu\"}}",
			i ? ", " : "[", i, i * i * i * i * i * i, i, values[i % MP_COUNT(values)].ts,
			values[i % MP_COUNT(values)].dur, i, i);
	mp_buf_add_char(&document, ']');
	put_document();
	load(ALL);
	assert_int_equal(rank.run.device.events.len, 4 * MP_COUNT(values));
	for (i = 0; i < 4 * MP_COUNT(values); i++) {
		char name[32];

		snprintf(name, sizeof(name), "n%zu", i);
		assert_string_equal(text(event_at(i)->name), name);
		assert_int_equal(event_at(i)->ts_ns, values[i % MP_COUNT(values)].ts_ns);
		assert_int_equal(event_at(i)->dur_ns, values[i % MP_COUNT(values)].dur_ns);
		assert_int_equal(track_of(event_at(i))->pid, i * i * i * i * i * i);
		assert_int_equal(document.data[event_at(i)->args_at], '}');
		assert_int_equal(document.data[event_at(i)->args_at + 1], '}');
	}
	mp_buf_release(&document);
}

/* More shapes than are kept, over and over. */
static void test_many_shapes(void **state)
{
	enum { SHAPES = 40, N = 4000 };
	size_t i, k;

	(void)state;
	begin_document();
	for (i = 0; i < N; i++) {
		mp_buf_printf(&document, "%s{\"name\": \"e\", \"pid\": 1, \"args\": {", i ? ", " : "[");
		for (k = 0; k < i * 7 % SHAPES; k++)
			mp_buf_printf(&document, "%s\"k%zu\": %zu", k ? ", " : "", k, i);
		mp_buf_printf(&document, "}, \"tid\": 2, \"ts\": \"%zu.000\", \"dur\": 1.0, \"ph\": \"X\"}",
			      i);
	}
	mp_buf_add_char(&document, ']');
	put_document();
	load(ALL);
	assert_int_equal(rank.run.device.events.len, N);
	for (i = 0; i < N; i++) {
		assert_int_equal(event_at(i)->ts_ns, i * 1000);
		assert_int_equal(event_at(i)->args, i * 7 % SHAPES ? CUR_ARGS_SOME : CUR_ARGS_EMPTY);
		assert_int_equal(document.data[event_at(i)->args_at], '}');
	}
	mp_buf_release(&document);
}

/* ---- files ---- */

#define EVENT(ts) "{\"ph\":\"X\",\"name\":\"e\",\"pid\":1,\"tid\":2,\"ts\":\"" ts "\",\"dur\":1,\"args\":{}}"
#define EVENT_BYTES ((int64_t)sizeof(EVENT("1.000")) - 1)

/* Whole exports first, then slices by number; flows and threads are one for all. */
static void test_slices(void **state)
{
	size_t i;

	(void)state;
	rank_put_text(&rank, "msprof_slice_10_20250705.json", "[" EVENT("4.000") "]");
	rank_put_text(&rank, "msprof_slice_2_20250705.json", "[" EVENT("3.000") "]");
	rank_put_text(&rank, "msprof_slice_0_20250705.json", "[" EVENT("2.000") "]");
	rank_put_text(&rank, EXPORT, "[" EVENT("1.000") "]");
	rank_put_text(&rank, "msprof_tx_20250705.json", "[" EVENT("5.000") "]");
	load(ALL);
	assert_int_equal(rank.run.device.events.len, 4);
	assert_int_equal(rank.run.device.tracks.len, 1);
	for (i = 0; i < 4; i++) {
		assert_int_equal(event_at(i)->ts_ns, (i + 1) * 1000);
		assert_int_equal(event_at(i)->file, i);
	}
}

static void test_packed(void **state)
{
	static const char plain[] = "[" EVENT("1.000") ", " EVENT("2.000") "]";
	uint8_t packed[512];
	z_stream z = {0};

	(void)state;
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)plain;
	z.avail_in = sizeof(plain) - 1;
	z.next_out = packed;
	z.avail_out = sizeof(packed);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	rank_put(&rank, EXPORT, (char *)packed, z.total_out);
	load(ALL);
	assert_int_equal(rank.run.device.events.len, 2);
	assert_int_equal(mp_store_n_notes(rank.store), 0);
	/* Without its trailer of 8 bytes: all events, and a note. */
	rank_put(&rank, EXPORT, (char *)packed, z.total_out - 8);
	load(ALL);
	assert_int_equal(rank.run.device.events.len, 2);
	assert_int_equal(rank_notes(&rank, "bad-msprof", NULL), 1);
	deflateEnd(&z);
}

static void test_no_file(void **state)
{
	static const char cpu_only[] = "{\"profiler_parameters\": {\"activities\": [\"CPU\"]}}";

	(void)state;
	load(ALL);
	assert_false(rank.run.device.present);
	assert_int_equal(rank_notes(&rank, "no-msprof", NULL), 1);
	/* Without NPU activity nobody expects one. */
	rank_put_at(&rank, "profiler_info_0.json", cpu_only, sizeof(cpu_only) - 1);
	load(ALL);
	assert_int_equal(rank_notes(&rank, "no-msprof", NULL), 0);
}

/* ---- pieces of a large file ---- */

/* An event every 97 bytes or so, as far as `size` bytes; every 50th holds what looks like a border of events.
 */
static size_t fill_document(size_t size)
{
	size_t n = 0;

	begin_document();
	mp_buf_add_char(&document, '[');
	while (document.len < size) {
		mp_buf_printf(
			&document,
			"%s{\"name\": \"op %zu\", \"pid\": 1, \"tid\": %zu, \"ts\": \"%zu.125\", \"dur\": 0.5, "
			"\"ph\": \"X\", \"args\": {\"a\": %s}}",
			n ? ", " : "", n % 100, n % 5, n,
			n % 50 ? "7" : "[{}, {\"name\": \"}, {\\\"name\\\": \\\"\"}]");
		n++;
	}
	mp_buf_add_char(&document, ']');
	return n;
}

static void check_filled(size_t n)
{
	size_t i;

	assert_int_equal(rank.run.device.events.len, n);
	for (i = 0; i < n; i++) {
		const struct cur_device_event *event = event_at(i);

		if (event->ts_ns != (int64_t)i * 1000 + 125 || event->dur_ns != 500 ||
		    track_of(event)->tid != (int64_t)i % 5 || document.data[event->args_at] != '}' ||
		    document.data[event->args_at + 1] != '}')
			fail_msg("event %zu of %zu is wrong", i, n);
	}
}

static void test_pieces(void **state)
{
	size_t n = fill_document(13 << 20);
	struct mp_pool *pool;

	(void)state;
	put_document();
	load(ALL);
	check_filled(n);
	assert_int_equal(mp_pool_new(3, &pool, NULL), MINDPROF_OK);
	rank.ctx.pool = pool;
	load(ALL);
	check_filled(n);
	assert_int_equal(rank.run.device.tracks.len, 5);
	assert_int_equal(mp_store_n_notes(rank.store), 0);
	rank_close(&rank);
	mp_pool_free(pool);
	rank.ctx.pool = NULL;
	mp_buf_release(&document);
}

/* Every border that can be seen is inside of one event: it is read as one piece. */
static void test_false_borders(void **state)
{
	(void)state;
	begin_document();
	mp_buf_add_str(&document,
		       "[" EVENT("1.000") ", {\"ph\":\"X\",\"name\":\"big\",\"pid\":1,\"tid\":2,\"ts\":"
					  "\"2.000\",\"dur\":1,\"args\":{\"list\": [{}");
	while (document.len < 13u << 20)
		mp_buf_add_str(&document,
			       ", {\"name\": \"inside\", \"ph\": \"X\", \"pid\": 1, \"ts\": \"9\"}");
	mp_buf_add_str(&document, "]}}, " EVENT("3.000") "]");
	put_document();
	load(ALL);
	assert_int_equal(rank.run.device.events.len, 3);
	assert_string_equal(text(event_at(1)->name), "big");
	assert_int_equal(document.data[event_at(1)->args_at], '}');
	assert_int_equal(event_at(2)->ts_ns, 3000);
	assert_int_equal(mp_store_n_notes(rank.store), 0);
	mp_buf_release(&document);
}

/* ---- cuts ---- */

static uint64_t random_state = 88172645463325252u;

static size_t random_below(size_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % n;
}

/* What is copied of the only file is an array of as many events. */
static void check_copied(size_t n)
{
	const struct cur_device_file *file = &rank.run.device.files.at[0];
	struct mp_json json;
	enum mp_json_type type;
	struct mp_buf array;
	size_t found = 0;

	mp_buf_init(&array, SIZE_MAX / 8);
	mp_buf_add_char(&array, '[');
	mp_buf_add(&array, file->input.data + file->array_begin, file->array_end - file->array_begin);
	mp_buf_add_char(&array, ']');
	mp_json_init(&json, array.data, array.len);
	assert_int_equal(mp_json_next(&json), MP_JSON_ARRAY);
	while ((type = mp_json_next(&json)) == MP_JSON_OBJECT && mp_json_skip(&json, type))
		found++;
	assert_int_equal(type, MP_JSON_ARRAY_END);
	assert_int_equal(found, n);
	mp_buf_release(&array);
}

static size_t events_before(size_t cut)
{
	size_t n = 0, depth = 0, i;
	bool inside = false;

	for (i = 1; i < cut; i++) {
		char c = document.data[i];

		if (inside && c == '\\')
			i++;
		else if (c == '"')
			inside = !inside;
		else if (!inside && (c == '{' || c == '['))
			depth++;
		else if (!inside && (c == '}' || c == ']') && --depth == 0)
			n++;
	}
	return n;
}

static void check_cut(size_t cut)
{
	size_t n = events_before(cut);

	rank_put(&rank, EXPORT, document.data, cut);
	load(ALL);
	if (rank.run.device.events.len != n || rank_notes(&rank, "bad-msprof", NULL) != 1 ||
	    mp_store_n_notes(rank.store) != 1)
		fail_msg("cut at %zu: %zu of %zu events", cut, rank.run.device.events.len, n);
	if (cut > 1)
		check_copied(n);
	/* The original skips the file. */
	load(0);
	assert_int_equal(rank.run.device.events.len, 0);
	assert_false(rank.run.device.present);
	assert_int_equal(rank_notes(&rank, "bad-msprof", NULL), 1);
}

static void test_cuts(void **state)
{
	size_t i;

	(void)state;
	fill_document(20000);
	for (i = 0; i < 50; i++)
		check_cut(random_below(document.len));
	for (i = document.len - 300; i < document.len; i++)
		check_cut(i);
	for (i = 0; i < 300; i++)
		check_cut(i);
	mp_buf_release(&document);
}

/* A cut in the first event of the last piece must leave no comma behind the events before. */
static void test_cut_at_border(void **state)
{
	static const char border[] = "}, {\"name\": \"op";
	const char *begin;
	size_t at;

	(void)state;
	fill_document(10 << 20);
	begin = memmem(document.data + 1 + (4u << 20), 1000, border, sizeof(border) - 1);
	assert_non_null(begin);
	at = (size_t)(begin - document.data) + 3;
	/* As long a text, but from the border on nothing is JSON. */
	memset(document.data + at, '?', document.len - at);
	put_document();
	load(ALL);
	assert_int_equal(rank.run.device.events.len, events_before(at));
	check_copied(events_before(at));
	assert_int_equal(rank_notes(&rank, "bad-msprof", NULL), 1);
	mp_buf_release(&document);
}

/* ---- lies ---- */

static void test_lies(void **state)
{
	static const struct {
		const char *content;
		size_t events; /* with corrections */
		int64_t fault; /* -1 = none */
	} lies[] = {
		{"", 0, 0},
		{"   ", 0, 3},
		{"{}", 0, 0},
		{"null", 0, 0},
		{"[", 0, 1},
		{"[]", 0, -1},
		{"[ ]", 0, -1},
		{"[1]", 0, 1},
		{"[{}]", 0, -1},
		{"[" EVENT("1.000") "] x", 1, 1 + EVENT_BYTES + 2},
		{"[" EVENT("1.000") ",]", 1, 1 + EVENT_BYTES + 1},
		{"[" EVENT("1.000") " " EVENT("2.000") "]", 1, 1 + EVENT_BYTES + 1},
		{"[" EVENT("1.000") ", null]", 1, 1 + EVENT_BYTES + 2},
		{"[" EVENT("x") "]", 0, -1},
		{"[" EVENT("99999999999999999999.0") "]", 0, -1},
		{"[{\"ph\":\"X\",\"name\":\"e\",\"ts\":\"1\",\"dur\":1}]", 0, -1},
		{"[{\"ph\":\"X\",\"name\":\"e\",\"pid\":1e3,\"ts\":\"1\",\"dur\":1}]", 0, -1},
		{"[{\"ph\":\"X\",\"pid\":1,\"ts\":\"1\"}]", 1, -1},
		{"[{\"ph\":\"X\",\"name\":[],\"pid\":1,\"tid\":{},\"ts\":\"1\",\"dur\":\"x\",\"args\":[]}]",
		 1, -1},
		{"[{\"ph\":\"X\",\"name\":\"\xff\",\"pid\":1,\"ts\":\"1\"}]", 0, 19},
		{"[{\"ph\":\"X\",\"name\":\"a\nb\",\"pid\":1,\"ts\":\"1\"}]", 0, 20},
		{"[{\"ph\":\"X\",\"name\":\"e\",\"pid\":01,\"ts\":\"1\"}]", 0, 29},
		{"[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":3}}]", 0, -1},
		{"[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1}]", 0, -1},
	};
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(lies); i++) {
		bool found = false;
		size_t k;

		load_text(lies[i].content, ALL);
		if (rank.run.device.events.len != lies[i].events)
			fail_msg("lie %zu: %zu events", i, rank.run.device.events.len);
		for (k = 0; k < mp_store_n_notes(rank.store); k++) {
			struct mp_note note = mp_store_get_note(rank.store, k);

			if (strcmp(text(note.code), "bad-msprof") != 0)
				continue;
			if (found || note.byte_offset != lies[i].fault)
				fail_msg("lie %zu: fault at %lld", i, (long long)note.byte_offset);
			found = true;
		}
		if (found != (lies[i].fault >= 0))
			fail_msg("lie %zu: %s", i, found ? "a fault" : "no fault");
		load(0);
		assert_true(lies[i].fault < 0 || !rank.run.device.events.len);
	}
}

/* ---- the copy ---- */

static void give_parent(size_t event, const char *launch)
{
	struct cur_host_event host = {.name = mp_store_string(rank.store, launch)};

	assert_true(mp_vec_push(&rank.run.host.events, host));
	rank.run.device.events.at[event].parent = (uint32_t)rank.run.host.events.len - 1;
}

static mp_status copy_to(struct mp_out *out)
{
	bool first = true;

	return cur_device_copy(&rank.run, out, &first, NULL);
}

static mp_status write_copy(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	(void)run;
	(void)err;
	return copy_to(out);
}

static const struct cur_output copied = {.name = "copy", .write = write_copy};

#define KERNEL(args) "{\"ph\":\"X\",\"name\":\"e\",\"pid\":1,\"tid\":2,\"ts\":\"1\",\"dur\":1" args "}"

static void test_copy(void **state)
{
	(void)state;
	load_text("[\n" KERNEL(",\"args\":{}") ",\n" KERNEL(",\"args\": { \"a\" : 1 }") ", " KERNEL(
			  "") ", " KERNEL(",\"args\":{\"b\": 2}") " ]\n",
		  ALL);
	give_parent(0, "L0");
	give_parent(1, "say \"L1\"\n");
	give_parent(2, "L2");
	rank_expect(
		&rank, &copied,
		KERNEL(",\"args\":{\"mindspore_op\": \"L0\"}") ",\n" KERNEL(
			",\"args\": { \"a\" : 1 , \"mindspore_op\": \"say \\\"L1\\\"\\n\"}") ", " KERNEL("") ", " KERNEL(",\"args\":{\"b\": 2}"));
}

/* A key that is there gets the new value, whatever the old one was; as a value it is no key. */
static void test_copy_replaces(void **state)
{
	size_t i;

	(void)state;
	load_text(
		"[" KERNEL(",\"args\":{\"mindspore_op\": \"old\", \"a\": 1}") "," KERNEL(",\"args\":{\"a\":1,\"mindspore_op\":17}") "," KERNEL(",\"args\":{\"mindspore_op\" : {\"x\":[1]} }") "," KERNEL(
			",\"args\":{\"a\":\"mindspore_op\"}") "," KERNEL(",\"args\":{\"a\":{\"mindspore_op\":1}}") "," KERNEL(",\"args\":{\"mindspore_op\": \"stays\"}") "]",
		ALL);
	for (i = 0; i < 5; i++)
		give_parent(i, "new");
	rank_expect(
		&rank, &copied,
		KERNEL(",\"args\":{\"mindspore_op\": \"new\", \"a\": 1}") "," KERNEL(",\"args\":{\"a\":1,\"mindspore_op\":\"new\"}") "," KERNEL(",\"args\":{\"mindspore_op\" : \"new\" }") "," KERNEL(
			",\"args\":{\"a\":\"mindspore_op\", \"mindspore_op\": \"new\"}") "," KERNEL(",\"args\":{\"a\":{\"mindspore_op\":1}, \"mindspore_op\": \"new\"}") "," KERNEL(",\"args\":{\"mindspore_op\": \"stays\"}"));
}

/* Files are joined; one without events leaves no separator. */
static void test_copy_files(void **state)
{
	(void)state;
	rank_put_text(&rank, "msprof_1.json", "[" EVENT("1.000") "]");
	rank_put_text(&rank, "msprof_2.json", "[]");
	rank_put_text(&rank, "msprof_3.json", "[" EVENT("3.000") ", " EVENT("4.000") "]");
	load(ALL);
	rank_expect(&rank, &copied, EVENT("1.000") ", " EVENT("3.000") ", " EVENT("4.000"));
}

/* ---- memory ---- */

/* The load alone, with every allocation failing once. */
static void test_no_memory(void **state)
{
	uint64_t n, tried;

	(void)state;
	rank_put_text(
		&rank, "msprof_1.json",
		"[" EVENT("1.000") ", " FLOW("s", "\"1\"", "\"1.000\"") ", " FLOW(
			"f", "\"1\"",
			"\"1.000\"") ", {\"name\": \"process_name\", \"pid\": 1, \"tid\": 0, \"args\": {\"name\": \"C\\u0041NN\"}, "
				     "\"ph\": \"M\"}]");
	rank_put_text(&rank, "msprof_slice_1.json", "[" EVENT("2.000") "]");
	for (n = 0;; n++) {
		mp_status status;

		rank_open(&rank, ALL);
		mp_mem_fail_after(n);
		status = cur_load_device(&rank.run, NULL);
		tried = mp_mem_fail_after(UINT64_MAX);
		if (tried <= n) {
			assert_int_equal(status, MINDPROF_OK);
			break;
		}
		if (status != MINDPROF_E_NOMEM)
			fail_msg("status %d when allocation %llu fails", status, (unsigned long long)n);
	}
	assert_int_equal(rank.run.device.events.len, 2);
	assert_true(n > 20);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_events),        TEST(test_tasks),         TEST(test_layers),
		TEST(test_process_twice), TEST(test_flows),         TEST(test_numeric_ts),
		TEST(test_many_flows),    TEST(test_values),        TEST(test_many_shapes),
		TEST(test_slices),        TEST(test_packed),        TEST(test_no_file),
		TEST(test_pieces),        TEST(test_false_borders), TEST(test_cuts),
		TEST(test_cut_at_border), TEST(test_lies),          TEST(test_copy),
		TEST(test_copy_replaces), TEST(test_copy_files),    TEST(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
