/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_view.json from inputs made by hand: its layers, flows and scopes, and every correction that shows in
 * it, on and off. Expected values follow sections 5.2, 6 and 7 of analysis-current.md; how each comes about
 * stands beside it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cur_timeline.h"
#include "torture.h"

#define PROCESS(pid, name, sort)                                                \
	"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": " pid             \
	", \"tid\": 0, \"args\": {\"name\": \"" name                            \
	"\"}}, {\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": " pid \
	", \"tid\": 0, \"args\": {\"sort_index\": " sort "}}"
#define LABELS(pid)                                                     \
	", {\"ph\": \"M\", \"name\": \"process_labels\", \"pid\": " pid \
	", \"tid\": 0, \"args\": {\"labels\": \"CPU\"}}"
#define THREAD(pid, tid)                                                                               \
	", {\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": " pid ", \"tid\": " tid                 \
	", \"args\": {\"name\": \"Thread " tid "\"}}, {\"ph\": \"M\", \"name\": \"thread_sort_index\"" \
	", \"pid\": " pid ", \"tid\": " tid ", \"args\": {\"sort_index\": " tid "}}"
#define RANGE(pid, tid, name, ts, dur, cat, args)                                                     \
	", {\"ph\": \"X\", \"name\": \"" name "\", \"pid\": " pid ", \"tid\": " tid ", \"ts\": \"" ts \
	"\", \"dur\": \"" dur "\", \"cat\": \"" cat "\", \"args\": {" args "}}"
#define INSTANT(name, ts, tid)                                                                    \
	", {\"name\": \"" name "\", \"ph\": \"i\", \"ts\": \"" ts "\", \"pid\": 1, \"tid\": " tid \
	", \"args\": {}}"
#define FLOW(name, ph, ts, pid, tid, id, cat)                                                             \
	", {\"name\": \"" name "\", \"bp\": \"e\", \"ph\": \"" ph "\", \"ts\": \"" ts "\", \"pid\": " pid \
	", \"tid\": " tid ", \"id\": \"" id "\", \"cat\": \"" cat "\"}"
#define SELF(ph, ts, tid, id) FLOW("mindspore_to_self", ph, ts, "1", tid, id, "async_mindspore")

static void expect_trace(uint64_t corrections, const char *expected)
{
	char *trace = trace_of(corrections);

	assert_string_equal(trace, expected);
	free(trace);
}

/* ---- the layer MindSpore ---- */

/*
 * Threads in ascending order with their ranges in file order, instants last. Ticks are ns: 1500 is 1.500 us.
 * A record that began before recording (start 0) is left out. Module 3 is PynativeFramework, event 34 Wait.
 */
static void test_host_layer(void **state)
{
	(void)state;
	add_range((struct range){.tid = 78, .start = 1500, .end = 4000, .module = 3, .event = 34});
	add_range((struct range){.tid = 77, .start = 0, .end = 4000});
	add_range((struct range){.tid = 78, .start = 2000, .end = 2000, .module = 3, .event = 34});
	add_range((struct range){
		.tid = 77, .start = 3000, .end = 3001, .is_stack = true, .name = "f.py(1): \"g\""});
	put_ranges();
	expect_trace(ALL,
		     "[" PROCESS("1", "MindSpore", "1") LABELS("1") THREAD("1", "77") THREAD("1", "78")
			     RANGE("1", "77", "f.py(1): \\\"g\\\"", "3.000", "0.001", "python_function", "")
				     RANGE("1", "78", "PynativeFramework::Wait::op", "1.500", "2.500", "", "")
					     INSTANT("PynativeFramework::Wait::op", "2.000", "78") "]");
}

/*
 * Flow 9: a mark begins it, a range ends it. The range ends before it begins: 5000 to 4000 ns. The original
 * draws it with dur -1.000; corrected it is an instant. Its flow is there in both.
 */
static void test_negative(void **state)
{
	(void)state;
	add_range((struct range){
		.tid = 1, .start = 1000, .end = 1200, .flow = 9, .name = "flow", .full_name = "m"});
	add_range((struct range){.tid = 2, .start = 5000, .end = 4000, .flow = 9});
	put_ranges();
	expect_trace(BUT(CUR_FIX_NEGATIVE),
		     "[" PROCESS("1", "MindSpore", "1") LABELS("1") THREAD("1", "2")
			     RANGE("1", "2", "Default::Default::op", "5.000", "-1.000", "", "")
				     SELF("s", "1.000", "1", "9") SELF("f", "5.000", "2", "9") "]");
	expect_trace(ALL, "[" PROCESS("1", "MindSpore", "1") LABELS("1") THREAD("1", "2")
				  INSTANT("Default::Default::op", "5.000", "2") SELF("s", "1.000", "1", "9")
					  SELF("f", "5.000", "2", "9") "]");
	assert_int_equal(rank_notes(&rank, "negative-duration", NULL), 1);
}

