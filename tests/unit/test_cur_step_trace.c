/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_trace_time.csv from models made by hand, and the intervals of exports without Overlap Analysis.
 * Expected values follow section 8.2 of analysis-current.md; how each comes about stands beside it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cur_rank.h"
#include "current/cur_overlap.h"
#include "torture.h"

#define HEADER                                                                                     \
	"Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble," \
	"Communication(Not Overlapped and Exclude Receive),Preparing\r\n"

/* ---- models ---- */

/* Tracks 0 to 4 by enum cur_overlap, then three of other layers. */
enum { TRACK_COMMUNICATION = 5, TRACK_PLANE, TRACK_HARDWARE, TRACKS };

/* An Ascend run with CPU and NPU activity whose models are filled by the test. */
static void open_run(uint64_t corrections, bool has_overlap)
{
	struct cur_device *device = &rank.run.device;
	uint8_t i;

	rank_open(&rank, corrections);
	assert_true(rank.run.params.npu && rank.run.params.cpu);
	rank.run.loaded_host = rank.run.loaded_device = rank.run.loaded_steps = rank.run.loaded_cpu_ops =
		true;
	device->present = rank.run.host.present = true;
	device->has_layer[CUR_LAYER_OVERLAP] = has_overlap;
	for (i = 0; i < TRACKS; i++) {
		struct cur_device_track track = {.pid = 1, .tid = i};

		track.layer = i <= CUR_OVERLAP_FREE ? CUR_LAYER_OVERLAP
			      : i == TRACK_HARDWARE ? CUR_LAYER_HARDWARE
						    : CUR_LAYER_COMMUNICATION;
		track.overlap = i <= CUR_OVERLAP_FREE ? i : CUR_OVERLAP_NONE;
		assert_true(mp_vec_push(&device->tracks, track));
	}
}

static void add_named(uint32_t track, int64_t ts_ns, int64_t dur_ns, const char *name, enum cur_task task)
{
	struct cur_device_event event = {.ts_ns = ts_ns,
					 .dur_ns = dur_ns,
					 .track = track,
					 .name = mp_store_string(rank.store, name),
					 .task = (uint8_t)task};

	assert_true(mp_vec_push(&rank.run.device.events, event));
}

static void add(uint32_t track, int64_t ts_ns, int64_t dur_ns)
{
	add_named(track, ts_ns, dur_ns, "e", CUR_TASK_NONE);
}

static void add_step(const char *id, int64_t begin_ns, int64_t end_ns)
{
	struct cur_step step = {mp_store_string(rank.store, id), begin_ns, end_ns};

	assert_true(mp_vec_push(&rank.run.steps.at, step));
}

static void add_host(int64_t ts_ns, uint32_t flags)
{
	struct cur_host_event event = {.ts_ns = ts_ns, .flags = flags};

	assert_true(mp_vec_push(&rank.run.host.events, event));
}

static void expect(const char *rows)
{
	char text[2048];

	snprintf(text, sizeof(text), "%s%s", *rows ? HEADER : "", rows);
	rank_expect(&rank, &cur_step_trace_time, text);
}

/* The example that section 8.2 ends with, in ns. */
static void fill_example(void)
{
	add(CUR_OVERLAP_COMPUTING, 1600000, 10000);
	add(CUR_OVERLAP_COMPUTING, 1040100, 60000);
	add(CUR_OVERLAP_COMMUNICATION, 1090000, 40100);
	add(CUR_OVERLAP_COMMUNICATION, 1200000, 20200);
	add(CUR_OVERLAP_NOT_OVERLAPPED, 1100100, 30000);
	add(CUR_OVERLAP_NOT_OVERLAPPED, 1200000, 20200);
	add(CUR_OVERLAP_FREE, 1130100, 69900);
	add(CUR_OVERLAP_FREE, 1220200, 379800);
	add_named(TRACK_COMMUNICATION, 1090000, 40100, "hcom_allReduce__1_0", CUR_TASK_NONE);
	add_named(TRACK_COMMUNICATION, 1200000, 20200, "hcom_send__2_0", CUR_TASK_NONE);
	add_step("3", 1000000, 1500000);
	add_step("4", 1500000, 2000000);
}

