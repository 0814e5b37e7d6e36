/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill -9 at random instants of a process whose threads record at full rate: the directory decodes, and
 * each thread's events are an unbroken prefix of what it recorded. Argument: number of kills (30).
 */
#include "test_rec_helpers.h"

static struct mindprof_site site = {"event", NULL, NULL, 0, MINDPROF_SITE_COUNTER, 0};

static long n_kills = 30;

/*
 * Events that were lost for want of memory leave gaps in the numbers, and dropped_before of the next
 * segment says how many. So every gap must be at the begin of a segment and exactly that wide.
 */
static uint64_t check_prefix(const struct rec_data *data, uint32_t thread)
{
	uint64_t next = 0, n_events = 0;
	uint32_t sequence = 0;

	for (size_t i = 0; i < data->n_segments; i++) {
		const struct rec_segment *segment = &data->segments[i];

		if (segment->head.thread_index != thread)
			continue;
		assert_int_equal(segment->head.sequence, sequence++);
		next += segment->head.dropped_before;
		for (size_t at = 0; at < segment->head.payload_bytes;) {
			struct rec_record record;
			double value;

			at += rec_next(segment->payload + at, &record);
			assert_true(at <= segment->head.payload_bytes);
			assert_int_equal(record.kind, MP_NATIVE_COUNTER);
			assert_string_equal(rec_site_by_id(data, record.site)->name, "event");
			memcpy(&value, &record.a, sizeof(value));
			assert_true(value == (double)next);
			next++;
			n_events++;
		}
	}
	return n_events;
}

static void *recording_thread(void *unused)
{
	(void)unused;
	for (uint64_t i = 0;; i++)
		mindprof_counter(&site, (double)i);
	return NULL;
}

static void *short_thread(void *unused)
{
	(void)unused;
	for (uint64_t i = 0; i < 500; i++)
		mindprof_counter(&site, (double)i);
	return NULL;
}

/* Two threads without end, and ever new short ones; a byte into the pipe when the first event is recorded. */
static void child_main(const char *output, uint64_t memory, int pipe_end)
{
	pthread_t thread;

	rec_start(output, MINDPROF_RECORD_STREAM, memory);
	CHECK(pthread_create(&thread, NULL, short_thread, NULL) == 0);
	pthread_join(thread, NULL);
	CHECK(write(pipe_end, "", 1) == 1);
	CHECK(pthread_create(&thread, NULL, recording_thread, NULL) == 0);
	CHECK(pthread_create(&thread, NULL, recording_thread, NULL) == 0);
	for (int i = 0; i < REC_MAX - 10; i++) {
		CHECK(pthread_create(&thread, NULL, short_thread, NULL) == 0);
		pthread_join(thread, NULL);
	}
	for (;;)
		pause();
}

/* at_start: also the start itself may be cut; else the delay begins when the first events are recorded. */
static uint64_t kill_one(const char *output, uint64_t memory, bool at_start, unsigned delay_us)
{
	char directory[4096 + 64], byte;
	struct rec_data *data;
	uint64_t events = 0;
	int status, ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		child_main(output, memory, ends[1]);
	close(ends[1]);
	if (!at_start)
		assert_int_equal(read(ends[0], &byte, 1), 1);
	usleep(delay_us);
	kill(child, SIGKILL);
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	rec_only_entry(output, directory, sizeof(directory));
	if (!directory[0])
		return 0;
	data = rec_decode(directory);
	assert_int_equal(data->faults, 0);
	assert_null(data->end);
	for (uint32_t i = 0; i < data->n_threads; i++)
		events += check_prefix(data, i);
	for (size_t i = 0; i < data->n_segments; i++)
		assert_true(data->segments[i].head.thread_index < data->n_threads);
	rec_free(data);
	rec_remove(directory);
	return events;
}

static void test_kills(void **state)
{
	static const uint64_t memories[] = {256 << 10, 4 << 20, 16 << 20};
	const char *output = rec_tmp();
	unsigned seed = (unsigned)time(NULL);

	(void)state;
	print_message("seed %u\n", seed);
	for (long i = 0; i < n_kills; i++) {
		unsigned random = (unsigned)rand_r(&seed);
		uint64_t memory = memories[i % 3];

		if (i % 2)
			assert_true(kill_one(output, memory, false, random % 150000) >= 500);
		else
			kill_one(output, memory, true, random % 8000);
	}
	rec_remove(output);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_kills)};

	if (argc > 1)
		n_kills = atol(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
