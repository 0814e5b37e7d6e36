/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compatible flavour: the byte forms of analysis-current.md section 7.2, and event for event what
 * the original wrote for the same raw files (tests/data/op_range, tests/data/cpu).
 */
#include "golden_trace.h"

#include <unistd.h>

#include "writers/writers.h"

#define OP_RANGE MP_SOURCE_DIR "/tests/data/op_range"
#define CPU MP_SOURCE_DIR "/tests/data/cpu"
#define PYNATIVE "host0_9859_20261130205345836_ascend_ms"

static const char *write_compatible(const struct mp_store *store)
{
	static char path[] = "/tmp/mindprof-test-compat.XXXXXX";
	struct mp_out out;
	int fd;

	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(mp_out_open(path, true, &out, NULL), MINDPROF_OK);
	assert_int_equal(mp_trace_write_store(MP_FLAVOUR_COMPATIBLE, store, &out, NULL), MINDPROF_OK);
	assert_int_equal(mp_out_commit(&out, NULL), MINDPROF_OK);
	return path;
}

static char *text_of_file(const char *path)
{
	struct mp_file file;
	char *text;

	assert_int_equal(mp_file_open(path, &file, NULL), MINDPROF_OK);
	text = mp_strndup((const char *)file.data, file.size);
	mp_file_close(&file);
	unlink(path);
	return text;
}

/* ---- forms ---- */

static uint32_t text_id(struct mp_store *store, const char *text)
{
	return mp_store_string(store, text);
}

static void put(struct mp_appender *to, enum mp_kind kind, struct mp_event event)
{
	assert_true(mp_append(to, kind, &event));
}

