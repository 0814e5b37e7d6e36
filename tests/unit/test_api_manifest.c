/* SPDX-License-Identifier: Apache-2.0 */
/* The list of files that an analysis wrote: round trip, foreign and damaged lists, failing memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/api_trace.h"
#include "base/mem.h"
#include "unit/torture.h"

struct fixture {
	char path[64];
	struct mp_dir dir;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->path, "/tmp/mindprof-test-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	assert_int_equal(mp_dir_open(f->path, &f->dir, NULL), MINDPROF_OK);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unlinkat(f->dir.fd, API_MANIFEST, 0);
	mp_dir_close(&f->dir);
	rmdir(f->path);
	free(f);
	return 0;
}

static void put_text(struct fixture *f, const char *text)
{
	struct mp_out out;

	assert_int_equal(mp_out_open_at(&f->dir, API_MANIFEST, true, &out, NULL), MINDPROF_OK);
	mp_out_str(&out, text);
	assert_int_equal(mp_out_commit(&out, NULL), MINDPROF_OK);
}

static void absent_is_empty(void **state)
{
	struct fixture *f = *state;
	struct api_manifest manifest;

	assert_int_equal(api_manifest_read(&f->dir, &manifest, NULL), MINDPROF_OK);
	assert_false(manifest.found);
	assert_int_equal(manifest.n, 0);
	assert_null(api_manifest_lookup(&manifest, "x.csv"));
}

static void comes_back(void **state)
{
	struct fixture *f = *state;
	struct api_manifest manifest = {0};
	char name[64];

	/* more than the first allocation holds */
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "table%d.csv", i);
		assert_true(api_manifest_put(&manifest, name, (uint64_t)i));
	}
	assert_true(api_manifest_put(&manifest, "table3.csv", API_BYTES_ANY));
	assert_int_equal(manifest.n, 40);
	for (int pretty = 0; pretty < 2; pretty++) {
		struct api_manifest back;

		assert_int_equal(api_manifest_write(&f->dir, &manifest, pretty, NULL), MINDPROF_OK);
		assert_int_equal(api_manifest_read(&f->dir, &back, NULL), MINDPROF_OK);
		assert_true(back.found);
		assert_int_equal(back.n, 40);
		assert_int_equal(api_manifest_lookup(&back, "table39.csv")->bytes, 39);
		assert_true(api_manifest_lookup(&back, "table3.csv")->bytes == API_BYTES_ANY);
		assert_null(api_manifest_lookup(&back, "table40.csv"));
		api_manifest_release(&back);
	}
	api_manifest_release(&manifest);
}

static void text_is_as_documented(void **state)
{
	struct fixture *f = *state;
	static const char expected[] = "{\"program\": \"mindprof\", \"version\": \"" MINDPROF_VERSION
				       "\", \"files\": [{\"name\": \"a.csv\", \"bytes\": 7}, "
				       "{\"name\": \"b.csv\", \"bytes\": null}]}";
	struct api_manifest manifest = {0};
	struct mp_file file;

	assert_true(api_manifest_put(&manifest, "a.csv", 7) &&
		    api_manifest_put(&manifest, "b.csv", API_BYTES_ANY));
	assert_int_equal(api_manifest_write(&f->dir, &manifest, false, NULL), MINDPROF_OK);
	assert_int_equal(mp_file_open_at(&f->dir, API_MANIFEST, &file, NULL), MINDPROF_OK);
	assert_int_equal(file.size, strlen(expected));
	assert_memory_equal(file.data, expected, file.size);
	mp_file_close(&file);
	api_manifest_release(&manifest);
}

/* What a finished analysis adds: its fingerprint and its notes. */
static void a_finished_one_comes_back(void **state)
{
	struct fixture *f = *state;
	static const struct mindprof_note notes[] = {
		{MINDPROF_INFO, "odd", "a \"quoted\" text", "", -1, 1},
		{MINDPROF_PROBLEM, "truncated", "cut\there", "FRAMEWORK/x\\y", INT64_MAX, UINT64_C(1) << 40},
	};
	struct api_manifest manifest = {.fingerprint = UINT64_MAX}, back;

	mp_table_init(&manifest.notes, &api_notes_shape);
	for (size_t i = 0; i < 2; i++)
		assert_true(api_add_note(&manifest.notes, &notes[i]));
	assert_int_equal(api_manifest_write(&f->dir, &manifest, false, NULL), MINDPROF_OK);
	assert_int_equal(api_manifest_read(&f->dir, &back, NULL), MINDPROF_OK);
	assert_true(back.found);
	assert_true(back.fingerprint == UINT64_MAX);
	assert_int_equal(back.notes.n_rows, 2);
	for (size_t i = 0; i < 2; i++) {
		struct mindprof_note note = api_note_of_row(mp_table_row(&back.notes, i));

		assert_int_equal(note.severity, notes[i].severity);
		assert_string_equal(note.code, notes[i].code);
		assert_string_equal(note.text, notes[i].text);
		assert_string_equal(note.path, notes[i].path);
		assert_true(note.byte_offset == notes[i].byte_offset);
		assert_true(note.count == notes[i].count);
	}
	api_manifest_release(&back);
	api_manifest_release(&manifest);
}

