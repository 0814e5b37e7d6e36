/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COMPUTE_TASK_INFO and the rows of TASK that msprof_*.json did not have. Input: op_summary_*.csv.
 * Communication is left out: it has COMMUNICATION_OP.
 */
#include "base/num.h"
#include "current/cur_db.h"

#include "base/banned.h"

enum {
	DEVICE,
	MODEL,
	TASK,
	STREAM,
	NAME,
	OP_TYPE,
	OP_STATE,
	TASK_TYPE,
	START,
	DURATION,
	BLOCK_NUM,
	BLOCK_DIM,
	MIX_BLOCK_NUM,
	MIX_BLOCK_DIM,
	HF32,
	INPUT_SHAPES,
	INPUT_TYPES,
	INPUT_FORMATS,
	OUTPUT_SHAPES,
	OUTPUT_TYPES,
	OUTPUT_FORMATS,
	CONTEXT,
	COLUMNS
};

_Static_assert(COLUMNS <= CUR_CSV_TITLES, "columns that are looked for");

static const char *const titles[COLUMNS] = {
	"Device_id",      "Model ID",         "Task ID",       "Stream ID",           "Op Name",
	"OP Type",        "OP State",         "Task Type",     "Task Start Time(us)", "Task Duration(us)",
	"Block Num",      "Block Dim",        "Mix Block Num", "Mix Block Dim",       "HF32 Eligible",
	"Input Shapes",   "Input Data Types", "Input Formats", "Output Shapes",       "Output Data Types",
	"Output Formats", "Context ID",
};

#define INFO_COLUMNS                                                                                                    \
	"name INTEGER, globalTaskId INTEGER, blockNum INTEGER, mixBlockNum INTEGER, taskType INTEGER, opType INTEGER, " \
	"inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER, outputFormats INTEGER, outputDataTypes "    \
	"INTEGER, outputShapes INTEGER, attrInfo INTEGER, opState INTEGER, hf32Eligible INTEGER, gridDim INTEGER, "     \
	"blockDim INTEGER"

struct kernels {
	struct cur_db *db;
	struct cur_db_rows infos;
};

static int64_t number(const struct mp_csv *csv, const int *columns, int column, int64_t otherwise)
{
	struct mp_str text = cur_csv_field(csv, columns[column]);
	int64_t value;

	return mp_num_parse_i64(text.text, text.len, &value) ? value : otherwise;
}

static bool scaled(const struct mp_csv *csv, const int *columns, int column, int64_t *ns)
{
	struct mp_str text = cur_csv_field(csv, columns[column]);

	while (text.len && text.text[text.len - 1] == '\t')
		text.len--;
	return mp_num_parse_scaled(text.text, text.len, 3, ns);
}

static void put_string(struct kernels *kernels, const struct mp_csv *csv, const int *columns, int column)
{
	struct mp_str text = cur_csv_field(csv, columns[column]);

	if (columns[column] < 0)
		text = (struct mp_str){"N/A", 3};
	cur_db_int(&kernels->infos, cur_db_string(kernels->db, text));
}

static bool take(void *user, const struct mp_csv *csv, const int *columns)
{
	static const int texts[] = {INPUT_FORMATS,  INPUT_TYPES,  INPUT_SHAPES,
				    OUTPUT_FORMATS, OUTPUT_TYPES, OUTPUT_SHAPES};
	struct kernels *kernels = user;
	struct cur_db *db = kernels->db;
	bool old_names = columns[BLOCK_NUM] < 0;
	struct cur_db_task task = {.connection = CUR_DB_NONE};
	int64_t dur_ns;
	size_t i;

	if (cur_is_communication(cur_csv_field(csv, columns[TASK_TYPE])) ||
	    !scaled(csv, columns, START, &task.begin_ns) || !scaled(csv, columns, DURATION, &dur_ns) ||
	    __builtin_add_overflow(task.begin_ns, dur_ns, &task.end_ns))
		return true;
	task.device = number(csv, columns, DEVICE, 0);
	task.type = cur_db_string(db, cur_csv_field(csv, columns[TASK_TYPE]));
	task.context = number(csv, columns, CONTEXT, CUR_DB_NONE);
	task.stream = number(csv, columns, STREAM, CUR_DB_NONE);
	task.task = number(csv, columns, TASK, CUR_DB_NONE);
	task.model = number(csv, columns, MODEL, CUR_DB_NONE);
	put_string(kernels, csv, columns, NAME);
	cur_db_int(&kernels->infos, cur_db_task_id(db, &task));
	cur_db_int(&kernels->infos, number(csv, columns, old_names ? BLOCK_DIM : BLOCK_NUM, 0));
	cur_db_int(&kernels->infos, number(csv, columns, old_names ? MIX_BLOCK_DIM : MIX_BLOCK_NUM, 0));
	cur_db_int(&kernels->infos, task.type);
	put_string(kernels, csv, columns, OP_TYPE);
	for (i = 0; i < MP_COUNT(texts); i++)
		put_string(kernels, csv, columns, texts[i]);
	cur_db_null(&kernels->infos); /* attrInfo */
	put_string(kernels, csv, columns, OP_STATE);
	put_string(kernels, csv, columns, HF32);
	cur_db_null(&kernels->infos); /* gridDim */
	cur_db_null(&kernels->infos); /* blockDim of threads */
	cur_db_row_end(&kernels->infos);
	return !db->no_memory;
}

mp_status cur_db_put_kernels(struct cur_db *db, mp_err *err)
{
	struct kernels kernels = {.db = db};
	struct cur_file_list files;
	mp_status status;
	size_t i;

	MP_TRY(cur_files_find(&db->run->exported, "op_summary_*.csv", &files, err));
	status = MINDPROF_OK;
	if (files.names.len)
		cur_db_table(&db->out, "COMPUTE_TASK_INFO", INFO_COLUMNS, &kernels.infos);
	for (i = 0; !status && i < files.names.len; i++)
		status = cur_csv_rows(db->run, &db->run->exported, files.names.at[i], titles, COLUMNS, take,
				      &kernels, err);
	cur_db_rows_end(&kernels.infos);
	cur_files_release(&files);
	return status;
}
