/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding and opening runs, tables, notes, printing. Data: a directory that MindSpore wrote on a CPU
 * (tests/data/cpu), and directories made here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mindprof/trace.h>

#include "api/api_trace.h"
#include "base/mem.h"

#define RAW MP_SOURCE_DIR "/tests/data/cpu/cpu-graph-schedule/raw"
#define RUN RAW "/host0_7688_20261130205131399_ascend_ms"

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

/* scratch/name in a static buffer. */
static const char *in(const struct scratch *scratch, const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", scratch->path, name);
	return path;
}

static void make_dir(const struct scratch *scratch, const char *name)
{
	assert_int_equal(mkdir(in(scratch, name), 0750), 0);
}

static void make_file(const struct scratch *scratch, const char *name, const char *text)
{
	FILE *file = fopen(in(scratch, name), "w");

	assert_non_null(file);
	assert_int_equal(fputs(text, file) < 0, 0);
	assert_int_equal(fclose(file), 0);
}

/* ----------------------------------------------------------------- finding */

struct found {
	char paths[2048];
	int stop_after; /* 0 = never */
	int n;
};

static int note_run(void *user, const char *path)
{
	struct found *found = user;
	const char *name = strrchr(path, '/');

	strcat(found->paths, name ? name + 1 : path);
	strcat(found->paths, "\n");
	return ++found->n == found->stop_after;
}

static mp_status find(const char *path, struct found *found)
{
	memset(found->paths, 0, sizeof(found->paths));
	found->n = 0;
	return mindprof_find_runs(path, note_run, found, NULL);
}

static void runs_are_found_at_a_path_and_below(void **state)
{
	struct scratch *scratch = *state;
	struct found found = {.n = 0};

	assert_int_equal(find(in(scratch, "absent"), &found), MINDPROF_E_NOT_FOUND);
	assert_int_equal(find(scratch->path, &found), MINDPROF_E_NOT_FOUND);

	make_dir(scratch, "b_ascend_ms");
	make_dir(scratch, "b_ascend_ms/FRAMEWORK");
	make_dir(scratch, "a_ascend_ms");
	make_dir(scratch, "a_ascend_ms/PROF_000001_20250705072000001_ABCDEFGHIJKLMNOP");
	make_dir(scratch, "c");
	make_dir(scratch, "c/MINDPROF");
	make_dir(scratch, "other");
	make_file(scratch, "MINDPROF", "a file does not count");
	assert_int_equal(symlink("b_ascend_ms", in(scratch, "z_link")), 0);
	assert_int_equal(find(scratch->path, &found), MINDPROF_OK);
	assert_string_equal(found.paths, "a_ascend_ms\nb_ascend_ms\nc\n");

	assert_int_equal(find(in(scratch, "c"), &found), MINDPROF_OK);
	assert_string_equal(found.paths, "c\n");
	/* the user may name a link */
	assert_int_equal(find(in(scratch, "z_link"), &found), MINDPROF_OK);
	assert_string_equal(found.paths, "z_link\n");
	assert_int_equal(find(in(scratch, "other"), &found), MINDPROF_E_NOT_FOUND);
	assert_int_equal(find(in(scratch, "MINDPROF"), &found), MINDPROF_E_UNSUPPORTED);

	found.stop_after = 2;
	assert_int_equal(find(scratch->path, &found), MINDPROF_OK);
	assert_string_equal(found.paths, "a_ascend_ms\nb_ascend_ms\n");
}

static void trace_files_are_runs_where_no_directory_is(void **state)
{
	static const char trace[] =
		"{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, "
		"\"ts\": 1, \"dur\": 2}]}";
	struct scratch *scratch = *state;
	struct found found = {.n = 0};

	make_file(scratch, "y.json", trace);
	make_file(scratch, "x.json", trace);
	make_file(scratch, "notes.txt", "hello");
	assert_int_equal(find(scratch->path, &found), MINDPROF_OK);
	assert_string_equal(found.paths, "x.json\ny.json\n");
	assert_int_equal(find(in(scratch, "y.json"), &found), MINDPROF_OK);
	assert_string_equal(found.paths, "y.json\n");

	make_dir(scratch, "run");
	make_dir(scratch, "run/FRAMEWORK");
	assert_int_equal(find(scratch->path, &found), MINDPROF_OK);
	assert_string_equal(found.paths, "run\n");
}

/* ----------------------------------------------------------------- opening */

static struct mindprof_trace *open_run(const char *path)
{
	struct mindprof_open_options options = {.size = sizeof(options), .jobs = 1};
	struct mindprof_trace *trace = NULL;
	struct mindprof_error error = {0};
	char text[512];

