/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation torture: runs an operation with its n-th allocation failing, for n = 0, 1, 2, ...
 * until it needs no further one. Include after cmocka.h; leaks are the leak checker's business.
 */
#ifndef MP_TEST_TORTURE_H
#define MP_TEST_TORTURE_H

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

/* Does the whole operation and releases everything, whatever happens. */
typedef mp_status (*torture_fn)(void *user);

/*
 * Whenever an allocation failed the operation must say E_NOMEM, and it must succeed when none
 * did. Returns the number of allocations of the undisturbed run.
 */
static inline uint64_t torture(torture_fn fn, void *user)
{
	for (uint64_t n = 0;; n++) {
		mp_status status;
		uint64_t tried;

		mp_mem_fail_after(n);
		status = fn(user);
		tried = mp_mem_fail_after(UINT64_MAX);
		if (tried <= n) {
			if (status != MINDPROF_OK)
				fail_msg("status %d although no allocation failed", status);
			return tried;
		}
		if (status != MINDPROF_E_NOMEM)
			fail_msg("status %d when allocation %llu fails", status, (unsigned long long)n);
	}
}

#endif
