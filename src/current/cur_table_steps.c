/* SPDX-License-Identifier: Apache-2.0 */
/* Where does the time of a step go on the device? One row per step. docs/analyses.md, "step_times". */
#include "current/cur_step_trace.h"
#include "current/cur_tables.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"step", "Step", MP_TYPE_TEXT, MP_UNIT_NONE, "Number of the step; 0 when no steps were marked."},
	{"computing_ns", "Computing", MP_TYPE_INT, MP_UNIT_NS, "Time in which kernels computed."},
	{"not_overlapped_ns", "Comm. alone", MP_TYPE_INT, MP_UNIT_NS,
	 "Time of communication during which nothing computed."},
	{"communication_ns", "Communication", MP_TYPE_INT, MP_UNIT_NS, "Time of communication."},
	{"free_ns", "Free", MP_TYPE_INT, MP_UNIT_NS, "Time in which the device did neither."},
	{"preparing_ns", "Preparing", MP_TYPE_INT, MP_UNIT_NS,
	 "From the begin of the step on the host to the first work on the device."},
	{"computing_share", "Computing %", MP_TYPE_DOUBLE, MP_UNIT_SHARE,
	 "Computing of computing, communication alone and free."},
};

static const struct mp_table_shape shape = {
	.name = "step_times",
	.title = "Device time by step",
	.text = "Computing, communication and free time of each step, as step_trace_time.csv has them.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

static bool add_row(const struct cur_run *run, const struct cur_step_time *time, struct mp_table *out)
{
	struct mp_str id = mp_store_text(run->store, time->id);
	struct mp_value *row = mp_table_add_row(out);
	double all = (double)time->computing_ns + (double)time->not_overlapped_ns + (double)time->free_ns;

	if (!row || !mp_value_text(out, &row[0], id.text, id.len))
		return false;
	mp_value_int(&row[1], time->computing_ns);
	mp_value_int(&row[2], time->not_overlapped_ns);
	mp_value_int(&row[3], time->communication_ns);
	mp_value_int(&row[4], time->free_ns);
	mp_value_int(&row[5], time->preparing_ns);
	if (all > 0)
		mp_value_double(&row[6], (double)time->computing_ns / all);
	return true;
}

static mp_status fill(struct cur_run *run, struct mp_table *out, mp_err *err)
{
	struct cur_step_trace trace;
	bool good = true;
	size_t i;

	MP_TRY(cur_step_trace_make(run, &trace, err));
	for (i = 0; good && i < trace.rows.len; i++)
		good = add_row(run, &trace.rows.at[i], out);
	cur_step_trace_release(&trace);
	if (!out->n_rows)
		out->empty_reason = "nothing tells what the device did";
	return good ? MINDPROF_OK : mp_err_nomem(err, 0);
}

const struct cur_table cur_table_step_times = {&shape, fill};
