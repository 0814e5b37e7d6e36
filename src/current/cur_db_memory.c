/* SPDX-License-Identifier: Apache-2.0 */
/* NPU_MEM and NPU_MODULE_MEM. Input: npu_mem_*.csv, npu_module_mem_*.csv of the export. */
#include "base/num.h"
#include "current/cur_db.h"

#include "base/banned.h"

#define MAX_NEW_MODULES 1000 /* a file that has more is odd */

struct memory {
	struct cur_db *db;
	struct cur_db_rows rows;
};

static bool size_of(const struct mp_csv *csv, int column, double unit, int64_t *bytes)
{
	struct mp_str text = cur_csv_field(csv, column);
	double value;

	if (!mp_num_parse_double(text.text, text.len, &value) || !(value > -8e12 && value < 8e12))
		return false;
	*bytes = (int64_t)(value * unit);
	return true;
}

static bool time_of(const struct mp_csv *csv, int column, int64_t *ns)
{
	struct mp_str text = cur_csv_field(csv, column);

	while (text.len && text.text[text.len - 1] == '\t')
		text.len--;
	return mp_num_parse_scaled(text.text, text.len, 3, ns);
}

static int64_t device_of(const struct mp_csv *csv, int column)
{
	struct mp_str text = cur_csv_field(csv, column);
	int64_t device;

	return mp_num_parse_i64(text.text, text.len, &device) ? device : 0;
}

/* A row whose numbers cannot be read has been noted by those who make the text outputs. */
static bool take_npu_mem(void *user, const struct mp_csv *csv, const int *columns)
{
	struct memory *memory = user;
	int64_t ddr, hbm, ns;

	if (!size_of(csv, columns[1], 1024, &ddr) || !size_of(csv, columns[2], 1024, &hbm) ||
	    !time_of(csv, columns[3], &ns))
		return true;
	cur_db_int(&memory->rows, cur_db_string(memory->db, cur_csv_field(csv, columns[0])));
	cur_db_int(&memory->rows, ddr);
	cur_db_int(&memory->rows, hbm);
	cur_db_int(&memory->rows, ns);
	cur_db_int(&memory->rows, device_of(csv, columns[4]));
	cur_db_row_end(&memory->rows);
	return !memory->db->no_memory;
}

/* Older device tools name components that the enumeration no longer has; there are some tens of them. */
static int64_t module_of(struct cur_db *db, struct mp_str name)
{
	int64_t code = cur_db_code(CUR_DB_MODULE, name, -1);
	uint32_t id;
	size_t i;

	if (code >= 0)
		return code;
	for (i = 0; i < db->modules.len; i++)
		if (mp_str_equal(db->modules.at[i], name))
			return CUR_DB_NEW_MODULE + (int64_t)i;
	if (i == MAX_NEW_MODULES)
		return CUR_DB_NONE;
	id = mp_strtab_add(mp_store_strings(db->run->store), name.text, name.len);
	db->no_memory |= id == MP_STR_NONE || !mp_vec_push(&db->modules, mp_store_text(db->run->store, id));
	return CUR_DB_NEW_MODULE + (int64_t)i;
}

static bool take_module(void *user, const struct mp_csv *csv, const int *columns)
{
	struct memory *memory = user;
	int64_t bytes, ns;

	if (!time_of(csv, columns[1], &ns) ||
	    (!size_of(csv, columns[2], 1024, &bytes) && !size_of(csv, columns[4], 1048576, &bytes)))
		return true;
	cur_db_int(&memory->rows, module_of(memory->db, cur_csv_field(csv, columns[0])));
	cur_db_int(&memory->rows, ns);
	cur_db_int(&memory->rows, bytes);
	cur_db_int(&memory->rows, device_of(csv, columns[3]));
	cur_db_row_end(&memory->rows);
	return !memory->db->no_memory;
}

struct source {
	const char *table, *columns, *pattern;
	const char *titles[5];
	size_t n_titles;
	cur_csv_row_fn take;
};

static const struct source sources[] = {
	{"NPU_MEM",
	 "type INTEGER, ddr NUMERIC, hbm NUMERIC, timestampNs INTEGER, deviceId INTEGER",
	 "npu_mem_[0-9]*.csv",
	 {"event", "ddr(KB)", "hbm(KB)", "timestamp(us)", "Device_id"},
	 5,
	 take_npu_mem},
	{"NPU_MODULE_MEM",
	 "moduleId INTEGER, timestampNs INTEGER, totalReserved NUMERIC, deviceId INTEGER",
	 "npu_module_mem_[0-9]*.csv",
	 {"Component", "Timestamp(us)", "Total Reserved(KB)", "Device_id", "Total Reserved(MB)"},
	 5,
	 take_module},
};

static mp_status fill(struct cur_db *db, const struct source *source, mp_err *err)
{
	struct memory memory = {.db = db};
	struct cur_file_list files;
	mp_status status;
	size_t i;

	MP_TRY(cur_files_find(&db->run->exported, source->pattern, &files, err));
	status = MINDPROF_OK;
	if (files.names.len)
		cur_db_table(&db->out, source->table, source->columns, &memory.rows);
	for (i = 0; !status && i < files.names.len; i++)
		status = cur_csv_rows(db->run, &db->run->exported, files.names.at[i], source->titles,
				      source->n_titles, source->take, &memory, err);
	cur_db_rows_end(&memory.rows);
	cur_files_release(&files);
	return status;
}

mp_status cur_db_put_memory(struct cur_db *db, mp_err *err)
{
	size_t i;

	for (i = 0; i < MP_COUNT(sources); i++)
		MP_TRY(fill(db, &sources[i], err));
	return MINDPROF_OK;
}
