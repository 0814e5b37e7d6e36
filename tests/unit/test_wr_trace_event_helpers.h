/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the trace writer and the Chrome JSON reader: stores from a few lines, traces as
 * strings, and a check of the lanes that shares no code with the writer.
 */
#ifndef TEST_WR_TRACE_EVENT_HELPERS_H
#define TEST_WR_TRACE_EVENT_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "readers/readers.h"
#include "writers/writers.h"

/* ---- stores ---- */

static struct mp_store *new_store(void)
{
	struct mp_store *store = NULL;

	assert_int_equal(mp_store_new(NULL, &store, NULL), MINDPROF_OK);
	return store;
}

static uint32_t MP_UNUSED add_process(struct mp_store *store, int64_t pid, const char *name)
{
	struct mp_process process = {.pid = pid, .rank = -1, .name = mp_store_string(store, name)};

	return mp_store_process(store, &process);
}

static uint32_t MP_UNUSED add_track(struct mp_store *store, uint32_t process, int64_t tid, const char *name,
				    enum mp_track_kind kind)
{
	struct mp_track track = {.process = process,
				 .tid = tid,
				 .name = mp_store_string(store, name),
				 .stream = -1,
				 .kind = (uint8_t)kind};

	return mp_store_track(store, &track);
}

static MP_UNUSED struct mp_appender *appender_of(struct mp_store *store)
{
	struct mp_appender *appender = NULL;

	assert_int_equal(mp_appender_new(store, &appender, NULL), MINDPROF_OK);
	return appender;
}

static void MP_UNUSED put_range(struct mp_appender *to, uint32_t track, const char *name, int64_t begin,
				int64_t end)
{
	struct mp_event event = {
		.ts_ns = begin, .a = end - begin, .track = track, .name = mp_store_string(to->store, name)};

	assert_true(mp_append(to, MP_KIND_RANGE, &event));
}

static void MP_UNUSED put_flow(struct mp_appender *to, uint32_t track, int64_t ts, uint64_t id,
			       enum mp_flow_phase phase)
{
	struct mp_event event = {.ts_ns = ts,
				 .a = (int64_t)id,
				 .track = track,
				 .name = mp_store_string(to->store, "arrow"),
				 .cls = (uint8_t)phase};

	assert_true(mp_append(to, MP_KIND_FLOW, &event));
}

static void MP_UNUSED finish(struct mp_appender *appender)
{
	assert_int_equal(mp_appender_finish(appender, NULL), MINDPROF_OK);
}

/* ---- traces as strings ---- */

struct trace_text {
	char *data; /* from malloc, NUL-terminated */
	size_t len;
};

/* An output that is a file without a name; read back by trace_text_of. */
static struct mp_out open_nameless(void)
{
	struct mp_out out;
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(mp_out_open_fd(fd, "trace", &out, NULL), MINDPROF_OK);
	return out;
}

/* Commits the output and closes its file. */
static struct trace_text trace_text_of(struct mp_out *out)
{
	struct trace_text text = {0};
	int fd = out->fd;
	off_t size;

	assert_int_equal(mp_out_commit(out, NULL), MINDPROF_OK);
	size = lseek(fd, 0, SEEK_END);
	assert_true(size >= 0);
	text.len = (size_t)size;
	text.data = malloc(text.len + 1);
	assert_non_null(text.data);
	assert_int_equal(pread(fd, text.data, text.len, 0), size);
	text.data[text.len] = '\0';
	close(fd);
	return text;
}

static struct trace_text MP_UNUSED written(enum mp_flavour flavour, const struct mp_store *store)
{
	struct mp_out out = open_nameless();
	mp_err err = {0};
	char text[512];

	if (mp_trace_write_store(flavour, store, &out, &err) != MINDPROF_OK)
		fail_msg("%s", mindprof_error_text(&err, text, sizeof(text)));
	return trace_text_of(&out);
}

/* The first place of a piece of text within so many bytes, NULL when there is none. */
static const char *find(const struct trace_text *text, const char *at, size_t within, const char *piece)
{
	return memmem(at, MP_MIN((size_t)(text->data + text->len - at), within), piece, strlen(piece));
}

/* The number of times it occurs. */
static size_t MP_UNUSED times(const struct trace_text *text, const char *piece)
{
	size_t n = 0;

	for (const char *at = text->data; (at = find(text, at, SIZE_MAX, piece)) != NULL; at += strlen(piece))
		n++;
	return n;
}

/* ---- lanes of a written trace ---- */

struct slice {
	long long pid, tid;
	unsigned long long begin, end; /* ns since the trace's begin */
};
typedef MP_VEC(struct slice) slices;

/* Digits -> number; *at goes behind them. (strtoll looks for the end of the text first under the sanitizers.)
 */
static unsigned long long digits_at(const char **at)
{
	unsigned long long value = 0;

	assert_in_range(**at, '0', '9');
	for (; **at >= '0' && **at <= '9'; ++*at)
		value = value * 10 + (unsigned long long)(**at - '0');
	return value;
}

/* Behind a key of the event at `at`. */
static const char *behind(const struct trace_text *text, const char *at, const char *key)
{
	return find(text, at, 400, key) + strlen(key);
}

