/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The op_range reader against what the original made of the same files (tests/data/op_range), the
 * byte vectors of the format document, and built records with lies in them.
 */
#include "golden_trace.h"

#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/fmt_framework.h"
#include "readers/rd_op_range.h"

#define CASES MP_SOURCE_DIR "/tests/data/op_range"
#define NATIVE_GRAPH "/native-graph/raw/host0_9825_20261130205343493_ascend_ms"
#define NATIVE_PYNATIVE "/native-pynative/raw/host0_9859_20261130205345836_ascend_ms"
#define QUIRKS "host0_4242_20250705072000000_ascend_ms"

/* ---- a length of almost 4 GiB ---- */

/* The value of the first record has 2^32 - 6 bytes: with its head it ends at 2^32, where nothing may wrap to
 * 0. */
static void test_record_of_4_gib(void **state)
{
	const uint32_t len = UINT32_MAX - MP_FWK_HEAD_BYTES + 1;
	const size_t size = ((size_t)1 << 32) + MP_FWK_HEAD_BYTES;
	struct op_range_file in = {.form = MP_FWK_27};
	struct mp_store_options options = {0};
	const struct mp_process process = {.rank = 0, .pid = 1};
	uint64_t at = 0;
	uint8_t *data;

	(void)state;
	data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (data == MAP_FAILED)
		skip();
	memcpy(data + 2, &len, sizeof(len));
	in.file.data = data;
	in.file.size = size;
	assert_int_equal(mp_store_new(&options, &in.store, NULL), MINDPROF_OK);
	in.process = mp_store_process(in.store, &process);
	assert_true(op_range_split(&in, &at));
	assert_int_equal(at, (uint64_t)1 << 32); /* a window ends behind the large record */
	assert_true(op_range_split(&in, &at));
	assert_int_equal(at, size);
	assert_int_equal(in.faults[OP_RANGE_SHORT].count, 1); /* the record without a value behind it */
	mp_store_free(in.store);
	mp_map64_release(&in.tracks);
	mp_vec_release(&in.chunks);
	munmap(data, size);
}

/* ---- handmade vectors (raw-host.md sections 1.3, 1.5) ---- */

static void test_handmade_27(void **state)
{
	struct mp_store *store =
		read_with(&mp_reader_op_range, CASES "/handmade", "mindspore.op_range", NULL, NULL);
	struct flat_events events = flat_of_store(store, 1);

	(void)state;
	flat_sort(&events);
	assert_int_equal(events.len, 5);
	/* 100 MHz from 0: ticks * 10. 1000000..1000500 */
	assert_string_equal(events.at[0].name, "Dataset::MapOp(ID:1)::WorkerProcess");
	assert_int_equal(events.at[0].phase, 'X');
	assert_int_equal(events.at[0].tid, 4244);
	assert_int_equal(events.at[0].ts_ns, 10020000);
	assert_int_equal(events.at[0].dur_ns, (1002400 - 1002000) * 10);
	assert_string_equal(events.at[1].name, "Kernel::KernelLaunch::Default/ReLU-op1");
	assert_int_equal(events.at[1].tid, 4242);
	assert_int_equal(events.at[1].ts_ns, 10000000);
	assert_int_equal(events.at[1].dur_ns, 5000);
	assert_string_equal(events.at[2].name, "RunGraph"); /* stage 3 */
	assert_int_equal(events.at[2].ts_ns, 0xf44fc * 10);
	assert_int_equal(events.at[2].dur_ns, (0xf48e4 - 0xf44fc) * 10);
	assert_string_equal(events.at[3].name, "train.py(10):main");
	assert_int_equal(events.at[3].dur_ns, (0x10c8e0 - 0xdbba0) * 10);
	/* a flow of no length is still a flow, where the original loses it */
	assert_int_equal(events.at[4].phase, 's');
	assert_int_equal(events.at[4].flow_id, 77);
	assert_int_equal(events.at[4].ts_ns, 0xf4498 * 10);
	assert_int_equal(notes_of(store, "clock-assumed", NULL), 1);
	assert_int_equal(mp_store_n_notes(store), 1);
	flat_release(&events);
	mp_store_free(store);
}

static void test_handmade_truncated(void **state)
{
	struct mp_store *store =
		read_with(&mp_reader_op_range, CASES "/handmade", "mindspore.op_range.truncated", NULL, NULL);
	struct mp_note note;

	(void)state;
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), 3);
	assert_int_equal(mp_store_n_events(store, MP_KIND_FLOW), 1);
	assert_int_equal(notes_of(store, "truncated", &note), 1);
	assert_int_equal(note.byte_offset, 0x1a4); /* the last record begins there */
	assert_int_equal(note.severity, MP_PROBLEM);
	mp_store_free(store);
}

