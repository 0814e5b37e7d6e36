/* SPDX-License-Identifier: Apache-2.0 */
/* The output files of the current layout, in the order of writing. One line per file. */
#include "current/cur_outputs.h"

#include "base/banned.h"

const struct cur_output *const cur_outputs[] = {
	&cur_trace_view,
	NULL,
};
