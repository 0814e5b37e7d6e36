/* SPDX-License-Identifier: Apache-2.0 */
/* mindprof analyze: writes the output files of every run; docs/cli/analyze.md. */
#include "analyze.h"
#include "commands.h"

#include "base/mem.h"
#include "base/num.h"

#include "base/banned.h"

/* In the order of enum mindprof_flavour. */
static const char *const flavours[] = {"auto", "portable", "compatible", NULL};

static const struct cli_option options[] = {
	{"out", 'o', CLI_TEXT, CLI_COMPLETE_DIR, "OUT", offsetof(struct analyze_options, out), NULL,
	 "Write to OUT/<name of the recording>/ASCEND_PROFILER_OUTPUT/ and not beside the data."},
	{"flavour", 0, CLI_CHOICE, 0, "FLAVOUR", offsetof(struct analyze_options, flavour), flavours,
	 "Form of trace_view.json: portable (opens in Perfetto and chrome://tracing), compatible (the byte "
	 "forms of MindSpore, for MindStudio Insight) or auto (the default: compatible for what MindSpore or "
	 "CANN recorded, else portable)."},
	{"export", 0, CLI_TEXT, CLI_COMPLETE_NONE, "TYPES", offsetof(struct analyze_options, export_types),
	 NULL,
	 "What to write, for what MindSpore or CANN recorded: text, db (SQLite) or text,db. The default is text, and "
	 "db when the profiler was asked for it."},
	{"as-original", 0, CLI_TEXT, CLI_COMPLETE_NONE, "[=NAMES]",
	 offsetof(struct analyze_options, as_original), NULL,
	 "Compute what MindSpore's own analysis computes, its faults included, and write only what it would "
	 "have written. With NAMES (a,b) only these corrections are turned off; the manual page lists them."},
	{"step-list", 0, CLI_TEXT, CLI_COMPLETE_NONE, "FIRST[-LAST]",
	 offsetof(struct analyze_options, step_list), NULL,
	 "Only these steps in the files that MindSpore's analysis has, too."},
	{"again", 0, CLI_FLAG, 0, NULL, offsetof(struct analyze_options, again), NULL,
	 "Analyse also what an earlier analysis of the same files has finished."},
	{"simplify", 0, CLI_FLAG, 0, NULL, offsetof(struct analyze_options, simplify), NULL,
	 "Afterwards remove the exports of the device tool from which the files were made, as MindSpore does."},
	{"dry-run", 0, CLI_FLAG, 0, NULL, offsetof(struct analyze_options, dry_run), NULL,
	 "With --simplify: analyse, write and remove nothing, print what would be removed."},
	{"overwrite", 0, CLI_FLAG, 0, NULL, offsetof(struct analyze_options, overwrite), NULL,
	 "Replace output files that MindProf did not make. Its own are always replaced."},
	{"pretty", 0, CLI_FLAG, 0, NULL, offsetof(struct analyze_options, pretty), NULL,
	 "Indent the list of written files, .mindprof.json."},
	{"jobs", 'j', CLI_COUNT, 0, "N", offsetof(struct analyze_options, jobs), NULL,
	 "Threads to work with; the default is one per usable core. Recordings share them."},
	{"memory", 0, CLI_COUNT, 0, "MIB", offsetof(struct analyze_options, memory_mib), NULL,
	 "Analyse recordings at the same time only as far as their files together are no larger than this; the "
	 "default is half of the memory that is free."},
	{"json", 0, CLI_FLAG, 0, NULL, offsetof(struct analyze_options, json), NULL,
	 "Print the files and what is missing as JSON."},
};

static const struct cli_example examples[] = {
	{"mindprof analyze data", "Analyse every recording below data, beside the data."},
	{"mindprof analyze --out results --flavour compatible host_42_20250705052123000_ascend_ms",
	 "Leave the recording alone; write a trace for MindStudio Insight."},
};

#define MAX_STEPS 1000000