static void test_handmade_23(void **state)
{
	struct mp_store *store = read_with(&mp_reader_op_range, CASES "/handmade", "op_range_0", NULL, NULL);
	struct flat_events events = flat_of_store(store, 1);

	(void)state;
	flat_sort(&events);
	assert_int_equal(events.len, 2);
	assert_string_equal(events.at[0].name, "Kernel::KernelLaunch::ReLU");
	assert_int_equal(events.at[0].ts_ns, 10000000);
	assert_int_equal(events.at[0].dur_ns, 5000);
	assert_int_equal(events.at[0].tid, 4242);
	assert_string_equal(events.at[1].name, "PynativeFramework::FrontendTask::Add");
	assert_string_equal(events.at[1].args, "{\"Call stack\": \";a.py(3):f\\r\\n;b.py(9):g\"}");
	flat_release(&events);
	mp_store_free(store);
}

/* ---- golden: genuine files ---- */

static size_t count_phase(const struct flat_events *list, char phase)
{
	size_t n = 0;

	for (size_t i = 0; i < list->len; i++)
		n += list->at[i].phase == phase;
	return n;
}

static void compare_names(struct flat_events *expected, struct flat_events *actual, double mhz)
{
	flat_keep(expected, 'X');
	flat_keep(actual, 'X');
	flat_sort(expected);
	flat_sort(actual);
	assert_int_equal(expected->len, actual->len);
	for (size_t i = 0; i < expected->len; i++) {
		const struct flat_event *e = &expected->at[i], *a = &actual->at[i];
		/* the original takes one tick for 10 ns */
		double dur_ns = (double)e->dur_ns * MP_FWK_DEFAULT_MHZ / mhz;

		assert_string_equal(e->name, a->name);
		assert_int_equal(e->tid, a->tid);
		if (fabs(dur_ns - (double)a->dur_ns) > 1 + 1e-6 * dur_ns)
			fail_msg("%s: duration %lld, expected %.1f", a->name, (long long)a->dur_ns, dur_ns);
	}
}

static double fitted_mhz(const struct mp_store *store)
{
	struct mp_str text = mp_store_fact(store, "op_range.counter_mhz");
	double mhz = 0;

	assert_true(mp_num_parse_double(text.text, text.len, &mhz));
	return mhz;
}

static void check_native(const char *raw, const char *expected_path, size_t n_records)
{
	struct mp_pool *pool = NULL;
	struct mp_store *store;
	struct flat_events expected, actual;
	double mhz;

	assert_int_equal(mp_pool_new(2, &pool, NULL), MINDPROF_OK);
	store = read_with(&mp_reader_op_range, raw, NULL, pool, NULL);
	expected = flat_load(expected_path, 1);
	actual = flat_of_store(store, 1);
	mhz = fitted_mhz(store);
	printf("%s: %zu ranges, fitted %.4f MHz\n", raw + sizeof(CASES), count_phase(&actual, 'X'), mhz);
	/* README of golden-current: the time stamp counter runs at 2.100 GHz; nominal pairs gave 2.0997
	 * and 2.0998 */
	assert_true(fabs(mhz - 2100.0) < 0.5);
	/* Every record is a range or the begin of a flow; a flow has its end at the record that carries its
	 * id. */
	assert_int_equal(count_phase(&actual, 'X') + count_phase(&actual, 's'), n_records);
	assert_int_equal(count_phase(&actual, 's'), count_phase(&actual, 'f'));
	assert_int_equal(count_phase(&expected, 's'), count_phase(&actual, 's'));
	assert_int_equal(count_phase(&expected, 'i'), count_phase(&actual, 'i'));
	compare_names(&expected, &actual, mhz);
	assert_int_equal(notes_of(store, "clock-calibrated", NULL), 1);
	assert_int_equal(mp_store_n_notes(store), 1);
	flat_release(&expected);
	flat_release(&actual);
	mp_store_free(store);
	mp_pool_free(pool);
}

static void test_native_graph(void **state)
{
	(void)state;
	check_native(
		CASES NATIVE_GRAPH,
		CASES
		"/native-graph/expected/host0_9825_20261130205343493_ascend_ms/ASCEND_PROFILER_OUTPUT/trace_view.json",
		602);
}

