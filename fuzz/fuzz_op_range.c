/* SPDX-License-Identifier: Apache-2.0 */
/* mindspore.op_range (docs/formats/framework.md); the input is the file. */
#include "harness.h"

#include "formats/fmt_framework.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_file file = {MP_FWK_DIR "/" MP_FWK_OP_RANGE_FILE, data, size};

	fuzz_read(&mp_reader_op_range, NULL, &file, 1);
	return 0;
}
