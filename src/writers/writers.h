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
 * Chrome JSON, streaming: plan over all blocks -> plan_again? -> begin -> all blocks -> end.
 *
 *	do {
 *		for each block: mp_trace_writer_plan(writer, block, err)
 *	} while (mp_trace_writer_plan_again(writer));
 *	mp_trace_writer_begin(writer, store, out, err);
 *	for each block: mp_trace_writer_block(writer, store, block, err)
 *	mp_trace_writer_end(writer, err);
 *
 * Every pass sees every event once. A source that is streamed (on_block) is read again for each
 * pass, INTO THE SAME STORE, so that ids of tracks, names and details stay the same; take notes,
 * counts and facts from the store before the second reading, which adds to them again. Read with
 * mp_ctx.pool = NULL: then the events of a track come in the order in which they were finished and
 * memory grows with tracks and flows only. Blocks in another order are written as correctly, but
 * the ranges of the tracks concerned (and of tracks whose ranges overlap, as asynchronous ones do)
 * are held in memory, 24 bytes each, and planning asks for one more pass. Events that were not in
 * the plan (a recording that still grows) are left out and counted.
 *
 * COMPATIBLE needs a store that kept its blocks: begin writes everything, plan and block do nothing.
 * From begin to end `out` belongs to the writer, which may write to it from a thread of its own: free the writer
 * before you commit or abort `out`. After a failure nothing more is written; drop `out` with mp_out_abort.
 */
struct mp_trace_writer; /* opaque */
mp_status mp_trace_writer_new(enum mp_flavour flavour, struct mp_trace_writer **out, mp_err *err);
mp_status mp_trace_writer_plan(struct mp_trace_writer *writer, const struct mp_block *block, mp_err *err);
/* Ends a planning pass. True: run one more pass over all blocks. */
bool mp_trace_writer_plan_again(struct mp_trace_writer *writer);
/* The store knows all tracks, names, notes and facts now; writes the head and the metadata events. */
mp_status mp_trace_writer_begin(struct mp_trace_writer *writer, const struct mp_store *store,
				struct mp_out *out, mp_err *err);
mp_status mp_trace_writer_block(struct mp_trace_writer *writer, const struct mp_store *store,
				const struct mp_block *block, mp_err *err);
mp_status mp_trace_writer_end(struct mp_trace_writer *writer, mp_err *err);
void mp_trace_writer_free(struct mp_trace_writer *writer);

/* All of the above for a store that kept its blocks. `out` is neither opened nor committed here. */
mp_status mp_trace_write_store(enum mp_flavour flavour, const struct mp_store *store, struct mp_out *out,
			       mp_err *err);

#endif
