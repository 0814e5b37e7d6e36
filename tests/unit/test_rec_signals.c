/* SPDX-License-Identifier: Apache-2.0 */
/* Signal handlers that record while they interrupt a recording thread anywhere. */
#include "test_rec_helpers.h"

#include <sys/time.h>

static struct mindprof_site range_site = {"range", NULL, NULL, 0, MINDPROF_SITE_RANGE, 0};
static struct mindprof_site in_handler = {"in handler", NULL, NULL, 0, MINDPROF_SITE_COUNTER, 0};
static struct mindprof_site outside = {"outside", NULL, NULL, 0, MINDPROF_SITE_COUNTER, 0};

/* Atomic: any thread may be the one that is interrupted. */
static uint64_t handler_events, handler_ranges, handler_signals, errno_changed;

static uint64_t add_one(uint64_t *number)
{
	return __atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
}

static void on_signal(int number)
{
	struct mindprof_range range;
	int saved = errno;

	(void)number;
	range = mindprof_range_begin(&range_site);
	mindprof_counter(&in_handler, (double)add_one(&handler_events));
	mindprof_range_end(&range);
	mindprof_range_push(&range_site);
	mindprof_range_pop();
	__atomic_fetch_add(&handler_ranges, 2, __ATOMIC_RELAXED);
	if (errno != saved)
		add_one(&errno_changed);
	errno = saved;
	add_one(&handler_signals);
}

/* SIGPROF every millisecond of processor time, or as often as the loop itself sends it. */
static void catch_signals(bool timer)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerval interval = {{0, 1000}, {0, 1000}};

	assert_int_equal(sigaction(SIGPROF, &action, NULL), 0);
	if (timer)
		assert_int_equal(setitimer(ITIMER_PROF, &interval, NULL), 0);
}

static void ignore_signals(void)
{
	struct itimerval none = {{0, 0}, {0, 0}};

	setitimer(ITIMER_PROF, &none, NULL);
	signal(SIGPROF, SIG_IGN);
}

static void count(const struct rec_data *data, uint32_t site, unsigned kind, uint64_t *found, bool ordered)
{
	*found = 0;
	for (uint32_t i = 0; i < data->n_threads; i++) {
		size_t n;
		struct rec_record *r = rec_records(data, i, &n);
		double last = -1;

		for (size_t j = 0; j < n; j++) {
			double value;

			if (r[j].site != site || r[j].kind != kind)
				continue;
			++*found;
			memcpy(&value, &r[j].a, sizeof(value));
			if (!ordered)
				continue;
			assert_true(value > last);
			last = value;
		}
		free(r);
	}
}

/* By the only thread, also before it had a slot. */
static uint64_t lost(const struct rec_data *data, int kind)
{
	return data->drops[0][kind] + data->drops[REC_MAX - 1][kind];
}

/* Storms that hit the hot path, chunk changes, full memory and dumps; every event is recorded or counted. */
static void storm(enum mindprof_record_mode mode, uint64_t memory)
{
	const char *output = rec_tmp();
	struct mindprof_record_stats stats = {.size = sizeof(stats)};
	uint64_t outside_events = 0, outside_ranges = 0, found;
	struct rec_data *data;
	time_t end;

	handler_events = handler_ranges = handler_signals = 0;
	rec_start(output, mode, memory);
	catch_signals(true);
	end = time(NULL) + 2;
	while (__atomic_load_n(&handler_signals, __ATOMIC_RELAXED) < 100 && time(NULL) < end) {
		for (int i = 0; i < 2000; i++) {
			struct mindprof_range range = mindprof_range_begin(&range_site);

			mindprof_counter(&outside, (double)outside_events++);
			mindprof_range_end(&range);
			outside_ranges++;
		}
		if (mode == MINDPROF_RECORD_RING && outside_events % 100000 == 0)
			mindprof_record_dump(NULL);
	}
	ignore_signals();
	assert_true(handler_signals > 10);
	rec_stop();
	mindprof_record_get_stats(&stats);
	assert_int_equal(stats.events + stats.dropped,
			 outside_events + outside_ranges + handler_events + handler_ranges);
	data = rec_decode_last();
	assert_int_equal(data->faults, 0);
	assert_non_null(strstr(data->end, "\"open_ranges\": []"));
	count(data, outside.id, MP_NATIVE_COUNTER, &found, true);
	if (mode == MINDPROF_RECORD_STREAM) {
		uint64_t counters = found;

		count(data, in_handler.id, MP_NATIVE_COUNTER, &found, true);
		counters += found + lost(data, MP_NATIVE_DROP_COUNTER);
		assert_int_equal(counters, outside_events + handler_events);
		count(data, range_site.id, MP_NATIVE_RANGE, &found, false);
		assert_int_equal(found + lost(data, MP_NATIVE_DROP_RANGE), outside_ranges + handler_ranges);
	}
	assert_int_equal(errno_changed, 0);
	rec_free(data);
	rec_remove(output);
}

