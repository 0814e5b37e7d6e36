/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Table -> one JSON object for machines: name, title, columns, rows, and why there are no rows if
 * there are none. Doubles are shortest and exact; missing values, NaN and infinities are null.
 */
#include "writers/writers.h"

#include "base/banned.h"

static const char *const type_names[] = {
	[MP_TYPE_INT] = "int",
	[MP_TYPE_DOUBLE] = "double",
	[MP_TYPE_TEXT] = "text",
};

static const char *const unit_names[] = {
	[MP_UNIT_NONE] = "none",       [MP_UNIT_COUNT] = "count", [MP_UNIT_NS] = "ns",
	[MP_UNIT_BYTES] = "bytes",     [MP_UNIT_SHARE] = "share", [MP_UNIT_FLOPS] = "flops",
	[MP_UNIT_TIME_NS] = "time_ns",
};

static void put_columns(const struct mp_table_shape *shape, struct mp_json_out *json)
{
	size_t k;

	mp_json_out_key(json, "columns");
	mp_json_out_array(json);
	for (k = 0; k < shape->n_columns; k++) {
		const struct mp_column *column = &shape->columns[k];

		mp_json_out_object(json);
		mp_json_out_key(json, "key");
		mp_json_out_cstr(json, column->key);
		mp_json_out_key(json, "title");
		mp_json_out_cstr(json, column->title);
		mp_json_out_key(json, "type");
		mp_json_out_cstr(json, type_names[column->type]);
		mp_json_out_key(json, "unit");
		mp_json_out_cstr(json, unit_names[column->unit]);
		mp_json_out_object_end(json);
	}
	mp_json_out_array_end(json);
}

static void put_value(struct mp_json_out *json, const struct mp_value *value, enum mp_type type)
{
	if (value->missing)
		mp_json_out_null(json);
	else if (type == MP_TYPE_TEXT)
		mp_json_out_str(json, value->s.text, value->s.len);
	else if (type == MP_TYPE_DOUBLE)
		mp_json_out_double(json, value->d);
	else
		mp_json_out_i64(json, value->i);
}

void mp_write_table_json(const struct mp_table *table, struct mp_json_out *json)
{
	const struct mp_table_shape *shape = table->shape;
	size_t i, k;

	mp_json_out_object(json);
	mp_json_out_key(json, "name");
	mp_json_out_cstr(json, shape->name);
	mp_json_out_key(json, "title");
	mp_json_out_cstr(json, shape->title);
	put_columns(shape, json);
	mp_json_out_key(json, "rows");
	mp_json_out_array(json);
	for (i = 0; i < table->n_rows; i++) {
		const struct mp_value *values = mp_table_row(table, i);

		mp_json_out_object(json);
		for (k = 0; k < shape->n_columns; k++) {
			mp_json_out_key(json, shape->columns[k].key);
			put_value(json, &values[k], (enum mp_type)shape->columns[k].type);
		}
		mp_json_out_object_end(json);
	}
	mp_json_out_array_end(json);
	if (table->n_rows == 0 && table->empty_reason) {
		mp_json_out_key(json, "empty_reason");
		mp_json_out_cstr(json, table->empty_reason);
	}
	mp_json_out_object_end(json);
}
