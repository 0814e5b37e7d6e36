/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Analysing into files, exporting and checking: what is written where, what is left alone, from
 * MindSpore's CPU files and from a recording made here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mindprof/record.h>
#include <mindprof/trace.h>

#include "base/err.h"
#include "base/mem.h"

#define RUN_NAME "host0_7688_20261130205131399_ascend_ms"
#define RUN MP_SOURCE_DIR "/tests/data/cpu/cpu-graph-schedule/raw/" RUN_NAME
#define OUTPUT "ASCEND_PROFILER_OUTPUT"

struct scratch {
	char path[64];
};

static int setup(void **state)
{
	struct scratch *scratch = calloc(1, sizeof(*scratch));

	strcpy(scratch->path, "/tmp/mindprof-test-XXXXXX");
	assert_non_null(mkdtemp(scratch->path));
	*state = scratch;
	return 0;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
	(void)info, (void)type, (void)walk;
	return remove(path);
}

static int teardown(void **state)
{
	struct scratch *scratch = *state;

	nftw(scratch->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(scratch);
	return 0;
}

/* scratch/name in one of two static buffers. */
static const char *in(const struct scratch *scratch, const char *name)
{
	static char paths[2][512];
	static int turn;

	turn = !turn;
	snprintf(paths[turn], sizeof(paths[turn]), "%s/%s", scratch->path, name);
	return paths[turn];
}

static long size_of(const char *path)
{
	struct stat info;

	return stat(path, &info) ? -1 : (long)info.st_size;
}

static void put_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_false(fputs(text, file) < 0);
	assert_int_equal(fclose(file), 0);
}

