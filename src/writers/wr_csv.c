/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Table -> CSV for machines: header of column keys, numbers as they are (doubles shortest, exact),
 * missing values and NaN empty, CRLF (analysis-current.md section 2.2). A table without rows is a header.
 */
#include <math.h>
#include <string.h>

#include "base/csv_out.h"
#include "base/num.h"
#include "writers/writers.h"

#include "base/banned.h"

static void put_value(struct mp_csv_out *csv, const struct mp_value *value, enum mp_type type)
{
	char text[MP_NUM_MAX];

	if (value->missing || (type == MP_TYPE_DOUBLE && !isfinite(value->d)))
		mp_csv_out_field(csv, "", 0);
	else if (type == MP_TYPE_TEXT)
		mp_csv_out_field(csv, value->s.text, value->s.len);
	else if (type == MP_TYPE_DOUBLE)
		mp_csv_out_field(csv, text, mp_num_put_double(text, value->d));
	else
		mp_csv_out_i64(csv, value->i);
}

mp_status mp_write_table_csv(const struct mp_table *table, struct mp_out *out, mp_err *err)
{
	const struct mp_table_shape *shape = table->shape;
	struct mp_csv_out csv;
	struct mp_buf row;
	mp_status status;
	size_t i, k;

	mp_buf_init(&row, SIZE_MAX - 1);
	mp_csv_out_init(&csv, &row);
	for (k = 0; k < shape->n_columns; k++)
		mp_csv_out_field(&csv, shape->columns[k].key, strlen(shape->columns[k].key));
	mp_csv_out_end_row(&csv);
	mp_out_write(out, row.data, row.len);
	for (i = 0; i < table->n_rows && !row.failed; i++) {
		const struct mp_value *values = mp_table_row(table, i);

		mp_buf_clear(&row);
		for (k = 0; k < shape->n_columns; k++)
			put_value(&csv, &values[k], (enum mp_type)shape->columns[k].type);
		mp_csv_out_end_row(&csv);
		mp_out_write(out, row.data, row.len);
	}
	status = row.failed;
	mp_buf_release(&row);
	return status ? mp_err_set(err, status, NULL, -1, "cannot write table '%s': out of memory",
				   shape->name)
		      : MINDPROF_OK;
}
