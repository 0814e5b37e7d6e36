/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long is each step, and what fills it? One row per process and step: time covered by ranges,
 * waiting for queues, gaps on the step's own thread. docs/analyses.md, "steps".
 */
#include "analyses/an_cover.h"
#include "analyses/an_private.h"
#include "analyses/an_step_list.h"
#include "base/mem.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"process", "Process", MP_TYPE_TEXT, MP_UNIT_NONE, "Process that made the step."},
	{"step", "Step", MP_TYPE_INT, MP_UNIT_NONE, "Number of the step."},
	{"begin_ns", "Begin", MP_TYPE_INT, MP_UNIT_NS, "When it began, counted from the begin of the trace."},
	{"dur_ns", "Duration", MP_TYPE_INT, MP_UNIT_NS, "How long it lasted."},
	{"covered_ns", "Covered", MP_TYPE_INT, MP_UNIT_NS,
	 "Time in which an operator or range ran on any thread or stream."},
	{"waiting_ns", "Waiting", MP_TYPE_INT, MP_UNIT_NS,
	 "Sum over all threads of the time they waited to take from a queue."},
	{"gap_ns", "Gaps", MP_TYPE_INT, MP_UNIT_NS,
	 "Time in which no range ran on the thread that marked the step."},
	{"share", "Share", MP_TYPE_DOUBLE, MP_UNIT_SHARE,
	 "Part of the duration of all steps of the process."},
	{"mark", "Mark", MP_TYPE_TEXT, MP_UNIT_NONE,
	 "slow: longer than 1.5 medians; open end: ends with the recording."},
};

