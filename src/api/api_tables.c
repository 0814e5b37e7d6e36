/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a trace: their list, computing them once, and reading their values. */
#include "api/api_trace.h"
#include "base/buf.h"
#include "base/mem.h"

#include "base/banned.h"

_Static_assert((int)MINDPROF_TYPE_TEXT == (int)MP_TYPE_TEXT, "types are numbered alike");
_Static_assert((int)MINDPROF_UNIT_TIME_NS == (int)MP_UNIT_TIME_NS, "units are numbered alike");
_Static_assert((int)MINDPROF_PROBLEM == (int)MP_PROBLEM, "severities are numbered alike");

/* Before and after the analyses, in the order of a report. */
enum { TABLE_SOURCES, TABLE_FACTS, TABLES_BEFORE };
#define TABLES_AFTER 1 /* notes */

static size_t n_analyses(void)
{
	size_t n = 0;

	while (mp_analyses[n])
		n++;
	return n;
}

static size_t n_current(void)
{
	size_t n = 0;

	while (cur_tables[n])
		n++;
	return n;
}

size_t api_n_tables(void)
{
	return TABLES_BEFORE + n_current() + n_analyses() + TABLES_AFTER;
}

const struct mp_table_shape *api_table_shape(size_t index)
{
	if (index == TABLE_SOURCES)
		return &api_sources_shape;
	if (index == TABLE_FACTS)
		return &api_facts_shape;
	if (index + TABLES_AFTER == api_n_tables())
		return &api_notes_shape;
	if (index < TABLES_BEFORE + n_current())
		return cur_tables[index - TABLES_BEFORE]->shape;
	return mp_analyses[index - TABLES_BEFORE - n_current()]->shape;
}

size_t api_find_table(const char *name)
{
	size_t i;

	for (i = 0; i < api_n_tables(); i++)
		if (!strcmp(api_table_shape(i)->name, name))
			return i;
	return SIZE_MAX;
}

const char *mindprof_table_name(size_t index)
{
	return index < api_n_tables() ? api_table_shape(index)->name : NULL;
}

const char *mindprof_table_about(const char *name)
{
	size_t index = api_find_table(name);

	return index == SIZE_MAX ? NULL : api_table_shape(index)->text;
}

static bool is_own_table(size_t index)
{
	return index < TABLES_BEFORE || index + TABLES_AFTER == api_n_tables();
}

static mp_status compute_current(struct mindprof_trace *trace, const struct cur_table *table,
				 struct mp_table *out, mp_err *err)
{
	struct api_current *current;

	if (!api_is_current(trace)) {
		out->empty_reason = "the recording is not of a device";
		return MINDPROF_OK;
	}
	MP_TRY(api_current_shared(trace, &current, err));
	MP_TRY(table->fill(&current->run, out, err));
	return trace->described ? api_add_notes(trace, current->store, err) : MINDPROF_OK;
}

static mp_status compute_analysis(struct mindprof_trace *trace, const struct mp_analysis *analysis,
				  struct mp_table *out, mp_err *err)
{
	MP_TRY(api_load(trace, err));
	return analysis->run(trace->store, trace->pool, out, err);
}

static mp_status compute(struct mindprof_trace *trace, size_t index, mp_err *err)
{
	struct mindprof_table *table = &trace->tables[index];
	size_t at = index - TABLES_BEFORE;
	mp_status status;

	if (is_own_table(index))
		return api_describe(trace, err);
	if (at < n_current())
		status = compute_current(trace, cur_tables[at], &table->table, err);
	else
		status = compute_analysis(trace, mp_analyses[at - n_current()], &table->table, err);
	if (status) {
		mp_table_release(&table->table);
		mp_table_init(&table->table, api_table_shape(index));
		return mp_err_wrap(err, status, NULL, "cannot make table '%s'", api_table_shape(index)->name);
	}
	table->ready = true;
	return MINDPROF_OK;
}

enum mindprof_status mindprof_trace_table(struct mindprof_trace *trace, const char *name,
					  const struct mindprof_table **out, struct mindprof_error *error)
{
	size_t index = api_find_table(name);

	if (index == SIZE_MAX)
		return mp_err_set(error, MINDPROF_E_NOT_FOUND, NULL, -1, "no table is called '%s'", name);
	if (!trace->tables[index].ready)
		MP_TRY(compute(trace, index, error));
	*out = &trace->tables[index];
	return MINDPROF_OK;
}

/* ------------------------------------------------------------------ values */

const char *mindprof_table_title(const struct mindprof_table *table)
{
	return table->table.shape->title;
}

const char *mindprof_table_empty_reason(const struct mindprof_table *table)
{
	if (table->table.n_rows)
		return NULL;
	return table->table.empty_reason ? table->table.empty_reason : "the recording holds nothing for it";
}

size_t mindprof_table_rows(const struct mindprof_table *table)
{
	return table->table.n_rows;
}

size_t mindprof_table_columns(const struct mindprof_table *table)
{
	return table->table.shape->n_columns;
}

int mindprof_table_column(const struct mindprof_table *table, size_t column, struct mindprof_column *out)
{
	const struct mp_column *at;

	if (column >= table->table.shape->n_columns)
		return 0;
	at = &table->table.shape->columns[column];
	*out = (struct mindprof_column){
		.key = at->key,
		.title = at->title,
		.text = at->text,
		.type = (enum mindprof_type)at->type,
		.unit = (enum mindprof_unit)at->unit,
	};
	return 1;
}

int mindprof_table_find_column(const struct mindprof_table *table, const char *key)
{
	return mp_table_find_column(table->table.shape, key);
}

/* The value if it is there and of that type. */
static const struct mp_value *lookup(const struct mindprof_table *table, size_t row, size_t column,
				     enum mp_type type)
{
	const struct mp_value *value;

	if (row >= table->table.n_rows || column >= table->table.shape->n_columns ||
	    table->table.shape->columns[column].type != type)
		return NULL;
	value = mp_table_row(&table->table, row) + column;
	return value->missing ? NULL : value;
}

int mindprof_table_int(const struct mindprof_table *table, size_t row, size_t column, int64_t *out)
{
	const struct mp_value *value = lookup(table, row, column, MP_TYPE_INT);

	if (value)
		*out = value->i;
	return value != NULL;
}

int mindprof_table_double(const struct mindprof_table *table, size_t row, size_t column, double *out)
{
	const struct mp_value *value = lookup(table, row, column, MP_TYPE_DOUBLE);
	int64_t whole;

	if (value)
		*out = value->d;
	else if (mindprof_table_int(table, row, column, &whole))
		*out = (double)whole;
	else
		return 0;
	return 1;
}

int mindprof_table_text(const struct mindprof_table *table, size_t row, size_t column, const char **text,
			size_t *len)
{
	const struct mp_value *value = lookup(table, row, column, MP_TYPE_TEXT);

	if (value) {
		*text = value->s.text;
		*len = value->s.len;
	}
	return value != NULL;
}
