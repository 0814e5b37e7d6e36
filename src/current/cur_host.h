/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of op_range in this room, for those who read the file's records themselves. */
#ifndef MP_CUR_HOST_H
#define MP_CUR_HOST_H

#include "current/cur.h"
#include "readers/rd_op_range.h"

/* By the device tool's files; without them 100 MHz or, corrected, a fit; made once. Failure: memory. */
mp_status cur_host_clock(struct cur_run *run, const struct mp_file *file, const struct op_range_clock **clock,
			 mp_err *err);

/* One record of op_range; false ends the walk. */
typedef bool (*cur_record_fn)(void *user, const uint8_t *body, uint32_t len);
/*
 * The records of the wanted steps in file order, a cut one included when it can be used. faults: OP_RANGE_FAULTS of
 * them, NULL = not counted. False when fn was.
 */
bool cur_host_walk(struct cur_run *run, const struct mp_file *file, struct mp_fault *faults, cur_record_fn fn,
		   void *user);

#endif
