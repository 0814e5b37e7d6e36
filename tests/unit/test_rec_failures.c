/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong around a recording: bad options, no disk, no memory, wrong moments. errno stays. */
#include "test_rec_helpers.h"

#include "base/mem.h"

static struct mindprof_site site = {"event", NULL, NULL, 0, MINDPROF_SITE_MARK, 0};

static struct mindprof_record_options defaults(const char *output)
{
	return (struct mindprof_record_options){.size = sizeof(struct mindprof_record_options),
						.output_path = output,
						.worker_name = "host",
						.memory_bytes = 1 << 18};
}

static void refuse(const struct mindprof_record_options *options, enum mindprof_status status,
		   const char *text)
{
	struct mindprof_error error = {0};
	char line[2048];

	errno = 4711;
	assert_int_equal(mindprof_record_start(options, &error), status);
	assert_int_equal(errno, 4711);
	assert_int_equal(error.status, status);
	for (uint32_t i = 0; i < error.n_causes; i++) {
		if (strstr(error.causes[i].text, text))
			return;
	}
	snprintf(line, sizeof(line), "'%s' does not say '%s'", error.causes[0].text, text);
	fail_msg("%s", line);
}

static void test_bad_options(void **state)
{
	const char *output = rec_tmp();
	struct mindprof_record_options options = defaults(output);
	char long_path[5000];

	(void)state;
	options.size = 4;
	refuse(&options, MINDPROF_E_ARGUMENT, "size");
	options = defaults(output);
	options.mode = (enum mindprof_record_mode)7;
	refuse(&options, MINDPROF_E_ARGUMENT, "7 is not a recording mode");
	options = defaults(output);
	options.worker_name = "a/b";
	refuse(&options, MINDPROF_E_ARGUMENT, "'a/b'");
	options = defaults(output);
	options.flags = 0x80;
	refuse(&options, MINDPROF_E_ARGUMENT, "0x80");
	options = defaults(output);
	options.memory_bytes = UINT64_MAX;
	refuse(&options, MINDPROF_E_ARGUMENT, "too much");
	memset(long_path, 'x', sizeof(long_path));
	long_path[4999] = '\0';
	options = defaults(long_path);
	refuse(&options, MINDPROF_E_ARGUMENT, "4999 bytes long");
	assert_int_equal(rec_count_entries(output), 0);
	rec_remove(output);
}

static void test_environment(void **state)
{
	const char *output = rec_tmp();
	struct mindprof_record_options options = defaults(output);
	struct rec_data *data;

	(void)state;
	options.memory_bytes = 0;
	setenv("MINDPROF_MEMORY", "3X", 1);
	refuse(&options, MINDPROF_E_ARGUMENT, "MINDPROF_MEMORY is '3X'");
	setenv("MINDPROF_MEMORY", "99999999999999999999G", 1);
	refuse(&options, MINDPROF_E_ARGUMENT, "MINDPROF_MEMORY");
	setenv("MINDPROF_MEMORY", "99999999999G", 1);
	refuse(&options, MINDPROF_E_ARGUMENT, "MINDPROF_MEMORY");
	setenv("MINDPROF_MEMORY", "3M", 1);
	setenv("MINDPROF_MODE", "circle", 1);
	refuse(&options, MINDPROF_E_ARGUMENT, "MINDPROF_MODE is 'circle'");
	setenv("MINDPROF_MODE", "ring", 1);
	setenv("MINDPROF_WORKER", "of the environment", 1);
	setenv("MINDPROF_OUTPUT", output, 1);
	setenv("RANK_ID", "7b", 1);
	assert_int_equal(rec_count_entries(output), 0);
	assert_int_equal(mindprof_record_start(NULL, NULL), MINDPROF_OK);
	rec_stop();
	assert_int_equal(rec_count_entries(output), 1);
	data = rec_decode_last();
	assert_non_null(strstr(data->session, "\"mode\": \"ring\", \"memory_bytes\": 3145728, "));
	assert_non_null(strstr(data->session, "\"rank\": 0, "));
	assert_non_null(strstr(data->session, "\"worker\": \"of the environment\", "));
	rec_free(data);
	/* What the program says goes before what the environment says. */
	options = defaults(output);
	options.mode = MINDPROF_RECORD_STREAM;
	options.rank = 12;
	assert_int_equal(mindprof_record_start(&options, NULL), MINDPROF_OK);
	rec_stop();
	data = rec_decode_last();
	assert_non_null(strstr(data->session, "\"mode\": \"stream\", \"memory_bytes\": 262144, "));
	assert_non_null(strstr(data->session, "\"rank\": 12, "));
	assert_non_null(strstr(data->session, "\"worker\": \"host\", "));
	rec_free(data);
	unsetenv("MINDPROF_MEMORY");
	unsetenv("MINDPROF_MODE");
	unsetenv("MINDPROF_OUTPUT");
	unsetenv("MINDPROF_WORKER");
	unsetenv("RANK_ID");
	rec_remove(output);
}