static const struct mp_table_shape shape = {
	.name = "steps",
	.title = "Steps",
	.text = "Duration of each step and how much of it was work, waiting for data, and idle.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

#define SLOW_MEDIANS 1.5

/* Time of a step that is being added up. Spans are sorted and do not overlap. */
struct span {
	int64_t begin_ns, end_ns, sum_ns;
	uint32_t track;
	size_t step; /* position in the step list */
};

struct run {
	const struct mp_store *store;
	struct mp_step_list list;
	uint32_t *track_process; /* owned */
	struct span *covered;    /* owned; by process, begin */
	struct span *own;        /* owned; time covered on the own track; by track, begin */
	struct span *waiting;    /* owned; by process, begin */
	int64_t *waits_through;  /* owned; per step + 1: change of the number of waits that last all of it */
	int64_t *durations;      /* owned; scratch for the median */
};

/* Adds what the interval, which touches the span, shares with it. */
static void add_overlap(struct span *span, int64_t begin_ns, int64_t end_ns)
{
	int64_t shared = mp_sub_sat(MP_MIN(span->end_ns, end_ns), MP_MAX(span->begin_ns, begin_ns));

	span->sum_ns = mp_add_sat(span->sum_ns, shared);
}

/* Adds an interval to the spans it touches. *at only moves on, as intervals come in order of begin. */
static void add_cover(struct span *spans, size_t n, size_t *at, const struct mp_cover *cover)
{
	while (*at < n && spans[*at].end_ns <= cover->begin_ns)
		++*at;
	for (size_t i = *at; i < n && spans[i].begin_ns < cover->end_ns; i++)
		add_overlap(&spans[i], cover->begin_ns, cover->end_ns);
}

static bool counts_as_work(const struct mp_store *store, uint32_t track)
{
	uint8_t kind = mp_store_get_track(store, track).kind;

	return kind == MP_TRACK_THREAD || kind == MP_TRACK_STREAM;
}

/* Union over the threads and streams of each process that has steps. Tracks are given by process. */
static mp_status sum_covered(struct run *run, const uint32_t *tracks, size_t n_tracks, mp_err *err)
{
	struct mp_cover_union all = {0};
	size_t from = 0;

	for (size_t process = 0; process < run->list.n_processes; process++) {
		size_t first = run->list.process_at[process], n = run->list.process_at[process + 1] - first,
		       at = 0;
		struct mp_cover cover;
		bool ok = true;

		for (; from < n_tracks && run->track_process[tracks[from]] == process; from++) {
			if (n && counts_as_work(run->store, tracks[from]))
				ok = ok && mp_cover_union_add(&all, run->store, tracks[from]);
		}
		if (!ok) {
			mp_cover_union_release(&all);
			return mp_err_nomem(err, n_tracks * sizeof(struct mp_cover_head));
		}
		while (mp_cover_union_next(&all, &cover))
			add_cover(run->covered + first, n, &at, &cover);
	}
	mp_cover_union_release(&all);
	return MINDPROF_OK;
}

static int by_track_and_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* Time covered on the track that made the step. */
static void sum_own(struct run *run)
{
	size_t n = run->list.steps.len;

	qsort(run->own, n, sizeof(*run->own), by_track_and_begin);
	for (size_t first = 0, end; first < n; first = end) {
		struct mp_cover_track track;
		struct mp_cover cover;
		size_t at = 0;

		for (end = first; end < n && run->own[end].track == run->own[first].track;)
			end++;
		mp_cover_track_init(&track, run->store, run->own[first].track);
		while (mp_cover_track_next(&track, &cover))
			add_cover(run->own + first, end - first, &at, &cover);
	}
}

/* Adds one wait: in part to its first and last step, through a counter to those between. */
static void add_wait(struct run *run, uint32_t process, int64_t begin_ns, int64_t end_ns)
{
	struct span *spans = run->waiting;
	size_t low = run->list.process_at[process], end = run->list.process_at[process + 1], high = end;

	while (low < high) { /* the first step that ends after the begin */
		size_t middle = low + (high - low) / 2;

		if (spans[middle].end_ns <= begin_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == end || spans[low].begin_ns >= end_ns)
		return;
	if (end_ns > spans[low].end_ns) {
		size_t last = low + 1;

		high = end;
		while (last < high) { /* the first step that ends at the end or later */
			size_t middle = last + (high - last) / 2;

			if (spans[middle].end_ns < end_ns)
				last = middle + 1;
			else
				high = middle;
		}
		run->waits_through[low + 1]++;
		run->waits_through[last]--;
		if (last < end && spans[last].begin_ns < end_ns)
			add_overlap(&spans[last], begin_ns, end_ns);
	}
	add_overlap(&spans[low], begin_ns, end_ns);
}

static void sum_waiting(struct run *run)
{
	struct mp_ranges waits = mp_store_ordered(run->store, MP_KIND_QUEUE);
	int64_t through = 0;

	for (size_t i = 0; i < waits.n; i++) {
		struct mp_event event = mp_store_event(run->store, waits.refs[i]);

		if (event.cls == MP_QUEUE_POP && event.a > 0)
			add_wait(run, run->track_process[event.track], event.ts_ns,
				 mp_end_ns(event.ts_ns, event.a));
	}
	for (size_t i = 0; i < run->list.steps.len; i++) {
		struct span *span = &run->waiting[i];
		int64_t whole;

		through += run->waits_through[i];
		if (__builtin_mul_overflow(through, mp_sub_sat(span->end_ns, span->begin_ns), &whole))
			whole = INT64_MAX;
		span->sum_ns = mp_add_sat(span->sum_ns, whole);
	}
}

static int compare_i64(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int64_t duration(const struct mp_step *step)
{
	return mp_sub_sat(step->end_ns, step->begin_ns);
}

/* Median of the steps of a process whose end is known; of all when none is. */
static double median(struct run *run, const struct mp_step *steps, size_t n)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		if (!steps[i].open_end || n == 1)
			run->durations[known++] = duration(&steps[i]);
	}
	qsort(run->durations, known, sizeof(*run->durations), compare_i64);
	return ((double)run->durations[(known - 1) / 2] + (double)run->durations[known / 2]) / 2;
}

static bool add_row(struct run *run, size_t i, double median_ns, double total_ns, struct mp_table *out)
{
	const struct mp_step *step = &run->list.steps.at[i];
	struct mp_value *row = mp_table_add_row(out);
	int64_t begin_ns, end_ns, dur_ns = duration(step);

	if (row == NULL || !mp_row_process(out, &row[0], run->store, step->process))
		return false;
	mp_store_time_range(run->store, &begin_ns, &end_ns);
	mp_value_int(&row[1], step->number);
	mp_value_int(&row[2], mp_sub_sat(step->begin_ns, begin_ns));
	mp_value_int(&row[3], dur_ns);
	mp_value_int(&row[4], run->covered[i].sum_ns);
	mp_value_int(&row[5], run->waiting[i].sum_ns);
	mp_value_int(&row[6], dur_ns - run->own[i].sum_ns);
	mp_value_double(&row[7], mp_share((double)dur_ns, total_ns));
	if (step->open_end)
		return mp_row_text(out, &row[8], "open end");
	return (double)dur_ns <= SLOW_MEDIANS * median_ns || mp_row_text(out, &row[8], "slow");
}

static int by_step(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->step > y->step) - (x->step < y->step);
}

