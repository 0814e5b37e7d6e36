/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading costs: records and megabytes per second into the event store, bytes per event in it, and
 * peak memory in streaming mode for two sizes, beside the machine's memcpy rate of the same run.
 * Input: made by gen_trace, which lies beside this program. Output: lines of bench/results.csv on
 * standard output, a table on standard error.
 */
#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/pool.h"
#include "readers/readers.h"

#define COPY_BYTES ((size_t)256 << 20)

static struct {
	long repeats, small, large, jobs;
	const char *directory, *only;
	bool keep;
} options = {.repeats = 3, .small = 1000000, .large = 10000000, .jobs = 1, .directory = "/tmp"};

static char prefix[256], generator[4096], root[4096];

struct input {
	const char *name;   /* for people and results.csv */
	const char *format; /* of gen_trace */
	const char *flags;
	const struct mp_reader *reader;
	const char *data_file; /* whose size counts; "" = the output itself */
};
static const struct input inputs[] = {
	{"native, ranges", "native", "--plain", &mp_reader_native, "/MINDPROF/events.mpr"},
	{"native, all kinds", "native", "", &mp_reader_native, "/MINDPROF/events.mpr"},
	{"op_range", "op_range", "", &mp_reader_op_range, "/FRAMEWORK/mindspore.op_range"},
	{"chrome", "chrome", "", &mp_reader_chrome_json, ""},
};

