/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome JSON that is cut, broken or made to do harm: everything before the cut is kept with one
 * note, every lie costs its own event only, and nothing crashes, hangs or grows without bound.
 */
#include "test_wr_trace_event_helpers.h"

#include <zlib.h>

#include "base/pool.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t random_below(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % n;
}

/* ---- cuts ---- */

static const char head[] =
	"{\"otherData\":{\"mindprof_trace\":\"1\",\"base_time_ns\":\"0\"},\"traceEvents\":[";

/* n events; ends[i] is where event i is complete. */
static struct trace_text make_text(const char *begin, size_t n, size_t *ends)
{
	struct mp_buf buf;
	struct trace_text text;

	mp_buf_init(&buf, SIZE_MAX / 2);
	mp_buf_add_str(&buf, begin);
	for (size_t i = 0; i < n; i++) {
		mp_buf_printf(
			&buf,
			"%s{\"ph\":\"X\",\"pid\":1,\"tid\":%zu,\"ts\":%zu.125,\"dur\":0.5,\"name\":\"op \\\"%zu\\\"\",\"cat\":"
			"\"cpu_op\",\"args\":{\"type\":\"T\",\"list\":[{\"a\":\"}\"},{}]}}",
			i ? ",\n" : "\n", i % 7, i, i % 50);
		ends[i] = buf.len;
	}
	mp_buf_add_str(&buf, *begin == '{' ? "\n],\"mindprof\":{\"events\":1}}\n" : "\n]\n");
	assert_int_equal(buf.failed, MINDPROF_OK);
	text.len = buf.len;
	text.data = malloc(buf.len + 1);
	memcpy(text.data, buf.data, buf.len + 1);
	mp_buf_release(&buf);
	return text;
}

/* Every event that is complete before the cut is there, and one note tells the cut. */
static void check_cut(const struct trace_text *text, size_t cut, const size_t *ends, size_t n, size_t first,
		      struct mp_pool *pool)
{
	size_t complete = 0;
	mp_status status;
	struct mp_store *store = read_text(text->data, cut, pool, &status, NULL);

	while (complete < n && ends[complete] <= cut)
		complete++;
	assert_int_equal(status, MINDPROF_OK);
	if (mp_store_n_events(store, MP_KIND_RANGE) != complete || mp_store_n_notes(store) != 1)
		fail_msg("cut at %zu: %llu of %zu events, %zu notes", cut,
			 (unsigned long long)mp_store_n_events(store, MP_KIND_RANGE), complete,
			 mp_store_n_notes(store));
	assert_true(note_of(store, "truncated").count || note_of(store, "unclosed").count ||
		    note_of(store, "trailing-text").count);
	/* Inside of an event: behind the comma and line end that follow the event before. */
	if (complete < n && cut > (complete ? ends[complete - 1] + 2 : first))
		assert_int_equal(note_of(store, "truncated").severity, MP_PROBLEM);
	mp_store_free(store);
}

static void test_cuts(void **state)
{
	static const char *const begins[] = {head, "["};
	enum { N = 10000 };
	static size_t ends[N];
	struct mp_pool *pool;

	(void)state;
	assert_int_equal(mp_pool_new(2, &pool, NULL), MINDPROF_OK);
	for (size_t b = 0; b < MP_COUNT(begins); b++) {
		size_t first = strlen(begins[b]);
		struct trace_text text = make_text(begins[b], N, ends);

		assert_true(text.len > 4 * 256 * 1024);
		for (int i = 0; i < 50; i++)
			check_cut(&text, first + random_below(text.len - first - 2), ends, N, first + 1,
				  i % 2 ? pool : NULL);
		/* All cuts in the last two events, and in the first one. */
		for (size_t cut = ends[N - 3]; cut + 2 < text.len; cut++)
			check_cut(&text, cut, ends, N, first + 1, NULL);
		for (size_t cut = first; cut < ends[0]; cut++)
			check_cut(&text, cut, ends, N, first + 1, NULL);
		/* In the head there is nothing to keep, but no crash. */
		for (size_t cut = 0; cut < first; cut++) {
			mp_status status;
			struct mp_store *store = read_text(text.data, cut, NULL, &status, NULL);

			assert_int_equal(status, MINDPROF_E_FORMAT);
			mp_store_free(store);
		}
		free(text.data);
	}
	mp_pool_free(pool);
}

