/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of native recordings, on files built from fmt_native.h alone (tests/native_build.h): every kind
 * of record, what a kill leaves, and lies in every field. Expected times: 2 ticks are 1 ns, tick 0 is
 * BUILD_EPOCH.
 */
#include "native_build.h"

static const char *text_of(const struct mp_store *store, uint32_t id)
{
	return mp_store_text(store, id).text;
}

/* The nth event of a kind, in order of appending. */
static struct mp_event nth_event(const struct mp_store *store, enum mp_kind kind, uint64_t nth)
{
	for (size_t b = 0; b < mp_store_n_blocks(store); b++) {
		const struct mp_block *block = mp_store_get_block(store, b);

		if (block->kind != kind)
			continue;
		if (nth < block->n)
			return mp_block_event(block, (uint32_t)nth);
		nth -= block->n;
	}
	fail_msg("no such event");
	return (struct mp_event){0};
}

static int64_t tid_of(const struct mp_store *store, const struct mp_event *event)
{
	return mp_store_get_track(store, event->track).tid;
}

static void assert_quiet(const struct mp_store *store)
{
	if (mp_store_n_notes(store)) {
		print_notes(store);
		fail_msg("%zu notes", mp_store_n_notes(store));
	}
}

static struct mp_buf records(void)
{
	struct mp_buf buf;

	mp_buf_init(&buf, 1u << 28);
	return buf;
}

/* ---- all kinds ---- */

static void test_ranges(void **state)
{
	struct native_build b;
	struct mp_buf r = records();
	struct mp_store *store;
	struct mp_event e;
	struct mp_detail d;

	(void)state;
	build_plain(&b);
	record16(&r, MP_NATIVE_RANGE, 2, 1000, 500);
	record16(&r, MP_NATIVE_RANGE, 1, 200, 4001);
	record32(&r, MP_NATIVE_RANGE_LONG, 1, 100, 0, 1ull << 33, 0);
	build_events(&b, 0, &r);
	record16(&r, MP_NATIVE_RANGE, 1, 7, 0);
	b.sequence = 0;
	build_events(&b, 1, &r);
	build_end(&b, 1ull << 34);
	mp_buf_release(&r);
	store = build_read(&b);
	assert_quiet(store);
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), 4);
	e = nth_event(store, MP_KIND_RANGE, 0);
	assert_int_equal(e.ts_ns, BUILD_EPOCH + 500);
	assert_int_equal(e.a, 250);
	assert_int_equal(e.cls, MP_CLASS_OPERATOR);
	assert_int_equal(tid_of(store, &e), 100);
	assert_string_equal(text_of(store, e.name), "net/MatMul-op0");
	d = mp_store_get_detail(store, e.detail);
	assert_string_equal(text_of(store, d.type), "MatMul");
	assert_string_equal(text_of(store, d.shapes), "2,3;3,4");
	assert_string_equal(text_of(store, d.dtypes), "Float32;Float32");
	assert_string_equal(text_of(store, d.args), "{\"device\": \"CPU\"}");
	assert_int_equal(d.stream, 7);
	assert_true(d.flops == 48.0);
	e = nth_event(store, MP_KIND_RANGE, 1);
	assert_int_equal(e.ts_ns, BUILD_EPOCH + 100);
	assert_int_equal(e.ts_ns + e.a, BUILD_EPOCH + 2101); /* tick 4201, half a ns rounds up */
	assert_int_equal(e.cls, MP_CLASS_RANGE);
	assert_string_equal(text_of(store, mp_store_get_detail(store, e.detail).args),
			    "{\"file\": \"a.c\", \"line\": 12}");
	e = nth_event(store, MP_KIND_RANGE, 2);
	assert_int_equal(e.a, 1ll << 32);
	e = nth_event(store, MP_KIND_RANGE, 3);
	assert_int_equal(e.a, 0);
	assert_int_equal(tid_of(store, &e), 101);
	mp_store_free(store);
}

static void test_process_and_facts(void **state)
{
	struct native_build b;
	struct mp_store *store;
	struct mp_process p;

	(void)state;
	build_plain(&b);
	build_text(&b, MP_NATIVE_SEG_METADATA, "{\"run\": \"a\"}");
	build_text(&b, MP_NATIVE_SEG_METADATA, "{\"run\": {\"name\": \"b\"}, \"n\": 3}");
	build_text(&b, MP_NATIVE_SEG_SESSION, "{\"process_name\": \"trainer\"}");
	build_end(&b, 10);
	store = build_read(&b);
	assert_quiet(store);
	p = mp_store_get_process(store, 0);
	assert_int_equal(p.pid, 4242);
	assert_int_equal(p.rank, 3);
	assert_string_equal(text_of(store, p.name), "trainer");
	assert_string_equal(mp_store_fact(store, "metadata.run").text,
			    "{\"name\": \"b\"}"); /* later ones win */
	assert_string_equal(mp_store_fact(store, "metadata.n").text, "3");
	assert_string_equal(mp_store_fact(store, "mode").text, "stream");
	assert_string_equal(mp_store_fact(store, "host").text, "host0");
	assert_string_equal(mp_store_fact(store, "end.reason").text, "stop");
	assert_int_equal(mp_store_n_tracks(store), 2);
	assert_string_equal(text_of(store, mp_store_get_track(store, 1).name), "worker");
	mp_store_free(store);
}

