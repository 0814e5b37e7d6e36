/* SPDX-License-Identifier: Apache-2.0 */
/* Facts from profiler_info and profiler_metadata: files of the original, and damaged ones. */
#include "golden_trace.h"

#include <fcntl.h>
#include <unistd.h>

#define NATIVE_GRAPH \
	MP_SOURCE_DIR "/tests/data/op_range/native-graph/raw/host0_9825_20261130205343493_ascend_ms"
#define METADATA MP_SOURCE_DIR "/tests/data/cpu/cpu-metadata/raw/host0_8720_20261130205237189_ascend_ms"

static char scratch[256];

static int make_scratch(void **state)
{
	(void)state;
	snprintf(scratch, sizeof(scratch), "%s/rd_info_XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	return mkdtemp(scratch) ? 0 : -1;
}

static void put_info(const char *text)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/profiler_info_0.json", scratch);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static int remove_scratch(void **state)
{
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/profiler_info_0.json", scratch);
	unlink(path);
	return rmdir(scratch);
}

static const char *fact(const struct mp_store *store, const char *key)
{
	return mp_store_fact(store, key).text;
}

static void test_profiler_info(void **state)
{
	struct mp_store *store = read_with(&mp_reader_run_info, NATIVE_GRAPH, NULL, NULL, NULL);

	(void)state;
	assert_string_equal(fact(store, "ms_version"), "2.7.0");
	assert_string_equal(fact(store, "rank_id"), "0");
	assert_string_equal(fact(store, "device_id"), "0");
	assert_string_equal(fact(store, "cann_version"), "not known");
	assert_string_equal(fact(store, "profiler_parameters.with_stack"), "false");
	assert_string_equal(fact(store, "profiler_parameters.profiler_level"), "Level0");
	assert_non_null(strstr(fact(store, "profiler_parameters.schedule"), "\"active\": 4"));
	assert_int_equal(mp_store_n_notes(store), 0);
	mp_store_free(store);
}

static void test_metadata(void **state)
{
	struct mp_store *store = read_with(&mp_reader_run_info, METADATA, NULL, NULL, NULL);
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < mp_store_n_facts(store); i++) {
		struct mp_str key, text;

		mp_store_get_fact(store, i, &key, &text);
		n += strncmp(key.text, "metadata.", 9) == 0;
		assert_true(text.len > 0);
	}
	assert_true(n > 0);
	assert_int_equal(n, mp_store_n_facts(store));
	assert_int_equal(mp_store_n_notes(store), 0);
	mp_store_free(store);
}

static void test_damaged(void **state)
{
	static const struct {
		const char *text;
		int64_t offset; /* of the one note, -1 = no note */
		const char *version;
	} cases[] = {
		{"{\"ms_version\": \"2.7\\u0030\"}", -1, "2.70"},
		{"{\"ms_version\": null}", -1, ""},
		{"{}", -1, ""},
		{"{\"ms_version\": \"2.7\", \"x\"", 25, "2.7"}, /* what came before the fault counts */
		{"{\"ms_version\": \"2.7\"} 1", 22, "2.7"},
		{"[1]", 1, ""},
		{"{\"ms_profiler_info\": {\"rank_id\": NaN}}", 33, ""},
		{"{\"ms_profiler_info\": 5, \"ms_version\": 1e3}", -1, "1e3"},
	};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(cases); i++) {
		struct mp_store *store;
		struct mp_note note = {0};

		put_info(cases[i].text);
		store = read_with(&mp_reader_run_info, scratch, NULL, NULL, NULL);
		assert_string_equal(fact(store, "ms_version"), cases[i].version);
		assert_int_equal(notes_of(store, "bad-json", &note), cases[i].offset >= 0);
		if (cases[i].offset >= 0)
			assert_int_equal(note.byte_offset, cases[i].offset);
		mp_store_free(store);
	}
}

static void test_recognise(void **state)
{
	struct mp_source source = {0};
	struct mp_dir dir;

	(void)state;
	assert_int_equal(mp_dir_open(METADATA, &dir, NULL), MINDPROF_OK);
	source.dir = &dir;
	assert_int_equal(mp_reader_run_info.recognise(&source), 30);
	mp_dir_close(&dir);
	assert_int_equal(mp_dir_open("/", &dir, NULL), MINDPROF_OK);
	assert_int_equal(mp_reader_run_info.recognise(&source), 0);
	mp_dir_close(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profiler_info),
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_recognise),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
