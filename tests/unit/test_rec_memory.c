/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded memory: losses are counted exactly, ring mode keeps the newest, dumps have no holes. */
#include "test_rec_helpers.h"

static struct mindprof_site site = {"event", NULL, NULL, 0, MINDPROF_SITE_MARK, 0};

enum { THREADS = 3, PER_KIND = 20000 };

static struct {
	uint64_t tried[MP_NATIVE_DROP_KINDS];
	uint32_t os_tid;
} work[THREADS];

static void *many_kinds(void *user)
{
	intptr_t self = (intptr_t)user;
	uint64_t *tried = work[self].tried;

	work[self].os_tid = (uint32_t)syscall(SYS_gettid);
	for (int i = 0; i < PER_KIND; i++) {
		struct mindprof_range range = mindprof_range_begin(&site);

		mindprof_range_end(&range);
		tried[MP_NATIVE_DROP_RANGE]++;
		mindprof_mark(&site);
		tried[MP_NATIVE_DROP_MARK]++;
		mindprof_step((uint64_t)i);
		tried[MP_NATIVE_DROP_STEP]++;
		mindprof_counter(&site, 1);
		tried[MP_NATIVE_DROP_COUNTER]++;
		mindprof_flow_begin(&site, 1);
		mindprof_flow_end(&site, 1);
		tried[MP_NATIVE_DROP_FLOW] += 2;
		if (i % 2) {
			mindprof_range_stop(mindprof_range_start(&site));
			tried[MP_NATIVE_DROP_ASYNC] += 2;
		}
		mindprof_memory_alloc(&site, NULL, 1);
		mindprof_memory_free(&site, NULL, 1);
		tried[MP_NATIVE_DROP_MEMORY] += 2;
		mindprof_queue_push(&site, 0, 1, 1);
		tried[MP_NATIVE_DROP_QUEUE]++;
	}
	return NULL;
}

static unsigned drop_kind_of_record(unsigned kind)
{
	static const uint8_t kinds[256] = {
		[0x01] = MP_NATIVE_DROP_RANGE,   [0x41] = MP_NATIVE_DROP_RANGE,
		[0x02] = MP_NATIVE_DROP_MARK,    [0x03] = MP_NATIVE_DROP_STEP,
		[0x42] = MP_NATIVE_DROP_COUNTER, [0x43] = MP_NATIVE_DROP_FLOW,
		[0x44] = MP_NATIVE_DROP_FLOW,    [0x45] = MP_NATIVE_DROP_FLOW,
		[0x46] = MP_NATIVE_DROP_ASYNC,   [0x47] = MP_NATIVE_DROP_ASYNC,
		[0x48] = MP_NATIVE_DROP_MEMORY,  [0x49] = MP_NATIVE_DROP_MEMORY,
		[0x4a] = MP_NATIVE_DROP_QUEUE,   [0x4b] = MP_NATIVE_DROP_QUEUE,
	};

	return kinds[kind];
}

/* Recorded and lost events of each thread and kind are as many as were tried; *lost gets the sum of losses.
 */
