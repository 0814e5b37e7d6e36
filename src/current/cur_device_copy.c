/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of the msprof files as they are, but for "mindspore_op" in the args of kernels whose launch is
 * known. Input: run->device. Output: JSON text (analysis-current.md section 7.4, 5).
 */
#include <string.h>

#include "current/cur.h"

#include "base/banned.h"

#define FORGET_BYTES (8u << 20)

struct copy {
	struct cur_run *run;
	struct mp_out *out;
	struct mp_buf name; /* scratch */
};

static void copy_bytes(struct copy *copy, const struct mp_input *input, uint64_t from, uint64_t to)
{
	while (from < to) {
		uint64_t n = MP_MIN(to - from, (uint64_t)FORGET_BYTES);

		mp_out_write(copy->out, input->data + from, n);
		from += n;
	}
}

static void put_launch(struct copy *copy, const struct cur_device_event *event)
{
	struct mp_str name = mp_store_text(copy->run->store, copy->run->host.events.at[event->parent].name);

	copy->name.len = 0;
	mp_json_escape(&copy->name, name.text, name.len);
	mp_out_write(copy->out, copy->name.data, copy->name.len);
}

/* The bytes from `at` to the end of args with the launch in place of the one that is there, if so; returns
 * the '}'. */
static uint64_t replace_launch(struct copy *copy, const struct mp_input *input, uint64_t at,
			       const struct cur_device_event *event)
{
	struct mp_json json;
	enum mp_json_type type;
	bool is_named = false, is_empty = true;

	mp_json_init(&json, input->data + event->args_at, input->size - event->args_at);
	mp_json_next(&json);
	while ((type = mp_json_next(&json)) == MP_JSON_KEY) {
		bool is_name = mp_json_key_is(&json, "mindspore_op");
		uint64_t from, quotes;

		is_empty = false;
		type = mp_json_next(&json);
		if (type == MP_JSON_OBJECT || type == MP_JSON_ARRAY)
			mp_json_skip(&json, type);
		if (!is_name)
			continue;
		quotes = type == MP_JSON_STRING;
		from = (uint64_t)((const uint8_t *)json.text - input->data) - quotes;
		copy_bytes(copy, input, at, from);
		put_launch(copy, event);
		at = from + json.len + 2 * quotes;
		is_named = true;
	}
	copy_bytes(copy, input, at, (uint64_t)((const uint8_t *)json.at - 1 - input->data));
	if (!is_named) {
		mp_out_str(copy->out, is_empty ? "\"mindspore_op\": " : ", \"mindspore_op\": ");
		put_launch(copy, event);
	}
	return (uint64_t)((const uint8_t *)json.at - 1 - input->data);
}

/* The bytes from `at` to the end of args, and the launch; returns the '}'. */
static uint64_t insert_launch(struct copy *copy, const struct mp_input *input, uint64_t at,
			      const struct cur_device_event *event)
{
	if (event->args == CUR_ARGS_NAMED)
		return replace_launch(copy, input, at, event);
	copy_bytes(copy, input, at, event->args_at);
	mp_out_str(copy->out, event->args == CUR_ARGS_EMPTY ? "\"mindspore_op\": " : ", \"mindspore_op\": ");
	put_launch(copy, event);
	return event->args_at;
}

/* The events of one file; *next is the first event of it in run->device.events, moved behind the last. */
static void copy_file(struct copy *copy, size_t file_index, size_t *next)
{
	const struct cur_device *device = &copy->run->device;
	const struct cur_device_file *file = &device->files.at[file_index];
	uint64_t at = file->array_begin, forgotten = file->array_begin;

	for (; *next < device->events.len && device->events.at[*next].file == file_index; ++*next) {
		const struct cur_device_event *event = &device->events.at[*next];

		if (event->parent == CUR_NO_PARENT || !event->args_at)
			continue;
		at = insert_launch(copy, &file->input, at, event);
		if (at - forgotten > FORGET_BYTES && file->input.packing == MP_PACKING_NONE) {
			mp_file_forget(&file->input.file, forgotten, at - forgotten);
			forgotten = at;
		}
	}
	copy_bytes(copy, &file->input, at, file->array_end);
	if (file->input.packing == MP_PACKING_NONE)
		mp_file_forget(&file->input.file, forgotten, file->array_end - forgotten);
}

mp_status cur_device_copy(struct cur_run *run, struct mp_out *out, bool *first, mp_err *err)
{
	struct copy copy = {.run = run, .out = out};
	mp_status status = MINDPROF_OK;
	size_t i, next = 0;

	mp_buf_init(&copy.name, SIZE_MAX / 8);
	for (i = 0; i < run->device.files.len; i++) {
		if (run->device.files.at[i].array_end <= run->device.files.at[i].array_begin)
			continue;
		if (!*first)
			mp_out_str(out, ", ");
		*first = false;
		copy_file(&copy, i, &next);
	}
	if (copy.name.failed)
		status = mp_err_nomem(err, copy.name.len);
	mp_buf_release(&copy.name);
	return status;
}
