/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation. Everything in the project allocates through these, so that tests can make the n-th
 * allocation fail. They return NULL on failure and never end the process.
 */
#ifndef MP_MEM_H
#define MP_MEM_H

#include <stddef.h>
#include <stdint.h>

void *mp_malloc(size_t size);
void *mp_calloc(size_t count, size_t size);
/*
 * For blocks of megabytes that are filled at once: asks the system for huge pages, so that filling them does not
 * take a page fault for each 4 KiB. Freed by mp_free, not to be reallocated.
 */
void *mp_malloc_huge(size_t size);
/* Size checked product; on failure the old block is untouched. */
void *mp_realloc_array(void *old, size_t count, size_t size);
void mp_free(void *block);
char *mp_strdup(const char *text);
char *mp_strndup(const char *text, size_t len);
/* printf into a new string; NULL on failure. */
char *mp_asprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Test hook: after `n` more successful allocations the next one fails (once); UINT64_MAX = never
 * (the default). Returns the number of allocations tried since the last call, the failed one
 * included. Process-wide atomic.
 */
uint64_t mp_mem_fail_after(uint64_t n);

#endif
