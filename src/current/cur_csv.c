/* SPDX-License-Identifier: Apache-2.0 */
/* CSV cells into an output, and CSV files of the export by column titles. */
#include <assert.h>
#include <string.h>

#include "current/cur_csv.h"

#include "base/banned.h"

void cur_csv_text(struct mp_out *out, const char *text, size_t len)
{
	size_t i;

	if (!len || (!memchr(text, ',', len) && !memchr(text, '"', len) && !memchr(text, '\n', len) &&
		     !memchr(text, '\r', len))) {
		mp_out_write(out, text, len);
		return;
	}
	mp_out_str(out, "\"");
	for (i = 0; i < len; i++)
		mp_out_write(out, text[i] == '"' ? "\"\"" : &text[i], text[i] == '"' ? 2 : 1);
	mp_out_str(out, "\"");
}

bool cur_csv_is_cut(struct cur_run *run, const struct mp_input *input, int64_t row_offset, size_t n_cells,
		    size_t n_titles)
{
	bool cut = n_cells < n_titles;

	/* What damaged packing leaves ends anywhere, which is noted already. */
	if (!input->damage)
		mp_store_note(run->store, cut ? MP_PROBLEM : MP_WARNING, "truncated", input->file.path,
			      row_offset,
			      cut ? "file ends inside its last row"
				  : "file ends without a line end: the last cell may be cut");
	return cut;
}

/* Whether the current row is the last and has no line end. */
static bool is_open_row(const struct mp_csv *csv)
{
	return csv->at == csv->end && csv->end > csv->begin && csv->end[-1] != '\n';
}

static mp_status read_rows(struct cur_run *run, const struct mp_input *input, struct mp_csv *csv,
			   const char *const *titles, size_t n, cur_csv_row_fn fn, void *user, mp_err *err)
{
	int columns[CUR_CSV_TITLES];
	bool good = true;
	size_t n_titles, i;

	if (!mp_csv_next(csv)) {
		if (csv->failed)
			return mp_err_nomem(err, 0);
		mp_store_note(run->store, MP_PROBLEM, "bad-csv", input->file.path, 0, "no header");
		return MINDPROF_OK;
	}
	for (i = 0; i < n; i++)
		columns[i] = mp_csv_column(csv, titles[i]);
	n_titles = csv->n_fields;
	if (is_open_row(csv))
		cur_csv_is_cut(run, input, csv->row_offset, n_titles, n_titles + 1);
	while (good && (mp_csv_next(csv) || (csv->err_text && !csv->failed))) {
		if (csv->err_text) {
			mp_store_note(run->store, MP_PROBLEM, "bad-csv", input->file.path, csv->err_offset,
				      "%s", csv->err_text);
			csv->err_text = NULL;
			continue;
		}
		if (is_open_row(csv) && cur_csv_is_cut(run, input, csv->row_offset, csv->n_fields, n_titles))
			break;
		good = fn(user, csv, columns);
	}
	return good && !csv->failed ? MINDPROF_OK : mp_err_nomem(err, 0);
}

mp_status cur_csv_rows(struct cur_run *run, const struct mp_dir *dir, const char *name,
		       const char *const *titles, size_t n, cur_csv_row_fn fn, void *user, mp_err *err)
{
	struct mp_input input;
	struct mp_csv csv;
	mp_err failure = {0};
	mp_status status;

	assert(n <= CUR_CSV_TITLES);
	status = mp_input_open_at(dir, name, run->ctx->max_unpacked, &input, &failure);

	if (status)
		return cur_go_on_without(run, dir->path, status, &failure, err);
	cur_note_damage(run, &input);
	mp_csv_init(&csv, input.data, input.size);
	status = read_rows(run, &input, &csv, titles, n, fn, user, err);
	mp_csv_release(&csv);
	mp_input_close(&input);
	return status;
}
