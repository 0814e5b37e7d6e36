/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where does the time go besides operators? One row per name and class of every other range.
 * docs/analyses.md, "ranges".
 */
#include "analyses/an_groups.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"name", "Range", MP_TYPE_TEXT, MP_UNIT_NONE, "Name of the range."},
	{"class", "Class", MP_TYPE_TEXT, MP_UNIT_NONE,
	 "What it stands for: annotation, launch, python, dataset, ..."},
	MP_GROUP_TIME_COLUMNS,
};

static const struct mp_table_shape shape = {
	.name = "ranges",
	.title = "Ranges by total time",
	.text = "Count and time of each annotated range, Python function, launch, copy and data pipeline stage.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

static const char *const class_names[MP_CLASSES] = {
	[MP_CLASS_RANGE] = "annotation", [MP_CLASS_OPERATOR] = "operator",
	[MP_CLASS_KERNEL] = "kernel",    [MP_CLASS_COMMUNICATION] = "communication",
	[MP_CLASS_MEMCPY] = "copy",      [MP_CLASS_LAUNCH] = "launch",
	[MP_CLASS_PYTHON] = "python",    [MP_CLASS_DATASET] = "dataset",
	[MP_CLASS_STEP] = "step",        [MP_CLASS_OPEN] = "unfinished",
};

static mp_status run(const struct mp_store *store, struct mp_pool *pool, struct mp_table *out, mp_err *err)
{
	struct mp_group_query query = {((1u << MP_CLASSES) - 1) & ~MP_CLASSES_OPERATOR,
				       MP_GROUP_BY_NAME_AND_CLASS};
	struct mp_groups groups;
	mp_status status = mp_groups_build(&groups, store, pool, query, err);

	for (size_t i = 0; status == MINDPROF_OK && i < groups.list.len; i++) {
		const struct mp_group *group = &groups.list.at[i];
		struct mp_value *row = mp_table_add_row(out);

		if (row == NULL || !mp_row_string(out, &row[0], store, group->name) ||
		    !mp_row_text(out, &row[1], class_names[group->cls])) {
			status = mp_err_nomem(err, sizeof(struct mp_value) * MP_COUNT(columns));
			break;
		}
		mp_group_fill_times(&groups, group, &row[2]);
	}
	mp_groups_release(&groups);
	MP_TRY(status);
	if (out->n_rows == 0)
		out->empty_reason = "no ranges besides operators were recorded";
	MP_TRY(mp_table_sort(out, 1, false, err));
	MP_TRY(mp_table_sort(out, 0, false, err));
	return mp_table_sort(out, (size_t)mp_table_find_column(&shape, "total_ns"), true, err);
}

const struct mp_analysis mp_analysis_ranges = {&shape, MP_NEEDS(RANGE), run};
