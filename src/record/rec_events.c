/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.mpr: chunks of the ring become sealed segments (counts, smallest and largest tick, checksums).
 * Written at a tracked position, so a write that failed half-way is overwritten by the next one. A chunk
 * that the disk refuses stays where it is: in the ring file it is as readable as in this one.
 * Layout: docs/formats/native.md.
 */
#include "record/rec.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

#include "base/banned.h"

#define TAKER_PATIENCE 100000 /* looks at a chunk that is just changing hands */

static struct {
	struct mp_rec_lock lock;
	struct mp_rec_ring *ring; /* NULL = no session */
	int fd;
	int errnum;      /* atomic */
	uint64_t offset; /* atomic for readers without the lock */
} events;

mp_status mp_rec_events_open(int dir_fd, const uint8_t session_id[16], struct mp_rec_ring *ring, mp_err *err)
{
	struct mp_native_file_header header = mp_rec_file_header(MP_NATIVE_FILE_EVENTS, session_id);
	struct iovec iov = {&header, sizeof(header)};
	int fd = mp_rec_file_create(dir_fd, MP_NATIVE_EVENTS_FILE, false);
	int errnum;

	if (fd < 0)
		return mp_err_sys(err, errno, MP_NATIVE_EVENTS_FILE, "cannot make '%s'",
				  MP_NATIVE_EVENTS_FILE);
	errnum = mp_rec_write_at(fd, &iov, 1, 0);
	if (errnum) {
		close(fd);
		return mp_err_sys(err, errnum, MP_NATIVE_EVENTS_FILE, "cannot write '%s'",
				  MP_NATIVE_EVENTS_FILE);
	}
	mp_rec_lock(&events.lock);
	events.fd = fd;
	events.ring = ring;
	__atomic_store_n(&events.errnum, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&events.offset, sizeof(header), __ATOMIC_RELAXED);
	mp_rec_unlock(&events.lock);
	return MINDPROF_OK;
}

/* -------------------------------------------------------------------- one segment */

/* Records and the range of their ticks. */
static void count_records(struct mp_native_segment *segment, const char *payload)
{
	const struct mp_native_event *event = (const void *)payload;
	const struct mp_native_event *end = event + segment->payload_bytes / sizeof(*event);
	uint64_t first = UINT64_MAX, last = 0;
	uint32_t n = 0;

	for (; event < end; n++) {
		uint64_t tick = MP_NATIVE_EVENT_TICK(event->tick_kind);

		first = MP_MIN(first, tick);
		last = MP_MAX(last, tick);
		event += MP_NATIVE_EVENT_KIND(event->tick_kind) < 0x40 ? 1 : 2;
	}
	segment->n_records = n;
	segment->first_tick = n ? first : 0;
	segment->last_tick = last;
}

/* The first payload_bytes of a chunk, which cannot change meanwhile. 0 or an errno. */
static int seal_and_write(uint32_t index, uint32_t payload_bytes)
{
	struct mp_native_segment *chunk = mp_rec_ring_chunk(events.ring, index);
	char *payload = (char *)(chunk + 1);
	struct mp_native_segment segment = {
		.magic = MP_NATIVE_SEGMENT_MAGIC,
		.kind = MP_NATIVE_SEG_EVENTS,
		.header_bytes = sizeof(segment),
		.payload_bytes = payload_bytes,
		.segment_bytes = (uint32_t)sizeof(segment) + payload_bytes,
		.thread_index = chunk->thread_index,
		.sequence = chunk->sequence,
		.dropped_before = chunk->dropped_before,
		.flags = events.ring->overwrite ? MP_NATIVE_SEGMENT_DUMP : 0,
	};
	struct iovec iov[2] = {{&segment, sizeof(segment)}, {payload, payload_bytes}};
	int errnum;

	count_records(&segment, payload);
	segment.payload_crc = mp_crc32c(0, payload, payload_bytes);
	mp_rec_segment_seal(&segment);
	errnum = mp_rec_write_at(events.fd, iov, 2, events.offset);
	__atomic_store_n(&events.errnum, errnum, __ATOMIC_RELAXED);
	if (!errnum)
		__atomic_store_n(&events.offset, events.offset + segment.segment_bytes, __ATOMIC_RELAXED);
	return errnum;
}

/* What the file does not hold yet of a chunk that nobody can take away. 0 or an errno. */
static int write_chunk(uint32_t index)
{
	struct mp_rec_ring *ring = events.ring;
	uint32_t payload = __atomic_load_n(&mp_rec_ring_chunk(ring, index)->payload_bytes, __ATOMIC_ACQUIRE);
	int errnum = 0;

	if (payload > __atomic_load_n(&ring->written[index], __ATOMIC_RELAXED))
		errnum = seal_and_write(index, payload);
	if (!errnum)
		__atomic_store_n(&ring->written[index], payload, __ATOMIC_RELAXED);
	return errnum;
}

