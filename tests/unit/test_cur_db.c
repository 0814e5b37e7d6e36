/* SPDX-License-Identifier: Apache-2.0 */
/* The databases from inputs made by hand: values, lies, failures. tests/golden/db_test.py has whole
 * directories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cur_rank.h"
#include "current/cur_db.h"

#define META(pid, name)                               \
	"{\"name\": \"process_name\", \"pid\": " #pid \
	", \"tid\": 0, \"ph\": \"M\", \"args\": {\"name\": \"" name "\"}}"

/* Process 3: 3 << 10 | 7 << 5 | 31 = 3327 is CANN on the host, 3 << 10 | 14 << 5 | 2 = 3522 the hardware of
 * device 2. */
static const char events[] = "[" META(3327, "CANN") ", " META(
	3522,
	"Ascend Hardware") ", "
			   "{\"name\": \"Node@launch\", \"ph\": \"X\", \"pid\": 3327, \"tid\": 5, \"ts\": \"10.500\", \"dur\": 1.25,"
			   " \"args\": {\"level\": \"node\", \"connection_id\": 77}}, "
			   "{\"name\": \"MatMul\\u002dop\", \"ph\": \"X\", \"pid\": 3522, \"tid\": 9, \"ts\": 12, \"dur\": 2,"
			   " \"args\": {\"Task Type\": \"AI_CORE\", \"Task Id\": 4, \"Physic Stream Id\": 9, \"Model Id\": 1, \"connection_id\": 77}}, "
			   "{\"name\": \"AI Core Freq\", \"ph\": \"C\", \"pid\": 3522, \"tid\": 0, \"ts\": \"13.000\", \"args\": {\"MHz\": 1800}}, "
			   "{\"name\": \"HBM 1/Read\", \"ph\": \"C\", \"pid\": 3522, \"tid\": 0, \"ts\": \"14.000\", \"args\": {\"MB/s\": 2}}]";

static const char summary[] =
	"Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Block Num\n"
	"2,1,4,9,MatMul-op,MatMul,AI_CORE,12.000\t,2.000,24\n"
	"2,1,5,9,\"with,comma\",Add,AI_VECTOR_CORE,20.000\t,1.000,1\n"
	"2,1,N/A,N/A,hcom,hcom_allReduce_,COMMUNICATION,21.000\t,1.000,0\n";

static void put_inputs(void)
{
	rank_put_text(&rank, "msprof_20250705.json", events);
	rank_put_text(&rank, "op_summary_20250705.csv", summary);
}

static mp_status write_to(struct cur_run *run, const struct mp_dir *dir, bool *written)
{
	return cur_db_write(run, &cur_db_files[0], dir, "x.db", written, NULL);
}

static void make_db(bool expected)
{
	struct mp_dir dir;
	bool written;

	rank_open(&rank, ALL);
	assert_int_equal(mp_dir_open(rank.path, &dir, NULL), MINDPROF_OK);
	assert_int_equal(write_to(&rank.run, &dir, &written), MINDPROF_OK);
	assert_int_equal(written, expected);
	mp_dir_close(&dir);
}

/* The first column of the first row; the text is SQLite's until the next call. */
static const char *ask(const char *sql)
{
	static char text[256];
	char path[1024];
	sqlite3_stmt *statement;
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/x.db", rank.path);
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	snprintf(text, sizeof(text), "%s",
		 sqlite3_column_text(statement, 0) ? (const char *)sqlite3_column_text(statement, 0)
						   : "NULL");
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return text;
}

#define STRING(id) "(SELECT value FROM STRING_IDS WHERE id = " id ")"

/* globalTid 3 << 32 | 5 = 12884901893. The second task is known from op_summary only. HBM: 2 MB/s = 2097152
 * bytes/s. */
static void test_values(void **state)
{
	(void)state;
	put_inputs();
	make_db(true);
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
	assert_string_equal(
		ask("SELECT startNs || ' ' || endNs || ' ' || type || ' ' || globalTid || ' ' || connectionId || ' ' || " STRING(
			"name") " FROM CANN_API"),
		"10500 11750 10000 12884901893 77 launch");
	assert_string_equal(
		ask("SELECT startNs || ' ' || endNs || ' ' || deviceId || ' ' || connectionId || ' ' || globalPid || ' ' || " STRING(
			"taskType") " || ' ' || streamId || ' ' || taskId || ' ' || modelId FROM TASK WHERE globalTaskId = 0"),
		"12000 14000 2 77 3 AI_CORE 9 4 1");
	assert_string_equal(
		ask("SELECT " STRING(
			"name") " || ' ' || blockNum FROM COMPUTE_TASK_INFO WHERE globalTaskId = 0"),
		"MatMul-op 24");
	assert_string_equal(
		ask("SELECT " STRING(
			"name") " || ' ' || connectionId || ' ' || startNs FROM COMPUTE_TASK_INFO JOIN TASK USING"
				" (globalTaskId) WHERE globalTaskId = 1"),
		"with,comma 4294967295 20000");
	assert_string_equal(ask("SELECT count(*) FROM COMPUTE_TASK_INFO"), "2");
	assert_string_equal(ask("SELECT freq || ' ' || timestampNs || ' ' || deviceId FROM AICORE_FREQ"),
			    "1800 13000 2");
	assert_string_equal(ask("SELECT bandwidth || ' ' || hbmId || ' ' || " STRING("type") " FROM HBM"),
			    "2097152 1 Read");
	assert_string_equal(ask("SELECT rankId || ' ' || deviceId FROM RANK_DEVICE_MAP"), "0 2");
	assert_string_equal(ask("SELECT startTimeNs || ' ' || endTimeNs FROM SESSION_TIME_INFO"),
			    "10500 21000");
	assert_string_equal(ask("SELECT value FROM META_DATA WHERE name = 'SCHEMA_VERSION'"), "1.2.0");
	assert_string_equal(
		ask("SELECT count(*) FROM sqlite_master WHERE name IN ('COMMUNICATION_OP', 'NPU_MEM')"), "0");
}

