/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's program over both libraries through the public headers only: records, stops, reads the
 * recording back, prints a table. Argument: directory for the recording. Exit code 0 = all is well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mindprof/mindprof.h>

static void check(enum mindprof_status status, const struct mindprof_error *error)
{
	char text[512];

	if (status == MINDPROF_OK)
		return;
	fprintf(stderr, "%s\n", mindprof_error_text(error, text, sizeof(text)));
	exit(1);
}

static void record(const char *output, char *directory, size_t size)
{
	struct mindprof_record_options options = {.size = sizeof(options), .output_path = output};
	struct mindprof_error error = {.status = MINDPROF_OK};

	check(mindprof_record_start(&options, &error), &error);
	for (int i = 0; i < 5; i++) {
		MINDPROF_RANGE ("turn") {
			MINDPROF_COUNTER("i", i);
		}
	}
	check(mindprof_record_stop(&error), &error);
	if (!mindprof_record_directory(directory, size))
		exit(1);
}

static int open_first(void *user, const char *path)
{
	struct mindprof_error error = {.status = MINDPROF_OK};

	check(mindprof_trace_open(path, NULL, user, &error), &error);
	return 1;
}

int main(int argc, char **argv)
{
	struct mindprof_print_options print = {
		.size = sizeof(print), .format = MINDPROF_TABLE_CSV, .columns = "name,count"};
	struct mindprof_error error = {.status = MINDPROF_OK};
	struct mindprof_trace *trace = NULL;
	const struct mindprof_table *table;
	struct mindprof_text text;
	char directory[1024];
	int same;

	if (argc != 2)
		return 2;
	record(argv[1], directory, sizeof(directory));
	check(mindprof_find_runs(directory, open_first, &trace, &error), &error);
	check(mindprof_trace_table(trace, "ranges", &table, &error), &error);
	check(mindprof_table_print(table, &print, &text, &error), &error);
	same = !strcmp(text.data, "name,count\r\nturn,5\r\n");
	if (!same)
		fprintf(stderr, "unexpected table:\n%s", text.data);
	mindprof_text_free(&text);
	mindprof_trace_free(trace);
	return same ? 0 : 1;
}
