/* SPDX-License-Identifier: Apache-2.0 */
/* mindprof export: one converted file of one run; docs/cli/export.md. */
#include "commands.h"

#include "base/mem.h"

#include "base/banned.h"

struct export_options {
	int to, flavour;
	const char *table, *output;
	int overwrite, json;
};

/* In the order of enum mindprof_export_format and enum mindprof_flavour. */
enum { TO_NONE = -1, TO_CHROME, TO_CSV };
static const char *const formats[] = {"chrome", "csv", NULL};
static const char *const flavours[] = {"auto", "portable", "compatible", NULL};

static const struct cli_option options[] = {
	{"to", 0, CLI_CHOICE, 0, "FORMAT", offsetof(struct export_options, to), formats,
	 "chrome (trace JSON, with all events) or csv (one table). Must be given."},
	{"table", 't', CLI_TEXT, CLI_COMPLETE_TABLE, "NAME", offsetof(struct export_options, table), NULL,
	 "Table to write with --to csv; mindprof info --formats lists them."},
	{"output", 'o', CLI_TEXT, CLI_COMPLETE_FILE, "FILE", offsetof(struct export_options, output), NULL,
	 "File to write, - for standard output (the default)."},
	{"flavour", 0, CLI_CHOICE, 0, "FLAVOUR", offsetof(struct export_options, flavour), flavours,
	 "Form of the trace: portable (the default) or compatible (the byte forms of MindSpore)."},
	{"overwrite", 0, CLI_FLAG, 0, NULL, offsetof(struct export_options, overwrite), NULL,
	 "Replace FILE when it exists."},
	{"json", 0, CLI_FLAG, 0, NULL, offsetof(struct export_options, json), NULL,
	 "Print what was written as JSON; needs --output FILE."},
};

static const struct cli_example examples[] = {
	{"mindprof export data --to chrome -o trace.json", "A trace for Perfetto or chrome://tracing."},
	{"mindprof export data --to csv --table operators | head", "The operator table."},
};

struct exporter {
	const struct export_options *target;
	char *path; /* owned: the run */
	size_t n_runs;
};

static int keep_run(void *user, const char *path)
{
	struct exporter *exporter = user;

	if (!exporter->n_runs++)
		exporter->path = mp_strdup(path);
	return 0;
}

static int print_written(const struct exporter *exporter, struct mindprof_trace *trace, int code)
{
	struct mp_buf buf;
	struct mp_json_out json;

	if (!exporter->target->json)
		return code;
	mp_buf_init(&buf, SIZE_MAX);
	mp_json_out_init(&json, &buf, 0);
	mp_json_out_object(&json);
	cli_json_member(&json, "path", mindprof_trace_path(trace));
	cli_json_member(&json, "file", exporter->target->output);
	cli_json_member(&json, "format", formats[exporter->target->to]);
	cli_json_notes(&json, trace);
	mp_json_out_object_end(&json);
	return cli_print_json(&buf, code);
}

static int export_run(const struct exporter *exporter)
{
	const struct export_options *target = exporter->target;
	struct mindprof_export_options export_options = {
		.size = sizeof(export_options),
		.format = (enum mindprof_export_format)target->to,
		.flavour = (enum mindprof_flavour)target->flavour,
		.table = target->table,
		.overwrite = target->overwrite,
	};
	struct mindprof_trace *trace = cli_open(exporter->path, 0);
	struct mindprof_error error = {0};
	enum mindprof_status status;
	int code;

	if (!trace)
		return CLI_FAILED;
	fflush(stdout);
	status = mindprof_trace_export(trace, target->output ? target->output : "-", &export_options, &error);
	if (status) {
		code = cli_failed(&error,
				  status == MINDPROF_E_EXISTS ? "use another file, or --overwrite" : NULL);
	} else {
		code = cli_list_problems(trace);
		code = print_written(exporter, trace, code);
	}
	mindprof_trace_free(trace);
	return code;
}

static int check_usage(const struct export_options *target)
{
	bool to_stdout = !target->output || !strcmp(target->output, "-");

	if (target->to == TO_NONE)
		return cli_usage_error(&cmd_export, "missing option: --to chrome or --to csv");
	if (target->to == TO_CSV && !target->table)
		return cli_usage_error(&cmd_export,
				       "missing option: --table NAME; 'mindprof info --formats' lists "
				       "the tables");
	if (target->to == TO_CHROME && target->table)
		return cli_usage_error(&cmd_export, "--table goes with --to csv");
	if (target->table && !mindprof_table_about(target->table))
		return cli_usage_error(&cmd_export,
				       "no table is called '%s'; 'mindprof info --formats' lists them",
				       target->table);
	if (target->json && to_stdout)
		return cli_usage_error(&cmd_export,
				       "--json needs --output FILE: the export goes to standard output");
	return -1;
}

static int run(int argc, char **argv)
{
	struct export_options target = {.to = TO_NONE};
	struct cli_arguments arguments;
	struct exporter exporter = {.target = &target};
	struct mindprof_error error = {0};
	int code = cli_parse(&cmd_export, argc, argv, &target, &arguments);

	if (code >= 0 || (code = check_usage(&target)) >= 0)
		return code;
	if (mindprof_find_runs(arguments.at[0], keep_run, &exporter, &error)) {
		code = cli_failed(&error, NULL);
	} else if (exporter.n_runs > 1) {
		cli_message("'%s' holds %zu recordings; name one of them, such as '%s'", arguments.at[0],
			    exporter.n_runs, exporter.path ? exporter.path : "");
		code = CLI_FAILED;
	} else {
		code = exporter.path ? export_run(&exporter) : cli_no_memory();
	}
	mp_free(exporter.path);
	return code;
}

const struct cli_command cmd_export = {
	.name = "export",
	.text = "convert a recording into one file: Chrome trace JSON or CSV",
	.arguments = "DIR",
	.complete = CLI_COMPLETE_FILE,
	.min_arguments = 1,
	.max_arguments = 1,
	.description =
		"Writes one recording as one file. A portable trace is written while the recording is read, "
		"in memory that does not grow with its size.",
	.exit_text = "Code 3: the file is written, but the recording is damaged or holds less than it "
		     "should; what "
		     "is missing is listed on standard error.",
	.options = options,
	.n_options = MP_COUNT(options),
	.examples = examples,
	.n_examples = MP_COUNT(examples),
	.run = run,
};
