/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranges of a track fit into one lane, in memory that does not grow with the ranges as long
 * as they arrive in order of their ends and nest. Input: the ranges of one track, once per pass.
 * Output: lanes. The method is told at enum mp_plan_state.
 */
#include "writers/wr_trace_event.h"

#include "base/banned.h"

/* Finished ranges that are told apart; the newest half is never merged. */
#define SIBLINGS_MAX 512u

/* What is known of a doubt while writing. */
enum doubt { DOUBT_OPEN, DOUBT_STRADDLED, DOUBT_WRITTEN };

/* ---------------------------------------------------------------- planning */

/* Merges old siblings over small gaps until a quarter of the room is free: a parent begins in a large gap. */
static void merge_siblings(struct mp_track_plan *plan)
{
	struct mp_sibling *at = plan->siblings.at;
	size_t recent = plan->siblings.len - SIBLINGS_MAX / 2, n_old = recent, limit = n_old / 2;
	uint64_t gap;

	for (gap = 64; n_old > limit; gap = gap > UINT64_MAX / 4 ? UINT64_MAX : gap * 4) {
		size_t kept = 0;

		for (size_t i = 1; i < n_old; i++) {
			if ((uint64_t)at[i].begin - (uint64_t)at[kept].end > gap) {
				at[++kept] = at[i];
				continue;
			}
			at[kept].end = at[i].end;
			at[kept].merged = true;
			at[kept].unsure = at[i].unsure;
		}
		n_old = kept + 1;
	}
	memmove(&at[n_old], &at[recent], (plan->siblings.len - recent) * sizeof(*at));
	plan->siblings.len = n_old + plan->siblings.len - recent;
}

/* What the range means for the siblings before it. */
enum fit { FIT_NESTS, FIT_DOUBT, FIT_OVERLAPS };

static enum fit fit_range(struct mp_track_plan *plan, int64_t begin)
{
	struct mp_sibling *top;

	while (plan->siblings.len && plan->siblings.at[plan->siblings.len - 1].begin >= begin)
		plan->siblings.len--;
	if (!plan->siblings.len)
		return FIT_NESTS;
	top = &plan->siblings.at[plan->siblings.len - 1];
	if (top->end < begin || (top->end == begin && !top->unsure))
		return FIT_NESTS;
	if (!top->merged)
		return FIT_OVERLAPS;
	top->end = begin;
	top->unsure = true;
	return FIT_DOUBT;
}

static mp_status plan_nesting(struct mp_track_plan *plan, int64_t begin, int64_t end, mp_err *err)
{
	struct mp_lane_interval doubt = {.begin = begin, .end = end};
	struct mp_sibling sibling = {.begin = begin, .end = end};
	enum fit fit = FIT_OVERLAPS;

	plan->n_ranges++;
	if (!plan->begun || end >= plan->end_ns)
		fit = fit_range(plan, begin);
	if (fit == FIT_OVERLAPS) {
		plan->state = MP_PLAN_COLLECT;
		mp_vec_release(&plan->siblings);
		mp_vec_release(&plan->doubts);
		return MINDPROF_OK;
	}
	plan->begun = true;
	plan->end_ns = end;
	if (fit == FIT_DOUBT && (plan->doubts.len >= MP_LANE_NONE || !mp_vec_push(&plan->doubts, doubt)))
		return mp_err_nomem(err, plan->doubts.cap * sizeof(doubt));
	if (plan->siblings.len == SIBLINGS_MAX)
		merge_siblings(plan);
	if (!mp_vec_push(&plan->siblings, sibling))
		return mp_err_nomem(err, plan->siblings.cap * sizeof(sibling));
	return MINDPROF_OK;
}

mp_status mp_track_plan_range(struct mp_track_plan *plan, int64_t begin, int64_t end, mp_err *err)
{
	struct mp_lane_interval interval = {.begin = begin, .end = end};

	if (plan->state == MP_PLAN_NESTS)
		return plan_nesting(plan, begin, end, err);
	if (plan->state == MP_PLAN_LANES && !mp_vec_push(&plan->intervals, interval))
		return mp_err_nomem(err, plan->intervals.cap * sizeof(interval));
	return MINDPROF_OK;
}

bool mp_track_plan_pass_done(struct mp_track_plan *plan)
{
	if (plan->state != MP_PLAN_COLLECT)
		return false;
	plan->state = MP_PLAN_LANES;
	return true;
}

mp_status mp_track_plan_finish(struct mp_track_plan *plan, mp_err *err)
{
	mp_vec_release(&plan->siblings);
	plan->n_lanes = 1;
	if (plan->state == MP_PLAN_LANES) {
		mp_lane_intervals_sort(&plan->intervals);
		return mp_lane_assign(&plan->intervals, &plan->n_lanes, err);
	}
	return MINDPROF_OK;
}

