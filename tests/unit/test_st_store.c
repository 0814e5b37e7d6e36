/* SPDX-License-Identifier: Apache-2.0 */
/* The event store: names, notes, facts, blocks, time range, streaming, bounds, threads, failing memory. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/st_store.h"

static struct mp_store *new_store(const struct mp_store_options *options)
{
	struct mp_store *store = NULL;

	assert_int_equal(mp_store_new(options, &store, NULL), MINDPROF_OK);
	return store;
}

static struct mp_appender *new_appender(struct mp_store *store)
{
	struct mp_appender *appender = NULL;

	assert_int_equal(mp_appender_new(store, &appender, NULL), MINDPROF_OK);
	return appender;
}

static uint32_t one_track(struct mp_store *store)
{
	uint32_t process = mp_store_process(store, &(struct mp_process){.rank = -1, .pid = 7});

	return mp_store_track(store, &(struct mp_track){.process = process, .tid = 1, .stream = -1});
}

static void processes_are_found_by_pid_and_completed(void **state)
{
	struct mp_store *store = new_store(NULL);
	uint32_t first_name = mp_store_string(store, "first"), late_name = mp_store_string(store, "late");
	uint32_t a, b;

	(void)state;
	a = mp_store_process(store, &(struct mp_process){.rank = -1, .pid = 10, .name = 0});
	b = mp_store_process(store, &(struct mp_process){.rank = 3, .pid = 11, .name = first_name});
	assert_int_equal(a, 0);
	assert_int_equal(b, 1);
	assert_int_equal(
		mp_store_process(store, &(struct mp_process){.rank = 5, .pid = 10, .name = late_name}), a);
	assert_int_equal(
		mp_store_process(store, &(struct mp_process){.rank = 5, .pid = 11, .name = late_name}), b);
	assert_int_equal(mp_store_n_processes(store), 2);
	assert_int_equal(mp_store_get_process(store, a).rank, 5);
	assert_int_equal(mp_store_get_process(store, a).name, late_name);
	assert_int_equal(mp_store_get_process(store, b).rank, 3);
	assert_int_equal(mp_store_get_process(store, b).name, first_name);
	mp_store_set_process_name(store, b, late_name);
	assert_int_equal(mp_store_get_process(store, b).name, late_name);
	assert_int_equal(mp_store_get_process(store, 99).rank, -1);
	mp_store_free(store);
}

static void tracks_are_found_by_process_tid_and_kind(void **state)
{
	struct mp_store *store = new_store(NULL);
	uint32_t name = mp_store_string(store, "loader");
	uint32_t p = mp_store_process(store, &(struct mp_process){.rank = -1, .pid = 1});
	uint32_t q = mp_store_process(store, &(struct mp_process){.rank = -1, .pid = 2});
	struct mp_track track = {.process = p, .tid = 5, .stream = -1, .kind = MP_TRACK_THREAD};
	uint32_t a = mp_store_track(store, &track), b, c;

	(void)state;
	track.kind = MP_TRACK_COUNTER;
	b = mp_store_track(store, &track);
	track.kind = MP_TRACK_THREAD;
	track.process = q;
	c = mp_store_track(store, &track);
	assert_int_equal(mp_store_n_tracks(store), 3);
	assert_true(a != b && b != c && a != c);
	track = (struct mp_track){.process = p, .tid = 5, .stream = 4, .name = name};
	assert_int_equal(mp_store_track(store, &track), a);
	assert_int_equal(mp_store_get_track(store, a).name, name);
	assert_int_equal(mp_store_get_track(store, a).stream, 4);
	assert_int_equal(mp_store_get_track(store, b).name, 0);
	mp_store_set_track_name(store, b, name);
	assert_int_equal(mp_store_get_track(store, b).name, name);
	mp_store_free(store);
}

static void many_names_stay_distinct(void **state)
{
	struct mp_store *store = new_store(NULL);
	uint32_t process = mp_store_process(store, &(struct mp_process){.rank = -1, .pid = 1});

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int64_t i = 0; i < 20000; i++) {
			struct mp_track track = {.process = process, .tid = i << 32, .stream = -1};

			assert_int_equal(mp_store_track(store, &track), i);
		}
	}
	mp_store_free(store);
}

static void equal_details_are_one_entry(void **state)
{
	struct mp_store *store = new_store(NULL);
	struct mp_detail detail = {.type = mp_store_string(store, "MatMul"), .stream = -1, .flops = 12};
	uint32_t id;

	(void)state;
	assert_int_equal(mp_store_n_details(store), 1);
	assert_int_equal(mp_store_detail(store, &(struct mp_detail){.stream = -1}), 0);
	id = mp_store_detail(store, &detail);
	assert_int_equal(id, 1);
	detail.reserved = 77;
	assert_int_equal(mp_store_detail(store, &detail), id);
	detail.flops = 13;
	assert_int_equal(mp_store_detail(store, &detail), 2);
	assert_int_equal(mp_store_get_detail(store, id).reserved, 0);
	assert_true(mp_store_get_detail(store, id).flops == 12);
	assert_int_equal(mp_store_get_detail(store, UINT32_MAX).stream, -1);
	mp_store_free(store);
}

static void equal_notes_collapse(void **state)
{
	struct mp_store *store = new_store(NULL);
	struct mp_note note;

	(void)state;
	for (int i = 0; i < 1000; i++)
		mp_store_note(store, MP_WARNING, "truncated", "a.bin", 100 + i, "record %d ends too early",
			      i);
	mp_store_note(store, MP_PROBLEM, "truncated", "a.bin", 7, "worse");
	mp_store_note(store, MP_WARNING, "truncated", "b.bin", 8, "other file");
	mp_store_note(store, MP_INFO, "odd", NULL, -1, "no file");
	assert_int_equal(mp_store_n_notes(store), 4);
	note = mp_store_get_note(store, 0);
	assert_int_equal(note.count, 1000);
	assert_int_equal(note.byte_offset, 100);
	assert_string_equal(mp_store_text(store, note.text).text, "record 0 ends too early");
	assert_string_equal(mp_store_text(store, note.path).text, "a.bin");
	note = mp_store_get_note(store, 3);
	assert_int_equal(note.severity, MP_INFO);
	assert_int_equal(note.path, 0);
	assert_int_equal(note.count, 1);
	mp_store_free(store);
}

static void long_notes_are_cut_between_characters(void **state)
{
	struct mp_store *store = new_store(NULL);

	(void)state;
	/* 2047 bytes fit. After `lead` letters, whole euro signs of 3 bytes fill 2047, 2045 and 2046 of them.
	 */
	for (size_t lead = 1; lead <= 3; lead++) {
		size_t whole = lead + (2047 - lead) / 3 * 3;
		char text[4000] = "xxx";
		struct mp_str kept;

		for (size_t i = lead; i + 3 < sizeof(text); i += 3)
			memcpy(text + i, "\xe2\x82\xac", 3);
		mp_store_note(store, MP_INFO, "long",
			      lead == 1   ? "1"
			      : lead == 2 ? "2"
					  : "3",
			      -1, "%s", text);
		kept = mp_store_text(store, mp_store_get_note(store, lead - 1).text);
		assert_int_equal(kept.len, whole);
		assert_memory_equal(kept.text, text, whole);
	}
	mp_store_free(store);
}

