/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording costs: nanoseconds per event, scaling over threads, losses and bytes on disk, beside
 * the machine's own cost of reading the clock and storing 16 bytes.
 * Input: none. Output: lines of bench/results.csv on standard output, a table on standard error.
 */
#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <mindprof/record.h>

#define MAX_REPEATS 101
#define MAX_THREADS 64
#define RING_BYTES (64ul << 20)
#define SETTLE_NS 150000000

static struct {
	long repeats, iterations, threads;
	const char *directory;
} options = {.repeats = 9, .iterations = 1000000, .threads = 8, .directory = "/tmp"};

static char work[4096]; /* directory of the recordings, removed at the end */

static void die(const char *what)
{
	fprintf(stderr, "bench_record: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t read_clock(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#elif defined(__aarch64__)
	uint64_t tick;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(tick));
	return tick;
#else
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
#endif
}

/* -------------------------------------------------------------------- loops */

static char *memory; /* as large as the recorder's, touched */
static struct mindprof_site site_mark = {"mark", NULL, NULL, 0, MINDPROF_SITE_MARK, 0};
static struct mindprof_site site_range = {"range", NULL, NULL, 0, MINDPROF_SITE_RANGE, 0};
static struct mindprof_site site_counter = {"counter", NULL, NULL, 0, MINDPROF_SITE_COUNTER, 0};
static struct mindprof_site site_memory = {"memory", NULL, NULL, 0, MINDPROF_SITE_MEMORY, 0};
static struct mindprof_site site_queue = {"queue", NULL, NULL, 0, MINDPROF_SITE_QUEUE, 0};

/* One clock read and one 16-byte store into memory that was touched before. */
static inline size_t store_16(char *to, size_t at, size_t size, long n)
{
	for (long i = 0; i < n; i++) {
		uint64_t *words = (void *)(to + at);

		words[0] = (uint64_t)i;
		words[1] = read_clock();
		at = (at + 16) & (size - 1);
		__asm__ volatile("" ::: "memory");
	}
	return at;
}

static void loop_floor(long n)
{
	static size_t at;

	at = store_16(memory, at, RING_BYTES, n);
}

static void store_floor(char *to, long n)
{
	store_16(to, 0, RING_BYTES / MAX_THREADS, n);
}

static void loop_clock(long n)
{
	for (long i = 0; i < n; i++) {
		uint64_t tick = read_clock();

		__asm__ volatile("" : : "r"(tick));
	}
}

static void loop_clock_gettime(long n)
{
	struct timespec t;

	for (long i = 0; i < n; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		__asm__ volatile("" : : "r"(t.tv_nsec));
	}
}

static void loop_mark(long n)
{
	for (long i = 0; i < n; i++)
		mindprof_mark(&site_mark);
}

static void loop_range(long n)
{
	for (long i = 0; i < n; i++) {
		struct mindprof_range range = mindprof_range_begin(&site_range);

		mindprof_range_end(&range);
	}
}

static void loop_scope(long n)
{
	for (long i = 0; i < n; i++) {
		MINDPROF_SCOPE("scope");
	}
}

static void loop_push_pop(long n)
{
	for (long i = 0; i < n; i++) {
		mindprof_range_push(&site_range);
		mindprof_range_pop();
	}
}

static void loop_start_stop(long n)
{
	for (long i = 0; i < n; i++)
		mindprof_range_stop(mindprof_range_start(&site_range));
}

static void loop_counter(long n)
{
	for (long i = 0; i < n; i++)
		mindprof_counter(&site_counter, (double)i);
}

static void loop_memory(long n)
{
	for (long i = 0; i < n; i++)
		mindprof_memory_alloc(&site_memory, &site_memory, 64);
}

static void loop_queue(long n)
{
	for (long i = 0; i < n; i++)
		mindprof_queue_push(&site_queue, 0, 1, 4);
}

/* ------------------------------------------------------------------- figures */

