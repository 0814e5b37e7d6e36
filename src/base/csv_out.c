/* SPDX-License-Identifier: Apache-2.0 */
/* Fields -> CSV text: comma, quotes only where needed and doubled inside, CRLF (analysis-current.md 2.2). */
#include "base/csv_out.h"

#include <stdbool.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

void mp_csv_out_init(struct mp_csv_out *csv, struct mp_buf *buf)
{
	csv->buf = buf;
	csv->n_in_row = 0;
	csv->row_len = 0;
}

static bool needs_quotes(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (text[i] == ',' || text[i] == '"' || text[i] == '\r' || text[i] == '\n')
			return true;
	return false;
}

static void begin_field(struct mp_csv_out *csv)
{
	if (csv->n_in_row++)
		mp_buf_add_char(csv->buf, ',');
}

void mp_csv_out_field(struct mp_csv_out *csv, const char *text, size_t len)
{
	const char *p = text, *end = text + len, *quote;

	begin_field(csv);
	csv->row_len += len;
	if (!needs_quotes(text, len)) {
		mp_buf_add(csv->buf, text, len);
		return;
	}
	mp_buf_add_char(csv->buf, '"');
	while ((quote = memchr(p, '"', (size_t)(end - p)))) {
		mp_buf_add(csv->buf, p, (size_t)(quote - p) + 1);
		mp_buf_add_char(csv->buf, '"');
		p = quote + 1;
	}
	mp_buf_add(csv->buf, p, (size_t)(end - p));
	mp_buf_add_char(csv->buf, '"');
}

void mp_csv_out_i64(struct mp_csv_out *csv, int64_t value)
{
	char text[MP_NUM_MAX];

	mp_csv_out_field(csv, text, mp_num_put_i64(text, value));
}

void mp_csv_out_end_row(struct mp_csv_out *csv)
{
	/* A row of one empty field would read back as an empty line. */
	if (csv->n_in_row == 1 && csv->row_len == 0)
		mp_buf_add(csv->buf, "\"\"", 2);
	mp_buf_add(csv->buf, "\r\n", 2);
	csv->n_in_row = 0;
	csv->row_len = 0;
}
