/* SPDX-License-Identifier: Apache-2.0 */
/* The strict check of Chrome JSON traces: each fault with line, column and byte; torture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "check_list.h"
#include "torture.h"

/*
 * Offsets are counted in the texts below: an event is written on a line of its own, so its fault
 * stands in column 1 of that line, or at the value that is wrong.
 */
#define X(ts, dur) "{\"name\":\"a\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"dur\":" dur "}"

static void check(const char *text, const char *expected)
{
	expect_faults(mp_check_json_trace, text, expected);
}

/* As check, but only codes with lines and columns, without bytes. */
static void check_places(const char *text, const char *expected)
{
	static struct check_list list;
	struct mp_check options = {.fn = check_list_add, .user = &list};
	char places[sizeof(list.text)], *to = places;
	const char *p;

	memset(&list, 0, sizeof(list));
	assert_int_equal(mp_check_json_trace(text, strlen(text), &options, NULL, NULL), MINDPROF_OK);
	for (p = list.text; *p; p++) {
		if (*p == '@')
			p = strchr(p, '(');
		*to++ = *p;
	}
	*to = '\0';
	if (strcmp(places, expected) != 0)
		fail_msg("%s\n  is:       %s\n  expected: %s", text, places, expected);
}

static void test_good(void **state)
{
	(void)state;
	check("[]", "");
	check("{\"traceEvents\":[]}", "");
	check("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[" X("0", "1.5") "],\"other\":{\"a\":[{}]}}", "");
	check("[" X("0", "10") "," X("0", "5") "," X("5", "5") "," X("10", "0") "," X("10", "1e3") "]", "");
	/* Order in the file does not matter. */
	check("[" X("5", "2") "," X("0", "10") "," X("1", "4") "]", "");
	check("[{\"name\":\"a\",\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":1},{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":2}]",
	      "");
	check("[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"x\"}},"
	      "{\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":1,\"args\":{\"labels\":\"x\"}},"
	      "{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":1,\"tid\":1,\"args\":{\"sort_index\":-3}},"
	      "{\"name\":\"something_else\",\"ph\":\"M\",\"pid\":1}]",
	      "");
	check("[{\"name\":\"c\",\"ph\":\"C\",\"pid\":1,\"ts\":1,\"args\":{\"v\":1}},"
	      "{\"name\":\"i\",\"ph\":\"i\",\"pid\":1,\"tid\":1,\"ts\":1,\"s\":\"t\"}]",
	      "");
}

/* The forms of the original: times and flow ids as text, durations of either kind (analysis-current.md 7.6).
 */
static void test_compatible(void **state)
{
	(void)state;
	check("[{\"name\":\"a\",\"ph\":\"X\",\"ts\":\"1719800000000010.000\",\"dur\":\"5.000\",\"pid\":1,\"tid\":1,\"args\":{}},"
	      "{\"name\":\"b\",\"ph\":\"X\",\"ts\":\"1719800000000015.000\",\"dur\":5.25,\"pid\":1,\"tid\":1},"
	      "{\"name\":\"f\",\"bp\":\"e\",\"ph\":\"s\",\"ts\":\"1719800000000010.000\",\"pid\":1,\"tid\":1,\"id\":\"9.5\",\"cat\":\"c\"},"
	      "{\"name\":\"f\",\"bp\":\"e\",\"ph\":\"f\",\"ts\":\"1719800000000020.250\",\"pid\":1,\"tid\":1,\"id\":\"9.5\",\"cat\":\"c\"}]",
	      "");
}

static void test_syntax(void **state)
{
	(void)state;
	check("[1,]", "event-not-object@1(1:2) json-syntax@3(1:4)");
	check("[\n{\"ph\":\n", "json-truncated@9(3:1)");
	check("", "json-truncated@0(1:1)");
	check("[NaN]", "json-nan@1(1:2)");
	check("[{\"ts\":-Infinity}]", "json-nan@7(1:8)");
	check("[\"\xff\"]", "invalid-utf8@2(1:3)");
	check("[] []", "json-syntax@3(1:4)");
	check("\xef\xbb\xbf[]", "json-syntax@0(1:1)");
	/* What was read before the fault is judged, but partners may have come later. */
	check("[\n" X("0", "10") ",\n" X(
		      "5", "10") ",\n{\"name\":\"b\",\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":1},\n",
	      "partial-overlap@57(3:1) json-truncated@158(5:1)");
}

