/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Table of steps. Input: run->host. Output: run->steps (analysis-current.md section 7.7).
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "current/cur.h"

#include "base/banned.h"

/* ---- the table ---- */

struct placed {
	struct cur_step step;
	size_t order; /* place of arrival: the last of an id wins */
};

static int compare_begin(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->step.begin_ns != y->step.begin_ns)
		return x->step.begin_ns < y->step.begin_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Stable. False when memory is out. */
static bool sort_steps(struct cur_steps *steps)
{
	struct placed *list;
	size_t i;

	for (i = 1; i < steps->at.len; i++)
		if (steps->at.at[i - 1].begin_ns > steps->at.at[i].begin_ns)
			break;
	if (i >= steps->at.len)
		return true;
	list = mp_malloc(steps->at.len * sizeof(*list));
	if (!list)
		return false;
	for (i = 0; i < steps->at.len; i++)
		list[i] = (struct placed){steps->at.at[i], i};
	qsort(list, steps->at.len, sizeof(*list), compare_begin);
	for (i = 0; i < steps->at.len; i++)
		steps->at.at[i] = list[i].step;
	mp_free(list);
	return true;
}

/* One step per id, at the place of its first, with the times of its last. */
static bool join_equal(struct cur_steps *steps)
{
	struct mp_map64 seen = {0};
	size_t i, n = 0;
	bool good = true;

	for (i = 0; good && i < steps->at.len; i++) {
		const uint64_t *place = mp_map64_lookup(&seen, steps->at.at[i].id);

		if (place) {
			steps->at.at[*place] = steps->at.at[i];
			continue;
		}
		steps->at.at[n] = steps->at.at[i];
		good = mp_map64_put(&seen, steps->at.at[n].id, n);
		n++;
	}
	steps->at.len = n;
	mp_map64_release(&seen);
	return good;
}

static bool take_step(struct cur_run *run, const struct cur_host_event *event)
{
	struct mp_str name = mp_store_text(run->store, event->name);
	const char *mark = memrchr(name.text, '#', name.len);
	struct cur_step step = {.begin_ns = event->ts_ns, .end_ns = cur_add_ns(event->ts_ns, event->dur_ns)};

	step.id = mp_strtab_add(mp_store_strings(run->store), mark + 1,
				name.len - (size_t)(mark + 1 - name.text));
	return step.id != MP_STR_NONE && mp_vec_push(&run->steps.at, step);
}

/* ---- parts: which step a time belongs to, also where steps overlap ---- */

/* The open steps while time goes on: a heap, the first of the table on top. */
struct open_steps {
	uint32_t *heap; /* owned */
	size_t n;
};

static void open_step(struct open_steps *open, uint32_t step)
{
	size_t at = open->n++;

	for (; at && open->heap[(at - 1) / 2] > step; at = (at - 1) / 2)
		open->heap[at] = open->heap[(at - 1) / 2];
	open->heap[at] = step;
}

static void close_first(struct open_steps *open)
{
	uint32_t last = open->heap[--open->n];
	size_t at = 0, below;

	while ((below = 2 * at + 1) < open->n) {
		if (below + 1 < open->n && open->heap[below + 1] < open->heap[below])
			below++;
		if (open->heap[below] >= last)
			break;
		open->heap[at] = open->heap[below];
		at = below;
	}
	open->heap[at] = last;
}

static int compare_times(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int compare_places(const void *a, const void *b)
{
	const struct cur_step_part *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* What begins at each border is opened, what ended before it closed; on top is the step from there on. */
static void walk_borders(struct cur_steps *steps, const int64_t *borders, size_t n_borders,
			 const struct cur_step_part *begins, size_t n, struct open_steps *open)
{
	size_t i, next = 0;

	for (i = 0; i < n_borders; i++) {
		struct cur_step_part part = {borders[i], UINT32_MAX};

		if (i && borders[i] == borders[i - 1])
			continue;
		for (; next < n && begins[next].from_ns == part.from_ns; next++)
			open_step(open, begins[next].step);
		while (open->n && steps->at.at[open->heap[0]].end_ns < part.from_ns)
			close_first(open);
		if (open->n)
			part.step = open->heap[0];
		if (!steps->parts.len || steps->parts.at[steps->parts.len - 1].step != part.step)
			steps->parts.at[steps->parts.len++] = part;
	}
}

static bool make_parts(struct cur_steps *steps)
{
	size_t n = 0, n_borders = 0, i, len = steps->at.len;
	struct cur_step_part *begins = mp_malloc((len + 1) * sizeof(*begins));
	int64_t *borders = mp_malloc((2 * len + 1) * sizeof(*borders));
	struct open_steps open = {.heap = mp_malloc((len + 1) * sizeof(*open.heap))};
	bool good = begins && borders && open.heap && mp_vec_reserve(&steps->parts, 2 * len);

	for (i = 0; good && i < len; i++) {
		const struct cur_step *step = &steps->at.at[i];

		if (step->end_ns < step->begin_ns)
			continue; /* as the original draws it; no time is in it */
		begins[n++] = (struct cur_step_part){step->begin_ns, (uint32_t)i};
		borders[n_borders++] = step->begin_ns;
		if (step->end_ns < INT64_MAX)
			borders[n_borders++] = step->end_ns + 1;
	}
	if (good && n) {
		qsort(begins, n, sizeof(*begins), compare_places);
		qsort(borders, n_borders, sizeof(*borders), compare_times);
		walk_borders(steps, borders, n_borders, begins, n, &open);
	}
	mp_free(begins);
	mp_free(borders);
	mp_free(open.heap);
	return good;
}

mp_status cur_load_steps(struct cur_run *run, mp_err *err)
{
	size_t i;

	if (run->loaded_steps)
		return MINDPROF_OK;
	run->loaded_steps = true;
	MP_TRY(cur_load_host(run, err));
	for (i = 0; i < run->host.events.len; i++)
		if (run->host.events.at[i].flags & CUR_HOST_STEP && !take_step(run, &run->host.events.at[i]))
			return mp_err_nomem(err, sizeof(struct cur_step));
	if (!sort_steps(&run->steps) || !join_equal(&run->steps) || !make_parts(&run->steps))
		return mp_err_nomem(err, run->steps.at.len * sizeof(struct cur_step));
	return MINDPROF_OK;
}

static const struct cur_step *first_of(const struct cur_steps *steps, int64_t t_ns)
{
	size_t i;

	for (i = 0; i < steps->at.len; i++)
		if (steps->at.at[i].begin_ns <= t_ns && t_ns <= steps->at.at[i].end_ns)
			return &steps->at.at[i];
	return NULL;
}

const struct cur_step *cur_step_at(const struct cur_steps *steps, int64_t t_ns)
{
	size_t low = 0, high = steps->parts.len;
	uint32_t step;

	if (!high)
		return first_of(steps, t_ns);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (steps->parts.at[middle].from_ns <= t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	step = low ? steps->parts.at[low - 1].step : UINT32_MAX;
	return step == UINT32_MAX ? NULL : &steps->at.at[step];
}
