/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For reader tests: events of one process of a trace_view.json that the original wrote, and the
 * events of one process of a store, both as plain arrays that can be sorted and compared.
 */
#ifndef GOLDEN_TRACE_H
#define GOLDEN_TRACE_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_in.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/vec.h"
#include "readers/readers.h"

struct flat_event {
	char phase; /* X, i, s, f */
	char *name; /* owned */
	int64_t tid, ts_ns, dur_ns;
	char *args;     /* owned; raw JSON text, "" = none */
	char *category; /* owned; of a store */
	uint64_t flow_id;
};
struct flat_events {
	struct flat_event *at;
	size_t len, cap;
};

static void flat_add(struct flat_events *list, struct flat_event event)
{
	assert_true(mp_vec_push(list, event));
}

static void MP_UNUSED flat_release(struct flat_events *list)
{
	for (size_t i = 0; i < list->len; i++) {
		mp_free(list->at[i].name);
		mp_free(list->at[i].args);
		mp_free(list->at[i].category);
	}
	mp_vec_release(list);
}

static int64_t flat_number(const struct mp_json *json, int scale)
{
	int64_t value = 0;

	assert_true(mp_num_parse_scaled(json->text, json->len, scale, &value));
	return value;
}

/* One event object; false when it belongs to another process or is metadata. */
static bool flat_parse_event(struct mp_json *json, int64_t wanted_pid, struct flat_event *out)
{
	enum mp_json_type type;
	struct mp_buf buf;
	int64_t pid = -1;

	mp_buf_init(&buf, 1 << 20);
	memset(out, 0, sizeof(*out));
	out->args = mp_strdup("");
	while ((type = mp_json_next(json)) == MP_JSON_KEY) {
		char key[32];
		struct mp_json_str text;

		snprintf(key, sizeof(key), "%.*s", (int)json->len, json->text);
		type = mp_json_next(json);
		if (type == MP_JSON_OBJECT) {
			assert_true(mp_json_skip(json, type));
			mp_free(out->args);
			out->args = mp_strndup(json->text, json->len);
		} else if (strcmp(key, "name") == 0) {
			text = mp_json_string(json, &buf);
			out->name = mp_strndup(text.text, text.len);
		} else if (strcmp(key, "ph") == 0) {
			out->phase = json->text[0];
		} else if (strcmp(key, "ts") == 0) {
			out->ts_ns = flat_number(json, 3);
		} else if (strcmp(key, "dur") == 0) {
			out->dur_ns = flat_number(json, 3);
		} else if (strcmp(key, "pid") == 0) {
			pid = flat_number(json, 0);
		} else if (strcmp(key, "tid") == 0) {
			out->tid = flat_number(json, 0);
		} else if (strcmp(key, "id") == 0) {
			out->flow_id = (uint64_t)flat_number(json, 0);
		}
	}
	assert_int_equal(type, MP_JSON_OBJECT_END);
	mp_buf_release(&buf);
	if (pid == wanted_pid && out->phase != 'M')
		return true;
	mp_free(out->name);
	mp_free(out->args);
	return false;
}

/* Events of `pid` in a file that holds one bare array. */
static struct flat_events MP_UNUSED flat_load(const char *path, int64_t pid)
{
	struct flat_events list = {0};
	struct mp_file file;
	struct mp_json json;
	struct flat_event event;

	assert_int_equal(mp_file_open(path, &file, NULL), MINDPROF_OK);
	mp_json_init(&json, file.data, file.size);
	assert_int_equal(mp_json_next(&json), MP_JSON_ARRAY);
	while (mp_json_next(&json) == MP_JSON_OBJECT)
		if (flat_parse_event(&json, pid, &event))
			flat_add(&list, event);
	mp_file_close(&file);
	return list;
}

/* Ranges, instants and flows of process `pid` in a store. */
static struct flat_events MP_UNUSED flat_of_store(const struct mp_store *store, int64_t pid)
{
	struct flat_events list = {0};

	for (size_t b = 0; b < mp_store_n_blocks(store); b++) {
		const struct mp_block *block = mp_store_get_block(store, b);

		for (uint32_t i = 0; i < block->n; i++) {
			struct mp_event e = mp_block_event(block, i);
			struct mp_track track = mp_store_get_track(store, e.track);
			struct mp_detail detail = mp_store_get_detail(store, e.detail);
			struct flat_event flat = {.tid = track.tid, .ts_ns = e.ts_ns};

			if (mp_store_get_process(store, track.process).pid != pid)
				continue;
			if (block->kind == MP_KIND_RANGE)
				flat.phase = 'X';
			else if (block->kind == MP_KIND_MARK)
				flat.phase = 'i';
			else if (block->kind == MP_KIND_FLOW)
				flat.phase = e.cls == MP_FLOW_BEGIN ? 's' : 'f';
			else
				continue;
			flat.dur_ns = flat.phase == 'X' ? e.a : 0;
			flat.flow_id = block->kind == MP_KIND_FLOW ? (uint64_t)e.a : 0;
			flat.name = mp_strdup(mp_store_text(store, e.name).text);
			flat.category = mp_strdup(mp_store_text(store, detail.category).text);
			flat.args = mp_strdup(mp_store_text(store, detail.args).text);
			flat_add(&list, flat);
		}
	}
	return list;
}

