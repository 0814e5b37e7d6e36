/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scope layer. Input: CPU operators, kernels and their launches. Output: bars of the scopes that their
 * names are paths of (analysis-current.md section 7.5).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "current/cur_scope.h"

#include "base/banned.h"

/* Deeper parts are left out: a name of nothing but slashes must not make a bar of each for each execution. */
#define MAX_DEPTH 128u

/* Something with a path. */
struct scoped {
	struct cur_begin begin;
	struct cur_exact dur;
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

/* One more than MAX_DEPTH is as good as any more. */
static size_t n_parts(struct mp_str path)
{
	size_t n = path.len > 0, i;

	for (i = 0; i < path.len && n <= MAX_DEPTH; i++)
		n += path.text[i] == '/';
	return n;
}

static bool add(const struct cur_run *run, scoped_list *list, struct cur_begin begin, struct cur_exact dur,
		struct mp_str path)
{
	if (!path.len)
		return true;
	if (n_parts(path) > MAX_DEPTH)
		mp_store_note(run->store, MP_WARNING, "deep-scope", NULL, -1,
			      "names have more than %u scopes, deeper ones are not shown", MAX_DEPTH);
	return mp_vec_push(list, (struct scoped){begin, dur, path, list->len});
}

static bool add_kernel(const struct cur_run *run, size_t index, scoped_list *list)
{
	const struct cur_device_event *event = &run->device.events.at[index];
	struct cur_exact dur = cur_exact_ns(event->dur_ns);
	struct mp_str name = mp_store_text(run->store, event->name), parent = {"", 0}, path = path_of(name);

	if (event->parent != CUR_NO_PARENT)
		parent = after_colons(mp_store_text(run->store, run->host.events.at[event->parent].name));
	if (!is_scoped(name) && !is_scoped(parent))
		return true;
	if (n_parts(path_of(parent)) > n_parts(path))
		path = path_of(parent);
	/* The original has the binary fraction that JSON makes of a number. */
	if (index < run->device.durs_us.len && !isnan(run->device.durs_us.at[index]))
		dur = cur_exact_double(run->device.durs_us.at[index]);
	return add(run, list, cur_begin_of(event->ts_ns, event->binary_ts), dur, path);
}

static bool collect(const struct cur_run *run, scoped_list *list)
{
	size_t i;

	for (i = 0; i < run->cpu_ops.events.len; i++) {
		const struct cur_cpu_op *op = &run->cpu_ops.events.at[i];
		struct mp_str name = mp_store_text(run->store, op->name);

		if (is_scoped(name) &&
		    !add(run, list, cur_begin_of(op->ts_ns, false), cur_exact_ns(op->dur_ns), path_of(name)))
			return false;
	}
	for (i = 0; i < run->device.events.len; i++) {
		uint32_t track = run->device.events.at[i].track;

		if (run->device.tracks.at[track].layer == CUR_LAYER_HARDWARE && !add_kernel(run, i, list))
			return false;
	}
	return true;
}

static int compare_start(const void *a, const void *b)
{
	const struct scoped *x = a, *y = b;

	if (x->begin.ns != y->begin.ns)
		return x->begin.ns < y->begin.ns ? -1 : 1;
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
	struct cur_scope scope = {at->begin, at->dur, name, (uint32_t)depth};
	struct cur_scope *open;
	struct cur_exact end;

	if (depth == bars->open.len)
		return mp_vec_push(&bars->open, scope);
	open = &bars->open.at[depth];
	if (open->name.text && !*changed && mp_str_equal(open->name, name)) {
		end = cur_exact_end(at->begin, &at->dur);
		open->dur = cur_exact_since(&end, open->begin);
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

/* Begins before the bar at the top ends. */
static bool is_covered(const struct bars *bars, struct cur_begin begin)
{
	struct cur_exact end;

	if (!bars->open.len || !bars->open.at[0].name.text)
		return false;
	end = cur_exact_end(bars->open.at[0].begin, &bars->open.at[0].dur);
	return cur_exact_is_before(begin, &end);
}

static bool put(struct bars *bars, const struct scoped *at)
{
	struct mp_str rest = at->path;
	bool changed = false;
	size_t depth = 0;

	if (is_covered(bars, at->begin))
		return true;
	for (;; depth++) {
		const char *slash = memchr(rest.text, '/', rest.len);
		struct mp_str part = {rest.text, slash ? (size_t)(slash - rest.text) : rest.len};

		if (!put_part(bars, depth, part, at, &changed))
			return false;
		if (!slash || depth + 1 == MAX_DEPTH)
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
