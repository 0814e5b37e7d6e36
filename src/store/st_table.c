/* SPDX-License-Identifier: Apache-2.0 */
/* Result tables (contract: st_table.h): rows of typed values, texts in an arena, stable sort. */
#include "store/st_table.h"

#include <assert.h>

#include "base/compiler.h"
#include "base/mem.h"

#include "base/banned.h"

void mp_table_init(struct mp_table *table, const struct mp_table_shape *shape)
{
	*table = (struct mp_table){.shape = shape};
	mp_arena_init(&table->texts, 0);
}

void mp_table_release(struct mp_table *table)
{
	mp_free(table->values);
	mp_arena_release(&table->texts);
	*table = (struct mp_table){0};
}

struct mp_value *mp_table_add_row(struct mp_table *table)
{
	size_t n_columns = table->shape->n_columns;
	struct mp_value *row;

	assert(n_columns > 0);
	if (table->n_rows == table->cap_rows) {
		size_t cap = table->cap_rows ? table->cap_rows * 2 : 16;
		struct mp_value *values = mp_realloc_array(table->values, cap, n_columns * sizeof(*values));

		if (values == NULL)
			return NULL;
		table->values = values;
		table->cap_rows = cap;
	}
	row = table->values + table->n_rows++ * n_columns;
	memset(row, 0, n_columns * sizeof(*row));
	for (size_t i = 0; i < n_columns; i++)
		row[i].missing = 1;
	return row;
}

bool mp_value_text(struct mp_table *table, struct mp_value *v, const char *text, size_t len)
{
	const char *copy = mp_arena_strndup(&table->texts, text, len);

	if (copy == NULL)
		return false;
	v->missing = 0;
	v->s.text = copy;
	v->s.len = len;
	return true;
}

const struct mp_value *mp_table_row(const struct mp_table *table, size_t row)
{
	assert(row < table->n_rows);
	return table->values + row * table->shape->n_columns;
}

int mp_table_find_column(const struct mp_table_shape *shape, const char *key)
{
	for (size_t i = 0; i < shape->n_columns; i++) {
		if (strcmp(shape->columns[i].key, key) == 0)
			return (int)i;
	}
	return -1;
}

struct order_by {
	const struct mp_table *table;
	size_t column;
	bool descending;
};

/* NaN counts as missing: it has no place in an order. */
static bool is_missing(const struct mp_value *v, uint8_t type)
{
	return v->missing || (type == MP_TYPE_DOUBLE && v->d != v->d);
}

static int compare_texts(const struct mp_value *a, const struct mp_value *b)
{
	int order = memcmp(a->s.text, b->s.text, MP_MIN(a->s.len, b->s.len));

	return order ? order : (a->s.len > b->s.len) - (a->s.len < b->s.len);
}

/* > 0 when row a must stand after row b. */
static int compare_rows(const struct order_by *by, size_t a, size_t b)
{
	const struct mp_value *x = mp_table_row(by->table, a) + by->column;
	const struct mp_value *y = mp_table_row(by->table, b) + by->column;
	uint8_t type = by->table->shape->columns[by->column].type;
	int order;

	if (is_missing(x, type) || is_missing(y, type))
		return is_missing(x, type) - is_missing(y, type);
	if (type == MP_TYPE_INT)
		order = (x->i > y->i) - (x->i < y->i);
	else if (type == MP_TYPE_DOUBLE)
		order = (x->d > y->d) - (x->d < y->d);
	else
		order = compare_texts(x, y);
	return by->descending ? -order : order;
}

/* Bottom-up merge sort of row numbers; returns the array that holds the result. */
static size_t *sort_rows(const struct order_by *by, size_t *from, size_t *to)
{
	size_t n = by->table->n_rows;

	for (size_t width = 1; width < n; width *= 2) {
		size_t *sorted = to;

		for (size_t begin = 0; begin < n; begin += 2 * width) {
			size_t middle = MP_MIN(begin + width, n), end = MP_MIN(begin + 2 * width, n);
			size_t i = begin, j = middle;

			for (size_t k = begin; k < end; k++) {
				bool right =
					i == middle || (j < end && compare_rows(by, from[i], from[j]) > 0);

				sorted[k] = right ? from[j++] : from[i++];
			}
		}
		to = from;
		from = sorted;
	}
	return from;
}

mp_status mp_table_sort(struct mp_table *table, size_t column, bool descending, mp_err *err)
{
	struct order_by by = {table, column, descending};
	size_t n_columns = table->shape->n_columns;
	struct mp_value *values;
	size_t *rows, *sorted;

	assert(column < n_columns);
	if (table->n_rows < 2)
		return MINDPROF_OK;
	rows = mp_realloc_array(NULL, table->n_rows, 2 * sizeof(*rows));
	values = mp_realloc_array(NULL, table->n_rows, n_columns * sizeof(*values));
	if (rows == NULL || values == NULL) {
		mp_free(rows);
		mp_free(values);
		return mp_err_nomem(err, table->n_rows * n_columns * sizeof(*values));
	}
	for (size_t i = 0; i < table->n_rows; i++)
		rows[i] = i;
	sorted = sort_rows(&by, rows, rows + table->n_rows);
	for (size_t i = 0; i < table->n_rows; i++)
		memcpy(values + i * n_columns, mp_table_row(table, sorted[i]), n_columns * sizeof(*values));
	mp_free(rows);
	mp_free(table->values);
	table->values = values;
	table->cap_rows = table->n_rows;
	return MINDPROF_OK;
}