static int flat_compare(const void *left, const void *right)
{
	const struct flat_event *a = left, *b = right;
	int order = a->phase - b->phase;

	if (!order)
		order = strcmp(a->name, b->name);
	if (!order)
		order = a->tid < b->tid ? -1 : a->tid > b->tid;
	if (!order)
		order = a->ts_ns < b->ts_ns ? -1 : a->ts_ns > b->ts_ns;
	if (!order)
		order = a->dur_ns < b->dur_ns ? -1 : a->dur_ns > b->dur_ns;
	return order;
}

static void MP_UNUSED flat_sort(struct flat_events *list)
{
	if (list->len)
		qsort(list->at, list->len, sizeof(*list->at), flat_compare);
}

/* Keeps the events of one phase. */
static void MP_UNUSED flat_keep(struct flat_events *list, char phase)
{
	size_t n = 0;

	for (size_t i = 0; i < list->len; i++) {
		if (list->at[i].phase == phase) {
			list->at[n++] = list->at[i];
		} else {
			mp_free(list->at[i].name);
			mp_free(list->at[i].args);
			mp_free(list->at[i].category);
		}
	}
	list->len = n;
}

/* ---- running a reader ---- */

/* Reads a directory (or one file of it) into a new store; the reader must succeed unless status is given. */
static struct mp_store *read_with(const struct mp_reader *reader, const char *dir_path, const char *name,
				  struct mp_pool *pool, mp_status *status)
{
	struct mp_ctx ctx = {.pool = pool, .max_unpacked = 1u << 30};
	struct mp_source source = {.name = name};
	struct mp_store *store = NULL;
	struct mp_dir dir;
	mp_err err = {0};
	char text[1024];
	mp_status result;

	assert_int_equal(mp_dir_open(dir_path, &dir, &err), MINDPROF_OK);
	assert_int_equal(mp_store_new(NULL, &store, &err), MINDPROF_OK);
	source.dir = &dir;
	result = reader->read(&ctx, &source, store, &err);
	if (status)
		*status = result;
	else if (result != MINDPROF_OK)
		fail_msg("%s: %s", dir_path, mindprof_error_text(&err, text, sizeof(text)));
	mp_dir_close(&dir);
	return store;
}

/* The number of notes with this code; *out (may be NULL) is one of them, zero when there is none. */
static size_t notes_of(const struct mp_store *store, const char *code, struct mp_note *out)
{
	size_t n = 0;

	if (out)
		*out = (struct mp_note){.byte_offset = -1};
	for (size_t i = 0; i < mp_store_n_notes(store); i++) {
		struct mp_note note = mp_store_get_note(store, i);

		if (strcmp(mp_store_text(store, note.code).text, code) == 0) {
			n++;
			if (out)
				*out = note;
		}
	}
	return n;
}

/*
 * Reads once per allocation that the reader makes, with that one failing: it must not crash or leak, and when it
 * says that all is well, either all events are there or a note tells that some are not.
 */
static void MP_UNUSED read_without_memory(const struct mp_reader *reader, const char *path, uint64_t n_ranges,
					  size_t n_notes)
{
	struct mp_ctx ctx = {0};
	uint64_t n = 0, made;

	do {
		struct mp_store *store = NULL;
		struct mp_dir dir;
		mp_status status;

		assert_int_equal(mp_dir_open(path, &dir, NULL), MINDPROF_OK);
		assert_int_equal(mp_store_new(NULL, &store, NULL), MINDPROF_OK);
		mp_mem_fail_after(n);
		status = reader->read(&ctx, &(struct mp_source){.dir = &dir}, store, NULL);
		made = mp_mem_fail_after(UINT64_MAX);
		if (status == MINDPROF_OK && mp_store_n_events(store, MP_KIND_RANGE) != n_ranges)
			assert_true(mp_store_n_notes(store) > n_notes);
		if (made <= n) { /* none failed */
			assert_int_equal(status, MINDPROF_OK);
			assert_int_equal(mp_store_n_events(store, MP_KIND_RANGE), n_ranges);
			assert_int_equal(mp_store_n_notes(store), n_notes);
		}
		mp_store_free(store);
		mp_dir_close(&dir);
	} while (made > n++);
	assert_true(n > 20);
}

static void MP_UNUSED print_notes(const struct mp_store *store)
{
	for (size_t i = 0; i < mp_store_n_notes(store); i++) {
		struct mp_note note = mp_store_get_note(store, i);

		printf("note %d %s %s byte %lld: %s\n", (int)note.severity,
		       mp_store_text(store, note.code).text, mp_store_text(store, note.path).text,
		       (long long)note.byte_offset, mp_store_text(store, note.text).text);
	}
}

#endif
