/* SPDX-License-Identifier: Apache-2.0 */
/*
 * String table: every distinct byte string once, addressed by a dense 32-bit id. Id 0 is always
 * the empty string. Texts may hold any bytes including NUL; they are also NUL-terminated.
 *
 * Adding is thread-safe (sharded locks); lookups by id need no lock. For hot loops each thread
 * puts a struct mp_strcache in front, which answers repeated texts without a lock.
 */
#ifndef MP_STRTAB_H
#define MP_STRTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

struct mp_strtab; /* opaque */

#define MP_STR_EMPTY 0u
#define MP_STR_NONE UINT32_MAX /* "no string"; also returned when memory or the limit is exhausted */

struct mp_str { /* borrowed from the table, valid for the table's life */
	const char *text;
	size_t len;
};

static inline bool mp_str_equal(struct mp_str a, struct mp_str b)
{
	return a.len == b.len && (!a.len || !memcmp(a.text, b.text, a.len));
}

/* Whether the text is, or holds, or begins with a C string. */
static inline bool mp_str_is(struct mp_str text, const char *word)
{
	return mp_str_equal(text, (struct mp_str){word, strlen(word)});
}

static inline bool mp_str_holds(struct mp_str text, const char *word)
{
	return text.len && memmem(text.text, text.len, word, strlen(word)) != NULL;
}

static inline bool mp_str_begins(struct mp_str text, const char *word)
{
	size_t len = strlen(word);

	return text.len >= len && !memcmp(text.text, word, len);
}

/* max_bytes bounds all texts together (0 = no bound). */
mp_status mp_strtab_new(size_t max_bytes, struct mp_strtab **out, mp_err *err);
void mp_strtab_free(struct mp_strtab *table);
/* The id of the text, adding it when new; MP_STR_NONE on failure. Thread-safe. */
uint32_t mp_strtab_add(struct mp_strtab *table, const char *text, size_t len);
/* The id if present, else MP_STR_NONE. Thread-safe. */
uint32_t mp_strtab_lookup(struct mp_strtab *table, const char *text, size_t len);
/* Text of an id that this table returned; the empty string for MP_STR_NONE. Thread-safe, no lock. */
struct mp_str mp_strtab_get(const struct mp_strtab *table, uint32_t id);
/* Ids are 0 .. count-1. */
uint32_t mp_strtab_count(const struct mp_strtab *table);

/* Direct-mapped cache of one thread; zero-initialise, then bind. */
struct mp_strcache {
	struct mp_strtab *table; /* borrowed */
	struct {
		uint64_t hash;
		uint32_t id;
	} slots[4096];
};
void mp_strcache_init(struct mp_strcache *cache, struct mp_strtab *table);
uint32_t mp_strcache_add(struct mp_strcache *cache, const char *text, size_t len);

#endif
