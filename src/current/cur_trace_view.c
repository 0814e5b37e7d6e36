/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_view.json in the original's byte forms. Input: host, CPU operators, device, links, scopes.
 * Output: a bare JSON array (analysis-current.md section 7).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "current/cur_outputs.h"
#include "current/cur_scope.h"

#include "base/banned.h"

enum { PID_HOST = 1, PID_CPU_OPS = 2, PID_SCOPES = 3 };

struct view {
	struct cur_run *run;
	struct mp_out *out;
	struct mp_buf name; /* scratch */
	bool first;
};

static void begin_event(struct view *view)
{
	mp_out_str(view->out, view->first ? "[" : ", ");
	view->first = false;
}

/* With quotes. */
static void put_text(struct view *view, struct mp_str text)
{
	view->name.len = 0;
	mp_json_escape(&view->name, text.text, text.len);
	mp_out_write(view->out, view->name.data, view->name.len);
}

/* ---- built layers ---- */

static void put_process(struct view *view, int pid, const char *name, int sort_index, bool labels)
{
	begin_event(view);
	mp_out_printf(view->out,
		      "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"tid\": 0, "
		      "\"args\": {\"name\": \"%s\"}}, {\"ph\": \"M\", \"name\": \"process_sort_index\", "
		      "\"pid\": %d, \"tid\": 0, \"args\": {\"sort_index\": %d}}",
		      pid, name, pid, sort_index);
	if (labels)
		mp_out_printf(view->out,
			      ", {\"ph\": \"M\", \"name\": \"process_labels\", \"pid\": %d, \"tid\": 0, "
			      "\"args\": {\"labels\": \"CPU\"}}",
			      pid);
}

static void put_thread(struct view *view, int pid, int64_t tid)
{
	begin_event(view);
	mp_out_printf(view->out,
		      "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %d, \"tid\": %" PRId64
		      ", \"args\": {\"name\": \"Thread %" PRId64
		      "\"}}, {\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": %d, \"tid\": %" PRId64
		      ", \"args\": {\"sort_index\": %" PRId64 "}}",
		      pid, tid, tid, pid, tid, tid);
}

/* A range as built layers have it, for the order by threads. */
struct drawn {
	int64_t tid;
	uint32_t index; /* place of arrival */
};
typedef MP_VEC(struct drawn) drawn_list;

