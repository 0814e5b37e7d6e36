/* SPDX-License-Identifier: Apache-2.0 */
/* Things that live and die together: allocation is a pointer bump, freeing is one call. */
#ifndef MP_ARENA_H
#define MP_ARENA_H

#include <stddef.h>

struct mp_arena_block;

/* Zero-initialised is a valid empty arena. Not thread-safe. max_bytes 0 = no limit. */
struct mp_arena {
	struct mp_arena_block *blocks; /* newest first; owned */
	char *at, *end;                /* free part of the newest block */
	size_t total_bytes;            /* reserved from the system */
	size_t max_bytes;
};

void mp_arena_init(struct mp_arena *arena, size_t max_bytes);
/* Aligned to 16 bytes, not zeroed; NULL when memory or the limit is exhausted. */
void *mp_arena_alloc(struct mp_arena *arena, size_t size);
/* Byte-aligned, for text. */
void *mp_arena_alloc_bytes(struct mp_arena *arena, size_t size);
/* Copies len bytes and adds a NUL. */
char *mp_arena_strndup(struct mp_arena *arena, const char *text, size_t len);
void mp_arena_release(struct mp_arena *arena);

#endif
