/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links between host and device: flows of the framework, marks that reach the device tool, kernels and
 * the launches that they come from. Input: run->host, run->device. Output: run->links and the parent
 * of device events (analysis-current.md section 7.4).
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "current/cur.h"

#include "base/banned.h"

/* ---- self: from the mark of a flow id to the event that ends it, if each is there once ---- */

#define SEVERAL UINT32_MAX

struct flow_ends {
	uint32_t begin, end;
}; /* index + 1 of the host event; 0 = none, SEVERAL */

static void count_end(uint32_t *end, size_t index)
{
	*end = *end ? SEVERAL : (uint32_t)index + 1;
}

static mp_status link_self(struct cur_run *run, mp_err *err)
{
	MP_VEC(struct flow_ends) flows = {0};
	struct mp_map64 by_id = {0};
	bool good = true;
	size_t i;

	for (i = 0; good && i < run->host.events.len; i++) {
		const struct cur_host_event *event = &run->host.events.at[i];
		const uint64_t *found;
		size_t at;

		if (event->flow_id == UINT64_MAX || (event->flags & (CUR_HOST_INSTANT | CUR_HOST_FLOW |
								     CUR_HOST_REVERSED)) == CUR_HOST_INSTANT)
			continue;
		found = mp_map64_lookup(&by_id, event->flow_id);
		at = found ? (size_t)*found : flows.len;
		if (!found)
			good = mp_map64_put(&by_id, event->flow_id, at) &&
			       mp_vec_push(&flows, (struct flow_ends){0});
		if (good)
			count_end(event->flags & CUR_HOST_FLOW ? &flows.at[at].begin : &flows.at[at].end, i);
	}
	for (i = 0; good && i < flows.len; i++) {
		struct flow_ends *at = &flows.at[i];

		if (at->begin && at->end && at->begin != SEVERAL && at->end != SEVERAL)
			good = mp_vec_push(&run->links.self,
					   (struct cur_self_flow){at->begin - 1, at->end - 1});
	}
	mp_map64_release(&by_id);
	mp_vec_release(&flows);
	return good ? MINDPROF_OK : mp_err_nomem(err, 0);
}

/* ---- lists by thread and time ---- */

struct item {
	int64_t tid, ts_ns;
	uint32_t index;
	uint32_t order; /* place of arrival: ties keep it */
};
typedef MP_VEC(struct item) items;

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static void sort_items(items *list)
{
	size_t i;

	for (i = 1; i < list->len; i++)
		if (compare_items(&list->at[i - 1], &list->at[i]) > 0)
			break;
	if (i < list->len)
		qsort(list->at, list->len, sizeof(*list->at), compare_items);
}

static bool add_item(items *list, int64_t tid, int64_t ts_ns, size_t index)
{
	return mp_vec_push(list, (struct item){tid, ts_ns, (uint32_t)index, (uint32_t)list->len});
}

/* The drawn ranges of the host that carry a flag. */
static bool host_items(const struct cur_run *run, uint32_t flag, items *out)
{
	size_t i;

	for (i = 0; i < run->host.events.len; i++) {
		const struct cur_host_event *event = &run->host.events.at[i];

		if (event->flags & flag && !(event->flags & (CUR_HOST_INSTANT | CUR_HOST_FLOW)) &&
		    !add_item(out, event->tid, event->ts_ns, i))
			return false;
	}
	sort_items(out);
	return true;
}

static int64_t host_end(const struct cur_run *run, uint32_t index)
{
	const struct cur_host_event *event = &run->host.events.at[index];

	return cur_add_ns(event->ts_ns, event->dur_ns);
}

/* The part of a sorted list with the thread of its item `from`. */
static size_t thread_end(const items *list, size_t from)
{
	size_t end = from;

	while (end < list->len && list->at[end].tid == list->at[from].tid)
		end++;
	return end;
}

/* Moves *from to the part of a thread and returns its end; empty when the thread is not there. */
static size_t find_thread(const items *list, size_t *from, int64_t tid)
{
	while (*from < list->len && list->at[*from].tid < tid)
		++*from;
	return *from < list->len && list->at[*from].tid == tid ? thread_end(list, *from) : *from;
}

/* ---- mstx ---- */

static bool python_items(const struct cur_run *run, items *out)
{
	size_t i;

	for (i = 0; i < run->device.events.len; i++) {
		const struct cur_device_event *event = &run->device.events.at[i];
		const struct cur_device_track *track = &run->device.tracks.at[event->track];

		if (track->layer == CUR_LAYER_PYTHON && !add_item(out, track->tid, event->ts_ns, i))
			return false;
	}
	sort_items(out);
	return true;
}

static bool match_mstx(struct cur_run *run, const items *host, const items *marks)
{
	size_t m = 0, from = 0;

	while (m < marks->len) {
		size_t marks_end = thread_end(marks, m), end = find_thread(host, &from, marks->at[m].tid),
		       i = from;

		for (; m < marks_end; m++) {
			const struct item *mark = &marks->at[m];

			while (i < end && host->at[i].ts_ns <= mark->ts_ns) {
				bool hit = mark->ts_ns <= host_end(run, host->at[i].index);
				struct cur_npu_flow link = {host->at[i++].index, mark->index};

				if (!hit)
					continue;
				if (!mp_vec_push(&run->links.mstx, link))
					return false;
				break;
			}
		}
	}
	return true;
}

