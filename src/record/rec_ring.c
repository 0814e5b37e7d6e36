/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.mpr: the event memory of a recording, a file mapped and filled in beforehand, so that writing to it
 * can neither fail nor get lost with the process. Here: its making, and how chunks change hands.
 * Layout: docs/formats/native.md, "ring.mpr".
 *
 * Chunk states: FREE -> WRITING -> OWNED (a thread takes it), OWNED -> FULL (it retires it). Stream
 * mode: FULL -> WRITING -> FREE (drained). Ring mode: FULL -> WRITING -> OWNED (the oldest is taken).
 * WRITING = somebody has the chunk to himself; OWNED is stored after the chunk's header is complete.
 */
#include "record/rec.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"

#include "base/banned.h"

#define PAGE_BYTES 4096u
#define USUAL_CHUNK (64u << 10)
#define MIN_CHUNK (4u << 10)
#define MAX_CHUNK (4u << 20)
#define MIN_CHUNKS 64u   /* smaller chunks are preferred to fewer */
#define MAX_CHUNKS 1024u /* larger chunks are preferred to more */
#define POPULATE_STEP ((size_t)1 << 20)

struct layout {
	uint32_t n_chunks, chunk_bytes, slot_bytes;
	uint64_t slots, states, chunks, end;
};

static struct layout plan(uint64_t memory_bytes)
{
	struct layout layout = {.chunk_bytes = USUAL_CHUNK};

	while (layout.chunk_bytes > MIN_CHUNK && memory_bytes / layout.chunk_bytes < MIN_CHUNKS)
		layout.chunk_bytes /= 2;
	while (layout.chunk_bytes < MAX_CHUNK && memory_bytes / layout.chunk_bytes > MAX_CHUNKS)
		layout.chunk_bytes *= 2;
	layout.n_chunks = (uint32_t)(memory_bytes / layout.chunk_bytes);
	layout.slot_bytes = MP_ALIGN_UP((uint32_t)sizeof(struct mp_native_slot), MP_REC_CACHE_PAIR);
	layout.slots = PAGE_BYTES;
	layout.states = MP_ALIGN_UP(layout.slots + (uint64_t)layout.slot_bytes * MP_REC_THREADS, PAGE_BYTES);
	layout.chunks = MP_ALIGN_UP(layout.states + sizeof(uint32_t) * (uint64_t)layout.n_chunks, PAGE_BYTES);
	layout.end = layout.chunks + (uint64_t)layout.n_chunks * layout.chunk_bytes;
	return layout;
}

/* Disk space for the whole file, so that no store into the mapping can meet a full disk. 0 or errno. */
static int reserve(int fd, uint64_t bytes)
{
	int errnum;

	if (mp_rec_file_too_big(bytes))
		return EFBIG;
	do
		errnum = posix_fallocate(fd, 0, (off_t)bytes);
	while (errnum == EINTR);
	return errnum;
}

/* Writes to each page without changing it. */
static void touch(char *at, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	if (madvise(at, bytes, MADV_POPULATE_WRITE) == 0)
		return;
#endif
	for (size_t i = 0; i < bytes; i += PAGE_BYTES)
		__atomic_fetch_or(at + i, 0, __ATOMIC_RELAXED);
}

bool mp_rec_ring_populate(struct mp_rec_ring *ring)
{
	size_t bytes = MP_MIN(ring->bytes - ring->populated, POPULATE_STEP);

	if (!bytes)
		return false;
	touch(ring->base + ring->populated, bytes);
	ring->populated += bytes;
	return ring->populated < ring->bytes;
}

/* Both headers, before the file grows: a kill while the recording starts leaves no file without them. */
static int write_headers(int fd, const struct mp_rec_ring *ring, const struct layout *layout,
			 const struct mp_native_file_header *file)
{
	struct mp_native_ring header = {
		.n_chunks = layout->n_chunks,
		.chunk_bytes = layout->chunk_bytes,
		.n_slots = MP_REC_THREADS,
		.slot_bytes = layout->slot_bytes,
		.slots_offset = layout->slots,
		.states_offset = layout->states,
		.chunks_offset = layout->chunks,
		.base_tick = ring->base_tick,
		.mode = ring->overwrite ? MINDPROF_RECORD_RING : MINDPROF_RECORD_STREAM,
	};
	struct iovec iov[2] = {{(void *)file, sizeof(*file)}, {&header, sizeof(header)}};

	header.crc = mp_crc32c(0, &header, offsetof(struct mp_native_ring, crc));
	return mp_rec_write_at(fd, iov, 2, 0);
}

