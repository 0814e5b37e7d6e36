/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which event data a native recording holds: segments of events.mpr, and chunks of ring.mpr that hold
 * more (after a kill, or of a running process). A (thread, sequence) found again is the same data:
 * the longer one counts. Output: pieces to decode. Document: docs/formats/native.md.
 */
#include "base/mem.h"
#include "readers/rd_native.h"

#include "base/banned.h"

/* ---- pieces ---- */

static bool piece_is_sound(const struct native_piece *piece)
{
	return !piece->sealed || mp_crc32c(0, piece->file->data + piece->payload, piece->bytes) == piece->crc;
}

/* The same (thread, sequence) is there already. */
static bool piece_repeat(struct native *in, uint64_t *position, const struct native_piece *piece)
{
	struct native_piece *known = &in->pieces.at[*position], rest = *piece;
	struct mp_fault *faults = in->faults[piece->file - in->files];

	if (piece->sealed ? piece->whole_bytes <= known->whole_bytes : !piece->whole_bytes)
		return true;
	if (!piece_is_sound(piece)) {
		mp_fault_add(&faults[NATIVE_BAD_PAYLOAD], (int64_t)piece->payload, 1);
		return true;
	}
	if (piece->sealed || !piece_is_sound(known)) {
		*known = *piece;
		return true;
	}
	if (piece->whole_bytes <= known->whole_bytes)
		return true;
	rest.payload += known->whole_bytes;
	rest.bytes = piece->whole_bytes - known->whole_bytes;
	if (!mp_vec_push(&in->pieces, rest))
		return false;
	*position = in->pieces.len - 1;
	return true;
}

bool native_piece_add(struct native *in, const struct native_piece *piece)
{
	uint64_t key = (uint64_t)piece->thread_index << 32 | piece->sequence;
	uint64_t *position = mp_map64_lookup(&in->piece_of_sequence, key);

	if (position)
		return piece_repeat(in, position, piece);
	return mp_vec_push(&in->pieces, *piece) &&
	       mp_map64_put(&in->piece_of_sequence, key, in->pieces.len - 1);
}

bool native_events_list(struct native *in)
{
	const struct mp_file *file = &in->files[NATIVE_IN_EVENTS];
	struct native_walk walk = {.file = file, .faults = in->faults[NATIVE_IN_EVENTS]};
	struct mp_native_segment segment;
	struct native_piece piece = {.file = file, .sealed = true};

	if (!in->have[NATIVE_IN_EVENTS])
		return true;
	walk.at = ((const struct mp_native_file_header *)(const void *)file->data)->header_bytes;
	while (native_walk_next(&walk, &segment, &piece.payload)) {
		if (segment.kind != MP_NATIVE_SEG_EVENTS)
			continue;
		piece.bytes = piece.whole_bytes = segment.payload_bytes;
		piece.n_records = segment.n_records;
		piece.crc = segment.payload_crc;
		piece.thread_index = segment.thread_index;
		piece.sequence = segment.sequence;
		if (!native_piece_add(in, &piece))
			return false;
	}
	return true;
}

/* ---- ring.mpr ---- */

struct ring {
	const struct mp_file *file;
	struct mp_native_ring header;
};

static bool lies_in(uint64_t offset, uint64_t bytes, uint64_t size)
{
	return offset <= size && bytes <= size - offset;
}

/* Parts that a truncated file still has count. */
static bool ring_open(struct native *in, struct ring *ring)
{
	uint64_t at = ((const struct mp_native_file_header *)(const void *)in->files[NATIVE_IN_RING].data)
			      ->header_bytes;
	struct mp_native_ring *h = &ring->header;

	ring->file = &in->files[NATIVE_IN_RING];
	if (!lies_in(at, sizeof(*h), ring->file->size)) {
		mp_fault_add(&in->faults[NATIVE_IN_RING][NATIVE_CUT], (int64_t)at, 1);
		return false;
	}
	memcpy(h, ring->file->data + at, sizeof(*h));
	if (!h->crc) { /* written last */
		mp_fault_add(&in->faults[NATIVE_IN_RING][NATIVE_CUT], (int64_t)at, 1);
		return false;
	}
	if (h->crc == mp_crc32c(0, h, offsetof(struct mp_native_ring, crc)) &&
	    h->slot_bytes >= sizeof(struct mp_native_slot) && h->slot_bytes % 8 == 0 &&
	    h->chunk_bytes >= sizeof(struct mp_native_segment) && h->chunk_bytes % MP_NATIVE_ALIGN == 0)
		return true;
	mp_fault_add(&in->faults[NATIVE_IN_RING][NATIVE_BAD_SEGMENT], (int64_t)at, 1);
	return false;
}

