/* SPDX-License-Identifier: Apache-2.0 */
/*
 * communication.json and communication_matrix.json from inputs made by hand. Expected values follow
 * section 8.4 of analysis-current.md; how each comes about stands beside it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cur_rank.h"
#include "current/cur_communication.h"

static void put(const char *name, const char *text, size_t size)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/" RANK_PROF "/analyze", rank.path);
	mkdir(path, 0750);
	snprintf(path, sizeof(path), RANK_PROF "/analyze/%s", name);
	rank_put_at(&rank, path, text, size);
}

static void put_ops(const char *text)
{
	put("communication.json", text, strlen(text));
}

static void put_matrix(const char *text)
{
	put("communication_matrix.json", text, strlen(text));
}

/* A run whose steps are made by the test; no other input. */
static void open_run(uint64_t corrections)
{
	rank_open(&rank, corrections);
	rank.run.loaded_host = rank.run.loaded_device = rank.run.loaded_steps = true;
	rank.run.host.present = true;
}

static void add_step(const char *id, int64_t begin_ns, int64_t end_ns)
{
	struct cur_step step = {mp_store_string(rank.store, id), begin_ns, end_ns};

	assert_true(mp_vec_push(&rank.run.steps.at, step));
}

/* Strict JSON, as Python reads it, with NaN refused. */
static void assert_json(const char *text, size_t size)
{
	struct mp_json json;
	enum mp_json_type type;

	mp_json_init(&json, text, size);
	while ((type = mp_json_next(&json)) != MP_JSON_END && type != MP_JSON_ERROR)
		continue;
	if (type == MP_JSON_ERROR)
		fail_msg("%s at %lld of: %s", json.err_text, (long long)json.err_offset, text);
}

static char *written(const struct cur_output *output)
{
	size_t size;
	char *text = rank_write(&rank, output, &size);

	if (size)
		assert_json(text, size);
	return text;
}

/* ---- steps ---- */

static const char two_ops[] =
	"{\"hcom_allReduce_@1\": {\"Communication Time Info\": {\"Start Timestamp(us)\": 10, \"Elapse Time(ms)\": 1}},"
	" \"hcom_send_Send@1\": {\"Communication Time Info\": {\"Start Timestamp(us)\": \"20.5\", \"Elapse Time(ms)\": 2}}}";

static void test_step_ids_are_escaped(void **state)
{
	char *text;

	(void)state;
	put_ops(two_ops);
	put_matrix("{\"hcom_allReduce_@1\": {\"0-1\": {\"Transport Type\": \"HCCS\"}}}");
	open_run(ALL);
	add_step("a\"b\\c\n", 0, 15000);
	add_step("2", 16000, 30000);
	text = written(&cur_communication_json);
	assert_non_null(strstr(
		text, "{\"stepa\\\"b\\\\c\\n\": {\"p2p\": {}, \"collective\": {\"hcom_allReduce_@1\""));
	assert_non_null(strstr(text, "\"step2\": {\"p2p\": {\"hcom_send_Send@1\""));
	free(text);
	text = written(&cur_communication_matrix);
	assert_non_null(
		strstr(text, "{\"stepa\\\"b\\\\c\\n\": {\"p2p\": {}, \"collective\": {\"allreduce-top1@1\""));
	free(text);
}

/* ---- keys ---- */

static void test_keys_with_escapes_are_the_same_keys(void **state)
{
	char *text;

	(void)state;
	/* the second spelling of the same name replaces the first: time 3, of start 10 */
	put_ops("{\"hcom_x@1\": {}, \"hcom\\u005fx@1\": {\"Communication\\u0020Time Info\":"
		" {\"Start Timestamp(us)\": 10, \"Elapse\\u0020Time(ms)\": 3}}}");
	open_run(ALL);
	add_step("1", 0, 15000);
	add_step("2", 16000, 30000);
	text = written(&cur_communication_json);
	assert_non_null(strstr(
		text, "\"step1\": {\"p2p\": {}, \"collective\": {\"hcom_x@1\": {\"Communication\\u0020Time"));
	assert_non_null(
		strstr(text, "\"Total Op Info\": {\"Communication Time Info\": {\"Elapse Time(ms)\": 3,"));
	assert_int_equal(rank_notes(&rank, "unstarted-op", NULL), 0);
	free(text);
}

