/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mindprof report: the answer in the terminal: what the recording is, what stands out, then the
 * tables; docs/cli/report.md.
 */
#include "report.h"

#include "base/num.h"

#include "base/banned.h"

struct report_options {
	uint64_t top;
	const char *table;
	int json;
};

static const struct cli_option options[] = {
	{"top", 'n', CLI_COUNT, 0, "N", offsetof(struct report_options, top), NULL,
	 "Show at most N rows of each table, 0 for all; the default is 10, with --table all."},
	{"table", 't', CLI_TEXT, CLI_COMPLETE_TABLE, "NAME", offsetof(struct report_options, table), NULL,
	 "Show this table only; mindprof info --formats lists them."},
	{"json", 0, CLI_FLAG, 0, NULL, offsetof(struct report_options, json), NULL,
	 "Print JSON: what stands out and all tables with all rows."},
};

static const struct cli_example examples[] = {
	{"mindprof report data", "One screen for every recording below data."},
	{"mindprof report data --table operators --top 30", "More of one table."},
	{"mindprof report data --json | jq '.runs[0].findings'", "For scripts."},
};

#define DEFAULT_TOP 10
#define TOP_NOT_GIVEN UINT64_MAX

/* What fits on a screen; more columns and the other tables are there with --table. */
struct view {
	const char *table, *columns, *order_by;
	const char *needs; /* another table that must have rows */
	bool only_filled;  /* not shown when empty: most recordings are not of a device */
};
static const struct view screen[] = {
	{"step_times", "step,computing_ns,not_overlapped_ns,free_ns,preparing_ns,computing_share", NULL, NULL,
	 true},
	{"kernels", "name,count,total_ns,avg_ns,max_ns,share", NULL, NULL, true},
	{"communication", "type,group,count,total_ns,wait_ns,size_bytes,bandwidth_gb_s,share", NULL, NULL,
	 true},
	{"data_pipeline", "operation,workers,queue_used_share,queue_empty_share,cpu_share,verdict", NULL,
	 NULL, true},
	{"device_memory", "owner,allocations,held_bytes,share,step", NULL, NULL, true},
	{"steps", "step,dur_ns,covered_ns,waiting_ns,gap_ns,share,mark", "dur_ns", NULL, false},
	/* without operators this table has the ranges, which come next anyway */
	{"operators", "name,count,total_ns,avg_ns,max_ns,share", NULL, "operator_types", false},
	{"ranges", "name,class,count,total_ns,self_ns,avg_ns,max_ns", NULL, NULL, false},
	{"waiting", "queue,side,items,wait_ns,wait_avg_ns,wait_share,depth_avg,verdict", NULL, NULL, false},
	{"memory_peak", "owner,held_bytes,share,at_ns,step", NULL, NULL, false},
};

/* -------------------------------------------------------------------- head */

static void print_span(const char *span_ns)
{
	uint64_t ns;

	if (mp_num_parse_u64(span_ns, strlen(span_ns), &ns))
		printf(", %s", cli_duration((double)ns).text);
}

/* "program, rank 0, 3 threads, 1.234 s, 4711 events" and where it is. */
static void print_head(const struct mindprof_trace *trace, const struct report_facts *facts)
{
	char program[120];

	cli_clean(program, sizeof(program), facts->program, strlen(facts->program));
	printf("%s\n  %s", mindprof_trace_path(trace), program);
	if (*facts->ranks)
		printf(", rank%s %s", strchr(facts->ranks, ',') ? "s" : "", facts->ranks);
	printf(", %s thread%s", facts->threads, strcmp(facts->threads, "1") ? "s" : "");
	print_span(facts->span_ns);
	printf(", %s event%s\n", facts->events, strcmp(facts->events, "1") ? "s" : "");
	if (*facts->begin)
		printf("  began %.19s UTC\n", facts->begin);
}

/* -------------------------------------------------------------------- text */

/* Empty tables say why in one line. */
static int print_table(struct mindprof_trace *trace, const struct view *view, uint64_t max_rows)
{
	const struct mindprof_table *table, *needed = NULL;
	struct mindprof_error error = {0};

	if (mindprof_trace_table(trace, view->table, &table, &error) ||
	    (view->needs && mindprof_trace_table(trace, view->needs, &needed, &error)))
		return cli_failed(&error, NULL);
	if (view->only_filled && !mindprof_table_rows(table))
		return CLI_DONE;
	cli_progress_end();
	putchar('\n');
	if (!needed || !mindprof_table_rows(table))
		needed = table;
	if (!mindprof_table_rows(needed)) {
		printf("%s: %s\n", mindprof_table_title(table), mindprof_table_empty_reason(needed));
		return CLI_DONE;
	}
	return cli_print_table(table, view->columns, view->order_by, max_rows);
}

/* Warnings and problems; returns their number. */
static size_t print_losses(struct mindprof_trace *trace)
{
	struct mindprof_note note;
	size_t i, n = 0;

	for (i = 0; mindprof_trace_note(trace, i, &note); i++) {
		if (note.severity == MINDPROF_INFO)
			continue;
		if (!n++)
			printf("\nWhat was lost\n");
		printf("  %s: ", note.severity == MINDPROF_PROBLEM ? "problem" : "warning");
		cli_print_note(stdout, &note);
	}
	return n;
}

