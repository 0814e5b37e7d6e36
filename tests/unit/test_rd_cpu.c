/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU operator reader against what the original made of the same files (tests/data/cpu), and
 * against handmade input with lies in it.
 */
#include "golden_trace.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define CASES MP_SOURCE_DIR "/tests/data/cpu"

/* ---- golden cases ---- */

static size_t n_cases, n_runs;

/*
 * Names, workers and durations are the original's. Its starts are late by t * (0.001 - 0.001 in binary), 35
 * to 37 ns at today's times: its sum `start * Decimal(0.001)` has the binary fraction
 * 0.001000000000000000020816... e.g. 1796071897919337452 ns is shown as 1796071897919337.489 us. Ours is the
 * exact one of the file.
 */
static void compare_ops(struct flat_events *expected, struct flat_events *actual, const char *where)
{
	flat_keep(expected, 'X');
	flat_keep(actual, 'X');
	flat_sort(expected);
	flat_sort(actual);
	assert_int_equal(expected->len, actual->len);
	assert_true(expected->len > 0);
	for (size_t i = 0; i < expected->len; i++) {
		const struct flat_event *e = &expected->at[i], *a = &actual->at[i];
		int64_t late = e->ts_ns - a->ts_ns;

		if (strcmp(e->name, a->name) != 0 || e->tid != a->tid || e->dur_ns != a->dur_ns ||
		    late < 35 || late > 38)
			fail_msg(
				"%s: event %zu: expected %s tid %lld dur %lld ts %lld, got %s tid %lld dur %lld ts %lld",
				where, i, e->name, (long long)e->tid, (long long)e->dur_ns,
				(long long)e->ts_ns, a->name, (long long)a->tid, (long long)a->dur_ns,
				(long long)a->ts_ns);
		assert_string_equal(e->args, "{\"type\": \"HostCpuOps\"}");
		assert_string_equal(a->category, "HostCpuOps");
	}
	n_runs += expected->len;
}

/* Exact starts: those of the text file itself, read here in the simplest way. */
static void compare_starts(const struct flat_events *actual, const char *raw_dir)
{
	char path[1024], *text, *line, *save = NULL;
	struct mp_ranked_file found;
	struct mp_dir dir, framework;
	struct mp_file file;
	size_t n = 0;

	assert_int_equal(mp_dir_open(raw_dir, &dir, NULL), MINDPROF_OK);
	assert_int_equal(mp_framework_dir_open(&dir, &framework, NULL), MINDPROF_OK);
	assert_int_equal(mp_ranked_file_find(&framework, "cpu_op_execute_timestamp_", ".txt", -1, &found),
			 MINDPROF_OK);
	snprintf(path, sizeof(path), "%s/FRAMEWORK/%s", raw_dir, found.name);
	assert_int_equal(mp_file_open(path, &file, NULL), MINDPROF_OK);
	text = mp_strndup((const char *)file.data, file.size);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *semicolon = strchr(line, ';'), *item, *items_save = NULL;

		*semicolon = '\0';
		for (item = strtok_r(strrchr(semicolon + 1, ';') + 1, " ", &items_save); item;
		     item = strtok_r(NULL, " ", &items_save)) {
			bool found_it = false;

			for (size_t i = 0; i < actual->len && !found_it; i++)
				found_it = actual->at[i].ts_ns == atoll(item) &&
					   strcmp(actual->at[i].name, line) == 0;
			assert_true(found_it);
			n++;
		}
	}
	assert_int_equal(n, actual->len);
	mp_free(text);
	mp_file_close(&file);
	mp_dir_close(&framework);
	mp_dir_close(&dir);
}

static void check_rank_dir(const char *case_name, const char *rank_dir)
{
	char raw[512], expected_path[768];
	struct flat_events expected, actual;
	struct mp_store *store;

	snprintf(raw, sizeof(raw), CASES "/%s/raw/%s", case_name, rank_dir);
	snprintf(expected_path, sizeof(expected_path),
		 CASES "/%s/expected/%s/ASCEND_PROFILER_OUTPUT/trace_view.json", case_name, rank_dir);
	store = read_with(&mp_reader_cpu_ops, raw, NULL, NULL, NULL);
	expected = flat_load(expected_path, 2);
	actual = flat_of_store(store, 2);
	compare_ops(&expected, &actual, raw);
	compare_starts(&actual, raw);
	if (mp_store_n_notes(store)) {
		print_notes(store);
		fail_msg("%s: no fault is in these files", raw);
	}
	flat_release(&expected);
	flat_release(&actual);
	mp_store_free(store);
	n_cases++;
}

