/* SPDX-License-Identifier: Apache-2.0 */
/* Writers: tables and events -> user files. Listed in wr_all.c. */
#ifndef MP_WRITERS_H
#define MP_WRITERS_H

#include <stdbool.h>

#include "base/file.h"
#include "base/json_out.h"
#include "store/st_store.h"
#include "store/st_table.h"

/* ---- tables ---- */

/* CSV: header of column keys, machine numbers, CRLF (wr_csv.c). */
mp_status mp_write_table_csv(const struct mp_table *table, struct mp_out *out, mp_err *err);
/* JSON: {"name","title","columns":[{key,title,type,unit}],"rows":[{key: value}]} (wr_json.c). */
void mp_write_table_json(const struct mp_table *table, struct mp_json_out *json);
/* For people, aligned, units scaled, at most max_rows (0 = all), width columns wide (wr_text.c). */
mp_status mp_write_table_text(const struct mp_table *table, size_t max_rows, unsigned width, struct mp_out *out,
			      mp_err *err);

/* ---- traces ---- */

enum mp_flavour {
	MP_FLAVOUR_PORTABLE,   /* numeric relative times, integer flow ids, no partial overlap in a lane */
	MP_FLAVOUR_COMPATIBLE, /* the original's forms: bare array, string times (analysis-current.md section 7) */
};

/*
 * Chrome JSON, streaming: begin, then blocks in any order, then end. Memory does not grow with the
 * number of ranges. Two passes over the data: the first one (plan) sees the blocks to learn flows.
 */
struct mp_trace_writer; /* opaque */
mp_status mp_trace_writer_new(enum mp_flavour flavour, struct mp_trace_writer **out, mp_err *err);
/* First pass: every block of the store once. */
mp_status mp_trace_writer_plan(struct mp_trace_writer *writer, const struct mp_block *block, mp_err *err);
/* Between the passes: the store knows all tracks and names now; writes the head and the metadata events. */
mp_status mp_trace_writer_begin(struct mp_trace_writer *writer, const struct mp_store *store,
				struct mp_out *out, mp_err *err);
/* Second pass. The store is the one that the blocks' ids belong to (it may be another one than in begin
 * when the source is read twice; ids are looked up in it). */
mp_status mp_trace_writer_block(struct mp_trace_writer *writer, const struct mp_store *store,
				const struct mp_block *block, mp_err *err);
mp_status mp_trace_writer_end(struct mp_trace_writer *writer, mp_err *err);
void mp_trace_writer_free(struct mp_trace_writer *writer);

#endif