/* A packed file that is cut: what can be unpacked counts, one note. */
static void test_packed_cuts(void **state)
{
	enum { N = 3000 };
	static size_t ends[N];
	struct trace_text text = make_text(head, N, ends), packed;
	z_stream z = {0};

	(void)state;
	packed.len = text.len + 1000;
	packed.data = malloc(packed.len);
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)text.data;
	z.avail_in = (uInt)text.len;
	z.next_out = (Bytef *)packed.data;
	z.avail_out = (uInt)packed.len;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	packed.len = z.total_out;
	deflateEnd(&z);
	for (int i = 0; i < 52; i++) {
		size_t cut = i ? 200 + random_below(packed.len - 200) : packed.len;
		mp_status status;
		struct mp_store *store = read_text(packed.data, cut, NULL, &status, NULL);
		uint64_t found = mp_store_n_events(store, MP_KIND_RANGE);

		assert_int_equal(status, MINDPROF_OK);
		assert_int_equal(mp_store_n_notes(store), i ? 1 : 0);
		assert_true(i ? found <= N : found == N);
		mp_store_free(store);
	}
	free(text.data);
	free(packed.data);
}

/* ---- lies ---- */

/* One event, twice, and a lie between them. */
#define WITH(lie) "[{\"ph\":\"X\",\"ts\":1,\"dur\":1}," lie ",{\"ph\":\"X\",\"ts\":3,\"dur\":1}]"
#define OWN(lie)                                                                                                                   \
	"{\"otherData\":{\"mindprof_trace\":\"1\",\"base_time_ns\":\"0\"},\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}," lie \
	",{\"ph\":\"X\",\"ts\":3,\"dur\":1}]}"

