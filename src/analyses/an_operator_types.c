/* SPDX-License-Identifier: Apache-2.0 */
/* Which types of operators take the time? One row per type. docs/analyses.md, "operator_types". */
#include "analyses/an_groups.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"type", "Type", MP_TYPE_TEXT, MP_UNIT_NONE,
	 "Operator type; missing for the operators whose type is not known."},
	MP_GROUP_TIME_COLUMNS,
	MP_GROUP_FLOPS_COLUMNS,
};

static const struct mp_table_shape shape = {
	.name = "operator_types",
	.title = "Operator types by total time",
	.text = "Count and time of all operators of one type together.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

static mp_status run(const struct mp_store *store, struct mp_pool *pool, struct mp_table *out, mp_err *err)
{
	struct mp_group_query query = {MP_CLASSES_OPERATOR, MP_GROUP_BY_TYPE};
	struct mp_groups groups;
	mp_status status = mp_groups_build(&groups, store, pool, query, err);

	for (size_t i = 0; status == MINDPROF_OK && i < groups.list.len; i++) {
		const struct mp_group *group = &groups.list.at[i];
		struct mp_value *row = mp_table_add_row(out);

		if (row == NULL || (group->type && !mp_row_string(out, &row[0], store, group->type))) {
			status = mp_err_nomem(err, sizeof(struct mp_value) * MP_COUNT(columns));
			break;
		}
		mp_group_fill_times(&groups, group, &row[1]);
		mp_group_fill_flops(group, &row[1 + MP_GROUP_TIME_COLUMNS_N]);
	}
	mp_groups_release(&groups);
	MP_TRY(status);
	if (out->n_rows == 0)
		out->empty_reason = "no operators were recorded";
	MP_TRY(mp_table_sort(out, 0, false, err));
	return mp_table_sort(out, (size_t)mp_table_find_column(&shape, "total_ns"), true, err);
}

const struct mp_analysis mp_analysis_operator_types = {&shape, MP_NEEDS(RANGE), run};
