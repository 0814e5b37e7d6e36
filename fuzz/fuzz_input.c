/* SPDX-License-Identifier: Apache-2.0 */
/* Packed input files: gzip and zstd, recognised by content; the input is the file. */
#include "harness.h"

#include "base/input.h"

#define MAX_BYTES (4u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_file file = {"packed", data, size};
	struct mp_input input;

	fuzz_put(&file);
	if (mp_input_open_at(fuzz_directory(), file.name, MAX_BYTES, &input, NULL) == MINDPROF_OK) {
		volatile uint8_t last;

		assert(input.packing == MP_PACKING_NONE || input.size <= MAX_BYTES);
		if (input.size > 0)
			last = input.data[input.size - 1];
		(void)last;
		mp_input_close(&input);
	}
	fuzz_remove(&file);
	return 0;
}