/* ---- rows ---- */

/*
 * Step 3: free 69.9 and 1500 - 1220.2 = 279.8. Stage 1200 - 1090 + 20.2 = 130.2 without the bubble of the
 * send, 20.2. Preparing 1040.1 - 1000. Step 4: free 1600 - 1500; preparing 1600 - 1500.
 */
static void test_example(void **state)
{
	(void)state;
	open_run(ALL, true);
	fill_example();
	expect("3,60.000,50.200,10.100,60.300,349.700,110.000,20.200,30.000,40.100\r\n"
	       "4,10.000,0.000,0.000,0.000,100.000,0.000,0.000,0.000,100.000\r\n");
	assert_int_equal(mp_store_n_notes(rank.store), 0);
}

/* Without operators in a step the original writes a bare 0. */
static void test_decimals(void **state)
{
	(void)state;
	open_run(BUT(CUR_FIX_STEP_DECIMALS), true);
	fill_example();
	expect("3,60.000,50.200,10.100,60.300,349.700,110.000,20.200,30.000,40.100\r\n"
	       "4,10.000,0.000,0.000,0.000,100.000,0,0,0.000,100.000\r\n");
}

/* What begins where one step ends and the next begins counts in both; what begins before is not cut off. */
static void test_borders(void **state)
{
	(void)state;
	open_run(ALL, true);
	rank.run.params.cpu = false;
	add(CUR_OVERLAP_COMPUTING, 1000, 100);
	add(CUR_OVERLAP_COMPUTING, 2000, 5000);
	add(CUR_OVERLAP_COMPUTING, 3001, 7);
	add(CUR_OVERLAP_FREE, 500, 4000); /* from 1000 to 2000 and from 2000 to 3000 */
	add_step("a", 1000, 2000);
	add_step("b", 2000, 3000);
	expect("a,5.100,0.000,0.000,0.000,1.000,0.000,0.000,0.000,0.000\r\n"
	       "b,5.000,0.000,0.000,0.000,1.000,0.000,0.000,0.000,0.000\r\n");
}

/* No steps: one row over everything; preparing begins with the first drawn event of the host. */
static void test_no_steps(void **state)
{
	(void)state;
	open_run(ALL, true);
	add(CUR_OVERLAP_COMPUTING, 9000, 100);
	add(CUR_OVERLAP_COMMUNICATION, 8000, 50);
	add(CUR_OVERLAP_FREE, 8050, 950);
	add_host(300, CUR_HOST_FLOW);
	add_host(400, CUR_HOST_INSTANT);
	add_host(7000, 0);
	add_host(6500, 0);
	expect("0,0.100,0.000,0.050,0.050,0.950,0.000,0.000,0.000,1.500\r\n"); /* 8000 - 6500 */
}

/* Nothing on the device from the begin of a step on: preparing is not known. */
static void test_nothing_follows(void **state)
{
	(void)state;
	open_run(ALL, true);
	add(CUR_OVERLAP_COMPUTING, 1000, 10);
	add_step("1", 5000, 6000);
	expect("1,0.000,0.000,0.000,0.000,0.000,0.000,0.000,0.000,0.000\r\n");
}

/* The last operator by start, and of equal starts the first: 9000 - 1000 + 500, not its plane's 400. */
static void test_stage(void **state)
{
	(void)state;
	open_run(ALL, true);
	rank.run.params.cpu = false;
	add(TRACK_COMMUNICATION, 1000, 20000);
	add(TRACK_COMMUNICATION, 9000, 500);
	add(TRACK_PLANE, 9000, 400);
	expect("0,0.000,0.000,0.000,0.000,0.000,8.500,0.000,0.000,0.000\r\n");
}

