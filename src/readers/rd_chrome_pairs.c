/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two events tell together: begins and ends of ranges, and flow ends that are bound to the
 * range that begins next. Done when all events are known, because they may stand in any order.
 */
#include "readers/rd_chrome.h"

#include "base/banned.h"

/* ---------------------------------------------------------------- halves of ranges */

static int by_key(const struct chrome_half *a, const struct chrome_half *b)
{
	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->category != b->category)
		return a->category < b->category ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->scope != b->scope)
		return a->scope < b->scope ? -1 : 1;
	if (a->name_key != b->name_key)
		return a->name_key < b->name_key ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* Equal times stay in the order of the file. */
static int by_time(const void *left, const void *right)
{
	const struct chrome_half *a = left, *b = right;
	int order = by_key(a, b);

	if (order)
		return order;
	if (a->ts_ns != b->ts_ns)
		return a->ts_ns < b->ts_ns ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

struct joiner {
	struct chrome_worker *worker; /* counts the faults, appends */
	int64_t end_ns;               /* of the trace: where ranges without an end stop */
	MP_VEC(const struct chrome_half *) open;
};

static void put_range(struct joiner *joiner, const struct chrome_half *begin, const struct chrome_half *end)
{
	struct chrome_worker *worker = joiner->worker;
	int64_t end_ns = end ? end->ts_ns : MP_MAX(joiner->end_ns, begin->ts_ns);
	struct mp_event range = {.ts_ns = begin->ts_ns,
				 .track = begin->lane,
				 .name = begin->name,
				 .detail = begin->detail,
				 .cls = end ? begin->cls : MP_CLASS_OPEN};

	if (__builtin_sub_overflow(end_ns, begin->ts_ns, &range.a))
		range.a = INT64_MAX;
	/* The args of the end count when the begin has none. */
	if (end && !range.detail)
		range.detail = end->detail;
	if (!end)
		chrome_fault(worker, CHROME_NO_END, worker->read->array.text + begin->offset);
	if (!mp_append(worker->appender, MP_KIND_RANGE, &range))
		worker->failed = MINDPROF_E_LIMIT;
}

/* The halves of one key, in order. An end closes the begin before it. */
static bool join_key(struct joiner *joiner, const struct chrome_half *at, size_t n)
{
	joiner->open.len = 0;
	for (size_t i = 0; i < n; i++) {
		if (!at[i].is_end) {
			if (!mp_vec_push(&joiner->open, &at[i]))
				return false;
		} else if (joiner->open.len) {
			put_range(joiner, joiner->open.at[--joiner->open.len], &at[i]);
		} else {
			chrome_fault(joiner->worker, CHROME_NO_BEGIN,
				     joiner->worker->read->array.text + at[i].offset);
		}
	}
	while (joiner->open.len)
		put_range(joiner, joiner->open.at[--joiner->open.len], NULL);
	return true;
}

static bool join_sorted(struct joiner *joiner, chrome_halves *halves)
{
	size_t begin, end;

	if (halves->len)
		qsort(halves->at, halves->len, sizeof(*halves->at), by_time);
	for (begin = 0; begin < halves->len; begin = end) {
		for (end = begin + 1; end < halves->len && !by_key(&halves->at[begin], &halves->at[end]);
		     end++)
			;
		if (!join_key(joiner, &halves->at[begin], end - begin))
			return false;
	}
	return true;
}

/* Moves the items of `from` behind those of `to`. */
static bool move_halves(chrome_halves *to, chrome_halves *from)
{
	if (!from->len)
		return true;
	if (!mp_vec_reserve(to, from->len))
		return false;
	memcpy(&to->at[to->len], from->at, from->len * sizeof(*from->at));
	to->len += from->len;
	mp_vec_release(from);
	return true;
}

mp_status chrome_join_halves(struct chrome_worker *workers, size_t n, int64_t end_ns, mp_err *err)
{
	struct joiner joiner = {.worker = &workers[0], .end_ns = end_ns};
	bool done = true;

	for (size_t i = 1; i < n && done; i++)
		done = move_halves(&workers[0].calls, &workers[i].calls) &&
		       move_halves(&workers[0].async, &workers[i].async);
	done = done && join_sorted(&joiner, &workers[0].calls) && join_sorted(&joiner, &workers[0].async);
	mp_vec_release(&joiner.open);
	return done ? MINDPROF_OK : mp_err_nomem(err, sizeof(struct chrome_half));
}

/* ---------------------------------------------------------------- flow ends */

static int by_place(const void *left, const void *right)
{
	const struct chrome_flow_end *a = left, *b = right;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->ts_ns != b->ts_ns)
		return a->ts_ns < b->ts_ns ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

mp_status chrome_collect_flow_ends(struct chrome_worker *workers, size_t n, mp_err *err)
{
	chrome_flow_ends *all = &workers[0].read->flow_ends;

	for (size_t i = 0; i < n; i++) {
		chrome_flow_ends *from = &workers[i].flow_ends;

		if (!from->len)
			continue;
		if (!mp_vec_reserve(all, from->len))
			return mp_err_nomem(err, from->len * sizeof(*from->at));
		memcpy(&all->at[all->len], from->at, from->len * sizeof(*from->at));
		all->len += from->len;
		mp_vec_release(from);
	}
	if (!all->len)
		return MINDPROF_OK;
	qsort(all->at, all->len, sizeof(*all->at), by_place);
	for (size_t i = 0; i < n; i++) {
		workers[i].bound_ns = mp_realloc_array(NULL, all->len, sizeof(*workers[i].bound_ns));
		if (!workers[i].bound_ns)
			return mp_err_nomem(err, all->len * sizeof(*workers[i].bound_ns));
		for (size_t k = 0; k < all->len; k++)
			workers[i].bound_ns[k] = INT64_MAX;
	}
	return MINDPROF_OK;
}

/* The begin is a candidate for the last flow end before it; appending hands it on to earlier ones. */
void chrome_bind_flow_ends(struct chrome_worker *worker, uint32_t track, int64_t begin_ns)
{
	const chrome_flow_ends *ends = &worker->read->flow_ends;
	size_t low = 0, high = ends->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct chrome_flow_end *at = &ends->at[middle];

		if (at->track < track || (at->track == track && at->ts_ns <= begin_ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0 && ends->at[low - 1].track == track)
		worker->bound_ns[low - 1] = MP_MIN(worker->bound_ns[low - 1], begin_ns);
}

mp_status chrome_append_flow_ends(struct chrome_worker *workers, size_t n, mp_err *err)
{
	chrome_flow_ends *ends = &workers[0].read->flow_ends;
	int64_t next_ns = INT64_MAX;

	for (size_t k = ends->len; k-- > 0;) {
		if (k + 1 == ends->len || ends->at[k].track != ends->at[k + 1].track)
			next_ns = INT64_MAX;
		for (size_t i = 0; i < n; i++)
			next_ns = MP_MIN(next_ns, workers[i].bound_ns[k]);
		ends->at[k].bound_ns = next_ns;
	}
	for (size_t k = 0; k < ends->len; k++) {
		const struct chrome_flow_end *end = &ends->at[k];
		/* Without a range that follows, the one around it is meant. */
		struct mp_event flow = {.ts_ns = end->bound_ns == INT64_MAX ? end->ts_ns : end->bound_ns,
					.a = (int64_t)end->id,
					.track = end->track,
					.name = end->name,
					.cls = MP_FLOW_END};

		if (!mp_append(workers[0].appender, MP_KIND_FLOW, &flow))
			return mp_err_set(err, MINDPROF_E_LIMIT, NULL, -1,
					  "the event store takes no more events");
	}
	return MINDPROF_OK;
}