static void notes_that_do_not_fit_leave_a_trace(void **state)
{
	struct mp_store *store = new_store(NULL);
	struct mp_note note;
	size_t n;

	(void)state;
	for (int i = 0; i < 2; i++) {
		mp_mem_fail_after(0);
		mp_store_note(store, MP_WARNING, "code-that-is-new", "path", -1, "%0500d", i);
		mp_mem_fail_after(UINT64_MAX);
	}
	n = mp_store_n_notes(store);
	assert_true(n >= 1);
	note = mp_store_get_note(store, 0);
	assert_int_equal(note.severity, MP_PROBLEM);
	assert_string_equal(mp_store_text(store, note.code).text, "out-of-memory");
	mp_store_note(store, MP_WARNING, "later", NULL, -1, "still works");
	assert_int_equal(mp_store_n_notes(store), n + 1);
	mp_store_free(store);
}

static void later_facts_win(void **state)
{
	struct mp_store *store = new_store(NULL);
	struct mp_str key, text;

	(void)state;
	mp_store_set_fact(store, "mode", "ring", 4);
	mp_store_set_fact(store, "clock", "tsc\0x", 5);
	mp_store_set_fact(store, "mode", "stream", 6);
	assert_int_equal(mp_store_n_facts(store), 2);
	assert_string_equal(mp_store_fact(store, "mode").text, "stream");
	assert_int_equal(mp_store_fact(store, "absent").len, 0);
	assert_string_equal(mp_store_fact(store, "absent").text, "");
	mp_store_get_fact(store, 1, &key, &text);
	assert_string_equal(key.text, "clock");
	assert_int_equal(text.len, 5);
	assert_memory_equal(text.text, "tsc\0x", 5);
	mp_store_free(store);
}