/* "3" or "3-7" into the list of these steps; -1 to go on. */
static int take_steps(struct analyze_options *target)
{
	const char *text = target->step_list, *dash = text ? strchr(text, '-') : NULL;
	size_t first_len = dash ? (size_t)(dash - text) : text ? strlen(text) : 0;
	uint64_t first, last, i;

	if (!text)
		return -1;
	if (!mp_num_parse_u64(text, first_len, &first) ||
	    !(dash ? mp_num_parse_u64(dash + 1, strlen(dash + 1), &last) : (last = first, true)))
		return cli_usage_error(&cmd_analyze, "'%s' is no step or range of steps (--step-list 3-7)",
				       text);
	if (last < first || last - first >= MAX_STEPS || last > INT64_MAX)
		return cli_usage_error(&cmd_analyze, "'%s' is no range of at most %d steps", text, MAX_STEPS);
	target->steps = mp_malloc((last - first + 1) * sizeof(*target->steps));
	if (!target->steps) {
		cli_no_memory();
		return CLI_FAILED;
	}
	for (i = first; i <= last; i++)
		target->steps[target->n_steps++] = (int64_t)i;
	return -1;
}

/* A mistyped name is a wrong usage, found before anything is read; -1 to go on. */
static int check_corrections(const char *names)
{
	struct mindprof_error error = {0};
	char text[256];

	if (mindprof_corrections_check(names, &error) == MINDPROF_OK)
		return -1;
	return cli_usage_error(&cmd_analyze, "%s (--as-original); 'man mindprof-analyze' lists them",
			       mindprof_error_text(&error, text, sizeof(text)));
}

/* An entry of the manual page. */
static bool correction_at(size_t index, struct cli_example *out)
{
	static char text[1024];
	struct mindprof_correction correction;

	if (!mindprof_correction_at(index, &correction))
		return false;
	snprintf(text, sizeof(text), "MindSpore: %s. MindProf: %s. Shows in: %s.", correction.original,
		 correction.ours, correction.where);
	*out = (struct cli_example){correction.name, text};
	return true;
}

/* -1 to go on. */
static int check_export_types(const char *types)
{
	const char *at = types;

	while (at) {
		size_t len = strcspn(at, ",");

		if ((len != 4 || memcmp(at, "text", 4) != 0) && (len != 2 || memcmp(at, "db", 2) != 0))
			return cli_usage_error(&cmd_analyze, "'%.*s' is no type of export (--export text,db)",
					       (int)len, at);
		at = at[len] ? at + len + 1 : NULL;
	}
	return -1;
}

static int run(int argc, char **argv)
{
	struct analyze_options target = {0};
	struct cli_arguments arguments;
	int code = cli_parse(&cmd_analyze, argc, argv, &target, &arguments);

	if (code < 0)
		code = check_corrections(target.as_original);
	if (code < 0)
		code = check_export_types(target.export_types);
	if (code < 0 && target.dry_run && !target.simplify)
		code = cli_usage_error(&cmd_analyze, "--dry-run goes with --simplify");
	if (code < 0)
		code = take_steps(&target);
	if (code >= 0)
		return code;
	code = analyze_runs(&target, &arguments);
	mp_free(target.steps);
	return code;
}

const struct cli_command cmd_analyze = {
	.name = "analyze",
	.text = "analyse recordings and write trace_view.json and the tables as CSV",
	.arguments = "DIR...",
	.complete = CLI_COMPLETE_FILE,
	.min_arguments = 1,
	.max_arguments = UINT8_MAX,
	.description = "Analyses every recording at or one level below DIR and writes trace_view.json and "
		       "one CSV file per "
		       "table to ASCEND_PROFILER_OUTPUT/ in the recording (of a trace file: in "
		       "<file>.analysis/). Prints "
		       "the files that were written.\n\n"
		       "A table with nothing to say is written with its header only; mindprof report says "
		       "why. Files that "
		       "MindProf wrote before are replaced, others are not: .mindprof.json in the output "
		       "directory lists "
		       "which are its own.",
	.exit_text =
		"Code 3: the files are written, but the recording is damaged or holds less than it should; "
		"what is missing is listed on standard error.",
	.options = options,
	.n_options = MP_COUNT(options),
	.examples = examples,
	.n_examples = MP_COUNT(examples),
	.list_title = "CORRECTIONS",
	.list_at = correction_at,
	.run = run,
};
