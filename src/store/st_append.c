/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appending: each appender fills blocks of its own, so the hot path takes no lock. Blocks begin
 * small and double up to MP_BLOCK_EVENTS rows, so a short recording takes kilobytes. A full block
 * is committed to the store or, in streaming mode, shown to the hook and filled again; there blocks
 * stay small, so that memory is the same for every recording and the columns stay in the cache.
 *
 * A block is one allocation: struct mp_block, then its columns, widest first.
 */
#include <assert.h>

#include "store/st_private.h"

#include "base/banned.h"

#define FIRST_ROWS 256u
#define STREAMED_ROWS 4096u
#define HUGE_BYTES ((size_t)1 << 20) /* larger blocks are put on huge pages */

static size_t row_bytes(enum mp_kind kind)
{
	uint32_t bit = 1u << kind;

	return sizeof(int64_t) + 2 * sizeof(uint32_t) + (bit & MP_KINDS_WITH_A ? sizeof(int64_t) : 0) +
	       (bit & MP_KINDS_WITH_B ? sizeof(int64_t) : 0) + (bit & MP_KINDS_WITH_C ? sizeof(int64_t) : 0) +
	       (bit & MP_KINDS_WITH_DETAIL ? sizeof(uint32_t) : 0) + (bit & MP_KINDS_WITH_CLS ? 1 : 0);
}

static size_t block_bytes(enum mp_kind kind, uint32_t cap)
{
	return sizeof(struct mp_block) + cap * row_bytes(kind);
}

static void *take(char **at, bool wanted, size_t bytes)
{
	char *column = *at;

	if (!wanted)
		return NULL;
	*at += bytes;
	return column;
}

static struct mp_block *block_new(enum mp_kind kind, uint32_t cap)
{
	size_t bytes = block_bytes(kind, cap);
	struct mp_block *block = bytes > HUGE_BYTES ? mp_malloc_huge(bytes) : mp_malloc(bytes);
	uint32_t bit = 1u << kind;
	char *at;

	if (block == NULL)
		return NULL;
	at = (char *)(block + 1);
	block->kind = (uint8_t)kind;
	block->n = 0;
	block->cap = cap;
	block->ts_ns = take(&at, true, cap * sizeof(int64_t));
	block->a = take(&at, bit & MP_KINDS_WITH_A, cap * sizeof(int64_t));
	block->b = take(&at, bit & MP_KINDS_WITH_B, cap * sizeof(int64_t));
	block->c = take(&at, bit & MP_KINDS_WITH_C, cap * sizeof(int64_t));
	block->track = take(&at, true, cap * sizeof(uint32_t));
	block->name = take(&at, true, cap * sizeof(uint32_t));
	block->detail = take(&at, bit & MP_KINDS_WITH_DETAIL, cap * sizeof(uint32_t));
	block->cls = take(&at, bit & MP_KINDS_WITH_CLS, cap);
	return block;
}

/* Counts the bytes of a new block against the store's bound. */
static mp_status charge(struct mp_store *store, size_t bytes, mp_err *err)
{
	uint64_t max = store->options.max_bytes;
	uint64_t used;
	bool fits;

	mp_store_lock(&store->blocks_lock);
	if (max)
		store->string_bytes += mp_store_string_bytes(store, &store->strings_counted);
	used = store->block_bytes + store->string_bytes;
	fits = max == 0 || (used <= max && bytes <= max - used);
	if (fits)
		store->block_bytes += bytes;
	mp_store_unlock(&store->blocks_lock);
	if (!fits)
		return mp_err_set(
			err, MINDPROF_E_LIMIT, NULL, -1,
			"the events need more memory than the bound of %llu bytes: raise the memory "
			"bound, or analyse fewer processes or a shorter recording",
			(unsigned long long)max);
	return MINDPROF_OK;
}

static void refund(struct mp_store *store, size_t bytes)
{
	mp_store_lock(&store->blocks_lock);
	store->block_bytes -= bytes;
	mp_store_unlock(&store->blocks_lock);
}

/* Smallest begin and largest end of a block's events. */
static void block_range(const struct mp_block *block, int64_t *begin_ns, int64_t *end_ns)
{
	bool lasts = block->kind == MP_KIND_RANGE || block->kind == MP_KIND_QUEUE;
	int64_t begin = INT64_MAX, end = INT64_MIN;

	for (uint32_t i = 0; i < block->n; i++) {
		int64_t to = lasts ? mp_end_ns(block->ts_ns[i], block->a[i]) : block->ts_ns[i];

		begin = MP_MIN(begin, block->ts_ns[i]);
		end = MP_MAX(end, to);
	}
	*begin_ns = begin;
	*end_ns = end;
}