static void test_other_kinds(void **state)
{
	struct native_build b;
	struct mp_buf r = records();
	struct mp_store *store;
	struct mp_event e;

	(void)state;
	build_plain(&b);
	build_site(&b, 4, MP_NATIVE_SITE_COUNTER, "loss", "{\"unit\": \"1\"}");
	build_site(&b, 5, MP_NATIVE_SITE_FLOW, "batch", "");
	build_site(&b, 6, MP_NATIVE_SITE_MEMORY, "pool", "");
	build_site(&b, 7, MP_NATIVE_SITE_QUEUE, "queue", "");
	record16(&r, MP_NATIVE_MARK, 3, 10, 0);
	record16(&r, MP_NATIVE_STEP, 0xffffffffu, 20, 1); /* 2^33 - 1 */
	record32(&r, MP_NATIVE_COUNTER, 4, 30, 0, (uint64_t)mp_double_bits(-0.5), 0);
	record32(&r, MP_NATIVE_FLOW_BEGIN, 5, 40, 0, UINT64_MAX, 0);
	record32(&r, MP_NATIVE_FLOW_STEP, 5, 42, 0, UINT64_MAX, 0);
	record32(&r, MP_NATIVE_FLOW_END, 5, 44, 0, UINT64_MAX, 0);
	record32(&r, MP_NATIVE_ALLOC, 6, 50, 0, 0xabc0, 4096);
	record32(&r, MP_NATIVE_FREE, 6, 60, 0, 0xabc0, 4096);
	record32(&r, MP_NATIVE_FREE, 6, 62, 0, 0xabc8, 0);
	record32(&r, MP_NATIVE_QUEUE_PUSH, 7, 70, 20, 3, 8);
	record32(&r, MP_NATIVE_QUEUE_POP, 7, 90, 0, 2, 0);
	build_events(&b, 0, &r);
	build_end(&b, 100);
	mp_buf_release(&r);
	store = build_read(&b);
	assert_quiet(store);
	e = nth_event(store, MP_KIND_MARK, 0);
	assert_int_equal(e.ts_ns, BUILD_EPOCH + 5);
	assert_string_equal(text_of(store, e.name), "here");
	e = nth_event(store, MP_KIND_STEP, 0);
	assert_int_equal(e.a, (1ll << 33) - 1);
	assert_int_equal(e.ts_ns, BUILD_EPOCH + 10);
	e = nth_event(store, MP_KIND_COUNTER, 0);
	assert_true(mp_bits_double(e.a) == -0.5);
	assert_string_equal(text_of(store, e.name), "loss");
	for (uint64_t i = 0; i < 3; i++) {
		e = nth_event(store, MP_KIND_FLOW, i);
		assert_int_equal(e.cls, MP_FLOW_BEGIN + i);
		assert_int_equal((uint64_t)e.a, UINT64_MAX);
	}
	e = nth_event(store, MP_KIND_MEMORY, 0);
	assert_int_equal(e.a, 4096);
	assert_int_equal(e.b, 0xabc0);
	e = nth_event(store, MP_KIND_MEMORY, 1);
	assert_int_equal(e.a, -4096);
	e = nth_event(store, MP_KIND_MEMORY, 2);
	assert_int_equal(e.a, 0);
	e = nth_event(store, MP_KIND_QUEUE, 0);
	assert_int_equal(e.ts_ns, BUILD_EPOCH + 35);
	assert_int_equal(e.a, 10);
	assert_int_equal(e.b, 3ll << 32 | 8);
	assert_int_equal(e.cls, MP_QUEUE_PUSH);
	e = nth_event(store, MP_KIND_QUEUE, 1);
	assert_int_equal(e.b, 2ll << 32);
	assert_int_equal(e.cls, MP_QUEUE_POP);
	mp_store_free(store);
}

/* Begin on one thread, end on another, in either order of the segments; one never ends, one never began. */
static void test_async(void **state)
{
	struct native_build b;
	struct mp_buf r = records();
	struct mp_store *store;
	uint64_t n_ranges = 0, n_open = 0;

	(void)state;
	build_plain(&b);
	record32(&r, MP_NATIVE_ASYNC_END, 0, 3000, 0, 1, 0); /* before its begin in the file */
	record32(&r, MP_NATIVE_ASYNC_BEGIN, 2, 500, 0, 2, 0);
	record32(&r, MP_NATIVE_ASYNC_BEGIN, 1, 600, 0, 3, 0); /* never ends */
	build_events(&b, 0, &r);
	record32(&r, MP_NATIVE_ASYNC_BEGIN, 1, 1000, 0, 1, 0);
	record32(&r, MP_NATIVE_ASYNC_END, 2, 700, 0, 2, 0);
	record32(&r, MP_NATIVE_ASYNC_END, 1, 800, 0, 9, 0); /* never began */
	b.sequence = 0;
	build_events(&b, 1, &r);
	build_end(&b, 10000);
	mp_buf_release(&r);
	store = build_read(&b);
	for (uint64_t i = 0; i < mp_store_n_events(store, MP_KIND_RANGE); i++) {
		struct mp_event e = nth_event(store, MP_KIND_RANGE, i);
		struct mp_track track = mp_store_get_track(store, e.track);

		assert_int_equal(track.kind, MP_TRACK_ASYNC);
		if (e.cls == MP_CLASS_OPEN) {
			n_open++;
			assert_int_equal(e.ts_ns, BUILD_EPOCH + 300);
			assert_int_equal(e.a, 5000 - 300);
		} else if (e.ts_ns == BUILD_EPOCH + 500) {
			n_ranges++;
			assert_int_equal(e.a, 1000);
			assert_string_equal(text_of(store, e.name), "work");
		} else {
			n_ranges++;
			assert_int_equal(e.ts_ns, BUILD_EPOCH + 250);
			assert_int_equal(e.a, 100);
			assert_int_equal(e.cls, MP_CLASS_OPERATOR);
		}
	}
	assert_int_equal(n_ranges, 2);
	assert_int_equal(n_open, 1);
	assert_int_equal(notes_of(store, "async-unpaired", NULL), 1);
	assert_int_equal(mp_store_n_notes(store), 1);
	mp_store_free(store);
}

/* Many ranges under way at once, ended in another order by another thread. */
static void test_async_many(void **state)
{
	struct native_build b;
	struct mp_buf r = records();
	struct mp_pool *pool = NULL;
	struct mp_store *store;
	int64_t sum = 0, expected = 0;
	enum { N = 50000 };

	(void)state;
	build_plain(&b);
	for (uint32_t i = 0; i < N; i++)
		record32(&r, MP_NATIVE_ASYNC_BEGIN, 1, i * 2ull, 0, i * 0x9e3779b97f4a7c15ull, 0);
	build_events(&b, 0, &r);
	b.sequence = 0;
	for (uint32_t i = N; i-- > 0;) {
		record32(&r, MP_NATIVE_ASYNC_END, 0, 1000000 + (N - i) * 2ull, 0, i * 0x9e3779b97f4a7c15ull,
			 0);
		expected += 500000 + (int64_t)(N - i) - (int64_t)i;
	}
	build_events(&b, 1, &r);
	build_end(&b, 10000000);
	mp_buf_release(&r);
	build_write(&b);
	build_release(&b);
	assert_int_equal(mp_pool_new(2, &pool, NULL), MINDPROF_OK);
	store = read_with(&mp_reader_native, build_dir, NULL, pool, NULL);
	assert_quiet(store);
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), N);
	for (uint64_t i = 0; i < mp_store_n_blocks(store); i++)
		for (uint32_t k = 0; k < mp_store_get_block(store, i)->n; k++)
			sum += mp_store_get_block(store, i)->a[k];
	assert_int_equal(sum, expected);
	mp_store_free(store);
	mp_pool_free(pool);
}

