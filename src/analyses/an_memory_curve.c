/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How does memory grow and fall? At most 1,000 moments; where there are more, they are taken in
 * groups of equal number, and of each group the smallest and the largest value are kept, so no
 * extreme is lost. docs/analyses.md, "memory_curve".
 */
#include "analyses/an_holdings.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"at_ns", "At", MP_TYPE_INT, MP_UNIT_NS, "The moment, counted from the begin of the trace."},
	{"allocated_bytes", "Allocated", MP_TYPE_INT, MP_UNIT_BYTES, "Bytes in use."},
	{"reserved_bytes", "Reserved", MP_TYPE_INT, MP_UNIT_BYTES,
	 "Bytes the pools took from the system; missing when not reported."},
	{"active_bytes", "Active", MP_TYPE_INT, MP_UNIT_BYTES,
	 "Bytes in use by running work; missing when not reported."},
};

static const struct mp_table_shape shape = {
	.name = "memory_curve",
	.title = "Memory over time",
	.text = "Bytes allocated over time: reported by memory pools, else counted from allocations and releases.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

/* First and last moment, and two of each group between. */
#define ROWS_MAX 1000
#define GROUPS_MAX ((ROWS_MAX - 2) / 2)

struct thinner {
	struct mp_table *out;
	int64_t trace_begin_ns;
	size_t n, seen; /* moments that will come, and that came */
	size_t group_size;
	size_t in_group;
	struct mp_memory_point low, high;
	bool low_is_first; /* of the two in time */
};

static mp_status add_row(struct thinner *thinner, const struct mp_memory_point *point, mp_err *err)
{
	struct mp_value *row = mp_table_add_row(thinner->out);

	if (row == NULL)
		return mp_err_nomem(err, sizeof(struct mp_value) * MP_COUNT(columns));
	mp_value_int(&row[0], mp_sub_sat(point->ts_ns, thinner->trace_begin_ns));
	mp_value_int(&row[1], point->allocated_bytes);
	if (point->reserved_bytes >= 0)
		mp_value_int(&row[2], point->reserved_bytes);
	if (point->active_bytes >= 0)
		mp_value_int(&row[3], point->active_bytes);
	return MINDPROF_OK;
}

static mp_status end_group(struct thinner *thinner, mp_err *err)
{
	size_t in_group = thinner->in_group;

	thinner->in_group = 0;
	if (in_group == 0)
		return MINDPROF_OK;
	MP_TRY(add_row(thinner, thinner->low_is_first ? &thinner->low : &thinner->high, err));
	if (in_group == 1 || thinner->low.allocated_bytes == thinner->high.allocated_bytes)
		return MINDPROF_OK;
	return add_row(thinner, thinner->low_is_first ? &thinner->high : &thinner->low, err);
}

static mp_status see(void *user, const struct mp_memory_point *point, mp_err *err)
{
	struct thinner *thinner = user;
	bool edge = thinner->seen == 0 || thinner->seen + 1 == thinner->n;

	thinner->seen++;
	if (edge) {
		MP_TRY(end_group(thinner, err));
		return add_row(thinner, point, err);
	}
	if (thinner->in_group == 0 || point->allocated_bytes < thinner->low.allocated_bytes) {
		thinner->low = *point;
		thinner->low_is_first = thinner->in_group == 0;
	}
	if (thinner->in_group == 0 || point->allocated_bytes > thinner->high.allocated_bytes) {
		thinner->high = *point;
		thinner->low_is_first = true;
	}
	if (++thinner->in_group < thinner->group_size)
		return MINDPROF_OK;
	return end_group(thinner, err);
}

static mp_status run(const struct mp_store *store, struct mp_pool *pool, struct mp_table *out, mp_err *err)
{
	struct thinner thinner = {.out = out, .group_size = 1};
	size_t reports = mp_store_ordered(store, MP_KIND_MEMORY_TOTAL).n;
	struct mp_holdings holdings = {0};
	int64_t end_ns;
	mp_status status;

	(void)pool;
	mp_store_time_range(store, &thinner.trace_begin_ns, &end_ns);
	thinner.n = reports ? reports : mp_store_ordered(store, MP_KIND_MEMORY).n;
	if (thinner.n > ROWS_MAX)
		thinner.group_size = (thinner.n - 2 + GROUPS_MAX - 1) / GROUPS_MAX;
	if (reports) {
		status = mp_pools_walk(store, see, &thinner, err);
	} else {
		status = mp_holdings_build(&holdings, store, see, &thinner, err);
		mp_holdings_release(&holdings);
	}
	if (status == MINDPROF_OK && out->n_rows == 0)
		out->empty_reason = "neither allocations nor reports of a memory pool were recorded";
	return status;
}

const struct mp_analysis mp_analysis_memory_curve = {
	&shape, MP_NEEDS(MEMORY) | MP_NEEDS(MEMORY_TOTAL) | MP_NEEDS(STEP) | MP_NEEDS(RANGE), run};
