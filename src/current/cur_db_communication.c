/* SPDX-License-Identifier: Apache-2.0 */
/*
 * communication_analyzer.db. Input: PROF_x/analyze/communication.json and communication_matrix.json. Output:
 * one row per operator, per transport and package size, per link. Times in ms, sizes in MB, bandwidth in
 * GB/s, as in the text.
 */
#include "base/num.h"
#include "current/cur_communication.h"
#include "current/cur_db.h"

#include "base/banned.h"

#define TIME_COLUMNS                                                                                               \
	"hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, transit_time NUMERIC, " \
	"wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC"
#define BANDWIDTH_COLUMNS                                                                                       \
	"hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, " \
	"bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC, total_duration NUMERIC"
#define MATRIX_COLUMNS                                                                                         \
	"hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT, transit_size " \
	"NUMERIC, transit_time NUMERIC, bandwidth NUMERIC"

struct analyzer {
	struct cur_run *run;
	struct cur_db_rows times, bandwidths, matrix;
};

/* "name@group" in two. */
static void put_names(struct cur_db_rows *rows, struct mp_str key)
{
	const char *at = key.len ? memrchr(key.text, '@', key.len) : NULL;
	size_t len = at ? (size_t)(at - key.text) : key.len;

	cur_db_text(rows, (struct mp_str){key.text, len});
	cur_db_text(rows, at ? (struct mp_str){at + 1, key.len - len - 1} : (struct mp_str){"", 0});
}

static void put_number(struct cur_db_rows *rows, const struct mp_str *text)
{
	double value;
	int64_t whole;

	if (text && mp_num_parse_i64(text->text, text->len, &whole))
		cur_db_int(rows, whole);
	else if (text && mp_num_parse_double(text->text, text->len, &value))
		cur_db_double(rows, value);
	else
		cur_db_null(rows);
}

/* The members that a value has when it is an object; empty otherwise. False when memory is out. */
static bool read_object(struct cur_run *run, const struct mp_str *text, cur_members *out)
{
	int64_t fault;

	*out = (cur_members){0};
	return !text || !text->len || text->text[0] != '{' ||
	       cur_members_read(run, text->text, text->len, out, &fault);
}

static bool put_times(struct analyzer *analyzer, struct mp_str key, const struct mp_str *text)
{
	static const char *const keys[] = {"Start Timestamp(us)",      "Elapse Time(ms)",
					   "Transit Time(ms)",         "Wait Time(ms)",
					   "Synchronization Time(ms)", "Idle Time(ms)"};
	cur_members members;
	bool good = read_object(analyzer->run, text, &members);
	size_t i;

	if (good && text) {
		put_names(&analyzer->times, key);
		for (i = 0; i < MP_COUNT(keys); i++)
			put_number(&analyzer->times, cur_members_value(&members, keys[i]));
		cur_db_row_end(&analyzer->times);
	}
	mp_vec_release(&members);
	return good;
}

/* A row: what the transport has, then one package size with [count, duration], if any. */
static void put_package(struct analyzer *analyzer, struct mp_str key, struct mp_str transport,
			const cur_members *fields, const struct cur_member *package)
{
	static const char *const keys[] = {"Transit Size(MB)", "Transit Time(ms)", "Bandwidth(GB/s)",
					   "Large Packet Ratio"};
	struct cur_db_rows *rows = &analyzer->bandwidths;
	struct mp_json json;
	size_t i;

	put_names(rows, key);
	cur_db_text(rows, transport);
	for (i = 0; i < MP_COUNT(keys); i++)
		put_number(rows, cur_members_value(fields, keys[i]));
	if (package) {
		put_number(rows, &package->key);
		mp_json_init(&json, package->value.text, package->value.len);
		mp_json_next(&json);
		for (i = 0; i < 2; i++) {
			bool is_number = mp_json_next(&json) == MP_JSON_NUMBER;
			struct mp_str text = {json.text, json.len};

			put_number(rows, is_number ? &text : NULL);
		}
	} else {
		for (i = 0; i < 3; i++)
			cur_db_int(rows, 0);
	}
	cur_db_row_end(rows);
}

