/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the device tool shows as Overlap Analysis, for exports without that layer. Input: tasks and
 * communication of run->device. Output: spans that computed, communicated, communicated without computing,
 * and did neither (analysis-current.md section 8.2).
 */
#include <stdlib.h>
#include <string.h>

#include "current/cur_overlap.h"

#include "base/banned.h"

/* [begin, end) */
struct interval {
	int64_t begin_ns, end_ns;
};
typedef MP_VEC(struct interval) intervals;

static bool add(intervals *list, int64_t begin_ns, int64_t end_ns)
{
	return begin_ns >= end_ns || mp_vec_push(list, (struct interval){begin_ns, end_ns});
}

static int compare_begin(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Sorts, and merges what overlaps or touches. */
static void unite(intervals *list)
{
	size_t n = 0, i;

	if (list->len)
		qsort(list->at, list->len, sizeof(*list->at), compare_begin);
	for (i = 0; i < list->len; i++) {
		struct interval at = list->at[i];

		if (n && at.begin_ns <= list->at[n - 1].end_ns)
			list->at[n - 1].end_ns = MP_MAX(list->at[n - 1].end_ns, at.end_ns);
		else
			list->at[n++] = at;
	}
	list->len = n;
}

/* What lies in `from` and not in `without`; both are united. */
static bool subtract(const intervals *from, const intervals *without, intervals *out)
{
	size_t first = 0, i, w;

	for (i = 0; i < from->len; i++) {
		int64_t begin_ns = from->at[i].begin_ns, end_ns = from->at[i].end_ns;

		while (first < without->len && without->at[first].end_ns <= begin_ns)
			first++;
		for (w = first; w < without->len && without->at[w].begin_ns < end_ns; w++) {
			if (!add(out, begin_ns, without->at[w].begin_ns))
				return false;
			begin_ns = MP_MAX(begin_ns, without->at[w].end_ns);
		}
		if (!add(out, begin_ns, end_ns))
			return false;
	}
	return true;
}

static bool ends_with(struct mp_str name, const char *end)
{
	size_t len = strlen(end);

	return name.len >= len && !memcmp(name.text + name.len - len, end, len);
}

/* Operators that only start communication on the AI CPU or AI vector cores. */
static bool is_communication_kernel(const struct cur_run *run, const struct cur_device_event *event)
{
	struct mp_str name = mp_store_text(run->store, event->name);

	return ends_with(name, "AicpuKernel") || ends_with(name, "AivKernel");
}

struct tasks {
	intervals computing, communication;
	struct interval all; /* from the first begin to the last end */
};

static bool take_tasks(const struct cur_run *run, struct tasks *tasks)
{
	bool good = true;
	size_t i;

	tasks->all = (struct interval){INT64_MAX, INT64_MIN};
	for (i = 0; good && i < run->device.events.len; i++) {
		const struct cur_device_event *event = &run->device.events.at[i];
		enum cur_layer layer = (enum cur_layer)run->device.tracks.at[event->track].layer;
		int64_t end_ns = mp_end_ns(event->ts_ns, event->dur_ns);

		if (layer == CUR_LAYER_COMMUNICATION)
			good = add(&tasks->communication, event->ts_ns, end_ns);
		else if (event->task == CUR_TASK_COMPUTE && !is_communication_kernel(run, event))
			good = add(&tasks->computing, event->ts_ns, end_ns);
		else if (event->task == CUR_TASK_HOST ||
			 (event->task == CUR_TASK_NONE && layer != CUR_LAYER_HARDWARE))
			continue;
		tasks->all.begin_ns = MP_MIN(tasks->all.begin_ns, event->ts_ns);
		tasks->all.end_ns = MP_MAX(tasks->all.end_ns, end_ns);
	}
	unite(&tasks->computing);
	unite(&tasks->communication);
	return good;
}

static bool add_spans(const intervals *list, struct cur_spans *out)
{
	size_t i;

	if (!mp_vec_reserve(&out->at, list->len))
		return false;
	for (i = 0; i < list->len; i++)
		out->at.at[out->at.len++] = (struct cur_span){
			.ts_ns = list->at[i].begin_ns,
			.dur_ns = cur_sub_ns(list->at[i].end_ns, list->at[i].begin_ns),
			.order = i,
		};
	return true;
}

/* Fills the spans of the trace and releases the tasks, whose lists are united. */
static bool spread(struct tasks *tasks, struct cur_step_trace *trace)
{
	intervals alone = {0}, busy = {0}, free_time = {0}, whole = {.at = &tasks->all, .len = 1};
	bool good = true;
	size_t i;

	if (tasks->computing.len || tasks->communication.len) {
		good = subtract(&tasks->communication, &tasks->computing, &alone);
		/* Busy is computing and what communicates besides. */
		for (i = 0; good && i < tasks->computing.len; i++)
			good = mp_vec_push(&busy, tasks->computing.at[i]);
		for (i = 0; good && i < alone.len; i++)
			good = mp_vec_push(&busy, alone.at[i]);
		unite(&busy);
		good = good && subtract(&whole, &busy, &free_time);
	}
	good = good && add_spans(&tasks->computing, &trace->computing) &&
	       add_spans(&tasks->communication, &trace->communication) &&
	       add_spans(&alone, &trace->not_overlapped) && add_spans(&free_time, &trace->free);
	mp_vec_release(&tasks->computing);
	mp_vec_release(&tasks->communication);
	mp_vec_release(&alone);
	mp_vec_release(&busy);
	mp_vec_release(&free_time);
	return good;
}

bool cur_overlap_make(const struct cur_run *run, struct cur_step_trace *trace)
{
	struct tasks tasks = {0};
	bool good = take_tasks(run, &tasks);

	return spread(&tasks, trace) && good;
}

bool cur_overlap_of_cpu_ops(const struct cur_run *run, struct cur_step_trace *trace)
{
	struct tasks tasks = {.all = {INT64_MAX, INT64_MIN}};
	bool good = true;
	size_t i;

	for (i = 0; good && i < run->cpu_ops.events.len; i++) {
		const struct cur_cpu_op *op = &run->cpu_ops.events.at[i];
		struct interval at = {op->ts_ns, mp_end_ns(op->ts_ns, op->dur_ns)};

		tasks.all.begin_ns = MP_MIN(tasks.all.begin_ns, at.begin_ns);
		tasks.all.end_ns = MP_MAX(tasks.all.end_ns, at.end_ns);
		good = mp_vec_push(&tasks.computing, at);
	}
	unite(&tasks.computing);
	return spread(&tasks, trace) && good;
}
