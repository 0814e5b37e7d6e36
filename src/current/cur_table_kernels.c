/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels take the time of the device? One row per name. docs/analyses.md, "kernels". */
#include "base/hash.h"
#include "current/cur_tables.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"name", "Kernel", MP_TYPE_TEXT, MP_UNIT_NONE, "Name of the kernel on the device."},
	{"count", "Count", MP_TYPE_INT, MP_UNIT_COUNT, "Executions."},
	{"total_ns", "Total", MP_TYPE_INT, MP_UNIT_NS, "Sum of their durations."},
	{"min_ns", "Min", MP_TYPE_INT, MP_UNIT_NS, "Shortest one."},
	{"avg_ns", "Avg", MP_TYPE_INT, MP_UNIT_NS, "Mean, whole nanoseconds."},
	{"max_ns", "Max", MP_TYPE_INT, MP_UNIT_NS, "Longest one."},
	{"share", "Share", MP_TYPE_DOUBLE, MP_UNIT_SHARE, "Of the sum of all rows."},
};

static const struct mp_table_shape shape = {
	.name = "kernels",
	.title = "Kernels by total time",
	.text = "Count and time of the tasks on the device, by name.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

struct kernel {
	uint32_t name;
	uint64_t count;
	int64_t total_ns, min_ns, max_ns;
};

struct kernels {
	MP_VEC(struct kernel) at;
	struct mp_map64 by_name;
	double total_ns;
};

static bool count(struct kernels *kernels, const struct cur_device_event *event)
{
	const uint64_t *found = mp_map64_lookup(&kernels->by_name, event->name);
	struct kernel *kernel;

	if (!found && (!mp_map64_put(&kernels->by_name, event->name, kernels->at.len) ||
		       !mp_vec_push(&kernels->at, (struct kernel){.name = event->name, .min_ns = INT64_MAX})))
		return false;
	kernel = &kernels->at.at[found ? (size_t)*found : kernels->at.len - 1];
	kernel->count++;
	if (__builtin_add_overflow(kernel->total_ns, event->dur_ns, &kernel->total_ns))
		kernel->total_ns = INT64_MAX;
	kernel->min_ns = MP_MIN(kernel->min_ns, event->dur_ns);
	kernel->max_ns = MP_MAX(kernel->max_ns, event->dur_ns);
	kernels->total_ns += (double)event->dur_ns;
	return true;
}

static bool add_row(const struct cur_run *run, const struct kernels *kernels, const struct kernel *kernel,
		    struct mp_table *out)
{
	struct mp_str name = mp_store_text(run->store, kernel->name);
	struct mp_value *row = mp_table_add_row(out);

	if (!row || !mp_value_text(out, &row[0], name.text, name.len))
		return false;
	mp_value_int(&row[1], (int64_t)kernel->count);
	mp_value_int(&row[2], kernel->total_ns);
	mp_value_int(&row[3], kernel->min_ns);
	mp_value_int(&row[4], kernel->total_ns / (int64_t)kernel->count);
	mp_value_int(&row[5], kernel->max_ns);
	if (kernels->total_ns > 0)
		mp_value_double(&row[6], (double)kernel->total_ns / kernels->total_ns);
	return true;
}

static mp_status fill(struct cur_run *run, struct mp_table *out, mp_err *err)
{
	struct kernels kernels = {0};
	bool good = true;
	size_t i;

	MP_TRY(cur_load_device(run, err));
	for (i = 0; good && i < run->device.events.len; i++) {
		const struct cur_device_event *event = &run->device.events.at[i];

		if (run->device.tracks.at[event->track].layer == CUR_LAYER_HARDWARE && event->dur_ns >= 0)
			good = count(&kernels, event);
	}
	for (i = 0; good && i < kernels.at.len; i++)
		good = add_row(run, &kernels, &kernels.at.at[i], out);
	mp_vec_release(&kernels.at);
	mp_map64_release(&kernels.by_name);
	if (!good)
		return mp_err_nomem(err, 0);
	if (!out->n_rows)
		out->empty_reason = "no tasks of a device were recorded";
	MP_TRY(mp_table_sort(out, 0, false, err));
	return mp_table_sort(out, 2, true, err);
}

const struct cur_table cur_table_kernels = {&shape, fill};