/* ---- totals ---- */

#define TRANSPORT(time, size)                                          \
	"{\"Transit Time(ms)\": " time ", \"Transit Size(MB)\": " size \
	", \"Bandwidth(GB/s)\": 99, \"Size Distribution\": {\"" size "\": [2, " time "]}}"

static const char priced_ops[] =
	"{\"a@g\": {\"Communication Time Info\": {\"Start Timestamp(us)\": 10, \"Elapse Time(ms)\": 1.5,"
	" \"Transit Time(ms)\": 0.5, \"Wait Time(ms)\": 1, \"Synchronization Time(ms)\": 0.25},"
	" \"Communication Bandwidth Info\": {\"RDMA\": " TRANSPORT(
		"0.5",
		"4") "}},"
		     " \"b@g\": {\"Communication Time Info\": {\"Start Timestamp(us)\": 11, \"Elapse Time(ms)\": 2,"
		     " \"Transit Time(ms)\": 1.5, \"Wait Time(ms)\": 1, \"Synchronization Time(ms)\": 0.25},"
		     " \"Communication Bandwidth Info\": {\"RDMA\": " TRANSPORT(
			     "1.5", "8") ", \"SDMA\": " TRANSPORT("0", "1") "}}}";

/*
 * Sums: elapse 3.5, transit 2, wait 2, synchronization 0.5. Ratios: wait 2 / (2 + 2) = 0.5, synchronization
 * 0.5 / (0.5 + 2) = 0.2. RDMA: 12 MB in 2 ms = 6 GB/s; SDMA: no time, so no bandwidth: 0.
 */
static void expect_totals(uint64_t corrections, const char *rdma_bandwidth, const char *sdma_bandwidth)
{
	char expected[1024];
	char *text;

	put_ops(priced_ops);
	open_run(corrections);
	snprintf(
		expected, sizeof(expected),
		"\"Total Op Info\": {\"Communication Time Info\": {\"Elapse Time(ms)\": 3.5, \"Transit Time(ms)\": 2.0,"
		" \"Wait Time(ms)\": 2, \"Synchronization Time(ms)\": 0.5, \"Wait Time Ratio\": 0.5,"
		" \"Synchronization Time Ratio\": 0.2}, \"Communication Bandwidth Info\": {\"RDMA\":"
		" {\"Transit Time(ms)\": 2.0, \"Transit Size(MB)\": 12%s, \"Size Distribution\":"
		" {\"4\": [2, 0.5], \"8\": [2, 1.5]}}, \"SDMA\": {\"Transit Time(ms)\": 0, \"Transit Size(MB)\": 1%s,"
		" \"Size Distribution\": {\"1\": [2, 0]}}}}",
		rdma_bandwidth, sdma_bandwidth);
	text = written(&cur_communication_json);
	if (!strstr(text, expected))
		fail_msg("not found: %s\nin: %s", expected, text);
	free(text);
}

static void test_total_bandwidth(void **state)
{
	(void)state;
	expect_totals(ALL, ", \"Bandwidth(GB/s)\": 6.0", ", \"Bandwidth(GB/s)\": 0");
	expect_totals(BUT(CUR_FIX_TOTAL_BANDWIDTH), "", "");
}

/* ---- operators without a start ---- */

static const char unstarted[] =
	"{\"a@g\": {\"Communication Time Info\": {\"Start Timestamp(us)\": 10}}, \"b@g\": {\"Communication Time Info\": {}}}";

static void test_unstarted_op(void **state)
{
	size_t size;
	uint64_t count = 0;
	char *text;

	(void)state;
	put_ops(unstarted);
	open_run(ALL);
	add_step("1", 0, 15000);
	add_step("2", 16000, 30000);
	text = written(&cur_communication_json);
	assert_non_null(strstr(text, "\"step1\": {\"p2p\": {}, \"collective\": {\"a@g\""));
	assert_null(strstr(text, "b@g")); /* in no step */
	free(text);
	assert_int_equal(rank_notes(&rank, "unstarted-op", &count), 1);
	assert_int_equal(count, 1);
	/* once, for both outputs */
	free(rank_write(&rank, &cur_communication_matrix, &size));
	assert_int_equal(rank_notes(&rank, "unstarted-op", &count), 1);
	assert_int_equal(count, 1);

	open_run(BUT(CUR_FIX_UNSTARTED_OP));
	add_step("1", 0, 15000);
	add_step("2", 16000, 30000);
	rank_expect(&rank, &cur_communication_json, "");
}