static void each_entry(const char *path, void (*fn)(const char *parent, const char *name), const char *parent)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, NULL, alphasort);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.')
			fn(parent, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

static void check_case(const char *parent, const char *name)
{
	char raw[512];

	(void)parent;
	if (strncmp(name, "cpu-", 4) != 0 && strncmp(name, "env-", 4) != 0)
		return;
	snprintf(raw, sizeof(raw), CASES "/%s/raw", name);
	each_entry(raw, check_rank_dir, name);
}

static void test_golden_cases(void **state)
{
	(void)state;
	each_entry(CASES, check_case, NULL);
	printf("%zu rank directories, %zu executions equal the original's\n", n_cases, n_runs);
	/* ls -d tests/data/cpu/{cpu,env}-x/raw/x: 14 cases with one directory, 5 with two */
	assert_int_equal(n_cases, 24);
}

/* ---- shapes, types, ranks ---- */

static struct mp_event event_named(const struct mp_store *store, const char *name, size_t nth)
{
	for (size_t b = 0; b < mp_store_n_blocks(store); b++) {
		const struct mp_block *block = mp_store_get_block(store, b);

		for (uint32_t i = 0; i < block->n; i++)
			if (strcmp(mp_store_text(store, block->name[i]).text, name) == 0 && nth-- == 0)
				return mp_block_event(block, i);
	}
	fail_msg("no event '%s'", name);
	return (struct mp_event){0};
}

static const char *shapes_of(const struct mp_store *store, const char *name, size_t nth)
{
	return mp_store_text(store, mp_store_get_detail(store, event_named(store, name, nth).detail).shapes)
		.text;
}

/* Two operators share the short name MatMul-op0 with different shapes: told apart by order of execution. */
static void test_shapes(void **state)
{
	struct mp_store *store = read_with(
		&mp_reader_cpu_ops, CASES "/cpu-graph-schedule/raw/host0_7688_20261130205131399_ascend_ms",
		NULL, NULL, NULL);
	const char *forward = "Default/network-WithLossCell/_backbone-Net/fc-Dense/MatMul-op0";
	const char *backward =
		"Gradients/Default/network-WithLossCell/_backbone-Net/fc-Dense/Grad_MatMul/MatMul-op0";

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(shapes_of(store, forward, i), "8,64;10,64");
		assert_string_equal(shapes_of(store, backward, i), "8,10;10,64");
	}
	assert_string_equal(shapes_of(store, "Default/optimizer-Momentum/ApplyMomentum-op0", 0),
			    "10;10;;10;");
	assert_string_equal(
		mp_store_text(store, mp_store_get_detail(store, event_named(store, backward, 0).detail).type)
			.text,
		"MatMul");
	mp_store_free(store);
}

static void test_memory_record(void **state)
{
	struct mp_store *store = read_with(
		&mp_reader_cpu_ops, CASES "/cpu-profile-memory/raw/host0_8098_20261130205200685_ascend_ms",
		NULL, NULL, NULL);
	uint64_t n = 0;

	(void)state;
	for (size_t b = 0; b < mp_store_n_blocks(store); b++) {
		const struct mp_block *block = mp_store_get_block(store, b);

		if (block->kind != MP_KIND_MEMORY_TOTAL)
			continue;
		if (!n) { /* first row of the file */
			assert_int_equal(block->ts_ns[0], 1796071920748439793);
			assert_int_equal(block->a[0], 2048);
			assert_int_equal(block->b[0], 1073741824);
			assert_int_equal(block->c[0], 2048);
			assert_int_equal(mp_store_get_track(store, block->track[0]).kind, MP_TRACK_COUNTER);
		}
		n += block->n;
	}
	assert_int_equal(n, 218); /* wc -l: 219 lines, one is the header */
	mp_store_free(store);
}