static void test_bubbles(void **state)
{
	static const struct {
		const char *name;
		bool is_bubble;
	} cases[] = {
		{"hcom_send__101_0_1", true},
		{"hcom_receive__7", true},
		{"hcom_batchSendRecv__5_0", true},
		{"hcom_SendRecvSendRecv__1", true},
		{"Receive-op12", true},
		{"Send-op3", true},
		{"hcom_allReduce__1", false},
		{"hcom_send_101", false},
		{"hcom_send__x", false},
		{"xhcom_send__1", false},
		{"hcom_SendRecv__1", false},
		{"hcom_a-SendRecv__1", false},
		{"hcom_aSendRecv__", false},
		{"Default/Send-op3", false},
		{"hcom_", false},
		{"", false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(cases); i++) {
		struct cur_step_trace trace;

		open_run(ALL, true);
		add_named(TRACK_COMMUNICATION, 1000, 70, cases[i].name, CUR_TASK_NONE);
		assert_int_equal(cur_step_trace_make(&rank.run, &trace, NULL), MINDPROF_OK);
		assert_int_equal(trace.rows.len, 1);
		if (trace.rows.at[0].bubble_ns != (cases[i].is_bubble ? 70 : 0))
			fail_msg("'%s': %lld", cases[i].name, (long long)trace.rows.at[0].bubble_ns);
		assert_int_equal(trace.rows.at[0].stage_ns, 70 - trace.rows.at[0].bubble_ns);
		cur_step_trace_release(&trace);
	}
}

/* ---- which runs ---- */

static void test_process_twice(void **state)
{
	(void)state;
	open_run(BUT(CUR_FIX_PROCESS_TWICE), true);
	fill_example();
	rank.run.device.duplicate_process = true;
	expect("");
	open_run(ALL, true);
	add(CUR_OVERLAP_COMPUTING, 1000, 10);
	rank.run.device.duplicate_process = true;
	expect("0,0.010,0.000,0.000,0.000,0.000,0.000,0.000,0.000,0.000\r\n");
}

/* Neither steps nor a host layer, but CPU activity: the original fails. */
static void test_no_host(void **state)
{
	(void)state;
	open_run(BUT(CUR_FIX_LOST_OUTPUTS), true);
	add(CUR_OVERLAP_COMPUTING, 1000, 10);
	rank.run.host.present = false;
	expect("");
	open_run(ALL, true);
	add(CUR_OVERLAP_COMPUTING, 1000, 10);
	rank.run.host.present = false;
	expect("0,0.010,0.000,0.000,0.000,0.000,0.000,0.000,0.000,0.000\r\n");
}

static void test_wanted(void **state)
{
	(void)state;
	open_run(0, true);
	assert_true(cur_step_trace_time.wanted(&rank.run));
	rank.run.params.level_none = true;
	assert_false(cur_step_trace_time.wanted(&rank.run));
	rank.run.params.level_none = false;
	rank.run.params.npu = false;
	assert_false(cur_step_trace_time.wanted(&rank.run));
	rank.run.corrections = ALL;
	assert_true(cur_step_trace_time.wanted(&rank.run));
}

/* Operators [1000, 1500), [1200, 1300) inside of it, [2000, 3000): 1500 ns computing, 500 ns free. */
static void test_cpu_run(void **state)
{
	static const struct cur_cpu_op ops[] = {{.ts_ns = 2000, .dur_ns = 1000},
						{.ts_ns = 1000, .dur_ns = 500},
						{.ts_ns = 1200, .dur_ns = 100}};
	size_t i;

	(void)state;
	open_run(ALL, false);
	rank.run.params.npu = rank.run.device.present = false;
	for (i = 0; i < MP_COUNT(ops); i++)
		assert_true(mp_vec_push(&rank.run.cpu_ops.events, ops[i]));
	expect("0,1.500,0.000,0.000,0.000,0.500,0.000,0.000,0.000,0.000\r\n");
	rank.run.corrections = BUT(CUR_FIX_ALL_TARGETS);
	expect("");
}

/* ---- exports without Overlap Analysis ---- */

static void fill_tasks(void)
{
	add_named(TRACK_HARDWARE, 1000, 2000, "MatMul", CUR_TASK_COMPUTE);
	add_named(TRACK_HARDWARE, 2500, 1500, "Add", CUR_TASK_COMPUTE);
	add_named(TRACK_HARDWARE, 6000, 1000, "allReduceAicpuKernel", CUR_TASK_COMPUTE);
	add_named(TRACK_HARDWARE, 6100, 100, "allReduceAivKernel", CUR_TASK_COMPUTE);
	add_named(TRACK_HARDWARE, 0, 100, "PROFILING_ENABLE", CUR_TASK_HOST);
	add_named(TRACK_HARDWARE, 500, 100, "Notify_Wait", CUR_TASK_OTHER);
	add_named(TRACK_COMMUNICATION, 5000, 500, "hcom_allReduce__1", CUR_TASK_NONE);
	add_named(TRACK_COMMUNICATION, 3500, 1500, "hcom_allReduce__2", CUR_TASK_NONE);
	add_named(TRACK_PLANE, 3600, 100, "Memcpy", CUR_TASK_NONE);
	add_host(200, 0);
}

/*
 * Computing [1000, 4000), communication [3500, 5500) because touching ones merge, not overlapped [4000,
 * 5500). The device works from 500 to 7000, so free are 500 and 1500. Stage 5000 - 3500 + 500. Preparing 1000
 * - 200.
 */
static void test_tasks(void **state)
{
	(void)state;
	open_run(ALL, false);
	fill_tasks();
	expect("0,3.000,1.500,0.500,2.000,2.000,2.000,0.000,1.500,0.800\r\n");
	open_run(BUT(CUR_FIX_LOST_OUTPUTS), false);
	fill_tasks();
	expect("");
	assert_int_equal(rank_notes(&rank, "no-overlap-analysis", NULL), 1);
}

/* Nothing that computes or communicates: no step times, and it is said. */
static void test_no_tasks(void **state)
{
	(void)state;
	open_run(ALL, false);
	add_named(TRACK_HARDWARE, 500, 100, "Notify_Wait", CUR_TASK_OTHER);
	expect("");
	assert_int_equal(rank_notes(&rank, "no-overlap-analysis", NULL), 1);
}

#define SPAN 80 /* ns that random tasks lie in */

static uint64_t random_state = 88172645463325252u;

static unsigned random_below(unsigned n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned)(random_state % n);
}