static void every_kind_keeps_its_columns(void **state)
{
	struct mp_store *store = new_store(NULL);
	uint32_t track = one_track(store);
	struct mp_appender *appender = new_appender(store);
	struct mp_event in = {
		.ts_ns = 1, .a = 2, .b = 3, .c = 4, .track = track, .name = 5, .detail = 6, .cls = 7};
	/* a b c detail cls of each kind, in order of enum mp_kind */
	static const char *columns[MP_KINDS] = {"a..dc", "...dc", "a....", "a...c",
						"ab...", "ab..c", "a....", "abc.."};

	(void)state;
	for (int kind = 0; kind < MP_KINDS; kind++)
		assert_true(mp_append(appender, (enum mp_kind)kind, &in));
	assert_int_equal(mp_appender_finish(appender, NULL), MINDPROF_OK);
	assert_int_equal(mp_store_n_blocks(store), MP_KINDS);
	for (int i = 0; i < MP_KINDS; i++) {
		const struct mp_block *block = mp_store_get_block(store, i);
		const char *has = columns[block->kind];
		struct mp_event out = mp_block_event(block, 0);

		assert_int_equal(block->n, 1);
		assert_int_equal(mp_store_n_events(store, block->kind), 1);
		assert_true(out.ts_ns == 1 && out.track == track && out.name == 5);
		assert_int_equal(out.a, has[0] == 'a' ? 2 : 0);
		assert_int_equal(out.b, has[1] == 'b' ? 3 : 0);
		assert_int_equal(out.c, has[2] == 'c' ? 4 : 0);
		assert_int_equal(out.detail, has[3] == 'd' ? 6 : 0);
		assert_int_equal(out.cls, has[4] == 'c' ? 7 : 0);
	}
	mp_store_free(store);
}

static void blocks_grow_and_keep_order(void **state)
{
	struct mp_store *store = new_store(NULL);
	uint32_t track = one_track(store);
	struct mp_appender *appender = new_appender(store);
	int64_t expected = 0;
	size_t n = 300000;

	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_true(mp_append(appender, MP_KIND_RANGE,
				      &(struct mp_event){.ts_ns = (int64_t)i, .a = 1, .track = track}));
	assert_int_equal(mp_appender_finish(appender, NULL), MINDPROF_OK);
	assert_int_equal(mp_store_get_block(store, 0)->cap, 256);
	assert_int_equal(mp_store_get_block(store, mp_store_n_blocks(store) - 1)->cap, MP_BLOCK_EVENTS);
	for (size_t b = 0; b < mp_store_n_blocks(store); b++) {
		const struct mp_block *block = mp_store_blocks(store)[b];

		for (uint32_t i = 0; i < block->n; i++)
			assert_int_equal(block->ts_ns[i], expected++);
	}
	assert_int_equal(expected, n);
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), n);
	mp_store_free(store);
}