/* Hands the rows over to the store or the hook. *kept tells that the store owns the block now. */
static mp_status commit(struct mp_store *store, struct mp_block *block, bool *kept, mp_err *err)
{
	mp_status status = MINDPROF_OK;
	int64_t begin_ns, end_ns;

	*kept = false;
	if (block->n == 0)
		return MINDPROF_OK;
	block_range(block, &begin_ns, &end_ns);
	mp_store_lock(&store->blocks_lock);
	if (store->options.on_block)
		status = store->options.on_block(store->options.on_block_user, block, err);
	else if (mp_vec_push(&store->blocks, block))
		*kept = true;
	else
		status = mp_err_nomem(err, (store->blocks.len + 1) * sizeof(block));
	if (status == MINDPROF_OK) {
		store->begin_ns = MP_MIN(store->begin_ns, begin_ns);
		store->end_ns = MP_MAX(store->end_ns, end_ns);
		store->n_events[block->kind] += block->n;
	}
	mp_store_unlock(&store->blocks_lock);
	return status;
}

static void drop_block(struct mp_appender *appender, enum mp_kind kind)
{
	struct mp_block *block = appender->open[kind];

	appender->open[kind] = &appender->none;
	if (block == &appender->none)
		return;
	refund(appender->store, block_bytes(kind, block->cap));
	mp_free(block);
}

/* Commits the open block of a kind; afterwards it is empty (recycled) or `none`. */
static mp_status flush(struct mp_appender *appender, enum mp_kind kind, mp_err *err)
{
	struct mp_block *block = appender->open[kind];
	bool kept;

	if (appender->store->options.skip_kinds & 1u << kind) {
		block->n = 0;
		return MINDPROF_OK;
	}
	MP_TRY(commit(appender->store, block, &kept, err));
	if (kept)
		appender->open[kind] = &appender->none;
	else
		block->n = 0;
	return MINDPROF_OK;
}

/* Puts an empty block of the kind in place, of twice as many rows as the one before. */
static mp_status renew(struct mp_appender *appender, enum mp_kind kind, mp_err *err)
{
	uint32_t most = appender->store->options.on_block ? STREAMED_ROWS : MP_BLOCK_EVENTS;
	uint32_t rows = appender->open[kind]->cap;
	struct mp_block *block;

	MP_TRY(flush(appender, kind, err));
	rows = rows ? MP_MIN(rows * 2, most) : FIRST_ROWS;
	if (appender->open[kind]->cap == rows)
		return MINDPROF_OK;
	drop_block(appender, kind);
	MP_TRY(charge(appender->store, block_bytes(kind, rows), err));
	block = block_new(kind, rows);
	if (block == NULL) {
		refund(appender->store, block_bytes(kind, rows));
		return mp_err_nomem(err, block_bytes(kind, rows));
	}
	appender->open[kind] = block;
	return MINDPROF_OK;
}

mp_status mp_appender_new(struct mp_store *store, struct mp_appender **out, mp_err *err)
{
	struct mp_appender *appender = mp_calloc(1, sizeof(*appender));

	*out = NULL;
	if (appender)
		appender->failure = mp_calloc(1, sizeof(*appender->failure));
	if (appender == NULL || appender->failure == NULL) {
		mp_free(appender);
		return mp_err_nomem(err, sizeof(*appender) + sizeof(*appender->failure));
	}
	appender->store = store;
	for (int kind = 0; kind < MP_KINDS; kind++)
		appender->open[kind] = &appender->none;
	*out = appender;
	return MINDPROF_OK;
}

struct mp_block *mp_append_block(struct mp_appender *appender, enum mp_kind kind)
{
	assert(kind < MP_KINDS);
	if (appender->open[kind]->n == appender->open[kind]->cap) {
		if (appender->status == MINDPROF_OK)
			appender->status = renew(appender, kind, appender->failure);
		if (appender->status != MINDPROF_OK)
			return NULL;
	}
	return appender->open[kind];
}

bool mp_append_slow_(struct mp_appender *appender, enum mp_kind kind, const struct mp_event *event)
{
	struct mp_block *block;

	if (appender->store->options.skip_kinds & 1u << kind && appender->status == MINDPROF_OK)
		return true;
	block = mp_append_block(appender, kind);
	if (block == NULL)
		return false;
	mp_block_put_(block, kind, event);
	return true;
}

/* After a failure the store still gets what was appended before it; a hook is not called again. */
static void finish_kind(struct mp_appender *appender, enum mp_kind kind)
{
	if (appender->status == MINDPROF_OK)
		appender->status = flush(appender, kind, appender->failure);
	else if (appender->store->options.on_block == NULL)
		flush(appender, kind, NULL);
}

mp_status mp_appender_finish(struct mp_appender *appender, mp_err *err)
{
	mp_status status;

	if (appender == NULL)
		return MINDPROF_OK;
	for (int kind = 0; kind < MP_KINDS; kind++) {
		finish_kind(appender, (enum mp_kind)kind);
		drop_block(appender, (enum mp_kind)kind);
	}
	status = appender->status;
	if (status != MINDPROF_OK && err)
		*err = *appender->failure;
	mp_free(appender->failure);
	mp_free(appender);
	return status;
}
