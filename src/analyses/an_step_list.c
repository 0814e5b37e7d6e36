/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding steps. A process that marked steps (MP_KIND_STEP, any track) has these: each lasts until
 * the next mark, the last one until the last event of the process. Other processes have their
 * ranges of class STEP (e.g. "ProfilerStep#12") of the track where the first of them begins; one
 * that begins before the previous one ended is part of it.
 */
#include "analyses/an_step_list.h"

#include "analyses/an_private.h"
#include "base/mem.h"

#include "base/banned.h"

#define NO_TRACK UINT32_MAX

struct finder {
	const struct mp_store *store;
	struct mp_step_list *out;
	uint32_t *track_process; /* owned */
	uint8_t *has_marks;      /* owned, by process */
	int64_t *process_end_ns; /* owned, by process: end of its last event */
	uint32_t *first_track;   /* owned, by process: where its first STEP range begins */
	int64_t *first_begin_ns; /* owned, by process */
};

/* The number at the end of the name, else the ordinal. */
static int64_t number_of_name(struct mp_str name, int64_t ordinal)
{
	size_t at = name.len;
	int64_t number = 0;

	while (at && name.text[at - 1] >= '0' && name.text[at - 1] <= '9')
		at--;
	if (at == name.len || name.len - at > 18)
		return ordinal;
	for (; at < name.len; at++)
		number = number * 10 + (name.text[at] - '0');
	return number;
}

static void find_process_ends(struct finder *finder)
{
	for (size_t i = 0; i < mp_store_n_blocks(finder->store); i++) {
		const struct mp_block *block = mp_store_get_block(finder->store, i);
		bool lasts = block->kind == MP_KIND_RANGE || block->kind == MP_KIND_QUEUE;

		for (uint32_t row = 0; row < block->n; row++) {
			int64_t *end_ns = &finder->process_end_ns[finder->track_process[block->track[row]]];
			int64_t to = lasts ? mp_end_ns(block->ts_ns[row], block->a[row]) : block->ts_ns[row];

			*end_ns = MP_MAX(*end_ns, to);
		}
	}
}

static mp_status add_step(struct finder *finder, struct mp_step step, mp_err *err)
{
	if (!mp_vec_push(&finder->out->steps, step))
		return mp_err_nomem(err, (finder->out->steps.len + 1) * sizeof(step));
	return MINDPROF_OK;
}

/* Steps from marks, in order of time; their ends are set later. */
static mp_status add_marks(struct finder *finder, mp_err *err)
{
	struct mp_ranges marks = mp_store_ordered(finder->store, MP_KIND_STEP);

	for (size_t i = 0; i < marks.n; i++) {
		struct mp_event event = mp_store_event(finder->store, marks.refs[i]);
		uint32_t process = finder->track_process[event.track];

		finder->has_marks[process] = 1;
		MP_TRY(add_step(finder,
				(struct mp_step){.process = process,
						 .track = event.track,
						 .number = event.a,
						 .begin_ns = event.ts_ns,
						 .open_end = true},
				err));
	}
	return MINDPROF_OK;
}

static bool is_step(const struct mp_block *const *blocks, struct mp_ref ref)
{
	return blocks[ref.block]->cls[ref.row] == MP_CLASS_STEP;
}

/* Which track of each process gives its STEP ranges. */
static void find_first_tracks(struct finder *finder)
{
	const struct mp_block *const *blocks = mp_store_blocks(finder->store);

	for (uint32_t track = 0; track < mp_store_n_tracks(finder->store); track++) {
		struct mp_ranges ranges = mp_store_ranges(finder->store, track);
		uint32_t process = finder->track_process[track];
		int64_t begin_ns;
		size_t i = 0;

		while (i < ranges.n && !is_step(blocks, ranges.refs[i]))
			i++;
		if (i == ranges.n)
			continue;
		begin_ns = blocks[ranges.refs[i].block]->ts_ns[ranges.refs[i].row];
		if (finder->first_track[process] == NO_TRACK || begin_ns < finder->first_begin_ns[process]) {
			finder->first_track[process] = track;
			finder->first_begin_ns[process] = begin_ns;
		}
	}
}

static mp_status add_ranges(struct finder *finder, uint32_t process, mp_err *err)
{
	const struct mp_block *const *blocks = mp_store_blocks(finder->store);
	uint32_t track = finder->first_track[process];
	struct mp_ranges ranges = mp_store_ranges(finder->store, track);
	int64_t ordinal = 0, last_end_ns = INT64_MIN;

	for (size_t i = 0; i < ranges.n; i++) {
		struct mp_event event;
		int64_t end_ns;

		if (!is_step(blocks, ranges.refs[i]))
			continue;
		event = mp_store_event(finder->store, ranges.refs[i]);
		end_ns = mp_end_ns(event.ts_ns, event.a);
		if (ordinal && event.ts_ns < last_end_ns)
			continue;
		MP_TRY(add_step(
			finder,
			(struct mp_step){
				.process = process,
				.track = track,
				.number = number_of_name(mp_store_text(finder->store, event.name), ordinal),
				.begin_ns = event.ts_ns,
				.end_ns = end_ns,
			},
			err));
		ordinal++;
		last_end_ns = end_ns;
	}
	return MINDPROF_OK;
}

