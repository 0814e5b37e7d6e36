/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all analyses, in the order in which a report shows them. A new one is a line here. */
#include "analyses/analyses.h"

#include "base/banned.h"

const struct mp_analysis *const mp_analyses[] = {
	&mp_analysis_steps,          &mp_analysis_operators,
	&mp_analysis_operator_types, &mp_analysis_operator_shapes,
	&mp_analysis_ranges,         &mp_analysis_waiting,
	&mp_analysis_gaps,           &mp_analysis_memory_peak,
	&mp_analysis_memory,         &mp_analysis_memory_curve,
	&mp_analysis_losses,         NULL,
};
