/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairing of allocations and releases (rules: raw-host.md section 1.7: per address in order of
 * time, a second allocation replaces the first one, a release that nobody waits for is counted and
 * skipped). A release is taken off the owner of its allocation, whatever name it carries itself.
 *
 * What each owner held at the peak, and how often it grew from step to step, is found without
 * looking at all owners at each event: an owner is brought up to date when it changes next.
 */
#include "analyses/an_holdings.h"

#include "base/mem.h"

#include "base/banned.h"

#define NO_OWNER UINT32_MAX

struct allocation { /* of one address; stays in place after its release */
	int64_t bytes;
	uint32_t owner; /* NO_OWNER: released */
};

struct pairing {
	const struct mp_store *store;
	struct mp_holdings *out;
	uint32_t *track_process;    /* owned */
	struct mp_map64 *addresses; /* owned; per process: address -> position in allocations */
	size_t n_processes;
	MP_VEC(struct allocation) allocations;
	struct mp_map64 owner_index; /* process, name -> position in owners */
	size_t *next_step;           /* owned; per process: number of steps that ended before now */
	uint64_t event;              /* number of the current event, from 1 */
	uint64_t peak_event;
};

/* Brings the owner to the begin of step `step` (its process' count): notes what it held at the ends before.
 */
static void pass_steps(struct mp_owner *owner, size_t step)
{
	if (owner->step >= step)
		return;
	/* Only the first of these ends can differ from the one before it. */
	if (owner->step > 0 && owner->live_bytes > owner->last_end_bytes)
		owner->n_rises++;
	owner->last_end_bytes = owner->live_bytes;
	owner->step = step;
}

/* Before a change: fixes what depends on the amount held until now. */
static void settle(const struct pairing *pairing, struct mp_owner *owner)
{
	if (owner->changed_at <= pairing->peak_event)
		owner->peak_bytes = owner->live_bytes;
	pass_steps(owner, pairing->next_step[owner->process]);
	owner->changed_at = pairing->event;
}

static void hold(struct pairing *pairing, struct mp_owner *owner, int64_t bytes)
{
	settle(pairing, owner);
	owner->live_bytes = mp_add_sat(owner->live_bytes, bytes);
	pairing->out->live_bytes = mp_add_sat(pairing->out->live_bytes, bytes);
}

/* Position of the owner, NO_OWNER when memory is out. */
static uint32_t find_owner(struct pairing *pairing, uint32_t process, uint32_t name)
{
	uint64_t key = mp_seeded(pairing, (uint64_t)process << 32 | name);
	uint64_t *position = mp_map64_lookup(&pairing->owner_index, key);

	if (position)
		return (uint32_t)*position;
	if (!mp_vec_push(&pairing->out->owners, (struct mp_owner){.process = process, .name = name}) ||
	    !mp_map64_put(&pairing->owner_index, key, pairing->out->owners.len - 1))
		return NO_OWNER;
	return (uint32_t)(pairing->out->owners.len - 1);
}

/* The entry of the address; NULL when memory is out. */
static struct allocation *find_allocation(struct pairing *pairing, uint32_t process, uint64_t address)
{
	struct mp_map64 *map = &pairing->addresses[process];
	uint64_t key = mp_seeded(pairing, address);
	uint64_t *position = mp_map64_lookup(map, key);

	if (position)
		return &pairing->allocations.at[*position];
	if (!mp_vec_push(&pairing->allocations, (struct allocation){.owner = NO_OWNER}) ||
	    !mp_map64_put(map, key, pairing->allocations.len - 1))
		return NULL;
	return &pairing->allocations.at[pairing->allocations.len - 1];
}

static mp_status allocate(struct pairing *pairing, uint32_t process, const struct mp_event *event,
			  mp_err *err)
{
	uint32_t at = find_owner(pairing, process, event->name);
	struct allocation *allocation =
		at == NO_OWNER ? NULL : find_allocation(pairing, process, (uint64_t)event->b);
	struct mp_owner *owner;

	if (allocation == NULL)
		return mp_err_nomem(err, (pairing->allocations.len + 1) * sizeof(*allocation));
	if (allocation->owner != NO_OWNER) {
		struct mp_owner *earlier = &pairing->out->owners.at[allocation->owner];

		hold(pairing, earlier, -allocation->bytes);
		earlier->replaced++;
	}
	owner = &pairing->out->owners.at[at];
	*allocation = (struct allocation){event->a, at};
	owner->allocations++;
	owner->allocated_bytes = mp_add_sat(owner->allocated_bytes, event->a);
	hold(pairing, owner, event->a);
	return MINDPROF_OK;
}

