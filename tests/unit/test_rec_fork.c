/* SPDX-License-Identifier: Apache-2.0 */
/* Fork and exit: children leave their parent's recording alone; whatever way a process ends is readable. */
#include "test_rec_helpers.h"

#include <sys/prctl.h>

static struct mindprof_site site = {"event", NULL, NULL, 0, MINDPROF_SITE_COUNTER, 0};
static struct mindprof_site child_site = {"in the child", NULL, NULL, 0, MINDPROF_SITE_COUNTER, 0};

static void count_up(struct mindprof_site *at, long first, long end)
{
	for (long i = first; i < end; i++)
		mindprof_counter(at, (double)i);
}

/* Counters 0 .. n-1 of thread 0; returns n. */
static size_t check_count(const struct rec_data *data, uint32_t thread)
{
	size_t n;
	struct rec_record *r = rec_records(data, thread, &n);

	for (size_t i = 0; i < n; i++) {
		double value;

		memcpy(&value, &r[i].a, sizeof(value));
		assert_true(value == (double)i);
	}
	free(r);
	return n;
}

static void wait_for_success(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The child does not record, may start a recording of its own, and the parent does not notice. */
static void test_child_is_off(void **state)
{
	const char *output = rec_tmp();
	struct rec_data *data;
	pid_t child;

	(void)state;
	for (int mode = MINDPROF_RECORD_STREAM; mode <= MINDPROF_RECORD_RING; mode++) {
		rec_start(output, (enum mindprof_record_mode)mode, 1 << 20);
		count_up(&site, 0, 100);
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			char directory[4096], buf[4096];
			struct rec_data *own;
			struct mindprof_record_stats stats = {.size = sizeof(stats)};

			CHECK(!mindprof_record_is_on());
			CHECK(mindprof_record_directory(buf, sizeof(buf)) == 0);
			CHECK(mindprof_record_stop(NULL) == MINDPROF_E_STATE);
			count_up(&child_site, 0, 1000);
			mindprof_counter_(&child_site, 1); /* past the check */
			mindprof_record_get_stats(&stats);
			CHECK(stats.events == 0);
			if (REC_WEAK_CHILDREN)
				_exit(0);
			rec_start(output, MINDPROF_RECORD_STREAM, 1 << 20);
			count_up(&site, 0, 10);
			rec_stop();
			CHECK(mindprof_record_directory(directory, sizeof(directory)) > 0);
			own = rec_decode(directory);
			CHECK(check_count(own, 0) == 10);
			CHECK(own->threads[0].os_tid == (uint32_t)getpid());
			rec_free(own);
			rec_remove(directory);
			_exit(0);
		}
		count_up(&site, 100, 200);
		wait_for_success(child);
		count_up(&site, 200, 300);
		rec_stop();
		data = rec_decode_last();
		assert_int_equal(data->faults, 0);
		assert_int_equal(data->n_threads, 1);
		assert_int_equal(check_count(data, 0), 300);
		for (size_t i = 0; i < data->n_sites; i++)
			assert_string_not_equal(data->sites[i].name, "in the child");
		rec_free(data);
	}
	assert_int_equal(rec_count_entries(output), 2);
	rec_remove(output);
}

static void start_following(const char *output)
{
	struct mindprof_record_options options = {.size = sizeof(options),
						  .output_path = output,
						  .worker_name = "host",
						  .memory_bytes = 1 << 20,
						  .flags = MINDPROF_RECORD_FOLLOW_FORK};

	assert_int_equal(mindprof_record_start(&options, NULL), MINDPROF_OK);
}

