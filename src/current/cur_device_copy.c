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

static void insert_launch(struct copy *copy, const struct cur_device_event *event)
{
	struct mp_str name = mp_store_text(copy->run->store, copy->run->host.events.at[event->parent].name);

	copy->name.len = 0;
	mp_json_escape(&copy->name, name.text, name.len);
	mp_out_str(copy->out, event->args_empty ? "\"mindspore_op\": " : ", \"mindspore_op\": ");
	mp_out_write(copy->out, copy->name.data, copy->name.len);
}

/* The events of one file; *next is the first event of it in run->device.events, moved behind the last. */
static void copy_file(struct copy *copy, size_t file_index, size_t *next)
{
	const struct cur_device *device = &copy->run->device;
	const struct cur_device_file *file = &device->files.at[file_index];
	uint64_t at = file->array_begin, forgotten = file->array_begin;

	for (; *next < device->events.len && device->events.at[*next].file == file_index; ++*next) {
		const struct cur_device_event *event = &device->events.at[*next];

		if (event->parent == CUR_NO_PARENT || !event->args_end)
			continue;
		copy_bytes(copy, &file->input, at, event->args_end);
		insert_launch(copy, event);
		at = event->args_end;
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