struct figure {
	double min, median;
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct figure figure_of(double *values, long n)
{
	qsort(values, (size_t)n, sizeof(*values), compare);
	return (struct figure){values[0], values[n / 2]};
}

static char prefix[256]; /* date, commit, machine, bench */

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
	snprintf(prefix, sizeof(prefix), "%s,%s,%s x%ld,record", date, commit, machine,
		 sysconf(_SC_NPROCESSORS_ONLN));
}

static void print_heading(const char *text)
{
	fprintf(stderr, "\n%s\n", text);
}

static void print_value(const char *name, double value, const char *unit)
{
	printf("%s,%s,%.6g,%s,,\n", prefix, name, value, unit);
	fprintf(stderr, "  %-44s %12.6g %s\n", name, value, unit);
}

static void print_figure(const char *name, struct figure figure)
{
	printf("%s,%s,%.3f,ns,,\n", prefix, name, figure.min);
	fprintf(stderr, "  %-44s %9.2f ns   (median %.2f)\n", name, figure.min, figure.median);
}

/* A figure with a bar: value is `ratio` times `reference`. */
static void print_ratio(const char *name, double value, const char *reference, double bar, bool at_most)
{
	printf("%s,%s,%.3f,ratio,%s,%.3f\n", prefix, name, value, reference, value);
	fprintf(stderr, "  %-44s %9.3f      (%s %g: %s)\n", name, value, at_most ? "at most" : "at least",
		bar, (at_most ? value <= bar : value >= bar) ? "yes" : "NO");
}

/* ------------------------------------------------------------------ recording */

static void start(enum mindprof_record_mode mode)
{
	struct mindprof_record_options record = {
		.size = sizeof(record), .output_path = work, .mode = mode, .memory_bytes = RING_BYTES};
	struct mindprof_error error = {0};
	char text[1024];

	if (mindprof_record_start(&record, &error)) {
		fprintf(stderr, "bench_record: %s\n", mindprof_error_text(&error, text, sizeof(text)));
		exit(1);
	}
}

static struct mindprof_record_stats stop(void)
{
	struct mindprof_record_stats stats = {.size = sizeof(stats)};
	struct mindprof_error error = {0};
	char text[1024];