/* Kinds of later versions are skipped by the size rule. */
static void test_unknown_kinds(void **state)
{
	struct native_build b;
	struct mp_buf r = records();
	struct mp_store *store;

	(void)state;
	build_plain(&b);
	record16(&r, 0x3f, 3, 1, 0);
	record32(&r, 0x7f, 3, 2, 0, 1, 2);
	record32(&r, 0xbf, 3, 3, 0, 1, 2); /* 48 bytes */
	record16(&r, 0, 0, 0, 0);
	record32(&r, 0xff, 3, 4, 3, 1, 2); /* 3 * 16 bytes */
	record16(&r, 0, 0, 0, 0);
	record16(&r, MP_NATIVE_RANGE, 1, 5, 10);
	build_events(&b, 0, &r);
	build_segment(&b.events, 77, "later", 5);
	build_segment(&b.session, 78, "later", 5);
	build_end(&b, 100);
	mp_buf_release(&r);
	store = build_read(&b);
	assert_quiet(store);
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), 1);
	assert_string_equal(mp_store_fact(store, "records_read").text, "5");
	mp_store_free(store);
}

/* A thread number that the system gave out twice makes two tracks. */
static void test_reused_tid(void **state)
{
	struct native_build b;
	struct mp_buf r = records();
	struct mp_store *store;
	struct mp_event first, second;

	(void)state;
	build_plain(&b);
	build_thread(&b, 2, 101, "worker again");
	record16(&r, MP_NATIVE_RANGE, 1, 5, 10);
	build_events(&b, 1, &r);
	b.sequence = 0;
	record16(&r, MP_NATIVE_RANGE, 1, 50, 10);
	build_events(&b, 2, &r);
	build_end(&b, 100);
	mp_buf_release(&r);
	store = build_read(&b);
	assert_quiet(store);
	first = nth_event(store, MP_KIND_RANGE, 0);
	second = nth_event(store, MP_KIND_RANGE, 1);
	assert_int_not_equal(first.track, second.track);
	assert_int_equal(tid_of(store, &first), 101);
	assert_int_equal(tid_of(store, &second), 30000101);
	assert_string_equal(text_of(store, mp_store_get_track(store, second.track).name), "worker again");
	mp_store_free(store);
}

/* The recording's own directory is a source, too. */
static void test_bare_directory(void **state)
{
	struct native_build b;
	struct mp_store *store;
	struct mp_source source = {0};
	struct mp_dir dir;
	char path[512];

	(void)state;
	build_plain(&b);
	build_end(&b, 100);
	build_write(&b);
	build_release(&b);
	snprintf(path, sizeof(path), "%s/MINDPROF", build_dir);
	store = read_with(&mp_reader_native, path, NULL, NULL, NULL);
	assert_quiet(store);
	mp_store_free(store);
	assert_int_equal(mp_dir_open(path, &dir, NULL), MINDPROF_OK);
	source.dir = &dir;
	assert_int_equal(mp_reader_native.recognise(&source), 100);
	mp_dir_close(&dir);
	assert_int_equal(mp_dir_open("/", &dir, NULL), MINDPROF_OK);
	assert_int_equal(mp_reader_native.recognise(&source), 0);
	mp_dir_close(&dir);
}

/* A small pid would be taken for a layer of MindSpore in the same directory. */
static void test_small_pid(void **state)
{
	struct native_build b;
	struct mp_store *store;

	(void)state;
	build_plain(&b);
	build_text(&b, MP_NATIVE_SEG_SESSION, "{\"pid\": 1}");
	build_end(&b, 100);
	store = build_read(&b);
	assert_int_equal(mp_store_get_process(store, 0).pid, 4194305);
	assert_string_equal(mp_store_fact(store, "pid").text, "1");
	mp_store_free(store);
}

/* ---- losses and kills ---- */

static void test_drops(void **state)
{
	struct native_build b;
	struct mp_store *store;
	struct mp_note note;

	(void)state;
	build_plain(&b);
	build_drop(&b, 1, MP_NATIVE_DROP_RANGE, 5);
	build_drop(&b, 1, MP_NATIVE_DROP_RANGE, 12); /* totals: this one counts */
	build_drop(&b, 1, MP_NATIVE_DROP_MEMORY, 3);
	build_drop(&b, MP_NATIVE_THREAD_NONE, MP_NATIVE_DROP_MARK, 1);
	build_end(&b, 100);
	store = build_read(&b);
	assert_int_equal(mp_store_n_notes(store), 1);
	assert_int_equal(notes_of(store, "events-dropped", &note), 1);
	assert_int_equal(note.severity, MP_PROBLEM);
	assert_string_equal(
		text_of(store, note.text),
		"16 events were lost while recording because the buffers were full: "
		"thread 101 'worker' 12 ranges, 3 memory events; threads without a place 1 marks");
	assert_string_equal(mp_store_fact(store, "events_dropped").text, "16");
	mp_store_free(store);
}

/* Killed: a sealed segment, its longer live chunk, a chunk that only the ring has, a free one, open ranges.
 */
static void test_kill(void **state)
{
	struct native_build b;
	struct mp_buf r = records(), live = records();
	struct mp_native_slot *slot;
	struct mp_store *store;
	struct mp_note note;
	uint64_t n_open = 0;

	(void)state;
	build_plain(&b);
	record16(&r, MP_NATIVE_RANGE, 1, 10, 2);
	record16(&r, MP_NATIVE_RANGE, 1, 20, 2);
	mp_buf_add(&live, r.data, r.len);
	build_events(&b, 0, &r);
	build_ring(&b, 1);
	record16(&live, MP_NATIVE_RANGE, 1, 30, 2);
	build_chunk(&b, 0, MP_NATIVE_CHUNK_OWNED, 0, 0, &live);
	mp_buf_clear(&live);
	record16(&live, MP_NATIVE_RANGE, 2, 40, 60);
	build_chunk(&b, 1, MP_NATIVE_CHUNK_FULL, 1, 0, &live);
	build_chunk(&b, 2, MP_NATIVE_CHUNK_FREE, 1, 1, &live);
	slot = build_slot(&b, 0);
	slot->thread_index = 0;
	slot->os_tid = 100;
	slot->depth = 1000; /* only 64 are kept */
	slot->drops[MP_NATIVE_DROP_MARK] = 2;
	for (uint32_t i = 0; i < MP_NATIVE_OPEN_RANGES; i++) {
		slot->open[i].site = 1;
		slot->open[i].tick = 32 + i;
	}
	mp_buf_release(&r);
	mp_buf_release(&live);
	store = build_read(&b);
	for (uint64_t i = 0; i < mp_store_n_events(store, MP_KIND_RANGE); i++) {
		struct mp_event e = nth_event(store, MP_KIND_RANGE, i);

		if (e.cls == MP_CLASS_OPEN) {
			n_open++;
			/* until the last clock point, tick 2000000000 */
			assert_int_equal(e.ts_ns + e.a, BUILD_EPOCH + 1000000000);
		}
	}
	assert_int_equal(n_open, 64);
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), 4 + 64);
	assert_int_equal(notes_of(store, "recording-cut", &note), 1);
	assert_int_equal(note.severity, MP_WARNING);
	assert_non_null(strstr(text_of(store, note.text),
			       "the last event is at 1.000 s from its begin, 64 ranges were open"));
	assert_int_equal(notes_of(store, "events-dropped", NULL), 1);
	assert_int_equal(mp_store_n_notes(store), 2);
	mp_store_free(store);
}

