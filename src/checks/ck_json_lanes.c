/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events judged together, lane by lane: begins have ends, slices nest or stand apart, flows have
 * both ends and the later one belongs to a slice. Times are integer nanoseconds.
 */
#include <string.h>

#include "base/mem.h"
#include "checks/ck_json.h"

#include "base/banned.h"

uint32_t ck_lanes_find(struct ck_lanes *lanes, const char *pid, size_t pid_len, const char *tid,
		       size_t tid_len)
{
	uint64_t key = mp_hash_bytes(tid, tid_len, mp_hash_bytes(pid, pid_len, 1));
	uint64_t *found = mp_map64_lookup(&lanes->lanes, key);
	uint32_t n = (uint32_t)lanes->lanes.len;

	if (found)
		return (uint32_t)*found;
	return n < UINT32_MAX && mp_map64_put(&lanes->lanes, key, n) ? n : UINT32_MAX;
}

void ck_lanes_release(struct ck_lanes *lanes)
{
	mp_vec_release(&lanes->slices);
	mp_vec_release(&lanes->ends);
	mp_vec_release(&lanes->flow_ends);
	mp_vec_release(&lanes->flows);
	mp_map64_release(&lanes->lanes);
}

/* --- order */

static bool comes_before(const struct ck_item *a, const struct ck_item *b)
{
	if (a->lane != b->lane)
		return a->lane < b->lane;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns;
	return a->offset < b->offset;
}

static bool is_sorted(const struct ck_item *items, size_t n)
{
	size_t i;

	for (i = 1; i < n; i++)
		if (comes_before(&items[i], &items[i - 1]))
			return false;
	return true;
}

static void merge(const struct ck_item *from, struct ck_item *to, size_t n_left, size_t n)
{
	size_t left = 0, right = n_left, i;

	for (i = 0; i < n; i++) {
		if (right == n || (left < n_left && !comes_before(&from[right], &from[left])))
			to[i] = from[left++];
		else
			to[i] = from[right++];
	}
}

/* Bottom-up merge sort; false when memory is out. */
static bool sort_items(struct ck_item *items, size_t n)
{
	struct ck_item *other, *from = items, *to, *swap;
	size_t width, i;

	if (is_sorted(items, n))
		return true;
	other = mp_realloc_array(NULL, n, sizeof(*items));
	if (!other)
		return false;
	to = other;
	for (width = 1; width < n; width *= 2) {
		for (i = 0; i < n; i += 2 * width)
			merge(from + i, to + i, MP_MIN(width, n - i), MP_MIN(2 * width, n - i));
		swap = from;
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, n * sizeof(*items));
	mp_free(other);
	return true;
}

/* --- B and E */

/* Joins begins with ends into slices. The open begins are kept in `open`, an index stack. */
static bool join_lane(struct ck_lanes *lanes, size_t first, size_t last, size_t *open, bool complete,
		      struct mp_faults *faults)
{
	const struct ck_item *ends = lanes->ends.at;
	size_t n_open = 0, i;

	for (i = first; i < last; i++) {
		struct ck_item slice;

		if (ends[i].phase == 'B') {
			open[n_open++] = i;
			continue;
		}
		if (!n_open) {
			if (complete)
				mp_faults_add(faults, "unmatched-end", ends[i].offset,
					      "end (E) without a begin (B) before it");
			continue;
		}
		slice = ends[open[--n_open]];
		slice.end_ns = ends[i].begin_ns;
		slice.inexact |= ends[i].inexact;
		if (!mp_vec_push(&lanes->slices, slice))
			return false;
	}
	for (i = 0; i < n_open && complete; i++)
		mp_faults_add(faults, "unmatched-begin", ends[open[i]].offset,
			      "begin (B) without an end (E)");
	return true;
}

static bool join_ends(struct ck_lanes *lanes, bool complete, struct mp_faults *faults)
{
	size_t n = lanes->ends.len, first, last, *open;
	bool ok = true;

	if (!n)
		return true;
	open = mp_realloc_array(NULL, n, sizeof(*open));
	if (!open || !sort_items(lanes->ends.at, n)) {
		mp_free(open);
		return false;
	}
	for (first = 0; first < n && ok; first = last) {
		for (last = first; last < n && lanes->ends.at[last].lane == lanes->ends.at[first].lane;
		     last++)
			;
		ok = join_lane(lanes, first, last, open, complete, faults);
	}
	mp_free(open);
	return ok;
}

/* --- slices */