	if (mindprof_record_stop(&error))
		fprintf(stderr, "bench_record: %s\n", mindprof_error_text(&error, text, sizeof(text)));
	mindprof_record_get_stats(&stats);
	return stats;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Removes the last recording; returns the size of its events file. */
static double discard(void)
{
	char directory[4096], path[8192];
	struct stat st = {0};

	mindprof_record_directory(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s/MINDPROF/events.mpr", directory);
	if (stat(path, &st) != 0)
		die(path);
	remove_tree(directory);
	return (double)st.st_size;
}

/* ------------------------------------------------------------------ one thread */

struct bench_case {
	const char *name;
	void (*loop)(long n);
	struct figure figure;
	double values[MAX_REPEATS];
};

/* All cases in turn, so that a change of the machine's speed meets all of them. */
static void measure(struct bench_case *cases, size_t n)
{
	for (long repeat = -1; repeat < options.repeats; repeat++) {
		for (size_t i = 0; i < n; i++) {
			double begin = now_s();

			cases[i].loop(options.iterations);
			/* The first round warms up. */
			if (repeat >= 0)
				cases[i].values[repeat] =
					(now_s() - begin) * 1e9 / (double)options.iterations;
		}
	}
	for (size_t i = 0; i < n; i++) {
		cases[i].figure = figure_of(cases[i].values, options.repeats);
		print_figure(cases[i].name, cases[i].figure);
	}
}

static void bench_off(void)
{
	static struct bench_case cases[] = {{.name = "off: mark", .loop = loop_mark},
					    {.name = "off: range", .loop = loop_range},
					    {.name = "off: scope macro", .loop = loop_scope},
					    {.name = "off: counter", .loop = loop_counter}};

	print_heading("not recording, per call");
	measure(cases, sizeof(cases) / sizeof(cases[0]));
	print_ratio("off", cases[0].figure.min, "1 ns", 1, true);
}

static void bench_on(void)
{
	static struct bench_case cases[] = {
		{.name = "clock read", .loop = loop_clock},
		{.name = "clock_gettime", .loop = loop_clock_gettime},
		{.name = "floor: clock read + 16-byte store", .loop = loop_floor},
		{.name = "mark", .loop = loop_mark},
		{.name = "range (begin + end)", .loop = loop_range},
		{.name = "range (scope macro)", .loop = loop_scope},
		{.name = "range (push + pop)", .loop = loop_push_pop},
		{.name = "range (start + stop across threads)", .loop = loop_start_stop},
		{.name = "counter", .loop = loop_counter},
		{.name = "memory_alloc", .loop = loop_memory},
		{.name = "queue_push", .loop = loop_queue},
	};
	double floor_ns;

	print_heading("recording, ring mode, one thread");
	start(MINDPROF_RECORD_RING);
	measure(cases, sizeof(cases) / sizeof(cases[0]));
	print_value("lost in these loops", (double)stop().dropped, "events");
	discard();
	floor_ns = cases[2].figure.min;
	print_ratio("event / floor", cases[3].figure.min / floor_ns, "floor", 1.3, true);
	print_ratio("range / two floors", cases[4].figure.min / (2 * floor_ns), "two floors", 1.3, true);
}

/* --------------------------------------------------------------------- threads */

static pthread_barrier_t gate;
static long n_asleep; /* atomic */

/* What one thread did and when. */
struct span {
	double begin, end;
	double cpu_s; /* processor time of the loop */
	long events;
	char *memory; /* not NULL: the floor is measured, into this memory */
};

static void *thread_main(void *user)
{
	struct span *span = user;

	mindprof_mark(&site_mark);
	/* All at once, and running: a thread that is still being woken would count as slow. */
	pthread_barrier_wait(&gate);
	__atomic_sub_fetch(&n_asleep, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&n_asleep, __ATOMIC_SEQ_CST))
		sched_yield();
	span->begin = now_s();
	span->cpu_s = cpu_s();
	if (span->memory)
		store_floor(span->memory, span->events);
	else
		loop_mark(span->events);
	span->cpu_s = cpu_s() - span->cpu_s;
	span->end = now_s();
	return NULL;
}

struct rate {
	double per_s;     /* events of all threads, recorded or lost, from the first begin to the last end */
	double per_cpu_s; /* the sum of what each thread did per second of its own processor time */
	double lost_percent;
};

static struct rate run_threads(enum mindprof_record_mode mode, long n)
{
	/* Stream mode: as many as its memory holds for some threads; losses are shown. */
	long events = options.iterations * (mode == MINDPROF_RECORD_STREAM ? 1 : 4);
	struct rate rate = {0};
	pthread_t threads[MAX_THREADS];
	struct span spans[MAX_THREADS];
	double begin = INFINITY, end = 0;

	n_asleep = n;
	pthread_barrier_init(&gate, NULL, (unsigned)n);
	for (long i = 0; i < n; i++) {
		spans[i].events = events;
		spans[i].memory = !mode ? memory + (size_t)i * (RING_BYTES / MAX_THREADS) : NULL;
		if (pthread_create(&threads[i], NULL, thread_main, &spans[i]))
			die("pthread_create");
	}
	for (long i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		begin = fmin(begin, spans[i].begin);
		end = fmax(end, spans[i].end);
		rate.per_cpu_s += (double)events / spans[i].cpu_s;
	}
	pthread_barrier_destroy(&gate);
	rate.per_s = (double)n * (double)events / (end - begin);
	return rate;
}

/* Until the recorder's background thread has taken the page faults of the event memory. */
static void start_and_settle(enum mindprof_record_mode mode)
{
	const struct timespec pause = {0, SETTLE_NS};

	start(mode);
	nanosleep(&pause, NULL);
}

static struct rate best_rate(enum mindprof_record_mode mode, long n_threads)
{
	struct rate best = {0};

