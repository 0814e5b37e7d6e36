/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout of the framework's TLV files: FRAMEWORK/mindspore.op_range (2.7) and
 * FRAMEWORK/op_range_{rank} (2.3). Constants, packed structs and name tables only.
 * docs/formats/framework.md is the specification. All numbers are little-endian.
 */
#ifndef MP_FMT_FRAMEWORK_H
#define MP_FMT_FRAMEWORK_H

#include <stddef.h>
#include <stdint.h>

#define MP_FWK_DIR "FRAMEWORK"
#define MP_FWK_OP_RANGE_FILE "mindspore.op_range"
#define MP_FWK_OP_RANGE_23_PREFIX "op_range_" /* then the rank */

/* In the rank directory itself: parameters of the run, what the user added. */
#define MP_FWK_INFO_PREFIX "profiler_info_"
#define MP_FWK_INFO_SUFFIX ".json"
#define MP_FWK_METADATA_FILE "profiler_metadata.json"

/* Records and fields begin with this: u16 type, u32 length of what follows. */
#define MP_FWK_HEAD_BYTES 6u

/* Head and value of one record. A value may have almost 4 GiB, so the sum needs 64 bits. */
static inline uint64_t mp_fwk_record_bytes(uint32_t value_bytes)
{
	return (uint64_t)MP_FWK_HEAD_BYTES + value_bytes;
}

#define MP_FWK_NO_FLOW UINT64_MAX
#define MP_FWK_FLOW_NAME "flow"
/* A start above this is Unix nanoseconds already, not a counter. */
#define MP_FWK_UNIX_NS_MIN 1000000000000000000ull

/* 2.7: what a record begins with. */
struct __attribute__((packed)) mp_fwk_op_range {
	uint64_t thread_id; /* of the kernel */
	uint64_t flow_id;   /* MP_FWK_NO_FLOW = none; 0 in stack records */
	uint64_t step;
	uint64_t start_tick, end_tick;
	int32_t process_id; /* the thread id again: not used */
	uint16_t module, event, stage;
	int8_t level;
	uint8_t is_graph_data, is_stage, is_stack;
};
_Static_assert(sizeof(struct mp_fwk_op_range) == 54, "2.7 record");
_Static_assert(offsetof(struct mp_fwk_op_range, module) == 44, "2.7 record");

/* 2.3: the longest form; older files end before `step` or before `flow_id`, later ones add a flag. */
struct __attribute__((packed)) mp_fwk_op_range_23 {
	int64_t start_tick, end_tick;
	int64_t sequence_number;
	uint64_t process_id;
	uint64_t start_thread_id, end_thread_id, forward_thread_id;
	uint64_t flow_id;
	uint64_t step;
	uint8_t flags[2];
};
_Static_assert(sizeof(struct mp_fwk_op_range_23) == 74, "2.3 record");
_Static_assert(offsetof(struct mp_fwk_op_range_23, flow_id) == 56, "2.3 record");

/* Inner fields, 2.7. */
enum mp_fwk_field {
	MP_FWK_NAME = 13,
	MP_FWK_FULL_NAME = 14,
	MP_FWK_MODULE_GRAPH = 15,
	MP_FWK_EVENT_GRAPH = 16,
	MP_FWK_CUSTOM_INFO = 17,
};

/* Inner fields, 2.3. */
enum mp_fwk_field_23 {
	MP_FWK_23_NAME = 3,
	MP_FWK_23_INPUT_DTYPES = 4,
	MP_FWK_23_INPUT_SHAPES = 5,
	MP_FWK_23_STACK = 6,
	MP_FWK_23_MODULE_HIERARCHY = 7,
	MP_FWK_23_EXTRA = 8,
};

/* The forms of the fixed part, in the order in which a reader tries them. */
enum mp_fwk_form { MP_FWK_27, MP_FWK_23_73, MP_FWK_23_74, MP_FWK_23_65, MP_FWK_23_57, MP_FWK_FORMS };

struct mp_fwk_form_info {
	uint8_t fixed_bytes;
	uint8_t first_field; /* type of the first inner field */
	uint8_t has_flow, has_step;
};
extern const struct mp_fwk_form_info mp_fwk_forms[MP_FWK_FORMS];

/* Names of the numbers in a 2.7 record, as its Python reader prints them; an unknown number is "Default". */
#define MP_FWK_MODULES 8
#define MP_FWK_STAGES 10
#define MP_FWK_EVENTS 69
extern const char *const mp_fwk_module_names[MP_FWK_MODULES];
extern const char *const mp_fwk_stage_names[MP_FWK_STAGES];
extern const char *const mp_fwk_event_names[MP_FWK_EVENTS];

#define MP_FWK_MODULE_KERNEL 4
#define MP_FWK_EVENT_KERNEL_LAUNCH 4

/* How the original shows this layer in a trace. */
#define MP_FWK_LAYER_PID 1
#define MP_FWK_LAYER_NAME "MindSpore"
#define MP_FWK_LAYER_LABELS "CPU"
#define MP_FWK_STACK_CATEGORY "python_function"
#define MP_FWK_SELF_FLOW "mindspore_to_self"

/* Clock of CPU-only runs in the original: 100 MHz, counted from 0. */
#define MP_FWK_DEFAULT_MHZ 100.0

#endif
