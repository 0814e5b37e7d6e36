/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which operators take the time? One row per operator name and type, largest total first. A
 * recording without operators shows its annotations instead. docs/analyses.md, "operators".
 */
#include "analyses/an_groups.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"name", "Operator", MP_TYPE_TEXT, MP_UNIT_NONE,
	 "Name of the operator, or of the range where there are no operators."},
	{"type", "Type", MP_TYPE_TEXT, MP_UNIT_NONE, "Operator type; missing when not known."},
	MP_GROUP_TIME_COLUMNS,
	MP_GROUP_FLOPS_COLUMNS,
};

static const struct mp_table_shape shape = {
	.name = "operators",
	.title = "Operators by total time",
	.text = "Count and time of each operator. Without operators in the recording: of each annotated range.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

static bool add_row(const struct mp_store *store, const struct mp_groups *groups,
		    const struct mp_group *group, struct mp_table *out)
{
	struct mp_value *row = mp_table_add_row(out);

	if (row == NULL || !mp_row_string(out, &row[0], store, group->name))
		return false;
	if (group->type && !mp_row_string(out, &row[1], store, group->type))
		return false;
	mp_group_fill_times(groups, group, &row[2]);
	mp_group_fill_flops(group, &row[2 + MP_GROUP_TIME_COLUMNS_N]);
	return true;
}

static mp_status run(const struct mp_store *store, struct mp_pool *pool, struct mp_table *out, mp_err *err)
{
	struct mp_groups groups;
	mp_status status = mp_groups_build_operators(&groups, store, pool, MP_GROUP_BY_NAME_AND_TYPE, err);

	for (size_t i = 0; status == MINDPROF_OK && i < groups.list.len; i++) {
		if (!add_row(store, &groups, &groups.list.at[i], out))
			status = mp_err_nomem(err, sizeof(struct mp_value) * MP_COUNT(columns));
	}
	mp_groups_release(&groups);
	MP_TRY(status);
	if (out->n_rows == 0)
		out->empty_reason = "neither operators nor annotated ranges were recorded";
	MP_TRY(mp_table_sort(out, 1, false, err));
	MP_TRY(mp_table_sort(out, 0, false, err));
	return mp_table_sort(out, (size_t)mp_table_find_column(&shape, "total_ns"), true, err);
}

const struct mp_analysis mp_analysis_operators = {&shape, MP_NEEDS(RANGE), run};
