/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_trace_time.csv. Input: steps, the layers Overlap Analysis and communication; of CPU runs the CPU
 * operators. Output: one row per step (analysis-current.md section 8.2).
 */
#include <stdlib.h>
#include <string.h>

#include "current/cur_outputs.h"
#include "current/cur_overlap.h"
#include "current/cur_step_trace.h"

#include "base/banned.h"

static int compare_spans(const void *a, const void *b)
{
	const struct cur_span *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* By start, with the sum of all durations before each. False when memory is out. */
static bool sort_spans(struct cur_spans *spans)
{
	size_t i;

	if (spans->at.len)
		qsort(spans->at.at, spans->at.len, sizeof(*spans->at.at), compare_spans);
	if (!mp_vec_reserve(&spans->before, spans->at.len + 1))
		return false;
	spans->before.at[0] = 0;
	for (i = 0; i < spans->at.len; i++)
		spans->before.at[i + 1] = cur_add_ns(spans->before.at[i], spans->at.at[i].dur_ns);
	spans->before.len = spans->at.len + 1;
	return true;
}

static bool add_span(struct cur_spans *spans, int64_t ts_ns, int64_t dur_ns)
{
	return mp_vec_push(&spans->at,
			   (struct cur_span){.ts_ns = ts_ns, .dur_ns = dur_ns, .order = spans->at.len});
}

/* Index of the first span that starts at or after t. */
static size_t first_from(const struct cur_spans *spans, int64_t t_ns)
{
	size_t low = 0, high = spans->at.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spans->at.at[middle].ts_ns < t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The spans that start in [begin, end]: whole durations, as the original sums them. */
static int64_t sum_started(const struct cur_spans *spans, int64_t begin_ns, int64_t end_ns)
{
	size_t from = first_from(spans, begin_ns);
	size_t to = end_ns == INT64_MAX ? spans->at.len : first_from(spans, end_ns + 1);

	return to > from ? cur_sub_ns(spans->before.at[to], spans->before.at[from]) : 0;
}

/* What lies in [begin, end]; free spans do not overlap each other. */
static int64_t sum_clipped(const struct cur_spans *spans, int64_t begin_ns, int64_t end_ns)
{
	size_t i = first_from(spans, begin_ns);
	int64_t sum = 0;

	if (i)
		i--;
	for (; i < spans->at.len && spans->at.at[i].ts_ns < end_ns; i++) {
		int64_t from = MP_MAX(spans->at.at[i].ts_ns, begin_ns);
		int64_t to = MP_MIN(mp_end_ns(spans->at.at[i].ts_ns, spans->at.at[i].dur_ns), end_ns);

		sum = cur_add_ns(sum, MP_MAX(cur_sub_ns(to, from), 0));
	}
	return sum;
}

/* ---- where the spans come from ---- */

static const char *after(struct mp_str name, const char *begin)
{
	size_t len = strlen(begin);

	return name.len >= len && !memcmp(name.text, begin, len) ? name.text + len : NULL;
}

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "__" and a digit at `at`. */
static bool is_numbered(const char *at, const char *end)
{
	return end - at >= 3 && at[0] == '_' && at[1] == '_' && at[2] >= '0' && at[2] <= '9';
}

/* hcom_<word>SendRecv__<digit>, hcom_send__<digit>, hcom_receive__<digit>, Receive-op, Send-op. */
static bool waits_for_peer(struct mp_str name)
{
	static const char send_recv[] = "SendRecv";
	const char *end = name.text + name.len, *at = after(name, "hcom_"), *p;

	if (after(name, "Receive-op") || after(name, "Send-op"))
		return true;
	if (!at)
		return false;
	if ((p = after(name, "hcom_send")) != NULL && is_numbered(p, end))
		return true;
	if ((p = after(name, "hcom_receive")) != NULL && is_numbered(p, end))
		return true;
	for (p = at + 1; p < end && is_word(p[-1]); p++)
		if ((size_t)(end - p) >= sizeof(send_recv) - 1 &&
		    !memcmp(p, send_recv, sizeof(send_recv) - 1) &&
		    is_numbered(p + sizeof(send_recv) - 1, end))
			return true;
	return false;
}

/* The original has the events of a layer thread by thread, which decides among equal starts. */
static bool add_operator(const struct cur_run *run, const struct cur_device_event *event, uint32_t *ranks,
			 struct cur_spans *spans)
{
	if (!ranks[event->track])
		ranks[event->track] = ++ranks[run->device.tracks.len];
	return mp_vec_push(&spans->at,
			   (struct cur_span){
				   .ts_ns = event->ts_ns,
				   .dur_ns = event->dur_ns,
				   .order = (uint64_t)ranks[event->track] << 40 | spans->at.len,
				   .is_receive = waits_for_peer(mp_store_text(run->store, event->name)),
			   });
}

static bool take_device(const struct cur_run *run, struct cur_step_trace *trace)
{
	struct cur_spans *const by_overlap[] = {NULL, &trace->computing, &trace->communication,
						&trace->not_overlapped, &trace->free};
	uint32_t *ranks =
		mp_calloc(run->device.tracks.len + 1, sizeof(*ranks)); /* the last one counts them */
	bool good = ranks != NULL;
	size_t i;

	for (i = 0; good && i < run->device.events.len; i++) {
		const struct cur_device_event *event = &run->device.events.at[i];
		const struct cur_device_track *track = &run->device.tracks.at[event->track];

		if (track->layer == CUR_LAYER_OVERLAP && track->overlap != CUR_OVERLAP_NONE)
			good = add_span(by_overlap[track->overlap], event->ts_ns, event->dur_ns);
		else if (track->layer == CUR_LAYER_COMMUNICATION)
			good = add_operator(run, event, ranks, &trace->operators);
	}
	mp_free(ranks);
	return good;
}

/* Whether the layer can be made from the tasks: the original has no file then. */
static bool takes_tasks(const struct cur_run *run)
{
	return run->params.npu && run->device.present && cur_corrects(run, CUR_FIX_LOST_OUTPUTS);
}

/* An export without the layer Overlap Analysis. */
static bool take_tasks(const struct cur_run *run, struct cur_step_trace *trace)
{
	return take_device(run, trace) && cur_overlap_make(run, trace);
}

static void release_spans(struct cur_spans *spans)
{
	mp_vec_release(&spans->at);
	mp_vec_release(&spans->before);
}

void cur_step_trace_release(struct cur_step_trace *trace)
{
	release_spans(&trace->computing);
	release_spans(&trace->communication);
	release_spans(&trace->not_overlapped);
	release_spans(&trace->free);
	release_spans(&trace->operators);
	mp_vec_release(&trace->rows);
}

/* ---- rows ---- */

static void take_operators(const struct cur_spans *operators, struct cur_step_time *row, int64_t begin_ns,
			   int64_t end_ns)
{
	size_t from = first_from(operators, begin_ns), i;
	size_t to = end_ns == INT64_MAX ? operators->at.len : first_from(operators, end_ns + 1);
	size_t last = to - 1;

	row->has_operators = to > from;
	if (!row->has_operators)
		return;
	for (i = from; i < to; i++)
		if (operators->at.at[i].is_receive)
			row->bubble_ns = cur_add_ns(row->bubble_ns, operators->at.at[i].dur_ns);
	while (last > from && operators->at.at[last - 1].ts_ns == operators->at.at[last].ts_ns)
		last--; /* the first of equal starts: the operator itself, not a plane of it */
	row->stage_ns = cur_sub_ns(operators->at.at[last].ts_ns, operators->at.at[from].ts_ns);
	row->stage_ns = cur_add_ns(row->stage_ns, operators->at.at[last].dur_ns);
	row->stage_ns = cur_sub_ns(row->stage_ns, row->bubble_ns);
}

/* From the begin of the step on the host to the first work on the device. */
static int64_t preparing(const struct cur_run *run, const struct cur_step_trace *trace, int64_t begin_ns)
{
	size_t c = first_from(&trace->computing, begin_ns), k = first_from(&trace->communication, begin_ns),
	       i;
	int64_t first_ns = INT64_MAX, host_ns = begin_ns;

	if (!run->params.cpu)
		return 0;
	if (c < trace->computing.at.len)
		first_ns = trace->computing.at.at[c].ts_ns;
	if (k < trace->communication.at.len)
		first_ns = MP_MIN(first_ns, trace->communication.at.at[k].ts_ns);
	if (!begin_ns) {
		host_ns = INT64_MAX;
		for (i = 0; i < run->host.events.len; i++)
			if (!(run->host.events.at[i].flags & (CUR_HOST_INSTANT | CUR_HOST_FLOW)))
				host_ns = MP_MIN(host_ns, run->host.events.at[i].ts_ns);
	}
	return first_ns == INT64_MAX || host_ns == INT64_MAX ? 0 : cur_sub_ns(first_ns, host_ns);
}

static bool add_row(const struct cur_run *run, struct cur_step_trace *trace, uint32_t id, int64_t begin_ns,
		    int64_t end_ns)
{
	struct cur_step_time row = {.id = id, .begin_ns = begin_ns, .end_ns = end_ns};

	row.computing_ns = sum_started(&trace->computing, begin_ns, end_ns);
	row.communication_ns = sum_started(&trace->communication, begin_ns, end_ns);
	row.not_overlapped_ns = sum_started(&trace->not_overlapped, begin_ns, end_ns);
	row.free_ns = sum_clipped(&trace->free, begin_ns, end_ns);
	row.preparing_ns = preparing(run, trace, begin_ns);
	take_operators(&trace->operators, &row, begin_ns, end_ns);
	return mp_vec_push(&trace->rows, row);
}

static bool make_rows(struct cur_run *run, struct cur_step_trace *trace)
{
	uint32_t zero;
	size_t i;

	if (!sort_spans(&trace->computing) || !sort_spans(&trace->communication) ||
	    !sort_spans(&trace->not_overlapped) || !sort_spans(&trace->free) ||
	    !sort_spans(&trace->operators))
		return false;
	if (!run->steps.at.len) {
		zero = mp_store_string(run->store, "0");
		return zero != MP_STR_NONE && add_row(run, trace, zero, 0, INT64_MAX);
	}
	for (i = 0; i < run->steps.at.len; i++)
		if (!add_row(run, trace, run->steps.at.at[i].id, run->steps.at.at[i].begin_ns,
			     run->steps.at.at[i].end_ns))
			return false;
	return true;
}

/* Nothing is made when the original would fail. */
static bool can_be_made(const struct cur_run *run)
{
	if (cur_corrects(run, CUR_FIX_LOST_OUTPUTS))
		return true;
	return run->steps.at.len || run->host.present || !run->params.cpu;
}

mp_status cur_step_trace_make(struct cur_run *run, struct cur_step_trace *trace, mp_err *err)
{
	bool good = true;

	*trace = (struct cur_step_trace){0};
	MP_TRY(cur_load_steps(run, err));
	MP_TRY(cur_load_device(run, err));
	if (run->device.has_layer[CUR_LAYER_OVERLAP]) {
		if (!can_be_made(run))
			return MINDPROF_OK;
		good = take_device(run, trace);
	} else if (takes_tasks(run)) {
		good = take_tasks(run, trace);
		if (good && !trace->computing.at.len && !trace->communication.at.len)
			return MINDPROF_OK;
	} else if (!run->params.npu && cur_corrects(run, CUR_FIX_ALL_TARGETS)) {
		MP_TRY(cur_load_cpu_ops(run, err));
		if (!run->cpu_ops.events.len)
			return MINDPROF_OK;
		good = cur_overlap_of_cpu_ops(run, trace);
	} else {
		return MINDPROF_OK;
	}
	if (good)
		good = make_rows(run, trace);
	if (good)
		return MINDPROF_OK;
	cur_step_trace_release(trace);
	return mp_err_nomem(err, 0);
}

/* ---- the file ---- */

static void put_us(struct mp_out *out, int64_t ns, const char *behind)
{
	mp_out_us3(out, ns);
	mp_out_str(out, behind);
}

static void put_row(const struct cur_run *run, const struct cur_step_time *row, struct mp_out *out)
{
	struct mp_str id = mp_store_text(run->store, row->id);
	bool zeros = !row->has_operators && !cur_corrects(run, CUR_FIX_STEP_DECIMALS);

	mp_out_write(out, id.text, id.len);
	mp_out_str(out, ",");
	put_us(out, row->computing_ns, ",");
	put_us(out, row->not_overlapped_ns, ",");
	put_us(out, cur_sub_ns(row->communication_ns, row->not_overlapped_ns), ",");
	put_us(out, row->communication_ns, ",");
	put_us(out, row->free_ns, ",");
	if (zeros) {
		mp_out_str(out, "0,0,");
	} else {
		put_us(out, row->stage_ns, ",");
		put_us(out, row->bubble_ns, ",");
	}
	put_us(out, cur_sub_ns(row->not_overlapped_ns, row->bubble_ns), ",");
	put_us(out, row->preparing_ns, "\r\n");
}

static mp_status write_step_trace(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	struct cur_step_trace trace;
	size_t i;

	MP_TRY(cur_step_trace_make(run, &trace, err));
	if (trace.rows.len)
		mp_out_str(out,
			   "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,"
			   "Bubble,Communication(Not Overlapped and Exclude Receive),Preparing\r\n");
	else if (run->params.npu && run->device.present)
		mp_store_note(run->store, MP_WARNING, "no-overlap-analysis", run->exported.path, -1,
			      "the export has no layer Overlap Analysis: no step times");
	for (i = 0; i < trace.rows.len; i++)
		put_row(run, &trace.rows.at[i], out);
	cur_step_trace_release(&trace);
	return MINDPROF_OK;
}

static bool wanted(const struct cur_run *run)
{
	return (run->params.npu && !run->params.level_none) || cur_corrects(run, CUR_FIX_ALL_TARGETS);
}

const struct cur_output cur_step_trace_time = {
	.name = "step_trace_time.csv",
	.about = "Computing, communication and free time of each step.",
	.wanted = wanted,
	.write = write_step_trace,
	.original_needs = CUR_NEEDS_TIMELINE,
};