static void small_stores_are_small(void **state)
{
	struct mp_store *store = new_store(NULL);
	uint32_t track = one_track(store);
	struct mp_appender *appender = new_appender(store);

	(void)state;
	for (int i = 0; i < 300; i++) {
		for (int kind = 0; kind < MP_KINDS; kind++)
			assert_true(
				mp_append(appender, (enum mp_kind)kind, &(struct mp_event){.track = track}));
	}
	assert_int_equal(mp_appender_finish(appender, NULL), MINDPROF_OK);
	/* 256 + 512 rows of at most 40 bytes for each of the 8 kinds are 240 KiB. */
	assert_true(mp_store_bytes(store) < 256 * 1024);
	mp_store_free(store);
}

static void ranges_take_at_most_40_bytes(void **state)
{
	struct mp_store *store = new_store(NULL);
	uint32_t track = one_track(store);
	struct mp_appender *appender = new_appender(store);
	/* All blocks full: 256 + 512 + ... + 32768 + 3 * 65536 */
	uint64_t n = 65280 + 3 * 65536;

	(void)state;
	for (uint64_t i = 0; i < n; i++)
		assert_true(
			mp_append(appender, MP_KIND_RANGE, &(struct mp_event){.ts_ns = 1, .track = track}));
	assert_int_equal(mp_appender_finish(appender, NULL), MINDPROF_OK);
	assert_int_equal(mp_store_sort(store, NULL, NULL), MINDPROF_OK);
	assert_true(mp_store_bytes(store) <= 40 * n);
	assert_true(mp_store_bytes(store) >= (29 + 8) * n);
	mp_store_free(store);
}

static void direct_filling(void **state)
{
	struct mp_store *store = new_store(NULL);
	uint32_t track = one_track(store);
	struct mp_appender *appender = new_appender(store);

	(void)state;
	for (int64_t i = 0; i < 1000;) {
		struct mp_block *block = mp_append_block(appender, MP_KIND_STEP);

		assert_non_null(block);
		assert_true(block->n < block->cap);
		while (block->n < block->cap && i < 1000) {
			block->ts_ns[block->n] = 100 + i;
			block->a[block->n] = i++;
			block->track[block->n] = track;
			block->name[block->n++] = 0;
		}
	}
	assert_true(mp_append(appender, MP_KIND_STEP,
			      &(struct mp_event){.ts_ns = 1100, .a = 1000, .track = track}));
	assert_int_equal(mp_appender_finish(appender, NULL), MINDPROF_OK);
	assert_int_equal(mp_store_n_events(store, MP_KIND_STEP), 1001);
	mp_store_free(store);
}

static void time_range_covers_ends(void **state)
{
	struct mp_store *store = new_store(NULL);
	uint32_t track = one_track(store);
	struct mp_appender *appender;
	int64_t begin = 1, end = 2;

	(void)state;
	assert_false(mp_store_time_range(store, &begin, &end));
	assert_true(begin == 1 && end == 2);
	appender = new_appender(store);
	/* The a of a counter or a memory event is no duration; a negative duration counts as none. */
	mp_append(appender, MP_KIND_RANGE, &(struct mp_event){.ts_ns = -50, .a = 20, .track = track});
	mp_append(appender, MP_KIND_COUNTER, &(struct mp_event){.ts_ns = 10, .a = 1000000, .track = track});
	mp_append(appender, MP_KIND_QUEUE, &(struct mp_event){.ts_ns = 20, .a = 25, .track = track});
	mp_append(appender, MP_KIND_RANGE, &(struct mp_event){.ts_ns = 30, .a = -1000, .track = track});
	assert_int_equal(mp_appender_finish(appender, NULL), MINDPROF_OK);
	assert_true(mp_store_time_range(store, &begin, &end));
	assert_int_equal(begin, -50);
	assert_int_equal(end, 45);
	appender = new_appender(store);
	mp_append(appender, MP_KIND_RANGE,
		  &(struct mp_event){.ts_ns = INT64_MAX - 5, .a = 100, .track = track});
	mp_append(appender, MP_KIND_RANGE,
		  &(struct mp_event){.ts_ns = INT64_MIN, .a = INT64_MIN, .track = track});
	assert_int_equal(mp_appender_finish(appender, NULL), MINDPROF_OK);
	assert_true(mp_store_time_range(store, &begin, &end));
	assert_true(begin == INT64_MIN && end == INT64_MAX);
	mp_store_free(store);
}

