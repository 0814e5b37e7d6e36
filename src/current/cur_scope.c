/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scope layer. Input: CPU operators, kernels and their launches. Output: bars of the scopes that their
 * names are paths of (analysis-current.md section 7.5).
 */
#include <stdlib.h>
#include <string.h>

#include "current/cur_scope.h"

#include "base/banned.h"

/* Something with a path. */
struct scoped {
	int64_t ts_ns, dur_ns;
	struct mp_str path; /* without the last part */
	size_t order;
};
typedef MP_VEC(struct scoped) scoped_list;

static bool is_scoped(struct mp_str name)
{
	return mp_str_begins(name, "Default") || mp_str_begins(name, "Gradients") ||
	       mp_str_begins(name, "recompute_Default");
}

static struct mp_str path_of(struct mp_str name)
{
	const char *slash = name.len ? memrchr(name.text, '/', name.len) : NULL;

	return (struct mp_str){name.text, slash ? (size_t)(slash - name.text) : 0};
}

static struct mp_str after_colons(struct mp_str name)
{
	size_t i;

	for (i = name.len; i >= 2; i--)
		if (name.text[i - 1] == ':' && name.text[i - 2] == ':')
			return (struct mp_str){name.text + i, name.len - i};
	return name;
}

static size_t n_parts(struct mp_str path)
{
	size_t n = path.len > 0, i;

	for (i = 0; i < path.len; i++)
		n += path.text[i] == '/';
	return n;
}

static bool add(scoped_list *list, int64_t ts_ns, int64_t dur_ns, struct mp_str path)
{
	if (!path.len)
		return true;
	return mp_vec_push(list, (struct scoped){ts_ns, dur_ns, path, list->len});
}

static bool add_kernel(const struct cur_run *run, const struct cur_device_event *event, scoped_list *list)
{
	struct mp_str name = mp_store_text(run->store, event->name), parent = {"", 0}, path = path_of(name);

	if (event->parent != CUR_NO_PARENT)
		parent = after_colons(mp_store_text(run->store, run->host.events.at[event->parent].name));
	if (!is_scoped(name) && !is_scoped(parent))
		return true;
	if (n_parts(path_of(parent)) > n_parts(path))
		path = path_of(parent);
	return add(list, event->ts_ns, event->dur_ns, path);
}

static bool collect(const struct cur_run *run, scoped_list *list)
{
	size_t i;

	for (i = 0; i < run->cpu_ops.events.len; i++) {
		const struct cur_cpu_op *op = &run->cpu_ops.events.at[i];
		struct mp_str name = mp_store_text(run->store, op->name);

		if (is_scoped(name) && !add(list, op->ts_ns, op->dur_ns, path_of(name)))
			return false;
	}
	for (i = 0; i < run->device.events.len; i++) {
		const struct cur_device_event *event = &run->device.events.at[i];

		if (run->device.tracks.at[event->track].layer == CUR_LAYER_HARDWARE &&
		    !add_kernel(run, event, list))
			return false;
	}
	return true;
}

static int compare_start(const void *a, const void *b)
{
	const struct scoped *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* ---- bars ---- */

struct bars {
	MP_VEC(struct cur_scope) open; /* by depth; name.text NULL = none */
	cur_scopes *out;
	bool closes; /* correction: what an event is outside of is closed */
};

static bool emit(struct bars *bars, size_t depth)
{
	struct cur_scope scope = bars->open.at[depth];

	bars->open.at[depth].name.text = NULL;
	return !scope.name.text || mp_vec_push(bars->out, scope);
}

/* One part of a path at its depth; *changed tells whether a part above it changed. */
static bool put_part(struct bars *bars, size_t depth, struct mp_str name, const struct scoped *at,
		     bool *changed)
{
	struct cur_scope scope = {at->ts_ns, at->dur_ns, name, (uint32_t)depth};
	struct cur_scope *open;

	if (depth == bars->open.len)
		return mp_vec_push(&bars->open, scope);
	open = &bars->open.at[depth];
	if (open->name.text && !*changed && mp_str_equal(open->name, name)) {
		open->dur_ns = cur_sub_ns(cur_add_ns(at->ts_ns, at->dur_ns), open->ts_ns);
		return true;
	}
	if (open->name.text) {
		*changed = true;
		if (!emit(bars, depth))
			return false;
	}
	bars->open.at[depth] = scope;
	return true;
}

static bool put(struct bars *bars, const struct scoped *at)
{
	struct mp_str rest = at->path;
	bool changed = false;
	size_t depth = 0;

	if (bars->open.len && bars->open.at[0].name.text &&
	    at->ts_ns < cur_add_ns(bars->open.at[0].ts_ns, bars->open.at[0].dur_ns))
		return true;
	for (;; depth++) {
		const char *slash = memchr(rest.text, '/', rest.len);
		struct mp_str part = {rest.text, slash ? (size_t)(slash - rest.text) : rest.len};

		if (!put_part(bars, depth, part, at, &changed))
			return false;
		if (!slash)
			break;
		rest.len -= part.len + 1;
		rest.text += part.len + 1;
	}
	while (bars->closes && bars->open.len > depth + 1) {
		if (!emit(bars, bars->open.len - 1))
			return false;
		bars->open.len--;
	}
	return true;
}

bool cur_scopes_make(const struct cur_run *run, cur_scopes *out)
{
	struct bars bars = {.out = out, .closes = cur_corrects(run, CUR_FIX_SCOPE_FOREIGN)};
	scoped_list list = {0};
	bool good = collect(run, &list);
	size_t i;

	if (list.len)
		qsort(list.at, list.len, sizeof(*list.at), compare_start);
	for (i = 0; good && i < list.len; i++)
		good = put(&bars, &list.at[i]);
	for (i = 0; good && i < bars.open.len; i++)
		good = emit(&bars, i);
	mp_vec_release(&bars.open);
	mp_vec_release(&list);
	return good;
}
