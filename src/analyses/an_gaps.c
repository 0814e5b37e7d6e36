/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When did nothing run? The longest gaps between ranges, over all threads and streams.
 * docs/analyses.md, "gaps".
 */
#include "analyses/an_cover.h"
#include "analyses/an_private.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"process", "Process", MP_TYPE_TEXT, MP_UNIT_NONE, "Process of the track."},
	{"track", "Track", MP_TYPE_TEXT, MP_UNIT_NONE, "Thread or stream."},
	{"begin_ns", "Begin", MP_TYPE_INT, MP_UNIT_NS,
	 "When the gap began, counted from the begin of the trace."},
	{"gap_ns", "Length", MP_TYPE_INT, MP_UNIT_NS, "How long no range ran on the track."},
	{"before", "Before", MP_TYPE_TEXT, MP_UNIT_NONE, "Range that ended when the gap began."},
	{"after", "After", MP_TYPE_TEXT, MP_UNIT_NONE, "Range that began when the gap ended."},
};

static const struct mp_table_shape shape = {
	.name = "gaps",
	.title = "Longest gaps",
	.text = "The longest times without any range on a thread or stream, between its first and last range.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

#define GAPS_MAX 20

struct gap {
	int64_t begin_ns, length_ns;
	uint32_t track, before, after;
};

/* The longest gaps so far, longest first; the earlier one where they are equal. */
struct longest {
	struct gap gaps[GAPS_MAX];
	size_t n;
};

static void offer(struct longest *longest, const struct gap *gap)
{
	size_t i;

	if (longest->n == GAPS_MAX && longest->gaps[GAPS_MAX - 1].length_ns >= gap->length_ns)
		return;
	i = longest->n < GAPS_MAX ? longest->n++ : GAPS_MAX - 1;
	for (; i && longest->gaps[i - 1].length_ns < gap->length_ns; i--)
		longest->gaps[i] = longest->gaps[i - 1];
	longest->gaps[i] = *gap;
}

static void find_gaps(const struct mp_store *store, uint32_t track, struct longest *longest)
{
	struct mp_cover_track covers;
	struct mp_cover last, cover;

	mp_cover_track_init(&covers, store, track);
	if (!mp_cover_track_next(&covers, &last))
		return;
	for (; mp_cover_track_next(&covers, &cover); last = cover) {
		struct gap gap = {
			.begin_ns = last.end_ns,
			.length_ns = mp_sub_sat(cover.begin_ns, last.end_ns),
			.track = track,
			.before = last.last_name,
			.after = cover.first_name,
		};

		offer(longest, &gap);
	}
}

static bool add_row(const struct mp_store *store, const struct gap *gap, int64_t trace_begin_ns,
		    struct mp_table *out)
{
	struct mp_value *row = mp_table_add_row(out);

	if (row == NULL ||
	    !mp_row_process(out, &row[0], store, mp_store_get_track(store, gap->track).process) ||
	    !mp_row_track(out, &row[1], store, gap->track) ||
	    !mp_row_string(out, &row[4], store, gap->before) ||
	    !mp_row_string(out, &row[5], store, gap->after))
		return false;
	mp_value_int(&row[2], mp_sub_sat(gap->begin_ns, trace_begin_ns));
	mp_value_int(&row[3], gap->length_ns);
	return true;
}

static mp_status run(const struct mp_store *store, struct mp_pool *pool, struct mp_table *out, mp_err *err)
{
	struct longest longest = {.n = 0};
	int64_t begin_ns = 0, end_ns = 0;

	(void)pool;
	for (uint32_t track = 0; track < mp_store_n_tracks(store); track++) {
		uint8_t kind = mp_store_get_track(store, track).kind;

		if (kind == MP_TRACK_THREAD || kind == MP_TRACK_STREAM)
			find_gaps(store, track, &longest);
	}
	mp_store_time_range(store, &begin_ns, &end_ns);
	for (size_t i = 0; i < longest.n; i++) {
		if (!add_row(store, &longest.gaps[i], begin_ns, out))
			return mp_err_nomem(err, sizeof(struct mp_value) * MP_COUNT(columns));
	}
	if (out->n_rows == 0)
		out->empty_reason = "no thread or stream has two ranges with time between them";
	return MINDPROF_OK;
}

const struct mp_analysis mp_analysis_gaps = {&shape, MP_NEEDS(RANGE), run};