static void test_nothing_to_say(void **state)
{
	(void)state;
	make_db(false);
	/* a finished one that is none is named, and made from nothing */
	rank_put_at(&rank, RANK_PROF "/msprof_20250705.db", "SQLite format 2", 15);
	make_db(false);
	assert_int_equal(rank_notes(&rank, "bad-database", NULL), 1);
}

static void test_lies(void **state)
{
	static const char *const lies[] = {
		"",
		"[",
		"[]",
		"[1, null, []]",
		"[{}]",
		"{\"traceEvents\": []}",
		"[" META(
			3327,
			"CANN") ", {\"name\": 1, \"ph\": \"X\", \"pid\": 3327, \"tid\": \"x\", \"ts\": [], \"dur\": {}, \"args\": 3}]",
		"[" META(
			3327,
			"CANN") ", {\"ph\": \"X\", \"pid\": 3327, \"tid\": 0, \"ts\": 9223372036854775.807, \"dur\": 1}]",
		"[" META(
			3522,
			"Ascend Hardware") ", {\"name\": \"\xff\\ud800\", \"ph\": \"X\", \"pid\": 3522, \"tid\": 0, \"ts\": 1, \"dur\": 1e300,"
					   " \"args\": {\"Task Id\": 1e300, \"Task Type\": {}, \"connection_id\": \"\"}}]",
		"[" META(
			3522,
			"Ascend Hardware") ", {\"name\": \"a\", \"ph\": \"X\", \"pid\": 3522, \"tid\": 9223372036854775807, \"ts\": -1,"
					   " \"dur\": -5, \"args\": {\"Task Id\": -9223372036854775808}}]",
		"[" META(
			-1,
			"HCCL") ", {\"name\": \"\", \"ph\": \"X\", \"pid\": -1, \"tid\": 0, \"ts\": 1, \"dur\": 1, \"args\": {\"count\": 1}}]",
		"[{\"name\": \"HBM /\", \"ph\": \"C\", \"pid\": 1, \"ts\": 1, \"args\": {\"x\": 1e999}}]",
	};
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(lies); i++) {
		rank_put_text(&rank, "msprof_20250705.json", lies[i]);
		rank_put_text(&rank, "op_summary_20250705.csv", lies[i]);
		rank_put_text(&rank, "npu_mem_20250705.csv", lies[i]);
		make_db(true);
		assert_string_equal(ask("PRAGMA integrity_check"), "ok");
	}
}

static void test_truncation(void **state)
{
	size_t cut;

	(void)state;
	for (cut = 1; cut < sizeof(events); cut += 17) {
		rank_put(&rank, "msprof_20250705.json", events, cut);
		rank_put(&rank, "op_summary_20250705.csv", summary,
			 cut < sizeof(summary) ? cut : sizeof(summary) - 1);
		make_db(true);
		assert_string_equal(ask("PRAGMA integrity_check"), "ok");
	}
}

/* ---- read again ---- */

#define EXPORTED(name) RANK_EXPORT "/" name

/* The database takes the place of the text. */
static void move_to_database(void)
{
	char from[2048], to[2048];

	put_inputs();
	make_db(true);
	snprintf(from, sizeof(from), "%s/x.db", rank.path);
	snprintf(to, sizeof(to), "%s/" RANK_PROF "/msprof_20250705.db", rank.path);
	assert_int_equal(rename(from, to), 0);
	snprintf(from, sizeof(from), "%s/" EXPORTED("msprof_20250705.json"), rank.path);
	assert_int_equal(unlink(from), 0);
	snprintf(from, sizeof(from), "%s/" EXPORTED("op_summary_20250705.csv"), rank.path);
	assert_int_equal(unlink(from), 0);
}