static void test_native_pynative(void **state)
{
	(void)state;
	check_native(
		CASES NATIVE_PYNATIVE,
		CASES
		"/native-pynative/expected/host0_9859_20261130205345836_ascend_ms/ASCEND_PROFILER_OUTPUT/trace_view.json",
		1541);
}

/* The launches now lie on the executions: they begin within 10 us of each other, for 9 of 10. */
static void test_calibrated_times(void **state)
{
	struct mp_store *store = read_with(&mp_reader_op_range, CASES NATIVE_GRAPH, NULL, NULL, NULL);
	struct mp_store *ops = read_with(&mp_reader_cpu_ops, CASES NATIVE_GRAPH, NULL, NULL, NULL);
	struct flat_events launches = flat_of_store(store, 1), runs = flat_of_store(ops, 2);
	size_t near = 0, n = 0;

	(void)state;
	for (size_t i = 0; i < runs.len; i++) {
		int64_t best = INT64_MAX;

		for (size_t k = 0; k < launches.len; k++) {
			const char *name = strstr(launches.at[k].name, "KernelLaunch::");

			if (name && strcmp(name + 14, runs.at[i].name) == 0)
				best = MP_MIN(best, llabs(launches.at[k].ts_ns - runs.at[i].ts_ns));
		}
		near += best < 10000;
		n++;
	}
	assert_int_equal(n, 68);
	assert_true(near >= 62);
	flat_release(&launches);
	flat_release(&runs);
	mp_store_free(store);
	mp_store_free(ops);
}

static void test_classes_and_steps(void **state)
{
	struct mp_store *store = read_with(&mp_reader_op_range, CASES NATIVE_GRAPH, NULL, NULL, NULL);
	size_t n[MP_CLASSES] = {0};
	bool seen[5] = {false};

	(void)state;
	for (size_t b = 0; b < mp_store_n_blocks(store); b++) {
		const struct mp_block *block = mp_store_get_block(store, b);

		for (uint32_t i = 0; i < block->n; i++) {
			if (block->kind == MP_KIND_RANGE)
				n[block->cls[i]]++;
			if (block->kind == MP_KIND_STEP) {
				assert_in_range(block->a[i], 0, 4);
				seen[block->a[i]] = true;
			}
		}
	}
	assert_int_equal(n[MP_CLASS_LAUNCH], 68); /* as many as executions */
	assert_int_equal(n[MP_CLASS_STEP], 5);    /* ProfilerStep#0..4 */
	assert_int_equal(mp_store_n_events(store, MP_KIND_STEP), 5);
	for (int i = 0; i < 5; i++)
		assert_true(seen[i]);
	assert_true(n[MP_CLASS_DATASET] > 0);
	assert_int_equal(n[MP_CLASS_PYTHON], 0);
	assert_int_equal(mp_store_get_process(store, 0).rank, 0);
	mp_store_free(store);
}

/* ---- golden: the exact clock and odd records ---- */

/*
 * The original drops start 0 records, draws end 0 with a huge negative duration and shows `flow` marks of no
 * length as instants; ours shows end 0 as an instant and keeps the flow. Everything else must be equal to the
 * nanosecond.
 */
static void test_quirks(void **state)
{
	struct mp_store *store =
		read_with(&mp_reader_op_range, CASES "/ascend-pynative-quirks/raw/" QUIRKS, NULL, NULL, NULL);
	struct flat_events expected = flat_load(CASES "/ascend-pynative-quirks/expected/" QUIRKS
						      "/ASCEND_PROFILER_OUTPUT/trace_view.json",
						1);
	struct flat_events actual = flat_of_store(store, 1);
	size_t n_flow_instants = 0, n_end_zero = 0;

	(void)state;
	for (size_t i = 0; i < expected.len; i++) {
		struct flat_event *e = &expected.at[i];

		if (e->phase == 'i' && strcmp(e->name, "flow") == 0) {
			n_flow_instants++;
			e->phase = '-';
		} else if (e->phase == 'X' && e->dur_ns < 0) {
			n_end_zero++;
			e->phase = 'i';
			e->dur_ns = 0;
		}
	}
	assert_true(n_flow_instants > 0);
	assert_true(n_end_zero > 0);
	for (const char *phase = "Xi"; *phase; phase++) {
		size_t at = 0;

		flat_sort(&expected);
		flat_sort(&actual);
		for (size_t i = 0; i < actual.len; i++) {
			if (actual.at[i].phase != *phase)
				continue;
			while (at < expected.len && expected.at[at].phase != *phase)
				at++;
			assert_true(at < expected.len);
			assert_string_equal(expected.at[at].name, actual.at[i].name);
			assert_int_equal(expected.at[at].tid, actual.at[i].tid);
			assert_int_equal(expected.at[at].ts_ns, actual.at[i].ts_ns);
			assert_int_equal(expected.at[at].dur_ns, actual.at[i].dur_ns);
			at++;
		}
		assert_int_equal(count_phase(&expected, *phase), count_phase(&actual, *phase));
	}
	assert_int_equal(notes_of(store, "unknown-number", NULL), 1);
	assert_int_equal(notes_of(store, "bad-utf8", NULL), 1);
	assert_int_equal(notes_of(store, "no-start", NULL), 1);
	assert_int_equal(notes_of(store, "clock-assumed", NULL), 0);
	flat_release(&expected);
	flat_release(&actual);
	mp_store_free(store);
}

