/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables that the device tool would have exported, from its database: op_summary, api_statistic, npu_mem,
 * npu_module_mem (prof-raw.md section 9.1).
 */
#include "current/cur_csv.h"
#include "current/cur_db_text.h"

#include "base/banned.h"

struct writing {
	struct mp_out *out;
	int64_t device, end_ns; /* of the row before */
	bool any;
};

static void put_comma(struct mp_out *out)
{
	mp_out_str(out, ",");
}

static void put_us(struct mp_out *out, int64_t ns)
{
	mp_out_us3(out, ns);
	put_comma(out);
}

/* A point in time; the TAB keeps the digits in spreadsheets. */
static void put_time(struct mp_out *out, int64_t ns)
{
	mp_out_us3(out, ns);
	mp_out_str(out, "\t,");
}

static void put_int(struct mp_out *out, int64_t value)
{
	mp_out_i64(out, value);
	put_comma(out);
}

static void put_text(struct mp_out *out, struct mp_str text)
{
	cur_csv_text(out, text.len ? text.text : "N/A", text.len ? text.len : 3);
	put_comma(out);
}

static int64_t duration(int64_t begin_ns, int64_t end_ns)
{
	int64_t dur_ns;

	return __builtin_sub_overflow(end_ns, begin_ns, &dur_ns) || dur_ns < 0 ? 0 : dur_ns;
}

/* ---- op_summary ---- */

enum {
	DEVICE,
	MODEL,
	TASK,
	STREAM,
	NAME,
	TYPE,
	STATE,
	TASK_TYPE,
	BEGIN,
	END,
	BLOCKS,
	MIX_BLOCKS,
	HF32,
	SHAPES, /* six */
	CONTEXT = SHAPES + 6
};

static void put_integers(struct mp_out *out, sqlite3_stmt *row, int from, int to)
{
	int i;

	for (i = from; i <= to; i++)
		if (sqlite3_column_type(row, i) == SQLITE_NULL)
			mp_out_str(out, "N/A,");
		else
			put_int(out, cur_db_get_int(row, i));
}

static bool put_kernel(void *user, sqlite3_stmt *row)
{
	struct writing *writing = user;
	struct mp_out *out = writing->out;
	int64_t begin_ns = cur_db_get_int(row, BEGIN), end_ns = cur_db_get_int(row, END), wait_ns = 0;
	int64_t device = cur_db_get_int(row, DEVICE), context = cur_db_get_int(row, CONTEXT);
	int i;

	/* of communication there is none */
	if (writing->any && device == writing->device && sqlite3_column_type(row, TASK) != SQLITE_NULL)
		wait_ns = duration(writing->end_ns, begin_ns);
	put_integers(out, row, DEVICE, STREAM);
	for (i = NAME; i <= TASK_TYPE; i++)
		put_text(out, cur_db_get_text(row, i));
	put_time(out, begin_ns);
	put_us(out, duration(begin_ns, end_ns));
	put_us(out, wait_ns);
	put_integers(out, row, BLOCKS, MIX_BLOCKS);
	for (i = HF32; i < CONTEXT; i++)
		put_text(out, cur_db_get_text(row, i));
	if (context == UINT32_MAX || sqlite3_column_type(row, CONTEXT) == SQLITE_NULL)
		mp_out_str(out, "N/A\n");
	else
		mp_out_printf(out, "%lld\n", (long long)context);
	writing->device = device;
	writing->end_ns = end_ns;
	writing->any = true;
	return true;
}

#define STRING(column) "(SELECT value FROM STRING_IDS WHERE id = " column ")"

/* Rows of tasks; the names of two columns and whether there are two others depend on the version of the
 * schema. */
static char *tasks_query(const struct cur_db_in *in)
{
	bool old = !cur_db_has(in, "COMPUTE_TASK_INFO", "blockNum");

	return mp_asprintf(
		"SELECT t.deviceId, t.modelId, t.taskId, t.streamId, " STRING("c.name") ", " STRING("c.opType") ", %s, " STRING("c.taskType") ", t.startNs AS begin, t.endNs, c.%s, c.%s, %s, " STRING(
			"c.inputShapes") ", " STRING("c.inputDataTypes") ", " STRING("c.inputFormats") ", " STRING("c.outputShapes") ", " STRING("c.outputDataTypes") ", " STRING("c.outputFormats") ", t.contextId "
																								     "FROM COMPUTE_TASK_INFO c JOIN TASK t ON t.globalTaskId = c.globalTaskId",
		cur_db_has(in, "COMPUTE_TASK_INFO", "opState") ? STRING("c.opState") : "''",
		old ? "blockDim" : "blockNum", old ? "mixBlockDim" : "mixBlockNum",
		cur_db_has(in, "COMPUTE_TASK_INFO", "hf32Eligible") ? STRING("c.hf32Eligible") : "''");
}

/* Communication operators are rows without a task. */
static const char ops_query[] =
	" UNION ALL SELECT coalesce((SELECT deviceId FROM TASK LIMIT 1), 0), 4294967295, NULL, NULL, " STRING(
		"opName") ", " STRING("opType") ", '', 'COMMUNICATION', startNs, endNs, 0, 0, '', '', '', '', '', '', '', NULL "
						"FROM COMMUNICATION_OP";

