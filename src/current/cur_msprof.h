/* SPDX-License-Identifier: Apache-2.0 */
/* One event of an msprof JSON file, as its text has it (cur_msprof.c). */
#ifndef MP_CUR_MSPROF_H
#define MP_CUR_MSPROF_H

#include "current/cur.h"

struct cur_msprof_event {
	struct mp_str name;     /* in place, or in the scanner's buffer when it was escaped */
	struct mp_str id, args_name; /* of a flow; "name" in the args of metadata */
	int64_t pid, tid, ts_ns, dur_ns;
	const uint8_t *args;    /* '{' of "args", NULL = none */
	const uint8_t *args_close; /* its '}' */
	char phase;             /* 0 = none */
	bool has_pid, has_ts, numeric_ts, host_to_device;
	bool args_empty;
};

struct cur_msprof_scanner {
	struct mp_buf name, id, args_name; /* owned: unescaped texts */
};

void cur_msprof_scanner_init(struct cur_msprof_scanner *scanner);
void cur_msprof_scanner_release(struct cur_msprof_scanner *scanner);
/*
 * Reads the object that begins at `at`; returns the byte behind it, NULL when it is not valid JSON
 * (*fault is where) or memory is out (*fault NULL).
 */
const uint8_t *cur_msprof_scan(struct cur_msprof_scanner *scanner, const uint8_t *at, const uint8_t *end,
			       struct cur_msprof_event *event, const uint8_t **fault);

#endif