/* 2.3, 74-byte form; the original's times are multiples of 0.25 us. */
static void test_form_74(void **state)
{
	struct mp_store *store =
		read_with(&mp_reader_op_range, CASES "/ascend-oprange74/raw", NULL, NULL, NULL);
	struct flat_events expected = flat_load(CASES "/ascend-oprange74/expected/trace_view.json", 1);
	struct flat_events actual = flat_of_store(store, 1);

	(void)state;
	for (const char *phase = "Xi"; *phase; phase++) {
		size_t at = 0;

		flat_sort(&expected);
		flat_sort(&actual);
		assert_int_equal(count_phase(&expected, *phase), count_phase(&actual, *phase));
		for (size_t i = 0; i < actual.len; i++) {
			if (actual.at[i].phase != *phase)
				continue;
			while (expected.at[at].phase != *phase)
				at++;
			assert_string_equal(expected.at[at].name, actual.at[i].name);
			assert_int_equal(expected.at[at].tid, actual.at[i].tid);
			assert_true(llabs(expected.at[at].ts_ns - actual.at[i].ts_ns) <= 250);
			assert_true(llabs(expected.at[at].dur_ns - actual.at[i].dur_ns) <= 250);
			at++;
		}
	}
	assert_true(count_phase(&actual, 'X') > 50);
	flat_release(&expected);
	flat_release(&actual);
	mp_store_free(store);
}

/* ---- built records ---- */

static char scratch[256];