static void test_read_again(void **state)
{
	const struct cur_device *device = &rank.run.device;
	char made[1024];
	size_t size;
	char *text;

	(void)state;
	move_to_database();
	rank_open(&rank, ALL);
	assert_non_null(rank.run.made_text);
	snprintf(made, sizeof(made), "%s", rank.run.made_text);
	assert_int_equal(rank_notes(&rank, "text-from-database", NULL), 1);
	text = rank_write(&rank, &cur_kernel_details, &size);
	assert_non_null(strstr(text, "1,4,9,MatMul-op,MatMul,N/A,AI_CORE,12.000\t,2.000,0.000,24,0,N/A,"));
	/* 20 - 14 us after the kernel before */
	assert_non_null(
		strstr(text, "1,5,9,\"with,comma\",Add,N/A,AI_VECTOR_CORE,20.000\t,1.000,6.000,1,0,N/A,"));
	free(text);
	text = rank_write(&rank, &cur_trace_view, &size);
	assert_non_null(strstr(
		text,
		"{\"name\": \"Node@launch\", \"pid\": 3327, \"tid\": 5, \"ts\": \"10.500\", \"dur\": 1.250,"));
	assert_non_null(strstr(
		text,
		"{\"name\": \"MatMul-op\", \"pid\": 3522, \"tid\": 9, \"ts\": \"12.000\", \"dur\": 2.000,"));
	/* 77 << 32 */
	assert_non_null(strstr(
		text,
		"\"ph\": \"s\", \"cat\": \"HostToDevice\", \"id\": \"330712481792\", \"pid\": 3327, \"tid\": 5"));
	free(text);
	assert_true(device->has_layer[CUR_LAYER_CANN] && device->has_layer[CUR_LAYER_HARDWARE]);
	rank_close(&rank);
	assert_int_equal(access(made, F_OK), -1); /* nothing is left behind */
	/* the original knows the text only */
	rank_open(&rank, 0);
	assert_null(rank.run.made_text);
}

/* Cuts and changed bytes: what can be read is used, and the rest is named. */
static void test_damaged_database(void **state)
{
	struct mp_file file;
	char path[2048];
	size_t size, i;
	char *copy;

	(void)state;
	move_to_database();
	rank_close(&rank);
	snprintf(path, sizeof(path), "%s/" RANK_PROF "/msprof_20250705.db", rank.path);
	assert_int_equal(mp_file_open(path, &file, NULL), MINDPROF_OK);
	copy = malloc(file.size);
	assert_non_null(copy);
	for (i = 0; i < 100; i++) {
		size_t at = (i * 7919 + 13) % file.size;

		memcpy(copy, file.data, file.size);
		if (i % 2)
			copy[at] ^= (char)(1 + i % 255);
		rank_put_at(&rank, RANK_PROF "/msprof_20250706.db", copy, i % 2 ? file.size : at);
		rank_open(&rank, ALL);
		free(rank_write(&rank, &cur_kernel_details, &size));
		free(rank_write(&rank, &cur_trace_view, &size));
		rank_close(&rank);
	}
	free(copy);
	mp_file_close(&file);
}

/* A failed allocation leaves no file, and no temporary one either. */
static void test_out_of_memory(void **state)
{
	struct mp_dir_entry *entries;
	struct mp_dir dir;
	uint64_t n, tried;
	size_t n_entries, i;
	bool written;

	(void)state;
	put_inputs();
	assert_int_equal(mp_dir_open(rank.path, &dir, NULL), MINDPROF_OK);
	for (n = 0;; n++) {
		mp_status status;

		rank_open(&rank, ALL);
		unlinkat(dir.fd, "x.db", 0);
		mp_mem_fail_after(n);
		status = write_to(&rank.run, &dir, &written);
		tried = mp_mem_fail_after(UINT64_MAX);
		if (tried <= n)
			break;
		assert_true(status == MINDPROF_OK || status == MINDPROF_E_NOMEM);
		assert_true((status == MINDPROF_OK) == (faccessat(dir.fd, "x.db", F_OK, 0) == 0));
		assert_int_equal(mp_dir_list(&dir, &entries, &n_entries, NULL), MINDPROF_OK);
		for (i = 0; i < n_entries; i++)
			assert_null(strstr(entries[i].name, ".tmp"));
		mp_free(entries);
	}
	assert_true(tried > 50);
	mp_dir_close(&dir);
}

static void test_unwritable(void **state)
{
	struct mp_dir dir;
	mp_err err = {0};
	char text[512];
	bool written;

	(void)state;
	put_inputs();
	rank_open(&rank, ALL);
	assert_int_equal(mp_dir_open(rank.path, &dir, NULL), MINDPROF_OK);
	assert_int_equal(mkdirat(dir.fd, "x.db", 0700), 0); /* cannot be replaced by a file */
	assert_int_equal(cur_db_write(&rank.run, &cur_db_files[0], &dir, "x.db", &written, &err),
			 MINDPROF_E_IO);
	assert_non_null(strstr(mindprof_error_text(&err, text, sizeof(text)), "cannot write 'x.db'"));
	mp_dir_close(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_values, make, drop),
		cmocka_unit_test_setup_teardown(test_nothing_to_say, make, drop),
		cmocka_unit_test_setup_teardown(test_lies, make, drop),
		cmocka_unit_test_setup_teardown(test_truncation, make, drop),
		cmocka_unit_test_setup_teardown(test_read_again, make, drop),
		cmocka_unit_test_setup_teardown(test_damaged_database, make, drop),
		cmocka_unit_test_setup_teardown(test_out_of_memory, make, drop),
		cmocka_unit_test_setup_teardown(test_unwritable, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
