/* SPDX-License-Identifier: Apache-2.0 */
/*
 * minddata_pipeline_raw and _summary from inputs made by hand. Expected values follow sections 8.9 and 8.10
 * of analysis-current.md; how each comes about stands beside it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cur_rank.h"
#include "current/cur_minddata.h"

static void put(const char *name, const char *text, size_t size)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/FRAMEWORK", rank.path);
	mkdir(path, 0750);
	snprintf(path, sizeof(path), "FRAMEWORK/%s", name);
	rank_put_at(&rank, path, text, size);
}

static void put_text(const char *name, const char *text)
{
	put(name, text, strlen(text));
}

#define PIPELINE "pipeline_profiling_0.json"
#define CPU "minddata_cpu_utilization_0.json"
#define TIMES "device_queue_profiling_0.txt"

#define OP(id, type, children, metrics)                                                               \
	"{\"op_id\": " #id ", \"op_type\": \"" type "\", \"num_workers\": 4, \"children\": " children \
	", \"metrics\": " metrics "}"
#define QUEUE(sizes) "{\"output_queue\": {\"length\": 8, \"size\": " sizes "}}"

/* 0 DeviceQueue <- 1 Rename, without a queue <- 2 Map <- 3 TFReader */
static const char chain[] =
	"{\"sampling_interval\": 10, \"op_info\": [" OP(3, "TFReaderOp", "null", QUEUE("[8, 8]")) ", " OP(
		0, "DeviceQueueOp", "[1]",
		"null") ", " OP(2, "MapOp", "[3]", QUEUE("[0, 1, 0, 3]")) ", " OP(1, "RenameOp", "[2]",
										  "null") "]}";

static const char uses[] =
	"{\"op_info\": ["
	"{\"op_id\": 0, \"metrics\": {\"user_utilization\": [1, 2], \"sys_utilization\": [1, 0]}},"
	"{\"op_id\": 1, \"metrics\": {\"user_utilization\": [0], \"sys_utilization\": [0]}},"
	"{\"op_id\": 2, \"metrics\": {\"user_utilization\": [300, 340], \"sys_utilization\": [20, 0]}},"
	"{\"op_id\": 3, \"metrics\": {\"user_utilization\": [10], \"sys_utilization\": [2.5]}}]}";

static void put_all(void)
{
	put_text(PIPELINE, chain);
	put_text(CPU, uses);
	/* type extra batch value time: batch 1 only sets the clock; of list 0 2 and 5 ms, of list 1 3 ms */
	put_text(TIMES, "0 0 1 9 100\n0 0 2 2 110\n0 1 2 3 120\n0 0 3 5 130\n1 0 2 4 140\n");
}

/* Means: Map (0 + 1 + 0 + 3) / 4 = 1, of 8: 0.125; TFReader 8, of 8: 1. Rename has no queue and gives way to
 * Map. */
static void test_raw(void **state)
{
	(void)state;
	put_all();
	rank_open(&rank, ALL);
	rank_expect(
		&rank, &cur_minddata_raw,
		"op_id,op_type,num_workers,output_queue_size,output_queue_average_size,output_queue_length,"
		"output_queue_usage_rate,sample_interval,parent_id,children_id\r\n"
		"0,DeviceQueueOp,4,,,,,10,,[2]\r\n"
		"2,MapOp,4,\"[0, 1, 0, 3]\",1.0,8,0.125,10,0,[3]\r\n"
		"3,TFReaderOp,4,\"[8, 8]\",8.0,8,1.0,10,2,\r\n");
}

/*
 * Queue use: Map 12.5 %, TFReader 100 %. Empty: Map in 2 of 4 samples. Processor: DeviceQueue (1 + 2 + 1 + 0)
 * / 2 samples = 2, Map 660 / 2 = 330, TFReader 12.5; by worker 0.5, 82.5, 3.12 (3.125 to even). Times: (2 +
 * 5) / 2, 3. Map is busy (more than 75 %): it is the bottleneck.
 */
static void test_summary(void **state)
{
	size_t size;
	char *text;

	(void)state;
	put_all();
	rank_open(&rank, ALL);
	text = rank_write(&rank, &cur_minddata_summary_csv, &size);
	assert_non_null(strstr(text, "op_ids,0,1,2,3\r\n"));
	assert_non_null(strstr(text, "queue_average_size,-1,-1,1.0,8.0\r\n"));
	assert_non_null(strstr(text, "queue_utilization_pct,-1,-1,12.5,100.0\r\n"));
	assert_non_null(strstr(text, "queue_empty_freq_pct,-1,-1,50.0,0.0\r\n"));
	assert_non_null(strstr(text, "parent_id,-1,0,1,2\r\n"));
	assert_non_null(strstr(text, "avg_cpu_pct,2.0,0.0,330.0,12.5\r\n"));
	assert_non_null(strstr(text, "per_pipeline_time,3.5\r\n"));
	assert_non_null(strstr(text, "per_push_queue_time,3.0\r\n"));
	assert_non_null(strstr(text, "per_batch_time,-1\r\n"));
	assert_non_null(strstr(text, "avg_cpu_pct_per_worker,0.5,0.0,82.5,3.12\r\n"));
	assert_non_null(strstr(text, "bottleneck_warning,Map(id=2)\r\n"));
	/* the feeder of the device queue is Map, two operations further down */
	assert_non_null(strstr(text, "Map(id=2): its input queue is 100.0% full and its output queue 12.5%"));
	free(text);
	assert_int_equal(mp_store_n_notes(rank.store), 0);
}

