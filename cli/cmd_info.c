/* SPDX-License-Identifier: Apache-2.0 */
/* mindprof info: what was found in a recording; docs/cli/info.md. */
#include "commands.h"

#include "base/banned.h"

struct info_options {
	int formats, json;
};

static const struct cli_option options[] = {
	{"formats", 0, CLI_FLAG, 0, NULL, offsetof(struct info_options, formats), NULL,
	 "List the formats that are read and written and the tables that are made, then leave."},
	{"json", 0, CLI_FLAG, 0, NULL, offsetof(struct info_options, json), NULL, "Print JSON."},
};

static const struct cli_example examples[] = {
	{"mindprof info data", "Every recording below data: sources, time span, sizes, what is missing."},
	{"mindprof info --formats", "What this version reads and writes."},
};

/* ----------------------------------------------------------------- formats */

static void print_formats(void)
{
	struct mindprof_format format;
	const char *name;
	size_t i;

	printf("Reads:\n");
	for (i = 0; mindprof_format_at(i, &format); i++)
		if (format.reads)
			printf("  %-14s %s\n", format.name, format.title);
	printf("\nWrites:\n");
	for (i = 0; mindprof_format_at(i, &format); i++)
		if (format.writes)
			printf("  %-14s %s\n", format.name, format.title);
	printf("\nTables:\n");
	for (i = 0; (name = mindprof_table_name(i)); i++)
		printf("  %-14s %s\n", name, mindprof_table_about(name));
}

static void json_formats_of(struct mp_json_out *json, const char *key, bool reads)
{
	struct mindprof_format format;
	size_t i;

	mp_json_out_key(json, key);
	mp_json_out_array(json);
	for (i = 0; mindprof_format_at(i, &format); i++) {
		if (reads ? !format.reads : !format.writes)
			continue;
		mp_json_out_object(json);
		cli_json_member(json, "name", format.name);
		cli_json_member(json, "title", format.title);
		mp_json_out_object_end(json);
	}
	mp_json_out_array_end(json);
}

static int json_formats(void)
{
	struct mp_buf buf;
	struct mp_json_out json;
	const char *name;
	size_t i;

	mp_buf_init(&buf, SIZE_MAX);
	mp_json_out_init(&json, &buf, 0);
	mp_json_out_object(&json);
	json_formats_of(&json, "reads", true);
	json_formats_of(&json, "writes", false);
	mp_json_out_key(&json, "tables");
	mp_json_out_array(&json);
	for (i = 0; (name = mindprof_table_name(i)); i++) {
		mp_json_out_object(&json);
		cli_json_member(&json, "name", name);
		cli_json_member(&json, "text", mindprof_table_about(name));
		mp_json_out_object_end(&json);
	}
	mp_json_out_array_end(&json);
	mp_json_out_object_end(&json);
	return cli_print_json(&buf, CLI_DONE);
}

/* -------------------------------------------------------------------- runs */

static int print_table(struct mindprof_trace *trace, const char *name)
{
	const struct mindprof_table *table;
	struct mindprof_error error = {0};

	if (mindprof_trace_table(trace, name, &table, &error))
		return cli_failed(&error, NULL);
	return cli_print_table(table, NULL, NULL, 0);
}

static void print_notes(struct mindprof_trace *trace)
{
	static const char *const severities[] = {"info", "warning", "problem"};
	struct mindprof_note note;
	size_t i;

	for (i = 0; mindprof_trace_note(trace, i, &note); i++) {
		printf("%s  %s: ", i ? "" : "\nNotes\n", severities[note.severity]);
		cli_print_note(stdout, &note);
	}
}

static int print_run(struct mindprof_trace *trace, bool first)
{
	int code;

	if (!first)
		putchar('\n');
	code = print_table(trace, "facts");
	putchar('\n');
	code = cli_worse(code, print_table(trace, "sources"));
	print_notes(trace);
	return code;
}

static int json_run(struct mp_json_out *json, struct mindprof_trace *trace)
{
	static const char *const tables[] = {"facts", "sources", "notes"};
	const struct mindprof_table *table;
	struct mindprof_error error = {0};
	int code = CLI_DONE;
	size_t i;

	mp_json_out_object(json);
	cli_json_member(json, "path", mindprof_trace_path(trace));
	mp_json_out_key(json, "incomplete");
	mp_json_out_bool(json, mindprof_trace_is_incomplete(trace));
	mp_json_out_key(json, "tables");
	mp_json_out_array(json);
	for (i = 0; i < MP_COUNT(tables); i++) {
		if (mindprof_trace_table(trace, tables[i], &table, &error))
			code = cli_failed(&error, NULL);
		else if (!cli_json_table(json, table))
			code = CLI_FAILED;
	}
	mp_json_out_array_end(json);
	mp_json_out_object_end(json);
	return code;
}

static int show_run(void *user, const char *path, struct mp_json_out *json, size_t index)
{
	struct mindprof_trace *trace = cli_open(path, 0);
	int code;

	(void)user;
	if (!trace)
		return CLI_FAILED;
	code = json ? json_run(json, trace) : print_run(trace, index == 0);
	/* The notes table lists what is missing. */
	if (mindprof_trace_is_incomplete(trace))
		code = cli_worse(code, CLI_INCOMPLETE);
	mindprof_trace_free(trace);
	return code;
}

static int run(int argc, char **argv)
{
	struct info_options target = {0};
	struct cli_arguments arguments;
	int code = cli_parse(&cmd_info, argc, argv, &target, &arguments);

	if (code >= 0)
		return code;
	if (target.formats) {
		if (target.json)
			return json_formats();
		print_formats();
		return CLI_DONE;
	}
	if (!arguments.n)
		return cli_usage_error(&cmd_info, "missing argument: DIR");
	return cli_for_runs(&arguments, target.json, show_run, NULL);
}

const struct cli_command cmd_info = {
	.name = "info",
	.text = "say what was found: sources, formats, time span, sizes, what is missing",
	.arguments = "DIR...",
	.complete = CLI_COMPLETE_FILE,
	.max_arguments = UINT8_MAX,
	.description =
		"Lists for every recording at or one level below DIR what is known about it, the files that "
		"were "
		"found with the reader that takes each, and what is missing, lost or odd. A recording is a "
		"directory that MindProf or MindSpore wrote, or a Chrome trace file (also packed with gzip "
		"or "
		"zstd).",
	.options = options,
	.n_options = MP_COUNT(options),
	.examples = examples,
	.n_examples = MP_COUNT(examples),
	.run = run,
};