/* With follow, the child's first event starts a recording; a child without events leaves no trace. */
static void test_child_follows(void **state)
{
	const char *output = rec_tmp();
	char own[4096], child_directory[8192], text[64];
	struct rec_data *data;
	pid_t child, silent;

	(void)state;
	if (REC_WEAK_CHILDREN)
		skip();
	start_following(output);
	count_up(&site, 0, 100);
	silent = fork();
	if (silent == 0)
		_exit(mindprof_record_is_on() ? 0 : 1);
	wait_for_success(silent);
	child = fork();
	if (child == 0) {
		pid_t grandchild;

		CHECK(chdir("/") == 0);
		count_up(&site, 0, 50);
		grandchild = fork();
		if (grandchild == 0) {
			count_up(&site, 0, 20);
			rec_stop();
			_exit(0);
		}
		CHECK(waitpid(grandchild, NULL, 0) == grandchild);
		rec_stop();
		_exit(0);
	}
	wait_for_success(child);
	rec_stop();
	assert_int_equal(rec_count_entries(output), 3);
	mindprof_record_directory(own, sizeof(own));
	data = rec_decode(own);
	assert_int_equal(check_count(data, 0), 100);
	assert_non_null(strstr(data->session, "\"forked\": false"));
	rec_free(data);
	rec_remove(own);
	/* Of the two others one is the child's. */
	for (int i = 0; i < 2; i++) {
		bool is_child;

		rec_only_entry(output, child_directory, sizeof(child_directory));
		snprintf(text, sizeof(text), "/host_%d_", (int)child);
		is_child = strstr(child_directory, text) != NULL;
		data = rec_decode(child_directory);
		assert_int_equal(data->faults, 0);
		assert_non_null(data->end);
		assert_non_null(strstr(data->session, "\"forked\": true"));
		snprintf(text, sizeof(text), "\"parent_pid\": %d, ", is_child ? (int)getpid() : (int)child);
		assert_non_null(strstr(data->session, text));
		assert_int_equal(check_count(data, 0), is_child ? 50 : 20);
		assert_string_equal(rec_site_by_id(data, site.id)->name, "event");
		rec_free(data);
		rec_remove(child_directory);
	}
	rec_remove(output);
}

static int keep_going; /* atomic */

static void *endless_thread(void *tried)
{
	uint64_t i = 0;

	while (__atomic_load_n(&keep_going, __ATOMIC_RELAXED)) {
		char name[32];

		mindprof_counter(&site, (double)i);
		/* New names all the time: forks meet the registry in the middle of its work. */
		snprintf(name, sizeof(name), "name %d", (int)(i % 5000));
		mindprof_site_get(MINDPROF_SITE_MARK, name, NULL);
		if (++i % 100 == 0)
			usleep(100);
	}
	*(uint64_t *)tried = i;
	return NULL;
}

static void test_fork_while_others_record(void **state)
{
	const char *output = rec_tmp();
	uint64_t tried[3], sum = 0;
	pthread_t threads[3];
	struct rec_data *data;

	(void)state;
	start_following(output);
	keep_going = 1;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, endless_thread, &tried[i]), 0);
	for (int i = 0; i < 40; i++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0) {
			char directory[4096];
			struct rec_data *own;

			alarm(60); /* a deadlock is a failure */
			mindprof_site_get(MINDPROF_SITE_MARK, "only here", NULL);
			if (REC_WEAK_CHILDREN)
				_exit(0);
			count_up(&site, 0, 5);
			CHECK(mindprof_record_directory(directory, sizeof(directory)) > 0);
			rec_stop();
			own = rec_decode(directory);
			CHECK(own->faults == 0);
			CHECK(check_count(own, 0) == 5);
			rec_free(own);
			rec_remove(directory);
			_exit(0);
		}
		wait_for_success(child);
	}
	__atomic_store_n(&keep_going, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	rec_stop();
	data = rec_decode_last();
	assert_int_equal(data->faults, 0);
	assert_int_equal(data->n_threads, 3);
	for (uint32_t i = 0; i < 3; i++) {
		size_t n;

		free(rec_records(data, i, &n));
		sum += n + rec_dropped(data, i);
	}
	assert_int_equal(sum, tried[0] + tried[1] + tried[2]);
	rec_free(data);
	assert_int_equal(rec_count_entries(output), 1);
	rec_remove(output);
}

/* A copy made without fork handlers finds its state wiped and keeps its hands off. */
static void test_raw_clone(void **state)
{
	const char *output = rec_tmp();
	struct rec_data *data;
	long child;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 1 << 20);
	count_up(&site, 0, 100);
	child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	assert_true(child >= 0);
	if (child == 0) {
		struct mindprof_error error = {0};

		count_up(&site, 0, 1000);
		CHECK(!mindprof_record_is_on());
		CHECK(mindprof_record_start(NULL, &error) == MINDPROF_E_STATE);
		_exit(0);
	}
	wait_for_success((pid_t)child);
	count_up(&site, 100, 200);
	rec_stop();
	data = rec_decode_last();
	assert_int_equal(data->faults, 0);
	assert_int_equal(check_count(data, 0), 200);
	rec_free(data);
	assert_int_equal(rec_count_entries(output), 1);
	rec_remove(output);
}

/* ------------------------------------------------------------------------ ends */

