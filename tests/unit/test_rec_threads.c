/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that come, go, rest, record too late, or record while the recording stops and starts. */
#include "test_rec_helpers.h"

static struct mindprof_site site = {"event", NULL, NULL, 0, MINDPROF_SITE_COUNTER, 0};

/* Counter events 0, 1, 2 ... must come back as such: whole = all of them, else the first n. */
static size_t check_count_up(const struct rec_data *data, uint32_t thread, uint64_t first)
{
	size_t n;
	struct rec_record *r = rec_records(data, thread, &n);

	for (size_t i = 0; i < n; i++) {
		double value;

		assert_int_equal(r[i].kind, MP_NATIVE_COUNTER);
		memcpy(&value, &r[i].a, sizeof(value));
		assert_true(value == (double)(first + i));
	}
	free(r);
	return n;
}

static void count_up(long n)
{
	for (long i = 0; i < n; i++)
		mindprof_counter(&site, (double)i);
}

static void *named_thread(void *name)
{
	if (name)
		mindprof_thread_name(name);
	else
		pthread_setname_np(pthread_self(), "by the system");
	count_up(1000);
	return NULL;
}

static void test_threads_in_turn(void **state)
{
	const char *output = rec_tmp();
	struct rec_data *data;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 16 << 20);
	for (int i = 0; i < 200; i++) {
		char name[32];
		pthread_t thread;

		snprintf(name, sizeof(name), "worker %d", i);
		assert_int_equal(pthread_create(&thread, NULL, named_thread, i % 2 ? name : NULL), 0);
		pthread_join(thread, NULL);
	}
	rec_stop();
	data = rec_decode_last();
	assert_int_equal(data->faults, 0);
	assert_int_equal(data->n_threads, 200);
	for (uint32_t i = 0; i < 200; i++) {
		const struct rec_thread_info *thread = &data->threads[i];
		char name[32];

		snprintf(name, sizeof(name), "worker %u", i);
		assert_string_equal(thread->name, i % 2 ? name : "by the system");
		assert_true(thread->end_tick > thread->first_tick);
		assert_true(thread->os_tid > 0);
		if (i)
			assert_true(thread->first_tick > data->threads[i - 1].end_tick);
		assert_int_equal(check_count_up(data, i, 0), 1000);
	}
	rec_free(data);
	rec_remove(output);
}

static pthread_barrier_t gate;

static void *gated_thread(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&gate);
	count_up(20000);
	return NULL;
}

static void test_threads_at_once(void **state)
{
	const char *output = rec_tmp();
	pthread_t threads[16];
	struct rec_data *data;
	uint64_t sum = 0;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 32 << 20);
	pthread_barrier_init(&gate, NULL, 16);
	for (int i = 0; i < 16; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, gated_thread, NULL), 0);
	for (int i = 0; i < 16; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&gate);
	rec_stop();
	data = rec_decode_last();
	assert_int_equal(data->faults, 0);
	assert_int_equal(data->n_threads, 16);
	for (uint32_t i = 0; i < 16; i++) {
		assert_int_equal(rec_dropped(data, i), 0);
		sum += check_count_up(data, i, 0);
	}
	assert_int_equal(sum, 16 * 20000);
	rec_free(data);
	rec_remove(output);
}

/* More threads alive than there are slots: the events of the others are counted as nobody's. */
static void *waiting_thread(void *unused)
{
	(void)unused;
	mindprof_mark(&site);
	pthread_barrier_wait(&gate);
	return NULL;
}

static void test_too_many_threads(void **state)
{
	const char *output = rec_tmp();
	enum { N = 1100 };
	static pthread_t threads[N];
	struct mindprof_record_stats stats = {.size = sizeof(stats)};
	pthread_attr_t attributes;
	struct rec_data *data;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 64 << 20);
	pthread_barrier_init(&gate, NULL, N + 1);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 128 << 10);
	for (int i = 0; i < N; i++)
		assert_int_equal(pthread_create(&threads[i], &attributes, waiting_thread, NULL), 0);
	pthread_barrier_wait(&gate);
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	pthread_attr_destroy(&attributes);
	pthread_barrier_destroy(&gate);
	mindprof_record_get_stats(&stats);
	assert_int_equal(stats.events, 1024);
	assert_int_equal(stats.dropped, N - 1024);
	rec_stop();
	mindprof_record_get_stats(&stats);
	assert_int_equal(stats.events, 1024);
	assert_int_equal(stats.dropped, N - 1024);
	data = rec_decode_last();
	assert_int_equal(data->n_threads, 1024);
	assert_int_equal(data->drops[REC_MAX - 1][MP_NATIVE_DROP_MARK], N - 1024);
	rec_free(data);
	rec_remove(output);
}

/* The program's own thread-specific destructors may record; some run after the recorder's. */
static pthread_key_t late_key;

static void late(void *rounds)
{
	intptr_t left = (intptr_t)rounds;

	mindprof_mark(&site);
	if (left > 1)
		pthread_setspecific(late_key, (void *)(left - 1));
}

static void *late_thread(void *unused)
{
	(void)unused;
	pthread_setspecific(late_key, (void *)4);
	mindprof_mark(&site);
	return NULL;
}