/* The example of section 7.6, as far as its layers exist; other kinds leave no trace. */
static void test_forms(void **state)
{
	struct mp_store *store = NULL;
	struct mp_process layers[] = {{.pid = 2, .rank = 0, .sort_index = 2},
				      {.pid = 1, .rank = 0, .sort_index = 1}};
	struct mp_detail cpu = {.stream = -1}, stack = {.stream = -1};
	struct mp_track track = {.stream = -1};
	struct mp_appender *to;
	uint32_t t77, t78, t99, t3;
	char *text;

	(void)state;
	assert_int_equal(mp_store_new(NULL, &store, NULL), MINDPROF_OK);
	layers[0].name = text_id(store, "CPU OP");
	layers[1].name = text_id(store, "MindSpore");
	layers[0].labels = layers[1].labels = text_id(store, "CPU");
	cpu.category = text_id(store, "HostCpuOps");
	cpu.type = text_id(store, "Add");
	track.process = mp_store_process(store, &layers[0]);
	track.tid = 3;
	t3 = mp_store_track(store, &track);
	track.process = mp_store_process(store, &layers[1]);
	track.tid = 78;
	t78 = mp_store_track(store, &track);
	track.tid = 77;
	t77 = mp_store_track(store, &track);
	track.tid = 99;
	t99 = mp_store_track(store, &track);
	assert_int_equal(mp_appender_new(store, &to, NULL), MINDPROF_OK);
	put(to, MP_KIND_RANGE,
	    (struct mp_event){.ts_ns = 1719800000000010000,
			      .a = 5000,
			      .track = t77,
			      .name = text_id(store, "Kernel::KernelLaunch::MatMul-op0"),
			      .cls = MP_CLASS_LAUNCH});
	put(to, MP_KIND_RANGE,
	    (struct mp_event){.ts_ns = 1719800000000001036,
			      .a = 12500,
			      .track = t3,
			      .name = text_id(store, "Default/a/Add-op1"),
			      .detail = mp_store_detail(store, &cpu),
			      .cls = MP_CLASS_OPERATOR});
	put(to, MP_KIND_RANGE,
	    (struct mp_event){.ts_ns = 1719800000000000001,
			      .a = 0,
			      .track = t77,
			      .name = text_id(store, "f \"\xe4\xb8\xad\""),
			      .detail = mp_store_detail(store, &stack),
			      .cls = MP_CLASS_PYTHON});
	put(to, MP_KIND_MARK,
	    (struct mp_event){.ts_ns = 1719800000000008000,
			      .track = t78,
			      .name = text_id(store, "PynativeFramework::Wait::w")});
	put(to, MP_KIND_FLOW,
	    (struct mp_event){.ts_ns = 1719800000000005000, .a = 9, .track = t99, .cls = MP_FLOW_BEGIN});
	put(to, MP_KIND_FLOW,
	    (struct mp_event){.ts_ns = 1719800000000010000, .a = 9, .track = t77, .cls = MP_FLOW_END});
	put(to, MP_KIND_FLOW,
	    (struct mp_event){.ts_ns = 5, .a = 10, .track = t77, .cls = MP_FLOW_BEGIN}); /* no end */
	put(to, MP_KIND_FLOW,
	    (struct mp_event){.ts_ns = 5, .a = 11, .track = t77, .cls = MP_FLOW_BEGIN}); /* two ends */
	put(to, MP_KIND_FLOW, (struct mp_event){.ts_ns = 6, .a = 11, .track = t77, .cls = MP_FLOW_END});
	put(to, MP_KIND_FLOW, (struct mp_event){.ts_ns = 7, .a = 11, .track = t77, .cls = MP_FLOW_END});
	put(to, MP_KIND_STEP, (struct mp_event){.ts_ns = 5, .a = 1, .track = t77});
	put(to, MP_KIND_MEMORY_TOTAL, (struct mp_event){.ts_ns = 5, .a = 1, .track = t77});
	assert_int_equal(mp_appender_finish(to, NULL), MINDPROF_OK);
	text = text_of_file(write_compatible(store));
	assert_string_equal(
		text,
		"[{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"tid\": 0, \"args\": {\"name\": \"MindSpore\"}}, "
		"{\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": 1, \"tid\": 0, \"args\": {\"sort_index\": 1}}, "
		"{\"ph\": \"M\", \"name\": \"process_labels\", \"pid\": 1, \"tid\": 0, \"args\": {\"labels\": \"CPU\"}}, "
		"{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 1, \"tid\": 77, \"args\": {\"name\": \"Thread 77\"}}, "
		"{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": 1, \"tid\": 77, \"args\": {\"sort_index\": 77}}, "
		"{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 1, \"tid\": 78, \"args\": {\"name\": \"Thread 78\"}}, "
		"{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": 1, \"tid\": 78, \"args\": {\"sort_index\": 78}}, "
		"{\"ph\": \"X\", \"name\": \"Kernel::KernelLaunch::MatMul-op0\", \"pid\": 1, \"tid\": 77, \"ts\": \"1719800000000010.000\", "
		"\"dur\": \"5.000\", \"cat\": \"\", \"args\": {}}, "
		"{\"ph\": \"X\", \"name\": \"f \\\"\xe4\xb8\xad\\\"\", \"pid\": 1, \"tid\": 77, \"ts\": \"1719800000000000.001\", \"dur\": "
		"\"0.000\", \"cat\": \"python_function\", \"args\": {}}, "
		"{\"name\": \"PynativeFramework::Wait::w\", \"ph\": \"i\", \"ts\": \"1719800000000008.000\", \"pid\": 1, \"tid\": 78, \"args\": "
		"{}}, "
		"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 2, \"tid\": 0, \"args\": {\"name\": \"CPU OP\"}}, "
		"{\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": 2, \"tid\": 0, \"args\": {\"sort_index\": 2}}, "
		"{\"ph\": \"M\", \"name\": \"process_labels\", \"pid\": 2, \"tid\": 0, \"args\": {\"labels\": \"CPU\"}}, "
		"{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 2, \"tid\": 3, \"args\": {\"name\": \"Thread 3\"}}, "
		"{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": 2, \"tid\": 3, \"args\": {\"sort_index\": 3}}, "
		"{\"ph\": \"X\", \"name\": \"Default/a/Add-op1\", \"pid\": 2, \"tid\": 3, \"ts\": \"1719800000000001.036\", \"dur\": \"12.500\", "
		"\"cat\": \"\", \"args\": {\"type\": \"HostCpuOps\"}}, "
		"{\"name\": \"mindspore_to_self\", \"bp\": \"e\", \"ph\": \"s\", \"ts\": \"1719800000000005.000\", \"pid\": 1, \"tid\": 99, "
		"\"id\": \"9\", \"cat\": \"async_mindspore\"}, "
		"{\"name\": \"mindspore_to_self\", \"bp\": \"e\", \"ph\": \"f\", \"ts\": \"1719800000000010.000\", \"pid\": 1, \"tid\": 77, "
		"\"id\": \"9\", \"cat\": \"async_mindspore\"}]");
	mp_free(text);
	mp_store_free(store);
}