/* ---- matrix ---- */

/*
 * Three links 0-1 of type allreduce in group g, by bandwidth 5, 3, 1: top1 5, middle index 3/2 = 1 -> 3,
 * bottom1 1, bottom2 3, bottom3 5. Total: 6 MB in 4 ms -> 1.5 GB/s. The link of another type does not count.
 */
static void test_ranks_of_links(void **state)
{
	static const char *const expected[] = {"top1", "5",       "middle", "3",       "bottom1",
					       "1",    "bottom2", "3",      "bottom3", "5"};
	char place[160];
	char *text;
	size_t i;

	(void)state;
	put_ops("{\"hcom_allReduce__1@g\": {}, \"hcom_allReduce__2@g\": {}, \"hcom_allReduce__3@g\": {},"
		" \"hcom_broadcast__1@g\": {}}");
	put_matrix(
		"{\"hcom_allReduce__1@g\": {\"0-1\": {\"Bandwidth(GB/s)\": 3, \"Transit Size(MB)\": 1, \"Transit Time(ms)\": 1}},"
		" \"hcom_allReduce__2@g\": {\"0-1\": {\"Bandwidth(GB/s)\": 5, \"Transit Size(MB)\": 2, \"Transit Time(ms)\": 1}},"
		" \"hcom_allReduce__3@g\": {\"0-1\": {\"Bandwidth(GB/s)\": 1, \"Transit Size(MB)\": 3, \"Transit Time(ms)\": 2}},"
		" \"hcom_broadcast__1@g\": {\"0-1\": {\"Bandwidth(GB/s)\": 9}}, \"Total\": {\"0-1\": {}}}");
	open_run(ALL);
	text = written(&cur_communication_matrix);
	for (i = 0; i < MP_COUNT(expected); i += 2) {
		snprintf(place, sizeof(place), "\"allreduce-%s@g\": {\"0-1\": {\"Bandwidth(GB/s)\": %s,",
			 expected[i], expected[i + 1]);
		if (!strstr(text, place))
			fail_msg("not found: %s\nin: %s", place, text);
	}
	assert_non_null(strstr(
		text, "\"allreduce-total@g\": {\"0-1\": {\"Transport Type\": \"\", \"Transit Size(MB)\": 6.0,"
		      " \"Transit Time(ms)\": 4.0, \"Bandwidth(GB/s)\": 1.5}}"));
	assert_non_null(strstr(text, "\"broadcast-top1@g\": {\"0-1\": {\"Bandwidth(GB/s)\": 9,"));
	free(text);
}

/* ---- table ---- */

/*
 * Both operators are of one type and group g: 1.5 + 2 ms, transit 0.5 + 1.5, wait 1 + 1. SDMA 1 MB without
 * time, RDMA 12 MB in 2 ms: 13 MB in 2 ms = 6.5 GB/s. The send: 0.5 ms of 4 ms together.
 */
static void test_table(void **state)
{
	static const char send[] =
		", \"hcom_send__1@h\": {\"Communication Time Info\": {\"Elapse Time(ms)\": 0.5}}}";
	struct mp_buf text;
	char found[512];

	(void)state;
	mp_buf_init(&text, SIZE_MAX);
	mp_buf_add(&text, priced_ops, sizeof(priced_ops) - 2);
	mp_buf_add_str(&text, send);
	/* of one type: "a__1", "a__2" */
	memcpy(strstr(text.data, "\"b@g\""), "\"a@g\"", 5);
	put_ops(text.data);
	open_run(ALL);
	/* equal names: the second replaces the first */
	assert_string_equal(rank_table(&rank, &cur_table_communication, found, sizeof(found)),
			    "a|collective|g|1|2000000|1500000|1000000|9000000|6|0.8\n"
			    "hcom_send_|p2p|h|1|500000|0|0|0|-|0.2\n");
	put_ops(priced_ops);
	open_run(ALL);
	assert_string_equal(rank_table(&rank, &cur_table_communication, found, sizeof(found)),
			    "b|collective|g|1|2000000|1500000|1000000|9000000|6|0.5714\n"
			    "a|collective|g|1|1500000|500000|1000000|4000000|8|0.4286\n");
	mp_buf_release(&text);
}