static void test_second_rank(void **state)
{
	struct mp_store *store = read_with(
		&mp_reader_cpu_ops, CASES "/cpu-two-ranks/raw/host0_rank1_12202_20261130205826439_ascend_ms",
		NULL, NULL, NULL);

	(void)state;
	assert_int_equal(mp_store_get_process(store, 0).rank, 1);
	assert_int_equal(mp_store_get_process(store, 0).pid, 2);
	assert_string_equal(mp_store_text(store, mp_store_get_process(store, 0).name).text, "CPU OP");
	mp_store_free(store);
}

/* raw-host.md section 3: 250 us on worker 3 and 1.5 ms on worker 0. The files lie in the directory itself
 * (2.3). */
static void test_handmade(void **state)
{
	struct mp_store *store = read_with(&mp_reader_cpu_ops, CASES "/handmade", NULL, NULL, NULL);
	struct mp_event e = event_named(store, "Default/network-Net/Add-op1", 0);

	(void)state;
	assert_int_equal(e.ts_ns, 1720000000123456789);
	assert_int_equal(e.a, 250000);
	assert_int_equal(mp_store_get_track(store, e.track).tid, 3);
	e = event_named(store, "Default/network-Net/Add-op1", 1);
	assert_int_equal(e.ts_ns, 1720000000223456789);
	assert_int_equal(e.a, 1500000);
	assert_int_equal(mp_store_get_track(store, e.track).tid, 0);
	assert_int_equal(mp_store_n_events(store, MP_KIND_MEMORY_TOTAL), 1);
	assert_int_equal(mp_store_n_notes(store), 0);
	mp_store_free(store);
}

/* ---- damaged input ---- */

static char scratch[256];

static int make_scratch(void **state)
{
	(void)state;
	snprintf(scratch, sizeof(scratch), "%s/rd_cpu_XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	return mkdtemp(scratch) ? 0 : -1;
}

static void put_file(const char *name, const void *bytes, size_t len)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

static void remove_file(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	unlink(path);
}

static int remove_scratch(void **state)
{
	static const char *const names[] = {
		"cpu_op_execute_timestamp_0.txt",
		"cpu_op_execute_timestamp_3.txt",
		"cpu_op_detail_info_0.csv",
		"cpu_op_type_info_0.csv",
		"cpu_framework_0.txt",
		"cpu_ms_memory_record_0.txt",
	};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(names); i++)
		remove_file(names[i]);
	return rmdir(scratch);
}

#define TIMES "cpu_op_execute_timestamp_0.txt"

struct lie {
	const char *text;
	const char *code; /* of the one note, NULL = none */
	uint64_t n_runs;  /* that must still be there */
};

static const struct lie lies[] = {
	{"a;HostCpuOps;1000000000000000000,1 \n", NULL, 1}, /* 2 values: no worker */
	{"a;HostCpuOps;1000000000000000000,1,2,3 1000000000000000000,1,2 \n", "bad-item", 1},
	{"a;HostCpuOps;1000000000000000000,nan,0 1000000000000000005,2,0 \n", "bad-item", 1},
	{"a;HostCpuOps;1000000000000000000,inf,0 1000000000000000005,2,0 \n", "bad-item", 1},
	{"a;HostCpuOps;1000000000000000000,-1,0 1000000000000000005,2,0 \n", "bad-item", 1},
	{"a;HostCpuOps;9223372036854775808,1,0 1000000000000000005,2,0 \n", "bad-item", 1}, /* 2^63 */
	{"a;HostCpuOps;9223372036854775807,1,0 1000000000000000005,2,0 \n", "bad-item",
	 1}, /* end overflows */
	{"a;HostCpuOps;18446744073709551617,1,0 1000000000000000005,2,0 \n", "bad-item", 1},
	{"a;HostCpuOps;-5,1,0 1000000000000000005,2,0 \n", "bad-item", 1},
	{"a;HostCpuOps;1000000000000000000,1e300,0 1000000000000000005,2,0 \n", "bad-item", 1},
	{"a;HostCpuOps;1000000000000000000,1e-300,0 1000000000000000005,2,0 \n", NULL, 2},
	{"a;HostCpuOps;1000000000000000000,1,99999999999999999999 1000000000000000005,2,0 \n", "bad-item", 1},
	{"a;HostCpuOps;, ,, 1000000000000000005,2,0 \n", "bad-item", 1},
	{"no separator at all\na;HostCpuOps;1000000000000000005,2,0 \n", "bad-line", 1},
	{"one;separator\na;HostCpuOps;1000000000000000005,2,0 \n", "bad-line", 1},
	{";HostCpuOps;1000000000000000000,1,0 \na;HostCpuOps;1000000000000000005,2,0 \n", "bad-line",
	 1}, /* no name */
	{"a;HostCpuOps;1000000000000000005,2,0 \nb;HostCpuOps;10000000", "truncated", 1},
	{"a;HostCpuOps;1000000000000000005,2,0 1000000000000000009,2,0", "truncated", 1},
	{"\xff\xfe\x80;HostCpuOps;1000000000000000005,2,0 \n", NULL, 1}, /* bytes are kept as they are */
	{"a;HostCpuOps;\n", NULL, 0},
	{"\n\n\na;HostCpuOps;1000000000000000005,2,0 \r\n\n", NULL, 1},
	{"a;b;c;HostCpuOps;1000000000000000005,2,0 \n", NULL, 1}, /* first and last field count */
	{"a;HostCpuOps;5,2,0 \n", "not-unix-time", 1},            /* 2.3: since boot */
};