	for (long repeat = 0; repeat < options.repeats; repeat++) {
		struct mindprof_record_stats stats = {.size = sizeof(stats)};
		struct rate rate;

		if (mode)
			start_and_settle(mode);
		rate = run_threads(mode, n_threads);
		if (mode) {
			stats = stop();
			discard();
		}
		if (stats.events + stats.dropped)
			rate.lost_percent =
				100 * (double)stats.dropped / (double)(stats.events + stats.dropped);
		rate.per_cpu_s = fmax(rate.per_cpu_s, best.per_cpu_s);
		if (rate.per_s < best.per_s) {
			best.per_cpu_s = rate.per_cpu_s;
			continue;
		}
		best = rate;
	}
	return best;
}

/* mode 0: only the floor, which says what the machine's cores do for each other. */
static void bench_threads(enum mindprof_record_mode mode, const char *name)
{
	struct rate one = {0};

	print_heading("threads");
	for (long n = 1; n <= options.threads; n *= 2) {
		struct rate rate = best_rate(mode, n);
		char text[128];

		snprintf(text, sizeof(text), "%s: %ld thread%s", name, n, n == 1 ? "" : "s");
		print_value(text, rate.per_s / 1e6, "M events/s");
		snprintf(text, sizeof(text), "%s: %ld thread%s lost", name, n, n == 1 ? "" : "s");
		if (mode)
			print_value(text, rate.lost_percent, "%");
		if (n == 1)
			one = rate;
		snprintf(text, sizeof(text), "%s: %ld threads / one", name, n);
		if (n == 2)
			print_ratio(text, rate.per_s / one.per_s, "one thread", 1.8, false);
		else if (n > 2)
			print_value(text, rate.per_s / one.per_s, "ratio");
		/* Says what the threads cost each other, also when others use the machine. */
		snprintf(text, sizeof(text), "%s: %ld threads / one by processor time", name, n);
		if (n > 1)
			print_value(text, rate.per_cpu_s / one.per_cpu_s, "ratio");
	}
}

/* ------------------------------------------------------------------------ disk */

static void bench_disk(void)
{
	struct mindprof_record_stats stats;
	double bytes;

	print_heading("on disk, stream mode");
	start(MINDPROF_RECORD_STREAM);
	loop_range(options.iterations);
	stats = stop();
	bytes = discard();
	print_value("ranges", (double)stats.events, "events");
	print_value("ranges lost", (double)stats.dropped, "events");
	print_value("bytes per range, headers included", bytes / (double)stats.events, "bytes");
	print_ratio("disk / 16 bytes per range", bytes / (double)stats.events / 16, "16 bytes", 1.002, true);
}

static void usage(void)
{
	fprintf(stderr,
		"usage: bench_record [--repeats N] [--iterations N] [--threads N] [--dir DIRECTORY]\n"
		"repeats of each measurement (9, the best counts), events per measurement (1000000),\n"
		"most threads (8), where to record to (/tmp)\n");
	exit(2);
}

static void parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		bool more = i + 1 < argc;

		if (more && strcmp(argv[i], "--repeats") == 0)
			options.repeats = atol(argv[++i]);
		else if (more && strcmp(argv[i], "--iterations") == 0)
			options.iterations = atol(argv[++i]);
		else if (more && strcmp(argv[i], "--threads") == 0)
			options.threads = atol(argv[++i]);
		else if (more && strcmp(argv[i], "--dir") == 0)
			options.directory = argv[++i];
		else
			usage();
	}
	if (options.repeats < 1 || options.repeats > MAX_REPEATS || options.iterations < 1 ||
	    options.threads < 1 || options.threads > MAX_THREADS)
		usage();
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	snprintf(work, sizeof(work), "%s/mindprof-bench-XXXXXX", options.directory);
	if (!mkdtemp(work))
		die(work);
	memory = malloc(RING_BYTES);
	if (!memory)
		die("memory");
	memset(memory, 1, RING_BYTES);
	make_prefix();
	bench_off();
	bench_on();
	bench_threads(0, "floor");
	bench_threads(MINDPROF_RECORD_RING, "ring");
	bench_threads(MINDPROF_RECORD_STREAM, "stream");
	bench_disk();
	remove_tree(work);
	free(memory);
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