/* ------------------------------------------------------------------- many segments */

static uint32_t state_of(uint32_t index)
{
	return __atomic_load_n(&events.ring->states[index], __ATOMIC_SEQ_CST);
}

/* FULL chunks in the order in which they became so, live ones after them. */
static uint64_t rank_of(uint32_t index)
{
	if (state_of(index) == MP_NATIVE_CHUNK_OWNED)
		return UINT64_MAX;
	return __atomic_load_n(&events.ring->tickets[index], __ATOMIC_RELAXED);
}

/* Shell sort: no memory, usable in a signal handler. */
static void sort_order(uint32_t n)
{
	uint32_t *order = events.ring->order;

	for (uint32_t gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) {
		for (uint32_t i = gap; i < n; i++) {
			uint32_t moving = order[i];
			uint64_t rank = rank_of(moving);
			uint32_t at = i;

			for (; at >= gap && rank_of(order[at - gap]) > rank; at -= gap)
				order[at] = order[at - gap];
			order[at] = moving;
		}
	}
}

static uint32_t list_full(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < events.ring->n_chunks; i++) {
		if (state_of(i) == MP_NATIVE_CHUNK_FULL)
			events.ring->order[n++] = i;
	}
	sort_order(n);
	return n;
}

int mp_rec_events_drain(void)
{
	struct mp_rec_ring *ring;
	uint32_t n = 0, done = 0;

	mp_rec_lock(&events.lock);
	ring = events.ring;
	if (ring)
		n = list_full();
	for (; done < n; done++) {
		uint32_t index = ring->order[done];

		__atomic_store_n(&ring->states[index], MP_NATIVE_CHUNK_WRITING, __ATOMIC_RELAXED);
		if (write_chunk(index) != 0) {
			__atomic_store_n(&ring->states[index], MP_NATIVE_CHUNK_FULL, __ATOMIC_RELEASE);
			break;
		}
		__atomic_store_n(&ring->states[index], MP_NATIVE_CHUNK_FREE, __ATOMIC_RELEASE);
		__atomic_sub_fetch(&ring->n_full, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&ring->n_free, 1, __ATOMIC_RELAXED);
	}
	mp_rec_unlock(&events.lock);
	return done < n ? -1 : (int)done;
}

/* From here on no FULL chunk is taken; one that is just being taken is waited for. */
static uint32_t pin_all(void)
{
	struct mp_rec_ring *ring = events.ring;
	uint32_t n = 0;

	for (uint32_t i = 0; i < ring->n_chunks; i++)
		__atomic_store_n(&ring->pins[i], 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < ring->n_chunks; i++) {
		uint32_t state = state_of(i);

		for (int tries = 0; state == MP_NATIVE_CHUNK_WRITING && tries < TAKER_PATIENCE; tries++)
			state = state_of(i);
		if (state == MP_NATIVE_CHUNK_FULL || state == MP_NATIVE_CHUNK_OWNED)
			ring->order[n++] = i;
		else
			__atomic_store_n(&ring->pins[i], 0, __ATOMIC_RELEASE);
	}
	sort_order(n);
	return n;
}

/* Every chunk is pinned until it is written, so that what a dump shows has no holes. */
static int dump_all(void)
{
	struct mp_rec_ring *ring = events.ring;
	uint32_t n = pin_all();
	int errnum = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t index = ring->order[i];

		if (!errnum)
			errnum = write_chunk(index);
		__atomic_store_n(&ring->pins[index], 0, __ATOMIC_RELEASE);
	}
	return errnum;
}

int mp_rec_events_dump(bool from_signal)
{
	int errnum = EBUSY;

	if (!from_signal)
		mp_rec_lock(&events.lock);
	else if (!mp_rec_try_lock(&events.lock))
		return EBUSY;
	if (events.ring)
		errnum = dump_all();
	mp_rec_unlock(&events.lock);
	return errnum;
}

uint64_t mp_rec_events_bytes(void)
{
	return __atomic_load_n(&events.offset, __ATOMIC_RELAXED);
}

int mp_rec_events_errnum(void)
{
	return __atomic_load_n(&events.errnum, __ATOMIC_RELAXED);
}

struct mp_rec_ring *mp_rec_events_close(void)
{
	struct mp_rec_ring *ring;

	mp_rec_lock(&events.lock);
	ring = events.ring;
	if (ring)
		close(events.fd);
	events.ring = NULL;
	mp_rec_unlock(&events.lock);
	return ring;
}

struct mp_rec_ring *mp_rec_events_child(bool close_fd)
{
	struct mp_rec_ring *ring;

	mp_rec_lock_reset(&events.lock);
	ring = events.ring;
	if (ring && close_fd)
		close(events.fd);
	events.ring = NULL;
	return ring;
}
