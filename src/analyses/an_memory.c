/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who allocates, who holds, who grows? One row per owner of memory. docs/analyses.md, "memory".
 */
#include "analyses/an_holdings.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"process", "Process", MP_TYPE_TEXT, MP_UNIT_NONE, "Process of the owner."},
	{"owner", "Owner", MP_TYPE_TEXT, MP_UNIT_NONE,
	 "Who allocated: pool, operator or name given when recording."},
	{"allocations", "Allocations", MP_TYPE_INT, MP_UNIT_COUNT, "How many."},
	{"releases", "Releases", MP_TYPE_INT, MP_UNIT_COUNT, "How many of them were released."},
	{"unknown_releases", "Unknown releases", MP_TYPE_INT, MP_UNIT_COUNT,
	 "Releases of an address of which no allocation is known."},
	{"replaced", "Replaced", MP_TYPE_INT, MP_UNIT_COUNT,
	 "Allocations whose address was allocated again without a release."},
	{"allocated_bytes", "Allocated", MP_TYPE_INT, MP_UNIT_BYTES, "Sum of all allocations."},
	{"live_bytes", "Live at end", MP_TYPE_INT, MP_UNIT_BYTES, "Held when the recording ended."},
	{"peak_bytes", "At peak", MP_TYPE_INT, MP_UNIT_BYTES,
	 "Held at the moment when all owners together held most."},
	{"rises", "Rises", MP_TYPE_INT, MP_UNIT_COUNT,
	 "Steps at whose end it held more than at the end of the step before; missing with fewer than two ends."},
	{"hint", "Hint", MP_TYPE_TEXT, MP_UNIT_NONE,
	 "Says so when the owner grew in at least 80 % of the steps."},
};

static const struct mp_table_shape shape = {
	.name = "memory",
	.title = "Memory by owner",
	.text = "Allocations and releases of each owner, what it held at the peak and at the end, and whether it grows.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

/* A leak is suspected when so many of at least so many comparisons of step ends show growth. */
#define LEAK_PERCENT 80
#define LEAK_COMPARISONS_MIN 4

static bool add_row(const struct mp_store *store, const struct mp_holdings *holdings,
		    const struct mp_owner *owner, struct mp_table *out)
{
	size_t n_ends = mp_holdings_n_ends(holdings, owner->process);
	struct mp_value *row = mp_table_add_row(out);
	uint64_t comparisons = n_ends ? n_ends - 1 : 0;

	if (row == NULL || !mp_row_process(out, &row[0], store, owner->process) ||
	    !mp_row_string(out, &row[1], store, owner->name))
		return false;
	mp_value_int(&row[2], (int64_t)owner->allocations);
	mp_value_int(&row[3], (int64_t)owner->releases);
	mp_value_int(&row[4], (int64_t)owner->unknown_releases);
	mp_value_int(&row[5], (int64_t)owner->replaced);
	mp_value_int(&row[6], owner->allocated_bytes);
	mp_value_int(&row[7], owner->live_bytes);
	mp_value_int(&row[8], owner->peak_bytes);
	if (comparisons)
		mp_value_int(&row[9], (int64_t)owner->n_rises);
	if (comparisons >= LEAK_COMPARISONS_MIN && owner->n_rises * 100 >= comparisons * LEAK_PERCENT)
		return mp_row_printf(out, &row[10], "grows: more after %llu of %llu steps, possible leak",
				     (unsigned long long)owner->n_rises, (unsigned long long)comparisons);
	return true;
}

static mp_status run(const struct mp_store *store, struct mp_pool *pool, struct mp_table *out, mp_err *err)
{
	struct mp_holdings holdings;
	mp_status status = mp_holdings_build(&holdings, store, NULL, NULL, err);

	(void)pool;
	for (size_t i = 0; status == MINDPROF_OK && i < holdings.owners.len; i++) {
		if (!add_row(store, &holdings, &holdings.owners.at[i], out))
			status = mp_err_nomem(err, sizeof(struct mp_value) * MP_COUNT(columns));
	}
	mp_holdings_release(&holdings);
	MP_TRY(status);
	if (out->n_rows == 0)
		out->empty_reason =
			"no allocations were recorded: call mindprof_memory_alloc and mindprof_memory_free";
	MP_TRY(mp_table_sort(out, 1, false, err));
	MP_TRY(mp_table_sort(out, (size_t)mp_table_find_column(&shape, "allocated_bytes"), true, err));
	return mp_table_sort(out, (size_t)mp_table_find_column(&shape, "peak_bytes"), true, err);
}

const struct mp_analysis mp_analysis_memory = {&shape, MP_NEEDS(MEMORY) | MP_NEEDS(STEP) | MP_NEEDS(RANGE),
					       run};
