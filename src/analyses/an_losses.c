/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is missing? Every note of the readers that is a warning or a problem: dropped events, cut
 * recordings, damaged parts. docs/analyses.md, "losses".
 */
#include "analyses/an_private.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"severity", "Severity", MP_TYPE_TEXT, MP_UNIT_NONE,
	 "problem: data are missing; warning: something is odd."},
	{"code", "Code", MP_TYPE_TEXT, MP_UNIT_NONE, "Constant word for scripts, e.g. events-dropped."},
	{"path", "File", MP_TYPE_TEXT, MP_UNIT_NONE, "File concerned; missing when none."},
	{"byte", "Byte", MP_TYPE_INT, MP_UNIT_NONE, "Where in the file, counted from 0; of the first one."},
	{"count", "Count", MP_TYPE_INT, MP_UNIT_COUNT, "How often it was met."},
	{"text", "Message", MP_TYPE_TEXT, MP_UNIT_NONE, "The message of the first one."},
};

static const struct mp_table_shape shape = {
	.name = "losses",
	.title = "What was lost",
	.text = "Dropped events, cut recordings and damaged data that were met while reading.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

static bool add_row(const struct mp_store *store, const struct mp_note *note, struct mp_table *out)
{
	struct mp_value *row = mp_table_add_row(out);

	if (row == NULL || !mp_row_text(out, &row[0], note->severity == MP_PROBLEM ? "problem" : "warning") ||
	    !mp_row_string(out, &row[1], store, note->code) ||
	    (note->path && !mp_row_string(out, &row[2], store, note->path)) ||
	    !mp_row_string(out, &row[5], store, note->text))
		return false;
	if (note->byte_offset >= 0)
		mp_value_int(&row[3], note->byte_offset);
	mp_value_int(&row[4], (int64_t)note->count);
	return true;
}

static mp_status run(const struct mp_store *store, struct mp_pool *pool, struct mp_table *out, mp_err *err)
{
	size_t n = mp_store_n_notes(store);

	(void)pool;
	for (int severity = MP_PROBLEM; severity >= MP_WARNING; severity--) {
		for (size_t i = 0; i < n; i++) {
			struct mp_note note = mp_store_get_note(store, i);

			if ((int)note.severity == severity && !add_row(store, &note, out))
				return mp_err_nomem(err, sizeof(struct mp_value) * MP_COUNT(columns));
		}
	}
	if (out->n_rows == 0)
		out->empty_reason = "nothing was lost";
	return MINDPROF_OK;
}

const struct mp_analysis mp_analysis_losses = {&shape, 0, run};
