/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow path of an event: first use of a site, first event of a thread, a full chunk, a long range, a
 * range of an earlier recording, a signal handler inside the recorder, a forked child.
 */
#include "record/rec.h"

#include <errno.h>

#include "base/banned.h"

static unsigned drop_kind_of(enum mp_native_event_kind kind)
{
	switch (kind) {
	case MP_NATIVE_MARK:
		return MP_NATIVE_DROP_MARK;
	case MP_NATIVE_STEP:
		return MP_NATIVE_DROP_STEP;
	case MP_NATIVE_COUNTER:
		return MP_NATIVE_DROP_COUNTER;
	case MP_NATIVE_FLOW_BEGIN:
	case MP_NATIVE_FLOW_STEP:
	case MP_NATIVE_FLOW_END:
		return MP_NATIVE_DROP_FLOW;
	case MP_NATIVE_ASYNC_BEGIN:
	case MP_NATIVE_ASYNC_END:
		return MP_NATIVE_DROP_ASYNC;
	case MP_NATIVE_ALLOC:
	case MP_NATIVE_FREE:
		return MP_NATIVE_DROP_MEMORY;
	case MP_NATIVE_QUEUE_PUSH:
	case MP_NATIVE_QUEUE_POP:
		return MP_NATIVE_DROP_QUEUE;
	case MP_NATIVE_RANGE:
	case MP_NATIVE_RANGE_LONG:
		break;
	}
	return MP_NATIVE_DROP_RANGE;
}

/* Entered, with the forked child's affairs in order; else the event, or the range's end, is counted as lost.
 */
static bool enter(unsigned drop_kind, const struct mindprof_range *ended)
{
	if (!mp_rec_enter()) {
		mp_rec_lost_inside(drop_kind, ended);
		return false;
	}
	if (MP_UNLIKELY(mp_rec_threads_wiped()))
		mp_rec_session_child(false);
	if (MP_UNLIKELY(mp_rec_session_pending()))
		mp_rec_session_start_pending();
	return true;
}

/* Attached, or the event is counted as lost if a session runs. */
static struct mp_rec_thread *attach(unsigned drop_kind)
{
	bool active;
	struct mp_rec_thread *t = mp_rec_attach(&active);

	if (!t && active && drop_kind < MP_NATIVE_DROP_KINDS)
		mp_rec_drop_unregistered(drop_kind);
	return t;
}

static bool make_room(struct mp_rec_thread *t, uint32_t bytes)
{
	if (t->chunk && t->used + bytes <= __atomic_load_n(&t->capacity, __ATOMIC_RELAXED))
		return true;
	mp_rec_chunk_retire(t);
	return mp_rec_chunk_take(t);
}

