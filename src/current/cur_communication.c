/* SPDX-License-Identifier: Apache-2.0 */
/*
 * communication.json. Input: PROF_x/analyze/communication.json, steps. Output: its operators by step and
 * kind, with a total of each (analysis-current.md section 8.4).
 */
#include <string.h>

#include "current/cur_communication.h"
#include "current/cur_outputs.h"

#include "base/banned.h"

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
static bool read_start(struct cur_run *run, struct cur_communication_op *op)
{
	cur_members info = {0}, times = {0};
	const struct mp_str *found, *start;
	int64_t fault;
	bool good = cur_members_read(run, op->text.value.text, op->text.value.len, &info, &fault);

	found = good ? cur_members_value(&info, "Communication Time Info") : NULL;
	if (found)
		good = cur_members_read(run, found->text, found->len, &times, &fault);
	start = good ? cur_members_value(&times, "Start Timestamp(us)") : NULL;
	if (start)
		op->has_start = parse_start(*start, &op->start_ns);
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
	if (!read_start(run, &op))
		return false;
	if (!op.has_start) {
		mp_store_note(run->store, MP_PROBLEM, "unstarted-op", out->input.file.file.path,
			      text.value.text - out->input.text.text,
			      "communication operator '%.*s' has no start", (int)MP_MIN(text.key.len, 100),
			      text.key.text);
		out->lost |= out->steps.len > 1 && !cur_corrects(run, CUR_FIX_UNSTARTED_OP);
	}
	op.step = step_of(run, out, &op);
	return mp_map64_put(&out->by_name, mp_hash_bytes(text.key.text, text.key.len, 0), out->ops.len) &&
	       mp_vec_push(&out->ops, op);
}

/* One with NaN is copied. False when memory is out. */
static bool take_text(struct cur_run *run, struct cur_communication_input *input)
{
	int64_t first;

	input->text = (struct mp_str){(const char *)input->file.data, input->file.size};
	cur_json_without_nan(input->text.text, input->text.len, &input->clean, &first);
	if (first < 0)
		return true;
	mp_store_note(run->store, MP_PROBLEM, "no-number", input->file.file.path, first,
		      "NaN and Infinity are no JSON, null is written for them");
	input->text = (struct mp_str){input->clean.data, input->clean.len};
	return !input->clean.failed;
}

/* An absent file is no fault: there was no communication. */
static mp_status open_input(struct cur_run *run, const char *name, struct cur_communication_input *input,
			    cur_members *members, bool *found, mp_err *err)
{
	mp_err failure = {0};
	mp_status status;
	int64_t fault;

	*found = false;
	mp_buf_init(&input->clean, SIZE_MAX / 8);
	if (run->analyze.fd < 0)
		return MINDPROF_OK;
	status = mp_input_open_at(&run->analyze, name, run->ctx->max_unpacked, &input->file, &failure);
	if (status == MINDPROF_E_NOT_FOUND)
		return MINDPROF_OK;
	if (status)
		return cur_go_on_without(run, run->analyze.path, status, &failure, err);
	if (!take_text(run, input) ||
	    !cur_members_read(run, input->text.text, input->text.len, members, &fault))
		return mp_err_nomem(err, 0);
	if (fault >= 0) {
		mp_store_note(run->store, MP_PROBLEM, "bad-json", input->file.file.path, fault,
			      "no valid JSON here, the operators before are used");
		if (!cur_corrects(run, CUR_FIX_LOST_OUTPUTS))
			members->len = 0;
	}
	*found = members->len > 0;
	return MINDPROF_OK;
}

static mp_status load_ops(struct cur_run *run, struct cur_communication *out, mp_err *err)
{
	cur_members members = {0};
	mp_status status = open_input(run, "communication.json", &out->input, &members, &out->has_input, err);
	bool good = true;
	size_t i;

	for (i = 0; !status && good && i < members.len; i++)
		good = add_op(run, out, members.at[i]);
	mp_vec_release(&members);
	return status || good ? status : mp_err_nomem(err, 0);
}

/* The operators by step, each step in file order. */
static bool sort_by_step(struct cur_communication *all)
{
	size_t n = all->steps.len, i;

	all->first = mp_calloc(n + 2, sizeof(*all->first));
	all->by_step = mp_calloc(all->ops.len + 1, sizeof(*all->by_step));
	if (!all->first || !all->by_step)
		return false;
	for (i = 0; i < all->ops.len; i++)
		if (all->ops.at[i].step != UINT32_MAX)
			all->first[all->ops.at[i].step + 2]++;
	for (i = 2; i < n + 2; i++)
		all->first[i] += all->first[i - 1];
	for (i = 0; i < all->ops.len; i++)
		if (all->ops.at[i].step != UINT32_MAX)
			all->by_step[all->first[all->ops.at[i].step + 1]++] = (uint32_t)i;
	return true;
}

