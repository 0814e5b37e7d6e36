/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording of every kind of event looks like on disk, decoded by an independent decoder. */
#include "test_rec_helpers.h"

static struct mindprof_site range_site = {"outer", NULL, "place.c", 12, MINDPROF_SITE_RANGE, 0};
static struct mindprof_site mark_site = {"here", "{\"unit\": \"MB\"}", NULL, 0, MINDPROF_SITE_MARK, 0};
static struct mindprof_site counter_site = {"loss", NULL, NULL, 0, MINDPROF_SITE_COUNTER, 0};
static struct mindprof_site flow_site = {"flow", NULL, NULL, 0, MINDPROF_SITE_FLOW, 0};
static struct mindprof_site memory_site = {"pool", NULL, NULL, 0, MINDPROF_SITE_MEMORY, 0};
static struct mindprof_site queue_site = {"batches", NULL, NULL, 0, MINDPROF_SITE_QUEUE, 0};

static uint64_t async_id;

static void record_one_of_each(void)
{
	struct mindprof_op op = {.size = sizeof(op),
				 .name = "Default/MatMul-op0",
				 .type = "MatMul",
				 .shapes = "2,3;3,4",
				 .dtypes = "Float32;Float32",
				 .device = "CPU",
				 .stream = -1,
				 .flops = 48};
	struct mindprof_range range, operator;
	uint64_t wait_began;

	range = mindprof_range_begin(&range_site);
	operator= mindprof_op_begin(mindprof_op_site(&op));
	mindprof_op_end(&operator);
	mindprof_mark(&mark_site);
	mindprof_counter(&counter_site, 0.25);
	mindprof_flow_begin(&flow_site, 77);
	mindprof_flow_step(&flow_site, 77);
	mindprof_flow_end(&flow_site, 77);
	mindprof_memory_alloc(&memory_site, (void *)0x1000, 4096);
	mindprof_memory_free(&memory_site, (void *)0x1000, 0);
	wait_began = mindprof_now();
	mindprof_queue_push(&queue_site, 0, 3, 4);
	mindprof_queue_pop(&queue_site, wait_began, 2, 0);
	mindprof_step(0x500000007ull);
	async_id = mindprof_range_start(&range_site);
	mindprof_range_stop(async_id);
	mindprof_range_end(&range);
	assert_int_equal(range.start_tick, 0);
}

static void check_record(const struct rec_data *data, const struct rec_record *record, unsigned kind,
			 const char *site)
{
	assert_int_equal(record->kind, kind);
	if (site)
		assert_string_equal(rec_site_by_id(data, record->site)->name, site);
}

/* The records in the order in which they were finished: the outer range is last. */
static void test_every_kind(void **state)
{
	const char *output = rec_tmp();
	struct rec_record *r;
	struct rec_data *data;
	size_t n;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	record_one_of_each();
	rec_stop();
	data = rec_decode_last();
	assert_int_equal(data->faults, 0);
	assert_false(data->has_ring);
	assert_int_equal(data->n_threads, 1);
	r = rec_records(data, 0, &n);
	assert_int_equal(n, 14);
	check_record(data, &r[0], 0x01, "Default/MatMul-op0");
	check_record(data, &r[1], 0x02, "here");
	check_record(data, &r[2], 0x42, "loss");
	assert_int_equal(r[2].a, 0x3fd0000000000000ull); /* 0.25 */
	check_record(data, &r[3], 0x43, "flow");
	check_record(data, &r[4], 0x44, "flow");
	check_record(data, &r[5], 0x45, "flow");
	assert_int_equal(r[5].a, 77);
	check_record(data, &r[6], 0x48, "pool");
	assert_int_equal(r[6].a, 0x1000);
	assert_int_equal(r[6].b, 4096);
	check_record(data, &r[7], 0x49, "pool");
	assert_int_equal(r[7].b, 0);
	check_record(data, &r[8], 0x4a, "batches");
	assert_int_equal(r[8].dur, 0);
	assert_int_equal(r[8].a, 3);
	assert_int_equal(r[8].b, 4);
	check_record(data, &r[9], 0x4b, "batches");
	assert_true(r[9].dur > 0);
	assert_true(r[9].tick <= r[8].tick); /* the wait began before the push */
	assert_true(r[9].tick + r[9].dur >= r[8].tick);
	assert_int_equal(r[9].b, 0);
	check_record(data, &r[10], 0x03, NULL);
	assert_int_equal(r[10].site, 7);
	assert_int_equal(r[10].dur, 5);
	check_record(data, &r[11], 0x46, "outer");
	assert_int_equal(r[11].a, async_id);
	check_record(data, &r[12], 0x47, NULL);
	assert_int_equal(r[12].a, async_id);
	check_record(data, &r[13], 0x01, "outer");
	for (size_t i = 0; i < 13; i++) {
		assert_true(r[i].tick >= r[13].tick);
		assert_true(r[i].tick <= r[13].tick + r[13].dur);
	}
	free(r);
	rec_free(data);
	rec_remove(output);
}