static mp_status release(struct pairing *pairing, uint32_t process, const struct mp_event *event, mp_err *err)
{
	uint64_t *position =
		mp_map64_lookup(&pairing->addresses[process], mp_seeded(pairing, (uint64_t)event->b));
	struct allocation *allocation = position ? &pairing->allocations.at[*position] : NULL;
	struct mp_owner *owner;

	if (allocation == NULL || allocation->owner == NO_OWNER) {
		uint32_t at = find_owner(pairing, process, event->name);

		if (at == NO_OWNER)
			return mp_err_nomem(err, (pairing->out->owners.len + 1) * sizeof(*owner));
		pairing->out->owners.at[at].unknown_releases++;
		return MINDPROF_OK;
	}
	owner = &pairing->out->owners.at[allocation->owner];
	owner->releases++;
	hold(pairing, owner, -allocation->bytes);
	allocation->owner = NO_OWNER;
	return MINDPROF_OK;
}

size_t mp_holdings_n_ends(const struct mp_holdings *holdings, uint32_t process)
{
	const struct mp_step_list *list = &holdings->steps;
	size_t first = list->process_at[process], n = list->process_at[process + 1] - first;

	return n - (n && list->steps.at[first + n - 1].open_end);
}

/* Counts the steps of the process that ended up to now. */
static void pass_time(struct pairing *pairing, uint32_t process, int64_t ts_ns)
{
	const struct mp_step_list *list = &pairing->out->steps;
	size_t first = list->process_at[process], n = mp_holdings_n_ends(pairing->out, process);
	size_t *next = &pairing->next_step[process];

	while (*next < n && list->steps.at[first + *next].end_ns <= ts_ns)
		++*next;
}

static mp_status visit(struct pairing *pairing, const struct mp_event *event, mp_err *err)
{
	uint32_t process = pairing->track_process[event->track];
	struct mp_holdings *out = pairing->out;

	pairing->event++;
	pass_time(pairing, process, event->ts_ns);
	if (event->a > 0)
		MP_TRY(allocate(pairing, process, event, err));
	else
		MP_TRY(release(pairing, process, event, err));
	if (out->live_bytes > out->peak_bytes) {
		out->peak_bytes = out->live_bytes;
		out->peak_ns = event->ts_ns;
		out->peak_process = process;
		pairing->peak_event = pairing->event;
	}
	return MINDPROF_OK;
}

/* Brings all owners to the end of the recording. */
static void finish(struct pairing *pairing)
{
	pairing->event++;
	for (uint32_t process = 0; process < pairing->n_processes; process++)
		pairing->next_step[process] = mp_holdings_n_ends(pairing->out, process);
	for (size_t i = 0; i < pairing->out->owners.len; i++)
		settle(pairing, &pairing->out->owners.at[i]);
}

static mp_status walk(struct pairing *pairing, mp_memory_fn fn, void *user, mp_err *err)
{
	struct mp_ranges events = mp_store_ordered(pairing->store, MP_KIND_MEMORY);

	for (size_t i = 0; i < events.n; i++) {
		struct mp_event event = mp_store_event(pairing->store, events.refs[i]);
		struct mp_memory_point point = {
			.ts_ns = event.ts_ns, .reserved_bytes = -1, .active_bytes = -1};

		MP_TRY(visit(pairing, &event, err));
		point.allocated_bytes = pairing->out->live_bytes;
		point.process = pairing->track_process[event.track];
		if (fn)
			MP_TRY(fn(user, &point, err));
	}
	finish(pairing);
	return MINDPROF_OK;
}

mp_status mp_holdings_build(struct mp_holdings *out, const struct mp_store *store, mp_memory_fn fn,
			    void *user, mp_err *err)
{
	struct pairing pairing = {.store = store, .out = out, .n_processes = mp_store_n_processes(store)};
	mp_status status;

	*out = (struct mp_holdings){0};
	MP_TRY(mp_step_list_build(&out->steps, store, err));
	pairing.track_process = mp_track_processes(store);
	pairing.addresses = mp_calloc(pairing.n_processes + 1, sizeof(*pairing.addresses));
	pairing.next_step = mp_calloc(pairing.n_processes + 1, sizeof(*pairing.next_step));
	if (pairing.track_process && pairing.addresses && pairing.next_step)
		status = walk(&pairing, fn, user, err);
	else
		status = mp_err_nomem(err, (pairing.n_processes + 1) * sizeof(*pairing.addresses));
	for (size_t i = 0; pairing.addresses && i < pairing.n_processes; i++)
		mp_map64_release(&pairing.addresses[i]);
	mp_free(pairing.addresses);
	mp_free(pairing.track_process);
	mp_free(pairing.next_step);
	mp_vec_release(&pairing.allocations);
	mp_map64_release(&pairing.owner_index);
	return status;
}

void mp_holdings_release(struct mp_holdings *holdings)
{
	mp_vec_release(&holdings->owners);
	mp_step_list_release(&holdings->steps);
}
