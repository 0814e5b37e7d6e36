/* SPDX-License-Identifier: Apache-2.0 */
/* One event of an msprof JSON file, as its text has it (cur_msprof.c). */
#ifndef MP_CUR_MSPROF_H
#define MP_CUR_MSPROF_H

#include "current/cur.h"

struct cur_msprof_event {
	struct mp_str name;     /* in place, or in the scanner's buffer when it was escaped */
	struct mp_str id, args_name; /* of a flow; "name" in the args of metadata */
	struct mp_str task_type; /* "Task Type" in args */
	struct mp_str dur;       /* of "dur" that is a number, in place */
	int64_t pid, tid, ts_ns, dur_ns;
	const uint8_t *args;    /* '{' of "args", NULL = none */
	const uint8_t *args_close; /* its '}' */
	char phase;             /* 0 = none */
	bool has_pid, has_ts, numeric_ts, host_to_device;
	bool args_empty;
	bool args_named; /* args may hold "mindspore_op" already */
};

/* ---- shapes: what events of one kind have in common (cur_msprof_shape.c) ---- */

#define CUR_SHAPES 24
#define CUR_SHAPE_STEPS 32
#define CUR_SHAPE_LITERAL 32 /* bytes */

/* Bytes that are the same in all events, then perhaps a value. */
struct cur_msprof_step {
	uint64_t word[CUR_SHAPE_LITERAL / 8], mask[CUR_SHAPE_LITERAL / 8];
	uint8_t len;
	uint8_t value, field;
};

struct cur_msprof_shape {
	struct cur_msprof_step steps[CUR_SHAPE_STEPS];
	struct cur_msprof_event constant; /* what does not depend on values */
	uint32_t n;
	uint8_t open_step, open_at, close_step, close_at; /* the braces of args: step and byte of its literal */
	uint8_t next; /* the shape that followed the last time */
	bool has_args;
};

struct cur_msprof_shapes {
	struct cur_msprof_shape at[CUR_SHAPES];
	uint8_t order[CUR_SHAPES]; /* of trying when the guess was wrong */
	uint8_t n, last;
	uint32_t credit;
};

struct cur_msprof_scanner {
	struct cur_msprof_shapes shapes;
	struct mp_buf name, id, args_name, task_type; /* owned: unescaped texts */
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