static void die(const char *what)
{
	fprintf(stderr, "bench_read: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void check(mp_status status, const mp_err *err)
{
	char text[512];

	if (status) {
		fprintf(stderr, "bench_read: %s\n", mindprof_error_text(err, text, sizeof(text)));
		exit(1);
	}
}

static double clock_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double now_s(void)
{
	return clock_s(CLOCK_MONOTONIC);
}

/* ---- input ---- */

static void input_path(char *to, size_t size, const struct input *input, long n)
{
	snprintf(to, size, "%s/%s%s-%ld", root, input->format, input->flags, n);
}

static double input_bytes(const struct input *input, long n)
{
	char path[8192];
	struct stat st;
	size_t len;

	input_path(path, sizeof(path), input, n);
	len = strlen(path);
	snprintf(path + len, sizeof(path) - len, "%s", input->data_file);
	return stat(path, &st) ? 0 : (double)st.st_size;
}

static void generate(const struct input *input, long n)
{
	char path[8192], count[32];
	int status;
	pid_t child;

	input_path(path, sizeof(path), input, n);
	snprintf(count, sizeof(count), "%ld", n);
	child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		if (*input->flags)
			execl(generator, "gen_trace", input->format, "--out", path, "--events", count,
			      input->flags, NULL);
		else
			execl(generator, "gen_trace", input->format, "--out", path, "--events", count, NULL);
		die(generator);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		exit(1);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

static void remove_input(const struct input *input, long n)
{
	char path[8192];

	if (options.keep)
		return;
	input_path(path, sizeof(path), input, n);
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- in children ---- */

struct result {
	double memcpy_bytes_s;
	double read_s, cpu_s, events, store_bytes;
	double rss_bytes;
};

static mp_status nothing(void *user, const struct mp_block *block, mp_err *err)
{
	(void)user;
	(void)block;
	(void)err;
	return MINDPROF_OK;
}

static void read_input(struct result *result, const struct input *input, long n, bool streaming)
{
	struct mp_store_options store_options = {.on_block = streaming ? nothing : NULL};
	struct mp_ctx ctx = {.max_unpacked = SIZE_MAX};
	struct mp_source source = {0};
	struct mp_store *store;
	struct mp_dir dir;
	mp_err err = {0};
	char path[8192];
	double begin, cpu_begin;

	input_path(path, sizeof(path), input, n);
	if (!*input->data_file) {
		source.name = strrchr(path, '/') + 1;
		check(mp_dir_open(root, &dir, &err), &err);
	} else {
		check(mp_dir_open(path, &dir, &err), &err);
	}
	source.dir = &dir;
	check(mp_pool_new((unsigned)options.jobs, &ctx.pool, &err), &err);
	check(mp_store_new(&store_options, &store, &err), &err);
	begin = now_s();
	cpu_begin = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	check(input->reader->read(&ctx, &source, store, &err), &err);
	result->read_s = now_s() - begin;
	result->cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin;
	for (int kind = 0; kind < MP_KINDS; kind++)
		result->events += (double)mp_store_n_events(store, (enum mp_kind)kind);
	result->store_bytes = (double)mp_store_bytes(store);
	if (mp_store_n_notes(store)) {
		struct mp_note note = mp_store_get_note(store, 0);

		fprintf(stderr, "bench_read: %s\n", mp_store_text(store, note.text).text);
		exit(1);
	}
	mp_store_free(store);
	mp_pool_free(ctx.pool);
	mp_dir_close(&dir);
}

static void copy_memory(struct result *result)
{
	char *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);
	double begin, spent;

	if (!from || !to)
		die("memory");
	memset(from, 1, COPY_BYTES);
	memset(to, 2, COPY_BYTES);
	begin = now_s();
	memcpy(to, from, COPY_BYTES);
	spent = now_s() - begin;
	__asm__ volatile("" : : "r"(to) : "memory");
	result->memcpy_bytes_s = (double)COPY_BYTES / spent;
	free(from);
	free(to);
}

/* In a process of its own, so that its peak memory can be told. input NULL: memcpy. */
static struct result run(const struct input *input, long n, bool streaming)
{
	struct result result = {0};
	struct rusage usage;
	int ends[2], status;
	pid_t child;

	if (pipe(ends) != 0)
		die("pipe");
	child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		if (input)
			read_input(&result, input, n, streaming);
		else
			copy_memory(&result);
		_exit(write(ends[1], &result, sizeof(result)) == (ssize_t)sizeof(result) ? 0 : 1);
	}
	close(ends[1]);
	if (read(ends[0], &result, sizeof(result)) != (ssize_t)sizeof(result))
		exit(1);
	close(ends[0]);
	if (wait4(child, &status, 0, &usage) != child || status != 0)
		exit(1);
	result.rss_bytes = (double)usage.ru_maxrss * 1024;
	return result;
}

/* ---- figures ---- */

/* Text of a command's first output line, or "-". */
static void ask(const char *command, char *buf, size_t size)
{
	FILE *pipe = popen(command, "r");

	if (!pipe || !fgets(buf, (int)size, pipe))
		snprintf(buf, size, "-");
	if (pipe)
		pclose(pipe);
	buf[strcspn(buf, "\n")] = '\0';
}

static void make_prefix(void)
{
	char date[16], commit[48], machine[96];
	time_t now = time(NULL);
	struct tm utc;

	gmtime_r(&now, &utc);
	strftime(date, sizeof(date), "%Y-%m-%d", &utc);
	ask("git rev-parse --short HEAD 2>/dev/null", commit, sizeof(commit));
	ask("sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | tr -d ','", machine, sizeof(machine));
	snprintf(prefix, sizeof(prefix), "%s,%s,%s x%ld,read", date, commit, machine,
		 sysconf(_SC_NPROCESSORS_ONLN));
}

static void print_value(const char *input, const char *what, double value, const char *unit)
{
	printf("%s,\"%s: %s\",%.6g,%s,,\n", prefix, input, what, value, unit);
	fprintf(stderr, "  %-20s %-34s %12.6g %s\n", input, what, value, unit);
}

/* A figure with a bar. */
static void print_ratio(const char *input, const char *what, double value, double bar, bool at_most)
{
	printf("%s,\"%s: %s\",%.3f,ratio,,%.3f\n", prefix, input, what, value, value);
	fprintf(stderr, "  %-20s %-34s %12.3f (%s %g: %s)\n", input, what, value,
		at_most ? "at most" : "at least", bar,
		(at_most ? value <= bar : value >= bar) ? "yes" : "NO");
}

static void bench(const struct input *input, double memcpy_bytes_s)
{
	struct result best = {0}, small, large;
	double bytes;

	generate(input, options.small);
	bytes = input_bytes(input, options.small);
	for (long i = 0; i < options.repeats; i++) {
		struct result result = run(input, options.small, false);

		if (i == 0 || result.cpu_s < best.cpu_s)
			best = result;
	}
	print_value(input->name, "records", (double)options.small / best.read_s / 1e6, "M/s");
	print_value(input->name, "records per CPU second", (double)options.small / best.cpu_s / 1e6, "M/s");
	print_value(input->name, "bytes", bytes / best.read_s / 1e6, "MB/s");
	print_value(input->name, "bytes per record in the file", bytes / (double)options.small, "bytes");
	print_value(input->name, "events in the store", best.events, "events");
	print_value(input->name, "read / memcpy", bytes / best.read_s / memcpy_bytes_s, "ratio");
	if (input->reader == &mp_reader_native || input->reader == &mp_reader_op_range)
		print_ratio(input->name, "records per CPU second / 10 M",
			    (double)options.small / best.cpu_s / 1e7, 1, false);
	print_ratio(input->name, "store / 64 bytes per event", best.store_bytes / best.events / 64, 1, true);
	small = run(input, options.small, true);
	print_value(input->name, "peak memory, streaming, small", small.rss_bytes / 1e6, "MB");
	generate(input, options.large);
	large = run(input, options.large, true);
	print_value(input->name, "peak memory, streaming, large", large.rss_bytes / 1e6, "MB");
	if (*input->data_file && options.large > options.small)
		print_ratio(input->name, "peak memory, growth per record",
			    (large.rss_bytes - small.rss_bytes) / (double)(options.large - options.small), 1,
			    true);
	print_value(input->name, "streaming, large, records", (double)options.large / large.read_s / 1e6,
		    "M/s");
	remove_input(input, options.small);
	remove_input(input, options.large);
}

static void usage(FILE *to)
{
	fprintf(to,
		"usage: bench_read [--repeats N] [--small N] [--large N] [--jobs N] [--dir DIRECTORY]\n"
		"                  [--only native|op_range|chrome] [--keep]\n"
		"repeats of each measurement (3, the best counts), records of the two sizes (1000000 and\n"
		"10000000), threads that read (1), where the input goes (/tmp) and whether it stays there\n");
}

static void parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		bool more = i + 1 < argc;

		if (more && strcmp(argv[i], "--repeats") == 0) {
			options.repeats = atol(argv[++i]);
		} else if (more && strcmp(argv[i], "--small") == 0) {
			options.small = atol(argv[++i]);
		} else if (more && strcmp(argv[i], "--large") == 0) {
			options.large = atol(argv[++i]);
		} else if (more && strcmp(argv[i], "--jobs") == 0) {
			options.jobs = atol(argv[++i]);
		} else if (more && strcmp(argv[i], "--dir") == 0) {
			options.directory = argv[++i];
		} else if (more && strcmp(argv[i], "--only") == 0) {
			options.only = argv[++i];
		} else if (strcmp(argv[i], "--keep") == 0) {
			options.keep = true;
		} else {
			bool help = strcmp(argv[i], "--help") == 0;

			usage(help ? stdout : stderr);
			exit(help ? 0 : 2);
		}
	}
	if (options.repeats < 1 || options.small < 1 || options.large < options.small || options.jobs < 1) {
		usage(stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	double memcpy_bytes_s = 0;
	char *slash;

	parse(argc, argv);
	if (readlink("/proc/self/exe", generator, sizeof(generator) - 16) < 0)
		die("/proc/self/exe");
	slash = strrchr(generator, '/');
	snprintf(slash, 16, "/gen_trace");
	snprintf(root, sizeof(root), "%s/bench_read_XXXXXX", options.directory);
	if (!mkdtemp(root))
		die(root);
	make_prefix();
	for (long i = 0; i < options.repeats; i++)
		memcpy_bytes_s = MP_MAX(memcpy_bytes_s, run(NULL, 0, false).memcpy_bytes_s);
	print_value("machine", "memcpy", memcpy_bytes_s / 1e9, "GB/s");
	for (size_t i = 0; i < MP_COUNT(inputs); i++)
		if (!options.only || strcmp(options.only, inputs[i].format) == 0)
			bench(&inputs[i], memcpy_bytes_s);
	if (!options.keep)
		rmdir(root);
	return 0;
}
