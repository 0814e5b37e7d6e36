/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hot path: what an event costs while recording. Each function reads the clock, sets the thread's busy
 * flag (so that a signal handler that interrupts it, and a stop, know), stores the record behind the
 * chunk's commit position and moves that. Anything unusual goes to rec_slow.c.
 * Records: docs/formats/native.md.
 */
#include "record/rec.h"

#include <string.h>

#include "base/banned.h"

#define HOT static inline __attribute__((always_inline))

int mindprof_recording_;

/* The calling thread if its hot path is usable at all. */
HOT struct mp_rec_thread *ready(void)
{
	struct mp_rec_thread *t = mp_rec_self;

	return MP_LIKELY(t && !__atomic_load_n(&t->busy, __ATOMIC_RELAXED)) ? t : NULL;
}

HOT uint32_t id_of(const struct mindprof_site *site)
{
	return __atomic_load_n(&site->id, __ATOMIC_ACQUIRE);
}

/* Between set_busy and clear_busy the chunk cannot go away if capacity was not 0. */
HOT void set_busy(struct mp_rec_thread *t)
{
	__atomic_store_n(&t->busy, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

HOT void clear_busy(struct mp_rec_thread *t)
{
	__atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE);
}

HOT bool has_room(const struct mp_rec_thread *t, uint32_t bytes)
{
	return MP_LIKELY(t->used + bytes <= __atomic_load_n(&t->capacity, __ATOMIC_RELAXED));
}

HOT struct mp_native_event *next_record(const struct mp_rec_thread *t)
{
	return (void *)((char *)(t->chunk + 1) + t->used);
}

HOT void commit(struct mp_rec_thread *t, uint32_t bytes)
{
	uint32_t used = t->used + bytes;

	__atomic_store_n(&t->used, used, __ATOMIC_RELAXED);
	__atomic_store_n(&t->chunk->payload_bytes, used, __ATOMIC_RELEASE);
}

HOT uint64_t tick_kind(const struct mp_rec_thread *t, uint64_t tick, enum mp_native_event_kind kind)
{
	return (tick - t->base_tick) << MP_NATIVE_TICK_SHIFT | (unsigned)kind;
}

HOT bool put16(struct mp_rec_thread *t, const struct mp_rec_event *event)
{
	bool fits;

	set_busy(t);
	fits = has_room(t, sizeof(struct mp_native_event));
	if (MP_LIKELY(fits)) {
		struct mp_native_event *record = next_record(t);

		record->site = event->site;
		record->dur = event->dur;
		record->tick_kind = tick_kind(t, event->tick, event->kind);
		commit(t, sizeof(*record));
	}
	clear_busy(t);
	return fits;
}

HOT bool put32(struct mp_rec_thread *t, const struct mp_rec_event *event)
{
	bool fits;

	set_busy(t);
	fits = has_room(t, sizeof(struct mp_native_event32)) && MP_LIKELY(event->tick >= t->base_tick);
	if (MP_LIKELY(fits)) {
		struct mp_native_event32 *record = (void *)next_record(t);

		record->head.site = event->site;
		record->head.dur = event->dur;
		record->head.tick_kind = tick_kind(t, event->tick, event->kind);
		record->a = event->a;
		record->b = event->b;
		__atomic_store_n(&t->n_long, t->n_long + 1, __ATOMIC_RELAXED);
		commit(t, sizeof(*record));
	}
	clear_busy(t);
	return fits;
}

/* A copy goes the slow way, so that on the fast way the event is never in memory. */
HOT void go_slow(struct mindprof_site *site, const struct mp_rec_event *event)
{
	struct mp_rec_event copy = *event;

	mp_rec_event_slow(site, &copy);
}

HOT void put_now(struct mindprof_site *site, struct mp_rec_event *event)
{
	struct mp_rec_thread *t = ready();

	event->site = id_of(site);
	if (MP_LIKELY(t && event->site)) {
		event->tick = mp_rec_tick(t->clock);
		if (MP_LIKELY(event->kind < 0x40 ? put16(t, event) : put32(t, event)))
			return;
	}
	go_slow(site, event);
}

/* --------------------------------------------------------------------- ranges */

HOT struct mindprof_range range_begin(struct mindprof_site *site)
{
	struct mp_rec_thread *t = ready();
	uint32_t id = id_of(site);

	if (MP_LIKELY(t && id)) {
		uint64_t tick = mp_rec_tick(t->clock);

		set_busy(t);
		if (MP_LIKELY(__atomic_load_n(&t->capacity, __ATOMIC_RELAXED))) {
			struct mp_native_slot *slot = t->slot;
			uint32_t depth = slot->depth;

			if (MP_LIKELY(depth < MP_NATIVE_OPEN_RANGES)) {
				slot->open[depth].site = id;
				slot->open[depth].tick = tick - t->base_tick;
			}
			__atomic_store_n(&slot->depth, depth + 1, __ATOMIC_RELEASE);
			clear_busy(t);
			return (struct mindprof_range){tick, id, depth};
		}
		clear_busy(t);
	}
	return mp_rec_range_begin_slow(site);
}

HOT void range_end(struct mindprof_range *range)
{
	struct mp_rec_thread *t = ready();

	if (MP_LIKELY(t)) {
		uint64_t dur = mp_rec_tick(t->clock) - range->start_tick;

		set_busy(t);
		if (has_room(t, sizeof(struct mp_native_event)) && MP_LIKELY(dur <= UINT32_MAX) &&
		    MP_LIKELY(range->start_tick >= t->base_tick)) {
			struct mp_native_event *record = next_record(t);
			struct mp_native_slot *slot = t->slot;

			record->site = range->site_id;
			record->dur = (uint32_t)dur;
			record->tick_kind = tick_kind(t, range->start_tick, MP_NATIVE_RANGE);
			commit(t, sizeof(*record));
			if (MP_LIKELY(range->depth < slot->depth))
				__atomic_store_n(&slot->depth, range->depth, __ATOMIC_RELEASE);
			clear_busy(t);
			range->start_tick = 0;
			return;
		}
		clear_busy(t);
	}
	mp_rec_range_end_slow(range);
	range->start_tick = 0;
}

struct mindprof_range mindprof_range_begin_(struct mindprof_site *site)
{
	return range_begin(site);
}

void mindprof_range_end_(struct mindprof_range *range)
{
	range_end(range);
}

/* A level beyond the stack is counted as lost; its pop only counts down. */
void mindprof_range_push_(struct mindprof_site *site)
{
	struct mindprof_range range = {0, 0, 0};
	struct mp_rec_thread *t = mp_rec_self;

	if (!t || t->n_pushed < MP_REC_PUSH_DEPTH)
		range = range_begin(site);
	else
		mp_rec_count_push_lost();
	/* The first event of a thread, or of a recording, has made the state that counts. */
	t = mp_rec_self;
	if (!t)
		return;
	if (t->n_pushed < MP_REC_PUSH_DEPTH)
		t->pushed[t->n_pushed] = range;
	t->n_pushed++;
}

void mindprof_range_pop_(void)
{
	struct mp_rec_thread *t = mp_rec_self;
	uint32_t top;

	if (!t || !t->n_pushed)
		return;
	top = t->n_pushed - 1;
	t->n_pushed = top;
	if (top < MP_REC_PUSH_DEPTH && t->pushed[top].start_tick)
		range_end(&t->pushed[top]);
}

uint64_t mindprof_range_start_(struct mindprof_site *site)
{
	struct mp_rec_event event = {.site = id_of(site), .kind = MP_NATIVE_ASYNC_BEGIN};
	struct mp_rec_thread *t = ready();

	if (MP_LIKELY(t && event.site && __atomic_load_n(&t->capacity, __ATOMIC_RELAXED))) {
		event.a = mp_rec_async_id(t);
		event.tick = mp_rec_tick(t->clock);
		if (MP_LIKELY(put32(t, &event)))
			return event.a;
	}
	return mp_rec_async_begin_slow(site);
}

/* The id tells the recording it belongs to. */
void mindprof_range_stop_(uint64_t id)
{
	struct mp_rec_event event = {.tick = mindprof_now_(), .a = id, .kind = MP_NATIVE_ASYNC_END};
	struct mp_rec_thread *t = ready();

	if (id >> 56 != (__atomic_load_n(&mp_rec_generation, __ATOMIC_RELAXED) & 0xff))
		return;
	if (MP_UNLIKELY(!t || !put32(t, &event)))
		go_slow(NULL, &event);
}

/* --------------------------------------------------------------------- the others */

void mindprof_mark_(struct mindprof_site *site)
{
	struct mp_rec_event event = {.kind = MP_NATIVE_MARK};

	put_now(site, &event);
}

void mindprof_counter_(struct mindprof_site *site, double value)
{
	struct mp_rec_event event = {.kind = MP_NATIVE_COUNTER};

	memcpy(&event.a, &value, sizeof(event.a));
	put_now(site, &event);
}

void mindprof_flow_(struct mindprof_site *site, uint64_t id, int phase)
{
	struct mp_rec_event event = {.a = id, .kind = MP_NATIVE_FLOW_STEP};

	if (phase == 0)
		event.kind = MP_NATIVE_FLOW_BEGIN;
	else if (phase == 2)
		event.kind = MP_NATIVE_FLOW_END;
	put_now(site, &event);
}

void mindprof_memory_alloc_(struct mindprof_site *site, const void *address, uint64_t bytes)
{
	struct mp_rec_event event = {.a = (uintptr_t)address, .b = bytes, .kind = MP_NATIVE_ALLOC};

	put_now(site, &event);
}

void mindprof_memory_free_(struct mindprof_site *site, const void *address, uint64_t bytes)
{
	struct mp_rec_event event = {.a = (uintptr_t)address, .b = bytes, .kind = MP_NATIVE_FREE};

	put_now(site, &event);
}

uint64_t mindprof_now_(void)
{
	return mp_rec_tick(__atomic_load_n(&mp_rec_clock, __ATOMIC_RELAXED));
}

void mindprof_queue_(struct mindprof_site *site, int pop, uint64_t wait_began, uint64_t depth,
		     uint64_t capacity)
{
	struct mp_rec_event event = {.a = depth, .b = capacity, .kind = MP_NATIVE_QUEUE_PUSH};
	struct mp_rec_thread *t = ready();
	uint64_t now = mindprof_now_();
	uint64_t waited = wait_began && wait_began < now ? now - wait_began : 0;

	if (pop)
		event.kind = MP_NATIVE_QUEUE_POP;
	event.tick = now - waited;
	event.dur = (uint32_t)MP_MIN(waited, (uint64_t)UINT32_MAX);
	event.site = id_of(site);
	if (MP_UNLIKELY(!t || !event.site || !put32(t, &event)))
		go_slow(site, &event);
}

/* The number takes the places of site and duration. */
void mindprof_step_(uint64_t number)
{
	struct mp_rec_event event = {
		.site = (uint32_t)number, .dur = (uint32_t)(number >> 32), .kind = MP_NATIVE_STEP};
	struct mp_rec_thread *t = ready();

	event.tick = mindprof_now_();
	if (MP_UNLIKELY(!t || !put16(t, &event)))
		go_slow(NULL, &event);
}
