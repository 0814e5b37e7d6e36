/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes of the portable trace: no two slices of a lane overlap without nesting, nested ranges stay in
 * one lane, and memory does not grow with them. Checked by a second, simple method on the output.
 */
#include "test_wr_trace_event_helpers.h"

struct item {
	int64_t begin, end;
};
typedef MP_VEC(struct item) items;

static void add(items *list, int64_t begin, int64_t end)
{
	assert_true(mp_vec_push(list, (struct item){begin, end}));
}

/* A block of ranges of track 0, lent from static memory. */
static const struct mp_block *block_of(const struct item *at, size_t n)
{
	static int64_t ts[MP_BLOCK_EVENTS], dur[MP_BLOCK_EVENTS];
	static uint32_t zeros[MP_BLOCK_EVENTS];
	static uint8_t cls[MP_BLOCK_EVENTS];
	static struct mp_block block;

	block = (struct mp_block){.kind = MP_KIND_RANGE,
				  .n = (uint32_t)n,
				  .cap = MP_BLOCK_EVENTS,
				  .ts_ns = ts,
				  .a = dur,
				  .track = zeros,
				  .name = zeros,
				  .detail = zeros,
				  .cls = cls};
	for (size_t i = 0; i < n; i++) {
		ts[i] = at[i].begin;
		dur[i] = at[i].end - at[i].begin;
	}
	return &block;
}

static struct mp_store *one_track(void)
{
	struct mp_store *store = new_store();

	add_track(store, add_process(store, 1, "p"), 1, "", MP_TRACK_THREAD);
	return store;
}

static mp_status pass(struct mp_trace_writer *writer, const struct mp_store *store, const items *list,
		      bool writing)
{
	enum { STEP = 1000 };

	for (size_t i = 0; i < list->len; i += STEP) {
		const struct mp_block *block = block_of(&list->at[i], MP_MIN(list->len - i, (size_t)STEP));

		MP_TRY(writing ? mp_trace_writer_block(writer, store, block, NULL)
			       : mp_trace_writer_plan(writer, block, NULL));
	}
	return MINDPROF_OK;
}

/* Writes `list` as planned with it, the last pass with `last`. */
static mp_status write_items(const items *list, const items *last, struct mp_out *out, unsigned *n_passes)
{
	struct mp_store *store = one_track();
	struct mp_trace_writer *writer;
	mp_status status;

	*n_passes = 0;
	assert_int_equal(mp_trace_writer_new(MP_FLAVOUR_PORTABLE, &writer, NULL), MINDPROF_OK);
	do {
		status = pass(writer, store, list, false);
		assert_int_equal(status, MINDPROF_OK);
		++*n_passes;
	} while (mp_trace_writer_plan_again(writer));
	status = mp_trace_writer_begin(writer, store, out, NULL);
	if (!status)
		status = pass(writer, store, last, true);
	if (!status)
		status = mp_trace_writer_end(writer, NULL);
	mp_trace_writer_free(writer);
	mp_store_free(store);
	return status;
}