/* The original draws a mark that begins and ends at once, and range 2 gets no arrow. */
static void test_instant_flow(void **state)
{
	(void)state;
	add_range((struct range){
		.tid = 1, .start = 1000, .end = 1000, .flow = 9, .name = "flow", .full_name = "m"});
	add_range((struct range){.tid = 2, .start = 2000, .end = 4000, .flow = 9});
	put_ranges();
	expect_trace(BUT(CUR_FIX_INSTANT_FLOW),
		     "[" PROCESS("1", "MindSpore", "1") LABELS("1") THREAD("1", "1") THREAD("1", "2")
			     RANGE("1", "2", "Default::Default::op", "2.000", "2.000", "", "")
				     INSTANT("m", "1.000", "1") "]");
	expect_trace(ALL, "[" PROCESS("1", "MindSpore", "1") LABELS("1") THREAD("1", "2")
				  RANGE("1", "2", "Default::Default::op", "2.000", "2.000", "", "")
					  SELF("s", "1.000", "1", "9") SELF("f", "2.000", "2", "9") "]");
}

/* An instant that begins and ends at once ends no flow, in the original as here. */
static void test_instant_ends_no_flow(void **state)
{
	(void)state;
	add_range((struct range){
		.tid = 1, .start = 1000, .end = 1100, .flow = 9, .name = "flow", .full_name = "m"});
	add_range((struct range){.tid = 2, .start = 2000, .end = 2000, .flow = 9});
	put_ranges();
	expect_in_trace(ALL, "mindspore_to_self", 0);
	expect_in_trace(0, "mindspore_to_self", 0);
}

/* Two begins, or two ends, of one id are no flow. */
static void test_flow_twice(void **state)
{
	uint64_t i;

	(void)state;
	for (i = 0; i < 2; i++)
		add_range((struct range){.tid = 1,
					 .start = 1000 + i,
					 .end = 1100,
					 .flow = 9,
					 .name = "flow",
					 .full_name = "m"});
	add_range((struct range){.tid = 2, .start = 2000, .end = 2100, .flow = 9});
	put_ranges();
	expect_in_trace(ALL, "mindspore_to_self", 0);
}

/* The last record lacks the 6 bytes of its last field: fixed part and name are whole. */
static void test_cut_record(void **state)
{
	(void)state;
	add_range((struct range){.tid = 1, .start = 1000, .end = 2000, .full_name = "first"});
	add_range((struct range){.tid = 1, .start = 3000, .end = 4000, .full_name = "last"});
	ranges.len -= 6;
	put_ranges();
	expect_trace(BUT(CUR_FIX_CUT_RECORD),
		     "[" PROCESS("1", "MindSpore", "1") LABELS("1") THREAD("1", "1")
			     RANGE("1", "1", "Default::Default::first", "1.000", "1.000", "", "") "]");
	assert_int_equal(rank_notes(&rank, "truncated", NULL), 1);
	expect_trace(ALL,
		     "[" PROCESS("1", "MindSpore", "1") LABELS("1") THREAD("1", "1")
			     RANGE("1", "1", "Default::Default::first", "1.000", "1.000", "", "")
				     RANGE("1", "1", "Default::Default::last", "3.000", "1.000", "", "") "]");
	assert_int_equal(rank_notes(&rank, "truncated", NULL), 1);
	assert_int_equal(rank_notes(&rank, "short-field", NULL), 0); /* the same damage */
}

/* ---- the layer CPU OP ---- */

/*
 * Section 6: the original shows ...123456 ns as ...123.492. 1719800000000123456 * 2.0816681711721685e-17 is
 * 35.80 ns, which makes ...123491.8, rounded ...123.492. The duration of 0.0125 ms is 12.500 us in both.
 */
static void test_cpu_op_start(void **state)
{
	(void)state;
	put_text(CPU_OPS, "Add;HostCpuOps;1719800000000123456,0.0125,3 \n");
	expect_trace(BUT(CUR_FIX_CPU_OP_START), "[" PROCESS("2", "CPU OP", "2") LABELS("2") THREAD("2", "3")
							RANGE("2", "3", "Add", "1719800000000123.492",
							      "12.500", "", "\"type\": \"HostCpuOps\"") "]");
	expect_trace(ALL, "[" PROCESS("2", "CPU OP", "2") LABELS("2") THREAD("2", "3")
				  RANGE("2", "3", "Add", "1719800000000123.456", "12.500", "",
					"\"type\": \"HostCpuOps\"") "]");
}

/* ---- the clock ---- */

