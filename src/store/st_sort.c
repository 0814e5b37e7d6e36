/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order of events: references to the ranges of each track by (begin ascending, end descending),
 * and of each other kind by time. Input: committed blocks; output: struct mp_order.
 *
 * Events come in order of begin, or in order of end (a recorder writes a range when it ends), or
 * as a few such sequences one after the other. So the list is cut into runs that need no
 * comparison sort, and the runs are merged:
 *
 *   A run is kept as a list of pieces, each sorted and all before the next one. A new event goes to
 *   the end, or before some of the last pieces, which it then joins to one: a range that ends last
 *   takes the children that came before it. Where neither fits, the next run begins.
 */
#include <assert.h>

#include "store/st_private.h"

#include "base/banned.h"

#define NO_ITEM UINT32_MAX

struct key {
	int64_t begin_ns, end_ns;
};

struct item { /* for merging runs */
	struct key key;
	struct mp_ref ref;
};

struct piece {
	struct key first, last;
	uint32_t head, tail; /* items */
};

/* Sorting of one list of references. */
struct sorter {
	const struct mp_block *const *blocks;
	struct mp_ref *refs; /* in order of appending at first */
	uint32_t n;
	bool nested;                 /* ranges: the end counts, too */
	bool equal_reversed;         /* of equal events the later one comes first */
	struct mp_ref *from;         /* owned: copy of refs */
	uint32_t *next;              /* owned: lists of the pieces */
	MP_VEC(struct piece) pieces; /* of the current run */
	MP_VEC(uint32_t) run_ends;   /* where each finished run ends in refs */
};

static inline struct key key_of(const struct sorter *sorter, struct mp_ref ref)
{
	const struct mp_block *block = sorter->blocks[ref.block];
	int64_t begin_ns = block->ts_ns[ref.row];

	return (struct key){begin_ns, sorter->nested ? mp_end_ns(begin_ns, block->a[ref.row]) : 0};
}

static inline bool equal(struct key a, struct key b)
{
	return a.begin_ns == b.begin_ns && a.end_ns == b.end_ns;
}

/* Whether a must stand before b when neither is equal to the other. */
static inline bool before(struct key a, struct key b)
{
	return a.begin_ns < b.begin_ns || (a.begin_ns == b.begin_ns && a.end_ns > b.end_ns);
}

/* Whether b, appended after a, stays behind it. */
static inline bool stays(const struct sorter *sorter, struct key a, struct key b)
{
	return before(a, b) || (!sorter->equal_reversed && equal(a, b));
}

/* One look at the list: false when it is sorted already. Tells how it was delivered. */
static bool needs_sort(struct sorter *sorter)
{
	struct key last = key_of(sorter, sorter->refs[0]);
	uint32_t back_steps_of_begin = 0, back_steps_of_end = 0, equals = 0;

	for (uint32_t i = 1; i < sorter->n; i++) {
		struct key key = key_of(sorter, sorter->refs[i]);

		back_steps_of_begin += before(key, last);
		back_steps_of_end += key.end_ns < last.end_ns;
		equals += equal(key, last);
		last = key;
	}
	sorter->equal_reversed = sorter->nested && back_steps_of_begin > back_steps_of_end;
	return back_steps_of_begin || (equals && sorter->equal_reversed);
}

/* Writes the current run to refs in order; at = where it begins. */
static mp_status finish_run(struct sorter *sorter, uint32_t at, mp_err *err)
{
	for (size_t i = 0; i < sorter->pieces.len; i++) {
		uint32_t item = sorter->pieces.at[i].head;

		while (item != NO_ITEM) {
			sorter->refs[at++] = sorter->from[item];
			item = sorter->next[item];
		}
	}
	sorter->pieces.len = 0;
	if (!mp_vec_push(&sorter->run_ends, at))
		return mp_err_nomem(err, (sorter->run_ends.len + 1) * sizeof(at));
	return MINDPROF_OK;
}

/* Adds an item to the current run; false when it does not fit there. */
static bool join_run(struct sorter *sorter, uint32_t item, struct key key)
{
	size_t keep = sorter->pieces.len;
	struct piece piece = {.first = key, .last = key, .head = item, .tail = item};

	while (keep && !stays(sorter, sorter->pieces.at[keep - 1].first, key))
		keep--;
	if (keep && !stays(sorter, sorter->pieces.at[keep - 1].last, key))
		return false;
	if (keep < sorter->pieces.len) {
		for (size_t i = keep; i < sorter->pieces.len; i++) {
			sorter->next[piece.tail] = sorter->pieces.at[i].head;
			piece.tail = sorter->pieces.at[i].tail;
			piece.last = sorter->pieces.at[i].last;
		}
		sorter->pieces.len = keep;
	}
	/* Room was made before: there are never more pieces than items. */
	sorter->pieces.at[sorter->pieces.len++] = piece;
	return true;
}

