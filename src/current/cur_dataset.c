/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset.csv. Input: the records of op_range whose module is Dataset. Output: one row per operation,
 * stage and custom info (analysis-current.md sections 5.2, 8.5).
 */
#include <string.h>

#include "base/hash.h"
#include "current/cur_json.h"
#include "current/cur_csv.h"
#include "current/cur_host.h"
#include "current/cur_outputs.h"
#include "current/cur_tlv.h"

#include "base/banned.h"

struct row {
	struct mp_str operation, stage; /* borrowed from the string table */
	struct mp_str info;
	int64_t sum_ns;
	uint64_t count;
};

struct dataset {
	struct cur_run *run;
	const struct op_range_clock *clock; /* of the run */
	MP_VEC(struct row) rows;            /* in order of first appearance */
	struct mp_map64 by_key;
	struct mp_buf info; /* scratch */
	bool bad_info;      /* a pair that the original cannot split */
};

/* ---- custom info as Python prints a dict ---- */

static void put_python_text(struct mp_buf *out, struct mp_str text)
{
	char quote = text.len && memchr(text.text, '\'', text.len) && !memchr(text.text, '"', text.len)
			     ? '"'
			     : '\'';
	size_t i;

	mp_buf_add_char(out, quote);
	for (i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.text[i];

		if (c == '\n' || c == '\r' || c == '\t')
			mp_buf_printf(out, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
		else if (c < 0x20 || c == 0x7f)
			mp_buf_printf(out, "\\x%02x", c);
		else if (c == '\\' || (char)c == quote)
			mp_buf_printf(out, "\\%c", c);
		else
			mp_buf_add_char(out, (char)c);
	}
	mp_buf_add_char(out, quote);
}

static struct mp_str cut_at(struct mp_str *rest, char c)
{
	const char *at = rest->len ? memchr(rest->text, c, rest->len) : NULL;
	struct mp_str part = {rest->text, at ? (size_t)(at - rest->text) : rest->len};
	size_t used = part.len + (at != NULL);

	*rest = (struct mp_str){rest->text + used, rest->len - used};
	return part;
}

/* "a:1;b:2;c:3" -> "{'a': '1', 'b': '2'}"; fewer than two pairs -> "{}". */
static void put_info(struct dataset *dataset, struct mp_str text)
{
	struct mp_str pairs[2], rest = text;
	size_t n = 1, i;

	mp_buf_clear(&dataset->info);
	for (i = 0; i < text.len; i++)
		n += text.text[i] == ';';
	if (!text.len)
		return;
	if (n < 2) {
		mp_buf_add_str(&dataset->info, "{}");
		return;
	}
	for (i = 0; i < 2; i++)
		pairs[i] = cut_at(&rest, ';');
	for (i = 0; i < 2; i++) {
		struct mp_str value = pairs[i], key = cut_at(&value, ':');

		dataset->bad_info |=
			key.len == pairs[i].len || (value.len && memchr(value.text, ':', value.len));
		mp_buf_add_str(&dataset->info, i ? ", " : "{");
		put_python_text(&dataset->info, key);
		mp_buf_add_str(&dataset->info, ": ");
		put_python_text(&dataset->info, value);
	}
	mp_buf_add_char(&dataset->info, '}');
}

/* ---- records ---- */

static bool keep(struct dataset *dataset, struct mp_str text, struct mp_str *out)
{
	uint32_t id = mp_strtab_add(mp_store_strings(dataset->run->store), text.text, text.len);

	*out = mp_store_text(dataset->run->store, id);
	return id != MP_STR_NONE;
}

static bool count(struct dataset *dataset, struct mp_str operation, struct mp_str stage, int64_t dur_ns)
{
	struct mp_str info = {dataset->info.data, dataset->info.len};
	uint64_t key = mp_hash_bytes(operation.text, operation.len, 1);
	const uint64_t *found;
	struct row row = {0};
	struct row *at;

	key = mp_hash_bytes(stage.text, stage.len, key);
	key = info.len ? mp_hash_bytes(info.text, info.len, key) : key;
	found = mp_map64_lookup(&dataset->by_key, key);
	if (!found) {
		if (!keep(dataset, operation, &row.operation) || !keep(dataset, stage, &row.stage) ||
		    !keep(dataset, info.len ? info : (struct mp_str){"", 0}, &row.info) ||
		    !mp_map64_put(&dataset->by_key, key, dataset->rows.len) ||
		    !mp_vec_push(&dataset->rows, row))
			return false;
	}
	at = &dataset->rows.at[found ? (size_t)*found : dataset->rows.len - 1];
	at->count++;
	return !__builtin_add_overflow(at->sum_ns, dur_ns, &at->sum_ns) || (at->sum_ns = INT64_MAX, true);
}

static bool take(void *user, const uint8_t *body, uint32_t len)
{
	struct dataset *dataset = user;
	uint32_t fixed = sizeof(struct mp_fwk_op_range);
	struct mp_str module = cur_tlv_field(body, len, fixed, MP_FWK_MODULE_GRAPH), operation, stage;
	struct mp_fwk_op_range record;
	int64_t begin_ns, end_ns, dur_ns;

	if (!mp_str_is(module, "Dataset"))
		return true;
	memcpy(&record, body, sizeof(record));
	if (record.end_tick <= record.start_tick ||
	    !op_range_clock_ns(dataset->clock, record.start_tick, &begin_ns) ||
	    !op_range_clock_ns(dataset->clock, record.end_tick, &end_ns) ||
	    __builtin_sub_overflow(end_ns, begin_ns, &dur_ns))
		return true;
	operation = cur_tlv_field(body, len, fixed, MP_FWK_EVENT_GRAPH);
	stage = cur_tlv_field(body, len, fixed, MP_FWK_NAME);
	put_info(dataset, cur_tlv_field(body, len, fixed, MP_FWK_CUSTOM_INFO));
	if (dataset->info.failed)
		return false;
	/* The display name must have three parts. */
	if (mp_str_holds(operation, "::") || mp_str_holds(stage, "::")) {
		mp_store_note(dataset->run->store, MP_WARNING, "dataset-name", dataset->run->framework.path,
			      -1, "a name of the data pipeline does not have three parts, left out");
		return true;
	}
	return count(dataset, operation, stage, dur_ns);
}

static void put_rows(const struct dataset *dataset, struct mp_out *out)
{
	size_t i;

	if (dataset->rows.len)
		mp_out_str(out, "Operation,Stage,Occurrences,Avg. time (us),Custom Info\r\n");
	for (i = 0; i < dataset->rows.len; i++) {
		const struct row *row = &dataset->rows.at[i];

		cur_csv_text(out, row->operation.text, row->operation.len);
		mp_out_str(out, ",");
		cur_csv_text(out, row->stage.text, row->stage.len);
		mp_out_str(out, ",");
		mp_out_i64(out, (int64_t)row->count);
		mp_out_str(out, ",");
		mp_out_double(out, cur_round((double)row->sum_ns / 1000 / (double)row->count, 2));
		mp_out_str(out, ",");
		cur_csv_text(out, row->info.text, row->info.len);
		mp_out_str(out, "\r\n");
	}
}

static mp_status read_file(struct dataset *dataset, const struct mp_file *file, mp_err *err)
{
	MP_TRY(cur_host_clock(dataset->run, file, &dataset->clock, err));
	return cur_host_walk(dataset->run, file, NULL, take, dataset) ? MINDPROF_OK : mp_err_nomem(err, 0);
}

static mp_status write_dataset(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	struct dataset dataset = {.run = run};
	struct mp_file file;
	mp_status status;

	/* Notes what is wrong with the file, or that there is none. */
	MP_TRY(cur_load_host(run, err));
	if (!run->host.present)
		return MINDPROF_OK;
	MP_TRY(mp_file_open_at(&run->framework, MP_FWK_OP_RANGE_FILE, &file, err));
	mp_buf_init(&dataset.info, SIZE_MAX / 8);
	status = read_file(&dataset, &file, err);
	if (dataset.bad_info)
		mp_store_note(run->store, MP_WARNING, "custom-info", file.path, -1,
			      "custom info of the data pipeline is not 'key:value;key:value'");
	if (!status && (!dataset.bad_info || cur_corrects(run, CUR_FIX_CUSTOM_INFO)))
		put_rows(&dataset, out);
	mp_vec_release(&dataset.rows);
	mp_map64_release(&dataset.by_key);
	mp_buf_release(&dataset.info);
	mp_file_close(&file);
	return status;
}

static bool wanted(const struct cur_run *run)
{
	return run->params.cpu && (run->params.found || cur_corrects(run, CUR_FIX_ALL_TARGETS));
}

const struct cur_output cur_dataset = {
	.name = "dataset.csv",
	.about = "Operations of the data pipeline on the host.",
	.wanted = wanted,
	.write = write_dataset,
};