static const char cpu_info[] = "{\"profiler_parameters\": {\"activities\": [\"CPU\"]}}";

/*
 * On a CPU nothing tells the frequency: the original takes 100 MHz from 0, so tick 300000 is 3000.000 us. The
 * launches and the executions of one operator give 2 ticks for a ns from tick 100000 = 1000000 ns: tick
 * 300000 is 1000000 + 200000 / 2 = 1100000 ns.
 */
static void test_clock(void **state)
{
	uint64_t i;

	(void)state;
	put_text("profiler_info_0.json", cpu_info);
	for (i = 0; i < 5; i++)
		add_range((struct range){.tid = 1,
					 .start = 100000 + i * 20000,
					 .end = 100500 + i * 20000,
					 .module = 4,
					 .event = 4,
					 .full_name = "Add"});
	add_range((struct range){.tid = 1, .start = 300000, .end = 300400});
	put_ranges();
	put_text(CPU_OPS, "Add;HostCpuOps;1000000,0.001,3 1010000,0.001,3 1020000,0.001,3 1030000,0.001,3 "
			  "1040000,0.001,3 \n");
	/* Where PROF_* is, its clock is used. */
	put_text(HOST "/host_start.log", "");
	expect_in_trace(BUT(CUR_FIX_CLOCK),
			RANGE("1", "1", "Default::Default::op", "3000.000", "4.000", "", ""), 1);
	assert_int_equal(mp_store_n_notes(rank.store), 0);
	expect_in_trace(ALL, RANGE("1", "1", "Default::Default::op", "1100.000", "0.200", "", ""), 1);
}

/* The clock of the newest PROF_ directory, not of the first: 100 MHz makes of tick 2000 1000 * 10 + 1000 ns.
 */
static void test_clock_of_newest(void **state)
{
	static const char newer[] = "PROF_000002_20250706072000000_ABCDEFGHIJKLMNOP";
	char name[128];

	(void)state;
	make_folder(newer);
	snprintf(name, sizeof(name), "%s/host", newer);
	make_folder(name);
	snprintf(name, sizeof(name), "%s/host/host_start.log", newer);
	put_text(name, clock_log);
	snprintf(name, sizeof(name), "%s/host/info.json", newer);
	put_text(name, "{\"CPU\": [{\"Frequency\": 100}]}");
	snprintf(name, sizeof(name), "%s/host/start_info", newer);
	put_text(name, clock_start);
	add_range((struct range){.tid = 1, .start = 2000, .end = 2001});
	put_ranges();
	expect_in_trace(BUT(CUR_FIX_NEWEST_FILE), "\"ts\": \"2.000\", \"dur\": \"0.001\"", 1);
	expect_in_trace(ALL, "\"ts\": \"11.000\", \"dur\": \"0.010\"", 1);
}

/* ---- device events, flows ---- */

#define META(pid, name)                                                                           \
	"{\"name\": \"process_name\", \"pid\": " pid ", \"tid\": 0, \"args\": {\"name\": \"" name \
	"\"}, \"ph\": \"M\"}"
#define DEVICE(pid, tid, name, ts, dur, args)                                                        \
	"{\"name\": \"" name "\", \"pid\": " pid ", \"tid\": " tid ", \"ts\": " ts ", \"dur\": " dur \
	", \"ph\": \"X\", \"args\": {" args "}}"
#define H2D(ph, pid, tid, ts)                         \
	"{\"name\": \"HostToDevice1\", \"ph\": \"" ph \
	"\", \"cat\": \"HostToDevice\", \"id\": \"1\", \"pid\": " pid ", \"tid\": " tid ", \"ts\": " ts "}"
#define LAYERS META("30", "CANN") ", " META("40", "Ascend Hardware")
#define OP "\\\"Kernel::KernelLaunch::Default/fc/MatMul-op0\\\""
#define LAUNCH "Kernel::KernelLaunch::Default/fc/MatMul-op0"

/* A launch of 10.000 to 20.000 us on thread 77; the task that CANN starts at 12.000 us runs at 20.100 us. */
static void put_linked(const char *flow_ts, const char *kernel_ts)
{
	char text[2048];

	snprintf(text, sizeof(text),
		 "[" LAYERS
		 ", " DEVICE("40", "2", "MatMul_1", "%s", "5.25", "\"Task Type\": \"AI_CORE\"") ", " H2D(
			 "s", "30", "77", "%s") ", " H2D("f", "40", "2", "%s") "]",
		 kernel_ts, flow_ts, kernel_ts);
	rank_put_text(&rank, MSPROF, text);
	add_range((struct range){.tid = 77,
				 .start = 10000,
				 .end = 20000,
				 .module = 4,
				 .event = 4,
				 .full_name = "Default/fc/MatMul-op0"});
	put_ranges();
	put_text(CPU_OPS, "");
}

