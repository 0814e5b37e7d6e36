/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of op_range in this room, for those who read the file's records themselves. */
#ifndef MP_CUR_HOST_H
#define MP_CUR_HOST_H

#include "current/cur.h"
#include "readers/rd_op_range.h"

/* By the device tool's files; without them 100 MHz or, corrected, a fit. Failure: memory. */
mp_status cur_host_clock(struct cur_run *run, const struct mp_file *file, struct op_range_clock *clock, mp_err *err);

#endif
