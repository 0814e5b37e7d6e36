/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Table of steps. Input: run->host. Output: run->steps (analysis-current.md section 7.7).
 */
#include <string.h>

#include "base/hash.h"
#include "current/cur.h"

#include "base/banned.h"

/* Stable, because the last of an id wins; they are few and nearly sorted. */
static void sort_steps(struct cur_steps *steps)
{
	size_t i, j;

	for (i = 1; i < steps->at.len; i++) {
		struct cur_step moved = steps->at.at[i];

		for (j = i; j > 0 && steps->at.at[j - 1].begin_ns > moved.begin_ns; j--)
			steps->at.at[j] = steps->at.at[j - 1];
		steps->at.at[j] = moved;
	}
}

static void measure(struct cur_steps *steps)
{
	size_t i;

	steps->sorted = true;
	for (i = 0; i < steps->at.len; i++) {
		const struct cur_step *at = &steps->at.at[i];
		int64_t length_ns;

		if (__builtin_sub_overflow(at->end_ns, at->begin_ns, &length_ns))
			length_ns = INT64_MAX;
		steps->longest_ns = MP_MAX(steps->longest_ns, length_ns);
		if (i && at[-1].begin_ns > at->begin_ns)
			steps->sorted = false;
	}
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
	struct cur_step step = {.begin_ns = event->ts_ns, .end_ns = mp_end_ns(event->ts_ns, event->dur_ns)};

	if (event->dur_ns < 0)
		step.end_ns = event->ts_ns + event->dur_ns;
	step.id = mp_strtab_add(mp_store_strings(run->store), mark + 1,
				name.len - (size_t)(mark + 1 - name.text));
	return step.id != MP_STR_NONE && mp_vec_push(&run->steps.at, step);
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
	sort_steps(&run->steps);
	if (!join_equal(&run->steps))
		return mp_err_nomem(err, run->steps.at.len * sizeof(struct cur_step));
	measure(&run->steps);
	return MINDPROF_OK;
}

static const struct cur_step *first_from(const struct cur_steps *steps, size_t i, size_t end, int64_t t_ns)
{
	for (; i < end; i++)
		if (steps->at.at[i].begin_ns <= t_ns && t_ns <= steps->at.at[i].end_ns)
			return &steps->at.at[i];
	return NULL;
}

const struct cur_step *cur_step_at(const struct cur_steps *steps, int64_t t_ns)
{
	size_t low = 0, high = steps->at.len, first;

	if (!steps->sorted)
		return first_from(steps, 0, high, t_ns);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (steps->at.at[middle].begin_ns <= t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	/* Those before that may still last: steps follow each other, so this is one or two. */
	first = low;
	while (first > 0 && mp_end_ns(steps->at.at[first - 1].begin_ns, steps->longest_ns) >= t_ns)
		first--;
	return first_from(steps, first, low, t_ns);
}