/* The kernel gets the name of its launch, an arrow from it, and its scopes Default and fc. */
static void test_kernel(void **state)
{
	(void)state;
	put_linked("\"12.000\"", "\"20.100\"");
	expect_trace(
		ALL,
		"[" PROCESS("1", "MindSpore", "1") LABELS("1") THREAD("1", "77")
			RANGE("1", "77", LAUNCH, "10.000", "10.000", "", "") ", " LAYERS ", " DEVICE(
				"40", "2", "MatMul_1", "\"20.100\"", "5.25",
				"\"Task Type\": \"AI_CORE\", \"mindspore_op\": \"" LAUNCH
				"\"") ", " H2D("s", "30", "77", "\"12.000\"") ", " H2D("f", "40", "2",
										       "\"20.100\"")
				FLOW("mindspore_to_npu", "s", "10.000", "1", "77", "20.100",
				     "async_npu") FLOW("mindspore_to_npu", "f", "20.100", "40", "2", "20.100",
						       "async_npu") ", " PROCESS("3", "Scope Layer", "12")
					THREAD("3", "0") THREAD("3", "1")
						RANGE("3", "0", "Default", "20.100", "5.250", "", "")
							RANGE("3", "1", "fc", "20.100", "5.250", "", "") "]");
	assert_int_equal(mp_store_n_notes(rank.store), 0);
}

/*
 * Numbers as times. Of 1719800000000020.100 the nearest double is ...020.000, which the original shows
 * without zeros behind it; as a text or corrected it is exact.
 */
static void test_numeric_ts(void **state)
{
	(void)state;
	put_linked("12.000", "1719800000000020.100");
	expect_in_trace(
		BUT(CUR_FIX_NUMERIC_TS),
		FLOW("mindspore_to_npu", "f", "1719800000000020", "40", "2", "1719800000000020", "async_npu"),
		1);
	expect_in_trace(BUT(CUR_FIX_NUMERIC_TS),
			"\"fc\", \"pid\": 3, \"tid\": 1, \"ts\": \"1719800000000020\"", 1);
	expect_in_trace(ALL,
			FLOW("mindspore_to_npu", "f", "1719800000000020.100", "40", "2",
			     "1719800000000020.100", "async_npu"),
			1);
	expect_in_trace(ALL, "\"fc\", \"pid\": 3, \"tid\": 1, \"ts\": \"1719800000000020.100\"", 1);
}

/* Text as it is: the bytes of the events, whatever their time is. */
static void test_process_twice(void **state)
{
	(void)state;
	rank_put_text(&rank, MSPROF,
		      "[" META("30", "CANN") ", " META("31", "CANN") ", " DEVICE("40", "2", "k", "\"1\"", "2",
										 "") "]");
	expect_trace(BUT(CUR_FIX_PROCESS_TWICE), "");
	expect_trace(ALL, "[" META("30", "CANN") ", " META("31", "CANN") ", " DEVICE("40", "2", "k", "\"1\"",
										     "2", "") "]");
}

/* The original skips a file that is no JSON as a whole. */
static void test_cut_export(void **state)
{
	(void)state;
	rank_put_text(&rank, MSPROF,
		      "[" META("30", "CANN") ", " DEVICE("40", "2", "k", "\"1\"", "2", "") ", {\"na");
	expect_trace(BUT(CUR_FIX_LOST_OUTPUTS), "");
	expect_trace(ALL, "[" META("30", "CANN") ", " DEVICE("40", "2", "k", "\"1\"", "2", "") "]");
	assert_int_equal(rank_notes(&rank, "bad-msprof", NULL), 1);
}

/* Cut inside its first event, the only file gives nothing: no trace, no lone '['. */
static void test_cut_first_event(void **state)
{
	static const char event[] = "[" DEVICE("40", "2", "k", "\"1\"", "2", "");
	size_t cut;

	(void)state;
	for (cut = 0; cut < sizeof(event) - 1; cut++) {
		rank_put(&rank, MSPROF, event, cut);
		expect_trace(ALL, "");
		assert_false(rank.run.device.present);
		assert_int_equal(rank_notes(&rank, "bad-msprof", NULL), 1);
	}
	/* With something on the host there is a trace of that. */
	add_range((struct range){.tid = 1, .start = 1000, .end = 2000});
	put_ranges();
	expect_trace(ALL, "[" PROCESS("1", "MindSpore", "1") LABELS("1") THREAD("1", "1")
				  RANGE("1", "1", "Default::Default::op", "1.000", "1.000", "", "") "]");
}

/* ---- scopes ---- */