static int make_scratch(void **state)
{
	char path[512];

	(void)state;
	snprintf(scratch, sizeof(scratch), "%s/rd_op_range_XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(scratch))
		return -1;
	snprintf(path, sizeof(path), "%s/FRAMEWORK", scratch);
	return mkdir(path, 0750);
}

#define OP_RANGE "FRAMEWORK/mindspore.op_range"

static void put_file(const char *name, const void *bytes, size_t len)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

static int remove_scratch(void **state)
{
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/" OP_RANGE, scratch);
	unlink(path);
	snprintf(path, sizeof(path), "%s/FRAMEWORK", scratch);
	rmdir(path);
	return rmdir(scratch);
}

static void add_field(struct mp_buf *out, uint16_t type, uint32_t claimed_len, const char *text, size_t len)
{
	mp_buf_add(out, &type, sizeof(type));
	mp_buf_add(out, &claimed_len, sizeof(claimed_len));
	mp_buf_add(out, text, len);
}

static struct mp_fwk_op_range plain_record(void)
{
	return (struct mp_fwk_op_range){.thread_id = 7,
					.flow_id = UINT64_MAX,
					.start_tick = 1000,
					.end_tick = 1500,
					.module = 4,
					.event = 4,
					.level = -1};
}

static void add_record(struct mp_buf *out, const struct mp_fwk_op_range *record, const char *name,
		       const char *full_name)
{
	struct mp_buf body;
	uint16_t type = 0;
	uint32_t len;

	mp_buf_init(&body, 1 << 24);
	mp_buf_add(&body, record, sizeof(*record));
	add_field(&body, 13, (uint32_t)strlen(name), name, strlen(name));
	add_field(&body, 14, (uint32_t)strlen(full_name), full_name, strlen(full_name));
	add_field(&body, 15, 0, "", 0);
	add_field(&body, 16, 0, "", 0);
	len = (uint32_t)body.len;
	mp_buf_add(out, &type, sizeof(type));
	mp_buf_add(out, &len, sizeof(len));
	mp_buf_add(out, body.data, body.len);
	mp_buf_release(&body);
}

/* Begins with a plain record, so that the form is known; ends with another one. */
struct built {
	struct mp_buf bytes;
	struct mp_fwk_op_range record;
};

static void built_init(struct built *b)
{
	mp_buf_init(&b->bytes, 1 << 26);
	b->record = plain_record();
	add_record(&b->bytes, &b->record, "First", "Default/First-op0");
}

static struct mp_store *built_read(struct built *b)
{
	struct mp_store *store;

	assert_int_equal(b->bytes.failed, MINDPROF_OK);
	put_file(OP_RANGE, b->bytes.data, b->bytes.len);
	store = read_with(&mp_reader_op_range, scratch, NULL, NULL, NULL);
	mp_buf_release(&b->bytes);
	return store;
}

static void add_last(struct built *b)
{
	struct mp_fwk_op_range last = plain_record();

	add_record(&b->bytes, &last, "Last", "Default/Last-op9");
}

struct field_lie {
	const char *what;
	void (*change)(struct mp_fwk_op_range *record);
	const char *code;  /* of the one note beside clock-assumed */
	uint64_t n_ranges; /* with First and Last */
	uint64_t n_marks;
};

static void start_zero(struct mp_fwk_op_range *r)
{
	r->start_tick = 0;
}
static void end_zero(struct mp_fwk_op_range *r)
{
	r->end_tick = 0;
}
static void end_early(struct mp_fwk_op_range *r)
{
	r->end_tick = r->start_tick - 1;
}
static void end_same(struct mp_fwk_op_range *r)
{
	r->end_tick = r->start_tick;
}
static void start_2_63(struct mp_fwk_op_range *r)
{
	r->start_tick = 1ull << 63;
	r->end_tick = r->start_tick + 1;
}
static void start_max(struct mp_fwk_op_range *r)
{
	r->start_tick = r->end_tick = UINT64_MAX;
}
static void end_max(struct mp_fwk_op_range *r)
{
	r->end_tick = UINT64_MAX;
}
static void too_late(struct mp_fwk_op_range *r)
{
	r->start_tick = 999999999999999999ull;
	r->end_tick = r->start_tick + 1;
}
static void unix_ns(struct mp_fwk_op_range *r)
{
	r->start_tick = 1796071897919337452ull;
	r->end_tick = r->start_tick + 50;
}
static void bad_module(struct mp_fwk_op_range *r)
{
	r->module = 8;
}
static void bad_event(struct mp_fwk_op_range *r)
{
	r->event = 0xffff;
}
static void bad_stage(struct mp_fwk_op_range *r)
{
	r->is_stage = 1;
	r->stage = 10;
}
static void odd_bools(struct mp_fwk_op_range *r)
{
	r->is_stage = 0xff;
	r->stage = 9;
}
static void huge_thread(struct mp_fwk_op_range *r)
{
	r->thread_id = UINT64_MAX;
}
static void flow_unused(struct mp_fwk_op_range *r)
{
	r->flow_id = 0;
}

static const struct field_lie field_lies[] = {
	{"start 0", start_zero, "no-start", 2, 0},
	{"end 0: an instant", end_zero, "", 2, 1},
	{"end before begin", end_early, "negative-duration", 2, 1},
	{"no length", end_same, "", 2, 1},
	{"2^63", start_2_63, "time-out-of-range", 2, 0},
	{"2^64-1", start_max, "time-out-of-range", 2, 0},
	{"end 2^64-1", end_max, "time-out-of-range", 2, 0},
	{"10 ns per tick does not fit", too_late, "time-out-of-range", 2, 0},
	{"above 10^18: ns already", unix_ns, "", 3, 0},
	{"module 8", bad_module, "unknown-number", 3, 0},
	{"event 65535", bad_event, "unknown-number", 3, 0},
	{"stage 10", bad_stage, "unknown-number", 3, 0},
	{"boolean 255", odd_bools, "", 3, 0},
	{"thread 2^64-1", huge_thread, "", 3, 0},
	{"end of a flow that never begins", flow_unused, "", 3, 0},
};

static void test_field_lies(void **state)
{
	(void)state;
	for (size_t i = 0; i < MP_COUNT(field_lies); i++) {
		const struct field_lie *lie = &field_lies[i];
		struct mp_store *store;
		struct built b;

		built_init(&b);
		lie->change(&b.record);
		add_record(&b.bytes, &b.record, "Odd", "Default/Odd-op1");
		add_last(&b);
		store = built_read(&b);
		if (mp_store_n_events(store, MP_KIND_RANGE) != lie->n_ranges ||
		    mp_store_n_events(store, MP_KIND_MARK) != lie->n_marks ||
		    mp_store_n_notes(store) != (*lie->code ? 2 : 1) ||
		    (*lie->code && !notes_of(store, lie->code, NULL))) {
			print_notes(store);
			fail_msg("%s: %llu ranges, %llu marks", lie->what,
				 (unsigned long long)mp_store_n_events(store, MP_KIND_RANGE),
				 (unsigned long long)mp_store_n_events(store, MP_KIND_MARK));
		}
		mp_store_free(store);
	}
}

static void test_unix_ns_is_kept(void **state)
{
	struct flat_events events;
	struct mp_store *store;
	struct built b;

	(void)state;
	built_init(&b);
	unix_ns(&b.record);
	add_record(&b.bytes, &b.record, "Aaa", "Aaa");
	store = built_read(&b);
	events = flat_of_store(store, 1);
	flat_sort(&events);
	assert_string_equal(events.at[0].name, "Kernel::KernelLaunch::Aaa");
	assert_int_equal(events.at[0].ts_ns, 1796071897919337452);
	assert_int_equal(events.at[0].dur_ns, 50);
	flat_release(&events);
	mp_store_free(store);
}

/* Flow marks: begin, then end at the record with the id; start above end and equal; stack records bind
 * nothing. */
static void test_flows(void **state)
{
	struct flat_events events;
	struct mp_store *store;
	struct built b;

	(void)state;
	built_init(&b);
	b.record.flow_id = 5;
	b.record.start_tick = 2036; /* 36 ticks after its end, as the compiler of the wheel orders it */
	b.record.end_tick = 2000;
	add_record(&b.bytes, &b.record, "flow", "flow");
	b.record.thread_id = 8;
	b.record.start_tick = 3000;
	b.record.end_tick = 4000;
	add_record(&b.bytes, &b.record, "Task", "Task");
	b.record.is_stack = 1;
	b.record.flow_id = 0;
	add_record(&b.bytes, &b.record, "a.py(1):flow", "");
	store = built_read(&b);
	events = flat_of_store(store, 1);
	assert_int_equal(count_phase(&events, 's'), 1);
	assert_int_equal(count_phase(&events, 'f'), 1);
	assert_int_equal(count_phase(&events, 'X'), 3);
	for (size_t i = 0; i < events.len; i++) {
		if (events.at[i].phase == 's') {
			assert_int_equal(events.at[i].flow_id, 5);
			assert_int_equal(events.at[i].ts_ns, 20360);
			assert_int_equal(events.at[i].tid, 7);
			assert_string_equal(events.at[i].name, "mindspore_to_self");
		} else if (events.at[i].phase == 'f') {
			assert_int_equal(events.at[i].ts_ns, 30000);
			assert_int_equal(events.at[i].tid, 8);
		}
	}
	assert_int_equal(mp_store_n_notes(store), 1); /* clock-assumed */
	flat_release(&events);
	mp_store_free(store);
}

/* Lies in lengths: `tail` is put between First and Last. */
struct length_lie {
	const char *what;
	const char *tail;
	size_t len;
	const char *code;
	uint64_t n_ranges;
};

static const struct length_lie length_lies[] = {
	{"length 0", "\0\0\0\0\0\0", 6, "short-record", 2},
	{"length 53",
	 "\0\0\x35\0\0\0"
	 "012345678901234567890123456789012345678901234567890123456789",
	 59, "short-record", 2},
	{"length 2^32-1", "\0\0\xff\xff\xff\xff", 6, "truncated", 1},
	{"length 2^31", "\0\0\0\0\0\x80", 6, "truncated", 1},
	{"outer type 65535", "\xff\xff\0\0\0\0", 6, "short-record", 2}, /* the type is not looked at */
};

static void test_length_lies(void **state)
{
	(void)state;
	for (size_t i = 0; i < MP_COUNT(length_lies); i++) {
		const struct length_lie *lie = &length_lies[i];
		struct mp_store *store;
		struct built b;

		built_init(&b);
		mp_buf_add(&b.bytes, lie->tail, lie->len);
		add_last(&b);
		store = built_read(&b);
		if (mp_store_n_events(store, MP_KIND_RANGE) != lie->n_ranges ||
		    mp_store_n_notes(store) != 2 || !notes_of(store, lie->code, NULL)) {
			print_notes(store);
			fail_msg("%s", lie->what);
		}
		mp_store_free(store);
	}
}

/* Fields that lie: the record is kept, with what is known of it. */
static void test_field_list_lies(void **state)
{
	static const struct {
		const char *what;
		uint16_t type;
		uint32_t claimed;
		const char *text;
		const char *code;
		const char *name;
	} cases[] = {
		{"length beyond the record", 14, 1000, "abc", "short-field", "Kernel::KernelLaunch::"},
		{"length 2^32-1", 14, UINT32_MAX, "abc", "short-field", "Kernel::KernelLaunch::"},
		{"length 2^31", 14, 1u << 31, "abc", "short-field", "Kernel::KernelLaunch::"},
		{"unknown type", 99, 3, "abc", "", "Kernel::KernelLaunch::"},
		{"type 65535", 65535, 3, "abc", "", "Kernel::KernelLaunch::"},
		{"bad UTF-8", 14, 2, "\xc3\x28", "bad-utf8", "Kernel::KernelLaunch::N/A"},
		{"a surrogate", 14, 3, "\xed\xa0\x80", "bad-utf8", "Kernel::KernelLaunch::N/A"},
		{"bytes left over", 14, 1, "abc", "short-field", "Kernel::KernelLaunch::a"},
	};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(cases); i++) {
		struct mp_fwk_op_range record = plain_record();
		struct flat_events events;
		struct mp_store *store;
		struct built b;
		struct mp_buf body;
		bool found = false;
		uint16_t type = 0;
		uint32_t len;

		built_init(&b);
		add_last(&b); /* two good records: more than half of those that decide the form */
		mp_buf_init(&body, 1 << 20);
		record.thread_id = 99;
		mp_buf_add(&body, &record, sizeof(record));
		add_field(&body, cases[i].type, cases[i].claimed, cases[i].text, strlen(cases[i].text));
		len = (uint32_t)body.len;
		mp_buf_add(&b.bytes, &type, sizeof(type));
		mp_buf_add(&b.bytes, &len, sizeof(len));
		mp_buf_add(&b.bytes, body.data, body.len);
		mp_buf_release(&body);
		store = built_read(&b);
		events = flat_of_store(store, 1);
		for (size_t k = 0; k < events.len; k++)
			found |= events.at[k].tid == 99 && strcmp(events.at[k].name, cases[i].name) == 0;
		if (!found || events.len != 3 || mp_store_n_notes(store) != (*cases[i].code ? 2 : 1)) {
			print_notes(store);
			fail_msg("%s", cases[i].what);
		}
		flat_release(&events);
		mp_store_free(store);
	}
}