/* The figures of test_summary as shares; the device queue's feeder Map is empty in half of the samples: it
 * keeps up. */
static void test_table(void **state)
{
	char found[512];

	(void)state;
	put_all();
	rank_open(&rank, ALL);
	assert_string_equal(rank_table(&rank, &cur_table_data_pipeline, found, sizeof(found)),
			    "DeviceQueue(id=0)|4|-|-|-|0.005|keeps up\n"
			    "Rename(id=1)|4|-|-|-|0|-\n"
			    "Map(id=2)|4|8|0.125|0.5|0.825|bottleneck: workers are busy\n"
			    "TFReader(id=3)|4|8|1|0|0.0312|-\n");
	/* nothing but the pipeline: no processors, so no bottleneck */
	put_text(CPU, "{}");
	rank_open(&rank, ALL);
	assert_string_equal(rank_table(&rank, &cur_table_data_pipeline, found, sizeof(found)),
			    "DeviceQueue(id=0)|4|-|-|-|-|keeps up\n"
			    "Rename(id=1)|4|-|-|-|-|-\n"
			    "Map(id=2)|4|8|0.125|0.5|-|-\n"
			    "TFReader(id=3)|4|8|1|0|-|-\n");
}

/* ---- what is missing ---- */

static void test_missing_files_are_named(void **state)
{
	uint64_t count;
	size_t size;

	(void)state;
	put_text(PIPELINE, chain);
	rank_open(&rank, ALL);
	free(rank_write(&rank, &cur_minddata_summary_csv, &size));
	assert_true(size > 0);
	free(rank_write(&rank, &cur_minddata_summary_json, &size));
	assert_true(size > 0);
	assert_int_equal(rank_notes(&rank, "no-pipeline-cpu", &count), 1);
	assert_int_equal(count, 1); /* loaded once for all outputs */
	assert_int_equal(rank_notes(&rank, "no-pipeline-times", &count), 1);
	assert_int_equal(count, 1);
	/* the original writes no summary then */
	rank_open(&rank, BUT(CUR_FIX_LOST_OUTPUTS));
	rank_expect(&rank, &cur_minddata_summary_csv, "");
}

static void test_absurd_times(void **state)
{
	size_t size;
	char *text;

	(void)state;
	put_text(PIPELINE, chain);
	put_text("dataset_iterator_profiling_0.txt",
		 "1 0 1 0 -9223372036854775808\n1 0 2 0 9223372036854775807\n1 0 3 0 9223372036854775807\n");
	rank_open(&rank, ALL);
	text = rank_write(&rank, &cur_minddata_summary_csv, &size);
	assert_non_null(strstr(text, "per_batch_time,0.0\r\n")); /* the first difference fits no 64 bits */
	free(text);
}

/* ---- no trees ---- */

static void test_a_cycle_ends(void **state)
{
	size_t size;
	char *text;

	(void)state;
	/* 0 -> 1 -> 2 -> 1, and 2 twice below 0 */
	put_text(PIPELINE,
		 "{\"sampling_interval\": 10, \"op_info\": [" OP(0, "AOp", "[1, 2, 2, 0]", "null") ", " OP(
			 1, "BOp", "[2]", QUEUE("[1]")) ", " OP(2, "COp", "[1]", QUEUE("[1]")) "]}");
	put_text(CPU, uses);
	rank_open(&rank, ALL);
	text = rank_write(&rank, &cur_minddata_raw, &size);
	assert_non_null(strstr(
		text,
		"0,AOp,4,,,,,10,,\"[1, 2]\"\r\n1,BOp,4,[1],1.0,8,0.125,10,0,\r\n2,COp,4,[1],1.0,8,0.125,10,0,\r\n"));
	free(text);
	assert_int_equal(rank_notes(&rank, "pipeline-no-tree", NULL), 1);
	free(rank_write(&rank, &cur_minddata_summary_csv, &size));
	assert_true(size > 0);
}

/* A long chain without queues, and all operations below each other: neither time nor output may grow with the
 * square. */
static void test_many_operations(void **state)
{
	enum { N = 50000 };
	struct mp_buf text;
	size_t size;
	int i;

	(void)state;
	mp_buf_init(&text, SIZE_MAX);
	mp_buf_add_str(&text, "{\"sampling_interval\": 10, \"op_info\": [");
	for (i = 0; i < N; i++)
		mp_buf_printf(&text, "%s{\"op_id\": %d, \"op_type\": \"XOp\", \"children\": [%d, 0, 1]}",
			      i ? ", " : "", i, i + 1);
	mp_buf_add_str(&text, "]}");
	put(PIPELINE, text.data, text.len);
	mp_buf_release(&text);
	rank_open(&rank, ALL);
	free(rank_write(&rank, &cur_minddata_raw, &size));
	assert_true(size > 0 && size < 100 * N);
	free(rank_write(&rank, &cur_minddata_summary_json, &size));
	assert_true(size > 0 && size < 200 * N);
}

