/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline's inputs cut at every byte and with values that lie: the outputs stay valid, what is whole is
 * used, and each damage is told once. Documents: sections 2.2, 5.2, 6 and 8.3 of analysis-current.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cur_timeline.h"

/* Problems and warnings about a file or folder whose path ends like this. */
static size_t faults_of(const char *end)
{
	size_t i, n = 0, len = strlen(end);

	for (i = 0; i < mp_store_n_notes(rank.store); i++) {
		struct mp_note note = mp_store_get_note(rank.store, i);
		struct mp_str path = mp_store_text(rank.store, note.path);

		n += note.severity > MP_INFO && path.len >= len &&
		     !memcmp(path.text + path.len - len, end, len);
	}
	return n;
}

/* ---- op_range ---- */

static void put_three_ranges(void)
{
	add_range((struct range){.tid = 1, .start = 1000, .end = 2000, .full_name = "one"});
	add_range((struct range){.tid = 2, .start = 1000, .end = 2000, .full_name = "two"});
	add_step("7", 3000, 4000);
}

/* Records begin at the multiples of what the first has, by 3 more letters in the last. */
static void test_op_range_cuts(void **state)
{
	size_t cut, size, border = 0, n_whole = 0;
	char *whole;

	(void)state;
	put_three_ranges();
	size = ranges.len;
	whole = malloc(size);
	assert_non_null(whole);
	memcpy(whole, ranges.data, size);
	mp_buf_clear(&ranges);
	rank_put_text(&rank, MSPROF, "[]");
	for (cut = 1; cut < size; cut++) {
		char *trace;
		size_t drawn;

		if (cut == border + 6 + *(uint32_t *)(void *)memcpy(&(uint32_t){0}, whole + border + 2, 4)) {
			border = cut;
			n_whole++;
		}
		rank_put_at(&rank, OP_RANGE, whole, cut);
		trace = trace_of(ALL);
		drawn = count_in(trace, "\"ph\": \"X\"");
		/* The cut one may be usable. */
		if (drawn != n_whole && (cut == border || drawn != n_whole + 1))
			fail_msg("cut at %zu: %zu of %zu", cut, drawn, n_whole);
		if (faults_of("mindspore.op_range") != (cut != border))
			fail_msg("cut at %zu: %zu notes", cut, faults_of("mindspore.op_range"));
		free(trace);
		trace = trace_of(0);
		assert_int_equal(count_in(trace, "\"ph\": \"X\""), n_whole);
		free(trace);
	}
	assert_int_equal(n_whole, 2);
	free(whole);
}

/* A lie in the second record: at a byte of its head or body, these bytes. */
struct lie {
	size_t at;
	const char *bytes;
	size_t len;
	const char *code; /* of the one note, "" = it is no fault */
	size_t drawn;     /* ranges and instants, with the first and the last record */
};

#define BODY 6 /* behind the head */
#define FIELDS (BODY + 54)
#define ONES "\xff\xff\xff\xff\xff\xff\xff\xff"

static const struct lie lies[] = {
	{0, "\x7f\x7f", 2, "", 3},    /* the type of a record says nothing */
	{2, ONES, 4, "truncated", 2}, /* its fixed part and name are there */
	{2, "\xff\xff\xff\x7f", 4, "truncated", 2},
	{BODY, ONES, 8, "", 3},                   /* thread -1 */
	{BODY + 8, "\0\0\0\0\0\0\0\0", 8, "", 3}, /* a flow without a begin */
	{BODY + 16, ONES, 8, "", 3},
	{BODY + 24, "\0\0\0\0\0\0\0\0", 8, "", 2}, /* no start: told as information */
	{BODY + 24, ONES, 8, "time-out-of-range", 2},
	{BODY + 24, "\0\0\0\0\0\0\0\x80", 8, "time-out-of-range", 2},
	{BODY + 24, "\xff\xff\xff\xff\xff\xff\xff\x7f", 8, "time-out-of-range", 2},
	{BODY + 32, ONES, 8, "time-out-of-range", 2},
	{BODY + 32, "\0\0\0\0\0\0\0\0", 8, "negative-duration", 3},
	{BODY + 40, ONES, 4, "", 3},
	{BODY + 44, "\xff\xff", 2, "unknown-number", 3},
	{BODY + 46, "\x45\x00", 2, "unknown-number", 3}, /* events end at 68 */
	{BODY + 50, "\x80", 1, "", 3},
	{BODY + 51, "\xff", 1, "", 3},
	{BODY + 52, "\x02", 1, "", 3},
	{BODY + 53, "\x01", 1, "", 3},
	{FIELDS, "\x63", 1, "", 3}, /* an unknown field */
	{FIELDS + 2, ONES, 4, "short-field", 3},
	{FIELDS + 2, "\x00", 1, "short-field", 3}, /* the next field begins with the name */
	{FIELDS + 6, "\xff\xfe", 2, "bad-utf8", 3},
	{FIELDS + 6, "\"\\", 2, "", 3},
	{FIELDS + 8 + 6, "\"\n\0", 3, "", 3},
};