static mp_status map_file(struct mp_rec_ring *ring, int dir_fd, const struct layout *layout,
			  const struct mp_native_file_header *header, mp_err *err)
{
	int fd = mp_rec_file_create(dir_fd, MP_NATIVE_RING_FILE, true);
	int errnum;
	void *base;

	if (fd < 0)
		return mp_err_sys(err, errno, MP_NATIVE_RING_FILE, "cannot make '%s'", MP_NATIVE_RING_FILE);
	errnum = write_headers(fd, ring, layout, header);
	if (!errnum)
		errnum = reserve(fd, layout->end);
	if (errnum) {
		close(fd);
		return mp_err_sys(err, errnum, MP_NATIVE_RING_FILE, "cannot reserve %llu bytes for '%s'",
				  (unsigned long long)layout->end, MP_NATIVE_RING_FILE);
	}
	base = mmap(NULL, layout->end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	errnum = errno;
	close(fd);
	if (base == MAP_FAILED)
		return mp_err_sys(err, errnum, MP_NATIVE_RING_FILE, "cannot map '%s'", MP_NATIVE_RING_FILE);
	ring->base = base;
	ring->bytes = layout->end;
	/* A child shall neither write into its parent's recording nor pay for copying its page tables. */
	ring->in_child = madvise(base, ring->bytes, MADV_DONTFORK) != 0;
	ring->populated = layout->chunks;
	mp_rec_ring_populate(ring);
	return MINDPROF_OK;
}

static bool alloc_private(struct mp_rec_ring *ring)
{
	uint32_t n = ring->n_chunks;

	ring->tickets = mp_calloc(n, sizeof(*ring->tickets));
	ring->written = mp_calloc(n, sizeof(*ring->written));
	ring->pins = mp_calloc(n, sizeof(*ring->pins));
	ring->order = mp_calloc(n, sizeof(*ring->order));
	return ring->tickets && ring->written && ring->pins && ring->order;
}

mp_status mp_rec_ring_new(const struct mp_rec_ring_options *options, struct mp_rec_ring **out, mp_err *err)
{
	struct layout layout = plan(options->memory_bytes);
	struct mp_rec_ring *ring = mp_calloc(1, sizeof(*ring));
	mp_status status;

	*out = NULL;
	if (!ring)
		return mp_err_nomem(err, sizeof(*ring));
	ring->n_chunks = layout.n_chunks;
	ring->chunk_bytes = layout.chunk_bytes;
	ring->overwrite = options->overwrite;
	ring->base_tick = options->base_tick;
	ring->wake_at = MP_MAX(layout.n_chunks / 8, 1u);
	ring->n_free = (int32_t)layout.n_chunks;
	status = alloc_private(ring) ? map_file(ring, options->dir_fd, &layout, &options->header, err)
				     : mp_err_nomem(err, layout.n_chunks * sizeof(*ring->tickets));
	if (status) {
		mp_rec_ring_free(ring, true);
		return status;
	}
	ring->slots = ring->base + layout.slots;
	ring->states = (uint32_t *)(void *)(ring->base + layout.states);
	ring->chunks = ring->base + layout.chunks;
	*out = ring;
	return MINDPROF_OK;
}

void mp_rec_ring_free(struct mp_rec_ring *ring, bool unmap)
{
	if (!ring || !unmap)
		return;
	if (ring->base)
		munmap(ring->base, ring->bytes);
	mp_free(ring->tickets);
	mp_free(ring->written);
	mp_free(ring->pins);
	mp_free(ring->order);
	mp_free(ring);
}

struct mp_native_slot *mp_rec_ring_slot(const struct mp_rec_ring *ring, uint32_t index)
{
	size_t slot_bytes = MP_ALIGN_UP(sizeof(struct mp_native_slot), (size_t)MP_REC_CACHE_PAIR);

	return (struct mp_native_slot *)(void *)(ring->slots + index * slot_bytes);
}

/* ------------------------------------------------------------------- changing hands */

static bool claim(struct mp_rec_ring *ring, uint32_t index, uint32_t from)
{
	return __atomic_compare_exchange_n(&ring->states[index], &from, MP_NATIVE_CHUNK_WRITING, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* Low numbers first: while the drain keeps up, the same few chunks are used and stay in the cache. */
static int64_t claim_free(struct mp_rec_ring *ring)
{
	if (__atomic_load_n(&ring->n_free, __ATOMIC_RELAXED) <= 0)
		return -1;
	for (uint32_t i = 0; i < ring->n_chunks; i++) {
		if (__atomic_load_n(&ring->states[i], __ATOMIC_RELAXED) == MP_NATIVE_CHUNK_FREE &&
		    claim(ring, i, MP_NATIVE_CHUNK_FREE)) {
			__atomic_sub_fetch(&ring->n_free, 1, __ATOMIC_RELAXED);
			return i;
		}
	}
	return -1;
}

/* The FULL chunk with the lowest ticket that no dump is reading, -1 if there is none. */
static int64_t oldest_full(struct mp_rec_ring *ring)
{
	uint64_t lowest = UINT64_MAX;
	int64_t found = -1;

	for (uint32_t i = 0; i < ring->n_chunks; i++) {
		uint64_t ticket;

		if (__atomic_load_n(&ring->states[i], __ATOMIC_ACQUIRE) != MP_NATIVE_CHUNK_FULL)
			continue;
		ticket = __atomic_load_n(&ring->tickets[i], __ATOMIC_RELAXED);
		if (ticket < lowest && !__atomic_load_n(&ring->pins[i], __ATOMIC_RELAXED)) {
			lowest = ticket;
			found = i;
		}
	}
	return found;
}

/*
 * A dump sets its pin, then looks at the state; here the state is changed first, then the pin looked at.
 * Both are sequentially consistent, so at least one of the two sees the other.
 */
static int64_t claim_oldest(struct mp_rec_ring *ring)
{
	for (;;) {
		int64_t found = oldest_full(ring);
		uint32_t index = (uint32_t)found;

		if (found < 0)
			return -1;
		if (!claim(ring, index, MP_NATIVE_CHUNK_FULL))
			continue;
		if (!__atomic_load_n(&ring->pins[index], __ATOMIC_SEQ_CST)) {
			__atomic_sub_fetch(&ring->n_full, 1, __ATOMIC_RELAXED);
			__atomic_add_fetch(&ring->n_overwritten, 1, __ATOMIC_RELAXED);
			return found;
		}
		__atomic_store_n(&ring->states[index], MP_NATIVE_CHUNK_FULL, __ATOMIC_RELEASE);
	}
}

/* What a reader finds after a kill between any two of these stores is the old chunk, or an empty one. */
static void begin_chunk(struct mp_rec_thread *t, struct mp_native_segment *chunk)
{
	struct mp_rec_ring *ring = t->ring;
	uint64_t dropped = __atomic_load_n(&t->dropped, __ATOMIC_RELAXED);
	uint64_t lost = dropped - t->dropped_reported;

	__atomic_store_n(&chunk->payload_bytes, 0, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	chunk->magic = MP_NATIVE_SEGMENT_MAGIC;
	chunk->kind = MP_NATIVE_SEG_EVENTS;
	chunk->header_bytes = sizeof(*chunk);
	chunk->segment_bytes = ring->chunk_bytes;
	chunk->thread_index = t->thread_index;
	chunk->sequence = t->sequence++;
	chunk->first_tick = chunk->last_tick = 0;
	chunk->n_records = 0;
	chunk->dropped_before = (uint32_t)MP_MIN(lost, (uint64_t)UINT32_MAX);
	chunk->flags = 0;
	chunk->payload_crc = chunk->header_crc = chunk->reserved = 0;
	t->dropped_reported = dropped;
}

bool mp_rec_chunk_take(struct mp_rec_thread *t)
{
	struct mp_rec_ring *ring = t->ring;
	int64_t index = claim_free(ring);

	if (index < 0 && ring->overwrite)
		index = claim_oldest(ring);
	if (index < 0)
		return false;
	t->chunk_index = (uint32_t)index;
	t->chunk = mp_rec_ring_chunk(ring, t->chunk_index);
	mp_rec_thread_reset_chunk(t);
	begin_chunk(t, t->chunk);
	__atomic_store_n(&ring->written[index], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->states[index], MP_NATIVE_CHUNK_OWNED, __ATOMIC_RELEASE);
	__atomic_store_n(&t->capacity, ring->chunk_bytes - (uint32_t)sizeof(*t->chunk), __ATOMIC_RELAXED);
	return true;
}

void mp_rec_chunk_retire(struct mp_rec_thread *t)
{
	struct mp_rec_ring *ring = t->ring;
	uint32_t n_records = t->used / (uint32_t)sizeof(struct mp_native_event) - t->n_long;
	int32_t n_full;

	if (!t->chunk)
		return;
	__atomic_store_n(&t->capacity, 0, __ATOMIC_RELAXED);
	__atomic_add_fetch(&t->events, n_records, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->tickets[t->chunk_index],
			 __atomic_fetch_add(&ring->ticket, 1, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	__atomic_store_n(&ring->states[t->chunk_index], MP_NATIVE_CHUNK_FULL, __ATOMIC_RELEASE);
	t->chunk = NULL;
	mp_rec_thread_reset_chunk(t);
	n_full = __atomic_add_fetch(&ring->n_full, 1, __ATOMIC_SEQ_CST);
	if (!ring->overwrite)
		mp_rec_drain_notice(ring, n_full);
}
