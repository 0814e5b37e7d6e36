/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When was most memory held, and by whom? The moment of the peak with the largest holders then.
 * docs/analyses.md, "memory_peak".
 */
#include "analyses/an_holdings.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"process", "Process", MP_TYPE_TEXT, MP_UNIT_NONE, "Process of the holder."},
	{"owner", "Owner", MP_TYPE_TEXT, MP_UNIT_NONE,
	 "Who held the memory; (all) where only totals were recorded."},
	{"held_bytes", "Held", MP_TYPE_INT, MP_UNIT_BYTES, "Bytes it held at the peak."},
	{"share", "Share", MP_TYPE_DOUBLE, MP_UNIT_SHARE, "Part of the total at the peak."},
	{"at_ns", "At", MP_TYPE_INT, MP_UNIT_NS,
	 "The moment of the peak, counted from the begin of the trace."},
	{"step", "Step", MP_TYPE_INT, MP_UNIT_NONE, "Step in which the peak lies; missing when in none."},
	{"total_bytes", "Total", MP_TYPE_INT, MP_UNIT_BYTES, "Bytes that all held together at the peak."},
};

static const struct mp_table_shape shape = {
	.name = "memory_peak",
	.title = "Memory at its peak",
	.text = "The moment when most memory was held, and who held it.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

#define HOLDERS_MAX 20

/* The peak of what pools reported. */
struct peak {
	int64_t at_ns, bytes;
	uint32_t process;
	bool any;
};

static mp_status see_report(void *user, const struct mp_memory_point *point, mp_err *err)
{
	struct peak *peak = user;

	(void)err;
	if (!peak->any || point->allocated_bytes > peak->bytes)
		*peak = (struct peak){point->ts_ns, point->allocated_bytes, point->process, true};
	return MINDPROF_OK;
}

/* The columns that are the same in all rows. */
static void fill_moment(const struct mp_store *store, const struct mp_step_list *steps,
			const struct peak *peak, struct mp_value *row)
{
	const struct mp_step *step = mp_step_list_lookup(steps, peak->process, peak->at_ns);
	int64_t begin_ns = 0, end_ns = 0;

	mp_store_time_range(store, &begin_ns, &end_ns);
	mp_value_int(&row[4], mp_sub_sat(peak->at_ns, begin_ns));
	if (step)
		mp_value_int(&row[5], step->number);
	mp_value_int(&row[6], peak->bytes);
}

static bool add_total(const struct mp_store *store, const struct mp_step_list *steps, const struct peak *peak,
		      struct mp_table *out)
{
	struct mp_value *row = mp_table_add_row(out);

	if (row == NULL || !mp_row_process(out, &row[0], store, peak->process) ||
	    !mp_row_text(out, &row[1], "(all)"))
		return false;
	mp_value_int(&row[2], peak->bytes);
	mp_value_double(&row[3], 1);
	fill_moment(store, steps, peak, row);
	return true;
}

static bool add_holder(const struct mp_store *store, const struct mp_holdings *holdings,
		       const struct mp_owner *owner, struct mp_table *out)
{
	struct peak peak = {holdings->peak_ns, holdings->peak_bytes, holdings->peak_process, true};
	struct mp_value *row = mp_table_add_row(out);

	if (row == NULL || !mp_row_process(out, &row[0], store, owner->process) ||
	    !mp_row_string(out, &row[1], store, owner->name))
		return false;
	mp_value_int(&row[2], owner->peak_bytes);
	mp_value_double(&row[3], mp_share((double)owner->peak_bytes, (double)holdings->peak_bytes));
	fill_moment(store, &holdings->steps, &peak, row);
	return true;
}

static mp_status fill(const struct mp_store *store, const struct mp_holdings *holdings, struct mp_table *out,
		      mp_err *err)
{
	struct peak peak = {.any = false};
	bool ok = true;

	for (size_t i = 0; ok && i < holdings->owners.len; i++) {
		if (holdings->owners.at[i].peak_bytes > 0)
			ok = add_holder(store, holdings, &holdings->owners.at[i], out);
	}
	if (holdings->owners.len == 0) {
		MP_TRY(mp_pools_walk(store, see_report, &peak, err));
		if (peak.any)
			ok = add_total(store, &holdings->steps, &peak, out);
	}
	return ok ? MINDPROF_OK : mp_err_nomem(err, sizeof(struct mp_value) * MP_COUNT(columns));
}

static mp_status run(const struct mp_store *store, struct mp_pool *pool, struct mp_table *out, mp_err *err)
{
	struct mp_holdings holdings;
	mp_status status = mp_holdings_build(&holdings, store, NULL, NULL, err);

	(void)pool;
	if (status == MINDPROF_OK)
		status = fill(store, &holdings, out, err);
	mp_holdings_release(&holdings);
	MP_TRY(status);
	if (out->n_rows == 0)
		out->empty_reason = "neither allocations nor reports of a memory pool were recorded";
	MP_TRY(mp_table_sort(out, 1, false, err));
	MP_TRY(mp_table_sort(out, 2, true, err));
	out->n_rows = MP_MIN(out->n_rows, HOLDERS_MAX);
	return MINDPROF_OK;
}

const struct mp_analysis mp_analysis_memory_peak = {
	&shape, MP_NEEDS(MEMORY) | MP_NEEDS(MEMORY_TOTAL) | MP_NEEDS(STEP) | MP_NEEDS(RANGE), run};