void mp_track_plan_release(struct mp_track_plan *plan)
{
	mp_vec_release(&plan->siblings);
	mp_vec_release(&plan->doubts);
	mp_vec_release(&plan->intervals);
}

/* ---------------------------------------------------------------- writing */

/* Sorts the doubts, gives them lanes as if all of them had to leave their own, and keeps the order of
 * arrival. */
mp_status mp_track_cursor_init(struct mp_track_cursor *cursor, struct mp_track_plan *plan, mp_err *err)
{
	size_t n = plan->doubts.len, hint = 0;
	struct mp_lane_interval *arrived;
	mp_status status;

	if (plan->state != MP_PLAN_NESTS || !n)
		return MINDPROF_OK;
	arrived = mp_realloc_array(NULL, n, sizeof(*arrived));
	cursor->arrival = mp_realloc_array(NULL, n, sizeof(*cursor->arrival));
	cursor->decided = mp_calloc(n, sizeof(*cursor->decided));
	if (!arrived || !cursor->arrival || !cursor->decided) {
		mp_free(arrived);
		return mp_err_nomem(err, n * sizeof(*arrived));
	}
	memcpy(arrived, plan->doubts.at, n * sizeof(*arrived));
	mp_lane_intervals_sort(&plan->doubts);
	status = mp_lane_assign(&plan->doubts, &plan->n_lanes, err);
	plan->n_lanes++;
	for (size_t i = 0; i < n; i++) {
		const struct mp_lane_interval *found =
			mp_lane_find(&plan->doubts, &hint, arrived[i].begin, arrived[i].end);

		cursor->arrival[i] = (uint32_t)(found - plan->doubts.at);
	}
	mp_free(arrived);
	return status;
}

/* The lane when the range is the doubt that arrives next, else the track's own. */
static uint32_t lane_of_doubt(struct mp_track_cursor *cursor, const struct mp_track_plan *plan, int64_t begin,
			      int64_t end)
{
	const struct mp_lane_interval *doubt;
	uint32_t place;
	bool straddled;

	if (cursor->n_arrived == plan->doubts.len)
		return 0;
	place = cursor->arrival[cursor->n_arrived];
	doubt = &plan->doubts.at[place];
	if (doubt->begin != begin || doubt->end != end)
		return 0;
	cursor->n_arrived++;
	straddled = cursor->decided[place] == DOUBT_STRADDLED;
	cursor->decided[place] = DOUBT_WRITTEN;
	return straddled ? doubt->lane + 1 : 0;
}

/* Marks the doubts over whose begin the range reaches, and that do not contain it. */
static mp_status straddle(struct mp_track_cursor *cursor, const struct mp_track_plan *plan, int64_t begin,
			  int64_t end, mp_err *err)
{
	const struct mp_lane_interval *doubts = plan->doubts.at;
	size_t i;

	for (; cursor->n_begun < plan->doubts.len && doubts[cursor->n_begun].begin < end; cursor->n_begun++) {
		if (!mp_vec_push(&cursor->open, (uint32_t)cursor->n_begun))
			return mp_err_nomem(err, cursor->open.cap * sizeof(*cursor->open.at));
	}
	while (cursor->open.len && cursor->decided[cursor->open.at[cursor->open.len - 1]] != DOUBT_OPEN)
		cursor->open.len--;
	for (i = cursor->open.len; i > 0 && doubts[cursor->open.at[i - 1]].begin > begin; i--) {
		uint32_t place = cursor->open.at[i - 1];

		if (cursor->decided[place] == DOUBT_OPEN && doubts[place].end > end)
			cursor->decided[place] = DOUBT_STRADDLED;
	}
	return MINDPROF_OK;
}

mp_status mp_track_cursor_lane(struct mp_track_cursor *cursor, struct mp_track_plan *plan, int64_t begin,
			       int64_t end, uint32_t *lane, mp_err *err)
{
	if (plan->state == MP_PLAN_LANES) {
		const struct mp_lane_interval *found =
			mp_lane_find(&plan->intervals, &cursor->hint, begin, end);

		*lane = found ? found->lane : MP_LANE_NONE;
		return MINDPROF_OK;
	}
	*lane = 0;
	if (!plan->doubts.len)
		return MINDPROF_OK;
	if (cursor->begun && end < cursor->end_ns)
		return mp_err_set(err, MINDPROF_E_STATE, NULL, -1,
				  "the ranges of a track came in another order than when they were planned");
	cursor->begun = true;
	cursor->end_ns = end;
	*lane = lane_of_doubt(cursor, plan, begin, end);
	return *lane ? MINDPROF_OK : straddle(cursor, plan, begin, end, err);
}

void mp_track_cursor_release(struct mp_track_cursor *cursor)
{
	mp_free(cursor->arrival);
	mp_free(cursor->decided);
	mp_vec_release(&cursor->open);
}