	if (mindprof_trace_open(path, &options, &trace, &error))
		fail_msg("%s", mindprof_error_text(&error, text, sizeof(text)));
	return trace;
}

static const struct mindprof_table *table_of(struct mindprof_trace *trace, const char *name)
{
	const struct mindprof_table *table = NULL;
	struct mindprof_error error = {0};
	char text[512];

	if (mindprof_trace_table(trace, name, &table, &error))
		fail_msg("%s", mindprof_error_text(&error, text, sizeof(text)));
	return table;
}

static const char *text_of(const struct mindprof_table *table, size_t row, const char *key)
{
	int column = mindprof_table_find_column(table, key);
	const char *text;
	size_t len;

	assert_true(column >= 0);
	if (!mindprof_table_text(table, row, (size_t)column, &text, &len))
		return "(missing)";
	assert_int_equal(strlen(text), len);
	return text;
}

/* The value of the row whose first column is `name`. */
static const char *lookup(const struct mindprof_table *table, const char *name, const char *key)
{
	const char *text;
	size_t i, len;

	for (i = 0; i < mindprof_table_rows(table); i++)
		if (mindprof_table_text(table, i, 0, &text, &len) && !strcmp(text, name))
			return text_of(table, i, key);
	return "(no such row)";
}

static void what_is_no_recording_does_not_open(void **state)
{
	struct scratch *scratch = *state;
	struct mindprof_trace *trace = NULL;
	struct mindprof_open_options bad = {0};

	assert_int_equal(mindprof_trace_open(in(scratch, "absent"), NULL, &trace, NULL),
			 MINDPROF_E_NOT_FOUND);
	assert_int_equal(mindprof_trace_open(scratch->path, NULL, &trace, NULL), MINDPROF_E_UNSUPPORTED);
	make_file(scratch, "x", "hello");
	assert_int_equal(mindprof_trace_open(in(scratch, "x"), NULL, &trace, NULL), MINDPROF_E_UNSUPPORTED);
	assert_int_equal(mindprof_trace_open(RUN, &bad, &trace, NULL), MINDPROF_E_ARGUMENT);
	assert_null(trace);
	mindprof_trace_free(NULL);
}

static void a_run_without_anything_to_read_is_incomplete(void **state)
{
	struct scratch *scratch = *state;
	struct mindprof_trace *trace;
	struct mindprof_note note;

	make_dir(scratch, "run");
	make_dir(scratch, "run/FRAMEWORK");
	make_file(scratch, "run/FRAMEWORK/gpu_op_detail_info_0.csv", "");
	make_file(scratch, "run/odd", "");
	trace = open_run(in(scratch, "run"));
	assert_false(mindprof_trace_note(trace, 0, &note)); /* nothing was read yet */
	assert_true(mindprof_trace_is_incomplete(trace));

	assert_true(mindprof_trace_note(trace, 0, &note));
	assert_string_equal(note.code, "unknown-content");
	assert_string_equal(note.path, "odd");
	assert_int_equal(note.severity, MINDPROF_INFO);
	assert_true(mindprof_trace_note(trace, 1, &note));
	assert_string_equal(note.code, "not-read");
	assert_string_equal(note.text, "GPU operators is not read by this version");
	assert_string_equal(note.path, "FRAMEWORK/gpu_op_detail_info_0.csv");
	assert_int_equal(note.severity, MINDPROF_WARNING);
	assert_int_equal(note.byte_offset, -1);
	assert_int_equal(note.count, 1);
	assert_true(mindprof_trace_note(trace, 2, &note));
	assert_string_equal(note.code, "nothing-to-read");
	assert_string_equal(note.text,
			    "nothing here can be read by this version"); /* no path of the machine */
	assert_int_equal(note.severity, MINDPROF_PROBLEM);
	assert_string_equal(note.path, "");
	assert_false(mindprof_trace_note(trace, 3, &note));

	assert_int_equal(mindprof_table_rows(table_of(trace, "losses")), 2);
	assert_int_equal(mindprof_table_rows(table_of(trace, "operators")), 0);
	assert_non_null(mindprof_table_empty_reason(table_of(trace, "operators")));
	mindprof_trace_free(trace);
}

/* ------------------------------------------------------------------ tables */