/* ---- lies ---- */

static void write_all(void)
{
	static const struct cur_output *const outputs[] = {&cur_minddata_raw, &cur_minddata_summary_csv,
							   &cur_minddata_summary_json};
	size_t i, size;

	rank_open(&rank, ALL);
	for (i = 0; i < MP_COUNT(outputs); i++) {
		char *text = rank_write(&rank, outputs[i], &size);

		if (outputs[i] == &cur_minddata_summary_json && size) {
			struct mp_json json;

			mp_json_init(&json, text, size);
			assert_int_equal(mp_json_next(&json), MP_JSON_OBJECT);
			assert_true(mp_json_skip(&json, MP_JSON_OBJECT));
		}
		free(text);
	}
}

static void test_lies(void **state)
{
	static const char *const lies[] = {
		"",
		"[]",
		"1",
		"{}",
		"{\"op_info\": 1}",
		"{\"op_info\": {}}",
		"{\"op_info\": [1, null, [], \"x\", {}]}",
		"{\"sampling_interval\": NaN, \"op_info\": []}",
		"{\"sampling_interval\": 1, \"op_info\": [{\"op_id\": 1}]}",
		"{\"sampling_interval\": 1, \"op_info\": [{\"op_id\": 0}, {\"op_id\": 0}]}",
		"{\"sampling_interval\": 1, \"op_info\": [{\"op_id\": 9223372036854775808}]}",
		"{\"sampling_interval\": 1, \"op_info\": [{\"op_id\": 0, \"op_type\": 1, \"num_workers\": -1}]}",
		"{\"sampling_interval\": 1, \"op_info\": [{\"op_id\": 0, \"op_type\": \"\", \"children\": {}}]}",
		"{\"sampling_interval\": 1, \"op_info\": [{\"op_id\": 0, \"op_type\": \"\xff\\u0000\\\"\"}]}",
		"{\"sampling_interval\": 1, \"op_info\": [{\"op_id\": 0, \"metrics\": {\"output_queue\": {\"length\": 0}}}]}",
		("{\"sampling_interval\": 1, \"op_info\": [{\"op_id\": 0, \"metrics\": {\"output_queue\": {\"length\": 1,"
		 " \"size\": [9223372036854775807, 9223372036854775807, -1, 1e400, \"x\", {}]}}}]}"),
		"{\"sampling_interval\": 1, \"op_info\": [{\"op_id\": 0, \"metrics\": {\"user_utilization\": [1e308, 1e308]}}]}",
		"{\"sampling_interval\": \"a,b\\\"\", \"op_info\": [{\"op_id\": 0}]}",
		"0 0 2 1e5 3\n\n \n0 9 9 9 9 9 9\n1 0 2 99999999999999999999 1\nx",
	};
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(lies); i++) {
		put_text(PIPELINE, lies[i]);
		put_text(CPU, lies[i]);
		put_text(TIMES, lies[i]);
		write_all();
		assert_true(rank_notes(&rank, "bad-json", NULL) <= 2);
		put_text(PIPELINE, chain);
		write_all();
		assert_true(rank_notes(&rank, "bad-json", NULL) <= 1);
	}
}

static void test_truncation(void **state)
{
	size_t cut;

	(void)state;
	for (cut = 0; cut < sizeof(chain) - 1; cut += 7) {
		put_all();
		put(PIPELINE, chain, cut);
		write_all();
		assert_true(rank_notes(&rank, "bad-json", NULL) == 1);
	}
	for (cut = 0; cut < sizeof(uses) - 1; cut += 7) {
		put_all();
		put(CPU, uses, cut);
		write_all();
		assert_true(rank_notes(&rank, "bad-json", NULL) == 1);
	}
}

static void test_out_of_memory(void **state)
{
	(void)state;
	put_all();
	assert_true(rank_torture(&rank, &cur_minddata_raw) > 10);
	assert_true(rank_torture(&rank, &cur_minddata_summary_csv) > 10);
	assert_true(rank_torture(&rank, &cur_minddata_summary_json) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_raw, make, drop),
		cmocka_unit_test_setup_teardown(test_summary, make, drop),
		cmocka_unit_test_setup_teardown(test_table, make, drop),
		cmocka_unit_test_setup_teardown(test_missing_files_are_named, make, drop),
		cmocka_unit_test_setup_teardown(test_absurd_times, make, drop),
		cmocka_unit_test_setup_teardown(test_a_cycle_ends, make, drop),
		cmocka_unit_test_setup_teardown(test_many_operations, make, drop),
		cmocka_unit_test_setup_teardown(test_lies, make, drop),
		cmocka_unit_test_setup_teardown(test_truncation, make, drop),
		cmocka_unit_test_setup_teardown(test_out_of_memory, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
