/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanner of msprof events (docs/formats/ascend-output.md): what a learned shape gives must be what
 * reading the event anew gives, and both must be what the JSON reader accepts. The input is an array of
 * events.
 */
#include "harness.h"

#include <string.h>

#include "current/cur_msprof_text.h"

static void same_text(struct mp_str a, struct mp_str b)
{
	assert(a.len == b.len && (!a.len || !memcmp(a.text, b.text, a.len)));
}

static void same_event(const struct cur_msprof_event *a, const struct cur_msprof_event *b)
{
	same_text(a->name, b->name);
	same_text(a->id, b->id);
	assert(a->phase == b->phase && a->has_pid == b->has_pid && a->has_ts == b->has_ts);
	assert(a->numeric_ts == b->numeric_ts && a->host_to_device == b->host_to_device);
	assert(a->pid == b->pid && a->tid == b->tid && a->ts_ns == b->ts_ns && a->dur_ns == b->dur_ns);
	assert(a->args == b->args && a->args_close == b->args_close && a->args_empty == b->args_empty);
	if (a->args)
		assert(*a->args == '{' && *a->args_close == '}' && a->args < a->args_close);
	if (a->phase == 'X')
		same_text(a->task_type, b->task_type);
}

static void must_be_json(const uint8_t *at, const uint8_t *behind)
{
	struct mp_json json;
	enum mp_json_type type;

	mp_json_init(&json, at, (size_t)(behind - at));
	while ((type = mp_json_next(&json)) != MP_JSON_END)
		assert(type != MP_JSON_ERROR);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cur_msprof_scanner learning, anew;
	const uint8_t *at = data, *end = data + size;
	struct cur_msprof_event event, again;

	cur_msprof_scanner_init(&learning);
	cur_msprof_scanner_init(&anew);
	while (at < end) {
		const uint8_t *fault = NULL, *fault_again = NULL, *behind, *behind_again;

		if (*at != '{') {
			at++;
			continue;
		}
		anew.shapes.credit = 0; /* learns nothing */
		behind = cur_msprof_scan(&learning, at, end, &event, &fault);
		behind_again = cur_msprof_scan(&anew, at, end, &again, &fault_again);
		assert(behind == behind_again && fault == fault_again);
		if (!behind) {
			assert(fault >= at && fault <= end);
			at++;
			continue;
		}
		same_event(&event, &again);
		must_be_json(at, behind);
		at = behind;
	}
	cur_msprof_scanner_release(&learning);
	cur_msprof_scanner_release(&anew);
	return 0;
}
