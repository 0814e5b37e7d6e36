/* SPDX-License-Identifier: Apache-2.0 */
/* The list of readers: a new raw format is one file rd_x.c and one line here (docs/howto/add-reader.md). */
#include "readers/readers.h"

#include "base/banned.h"

const struct mp_reader *const mp_readers[] = {
	&mp_reader_native,   &mp_reader_op_range,    &mp_reader_cpu_ops,
	&mp_reader_run_info, &mp_reader_chrome_json, NULL,
};
