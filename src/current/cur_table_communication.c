/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which communication takes the time, and how fast is it? One row per operator type and group. Input:
 * PROF_x/analyze/communication.json. docs/analyses.md, "communication".
 */
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/num.h"
#include "current/cur_communication.h"
#include "current/cur_tables.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"type", "Operator", MP_TYPE_TEXT, MP_UNIT_NONE, "Type of the operator, \"hcom_allReduce_\"."},
	{"kind", "Kind", MP_TYPE_TEXT, MP_UNIT_NONE, "collective or p2p (from one rank to another)."},
	{"group", "Group", MP_TYPE_TEXT, MP_UNIT_NONE, "Group of ranks, as the device tool names it."},
	{"count", "Count", MP_TYPE_INT, MP_UNIT_COUNT, "Executions."},
	{"total_ns", "Total", MP_TYPE_INT, MP_UNIT_NS, "Sum of their durations."},
	{"transit_ns", "Transit", MP_TYPE_INT, MP_UNIT_NS, "Part in which data moved."},
	{"wait_ns", "Wait", MP_TYPE_INT, MP_UNIT_NS, "Part in which they waited for another rank."},
	{"size_bytes", "Size", MP_TYPE_INT, MP_UNIT_BYTES, "Data moved, over SDMA and RDMA."},
	{"bandwidth_gb_s", "GB/s", MP_TYPE_DOUBLE, MP_UNIT_NONE, "Size by the time of those transports."},
	{"share", "Share", MP_TYPE_DOUBLE, MP_UNIT_SHARE, "Of the total of all rows."},
};