static void test_op_range_lies(void **state)
{
	uint32_t len;
	size_t i;

	(void)state;
	rank_put_text(&rank, MSPROF, "[]");
	for (i = 0; i < MP_COUNT(lies); i++) {
		size_t drawn;
		char *trace;

		put_three_ranges();
		memcpy(&len, ranges.data + 2, sizeof(len));
		memcpy(ranges.data + 6 + len + lies[i].at, lies[i].bytes, lies[i].len);
		put_ranges();
		free(trace_of(0));
		trace = trace_of(ALL);
		drawn = count_in(trace, "\"ph\": \"X\"") + count_in(trace, "\"ph\": \"i\"");
		if (drawn != lies[i].drawn)
			fail_msg("lie %zu: %zu drawn", i, drawn);
		if (faults_of("mindspore.op_range") != (*lies[i].code != 0) ||
		    (*lies[i].code && rank_notes(&rank, lies[i].code, NULL) != 1))
			fail_msg("lie %zu: %zu faults, '%s' %zu times", i, faults_of("mindspore.op_range"),
				 lies[i].code, rank_notes(&rank, lies[i].code, NULL));
		free(trace);
	}
}

/* ---- cpu_op_execute_timestamp ---- */

static void test_cpu_op_cuts(void **state)
{
	static const char text[] = "Add;HostCpuOps;1000,0.001,1 2000,0.002,2 \nMul;HostCpuOps;3000,0.5,3 \n";
	size_t cut;

	(void)state;
	rank_put_text(&rank, MSPROF, "[]");
	for (cut = 1; cut < sizeof(text) - 1; cut++) {
		char *trace;
		size_t n = 0, i;

		/* A blank ends an execution. */
		for (i = 0; i < cut; i++)
			n += text[i] == ' ';
		rank_put_at(&rank, CPU_OPS, text, cut);
		trace = trace_of(ALL);
		if (count_in(trace, "\"ph\": \"X\"") != n)
			fail_msg("cut at %zu: %zu of %zu", cut, count_in(trace, "\"ph\": \"X\""), n);
		if (faults_of("timestamp_0.txt") != (text[cut - 1] != '\n'))
			fail_msg("cut at %zu: %zu notes", cut, faults_of("timestamp_0.txt"));
		free(trace);
	}
}