static void test_storm_stream(void **state)
{
	(void)state;
	storm(MINDPROF_RECORD_STREAM, 16 << 20);
}

static void test_storm_full(void **state)
{
	(void)state;
	storm(MINDPROF_RECORD_STREAM, 256 << 10);
}

static void test_storm_ring(void **state)
{
	(void)state;
	storm(MINDPROF_RECORD_RING, 256 << 10);
}

/* First events of threads, first uses of sites, starts and stops are interrupted, too. */
static void *first_events(void *unused)
{
	static __thread char name[32];

	(void)unused;
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "site %d %d", (int)syscall(SYS_gettid), i);
		mindprof_mark(mindprof_site_get(MINDPROF_SITE_MARK, name, NULL));
		mindprof_thread_name(name);
	}
	return NULL;
}

static void test_slow_paths(void **state)
{
	const char *output = rec_tmp();
	struct itimerval interval = {{0, 200}, {0, 200}};
	int rounds = 0;

	(void)state;
	handler_signals = 0;
	catch_signals(false);
	assert_int_equal(setitimer(ITIMER_PROF, &interval, NULL), 0);
	for (; rounds < 40; rounds++) {
		struct mindprof_record_stats stats = {.size = sizeof(stats)};
		struct rec_data *data;
		char directory[4096];
		pthread_t threads[4];
		uint64_t sum = 0;

		in_handler.id = range_site.id = 0; /* to be met for the first time again */
		rec_start(output, MINDPROF_RECORD_STREAM, 256 << 10);
		for (int i = 0; i < 4; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, first_events, NULL), 0);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		rec_stop();
		mindprof_record_get_stats(&stats);
		data = rec_decode_last();
		assert_int_equal(data->faults, 0);
		for (uint32_t i = 0; i < data->n_threads; i++) {
			size_t n;
			struct rec_record *r = rec_records(data, i, &n);

			for (size_t j = 0; j < n; j++)
				assert_non_null(rec_site_by_id(data, r[j].site));
			free(r);
			sum += n;
		}
		assert_int_equal(sum, stats.events);
		assert_true(sum >= 80);
		rec_free(data);
		assert_true(mindprof_record_directory(directory, sizeof(directory)) > 0);
		rec_remove(directory);
	}
	ignore_signals();
	assert_true(handler_signals > 0);
	assert_int_equal(errno_changed, 0);
	rec_remove(output);
}

/* A handler that dumps: whatever was interrupted, it never hangs and the data stays whole. */
static uint64_t dumps_done; /* atomic */

static void on_dump(int number)
{
	(void)number;
	if (mindprof_record_dump_from_signal() == 0)
		add_one(&dumps_done);
}

static void test_dump_in_handler(void **state)
{
	const char *output = rec_tmp();
	struct sigaction action = {.sa_handler = on_dump, .sa_flags = SA_RESTART};
	struct itimerval interval = {{0, 2000}, {0, 2000}};
	struct rec_data *data;
	struct rec_record *r;
	time_t end = time(NULL) + 3;
	uint64_t steps = 0;
	size_t n;

	(void)state;
	rec_start(output, MINDPROF_RECORD_RING, 512 << 10);
	assert_int_equal(sigaction(SIGPROF, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_PROF, &interval, NULL), 0);
	while (__atomic_load_n(&dumps_done, __ATOMIC_RELAXED) < 20 && time(NULL) < end) {
		for (int i = 0; i < 5000; i++)
			mindprof_step(steps++);
		mindprof_record_dump(NULL);
	}
	ignore_signals();
	assert_true(dumps_done > 0);
	rec_stop();
	data = rec_decode_last();
	assert_int_equal(data->faults, 0);
	r = rec_records(data, 0, &n);
	assert_int_equal(r[n - 1].site, steps - 1);
	for (size_t i = 1; i < n; i++)
		assert_true(r[i].site > r[i - 1].site);
	free(r);
	rec_free(data);
	rec_remove(output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_storm_stream),    cmocka_unit_test(test_storm_full),
		cmocka_unit_test(test_storm_ring),      cmocka_unit_test(test_slow_paths),
		cmocka_unit_test(test_dump_in_handler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
