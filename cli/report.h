/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says beside the tables: facts of the head and findings, both made from tables. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "commands.h"

/* Texts borrowed from the trace, "" = not known. program: what the recording is when that is not known. */
struct report_facts {
	const char *program, *ranks, *threads, *span_ns, *events, *begin;
};
/* Both return an exit code; a failure is explained on stderr. */
int report_read_facts(struct mindprof_trace *trace, struct report_facts *out);

/* One thing that stands out. */
struct report_finding {
	const char *code; /* constant word */
	char text[512];   /* a sentence */
};

#define REPORT_FINDINGS 8

struct report_findings {
	struct report_finding at[REPORT_FINDINGS];
	size_t n;
};
int report_find(struct mindprof_trace *trace, struct report_findings *out);

#endif
