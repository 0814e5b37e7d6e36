/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With which input shapes does an operator run, and how long does it take with each? One row per operator,
 * type and input shapes, largest total first. docs/analyses.md, "operator_shapes".
 */
#include "analyses/an_groups.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"name", "Operator", MP_TYPE_TEXT, MP_UNIT_NONE, "Name of the operator."},
	{"type", "Type", MP_TYPE_TEXT, MP_UNIT_NONE, "Operator type; missing when not known."},
	{"input_shapes", "Input shapes", MP_TYPE_TEXT, MP_UNIT_NONE,
	 "Of each input its sizes, \"8,64;10,64\"; missing when not known."},
	MP_GROUP_TIME_COLUMNS,
};

static const struct mp_table_shape shape = {
	.name = "operator_shapes",
	.title = "Operators by input shapes",
	.text = "Count and time of each operator with each of its input shapes.",
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
	if (group->shapes && !mp_row_string(out, &row[2], store, group->shapes))
		return false;
	mp_group_fill_times(groups, group, &row[3]);
	return true;
}

static mp_status run(const struct mp_store *store, struct mp_pool *pool, struct mp_table *out, mp_err *err)
{
	struct mp_group_query query = {MP_CLASSES_OPERATOR, MP_GROUP_BY_NAME_AND_SHAPES};
	struct mp_groups groups;
	mp_status status = mp_groups_build(&groups, store, pool, query, err);
	size_t i;
	int column;

	for (i = 0; status == MINDPROF_OK && i < groups.list.len; i++)
		if (!add_row(store, &groups, &groups.list.at[i], out))
			status = mp_err_nomem(err, sizeof(struct mp_value) * MP_COUNT(columns));
	mp_groups_release(&groups);
	MP_TRY(status);
	if (out->n_rows == 0)
		out->empty_reason = "no operators were recorded";
	for (column = 2; column >= 0; column--)
		MP_TRY(mp_table_sort(out, (size_t)column, false, err));
	return mp_table_sort(out, (size_t)mp_table_find_column(&shape, "total_ns"), true, err);
}

const struct mp_analysis mp_analysis_operator_shapes = {&shape, MP_NEEDS(RANGE), run};
