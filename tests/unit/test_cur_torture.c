/* SPDX-License-Identifier: Apache-2.0 */
/* Every output of small real rank directories while each allocation fails once: none is taken for a missing
 * file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>

#include "cur_rank.h"

#define DATA MP_SOURCE_DIR "/../shared/data/golden-current/"

static void torture_outputs(const char *pattern)
{
	struct rank there = {.ctx = {.max_unpacked = 1 << 30}};
	glob_t found;
	size_t i;

	if (glob(pattern, 0, NULL, &found)) {
		print_message("%s is absent: nothing is tested\n", pattern);
		skip();
	}
	snprintf(there.path, sizeof(there.path), "%s", found.gl_pathv[0]);
	globfree(&found);
	for (i = 0; cur_outputs[i]; i++) {
		print_message("%s: %llu allocations\n", cur_outputs[i]->name,
			      (unsigned long long)rank_torture(&there, cur_outputs[i]));
	}
}

static void test_cpu_run(void **state)
{
	(void)state;
	torture_outputs(MP_SOURCE_DIR "/tests/data/cpu/cpu-pynative-schedule/raw/*_ascend_ms");
}

static void test_device_run(void **state)
{
	(void)state;
	torture_outputs(DATA "real-cann-training/raw/*_ascend_ms");
}

static void test_pipeline_run(void **state)
{
	(void)state;
	torture_outputs(DATA "native-minddata/raw/*_ascend_ms");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu_run),
		cmocka_unit_test(test_device_run),
		cmocka_unit_test(test_pipeline_run),
	};

	(void)make, (void)drop;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
