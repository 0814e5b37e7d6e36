/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text files that MindSpore's CPU profiler leaves (docs/formats/cpu.md). The input is several files as
 * `head -n 1000 FILE...` prints them: a line "==> NAME <==" before each.
 */
#include "harness.h"

#include <string.h>

#include "formats/fmt_cpu.h"
#include "formats/fmt_framework.h"

#define FOLDER MP_FWK_DIR "/"

static const char *const names[] = {
	FOLDER MP_CPU_TIMESTAMP_PREFIX "0" MP_CPU_TEXT_SUFFIX,
	FOLDER MP_CPU_DETAIL_PREFIX "0" MP_CPU_CSV_SUFFIX,
	FOLDER MP_CPU_TYPE_PREFIX "0" MP_CPU_CSV_SUFFIX,
	FOLDER MP_CPU_FRAMEWORK_PREFIX "0" MP_CPU_TEXT_SUFFIX,
	FOLDER MP_CPU_MEMORY_PREFIX "0" MP_CPU_TEXT_SUFFIX,
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))

static const uint8_t *find(const uint8_t *from, const uint8_t *end, const char *text)
{
	const uint8_t *found = memmem(from, (size_t)(end - from), text, strlen(text));

	return found ? found : end;
}

/* The file that a heading names, NULL when none. */
static const char *heading_name(const uint8_t *heading, const uint8_t *heading_end)
{
	for (size_t i = 0; i < N_NAMES; i++) {
		const char *base = names[i] + strlen(FOLDER);

		if (find(heading, heading_end, base) != heading_end)
			return names[i];
	}
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size, *at = find(data, end, "==> ");
	struct fuzz_file files[N_NAMES];
	size_t n = 0;

	while (at < end && n < N_NAMES) {
		const uint8_t *line_end = find(at, end, "\n");
		const uint8_t *body = line_end < end ? line_end + 1 : end;
		const uint8_t *next = find(body, end, "==> ");
		const char *name = heading_name(at, line_end);

		if (name)
			files[n++] = (struct fuzz_file){name, body, (size_t)(next - body)};
		at = next;
	}
	fuzz_read(&mp_reader_cpu_ops, NULL, files, n);
	return 0;
}