static void test_deep(void **state)
{
	char text[600];

	(void)state;
	memset(text, '[', sizeof(text));
	expect_faults_in(mp_check_json_trace, text, sizeof(text),
			 "event-not-object@1(1:2) json-depth@512(1:513)");
}

static void test_duplicate_keys(void **state)
{
	struct mp_buf buf;
	int i;

	(void)state;
	check("{\"traceEvents\":[],\"a\":1,\"a\":2}", "duplicate-key@24(1:25)");
	check("{\"traceEvents\":[],\"traceEvents\":[]}", "duplicate-key@18(1:19)");
	check("[{\"name\":\"x\",\"ph\":\"M\",\n\"name\":\"y\"}]", "duplicate-key@23(2:1)");
	check("[{\"name\":\"x\",\"ph\":\"M\",\"args\":{\"a\":{\"b\":1,\"b\":2},\"b\":3}}]",
	      "duplicate-key@41(1:42)");
	check("[{\"name\":\"x\",\"ph\":\"M\",\"n\\u0061me\":1}]",
	      "duplicate-key@22(1:23) event-name@34(1:35)");
	/* The same key in two objects, and as value, is none. */
	check("[{\"name\":\"name\",\"ph\":\"M\"},{\"name\":\"x\",\"ph\":\"M\"}]", "");

	/* Many keys: 100 different ones, then one again. */
	mp_buf_init(&buf, 1 << 16);
	mp_buf_add_str(&buf, "{\"traceEvents\":[]");
	for (i = 0; i < 100; i++)
		mp_buf_printf(&buf, ",\"key%02d\":0", i);
	mp_buf_add_str(&buf, ",\"key50\":0,\"traceEvents\":[]}");
	check(mp_buf_str(&buf), "duplicate-key@1018(1:1019) duplicate-key@1028(1:1029)");
	mp_buf_release(&buf);
}

static void test_not_a_trace(void **state)
{
	(void)state;
	check("5", "not-a-trace@0(1:1)");
	check("\"x\"", "not-a-trace@0(1:1)");
	check("{}", "not-a-trace@0(1:1)");
	check("{\"events\":[]}", "not-a-trace@0(1:1)");
	check("{\"traceEvents\":{}}", "not-a-trace@15(1:16)");
	check("{\"traceEvents\":null}", "not-a-trace@15(1:16)");
	check("[1,\"a\",null,[{\"a\":1}]]",
	      "event-not-object@1(1:2) event-not-object@3(1:4) event-not-object@7(1:8) event-not-object@12(1:13)");
}

static void test_phases_and_names(void **state)
{
	(void)state;
	check("[{}]", "event-phase@1(1:2)");
	check("[{\"ph\":1}]", "event-phase@7(1:8)");
	check("[{\"ph\":\"XX\"}]", "event-phase@7(1:8)");
	check("[{\"ph\":\"z\"}]", "event-phase@7(1:8)");
	check("[{\"ph\":\"\"}]", "event-phase@7(1:8)");
	check("[{\"ph\":\"M\"}]", "event-name@1(1:2)");
	check("[{\"ph\":\"i\",\"ts\":1,\"name\":5}]", "event-name@25(1:26)");
	check("[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]", "event-name@1(1:2)");
}