static void test_lies(void **state)
{
	(void)state;
	for (size_t i = 0; i < MP_COUNT(lies); i++) {
		struct mp_store *store;

		put_file(TIMES, lies[i].text, strlen(lies[i].text));
		store = read_with(&mp_reader_cpu_ops, scratch, NULL, NULL, NULL);
		if (mp_store_n_events(store, MP_KIND_RANGE) != lies[i].n_runs ||
		    mp_store_n_notes(store) != (lies[i].code ? 1 : 0) ||
		    (lies[i].code && notes_of(store, lies[i].code, NULL) != 1)) {
			print_notes(store);
			fail_msg("lie %zu: %llu runs, %zu notes: %s", i,
				 (unsigned long long)mp_store_n_events(store, MP_KIND_RANGE),
				 mp_store_n_notes(store), lies[i].text);
		}
		mp_store_free(store);
	}
	remove_file(TIMES);
}

/* Offset and path of a fault. */
static void test_fault_place(void **state)
{
	static const char text[] = "a;HostCpuOps;1000000000000000005,2,0 bad 1000000000000000009,1,0 \n";
	struct mp_store *store;
	struct mp_note note;

	(void)state;
	put_file(TIMES, text, sizeof(text) - 1);
	store = read_with(&mp_reader_cpu_ops, scratch, NULL, NULL, NULL);
	assert_int_equal(notes_of(store, "bad-item", &note), 1);
	assert_int_equal(note.byte_offset, strstr(text, "bad") - text);
	assert_non_null(strstr(mp_store_text(store, note.path).text, TIMES));
	assert_int_equal(note.severity, MP_PROBLEM);
	mp_store_free(store);
	remove_file(TIMES);
}

static void test_totals_differ(void **state)
{
	static const char times[] = "Default/Add-op1;HostCpuOps;1000000000000000005,2,0 \n";
	static const char header[] =
		"op_side,op_type,op_name,full_op_name,op_occurrences,op_total_time(ms),op_avg_time(ms),total_proportion,subgraph,pid\n";
	static const char *const rows[] = {
		"Host,Add,Add-op1,Default/Add-op1,1,2,2,1,Default,1\n",     /* agrees */
		"Host,Add,Add-op1,Default/Add-op1,2,2,2,1,Default,1\n",     /* count */
		"Host,Add,Add-op1,Default/Add-op1,1,2.001,2,1,Default,1\n", /* total */
		"Host,Add,Add-op1,Default/Other-op1,1,2,2,1,Default,1\n",   /* name */
		"Host,Add,Add-op1,Default/Add-op1,1,x,2,1,Default,1\n",     /* number */
		"Host,Add,Add-op1,Default/Add-op1,1\n",                     /* columns */
		"",                                                         /* missing */
	};

	(void)state;
	put_file(TIMES, times, sizeof(times) - 1);
	for (size_t i = 0; i < MP_COUNT(rows); i++) {
		struct mp_store *store;
		char text[512];

		snprintf(text, sizeof(text), "%s%s", header, rows[i]);
		put_file("cpu_op_detail_info_0.csv", text, strlen(text));
		store = read_with(&mp_reader_cpu_ops, scratch, NULL, NULL, NULL);
		assert_int_equal(mp_store_n_notes(store), i == 0 ? 0 : 1);
		assert_int_equal(notes_of(store, "totals-differ", NULL), i == 0 ? 0 : 1);
		assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), 1);
		mp_store_free(store);
	}
	put_file("cpu_op_detail_info_0.csv", "nothing\n", 8);
	mp_store_free(read_with(&mp_reader_cpu_ops, scratch, NULL, NULL, NULL));
	remove_file("cpu_op_detail_info_0.csv");
	remove_file(TIMES);
}