static void put(struct mp_rec_thread *t, uint32_t site, const struct mp_rec_event *event)
{
	uint32_t bytes =
		event->kind < 0x40 ? sizeof(struct mp_native_event) : sizeof(struct mp_native_event32);
	struct mp_native_event32 *record;
	uint64_t tick = event->tick;
	uint32_t dur = event->dur;

	if (!make_room(t, bytes)) {
		mp_rec_drop(t, drop_kind_of(event->kind));
		return;
	}
	if (MP_UNLIKELY(tick < t->base_tick)) { /* a wait that began before the recording */
		dur -= (uint32_t)MP_MIN(t->base_tick - tick, (uint64_t)dur);
		tick = t->base_tick;
	}
	record = (void *)((char *)(t->chunk + 1) + t->used);
	record->head.site = site;
	record->head.dur = dur;
	record->head.tick_kind = (tick - t->base_tick) << MP_NATIVE_TICK_SHIFT | (unsigned)event->kind;
	if (bytes == sizeof(*record)) {
		record->a = event->a;
		record->b = event->b;
		__atomic_store_n(&t->n_long, t->n_long + 1, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&t->used, t->used + bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&t->chunk->payload_bytes, t->used, __ATOMIC_RELEASE);
}

void mp_rec_event_slow(struct mindprof_site *site, const struct mp_rec_event *event)
{
	unsigned drop_kind = drop_kind_of(event->kind);
	int saved = errno;
	struct mp_rec_event copy = *event;
	struct mp_rec_thread *t;

	/* An event without a tick is of this instant, not of the one when the slow path is done. */
	if (!copy.tick)
		copy.tick = mp_rec_tick(__atomic_load_n(&mp_rec_clock, __ATOMIC_RELAXED));
	if (!enter(drop_kind, NULL))
		return;
	t = attach(drop_kind);
	if (t) {
		put(t, site ? mp_rec_site_id(site) : event->site, &copy);
		mp_rec_detach(t);
	}
	mp_rec_leave();
	errno = saved;
}

struct mindprof_range mp_rec_range_begin_slow(struct mindprof_site *site)
{
	struct mindprof_range range = {0, 0, 0};
	int saved = errno;
	struct mp_rec_thread *t;

	if (!enter(MP_NATIVE_DROP_RANGE, NULL))
		return range;
	t = attach(MP_NATIVE_DROP_RANGE);
	if (t) {
		struct mp_native_slot *slot = t->slot;

		range.site_id = mp_rec_site_id(site);
		range.depth = slot->depth;
		range.start_tick = mp_rec_tick(t->clock);
		if (range.depth < MP_NATIVE_OPEN_RANGES) {
			slot->open[range.depth].site = range.site_id;
			slot->open[range.depth].tick = range.start_tick - t->base_tick;
		}
		__atomic_store_n(&slot->depth, range.depth + 1, __ATOMIC_RELEASE);
		mp_rec_detach(t);
	}
	mp_rec_leave();
	errno = saved;
	return range;
}

/* A range belongs to the recording in which it began; the end of an older one is nothing. */
void mp_rec_range_end_slow(const struct mindprof_range *range)
{
	int saved = errno;
	struct mp_rec_thread *t;
	struct mp_rec_event event = {.tick = range->start_tick, .kind = MP_NATIVE_RANGE};

	if (!enter(MP_NATIVE_DROP_RANGE, range))
		return;
	t = attach(MP_NATIVE_DROP_KINDS);
	if (t && range->start_tick >= t->base_tick) {
		event.a = mp_rec_tick(t->clock) - range->start_tick;
		if (event.a > UINT32_MAX)
			event.kind = MP_NATIVE_RANGE_LONG;
		else
			event.dur = (uint32_t)event.a;
		put(t, range->site_id, &event);
		if (range->depth < t->slot->depth)
			__atomic_store_n(&t->slot->depth, range->depth, __ATOMIC_RELEASE);
	}
	if (t)
		mp_rec_detach(t);
	mp_rec_leave();
	errno = saved;
}

/* Unique within a recording until a thread has made 2^32 of them; never 0. */
uint64_t mp_rec_async_id(struct mp_rec_thread *t)
{
	uint32_t number = __atomic_add_fetch(&t->n_async, 1, __ATOMIC_RELAXED);

	return (uint64_t)(t->generation & 0xff) << 56 | (uint64_t)((t->thread_index + 1) & 0xffffff) << 32 |
	       number;
}

uint64_t mp_rec_async_begin_slow(struct mindprof_site *site)
{
	struct mp_rec_event event = {.kind = MP_NATIVE_ASYNC_BEGIN};
	int saved = errno;
	struct mp_rec_thread *t;

	if (!enter(MP_NATIVE_DROP_ASYNC, NULL))
		return 0;
	t = attach(MP_NATIVE_DROP_ASYNC);
	if (t) {
		event.tick = mp_rec_tick(t->clock);
		event.a = mp_rec_async_id(t);
		put(t, mp_rec_site_id(site), &event);
		mp_rec_detach(t);
	}
	mp_rec_leave();
	errno = saved;
	return event.a;
}

void mp_rec_count_push_lost(void)
{
	struct mp_rec_thread *t;

	if (!enter(MP_NATIVE_DROP_RANGE, NULL))
		return;
	t = attach(MP_NATIVE_DROP_RANGE);
	if (t) {
		mp_rec_drop(t, MP_NATIVE_DROP_RANGE);
		mp_rec_detach(t);
	}
	mp_rec_leave();
}