struct seen {
	uint64_t n;
	int64_t sum, fail_at;
};

static mp_status see_block(void *user, const struct mp_block *block, mp_err *err)
{
	struct seen *seen = user;

	for (uint32_t i = 0; i < block->n; i++)
		seen->sum += block->ts_ns[i];
	seen->n += block->n;
	if (seen->fail_at && seen->n >= (uint64_t)seen->fail_at)
		return mp_err_set(err, MINDPROF_E_IO, NULL, -1, "disk is full");
	return MINDPROF_OK;
}

static void streaming_keeps_nothing(void **state)
{
	struct seen seen = {0};
	struct mp_store_options options = {.on_block = see_block, .on_block_user = &seen};
	struct mp_store *store = new_store(&options);
	uint32_t track = one_track(store);
	struct mp_appender *appender = new_appender(store);
	int64_t begin, end, n = 500000;

	(void)state;
	for (int64_t i = 0; i < n; i++)
		assert_true(
			mp_append(appender, MP_KIND_MARK, &(struct mp_event){.ts_ns = i, .track = track}));
	assert_int_equal(mp_appender_finish(appender, NULL), MINDPROF_OK);
	assert_int_equal(seen.n, n);
	assert_int_equal(seen.sum, n * (n - 1) / 2);
	assert_int_equal(mp_store_n_blocks(store), 0);
	assert_int_equal(mp_store_n_events(store, MP_KIND_MARK), n);
	assert_true(mp_store_time_range(store, &begin, &end));
	assert_true(begin == 0 && end == n - 1);
	assert_true(mp_store_bytes(store) < 64 * 1024);
	mp_store_free(store);
}

static void a_failing_hook_is_told_once(void **state)
{
	struct seen seen = {.fail_at = 256};
	struct mp_store_options options = {.on_block = see_block, .on_block_user = &seen};
	struct mp_store *store = new_store(&options);
	uint32_t track = one_track(store);
	struct mp_appender *appender = new_appender(store);
	struct mp_event event = {.track = track};
	mp_err err = {0};

	(void)state;
	for (int i = 0; i < 256; i++)
		assert_true(mp_append(appender, MP_KIND_MARK, &event));
	assert_false(mp_append(appender, MP_KIND_MARK, &event));
	assert_false(mp_append(appender, MP_KIND_MARK, &event));
	assert_null(mp_append_block(appender, MP_KIND_MARK));
	assert_int_equal(mp_appender_finish(appender, &err), MINDPROF_E_IO);
	assert_string_equal(err.causes[0].text, "disk is full");
	assert_int_equal(seen.n, 256);
	mp_store_free(store);
}

static void skipped_kinds_do_not_come_in(void **state)
{
	struct mp_store_options options = {.skip_kinds = 1u << MP_KIND_RANGE};
	struct mp_store *store = new_store(&options);
	uint32_t track = one_track(store);
	struct mp_appender *appender = new_appender(store);
	int64_t begin, end;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct mp_block *block;

		assert_true(
			mp_append(appender, MP_KIND_RANGE, &(struct mp_event){.ts_ns = 1, .track = track}));
		block = mp_append_block(appender, MP_KIND_RANGE);
		assert_non_null(block);
		assert_true(block->n < block->cap);
		block->n++;
		assert_true(
			mp_append(appender, MP_KIND_MARK, &(struct mp_event){.ts_ns = 2, .track = track}));
	}
	assert_int_equal(mp_appender_finish(appender, NULL), MINDPROF_OK);
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), 0);
	assert_int_equal(mp_store_n_events(store, MP_KIND_MARK), 1000);
	assert_true(mp_store_time_range(store, &begin, &end));
	assert_true(begin == 2 && end == 2);
	mp_store_free(store);
}

