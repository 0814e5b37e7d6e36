/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native recordings (docs/formats/native.md). The input is the files of MINDPROF/ one after the other: a part
 * begins at each file magic, and the kind in its header says which file it is.
 */
#include "harness.h"

#include <string.h>

#include "formats/fmt_native.h"

#define MAGIC_BYTES 8
#define MAX_FILES 3

/* The file that a part stands for, NULL when its kind is none. */
static const char *part_name(const uint8_t *data, size_t size)
{
	struct mp_native_file_header header;

	if (size < sizeof(header))
		return MP_NATIVE_DIR "/" MP_NATIVE_SESSION_FILE; /* cut inside the header */
	memcpy(&header, data, sizeof(header));
	switch (header.kind) {
	case MP_NATIVE_FILE_SESSION:
		return MP_NATIVE_DIR "/" MP_NATIVE_SESSION_FILE;
	case MP_NATIVE_FILE_EVENTS:
		return MP_NATIVE_DIR "/" MP_NATIVE_EVENTS_FILE;
	case MP_NATIVE_FILE_RING:
		return MP_NATIVE_DIR "/" MP_NATIVE_RING_FILE;
	default:
		return NULL;
	}
}

static const uint8_t *next_magic(const uint8_t *from, const uint8_t *end)
{
	const uint8_t *found =
		from < end ? memmem(from, (size_t)(end - from), MP_NATIVE_MAGIC, MAGIC_BYTES) : NULL;

	return found ? found : end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size, *part = data;
	struct fuzz_file files[MAX_FILES];
	size_t n = 0;

	while (part < end && n < MAX_FILES) {
		const uint8_t *next = next_magic(part + 1, end);
		const char *name = part_name(part, (size_t)(next - part));

		if (name)
			files[n++] = (struct fuzz_file){name, part, (size_t)(next - part)};
		part = next;
	}
	fuzz_read(&mp_reader_native, NULL, files, n);
	return 0;
}