/* The dump wrote a part of a chunk, the next dump more of it: the longer one counts, in either order. */
static void test_repeated_segments(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		struct native_build b;
		struct mp_buf r = records();
		struct mp_store *store;

		build_plain(&b);
		for (int i = 0; i < 2; i++) {
			record16(&r, MP_NATIVE_RANGE, 1, 10, 2);
			if (i == order)
				record16(&r, MP_NATIVE_RANGE, 1, 20, 2);
			b.sequence = 0;
			build_events(&b, 0, &r);
		}
		build_end(&b, 100);
		mp_buf_release(&r);
		store = build_read(&b);
		assert_quiet(store);
		assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), 2);
		mp_store_free(store);
	}
}

static void test_sequence_gap(void **state)
{
	static const char *const codes[] = {"segments-missing", "history-overwritten"};

	(void)state;
	for (int ring = 0; ring < 2; ring++) {
		struct native_build b;
		struct mp_buf r = records();
		struct mp_store *store;
		struct mp_note note;

		build_plain(&b);
		if (ring)
			build_text(&b, MP_NATIVE_SEG_SESSION, "{\"mode\": \"ring\"}");
		b.sequence = 2;
		record16(&r, MP_NATIVE_RANGE, 1, 10, 2);
		build_events(&b, 0, &r);
		record16(&r, MP_NATIVE_RANGE, 1, 20, 2);
		build_events(&b, 0, &r);
		b.sequence = 9;
		record16(&r, MP_NATIVE_RANGE, 1, 30, 2);
		build_events(&b, 0, &r);
		build_end(&b, 100);
		mp_buf_release(&r);
		store = build_read(&b);
		assert_int_equal(mp_store_n_notes(store), 1);
		assert_int_equal(notes_of(store, codes[ring], &note), 1);
		assert_int_equal(note.severity, ring ? MP_INFO : MP_PROBLEM);
		assert_int_equal(atoi(text_of(store, note.text)), 7); /* 0, 1 and 4..8 */
		mp_store_free(store);
	}
}

/* Stopped with ranges open: they are in the END segment. */
static void test_open_at_stop(void **state)
{
	struct native_build b;
	struct mp_store *store;
	struct mp_event e;

	(void)state;
	build_plain(&b);
	build_text(
		&b, MP_NATIVE_SEG_END,
		"{\"tick\": 5000, \"complete\": true, \"open_ranges\": [{\"thread\": 1, \"site\": 2, \"tick\": 1000}, "
		"{\"thread\": 77, \"site\": 2, \"tick\": 1000}, {\"thread\": 1}, {\"x\": [{}]}]}");
	store = build_read(&b);
	assert_quiet(store);
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), 1);
	e = nth_event(store, MP_KIND_RANGE, 0);
	assert_int_equal(e.cls, MP_CLASS_OPEN);
	assert_int_equal(e.ts_ns, BUILD_EPOCH + 500);
	assert_int_equal(e.a, 2000);
	assert_int_equal(tid_of(store, &e), 101);
	mp_store_free(store);
}

/* ---- lies ---- */

struct native_lie {
	const char *what;
	void (*change)(struct native_build *b);
	const char *code;  /* of the one note; NULL = no note */
	uint64_t n_ranges; /* of the two good ones, and more */
};

/* One more segment between the two good ones of every lie. */
static void add_bad_segment(struct native_build *b, const struct mp_native_segment *segment)
{
	build_add(&b->events, segment, "0123456789abcdef", 16);
}

static struct mp_native_segment good_segment(void)
{
	struct mp_native_segment segment = build_segment_header(MP_NATIVE_SEG_EVENTS, "0123456789abcdef", 16);

	segment.thread_index = 1;
	build_seal(&segment);
	return segment;
}

#define SEGMENT_LIE(name, ...)                               \
	static void name(struct native_build *b)             \
	{                                                    \
		struct mp_native_segment s = good_segment(); \
                                                             \
		__VA_ARGS__;                                 \
		add_bad_segment(b, &s);                      \
	}

SEGMENT_LIE(wrong_magic, s.magic = 1; build_seal(&s))
SEGMENT_LIE(header_crc, s.header_crc ^= 1)
SEGMENT_LIE(payload_crc, s.payload_crc ^= 1; build_seal(&s))
SEGMENT_LIE(segment_bytes_0, s.segment_bytes = 0; build_seal(&s))
SEGMENT_LIE(segment_bytes_odd, s.segment_bytes = 81; build_seal(&s))
SEGMENT_LIE(segment_bytes_max, s.segment_bytes = 0xfffffff0u; build_seal(&s))
SEGMENT_LIE(payload_max, s.payload_bytes = UINT32_MAX; build_seal(&s))
SEGMENT_LIE(payload_longer, s.payload_bytes = 1u << 20; s.segment_bytes = 128; build_seal(&s))
SEGMENT_LIE(payload_2_31, s.payload_bytes = 1u << 31; s.segment_bytes = (1u << 31) + 64; build_seal(&s))
SEGMENT_LIE(header_bytes_0, s.header_bytes = 0; build_seal(&s))
SEGMENT_LIE(header_bytes_max, s.header_bytes = UINT16_MAX; build_seal(&s))
SEGMENT_LIE(overlapping, s.segment_bytes = 64; s.payload_bytes = 0; s.payload_crc = 0; build_seal(&s))
SEGMENT_LIE(huge_thread, s.thread_index = UINT32_MAX; build_seal(&s))
SEGMENT_LIE(huge_sequence, s.sequence = UINT32_MAX; build_seal(&s))

static void add_records(struct native_build *b, struct mp_buf *r)
{
	uint32_t sequence = b->sequence;

	b->sequence = 0;
	build_events(b, 1, r);
	b->sequence = sequence;
	mp_buf_release(r);
}

#define RECORD_LIE(name, ...)                            \
	static void name(struct native_build *b)         \
	{                                                \
		struct mp_buf r = records();             \
                                                         \
		record16(&r, MP_NATIVE_RANGE, 1, 10, 2); \
		__VA_ARGS__;                             \
		add_records(b, &r);                      \
	}