static void test_cpu_op_lies(void **state)
{
	static const struct {
		const char *line;
		const char *code; /* of the one note; "" = none */
		size_t drawn;     /* without the good one behind it */
	} cases[] = {
		{"", "", 0},
		{";;", "bad-line", 0},
		{"Add", "bad-line", 0},
		{"Add;1,2,3 ", "bad-line", 0},
		{";HostCpuOps;1,2,3 ", "bad-line", 0},
		{"Add;HostCpuOps;", "", 0},
		{"Add;HostCpuOps;1", "bad-item", 0},
		{"Add;HostCpuOps;1,2,x ", "bad-item", 0},
		{"Add;HostCpuOps;1,2,3,4 ", "bad-item", 0},
		{"Add;HostCpuOps;-1,2,3 ", "bad-item", 0},
		{"Add;HostCpuOps;1,-2,3 ", "bad-item", 0},
		{"Add;HostCpuOps;1,nan,3 ", "bad-item", 0},
		{"Add;HostCpuOps;1,inf,3 ", "bad-item", 0},
		{"Add;HostCpuOps;1,1e400,3 ", "bad-item", 0},
		{"Add;HostCpuOps;1,1e-400,3 ", "", 1},
		{"Add;HostCpuOps;9223372036854775807,0,3 ", "", 1},
		{"Add;HostCpuOps;9223372036854775807,1,3 ", "bad-item", 0},
		{"Add;HostCpuOps;9223372036854775808,0,3 ", "bad-item", 0},
		{"Add;HostCpuOps;1,1,9223372036854775808 ", "bad-item", 0},
		{"Add;HostCpuOps;1,1,-9223372036854775808 ", "", 1},
		{"A;b;c;HostCpuOps;1,1,1   2,2,2", "", 2},
		{"\xff\xfe;HostCpuOps;1,1,1 ", "", 1},
		{"\"\\\t;HostCpuOps;1,1,1 ", "", 1},
		{"Default/////;HostCpuOps;1,1,1 ", "", 6}, /* a bar for each of the five scopes */
	};
	char text[256];
	size_t i;

	(void)state;
	rank_put_text(&rank, MSPROF, "[]");
	for (i = 0; i < MP_COUNT(cases); i++) {
		char *trace;

		snprintf(text, sizeof(text), "%s\nGood;HostCpuOps;5,5,5 \n", cases[i].line);
		put_text(CPU_OPS, text);
		free(trace_of(0));
		trace = trace_of(ALL);
		if (count_in(trace, "\"ph\": \"X\"") != cases[i].drawn + 1)
			fail_msg("lie %zu: %zu drawn", i, count_in(trace, "\"ph\": \"X\""));
		if (faults_of("timestamp_0.txt") != (*cases[i].code != 0) ||
		    (*cases[i].code && rank_notes(&rank, cases[i].code, NULL) != 1))
			fail_msg("lie %zu: %zu faults", i, faults_of("timestamp_0.txt"));
		free(trace);
	}
}

/* A link is not followed: told once, and the trace is made without it. */
static void test_cpu_op_link(void **state)
{
	char path[512];
	char *trace;

	(void)state;
	rank_put_text(&rank, MSPROF, "[]");
	add_range((struct range){.tid = 1, .start = 1000, .end = 2000});
	put_ranges();
	put_text("elsewhere", "Add;HostCpuOps;1000,0.001,1 \n");
	snprintf(path, sizeof(path), "%s/%s", rank.path, CPU_OPS);
	assert_int_equal(symlink("../elsewhere", path), 0);
	trace = trace_of(ALL);
	assert_int_equal(count_in(trace, "\"ph\": \"X\""), 1);
	free(trace);
}

/* ---- the clock ---- */

/* One range of which the clock decides where it lies: tick 5000 is 5.000 us by the good clock. */
static void put_clocked(void)
{
	add_range((struct range){.tid = 1, .start = 5000, .end = 6000});
	put_ranges();
	rank_put_text(&rank, MSPROF, "[]");
}

/* How many notes tell that a clock file is bad; all others must be none of warning or worse. */
static void expect_clock_note(const char *what, size_t at, size_t expected)
{
	size_t i, n = 0;

	for (i = 0; i < mp_store_n_notes(rank.store); i++)
		n += mp_store_get_note(rank.store, i).severity > MP_INFO;
	if (n != expected)
		fail_msg("%s %zu: %zu notes instead of %zu", what, at, n, expected);
}

static void check_clock_cuts(const char *name, const char *text, size_t good_from)
{
	size_t cut, len = strlen(text);

	for (cut = 0; cut <= len; cut++) {
		rank_put_at(&rank, name, text, cut);
		free(trace_of(ALL));
		expect_clock_note(name, cut, cut < good_from);
		if (cut >= good_from)
			expect_in_trace(ALL, "\"ts\": \"5.000\"", 1);
		free(trace_of(0));
	}
	rank_put_at(&rank, name, text, len);
}

/* host_start.log is good as soon as the line of the last number has its end; JSON needs the last number. */
static void test_clock_cuts(void **state)
{
	(void)state;
	put_clocked();
	check_clock_cuts(HOST "/host_start.log", clock_log,
			 (size_t)(strstr(clock_log, "cntvct_diff") - clock_log));
	check_clock_cuts(HOST "/start_info", clock_start, sizeof(clock_start) - 2);
	check_clock_cuts(HOST "/info.json", clock_info,
			 (size_t)(strstr(clock_info, "000\"") - clock_info) + 4);
}

