/* SPDX-License-Identifier: Apache-2.0 */
/*
 * communication.json. Input: PROF_x/analyze/communication.json, steps. Output: its operators by step and
 * kind, with a total of each (analysis-current.md section 8.4).
 */
#include <string.h>

#include "current/cur_communication.h"
#include "current/cur_outputs.h"

#include "base/banned.h"

/* ---- JSON objects as members ---- */

static bool put_member(cur_members *out, struct mp_map64 *seen, struct cur_member member)
{
	uint64_t key = mp_hash_bytes(member.key.text, member.key.len, 0);
	const uint64_t *found = mp_map64_lookup(seen, key);

	if (found) {
		out->at[*found].value = member.value;
		return true;
	}
	return mp_map64_put(seen, key, out->len) && mp_vec_push(out, member);
}

bool cur_members_read(const char *data, size_t size, cur_members *out, int64_t *fault_offset)
{
	struct mp_map64 seen = {0};
	enum mp_json_type type;
	struct mp_json json;
	bool good = true;

	*fault_offset = -1;
	mp_json_init(&json, data, size);
	type = mp_json_next(&json);
	if (type != MP_JSON_OBJECT)
		*fault_offset = type == MP_JSON_ERROR ? json.err_offset : 0;
	while (good && type == MP_JSON_OBJECT && (type = mp_json_next(&json)) == MP_JSON_KEY) {
		struct cur_member member = {.key = {json.text, json.len}};

		type = mp_json_next(&json);
		if ((type == MP_JSON_OBJECT || type == MP_JSON_ARRAY) && !mp_json_skip(&json, type))
			break;
		if (type == MP_JSON_ERROR)
			break;
		/* A string is kept with its quotes. */
		member.value = (struct mp_str){json.text, json.len};
		if (type == MP_JSON_STRING)
			member.value = (struct mp_str){json.text - 1, json.len + 2};
		good = put_member(out, &seen, member);
		type = MP_JSON_OBJECT;
	}
	if (*fault_offset < 0 && type != MP_JSON_OBJECT_END)
		*fault_offset = json.err_text ? json.err_offset : (int64_t)size;
	mp_map64_release(&seen);
	return good;
}

static const struct mp_str *member_of(const cur_members *members, const char *key)
{
	size_t i;

	for (i = 0; i < members->len; i++)
		if (mp_str_is(members->at[i].key, key))
			return &members->at[i].value;
	return NULL;
}

/* ---- operators ---- */

/* A JSON number is a binary fraction of microseconds, in steps of 250 ns today; that value counts. */
static bool parse_start(struct mp_str text, int64_t *out)
{
	double us;

	if (text.len >= 2 && text.text[0] == '"')
		return mp_num_parse_scaled(text.text + 1, text.len - 2, 3, out);
	if (!mp_num_parse_double(text.text, text.len, &us) || fabs(us) > 9e15)
		return false;
	*out = (int64_t)llrintl((long double)us * 1000);
	return true;
}

/* "Start Timestamp(us)" of the time info; a number or a string. False when memory is out. */
static bool read_start(struct cur_communication_op *op)
{
	cur_members info = {0}, times = {0};
	const struct mp_str *found, *start;
	int64_t fault;
	bool good = cur_members_read(op->text.value.text, op->text.value.len, &info, &fault);

	found = good ? member_of(&info, "Communication Time Info") : NULL;
	if (found)
		good = cur_members_read(found->text, found->len, &times, &fault);
	start = good ? member_of(&times, "Start Timestamp(us)") : NULL;
	if (start) {
		op->has_start = parse_start(*start, &op->start_ns);
	}
	mp_vec_release(&info);
	mp_vec_release(&times);
	return good;
}

static bool load_steps(struct cur_run *run, struct cur_communication *out)
{
	size_t i;

	if (!run->params.schedule || run->params.o2 || !run->steps.at.len)
		return mp_vec_push(&out->steps, (struct mp_str){"0", 1});
	for (i = 0; i < run->steps.at.len; i++)
		if (!mp_vec_push(&out->steps, mp_store_text(run->store, run->steps.at.at[i].id)))
			return false;
	return true;
}

