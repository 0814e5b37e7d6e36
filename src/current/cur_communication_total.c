/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Total of a group of communication operators. Input: their JSON texts. Output: "Total Op Info"
 * (analysis-current.md section 8.4): sums in the order in which the fields were first seen.
 */
#include <string.h>

#include "current/cur_communication.h"

#include "base/banned.h"

/* A sum that stays an integer as long as only integers come. */
struct number {
	double value;
	bool is_double;
};

struct time_field {
	struct mp_str key;
	struct number sum;
};

struct size_entry {
	struct mp_str key;
	struct number count, time;
};

struct transport {
	struct mp_str key;
	struct number time, size;
	MP_VEC(struct size_entry) sizes;
	struct mp_map64 size_index;
};

struct total {
	struct cur_run *run;
	MP_VEC(struct time_field) times;
	MP_VEC(struct transport) transports;
	struct mp_map64 time_index, transport_index; /* hash of the key -> place */
};

/* The place of a key, n when it is new and now has that place; SIZE_MAX when memory is out. */
static size_t place_of(struct mp_map64 *index, struct mp_str key, size_t n)
{
	uint64_t hash = mp_hash_bytes(key.text, key.len, 0);
	const uint64_t *found = mp_map64_lookup(index, hash);

	if (found)
		return (size_t)*found;
	return mp_map64_put(index, hash, n) ? n : SIZE_MAX;
}

static void add(struct number *sum, struct mp_str text)
{
	double value;

	if (!mp_num_parse_double(text.text, text.len, &value))
		return;
	sum->value += value;
	sum->is_double |= memchr(text.text, '.', text.len) || memchr(text.text, 'e', text.len) ||
			  memchr(text.text, 'E', text.len);
}

static bool add_time(struct total *total, const struct cur_member *member)
{
	size_t i;

	if (mp_str_is(member->key, "Start Timestamp(us)") || mp_str_is(member->key, "Wait Time Ratio") ||
	    mp_str_is(member->key, "Synchronization Time Ratio"))
		return true;
	i = place_of(&total->time_index, member->key, total->times.len);
	if (i == SIZE_MAX ||
	    (i == total->times.len && !mp_vec_push(&total->times, (struct time_field){.key = member->key})))
		return false;
	add(&total->times.at[i].sum, member->value);
	return true;
}

/* {"1.125": [2, 0.3]} */
static bool add_sizes(struct total *total, struct transport *transport, struct mp_str text)
{
	cur_members members = {0};
	int64_t fault;
	bool good = cur_members_read(total->run, text.text, text.len, &members, &fault);
	size_t i;

	for (i = 0; good && i < members.len; i++) {
		size_t at = place_of(&transport->size_index, members.at[i].key, transport->sizes.len);
		struct size_entry *entry;
		struct mp_json json;

		good = at != SIZE_MAX &&
		       (at < transport->sizes.len ||
			mp_vec_push(&transport->sizes, (struct size_entry){.key = members.at[i].key}));
		if (!good)
			break;
		entry = &transport->sizes.at[at];
		mp_json_init(&json, members.at[i].value.text, members.at[i].value.len);
		if (mp_json_next(&json) != MP_JSON_ARRAY)
			continue;
		if (mp_json_next(&json) == MP_JSON_NUMBER)
			add(&entry->count, (struct mp_str){json.text, json.len});
		if (mp_json_next(&json) == MP_JSON_NUMBER)
			add(&entry->time, (struct mp_str){json.text, json.len});
	}
	mp_vec_release(&members);
	return good;
}

static bool add_transport(struct total *total, const struct cur_member *member)
{
	cur_members fields = {0};
	struct transport *to;
	int64_t fault;
	size_t i = place_of(&total->transport_index, member->key, total->transports.len), f;
	bool good;

	if (i == SIZE_MAX || (i == total->transports.len &&
			      !mp_vec_push(&total->transports, (struct transport){.key = member->key})))
		return false;
	to = &total->transports.at[i];
	good = cur_members_read(total->run, member->value.text, member->value.len, &fields, &fault);
	for (f = 0; good && f < fields.len; f++) {
		if (mp_str_is(fields.at[f].key, "Transit Time(ms)"))
			add(&to->time, fields.at[f].value);
		else if (mp_str_is(fields.at[f].key, "Transit Size(MB)"))
			add(&to->size, fields.at[f].value);
		else if (mp_str_is(fields.at[f].key, "Size Distribution"))
			good = add_sizes(total, to, fields.at[f].value);
	}
	mp_vec_release(&fields);
	return good;
}

typedef bool (*member_fn)(struct total *total, const struct cur_member *member);

static bool add_members(struct total *total, struct mp_str text, member_fn fn)
{
	cur_members members = {0};
	int64_t fault;
	bool good = cur_members_read(total->run, text.text, text.len, &members, &fault);
	size_t i;

	for (i = 0; good && i < members.len; i++)
		good = fn(total, &members.at[i]);
	mp_vec_release(&members);
	return good;
}