static void check_site(const struct rec_data *data, const char *name, uint32_t kind, const char *attributes)
{
	for (size_t i = 0; i < data->n_sites; i++) {
		if (strcmp(data->sites[i].name, name) != 0)
			continue;
		assert_int_equal(data->sites[i].kind, kind);
		assert_string_equal(data->sites[i].attributes, attributes);
		return;
	}
	fail_msg("no site '%s'", name);
}

static void test_descriptions(void **state)
{
	const char *output = rec_tmp();
	struct rec_data *data;
	char text[128];

	(void)state;
	setenv("RANK_ID", "5", 1);
	rec_start(output, MINDPROF_RECORD_STREAM, 1 << 20);
	record_one_of_each();
	mindprof_metadata("model", "{\"layers\": 3}");
	rec_stop();
	unsetenv("RANK_ID");
	data = rec_decode_last();
	check_site(data, "outer", 1, "{\"file\": \"place.c\", \"line\": 12}");
	check_site(data, "here", 3, "{\"unit\": \"MB\"}");
	check_site(data, "loss", 4, "");
	check_site(data, "Default/MatMul-op0", 2,
		   "{\"type\": \"MatMul\", \"shapes\": \"2,3;3,4\", \"dtypes\": \"Float32;Float32\", "
		   "\"device\": \"CPU\", \"flops\": 48.0}");
	for (size_t i = 0; i < data->n_sites; i++)
		assert_int_equal(data->sites[i].id, i + 1);
	assert_string_equal(data->metadata, "{\"model\": {\"layers\": 3}}");
	assert_non_null(data->session);
	snprintf(text, sizeof(text), "\"pid\": %d, ", (int)getpid());
	assert_non_null(strstr(data->session, text));
	assert_non_null(strstr(data->session, "\"worker\": \"host\", "));
	assert_non_null(strstr(data->session, "\"rank\": 5, "));
	assert_non_null(strstr(data->session, "\"mode\": \"stream\", "));
	assert_non_null(strstr(data->session, "\"memory_bytes\": 1048576, "));
	assert_non_null(strstr(data->session, "\"program\": \"/"));
	assert_non_null(strstr(data->session, "\"command_line\": [\""));
	assert_non_null(strstr(data->session, "\"base_tick\": "));
	assert_non_null(data->end);
	assert_non_null(strstr(data->end, "{\"reason\": \"stop\", "));
	assert_non_null(strstr(data->end, "\"events\": 14, \"dropped\": 0, \"threads\": 1, "));
	assert_non_null(strstr(data->end, "\"complete\": true, \"open_ranges\": []}"));
	rec_free(data);
	rec_remove(output);
}

