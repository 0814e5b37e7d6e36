/* SPDX-License-Identifier: Apache-2.0 */
/* The layer Overlap Analysis where the export has none (cur_overlap.c). */
#ifndef MP_CUR_OVERLAP_H
#define MP_CUR_OVERLAP_H

#include "current/cur_step_trace.h"

/*
 * Fills the spans computing, communication, not_overlapped and free from the tasks of the device; none when it
 * ran no operator and no communication. False when memory is out.
 */
bool cur_overlap_make(const struct cur_run *run, struct cur_step_trace *trace);
/* The same of a CPU run: its operators are the computation. */
bool cur_overlap_of_cpu_ops(const struct cur_run *run, struct cur_step_trace *trace);

#endif