static void test_empty(void **state)
{
	struct mp_store *store = NULL;
	char *text;

	(void)state;
	assert_int_equal(mp_store_new(NULL, &store, NULL), MINDPROF_OK);
	text = text_of_file(write_compatible(store));
	assert_string_equal(text, "[]");
	mp_free(text);
	mp_store_free(store);
}

/* ---- golden ---- */

/* Ours against the original's, by phase, name and thread; late: how much its times are behind ours at most.
 */
static size_t compare(const char *ours, const char *golden, int64_t pid, int64_t late)
{
	struct flat_events actual = flat_load(ours, pid), expected = flat_load(golden, pid);
	size_t n = actual.len;

	flat_sort(&actual);
	flat_sort(&expected);
	assert_int_equal(actual.len, expected.len);
	for (size_t i = 0; i < n; i++) {
		const struct flat_event *a = &actual.at[i], *e = &expected.at[i];

		assert_int_equal(a->phase, e->phase);
		assert_string_equal(a->name, e->name);
		assert_int_equal(a->tid, e->tid);
		assert_string_equal(a->args, e->args);
		if (late >= 0) {
			assert_int_equal(a->dur_ns, e->dur_ns);
			assert_in_range(e->ts_ns - a->ts_ns, 0, late);
		}
	}
	flat_release(&actual);
	flat_release(&expected);
	return n;
}

/* The CPU layer; the original's starts are up to 38 ns late (test_rd_cpu.c tells why). */
static void test_cpu(void **state)
{
	static const struct {
		const char *name, *run;
	} cases[] = {
		{"cpu-graph-schedule", "host0_7688_20261130205131399_ascend_ms"},
		{"cpu-pynative-schedule", "host0_7768_20261130205137814_ascend_ms"},
	};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(cases); i++) {
		char raw[512], golden[512];
		struct mp_store *store;
		const char *ours;

		snprintf(raw, sizeof(raw), CPU "/%s/raw/%s", cases[i].name, cases[i].run);
		snprintf(golden, sizeof(golden), CPU "/%s/expected/%s/ASCEND_PROFILER_OUTPUT/trace_view.json",
			 cases[i].name, cases[i].run);
		store = read_with(&mp_reader_cpu_ops, raw, NULL, NULL, NULL);
		assert_int_equal(notes_of(store, "truncated", NULL), 0);
		ours = write_compatible(store);
		assert_true(compare(ours, golden, 2, 38) > 10);
		unlink(ours);
		mp_store_free(store);
	}
}

/* The framework's layer; its clock is calibrated by us, so times differ, but not what happened where. */
static void test_framework(void **state)
{
	struct mp_store *store =
		read_with(&mp_reader_op_range, OP_RANGE "/native-pynative/raw/" PYNATIVE, NULL, NULL, NULL);
	static const char golden[] =
		OP_RANGE "/native-pynative/expected/" PYNATIVE "/ASCEND_PROFILER_OUTPUT/trace_view.json";
	const char *ours = write_compatible(store);
	struct flat_events actual, expected;

	(void)state;
	actual = flat_load(ours, 1);
	expected = flat_load(golden, 1);
	assert_int_equal(compare(ours, golden, 1, -1), actual.len);
	flat_keep(&actual, 's');
	flat_keep(&expected, 's');
	assert_true(actual.len > 0);
	for (size_t i = 0; i < actual.len; i++) {
		bool found = false;

		for (size_t k = 0; k < expected.len && !found; k++)
			found = expected.at[k].flow_id == actual.at[i].flow_id &&
				expected.at[k].tid == actual.at[i].tid;
		assert_true(found);
	}
	flat_release(&actual);
	flat_release(&expected);
	unlink(ours);
	mp_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_cpu),
		cmocka_unit_test(test_framework),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