/* Spans mark each ns once; they are sorted and neither overlap nor touch, but for free time. */
static void check_spans(const struct cur_spans *spans, const bool *expected)
{
	bool marked[SPAN] = {false};
	size_t i, k;

	for (i = 0; i < spans->at.len; i++) {
		const struct cur_span *span = &spans->at.at[i];

		assert_true(span->dur_ns > 0 && span->ts_ns >= 0 && span->ts_ns + span->dur_ns <= SPAN);
		assert_true(!i || span->ts_ns > span[-1].ts_ns + span[-1].dur_ns - 1);
		for (k = (size_t)span->ts_ns; k < (size_t)(span->ts_ns + span->dur_ns); k++)
			marked[k] = true;
	}
	assert_memory_equal(marked, expected, sizeof(marked));
}

static void check_random_tasks(unsigned n)
{
	bool computing[SPAN] = {false}, communication[SPAN] = {false}, alone[SPAN], idle[SPAN];
	struct cur_step_trace trace = {0};
	size_t first = SPAN, last = 0, k;
	unsigned i;

	open_run(ALL, false);
	for (i = 0; i < n; i++) {
		size_t begin = random_below(SPAN), len = random_below(12);
		bool computes = random_below(2);

		len = MP_MIN(len, SPAN - begin);
		add_named(computes ? TRACK_HARDWARE : TRACK_COMMUNICATION, (int64_t)begin, (int64_t)len, "e",
			  computes ? CUR_TASK_COMPUTE : CUR_TASK_NONE);
		for (k = begin; k < begin + len; k++)
			(computes ? computing : communication)[k] = true;
		first = MP_MIN(first, begin);
		last = MP_MAX(last, begin + len);
	}
	for (k = 0; k < SPAN; k++) {
		alone[k] = communication[k] && !computing[k];
		idle[k] = k >= first && k < last && !communication[k] && !computing[k];
	}
	assert_true(cur_overlap_make(&rank.run, &trace));
	if (!trace.computing.at.len && !trace.communication.at.len)
		memset(idle, 0, sizeof(idle)); /* nothing to be free from */
	check_spans(&trace.computing, computing);
	check_spans(&trace.communication, communication);
	check_spans(&trace.not_overlapped, alone);
	check_spans(&trace.free, idle);
	cur_step_trace_release(&trace);
}