static uint32_t step_of(const struct cur_run *run, const struct cur_communication *all,
			const struct cur_communication_op *op)
{
	const struct cur_step *step;

	if (all->steps.len == 1)
		return 0;
	step = op->has_start ? cur_step_at(&run->steps, op->start_ns) : NULL;
	return step ? (uint32_t)(step - run->steps.at.at) : UINT32_MAX;
}

static bool add_op(struct cur_run *run, struct cur_communication *out, struct cur_member text)
{
	struct cur_communication_op op = {
		.text = text,
		.p2p = cur_communication_is_p2p(text.key),
	};

	if (cur_communication_is_total(text.key))
		return true;
	if (!read_start(&op))
		return false;
	if (!op.has_start) {
		mp_store_note(run->store, MP_PROBLEM, "unstarted-op", out->input.file.path,
			      text.key.text - (const char *)out->input.data,
			      "communication operator '%.*s' has no start", (int)MP_MIN(text.key.len, 100),
			      text.key.text);
		out->lost |= out->steps.len > 1 && !cur_corrects(run, CUR_FIX_UNSTARTED_OP);
	}
	op.step = step_of(run, out, &op);
	return mp_map64_put(&out->by_name, mp_hash_bytes(text.key.text, text.key.len, 0), out->ops.len) &&
	       mp_vec_push(&out->ops, op);
}

/* An absent file is no fault: there was no communication. */
static mp_status open_input(struct cur_run *run, const char *name, struct mp_input *input,
			    cur_members *members, bool *found, mp_err *err)
{
	mp_err failure = {0};
	mp_status status;
	int64_t fault;

	*found = false;
	if (run->analyze.fd < 0)
		return MINDPROF_OK;
	status = mp_input_open_at(&run->analyze, name, run->ctx->max_unpacked, input, &failure);
	if (status == MINDPROF_E_NOT_FOUND)
		return MINDPROF_OK;
	if (status)
		return cur_go_on_without(run, run->analyze.path, status, &failure, err);
	if (!cur_members_read((const char *)input->data, input->size, members, &fault))
		return mp_err_nomem(err, 0);
	if (fault >= 0) {
		mp_store_note(run->store, MP_PROBLEM, "bad-json", input->file.path, fault,
			      "no valid JSON here, the operators before are used");
		if (!cur_corrects(run, CUR_FIX_LOST_OUTPUTS))
			members->len = 0;
	}
	*found = members->len > 0;
	return MINDPROF_OK;
}

static mp_status load_all(struct cur_run *run, struct cur_communication *out, mp_err *err)
{
	cur_members members = {0};
	bool good = load_steps(run, out);
	mp_status status;
	size_t i;

	if (!good)
		return mp_err_nomem(err, 0);
	status = open_input(run, "communication.json", &out->input, &members, &out->has_input, err);
	for (i = 0; !status && good && i < members.len; i++)
		good = add_op(run, out, members.at[i]);
	mp_vec_release(&members);
	if (status)
		return status;
	if (!good)
		return mp_err_nomem(err, 0);
	return open_input(run, "communication_matrix.json", &out->matrix_input, &out->matrix,
			  &out->has_matrix, err);
}

mp_status cur_communication_load(struct cur_run *run, struct cur_communication *out, mp_err *err)
{
	mp_status status;

	*out = (struct cur_communication){0};
	MP_TRY(cur_load_steps(run, err));
	status = load_all(run, out, err);
	if (status)
		cur_communication_release(out);
	return status;
}

void cur_communication_release(struct cur_communication *communication)
{
	mp_input_close(&communication->input);
	mp_input_close(&communication->matrix_input);
	mp_vec_release(&communication->ops);
	mp_vec_release(&communication->matrix);
	mp_vec_release(&communication->steps);
	mp_map64_release(&communication->by_name);
}

/* ---- the file ---- */

struct output {
	struct cur_run *run;
	const struct cur_communication *all;
	struct mp_out *out;
	struct mp_buf buf;
};

/* Operators by step, each step in file order: places in all->ops. */
struct by_step {
	uint32_t *first; /* n_steps + 1 */
	uint32_t *ops;
};