static int print_findings(struct mindprof_trace *trace)
{
	struct report_findings findings;
	int code = report_find(trace, &findings);
	size_t i;

	if (code != CLI_DONE)
		return code;
	cli_progress_end();
	putchar('\n');
	for (i = 0; i < findings.n; i++)
		printf("* %s\n", findings.at[i].text);
	if (!findings.n)
		printf("Nothing stands out.\n");
	return CLI_DONE;
}

static int print_run(struct mindprof_trace *trace, const struct report_options *target, size_t index)
{
	uint64_t top = target->top == TOP_NOT_GIVEN ? DEFAULT_TOP : target->top;
	struct view only = {.table = target->table};
	struct report_facts facts;
	int code = report_read_facts(trace, &facts);
	size_t i;

	if (code != CLI_DONE)
		return code;
	cli_progress_end();
	if (index)
		printf("\n\n");
	print_head(trace, &facts);
	if (target->table)
		return print_table(trace, &only, target->top == TOP_NOT_GIVEN ? 0 : target->top);
	code = print_findings(trace);
	for (i = 0; i < MP_COUNT(screen) && code == CLI_DONE; i++)
		code = print_table(trace, &screen[i], top);
	if (!print_losses(trace))
		printf("\nNothing was lost.\n");
	return code;
}

/* -------------------------------------------------------------------- JSON */

static int json_findings(struct mp_json_out *json, struct mindprof_trace *trace)
{
	struct report_findings findings;
	int code = report_find(trace, &findings);
	size_t i;

	mp_json_out_key(json, "findings");
	mp_json_out_array(json);
	for (i = 0; code == CLI_DONE && i < findings.n; i++) {
		mp_json_out_object(json);
		cli_json_member(json, "code", findings.at[i].code);
		cli_json_member(json, "text", findings.at[i].text);
		mp_json_out_object_end(json);
	}
	mp_json_out_array_end(json);
	return code;
}

static int json_table(struct mp_json_out *json, struct mindprof_trace *trace, const char *name)
{
	const struct mindprof_table *table;
	struct mindprof_error error = {0};

	if (mindprof_trace_table(trace, name, &table, &error))
		return cli_failed(&error, NULL);
	return cli_json_table(json, table) ? CLI_DONE : CLI_FAILED;
}

static int json_run(struct mp_json_out *json, struct mindprof_trace *trace, const char *only)
{
	const char *name;
	int code;
	size_t i;

	mp_json_out_object(json);
	cli_json_member(json, "path", mindprof_trace_path(trace));
	mp_json_out_key(json, "incomplete");
	mp_json_out_bool(json, mindprof_trace_is_incomplete(trace));
	code = json_findings(json, trace);
	mp_json_out_key(json, "tables");
	mp_json_out_array(json);
	for (i = 0; (name = mindprof_table_name(i)); i++)
		if (!only || !strcmp(only, name))
			code = cli_worse(code, json_table(json, trace, name));
	mp_json_out_array_end(json);
	mp_json_out_object_end(json);
	return code;
}

/* --------------------------------------------------------------------- all */

static int report_run(void *user, const char *path, struct mp_json_out *json, size_t index)
{
	const struct report_options *target = user;
	struct mindprof_trace *trace = cli_open(path, 0);
	int code;

	if (!trace)
		return CLI_FAILED;
	code = json ? json_run(json, trace, target->table) : print_run(trace, target, index);
	code = cli_worse(code, cli_list_problems(trace));
	mindprof_trace_free(trace);
	return code;
}

static int run(int argc, char **argv)
{
	struct report_options target = {.top = TOP_NOT_GIVEN};
	struct cli_arguments arguments;
	int code = cli_parse(&cmd_report, argc, argv, &target, &arguments);

	if (code >= 0)
		return code;
	if (target.table && !mindprof_table_about(target.table))
		return cli_usage_error(&cmd_report,
				       "no table is called '%s'; 'mindprof info --formats' lists them",
				       target.table);
	return cli_for_runs(&arguments, target.json, report_run, &target);
}

const struct cli_command cmd_report = {
	.name = "report",
	.text = "the answer in the terminal: what stands out, steps, operators, waiting, memory",
	.arguments = "DIR...",
	.complete = CLI_COMPLETE_FILE,
	.min_arguments = 1,
	.max_arguments = UINT8_MAX,
	.description =
		"Prints for every recording at or one level below DIR what it is, what stands out (a slow step, waiting "
		"for data, growing memory, lost events), and then the steps, the operators and ranges that take most "
		"time, the queues that were waited for, the memory peak and what was lost.",
	.exit_text =
		"Code 3: the report is made of a recording that is damaged or holds less than it should; what is "
		"missing is listed on standard error, too.",
	.options = options,
	.n_options = MP_COUNT(options),
	.examples = examples,
	.n_examples = MP_COUNT(examples),
	.run = run,
};