static void test_states(void **state)
{
	const char *output = rec_tmp();
	struct mindprof_record_options options = defaults(output);
	struct mindprof_record_stats stats = {.size = sizeof(stats)};
	struct mindprof_error error = {0};

	(void)state;
	assert_int_equal(mindprof_record_stop(&error), MINDPROF_E_STATE);
	assert_int_equal(mindprof_record_dump(&error), MINDPROF_E_STATE);
	assert_string_equal(error.causes[0].text, "not recording");
	assert_int_equal(mindprof_record_is_on(), 0);
	/* Off: nothing happens, nothing is 0 that must not be. */
	mindprof_mark(&site);
	mindprof_mark_(&site);
	mindprof_range_pop_();
	mindprof_range_stop(5);
	mindprof_range_stop_(0x0100000100000001ull);
	assert_int_equal(mindprof_range_start(&site), 0);
	assert_int_equal(mindprof_now(), 0);
	mindprof_metadata("key", "1");
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	assert_int_equal(mindprof_record_is_on(), 1);
	refuse(&options, MINDPROF_E_STATE, "already recording to '");
	mindprof_mark(&site);
	mindprof_record_get_stats(&stats);
	assert_int_equal(stats.on, 1);
	assert_int_equal(stats.events, 1);
	assert_int_equal(stats.threads, 1);
	/* An older program's smaller struct. */
	memset(&stats, 0xff, sizeof(stats));
	stats.size = offsetof(struct mindprof_record_stats, dropped);
	mindprof_record_get_stats(&stats);
	assert_int_equal(stats.events, 1);
	assert_int_equal(stats.dropped, UINT64_MAX);
	rec_stop();
	assert_int_equal(mindprof_record_stop(NULL), MINDPROF_E_STATE);
	rec_remove(output);
}

/* A directory that cannot be made leaves nothing behind, not even the part of it that could. */
static void test_unwritable_output(void **state)
{
	const char *output = rec_tmp();
	struct mindprof_record_options options;
	char path[256];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/file", output);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	snprintf(path, sizeof(path), "%s/file/below", output);
	options = defaults(path);
	refuse(&options, MINDPROF_E_NOT_FOUND, "below");
	options = defaults("/proc/mindprof/x");
	refuse(&options, MINDPROF_E_NOT_FOUND, "/proc/mindprof");
	assert_int_equal(rec_count_entries(output), 1);
	rec_remove(output);
}

/* No room for the ring file: start fails and cleans up. RLIMIT_FSIZE stands for the size of the disk. */
static void test_no_disk_at_start(void **state)
{
	const char *output = rec_tmp();
	struct mindprof_record_options options;
	struct rlimit before, limit;
	char path[256];

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){100000, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	snprintf(path, sizeof(path), "%s/made/for/this", output);
	options = defaults(path);
	refuse(&options, MINDPROF_E_IO, "cannot reserve");
	limit.rlim_cur = 20;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	refuse(&options, MINDPROF_E_IO, "cannot write 'session.mpr'");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(rec_count_entries(output), 0);
	assert_int_equal(mindprof_record_is_on(), 0);
	rec_remove(output);
}