static bool add_part(struct total *total, const struct cur_member *member)
{
	if (mp_str_is(member->key, "Communication Time Info"))
		return add_members(total, member->value, add_time);
	if (mp_str_is(member->key, "Communication Bandwidth Info"))
		return add_members(total, member->value, add_transport);
	return true;
}

/* ---- text ---- */

static void put_number(struct mp_buf *out, struct number number)
{
	char text[MP_NUM_MAX];
	size_t len;

	if (!isfinite(number.value)) {
		mp_buf_add_str(out, "null");
		return;
	}
	if (!number.is_double && fabs(number.value) < 9e15)
		len = mp_num_put_i64(text, (int64_t)number.value);
	else
		len = mp_num_put_double(text, number.value);
	mp_buf_add(out, text, len);
}

static void put_key(struct mp_buf *out, struct mp_str key, const char *before)
{
	mp_buf_add_str(out, before);
	mp_buf_add_char(out, '"');
	mp_buf_add(out, key.text, key.len);
	mp_buf_add_str(out, "\": ");
}

static double time_sum(const struct total *total, const char *key)
{
	size_t i;

	for (i = 0; i < total->times.len; i++)
		if (mp_str_is(total->times.at[i].key, key))
			return total->times.at[i].sum.value;
	return 0;
}

static struct number ratio(double part, double rest)
{
	double whole = part + rest;

	if (fabs(whole) < 1e-15)
		return (struct number){0, false};
	return (struct number){cur_round(part / whole, 4), true};
}

static void put_times(const struct total *total, struct mp_buf *out)
{
	double transit = time_sum(total, "Transit Time(ms)");
	size_t i;

	for (i = 0; i < total->times.len; i++) {
		put_key(out, total->times.at[i].key, i ? ", " : "");
		put_number(out, total->times.at[i].sum);
	}
	mp_buf_add_str(out, i ? ", \"Wait Time Ratio\": " : "\"Wait Time Ratio\": ");
	put_number(out, ratio(time_sum(total, "Wait Time(ms)"), transit));
	mp_buf_add_str(out, ", \"Synchronization Time Ratio\": ");
	put_number(out, ratio(time_sum(total, "Synchronization Time(ms)"), transit));
}

static void put_transport(const struct cur_run *run, const struct transport *transport, struct mp_buf *out)
{
	size_t i;

	mp_buf_add_str(out, "{\"Transit Time(ms)\": ");
	put_number(out, transport->time);
	mp_buf_add_str(out, ", \"Transit Size(MB)\": ");
	put_number(out, transport->size);
	if (cur_corrects(run, CUR_FIX_TOTAL_BANDWIDTH)) {
		struct number bandwidth = {0};

		if (transport->time.value > 0)
			bandwidth = (struct number){
				cur_round(transport->size.value / transport->time.value, 4), true};
		mp_buf_add_str(out, ", \"Bandwidth(GB/s)\": ");
		put_number(out, bandwidth);
	}
	mp_buf_add_str(out, ", \"Size Distribution\": {");
	for (i = 0; i < transport->sizes.len; i++) {
		put_key(out, transport->sizes.at[i].key, i ? ", " : "");
		mp_buf_add_char(out, '[');
		put_number(out, transport->sizes.at[i].count);
		mp_buf_add_str(out, ", ");
		put_number(out, transport->sizes.at[i].time);
		mp_buf_add_char(out, ']');
	}
	mp_buf_add_str(out, "}}");
}

static void put_total(const struct cur_run *run, const struct total *total, struct mp_buf *out)
{
	size_t i;

	mp_buf_add_str(out, "{\"Communication Time Info\": {");
	put_times(total, out);
	mp_buf_add_str(out, "}, \"Communication Bandwidth Info\": {");
	for (i = 0; i < total->transports.len; i++) {
		put_key(out, total->transports.at[i].key, i ? ", " : "");
		put_transport(run, &total->transports.at[i], out);
	}
	mp_buf_add_str(out, "}}");
}

mp_status cur_communication_total(struct cur_run *run, const struct cur_communication *communication,
				  uint32_t step, bool p2p, struct mp_buf *out, mp_err *err)
{
	struct total total = {.run = run};
	bool good = true;
	size_t i;

	for (i = communication->first[step]; good && i < communication->first[step + 1]; i++) {
		const struct cur_communication_op *op = &communication->ops.at[communication->by_step[i]];

		if (op->p2p == p2p)
			good = add_members(&total, op->text.value, add_part);
	}
	if (good)
		put_total(run, &total, out);
	for (i = 0; i < total.transports.len; i++) {
		mp_vec_release(&total.transports.at[i].sizes);
		mp_map64_release(&total.transports.at[i].size_index);
	}
	mp_map64_release(&total.time_index);
	mp_map64_release(&total.transport_index);
	mp_vec_release(&total.times);
	mp_vec_release(&total.transports);
	return good && !out->failed ? MINDPROF_OK : mp_err_nomem(err, 0);
}
