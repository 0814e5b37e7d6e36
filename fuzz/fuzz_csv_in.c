/* SPDX-License-Identifier: Apache-2.0 */
/* The CSV reader: all rows, all fields touched. */
#include "harness.h"

#include "base/csv_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mp_csv csv;
	uint64_t rows = 0;
	size_t bytes = 0;
	volatile char seen;

	mp_csv_init(&csv, data, size);
	while (mp_csv_next(&csv)) {
		rows++;
		assert(csv.row == rows && csv.n_fields > 0);
		assert(csv.row_offset >= 0 && (size_t)csv.row_offset < size);
		for (size_t i = 0; i < csv.n_fields; i++) {
			bytes += csv.fields[i].len;
			for (size_t k = 0; k < csv.fields[i].len; k++)
				seen = csv.fields[i].text[k];
		}
	}
	(void)seen;
	assert(bytes <= size);
	if (csv.err_text)
		assert(csv.err_offset >= 0 && (size_t)csv.err_offset <= size);
	mp_csv_release(&csv);
	return 0;
}