static void test_times(void **state)
{
	(void)state;
	check_places("[\n" X("\"5\"", "1") ",\n" X("5", "1") "]", "mixed-time(3:43)");
	check_places("[\n" X("5", "\"1\"") "]", "event-time(2:51)");
	check_places("[\n" X("null", "1") "]", "event-time(2:43)");
	check_places("[\n" X("[1]", "1") "]", "event-time(2:43)");
	check_places("[\n" X("1", "{}") "]", "event-time(2:51)");
	check_places("[\n" X("\"abc\"", "1") "]", "event-time(2:43)");
	check_places("[\n" X("1e300", "1") "]", "event-time(2:43)");
	check_places("[\n" X("9223372036854775", "9223372036854775") "]", "event-time(2:1)");
	check_places("[\n" X("1", "-0.001") "]", "negative-duration(2:51)");
	check_places("[\n" X("1", "-0") "]", "");
	check_places("[\n{\"name\":\"a\",\"ph\":\"X\",\"ts\":1}]", "event-time(2:1)");
	check_places("[\n{\"name\":\"a\",\"ph\":\"X\",\"dur\":1}]", "event-time(2:1)");
	check_places("[\n{\"name\":\"a\",\"ph\":\"B\",\"pid\":1}]", "event-time(2:1)");
	check_places("[\n{\"name\":\"a\",\"ph\":\"C\",\"pid\":1,\"args\":{}}]", "event-time(2:1)");
}

#define B(ts) "{\"name\":\"b\",\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":" ts "}"
#define E(ts) "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":" ts "}"

static void test_begin_end(void **state)
{
	(void)state;
	check_places("[\n" B("1") ",\n" B("2") ",\n" E("3") "]", "unmatched-begin(2:1)");
	check_places("[\n" E("1") ",\n" B("2") ",\n" E("3") "]", "unmatched-end(2:1)");
	check_places("[\n" B("1") ",\n" E("2") ",\n" E("3") "]", "unmatched-end(4:1)");
	/* Another thread, another process, the same numbers as text. */
	check_places("[\n" B("1") ",\n{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":3}]",
		     "unmatched-begin(2:1) unmatched-end(3:1)");
	check_places("[\n" B("1") ",\n{\"ph\":\"E\",\"pid\":2,\"tid\":1,\"ts\":3}]",
		     "unmatched-begin(2:1) unmatched-end(3:1)");
	check_places("[\n" B("1") ",\n{\"ph\":\"E\",\"pid\":\"1\",\"tid\":\"1\",\"ts\":3}]", "");
	/* Times, not the place in the file, say what ends what; at equal times the place does. */
	check_places("[\n" E("3") ",\n" B("1") "]", "");
	check_places("[\n" B("1") ",\n" E("2") ",\n" B("2") ",\n" E("2") "]", "");
	/* A pair is a slice like any other. */
	check_places("[\n" B("1") ",\n" E("10") ",\n" X("5", "10") "]", "partial-overlap(4:1)");
}

static void test_overlap(void **state)
{
	(void)state;
	check_places("[\n" X("0", "10") ",\n" X("5", "6") "]", "partial-overlap(3:1)");
	check_places("[\n" X("5", "6") ",\n" X("0", "10") "]", "partial-overlap(2:1)");
	check_places("[\n" X("0", "10") ",\n" X("5", "5.001") "]", "partial-overlap(3:1)");
	check_places("[\n" X("0", "10") ",\n" X("9.999", "1") "]", "partial-overlap(3:1)");
	check_places("[\n" X("0", "10") ",\n" X("10", "1") "]", "");
	/* 0.1 + 0.2 is exactly 0.3 here. */
	check_places("[\n" X("0", "0.3") ",\n" X("0.1", "0.2") "]", "");
	check_places("[\n" X("1719800000000010.001", "0.002") ",\n" X("1719800000000010.003", "1") "]", "");
	check_places("[\n" X("1719800000000010.001", "0.003") ",\n" X("1719800000000010.003", "1") "]",
		     "partial-overlap(3:1)");
	/* Below the nanosecond nothing is said: 10.8 ns inside 10.8 ns, though 10 and 11 after rounding. */
	check_places("[\n" X("0.0004", "0.0104") ",\n" X("0.0056", "0.0052") "]", "");
	/* In another lane there is no overlap. */
	check_places(
		"[\n" X("0",
			"10") ",\n{\"name\":\"a\",\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":10}]",
		"");
	/* Three levels, the fault in the innermost one; after a lane is left its slices count no more. */
	check_places("[\n" X("0", "100") ",\n" X("10", "50") ",\n" X("20", "10") ",\n" X("25", "10") ",\n" X(
			     "60", "40") "]",
		     "partial-overlap(5:1)");
}

#define FLOW(ph, ts, rest) \
	"{\"name\":\"f\",\"cat\":\"c\",\"ph\":\"" ph "\",\"pid\":1,\"tid\":1,\"ts\":" ts rest "}"