static long long integer_of(const char *at)
{
	bool negative = *at == '-';

	at += negative;
	return (long long)(negative ? 0 - digits_at(&at) : digits_at(&at));
}

/* Digits with three decimals of microseconds -> ns. */
static unsigned long long ns_of(const char *at)
{
	unsigned long long us = digits_at(&at);

	assert_int_equal(*at++, '.');
	return us * 1000 + digits_at(&at);
}

/* The X events of a portable trace, which has one event per line. */
static slices MP_UNUSED slices_of(const struct trace_text *text)
{
	slices all = {0};

	/* Line by line: the sanitizers look at all that a search may look at. */
	for (const char *at = text->data, *end = at + text->len; (at = memchr(at, '\n', (size_t)(end - at)));
	     at++) {
		static const char begin[] = "\n{\"ph\":\"X\",\"pid\":";
		struct slice slice;

		if ((size_t)(end - at) < sizeof(begin) || memcmp(at, begin, sizeof(begin) - 1) != 0)
			continue;

		slice.pid = integer_of(behind(text, at, "\"pid\":"));
		slice.tid = integer_of(behind(text, at, "\"tid\":"));
		slice.begin = ns_of(behind(text, at, "\"ts\":"));
		slice.end = slice.begin + ns_of(behind(text, at, "\"dur\":"));
		assert_true(mp_vec_push(&all, slice));
	}
	return all;
}

static int by_lane(const void *left, const void *right)
{
	const struct slice *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->end > b->end ? -1 : a->end < b->end;
}

/* Fails when two slices of one lane overlap without nesting; returns the number of lanes. Sorts. */
static size_t MP_UNUSED check_lanes(slices *all)
{
	MP_VEC(unsigned long long) open = {0};
	size_t n_lanes = 0;

	if (all->len)
		qsort(all->at, all->len, sizeof(*all->at), by_lane);
	for (size_t i = 0; i < all->len; i++) {
		const struct slice *slice = &all->at[i];

		if (i == 0 || slice->pid != slice[-1].pid || slice->tid != slice[-1].tid) {
			open.len = 0;
			n_lanes++;
		}
		while (open.len && open.at[open.len - 1] <= slice->begin)
			open.len--;
		if (open.len && open.at[open.len - 1] < slice->end)
			fail_msg("tid %lld: [%llu, %llu] overlaps a slice that ends at %llu", slice->tid,
				 slice->begin, slice->end, open.at[open.len - 1]);
		assert_true(mp_vec_push(&open, slice->end));
	}
	mp_vec_release(&open);
	return n_lanes;
}

/* ---- reading a text ---- */

/* Writes the text to a file in a fresh directory, reads it, and removes both. */
static struct mp_store *read_text(const char *text, size_t len, struct mp_pool *pool, mp_status *status,
				  mp_err *err)
{
	char path[] = "/tmp/mindprof-test-XXXXXX", file[64];
	struct mp_ctx ctx = {.pool = pool, .max_unpacked = 1u << 30};
	struct mp_source source = {.name = "trace.json"};
	struct mp_store *store = new_store();
	struct mp_dir dir;
	FILE *out;

	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof(file), "%s/trace.json", path);
	out = fopen(file, "wb");
	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(mp_dir_open(path, &dir, NULL), MINDPROF_OK);
	source.dir = &dir;
	*status = mp_reader_chrome_json.read(&ctx, &source, store, err);
	mp_dir_close(&dir);
	unlink(file);
	rmdir(path);
	return store;
}

/* Reads what must be readable. */
static MP_UNUSED struct mp_store *read_json(const char *text)
{
	mp_err err = {0};
	mp_status status;
	char message[512];
	struct mp_store *store = read_text(text, strlen(text), NULL, &status, &err);

	if (status)
		fail_msg("%s", mindprof_error_text(&err, message, sizeof(message)));
	return store;
}

static MP_UNUSED const char *text_of(const struct mp_store *store, uint32_t id)
{
	return mp_store_text(store, id).text;
}

/* The only note with this code; count 0 when there is none. */
static struct mp_note MP_UNUSED note_of(const struct mp_store *store, const char *code)
{
	for (size_t i = 0; i < mp_store_n_notes(store); i++) {
		struct mp_note note = mp_store_get_note(store, i);

		if (!strcmp(text_of(store, note.code), code))
			return note;
	}
	return (struct mp_note){.byte_offset = -1};
}

/* Events of one kind by ts; owned by the store. */
static struct mp_ranges MP_UNUSED ordered(struct mp_store *store, enum mp_kind kind)
{
	assert_int_equal(mp_store_sort(store, NULL, NULL), MINDPROF_OK);
	return mp_store_ordered(store, kind);
}

/* The n-th event of one kind in order of appending, over all blocks. */
static struct mp_event MP_UNUSED event_at(const struct mp_store *store, enum mp_kind kind, size_t n)
{
	for (size_t b = 0; b < mp_store_n_blocks(store); b++) {
		const struct mp_block *block = mp_store_get_block(store, b);

		if (block->kind != kind)
			continue;
		if (n < block->n)
			return mp_block_event(block, (uint32_t)n);
		n -= block->n;
	}
	fail_msg("there are not so many events of kind %d", (int)kind);
	return (struct mp_event){0};
}

#endif