static void test_lies(void **state)
{
	static const struct {
		const char *text;
		size_t n_ranges;
		const char *note; /* "" = none needed */
	} lies[] = {
		{WITH("{\"ph\":\"X\",\"ts\":NaN,\"dur\":1}"), 2, "no-time"},
		{WITH("{\"ph\":\"X\",\"ts\":1e400,\"dur\":1}"), 2, "no-time"},
		{WITH("{\"ph\":\"X\",\"ts\":9223372036854775808,\"dur\":1}"), 2, "no-time"},
		{WITH("{\"ph\":\"X\",\"ts\":2,\"dur\":9223372036854775808}"), 3, "bad-duration"},
		{WITH("{\"ph\":\"X\",\"ts\":2,\"dur\":-1e300}"), 3, "bad-duration"},
		{WITH("{\"ph\":\"X\",\"ts\":2,\"dur\":{\"a\":1}}"), 3, "bad-duration"},
		{WITH("{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"name\":\"\xc0\xaf\xf5\"}"), 3, "bad-utf8"},
		{WITH("{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"cat\":\"\xff\"}"), 3, "bad-utf8"},
		{WITH("{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"pid\":\"\xff\",\"tid\":\"\xff\"}"), 3, ""},
		{WITH("{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"pid\":99999999999999999999999,\"tid\":-1e99}"), 3,
		 ""},
		{WITH("{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"pid\":[1],\"tid\":{\"a\":1}}"), 3, ""},
		{WITH("{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"pid\":null,\"tid\":true}"), 3, ""},
		{WITH("{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"name\":7,\"cat\":[],\"args\":null}"), 3,
		 "bad-args"},
		{WITH("{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"name\":\"\\q\"}"), 3, "bad-text"},
		{WITH("{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"name\":\"\\u00g0\"}"), 3, "bad-text"},
		{WITH("{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"name\":\"\\u12\"}"), 3, "bad-text"},
		{WITH("{\"ph\":\"\",\"ts\":2}"), 2, "no-phase"},
		{WITH("{\"ph\":7,\"ts\":2}"), 2, "ignored-phase"},
		{WITH("{\"ph\":[\"X\"],\"ts\":2}"), 2, "ignored-phase"},
		{WITH("[{\"ph\":\"X\",\"ts\":2}]"), 3, "bad-event"},
		{WITH("\"},{\\\"ph\\\":\\\"X\\\"\""), 2, "bad-event"},
		{WITH("{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"args\":{\"a\":[}"), 2, "bad-event"},
		{WITH("{\"ph\":\"X\" \"ts\":2}"), 2, "bad-event"},
		{WITH("{\"ph\":\"X\",\"ts\":+-.,\"dur\":1}"), 2, "no-time"},
		{WITH("{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"ts\":3,\"dur\":\"x\"}"), 3, "bad-duration"},
		{WITH("{\"ph\":\"s\",\"ts\":2,\"id\":{\"a\":1}}"), 2, "bad-value"},
		{WITH("{\"ph\":\"f\",\"ts\":2}"), 2, "bad-value"},
		{WITH("{\"ph\":\"b\",\"ts\":2,\"id2\":{}}"), 3, "begin-without-end"},
		{WITH("{\"ph\":\"b\",\"ts\":2,\"id2\":{\"local\":[[[]]]}}"), 3, "begin-without-end"},
		{WITH("{\"ph\":\"C\",\"ts\":2,\"args\":{\"a\":\"000000000000000000000000000000000000000000000000000000000000000\"}}"),
		 2, "bad-value"},
		{WITH("{\"ph\":\"C\",\"ts\":2,\"args\":{\"a\":\"-\",\"b\":\".\",\"c\":\"+\"}}"), 2,
		 "bad-value"},
		{WITH("{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":2,\"args\":{\"Bytes\":1e99}}"), 2,
		 "bad-value"},
		{WITH("{\"ph\":\"M\",\"name\":\"thread_name\",\"args\":{\"name\":{\"x\":[]}}}"), 2, ""},
		{WITH("{\"ph\":\"M\",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":1e300}}"), 2,
		 ""},
		{WITH("{\"ph\":\"M\",\"name\":\"thread_name\",\"args\":7}"), 2, ""},
		/* our own hints: circles, unknown kinds, numbers that are none */
		{OWN("{\"ph\":\"M\",\"name\":\"thread_name\",\"tid\":0,\"args\":{\"name\":\"a\",\"lane_of\":1}},"
		     "{\"ph\":\"M\",\"name\":\"thread_name\",\"tid\":1,\"args\":{\"name\":\"b\",\"lane_of\":0}}"),
		 2, ""},
		{OWN("{\"ph\":\"M\",\"name\":\"thread_name\",\"tid\":0,\"args\":{\"name\":\"a\",\"lane_of\":0}}"),
		 2, ""},
		{OWN("{\"ph\":\"M\",\"name\":\"thread_name\",\"tid\":0,\"args\":{\"name\":\"a\",\"kind\":\"spiral\",\"tid\":[],"
		     "\"stream\":-9e99}}"),
		 2, ""},
		{OWN("{\"ph\":\"M\",\"name\":\"thread_name\",\"tid\":0,\"args\":{\"name\":\"a\",\"kind\":\"steps\"}}"),
		 0, "bad-value"},
		{OWN("{\"ph\":\"C\",\"ts\":2,\"cat\":\"queue_push\",\"wait\":-1,\"capacity\":-1,\"args\":{\"depth\":1e300}}"),
		 2, ""},
		{OWN("{\"ph\":\"C\",\"ts\":-9223372036854775.808,\"cat\":\"queue_pop\",\"wait\":1,\"args\":{\"depth\":1}}"),
		 2, ""},
		{OWN("{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"args\":{\"class\":\"nonsense\",\"type\":[],\"flops\":\"x\",\"args_text\":\"{\"}}"),
		 3, ""},
		{OWN("{\"ph\":\"s\",\"ts\":2,\"id\":\"x\"}"), 2, "bad-value"},
		{"{\"otherData\":{\"mindprof_trace\":\"1\",\"base_time_ns\":\"9223372036854775807\"},\"traceEvents\":"
		 "[{\"ph\":\"X\",\"ts\":0.000,\"dur\":1},{\"ph\":\"X\",\"ts\":0.001,\"dur\":1}]}",
		 1, "no-time"},
		{"{\"otherData\":{\"mindprof_trace\":\"1\",\"base_time_ns\":\"1e5\"},\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]}",
		 1, ""},
		{"{\"otherData\":[],\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]}", 1, ""},
		{"{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}],\"baseTimeNanoseconds\":99999999999999999999}",
		 1, ""},
		{"{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}],\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]}",
		 1, ""},
		{"{\"distributedInfo\":{\"rank\":-5},\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]}", 1,
		 ""},
	};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(lies); i++) {
		struct mp_store *store = read_json(lies[i].text);
		struct trace_text text;

		if (mp_store_n_events(store, MP_KIND_RANGE) != lies[i].n_ranges ||
		    (*lies[i].note ? !note_of(store, lies[i].note).count : mp_store_n_notes(store) != 0))
			fail_msg("%s: %llu ranges, %zu notes, first %s", lies[i].text,
				 (unsigned long long)mp_store_n_events(store, MP_KIND_RANGE),
				 mp_store_n_notes(store),
				 mp_store_n_notes(store) ? text_of(store, mp_store_get_note(store, 0).code)
							 : "-");
		/* What was read can be written. */
		text = written(MP_FLAVOUR_PORTABLE, store);
		free(text.data);
		text = written(MP_FLAVOUR_COMPATIBLE, store);
		free(text.data);
		mp_store_free(store);
	}
}

