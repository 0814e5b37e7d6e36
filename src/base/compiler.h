/* SPDX-License-Identifier: Apache-2.0 */
/* Compiler attributes and small macros that every room uses. */
#ifndef MP_COMPILER_H
#define MP_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#define MP_PRINTF(fmt_at, args_at) __attribute__((format(printf, fmt_at, args_at)))
#define MP_NORETURN __attribute__((noreturn))
#define MP_COLD __attribute__((cold, noinline))
#define MP_UNUSED __attribute__((unused))
#define MP_LIKELY(x) __builtin_expect(!!(x), 1)
#define MP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define MP_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MP_ALIGN_UP(value, align) (((value) + ((align) - 1)) & ~((align) - 1))
#define MP_MIN(a, b) ((a) < (b) ? (a) : (b))
#define MP_MAX(a, b) ((a) > (b) ? (a) : (b))

/* True when a + b or a * b does not fit; *out is written only when it fits. */
static inline int mp_add_overflow(size_t a, size_t b, size_t *out)
{
	size_t r;

	if (__builtin_add_overflow(a, b, &r))
		return 1;
	*out = r;
	return 0;
}

static inline int mp_mul_overflow(size_t a, size_t b, size_t *out)
{
	size_t r;

	if (__builtin_mul_overflow(a, b, &r))
		return 1;
	*out = r;
	return 0;
}

#endif
