/* SPDX-License-Identifier: Apache-2.0 */
/* ENUM_* tables of the database: codes and their names (prof-raw.md sections 7, 8.10, 9.3). */
#include <strings.h>

#include "current/cur_db.h"

#include "base/banned.h"

struct code {
	int64_t id;
	const char *name;
};

static const struct code api_types[] = {
	{20000, "acl"}, {15000, "model"}, {10000, "node"}, {5500, "communication"}, {5000, "runtime"},
};

static const struct code modules[] = {
	{0, "SLOG"},       {1, "IDEDD"},
	{2, "SCC"},        {3, "HCCL"},
	{4, "FMK"},        {5, "CCU"},
	{6, "DVPP"},       {7, "RUNTIME"},
	{8, "CCE"},        {9, "HDC"},
	{10, "DRV"},       {11, "NET"},
	{22, "DEVMM"},     {23, "KERNEL"},
	{24, "LIBMEDIA"},  {25, "CCECPU"},
	{27, "ROS"},       {28, "HCCP"},
	{29, "ROCE"},      {30, "TEFUSION"},
	{31, "PROFILING"}, {32, "DP"},
	{33, "APP"},       {34, "TS"},
	{35, "TSDUMP"},    {36, "AICPU"},
	{37, "LP"},        {38, "TDT"},
	{39, "FE"},        {40, "MD"},
	{41, "MB"},        {42, "ME"},
	{43, "IMU"},       {44, "IMP"},
	{45, "GE"},        {47, "CAMERA"},
	{48, "ASCENDCL"},  {49, "TEEOS"},
	{50, "ISP"},       {51, "SIS"},
	{52, "HSM"},       {53, "DSS"},
	{54, "PROCMGR"},   {55, "BBOX"},
	{56, "AIVECTOR"},  {57, "TBE"},
	{58, "FV"},        {59, "MDCMAP"},
	{60, "TUNE"},      {61, "HSS"},
	{62, "FFTS"},      {63, "OP"},
	{64, "UDF"},       {65, "HICAID"},
	{66, "TSYNC"},     {67, "AUDIO"},
	{68, "TPRT"},      {69, "ASCENDCKERNEL"},
	{70, "ASYS"},      {71, "ATRACE"},
	{72, "RTC"},       {73, "SYSMONITOR"},
	{74, "AMP"},       {75, "ADETECT"},
	{76, "MBUFF"},     {77, "CUSTOM"},
};

#define UNKNOWN_CODES                      \
	{255, "RESERVED"}, {65534, "N/A"}, \
	{                                  \
		65535, "INVALID_TYPE"      \
	}

static const struct code data_types[] = {
	{0, "INT8"},    {1, "INT16"}, {2, "INT32"},    {3, "FP16"},     {4, "FP32"},     {5, "INT64"},
	{6, "UINT64"},  {7, "UINT8"}, {8, "UINT16"},   {9, "UINT32"},   {10, "FP64"},    {11, "BFP16"},
	{12, "INT128"}, {14, "HIF8"}, {15, "FP8E4M3"}, {16, "FP8E5M2"}, {17, "FP8E8M0"}, UNKNOWN_CODES,
};

static const struct code link_types[] = {
	{0, "ON_CHIP"}, {1, "HCCS"},          {2, "PCIE"}, {3, "ROCE"}, {4, "SIO"},
	{5, "HCCS_SW"}, {6, "STANDARD_ROCE"}, {7, "UB"},   {8, "UBoE"}, UNKNOWN_CODES,
};

static const struct code transport_types[] = {
	{0, "SDMA"}, {1, "RDMA"}, {2, "LOCAL"}, {3, "UB"}, {4, "ROCE"}, UNKNOWN_CODES,
};

static const struct code rdma_types[] = {
	{0, "RDMA_SEND_NOTIFY"},
	{1, "RDMA_SEND_PAYLOAD"},
	UNKNOWN_CODES,
};

static const struct code mstx_types[] = {
	{0, "marker"},
	{1, "push/pop"},
	{2, "start/end"},
	{3, "marker_ex"},
};

static const struct code memcpy_operations[] = {
	{0, "host to host"},      {1, "host to device"},    {2, "device to host"},
	{3, "device to device"},  {4, "managed memory"},    {5, "addr device to device"},
	{6, "host to device ex"}, {7, "device to host ex"}, {65535, "other"},
};

static const struct code overlap_types[] = {
	{0, "COMPUTE"},
	{1, "COMMUNICATION"},
	{2, "COMM_NOT_OVERLAP_COMP"},
	{3, "FREE"},
};

static const struct enumeration {
	const char *table;
	const struct code *codes;
	size_t n;
} enumerations[] = {
	[CUR_DB_API_TYPE] = {"ENUM_API_TYPE", api_types, MP_COUNT(api_types)},
	[CUR_DB_MODULE] = {"ENUM_MODULE", modules, MP_COUNT(modules)},
	[CUR_DB_HCCL_DATA_TYPE] = {"ENUM_HCCL_DATA_TYPE", data_types, MP_COUNT(data_types)},
	[CUR_DB_HCCL_LINK_TYPE] = {"ENUM_HCCL_LINK_TYPE", link_types, MP_COUNT(link_types)},
	[CUR_DB_HCCL_TRANSPORT_TYPE] = {"ENUM_HCCL_TRANSPORT_TYPE", transport_types,
					MP_COUNT(transport_types)},
	[CUR_DB_OVERLAP_TYPE] = {"ENUM_OVERLAP_ANALYSIS_TYPE", overlap_types, MP_COUNT(overlap_types)},
	/* without codes in columns that are written */
	{"ENUM_HCCL_RDMA_TYPE", rdma_types, MP_COUNT(rdma_types)},
	{"ENUM_MSTX_EVENT_TYPE", mstx_types, MP_COUNT(mstx_types)},
	{"ENUM_MEMCPY_OPERATION", memcpy_operations, MP_COUNT(memcpy_operations)},
};

int64_t cur_db_code(enum cur_db_enum of, struct mp_str name, int64_t otherwise)
{
	const struct enumeration *in = &enumerations[of];
	size_t i;

	for (i = 0; i < in->n; i++)
		if (name.len == strlen(in->codes[i].name) &&
		    !strncasecmp(name.text, in->codes[i].name, name.len))
			return in->codes[i].id;
	return otherwise;
}

static void put_code(struct cur_db_rows *rows, int64_t id, struct mp_str name)
{
	cur_db_int(rows, id);
	cur_db_text(rows, name);
	cur_db_row_end(rows);
}

mp_status cur_db_put_enums(struct cur_db *db, mp_err *err MP_UNUSED)
{
	struct cur_db_rows rows;
	size_t e, i;

	for (e = 0; e < MP_COUNT(enumerations); e++) {
		cur_db_table(&db->out, enumerations[e].table, "id INTEGER PRIMARY KEY, name TEXT", &rows);
		for (i = 0; i < enumerations[e].n; i++) {
			const struct code *code = &enumerations[e].codes[i];

			put_code(&rows, code->id, (struct mp_str){code->name, strlen(code->name)});
		}
		for (i = 0; e == CUR_DB_MODULE && i < db->modules.len; i++)
			put_code(&rows, CUR_DB_NEW_MODULE + (int64_t)i, db->modules.at[i]);
		cur_db_rows_end(&rows);
	}
	return MINDPROF_OK;
}
