/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Chrome trace costs: megabytes and events per second written (portable) and read back, and
 * the peak memory of writing, beside the machine's memcpy rate in the same run.
 * Input: none, events are made up block by block. Output: lines of bench/results.csv on standard
 * output, a table on standard error.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/pool.h"
#include "readers/readers.h"
#include "writers/writers.h"

#define THREADS 4u
#define NAMES 64u
#define DETAILS 16u
#define COPY_BYTES ((size_t)256 << 20)

static struct {
	long repeats, small, large, jobs;
	const char *directory;
} options = {.repeats = 3, .small = 1000000, .large = 10000000, .jobs = 0, .directory = "/tmp"};

static char path[4096]; /* of the trace, removed at the end */
static char prefix[256];

static void die(const char *what)
{
	fprintf(stderr, "bench_export: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void check(mp_status status, const mp_err *err)
{
	char text[512];

	if (status) {
		fprintf(stderr, "bench_export: %s\n", mindprof_error_text(err, text, sizeof(text)));
		exit(1);
	}
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ------------------------------------------------------------------ made-up events */

struct source {
	struct mp_store *store;
	uint32_t tracks[THREADS], names[NAMES], details[DETAILS];
	struct mp_block block;
	int64_t clock_ns[THREADS], group_ns[THREADS];
	uint64_t random;
	uint64_t made;
};

static void open_source(struct source *source)
{
	static int64_t ts[MP_BLOCK_EVENTS], dur[MP_BLOCK_EVENTS];
	static uint32_t track[MP_BLOCK_EVENTS], name[MP_BLOCK_EVENTS], detail[MP_BLOCK_EVENTS];
	static uint8_t cls[MP_BLOCK_EVENTS];
	struct mp_store_options none = {0};
	struct mp_process process = {.pid = 4242, .rank = 0};
	mp_err err = {0};
	char text[96];

	memset(source, 0, sizeof(*source));
	check(mp_store_new(&none, &source->store, &err), &err);
	process.name = mp_store_string(source->store, "train");
	mp_store_process(source->store, &process);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct mp_track entry = {.tid = 4242 + i, .stream = -1};

		snprintf(text, sizeof(text), "worker %u", i);
		entry.name = mp_store_string(source->store, text);
		source->tracks[i] = mp_store_track(source->store, &entry);
		source->clock_ns[i] = INT64_C(1790000000000000000);
	}
	for (uint32_t i = 0; i < NAMES; i++) {
		snprintf(text, sizeof(text), "model/layer%u/%s", i, i % 3 ? "attention/MatMul" : "Add");
		source->names[i] = mp_store_string(source->store, text);
	}
	for (uint32_t i = 1; i < DETAILS; i++) {
		struct mp_detail entry = {.stream = -1};

		snprintf(text, sizeof(text), "MatMul%u", i);
		entry.type = mp_store_string(source->store, text);
		source->details[i] = mp_store_detail(source->store, &entry);
	}
	source->block = (struct mp_block){.kind = MP_KIND_RANGE,
					  .cap = MP_BLOCK_EVENTS,
					  .ts_ns = ts,
					  .a = dur,
					  .track = track,
					  .name = name,
					  .detail = detail,
					  .cls = cls};
}

/* Nine operators, then the range around them; threads take turns. The order is that of the ends. */
static const struct mp_block *make_block(struct source *source, uint64_t n)
{
	struct mp_block *block = &source->block;

	block->n = (uint32_t)MP_MIN(n, (uint64_t)MP_BLOCK_EVENTS);
	for (uint32_t i = 0; i < block->n; i++, source->made++) {
		uint64_t group = source->made / 10, member = source->made % 10;
		uint32_t thread = (uint32_t)(group % THREADS);
		int64_t *clock = &source->clock_ns[thread];

		source->random = source->random * 6364136223846793005u + 1442695040888963407u;
		block->track[i] = source->tracks[thread];
		block->name[i] = source->names[(source->random >> 40) % NAMES];
		if (member == 0)
			source->group_ns[thread] = *clock + 20;
		if (member < 9) {
			block->ts_ns[i] = *clock + 50;
			block->a[i] = 500 + (int64_t)((source->random >> 33) % 20000);
			block->detail[i] = source->details[(source->random >> 50) % DETAILS];
			block->cls[i] = MP_CLASS_OPERATOR;
			*clock += 50 + block->a[i];
		} else {
			block->ts_ns[i] = source->group_ns[thread];
			block->a[i] = *clock + 30 - source->group_ns[thread];
			block->detail[i] = 0;
			block->cls[i] = MP_CLASS_RANGE;
			*clock += 60;
		}
	}
	return block;
}

/* The same events again. */
static void rewind_source(struct source *source)
{
	source->made = 0;
	source->random = 0;
	for (uint32_t i = 0; i < THREADS; i++)
		source->clock_ns[i] = INT64_C(1790000000000000000);
}

/* ------------------------------------------------------------------ in children */

struct result {
	double memcpy_bytes_s;
	double write_s, format_s, read_s, plain_s;
	double bytes, events, store_bytes;
	double rss_bytes;
};

static double bytes_of(const char *name)
{
	struct stat st;

	return stat(name, &st) ? 0 : (double)st.st_size;
}

/* Seconds inside the writer; making the events does not count. */
static double write_trace(const char *name, uint64_t n)
{
	struct mp_trace_writer *writer;
	struct source source;
	struct mp_out out;
	mp_err err = {0};
	double spent = 0, begin;
	bool again;

	open_source(&source);
	if (name)
		check(mp_out_open(name, true, &out, &err), &err);
	else
		check(mp_out_open_fd(STDIN_FILENO, "nothing", &out, &err), &err);
	check(mp_trace_writer_new(MP_FLAVOUR_PORTABLE, &writer, &err), &err);
	do {
		rewind_source(&source);
		while (source.made < n) {
			const struct mp_block *block = make_block(&source, n - source.made);

			begin = now_s();
			check(mp_trace_writer_plan(writer, block, &err), &err);
			spent += now_s() - begin;
		}
		again = mp_trace_writer_plan_again(writer);
	} while (again);
	rewind_source(&source);
	begin = now_s();
	check(mp_trace_writer_begin(writer, source.store, &out, &err), &err);
	spent += now_s() - begin;
	while (source.made < n) {
		const struct mp_block *block = make_block(&source, n - source.made);

		begin = now_s();
		check(mp_trace_writer_block(writer, source.store, block, &err), &err);
		spent += now_s() - begin;
	}
	begin = now_s();
	check(mp_trace_writer_end(writer, &err), &err);
	check(mp_out_commit(&out, &err), &err);
	spent += now_s() - begin;
	mp_trace_writer_free(writer);
	mp_store_free(source.store);
	return spent;
}

static void job_write(struct result *result, uint64_t n)
{
	result->write_s = write_trace(path, n);
	result->bytes = bytes_of(path);
	result->events = (double)n;
}

/* The file alone: as many bytes from one buffer. */
static void job_plain(struct result *result, uint64_t n)
{
	static char piece[1 << 20];
	double begin;
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		die(path);
	memset(piece, 1, sizeof(piece));
	begin = now_s();
	for (uint64_t left = n; left > 0;) {
		ssize_t done = write(fd, piece, MP_MIN(left, (uint64_t)sizeof(piece)));

		if (done <= 0)
			die(path);
		left -= (uint64_t)done;
	}
	close(fd);
	result->plain_s = now_s() - begin;
}

/* Standard input is made a sink, so that the file system does not count. */
static void job_format(struct result *result, uint64_t n)
{
	if (!freopen("/dev/null", "w", stdin))
		die("/dev/null");
	result->format_s = write_trace(NULL, n);
}

static void job_read(struct result *result, uint64_t n)
{
	const char *slash = strrchr(path, '/');
	struct mp_store_options none = {0};
	struct mp_ctx ctx = {0};
	struct mp_source source;
	struct mp_store *store;
	struct mp_dir dir;
	mp_err err = {0};
	char parent[sizeof(path)];
	double begin;

	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
	check(mp_dir_open(parent, &dir, &err), &err);
	check(mp_pool_new((unsigned)options.jobs, &ctx.pool, &err), &err);
	check(mp_store_new(&none, &store, &err), &err);
	source = (struct mp_source){.dir = &dir, .name = slash + 1};
	begin = now_s();
	check(mp_reader_chrome_json.read(&ctx, &source, store, &err), &err);
	result->read_s = now_s() - begin;
	result->bytes = bytes_of(path);
	result->events = (double)mp_store_n_events(store, MP_KIND_RANGE);
	result->store_bytes = (double)mp_store_bytes(store);
	if (result->events != (double)n || mp_store_n_notes(store)) {
		fprintf(stderr, "bench_export: %g events read, %zu notes\n", result->events,
			mp_store_n_notes(store));
		exit(1);
	}
	mp_store_free(store);
	mp_pool_free(ctx.pool);
	mp_dir_close(&dir);
}

static void job_memcpy(struct result *result, uint64_t n)
{
	char *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);
	double begin, spent;

	(void)n;
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

typedef void (*job_fn)(struct result *result, uint64_t n);

/* In a process of its own, so that its peak memory can be told. */
static struct result run(job_fn job, uint64_t n)
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
		job(&result, n);
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

/* ------------------------------------------------------------------ figures */

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
	snprintf(prefix, sizeof(prefix), "%s,%s,%s x%ld,export", date, commit, machine,
		 sysconf(_SC_NPROCESSORS_ONLN));
}

static void print_value(const char *name, double value, const char *unit)
{
	printf("%s,%s,%.6g,%s,,\n", prefix, name, value, unit);
	fprintf(stderr, "  %-40s %12.6g %s\n", name, value, unit);
}

/* A figure with a bar: value is `ratio` times `reference`. */
static void print_ratio(const char *name, double value, const char *reference, double bar, bool at_most)
{
	printf("%s,%s,%.3f,ratio,%s,%.3f\n", prefix, name, value, reference, value);
	fprintf(stderr, "  %-40s %12.3f (%s %g: %s)\n", name, value, at_most ? "at most" : "at least", bar,
		(at_most ? value <= bar : value >= bar) ? "yes" : "NO");
}

static void keep_best(double *best, double value)
{
	if (*best == 0 || value < *best)
		*best = value;
}

static void bench(void)
{
	double copy = 0, write_s = 0, format_s = 0, read_s = 0, plain_s = 0;
	struct result small = {0}, large, last = {0};

	for (long i = 0; i < options.repeats; i++) {
		double copied = run(job_memcpy, 0).memcpy_bytes_s;

		copy = MP_MAX(copy, copied);
		small = run(job_write, (uint64_t)options.small);
		keep_best(&write_s, small.write_s);
		keep_best(&format_s, run(job_format, (uint64_t)options.small).format_s);
		last = run(job_read, (uint64_t)options.small);
		keep_best(&read_s, last.read_s);
		keep_best(&plain_s, run(job_plain, (uint64_t)small.bytes).plain_s);
	}
	print_value("memcpy", copy / 1e9, "GB/s");
	print_value("bytes per event", small.bytes / small.events, "bytes");
	print_value("written", small.bytes / write_s / 1e6, "MB/s");
	print_value("written, events", small.events / write_s / 1e6, "M/s");
	print_ratio("written / memcpy", small.bytes / write_s / copy, "memcpy", 0.1, false);
	print_value("plain write(2) of as many bytes", small.bytes / plain_s / 1e6, "MB/s");
	print_ratio("plain write(2) / memcpy", small.bytes / plain_s / copy, "memcpy", 0.1, false);
	print_ratio("formatted, no file / memcpy", small.bytes / format_s / copy, "memcpy", 0.1, false);
	print_value("read", small.bytes / read_s / 1e6, "MB/s");
	print_value("read, events", small.events / read_s / 1e6, "M/s");
	print_ratio("read / memcpy", small.bytes / read_s / copy, "memcpy", 0.1, false);
	print_ratio("store / 64 bytes per event", last.store_bytes / last.events / 64, "64 bytes", 1, true);
	large = run(job_write, (uint64_t)options.large);
	print_value("peak memory of writing, small", small.rss_bytes / 1e6, "MB");
	print_value("peak memory of writing, large", large.rss_bytes / 1e6, "MB");
	print_ratio("peak memory, large / small", large.rss_bytes / small.rss_bytes, "small", 1.1, true);
	print_ratio("time per event, large / small", large.write_s / large.events / (write_s / small.events),
		    "small", 1.1, true);
}

static void usage(void)
{
	fprintf(stderr,
		"usage: bench_export [--repeats N] [--small N] [--large N] [--jobs N] [--dir DIRECTORY]\n"
		"repeats of each measurement (3, the best counts), events of the two sizes (1000000 and\n"
		"10000000), threads that read (0 = one per core), where the trace goes (/tmp)\n");
	exit(2);
}

static void parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		bool more = i + 1 < argc;

		if (more && strcmp(argv[i], "--repeats") == 0)
			options.repeats = atol(argv[++i]);
		else if (more && strcmp(argv[i], "--small") == 0)
			options.small = atol(argv[++i]);
		else if (more && strcmp(argv[i], "--large") == 0)
			options.large = atol(argv[++i]);
		else if (more && strcmp(argv[i], "--jobs") == 0)
			options.jobs = atol(argv[++i]);
		else if (more && strcmp(argv[i], "--dir") == 0)
			options.directory = argv[++i];
		else
			usage();
	}
	if (options.repeats < 1 || options.small < 1 || options.large < options.small || options.jobs < 0)
		usage();
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	snprintf(path, sizeof(path), "%s/mindprof-bench-export-%ld.json", options.directory, (long)getpid());
	make_prefix();
	bench();
	unlink(path);
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