/* Number of items of a table that lie in the file; fewer than there should be is a cut. */
static uint32_t items_in_file(struct native *in, uint64_t offset, uint32_t item_bytes, uint32_t n)
{
	uint64_t size = in->files[NATIVE_IN_RING].size;
	uint64_t fit = offset < size ? (size - offset) / item_bytes : 0;

	if (fit >= n)
		return n;
	mp_fault_add(&in->faults[NATIVE_IN_RING][NATIVE_CUT], (int64_t)size, 1);
	return (uint32_t)fit;
}

/* Losses and open ranges of a thread that was alive. */
static bool take_slot(struct native *in, const struct mp_native_slot *slot)
{
	uint32_t depth = MP_MIN(slot->depth, (uint32_t)MP_NATIVE_OPEN_RANGES);

	if (!slot->os_tid)
		return true;
	if (!native_thread_get(in, slot->thread_index, slot->os_tid))
		return false;
	for (uint32_t kind = 0; kind < MP_NATIVE_DROP_KINDS; kind++)
		if (slot->drops[kind] &&
		    !native_drops_set(in, slot->thread_index, kind, slot->drops[kind], true))
			return false;
	for (uint32_t i = 0; i < depth && !in->ended; i++) {
		struct native_open_range range = {slot->thread_index, slot->open[i].site, slot->open[i].tick};

		if (!mp_vec_push(&in->open_ranges, range))
			return false;
	}
	return true;
}

static bool take_slots(struct native *in, const struct ring *ring)
{
	const struct mp_native_ring *h = &ring->header;
	uint32_t n = items_in_file(in, h->slots_offset, h->slot_bytes, h->n_slots);

	for (uint32_t i = 0; i < n; i++) {
		struct mp_native_slot slot;

		memcpy(&slot, ring->file->data + h->slots_offset + (uint64_t)i * h->slot_bytes, sizeof(slot));
		if (!take_slot(in, &slot))
			return false;
	}
	return true;
}

static bool take_chunk(struct native *in, const struct ring *ring, uint64_t at)
{
	struct mp_native_segment chunk;
	struct native_piece piece = {.file = ring->file, .chunk_at = at};

	memcpy(&chunk, ring->file->data + at, sizeof(chunk));
	if (chunk.magic == 0 || chunk.payload_bytes == 0)
		return true; /* just taken */
	if (chunk.magic != MP_NATIVE_SEGMENT_MAGIC || chunk.kind != MP_NATIVE_SEG_EVENTS ||
	    chunk.header_bytes < sizeof(chunk) || chunk.header_bytes > ring->header.chunk_bytes ||
	    chunk.payload_bytes > ring->header.chunk_bytes - chunk.header_bytes) {
		mp_fault_add(&in->faults[NATIVE_IN_RING][NATIVE_BAD_SEGMENT], (int64_t)at, 1);
		return true;
	}
	piece.payload = at + chunk.header_bytes;
	piece.bytes = piece.whole_bytes = chunk.payload_bytes;
	piece.thread_index = chunk.thread_index;
	piece.sequence = chunk.sequence;
	return native_piece_add(in, &piece);
}

bool native_ring_list(struct native *in)
{
	const struct mp_native_ring *h;
	struct ring ring;
	uint32_t n;

	if (!in->have[NATIVE_IN_RING] || !ring_open(in, &ring))
		return true;
	h = &ring.header;
	if (h->mode == 2)
		in->ring_mode = 1;
	if (!take_slots(in, &ring))
		return false;
	n = items_in_file(in, h->states_offset, sizeof(uint32_t), h->n_chunks);
	n = MP_MIN(n, items_in_file(in, h->chunks_offset, h->chunk_bytes, h->n_chunks));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t state;

		memcpy(&state, ring.file->data + h->states_offset + (uint64_t)i * sizeof(state),
		       sizeof(state));
		if (state != MP_NATIVE_CHUNK_FREE &&
		    !take_chunk(in, &ring, h->chunks_offset + (uint64_t)i * h->chunk_bytes))
			return false;
	}
	return true;
}
