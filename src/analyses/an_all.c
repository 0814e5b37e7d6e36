/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all analyses, in the order in which a report shows them. A new one is a line here. */
#include "analyses/an_private.h"

#include "base/banned.h"

const struct mp_analysis *const mp_analyses[] = {
	&mp_an_steps, &mp_an_operators,   &mp_an_operator_types, &mp_an_ranges,       &mp_an_waiting,
	&mp_an_gaps,  &mp_an_memory_peak, &mp_an_memory,         &mp_an_memory_curve, &mp_an_losses,
	NULL,
};