static void put_cpu_ops(const char *const *names, size_t n)
{
	struct mp_buf text;
	size_t i;

	/* One after the other, 10 ns each, a gap of 90 ns. */
	mp_buf_init(&text, SIZE_MAX / 8);
	for (i = 0; i < n; i++)
		mp_buf_printf(&text, "%s;HostCpuOps;%zu,0.00001,1 \n", names[i], 1000 + 100 * i);
	rank_put_at(&rank, CPU_OPS, text.data, text.len);
	mp_buf_release(&text);
}

#define SCOPE(depth, name, ts, dur) RANGE("3", depth, name, ts, dur, "", "")

/*
 * Default/b, Default, Default/b, at 1.000, 1.100 and 1.200 us, 0.010 us each: Default is one bar over all.
 * The original also draws one bar b from 1.000 to 1.210 us, over an operator that is not in b. Corrected b
 * ends when Default/o comes, and begins anew.
 */
static void test_scope_foreign(void **state)
{
	static const char *const names[] = {"Default/b/o", "Default/o", "Default/b/o"};

	(void)state;
	put_cpu_ops(names, MP_COUNT(names));
	expect_in_trace(BUT(CUR_FIX_SCOPE_FOREIGN),
			THREAD("3", "1") SCOPE("0", "Default", "1.000", "0.210")
				SCOPE("1", "b", "1.000", "0.210") "]",
			1);
	expect_in_trace(ALL,
			THREAD("3", "1") SCOPE("0", "Default", "1.000", "0.210")
				SCOPE("1", "b", "1.000", "0.010") SCOPE("1", "b", "1.200", "0.010") "]",
			1);
}

/* The first part changes: what is below begins anew although it has the same name. No correction. */
static void test_scope_change(void **state)
{
	static const char *const names[] = {"Default/b/o", "Gradients/b/o", "recompute_Default/o",
					    "Other/b/o"};

	(void)state;
	put_cpu_ops(names, MP_COUNT(names));
	expect_in_trace(ALL,
			SCOPE("0", "Default", "1.000", "0.010") SCOPE("0", "Gradients", "1.100", "0.010")
				SCOPE("0", "recompute_Default", "1.200", "0.010")
					SCOPE("1", "b", "1.000", "0.010")
						SCOPE("1", "b", "1.100", "0.010") "]",
			1);
}

/* An operator that begins before the bar ends is left out: 1050 < 1100. */
static void test_scope_parallel(void **state)
{
	(void)state;
	put_text(CPU_OPS, "Default/o;HostCpuOps;1000,0.0001,1 1050,0.0009,2 \n");
	expect_in_trace(ALL, SCOPE("0", "Default", "1.000", "0.100") "]", 1);
}

/* Two kernels of scope Default, the second begins `ts` and lasts `dur`, numbers of JSON. */
static void put_scoped(const char *ts, const char *dur, const char *second_ts, const char *second_dur)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "[" META("40", "Ascend Hardware") ", " DEVICE("40", "2", "Default/a", "%s", "%s",
							       "") ", " DEVICE("40", "2", "Default/b", "%s",
									       "%s", "") "]",
		 ts, dur, second_ts, second_dur);
	rank_put_text(&rank, MSPROF, text);
}

/*
 * Durations as the original computes them, with 28 digits, from the double next to the number (checked with
 * Python's decimal):
 * - 0.1 is 0.1000000000000000055511151231257827021181583404541015625 as it is;
 * - 1000000.000 + that is 1000000.100000000000000005551 (28 digits), and from 100.000 to there
 * 999900.100000000000000005551;
 * - 9999999.999 + 0.1: the sum has 8 digits before the point, so 20 behind: 10000000.09900000000000000555,
 * from 0.000;
 * - 5.25 is exact: 20.100 + 5.25 - 10.000 = 15.350, with the decimals of the begin; alone it is 5.25, and 5
 * is 5.
 */
