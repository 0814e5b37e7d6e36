/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a record of op_range is called and what it is: display names by the original's rules, class,
 * details. Input: a record body. Output: string and detail ids. Document: docs/formats/framework.md.
 */
#include "base/json_out.h"
#include "base/num.h"
#include "readers/rd_op_range.h"

#include "base/banned.h"

#define FIELD_TYPES 18u /* types are below this in both eras */
#define STEP_MARK "ProfilerStep#"

struct fields {
	struct mp_str text[FIELD_TYPES]; /* by type; "" = absent */
	uint8_t faults;
};

static struct mp_str valid_text(const uint8_t *at, uint32_t len, uint8_t *faults)
{
	if (mp_utf8_valid_prefix((const char *)at, len) == len)
		return (struct mp_str){(const char *)at, len};
	*faults |= 1u << OP_RANGE_UTF8;
	return (struct mp_str){"N/A", 3};
}

/* Unknown types are skipped, the last one of a type wins; a cut ends the list. */
static void split_fields(const uint8_t *body, uint32_t len, uint32_t at, struct fields *out)
{
	for (unsigned i = 0; i < FIELD_TYPES; i++)
		out->text[i] = (struct mp_str){"", 0};
	out->faults = 0;
	while (at < len) {
		uint16_t type = 0;
		uint32_t field_len = 0;

		if (len - at >= MP_FWK_HEAD_BYTES) {
			type = op_range_u16(body + at);
			field_len = op_range_u32(body + at + 2);
		}
		if (len - at < MP_FWK_HEAD_BYTES || field_len > len - at - MP_FWK_HEAD_BYTES) {
			out->faults |= 1u << OP_RANGE_FIELD;
			return;
		}
		at += MP_FWK_HEAD_BYTES;
		if (type < FIELD_TYPES)
			out->text[type] = valid_text(body + at, field_len, &out->faults);
		at += field_len;
	}
}

static const char *name_of_index(const char *const *names, unsigned n, unsigned index, uint8_t *faults)
{
	if (index < n)
		return names[index];
	*faults |= 1u << OP_RANGE_INDEX;
	return "Default";
}

static void add_text(struct mp_buf *buf, struct mp_str text)
{
	mp_buf_add(buf, text.text, text.len);
}

static bool holds(const struct mp_buf *buf, const char *word)
{
	return buf->len && memmem(buf->data, buf->len, word, strlen(word)) != NULL;
}

/* Class and step number by the display name, as the original's analysis finds them. */
static void classify(const struct mp_buf *buf, struct op_range_name *out)
{
	const char *mark = buf->len ? memmem(buf->data, buf->len, STEP_MARK, sizeof(STEP_MARK) - 1) : NULL;

	out->cls = MP_CLASS_RANGE;
	out->step = -1;
	if (mark) {
		const char *number = (const char *)memrchr(buf->data, '#', buf->len) + 1;
		int64_t step;

		out->cls = MP_CLASS_STEP;
		if (mp_num_parse_i64(number, (size_t)(buf->data + buf->len - number), &step) && step >= 0)
			out->step = step;
	} else if (holds(buf, "KernelLaunch") || holds(buf, "LaunchTask")) {
		out->cls = MP_CLASS_LAUNCH;
	} else if (buf->len >= 9 && memcmp(buf->data, "Dataset::", 9) == 0) {
		out->cls = MP_CLASS_DATASET;
	}
}

static bool intern(struct mp_store *store, struct mp_buf *buf, struct mp_detail *detail,
		   struct op_range_name *out)
{
	if (buf->failed != MINDPROF_OK || detail->type == MP_STR_NONE || detail->category == MP_STR_NONE ||
	    detail->shapes == MP_STR_NONE || detail->dtypes == MP_STR_NONE || detail->args == MP_STR_NONE)
		return false;
	out->name = mp_strtab_add(mp_store_strings(store), mp_buf_str(buf), buf->len);
	out->detail = mp_store_detail(store, detail);
	return out->name != MP_STR_NONE && out->detail != UINT32_MAX;
}

static uint32_t string_of(struct mp_store *store, struct mp_str text)
{
	return text.len ? mp_strtab_add(mp_store_strings(store), text.text, text.len) : MP_STR_EMPTY;
}

static bool compose_27(struct mp_store *store, const uint8_t *body, uint32_t len, struct mp_buf *buf,
		       struct op_range_name *out)
{
	struct mp_detail detail = {.stream = -1};
	struct mp_fwk_op_range record;
	struct fields fields;
	const struct mp_str *text = fields.text;
	const char *module, *event;

