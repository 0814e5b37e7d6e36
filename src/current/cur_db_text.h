/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text that the device tool would have exported, made from its database where the text is missing (cur_db_text.c):
 * files in a temporary directory, which takes the place of PROF_x/mindstudio_profiler_output.
 */
#ifndef MP_CUR_DB_TEXT_H
#define MP_CUR_DB_TEXT_H

#include "current/cur_db_in.h"

/* One file. */
struct cur_db_text {
	const char *name;
	const char *table; /* that it cannot do without */
	mp_status (*write)(struct cur_db_in *in, struct mp_out *out, mp_err *err);
};

extern const struct cur_db_text cur_db_text_msprof;                       /* cur_db_text_msprof.c */
extern const struct cur_db_text cur_db_text_summary, cur_db_text_api,
	cur_db_text_npu_mem, cur_db_text_module_mem;                       /* cur_db_text_tables.c */

/* Replaces run->exported when it has no text and there is a database. Failure: memory. */
mp_status cur_db_text_make(struct cur_run *run, mp_err *err);
/* Removes the temporary directory, if there is one. */
void cur_db_text_remove(struct cur_run *run);

#endif