/* A field twice: the last one wins. A name of 100000 bytes is kept. Many faults of one kind: one note. */
static void test_long_and_many(void **state)
{
	struct mp_note note;
	struct mp_store *store;
	struct built b;
	char *name = mp_malloc(100001);

	(void)state;
	memset(name, 'x', 100000);
	name[100000] = '\0';
	built_init(&b);
	add_record(&b.bytes, &b.record, "Long", name);
	b.record.start_tick = 0;
	for (int i = 0; i < 1000; i++)
		add_record(&b.bytes, &b.record, "Odd", "Odd");
	store = built_read(&b);
	assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), 2);
	assert_int_equal(mp_store_n_notes(store), 2);
	assert_int_equal(notes_of(store, "no-start", &note), 1);
	assert_non_null(strstr(mp_store_text(store, note.text).text, "1000 times"));
	mp_store_free(store);
	mp_free(name);
}

/* Many chunks and windows, on a pool and without: the same events. */
static void test_parallel_equals_serial(void **state)
{
	struct mp_pool *pool = NULL;
	struct flat_events lists[2];
	struct built b;
	char name[64];

	(void)state;
	built_init(&b);
	for (int i = 0; b.bytes.len < 20 << 20; i++) { /* more than one window of 16 MiB */
		b.record.thread_id = (uint64_t)(i % 5);
		b.record.start_tick = 1000 + (uint64_t)i * 7;
		b.record.end_tick = b.record.start_tick + 3;
		snprintf(name, sizeof(name), "Default/Op%d-op%d", i % 3000, i % 7);
		add_record(&b.bytes, &b.record, "Op", name);
	}
	put_file(OP_RANGE, b.bytes.data, b.bytes.len);
	assert_int_equal(mp_pool_new(3, &pool, NULL), MINDPROF_OK);
	for (int i = 0; i < 2; i++) {
		struct mp_store *store = read_with(&mp_reader_op_range, scratch, NULL, i ? pool : NULL, NULL);

		lists[i] = flat_of_store(store, 1);
		flat_sort(&lists[i]);
		mp_store_free(store);
	}
	assert_int_equal(lists[0].len, lists[1].len);
	assert_true(lists[0].len > 100000);
	for (size_t i = 0; i < lists[0].len; i++)
		assert_int_equal(flat_compare(&lists[0].at[i], &lists[1].at[i]), 0);
	flat_release(&lists[0]);
	flat_release(&lists[1]);
	mp_pool_free(pool);
	mp_buf_release(&b.bytes);
}