static void the_bound_is_kept(void **state)
{
	struct mp_store_options options = {.max_bytes = 100000};
	struct mp_store *store = new_store(&options);
	uint32_t track = one_track(store);
	struct mp_appender *appender = new_appender(store);
	mp_err err = {0};
	uint64_t n = 0;

	(void)state;
	while (mp_append(appender, MP_KIND_RANGE, &(struct mp_event){.ts_ns = 5, .track = track}))
		n++;
	/* 256 + 512 + 1024 rows fit (51968 bytes); the 2048 after them (59392 bytes) do not. */
	assert_int_equal(n, 1792);
	assert_int_equal(mp_appender_finish(appender, &err), MINDPROF_E_LIMIT);
	assert_non_null(strstr(err.causes[0].text, "raise the memory bound"));
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), 1792);
	assert_true(mp_store_bytes(store) <= options.max_bytes);
	mp_store_free(store);
}

static void strings_count_for_the_bound(void **state)
{
	struct mp_store_options options = {.max_bytes = 100000};
	struct mp_store *store = new_store(&options);
	uint32_t track = one_track(store);
	struct mp_appender *appender = new_appender(store);
	char text[60001];

	(void)state;
	memset(text, 'x', 60000);
	text[60000] = 0;
	assert_true(mp_store_string(store, text) != MP_STR_NONE);
	/* 40000 bytes are left: 256 + 512 rows of 29 bytes, but not 1024 more. */
	for (int i = 0; i < 768; i++)
		assert_true(mp_append(appender, MP_KIND_RANGE, &(struct mp_event){.track = track}));
	assert_false(mp_append(appender, MP_KIND_RANGE, &(struct mp_event){.track = track}));
	assert_int_equal(mp_appender_finish(appender, NULL), MINDPROF_E_LIMIT);
	mp_store_free(store);
}

#define THREADS 4
#define PER_THREAD 100000

static void *append_many(void *user)
{
	struct mp_store *store = user;
	struct mp_appender *appender;

	if (mp_appender_new(store, &appender, NULL) != MINDPROF_OK)
		return "no appender";
	for (int64_t i = 0; i < PER_THREAD; i++) {
		struct mp_event event = {.ts_ns = i, .a = 1};

		if (i % 1000 == 0) {
			struct mp_detail detail = {.type = (uint32_t)(i / 1000), .stream = -1};

			mp_store_note(store, MP_INFO, "progress", NULL, i, "at %d", (int)i);
			event.detail = mp_store_detail(store, &detail);
		}
		event.track = mp_store_track(store, &(struct mp_track){.tid = i % 8, .stream = -1});
		event.name = mp_store_string(store, i % 2 ? "odd" : "even");
		if (!mp_append(appender, i % 4 ? MP_KIND_RANGE : MP_KIND_COUNTER, &event))
			return "append failed";
	}
	return mp_appender_finish(appender, NULL) == MINDPROF_OK ? NULL : "finish failed";
}

static void four_threads_append(void **state)
{
	struct mp_store *store = new_store(NULL);
	pthread_t threads[THREADS];
	struct mp_pool *pool = NULL;
	uint64_t in_order = 0;

	(void)state;
	mp_store_process(store, &(struct mp_process){.rank = 0, .pid = 1});
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, append_many, store), 0);
	for (int i = 0; i < THREADS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		assert_null(result);
	}
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), THREADS * PER_THREAD * 3 / 4);
	assert_int_equal(mp_store_n_events(store, MP_KIND_COUNTER), THREADS * PER_THREAD / 4);
	assert_int_equal(mp_store_n_tracks(store), 8);
	assert_int_equal(mp_store_n_details(store), 100); /* types 0..99; type 0 is the empty detail */
	assert_int_equal(mp_store_n_notes(store), 1);
	assert_int_equal(mp_store_get_note(store, 0).count, THREADS * PER_THREAD / 1000);
	assert_int_equal(mp_pool_new(3, &pool, NULL), MINDPROF_OK);
	assert_int_equal(mp_store_sort(store, pool, NULL), MINDPROF_OK);
	for (uint32_t track = 0; track < 8; track++) {
		struct mp_ranges ranges = mp_store_ranges(store, track);

		for (size_t i = 0; i < ranges.n; i++) {
			struct mp_event event = mp_store_event(store, ranges.refs[i]);

			assert_int_equal(event.track, track);
			if (i)
				assert_true(mp_store_event(store, ranges.refs[i - 1]).ts_ns <= event.ts_ns);
			in_order++;
		}
	}
	assert_int_equal(in_order, THREADS * PER_THREAD * 3 / 4);
	mp_pool_free(pool);
	mp_store_free(store);
}