static void judge_nesting(const struct ck_item *slice, const struct ck_item *outer, struct mp_faults *faults)
{
	/* Both positive when the two cross each other. Rounding may make one nanosecond of nothing. */
	int64_t inside = outer->end_ns - slice->begin_ns, outside = slice->end_ns - outer->end_ns;
	int64_t allowed = slice->inexact || outer->inexact ? 1 : 0;

	if (inside > allowed && outside > allowed)
		mp_faults_add(faults, "partial-overlap", slice->offset,
			      "slice begins inside the one at byte %lld and ends %lld ns after it",
			      (long long)outer->offset, (long long)outside);
}

/* The open slices of the lane are a stack; the innermost one is the one that the next must fit into. */
static bool judge_slices(const struct ck_lanes *lanes, struct mp_faults *faults)
{
	const struct ck_item *slices = lanes->slices.at;
	size_t n = lanes->slices.len, depth = 0, i;
	MP_VEC(size_t) open = {0};

	for (i = 0; i < n; i++) {
		if (i && slices[i].lane != slices[i - 1].lane)
			depth = 0;
		while (depth && slices[open.at[depth - 1]].end_ns <= slices[i].begin_ns)
			depth--;
		if (depth)
			judge_nesting(&slices[i], &slices[open.at[depth - 1]], faults);
		open.len = depth;
		if (!mp_vec_push(&open, i))
			break;
		depth++;
	}
	mp_vec_release(&open);
	return i == n;
}

/* --- flows */

#define HAS_START 1u
#define HAS_END 2u
#define IS_REPORTED 4u

/* Every id has a start and an end; said once per id, at its first event. */
static bool judge_partners(const struct ck_lanes *lanes, struct mp_faults *faults)
{
	struct mp_map64 seen = {0};
	const struct ck_flow *flow = lanes->flows.at, *end = flow + lanes->flows.len;
	bool ok = true;
	uint64_t *has;

	for (; flow < end && ok; flow++) {
		uint64_t part = flow->phase == 's' ? HAS_START : flow->phase == 'f' ? HAS_END : 0;

		has = mp_map64_lookup(&seen, flow->key);
		if (has)
			*has |= part;
		else
			ok = mp_map64_put(&seen, flow->key, part);
	}
	for (flow = lanes->flows.at; flow < end && ok; flow++) {
		has = mp_map64_lookup(&seen, flow->key);
		if (*has & IS_REPORTED)
			continue;
		if (!(*has & HAS_START))
			mp_faults_add(faults, "flow-without-start", flow->offset,
				      "no start (s) with this category, name and id");
		if (!(*has & HAS_END))
			mp_faults_add(faults, "flow-without-end", flow->offset,
				      "no end (f) with this category, name and id");
		*has |= IS_REPORTED;
	}
	mp_map64_release(&seen);
	return ok;
}

/* Slices and flow ends are both in order of lane and time, so one walk over both finds what encloses what. */
static void judge_bindings(const struct ck_lanes *lanes, struct mp_faults *faults)
{
	const struct ck_item *slice = lanes->slices.at, *slices_end = slice + lanes->slices.len;
	const struct ck_item *flow = lanes->flow_ends.at, *flows_end = flow + lanes->flow_ends.len;
	int64_t latest_ns = INT64_MIN;
	const struct ck_item *next;

	for (; flow < flows_end; flow++) {
		if (flow > lanes->flow_ends.at && flow->lane != flow[-1].lane)
			latest_ns = INT64_MIN;
		for (; slice < slices_end && slice->lane < flow->lane; slice++)
			;
		for (; slice < slices_end && slice->lane == flow->lane && slice->begin_ns <= flow->begin_ns;
		     slice++)
			latest_ns = MP_MAX(latest_ns, slice->end_ns);
		if (!flow->next_slice) {
			if (latest_ns < flow->begin_ns)
				mp_faults_add(faults, "unbound-flow", flow->offset,
					      "no slice of this pid and tid encloses the end of the flow");
			continue;
		}
		next = slice > lanes->slices.at && slice[-1].lane == flow->lane &&
				       slice[-1].begin_ns == flow->begin_ns
			       ? slice - 1
			       : slice;
		if (next == slices_end || next->lane != flow->lane)
			mp_faults_add(faults, "unbound-flow", flow->offset,
				      "no slice of this pid and tid follows the end of the flow");
	}
}

void ck_lanes_judge(struct ck_lanes *lanes, bool complete, struct mp_faults *faults)
{
	bool ok = join_ends(lanes, complete, faults) && sort_items(lanes->slices.at, lanes->slices.len) &&
		  judge_slices(lanes, faults);

	if (ok && complete) {
		ok = judge_partners(lanes, faults) && sort_items(lanes->flow_ends.at, lanes->flow_ends.len);
		if (ok)
			judge_bindings(lanes, faults);
	}
	if (!ok)
		faults->no_memory = true;
}
