/* SPDX-License-Identifier: Apache-2.0 */
/* Everything: recording and control, and reading and analysing. */
#ifndef MINDPROF_MINDPROF_H
#define MINDPROF_MINDPROF_H

#include <mindprof/record.h>
#include <mindprof/trace.h>
#include <mindprof/types.h>

#endif