static const struct mp_table_shape shape = {
	.name = "communication",
	.title = "Communication by type and group",
	.text = "Count, time, size and bandwidth of communication operators by type and group of ranks.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

struct row {
	struct mp_str type, group; /* borrowed from the input */
	bool p2p;
	int64_t count;
	double total_ms, transit_ms, wait_ms, size_mb, size_ms;
};

struct rows {
	struct cur_run *run;
	MP_VEC(struct row) at;
	struct mp_map64 index; /* hash of type and group -> row */
	double total_ms;
};

/* "hcom_allReduce__586_0_1@group" is of type "hcom_allReduce_"; a name without "__" is its own type. */
static struct row key_of(struct mp_str name)
{
	const char *at = name.len ? memrchr(name.text, '@', name.len) : NULL;
	struct mp_str type = {name.text, at ? (size_t)(at - name.text) : name.len};
	const char *end = type.len ? memmem(type.text, type.len, "__", 2) : NULL;
	struct mp_str group = {"", 0};

	if (at)
		group = (struct mp_str){at + 1, name.len - type.len - 1};
	if (end)
		type.len = (size_t)(end + 1 - type.text);
	return (struct row){.type = type, .group = group};
}

/* Unlike the original, which looks for "Send" and "Receive" and so takes "hcom_send_" for a collective. */
static bool is_p2p(struct mp_str type)
{
	static const char *const words[] = {"send", "receive", "recv"};
	size_t i, at;

	for (i = 0; i < MP_COUNT(words); i++)
		for (at = 0; at + strlen(words[i]) <= type.len; at++)
			if (!strncasecmp(type.text + at, words[i], strlen(words[i])))
				return true;
	return false;
}

static struct row *row_of(struct rows *rows, const struct cur_communication_op *op)
{
	struct row key = key_of(op->text.key);
	uint64_t hash =
		mp_hash_bytes(key.group.text, key.group.len, mp_hash_bytes(key.type.text, key.type.len, 0));
	const uint64_t *found = mp_map64_lookup(&rows->index, hash);

	if (found)
		return &rows->at.at[*found];
	key.p2p = is_p2p(key.type);
	if (!mp_map64_put(&rows->index, hash, rows->at.len) || !mp_vec_push(&rows->at, key))
		return NULL;
	return &rows->at.at[rows->at.len - 1];
}

/* A finite number that is not negative; else nothing is added. */
static void add(double *sum, const cur_members *members, const char *key)
{
	const struct mp_str *text = cur_members_value(members, key);
	double value;

	if (text && mp_num_parse_double(text->text, text->len, &value) && value >= 0 && isfinite(value))
		*sum += value;
}

static bool read_object(struct cur_run *run, const struct mp_str *text, cur_members *out)
{
	int64_t fault;

	*out = (cur_members){0};
	return !text || cur_members_read(run, text->text, text->len, out, &fault);
}

static bool add_transports(struct cur_run *run, const struct mp_str *text, struct row *row)
{
	static const char *const totals[] = {"SDMA", "RDMA"}; /* the others are parts of SDMA */
	cur_members transports, fields;
	bool good = read_object(run, text, &transports);
	size_t i;

	for (i = 0; good && i < MP_COUNT(totals); i++) {
		good = read_object(run, cur_members_value(&transports, totals[i]), &fields);
		add(&row->size_mb, &fields, "Transit Size(MB)");
		add(&row->size_ms, &fields, "Transit Time(ms)");
		mp_vec_release(&fields);
	}
	mp_vec_release(&transports);
	return good;
}

static bool add_op(struct rows *rows, const struct cur_communication_op *op)
{
	struct row *row = row_of(rows, op);
	cur_members parts, times = {0};
	bool good = row && read_object(rows->run, &op->text.value, &parts);
	double before_ms = row ? row->total_ms : 0;

	if (!good)
		return false;
	good = read_object(rows->run, cur_members_value(&parts, "Communication Time Info"), &times) &&
	       add_transports(rows->run, cur_members_value(&parts, "Communication Bandwidth Info"), row);
	row->count++;
	add(&row->total_ms, &times, "Elapse Time(ms)");
	add(&row->transit_ms, &times, "Transit Time(ms)");
	add(&row->wait_ms, &times, "Wait Time(ms)");
	rows->total_ms += row->total_ms - before_ms;
	mp_vec_release(&parts);
	mp_vec_release(&times);
	return good;
}

/* A sum as a whole number that fits. */
static int64_t whole(double value)
{
	return value < 9e18 ? (int64_t)llrint(value) : INT64_MAX;
}

static bool put_row(const struct rows *rows, const struct row *row, struct mp_table *out)
{
	struct mp_value *values = mp_table_add_row(out);
	const char *kind = row->p2p ? "p2p" : "collective";

	if (!values || !mp_value_text(out, &values[0], row->type.text, row->type.len) ||
	    !mp_value_text(out, &values[1], kind, strlen(kind)))
		return false;
	if (row->group.len && !mp_value_text(out, &values[2], row->group.text, row->group.len))
		return false;
	mp_value_int(&values[3], row->count);
	mp_value_int(&values[4], whole(row->total_ms * 1e6));
	mp_value_int(&values[5], whole(row->transit_ms * 1e6));
	mp_value_int(&values[6], whole(row->wait_ms * 1e6));
	mp_value_int(&values[7], whole(row->size_mb * 1e6));
	if (row->size_ms > 0)
		mp_value_double(&values[8], row->size_mb / row->size_ms);
	if (rows->total_ms > 0)
		mp_value_double(&values[9], row->total_ms / rows->total_ms);
	return true;
}

static mp_status fill(struct cur_run *run, struct mp_table *out, mp_err *err)
{
	struct rows rows = {.run = run};
	bool good = true;
	size_t i;

	MP_TRY(cur_load_communication(run, err));
	for (i = 0; good && i < run->communication->ops.len; i++)
		good = add_op(&rows, &run->communication->ops.at[i]);
	for (i = 0; good && i < rows.at.len; i++)
		good = put_row(&rows, &rows.at.at[i], out);
	mp_vec_release(&rows.at);
	mp_map64_release(&rows.index);
	if (!good)
		return mp_err_nomem(err, 0);
	if (!out->n_rows)
		out->empty_reason = "no communication operators were recorded";
	MP_TRY(mp_table_sort(out, 2, false, err));
	MP_TRY(mp_table_sort(out, 0, false, err));
	return mp_table_sort(out, 4, true, err);
}

const struct cur_table cur_table_communication = {&shape, fill};