static void test_truncation(void **state)
{
	struct mp_file file;
	uint64_t seed = 7;

	(void)state;
	assert_int_equal(mp_file_open(CASES NATIVE_PYNATIVE "/" OP_RANGE, &file, NULL), MINDPROF_OK);
	for (int i = 0; i < 50; i++) {
		size_t cut, at = 0, n = 0;
		struct mp_store *store;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		cut = (seed >> 33) % file.size;
		for (uint32_t len; at + 6 <= cut; at += 6 + len, n++) {
			memcpy(&len, file.data + at + 2, sizeof(len));
			if (at + 6 + len > cut)
				break;
		}
		put_file(OP_RANGE, file.data, cut);
		store = read_with(&mp_reader_op_range, scratch, NULL, NULL, NULL);
		assert_int_equal(notes_of(store, "truncated", NULL), at != cut);
		/* each whole record is a range or a flow mark; flows have at most as many ends */
		assert_in_range(n, mp_store_n_events(store, MP_KIND_RANGE),
				mp_store_n_events(store, MP_KIND_RANGE) +
					mp_store_n_events(store, MP_KIND_FLOW));
		mp_store_free(store);
	}
	mp_file_close(&file);
}

static void test_rubbish(void **state)
{
	char bytes[4096];
	uint64_t seed = 99;

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct mp_store *store;

		for (size_t k = 0; k < sizeof(bytes); k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			bytes[k] =
				(char)(i % 2 && k % 6 > 2 ? 0
							  : seed >> 56); /* half of them with small lengths */
		}
		put_file(OP_RANGE, bytes, sizeof(bytes));
		store = read_with(&mp_reader_op_range, scratch, NULL, NULL, NULL);
		assert_true(mp_store_n_notes(store) >= 2);
		assert_true(mp_store_n_notes(store) <= 2 + 8);
		mp_store_free(store);
	}
}