RECORD_LIE(site_0, record16(&r, MP_NATIVE_RANGE, 0, 10, 2))
RECORD_LIE(site_max, record16(&r, MP_NATIVE_RANGE, UINT32_MAX, 10, 2))
RECORD_LIE(mark_site_max, record16(&r, MP_NATIVE_MARK, UINT32_MAX, 10, 2))
RECORD_LIE(async_site_max, record32(&r, MP_NATIVE_ASYNC_BEGIN, UINT32_MAX, 10, 0, 1, 0))
RECORD_LIE(half_a_record, mp_buf_add(&r, "01234567", 8))
RECORD_LIE(long_record_cut, record16(&r, MP_NATIVE_COUNTER, 1, 10, 0))
RECORD_LIE(size_0, record16(&r, 0xc0, 1, 10, 0); record16(&r, MP_NATIVE_RANGE, 1, 10, 2))
RECORD_LIE(size_max, record16(&r, 0xc0, 1, 10, UINT32_MAX))
RECORD_LIE(duration_2_63, record32(&r, MP_NATIVE_RANGE_LONG, 1, 10, 0, 1ull << 63, 0))
RECORD_LIE(duration_max, record32(&r, MP_NATIVE_RANGE_LONG, 1, 10, 0, UINT64_MAX, 0))
RECORD_LIE(last_tick_of_all, record16(&r, MP_NATIVE_RANGE, 1, (1ull << 56) - 1, UINT32_MAX))
RECORD_LIE(counter_nan, record32(&r, MP_NATIVE_COUNTER, 1, 10, 0, 0x7ff8000000000000ull, 0))
RECORD_LIE(memory_max, record32(&r, MP_NATIVE_ALLOC, 1, 10, 0, UINT64_MAX, UINT64_MAX))
RECORD_LIE(free_max, record32(&r, MP_NATIVE_FREE, 1, 10, 0, UINT64_MAX, UINT64_MAX))
RECORD_LIE(queue_max, record32(&r, MP_NATIVE_QUEUE_PUSH, 1, 10, UINT32_MAX, UINT64_MAX, UINT64_MAX))
RECORD_LIE(async_twice, record32(&r, MP_NATIVE_ASYNC_BEGIN, 1, 10, 0, 5, 0);
	   record32(&r, MP_NATIVE_ASYNC_BEGIN, 1, 11, 0, 5, 0))
RECORD_LIE(async_backwards, record32(&r, MP_NATIVE_ASYNC_BEGIN, 1, 50, 0, 5, 0);
	   record32(&r, MP_NATIVE_ASYNC_END, 1, 10, 0, 5, 0))

static void zeros_between(struct native_build *b)
{
	for (int i = 0; i < 4096; i++)
		mp_buf_add_char(&b->events, '\0');
}

static void off_by_four(struct native_build *b)
{
	mp_buf_add(&b->events, "abcd",
		   4); /* the next segment is not aligned: lost, and found again after it */
}

static void site_id_max(struct native_build *b)
{
	build_site(b, UINT32_MAX, MP_NATIVE_SITE_RANGE, "x", "");
}
static void site_id_0(struct native_build *b)
{
	build_site(b, 0, MP_NATIVE_SITE_RANGE, "x", "");
}
static void site_kind_max(struct native_build *b)
{
	build_site(b, 4, UINT16_MAX, "x", "");
}
static void site_bad_json(struct native_build *b)
{
	build_site(b, 4, MP_NATIVE_SITE_RANGE, "x", "{\"type\": ");
}
static void site_json_array(struct native_build *b)
{
	build_site(b, 4, MP_NATIVE_SITE_RANGE, "x", "[1]");
}
static void site_json_nan(struct native_build *b)
{
	build_site(b, 4, MP_NATIVE_SITE_RANGE, "x", "{\"flops\": NaN}");
}
static void site_json_types(struct native_build *b)
{
	build_site(b, 4, MP_NATIVE_SITE_OPERATOR, "x",
		   "{\"type\": 5, \"stream\": \"a\", \"flops\": {}, \"shapes\": [1], \"flops\": 1e999}");
}
static void site_bad_utf8(struct native_build *b)
{
	build_site(b, 4, MP_NATIVE_SITE_RANGE, "\xff\xfe", "");
}
static void site_too_long(struct native_build *b)
{
	struct mp_native_site site = {
		.id = 4, .kind = 1, .name_bytes = UINT32_MAX, .attributes_bytes = UINT32_MAX};

	build_segment(&b->session, MP_NATIVE_SEG_SITES, &site, sizeof(site));
}
static void thread_too_long(struct native_build *b)
{
	struct mp_native_thread thread = {.index = 5, .name_bytes = UINT32_MAX};

	build_segment(&b->session, MP_NATIVE_SEG_THREADS, &thread, sizeof(thread));
}
static void drop_kind_max(struct native_build *b)
{
	build_drop(b, 0, UINT32_MAX, 1);
}
static void drop_count_max(struct native_build *b)
{
	build_drop(b, 0, 0, UINT64_MAX);
	build_drop(b, 0, 1, UINT64_MAX);
}
static void clock_odd(struct native_build *b)
{
	build_segment(&b->session, MP_NATIVE_SEG_CLOCK, "12345", 5);
}
static void clock_backwards(struct native_build *b)
{
	build_clock(b, 1, INT64_MIN, INT64_MAX);
}
static void clock_overflow(struct native_build *b)
{
	build_clock(b, UINT64_MAX, INT64_MAX, INT64_MAX);
}
static void session_bad_json(struct native_build *b)
{
	build_text(b, MP_NATIVE_SEG_SESSION, "{\"pid\": 1e");
}
static void session_numbers(struct native_build *b)
{
	build_text(b, MP_NATIVE_SEG_SESSION,
		   "{\"pid\": -7, \"rank\": 99999999999999999999, \"clock_hz\": 1e400, \"mode\": 5}");
}
static void metadata_bad(struct native_build *b)
{
	build_text(b, MP_NATIVE_SEG_METADATA, "\xff");
}

