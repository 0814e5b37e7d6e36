/* SPDX-License-Identifier: Apache-2.0 */
/* What the analyses share: sums that cannot overflow, texts of rows. */
#ifndef MP_AN_PRIVATE_H
#define MP_AN_PRIVATE_H

#include "analyses/analyses.h"
#include "base/hash.h"

#define MP_NEEDS(kind) (1u << MP_KIND_##kind)

/* Saturating: times and sizes of a hostile file may be anything. */
static inline int64_t mp_add_sat(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static inline int64_t mp_sub_sat(int64_t a, int64_t b)
{
	int64_t difference;

	return __builtin_sub_overflow(a, b, &difference) ? (b < 0 ? INT64_MAX : INT64_MIN) : difference;
}

static inline double mp_share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* A map's key that no file can be made for: the address of the map's owner differs from run to run. */
static inline uint64_t mp_seeded(const void *owner, uint64_t key)
{
	return key ^ mp_hash_u64((uint64_t)(uintptr_t)owner);
}

/* Process of each track: an array of mp_store_n_tracks entries that the caller frees; NULL when memory is out. */
uint32_t *mp_track_processes(const struct mp_store *store);

/* Fill a value; all are false when memory is out. */
bool mp_row_string(struct mp_table *table, struct mp_value *v, const struct mp_store *store, uint32_t string_id);
bool mp_row_text(struct mp_table *table, struct mp_value *v, const char *text);
bool mp_row_printf(struct mp_table *table, struct mp_value *v, const char *fmt, ...) MP_PRINTF(3, 4);
/* Name of the process, else "pid <pid>". */
bool mp_row_process(struct mp_table *table, struct mp_value *v, const struct mp_store *store, uint32_t process);
/* Name of the track, else "thread <tid>" or "stream <stream>". */
bool mp_row_track(struct mp_table *table, struct mp_value *v, const struct mp_store *store, uint32_t track);

#endif
