/* SPDX-License-Identifier: Apache-2.0 */
/* Thread pool: run the same function over 0..n-1, work taken in small portions. */
#ifndef MP_POOL_H
#define MP_POOL_H

#include "base/err.h"

struct mp_pool; /* opaque */

/* threads 0 = number of usable cores. The calling thread works too, so threads = 1 starts none. */
mp_status mp_pool_new(unsigned threads, struct mp_pool **out, mp_err *err);
void mp_pool_free(struct mp_pool *pool);
unsigned mp_pool_threads(const struct mp_pool *pool);

/* worker is 0 .. threads-1 and names per-thread state; a negative return stops the loop early. */
typedef mp_status (*mp_pool_fn)(void *user, size_t index, unsigned worker, mp_err *err);

/* Runs fn for every index; returns the first failure (lowest index that failed). pool NULL = inline. */
mp_status mp_pool_for(struct mp_pool *pool, size_t n, mp_pool_fn fn, void *user, mp_err *err);

#endif
