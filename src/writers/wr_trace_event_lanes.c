/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes of ranges that overlap: each range goes to the first lane in which it is disjoint from or
 * nested in everything. Input: the intervals of one track. Output: a lane number for each.
 */
#include "writers/wr_trace_event.h"

#include "base/banned.h"

/* In these lanes ranges may nest; further lanes hold one range at a time, so that the search stays cheap. */
#define NESTING_LANES 16u

/* Parents before children. */
static int compare(const void *left, const void *right)
{
	const struct mp_lane_interval *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return 0;
}

void mp_lane_intervals_sort(mp_lane_intervals *intervals)
{
	size_t i;

	for (i = 1; i < intervals->len; i++) {
		if (compare(&intervals->at[i - 1], &intervals->at[i]) > 0)
			break;
	}
	if (i < intervals->len)
		qsort(intervals->at, intervals->len, sizeof(*intervals->at), compare);
}

/* Ends of the ranges that are open in one lane, outermost first. */
typedef MP_VEC(int64_t) open_ends;

/* A lane without nesting, in a heap with the earliest end on top. */
struct single_lane {
	int64_t end;
	uint32_t lane;
};
typedef MP_VEC(struct single_lane) single_lanes;

static bool before(const struct single_lane *a, const struct single_lane *b)
{
	return a->end != b->end ? a->end < b->end : a->lane < b->lane;
}

static void sift_down(single_lanes *heap)
{
	struct single_lane moved = heap->at[0];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= heap->len)
			break;
		if (child + 1 < heap->len && before(&heap->at[child + 1], &heap->at[child]))
			child++;
		if (!before(&heap->at[child], &moved))
			break;
		heap->at[i] = heap->at[child];
		i = child;
	}
	heap->at[i] = moved;
}

static bool heap_push(single_lanes *heap, struct single_lane lane)
{
	size_t i;

	if (!mp_vec_push(heap, lane))
		return false;
	for (i = heap->len - 1; i > 0 && before(&lane, &heap->at[(i - 1) / 2]); i = (i - 1) / 2)
		heap->at[i] = heap->at[(i - 1) / 2];
	heap->at[i] = lane;
	return true;
}

/* 1 = taken, 0 = does not fit, -1 = memory is out. */
static int try_lane(open_ends *open, const struct mp_lane_interval *interval)
{
	while (open->len && open->at[open->len - 1] <= interval->begin)
		open->len--;
	if (open->len && open->at[open->len - 1] < interval->end)
		return 0;
	return mp_vec_push(open, interval->end) ? 1 : -1;
}

/* The lane of one interval, or MP_LANE_NONE when memory is out. */
static uint32_t take_lane(open_ends *open, single_lanes *singles, const struct mp_lane_interval *interval)
{
	struct single_lane fresh = {.end = interval->end, .lane = NESTING_LANES + (uint32_t)singles->len};
	uint32_t lane;

	for (lane = 0; lane < NESTING_LANES; lane++) {
		int taken = try_lane(&open[lane], interval);

		if (taken)
			return taken > 0 ? lane : MP_LANE_NONE;
	}
	if (singles->len && singles->at[0].end <= interval->begin) {
		lane = singles->at[0].lane;
		singles->at[0].end = interval->end;
		sift_down(singles);
		return lane;
	}
	return heap_push(singles, fresh) ? fresh.lane : MP_LANE_NONE;
}

mp_status mp_lane_assign(mp_lane_intervals *intervals, uint32_t *n_lanes, mp_err *err)
{
	open_ends open[NESTING_LANES] = {{0}};
	single_lanes singles = {0};
	mp_status status = MINDPROF_OK;
	uint32_t n = 1;

	for (size_t i = 0; i < intervals->len; i++) {
		uint32_t lane = take_lane(open, &singles, &intervals->at[i]);

		if (lane == MP_LANE_NONE) {
			status = mp_err_nomem(err, singles.cap * sizeof(*singles.at));
			break;
		}
		intervals->at[i].lane = lane;
		n = MP_MAX(n, lane + 1);
	}
	*n_lanes = n;
	for (unsigned i = 0; i < NESTING_LANES; i++)
		mp_vec_release(&open[i]);
	mp_vec_release(&singles);
	return status;
}

static bool equal(const struct mp_lane_interval *interval, int64_t begin, int64_t end)
{
	return interval->begin == begin && interval->end == end;
}

/* Place of the first interval that is not before [begin, end]. */
static size_t lower_bound(const mp_lane_intervals *intervals, int64_t begin, int64_t end)
{
	struct mp_lane_interval wanted = {.begin = begin, .end = end};
	size_t low = 0, high = intervals->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&intervals->at[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct mp_lane_interval *mp_lane_find(mp_lane_intervals *intervals, size_t *hint, int64_t begin,
					    int64_t end)
{
	size_t first = *hint, at;

	if (first >= intervals->len || !equal(&intervals->at[first], begin, end) ||
	    (first > 0 && equal(&intervals->at[first - 1], begin, end)))
		first = lower_bound(intervals, begin, end);
	if (first >= intervals->len || !equal(&intervals->at[first], begin, end))
		return NULL;
	at = first + intervals->at[first].taken;
	if (at >= intervals->len || !equal(&intervals->at[at], begin, end))
		return NULL;
	intervals->at[first].taken++;
	*hint = at + 1;
	return &intervals->at[at];
}