static void test_flows(void **state)
{
	(void)state;
	check_places("[\n" X("0", "10") ",\n" FLOW("s", "1", ",\"id\":7") ",\n" FLOW(
			     "f", "9", ",\"id\":7,\"bp\":\"e\"") "]",
		     "");
	check_places("[\n" X("0", "10") ",\n" FLOW("f", "9", ",\"id\":7,\"bp\":\"e\"") "]",
		     "flow-without-start(3:1)");
	check_places("[\n" X("0", "10") ",\n" FLOW("s", "9", ",\"id\":7") "]", "flow-without-end(3:1)");
	check_places("[\n" FLOW("t", "9", ",\"id\":7") "]", "flow-without-start(2:1) flow-without-end(2:1)");
	check_places("[\n" X("0", "10") ",\n" FLOW("s", "1", ",\"id\":7") ",\n" FLOW(
			     "f", "9", ",\"id\":8,\"bp\":\"e\"") "]",
		     "flow-without-end(3:1) flow-without-start(4:1)");
	/* Ids: integers; text only where times are text. */
	check_places("[\n" FLOW("s", "1", "") "]", "flow-id(2:1)");
	check_places("[\n" X("0", "10") ",\n" FLOW("s", "1", ",\"id\":1.5") ",\n" FLOW(
			     "f", "9", ",\"bp\":\"e\",\"id\":1.5") "]",
		     "flow-id(3:60) flow-id(4:69)");
	check_places("[\n" X("0", "10") ",\n" FLOW("s", "1", ",\"id\":\"x\"") ",\n" FLOW(
			     "f", "9", ",\"bp\":\"e\",\"id\":\"x\"") "]",
		     "flow-id(3:60) flow-id(4:69)");
	check_places("[\n" FLOW("s", "1", ",\"id\":null") "]", "flow-id(2:60)");
	/* Binding: enclosed, the edges included; without bp by the next slice. */
	check_places("[\n" X("5", "5") ",\n" FLOW("s", "5", ",\"id\":1") ",\n" FLOW(
			     "f", "10", ",\"id\":1,\"bp\":\"e\"") "]",
		     "");
	check_places("[\n" X("5", "5") ",\n" FLOW("s", "5", ",\"id\":1") ",\n" FLOW(
			     "f", "5", ",\"id\":1,\"bp\":\"e\"") "]",
		     "");
	check_places("[\n" X("5", "5") ",\n" FLOW("s", "5", ",\"id\":1") ",\n" FLOW(
			     "f", "4.999", ",\"id\":1,\"bp\":\"e\"") "]",
		     "unbound-flow(4:1)");
	check_places("[\n" X("5", "5") ",\n" FLOW("s", "5", ",\"id\":1") ",\n" FLOW(
			     "f", "10.001", ",\"id\":1,\"bp\":\"e\"") "]",
		     "unbound-flow(4:1)");
	check_places(
		"[\n" X("5", "5") ",\n" FLOW("s", "5", ",\"id\":1") ",\n" FLOW("f", "4", ",\"id\":1") "]",
		"");
	check_places(
		"[\n" X("5", "5") ",\n" FLOW("s", "5", ",\"id\":1") ",\n" FLOW("f", "5", ",\"id\":1") "]",
		"");
	check_places(
		"[\n" X("5", "5") ",\n" FLOW("s", "5", ",\"id\":1") ",\n" FLOW("f", "5.001", ",\"id\":1") "]",
		"unbound-flow(4:1)");
	/* An enclosing slice that began long before short ones. */
	check_places("[\n" X("0", "100") ",\n" X("1", "1") ",\n" X("3", "1") ",\n" FLOW(
			     "s", "3", ",\"id\":1") ",\n" FLOW("f", "50", ",\"id\":1,\"bp\":\"e\"") "]",
		     "");
	/* In a lane without slices, and in the last lane of several. */
	check_places("[\n" X("0", "10") ",\n" FLOW(
			     "s", "1", ",\"id\":1") ",\n{\"name\":\"f\",\"cat\":\"c\",\"ph\":\"f\",\"pid\":1,"
						    "\"tid\":9,\"ts\":5,\"id\":1,\"bp\":\"e\"}]",
		     "unbound-flow(4:1)");
}

