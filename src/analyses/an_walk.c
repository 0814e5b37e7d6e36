/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Self times: the sorted ranges of a track pass over a stack of the open ones. The stack grows with
 * the depth of the input and nothing recurses.
 */
#include "analyses/an_walk.h"

#include "base/compiler.h"
#include "base/mem.h"

#include "base/banned.h"

/* Takes the innermost range off the stack and tells it. */
static mp_status close_top(struct mp_walk *walk, const struct mp_block *const *blocks, mp_walk_fn fn,
			   void *user, mp_err *err)
{
	const struct mp_walk_open *open = &walk->stack.at[--walk->stack.len];
	struct mp_walk_range range = {
		.block = blocks[open->ref.block],
		.row = open->ref.row,
		.depth = (uint32_t)walk->stack.len,
		.dur_ns = open->end_ns - open->begin_ns,
	};

	range.self_ns = range.dur_ns - open->children_ns;
	return fn(user, &range, err);
}

mp_status mp_walk_track(struct mp_walk *walk, const struct mp_store *store, uint32_t track, mp_walk_fn fn,
			void *user, mp_err *err)
{
	const struct mp_block *const *blocks = mp_store_blocks(store);
	struct mp_ranges ranges = mp_store_ranges(store, track);

	walk->stack.len = 0;
	for (size_t i = 0; i < ranges.n; i++) {
		struct mp_ref ref = ranges.refs[i];
		const struct mp_block *block = blocks[ref.block];
		struct mp_walk_open open = {.ref = ref, .begin_ns = block->ts_ns[ref.row]};

		open.end_ns = mp_end_ns(open.begin_ns, block->a[ref.row]);
		while (walk->stack.len && walk->stack.at[walk->stack.len - 1].end_ns <= open.begin_ns)
			MP_TRY(close_top(walk, blocks, fn, user, err));
		if (walk->stack.len) {
			struct mp_walk_open *parent = &walk->stack.at[walk->stack.len - 1];

			/* Direct children follow each other, so their sum never exceeds the parent. */
			parent->children_ns += MP_MIN(open.end_ns, parent->end_ns) - open.begin_ns;
		}
		if (!mp_vec_push(&walk->stack, open))
			return mp_err_nomem(err, (walk->stack.len + 1) * sizeof(open));
	}
	while (walk->stack.len)
		MP_TRY(close_top(walk, blocks, fn, user, err));
	return MINDPROF_OK;
}

void mp_walk_release(struct mp_walk *walk)
{
	mp_vec_release(&walk->stack);
}