static int by_both(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

/* Every item is there once and the lanes are right; returns their number. Sorts the items. */
static size_t check_items(const struct trace_text *text, items *list)
{
	slices all = slices_of(text);
	items seen = {0};
	size_t n_lanes = check_lanes(&all);
	int64_t base = INT64_MAX;

	assert_int_equal(all.len, list->len);
	for (size_t i = 0; i < list->len; i++)
		base = MP_MIN(base, list->at[i].begin);
	for (size_t i = 0; i < all.len; i++)
		add(&seen, base + (int64_t)all.at[i].begin, base + (int64_t)all.at[i].end);
	qsort(seen.at, seen.len, sizeof(*seen.at), by_both);
	qsort(list->at, list->len, sizeof(*list->at), by_both);
	assert_memory_equal(seen.at, list->at, list->len * sizeof(*list->at));
	mp_vec_release(&seen);
	mp_vec_release(&all);
	return n_lanes;
}

/* Writes, checks and releases the items; returns the number of lanes. */
static size_t lanes_of(items *list, unsigned wanted_passes)
{
	struct mp_out out = open_nameless();
	struct trace_text text;
	unsigned n_passes;
	size_t n_lanes;

	assert_int_equal(write_items(list, list, &out, &n_passes), MINDPROF_OK);
	text = trace_text_of(&out);
	if (wanted_passes)
		assert_int_equal(n_passes, wanted_passes);
	assert_int_equal(times(&text, "\"events_not_planned\":0}"), 1);
	n_lanes = check_items(&text, list);
	/* Each lane has a name, and no name stands for nothing. */
	assert_int_equal(times(&text, "\"name\":\"thread_name\""), MP_MAX(n_lanes, (size_t)1));
	free(text.data);
	mp_vec_release(list);
	return n_lanes;
}

/* ---- small cases ---- */

static void test_small(void **state)
{
	items list = {0};

	(void)state;
	/* Touching, nested, equal, empty at borders: all in one lane. In order of ends, inner ones first. */
	add(&list, 0, 10);
	add(&list, 10, 10);
	add(&list, 10, 20);
	add(&list, 10, 20);
	add(&list, 20, 20);
	add(&list, 25, 25);
	add(&list, 21, 30);
	add(&list, 0, 30);
	add(&list, 0, 30);
	assert_int_equal(lanes_of(&list, 1), 1);

	/* A partial overlap by one nanosecond. */
	add(&list, 0, 10);
	add(&list, 9, 20);
	assert_int_equal(lanes_of(&list, 2), 2);

	/* Parents before children is another order, but all nests. */
	add(&list, 0, 30);
	add(&list, 0, 10);
	add(&list, 5, 6);
	assert_int_equal(lanes_of(&list, 2), 1);

	/* Two ends at one time, the inner range later: fine as well. */
	add(&list, 0, 10);
	add(&list, 5, 10);
	assert_int_equal(lanes_of(&list, 0), 1);

	/* But not when it cuts a third one. */
	add(&list, 3, 6);
	add(&list, 0, 10);
	add(&list, 5, 10);
	assert_int_equal(lanes_of(&list, 2), 2);
}

/* Staggered ranges need a lane each; later ones take free lanes. */
static void test_many_lanes(void **state)
{
	items list = {0};

	(void)state;
	for (int64_t i = 0; i < 300; i++)
		add(&list, i, 1000 + i);
	assert_int_equal(lanes_of(&list, 2), 300);
	for (int64_t round = 0; round < 5; round++)
		for (int64_t i = 0; i < 40; i++)
			add(&list, round * 5000 + i, round * 5000 + 1000 + i);
	assert_int_equal(lanes_of(&list, 2), 40);
}

/* ---- ranges whose begin lies among old siblings ---- */

/* n siblings, then one that contains those from number `from` on, in order of ends. */
static void add_family(items *list, int64_t n, int64_t from, int64_t reach)
{
	for (int64_t i = 0; i < n; i++)
		add(list, 100 * i, 100 * i + 60 + (i == from - 1 ? reach : 0));
	add(list, 100 * from - 10, 100 * n);
}

static void test_late_parents(void **state)
{
	items list = {0};

	(void)state;
	for (int64_t n = 100; n <= 100000; n *= 10) {
		for (int64_t from = 1; from < n; from = from * 7 + 3) {
			add_family(&list, n, from, 0);
			assert_int_equal(lanes_of(&list, 1), 1);
			/* The sibling before reaches 5 ns into the parent. */
			add_family(&list, n, from, 35);
			assert_int_equal(lanes_of(&list, 0), 2);
		}
	}
}

/* Parents of parents, all of which begin among old siblings; every third one is cut by a sibling. */
static void test_nested_late_parents(void **state)
{
	items list = {0};
	const int64_t n = 20000, n_parents = 40;

	(void)state;
	for (int cut = 0; cut < 2; cut++) {
		for (int64_t i = 0; i < n; i++) {
			bool reaches = cut && i % 300 == 99 && i < 100 * n_parents;

			add(&list, 100 * i, 100 * i + (reaches ? 95 : 60));
		}
		for (int64_t p = n_parents; p > 0; p--)
			add(&list, 100 * 100 * p - 10, 100 * n + 10 * (n_parents - p));
		assert_int_equal(lanes_of(&list, 1), 1 + cut);
	}
}

/* ---- random threads ---- */

static uint64_t random_state = 88172645463325252u;

static uint64_t random_below(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % n;
}

/* A thread that opens and closes ranges at random, deeper than `depth` never; ranges appear when they end. */
static void add_thread(items *list, size_t n, size_t depth)
{
	int64_t open[64], now = 0;
	size_t n_open = 0;

	while (list->len < n || n_open) {
		now += (int64_t)random_below(4);
		if (list->len < n && n_open < depth && random_below(100) < 50) {
			open[n_open++] = now;
		} else if (n_open && (n_open == depth || random_below(100) < (list->len < n ? 40u : 100u))) {
			n_open--;
			add(list, open[n_open], now);
		}
	}
}

static void test_random_threads(void **state)
{
	items list = {0};

	(void)state;
	for (int round = 0; round < 60; round++) {
		add_thread(&list, 200 + random_below(20000), 1 + random_below(round % 2 ? 3 : 60));
		assert_int_equal(lanes_of(&list, 1), 1);
	}
}

static int by_end(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	return a->end < b->end ? -1 : a->end > b->end;
}

/* The same with some ends moved, so that anything may overlap, in order of ends. */
static void test_random_overlaps(void **state)
{
	items list = {0};

	(void)state;
	for (int round = 0; round < 60; round++) {
		add_thread(&list, 200 + random_below(10000), 1 + random_below(8));
		for (uint64_t i = 1 + random_below(round % 3 ? 5 : 1000); i > 0; i--)
			list.at[random_below(list.len)].end += (int64_t)random_below(1 + 50 * i);
		qsort(list.at, list.len, sizeof(*list.at), by_end);
		lanes_of(&list, 0);
	}
}

/* The same in no order at all. */
static void test_random_order(void **state)
{
	items list = {0};

	(void)state;
	for (int round = 0; round < 30; round++) {
		add_thread(&list, 200 + random_below(5000), 1 + random_below(8));
		for (size_t i = list.len - 1; i > 0; i--) {
			size_t other = random_below(i + 1);
			struct item item = list.at[i];

			list.at[i] = list.at[other];
			list.at[other] = item;
		}
		/* It nests, whatever the order. */
		assert_int_equal(lanes_of(&list, 0), 1);
	}
}

/* ---- order of the passes ---- */

/* A range in doubt is decided by those before it, so that another order must be refused. */
static void test_other_order(void **state)
{
	items list = {0}, other = {0};
	struct mp_out out = open_nameless();
	unsigned n_passes;
	int fd = out.fd;

	(void)state;
	add_family(&list, 10000, 1000, 0);
	add_family(&other, 10000, 1000, 0);
	other.at[0] = list.at[10];
	other.at[10] = list.at[0];
	assert_int_equal(write_items(&list, &other, &out, &n_passes), MINDPROF_E_STATE);
	mp_out_abort(&out);
	assert_int_equal(mp_out_open_fd(fd, "trace", &out, NULL), MINDPROF_OK);
	other.len = 0;
	assert_int_equal(write_items(&list, &other, &out, &n_passes), MINDPROF_E_STATE);
	mp_out_abort(&out);
	close(fd);
	mp_vec_release(&list);
	mp_vec_release(&other);
}

/* Overlapping ranges are known by their times, so their order may change. */
static void test_collected_order(void **state)
{
	items list = {0}, other = {0};
	struct mp_out out = open_nameless();
	struct trace_text text;
	unsigned n_passes;

	(void)state;
	for (int64_t i = 0; i < 1000; i++)
		add(&list, i / 4 * 10, i / 4 * 10 + 15);
	for (size_t i = list.len; i-- > 0;)
		add(&other, list.at[i].begin, list.at[i].end);
	assert_int_equal(write_items(&list, &other, &out, &n_passes), MINDPROF_OK);
	text = trace_text_of(&out);
	assert_int_equal(check_items(&text, &list), 2);
	free(text.data);
	mp_vec_release(&list);
	mp_vec_release(&other);
}

/* ---- memory ---- */

/* Allocations of writing n ranges in groups below one parent that begins late. */
static uint64_t allocations(int64_t n)
{
	items list = {0};
	struct mp_out out;
	struct trace_text text;
	unsigned n_passes;
	uint64_t made;

	for (int64_t i = 0; i < n; i++)
		add(&list, i % 10 == 9 ? 100 * (i - 9) - 1 : 100 * i,
		    i % 10 == 9 ? 100 * i + 70 : 100 * i + 60);
	add(&list, 100 * (n / 2) - 20, 100 * n);
	out = open_nameless();
	mp_mem_fail_after(UINT64_MAX);
	assert_int_equal(write_items(&list, &list, &out, &n_passes), MINDPROF_OK);
	made = mp_mem_fail_after(UINT64_MAX);
	text = trace_text_of(&out);
	assert_int_equal(check_items(&text, &list), 1);
	free(text.data);
	mp_vec_release(&list);
	return made;
}

static void test_flat_memory(void **state)
{
	uint64_t small, large;

	(void)state;
	small = allocations(20000);
	large = allocations(400000);
	/* Doubts (one here per 256 groups at most) may make a list grow by doubling. */
	assert_in_range(large, 1, small + 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),           cmocka_unit_test(test_many_lanes),
		cmocka_unit_test(test_late_parents),    cmocka_unit_test(test_nested_late_parents),
		cmocka_unit_test(test_random_threads),  cmocka_unit_test(test_random_overlaps),
		cmocka_unit_test(test_random_order),    cmocka_unit_test(test_other_order),
		cmocka_unit_test(test_collected_order), cmocka_unit_test(test_flat_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
