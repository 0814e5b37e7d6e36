/* SPDX-License-Identifier: Apache-2.0 */
/* Files of records "u16 type, u32 length, value", values with inner records of the same kind. */
#include <string.h>

#include "current/cur_tlv.h"
#include "readers/rd_op_range.h"

#include "base/banned.h"

struct mp_str cur_tlv_field(const uint8_t *value, uint32_t len, uint32_t fixed_bytes, uint16_t type)
{
	struct mp_str found = {"", 0};
	uint32_t at = fixed_bytes;

	while (at <= len && len - at >= MP_FWK_HEAD_BYTES) {
		uint16_t field_type = op_range_u16(value + at);
		uint32_t field_len = op_range_u32(value + at + 2);

		at += MP_FWK_HEAD_BYTES;
		if (field_len > len - at)
			break;
		if (field_type == type)
			found = (struct mp_str){(const char *)value + at, field_len};
		at += field_len;
	}
	if (mp_utf8_valid_prefix(found.text, found.len) != found.len)
		found = (struct mp_str){"N/A", 3};
	return found;
}

static const struct mp_fault_kind kinds[] = {
	{MP_PROBLEM, "truncated", "file ends inside a record, the rest is missing"},
	{MP_PROBLEM, "short-record", "record is shorter than its fixed part, skipped"},
};

static bool walk(const struct mp_file *file, uint32_t fixed_bytes, struct mp_fault *faults, cur_tlv_fn fn,
		 void *user)
{
	uint64_t at = 0, forgotten = 0;

	while (at < file->size) {
		uint64_t left = file->size - at;
		uint32_t len = left >= MP_FWK_HEAD_BYTES ? op_range_u32(file->data + at + 2) : 0;

		if (left < MP_FWK_HEAD_BYTES || len > left - MP_FWK_HEAD_BYTES) {
			mp_fault_add(&faults[0], (int64_t)at, 1);
			return true;
		}
		if (len < fixed_bytes)
			mp_fault_add(&faults[1], (int64_t)at, 1);
		else if (!fn(user, file->data + at + MP_FWK_HEAD_BYTES, len))
			return false;
		at += mp_fwk_record_bytes(len);
		cur_tlv_forget(file, at, &forgotten);
	}
	return true;
}

mp_status cur_tlv_walk(struct cur_run *run, const char *name, uint32_t fixed_bytes, cur_tlv_fn fn, void *user,
		       bool *found, mp_err *err)
{
	struct mp_fault faults[MP_COUNT(kinds)] = {{0}};
	struct mp_file file;
	mp_err failure = {0};
	mp_status status;
	bool good;

	*found = false;
	if (run->framework.fd < 0)
		return MINDPROF_OK;
	status = mp_file_open_at(&run->framework, name, &file, &failure);
	if (status == MINDPROF_E_NOT_FOUND)
		return MINDPROF_OK;
	if (status)
		return cur_go_on_without(run, run->framework.path, status, &failure, err);
	*found = true;
	good = walk(&file, fixed_bytes, faults, fn, user);
	mp_faults_note(run->store, file.path, faults, kinds, MP_COUNT(kinds));
	mp_file_close(&file);
	return good ? MINDPROF_OK : mp_err_nomem(err, 0);
}