/* A text of `begin`, then `piece` so many times, then `end`. */
static struct trace_text repeated(const char *begin, const char *piece, size_t n, const char *end)
{
	struct mp_buf buf;
	struct trace_text text;

	mp_buf_init(&buf, SIZE_MAX / 2);
	mp_buf_add_str(&buf, begin);
	for (size_t i = 0; i < n; i++)
		mp_buf_add_str(&buf, piece);
	mp_buf_add_str(&buf, end);
	text.len = buf.len;
	text.data = malloc(buf.len + 1);
	memcpy(text.data, buf.data, buf.len + 1);
	mp_buf_release(&buf);
	return text;
}

/* Bombs: deep, long, and such that naive resynchronisation takes quadratic time. */
static void test_bombs(void **state)
{
	static const struct {
		const char *begin, *piece, *end;
		size_t n, n_ranges;
	} bombs[] = {
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"a\":", "[", "", 300000, 0},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":", "{\"a\":", "", 300000, 0},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"ph\":\"X\",\"ts\":", "9", ",\"dur\":1}]", 1000000, 1},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"ph\":\"X\",\"ts\":0.", "0", "1,\"dur\":1}]", 1000000,
		 2},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"", "x", "\"}]", 3000000, 1},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},", "{\"a\":[", "", 300000, 1},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1}", ",{\"a\":[", "", 300000, 1},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1}", ",{\"ph\":{", "", 300000, 1},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1}", ",{\"", "", 300000, 1},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},\"", "\\", "", 2000000, 1},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},", "\"", "", 1000001, 1},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},", "]", "", 1000000, 1},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},", "}", "", 1000000, 1},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1}", "{}", "]", 500000, 1},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1}", " ", "]", 1000000, 1},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1}", "\x00", "]", 1, 1},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1}", ",{\"ph\":\"E\",\"ts\":1}", "]", 100000, 1},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1}", ",{\"ph\":\"B\",\"ts\":1}", "]", 100000, 100001},
		{"[{\"ph\":\"X\",\"ts\":1,\"dur\":1}",
		 ",{\"ph\":\"f\",\"id\":1,\"ts\":1},{\"ph\":\"s\",\"id\":1,\"ts\":1}", "]", 50000, 1},
		{"{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]", ",\"a\":{\"b\":[1,2]}", "}", 100000,
		 1},
	};
	struct mp_pool *pool;

	(void)state;
	assert_int_equal(mp_pool_new(2, &pool, NULL), MINDPROF_OK);
	for (size_t i = 0; i < MP_COUNT(bombs); i++) {
		struct trace_text text = repeated(bombs[i].begin, bombs[i].piece, bombs[i].n, bombs[i].end);
		mp_status status;
		struct mp_store *store = read_text(text.data, text.len, i % 2 ? pool : NULL, &status, NULL);

		assert_int_equal(status, MINDPROF_OK);
		if (mp_store_n_events(store, MP_KIND_RANGE) != bombs[i].n_ranges)
			fail_msg("bomb %zu: %llu ranges", i,
				 (unsigned long long)mp_store_n_events(store, MP_KIND_RANGE));
		/* Memory is bounded by the input. */
		assert_true(mp_store_bytes(store) < 64 * 1024 + 40 * text.len);
		mp_store_free(store);
		free(text.data);
	}
	mp_pool_free(pool);
}

/* More distinct args than are kept: the rest of them is left out, the events stay. */
static void test_args_budget(void **state)
{
	struct mp_buf buf;
	struct mp_store *store;
	mp_status status;
	const size_t n = 60000, budget = 16 << 20;

	(void)state;
	mp_buf_init(&buf, SIZE_MAX / 2);
	mp_buf_add_str(&buf, "[");
	for (size_t i = 0; i < n; i++)
		mp_buf_printf(&buf,
			      "%s{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"stream\":7,\"a\":\"%0400zu\"}}",
			      i ? "," : "", i);
	mp_buf_add_str(&buf, "]");
	store = read_text(buf.data, buf.len, NULL, &status, NULL);
	assert_int_equal(status, MINDPROF_OK);
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), n);
	assert_int_equal(note_of(store, "args-not-kept").severity, MP_INFO);
	assert_true(mp_store_bytes(store) < 40 * n + 2 * (budget + buf.len / 16));
	/* The known fields of those are kept. */
	assert_int_equal(mp_store_get_detail(store, event_at(store, MP_KIND_RANGE, n - 1).detail).stream, 7);
	mp_store_free(store);
	mp_buf_release(&buf);
}

