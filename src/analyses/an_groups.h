/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of ranges that belong together: by name and type, by type, by name and class, or by name, type and shapes. */
#ifndef MP_AN_GROUPS_H
#define MP_AN_GROUPS_H

#include "analyses/an_private.h"
#include "base/hash.h"
#include "base/vec.h"

struct mp_group {
	uint32_t name, type, shapes; /* string ids; 0 when not part of the key */
	uint8_t cls;         /* enum mp_class; 0 when not part of the key */
	uint64_t count;
	int64_t total_ns, self_ns, min_ns, max_ns;
	unsigned __int128 flops; /* of the executions where it is known; an integer, so the order of adding is free */
	int64_t flops_ns;        /* their duration */
};

enum mp_group_key {
	MP_GROUP_BY_NAME_AND_TYPE,
	MP_GROUP_BY_TYPE,
	MP_GROUP_BY_NAME_AND_CLASS,
	MP_GROUP_BY_NAME_AND_SHAPES, /* and type */
};

struct mp_group_query {
	uint32_t classes; /* bits 1u << enum mp_class */
	enum mp_group_key key;
};

struct mp_groups {
	MP_VEC(struct mp_group) list;
	struct mp_map64 index; /* key -> position */
	uint64_t total_count;
	int64_t total_ns; /* of all */
};

#define MP_CLASSES_OPERATOR (1u << MP_CLASS_OPERATOR | 1u << MP_CLASS_KERNEL)

/* out is zeroed first; release it in any case. */
mp_status mp_groups_build(struct mp_groups *out, const struct mp_store *store, struct mp_pool *pool,
			  struct mp_group_query query, mp_err *err);
/* The operators and kernels of a recording; when it has none, its annotations (class RANGE). */
mp_status mp_groups_build_operators(struct mp_groups *out, const struct mp_store *store, struct mp_pool *pool,
				    enum mp_group_key key, mp_err *err);
void mp_groups_release(struct mp_groups *groups);

/* Columns count total_ns self_ns avg_ns min_ns max_ns share, in this order from *row on. */
void mp_group_fill_times(const struct mp_groups *groups, const struct mp_group *group, struct mp_value *row);
#define MP_GROUP_TIME_COLUMNS                                                                                        \
	{"count", "Count", MP_TYPE_INT, MP_UNIT_COUNT, "How often it ran."},                                         \
	{"total_ns", "Total", MP_TYPE_INT, MP_UNIT_NS, "Sum of all durations."},                                     \
	{"self_ns", "Self", MP_TYPE_INT, MP_UNIT_NS, "Total without the time of the ranges directly inside."},       \
	{"avg_ns", "Average", MP_TYPE_DOUBLE, MP_UNIT_NS, "Total divided by count."},                                \
	{"min_ns", "Shortest", MP_TYPE_INT, MP_UNIT_NS, "Shortest duration."},                                       \
	{"max_ns", "Longest", MP_TYPE_INT, MP_UNIT_NS, "Longest duration."},                                         \
	{"share", "Share", MP_TYPE_DOUBLE, MP_UNIT_SHARE, "Part of the sum of all totals of this table."}
#define MP_GROUP_TIME_COLUMNS_N 7

/* Columns flops flops_per_s, missing when not known. */
void mp_group_fill_flops(const struct mp_group *group, struct mp_value *row);
#define MP_GROUP_FLOPS_COLUMNS                                                                                       \
	{"flops", "FLOPs", MP_TYPE_DOUBLE, MP_UNIT_FLOPS, "Floating point operations of all executions."},           \
	{"flops_per_s", "FLOP/s", MP_TYPE_DOUBLE, MP_UNIT_FLOPS, "FLOPs per second of the executions that tell them."}

#endif