static mp_status cut_into_runs(struct sorter *sorter, mp_err *err)
{
	uint32_t at = 0;

	memcpy(sorter->from, sorter->refs, sorter->n * sizeof(*sorter->from));
	for (uint32_t i = 0; i < sorter->n; i++) {
		struct key key = key_of(sorter, sorter->from[i]);

		sorter->next[i] = NO_ITEM;
		if (!mp_vec_reserve(&sorter->pieces, 1))
			return mp_err_nomem(err, (sorter->pieces.len + 1) * sizeof(*sorter->pieces.at));
		if (join_run(sorter, i, key))
			continue;
		MP_TRY(finish_run(sorter, at, err));
		at = i;
		join_run(sorter, i, key);
	}
	return finish_run(sorter, at, err);
}

/* Merges from[a..b) and from[b..c) to `to`; the first one has priority unless equals are reversed. */
static void merge(const struct sorter *sorter, const struct item *from, struct item *to,
		  const uint32_t abc[3])
{
	uint32_t i = abc[0], j = abc[1];

	for (uint32_t k = abc[0]; k < abc[2]; k++) {
		if (j == abc[2] || (i < abc[1] && stays(sorter, from[i].key, from[j].key)))
			to[k] = from[i++];
		else
			to[k] = from[j++];
	}
}

/* Merges neighbouring runs; to receives all items, run_ends half as many ends. */
static void merge_pairs(struct sorter *sorter, const struct item *from, struct item *to)
{
	uint32_t begin = 0;
	size_t runs = 0;

	for (size_t run = 0; run < sorter->run_ends.len; run += 2) {
		uint32_t middle = sorter->run_ends.at[run];
		uint32_t end = run + 1 < sorter->run_ends.len ? sorter->run_ends.at[run + 1] : middle;

		merge(sorter, from, to, (const uint32_t[]){begin, middle, end});
		sorter->run_ends.at[runs++] = end;
		begin = end;
	}
	sorter->run_ends.len = runs;
}

static mp_status merge_runs(struct sorter *sorter, mp_err *err)
{
	struct item *items = mp_realloc_array(NULL, sorter->n, sizeof(*items));
	struct item *other = mp_realloc_array(NULL, sorter->n, sizeof(*items));
	mp_status status = MINDPROF_OK;

	if (items == NULL || other == NULL) {
		status = mp_err_nomem(err, 2 * sorter->n * sizeof(*items));
		goto out;
	}
	for (uint32_t i = 0; i < sorter->n; i++)
		items[i] = (struct item){key_of(sorter, sorter->refs[i]), sorter->refs[i]};
	while (sorter->run_ends.len > 1) {
		struct item *merged = other;

		merge_pairs(sorter, items, merged);
		other = items;
		items = merged;
	}
	for (uint32_t i = 0; i < sorter->n; i++)
		sorter->refs[i] = items[i].ref;
out:
	mp_free(items);
	mp_free(other);
	return status;
}

static mp_status sort_refs(const struct mp_store *store, struct mp_ref *refs, size_t n, bool nested,
			   mp_err *err)
{
	struct sorter sorter = {.blocks = mp_store_blocks(store), .refs = refs, .nested = nested};
	mp_status status;

	if (n >= NO_ITEM)
		return mp_err_set(err, MINDPROF_E_LIMIT, NULL, -1,
				  "too many events of one track or kind (%zu)", n);
	sorter.n = (uint32_t)n;
	if (n < 2 || !needs_sort(&sorter))
		return MINDPROF_OK;
	sorter.from = mp_realloc_array(NULL, n, sizeof(*sorter.from));
	sorter.next = mp_realloc_array(NULL, n, sizeof(*sorter.next));
	if (sorter.from == NULL || sorter.next == NULL)
		status = mp_err_nomem(err, n * (sizeof(*sorter.from) + sizeof(*sorter.next)));
	else
		status = cut_into_runs(&sorter, err);
	mp_free(sorter.from);
	mp_free(sorter.next);
	mp_vec_release(&sorter.pieces);
	if (status == MINDPROF_OK && sorter.run_ends.len > 1)
		status = merge_runs(&sorter, err);
	mp_vec_release(&sorter.run_ends);
	return status;
}

/* track_at[t] = where the ranges of track t begin; also checks the track numbers of all events. */
static mp_status count_tracks(const struct mp_store *store, struct mp_order *order, mp_err *err)
{
	for (size_t i = 0; i < store->blocks.len; i++) {
		const struct mp_block *block = store->blocks.at[i];

		for (uint32_t row = 0; row < block->n; row++) {
			if (block->track[row] >= order->n_tracks)
				return mp_err_set(err, MINDPROF_E_INTERNAL, NULL, -1,
						  "an event refers to track %u of %zu", block->track[row],
						  order->n_tracks);
			if (block->kind == MP_KIND_RANGE)
				order->track_at[block->track[row] + 1]++;
		}
		order->n[block->kind] += block->n;
	}
	for (size_t t = 0; t < order->n_tracks; t++)
		order->track_at[t + 1] += order->track_at[t];
	return MINDPROF_OK;
}