/* ---- random damage ---- */

static void test_damage(void **state)
{
	enum { N = 300 };
	static size_t ends[N];
	struct trace_text text = make_text(head, N, ends);

	(void)state;
	for (int round = 0; round < 400; round++) {
		char *copy = malloc(text.len);
		mp_status status;
		struct mp_store *store;

		memcpy(copy, text.data, text.len);
		for (uint64_t i = random_below(round % 4 ? 4 : 200) + 1; i > 0; i--) {
			static const char bytes[] = "\"\\{}[],:0\n\xff";

			copy[random_below(text.len)] = bytes[random_below(sizeof(bytes))];
		}
		store = read_text(copy, text.len, NULL, &status, NULL);
		assert_true(status == MINDPROF_OK || status == MINDPROF_E_FORMAT);
		if (status == MINDPROF_OK && round % 4)
			assert_true(mp_store_n_events(store, MP_KIND_RANGE) >= N / 2);
		mp_store_free(store);
		free(copy);
	}
	free(text.data);
}

/* ---- no memory ---- */

static const char everything[] =
	"{\"traceName\":\"t\",\"distributedInfo\":{\"rank\":1},\"traceEvents\":["
	"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":\"Spans\",\"args\":{\"name\":\"\xff\"}},"
	"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":\"word\",\"args\":{\"name\":\"n\"}},"
	"{\"ph\":\"X\",\"name\":\"ProfilerStep#1\",\"cat\":\"user_annotation\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":5,\"args\":{\"a\":\"\xff\","
	"\"Input Dims\":[[1]]}},"
	"{\"ph\":\"B\",\"name\":\"esc\\u0041\",\"pid\":1,\"tid\":1,\"ts\":2},{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":3},"
	"{\"ph\":\"b\",\"cat\":\"c\",\"name\":\"n\",\"id\":\"x\",\"scope\":\"s\",\"ts\":2},{\"ph\":\"e\",\"cat\":\"c\",\"id\":\"x\",\"scope\":\"s\",\"ts\":3},"
	"{\"ph\":\"s\",\"id\":1,\"pid\":1,\"tid\":1,\"ts\":2},{\"ph\":\"f\",\"id\":1,\"pid\":1,\"tid\":2,\"ts\":2},"
	"{\"ph\":\"X\",\"name\":\"late\",\"pid\":1,\"tid\":2,\"ts\":4,\"dur\":1},"
	"{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":4,\"args\":{\"Bytes\":1,\"Total Allocated\":1,\"Device Type\":1,\"Device Id\":0}},"
	"{\"ph\":\"C\",\"name\":\"c\",\"id\":7,\"ts\":4,\"args\":{\"a\\n\":1,\"b\":2}}]}";

static void test_no_memory(void **state)
{
	char path[] = "/tmp/mindprof-test-XXXXXX", file[64];
	struct mp_source source = {.name = "t.json"};
	struct mp_ctx ctx = {0};
	uint64_t wanted[MP_KINDS], n = 0, tried;
	struct mp_store *whole = read_json(everything);
	struct mp_dir dir;
	FILE *out;

	(void)state;
	for (int kind = 0; kind < MP_KINDS; kind++)
		wanted[kind] = mp_store_n_events(whole, (enum mp_kind)kind);
	assert_true(wanted[MP_KIND_RANGE] == 4 && wanted[MP_KIND_FLOW] == 2 && wanted[MP_KIND_COUNTER] == 2);
	mp_store_free(whole);
	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof(file), "%s/t.json", path);
	out = fopen(file, "wb");
	fputs(everything, out);
	fclose(out);
	assert_int_equal(mp_dir_open(path, &dir, NULL), MINDPROF_OK);
	source.dir = &dir;
	do {
		struct mp_store *store = new_store();
		mp_status status;

		mp_mem_fail_after(n);
		status = mp_reader_chrome_json.read(&ctx, &source, store, NULL);
		tried = mp_mem_fail_after(UINT64_MAX);
		if (status && status != MINDPROF_E_NOMEM)
			fail_msg("status %d when allocation %llu fails", status, (unsigned long long)n);
		for (int kind = 0; kind < MP_KINDS && !status; kind++)
			assert_int_equal(mp_store_n_events(store, (enum mp_kind)kind), wanted[kind]);
		mp_store_free(store);
	} while (tried > n++);
	assert_true(n > 50);
	mp_dir_close(&dir);
	unlink(file);
	rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuts),        cmocka_unit_test(test_packed_cuts),
		cmocka_unit_test(test_lies),        cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_args_budget), cmocka_unit_test(test_damage),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
