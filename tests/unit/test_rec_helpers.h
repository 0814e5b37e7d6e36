/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the recorder's tests: temporary directories, child processes, and a decoder of native
 * recordings that is written from docs/formats/native.md and shares no code with recorder or reader.
 */
#ifndef MP_TEST_REC_HELPERS_H
#define MP_TEST_REC_HELPERS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

#include <mindprof/record.h>

#include "formats/fmt_native.h"

/* The public functions; the archives hold the rooms only. */
#include "api/api_record.c"

#if defined(__SANITIZE_THREAD__)
#define REC_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define REC_TSAN 1
#endif
#endif
#ifndef REC_TSAN
#define REC_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__)
#define REC_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REC_ASAN 1
#endif
#endif
#ifndef REC_ASAN
#define REC_ASAN 0
#endif
/* In the child of a process with threads a sanitizer's allocator may be locked for good, and TSan knows no
 * threads there: such children do nothing of weight then. */
#define REC_WEAK_CHILDREN (REC_TSAN || REC_ASAN)

/* ------------------------------------------------------------------ places */

/* A fresh directory; in static memory, valid until the next call. */
static inline const char *rec_tmp(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/tmp/mindprof-rec-XXXXXX");
	assert_non_null(mkdtemp(path));
	return path;
}

static inline int rec_remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