static void every_table_has_a_name_and_a_shape(void **state)
{
	struct mindprof_trace *trace = open_run(RUN);
	const struct mindprof_table *table = NULL;
	struct mindprof_column column;
	const char *name;
	size_t i, j;

	(void)state;
	assert_string_equal(mindprof_trace_path(trace), RUN);
	assert_string_equal(mindprof_table_name(0), "sources");
	for (i = 0; (name = mindprof_table_name(i)); i++) {
		table = table_of(trace, name);
		assert_non_null(mindprof_table_about(name));
		assert_ptr_equal(table, table_of(trace, name)); /* computed once */
		assert_true(*mindprof_table_title(table));
		assert_true(mindprof_table_columns(table) > 0);
		assert_int_equal(mindprof_table_empty_reason(table) == NULL, mindprof_table_rows(table) > 0);
		for (j = 0; j < mindprof_table_columns(table); j++) {
			assert_true(mindprof_table_column(table, j, &column));
			assert_int_equal(mindprof_table_find_column(table, column.key), j);
		}
		assert_false(mindprof_table_column(table, j, &column));
	}
	assert_true(i > 8);
	assert_null(mindprof_table_about("nonsense"));
	assert_int_equal(mindprof_trace_table(trace, "nonsense", &table, NULL), MINDPROF_E_NOT_FOUND);
	assert_int_equal(mindprof_table_find_column(table, "nonsense"), -1);
	mindprof_trace_free(trace);
}

/* cpu_op_execute_timestamp_0.txt has 17 lines of 2 executions, cpu_ms_memory_record_0.txt a header and 76
 * lines. */
static void descriptions_say_what_is_there(void **state)
{
	struct mindprof_trace *trace = open_run(RUN);
	const struct mindprof_table *facts = table_of(trace, "facts");
	const struct mindprof_table *sources = table_of(trace, "sources");
	int64_t events;

	(void)state;
	assert_string_equal(lookup(facts, "path", "value"), RUN);
	assert_string_equal(lookup(facts, "events", "value"), "110");
	assert_string_equal(lookup(facts, "events.range", "value"), "34");
	assert_string_equal(lookup(facts, "events.memory_total", "value"), "76");
	assert_string_equal(lookup(facts, "ranks", "value"), "0");
	/* the first execution begins at 1796071891403789934 ns */
	assert_string_equal(lookup(facts, "begin", "value"), "2026-11-30T20:51:31.403789934Z");

	assert_int_equal(mindprof_table_rows(sources), 5);
	assert_string_equal(text_of(sources, 0, "path"), "FRAMEWORK/cpu_framework_0.txt");
	assert_string_equal(text_of(sources, 0, "state"), "read");
	assert_true(mindprof_table_int(sources, 0, (size_t)mindprof_table_find_column(sources, "events"),
				       &events));
	assert_int_equal(events, 110);
	assert_false(mindprof_table_int(sources, 1, (size_t)mindprof_table_find_column(sources, "events"),
					&events));
	assert_int_equal(mindprof_table_rows(table_of(trace, "notes")), 0);
	assert_false(mindprof_trace_is_incomplete(trace));
	mindprof_trace_free(trace);
}

/* As in cpu_op_type_info_0.csv: MatMul 6 times, 0.052236 ms. */
static void values_come_by_type(void **state)
{
	struct mindprof_trace *trace = open_run(RUN);
	const struct mindprof_table *table = table_of(trace, "operator_types");
	size_t count = (size_t)mindprof_table_find_column(table, "count");
	size_t total = (size_t)mindprof_table_find_column(table, "total_ns");
	const char *text;
	int64_t whole;
	double real;
	size_t i, len;

	(void)state;
	assert_int_equal(mindprof_table_rows(table), 12);
	for (i = 0; strcmp(text_of(table, i, "type"), "MatMul");)
		i++;
	assert_true(mindprof_table_int(table, i, count, &whole));
	assert_int_equal(whole, 6);
	assert_true(mindprof_table_double(table, i, count, &real)); /* an int is also given as double */
	assert_true(real == 6);
	assert_true(mindprof_table_int(table, i, total, &whole));
	assert_int_equal(whole, 52236);
	assert_false(mindprof_table_text(table, i, count, &text, &len)); /* not its type */
	assert_false(mindprof_table_int(table, i, 0, &whole));
	assert_false(mindprof_table_double(table, i, 0, &real));
	assert_false(mindprof_table_int(table, 12, count, &whole)); /* past the end */
	assert_false(mindprof_table_int(table, 0, 99, &whole));
	mindprof_trace_free(trace);
}

/* Table of a run that was described first and read later. */
static void describing_and_reading_agree(void **state)
{
	struct mindprof_trace *trace = open_run(RUN);
	const struct mindprof_table *facts = table_of(trace, "facts");

	(void)state;
	assert_null(trace->store); /* nothing was kept */
	assert_int_equal(mindprof_table_rows(table_of(trace, "operators")), 17);
	assert_non_null(trace->store);
	assert_ptr_equal(facts, table_of(trace, "facts"));
	assert_string_equal(lookup(facts, "events", "value"), "110");
	mindprof_trace_free(trace);
}

/* ---------------------------------------------------------------- printing */