/* <output>/<worker>_<pid>_<17 digits>_ascend_ms/MINDPROF, directories 0750. */
static void test_directory_name(void **state)
{
	const char *output = rec_tmp();
	char directory[4096], expected[256], short_buf[5];
	const char *stamp;
	struct stat st;
	mode_t mask = umask(0);
	size_t len;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	len = mindprof_record_directory(directory, sizeof(directory));
	assert_int_equal(len, strlen(directory));
	assert_int_equal(mindprof_record_directory(short_buf, sizeof(short_buf)), len);
	assert_int_equal(strlen(short_buf), 4);
	rec_stop();
	umask(mask);
	snprintf(expected, sizeof(expected), "%s/host_%d_", output, (int)getpid());
	assert_memory_equal(directory, expected, strlen(expected));
	stamp = directory + strlen(expected);
	assert_int_equal(strspn(stamp, "0123456789"), 17);
	assert_string_equal(stamp + 17, "_ascend_ms");
	assert_int_equal(stat(directory, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	snprintf(directory + len, sizeof(directory) - len, "/MINDPROF");
	assert_int_equal(stat(directory, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(rec_count_entries(directory), 2); /* session.mpr, events.mpr */
	rec_remove(output);
}

/* A range of 2^32 ticks or more has a record of its own. At up to 10 GHz it lasts longer than 0.4 s. */
static void test_long_range(void **state)
{
	const char *output = rec_tmp();
	struct mindprof_range range;
	struct rec_record *r;
	struct rec_data *data;
	size_t n;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	mindprof_mark(&mark_site);
	range = mindprof_range_begin(&range_site);
	/* Instead of waiting: as if it had begun before, but within the recording. */
	range.start_tick -= 1000;
	mindprof_range_end(&range);
	range = mindprof_range_begin(&range_site);
	while (mindprof_now() - range.start_tick <= UINT32_MAX)
		usleep(10000);
	mindprof_range_end(&range);
	rec_stop();
	data = rec_decode_last();
	r = rec_records(data, 0, &n);
	assert_int_equal(n, 3);
	assert_int_equal(r[1].kind, 0x01);
	assert_true(r[1].dur >= 1000);
	assert_int_equal(r[2].kind, 0x41);
	assert_int_equal(r[2].dur, 0);
	assert_true(r[2].a > UINT32_MAX);
	assert_true(r[2].tick + r[2].a >= r[1].tick);
	free(r);
	rec_free(data);
	rec_remove(output);
}

/* Millions of records over many chunks: every one is there, in order, and the sums agree. */
static void test_many_chunks(void **state)
{
	const char *output = rec_tmp();
	const size_t total = 300000;
	struct mindprof_record_stats stats = {.size = sizeof(stats)};
	struct rec_record *r;
	struct rec_data *data;
	size_t n;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 16 << 20);
	for (size_t i = 0; i < total; i++) {
		mindprof_step(i);
		if (i % 7 == 0)
			mindprof_counter(&counter_site, (double)i);
	}
	rec_stop();
	mindprof_record_get_stats(&stats);
	data = rec_decode_last();
	assert_int_equal(data->faults, 0);
	assert_int_equal(rec_dropped(data, 0), 0);
	r = rec_records(data, 0, &n);
	assert_int_equal(n, total + (total + 6) / 7);
	assert_int_equal(stats.events, n);
	assert_int_equal(stats.threads, 1);
	assert_int_equal(stats.on, 0);
	assert_int_equal(stats.bytes_written, data->sizes[1] + data->sizes[2]);
	for (size_t i = 0, step = 0; i < n; i++) {
		if (r[i].kind == 0x03)
			assert_int_equal(r[i].site, step++);
		if (i)
			assert_true(r[i].tick >= r[i - 1].tick);
	}
	for (size_t i = 0; i < data->n_segments; i++)
		assert_int_equal(data->segments[i].head.sequence, i);
	free(r);
	rec_free(data);
	rec_remove(output);
}

/* Ticks through the clock points give the real time that the program sees, to some microseconds. */
static void test_clock(void **state)
{
	const char *output = rec_tmp();
	struct timespec before, after;
	struct rec_record *r;
	struct rec_data *data;
	size_t n;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	mindprof_mark(&mark_site);
	usleep(60000);
	clock_gettime(CLOCK_REALTIME, &before);
	mindprof_mark(&mark_site);
	clock_gettime(CLOCK_REALTIME, &after);
	usleep(60000);
	rec_stop();
	data = rec_decode_last();
	r = rec_records(data, 0, &n);
	assert_int_equal(n, 2);
	assert_true(data->n_clocks >= 3); /* at start, after 10 ms, at stop */
	for (size_t i = 0; i + 1 < data->n_clocks; i++) {
		const struct mp_native_clock *a = &data->clocks[i], *b = &data->clocks[i + 1];
		double rate, ns, from, to, slack;

		assert_true(b->tick > a->tick);
		assert_true(b->monotonic_ns > a->monotonic_ns);
		if (r[1].tick < a->tick || r[1].tick > b->tick)
			continue;
		rate = (double)(b->realtime_ns - a->realtime_ns) / (double)(b->tick - a->tick);
		ns = (double)(r[1].tick - a->tick) * rate;
		from = (double)(before.tv_sec * 1000000000ll + before.tv_nsec - a->realtime_ns);
		to = (double)(after.tv_sec * 1000000000ll + after.tv_nsec - a->realtime_ns);
		slack = 2.0 * ((double)a->uncertainty_ns + (double)b->uncertainty_ns) + 1000;
		assert_true(ns >= from - slack);
		assert_true(ns <= to + slack);
	}
	free(r);
	rec_free(data);
	rec_remove(output);
}

/* Ranges that are open at stop are listed; their ends afterwards are nothing, also in the next recording. */
static void test_open_ranges(void **state)
{
	const char *output = rec_tmp();
	struct mindprof_range outer, inner;
	struct rec_data *data;
	size_t n;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	outer = mindprof_range_begin(&range_site);
	inner = mindprof_range_begin(&mark_site);
	assert_int_equal(inner.depth, outer.depth + 1);
	mindprof_range_push(&counter_site);
	rec_stop();
	data = rec_decode_last();
	assert_non_null(strstr(data->end, "\"open_ranges\": [{\"thread\": 0, \"site\": "));
	assert_int_equal(data->n_segments, 0);
	rec_free(data);
	mindprof_range_end(&inner);
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	mindprof_range_pop(); /* nothing was pushed in this recording */
	mindprof_range_end(&outer);
	mindprof_range_stop(async_id);
	mindprof_mark(&mark_site);
	rec_stop();
	data = rec_decode_last();
	free(rec_records(data, 0, &n));
	assert_int_equal(n, 1);
	assert_non_null(strstr(data->end, "\"open_ranges\": []"));
	rec_free(data);
	rec_remove(output);
}

/* Ends in the wrong order neither lose a record nor leave a range open. */
static void test_mismatched_ends(void **state)
{
	const char *output = rec_tmp();
	struct mindprof_range a, b, c;
	struct rec_data *data;
	size_t n;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	a = mindprof_range_begin(&range_site);
	b = mindprof_range_begin(&range_site);
	mindprof_range_end(&a);
	mindprof_range_end(&b);
	mindprof_range_end(&b); /* has ended */
	c = mindprof_range_begin(&range_site);
	assert_int_equal(c.depth, 0);
	mindprof_range_end(&c);
	mindprof_range_pop();
	mindprof_range_push(&range_site);
	mindprof_range_push(&range_site);
	mindprof_range_pop();
	mindprof_range_pop();
	mindprof_range_pop();
	rec_stop();
	data = rec_decode_last();
	free(rec_records(data, 0, &n));
	assert_int_equal(n, 5);
	assert_non_null(strstr(data->end, "\"open_ranges\": []"));
	rec_free(data);
	rec_remove(output);
}

/* 300 levels of ranges, 300 of pushes: the slot keeps 64, the push stack 256, the rest is counted. */
static void test_deep(void **state)
{
	const char *output = rec_tmp();
	struct mindprof_range ranges[300];
	struct rec_data *data;
	size_t n;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	for (int i = 0; i < 300; i++) {
		ranges[i] = mindprof_range_begin(&range_site);
		assert_int_equal(ranges[i].depth, i);
	}
	for (int i = 300; i-- > 0;)
		mindprof_range_end(&ranges[i]);
	for (int i = 0; i < 300; i++)
		mindprof_range_push(&range_site);
	for (int i = 0; i < 300; i++)
		mindprof_range_pop();
	rec_stop();
	data = rec_decode_last();
	free(rec_records(data, 0, &n));
	assert_int_equal(n, 300 + 256);
	assert_int_equal(data->drops[0][MP_NATIVE_DROP_RANGE], 300 - 256);
	rec_free(data);
	rec_remove(output);
}

/* The macros: a block is a range however it is left. */
static int leave_block(int how)
{
	for (int i = 0; i < 2; i++) {
		MINDPROF_RANGE ("block") {
			if (how == 0)
				break;
			if (how == 1)
				continue;
			if (how == 2)
				return i;
		}
	}
	return 2;
}

static void test_macros(void **state)
{
	const char *output = rec_tmp();
	struct rec_record *r;
	struct rec_data *data;
	size_t n;

	(void)state;
	rec_start(output, MINDPROF_RECORD_STREAM, 0);
	assert_int_equal(leave_block(0), 2);
	assert_int_equal(leave_block(1), 2);
	assert_int_equal(leave_block(2), 0);
	assert_int_equal(leave_block(3), 2);
	{
		MINDPROF_SCOPE("scope");
		MINDPROF_PUSH("pushed");
		MINDPROF_MARK("marked");
		MINDPROF_COUNTER("counted", 1);
		MINDPROF_POP();
	}
	rec_stop();
	data = rec_decode_last();
	r = rec_records(data, 0, &n);
	assert_int_equal(n, 7 + 4);
	for (size_t i = 0; i < 7; i++)
		assert_string_equal(rec_site_by_id(data, r[i].site)->name, "block");
	assert_string_equal(rec_site_by_id(data, r[7].site)->name, "marked");
	assert_string_equal(rec_site_by_id(data, r[8].site)->name, "counted");
	assert_string_equal(rec_site_by_id(data, r[9].site)->name, "pushed");
	assert_string_equal(rec_site_by_id(data, r[10].site)->name, "scope");
	free(r);
	rec_free(data);
	rec_remove(output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind),     cmocka_unit_test(test_descriptions),
		cmocka_unit_test(test_directory_name), cmocka_unit_test(test_long_range),
		cmocka_unit_test(test_many_chunks),    cmocka_unit_test(test_clock),
		cmocka_unit_test(test_open_ranges),    cmocka_unit_test(test_mismatched_ends),
		cmocka_unit_test(test_deep),           cmocka_unit_test(test_macros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