/* Once the two others record. */
static void *exiting_thread(void *how)
{
	struct mindprof_record_stats stats = {.size = sizeof(stats)};

	while (stats.threads < 2) {
		usleep(1000);
		mindprof_record_get_stats(&stats);
	}
	count_up(&site, 0, 1000);
	if (how)
		_exit(0);
	exit(0);
}

static void *restless_thread(void *unused)
{
	(void)unused;
	for (long i = 0;; i++)
		mindprof_counter(&site, (double)i);
	return NULL;
}

/* exit from any thread while others record: everything is written, and the recording has an end. */
static void end_in_thread(bool at_once)
{
	const char *output = rec_tmp();
	char directory[8192];
	struct rec_data *data;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		pthread_t thread;

		alarm(60);
		rec_start(output, MINDPROF_RECORD_STREAM, 4 << 20);
		CHECK(pthread_create(&thread, NULL, restless_thread, NULL) == 0);
		CHECK(pthread_create(&thread, NULL, exiting_thread, at_once ? &thread : NULL) == 0);
		restless_thread(NULL);
	}
	wait_for_success(child);
	rec_only_entry(output, directory, sizeof(directory));
	data = rec_decode(directory);
	assert_int_equal(data->faults, 0);
	assert_int_equal(data->n_threads, 3);
	if (at_once) {
		assert_null(data->end);
		assert_true(data->has_ring);
	} else {
		assert_non_null(data->end);
		assert_non_null(strstr(data->end, "{\"reason\": \"exit\", "));
		assert_false(data->has_ring);
	}
	for (uint32_t i = 0; i < 3; i++) {
		if (rec_dropped(data, i) == 0)
			check_count(data, i);
	}
	rec_free(data);
	rec_remove(output);
}

static void test_exit_in_thread(void **state)
{
	(void)state;
	end_in_thread(false);
}

static void test_quick_exit_in_thread(void **state)
{
	(void)state;
	end_in_thread(true);
}

/* exec: the old program's recording ends without an end, and is whole. */
static void test_exec(void **state)
{
	const char *output = rec_tmp();
	char directory[8192];
	struct rec_data *data;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		rec_start(output, MINDPROF_RECORD_STREAM, 1 << 20);
		count_up(&site, 0, 1000);
		execlp("true", "true", (char *)NULL);
		_exit(1);
	}
	wait_for_success(child);
	rec_only_entry(output, directory, sizeof(directory));
	data = rec_decode(directory);
	assert_int_equal(data->faults, 0);
	assert_null(data->end);
	assert_int_equal(check_count(data, 0), 1000);
	rec_free(data);
	rec_remove(output);
}

/* A flight recorder needs no handler for SIGSEGV: the last events are in the ring file. */
static void test_crash(void **state)
{
	const char *output = rec_tmp();
	char directory[8192];
	struct rec_data *data;
	struct rec_record *r;
	int status;
	size_t n;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		struct rlimit no_core = {0, 0};
		struct mindprof_range outer, inner;

		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGSEGV, SIG_DFL);
		rec_start(output, MINDPROF_RECORD_RING, 256 << 10);
		outer = mindprof_range_begin(&site);
		for (uint64_t i = 0; i < 100000; i++)
			mindprof_step(i);
		inner = mindprof_range_begin(&child_site);
		raise(SIGSEGV);
		mindprof_range_end(&inner);
		mindprof_range_end(&outer);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	rec_only_entry(output, directory, sizeof(directory));
	data = rec_decode(directory);
	assert_int_equal(data->faults, 0);
	assert_null(data->end);
	r = rec_records(data, 0, &n);
	assert_true(n > 63 * 252);
	assert_int_equal(r[n - 1].site, 99999);
	for (size_t i = 1; i < n; i++)
		assert_int_equal(r[i].site, r[i - 1].site + 1);
	free(r);
	/* What it was doing: the two ranges that are open. */
	assert_int_equal(data->n_open, 1);
	assert_int_equal(data->open[0].os_tid, child);
	assert_int_equal(data->open[0].depth, 2);
	assert_string_equal(rec_site_by_id(data, data->open[0].open[0].site)->name, "event");
	assert_string_equal(rec_site_by_id(data, data->open[0].open[1].site)->name, "in the child");
	assert_true(data->open[0].open[1].tick > data->open[0].open[0].tick);
	rec_free(data);
	rec_remove(output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_child_is_off),
		cmocka_unit_test(test_child_follows),
		cmocka_unit_test(test_fork_while_others_record),
		cmocka_unit_test(test_raw_clone),
		cmocka_unit_test(test_exit_in_thread),
		cmocka_unit_test(test_quick_exit_in_thread),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
