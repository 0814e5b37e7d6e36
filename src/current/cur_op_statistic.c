/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_statistic.csv: the table that the device tool exported; where it is missing, computed from op_summary;
 * of CPU runs from the operators (analysis-current.md section 8.3, prof-raw.md section 9.1).
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "current/cur_cpu_kernels.h"
#include "current/cur_csv.h"
#include "current/cur_outputs.h"

#include "base/banned.h"

enum { DEVICE, TYPE, CORE, DURATION, TITLES };

static const char *const titles[TITLES] = {"Device_id", "OP Type", "Task Type", "Task Duration(us)"};

struct grouping {
	struct cur_run *run;
	cur_op_groups groups;
	struct mp_map64 index; /* hash of device, type and core -> group */
};

static bool keep(struct cur_run *run, struct mp_str *text)
{
	uint32_t id = mp_strtab_add(mp_store_strings(run->store), text->text, text->len);

	*text = mp_store_text(run->store, id);
	return id != MP_STR_NONE;
}

static bool add_group(struct grouping *grouping, struct cur_op_group group, uint64_t hash)
{
	return keep(grouping->run, &group.device) && keep(grouping->run, &group.type) &&
	       keep(grouping->run, &group.core) &&
	       mp_map64_put(&grouping->index, hash, grouping->groups.len) &&
	       mp_vec_push(&grouping->groups, group);
}

/* A row whose duration cannot be read has been noted by who writes kernel_details.csv. */
static bool take(void *user, const struct mp_csv *csv, const int *columns)
{
	struct mp_str duration = cur_csv_field(csv, columns[DURATION]);
	struct cur_op_group key = {.device = cur_csv_field(csv, columns[DEVICE]),
				   .type = cur_csv_field(csv, columns[TYPE]),
				   .core = cur_csv_field(csv, columns[CORE])};
	struct grouping *grouping = user;
	const uint64_t *found;
	uint64_t hash;
	int64_t dur_ns;

	if (cur_is_communication(key.core) || !mp_num_parse_scaled(duration.text, duration.len, 3, &dur_ns) ||
	    dur_ns < 0)
		return true;
	hash = mp_hash_bytes(key.device.text, key.device.len, 0);
	hash = mp_hash_bytes(key.type.text, key.type.len, hash);
	hash = mp_hash_bytes(key.core.text, key.core.len, hash);
	found = mp_map64_lookup(&grouping->index, hash);
	if (!found && !add_group(grouping, key, hash))
		return false;
	cur_op_group_add(&grouping->groups.at[found ? (size_t)*found : grouping->groups.len - 1], dur_ns);
	return true;
}

static mp_status groups_of_summary(struct grouping *grouping, mp_err *err)
{
	struct cur_run *run = grouping->run;
	struct cur_file_list files;
	mp_status status;
	size_t i;

	MP_TRY(cur_files_find(&run->exported, "op_summary_*.csv", &files, err));
	status = MINDPROF_OK;
	for (i = 0; !status && i < files.names.len; i++)
		status = cur_csv_rows(run, &run->exported, files.names.at[i], titles, TITLES, take, grouping,
				      err);
	cur_files_release(&files);
	return status;
}

/* ---- rows ---- */

static int compare_texts(struct mp_str a, struct mp_str b)
{
	int order = memcmp(a.text, b.text, MP_MIN(a.len, b.len));

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int by_total(const void *a, const void *b)
{
	const struct cur_op_group *x = a, *y = b;
	int by_type = compare_texts(x->type, y->type);

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return by_type ? by_type : compare_texts(x->core, y->core);
}

static void put_us(struct mp_out *out, int64_t ns)
{
	mp_out_us3(out, ns);
	mp_out_str(out, ",");
}

/* Rounded to the nearest. */
static int64_t mean_ns(const struct cur_op_group *group)
{
	int64_t rest = group->total_ns % group->count;

	return group->total_ns / group->count + (rest >= group->count - rest);
}

static void put_groups(cur_op_groups *groups, struct mp_out *out)
{
	double sum_ns = 0;
	size_t i;

	if (!groups->len)
		return;
	qsort(groups->at, groups->len, sizeof(*groups->at), by_total);
	for (i = 0; i < groups->len; i++)
		sum_ns += (double)groups->at[i].total_ns;
	mp_out_str(out,
		   "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),"
		   "Ratio(%)\n");
	for (i = 0; i < groups->len; i++) {
		const struct cur_op_group *group = &groups->at[i];
		double share = sum_ns > 0 ? (double)group->total_ns / sum_ns : 0;

		cur_csv_text(out, group->device.text, group->device.len);
		mp_out_str(out, ",");
		cur_csv_text(out, group->type.text, group->type.len);
		mp_out_str(out, ",");
		cur_csv_text(out, group->core.text, group->core.len);
		mp_out_str(out, ",");
		mp_out_i64(out, group->count);
		mp_out_str(out, ",");
		put_us(out, group->total_ns);
		put_us(out, group->min_ns);
		put_us(out, mean_ns(group));
		put_us(out, group->max_ns);
		mp_out_printf(out, "%.3f\n", 100 * share);
	}
}

static mp_status write_statistic(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	struct grouping grouping = {.run = run};
	uint64_t before = out->written + out->len;
	mp_status status;

	if (cur_has_cpu_kernels(run)) {
		status = cur_cpu_op_groups(run, &grouping.groups, err);
	} else {
		MP_TRY(cur_copy_table(run, "op_statistic", "op_statistic_*.csv", out, err));
		if (out->written + out->len > before || !cur_corrects(run, CUR_FIX_LOST_OUTPUTS))
			return MINDPROF_OK;
		status = groups_of_summary(&grouping, err);
	}
	if (!status)
		put_groups(&grouping.groups, out);
	mp_vec_release(&grouping.groups);
	mp_map64_release(&grouping.index);
	return status;
}

static bool wanted(const struct cur_run *run)
{
	return run->params.npu || cur_has_cpu_kernels(run);
}

const struct cur_output cur_op_statistic = {
	.name = "op_statistic.csv",
	.about = "Operators by type.",
	.wanted = wanted,
	.write = write_statistic,
	.original_needs = CUR_NEEDS_TIMELINE,
};
