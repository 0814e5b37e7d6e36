/* SPDX-License-Identifier: Apache-2.0 */
/* Covered time, streamed: the sorted ranges of a track are joined; tracks are merged with a heap. */
#include "analyses/an_cover.h"

#include "base/compiler.h"
#include "base/mem.h"

#include "base/banned.h"

void mp_cover_track_init(struct mp_cover_track *cover, const struct mp_store *store, uint32_t track)
{
	*cover = (struct mp_cover_track){.blocks = mp_store_blocks(store),
					 .ranges = mp_store_ranges(store, track)};
}

bool mp_cover_track_next(struct mp_cover_track *cover, struct mp_cover *out)
{
	bool any = false;

	for (; cover->next < cover->ranges.n; cover->next++) {
		struct mp_ref ref = cover->ranges.refs[cover->next];
		const struct mp_block *block = cover->blocks[ref.block];
		int64_t begin_ns = block->ts_ns[ref.row];
		int64_t end_ns = mp_end_ns(begin_ns, block->a[ref.row]);
		uint32_t name = block->name[ref.row];

		if (block->cls[ref.row] == MP_CLASS_STEP || begin_ns == end_ns)
			continue;
		if (any && begin_ns > out->end_ns)
			break;
		if (!any)
			*out = (struct mp_cover){begin_ns, end_ns, name, name};
		any = true;
		if (end_ns > out->end_ns) {
			out->end_ns = end_ns;
			out->last_name = name;
		}
	}
	return any;
}

static void swap_heads(struct mp_cover_head *a, struct mp_cover_head *b)
{
	struct mp_cover_head old = *a;

	*a = *b;
	*b = old;
}

static void sift_down(struct mp_cover_union *cover)
{
	struct mp_cover_head *heap = cover->heap.at;
	size_t i = 0, n = cover->heap.len;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < n && heap[child + 1].at.begin_ns < heap[child].at.begin_ns)
			child++;
		if (child >= n || heap[i].at.begin_ns <= heap[child].at.begin_ns)
			return;
		swap_heads(&heap[i], &heap[child]);
		i = child;
	}
}

bool mp_cover_union_add(struct mp_cover_union *cover, const struct mp_store *store, uint32_t track)
{
	struct mp_cover_head head;
	size_t i = cover->heap.len;

	mp_cover_track_init(&head.track, store, track);
	if (!mp_cover_track_next(&head.track, &head.at))
		return true;
	if (!mp_vec_push(&cover->heap, head))
		return false;
	for (; i && cover->heap.at[i].at.begin_ns < cover->heap.at[(i - 1) / 2].at.begin_ns; i = (i - 1) / 2)
		swap_heads(&cover->heap.at[i], &cover->heap.at[(i - 1) / 2]);
	return true;
}

/* The first track goes on to its next interval, or leaves. */
static void advance(struct mp_cover_union *cover)
{
	struct mp_cover_head *top = &cover->heap.at[0];

	if (!mp_cover_track_next(&top->track, &top->at))
		*top = cover->heap.at[--cover->heap.len];
	sift_down(cover);
}

bool mp_cover_union_next(struct mp_cover_union *cover, struct mp_cover *out)
{
	if (cover->heap.len == 0)
		return false;
	*out = cover->heap.at[0].at;
	advance(cover);
	while (cover->heap.len && cover->heap.at[0].at.begin_ns <= out->end_ns) {
		if (cover->heap.at[0].at.end_ns > out->end_ns) {
			out->end_ns = cover->heap.at[0].at.end_ns;
			out->last_name = cover->heap.at[0].at.last_name;
		}
		advance(cover);
	}
	return true;
}

void mp_cover_union_release(struct mp_cover_union *cover)
{
	mp_vec_release(&cover->heap);
}
