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

#endif