static void test_out_of_memory(void **state)
{
	(void)state;
	read_without_memory(&mp_reader_op_range, CASES NATIVE_GRAPH, 602, 1);
}

static void test_recognise(void **state)
{
	struct mp_source source = {0};
	struct mp_dir dir;

	(void)state;
	assert_int_equal(mp_dir_open(CASES NATIVE_GRAPH, &dir, NULL), MINDPROF_OK);
	source.dir = &dir;
	assert_int_equal(mp_reader_op_range.recognise(&source), 90);
	source.name = "profiler_info_0.json";
	assert_int_equal(mp_reader_op_range.recognise(&source), 0);
	mp_dir_close(&dir);
	assert_int_equal(mp_dir_open(CASES "/handmade", &dir, NULL), MINDPROF_OK);
	source.name = "op_range_0";
	assert_int_equal(mp_reader_op_range.recognise(&source), 90);
	mp_dir_close(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record_of_4_gib),
		cmocka_unit_test(test_handmade_27),
		cmocka_unit_test(test_handmade_truncated),
		cmocka_unit_test(test_handmade_23),
		cmocka_unit_test(test_native_graph),
		cmocka_unit_test(test_native_pynative),
		cmocka_unit_test(test_calibrated_times),
		cmocka_unit_test(test_classes_and_steps),
		cmocka_unit_test(test_quirks),
		cmocka_unit_test(test_form_74),
		cmocka_unit_test(test_field_lies),
		cmocka_unit_test(test_unix_ns_is_kept),
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_length_lies),
		cmocka_unit_test(test_field_list_lies),
		cmocka_unit_test(test_long_and_many),
		cmocka_unit_test(test_parallel_equals_serial),
		cmocka_unit_test(test_truncation),
		cmocka_unit_test(test_rubbish),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_recognise),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