/* Shapes when the numbers do not agree: all forms; without a file: none. */
static void test_shapes_unmatched(void **state)
{
	static const char times[] = "x/Add-op1;HostCpuOps;1000000000000000005,2,0 1000000000000000009,2,0 \n";
	static const char *const texts[][2] = {
		{"Add;Add-op1;7;input_1:[2];\n", "2"},
		{"Add;Add-op1;7;input_1:[2, 3];\nAdd;Add-op1;7;input_1:[];input_2:[4];\nAdd;Add-op1;7;input_1:[2, 3];\n",
		 "2,3 | ;4"},
		{"Add;Add-op1;7;input_1:[2];\nAdd;Add-op1;7;input_1:[3];\n", "2"},
		{"Add;Add-op1;7;input_1:[2];\nAdd;Add-op1;7;input_1:[3", "2"}, /* a cut line does not count */
		{"Add;Add-op2;7;input_1:[2];\n", ""},
		{";;7;\n;\n\nAdd\n", ""},
		{"Add;Add-op1;7;", ""},
		{"", ""},
	};

	(void)state;
	put_file(TIMES, times, sizeof(times) - 1);
	for (size_t i = 0; i < MP_COUNT(texts); i++) {
		struct mp_store *store;

		put_file("cpu_framework_0.txt", texts[i][0], strlen(texts[i][0]));
		store = read_with(&mp_reader_cpu_ops, scratch, NULL, NULL, NULL);
		assert_string_equal(shapes_of(store, "x/Add-op1", 0), texts[i][1]);
		mp_store_free(store);
	}
	remove_file("cpu_framework_0.txt");
	remove_file(TIMES);
}

static void test_several_ranks(void **state)
{
	static const char zero[] = "zero;HostCpuOps;1000000000000000005,2,0 \n";
	static const char three[] = "three;HostCpuOps;1000000000000000005,2,0 \n";
	struct mp_store *store;

	(void)state;
	put_file(TIMES, zero, sizeof(zero) - 1);
	put_file("cpu_op_execute_timestamp_3.txt", three, sizeof(three) - 1);
	store = read_with(&mp_reader_cpu_ops, scratch, NULL, NULL, NULL);
	event_named(store, "zero", 0);
	assert_int_equal(notes_of(store, "several-ranks", NULL), 1);
	mp_store_free(store);
	remove_file(TIMES);
	store = read_with(&mp_reader_cpu_ops, scratch, NULL, NULL, NULL); /* the only one that matches */
	event_named(store, "three", 0);
	assert_int_equal(mp_store_get_process(store, 0).rank, 3);
	mp_store_free(store);
	remove_file("cpu_op_execute_timestamp_3.txt");
}