static void foreign_lists_count_as_none(void **state)
{
	struct fixture *f = *state;
	static const char *const texts[] = {
		"",
		"[]",
		"{}",
		"{\"files\": []}",
		"{\"program\": \"other\", \"files\": []}",
		"{\"program\": 1, \"files\": []}",
		"{\"program\": \"mindprof\", \"files\": {}}",
		"{\"program\": \"mindprof\", \"files\": [1]}",
		"{\"program\": \"mindprof\", \"files\": [{\"bytes\": 1}]}",
		"{\"program\": \"mindprof\", \"files\": [{\"name\": \"a\", \"bytes\": -1}]}",
		"{\"program\": \"mindprof\", \"files\": [{\"name\": \"a\", \"bytes\": 1}",
		"{\"program\": \"mindprof\", \"files\": [{\"name\": \"a\", \"bytes\": 1e300}]}",
		"{\"program\": \"mindprof\", \"files\": [{\"name\": \"a\", \"bytes\": "
		"99999999999999999999999}]}",
		"{\"program\": \"mindprof\", \"fingerprint\": 1}",
		"{\"program\": \"mindprof\", \"fingerprint\": \"-1\"}",
		"{\"program\": \"mindprof\", \"notes\": {}}",
		"{\"program\": \"mindprof\", \"notes\": [1]}",
		"{\"program\": \"mindprof\", \"notes\": [{\"text\": 1}]}",
		"{\"program\": \"mindprof\", \"notes\": [{\"count\": \"1\"}]}",
		"{\"program\": \"mindprof\", \"notes\": [{\"text\": \"cut",
		"{\"program\": \"mindprof\", \"files\": [{\"name\": "
		"\"0123456789012345678901234567890123456789012345678901234567890123\", \"bytes\": 1}]}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct api_manifest manifest;

		put_text(f, texts[i]);
		assert_int_equal(api_manifest_read(&f->dir, &manifest, NULL), MINDPROF_OK);
		assert_false(manifest.found);
		assert_int_equal(manifest.n, 0);
		api_manifest_release(&manifest);
	}
}

static void long_names_are_refused(void **state)
{
	struct api_manifest manifest = {0};

	(void)state;
	assert_false(api_manifest_put(&manifest,
				      "0123456789012345678901234567890123456789012345678901234567890123", 1));
	assert_int_equal(manifest.n, 0);
	api_manifest_release(&manifest);
}

static mp_status write_and_read(void *user)
{
	struct fixture *f = user;
	static const struct mindprof_note note = {MINDPROF_PROBLEM, "cut", "a text", "x", 3, 1};
	struct api_manifest manifest = {.fingerprint = 5}, back;
	mp_status status = MINDPROF_E_NOMEM;

	mp_table_init(&manifest.notes, &api_notes_shape);
	if (api_manifest_put(&manifest, "a.csv", 1) && api_add_note(&manifest.notes, &note))
		status = api_manifest_write(&f->dir, &manifest, true, NULL);
	if (!status) {
		status = api_manifest_read(&f->dir, &back, NULL);
		api_manifest_release(&back);
	}
	api_manifest_release(&manifest);
	return status;
}

static void every_allocation_fails_once(void **state)
{
	assert_true(torture(write_and_read, *state) > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(absent_is_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(comes_back, setup, teardown),
		cmocka_unit_test_setup_teardown(a_finished_one_comes_back, setup, teardown),
		cmocka_unit_test_setup_teardown(text_is_as_documented, setup, teardown),
		cmocka_unit_test_setup_teardown(foreign_lists_count_as_none, setup, teardown),
		cmocka_unit_test(long_names_are_refused),
		cmocka_unit_test_setup_teardown(every_allocation_fails_once, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
