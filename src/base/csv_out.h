/* SPDX-License-Identifier: Apache-2.0 */
/* CSV text: minimal quoting, CRLF line ends (analysis-current.md section 2.2). */
#ifndef MP_CSV_OUT_H
#define MP_CSV_OUT_H

#include "base/buf.h"

struct mp_csv_out {
	struct mp_buf *buf; /* borrowed; flush it between rows only */
	size_t n_in_row;
	size_t row_len; /* bytes of the fields of the row so far, without commas */
};

void mp_csv_out_init(struct mp_csv_out *csv, struct mp_buf *buf);
void mp_csv_out_field(struct mp_csv_out *csv, const char *text, size_t len);
void mp_csv_out_i64(struct mp_csv_out *csv, int64_t value);
void mp_csv_out_end_row(struct mp_csv_out *csv);

#endif
