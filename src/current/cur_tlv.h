/* SPDX-License-Identifier: Apache-2.0 */
/* Records of memory_usage and record_shapes: type, length, value (cur_tlv.c; analysis-current.md section 8). */
#ifndef MP_CUR_TLV_H
#define MP_CUR_TLV_H

#include "current/cur.h"

/* The value of one record; false = memory is out. */
typedef bool (*cur_tlv_fn)(void *user, const uint8_t *value, uint32_t len);
/* Walks FRAMEWORK/<name>: *found tells whether it is there. Cuts and short records are noted. Failure: memory. */
mp_status cur_tlv_walk(struct cur_run *run, const char *name, uint32_t fixed_bytes, cur_tlv_fn fn, void *user,
		       bool *found, mp_err *err);
/* The last inner field of a type behind the fixed part; "" when there is none or it is not valid UTF-8 ("N/A"). */
struct mp_str cur_tlv_field(const uint8_t *value, uint32_t len, uint32_t fixed_bytes, uint16_t type);

/* Gives back the memory of what lies before `at`, now and then; *forgotten is where that ended the last time. */
static inline void cur_tlv_forget(const struct mp_file *file, uint64_t at, uint64_t *forgotten)
{
	if (at - *forgotten < 4u << 20 || at > file->size)
		return;
	mp_file_forget(file, *forgotten, at - *forgotten);
	*forgotten = at;
}

#endif