static mp_status load(struct cur_run *run, struct cur_communication *all, mp_err *err)
{
	if (!load_steps(run, all))
		return mp_err_nomem(err, sizeof(struct mp_str));
	MP_TRY(load_ops(run, all, err));
	if (!sort_by_step(all))
		return mp_err_nomem(err, all->ops.len * sizeof(uint32_t));
	return open_input(run, "communication_matrix.json", &all->matrix_input, &all->matrix,
			  &all->has_matrix, err);
}

mp_status cur_load_communication(struct cur_run *run, mp_err *err)
{
	struct cur_communication *all;
	mp_status status;

	if (run->communication)
		return MINDPROF_OK;
	MP_TRY(cur_load_steps(run, err));
	all = mp_calloc(1, sizeof(*all));
	if (!all)
		return mp_err_nomem(err, sizeof(*all));
	status = load(run, all, err);
	if (status)
		cur_communication_free(all);
	else
		run->communication = all;
	return status;
}

void cur_communication_free(struct cur_communication *communication)
{
	if (!communication)
		return;
	mp_input_close(&communication->input.file);
	mp_input_close(&communication->matrix_input.file);
	mp_buf_release(&communication->input.clean);
	mp_buf_release(&communication->matrix_input.clean);
	mp_vec_release(&communication->ops);
	mp_vec_release(&communication->matrix);
	mp_vec_release(&communication->steps);
	mp_map64_release(&communication->by_name);
	mp_free(communication->first);
	mp_free(communication->by_step);
	mp_free(communication);
}

mp_status cur_communication_put_step(struct mp_out *out, struct mp_str step, mp_err *err)
{
	struct mp_buf text;
	mp_status status;

	mp_buf_init(&text, SIZE_MAX / 8);
	mp_json_escape(&text, step.text, step.len);
	mp_out_str(out, "\"step");
	if (text.len >= 2)
		mp_out_write(out, text.data + 1, text.len - 1);
	mp_out_str(out, ": {");
	status = text.failed ? mp_err_nomem(err, step.len) : MINDPROF_OK;
	mp_buf_release(&text);
	return status;
}

/* ---- the file ---- */

struct output {
	struct cur_run *run;
	const struct cur_communication *all;
	struct mp_out *out;
	struct mp_buf buf;
};

static mp_status put_group(struct output *output, uint32_t step, bool p2p, mp_err *err)
{
	const struct cur_communication *all = output->all;
	bool first = true;
	uint32_t i;

	mp_out_str(output->out, p2p ? "\"p2p\": {" : "\"collective\": {");
	for (i = all->first[step]; i < all->first[step + 1]; i++) {
		const struct cur_communication_op *op = &all->ops.at[all->by_step[i]];

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
		MP_TRY(cur_communication_total(output->run, all, step, p2p, &output->buf, err));
		mp_out_str(output->out, ", \"Total Op Info\": ");
		mp_out_write(output->out, output->buf.data, output->buf.len);
	}
	mp_out_str(output->out, "}");
	return MINDPROF_OK;
}

static mp_status put_steps(struct output *output, mp_err *err)
{
	const struct cur_communication *all = output->all;
	uint32_t i;

	mp_out_str(output->out, "{");
	for (i = 0; i < all->steps.len; i++) {
		if (i)
			mp_out_str(output->out, ", ");
		MP_TRY(cur_communication_put_step(output->out, all->steps.at[i], err));
		MP_TRY(put_group(output, i, true, err));
		mp_out_str(output->out, ", ");
		MP_TRY(put_group(output, i, false, err));
		mp_out_str(output->out, "}");
	}
	mp_out_str(output->out, "}");
	return MINDPROF_OK;
}

static mp_status write_communication(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	struct output output = {.run = run, .out = out};
	mp_status status;

	MP_TRY(cur_load_device(run, err));
	MP_TRY(cur_load_communication(run, err));
	output.all = run->communication;
	if (!output.all->has_input &&
	    (output.all->has_matrix || run->device.has_layer[CUR_LAYER_COMMUNICATION]))
		mp_store_note(run->store, MP_PROBLEM, "no-communication",
			      run->analyze.fd >= 0 ? run->analyze.path : run->prof.path, -1,
			      "there was communication, but analyze/communication.json is missing or empty");
	if (!output.all->has_input || output.all->lost)
		return MINDPROF_OK;
	mp_buf_init(&output.buf, SIZE_MAX / 8);
	status = put_steps(&output, err);
	mp_buf_release(&output.buf);
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