static mp_status add_rows(struct run *run, struct mp_table *out, mp_err *err)
{
	for (size_t process = 0; process < run->list.n_processes; process++) {
		size_t first = run->list.process_at[process], end = run->list.process_at[process + 1];
		double total_ns = 0, median_ns;

		if (first == end)
			continue;
		for (size_t i = first; i < end; i++)
			total_ns += (double)duration(&run->list.steps.at[i]);
		median_ns = median(run, &run->list.steps.at[first], end - first);
		for (size_t i = first; i < end; i++) {
			if (!add_row(run, i, median_ns, total_ns, out))
				return mp_err_nomem(err, sizeof(struct mp_value) * MP_COUNT(columns));
		}
	}
	return MINDPROF_OK;
}

/* Tracks in order of their processes; the caller frees. */
static uint32_t *tracks_by_process(const struct run *run, size_t n_tracks)
{
	uint32_t *tracks = mp_realloc_array(NULL, n_tracks + 1, sizeof(*tracks));
	size_t *at = mp_calloc(run->list.n_processes + 1, sizeof(*at));

	if (tracks == NULL || at == NULL) {
		mp_free(tracks);
		mp_free(at);
		return NULL;
	}
	for (size_t i = 0; i < n_tracks; i++)
		at[run->track_process[i] + 1]++;
	for (size_t p = 0; p < run->list.n_processes; p++)
		at[p + 1] += at[p];
	for (uint32_t i = 0; i < n_tracks; i++)
		tracks[at[run->track_process[i]]++] = i;
	mp_free(at);
	return tracks;
}

static mp_status measure(struct run *run, mp_err *err)
{
	size_t n = run->list.steps.len, n_tracks = mp_store_n_tracks(run->store);
	uint32_t *tracks;
	mp_status status;

	run->track_process = mp_track_processes(run->store);
	run->covered = mp_calloc(n, sizeof(*run->covered));
	run->own = mp_calloc(n, sizeof(*run->own));
	run->waiting = mp_calloc(n, sizeof(*run->waiting));
	run->waits_through = mp_calloc(n + 1, sizeof(*run->waits_through));
	run->durations = mp_calloc(n, sizeof(*run->durations));
	if (!run->track_process || !run->covered || !run->own || !run->waiting || !run->waits_through ||
	    !run->durations)
		return mp_err_nomem(err, n * sizeof(*run->covered));
	for (size_t i = 0; i < n; i++) {
		const struct mp_step *step = &run->list.steps.at[i];

		run->covered[i] = (struct span){step->begin_ns, step->end_ns, 0, step->track, i};
		run->own[i] = run->waiting[i] = run->covered[i];
	}
	tracks = tracks_by_process(run, n_tracks);
	if (tracks == NULL)
		return mp_err_nomem(err, n_tracks * sizeof(*tracks));
	status = sum_covered(run, tracks, n_tracks, err);
	mp_free(tracks);
	sum_own(run);
	qsort(run->own, n, sizeof(*run->own), by_step);
	sum_waiting(run);
	return status;
}

static mp_status run_steps(const struct mp_store *store, struct mp_pool *pool, struct mp_table *out,
			   mp_err *err)
{
	struct run run = {.store = store};
	mp_status status = mp_step_list_build(&run.list, store, err);

	(void)pool;
	if (status == MINDPROF_OK && run.list.steps.len == 0) {
		out->empty_reason = "no steps were recorded: call mindprof_step at the begin of each one";
	} else if (status == MINDPROF_OK) {
		status = measure(&run, err);
		if (status == MINDPROF_OK)
			status = add_rows(&run, out, err);
	}
	mp_step_list_release(&run.list);
	mp_free(run.track_process);
	mp_free(run.covered);
	mp_free(run.own);
	mp_free(run.waiting);
	mp_free(run.waits_through);
	mp_free(run.durations);
	return status;
}

const struct mp_analysis mp_analysis_steps = {&shape, MP_NEEDS(RANGE) | MP_NEEDS(QUEUE) | MP_NEEDS(STEP),
					      run_steps};
