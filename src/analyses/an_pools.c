/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What memory pools reported: each report replaces the one before of the same pool (process and
 * name); the sum over all pools is told after each report.
 */
#include "analyses/an_holdings.h"

#include "base/mem.h"

#include "base/banned.h"

struct pool_report {
	int64_t allocated_bytes, reserved_bytes, active_bytes;
};

struct pools {
	uint32_t *track_process; /* owned */
	struct mp_map64 index;   /* process, name -> position in reports */
	MP_VEC(struct pool_report) reports;
	struct pool_report sum;
};

static struct pool_report *find_report(struct pools *pools, uint32_t process, uint32_t name)
{
	uint64_t key = mp_seeded(pools, (uint64_t)process << 32 | name);
	uint64_t *position = mp_map64_lookup(&pools->index, key);

	if (position)
		return &pools->reports.at[*position];
	if (!mp_vec_push(&pools->reports, (struct pool_report){0, 0, 0}) ||
	    !mp_map64_put(&pools->index, key, pools->reports.len - 1))
		return NULL;
	return &pools->reports.at[pools->reports.len - 1];
}

static void replace(int64_t *sum, int64_t *old, int64_t bytes)
{
	bytes = MP_MAX(bytes, 0);
	*sum = mp_add_sat(mp_sub_sat(*sum, *old), bytes);
	*old = bytes;
}

static mp_status walk(struct pools *pools, const struct mp_store *store, mp_memory_fn fn, void *user,
		      mp_err *err)
{
	struct mp_ranges events = mp_store_ordered(store, MP_KIND_MEMORY_TOTAL);

	for (size_t i = 0; i < events.n; i++) {
		struct mp_event event = mp_store_event(store, events.refs[i]);
		struct mp_memory_point point = {.ts_ns = event.ts_ns,
						.process = pools->track_process[event.track]};
		struct pool_report *report = find_report(pools, point.process, event.name);

		if (report == NULL)
			return mp_err_nomem(err, (pools->reports.len + 1) * sizeof(*report));
		replace(&pools->sum.allocated_bytes, &report->allocated_bytes, event.a);
		replace(&pools->sum.reserved_bytes, &report->reserved_bytes, event.b);
		replace(&pools->sum.active_bytes, &report->active_bytes, event.c);
		point.allocated_bytes = pools->sum.allocated_bytes;
		point.reserved_bytes = pools->sum.reserved_bytes;
		point.active_bytes = pools->sum.active_bytes;
		MP_TRY(fn(user, &point, err));
	}
	return MINDPROF_OK;
}

mp_status mp_pools_walk(const struct mp_store *store, mp_memory_fn fn, void *user, mp_err *err)
{
	struct pools pools = {.track_process = mp_track_processes(store)};
	mp_status status;

	if (pools.track_process)
		status = walk(&pools, store, fn, user, err);
	else
		status = mp_err_nomem(err, mp_store_n_tracks(store) * sizeof(uint32_t));
	mp_free(pools.track_process);
	mp_map64_release(&pools.index);
	mp_vec_release(&pools.reports);
	return status;
}
