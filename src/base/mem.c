/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation over the C library, with a hook that makes one chosen allocation fail. Until a test
 * calls mp_mem_fail_after for the first time, the hook costs one relaxed load per allocation.
 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/compiler.h"

#include "base/banned.h"

#define HUGE_PAGE ((size_t)2 << 20)

static atomic_bool hook_used;
static _Atomic uint64_t tried;
static _Atomic uint64_t successes_left = UINT64_MAX;

static MP_COLD bool hook_fails(void)
{
	uint64_t left = atomic_load(&successes_left);

	atomic_fetch_add(&tried, 1);
	/* 0 wraps to UINT64_MAX, which is "never": the hook fires once. */
	while (left != UINT64_MAX) {
		if (atomic_compare_exchange_weak(&successes_left, &left, left - 1))
			return left == 0;
	}
	return false;
}

static inline bool must_fail(void)
{
	return MP_UNLIKELY(atomic_load_explicit(&hook_used, memory_order_relaxed)) && hook_fails();
}

uint64_t mp_mem_fail_after(uint64_t n)
{
	atomic_store(&successes_left, n);
	atomic_store(&hook_used, true);
	return atomic_exchange(&tried, 0);
}

/* What malloc may be asked for: 0 becomes 1, so that NULL always means failure. */
static inline bool usable_size(size_t count, size_t size, size_t *bytes)
{
	if (mp_mul_overflow(count, size, bytes) || *bytes > PTRDIFF_MAX || must_fail())
		return false;
	*bytes += *bytes == 0;
	return true;
}

void *mp_malloc(size_t size)
{
	size_t bytes;

	return usable_size(size, 1, &bytes) ? malloc(bytes) : NULL;
}

void *mp_malloc_huge(size_t size)
{
	size_t bytes;
	void *block;

	if (!usable_size(size, 1, &bytes))
		return NULL;
	bytes = MP_ALIGN_UP(bytes, HUGE_PAGE);
	block = aligned_alloc(HUGE_PAGE, bytes);
	/* Only a hint: without huge pages the block is as good, only slower to fill. */
	if (block)
		(void)madvise(block, bytes, MADV_HUGEPAGE);
	return block;
}

void *mp_calloc(size_t count, size_t size)
{
	size_t bytes;

	return usable_size(count, size, &bytes) ? calloc(1, bytes) : NULL;
}

void *mp_realloc_array(void *old, size_t count, size_t size)
{
	size_t bytes;

	return usable_size(count, size, &bytes) ? realloc(old, bytes) : NULL;
}

void mp_free(void *block)
{
	free(block);
}

char *mp_strndup(const char *text, size_t len)
{
	char *copy;

	if (len == SIZE_MAX)
		return NULL;
	copy = mp_malloc(len + 1);
	if (!copy)
		return NULL;
	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

char *mp_strdup(const char *text)
{
	return mp_strndup(text, strlen(text));
}

char *mp_asprintf(const char *fmt, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0)
		return NULL;
	text = mp_malloc((size_t)len + 1);
	if (!text)
		return NULL;
	va_start(args, fmt);
	vsnprintf(text, (size_t)len + 1, fmt, args);
	va_end(args);
	return text;
}
