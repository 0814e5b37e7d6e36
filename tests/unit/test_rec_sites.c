/* SPDX-License-Identifier: Apache-2.0 */
/* Names: met once, found again, any bytes, any length up to the bound, attributes always one JSON object. */
#include "test_rec_helpers.h"

static const struct rec_site *find(const struct rec_data *data, const struct mindprof_site *site)
{
	const struct rec_site *found = rec_site_by_id(data, site->id);

	assert_non_null(found);
	return found;
}

/* The same (kind, name, attributes) is the same site, everything else is another. */
static void test_identity(void **state)
{
	struct mindprof_site *a = mindprof_site_get(MINDPROF_SITE_MARK, "name", "{\"unit\": \"MB\"}");

	(void)state;
	assert_ptr_equal(a, mindprof_site_get(MINDPROF_SITE_MARK, "name", "{\"unit\": \"MB\"}"));
	assert_ptr_not_equal(a, mindprof_site_get(MINDPROF_SITE_RANGE, "name", "{\"unit\": \"MB\"}"));
	assert_ptr_not_equal(a, mindprof_site_get(MINDPROF_SITE_MARK, "name", NULL));
	assert_ptr_not_equal(a, mindprof_site_get(MINDPROF_SITE_MARK, "nam", "{\"unit\": \"MB\"}"));
	assert_true(a->id > 0);
	assert_string_equal(a->name, "name");
	assert_string_equal(a->attributes, "{\"unit\": \"MB\"}");
	assert_ptr_equal(mindprof_site_get(MINDPROF_SITE_MARK, NULL, NULL),
			 mindprof_site_get(MINDPROF_SITE_MARK, "", ""));
}

static void test_operators(void **state)
{
	struct mindprof_op op = {
		.size = sizeof(op), .name = "op", .type = "Mul", .stream = 3, .flops = 1.5e9};
	struct mindprof_site *a = mindprof_op_site(&op);

	(void)state;
	assert_int_equal(a->kind, MINDPROF_SITE_OPERATOR);
	assert_string_equal(a->attributes, "{\"type\": \"Mul\", \"stream\": 3, \"flops\": 1500000000.0}");
	assert_ptr_equal(a, mindprof_op_site(&op));
	op.stream = 4;
	assert_ptr_not_equal(a, mindprof_op_site(&op));
	/* A program that knows less of the struct. */
	op.size = offsetof(struct mindprof_op, shapes);
	assert_string_equal(mindprof_op_site(&op)->attributes, "{\"type\": \"Mul\"}");
}

static struct mindprof_site with_file = {"static", "{\"a\": 1}", "dir/\"x\".c", 9, MINDPROF_SITE_MARK, 0};
static struct mindprof_site with_own_file = {"static", "{\"file\": \"other\"}", "x.c",
					     9,        MINDPROF_SITE_MARK,      0};
static struct mindprof_site no_object = {"static", "[1]", "x.c", 9, MINDPROF_SITE_MARK, 0};
static struct mindprof_site empty_object = {"static", " { } ", NULL, 0, MINDPROF_SITE_MARK, 0};
static struct mindprof_site broken = {"static", "{\"a\": }", NULL, 0, MINDPROF_SITE_MARK, 0};
static struct mindprof_site same_place = {"static", "{\"a\": 1}", "dir/\"x\".c", 9, MINDPROF_SITE_MARK, 0};

static void test_attributes(void **state)
{
	const char *output = rec_tmp();
	struct rec_data *data;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	mindprof_mark(&with_file);
	mindprof_mark(&with_own_file);
	mindprof_mark(&no_object);
	mindprof_mark(&empty_object);
	mindprof_mark(&broken);
	mindprof_mark(&same_place);
	rec_stop();
	data = rec_decode_last();
	assert_string_equal(find(data, &with_file)->attributes,
			    "{\"file\": \"dir/\\\"x\\\".c\", \"line\": 9, \"a\": 1}");
	assert_string_equal(find(data, &with_own_file)->attributes, "{\"file\": \"other\"}");
	assert_string_equal(find(data, &no_object)->attributes,
			    "{\"file\": \"x.c\", \"line\": 9, \"text\": \"[1]\"}");
	assert_string_equal(find(data, &empty_object)->attributes, "{}");
	assert_string_equal(find(data, &broken)->attributes, "{\"text\": \"{\\\"a\\\": }\"}");
	assert_int_equal(same_place.id, with_file.id);
	rec_free(data);
	rec_remove(output);
}