static mp_status print(const struct mindprof_table *table, const char *columns, const char *order_by,
		       struct mindprof_text *text)
{
	struct mindprof_print_options options = {.size = sizeof(options),
						 .format = MINDPROF_TABLE_CSV,
						 .columns = columns,
						 .order_by = order_by};

	return mindprof_table_print(table, &options, text, NULL);
}

static void chosen_columns_are_printed_in_order(void **state)
{
	struct mindprof_trace *trace = open_run(RUN);
	const struct mindprof_table *table = table_of(trace, "operator_types");
	struct mindprof_text text;
	static const char begin[] = "count,type\r\n6,MatMul\r\n6,ApplyMomentum\r\n4,SparseSoftmax";

	(void)state;
	assert_int_equal(print(table, "count,type", "count", &text), MINDPROF_OK);
	assert_memory_equal(text.data, begin, sizeof(begin) - 1);
	mindprof_text_free(&text);
	assert_null(text.data);

	assert_int_equal(print(table, "count,nonsense", NULL, &text), MINDPROF_E_ARGUMENT);
	assert_int_equal(print(table, "", NULL, &text), MINDPROF_E_ARGUMENT);
	assert_int_equal(print(table, "type", "count", &text), MINDPROF_E_ARGUMENT);
	assert_null(text.data);
	mindprof_trace_free(trace);
}

static void ordered_tables_say_so(void **state)
{
	struct mindprof_trace *trace = open_run(RUN);
	struct mindprof_print_options options = {.size = sizeof(options), .order_by = "count", .max_rows = 1};
	struct mindprof_text text;

	(void)state;
	assert_int_equal(mindprof_table_print(table_of(trace, "operator_types"), &options, &text, NULL),
			 MINDPROF_OK);
	assert_non_null(strstr(text.data, "Operator types by total time by count\n"));
	assert_non_null(strstr(text.data, "MatMul"));
	assert_null(strstr(text.data, "ApplyMomentum"));
	mindprof_text_free(&text);
	mindprof_trace_free(trace);
}

/* ------------------------------------------------------------------ memory */

static mp_status use_everything(const char *path)
{
	struct mindprof_open_options options = {.size = sizeof(options), .jobs = 1};
	struct mindprof_trace *trace = NULL;
	const struct mindprof_table *table = NULL;
	struct mindprof_text text;
	mp_status status = mindprof_trace_open(path, &options, &trace, NULL);
	size_t i;

	for (i = 0; !status && mindprof_table_name(i); i++) {
		status = mindprof_trace_table(trace, mindprof_table_name(i), &table, NULL);
		if (!status)
			status = print(table, NULL, NULL, &text);
		if (!status)
			mindprof_text_free(&text);
	}
	mindprof_trace_free(trace);
	return status;
}

/*
 * Failures may also show as something less than E_NOMEM, because recognising a file never fails;
 * but whatever fails, nothing crashes, and once nothing fails all is well.
 */
static void every_allocation_fails_once(void **state)
{
	mp_status status;
	uint64_t n, tried;

	(void)state;
	for (n = 0;; n++) {
		mp_mem_fail_after(n);
		status = use_everything(RUN);
		tried = mp_mem_fail_after(UINT64_MAX);
		if (tried <= n)
			break;
	}
	assert_int_equal(status, MINDPROF_OK);
	assert_true(n > 100);
}

static int ignore_run(void *user, const char *path)
{
	(void)user, (void)path;
	return 0;
}

static void finding_survives_failing_memory(void **state)
{
	mp_status status;
	uint64_t n, tried;

	(void)state;
	for (n = 0;; n++) {
		mp_mem_fail_after(n);
		status = mindprof_find_runs(RAW, ignore_run, NULL, NULL);
		tried = mp_mem_fail_after(UINT64_MAX);
		if (tried <= n)
			break;
	}
	assert_int_equal(status, MINDPROF_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(runs_are_found_at_a_path_and_below, setup, teardown),
		cmocka_unit_test_setup_teardown(trace_files_are_runs_where_no_directory_is, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_recording_does_not_open, setup, teardown),
		cmocka_unit_test_setup_teardown(a_run_without_anything_to_read_is_incomplete, setup,
						teardown),
		cmocka_unit_test(every_table_has_a_name_and_a_shape),
		cmocka_unit_test(descriptions_say_what_is_there),
		cmocka_unit_test(values_come_by_type),
		cmocka_unit_test(describing_and_reading_agree),
		cmocka_unit_test(chosen_columns_are_printed_in_order),
		cmocka_unit_test(ordered_tables_say_so),
		cmocka_unit_test(every_allocation_fails_once),
		cmocka_unit_test(finding_survives_failing_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