/* A small life of a store; false when memory was out somewhere. */
static bool whole_life(void)
{
	struct mp_store *store = NULL;
	struct mp_appender *appender = NULL;
	struct mp_event event = {.a = 1};
	bool ok = true;
	mp_err err = {0};
	uint32_t process;

	if (mp_store_new(NULL, &store, &err) != MINDPROF_OK) {
		assert_int_equal(err.status, MINDPROF_E_NOMEM);
		return false;
	}
	process = mp_store_process(store, &(struct mp_process){.rank = -1, .pid = 1});
	ok &= process != UINT32_MAX;
	if (ok)
		event.track = mp_store_track(store, &(struct mp_track){.process = process, .stream = -1});
	ok &= event.track != UINT32_MAX;
	ok &= mp_store_detail(store, &(struct mp_detail){.type = 1, .stream = -1}) != UINT32_MAX;
	mp_store_set_fact(store, "mode", "stream", 6);
	mp_store_note(store, MP_WARNING, "code", "path", 1, "text");
	ok &= mp_store_fact(store, "mode").len == 6;
	ok &= strcmp(mp_store_text(store, mp_store_get_note(store, 0).code).text, "code") == 0;
	ok &= mp_appender_new(store, &appender, NULL) == MINDPROF_OK;
	for (int64_t i = 0; ok && i < 1000; i++) {
		event.ts_ns = i * 7919 % 1000; /* not in order: sorting has to work */
		ok &= mp_append(appender, MP_KIND_RANGE, &event);
		ok &= mp_append(appender, MP_KIND_COUNTER, &event);
	}
	ok &= mp_appender_finish(appender, &err) == MINDPROF_OK;
	ok = ok && mp_store_sort(store, NULL, &err) == MINDPROF_OK &&
	     mp_store_n_events(store, MP_KIND_RANGE) == 1000;
	if (ok)
		assert_int_equal(mp_store_ranges(store, 0).n, 1000);
	mp_store_free(store);
	return ok;
}

static void every_allocation_may_fail(void **state)
{
	uint64_t n = 0;
	bool ok;

	(void)state;
	do {
		mp_mem_fail_after(n);
		ok = whole_life();
		mp_mem_fail_after(UINT64_MAX);
		n++;
	} while (!ok);
	assert_true(n > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_are_found_by_pid_and_completed),
		cmocka_unit_test(tracks_are_found_by_process_tid_and_kind),
		cmocka_unit_test(many_names_stay_distinct),
		cmocka_unit_test(equal_details_are_one_entry),
		cmocka_unit_test(equal_notes_collapse),
		cmocka_unit_test(long_notes_are_cut_between_characters),
		cmocka_unit_test(notes_that_do_not_fit_leave_a_trace),
		cmocka_unit_test(later_facts_win),
		cmocka_unit_test(every_kind_keeps_its_columns),
		cmocka_unit_test(blocks_grow_and_keep_order),
		cmocka_unit_test(small_stores_are_small),
		cmocka_unit_test(ranges_take_at_most_40_bytes),
		cmocka_unit_test(direct_filling),
		cmocka_unit_test(time_range_covers_ends),
		cmocka_unit_test(streaming_keeps_nothing),
		cmocka_unit_test(a_failing_hook_is_told_once),
		cmocka_unit_test(skipped_kinds_do_not_come_in),
		cmocka_unit_test(the_bound_is_kept),
		cmocka_unit_test(strings_count_for_the_bound),
		cmocka_unit_test(four_threads_append),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