static void test_scope_decimals(void **state)
{
	static const struct {
		const char *ts, *dur, *second_ts, *second_dur, *original, *ours;
	} cases[] = {
		{"\"1.000\"", "0.1", "\"1.050\"", "1",
		 "0.1000000000000000055511151231257827021181583404541015625", "0.100"},
		{"\"100.000\"", "1", "\"1000000.000\"", "0.1", "999900.100000000000000005551", "999900.100"},
		{"\"0.000\"", "1", "\"9999999.999\"", "0.1", "10000000.09900000000000000555", "10000000.099"},
		{"\"10.000\"", "1", "\"20.100\"", "5.25", "15.350", "15.350"},
		{"\"10.000\"", "5.25", "\"11.000\"", "1", "5.25", "5.250"},
		{"\"10.000\"", "5", "\"11.000\"", "1", "5", "5.000"},
		{"\"10.000\"", "0", "\"9.000\"", "0.0", "1.000", "1.000"},
		/* A text keeps its digits. */
		{"\"10.000\"", "\"5.250\"", "\"11.000\"", "1", "5.250", "5.250"},
	};
	char expected[256];
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(cases); i++) {
		put_scoped(cases[i].ts, cases[i].dur, cases[i].second_ts, cases[i].second_dur);
		snprintf(expected, sizeof(expected), "\"dur\": \"%s\", \"cat\": \"\", \"args\": {}}]",
			 cases[i].original);
		expect_in_trace(BUT(CUR_FIX_SCOPE_DECIMALS), expected, 1);
		snprintf(expected, sizeof(expected), "\"dur\": \"%s\", \"cat\": \"\", \"args\": {}}]",
			 cases[i].ours);
		expect_in_trace(ALL, expected, 1);
	}
	/* 1.1 + 2.2 is 3.300000000000000177635683940 in the original: an event at 3.300 is still inside.
	 */
	put_scoped("\"1.100\"", "2.2", "\"3.300\"", "1");
	expect_in_trace(BUT(CUR_FIX_SCOPE_DECIMALS),
			"\"dur\": \"2.20000000000000017763568394002504646778106689453125\"", 1);
	expect_in_trace(ALL, SCOPE("0", "Default", "1.100", "3.200"), 1);
}

/* 1000 parts in a name, alternating with another: as many bars for each execution without a bound. */
static void test_scope_depth(void **state)
{
	struct mp_buf name, other;
	const char *names[40];
	char *trace;
	size_t i;

	(void)state;
	mp_buf_init(&name, SIZE_MAX / 8);
	mp_buf_init(&other, SIZE_MAX / 8);
	for (i = 0; i < 1000; i++) {
		mp_buf_add_str(&name, i ? "/a" : "Default");
		mp_buf_add_str(&other, i ? "/a" : "Gradients");
	}
	for (i = 0; i < MP_COUNT(names); i++)
		names[i] = i % 2 ? other.data : name.data;
	put_cpu_ops(names, MP_COUNT(names));
	trace = trace_of(ALL);
	assert_int_equal(count_in(trace, "\"pid\": 3, \"tid\": 127, \"ts\""), MP_COUNT(names));
	assert_int_equal(count_in(trace, "\"pid\": 3, \"tid\": 128, "), 0);
	assert_int_equal(rank_notes(&rank, "deep-scope", NULL), 1);
	free(trace);
	mp_buf_release(&name);
	mp_buf_release(&other);
}

/* Of exactly one note with the code the text holds a part. */
static void expect_note(const char *code, const char *part)
{
	size_t i, n = 0;

	for (i = 0; i < mp_store_n_notes(rank.store); i++) {
		struct mp_note note = mp_store_get_note(rank.store, i);

		if (strcmp(mp_store_text(rank.store, note.code).text, code) != 0)
			continue;
		n++;
		assert_non_null(strstr(mp_store_text(rank.store, note.text).text, part));
	}
	assert_int_equal(n, 1);
}

/* ---- absurd times ---- */

/* 9223372036854775807 ns + 192 ns (of the fault) stops at the end of the time axis. */
static void test_late_cpu_op(void **state)
{
	(void)state;
	put_text(CPU_OPS, "Default/o;HostCpuOps;9223372036854775806,0,1 9223372036854775806,0.000001,1 \n");
	expect_in_trace(0, "\"ts\": \"9223372036854775.807\", \"dur\": \"0.000\"", 1);
	expect_in_trace(0, "\"ts\": \"9223372036854775.807\", \"dur\": \"0.001\"",
			2); /* and the scope of both */
	expect_in_trace(ALL, "\"ts\": \"9223372036854775.806\", \"dur\": \"0.000\"", 1);
}

/* Kernels at both ends of the time axis, with durations that lead beyond it, in one scope. */
static void test_absurd_kernels(void **state)
{
	static const char *const times[] = {
		"-9223372036854775.808", "-1.000", "0.000", "9223372036854775.807",
		"9223372036854775.800",  "1.000"};
	static const char *const durs[] = {"9223372036854775.807", "-9223372036854775.808", "0", "-5"};
	struct mp_buf text;
	uint64_t corrections;
	size_t i, k;

	(void)state;
	mp_buf_init(&text, SIZE_MAX / 8);
	mp_buf_add_str(&text, "[" LAYERS);
	for (i = 0; i < MP_COUNT(times); i++)
		for (k = 0; k < MP_COUNT(durs); k++)
			mp_buf_printf(&text, ", " DEVICE("40", "2", "Default/a/b%zu", "\"%s\"", "%s", ""), i,
				      times[i], durs[k]);
	mp_buf_add_char(&text, ']');
	rank_put(&rank, MSPROF, text.data, text.len);
	for (corrections = 0; corrections < 2; corrections++) {
		char *trace = trace_of(corrections ? ALL : 0);

		assert_int_equal(count_in(trace, "\"pid\": 40, \"tid\": 2"),
				 MP_COUNT(times) * MP_COUNT(durs));
		free(trace);
	}
	mp_buf_release(&text);
}