static void test_memory_lies(void **state)
{
	static const char header[] =
		"Timestamp(ns),Total Allocated(Byte),Total Reserved(Byte),Total Active(Byte)\n";
	static const struct lie memory_lies[] = {
		{"1,2,3,4\n", NULL, 1},
		{"1,2,3\n5,6,7,8\n", "bad-item", 1},
		{"x,2,3,4\n5,6,7,8\n", "bad-item", 1},
		{"9223372036854775808,2,3,4\n5,6,7,8\n", "bad-item", 1},
		{"-1,2,3,4\n5,6,7,8\n", "bad-item", 1},
		{"5,6,7,8\n9,1,2,1", "truncated", 1},
		{"5,6,7,8\n\"9,1,2,1\n", "bad-line", 1},
		{"", NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(memory_lies); i++) {
		struct mp_store *store;
		char text[512];

		snprintf(text, sizeof(text), "%s%s", header, memory_lies[i].text);
		put_file("cpu_ms_memory_record_0.txt", text, strlen(text));
		store = read_with(&mp_reader_cpu_ops, scratch, NULL, NULL, NULL);
		if (mp_store_n_events(store, MP_KIND_MEMORY_TOTAL) != memory_lies[i].n_runs ||
		    mp_store_n_notes(store) != (memory_lies[i].code ? 1 : 0) ||
		    (memory_lies[i].code && !notes_of(store, memory_lies[i].code, NULL))) {
			print_notes(store);
			fail_msg("lie %zu: %s", i, memory_lies[i].text);
		}
		mp_store_free(store);
	}
	put_file("cpu_ms_memory_record_0.txt", "no header\n1,2,3,4\n", 18);
	mp_store_free(read_with(&mp_reader_cpu_ops, scratch, NULL, NULL, NULL));
	remove_file("cpu_ms_memory_record_0.txt");
}

/* Cut at 50 places: what is whole is kept, a cut inside a line is told once. */
static void test_truncation(void **state)
{
	const char *path =
		CASES "/cpu-profile-memory/raw/host0_8098_20261130205200685_ascend_ms/FRAMEWORK/" TIMES;
	struct mp_file file;
	uint64_t seed = 42;

	(void)state;
	assert_int_equal(mp_file_open(path, &file, NULL), MINDPROF_OK);
	for (int i = 0; i < 50; i++) {
		size_t cut, whole = 0;
		struct mp_store *store;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		cut = (seed >> 33) % file.size;
		for (size_t k = 0; k < cut; k++)
			whole += file.data[k] == ' '; /* each execution ends with a blank, names have none */
		put_file(TIMES, file.data, cut);
		store = read_with(&mp_reader_cpu_ops, scratch, NULL, NULL, NULL);
		assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), whole);
		assert_int_equal(notes_of(store, "truncated", NULL),
				 cut && file.data[cut - 1] != '\n' ? 1 : 0);
		assert_true(mp_store_n_notes(store) <= 1);
		mp_store_free(store);
	}
	mp_file_close(&file);
	remove_file(TIMES);
}

static void test_out_of_memory(void **state)
{
	(void)state;
	read_without_memory(&mp_reader_cpu_ops,
			    CASES "/cpu-profile-memory/raw/host0_8098_20261130205200685_ascend_ms", 60, 0);
}

static void test_recognise(void **state)
{
	struct mp_source source = {0};
	struct mp_dir dir;

	(void)state;
	assert_int_equal(mp_dir_open(CASES "/handmade", &dir, NULL), MINDPROF_OK);
	source.dir = &dir;
	assert_true(mp_reader_cpu_ops.recognise(&source) >= 90);
	mp_dir_close(&dir);
	assert_int_equal(mp_dir_open(CASES, &dir, NULL), MINDPROF_OK);
	assert_int_equal(mp_reader_cpu_ops.recognise(&source), 0);
	mp_dir_close(&dir);
	put_file(TIMES, "rubbish", 7);
	assert_int_equal(mp_dir_open(scratch, &dir, NULL), MINDPROF_OK);
	assert_true(mp_reader_cpu_ops.recognise(&source) > 0);
	assert_true(mp_reader_cpu_ops.recognise(&source) < 50);
	mp_dir_close(&dir);
	remove_file(TIMES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_cases),     cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_memory_record),    cmocka_unit_test(test_second_rank),
		cmocka_unit_test(test_handmade),         cmocka_unit_test(test_lies),
		cmocka_unit_test(test_fault_place),      cmocka_unit_test(test_totals_differ),
		cmocka_unit_test(test_shapes_unmatched), cmocka_unit_test(test_several_ranks),
		cmocka_unit_test(test_memory_lies),      cmocka_unit_test(test_truncation),
		cmocka_unit_test(test_out_of_memory),    cmocka_unit_test(test_recognise),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