	memcpy(&record, body, sizeof(record));
	split_fields(body, len, sizeof(record), &fields);
	module = name_of_index(mp_fwk_module_names, MP_FWK_MODULES, record.module, &fields.faults);
	event = name_of_index(mp_fwk_event_names, MP_FWK_EVENTS, record.event, &fields.faults);
	mp_buf_clear(buf);
	if (record.is_stack) {
		add_text(buf, text[MP_FWK_NAME]);
		detail.category = mp_store_string(store, MP_FWK_STACK_CATEGORY);
	} else if (record.is_graph_data) {
		add_text(buf, text[MP_FWK_MODULE_GRAPH]);
		mp_buf_add_str(buf, "::");
		add_text(buf, text[MP_FWK_EVENT_GRAPH]);
		mp_buf_add_str(buf, "::");
		add_text(buf, text[MP_FWK_NAME]);
		detail.type = string_of(store, text[MP_FWK_CUSTOM_INFO]);
	} else if (record.is_stage) {
		mp_buf_add_str(
			buf, name_of_index(mp_fwk_stage_names, MP_FWK_STAGES, record.stage, &fields.faults));
	} else if (text[MP_FWK_NAME].len == 4 && memcmp(text[MP_FWK_NAME].text, MP_FWK_FLOW_NAME, 4) == 0) {
		add_text(buf, text[MP_FWK_FULL_NAME]);
		out->is_flow = 1;
	} else {
		mp_buf_printf(buf, "%s::%s::", module, event);
		add_text(buf, text[MP_FWK_FULL_NAME]);
	}
	classify(buf, out);
	if (record.is_stack) {
		out->cls = MP_CLASS_PYTHON;
		out->step = -1;
	}
	if (out->cls == MP_CLASS_LAUNCH)
		detail.type = string_of(store, text[MP_FWK_NAME]);
	out->is_stack = record.is_stack != 0;
	out->faults = fields.faults;
	return intern(store, buf, &detail, out);
}

/* {"Call stack": ..., ...} of what a 2.3 record has, '|' of the stack as CR LF; 0 when it has none. */
static uint32_t args_23(struct mp_store *store, const struct mp_str *text, struct mp_buf *buf)
{
	static const struct {
		uint8_t field;
		const char *key;
	} keys[] = {{MP_FWK_23_STACK, "\"Call stack\": "},
		    {MP_FWK_23_MODULE_HIERARCHY, "\"Module Hierarchy\": "}};
	struct mp_buf stack;

	mp_buf_clear(buf);
	mp_buf_init(&stack, buf->max);
	for (size_t i = 0; i < MP_COUNT(keys); i++) {
		struct mp_str value = text[keys[i].field];

		if (!value.len)
			continue;
		mp_buf_clear(&stack);
		for (size_t k = 0; k < value.len; k++)
			if (value.text[k] == '|')
				mp_buf_add_str(&stack, "\r\n");
			else
				mp_buf_add_char(&stack, value.text[k]);
		mp_buf_add_str(buf, buf->len ? ", " : "{");
		mp_buf_add_str(buf, keys[i].key);
		mp_json_escape(buf, mp_buf_str(&stack), stack.len);
		if (stack.failed)
			buf->failed = stack.failed;
	}
	mp_buf_release(&stack);
	if (buf->len)
		mp_buf_add_char(buf, '}');
	return buf->failed ? MP_STR_NONE : string_of(store, (struct mp_str){mp_buf_str(buf), buf->len});
}

static bool compose_23(struct mp_store *store, enum mp_fwk_form form, const uint8_t *body, uint32_t len,
		       struct mp_buf *buf, struct op_range_name *out)
{
	struct mp_detail detail = {.stream = -1};
	struct fields fields;
	const struct mp_str *text = fields.text;

	split_fields(body, len, mp_fwk_forms[form].fixed_bytes, &fields);
	detail.dtypes = string_of(store, text[MP_FWK_23_INPUT_DTYPES]);
	detail.shapes = string_of(store, text[MP_FWK_23_INPUT_SHAPES]);
	detail.args = args_23(store, text, buf);
	mp_buf_clear(buf);
	add_text(buf, text[MP_FWK_23_NAME]);
	out->is_flow = buf->len == 4 && memcmp(buf->data, MP_FWK_FLOW_NAME, 4) == 0;
	classify(buf, out);
	out->is_stack = 0;
	out->faults = fields.faults;
	return intern(store, buf, &detail, out);
}

bool op_range_name_compose(struct mp_store *store, enum mp_fwk_form form, const uint8_t *body, uint32_t len,
			   struct mp_buf *buf, struct op_range_name *out)
{
	memset(out, 0, sizeof(*out));
	if (!(form == MP_FWK_27 ? compose_27(store, body, len, buf, out)
				: compose_23(store, form, body, len, buf, out)))
		return false;
	out->is_special = out->is_flow || out->step >= 0 || out->faults;
	return true;
}