/* The disk is full for a while: nothing is lost as long as the memory holds, and all is written then. */
static void test_no_disk_for_a_while(void **state)
{
	const char *output = rec_tmp();
	char directory[4096];
	struct rlimit before, limit;
	struct rec_record *r;
	struct rec_data *data;
	size_t n;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	rec_start(output, MINDPROF_RECORD_STREAM, 4 << 20);
	mindprof_record_directory(directory, sizeof(directory));
	limit = (struct rlimit){1, before.rlim_max}; /* nothing more at all, not even the thread's entry */
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (uint64_t i = 0; i < 100000; i++)
		mindprof_step(i);
	assert_int_equal(mindprof_record_dump(NULL), MINDPROF_E_IO);
	/* Names that come now are written later, too. */
	for (int i = 0; i < 300; i++) {
		char name[64];

		snprintf(name, sizeof(name), "a name met while the disk is full %d", i);
		mindprof_mark(mindprof_site_get(MINDPROF_SITE_MARK, name, NULL));
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	mindprof_record_stop(NULL);
	data = rec_decode(directory);
	assert_int_equal(data->faults, 0);
	assert_false(data->has_ring);
	assert_int_equal(data->n_threads, 1);
	assert_int_equal(data->threads[0].os_tid, getpid());
	assert_int_equal(rec_dropped(data, 0), 0);
	r = rec_records(data, 0, &n);
	assert_int_equal(n, 100300);
	for (size_t i = 0; i < 100000; i++)
		assert_int_equal(r[i].site, i);
	for (size_t i = 100000; i < n; i++)
		assert_non_null(strstr(rec_site_by_id(data, r[i].site)->name, "while the disk is full"));
	free(r);
	rec_free(data);
	rec_remove(output);
}

/* Allocations fail one after the other, until start succeeds with all of them; recording needs none. */
static void test_no_memory(void **state)
{
	const char *output = rec_tmp();
	char directory[4096];
	uint64_t failed = 0;

	(void)state;
	for (uint64_t n = 0;; n++) {
		struct mindprof_record_options options = defaults(output);
		enum mindprof_status status;

		mp_mem_fail_after(n);
		status = mindprof_record_start(&options, NULL);
		if (status == MINDPROF_OK) {
			mindprof_mark(&site);
			mindprof_metadata("key", "\"value\"");
			assert_int_equal(mindprof_record_dump(NULL), MINDPROF_OK);
			mindprof_record_stop(NULL);
			assert_true(mindprof_record_directory(directory, sizeof(directory)) > 0);
			rec_remove(directory);
			if (mp_mem_fail_after(UINT64_MAX) <= n)
				break;
			continue;
		}
		mp_mem_fail_after(UINT64_MAX);
		assert_int_equal(status, MINDPROF_E_NOMEM);
		assert_int_equal(rec_count_entries(output), 0);
		failed++;
	}
	assert_true(failed >= 5);
	rec_remove(output);
}

/* Every public function leaves errno alone, whatever happens inside. */
static void test_errno(void **state)
{
	const char *output = rec_tmp();
	char buf[100];

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	site.id = 0;
	errno = 4711;
	mindprof_mark(&site);
	mindprof_site_get(MINDPROF_SITE_MARK, "new here", "{}");
	mindprof_thread_name("a name");
	mindprof_process_name("a name");
	mindprof_metadata("key", "not json");
	mindprof_record_directory(buf, sizeof(buf));
	mindprof_record_dump(NULL);
	mindprof_record_dump_from_signal();
	mindprof_record_stop(NULL);
	mindprof_record_stop(NULL);
	assert_int_equal(errno, 4711);
	rec_remove(output);
}

/* Text that is no JSON becomes a string, so the segment stays valid. */
static void test_bad_metadata(void **state)
{
	const char *output = rec_tmp();
	struct rec_data *data;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	mindprof_metadata(NULL, "1");
	mindprof_metadata("none", NULL);
	mindprof_metadata("quo\"te", "{\"open\": ");
	rec_stop();
	data = rec_decode_last();
	assert_string_equal(data->metadata, "{\"quo\\\"te\": \"{\\\"open\\\": \"}");
	rec_free(data);
	rec_remove(output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_options),      cmocka_unit_test(test_environment),
		cmocka_unit_test(test_states),           cmocka_unit_test(test_unwritable_output),
		cmocka_unit_test(test_no_disk_at_start), cmocka_unit_test(test_no_disk_for_a_while),
		cmocka_unit_test(test_no_memory),        cmocka_unit_test(test_errno),
		cmocka_unit_test(test_bad_metadata),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