/* The whole file in a static buffer. */
static const char *get_file(const char *path)
{
	static char text[1 << 20];
	FILE *file = fopen(path, "r");
	size_t len;

	assert_non_null(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	assert_int_equal(fclose(file), 0);
	return text;
}

static struct mindprof_trace *open_run(const char *path)
{
	struct mindprof_trace *trace = NULL;
	struct mindprof_error error = {0};
	char text[512];

	if (mindprof_trace_open(path, NULL, &trace, &error))
		fail_msg("%s", mindprof_error_text(&error, text, sizeof(text)));
	return trace;
}

static void count_file(void *user, const char *path)
{
	assert_true(size_of(path) > 0);
	++*(int *)user;
}

static int n_notes, was_finished;

static void count_note(void *user, const struct mindprof_note *note)
{
	(void)user;
	assert_true(strlen(note->code) > 0 && strlen(note->text) > 0);
	n_notes++;
}

static mp_status analyse_with(const char *path, struct mindprof_analyse_options options, int *n_files,
			      struct mindprof_error *error)
{
	struct mindprof_trace *trace = open_run(path);
	mp_status status;

	*n_files = n_notes = 0;
	options.size = sizeof(options);
	options.wrote = count_file;
	options.noted = count_note;
	options.wrote_user = n_files;
	options.was_finished = &was_finished;
	status = mindprof_trace_analyse(trace, &options, error);
	mindprof_trace_free(trace);
	return status;
}

static mp_status analyse(const char *path, const char *out, int overwrite, int *n_files,
			 struct mindprof_error *error)
{
	struct mindprof_analyse_options options = {.out_path = out, .overwrite = overwrite};

	return analyse_with(path, options, n_files, error);
}

static int n_tables(void)
{
	int n = 0;

	while (mindprof_table_name((size_t)n))
		n++;
	return n;
}

/* What a CPU run carries beside trace_view.json and the tables. */
static const char *const cpu_files[] = {"step_trace_time.csv", "memory_record.csv", "kernel_details.csv",
					"op_statistic.csv", "operator_details.csv"};

static int n_all_files(void)
{
	return n_tables() + 1 + (int)(sizeof(cpu_files) / sizeof(cpu_files[0]));
}

/* ---------------------------------------------------------------- analysing */

static void a_trace_and_every_table_are_written(void **state)
{
	struct scratch *scratch = *state;
	int n_files;

	assert_int_equal(analyse(RUN, in(scratch, "deep/out"), 0, &n_files, NULL), MINDPROF_OK);
	assert_int_equal(n_files, n_all_files());
	assert_true(size_of(in(scratch, "deep/out/" RUN_NAME "/" OUTPUT "/trace_view.json")) > 1000);
	/* nothing to say: the header only */
	assert_string_equal(get_file(in(scratch, "deep/out/" RUN_NAME "/" OUTPUT "/notes.csv")),
			    "severity,code,text,path,byte_offset,count\r\n");
	assert_non_null(strstr(get_file(in(scratch, "deep/out/" RUN_NAME "/" OUTPUT "/.mindprof.json")),
			       "{\"name\": \"notes.csv\", \"bytes\": 43}"));
}

static void own_files_are_replaced_others_are_not(void **state)
{
	struct scratch *scratch = *state;
	const char *out = scratch->path;
	struct mindprof_error error = {0};
	char table[512];
	int n_files;

	snprintf(table, sizeof(table), "%s/" RUN_NAME "/" OUTPUT "/operators.csv", out);
	assert_int_equal(analyse(RUN, out, 0, &n_files, NULL), MINDPROF_OK);
	assert_int_equal(analyse(RUN, out, 0, &n_files, NULL), MINDPROF_OK);
	assert_int_equal(n_files, n_all_files());

	put_file(table, "somebody else's");
	assert_int_equal(analyse(RUN, out, 0, &n_files, &error), MINDPROF_E_EXISTS);
	assert_int_equal(n_files, 0);
	assert_non_null(
		strstr(error.causes[0].text, "operators.csv' exists and was not written by mindprof"));
	assert_string_equal(get_file(table), "somebody else's");

	assert_int_equal(analyse(RUN, out, 1, &n_files, NULL), MINDPROF_OK);
	assert_true(size_of(table) > 100);
	assert_int_equal(analyse(RUN, out, 0, &n_files, NULL), MINDPROF_OK);
}

/* What MindSpore left in the directory has no list beside it. */
static void foreign_output_is_left_alone(void **state)
{
	struct scratch *scratch = *state;
	int n_files;

	assert_int_equal(mkdir(in(scratch, RUN_NAME), 0750), 0);
	assert_int_equal(mkdir(in(scratch, RUN_NAME "/" OUTPUT), 0750), 0);
	put_file(in(scratch, RUN_NAME "/" OUTPUT "/other.csv"), "x");
	assert_int_equal(analyse(RUN, scratch->path, 0, &n_files, NULL), MINDPROF_OK); /* no name in common */
	assert_string_equal(get_file(in(scratch, RUN_NAME "/" OUTPUT "/other.csv")), "x");

	assert_int_equal(unlink(in(scratch, RUN_NAME "/" OUTPUT "/.mindprof.json")), 0);
	assert_int_equal(analyse(RUN, scratch->path, 0, &n_files, NULL), MINDPROF_E_EXISTS);
	assert_int_equal(n_files, 0);
}

/* A killed analysis has listed the files that it was going to write without their sizes. */
static void half_written_output_is_known_as_ours(void **state)
{
	struct scratch *scratch = *state;
	int n_files;

	assert_int_equal(analyse(RUN, scratch->path, 0, &n_files, NULL), MINDPROF_OK);
	put_file(
		in(scratch, RUN_NAME "/" OUTPUT "/.mindprof.json"),
		"{\"program\": \"mindprof\", \"version\": \"0\", \"files\": ["
		"{\"name\": \"trace_view.json\", \"bytes\": null}, {\"name\": \"steps.csv\", \"bytes\": null}]}");
	for (size_t i = 0; mindprof_table_name(i); i++) {
		char name[256];

		snprintf(name, sizeof(name), RUN_NAME "/" OUTPUT "/%s.csv", mindprof_table_name(i));
		if (strcmp(mindprof_table_name(i), "steps"))
			assert_int_equal(unlink(in(scratch, name)), 0);
	}
	for (size_t i = 0; i < sizeof(cpu_files) / sizeof(cpu_files[0]); i++) {
		char name[256];

		snprintf(name, sizeof(name), RUN_NAME "/" OUTPUT "/%s", cpu_files[i]);
		assert_int_equal(unlink(in(scratch, name)), 0);
	}
	assert_int_equal(analyse(RUN, scratch->path, 0, &n_files, NULL), MINDPROF_OK);
	assert_int_equal(n_files, n_all_files());
}

static const char trace_text[] =
	"[{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 2, \"ts\": 1, \"dur\": 2}";

/* The same input in the same way: told again, not done again. */
static void what_is_finished_is_not_done_again(void **state)
{
	struct scratch *scratch = *state;
	struct mindprof_analyse_options options = {.again = 0};
	int n_files, n_first, n_first_notes;

	put_file(in(scratch, "x.json"), trace_text); /* no end: one note */
	assert_int_equal(analyse(in(scratch, "x.json"), NULL, 0, &n_first, NULL), MINDPROF_OK);
	assert_false(was_finished);
	n_first_notes = n_notes;
	assert_true(n_first > 1 && n_notes > 0);
	assert_int_equal(analyse(in(scratch, "x.json"), NULL, 0, &n_files, NULL), MINDPROF_OK);
	assert_true(was_finished);
	assert_int_equal(n_files, n_first);
	assert_int_equal(n_notes, n_first_notes);

	options.again = 1;
	assert_int_equal(analyse_with(in(scratch, "x.json"), options, &n_files, NULL), MINDPROF_OK);
	assert_false(was_finished);
	assert_int_equal(n_files, n_first);
	options = (struct mindprof_analyse_options){.flavour = MINDPROF_FLAVOUR_COMPATIBLE};
	assert_int_equal(analyse_with(in(scratch, "x.json"), options, &n_files, NULL), MINDPROF_OK);
	assert_false(was_finished);
	assert_int_equal(analyse_with(in(scratch, "x.json"), options, &n_files, NULL), MINDPROF_OK);
	assert_true(was_finished);
}

static void what_changed_is_done_again(void **state)
{
	struct scratch *scratch = *state;
	int n_files;

	put_file(in(scratch, "x.json"), trace_text);
	assert_int_equal(analyse(in(scratch, "x.json"), NULL, 0, &n_files, NULL), MINDPROF_OK);
	/* an output is gone */
	assert_int_equal(unlink(in(scratch, "x.json.analysis/" OUTPUT "/ranges.csv")), 0);
	assert_int_equal(analyse(in(scratch, "x.json"), NULL, 0, &n_files, NULL), MINDPROF_OK);
	assert_false(was_finished);
	assert_true(size_of(in(scratch, "x.json.analysis/" OUTPUT "/ranges.csv")) > 0);
	/* the input is another */
	put_file(in(scratch, "x.json"), "[]");
	assert_int_equal(analyse(in(scratch, "x.json"), NULL, 0, &n_files, NULL), MINDPROF_OK);
	assert_false(was_finished);
	/* its time is another, at the same size */
	assert_int_equal(analyse(in(scratch, "x.json"), NULL, 0, &n_files, NULL), MINDPROF_OK);
	assert_true(was_finished);
	assert_int_equal(utimensat(AT_FDCWD, in(scratch, "x.json"), (struct timespec[2]){{1, 0}, {1, 0}}, 0),
			 0);
	assert_int_equal(analyse(in(scratch, "x.json"), NULL, 0, &n_files, NULL), MINDPROF_OK);
	assert_false(was_finished);
}

static void output_never_follows_links(void **state)
{
	struct scratch *scratch = *state;
	int n_files;

	assert_int_equal(mkdir(in(scratch, "elsewhere"), 0750), 0);
	assert_int_equal(mkdir(in(scratch, RUN_NAME), 0750), 0);
	assert_int_equal(symlink("../elsewhere", in(scratch, RUN_NAME "/" OUTPUT)), 0);
	assert_true(analyse(RUN, scratch->path, 1, &n_files, NULL) < 0);
	assert_int_equal(n_files, 0);
	assert_int_equal(rmdir(in(scratch, "elsewhere")), 0); /* still empty */
}

static void a_trace_file_is_analysed_beside_itself(void **state)
{
	struct scratch *scratch = *state;
	int n_files;

	put_file(in(scratch, "x.json"),
		 "[{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 2, \"ts\": 1, \"dur\": 2}]");
	assert_int_equal(analyse(in(scratch, "x.json"), NULL, 0, &n_files, NULL), MINDPROF_OK);
	assert_true(size_of(in(scratch, "x.json.analysis/" OUTPUT "/ranges.csv")) > 0);
	assert_int_equal(analyse(in(scratch, "x.json"), in(scratch, "out"), 0, &n_files, NULL), MINDPROF_OK);
	assert_true(size_of(in(scratch, "out/x.json/" OUTPUT "/ranges.csv")) > 0);
}

/* ---------------------------------------------------------------- exporting */

static mp_status export_to(struct mindprof_trace *trace, const char *path,
			   struct mindprof_export_options options, struct mindprof_error *error)
{
	options.size = sizeof(options);
	return mindprof_trace_export(trace, path, &options, error);
}

static void count_fault(void *user, const struct mindprof_fault *fault)
{
	(void)user;
	print_message("%s: %s at %lld\n", fault->code, fault->text, (long long)fault->byte_offset);
}

static void assert_valid(const char *path)
{
	uint64_t n_faults = 1;

	assert_int_equal(mindprof_check_file(path, 0, count_fault, NULL, &n_faults, NULL), MINDPROF_OK);
	assert_int_equal(n_faults, 0);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The text with its lines sorted: blocks may come in any order. */
static void sort_lines(const char *text, char *sorted)
{
	char *copy = strdup(text), **lines = calloc(strlen(text) + 1, sizeof(*lines));
	size_t n = 0;

	for (char *at = strtok(copy, "\n"); at; at = strtok(NULL, "\n")) {
		size_t len = strlen(at);

		if (at[len - 1] == ',')
			at[len - 1] = '\0';
		lines[n++] = at;
	}
	qsort(lines, n, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < n; i++)
		sorted += sprintf(sorted, "%s\n", lines[i]);
	free(lines);
	free(copy);
}

/* Streaming (nothing is kept) and from the store: the same events. */
static void streamed_and_kept_traces_agree(void **state)
{
	struct scratch *scratch = *state;
	struct mindprof_export_options options = {.format = MINDPROF_EXPORT_CHROME};
	struct mindprof_trace *trace = open_run(RUN);
	const struct mindprof_table *table;
	static char streamed[1 << 20], kept[1 << 20];

	assert_int_equal(export_to(trace, in(scratch, "streamed.json"), options, NULL), MINDPROF_OK);
	assert_int_equal(mindprof_trace_table(trace, "operators", &table, NULL), MINDPROF_OK);
	assert_int_equal(export_to(trace, in(scratch, "kept.json"), options, NULL), MINDPROF_OK);
	mindprof_trace_free(trace);
	sort_lines(get_file(in(scratch, "streamed.json")), streamed);
	sort_lines(get_file(in(scratch, "kept.json")), kept);
	assert_true(strlen(kept) > 1000);
	assert_string_equal(streamed, kept);
	assert_valid(in(scratch, "streamed.json"));
	assert_valid(in(scratch, "kept.json"));
}

/* What was learned while streaming is what reading would have told. */
static void exporting_describes_once(void **state)
{
	struct scratch *scratch = *state;
	struct mindprof_export_options options = {.format = MINDPROF_EXPORT_CHROME};
	struct mindprof_trace *trace = open_run(RUN);
	const struct mindprof_table *facts;
	struct mindprof_print_options print = {.size = sizeof(print), .format = MINDPROF_TABLE_CSV};
	struct mindprof_text text;

	assert_int_equal(export_to(trace, in(scratch, "a.json"), options, NULL), MINDPROF_OK);
	assert_int_equal(mindprof_trace_table(trace, "facts", &facts, NULL), MINDPROF_OK);
	assert_int_equal(mindprof_table_print(facts, &print, &text, NULL), MINDPROF_OK);
	assert_non_null(strstr(text.data, "\r\nevents,110\r\n"));
	mindprof_text_free(&text);
	mindprof_trace_free(trace);
}

static void exports_are_refused_with_a_reason(void **state)
{
	struct scratch *scratch = *state;
	struct mindprof_export_options csv = {.format = MINDPROF_EXPORT_CSV};
	struct mindprof_trace *trace = open_run(RUN);
	struct mindprof_error error = {0};

	put_file(in(scratch, "there"), "x");
	csv.table = "operators";
	assert_int_equal(export_to(trace, in(scratch, "there"), csv, &error), MINDPROF_E_EXISTS);
	assert_string_equal(get_file(in(scratch, "there")), "x");
	csv.overwrite = 1;
	assert_int_equal(export_to(trace, in(scratch, "there"), csv, NULL), MINDPROF_OK);
	assert_memory_equal(get_file(in(scratch, "there")), "name,type,count,", 16);
	csv.table = "nonsense";
	assert_int_equal(export_to(trace, in(scratch, "new"), csv, NULL), MINDPROF_E_NOT_FOUND);
	csv.table = NULL;
	assert_int_equal(export_to(trace, in(scratch, "new"), csv, NULL), MINDPROF_E_ARGUMENT);
	csv.table = "operators";
	assert_int_equal(export_to(trace, in(scratch, "absent/new"), csv, NULL), MINDPROF_E_NOT_FOUND);
	assert_int_equal(size_of(in(scratch, "new")), -1);
	mindprof_trace_free(trace);
}

/* ----------------------------------------------------------------- recording */

static void make_recording(const struct scratch *scratch, char *directory, size_t size)
{
	struct mindprof_record_options options = {.size = sizeof(options), .memory_bytes = 1 << 20};

	options.output_path = scratch->path;
	assert_int_equal(mindprof_record_start(&options, NULL), MINDPROF_OK);
	for (uint64_t step = 1; step <= 3; step++) {
		mindprof_step(step);
		MINDPROF_RANGE ("outer") {
			MINDPROF_RANGE ("inner") {
				MINDPROF_COUNTER("loss", 1.0 / (double)step);
			}
		}
	}
	assert_int_equal(mindprof_record_stop(NULL), MINDPROF_OK);
	assert_true(mindprof_record_directory(directory, size) > 0);
}

static void a_recording_comes_back(void **state)
{
	struct scratch *scratch = *state;
	struct mindprof_trace *trace;
	const struct mindprof_table *ranges, *steps;
	char directory[512], trace_path[600];
	int n_files;
	int64_t count;

	make_recording(scratch, directory, sizeof(directory));
	trace = open_run(directory);
	assert_int_equal(mindprof_trace_table(trace, "ranges", &ranges, NULL), MINDPROF_OK);
	assert_int_equal(mindprof_table_rows(ranges), 2);
	for (size_t row = 0; row < 2; row++) {
		assert_true(mindprof_table_int(ranges, row,
					       (size_t)mindprof_table_find_column(ranges, "count"), &count));
		assert_int_equal(count, 3);
	}
	assert_int_equal(mindprof_trace_table(trace, "steps", &steps, NULL), MINDPROF_OK);
	assert_int_equal(mindprof_table_rows(steps), 3);
	assert_false(mindprof_trace_is_incomplete(trace));
	mindprof_trace_free(trace);

	assert_int_equal(analyse(directory, NULL, 0, &n_files, NULL), MINDPROF_OK);
	snprintf(trace_path, sizeof(trace_path), "%s/" OUTPUT "/trace_view.json", directory);
	assert_valid(trace_path);
}

static void a_recording_streams(void **state)
{
	struct scratch *scratch = *state;
	struct mindprof_export_options options = {.format = MINDPROF_EXPORT_CHROME};
	struct mindprof_trace *trace;
	char directory[512];
	const char *at;
	int n = 0;

	make_recording(scratch, directory, sizeof(directory));
	trace = open_run(directory);
	assert_int_equal(export_to(trace, in(scratch, "trace.json"), options, NULL), MINDPROF_OK);
	mindprof_trace_free(trace);
	assert_valid(in(scratch, "trace.json"));
	for (at = get_file(in(scratch, "trace.json")); (at = strstr(at, "\"inner\"")); at++)
		n++;
	assert_int_equal(n, 3);
}

/* ------------------------------------------------------------------ checking */

struct first_fault {
	char code[32];
	int64_t byte_offset;
	uint64_t line, column;
	int n;
};

static void keep_first(void *user, const struct mindprof_fault *fault)
{
	struct first_fault *first = user;

	if (first->n++)
		return;
	snprintf(first->code, sizeof(first->code), "%s", fault->code);
	first->byte_offset = fault->byte_offset;
	first->line = fault->line;
	first->column = fault->column;
}

static void faults_have_a_place(void **state)
{
	struct scratch *scratch = *state;
	struct first_fault first = {.n = 0};
	uint64_t n_faults;

	/* the comma at byte 3, second line, second column has no value before it */
	put_file(in(scratch, "a.json"), "[\n ,]");
	assert_int_equal(mindprof_check_file(in(scratch, "a.json"), 0, keep_first, &first, &n_faults, NULL),
			 MINDPROF_OK);
	assert_int_equal(n_faults, 1);
	assert_string_equal(first.code, "json-syntax");
	assert_int_equal(first.byte_offset, 3);
	assert_int_equal(first.line, 2);
	assert_int_equal(first.column, 2);
	assert_int_equal(mindprof_check_file(in(scratch, "absent"), 0, keep_first, &first, NULL, NULL),
			 MINDPROF_E_NOT_FOUND);
}

static void faults_beyond_the_limit_are_counted(void **state)
{
	struct scratch *scratch = *state;
	struct first_fault first = {.n = 0};
	uint64_t n_faults;

	put_file(in(scratch, "a.csv"), "a,b\n1\n2\n3\n4\n5\n");
	assert_int_equal(mindprof_check_file(in(scratch, "a.csv"), 2, keep_first, &first, &n_faults, NULL),
			 MINDPROF_OK);
	assert_int_equal(n_faults, 5);
	assert_int_equal(first.n, 2);
	assert_string_equal(first.code, "csv-columns");
	assert_int_equal(first.line, 2);
}

/* A gzip file of "a,b\n1,2\n" whose end is cut. */
static void damaged_packing_is_a_fault(void **state)
{
	struct scratch *scratch = *state;
	struct first_fault first = {.n = 0};
	uint64_t n_faults;
	char command[600];

	put_file(in(scratch, "a.csv"), "a,b\n1,2\n");
	snprintf(command, sizeof(command), "gzip -n '%s' && truncate -s -4 '%s.gz'", in(scratch, "a.csv"),
		 in(scratch, "a.csv"));
	assert_int_equal(system(command), 0);
	assert_int_equal(mindprof_check_file(in(scratch, "a.csv.gz"), 0, keep_first, &first, &n_faults, NULL),
			 MINDPROF_OK);
	assert_int_equal(n_faults, 1);
	assert_string_equal(first.code, "packed-damage");
}

/* ------------------------------------------------------------------- memory */

static mp_status analyse_and_export(const struct scratch *scratch)
{
	struct mindprof_open_options open_options = {.size = sizeof(open_options), .jobs = 1};
	struct mindprof_analyse_options analyse_options = {.size = sizeof(analyse_options)};
	struct mindprof_export_options export_options = {.format = MINDPROF_EXPORT_CHROME, .overwrite = 1};
	struct mindprof_trace *trace = NULL;
	mp_status status = mindprof_trace_open(RUN, &open_options, &trace, NULL);

	analyse_options.out_path = scratch->path;
	if (!status)
		status = export_to(trace, in(scratch, "trace.json"), export_options, NULL);
	if (!status)
		status = mindprof_trace_analyse(trace, &analyse_options, NULL);
	mindprof_trace_free(trace);
	return status;
}

/* However far it comes, the next analysis finds its own files and goes on. */
static void every_allocation_fails_once(void **state)
{
	mp_status status;
	uint64_t n, tried;

	for (n = 0;; n++) {
		mp_mem_fail_after(n);
		status = analyse_and_export(*state);
		tried = mp_mem_fail_after(UINT64_MAX);
		if (tried <= n)
			break;
		assert_int_not_equal(status, MINDPROF_E_EXISTS);
	}
	assert_int_equal(status, MINDPROF_OK);
	assert_true(n > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_trace_and_every_table_are_written, setup, teardown),
		cmocka_unit_test_setup_teardown(own_files_are_replaced_others_are_not, setup, teardown),
		cmocka_unit_test_setup_teardown(foreign_output_is_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(half_written_output_is_known_as_ours, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_finished_is_not_done_again, setup, teardown),
		cmocka_unit_test_setup_teardown(what_changed_is_done_again, setup, teardown),
		cmocka_unit_test_setup_teardown(output_never_follows_links, setup, teardown),
		cmocka_unit_test_setup_teardown(a_trace_file_is_analysed_beside_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(streamed_and_kept_traces_agree, setup, teardown),
		cmocka_unit_test_setup_teardown(exporting_describes_once, setup, teardown),
		cmocka_unit_test_setup_teardown(exports_are_refused_with_a_reason, setup, teardown),
		cmocka_unit_test_setup_teardown(a_recording_comes_back, setup, teardown),
		cmocka_unit_test_setup_teardown(a_recording_streams, setup, teardown),
		cmocka_unit_test_setup_teardown(faults_have_a_place, setup, teardown),
		cmocka_unit_test_setup_teardown(faults_beyond_the_limit_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged_packing_is_a_fault, setup, teardown),
		cmocka_unit_test_setup_teardown(every_allocation_fails_once, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