/* "a__1@g" and "a__2@g" are of type "a_": 1 + 3 ms, 2 of them. */
static void test_table_groups(void **state)
{
	char found[512];

	(void)state;
	put_ops("{\"a__1@g\": {\"Communication Time Info\": {\"Elapse Time(ms)\": 1}},"
		" \"a__2@g\": {\"Communication Time Info\": {\"Elapse Time(ms)\": 3}},"
		" \"a__3@h\": {\"Communication Time Info\": {\"Elapse Time(ms)\": 12, \"Wait Time(ms)\": -1}}}");
	open_run(ALL);
	assert_string_equal(
		rank_table(&rank, &cur_table_communication, found, sizeof(found)),
		"a_|collective|h|1|12000000|0|0|0|-|0.75\na_|collective|g|2|4000000|0|0|0|-|0.25\n");
}

/* ---- lies ---- */

static void test_nan_is_null(void **state)
{
	char *text;

	(void)state;
	put_ops("{\"NaN@g\": {\"Communication Time Info\": {\"Start Timestamp(us)\": 10, \"Elapse Time(ms)\": NaN,"
		" \"Wait Time(ms)\": -Infinity}}, \"b@g\": {\"Communication Time Info\": {\"Elapse Time(ms)\": 4}}}");
	open_run(ALL);
	text = written(&cur_communication_json);
	assert_non_null(strstr(
		text,
		"{\"NaN@g\": {\"Communication Time Info\": {\"Start Timestamp(us)\": 10, \"Elapse Time(ms)\":"
		" null, \"Wait Time(ms)\": null}}, \"b@g\""));
	assert_non_null(strstr(text, "\"Elapse Time(ms)\": 4,")); /* of the total: null adds nothing */
	assert_int_equal(rank_notes(&rank, "no-number", NULL), 1);
	free(text);
}

static void test_lies(void **state)
{
	static const char *const lies[] = {
		"",
		"{",
		"[]",
		"[{}]",
		"1",
		"null",
		"{}",
		"{\"a\"",
		"{\"a\":",
		"{\"a\": {\"Communication Time Info\": [",
		"{\"a\": 1, \"b\": \"x\", \"c\": null, \"d\": [1], \"e\": true}",
		"{\"a\": {\"Communication Time Info\": 1, \"Communication Bandwidth Info\": []}}",
		"{\"a\": {\"Communication Time Info\": {\"Start Timestamp(us)\": 1e400}}}",
		"{\"a\": {\"Communication Time Info\": {\"Start Timestamp(us)\": 9223372036854775808}}}",
		"{\"a\": {\"Communication Time Info\": {\"Start Timestamp(us)\": \"-9223372036854775809\"}}}",
		"{\"a\": {\"Communication Time Info\": {\"Start Timestamp(us)\": \"\"}}}",
		"{\"a\": {\"Communication Time Info\": {\"Wait Time(ms)\": 1e308, \"Transit Time(ms)\": 1e308, \"X\": {}}}}",
		"{\"a\": {\"Communication Bandwidth Info\": {\"RDMA\": {\"Size Distribution\": {\"1\": [], \"2\": [\"x\", {}], \"3\": 1}}}}}",
		"{\"a\": {\"Communication Bandwidth Info\": {\"\": {\"Transit Time(ms)\": -1, \"Transit Size(MB)\": \"x\"}}}}",
		"{\"\": {}, \"@\": {}, \"@@\": {}, \"\\u0000\": {}, \"\\ud800\": {}}",
		"{\"a\": {}, \"a\": {}, \"a\": 1}",
		"{\"a\xff\": {}}",
		"{\"a\": {\"0-1\": {\"Bandwidth(GB/s)\": NaN, \"Transit Time(ms)\": 0}, \"0-1\": {}, \"x\": 1}}",
		"{\"Send\": {\"0-1\": {}}, \"Total\": {\"0-1\": {}}}",
	};
	uint64_t modes[] = {ALL, 0};
	char table[4096];
	size_t i, m;

	(void)state;
	for (i = 0; i < MP_COUNT(lies); i++)
		for (m = 0; m < MP_COUNT(modes); m++) {
			put_ops(lies[i]);
			put_matrix(lies[i]);
			open_run(modes[m]);
			free(written(&cur_communication_json));
			free(written(&cur_communication_matrix));
			rank_table(&rank, &cur_table_communication, table, sizeof(table));
			assert_true(rank_notes(&rank, "bad-json", NULL) <= 2); /* one per file */
		}
}