static const struct native_lie native_lies[] = {
	{"magic", wrong_magic, "damaged", 2},
	{"header checksum", header_crc, "damaged", 2},
	{"payload checksum", payload_crc, "checksum", 2},
	{"segment_bytes 0", segment_bytes_0, "damaged", 2},
	{"segment_bytes odd", segment_bytes_odd, "damaged", 2},
	{"segment_bytes 2^32-16", segment_bytes_max, "damaged", 2},
	{"payload_bytes 2^32-1", payload_max, "damaged", 2},
	{"payload longer than its segment", payload_longer, "damaged", 2},
	{"payload_bytes 2^31", payload_2_31, "recording-cut", 2},
	{"header_bytes 0", header_bytes_0, "damaged", 2},
	{"header_bytes 65535", header_bytes_max, "damaged", 2},
	{"segments overlap", overlapping, "damaged", 2},
	{"thread index 2^32-1", huge_thread, "unknown-thread", 2},
	{"sequence 2^32-1", huge_sequence, "segments-missing", 2},
	{"zeros between segments", zeros_between, "damaged", 2},
	{"not aligned", off_by_four, "damaged", 1},
	{"site 0", site_0, "unknown-site", 4},
	{"site 2^32-1", site_max, "unknown-site", 4},
	{"mark of site 2^32-1", mark_site_max, "unknown-site", 3},
	{"async of site 2^32-1", async_site_max, "unknown-site", 4},
	{"half a record", half_a_record, "bad-record", 3},
	{"32 bytes cut", long_record_cut, "bad-record", 3},
	{"record of size 0", size_0, "bad-record", 3},
	{"record of size 2^32-1", size_max, "bad-record", 3},
	{"duration 2^63", duration_2_63, "bad-record", 3},
	{"duration 2^64-1", duration_max, "bad-record", 3},
	{"largest tick", last_tick_of_all, NULL, 4},
	{"NaN", counter_nan, NULL, 3},
	{"2^64-1 bytes", memory_max, NULL, 3},
	{"2^64-1 bytes freed", free_max, NULL, 3},
	{"queue of 2^64-1", queue_max, NULL, 3},
	{"two async ranges with one id", async_twice, "async-same-id", 4},
	{"async range that ends before it begins", async_backwards, NULL, 4},
	{"site id 2^32-1", site_id_max, "bad-entry", 2},
	{"site id 0", site_id_0, "bad-entry", 2},
	{"site kind 65535", site_kind_max, NULL, 2},
	{"attributes cut", site_bad_json, "bad-entry", 2},
	{"attributes an array", site_json_array, "bad-entry", 2},
	{"attributes NaN", site_json_nan, "bad-entry", 2},
	{"attributes of wrong types", site_json_types, NULL, 2},
	{"site name not UTF-8", site_bad_utf8, NULL, 2},
	{"site longer than its segment", site_too_long, "bad-entry", 2},
	{"thread longer than its segment", thread_too_long, "bad-entry", 2},
	{"drop kind of a later version", drop_kind_max, NULL, 2},
	{"drop count", drop_count_max, "events-dropped", 2},
	{"odd clock segment", clock_odd, "bad-entry", 2},
	{"clock goes back", clock_backwards, NULL, 2},
	{"clock overflows", clock_overflow, NULL, 2},
	{"session is not JSON", session_bad_json, "bad-entry", 2},
	{"session of wrong numbers", session_numbers, NULL, 2},
	{"metadata is not JSON", metadata_bad, "bad-entry", 2},
};

static void test_lies(void **state)
{
	(void)state;
	for (size_t i = 0; i < MP_COUNT(native_lies); i++) {
		const struct native_lie *lie = &native_lies[i];
		struct native_build b;
		struct mp_buf r = records();
		struct mp_store *store;

		build_plain(&b);
		record16(&r, MP_NATIVE_RANGE, 1, 100, 2);
		build_events(&b, 0, &r);
		lie->change(&b);
		record16(&r, MP_NATIVE_RANGE, 1, 200, 2);
		build_events(&b, 0, &r);
		build_end(&b, 1000);
		mp_buf_release(&r);
		store = build_read(&b);
		if (mp_store_n_events(store, MP_KIND_RANGE) != lie->n_ranges ||
		    mp_store_n_notes(store) != (lie->code ? 1 : 0) ||
		    (lie->code && !notes_of(store, lie->code, NULL))) {
			print_notes(store);
			fail_msg("%s: %llu ranges, %zu notes", lie->what,
				 (unsigned long long)mp_store_n_events(store, MP_KIND_RANGE),
				 mp_store_n_notes(store));
		}
		mp_store_free(store);
	}
}

/* Lies in the three file headers and in the ring's header. */
static void put_u32(struct mp_buf *buf, size_t at, uint32_t value, size_t crc_from, size_t crc_at)
{
	uint32_t crc;

	memcpy(buf->data + at, &value, sizeof(value));
	crc = mp_crc32c(0, buf->data + crc_from, crc_at - crc_from);
	memcpy(buf->data + crc_at, &crc, sizeof(crc));
}

static void test_header_lies(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
	} changes[] = {
		{0, 1},           /* magic */
		{8, 2},           /* version */
		{12, 0},          /* header_bytes */
		{12, 0xfffffff0}, /* header_bytes */
		{16, 9},          /* kind */
		{24, 1},          /* a feature that is not known */
		{40, 1},          /* another session */
	};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(changes); i++) {
		struct native_build b;
		struct mp_buf r = records();
		struct mp_store *store;

		build_plain(&b);
		record16(&r, MP_NATIVE_RANGE, 1, 100, 2);
		build_events(&b, 0, &r);
		build_end(&b, 1000);
		mp_buf_release(&r);
		put_u32(&b.events, changes[i].at, changes[i].value, 0, 60);
		store = build_read(&b);
		assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), 0);
		assert_int_equal(mp_store_n_notes(store), 1);
		assert_int_equal(mp_store_get_note(store, 0).severity, MP_PROBLEM);
		mp_store_free(store);
	}
}

static void test_ring_lies(void **state)
{
	static const struct {
		size_t at; /* in struct mp_native_ring */
		uint32_t value;
		uint64_t n_ranges;
	} changes[] = {
		{0, UINT32_MAX, 1},  /* n_chunks: those that lie in the file */
		{4, 0, 0},           /* chunk_bytes */
		{4, 0xfffffff0u, 0}, /* chunk_bytes */
		{8, UINT32_MAX, 1},  /* n_slots */
		{12, 0, 0},          /* slot_bytes */
		{20, UINT32_MAX, 1}, /* slots_offset, high half: no slots */
		{28, UINT32_MAX, 0}, /* states_offset: no chunk counts */
		{36, UINT32_MAX, 0}, /* chunks_offset */
	};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(changes); i++) {
		struct native_build b;
		struct mp_buf r = records();
		struct mp_store *store;

		build_plain(&b);
		build_ring(&b, 1);
		record16(&r, MP_NATIVE_RANGE, 1, 100, 2);
		build_chunk(&b, 0, MP_NATIVE_CHUNK_FULL, 0, 0, &r);
		mp_buf_release(&r);
		put_u32(&b.ring, 64 + changes[i].at, changes[i].value, 64, 64 + 52);
		store = build_read(&b);
		if (mp_store_n_events(store, MP_KIND_RANGE) != changes[i].n_ranges ||
		    mp_store_n_notes(store) != 2) {
			print_notes(store);
			fail_msg("ring lie %zu: %llu ranges", i,
				 (unsigned long long)mp_store_n_events(store, MP_KIND_RANGE));
		}
		mp_store_free(store);
	}
}