static inline void rec_remove(const char *path)
{
	nftw(path, rec_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline int rec_count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = -2; /* . and .. */

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* The only entry of a directory, as a path; empty when there is none. */
static inline void rec_only_entry(const char *path, char *out, size_t size)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	out[0] = '\0';
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			snprintf(out, size, "%s/%s", path, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/* memory 0: 1 MiB, which is enough for a few thousand events. */
static inline void rec_start(const char *output, enum mindprof_record_mode mode, uint64_t memory)
{
	struct mindprof_record_options options = {
		.size = sizeof(options), .output_path = output, .worker_name = "host", .mode = mode,
		.memory_bytes = memory ? memory : 1 << 20};
	struct mindprof_error error = {0};

	if (mindprof_record_start(&options, &error) == MINDPROF_OK)
		return;
	fprintf(stderr, "start: %s\n", error.causes[0].text);
	abort();
}

static inline void rec_stop(void)
{
	struct mindprof_error error = {0};

	if (mindprof_record_stop(&error) == MINDPROF_OK)
		return;
	fprintf(stderr, "stop: %s\n", error.causes[0].text);
	abort();
}

/* In a child process, where cmocka's assertions would go astray. */
#define CHECK(condition)                                                                            \
	do {                                                                                        \
		if (!(condition)) {                                                                 \
			fprintf(stderr, "%s:%d: child: %s\n", __FILE__, __LINE__, #condition);      \
			_exit(99);                                                                  \
		}                                                                                   \
	} while (0)

/* ----------------------------------------------------------------- decoder */

#define REC_MAX 4096

struct rec_site {
	uint32_t id, kind;
	char *name, *attributes;
	size_t name_len;
};

struct rec_thread_info {
	uint32_t index, os_tid;
	uint64_t first_tick, end_tick;
	char name[256];
};

struct rec_segment {
	struct mp_native_segment head;
	const char *payload; /* in one of the files */
	bool live;	     /* from the ring file */
};

struct rec_data {
	char *files[4]; /* by enum mp_native_file_kind */
	size_t sizes[4];
	char *session, *end, *metadata; /* JSON texts; NULL = none */
	struct rec_site *sites;
	size_t n_sites;
	struct rec_thread_info threads[REC_MAX];
	size_t n_threads;
	struct rec_segment *segments; /* by thread, then sequence; repeats are gone */
	size_t n_segments;
	uint64_t drops[REC_MAX][MP_NATIVE_DROP_KINDS]; /* by thread index; REC_MAX - 1: no slot */
	struct mp_native_clock clocks[REC_MAX];
	size_t n_clocks;
	uint64_t base_tick;
	struct mp_native_slot open[64]; /* slots in use in the ring file */
	size_t n_open;
	bool has_ring;
	uint32_t faults;    /* checksums that do not match, sizes that cannot be */
	bool cut[4];	    /* the file ends inside a segment */
};

/* Without the sanitizers' checks of each byte, which take minutes for large files. */
__attribute__((no_sanitize("thread", "address"))) static inline uint32_t rec_crc(const void *bytes, size_t len)
{
	static uint32_t table[256];
	const uint8_t *at = bytes;
	uint32_t crc = 0xffffffff;

	if (!table[1]) {
		for (uint32_t i = 0; i < 256; i++) {
			table[i] = i;
			for (int bit = 0; bit < 8; bit++)
				table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0x82f63b78u : 0);
		}
	}
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *at++) & 0xff];
	return ~crc;
}

static inline char *rec_copy(const char *text, size_t len)
{
	char *copy = malloc(len + 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

static inline bool rec_load(struct rec_data *data, const char *directory, const char *name, uint32_t kind)
{
	struct mp_native_file_header header;
	char path[8192];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/MINDPROF/%s", directory, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	data->sizes[kind] = (size_t)st.st_size;
	data->files[kind] = malloc((size_t)st.st_size + 64);
	assert_non_null(data->files[kind]);
	assert_int_equal(read(fd, data->files[kind], data->sizes[kind]), data->sizes[kind]);
	close(fd);
	if (data->sizes[kind] < sizeof(header)) {
		data->cut[kind] = true;
		return false;
	}
	memcpy(&header, data->files[kind], sizeof(header));
	assert_memory_equal(header.magic, "MINDPROF", 8);
	assert_int_equal(header.version, 1);
	assert_int_equal(header.header_bytes, 64);
	assert_int_equal(header.kind, kind);
	assert_int_equal(header.features, 0);
	assert_int_equal(header.crc, rec_crc(&header, 60));
	return true;
}

static inline void rec_add_sites(struct rec_data *data, const char *at, const char *end)
{
	while (end - at >= (ptrdiff_t)sizeof(struct mp_native_site)) {
		struct mp_native_site head;
		struct rec_site *site;
		size_t text;

		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		text = (size_t)head.name_bytes + head.attributes_bytes;
		if (text > (size_t)(end - at)) {
			data->faults++;
			return;
		}
		if ((data->n_sites & (data->n_sites - 1)) == 0) {
			data->sites = realloc(data->sites, (data->n_sites * 2 + 1) * sizeof(*site));
			assert_non_null(data->sites);
		}
		site = &data->sites[data->n_sites++];
		site->id = head.id;
		site->kind = head.kind;
		site->name = rec_copy(at, head.name_bytes);
		site->name_len = head.name_bytes;
		site->attributes = rec_copy(at + head.name_bytes, head.attributes_bytes);
		at += (text + 7) / 8 * 8;
	}
}

static inline void rec_add_threads(struct rec_data *data, const char *at, const char *end)
{
	while (end - at >= (ptrdiff_t)sizeof(struct mp_native_thread)) {
		struct mp_native_thread head;
		struct rec_thread_info *thread;

		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		if (head.index >= REC_MAX || head.name_bytes > 255 || head.name_bytes > end - at) {
			data->faults++;
			return;
		}
		thread = &data->threads[head.index];
		if (head.index >= data->n_threads)
			data->n_threads = head.index + 1;
		thread->index = head.index;
		thread->os_tid = head.os_tid;
		thread->first_tick = head.first_tick;
		thread->end_tick = head.end_tick;
		memcpy(thread->name, at, head.name_bytes);
		thread->name[head.name_bytes] = '\0';
		at += (head.name_bytes + 7) / 8 * 8;
	}
}

static inline void rec_add_drops(struct rec_data *data, const char *at, const char *end)
{
	for (; end - at >= (ptrdiff_t)sizeof(struct mp_native_drop); at += sizeof(struct mp_native_drop)) {
		struct mp_native_drop drop;
		uint32_t index;

		memcpy(&drop, at, sizeof(drop));
		index = drop.thread_index == UINT32_MAX ? REC_MAX - 1 : drop.thread_index;
		if (index >= REC_MAX || drop.kind >= MP_NATIVE_DROP_KINDS)
			data->faults++;
		else
			data->drops[index][drop.kind] = drop.count;
	}
}

static inline void rec_add_segment(struct rec_data *data, const struct mp_native_segment *head, const char *payload,
				   bool live)
{
	if ((data->n_segments & (data->n_segments - 1)) == 0) {
		data->segments = realloc(data->segments, (data->n_segments * 2 + 1) * sizeof(*data->segments));
		assert_non_null(data->segments);
	}
	data->segments[data->n_segments++] = (struct rec_segment){*head, payload, live};
}

static inline void rec_take(struct rec_data *data, const struct mp_native_segment *head, const char *payload)
{
	const char *end = payload + head->payload_bytes;
	char **text = NULL;

	switch (head->kind) {
	case MP_NATIVE_SEG_EVENTS:
		rec_add_segment(data, head, payload, false);
		break;
	case MP_NATIVE_SEG_SESSION:
		if (!data->session)
			text = &data->session;
		break;
	case MP_NATIVE_SEG_METADATA:
		text = &data->metadata;
		break;
	case MP_NATIVE_SEG_END:
		text = &data->end;
		break;
	case MP_NATIVE_SEG_SITES:
		rec_add_sites(data, payload, end);
		break;
	case MP_NATIVE_SEG_THREADS:
		rec_add_threads(data, payload, end);
		break;
	case MP_NATIVE_SEG_DROPS:
		rec_add_drops(data, payload, end);
		break;
	case MP_NATIVE_SEG_CLOCK:
		for (; payload < end; payload += sizeof(struct mp_native_clock))
			memcpy(&data->clocks[data->n_clocks++ % REC_MAX], payload, sizeof(struct mp_native_clock));
		break;
	default:
		data->faults++;
	}
	if (text) {
		free(*text);
		*text = rec_copy(payload, head->payload_bytes);
	}
}

static inline void rec_walk(struct rec_data *data, uint32_t kind)
{
	size_t at = sizeof(struct mp_native_file_header);

	while (at < data->sizes[kind]) {
		struct mp_native_segment head;
		const char *payload = data->files[kind] + at + sizeof(head);

		if (data->sizes[kind] - at < sizeof(head)) {
			data->cut[kind] = true;
			return;
		}
		memcpy(&head, data->files[kind] + at, sizeof(head));
		/* A kill can only leave a hole of zeros or an end behind the last whole segment. */
		if (head.magic == 0 || head.segment_bytes > data->sizes[kind] - at) {
			data->cut[kind] = true;
			return;
		}
		if (head.magic != 0x4753504du || head.header_bytes != 64 || head.header_crc != rec_crc(&head, 60) ||
		    head.segment_bytes % 16 || head.payload_bytes > head.segment_bytes - 64) {
			data->faults++;
			return;
		}
		if (head.payload_crc != rec_crc(payload, head.payload_bytes)) {
			data->faults++;
			return;
		}
		rec_take(data, &head, payload);
		at += head.segment_bytes;
	}
}

static inline void rec_read_ring(struct rec_data *data)
{
	const char *file = data->files[MP_NATIVE_FILE_RING];
	struct mp_native_ring ring;

	memcpy(&ring, file + sizeof(struct mp_native_file_header), sizeof(ring));
	assert_int_equal(ring.crc, rec_crc(&ring, 52));
	data->base_tick = ring.base_tick;
	/* Shorter: killed while it started. */
	if (data->sizes[MP_NATIVE_FILE_RING] < ring.chunks_offset + (uint64_t)ring.n_chunks * ring.chunk_bytes) {
		data->cut[MP_NATIVE_FILE_RING] = true;
		return;
	}
	for (uint32_t i = 0; i < ring.n_slots && data->n_open < 64; i++) {
		struct mp_native_slot slot;

		memcpy(&slot, file + ring.slots_offset + (size_t)i * ring.slot_bytes, sizeof(slot));
		if (!slot.os_tid)
			continue;
		data->open[data->n_open++] = slot;
		for (int kind = 0; kind < MP_NATIVE_DROP_KINDS && slot.thread_index < REC_MAX; kind++)
			data->drops[slot.thread_index][kind] = slot.drops[kind];
	}
	for (uint32_t i = 0; i < ring.n_chunks; i++) {
		const char *chunk = file + ring.chunks_offset + (size_t)i * ring.chunk_bytes;
		struct mp_native_segment head;
		uint32_t state;

		memcpy(&state, file + ring.states_offset + 4 * (size_t)i, 4);
		memcpy(&head, chunk, sizeof(head));
		if (state == MP_NATIVE_CHUNK_FREE || head.payload_bytes == 0)
			continue;
		if (head.magic != 0x4753504du || head.kind != MP_NATIVE_SEG_EVENTS || head.header_bytes != 64 ||
		    head.payload_bytes > ring.chunk_bytes - 64)
			data->faults++;
		else
			rec_add_segment(data, &head, chunk + 64, true);
	}
}

static inline int rec_compare(const void *a, const void *b)
{
	const struct mp_native_segment *x = &((const struct rec_segment *)a)->head;
	const struct mp_native_segment *y = &((const struct rec_segment *)b)->head;

	if (x->thread_index != y->thread_index)
		return x->thread_index < y->thread_index ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return x->payload_bytes > y->payload_bytes ? -1 : x->payload_bytes < y->payload_bytes;
}

/* Of segments with the same thread and sequence the longest counts; the others begin like it. */
static inline void rec_drop_repeats(struct rec_data *data)
{
	size_t n = 0;

	if (data->n_segments)
		qsort(data->segments, data->n_segments, sizeof(*data->segments), rec_compare);
	for (size_t i = 0; i < data->n_segments; i++) {
		struct rec_segment *kept = n ? &data->segments[n - 1] : NULL;
		struct rec_segment *next = &data->segments[i];

		if (kept && kept->head.thread_index == next->head.thread_index &&
		    kept->head.sequence == next->head.sequence) {
			if (memcmp(kept->payload, next->payload, next->head.payload_bytes) != 0)
				data->faults++;
			continue;
		}
		data->segments[n++] = *next;
	}
	data->n_segments = n;
}

static inline struct rec_data *rec_decode(const char *directory)
{
	struct rec_data *data = calloc(1, sizeof(*data));

	assert_non_null(data);
	if (rec_load(data, directory, "session.mpr", MP_NATIVE_FILE_SESSION))
		rec_walk(data, MP_NATIVE_FILE_SESSION);
	if (rec_load(data, directory, "events.mpr", MP_NATIVE_FILE_EVENTS))
		rec_walk(data, MP_NATIVE_FILE_EVENTS);
	data->has_ring = rec_load(data, directory, "ring.mpr", MP_NATIVE_FILE_RING);
	if (data->has_ring)
		rec_read_ring(data);
	rec_drop_repeats(data);
	return data;
}

static inline struct rec_data *rec_decode_last(void)
{
	char directory[4096];

	assert_true(mindprof_record_directory(directory, sizeof(directory)) > 0);
	return rec_decode(directory);
}

static inline void rec_free(struct rec_data *data)
{
	for (int i = 0; i < 4; i++)
		free(data->files[i]);
	for (size_t i = 0; i < data->n_sites; i++) {
		free(data->sites[i].name);
		free(data->sites[i].attributes);
	}
	free(data->sites);
	free(data->segments);
	free(data->session);
	free(data->end);
	free(data->metadata);
	free(data);
}

/* One record; a and b are 0 for records of 16 bytes. */
struct rec_record {
	unsigned kind;
	uint32_t site, dur;
	uint64_t tick, a, b;
};

static inline size_t rec_next(const char *at, struct rec_record *out)
{
	struct mp_native_event32 event = {0};

	memcpy(&event.head, at, 16);
	out->kind = event.head.tick_kind & 0xff;
	if (out->kind >= 0x40)
		memcpy(&event, at, 32);
	out->site = event.head.site;
	out->dur = event.head.dur;
	out->tick = event.head.tick_kind >> 8;
	out->a = event.a;
	out->b = event.b;
	return out->kind < 0x40 ? 16 : 32;
}

/* All records of a thread in the order of its segments; *n of them, for the caller to free. */
static inline struct rec_record *rec_records(const struct rec_data *data, uint32_t thread, size_t *n)
{
	struct rec_record *records;
	size_t most = 0;

	for (size_t i = 0; i < data->n_segments; i++) {
		if (data->segments[i].head.thread_index == thread)
			most += data->segments[i].head.payload_bytes / 16;
	}
	records = malloc((most + 1) * sizeof(*records));
	assert_non_null(records);
	*n = 0;
	for (size_t i = 0; i < data->n_segments; i++) {
		const struct rec_segment *segment = &data->segments[i];
		uint64_t first = UINT64_MAX, last = 0;
		size_t before = *n;

		if (segment->head.thread_index != thread)
			continue;
		for (size_t at = 0; at < segment->head.payload_bytes;) {
			struct rec_record *record = &records[(*n)++];

			at += rec_next(segment->payload + at, record);
			first = record->tick < first ? record->tick : first;
			last = record->tick > last ? record->tick : last;
		}
		if (!segment->live) {
			assert_int_equal(segment->head.n_records, *n - before);
			assert_int_equal(segment->head.first_tick, first);
			assert_int_equal(segment->head.last_tick, last);
		}
	}
	return records;
}

static inline const struct rec_site *rec_site_by_id(const struct rec_data *data, uint32_t id)
{
	for (size_t i = 0; i < data->n_sites; i++) {
		if (data->sites[i].id == id)
			return &data->sites[i];
	}
	return NULL;
}

static inline uint64_t rec_dropped(const struct rec_data *data, uint32_t thread)
{
	uint64_t sum = 0;

	for (int kind = 0; kind < MP_NATIVE_DROP_KINDS; kind++)
		sum += data->drops[thread][kind];
	return sum;
}

#endif