static void test_late_events(void **state)
{
	const char *output = rec_tmp();
	struct rec_data *data;
	uint64_t sum;
	size_t n;

	(void)state;
#if defined(__clang__)
	if (REC_TSAN) /* clang's runtime has left the thread before its last destructors */
		skip();
#endif
	assert_int_equal(pthread_key_create(&late_key, late), 0);
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	for (int i = 0; i < 20; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, late_thread, NULL), 0);
		pthread_join(thread, NULL);
	}
	rec_stop();
	pthread_key_delete(late_key);
	data = rec_decode_last();
	sum = data->drops[REC_MAX - 1][MP_NATIVE_DROP_MARK];
	for (uint32_t i = 0; i < data->n_threads; i++) {
		free(rec_records(data, i, &n));
		sum += n;
	}
	assert_int_equal(sum, 20 * 5);
	rec_free(data);
	rec_remove(output);
}

/* ------------------------------------------------------------ stop and start */

static int keep_going; /* atomic */
static int n_running;  /* atomic */

static void *endless_thread(void *unused)
{
	long i = 0;

	(void)unused;
	__atomic_add_fetch(&n_running, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&keep_going, __ATOMIC_RELAXED)) {
		MINDPROF_SCOPE("loop");
		MINDPROF_PUSH("pushed");
		mindprof_counter(&site, (double)i++);
		MINDPROF_POP();
	}
	return NULL;
}

static void test_stop_while_recording(void **state)
{
	const char *output = rec_tmp();
	pthread_t threads[4];

	(void)state;
	keep_going = 1;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, endless_thread, NULL), 0);
	while (__atomic_load_n(&n_running, __ATOMIC_SEQ_CST) < 4)
		usleep(1000);
	for (int round = 0; round < 30; round++) {
		struct mindprof_record_stats stats = {.size = sizeof(stats)};
		struct rec_data *data;
		uint64_t recorded = 0, dropped = 0;
		char directory[4096];

		rec_start(output, round % 2 ? MINDPROF_RECORD_RING : MINDPROF_RECORD_STREAM, 512 << 10);
		usleep(3000);
		if (round % 3 == 0)
			assert_int_equal(mindprof_record_dump(NULL), MINDPROF_OK);
		rec_stop();
		mindprof_record_get_stats(&stats);
		data = rec_decode_last();
		assert_int_equal(data->faults, 0);
		assert_non_null(data->end);
		for (uint32_t i = 0; i < data->n_threads; i++) {
			size_t n;

			free(rec_records(data, i, &n));
			recorded += n;
			dropped += rec_dropped(data, i);
		}
		if (round % 2)
			assert_true(recorded <= stats.events);
		else
			assert_int_equal(recorded, stats.events);
		assert_int_equal(dropped, stats.dropped);
		rec_free(data);
		mindprof_record_directory(directory, sizeof(directory));
		rec_remove(directory);
	}
	__atomic_store_n(&keep_going, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	rec_remove(output);
}

static int count_lines(const char *path)
{
	FILE *file = fopen(path, "r");
	int c, n = 0;

	assert_non_null(file);
	while ((c = getc(file)) != EOF)
		n += c == '\n';
	fclose(file);
	return n;
}

#if REC_TSAN || REC_ASAN
#define RESTARTS 200
#else
#define RESTARTS 1000
#endif

/* Nothing is left behind by a stop: descriptors, threads, mappings. */
static void test_restarts(void **state)
{
	const char *output = rec_tmp();
	int fds = 0, threads = 0, maps = 0;

	(void)state;
	for (int round = 0; round < RESTARTS; round++) {
		char directory[4096];

		rec_start(output, round % 2 ? MINDPROF_RECORD_RING : MINDPROF_RECORD_STREAM, 256 << 10);
		count_up(10);
		rec_stop();
		mindprof_record_directory(directory, sizeof(directory));
		rec_remove(directory);
		if (round == 99) {
			fds = rec_count_entries("/proc/self/fd");
			threads = rec_count_entries("/proc/self/task");
			maps = count_lines("/proc/self/maps");
		}
	}
	assert_int_equal(rec_count_entries("/proc/self/fd"), fds);
	assert_int_equal(rec_count_entries("/proc/self/task"), threads);
	/* The allocator may have taken a region more. */
	assert_true(count_lines("/proc/self/maps") <= maps + 4);
	rec_remove(output);
}

/* Names and sites of before are in the next recording, too. */
static void test_names_survive(void **state)
{
	const char *output = rec_tmp();
	struct rec_data *data;

	(void)state;
	mindprof_process_name("the program");
	mindprof_thread_name("the \"main\" thread");
	for (int round = 0; round < 2; round++) {
		rec_start(output, MINDPROF_RECORD_STREAM, 0);
		count_up(5);
		rec_stop();
		data = rec_decode_last();
		assert_string_equal(data->threads[0].name, "the \"main\" thread");
		assert_int_equal(data->threads[0].os_tid, getpid());
		assert_non_null(strstr(data->session, "\"process_name\": \"the program\""));
		assert_non_null(rec_site_by_id(data, site.id));
		assert_string_equal(rec_site_by_id(data, site.id)->name, "event");
		rec_free(data);
	}
	rec_remove(output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_in_turn),      cmocka_unit_test(test_threads_at_once),
		cmocka_unit_test(test_too_many_threads),     cmocka_unit_test(test_late_events),
		cmocka_unit_test(test_stop_while_recording), cmocka_unit_test(test_restarts),
		cmocka_unit_test(test_names_survive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
