/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV reader over a memory range: comma, double quotes (doubled inside), LF or CRLF, fields in
 * place. Dialect of analysis-current.md section 2.2; a UTF-8 byte order mark is skipped.
 */
#ifndef MP_CSV_IN_H
#define MP_CSV_IN_H

#include <stdbool.h>

#include "base/buf.h"

struct mp_csv_field {
	const char *text; /* in place when unquoted or free of doubled quotes, else in the reader's buffer */
	size_t len;
};

struct mp_csv {
	const char *begin, *at, *end;
	struct mp_csv_field *fields; /* owned; of the current row */
	size_t n_fields, cap_fields;
	struct mp_buf buf;    /* owned; unquoted texts of the current row */
	uint64_t row;         /* number of the current row, from 1; empty lines do not count */
	int64_t row_offset;   /* byte where the current row begins */
	const char *err_text; /* after a fault, constant; NULL otherwise */
	int64_t err_offset;   /* of an unterminated quote: where it opens */
	mp_status failed;
};

void mp_csv_init(struct mp_csv *csv, const void *data, size_t size);
/*
 * True while there is a row. False at the end (err_text NULL) or at a fault (err_text set). Empty
 * lines are skipped. After an unterminated quote a further call goes on with the line after the one
 * where the quote opens; when memory is out (failed set) there is no going on.
 */
bool mp_csv_next(struct mp_csv *csv);
/* Index of a header field of the current row, -1 if absent. */
int mp_csv_column(const struct mp_csv *csv, const char *title);
void mp_csv_release(struct mp_csv *csv);

#endif
