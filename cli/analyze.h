/* SPDX-License-Identifier: Apache-2.0 */
/* The work of mindprof analyze: several recordings at the same time, results in order. */
#ifndef CLI_ANALYZE_H
#define CLI_ANALYZE_H

#include <stdint.h>

#include "options.h"

struct analyze_options {
	const char *out, *as_original, *step_list, *export_types;
	int64_t *steps; /* of step_list, owned */
	size_t n_steps;
	int flavour; /* enum mindprof_flavour */
	int again, simplify, dry_run, overwrite, pretty, json;
	uint64_t jobs, memory_mib;
};

/* Analyses every run below the arguments, prints the files; returns the exit code. */
int analyze_runs(const struct analyze_options *target, const struct cli_arguments *arguments);

#endif