static void test_chunk_lies(void **state)
{
	static const struct {
		size_t at; /* in struct mp_native_segment */
		uint32_t value;
		uint64_t n_ranges;
		size_t n_notes; /* with recording-cut */
	} changes[] = {
		{0, 7, 0, 2},           /* magic */
		{8, UINT32_MAX, 0, 2},  /* payload_bytes */
		{8, 0, 0, 1},           /* just taken */
		{8, 24, 1, 2},          /* half a record */
		{12, 0, 1, 1},          /* segment_bytes does not matter here */
		{16, UINT32_MAX, 1, 2}, /* thread */
	};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(changes); i++) {
		struct native_build b;
		struct mp_buf r = records();
		struct mp_store *store;

		build_plain(&b);
		build_ring(&b, 1);
		record16(&r, MP_NATIVE_RANGE, 1, 100, 2);
		build_chunk(&b, 0, MP_NATIVE_CHUNK_FULL, 0, 0, &r);
		mp_buf_release(&r);
		memcpy(b.ring.data + 12288 + changes[i].at, &changes[i].value, 4);
		store = build_read(&b);
		if (mp_store_n_events(store, MP_KIND_RANGE) != changes[i].n_ranges ||
		    mp_store_n_notes(store) != changes[i].n_notes) {
			print_notes(store);
			fail_msg("chunk lie %zu", i);
		}
		mp_store_free(store);
	}
}

/* No session file: no names, no clock, but the events. Nothing at all: a failure. */
static void test_missing_files(void **state)
{
	struct native_build b;
	struct mp_buf r = records();
	struct mp_store *store;
	struct mp_event e;
	mp_status status;

	(void)state;
	build_plain(&b);
	record16(&r, MP_NATIVE_RANGE, 1, 100, 2);
	build_events(&b, 0, &r);
	mp_buf_release(&r);
	build_write(&b);
	build_put("session.mpr", NULL, 0);
	store = read_with(&mp_reader_native, build_dir, NULL, NULL, NULL);
	e = nth_event(store, MP_KIND_RANGE, 0);
	assert_string_equal(text_of(store, e.name), "(unknown site)");
	assert_int_equal(e.ts_ns, 100);
	assert_int_equal(notes_of(store, "missing-file", NULL), 1);
	assert_int_equal(notes_of(store, "clock-assumed", NULL), 1);
	assert_int_equal(mp_store_get_process(store, 0).pid, 4242);
	mp_store_free(store);
	memset(b.events.data, 'x', 64);
	build_put("events.mpr", b.events.data, b.events.len);
	store = read_with(&mp_reader_native, build_dir, NULL, NULL, &status);
	assert_int_equal(status, MINDPROF_E_FORMAT);
	mp_store_free(store);
	build_release(&b);
}

/* Killed while the files were made: each of these is a recording without events, not a fault. */
static void test_killed_at_start(void **state)
{
	static const struct {
		size_t session, events, ring; /* bytes; 1 = absent */
	} cases[] = {{1, 1, 1},  {0, 1, 1},      {20, 1, 1},     {64, 1, 1},
		     {64, 1, 0}, {64, 1, 28672}, {64, 0, 28672}, {64, 64, 28672}};
	struct native_build b;
	char *zeros = mp_calloc(1, 28672);

	(void)state;
	build_plain(&b);
	for (size_t i = 0; i < MP_COUNT(cases); i++) {
		struct mp_store *store;
		struct mp_note note;

		build_put("session.mpr", cases[i].session == 1 ? NULL : b.session.data, cases[i].session);
		build_put("events.mpr", cases[i].events == 1 ? NULL : b.events.data, cases[i].events);
		build_put("ring.mpr", cases[i].ring == 1 ? NULL : zeros, cases[i].ring);
		store = read_with(&mp_reader_native, build_dir, NULL, NULL, NULL);
		assert_int_equal(notes_of(store, "recording-cut", &note), 1);
		assert_int_equal(note.severity, MP_WARNING);
		/* without a clock segment the clock is assumed, too */
		if (mp_store_n_notes(store) - notes_of(store, "clock-assumed", NULL) != 1) {
			print_notes(store);
			fail_msg("case %zu", i);
		}
		mp_store_free(store);
	}
	mp_free(zeros);
	build_release(&b);
}

/* A file that a clean stop leaves is missing: that is a fault. */
static void test_events_removed(void **state)
{
	struct native_build b;
	struct mp_store *store;

	(void)state;
	build_plain(&b);
	build_end(&b, 100);
	build_write(&b);
	build_release(&b);
	build_put("events.mpr", NULL, 0);
	store = read_with(&mp_reader_native, build_dir, NULL, NULL, NULL);
	assert_int_equal(mp_store_n_notes(store), 1);
	assert_int_equal(notes_of(store, "missing-file", NULL), 1);
	assert_int_equal(mp_store_get_note(store, 0).severity, MP_PROBLEM);
	mp_store_free(store);
}

/* ---- truncation, rubbish, memory ---- */

enum { N_SEGMENTS = 40, PER_SEGMENT = 64 };

static void build_many(struct native_build *b)
{
	struct mp_buf r = records();

	build_plain(b);
	for (uint32_t i = 0; i < N_SEGMENTS; i++) {
		for (uint32_t k = 0; k < PER_SEGMENT; k++)
			record16(&r, MP_NATIVE_RANGE, 1 + k % 2, i * 1000 + k, 5);
		build_events(b, 0, &r);
	}
	build_end(b, 1000000);
	mp_buf_release(&r);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static void test_truncated_events(void **state)
{
	struct native_build b;
	uint64_t seed = 3;
	size_t segment_bytes = 64 + PER_SEGMENT * 16;

	(void)state;
	build_many(&b);
	build_write(&b);
	for (int i = 0; i < 50; i++) {
		size_t cut = 64 + next_random(&seed) % (b.events.len - 64),
		       whole = (cut - 64) / segment_bytes;
		struct mp_store *store;

		build_put("events.mpr", b.events.data, cut);
		store = read_with(&mp_reader_native, build_dir, NULL, NULL, NULL);
		assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), whole * PER_SEGMENT);
		assert_int_equal(mp_store_n_notes(store), whole * segment_bytes + 64 != cut);
		assert_int_equal(notes_of(store, "recording-cut", NULL), mp_store_n_notes(store));
		mp_store_free(store);
	}
	build_release(&b);
}

static void test_truncated_session(void **state)
{
	struct native_build b;
	uint64_t seed = 4;

	(void)state;
	build_many(&b);
	build_write(&b);
	for (int i = 0; i < 50; i++) {
		size_t cut = 64 + next_random(&seed) % (b.session.len - 64);
		struct mp_store *store;

		build_put("session.mpr", b.session.data, cut);
		store = read_with(&mp_reader_native, build_dir, NULL, NULL, NULL);
		assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), N_SEGMENTS * PER_SEGMENT);
		assert_true(notes_of(store, "recording-cut", NULL) >= 1);
		assert_true(mp_store_n_notes(store) <= 5);
		mp_store_free(store);
	}
	build_release(&b);
}

