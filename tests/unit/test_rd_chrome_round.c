/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Written and read back: our own trace gives the events it was made of, every kind of them, odd names
 * and overlapping lanes included; and a second writing gives the same bytes.
 */
#include "test_wr_trace_event_helpers.h"

/* One line per event, with texts in place of ids, so that stores can be compared. */
static void add_line(struct mp_buf *to, const struct mp_store *store, enum mp_kind kind,
		     const struct mp_event *e)
{
	struct mp_track track = mp_store_get_track(store, e->track);
	struct mp_process process = mp_store_get_process(store, track.process);
	struct mp_detail detail = mp_store_get_detail(store, e->detail);
	struct mp_str name = mp_store_text(store, e->name);

	mp_buf_printf(to, "%d pid %" PRId64 " %s rank %d tid %" PRId64 " kind %d stream %" PRId64 " %s: ",
		      (int)kind, process.pid, text_of(store, process.name), process.rank, track.tid,
		      track.kind, track.stream, text_of(store, track.name));
	mp_buf_printf(to, "ts %" PRId64 " a %" PRId64 " b %" PRId64 " c %" PRId64 " cls %d name %zu ",
		      e->ts_ns, e->a, e->b, e->c, e->cls, name.len);
	mp_buf_add(to, name.text, name.len);
	mp_buf_printf(to, " cat %s type %s shapes %s dtypes %s args %s stream %" PRId64 " flops %g\n",
		      text_of(store, detail.category), text_of(store, detail.type),
		      text_of(store, detail.shapes), text_of(store, detail.dtypes),
		      text_of(store, detail.args), detail.stream, detail.flops);
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* All events of a store as sorted lines; from malloc. */
static char *lines_of(const struct mp_store *store)
{
	struct mp_buf buf;
	MP_VEC(char *) lines = {0};
	char *all, *at;

	mp_buf_init(&buf, SIZE_MAX / 2);
	for (size_t b = 0; b < mp_store_n_blocks(store); b++) {
		const struct mp_block *block = mp_store_get_block(store, b);

		for (uint32_t i = 0; i < block->n; i++) {
			struct mp_event event = mp_block_event(block, i);

			mp_buf_clear(&buf);
			add_line(&buf, store, block->kind, &event);
			assert_int_equal(buf.failed, MINDPROF_OK);
			/* Names may hold NULs: they are shown as '?'. */
			for (size_t k = 0; k < buf.len; k++)
				buf.data[k] = buf.data[k] ? buf.data[k] : '?';
			assert_true(mp_vec_push(&lines, mp_strdup(buf.data)));
		}
	}
	if (lines.len)
		qsort(lines.at, lines.len, sizeof(*lines.at), by_text);
	mp_buf_clear(&buf);
	for (size_t i = 0; i < lines.len; i++) {
		mp_buf_add_str(&buf, lines.at[i]);
		mp_free(lines.at[i]);
	}
	mp_vec_release(&lines);
	all = malloc(buf.len + 1);
	assert_non_null(all);
	at = all;
	memcpy(at, mp_buf_str(&buf), buf.len + 1);
	mp_buf_release(&buf);
	return all;
}

/* The first line that differs, for people. */
static void check_lines(const char *wanted, const char *found)
{
	size_t at = 0, line = 0;

	if (!strcmp(wanted, found))
		return;
	for (; wanted[at] == found[at]; at++)
		line = wanted[at] == '\n' ? at + 1 : line;
	fail_msg("wanted %.400s\nfound  %.400s", wanted + line, found + line);
}

/* Writes, reads back, compares; writes again and compares the bytes. The store is freed. */
static void check_round(struct mp_store *store)
{
	struct trace_text first = written(MP_FLAVOUR_PORTABLE, store), second;
	char *wanted = lines_of(store), *found;
	struct mp_store *back;
	mp_status status;

	back = read_text(first.data, first.len, NULL, &status, NULL);
	assert_int_equal(status, MINDPROF_OK);
	if (mp_store_n_notes(back))
		fail_msg("note: %s", text_of(back, mp_store_get_note(back, 0).text));
	found = lines_of(back);
	check_lines(wanted, found);
	second = written(MP_FLAVOUR_PORTABLE, back);
	assert_int_equal(first.len, second.len);
	free(first.data);
	free(second.data);
	free(wanted);
	free(found);
	mp_store_free(store);
	mp_store_free(back);
}

/* ---- cases ---- */

static void test_every_kind(void **state)
{
	struct mp_store *store = new_store();
	struct mp_process process = {
		.pid = 7, .rank = 3, .name = mp_store_string(store, "train"), .sort_index = 5};
	uint32_t process_at = mp_store_process(store, &process);
	uint32_t main_track = add_track(store, process_at, 11, "main", MP_TRACK_THREAD);
	uint32_t other = add_track(store, process_at, 12, "steps go here", MP_TRACK_THREAD);
	struct mp_appender *to = appender_of(store);
	struct mp_event event = {.ts_ns = 1790000000000000123, .track = main_track};
	const int64_t t = event.ts_ns;

	(void)state;
	put_range(to, main_track, "around", t, t + 100000);
	put_range(to, other, "around", t, t + 100000);
	event.name = mp_store_string(store, "n");
	event.a = mp_double_bits(-1.25e-7);
	assert_true(mp_append(to, MP_KIND_COUNTER, &event));
	event.a = mp_double_bits(12345);
	assert_true(mp_append(to, MP_KIND_COUNTER, &event));
	event.a = -77;
	event.b = (int64_t)UINT64_C(0xfedcba9876543210);
	assert_true(mp_append(to, MP_KIND_MEMORY, &event));
	event.a = INT64_MAX;
	event.b = 0;
	event.c = -1;
	assert_true(mp_append(to, MP_KIND_MEMORY_TOTAL, &event));
	for (uint8_t op = MP_QUEUE_PUSH; op <= MP_QUEUE_POP; op++) {
		event.cls = op;
		event.a = 12345;
		event.b = (int64_t)(UINT64_C(4000000000) << 32 | 4294967295u);
		event.c = 0;
		assert_true(mp_append(to, MP_KIND_QUEUE, &event));
	}
	event = (struct mp_event){.ts_ns = t, .track = other, .a = INT64_MAX};
	assert_true(mp_append(to, MP_KIND_STEP, &event));
	event.ts_ns = t + 50000;
	event.a = -1;
	assert_true(mp_append(to, MP_KIND_STEP, &event));
	put_flow(to, main_track, t + 10, 5, MP_FLOW_BEGIN);
	put_flow(to, other, t + 20, 5, MP_FLOW_STEP);
	put_flow(to, main_track, t + 30, 5, MP_FLOW_END);
	finish(to);
	check_round(store);
}

/* Every class with and without a category of another class, as range and as mark, with every known field. */
static void test_every_detail(void **state)
{
	static const char *const categories[] = {"", "xyz", "gpu_memset"};
	struct mp_store *store = new_store();
	uint32_t track = add_track(store, add_process(store, 1, "p"), 1, "t", MP_TRACK_STREAM);
	struct mp_appender *to = appender_of(store);
	struct mp_event event = {.track = track, .name = mp_store_string(store, "ncclProfilerStep#3")};
	struct mp_track stream = {.process = 0, .tid = 1, .stream = 1, .kind = MP_TRACK_STREAM};

	(void)state;
	for (uint8_t cls = 0; cls < MP_CLASSES; cls++) {
		for (size_t c = 0; c < MP_COUNT(categories); c++) {
			for (int full = 0; full < 2; full++) {
				struct mp_detail detail = {.category = mp_store_string(store, categories[c]),
							   .stream = -1};

				if (full) {
					detail.type = mp_store_string(store, "T\"");
					detail.shapes = mp_store_string(store, "[1]");
					detail.dtypes = mp_store_string(store, "f16");
					detail.args = mp_store_string(store, "{\"a\":{\"b\":[1,\"]}\"]}}");
					detail.stream = 5;
					detail.flops = 1e12;
				}
				event.detail = mp_store_detail(store, &detail);
				event.cls = cls;
				event.a = 7;
				event.ts_ns += 10;
				assert_true(mp_append(to, MP_KIND_RANGE, &event));
				event.a = 0;
				assert_true(mp_append(to, MP_KIND_MARK, &event));
			}
		}
	}
	finish(to);
	/* A stream without a number gets the tid. */
	mp_store_track(store, &stream);
	check_round(store);
}

/* Tracks of each kind, some with one number, some with overlapping ranges in further lanes. */
static void test_tracks(void **state)
{
	struct mp_store *store = new_store();
	struct mp_appender *to;

	(void)state;
	for (int64_t pid = 1; pid <= 3; pid++) {
		uint32_t process = add_process(store, pid, pid == 2 ? "two" : "p");

		add_track(store, process, 5, "thread", MP_TRACK_THREAD);
		add_track(store, process, 5, "counter", MP_TRACK_COUNTER);
		add_track(store, process, 5, "async", MP_TRACK_ASYNC);
		add_track(store, process, 6, "thread (2)", MP_TRACK_THREAD);
		add_track(store, process, 5000000000000, "stream 9", MP_TRACK_THREAD);
	}
	to = appender_of(store);
	for (uint32_t track = 0; track < 15; track++) {
		for (int64_t i = 0; i < 50; i++) {
			/* Every third track has ranges that overlap. */
			put_range(to, track, "r", 100 * i, 100 * i + (track % 3 == 2 ? 250 : 50));
		}
	}
	finish(to);
	check_round(store);
}

static void test_names(void **state)
{
	static char longest[100001];
	const struct {
		const char *text;
		size_t len;
	} names[] = {
		{"say \"hi\"", 8},
		{"back\\slash\\", 11},
		{"\n\t\r\b\f\x01\x1f\x7f", 8},
		{"a\0b", 3},
		{"\xf0\x9f\x94\xa5", 4},
		{"", 0},
		{"\\u0041", 6},
		{"\xe2\x80\xa8", 3},
		{longest, 100000},
		{"[memory]x", 9},
		{"}],{[", 5},
		{"ProfilerStep#5", 14},
		{"\"", 1},
		{"\\", 1},
	};
	struct mp_store *store = new_store();
	uint32_t track = add_track(store, add_process(store, 1, "p\"\\\n"), 1, "t\"\\\n", MP_TRACK_THREAD);
	struct mp_appender *to = appender_of(store);
	struct mp_event event = {.track = track};

	(void)state;
	memset(longest, 'y', 100000);
	for (size_t i = 0; i < MP_COUNT(names); i++) {
		struct mp_detail detail = {.stream = -1};
		uint32_t id = mp_strtab_add(mp_store_strings(store), names[i].text, names[i].len);

		event.ts_ns = 10 * (int64_t)i;
		event.name = id;
		assert_true(mp_append(to, MP_KIND_RANGE, &event));
		assert_true(mp_append(to, MP_KIND_MARK, &event));
		assert_true(mp_append(to, MP_KIND_COUNTER, &event));
		assert_true(mp_append(to, MP_KIND_MEMORY, &event));
		detail.category = detail.type = id;
		event.detail = mp_store_detail(store, &detail);
		assert_true(mp_append(to, MP_KIND_RANGE, &event));
		event.detail = 0;
	}
	finish(to);
	check_round(store);
}

/* Bytes that are no UTF-8 come back as U+FFFD. */
static void test_bad_names(void **state)
{
	struct mp_store *store = new_store(), *back;
	uint32_t track = add_track(store, add_process(store, 1, "p"), 1, "", MP_TRACK_THREAD);
	struct mp_appender *to = appender_of(store);
	struct trace_text text;
	mp_status status;

	(void)state;
	put_range(to, track, "a\xff\xc3(b\xed\xa0\x80", 1, 2);
	finish(to);
	text = written(MP_FLAVOUR_PORTABLE, store);
	back = read_text(text.data, text.len, NULL, &status, NULL);
	assert_int_equal(status, MINDPROF_OK);
	assert_string_equal(text_of(back, event_at(back, MP_KIND_RANGE, 0).name),
			    "a\xef\xbf\xbd\xef\xbf\xbd(b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_int_equal(mp_store_n_notes(back), 0);
	free(text.data);
	mp_store_free(store);
	mp_store_free(back);
}

/* Before 1970, and over the whole range of time. */
static void test_far_times(void **state)
{
	struct mp_store *store = new_store();
	uint32_t track = add_track(store, add_process(store, 1, "p"), 1, "t", MP_TRACK_THREAD);
	struct mp_appender *to = appender_of(store);

	(void)state;
	put_range(to, track, "a", -5000000000, -1);
	put_range(to, track, "b", 0, INT64_C(4000000000000000000));
	finish(to);
	check_round(store);
}

/* Facts come back, ours that describe the file do not pile up. */
static void test_facts(void **state)
{
	struct mp_store *store = new_store(), *back;
	struct trace_text text;
	mp_status status;

	(void)state;
	mp_store_set_fact(store, "user \"key\"", "value\n", 6);
	text = written(MP_FLAVOUR_PORTABLE, store);
	back = read_text(text.data, text.len, NULL, &status, NULL);
	assert_int_equal(status, MINDPROF_OK);
	assert_string_equal(mp_store_fact(back, "user \"key\"").text, "value\n");
	assert_string_equal(mp_store_fact(back, "program").text, "mindprof " MINDPROF_VERSION);
	assert_int_equal(mp_store_n_facts(back), 2);
	free(text.data);
	mp_store_free(store);
	mp_store_free(back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind), cmocka_unit_test(test_every_detail),
		cmocka_unit_test(test_tracks),     cmocka_unit_test(test_names),
		cmocka_unit_test(test_bad_names),  cmocka_unit_test(test_far_times),
		cmocka_unit_test(test_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