static bool sort_by_step(const struct cur_communication *all, struct by_step *out)
{
	size_t n = all->steps.len, i;

	out->first = mp_calloc(n + 2, sizeof(*out->first));
	out->ops = mp_calloc(all->ops.len + 1, sizeof(*out->ops));
	if (!out->first || !out->ops)
		return false;
	for (i = 0; i < all->ops.len; i++)
		if (all->ops.at[i].step != UINT32_MAX)
			out->first[all->ops.at[i].step + 2]++;
	for (i = 2; i < n + 2; i++)
		out->first[i] += out->first[i - 1];
	for (i = 0; i < all->ops.len; i++)
		if (all->ops.at[i].step != UINT32_MAX)
			out->ops[out->first[all->ops.at[i].step + 1]++] = (uint32_t)i;
	return true;
}

static mp_status put_group(struct output *output, const struct by_step *order, uint32_t step, bool p2p,
			   mp_err *err)
{
	bool first = true;
	uint32_t i;

	mp_out_str(output->out, p2p ? "\"p2p\": {" : "\"collective\": {");
	for (i = order->first[step]; i < order->first[step + 1]; i++) {
		const struct cur_communication_op *op = &output->all->ops.at[order->ops[i]];

		if (op->p2p != p2p)
			continue;
		mp_out_str(output->out, first ? "\"" : ", \"");
		mp_out_write(output->out, op->text.key.text, op->text.key.len);
		mp_out_str(output->out, "\": ");
		mp_out_write(output->out, op->text.value.text, op->text.value.len);
		first = false;
	}
	if (!first) {
		mp_buf_clear(&output->buf);
		MP_TRY(cur_communication_total(output->run, output->all, step, p2p, &output->buf, err));
		mp_out_str(output->out, ", \"Total Op Info\": ");
		mp_out_write(output->out, output->buf.data, output->buf.len);
	}
	mp_out_str(output->out, "}");
	return MINDPROF_OK;
}

static mp_status put_steps(struct output *output, const struct by_step *order, mp_err *err)
{
	const struct cur_communication *all = output->all;
	uint32_t i;

	for (i = 0; i < all->steps.len; i++) {
		mp_out_str(output->out, i ? ", \"step" : "{\"step");
		mp_buf_clear(&output->buf);
		mp_json_escape(&output->buf, all->steps.at[i].text, all->steps.at[i].len);
		if (output->buf.len >= 2)
			mp_out_write(output->out, output->buf.data + 1, output->buf.len - 1);
		mp_out_str(output->out, ": {");
		MP_TRY(put_group(output, order, i, true, err));
		mp_out_str(output->out, ", ");
		MP_TRY(put_group(output, order, i, false, err));
		mp_out_str(output->out, "}");
	}
	mp_out_str(output->out, "}");
	return output->buf.failed ? mp_err_nomem(err, 0) : MINDPROF_OK;
}

static mp_status write_communication(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	struct cur_communication all;
	struct output output = {.run = run, .all = &all, .out = out};
	struct by_step order = {0};
	mp_status status;

	MP_TRY(cur_load_device(run, err));
	MP_TRY(cur_communication_load(run, &all, err));
	if (!all.has_input && (all.has_matrix || run->device.has_layer[CUR_LAYER_COMMUNICATION]))
		mp_store_note(run->store, MP_PROBLEM, "no-communication",
			      run->analyze.fd >= 0 ? run->analyze.path : run->prof.path, -1,
			      "there was communication, but analyze/communication.json is missing or empty");
	mp_buf_init(&output.buf, SIZE_MAX / 8);
	status = MINDPROF_OK;
	if (all.has_input && !all.lost)
		status = sort_by_step(&all, &order) ? put_steps(&output, &order, err) : mp_err_nomem(err, 0);
	mp_free(order.first);
	mp_free(order.ops);
	mp_buf_release(&output.buf);
	cur_communication_release(&all);
	return status;
}

static bool wanted(const struct cur_run *run)
{
	return run->params.npu;
}

const struct cur_output cur_communication_json = {
	.name = "communication.json",
	.about = "Time and bandwidth of communication operators by step, with totals.",
	.wanted = wanted,
	.write = write_communication,
	.original_needs = CUR_NEEDS_TIMELINE,
};