static int compare_tid(const void *a, const void *b)
{
	const struct drawn *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static void sort_by_thread(drawn_list *list)
{
	size_t i;

	for (i = 1; i < list->len; i++)
		if (compare_tid(&list->at[i - 1], &list->at[i]) > 0)
			break;
	if (i < list->len)
		qsort(list->at, list->len, sizeof(*list->at), compare_tid);
}

static void put_threads(struct view *view, int pid, const drawn_list *list)
{
	size_t i;

	for (i = 0; i < list->len; i++)
		if (!i || list->at[i].tid != list->at[i - 1].tid)
			put_thread(view, pid, list->at[i].tid);
}

/* Microseconds; a binary fraction has no zeros behind its last digit. */
static void put_us(struct mp_out *out, int64_t ns, bool is_binary)
{
	char text[MP_NUM_MAX];

	if (is_binary)
		mp_out_write(out, text, mp_num_put_us_short(text, ns));
	else
		mp_out_us3(out, ns);
}

/* Up to the quote before the begin. */
static void begin_range(struct view *view, int pid, int64_t tid, struct mp_str name)
{
	struct mp_out *out = view->out;

	begin_event(view);
	mp_out_str(out, "{\"ph\": \"X\", \"name\": ");
	put_text(view, name);
	mp_out_str(out, pid == PID_HOST      ? ", \"pid\": 1, \"tid\": "
			: pid == PID_CPU_OPS ? ", \"pid\": 2, \"tid\": "
					     : ", \"pid\": 3, \"tid\": ");
	mp_out_i64(out, tid);
	mp_out_str(out, ", \"ts\": \"");
}

static void put_range(struct view *view, int pid, int64_t tid, struct mp_str name, int64_t ts_ns,
		      int64_t dur_ns)
{
	begin_range(view, pid, tid, name);
	mp_out_us3(view->out, ts_ns);
	mp_out_str(view->out, "\", \"dur\": \"");
	mp_out_us3(view->out, dur_ns);
}

static void put_instant(struct view *view, const struct cur_host_event *event)
{
	struct mp_out *out = view->out;

	begin_event(view);
	mp_out_str(out, "{\"name\": ");
	put_text(view, mp_store_text(view->run->store, event->name));
	mp_out_str(out, ", \"ph\": \"i\", \"ts\": \"");
	mp_out_us3(out, event->ts_ns);
	mp_out_str(out, "\", \"pid\": 1, \"tid\": ");
	mp_out_i64(out, event->tid);
	mp_out_str(out, ", \"args\": {}}");
}

static bool host_threads(const struct cur_run *run, drawn_list *list)
{
	size_t i;

	for (i = 0; i < run->host.events.len; i++)
		if (!(run->host.events.at[i].flags & CUR_HOST_FLOW) &&
		    !mp_vec_push(list, (struct drawn){run->host.events.at[i].tid, (uint32_t)i}))
			return false;
	sort_by_thread(list);
	return true;
}

static bool put_host(struct view *view)
{
	const struct cur_run *run = view->run;
	drawn_list list = {0};
	bool good = host_threads(run, &list);
	size_t i;

	if (good && list.len) {
		put_process(view, PID_HOST, "MindSpore", 1, true);
		put_threads(view, PID_HOST, &list);
	}
	for (i = 0; good && i < list.len; i++) {
		const struct cur_host_event *event = &run->host.events.at[list.at[i].index];

		if (event->flags & CUR_HOST_INSTANT)
			continue;
		put_range(view, PID_HOST, event->tid, mp_store_text(run->store, event->name), event->ts_ns,
			  event->dur_ns);
		mp_out_str(view->out, event->flags & CUR_HOST_STACK
					      ? "\", \"cat\": \"python_function\", \"args\": {}}"
					      : "\", \"cat\": \"\", \"args\": {}}");
	}
	for (i = 0; good && i < run->host.events.len; i++)
		if ((run->host.events.at[i].flags & (CUR_HOST_INSTANT | CUR_HOST_FLOW)) == CUR_HOST_INSTANT)
			put_instant(view, &run->host.events.at[i]);
	mp_vec_release(&list);
	return good;
}

static bool put_cpu_ops(struct view *view)
{
	const struct cur_run *run = view->run;
	drawn_list list = {0};
	bool good = true;
	size_t i;

	for (i = 0; good && i < run->cpu_ops.events.len; i++)
		good = mp_vec_push(&list, (struct drawn){run->cpu_ops.events.at[i].tid, (uint32_t)i});
	sort_by_thread(&list);
	if (good && list.len) {
		put_process(view, PID_CPU_OPS, "CPU OP", 2, true);
		put_threads(view, PID_CPU_OPS, &list);
	}
	for (i = 0; good && i < list.len; i++) {
		const struct cur_cpu_op *op = &run->cpu_ops.events.at[list.at[i].index];

		put_range(view, PID_CPU_OPS, op->tid, mp_store_text(run->store, op->name), op->ts_ns,
			  op->dur_ns);
		mp_out_str(view->out, "\", \"cat\": \"\", \"args\": {\"type\": ");
		put_text(view, mp_store_text(run->store, op->type));
		mp_out_str(view->out, "}}");
	}
	mp_vec_release(&list);
	return good;
}

static bool put_scopes(struct view *view)
{
	cur_scopes scopes = {0};
	drawn_list list = {0};
	bool good = cur_scopes_make(view->run, &scopes);
	size_t i;

	for (i = 0; good && i < scopes.len; i++)
		good = mp_vec_push(&list, (struct drawn){scopes.at[i].depth, (uint32_t)i});
	sort_by_thread(&list);
	if (good && list.len) {
		put_process(view, PID_SCOPES, "Scope Layer", 12, false);
		put_threads(view, PID_SCOPES, &list);
	}
	for (i = 0; good && i < list.len; i++) {
		const struct cur_scope *scope = &scopes.at[list.at[i].index];

		begin_range(view, PID_SCOPES, scope->depth, scope->name);
		put_us(view->out, scope->begin.ns, scope->begin.decimals < 3);
		mp_out_str(view->out, "\", \"dur\": \"");
		cur_exact_put(view->out, &scope->dur);
		mp_out_str(view->out, "\", \"cat\": \"\", \"args\": {}}");
	}
	mp_vec_release(&scopes);
	mp_vec_release(&list);
	return good;
}

/* ---- flows ---- */

struct end {
	int64_t ts_ns, pid, tid;
	bool binary_ts;
};

static struct end host_end(const struct cur_run *run, uint32_t index)
{
	const struct cur_host_event *event = &run->host.events.at[index];

	return (struct end){event->ts_ns, PID_HOST, event->tid, false};
}

static struct end device_end(const struct cur_run *run, uint32_t index)
{
	const struct cur_device_event *event = &run->device.events.at[index];
	const struct cur_device_track *track = &run->device.tracks.at[event->track];

	return (struct end){event->ts_ns, track->pid, track->tid, event->binary_ts};
}

static void put_end(struct view *view, const char *name, const char *phase, struct end end)
{
	struct mp_out *out = view->out;

	begin_event(view);
	mp_out_str(out, "{\"name\": \"");
	mp_out_str(out, name);
	mp_out_str(out, "\", \"bp\": \"e\", \"ph\": \"");
	mp_out_str(out, phase);
	mp_out_str(out, "\", \"ts\": \"");
	put_us(out, end.ts_ns, end.binary_ts);
	mp_out_str(out, "\", \"pid\": ");
	mp_out_i64(out, end.pid);
	mp_out_str(out, ", \"tid\": ");
	mp_out_i64(out, end.tid);
	mp_out_str(out, ", \"id\": \"");
}

/* The id of flows to the device is the text of the target's time. */
static void put_device_flow(struct view *view, const char *name, const char *category,
			    struct cur_npu_flow flow)
{
	struct end ends[2] = {host_end(view->run, flow.launch), device_end(view->run, flow.kernel)};
	size_t i;

	for (i = 0; i < 2; i++) {
		put_end(view, name, i ? "f" : "s", ends[i]);
		put_us(view->out, ends[1].ts_ns, ends[1].binary_ts);
		mp_out_str(view->out, "\", \"cat\": \"");
		mp_out_str(view->out, category);
		mp_out_str(view->out, "\"}");
	}
}

static void put_self_flow(struct view *view, struct cur_self_flow flow)
{
	struct end ends[2] = {host_end(view->run, flow.begin), host_end(view->run, flow.end)};
	uint64_t id = view->run->host.events.at[flow.begin].flow_id;
	size_t i;

	for (i = 0; i < 2; i++) {
		put_end(view, "mindspore_to_self", i ? "f" : "s", ends[i]);
		mp_out_printf(view->out, "%" PRIu64 "\", \"cat\": \"async_mindspore\"}", id);
	}
}

static void put_flows(struct view *view)
{
	const struct cur_links *links = &view->run->links;
	size_t i;

	for (i = 0; i < links->self.len; i++)
		put_self_flow(view, links->self.at[i]);
	for (i = 0; i < links->mstx.len; i++)
		put_device_flow(view, "mindspore_to_mstx", "MsTx", links->mstx.at[i]);
	for (i = 0; i < links->npu.len; i++)
		put_device_flow(view, "mindspore_to_npu", "async_npu", links->npu.at[i]);
}

/* ---- the output ---- */

static mp_status put_all(struct view *view, mp_err *err)
{
	struct cur_run *run = view->run;

	if (!put_host(view) || !put_cpu_ops(view))
		return mp_err_nomem(err, 0);
	if (run->device.present) {
		if (view->first)
			mp_out_str(view->out, "[");
		MP_TRY(cur_device_copy(run, view->out, &view->first, err));
	}
	put_flows(view);
	if (!put_scopes(view) || view->name.failed)
		return mp_err_nomem(err, 0);
	if (!view->first)
		mp_out_str(view->out, "]");
	return MINDPROF_OK;
}

static mp_status write_trace(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	struct view view = {.run = run, .out = out, .first = true};
	mp_status status;

	MP_TRY(cur_load_cpu_ops(run, err));
	MP_TRY(cur_load_links(run, err));
	mp_buf_init(&view.name, SIZE_MAX / 8);
	status = put_all(&view, err);
	mp_buf_release(&view.name);
	return status;
}

static bool wanted(const struct cur_run *run)
{
	return run->params.cpu || run->params.npu;
}

const struct cur_output cur_trace_view = {
	.name = "trace_view.json",
	.about = "Framework, CPU operators, everything that CANN exported, flows between them and scopes.",
	.wanted = wanted,
	.write = write_trace,
	.original_needs = CUR_NEEDS_TIMELINE,
};