static mp_status write_summary(struct cur_db_in *in, struct mp_out *out, mp_err *err)
{
	struct writing writing = {.out = out};
	char *tasks = tasks_query(in), *sql = NULL;
	mp_status status;

	mp_out_str(
		out,
		"Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),"
		"Task Duration(us),Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input "
		"Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID\n");
	if (tasks)
		sql = mp_asprintf("%s%s ORDER BY 1, 9;", tasks,
				  cur_db_has(in, "COMMUNICATION_OP", NULL) ? ops_query : "");
	status = sql ? cur_db_query(in, sql, put_kernel, &writing, err) : mp_err_nomem(err, 0);
	mp_free(tasks);
	mp_free(sql);
	return status;
}

const struct cur_db_text cur_db_text_summary = {"op_summary_0.csv", "COMPUTE_TASK_INFO", write_summary};

/* ---- api_statistic ---- */

/* Level, name, then count and times in ns; the variance is that of the population, in us^2. */
static bool put_api(void *user, sqlite3_stmt *row)
{
	struct writing *writing = user;
	struct mp_out *out = writing->out;

	mp_out_str(out, "host,");
	put_text(out, cur_db_get_text(row, 0));
	put_text(out, cur_db_get_text(row, 1));
	put_us(out, cur_db_get_int(row, 3));
	put_int(out, cur_db_get_int(row, 2));
	put_us(out, cur_db_get_int(row, 4));
	put_us(out, cur_db_get_int(row, 5));
	put_us(out, cur_db_get_int(row, 6));
	mp_out_printf(out, "%.3f\n", sqlite3_column_double(row, 7));
	return true;
}

static mp_status write_api(struct cur_db_in *in, struct mp_out *out, mp_err *err)
{
	struct writing writing = {.out = out};

	mp_out_str(out, "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n");
	return cur_db_query(
		in,
		"SELECT coalesce((SELECT name FROM ENUM_API_TYPE WHERE id = type), type), " STRING(
			"name") ", n, total, "
				"cast(total / n AS INTEGER), least, most, max(0, squares / n - (total / 1000.0 / n) * (total / 1000.0 / n)) "
				"FROM (SELECT type, name, count(*) AS n, sum(endNs - startNs) AS total, min(endNs - startNs) AS least, "
				"max(endNs - startNs) AS most, sum((endNs - startNs) / 1000.0 * (endNs - startNs) / 1000.0) AS squares "
				"FROM CANN_API GROUP BY type, name) ORDER BY total DESC;",
		put_api, &writing, err);
}

const struct cur_db_text cur_db_text_api = {"api_statistic_0.csv", "CANN_API", write_api};

/* ---- memory ---- */

static void put_kib(struct mp_out *out, int64_t bytes)
{
	if (bytes % 1024)
		mp_out_double(out, (double)bytes / 1024);
	else
		mp_out_i64(out, bytes / 1024);
	put_comma(out);
}

static bool put_npu_mem(void *user, sqlite3_stmt *row)
{
	struct writing *writing = user;
	int64_t ddr = cur_db_get_int(row, 2), hbm = cur_db_get_int(row, 3), sum;

	if (__builtin_add_overflow(ddr, hbm, &sum))
		sum = INT64_MAX;
	put_int(writing->out, cur_db_get_int(row, 0));
	put_text(writing->out, cur_db_get_text(row, 1));
	put_kib(writing->out, ddr);
	put_kib(writing->out, hbm);
	put_kib(writing->out, sum);
	mp_out_us3(writing->out, cur_db_get_int(row, 4));
	mp_out_str(writing->out, "\t\n");
	return true;
}

/* "app" of the database is "APP" of the text. */
static mp_status write_npu_mem(struct cur_db_in *in, struct mp_out *out, mp_err *err)
{
	struct writing writing = {.out = out};

	mp_out_str(out, "Device_id,event,ddr(KB),hbm(KB),memory(KB),timestamp(us)\n");
	return cur_db_query(
		in,
		"SELECT deviceId, CASE lower(" STRING(
			"type") ") WHEN 'app' THEN 'APP' WHEN 'device' THEN 'Device' "
				"ELSE " STRING(
					"type") " END, ddr, hbm, timestampNs FROM NPU_MEM ORDER BY timestampNs;",
		put_npu_mem, &writing, err);
}

const struct cur_db_text cur_db_text_npu_mem = {"npu_mem_0.csv", "NPU_MEM", write_npu_mem};

static bool put_module(void *user, sqlite3_stmt *row)
{
	struct writing *writing = user;

	put_int(writing->out, cur_db_get_int(row, 0));
	put_text(writing->out, cur_db_get_text(row, 1));
	put_time(writing->out, cur_db_get_int(row, 2));
	put_kib(writing->out, cur_db_get_int(row, 3));
	mp_out_printf(writing->out, "NPU:%lld\n", (long long)cur_db_get_int(row, 0));
	return true;
}

static mp_status write_module_mem(struct cur_db_in *in, struct mp_out *out, mp_err *err)
{
	struct writing writing = {.out = out};

	mp_out_str(out, "Device_id,Component,Timestamp(us),Total Reserved(KB),Device\n");
	return cur_db_query(
		in,
		"SELECT deviceId, coalesce((SELECT name FROM ENUM_MODULE WHERE id = moduleId), moduleId), "
		"timestampNs, totalReserved FROM NPU_MODULE_MEM ORDER BY timestampNs;",
		put_module, &writing, err);
}

const struct cur_db_text cur_db_text_module_mem = {"npu_module_mem_0.csv", "NPU_MODULE_MEM",
						   write_module_mem};