static void test_metadata(void **state)
{
	(void)state;
	check_places("[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1}]", "metadata-args(2:1)");
	check_places("[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":1}}]",
		     "metadata-args(2:56)");
	check_places("[\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"nam\":\"x\"}}]",
		     "metadata-args(2:1)");
	check_places("[\n{\"args\":{\"sort_index\":\"1\"},\"name\":\"process_sort_index\",\"ph\":\"M\"}]",
		     "metadata-args(2:23)");
	check_places("[\n{\"args\":{\"sort_index\":1.5},\"name\":\"thread_sort_index\",\"ph\":\"M\"}]",
		     "metadata-args(2:23)");
	check_places("[\n{\"args\":[],\"name\":\"process_labels\",\"ph\":\"M\"}]", "metadata-args(2:1)");
}

static void test_any(void **state)
{
	(void)state;
	expect_faults(mp_check_any, " \r\n[]", "");
	expect_faults(mp_check_any, "{}", "not-a-trace@0(1:1)");
	expect_faults(mp_check_any, "a,b\n1\n", "csv-columns@4(2:1)");
	expect_faults(mp_check_any,
		      "\xef\xbb\xbf"
		      "a,b\n1,2\n",
		      "");
	assert_int_equal(mp_check_any("", 0, &(struct mp_check){0}, NULL, NULL), MINDPROF_E_UNSUPPORTED);
	assert_int_equal(mp_check_any(" \n", 2, &(struct mp_check){0}, NULL, NULL), MINDPROF_E_UNSUPPORTED);
	assert_int_equal(mp_check_any("\x7f"
				      "ELF\x02",
				      5, &(struct mp_check){0}, NULL, NULL),
			 MINDPROF_E_UNSUPPORTED);
}

static const char sample[] =
	"{\"traceEvents\":[\n" X("0", "10") ",\n" X("5", "10") ",\n" B("1") ",\n" E("2") ",\n" B("7") ",\n" FLOW(
		"s", "1",
		",\"id\":7") ",\n" FLOW("f", "9",
					",\"id\":7,\"bp\":\"e\"") ",\n"
								  "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"\\u00e9\",\"name\":2}}]}";

/* Any change of bytes, any cut: it ends, and places are inside the data. */
static void test_torture(void **state)
{
	static struct check_list list;
	struct mp_check options = {.fn = check_list_add, .user = &list};
	size_t size = sizeof(sample) - 1, len;
	char *copy = malloc(size);
	uint32_t seed = 77;
	int round, change;

	(void)state;
	assert_non_null(copy);
	for (len = 0; len < size; len++) {
		char *cut = malloc(len ? len : 1);

		memcpy(cut, sample, len);
		memset(&list, 0, sizeof(list));
		assert_int_equal(mp_check_json_trace(cut, len, &options, NULL, NULL), MINDPROF_OK);
		assert_non_null(strstr(list.text, "json-truncated@"));
		assert_int_equal(list.last, len);
		free(cut);
	}
	for (round = 0; round < 20000; round++) {
		memcpy(copy, sample, size);
		for (change = 0; change < 3; change++) {
			seed = seed * 1664525u + 1013904223u;
			copy[(seed >> 8) % size] = "0123456789-.eE\"{}[]:,BEXsft"[(seed >> 4) % 27];
		}
		memset(&list, 0, sizeof(list));
		assert_int_equal(mp_check_json_trace(copy, size, &options, NULL, NULL), MINDPROF_OK);
		assert_in_range(list.last, 0, size);
	}
	free(copy);
}

static mp_status all(void *user)
{
	struct mp_check options = {0};

	(void)user;
	return mp_check_json_trace(sample, sizeof(sample) - 1, &options, NULL, NULL);
}

static void test_without_memory(void **state)
{
	(void)state;
	assert_true(torture(all, NULL) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_compatible),
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_duplicate_keys),
		cmocka_unit_test(test_not_a_trace),
		cmocka_unit_test(test_phases_and_names),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_begin_end),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_any),
		cmocka_unit_test(test_torture),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