/* Against marking every ns. */
static void test_random_tasks(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 400; i++)
		check_random_tasks(1 + i % 20);
}

/* ---- lies and memory ---- */

/* Ends of time, and ranges that end before they begin. */
static void test_extremes(void **state)
{
	size_t size;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		open_run(ALL, i == 0);
		add_named(TRACK_HARDWARE, INT64_MAX - 5, INT64_MAX, "e", CUR_TASK_COMPUTE);
		add_named(TRACK_HARDWARE, 1000, -500, "e", CUR_TASK_COMPUTE);
		add(CUR_OVERLAP_COMPUTING, INT64_MAX - 1, INT64_MAX);
		add(CUR_OVERLAP_COMPUTING, 5, INT64_MAX);
		add(CUR_OVERLAP_FREE, 100, -50);
		add_named(TRACK_COMMUNICATION, INT64_MAX - 1, INT64_MAX, "hcom_send__1", CUR_TASK_NONE);
		add_named(TRACK_COMMUNICATION, INT64_MAX - 1, INT64_MAX, "hcom_send__1", CUR_TASK_NONE);
		add(TRACK_COMMUNICATION, INT64_MIN, INT64_MAX);
		add(CUR_OVERLAP_FREE, INT64_MIN + 1, INT64_MAX);
		add_step("1", 0, INT64_MAX);
		add_step("2", 10, 5);
		add_step("3", INT64_MIN, INT64_MAX);
		free(rank_write(&rank, &cur_step_trace_time, &size));
		assert_true(size > sizeof(HEADER));
	}
}

static mp_status write_once(void *user)
{
	int fd = memfd_create("output", MFD_CLOEXEC);
	struct mp_out out;
	mp_status status = mp_out_open_fd(fd, "output", &out, NULL);

	(void)user;
	if (!status) {
		status = cur_step_trace_time.write(&rank.run, &out, NULL);
		if (!status)
			status = mp_out_commit(&out, NULL);
		else
			mp_out_abort(&out);
	}
	close(fd);
	return status;
}

static void test_no_memory(void **state)
{
	(void)state;
	open_run(ALL, true);
	fill_example();
	assert_true(torture(write_once, NULL) > 8);
	open_run(ALL, false);
	fill_tasks();
	assert_true(torture(write_once, NULL) > 8);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_example),   TEST(test_decimals),        TEST(test_borders),
		TEST(test_no_steps),  TEST(test_nothing_follows), TEST(test_stage),
		TEST(test_bubbles),   TEST(test_process_twice),   TEST(test_no_host),
		TEST(test_wanted),    TEST(test_cpu_run),         TEST(test_tasks),
		TEST(test_no_tasks),  TEST(test_random_tasks),    TEST(test_extremes),
		TEST(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