static void check_balance(const struct rec_data *data, uint64_t *lost)
{
	*lost = 0;
	for (uint32_t i = 0; i < data->n_threads; i++) {
		uint64_t found[MP_NATIVE_DROP_KINDS] = {0}, reported = 0;
		const uint64_t *tried = NULL;
		size_t n;
		struct rec_record *r = rec_records(data, i, &n);

		for (size_t j = 0; j < n; j++)
			found[drop_kind_of_record(r[j].kind)]++;
		free(r);
		for (int j = 0; j < THREADS; j++) {
			if (work[j].os_tid == data->threads[i].os_tid)
				tried = work[j].tried;
		}
		assert_non_null(tried);
		for (int kind = 0; kind < MP_NATIVE_DROP_KINDS; kind++)
			assert_int_equal(found[kind] + data->drops[i][kind], tried[kind]);
		for (size_t j = 0; j < data->n_segments; j++) {
			if (data->segments[j].head.thread_index == i)
				reported += data->segments[j].head.dropped_before;
		}
		assert_true(reported <= rec_dropped(data, i));
		*lost += rec_dropped(data, i);
	}
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	memset(work, 0, sizeof(work));
	for (intptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, many_kinds, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* 600,000 events, 16 MB, through 256 KiB. */
static void test_exact_losses(void **state)
{
	const char *output = rec_tmp();
	struct mindprof_record_stats stats = {.size = sizeof(stats)};
	struct rec_data *data;
	uint64_t lost;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 1);
	run_threads();
	rec_stop();
	mindprof_record_get_stats(&stats);
	data = rec_decode_last();
	assert_int_equal(data->faults, 0);
	assert_int_equal(data->n_threads, THREADS);
	assert_non_null(strstr(data->session, "\"memory_bytes\": 262144, "));
	check_balance(data, &lost);
	assert_int_equal(lost, stats.dropped);
	rec_free(data);
	rec_remove(output);
}

/* A disk that takes nothing: the memory fills, what is in it stays, the rest is counted. */
static void test_loss_is_certain(void **state)
{
	const char *output = rec_tmp();
	char directory[4096];
	struct mindprof_error error = {0};
	struct rlimit limit, before;
	struct rec_data *data;
	uint64_t lost;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	rec_start(output, MINDPROF_RECORD_STREAM, 1 << 20);
	mindprof_record_directory(directory, sizeof(directory));
	/* Room for names, threads and counts, but not for events. */
	limit = (struct rlimit){16384, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	run_threads();
	assert_int_equal(mindprof_record_stop(&error), MINDPROF_E_IO);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	data = rec_decode(directory);
	assert_int_equal(data->faults, 0);
	assert_true(data->has_ring);
	assert_non_null(strstr(data->end, "\"complete\": false"));
	check_balance(data, &lost);
	/* 256 chunks of 4 KiB hold at most 65536 of 600,000 records. */
	assert_true(lost > 500000);
	rec_free(data);
	rec_remove(output);
}

/* ------------------------------------------------------------------ ring mode */

/* The steps of a thread that the data holds must be the last ones up to `end`, without a hole. */
static size_t check_newest(const struct rec_data *data, uint32_t thread, uint64_t end)
{
	size_t n;
	struct rec_record *r = rec_records(data, thread, &n);

	assert_true(n > 0);
	assert_int_equal(r[n - 1].site, end - 1);
	for (size_t i = 1; i < n; i++)
		assert_int_equal(r[i].site, r[i - 1].site + 1);
	free(r);
	return n;
}

static void test_ring_keeps_newest(void **state)
{
	const char *output = rec_tmp();
	struct mindprof_record_stats stats = {.size = sizeof(stats)};
	struct rec_data *data;
	size_t n;

	(void)state;
	rec_start(output, MINDPROF_RECORD_RING, 1 << 20);
	for (uint64_t i = 0; i < 500000; i++)
		mindprof_step(i);
	rec_stop();
	mindprof_record_get_stats(&stats);
	assert_int_equal(stats.events, 500000);
	assert_int_equal(stats.dropped, 0);
	data = rec_decode_last();
	assert_int_equal(data->faults, 0);
	assert_int_equal(rec_dropped(data, 0), 0);
	n = check_newest(data, 0, 500000);
	/* 256 chunks of 252 records: all but the newest are full. */
	assert_true(n > 255 * 252);
	assert_true(n <= 256 * 252);
	for (size_t i = 0; i < data->n_segments; i++)
		assert_int_equal(data->segments[i].head.flags, MP_NATIVE_SEGMENT_DUMP);
	rec_free(data);
	rec_remove(output);
}

/* A thread that records little keeps its newest events beside one that records much. */
static void *slow_thread(void *gates)
{
	pthread_barrier_t *gate = gates;

	for (uint64_t i = 0; i < 100; i++)
		mindprof_step(i);
	pthread_barrier_wait(&gate[0]);
	pthread_barrier_wait(&gate[1]);
	return NULL;
}

static void test_ring_is_fair(void **state)
{
	const char *output = rec_tmp();
	pthread_barrier_t gates[2];
	struct rec_data *data;
	pthread_t thread;

	(void)state;
	pthread_barrier_init(&gates[0], NULL, 2);
	pthread_barrier_init(&gates[1], NULL, 2);
	rec_start(output, MINDPROF_RECORD_RING, 256 << 10);
	assert_int_equal(pthread_create(&thread, NULL, slow_thread, gates), 0);
	pthread_barrier_wait(&gates[0]);
	for (uint64_t i = 0; i < 100000; i++)
		mindprof_step(i);
	rec_stop();
	pthread_barrier_wait(&gates[1]);
	pthread_join(thread, NULL);
	data = rec_decode_last();
	assert_int_equal(check_newest(data, 0, 100), 100);
	check_newest(data, 1, 100000);
	rec_free(data);
	rec_remove(output);
}

/* It does not wait while the background thread writes, so it is tried again. */
static void dump_as_in_a_handler(void)
{
	while (mindprof_record_dump_from_signal() != 0)
		usleep(1000);
}

/* Dumps repeat what is still there; each event is once in the data in the end. */
static void test_dumps(void **state)
{
	const char *output = rec_tmp();
	char directory[4096];
	struct rec_data *data;

	(void)state;
	for (int mode = MINDPROF_RECORD_STREAM; mode <= MINDPROF_RECORD_RING; mode++) {
		rec_start(output, (enum mindprof_record_mode)mode, 4 << 20);
		mindprof_record_directory(directory, sizeof(directory));
		for (uint64_t i = 0; i < 100000; i++) {
			mindprof_step(i);
			if (i % 9999 != 17)
				continue;
			if (i % 2)
				assert_int_equal(mindprof_record_dump(NULL), MINDPROF_OK);
			else
				dump_as_in_a_handler();
			data = rec_decode(directory);
			assert_int_equal(data->faults, 0);
			assert_null(data->end);
			/* Without the ring file: the dump alone shows everything up to here. */
			free(data->files[MP_NATIVE_FILE_RING]);
			data->files[MP_NATIVE_FILE_RING] = NULL;
			for (size_t j = 0; j < data->n_segments; j++)
				assert_false(data->segments[j].live);
			assert_int_equal(check_newest(data, 0, i + 1), i + 1);
			rec_free(data);
		}
		rec_stop();
		data = rec_decode(directory);
		assert_int_equal(data->faults, 0);
		assert_int_equal(check_newest(data, 0, 100000), 100000);
		rec_free(data);
	}
	assert_int_equal(mindprof_record_dump_from_signal(), -1);
	assert_int_equal(mindprof_record_dump(NULL), MINDPROF_E_STATE);
	rec_remove(output);
}

static int keep_going; /* atomic */

static void *endless_steps(void *steps)
{
	uint64_t i = 0;

	while (__atomic_load_n(&keep_going, __ATOMIC_RELAXED))
		mindprof_step(i++);
	*(uint64_t *)steps = i;
	return NULL;
}

/* Dumps while threads overwrite: no segment is torn; without losses, no thread's events have a hole. */
static void test_dump_while_recording(void **state)
{
	const char *output = rec_tmp();
	uint64_t steps[2] = {0};
	struct rec_data *data;
	pthread_t threads[2];
	uint64_t sum = 0;

	(void)state;
	keep_going = 1;
	rec_start(output, MINDPROF_RECORD_RING, 512 << 10);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, endless_steps, &steps[i]), 0);
	for (int i = 0; i < 20; i++) {
		usleep(1000);
		if (i % 2)
			assert_int_equal(mindprof_record_dump(NULL), MINDPROF_OK);
		else
			assert_int_equal(mindprof_record_dump_from_signal(), 0);
	}
	__atomic_store_n(&keep_going, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	rec_stop();
	data = rec_decode_last();
	assert_int_equal(data->faults, 0);
	for (uint32_t i = 0; i < data->n_threads; i++) {
		size_t n;
		struct rec_record *r = rec_records(data, i, &n);

		assert_true(n > 0);
		for (size_t j = 1; j < n; j++)
			assert_true(r[j].site > r[j - 1].site);
		sum += r[n - 1].site + 1;
		free(r);
	}
	assert_true(sum <= steps[0] + steps[1]);
	rec_free(data);
	rec_remove(output);
}

/* Memory is what was asked for, up to the table of threads and one page of headers. */
static void test_memory_is_bounded(void **state)
{
	const char *output = rec_tmp();
	char path[8192];
	struct stat st;
	size_t len;

	(void)state;
	for (uint64_t memory = 256 << 10; memory <= 64 << 20; memory *= 4) {
		rec_start(output, MINDPROF_RECORD_STREAM, memory);
		len = mindprof_record_directory(path, sizeof(path));
		snprintf(path + len, sizeof(path) - len, "/MINDPROF/ring.mpr");
		assert_int_equal(stat(path, &st), 0);
		assert_true((uint64_t)st.st_size >= memory);
		assert_true((uint64_t)st.st_size <= memory + (1300 << 10));
		assert_true((uint64_t)st.st_blocks * 512 >= (uint64_t)st.st_size); /* no holes */
		rec_stop();
		assert_int_equal(stat(path, &st), -1);
	}
	rec_remove(output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_losses),
		cmocka_unit_test(test_loss_is_certain),
		cmocka_unit_test(test_ring_keeps_newest),
		cmocka_unit_test(test_ring_is_fair),
		cmocka_unit_test(test_dumps),
		cmocka_unit_test(test_dump_while_recording),
		cmocka_unit_test(test_memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