static void test_truncated_ring(void **state)
{
	struct native_build b;
	struct mp_buf r = records();
	uint64_t seed = 5;

	(void)state;
	build_plain(&b);
	build_ring(&b, 1);
	record16(&r, MP_NATIVE_RANGE, 1, 100, 2);
	for (uint32_t i = 0; i < BUILD_CHUNKS; i++)
		build_chunk(&b, i, MP_NATIVE_CHUNK_FULL, 0, i, &r);
	mp_buf_release(&r);
	build_write(&b);
	for (int i = 0; i < 50; i++) {
		size_t cut = 64 + next_random(&seed) % (b.ring.len - 64);
		size_t whole = cut > 12288 ? (cut - 12288) / BUILD_CHUNK_BYTES : 0;
		struct mp_store *store;

		build_put("ring.mpr", b.ring.data, cut);
		store = read_with(&mp_reader_native, build_dir, NULL, NULL, NULL);
		assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), whole);
		assert_int_equal(mp_store_n_notes(store),
				 2); /* the cut of the recording, the cut of the file */
		mp_store_free(store);
	}
	build_release(&b);
}

/* Any one byte may be wrong: no crash, and never more is lost than the segment it lies in. */
static void test_flipped_bytes(void **state)
{
	struct native_build b;
	uint64_t seed = 6;

	(void)state;
	build_many(&b);
	build_write(&b);
	for (int i = 0; i < 200; i++) {
		size_t at = 64 + next_random(&seed) % (b.events.len - 64);
		char flip = (char)(1 << next_random(&seed) % 8);
		struct mp_store *store;

		b.events.data[at] ^= flip;
		build_put("events.mpr", b.events.data, b.events.len);
		b.events.data[at] ^= flip;
		store = read_with(&mp_reader_native, build_dir, NULL, NULL, NULL);
		assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), (N_SEGMENTS - 1) * PER_SEGMENT);
		/* a damaged header also leaves a hole in the thread's sequence */
		assert_in_range(mp_store_n_notes(store), 1, 2);
		mp_store_free(store);
	}
	build_release(&b);
}

static void test_rubbish(void **state)
{
	struct native_build b;
	uint64_t seed = 8;

	(void)state;
	build_plain(&b);
	build_write(&b);
	for (int i = 0; i < 50; i++) {
		struct mp_store *store;
		char bytes[8192];

		for (size_t k = 64; k < sizeof(bytes); k++)
			bytes[k] = (char)next_random(&seed);
		memcpy(bytes, b.events.data, 64);
		for (size_t k = 64; i % 2 && k < sizeof(bytes) - 4; k += 128) /* every header begins well */
			memcpy(bytes + k, "MPSG\1\0\100\0", 8);
		build_put("events.mpr", bytes, sizeof(bytes));
		store = read_with(&mp_reader_native, build_dir, NULL, NULL, NULL);
		assert_int_equal(notes_of(store, "damaged", NULL), 1);
		mp_store_free(store);
	}
	build_release(&b);
}

/* Serial and parallel reading give the same events. */
static void test_parallel_equals_serial(void **state)
{
	struct native_build b;
	struct mp_buf r = records();
	struct mp_pool *pool = NULL;
	struct flat_events lists[2];

	(void)state;
	build_plain(&b);
	for (uint32_t i = 0; i < 600; i++) { /* 9 MiB: several batches */
		for (uint32_t k = 0; k < 1000; k++)
			record16(&r, MP_NATIVE_RANGE, 1 + (i + k) % 2, i * 100000 + k * 17, k);
		b.sequence = i / 2;
		build_events(&b, i % 2, &r);
	}
	build_end(&b, 1000000000);
	mp_buf_release(&r);
	build_write(&b);
	build_release(&b);
	assert_int_equal(mp_pool_new(3, &pool, NULL), MINDPROF_OK);
	for (int i = 0; i < 2; i++) {
		struct mp_store *store = read_with(&mp_reader_native, build_dir, NULL, i ? pool : NULL, NULL);

		assert_quiet(store);
		lists[i] = flat_of_store(store, 4242);
		flat_sort(&lists[i]);
		mp_store_free(store);
	}
	assert_int_equal(lists[0].len, 600000);
	assert_int_equal(lists[1].len, 600000);
	for (size_t i = 0; i < lists[0].len; i++)
		assert_int_equal(flat_compare(&lists[0].at[i], &lists[1].at[i]), 0);
	flat_release(&lists[0]);
	flat_release(&lists[1]);
	mp_pool_free(pool);
}

static void test_out_of_memory(void **state)
{
	struct native_build b;
	struct mp_buf r = records(), live = records();

	(void)state;
	build_plain(&b);
	record16(&r, MP_NATIVE_RANGE, 1, 10, 2);
	record32(&r, MP_NATIVE_ASYNC_BEGIN, 1, 10, 0, 5, 0);
	build_events(&b, 0, &r);
	build_ring(&b, 1);
	record16(&live, MP_NATIVE_RANGE, 2, 40, 60);
	build_chunk(&b, 1, MP_NATIVE_CHUNK_FULL, 1, 0, &live);
	build_slot(&b, 0)->os_tid = 100;
	build_slot(&b, 0)->depth = 1;
	build_slot(&b, 0)->drops[0] = 1;
	build_write(&b);
	build_release(&b);
	mp_buf_release(&r);
	mp_buf_release(&live);
	/* 2 ranges, 2 open ones; cut, dropped */
	read_without_memory(&mp_reader_native, build_dir, 4, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_process_and_facts),
		cmocka_unit_test(test_other_kinds),
		cmocka_unit_test(test_async),
		cmocka_unit_test(test_async_many),
		cmocka_unit_test(test_unknown_kinds),
		cmocka_unit_test(test_reused_tid),
		cmocka_unit_test(test_bare_directory),
		cmocka_unit_test(test_small_pid),
		cmocka_unit_test(test_drops),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_repeated_segments),
		cmocka_unit_test(test_sequence_gap),
		cmocka_unit_test(test_open_at_stop),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_header_lies),
		cmocka_unit_test(test_ring_lies),
		cmocka_unit_test(test_chunk_lies),
		cmocka_unit_test(test_missing_files),
		cmocka_unit_test(test_killed_at_start),
		cmocka_unit_test(test_events_removed),
		cmocka_unit_test(test_truncated_events),
		cmocka_unit_test(test_truncated_session),
		cmocka_unit_test(test_truncated_ring),
		cmocka_unit_test(test_flipped_bytes),
		cmocka_unit_test(test_rubbish),
		cmocka_unit_test(test_parallel_equals_serial),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, build_make_dir, build_remove_dir);
}
