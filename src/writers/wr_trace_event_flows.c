/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flow arrows: each end must lie in a range of its lane, and each arrow needs both ends; viewers
 * drop or misdraw the others. Flows are held until all ranges were seen. Input: FLOW blocks, then
 * the ranges. Output: which flows to write, and in which lane.
 */
#include "writers/wr_trace_event.h"

#include "base/banned.h"

#define ID_MAX ((UINT64_C(1) << 53) - 1) /* largest integer that every JSON reader keeps */

mp_status mp_flows_add(struct mp_flows *flows, const struct mp_block *block, mp_err *err)
{
	if (flows->flows.len + block->n >= UINT32_MAX || !mp_vec_reserve(&flows->flows, block->n))
		return mp_err_nomem(err, block->n * sizeof(*flows->flows.at));
	for (uint32_t i = 0; i < block->n; i++) {
		struct mp_flow flow = {
			.ts_ns = block->ts_ns[i],
			.id = (uint64_t)block->a[i],
			.track = block->track[i],
			.name = block->name[i],
			.lane = MP_LANE_NONE,
			.phase = block->cls[i],
		};

		if (flow.phase > MP_FLOW_END)
			continue;
		if (flow.id > ID_MAX)
			flows->renumber = true;
		flows->flows.at[flows->flows.len++] = flow;
	}
	return MINDPROF_OK;
}

static int by_place(const void *left, const void *right)
{
	const struct mp_flow *a = left, *b = right;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->ts_ns != b->ts_ns)
		return a->ts_ns < b->ts_ns ? -1 : 1;
	return 0;
}

static int by_id(const void *left, const void *right)
{
	const struct mp_flow *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->ts_ns != b->ts_ns)
		return a->ts_ns < b->ts_ns ? -1 : 1;
	if (a->phase != b->phase)
		return a->phase < b->phase ? -1 : 1;
	return a->track < b->track ? -1 : a->track > b->track;
}

mp_status mp_flows_sort(struct mp_flows *flows, size_t n_tracks, mp_err *err)
{
	uint32_t n = (uint32_t)flows->flows.len, at = 0;

	if (!n)
		return MINDPROF_OK;
	flows->next = mp_realloc_array(NULL, (size_t)n + 1, sizeof(*flows->next));
	flows->track_at = mp_realloc_array(NULL, n_tracks + 1, sizeof(*flows->track_at));
	if (!flows->next || !flows->track_at)
		return mp_err_nomem(err, n * sizeof(*flows->next));
	qsort(flows->flows.at, n, sizeof(*flows->flows.at), by_place);
	for (uint32_t i = 0; i <= n; i++)
		flows->next[i] = i;
	for (size_t track = 0; track <= n_tracks; track++) {
		while (at < n && flows->flows.at[at].track < track)
			at++;
		flows->track_at[track] = at;
	}
	flows->n_tracks = n_tracks;
	return MINDPROF_OK;
}

/* The first flow from `at` on that is not bound. */
static uint32_t unbound_from(uint32_t *next, uint32_t at)
{
	while (next[at] != at) {
		next[at] = next[next[at]];
		at = next[at];
	}
	return at;
}

void mp_flows_bind(struct mp_flows *flows, uint32_t track, int64_t begin, int64_t end, uint32_t lane)
{
	uint32_t low, high, stop;

	if (track >= flows->n_tracks)
		return;
	low = flows->track_at[track];
	high = stop = flows->track_at[track + 1];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (flows->flows.at[middle].ts_ns < begin)
			low = middle + 1;
		else
			high = middle;
	}
	for (low = unbound_from(flows->next, low); low < stop && flows->flows.at[low].ts_ns <= end;
	     low = unbound_from(flows->next, low)) {
		flows->flows.at[low].lane = lane;
		flows->next[low] = low + 1;
	}
}

/* Keeps the bound flows of one id that belong to an arrow with a begin and a later end. */
static size_t decide_id(struct mp_flow *at, size_t n)
{
	bool ends = false, begun = false;
	size_t left_out = 0;

	for (size_t i = n; i-- > 0;) {
		at[i].keep = at[i].lane != MP_LANE_NONE && (ends || at[i].phase == MP_FLOW_END);
		if (at[i].keep)
			ends = at[i].phase != MP_FLOW_BEGIN;
	}
	for (size_t i = 0; i < n; i++) {
		if (at[i].keep && at[i].phase == MP_FLOW_BEGIN)
			begun = true;
		at[i].keep = at[i].keep && begun;
		left_out += !at[i].keep;
	}
	return left_out;
}

uint64_t mp_flows_decide(struct mp_flows *flows)
{
	struct mp_flow *at = flows->flows.at;
	size_t n = flows->flows.len, begin, end;
	uint64_t left_out = 0;

	if (n)
		qsort(at, n, sizeof(*at), by_id);
	for (begin = 0; begin < n; begin = end) {
		for (end = begin + 1; end < n && at[end].id == at[begin].id; end++)
			;
		left_out += decide_id(&at[begin], end - begin);
	}
	return left_out;
}

void mp_flows_release(struct mp_flows *flows)
{
	mp_vec_release(&flows->flows);
	mp_free(flows->next);
	mp_free(flows->track_at);
	memset(flows, 0, sizeof(*flows));
}