/* Fills the lists in order of appending. Uses `at` (n_tracks) as positions. */
static void fill_refs(const struct mp_store *store, struct mp_order *order, size_t *at)
{
	size_t n[MP_KINDS] = {0};

	memcpy(at, order->track_at, order->n_tracks * sizeof(*at));
	for (size_t i = 0; i < store->blocks.len; i++) {
		const struct mp_block *block = store->blocks.at[i];
		struct mp_ref *refs = order->refs[block->kind];

		for (uint32_t row = 0; row < block->n; row++) {
			size_t to = block->kind == MP_KIND_RANGE ? at[block->track[row]]++ : n[block->kind]++;

			refs[to] = (struct mp_ref){.block = (uint32_t)i, .row = row};
		}
	}
}

struct sort_job {
	struct mp_store *store;
	struct mp_order *order;
};

/* Index: the tracks, then the other kinds. */
static mp_status sort_one(void *user, size_t index, unsigned worker, mp_err *err)
{
	const struct sort_job *job = user;
	const struct mp_order *order = job->order;
	size_t kind = index - order->n_tracks;

	(void)worker;
	if (index < order->n_tracks) {
		size_t at = order->track_at[index], n = order->track_at[index + 1] - at;

		return n ? sort_refs(job->store, order->refs[MP_KIND_RANGE] + at, n, true, err) : MINDPROF_OK;
	}
	if (kind == MP_KIND_RANGE || order->n[kind] == 0)
		return MINDPROF_OK;
	return sort_refs(job->store, order->refs[kind], order->n[kind], false, err);
}

static mp_status build_order(struct mp_store *store, struct mp_order *order, struct mp_pool *pool,
			     mp_err *err)
{
	struct sort_job job = {store, order};
	size_t *at;

	order->n_tracks = mp_store_n_tracks(store);
	order->n_blocks = store->blocks.len;
	order->track_at = mp_calloc(order->n_tracks + 1, sizeof(*order->track_at));
	if (order->track_at == NULL)
		return mp_err_nomem(err, (order->n_tracks + 1) * sizeof(*order->track_at));
	MP_TRY(count_tracks(store, order, err));
	for (int kind = 0; kind < MP_KINDS; kind++) {
		if (order->n[kind] == 0)
			continue;
		order->refs[kind] = mp_realloc_array(NULL, order->n[kind], sizeof(struct mp_ref));
		if (order->refs[kind] == NULL)
			return mp_err_nomem(err, order->n[kind] * sizeof(struct mp_ref));
	}
	at = mp_calloc(order->n_tracks + 1, sizeof(*at));
	if (at == NULL)
		return mp_err_nomem(err, order->n_tracks * sizeof(*at));
	fill_refs(store, order, at);
	mp_free(at);
	return mp_pool_for(pool, order->n_tracks + MP_KINDS, sort_one, &job, err);
}

void mp_order_release(struct mp_order *order)
{
	for (int kind = 0; kind < MP_KINDS; kind++)
		mp_free(order->refs[kind]);
	mp_free(order->track_at);
	*order = (struct mp_order){0};
}

mp_status mp_store_sort(struct mp_store *store, struct mp_pool *pool, mp_err *err)
{
	struct mp_order order = {0};
	mp_status status;

	if (store->order.built && store->order.n_blocks == store->blocks.len &&
	    store->order.n_tracks == mp_store_n_tracks(store))
		return MINDPROF_OK;
	mp_order_release(&store->order);
	status = build_order(store, &order, pool, err);
	if (status != MINDPROF_OK) {
		mp_order_release(&order);
		return status;
	}
	order.built = true;
	store->order = order;
	return MINDPROF_OK;
}

struct mp_ranges mp_store_ranges(const struct mp_store *store, uint32_t track)
{
	const struct mp_order *order = &store->order;

	assert(order->built);
	if (track >= order->n_tracks || order->n[MP_KIND_RANGE] == 0)
		return (struct mp_ranges){NULL, 0};
	return (struct mp_ranges){order->refs[MP_KIND_RANGE] + order->track_at[track],
				  order->track_at[track + 1] - order->track_at[track]};
}

struct mp_ranges mp_store_ordered(const struct mp_store *store, enum mp_kind kind)
{
	const struct mp_order *order = &store->order;

	assert(order->built && kind != MP_KIND_RANGE);
	return (struct mp_ranges){order->refs[kind], order->n[kind]};
}