/* Ticks at and beyond the ends: those whose time does not fit are left out and counted. */
static void test_absurd_ticks(void **state)
{
	static const uint64_t ticks[] = {1, 999, UINT64_C(1) << 62, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
	size_t i, k;

	(void)state;
	for (i = 0; i < MP_COUNT(ticks); i++)
		for (k = 0; k < MP_COUNT(ticks); k++)
			add_range((struct range){.tid = ticks[i],
						 .start = ticks[i],
						 .end = ticks[k],
						 .full_name = "ProfilerStep#KernelLaunch",
						 .flow = ticks[k]});
	put_ranges();
	free(trace_of(0));
	free(trace_of(ALL));
	/* 36 pairs, 9 of them with small ticks on both sides: 2^62 ns fit, the other three do not. */
	expect_note("time-out-of-range", "(27 times)");
	/* 999 to 1, 2^62 to 1 and to 999. */
	expect_note("negative-duration", "(3 times)");
}

/* ---- steps ---- */

static void expect_step(int64_t t_ns, const char *id)
{
	const struct cur_step *step = cur_step_at(&rank.run.steps, t_ns);

	if ((step ? strcmp(mp_store_text(rank.store, step->id).text, id) : *id) != 0)
		fail_msg("at %lld step '%s' and not '%s'", (long long)t_ns,
			 step ? mp_store_text(rank.store, step->id).text : "", id);
}

static void load_steps(void)
{
	mp_err err = {0};

	put_ranges();
	rank_open(&rank, ALL);
	rank_good(cur_load_steps(&rank.run, &err), &err);
}

/* Both ends belong to a step; on a border shared by two the first counts; order in the file does not matter.
 */
static void test_steps(void **state)
{
	(void)state;
	add_step("2", 3000, 4000);
	add_step("1", 1000, 3000);
	add_step("3", 6000, 7000);
	load_steps();
	expect_step(999, "");
	expect_step(1000, "1");
	expect_step(3000, "1");
	expect_step(3001, "2");
	expect_step(4000, "2");
	expect_step(4001, "");
	expect_step(5999, "");
	expect_step(6000, "3");
	expect_step(7001, "");
}

/*
 * By begin: 1 [1000,9000], 2 [2000,3000], 3 [2500,9500]; a time belongs to the first that holds it. 4 comes
 * twice: it stands where the first began, before 1, with the times of the second.
 */
static void test_steps_overlap(void **state)
{
	(void)state;
	add_step("1", 1000, 9000);
	add_step("2", 2000, 3000);
	add_step("3", 2500, 9500);
	load_steps();
	expect_step(2600, "1");
	expect_step(9000, "1");
	expect_step(9001, "3");
	expect_step(9501, "");
	add_step("4", 500, 600);
	add_step("1", 1000, 9000);
	add_step("4", 8000, 12000);
	load_steps();
	expect_step(550, "");
	expect_step(7999, "1");
	expect_step(8500, "4");
	expect_step(12000, "4");
}

/* Against the plain search through all steps, with many that overlap and some that end before they begin. */
static void test_steps_many(void **state)
{
	uint64_t random = 88172645463325252u;
	size_t i, k;

	(void)state;
	for (i = 0; i < 300; i++) {
		char id[16];

		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		snprintf(id, sizeof(id), "%d", (int)(random >> 20) % 250);
		add_step(id, 1000 + random % 5000, 1000 + (random >> 32) % 5000);
	}
	load_steps();
	for (k = 900; k < 6100; k++) {
		const struct cur_step *expected = NULL;

		for (i = 0; i < rank.run.steps.at.len && !expected; i++)
			if (rank.run.steps.at.at[i].begin_ns <= (int64_t)k &&
			    rank.run.steps.at.at[i].end_ns >= (int64_t)k)
				expected = &rank.run.steps.at.at[i];
		assert_ptr_equal(cur_step_at(&rank.run.steps, (int64_t)k), expected);
	}
}

/* ---- layers of step_trace_time.csv ---- */

/*
 * Step 3 is [1.000, 9.000] us. Computing 1.000 us at 2.000; the layer Communication has a send of 0.500 us
 * at 3.000 and an allReduce of 2.000 us at 4.000: from the first begin to the end of the last 3.000 us, of
 * which 0.500 us are the send: Stage 2.500, Bubble 0.500. The original knows the layer as HCCL only: 0 and 0.
 */
static void test_communication_layer(void **state)
{
	static const char text[] =
		"[" META("9", "Overlap Analysis") ", " META("8", "Communication") ", {\"name\": \"thread_name\", \"pid\": 9, \"tid\": 0, \"args\": {\"name\": \"Computing\"}, \"ph\": \"M\"}, " DEVICE(
			"9", "0", "Computing", "\"2.000\"", "1",
			"") ", " DEVICE("8", "0", "hcom_send__1_0_1", "\"3.000\"", "0.5",
					"") ", " DEVICE("8", "0", "hcom_allReduce__1_1_1", "\"4.000\"", "2",
							"") "]";
	static const char header[] =
		"Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
		"Communication(Not Overlapped and Exclude Receive),Preparing\r\n";
	char expected[512];

	(void)state;
	rank_put_text(&rank, MSPROF, text);
	add_step("3", 1000, 9000);
	put_ranges();
	/* Preparing: from 1.000 to the computing at 2.000. Nothing is in Communication(Not Overlapped). */
	rank_open(&rank, BUT(CUR_FIX_COMMUNICATION_LAYER));
	snprintf(expected, sizeof(expected), "%s3,1.000,0.000,0.000,0.000,0.000,0.000,0.000,0.000,1.000\r\n",
		 header);
	rank_expect(&rank, &cur_step_trace_time, expected);
	rank_open(&rank, ALL);
	snprintf(expected, sizeof(expected), "%s3,1.000,0.000,0.000,0.000,0.000,2.500,0.500,-0.500,1.000\r\n",
		 header);
	rank_expect(&rank, &cur_step_trace_time, expected);
	/* Without operators the original writes 0 as an integer. */
	rank_open(&rank, ALL & ~(UINT64_C(1) << CUR_FIX_COMMUNICATION_LAYER) &
				 ~(UINT64_C(1) << CUR_FIX_STEP_DECIMALS));
	snprintf(expected, sizeof(expected), "%s3,1.000,0.000,0.000,0.000,0.000,0,0,0.000,1.000\r\n", header);
	rank_expect(&rank, &cur_step_trace_time, expected);
}

/* ---- memory ---- */

static mp_status write_once(void *user)
{
	int fd = memfd_create("output", MFD_CLOEXEC);
	struct mp_out out;
	mp_status status = mp_out_open_fd(fd, "output", &out, NULL);

	(void)user;
	if (!status) {
		status = cur_output_write(&rank.run, &cur_trace_view, &out, NULL);
		if (!status)
			status = mp_out_commit(&out, NULL);
		else
			mp_out_abort(&out);
	}
	close(fd);
	return status;
}

/*
 * Every allocation fails once, in a fresh run each time. No failure may look like a file that is not there:
 * then the trace would be written without it.
 */
static void test_no_memory(void **state)
{
	uint64_t n, tried;

	(void)state;
	put_linked("\"12.000\"", "\"20.100\"");
	put_text(CPU_OPS, "Default/b/o;HostCpuOps;1000,0.00001,1 \n");
	rank_put_text(&rank, "op_summary_1.csv", "Op Name\n");
	for (n = 0;; n++) {
		mp_status status;

		rank_open(&rank, n % 2 ? ALL : 0);
		mp_mem_fail_after(n / 2);
		status = write_once(NULL);
		tried = mp_mem_fail_after(UINT64_MAX);
		if (tried <= n / 2) {
			assert_int_equal(status, MINDPROF_OK);
			break;
		}
		if (status != MINDPROF_E_NOMEM)
			fail_msg("status %d when allocation %llu fails, corrections %s", status,
				 (unsigned long long)n / 2, n % 2 ? "on" : "off");
	}
	assert_true(n > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_host_layer),      TEST(test_negative),
		TEST(test_instant_flow),    TEST(test_instant_ends_no_flow),
		TEST(test_flow_twice),      TEST(test_cut_record),
		TEST(test_cpu_op_start),    TEST(test_clock),
		TEST(test_clock_of_newest), TEST(test_kernel),
		TEST(test_numeric_ts),      TEST(test_process_twice),
		TEST(test_cut_export),      TEST(test_cut_first_event),
		TEST(test_scope_foreign),   TEST(test_scope_change),
		TEST(test_scope_parallel),  TEST(test_scope_depth),
		TEST(test_scope_decimals),  TEST(test_late_cpu_op),
		TEST(test_absurd_kernels),  TEST(test_absurd_ticks),
		TEST(test_steps),           TEST(test_steps_overlap),
		TEST(test_steps_many),      TEST(test_communication_layer),
		TEST(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
