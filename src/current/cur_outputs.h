/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs that cur_all.c lists; one line per output, in the file that makes it. */
#ifndef MP_CUR_OUTPUTS_H
#define MP_CUR_OUTPUTS_H

#include "current/cur.h"

extern const struct cur_output cur_trace_view;

#endif
