/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the tests of analyses: builds a store from a few lines, runs one analysis, compares rows as
 * text. Times are given relative to TIMELINE_BEGIN.
 */
#ifndef MP_TEST_AN_TIMELINE_H
#define MP_TEST_AN_TIMELINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyses/analyses.h"
#include "base/mem.h"

#define TIMELINE_BEGIN 1720000000000000000ll

struct timeline {
	struct mp_store *store;
	struct mp_appender *appender;
	struct mp_table table;
	bool ran;
};

static inline struct timeline timeline_new(void)
{
	struct timeline t = {0};

	assert_int_equal(mp_store_new(NULL, &t.store, NULL), MINDPROF_OK);
	assert_int_equal(mp_appender_new(t.store, &t.appender, NULL), MINDPROF_OK);
	return t;
}

static inline void timeline_free(struct timeline *t)
{
	if (t->ran)
		mp_table_release(&t->table);
	mp_appender_finish(t->appender, NULL);
	mp_store_free(t->store);
}

/* A named thread; the process gets the name "p<pid>". */
static inline uint32_t timeline_thread(struct timeline *t, int64_t pid, int64_t tid, const char *name)
{
	char process_name[32];
	uint32_t process;

	snprintf(process_name, sizeof(process_name), "p%d", (int)pid);
	process = mp_store_process(
		t->store, &(struct mp_process){
				  .rank = -1, .pid = pid, .name = mp_store_string(t->store, process_name)});
	return mp_store_track(t->store, &(struct mp_track){.process = process,
							   .tid = tid,
							   .stream = -1,
							   .name = name ? mp_store_string(t->store, name) : 0});
}

static inline void timeline_add(struct timeline *t, enum mp_kind kind, struct mp_event event, const char *name)
{
	event.name = mp_store_string(t->store, name);
	event.ts_ns += TIMELINE_BEGIN;
	assert_true(mp_append(t->appender, kind, &event));
}

static inline void timeline_range(struct timeline *t, uint32_t track, enum mp_class cls, const char *name,
				  int64_t begin, int64_t end)
{
	timeline_add(t, MP_KIND_RANGE, (struct mp_event){.ts_ns = begin, .a = end - begin, .track = track, .cls = cls},
		     name);
}

/* An operator; type "" and flops 0 = not known. */
static inline void timeline_operator(struct timeline *t, uint32_t track, const char *name, const char *type,
				     double flops, int64_t begin, int64_t end)
{
	struct mp_detail detail = {.type = mp_store_string(t->store, type), .stream = -1, .flops = flops};

	timeline_add(t, MP_KIND_RANGE,
		     (struct mp_event){.ts_ns = begin,
				       .a = end - begin,
				       .track = track,
				       .detail = mp_store_detail(t->store, &detail),
				       .cls = MP_CLASS_OPERATOR},
		     name);
}

static inline void timeline_step(struct timeline *t, uint32_t track, int64_t number, int64_t begin)
{
	timeline_add(t, MP_KIND_STEP, (struct mp_event){.ts_ns = begin, .a = number, .track = track}, "step");
}

static inline void timeline_queue(struct timeline *t, uint32_t track, enum mp_queue_op op, int64_t begin, int64_t end,
				  uint32_t depth, uint32_t capacity)
{
	timeline_add(t, MP_KIND_QUEUE,
		     (struct mp_event){.ts_ns = begin,
				       .a = end - begin,
				       .b = (int64_t)((uint64_t)depth << 32 | capacity),
				       .track = track,
				       .cls = op},
		     "batches");
}

static inline void timeline_memory(struct timeline *t, uint32_t track, const char *owner, int64_t at, uint64_t address,
				   int64_t bytes)
{
	timeline_add(t, MP_KIND_MEMORY,
		     (struct mp_event){.ts_ns = at, .a = bytes, .b = (int64_t)address, .track = track}, owner);
}

static inline const struct mp_analysis *timeline_analysis(const char *name)
{
	for (size_t i = 0; mp_analyses[i]; i++) {
		if (strcmp(mp_analyses[i]->shape->name, name) == 0)
			return mp_analyses[i];
	}
	fail_msg("no analysis '%s'", name);
	return NULL;
}

/* Runs one analysis; its table is valid until the next run. */
static inline const struct mp_table *timeline_run(struct timeline *t, const char *name)
{
	const struct mp_analysis *analysis = timeline_analysis(name);

	assert_int_equal(mp_appender_finish(t->appender, NULL), MINDPROF_OK);
	t->appender = NULL;
	if (t->ran)
		mp_table_release(&t->table);
	mp_table_init(&t->table, analysis->shape);
	t->ran = true;
	assert_int_equal(mp_store_sort(t->store, NULL, NULL), MINDPROF_OK);
	assert_int_equal(analysis->run(t->store, NULL, &t->table, NULL), MINDPROF_OK);
	return &t->table;
}

static inline void timeline_cell(const struct mp_table *table, size_t row, size_t column, char *to, size_t size)
{
	const struct mp_value *v = &mp_table_row(table, row)[column];

	if (v->missing)
		snprintf(to, size, "-");
	else if (table->shape->columns[column].type == MP_TYPE_INT)
		snprintf(to, size, "%lld", (long long)v->i);
	else if (table->shape->columns[column].type == MP_TYPE_DOUBLE)
		snprintf(to, size, "%.4g", v->d);
	else
		snprintf(to, size, "%s", v->s.text);
}

/* The whole row: cells joined by '|', doubles with 4 digits, '-' for missing. */
static inline void assert_row(const struct mp_table *table, size_t row, const char *expected)
{
	char text[1024] = "", cell[256];

	assert_true(row < table->n_rows);
	for (size_t i = 0; i < table->shape->n_columns; i++) {
		timeline_cell(table, row, i, cell, sizeof(cell));
		if (i)
			strncat(text, "|", sizeof(text) - strlen(text) - 1);
		strncat(text, cell, sizeof(text) - strlen(text) - 1);
	}
	assert_string_equal(text, expected);
}

static inline int64_t int_of(const struct mp_table *table, size_t row, const char *key)
{
	int column = mp_table_find_column(table->shape, key);

	assert_true(column >= 0);
	return mp_table_row(table, row)[column].i;
}

#endif
