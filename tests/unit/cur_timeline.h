/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of the timeline made by hand: records of op_range, the clock files of the device tool. */
#ifndef MP_TEST_CUR_TIMELINE_H
#define MP_TEST_CUR_TIMELINE_H

#include "cur_rank.h"

#include "formats/fmt_framework.h"

#define OP_RANGE "FRAMEWORK/mindspore.op_range"
#define CPU_OPS "FRAMEWORK/cpu_op_execute_timestamp_0.txt"
#define HOST RANK_PROF "/host"
#define MSPROF "msprof_20250705072100000.json"

/* One record; what is 0 is the usual. */
struct range {
	uint64_t tid, start, end;
	uint64_t flow; /* 0 = none */
	uint16_t module, event;
	bool is_stack;
	const char *name, *full_name;
};

static struct mp_buf ranges;

static inline void put_field(struct mp_buf *body, uint16_t type, const char *text)
{
	uint32_t len = (uint32_t)strlen(text);

	mp_buf_add(body, &type, sizeof(type));
	mp_buf_add(body, &len, sizeof(len));
	mp_buf_add(body, text, len);
}

static inline void add_range(struct range at)
{
	struct mp_fwk_op_range record = {
		.thread_id = at.tid,
		.flow_id = at.flow ? at.flow : MP_FWK_NO_FLOW,
		.step = 1,
		.start_tick = at.start,
		.end_tick = at.end,
		.module = at.module,
		.event = at.event,
		.level = -1,
		.is_stack = at.is_stack,
	};
	struct mp_buf body;
	uint16_t type = 0;
	uint32_t len;

	mp_buf_init(&body, SIZE_MAX / 8);
	mp_buf_add(&body, &record, sizeof(record));
	put_field(&body, MP_FWK_NAME, at.name ? at.name : "op");
	put_field(&body, MP_FWK_FULL_NAME, at.full_name ? at.full_name : "op");
	put_field(&body, MP_FWK_MODULE_GRAPH, "");
	put_field(&body, MP_FWK_EVENT_GRAPH, "");
	len = (uint32_t)body.len;
	mp_buf_add(&ranges, &type, sizeof(type));
	mp_buf_add(&ranges, &len, sizeof(len));
	mp_buf_add(&ranges, body.data, body.len);
	mp_buf_release(&body);
}

/* ProfilerStep#<id> of thread 1. */
static inline void add_step(const char *id, uint64_t start, uint64_t end)
{
	char name[32];

	snprintf(name, sizeof(name), "ProfilerStep#%s", id);
	add_range((struct range){
		.tid = 1, .start = start, .end = end, .module = 5, .event = 53, .full_name = name});
}

/* Takes what was added. */
static inline void put_ranges(void)
{
	assert_int_equal(ranges.failed, MINDPROF_OK);
	rank_put_at(&rank, OP_RANGE, ranges.data ? ranges.data : "", ranges.len);
	mp_buf_clear(&ranges);
}

static inline void make_folder(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", rank.path, name);
	assert_int_equal(mkdir(path, 0750), 0);
}

static inline void put_text(const char *name, const char *text)
{
	rank_put_at(&rank, name, text, strlen(text));
}

/*
 * A clock by which ticks are nanoseconds: at 1000 MHz, (ticks - 1000) * 1000 / 1000 + diff, and diff is
 * clock_monotonic_raw + (collectionTimeBegin * 1000 - clockMonotonicRaw) = 1000 + 5000 - 5000.
 */
static const char clock_log[] = "[Host]\nclock_monotonic_raw: 1000\ncntvct: 1000\ncntvct_diff: 0\n";
static const char clock_info[] = "{\"CPU\": [{\"Id\": 0, \"Frequency\": \"1000.000000\"}]}";
static const char clock_start[] = "{\"collectionTimeBegin\": \"5\", \"clockMonotonicRaw\": \"5000\"}";

static inline int make_timeline(void **state)
{
	make(state);
	mp_buf_init(&ranges, SIZE_MAX / 8);
	make_folder("FRAMEWORK");
	make_folder(HOST);
	make_folder(RANK_PROF "/device_0");
	put_text(HOST "/host_start.log", clock_log);
	put_text(HOST "/info.json", clock_info);
	put_text(HOST "/start_info", clock_start);
	return 0;
}

static inline int drop_timeline(void **state)
{
	mp_buf_release(&ranges);
	return drop(state);
}

/* ---- what is written ---- */

static inline void expect_json(const char *text, size_t size)
{
	struct mp_json json;
	enum mp_json_type type;

	mp_json_init(&json, text, size);
	do
		type = mp_json_next(&json);
	while (type != MP_JSON_END && type != MP_JSON_ERROR);
	if (type == MP_JSON_ERROR)
		fail_msg("no valid JSON at byte %lld: %s", (long long)json.err_offset, json.err_text);
}

/* The trace with these corrections: valid JSON, or "" when it is not made. The caller frees. */
static inline char *trace_of(uint64_t corrections)
{
	size_t size;
	char *text;

	rank_open(&rank, corrections);
	text = rank_write(&rank, &cur_trace_view, &size);
	assert_int_equal(strlen(text), size);
	if (size)
		expect_json(text, size);
	return text;
}

/* How often a text is in the trace. */
static inline size_t count_in(const char *trace, const char *part)
{
	size_t n = 0;

	for (; (trace = strstr(trace, part)) != NULL; trace += strlen(part))
		n++;
	return n;
}

static inline void expect_in_trace(uint64_t corrections, const char *part, size_t n)
{
	char *trace = trace_of(corrections);

	if (count_in(trace, part) != n)
		fail_msg("%zu times and not %zu '%s' in %s", count_in(trace, part), n, part, trace);
	free(trace);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_timeline, drop_timeline)

#endif
