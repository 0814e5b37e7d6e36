/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arena: blocks double from 1 KiB to 1 MiB; a request that is large against the next block gets a
 * block of its own behind the current one, so that little is wasted.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"

#include "base/banned.h"

#define ALIGN ((size_t)16)
#define FIRST_BLOCK ((size_t)1024)
#define LARGEST_BLOCK ((size_t)1 << 20)

struct mp_arena_block {
	alignas(16) struct mp_arena_block *older;
};

void mp_arena_init(struct mp_arena *arena, size_t max_bytes)
{
	memset(arena, 0, sizeof(*arena));
	arena->max_bytes = max_bytes;
}

static size_t bytes_left(const struct mp_arena *arena)
{
	size_t max = arena->max_bytes ? arena->max_bytes : SIZE_MAX;

	return arena->total_bytes < max ? max - arena->total_bytes : 0;
}

/* A block of `bytes` in all, counted; not linked yet. */
static struct mp_arena_block *new_block(struct mp_arena *arena, size_t bytes)
{
	struct mp_arena_block *block;

	if (bytes > bytes_left(arena))
		return NULL;
	block = mp_malloc(bytes);
	if (block)
		arena->total_bytes += bytes;
	return block;
}

static MP_COLD void *alloc_slow(struct mp_arena *arena, size_t size)
{
	size_t usual = MP_MIN(MP_MAX(arena->total_bytes, FIRST_BLOCK), LARGEST_BLOCK);
	struct mp_arena_block *block;
	size_t need;

	if (mp_add_overflow(size, sizeof(*block), &need))
		return NULL;
	usual = MP_MIN(usual, bytes_left(arena));
	if (arena->blocks && need > usual / 4) {
		block = new_block(arena, need);
		if (!block)
			return NULL;
		block->older = arena->blocks->older;
		arena->blocks->older = block;
		return block + 1;
	}
	usual = MP_MAX(usual, need);
	block = new_block(arena, usual);
	if (!block)
		return NULL;
	block->older = arena->blocks;
	arena->blocks = block;
	arena->at = (char *)(block + 1) + size;
	arena->end = (char *)block + usual;
	return block + 1;
}

void *mp_arena_alloc(struct mp_arena *arena, size_t size)
{
	size_t gap = (size_t)(-(uintptr_t)arena->at & (ALIGN - 1));
	size_t room = (size_t)(arena->end - arena->at);
	char *at = arena->at;

	if (gap > room || size > room - gap || !at)
		return alloc_slow(arena, size);
	arena->at = at + gap + size;
	return at + gap;
}

void *mp_arena_alloc_bytes(struct mp_arena *arena, size_t size)
{
	char *at = arena->at;

	if (size > (size_t)(arena->end - at) || !at)
		return alloc_slow(arena, size);
	arena->at = at + size;
	return at;
}

char *mp_arena_strndup(struct mp_arena *arena, const char *text, size_t len)
{
	char *copy;

	if (len == SIZE_MAX)
		return NULL;
	copy = mp_arena_alloc_bytes(arena, len + 1);
	if (!copy)
		return NULL;
	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

void mp_arena_release(struct mp_arena *arena)
{
	struct mp_arena_block *block = arena->blocks;

	while (block) {
		struct mp_arena_block *older = block->older;

		mp_free(block);
		block = older;
	}
	mp_arena_init(arena, arena->max_bytes);
}
