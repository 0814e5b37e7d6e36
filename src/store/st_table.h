/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result tables: typed columns with a unit, filled by analyses, printed by writers, handed out by
 * the public API. A table owns all its values.
 */
#ifndef MP_ST_TABLE_H
#define MP_ST_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum mp_type { MP_TYPE_INT, MP_TYPE_DOUBLE, MP_TYPE_TEXT };
/* What the number means; writers scale by it for people, never for machines. */
enum mp_unit { MP_UNIT_NONE, MP_UNIT_COUNT, MP_UNIT_NS, MP_UNIT_BYTES, MP_UNIT_SHARE /* 0..1 */, MP_UNIT_FLOPS, MP_UNIT_TIME_NS /* point on the time axis */ };

struct mp_column {
	const char *key;   /* stable machine name, unit at the end: "self_ns", "share" */
	const char *title; /* for people: "Self" */
	uint8_t type;      /* enum mp_type */
	uint8_t unit;      /* enum mp_unit */
	const char *text;  /* one sentence: what the column means */
};

/* The shape of a table: constant, one per analysis. */
struct mp_table_shape {
	const char *name;  /* "operators"; also the base name of its CSV */
	const char *title; /* "Operators by total time" */
	const char *text;  /* one or two sentences for documentation and --help */
	const struct mp_column *columns;
	size_t n_columns;
};

struct mp_value {
	uint8_t missing;
	union {
		int64_t i;
		double d;
		struct { const char *text; size_t len; } s; /* owned by the table */
	};
};

struct mp_table {
	const struct mp_table_shape *shape; /* constant */
	struct mp_value *values;            /* n_rows * n_columns, row by row; owned */
	size_t n_rows, cap_rows;
	struct mp_arena texts;              /* owned */
	const char *empty_reason;           /* why there are no rows, for people; constant or in texts; NULL = not said */
};

void mp_table_init(struct mp_table *table, const struct mp_table_shape *shape);
void mp_table_release(struct mp_table *table);
/* A new row with all values missing; NULL when memory is out. Valid until the next row. */
struct mp_value *mp_table_add_row(struct mp_table *table);
static inline void mp_value_int(struct mp_value *v, int64_t i) { v->missing = 0; v->i = i; }
static inline void mp_value_double(struct mp_value *v, double d) { v->missing = 0; v->d = d; }
/* Copies the text; false when memory is out. */
bool mp_value_text(struct mp_table *table, struct mp_value *v, const char *text, size_t len);
const struct mp_value *mp_table_row(const struct mp_table *table, size_t row);
/* Index of a column by key, -1 if absent. */
int mp_table_find_column(const struct mp_table_shape *shape, const char *key);
/* Stable sort of rows by one column; missing values last. */
mp_status mp_table_sort(struct mp_table *table, size_t column, bool descending, mp_err *err);

#endif