/* A file that is missing is told once, whatever the clock is then made from. */
static void test_clock_missing(void **state)
{
	static const char *const names[] = {HOST "/host_start.log", HOST "/start_info", HOST "/info.json"};
	char path[512];
	size_t i;

	(void)state;
	put_clocked();
	for (i = 0; i < MP_COUNT(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", rank.path, names[i]);
		assert_int_equal(unlink(path), 0);
		free(trace_of(ALL));
		/* Of info.json too: then 100 MHz is told. */
		expect_clock_note(names[i], i, i < 2 ? 1 : 2);
		assert_int_equal(rank_notes(&rank, "no-device-clock", NULL), 1);
		assert_int_equal(rank_notes(&rank, "clock-assumed", NULL), 0);
	}
}

static void test_clock_lies(void **state)
{
	static const struct {
		const char *name, *text;
		bool good;
	} cases[] = {
		{HOST "/host_start.log", "[Host]\nclock_monotonic_raw: 0\ncntvct: 1000\n", false},
		{HOST "/host_start.log", "[Host]\nclock_monotonic_raw: 1000\ncntvct: 0\n", false},
		{HOST "/host_start.log", "[Host]\nclock_monotonic_raw: -1000\ncntvct: 1000\n", false},
		{HOST "/host_start.log", "[Host]\nclock_monotonic_raw: 1000\ncntvct: 9223372036854775808\n",
		 false},
		{HOST "/host_start.log", "clock_monotonic_raw: 1e3\ncntvct: 1000\n", false},
		{HOST "/host_start.log", "clock_monotonic_raw 1000\ncntvct 1000\n", false},
		{HOST "/host_start.log", "cntvct: 1000\r\n\r\n  clock_monotonic_raw = 1000 \r\n", true},
		{HOST "/host_start.log", "cntvct: 1000\ncntvct: 7\nclock_monotonic_raw: 1000\n", true},
		{HOST "/start_info", "", false},
		{HOST "/start_info", "[]", false},
		{HOST "/start_info", "{\"collectionTimeBegin\": 5}", false},
		{HOST "/start_info", "{\"collectionTimeBegin\": 5, \"clockMonotonicRaw\": 5000}", true},
		{HOST "/start_info", "{\"collectionTimeBegin\": -5, \"clockMonotonicRaw\": 5000}", false},
		{HOST "/start_info",
		 "{\"collectionTimeBegin\": 9223372036854775807, \"clockMonotonicRaw\": 1}", false},
		{HOST "/start_info", "{\"collectionTimeBegin\": 5.5, \"clockMonotonicRaw\": 5000}", false},
		{HOST "/start_info", "{\"collectionTimeBegin\": {}, \"clockMonotonicRaw\": 5000}", false},
		{HOST "/start_info", "{\"collectionTimeBegin\": \"\\ud800\", \"clockMonotonicRaw\": 5000}",
		 false},
		{HOST "/info.json", "{\"CPU\": [{\"Frequency\": 1000}]}", true},
		{HOST "/info.json", "{\"CPU\": [{\"Frequency\": -1}]}", false},
		{HOST "/info.json", "{\"CPU\": [{\"Frequency\": 0}]}", false},
		{HOST "/info.json", "{\"CPU\": [{\"Frequency\": \"nan\"}]}", false},
		{HOST "/info.json", "{\"CPU\": [{\"Frequency\": 1e999}]}", false},
		{HOST "/info.json", "{\"CPU\": []}", false}, /* 100 MHz */
		{HOST "/info.json", "{\"CPU\": [{\"Frequency\": \"\"}]}", false},
	};
	static const struct {
		const char *name, *text;
	} good[] = {{HOST "/host_start.log", clock_log},
		    {HOST "/start_info", clock_start},
		    {HOST "/info.json", clock_info}};
	size_t i, k;

	(void)state;
	put_clocked();
	for (i = 0; i < MP_COUNT(cases); i++) {
		put_text(cases[i].name, cases[i].text);
		free(trace_of(ALL));
		expect_clock_note("lie", i, !cases[i].good);
		if (cases[i].good)
			expect_in_trace(ALL, "\"ts\": \"5.000\"", 1);
		for (k = 0; k < MP_COUNT(good); k++)
			put_text(good[k].name, good[k].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_op_range_cuts), TEST(test_op_range_lies), TEST(test_cpu_op_cuts),
		TEST(test_cpu_op_lies),   TEST(test_cpu_op_link),   TEST(test_clock_cuts),
		TEST(test_clock_missing), TEST(test_clock_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