static void test_truncation(void **state)
{
	size_t cut;

	(void)state;
	for (cut = 0; cut < sizeof(priced_ops) - 1; cut += 13) {
		put("communication.json", priced_ops, cut);
		put("communication_matrix.json", priced_ops, cut);
		open_run(ALL);
		free(written(&cur_communication_json));
		free(written(&cur_communication_matrix));
		assert_int_equal(rank_notes(&rank, "bad-json", NULL), 2);
	}
}

/* Many keys of each sort: the time must not grow with the square (it would take minutes). */
static void test_many_keys(void **state)
{
	enum { N = 60000 };
	struct mp_buf text;
	int i;

	(void)state;
	mp_buf_init(&text, SIZE_MAX);
	mp_buf_add_str(&text, "{\"a@g\": {\"Communication Time Info\": {");
	for (i = 0; i < N; i++)
		mp_buf_printf(&text, "%s\"t%d\": 1", i ? ", " : "", i);
	mp_buf_add_str(&text, "}, \"Communication Bandwidth Info\": {");
	for (i = 0; i < N; i++)
		mp_buf_printf(&text, "%s\"x%d\": {\"Transit Size(MB)\": 1}", i ? ", " : "", i);
	mp_buf_add_str(&text, "}}}");
	put("communication.json", text.data, text.len);
	mp_buf_clear(&text);
	mp_buf_add_str(&text, "{\"a@g\": {");
	for (i = 0; i < N; i++)
		mp_buf_printf(&text, "%s\"0-%d\": {\"Transit Size(MB)\": 1}", i ? ", " : "", i);
	mp_buf_add_str(&text, "}");
	for (i = 0; i < N; i++)
		mp_buf_printf(&text, ", \"o%d@g\": {\"0-1\": {}}", i);
	mp_buf_add_str(&text, "}");
	put("communication_matrix.json", text.data, text.len);
	mp_buf_release(&text);
	open_run(ALL);
	free(written(&cur_communication_json));
	free(written(&cur_communication_matrix));
}

static void test_out_of_memory(void **state)
{
	(void)state;
	put_ops(priced_ops);
	put_matrix(
		"{\"a@g\": {\"0-1\": {\"Transport\\u0020Type\": \"HCCS\"}}, \"n\": {\"0-1\": {\"x\": NaN}}}");
	assert_true(rank_torture(&rank, &cur_communication_json) > 10);
	assert_true(rank_torture(&rank, &cur_communication_matrix) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_step_ids_are_escaped, make, drop),
		cmocka_unit_test_setup_teardown(test_keys_with_escapes_are_the_same_keys, make, drop),
		cmocka_unit_test_setup_teardown(test_total_bandwidth, make, drop),
		cmocka_unit_test_setup_teardown(test_unstarted_op, make, drop),
		cmocka_unit_test_setup_teardown(test_ranks_of_links, make, drop),
		cmocka_unit_test_setup_teardown(test_table, make, drop),
		cmocka_unit_test_setup_teardown(test_table_groups, make, drop),
		cmocka_unit_test_setup_teardown(test_nan_is_null, make, drop),
		cmocka_unit_test_setup_teardown(test_lies, make, drop),
		cmocka_unit_test_setup_teardown(test_truncation, make, drop),
		cmocka_unit_test_setup_teardown(test_many_keys, make, drop),
		cmocka_unit_test_setup_teardown(test_out_of_memory, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