static mp_status collect(struct finder *finder, mp_err *err)
{
	size_t n = finder->out->n_processes;

	for (size_t i = 0; i < n; i++) {
		finder->process_end_ns[i] = INT64_MIN;
		finder->first_track[i] = NO_TRACK;
	}
	MP_TRY(add_marks(finder, err));
	if (finder->out->steps.len)
		find_process_ends(finder);
	find_first_tracks(finder);
	for (uint32_t i = 0; i < n; i++) {
		if (!finder->has_marks[i] && finder->first_track[i] != NO_TRACK)
			MP_TRY(add_ranges(finder, i, err));
	}
	return MINDPROF_OK;
}

/* Steps are in order of time within each process; brings them in order of processes (stable). */
static mp_status group_by_process(struct finder *finder, mp_err *err)
{
	struct mp_step_list *list = finder->out;
	struct mp_step *grouped = mp_realloc_array(NULL, list->steps.len + 1, sizeof(*grouped));
	size_t *at = mp_calloc(list->n_processes + 1, sizeof(*at));

	if (grouped == NULL || at == NULL) {
		mp_free(grouped);
		mp_free(at);
		return mp_err_nomem(err, (list->steps.len + 1) * sizeof(*grouped));
	}
	for (size_t i = 0; i < list->steps.len; i++)
		list->process_at[list->steps.at[i].process + 1]++;
	for (size_t p = 0; p < list->n_processes; p++) {
		list->process_at[p + 1] += list->process_at[p];
		at[p] = list->process_at[p];
	}
	for (size_t i = 0; i < list->steps.len; i++)
		grouped[at[list->steps.at[i].process]++] = list->steps.at[i];
	mp_free(at);
	mp_free(list->steps.at);
	list->steps.at = grouped;
	list->steps.cap = list->steps.len + 1;
	return MINDPROF_OK;
}

/* Ends of the steps that are marks. */
static void set_ends(struct finder *finder)
{
	struct mp_step *steps = finder->out->steps.at;

	for (size_t i = 0; i < finder->out->steps.len; i++) {
		bool last = i + 1 == finder->out->process_at[steps[i].process + 1];

		if (!steps[i].open_end)
			continue;
		steps[i].end_ns = last ? finder->process_end_ns[steps[i].process] : steps[i + 1].begin_ns;
		steps[i].open_end = last;
	}
}

mp_status mp_step_list_build(struct mp_step_list *out, const struct mp_store *store, mp_err *err)
{
	struct finder finder = {.store = store, .out = out};
	size_t n = mp_store_n_processes(store);
	mp_status status;

	*out = (struct mp_step_list){.n_processes = n};
	out->process_at = mp_calloc(n + 1, sizeof(*out->process_at));
	finder.track_process = mp_track_processes(store);
	finder.has_marks = mp_calloc(n + 1, 1);
	finder.process_end_ns = mp_calloc(n + 1, sizeof(int64_t));
	finder.first_track = mp_calloc(n + 1, sizeof(uint32_t));
	finder.first_begin_ns = mp_calloc(n + 1, sizeof(int64_t));
	if (out->process_at && finder.track_process && finder.has_marks && finder.process_end_ns &&
	    finder.first_track && finder.first_begin_ns) {
		status = collect(&finder, err);
		if (status == MINDPROF_OK)
			status = group_by_process(&finder, err);
		if (status == MINDPROF_OK)
			set_ends(&finder);
	} else {
		status = mp_err_nomem(err, (n + 1) * sizeof(int64_t));
	}
	mp_free(finder.track_process);
	mp_free(finder.has_marks);
	mp_free(finder.process_end_ns);
	mp_free(finder.first_track);
	mp_free(finder.first_begin_ns);
	return status;
}

const struct mp_step *mp_step_list_lookup(const struct mp_step_list *list, uint32_t process, int64_t at_ns)
{
	size_t low, high;

	if (process >= list->n_processes)
		return NULL;
	/* The last step that begins at or before the moment. */
	low = list->process_at[process];
	high = list->process_at[process + 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->steps.at[middle].begin_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == list->process_at[process])
		return NULL;
	/* The end belongs to the next step, but an open end belongs to the step. */
	if (list->steps.at[low - 1].end_ns > at_ns ||
	    (list->steps.at[low - 1].open_end && list->steps.at[low - 1].end_ns == at_ns))
		return &list->steps.at[low - 1];
	return NULL;
}

void mp_step_list_release(struct mp_step_list *list)
{
	mp_vec_release(&list->steps);
	mp_free(list->process_at);
	*list = (struct mp_step_list){0};
}
