/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator_details.csv. Input: FRAMEWORK/mindspore.record_shapes. Output: names and input shapes in
 * file order (analysis-current.md section 8.6).
 */
#include "current/cur_cpu_kernels.h"
#include "current/cur_csv.h"
#include "current/cur_outputs.h"
#include "current/cur_tlv.h"

#include "base/banned.h"

#define RECORD_SHAPES_FILE "mindspore.record_shapes"

enum { FIELD_NAME = 0, FIELD_SHAPES = 1 };

struct rows {
	struct mp_out *out;
	bool any;
};

static bool put_row(void *user, const uint8_t *value, uint32_t len)
{
	struct rows *rows = user;
	struct mp_str name = cur_tlv_field(value, len, 0, FIELD_NAME);
	struct mp_str shapes = cur_tlv_field(value, len, 0, FIELD_SHAPES);

	if (!rows->any)
		mp_out_str(rows->out, "Name,Input Shapes\r\n");
	rows->any = true;
	cur_csv_text(rows->out, name.text, name.len);
	mp_out_str(rows->out, ",");
	cur_csv_text(rows->out, shapes.text, shapes.len);
	mp_out_str(rows->out, "\r\n");
	return true;
}

static mp_status write_details(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	struct rows rows = {.out = out};
	bool found;

	uint64_t before = out->written + out->len;

	MP_TRY(cur_tlv_walk(run, RECORD_SHAPES_FILE, 0, put_row, &rows, &found, err));
	if (!found && run->params.found && run->params.npu)
		mp_store_note(run->store, MP_PROBLEM, "no-record-shapes", run->framework.path, -1,
			      "no '%s': shapes of operators are not known", RECORD_SHAPES_FILE);
	if (cur_has_cpu_kernels(run) && out->written + out->len == before)
		return cur_cpu_operator_details(run, out, err);
	return MINDPROF_OK;
}

static bool wanted(const struct cur_run *run)
{
	return (run->params.cpu && run->params.record_shapes) || cur_has_cpu_kernels(run);
}

const struct cur_output cur_operator_details = {
	.name = "operator_details.csv",
	.about = "Operators with the shapes of their inputs.",
	.wanted = wanted,
	.write = write_details,
	.original_needs = CUR_NEEDS_TIMELINE,
};