static bool put_transport(struct analyzer *analyzer, struct mp_str key, const struct cur_member *transport)
{
	cur_members fields, packages = {0};
	bool good = read_object(analyzer->run, &transport->value, &fields) &&
		    read_object(analyzer->run, cur_members_value(&fields, "Size Distribution"), &packages);
	size_t i;

	for (i = 0; good && i < packages.len; i++)
		put_package(analyzer, key, transport->key, &fields, &packages.at[i]);
	if (good && fields.len && !packages.len)
		put_package(analyzer, key, transport->key, &fields, NULL);
	mp_vec_release(&fields);
	mp_vec_release(&packages);
	return good;
}

static bool put_op(struct analyzer *analyzer, const struct cur_member *op)
{
	cur_members parts, transports = {0};
	bool good = read_object(analyzer->run, &op->value, &parts) &&
		    put_times(analyzer, op->key, cur_members_value(&parts, "Communication Time Info")) &&
		    read_object(analyzer->run, cur_members_value(&parts, "Communication Bandwidth Info"),
				&transports);
	size_t i;

	for (i = 0; good && i < transports.len; i++)
		good = put_transport(analyzer, op->key, &transports.at[i]);
	mp_vec_release(&parts);
	mp_vec_release(&transports);
	return good;
}

/* "0-1": from rank 0 to rank 1. */
static bool put_link(struct analyzer *analyzer, struct mp_str key, const struct cur_member *link)
{
	static const char *const keys[] = {"Transit Size(MB)", "Transit Time(ms)", "Bandwidth(GB/s)"};
	const char *dash = link->key.len ? memchr(link->key.text, '-', link->key.len) : NULL;
	size_t len = dash ? (size_t)(dash - link->key.text) : link->key.len, i;
	const struct mp_str *transport;
	cur_members fields;
	bool good = read_object(analyzer->run, &link->value, &fields);

	if (good && fields.len) {
		put_names(&analyzer->matrix, key);
		cur_db_text(&analyzer->matrix, (struct mp_str){link->key.text, len});
		cur_db_text(&analyzer->matrix, dash ? (struct mp_str){dash + 1, link->key.len - len - 1}
						    : (struct mp_str){"", 0});
		transport = cur_members_value(&fields, "Transport Type");
		if (transport && transport->len >= 2 && transport->text[0] == '"')
			cur_db_text(&analyzer->matrix,
				    (struct mp_str){transport->text + 1, transport->len - 2});
		else
			cur_db_null(&analyzer->matrix);
		for (i = 0; i < MP_COUNT(keys); i++)
			put_number(&analyzer->matrix, cur_members_value(&fields, keys[i]));
		cur_db_row_end(&analyzer->matrix);
	}
	mp_vec_release(&fields);
	return good;
}

static bool put_links(struct analyzer *analyzer, const struct cur_member *op)
{
	cur_members links;
	bool good = read_object(analyzer->run, &op->value, &links);
	size_t i;

	for (i = 0; good && i < links.len; i++)
		good = put_link(analyzer, op->key, &links.at[i]);
	mp_vec_release(&links);
	return good;
}

mp_status cur_db_put_communication(struct cur_db *db, mp_err *err)
{
	struct analyzer analyzer = {.run = db->run};
	const struct cur_communication *all;
	bool good = true;
	size_t i;

	MP_TRY(cur_load_communication(db->run, err));
	all = db->run->communication;
	if (all->has_input) {
		cur_db_table(&db->out, "CommAnalyzerTime", TIME_COLUMNS, &analyzer.times);
		cur_db_table(&db->out, "CommAnalyzerBandwidth", BANDWIDTH_COLUMNS, &analyzer.bandwidths);
	}
	for (i = 0; good && i < all->ops.len; i++)
		good = put_op(&analyzer, &all->ops.at[i].text);
	if (all->has_matrix)
		cur_db_table(&db->out, "CommAnalyzerMatrix", MATRIX_COLUMNS, &analyzer.matrix);
	for (i = 0; good && i < all->matrix.len; i++)
		if (!cur_communication_is_total(all->matrix.at[i].key))
			good = put_links(&analyzer, &all->matrix.at[i]);
	cur_db_rows_end(&analyzer.times);
	cur_db_rows_end(&analyzer.bandwidths);
	cur_db_rows_end(&analyzer.matrix);
	return good ? MINDPROF_OK : mp_err_nomem(err, 0);
}