static mp_status link_mstx(struct cur_run *run, mp_err *err)
{
	items host = {0}, marks = {0};
	bool good = host_items(run, CUR_HOST_MSTX, &host);

	if (good && host.len)
		good = python_items(run, &marks) && match_mstx(run, &host, &marks);
	mp_vec_release(&host);
	mp_vec_release(&marks);
	return good ? MINDPROF_OK : mp_err_nomem(err, 0);
}

/* ---- kernels ---- */

/* Device event by the place where a HostToDevice flow ends; the last one wins. */
static uint64_t place_key(uint32_t track, int64_t ts_ns)
{
	return mp_hash_u64((uint64_t)ts_ns ^ mp_hash_u64(track + UINT64_C(1)));
}

static bool index_targets(const struct cur_run *run, struct mp_map64 *ends)
{
	size_t i;

	/* Only the places that some flow ends at. */
	for (i = 0; i < run->device.flows.len; i++) {
		const struct cur_device_flow *flow = &run->device.flows.at[i];

		if (flow->is_end && !mp_map64_put(ends, place_key(flow->track, flow->ts_ns), UINT64_MAX))
			return false;
	}
	for (i = 0; i < run->device.events.len; i++) {
		const struct cur_device_event *event = &run->device.events.at[i];
		uint64_t *found = mp_map64_lookup(ends, place_key(event->track, event->ts_ns));

		if (found)
			*found = i;
	}
	return true;
}

/* One item per flow with both ends and a target: thread and time of its begin, index of the target. */
static bool target_items(struct cur_run *run, items *out)
{
	struct mp_map64 ends = {0}, begins = {0};
	size_t i, n_lost = 0;
	bool good = index_targets(run, &ends);

	for (i = 0; good && i < run->device.flows.len; i++)
		if (!run->device.flows.at[i].is_end)
			good = mp_map64_put(&begins, run->device.flows.at[i].id, i);
	for (i = 0; good && i < run->device.flows.len; i++) {
		const struct cur_device_flow *end = &run->device.flows.at[i], *begin;
		const uint64_t *found, *target;

		if (!end->is_end)
			continue;
		found = mp_map64_lookup(&begins, end->id);
		target = mp_map64_lookup(&ends, place_key(end->track, end->ts_ns));
		n_lost += found && (!target || *target == UINT64_MAX);
		if (!found || !target || *target == UINT64_MAX)
			continue;
		begin = &run->device.flows.at[*found];
		good = add_item(out, run->device.tracks.at[begin->track].tid, begin->ts_ns, (size_t)*target);
	}
	if (n_lost)
		mp_store_note(run->store, MP_INFO, "flow-without-target", run->exported.path, -1,
			      "%zu HostToDevice flows end where no event begins", n_lost);
	mp_map64_release(&ends);
	mp_map64_release(&begins);
	sort_items(out);
	return good;
}

static bool match_kernels(struct cur_run *run, const items *launches, const items *targets)
{
	size_t t = 0, from = 0;

	while (t < targets->len) {
		size_t targets_end = thread_end(targets, t),
		       end = find_thread(launches, &from, targets->at[t].tid);
		size_t i = from;

		for (; t < targets_end; t++) {
			const struct item *target = &targets->at[t];

			while (i < end && launches->at[i].ts_ns <= target->ts_ns &&
			       host_end(run, launches->at[i].index) < target->ts_ns)
				i++;
			if (i == end || launches->at[i].ts_ns > target->ts_ns)
				continue;
			run->device.events.at[target->index].parent = launches->at[i].index;
			if (!mp_vec_push(&run->links.npu,
					 (struct cur_npu_flow){launches->at[i].index, target->index}))
				return false;
		}
	}
	return true;
}

static mp_status link_kernels(struct cur_run *run, mp_err *err)
{
	items launches = {0}, targets = {0};
	bool good = host_items(run, CUR_HOST_LAUNCH, &launches) && target_items(run, &targets);

	if (good && !run->params.o2 && !targets.len)
		mp_store_note(
			run->store, MP_WARNING, "no-device-flows", run->exported.path, -1,
			"no HostToDevice flow ends at a kernel: kernels are not linked to their launches");
	else if (good && !run->params.o2 && !launches.len)
		mp_store_note(run->store, MP_WARNING, "no-launches", run->framework.path, -1,
			      "no launch was recorded: kernels are not linked to their launches");
	if (good)
		good = match_kernels(run, &launches, &targets);
	mp_vec_release(&launches);
	mp_vec_release(&targets);
	return good ? MINDPROF_OK : mp_err_nomem(err, 0);
}

mp_status cur_load_links(struct cur_run *run, mp_err *err)
{
	if (run->loaded_links)
		return MINDPROF_OK;
	run->loaded_links = true;
	MP_TRY(cur_load_host(run, err));
	MP_TRY(cur_load_device(run, err));
	if (!run->host.present)
		return MINDPROF_OK;
	MP_TRY(link_self(run, err));
	MP_TRY(link_mstx(run, err));
	if (run->device.has_layer[CUR_LAYER_CANN] && run->device.has_layer[CUR_LAYER_HARDWARE] &&
	    !run->params.level_none)
		MP_TRY(link_kernels(run, err));
	return MINDPROF_OK;
}