static void test_hard_names(void **state)
{
	static const char *const names[] = {"", "\"quotes\" and \\", "\x01\x02\n\t", "\xff\xfe broken \xc3",
					    "\xf0\x9f\x94\xa5 fire"};
	const char *output = rec_tmp();
	struct mindprof_site *sites[6], *too_much;
	char *long_name = malloc(100001), *long_attributes = malloc(100001);
	struct rec_data *data;

	(void)state;
	assert_non_null(long_name);
	assert_non_null(long_attributes);
	memset(long_name, 'n', 100000);
	long_name[100000] = '\0';
	memset(long_attributes, ' ', 100000);
	memcpy(long_attributes, "{\"a\":\"", 6);
	memset(long_attributes + 6, 'a', 90000);
	memcpy(long_attributes + 90006, "\"}", 3);
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	for (int i = 0; i < 5; i++)
		sites[i] = mindprof_site_get(MINDPROF_SITE_MARK, names[i], NULL);
	sites[5] = mindprof_site_get(MINDPROF_SITE_MARK, long_name, NULL);
	too_much = mindprof_site_get(MINDPROF_SITE_MARK, "too much", long_attributes);
	for (int i = 0; i < 6; i++)
		mindprof_mark(sites[i]);
	rec_stop();
	data = rec_decode_last();
	for (int i = 0; i < 5; i++)
		assert_string_equal(find(data, sites[i])->name, names[i]);
	assert_int_equal(find(data, sites[5])->name_len, 100000);
	assert_string_equal(find(data, sites[5])->name, long_name);
	assert_string_equal(find(data, too_much)->attributes, "{\"text\": \"(attributes too long)\"}");
	rec_free(data);
	rec_remove(output);
	free(long_name);
	free(long_attributes);
}

/* Names are on disk before any event can have their id: a copy of the file taken at once has them. */
static void test_written_at_once(void **state)
{
	const char *output = rec_tmp();
	char directory[4096], name[64];

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	mindprof_record_directory(directory, sizeof(directory));
	for (int i = 0; i < 200; i++) {
		struct mindprof_site *site;
		struct rec_data *data;

		snprintf(name, sizeof(name), "at once %d", i);
		site = mindprof_site_get(MINDPROF_SITE_MARK, name, NULL);
		data = rec_decode(directory);
		assert_string_equal(find(data, site)->name, name);
		rec_free(data);
	}
	rec_stop();
	rec_remove(output);
}

static void *get_sites(void *results)
{
	struct mindprof_site **sites = results;
	char name[32];

	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "shared %d", i);
		sites[i] = mindprof_site_get(MINDPROF_SITE_MARK, name, NULL);
	}
	return NULL;
}

static void test_many_threads(void **state)
{
	static struct mindprof_site *found[4][5000];
	pthread_t threads[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_sites, found[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 1; i < 4; i++)
		assert_memory_equal(found[0], found[i], sizeof(found[0]));
}

/* Beyond 64 MiB of names there is one site for all; what was there before still works. Comes last. */
static void test_out_of_names(void **state)
{
	const char *output = rec_tmp();
	const size_t len = 4 << 20;
	struct mindprof_site *site = NULL, *first = mindprof_site_get(MINDPROF_SITE_MARK, "first", NULL);
	char *name = malloc(len + 1);
	struct rec_data *data;
	int n = 0;

	(void)state;
	assert_non_null(name);
	memset(name, 'x', len);
	name[len] = '\0';
	for (; n < 100; n++) {
		snprintf(name, 16, "%014d", n);
		name[14] = 'x';
		site = mindprof_site_get(MINDPROF_SITE_MARK, name, NULL);
		if (strcmp(site->name, "(out of names)") == 0)
			break;
	}
	free(name);
	assert_true(n >= 10 && n <= 16);
	assert_true(site->id > 0);
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	mindprof_mark(site);
	mindprof_mark(first);
	rec_stop();
	data = rec_decode_last();
	assert_int_equal(data->faults, 0);
	assert_string_equal(find(data, site)->name, "(out of names)");
	assert_string_equal(find(data, first)->name, "first");
	rec_free(data);
	rec_remove(output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identity),        cmocka_unit_test(test_operators),
		cmocka_unit_test(test_attributes),      cmocka_unit_test(test_hard_names),
		cmocka_unit_test(test_written_at_once), cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_out_of_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
