/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome JSON traces, plain or packed (docs/formats/chrome-json.md); the input is the file. */
#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_file file = {"trace.json", data, size};

	fuzz_read(&mp_reader_chrome_json, file.name, &file, 1);
	return 0;
}
