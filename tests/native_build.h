/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds native recordings for reader tests, straight from fmt_native.h and independent of the
 * recorder: three files as growing buffers, written into <scratch>/MINDPROF at the end.
 */
#ifndef NATIVE_BUILD_H
#define NATIVE_BUILD_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "formats/fmt_native.h"
#include "golden_trace.h"

struct native_build {
	struct mp_buf session, events, ring;
	uint32_t sequence; /* of the next segment that build_events adds */
};

static const uint8_t build_id[16] = "0123456789abcde";

static void build_header(struct mp_buf *out, enum mp_native_file_kind kind)
{
	struct mp_native_file_header header = {
		.version = MP_NATIVE_VERSION, .header_bytes = sizeof(header), .kind = kind, .pid = 4242};

	memcpy(header.magic, MP_NATIVE_MAGIC, sizeof(header.magic));
	memcpy(header.session_id, build_id, sizeof(build_id));
	header.crc = mp_crc32c(0, &header, offsetof(struct mp_native_file_header, crc));
	mp_buf_add(out, &header, sizeof(header));
}

static void build_init(struct native_build *b)
{
	memset(b, 0, sizeof(*b));
	mp_buf_init(&b->session, 1u << 28);
	mp_buf_init(&b->events, 1u << 30);
	mp_buf_init(&b->ring, 1u << 28);
	build_header(&b->session, MP_NATIVE_FILE_SESSION);
	build_header(&b->events, MP_NATIVE_FILE_EVENTS);
}

static void build_seal(struct mp_native_segment *segment)
{
	segment->header_crc = mp_crc32c(0, segment, offsetof(struct mp_native_segment, header_crc));
}

static struct mp_native_segment build_segment_header(unsigned kind, const void *payload, size_t len)
{
	struct mp_native_segment segment = {
		.magic = MP_NATIVE_SEGMENT_MAGIC,
		.kind = (uint16_t)kind,
		.header_bytes = sizeof(segment),
		.payload_bytes = (uint32_t)len,
		.segment_bytes = (uint32_t)MP_ALIGN_UP(sizeof(segment) + len, MP_NATIVE_ALIGN),
		.payload_crc = mp_crc32c(0, payload, len),
	};

	build_seal(&segment);
	return segment;
}

static void build_add(struct mp_buf *out, const struct mp_native_segment *segment, const void *payload,
		      size_t len)
{
	static const char zeros[MP_NATIVE_ALIGN];

	mp_buf_add(out, segment, sizeof(*segment));
	mp_buf_add(out, payload, len);
	mp_buf_add(out, zeros, (MP_NATIVE_ALIGN - out->len % MP_NATIVE_ALIGN) % MP_NATIVE_ALIGN);
}

static void build_segment(struct mp_buf *out, unsigned kind, const void *payload, size_t len)
{
	struct mp_native_segment segment = build_segment_header(kind, payload, len);

	build_add(out, &segment, payload, len);
}

static void build_text(struct native_build *b, unsigned kind, const char *json)
{
	build_segment(&b->session, kind, json, strlen(json));
}

static void build_site(struct native_build *b, uint32_t id, unsigned kind, const char *name,
		       const char *attributes)
{
	struct mp_native_site site = {.id = id,
				      .kind = (uint16_t)kind,
				      .name_bytes = (uint32_t)strlen(name),
				      .attributes_bytes = (uint32_t)strlen(attributes)};
	struct mp_buf payload;

	mp_buf_init(&payload, 1u << 20);
	mp_buf_add(&payload, &site, sizeof(site));
	mp_buf_add_str(&payload, name);
	mp_buf_add_str(&payload, attributes);
	while (payload.len % 8)
		mp_buf_add_char(&payload, '\0');
	build_segment(&b->session, MP_NATIVE_SEG_SITES, payload.data, payload.len);
	mp_buf_release(&payload);
}

static void build_thread(struct native_build *b, uint32_t index, uint32_t os_tid, const char *name)
{
	struct mp_native_thread thread = {
		.index = index, .os_tid = os_tid, .name_bytes = (uint32_t)strlen(name)};
	struct mp_buf payload;

	mp_buf_init(&payload, 1u << 20);
	mp_buf_add(&payload, &thread, sizeof(thread));
	mp_buf_add_str(&payload, name);
	while (payload.len % 8)
		mp_buf_add_char(&payload, '\0');
	build_segment(&b->session, MP_NATIVE_SEG_THREADS, payload.data, payload.len);
	mp_buf_release(&payload);
}

static void build_clock(struct native_build *b, uint64_t tick, int64_t monotonic_ns, int64_t realtime_ns)
{
	struct mp_native_clock point = {tick, monotonic_ns, realtime_ns, 20, 0};

	build_segment(&b->session, MP_NATIVE_SEG_CLOCK, &point, sizeof(point));
}

static void build_drop(struct native_build *b, uint32_t thread, uint32_t kind, uint64_t count)
{
	struct mp_native_drop drop = {thread, kind, count};

	build_segment(&b->session, MP_NATIVE_SEG_DROPS, &drop, sizeof(drop));
}

static void record16(struct mp_buf *out, unsigned kind, uint32_t site, uint64_t tick, uint32_t dur)
{
	struct mp_native_event event = {site, dur, tick << MP_NATIVE_TICK_SHIFT | kind};

	mp_buf_add(out, &event, sizeof(event));
}

static void record32(struct mp_buf *out, unsigned kind, uint32_t site, uint64_t tick, uint32_t dur,
		     uint64_t a, uint64_t b)
{
	struct mp_native_event32 event = {{site, dur, tick << MP_NATIVE_TICK_SHIFT | kind}, a, b};

	mp_buf_add(out, &event, sizeof(event));
}

/* A segment of thread `index` with the records, which are cleared. */
static void build_events(struct native_build *b, uint32_t index, struct mp_buf *records)
{
	struct mp_native_segment segment =
		build_segment_header(MP_NATIVE_SEG_EVENTS, mp_buf_str(records), records->len);

	segment.thread_index = index;
	segment.sequence = b->sequence++;
	segment.n_records = (uint32_t)(records->len / 16);
	build_seal(&segment);
	build_add(&b->events, &segment, mp_buf_str(records), records->len);
	mp_buf_clear(records);
}

/*
 * A plain beginning: 2 ticks are 1 ns (2 GHz), tick 0 is at 1000000000000000000 ns Unix time; thread 0 (tid
 * 100, "main"), thread 1 (tid 101, "worker"); site 1 range "work", 2 operator "MatMul", 3 mark "here".
 */
#define BUILD_EPOCH 1000000000000000000ll
static void build_plain(struct native_build *b)
{
	build_init(b);
	build_text(
		b, MP_NATIVE_SEG_SESSION,
		"{\"library\": \"test\", \"host\": \"host0\", \"pid\": 4242, \"rank\": 3, \"mode\": \"stream\", "
		"\"clock\": \"tsc\", \"clock_hz\": 2000000000, \"program\": \"/bin/train_mlp\"}");
	build_clock(b, 0, 5000, BUILD_EPOCH);
	build_clock(b, 2000000000, 1000005000,
		    BUILD_EPOCH + 1000000007); /* the wall clock was stepped by 7 ns */
	build_thread(b, 0, 100, "main");
	build_thread(b, 1, 101, "worker");
	build_site(b, 1, MP_NATIVE_SITE_RANGE, "work", "{\"file\": \"a.c\", \"line\": 12}");
	build_site(
		b, 2, MP_NATIVE_SITE_OPERATOR, "net/MatMul-op0",
		"{\"type\": \"MatMul\", \"shapes\": \"2,3;3,4\", \"dtypes\": \"Float32;Float32\", \"stream\": 7, "
		"\"flops\": 48.0, \"device\": \"CPU\"}");
	build_site(b, 3, MP_NATIVE_SITE_MARK, "here", "");
}

static void build_end(struct native_build *b, uint64_t tick)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"reason\": \"stop\", \"tick\": %llu, \"complete\": true, \"open_ranges\": []}",
		 (unsigned long long)tick);
	build_text(b, MP_NATIVE_SEG_END, text);
}

/* ---- ring.mpr ---- */

#define BUILD_CHUNKS 4u
#define BUILD_CHUNK_BYTES 4096u
#define BUILD_SLOTS 2u

static void build_ring(struct native_build *b, uint32_t mode)
{
	struct mp_native_ring ring = {.n_chunks = BUILD_CHUNKS,
				      .chunk_bytes = BUILD_CHUNK_BYTES,
				      .n_slots = BUILD_SLOTS,
				      .slot_bytes = sizeof(struct mp_native_slot),
				      .slots_offset = 4096,
				      .states_offset = 8192,
				      .chunks_offset = 12288,
				      .mode = mode};

	build_header(&b->ring, MP_NATIVE_FILE_RING);
	ring.crc = mp_crc32c(0, &ring, offsetof(struct mp_native_ring, crc));
	mp_buf_add(&b->ring, &ring, sizeof(ring));
	while (b->ring.len < 12288 + BUILD_CHUNKS * BUILD_CHUNK_BYTES)
		mp_buf_add_char(&b->ring, '\0');
}

static struct mp_native_slot *build_slot(struct native_build *b, uint32_t slot)
{
	return (struct mp_native_slot *)(void *)(b->ring.data + 4096) + slot;
}

static void build_chunk(struct native_build *b, uint32_t chunk, uint32_t state, uint32_t thread,
			uint32_t sequence, const struct mp_buf *records)
{
	struct mp_native_segment segment = {.magic = MP_NATIVE_SEGMENT_MAGIC,
					    .kind = MP_NATIVE_SEG_EVENTS,
					    .header_bytes = sizeof(segment),
					    .payload_bytes = (uint32_t)records->len,
					    .segment_bytes = BUILD_CHUNK_BYTES,
					    .thread_index = thread,
					    .sequence = sequence};
	char *at = b->ring.data + 12288 + chunk * BUILD_CHUNK_BYTES;

	memcpy(at, &segment, sizeof(segment));
	if (records->len)
		memcpy(at + sizeof(segment), records->data, records->len);
	memcpy(b->ring.data + 8192 + chunk * 4, &state, sizeof(state));
}

/* ---- on disk ---- */

static char build_dir[256]; /* scratch; MINDPROF/ is below it */

static void MP_UNUSED build_path(char *to, size_t size, const char *name)
{
	snprintf(to, size, "%s/MINDPROF/%s", build_dir, name);
}

static int build_make_dir(void **state)
{
	char path[512];

	(void)state;
	snprintf(build_dir, sizeof(build_dir), "%s/rd_native_XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(build_dir))
		return -1;
	snprintf(path, sizeof(path), "%s/MINDPROF", build_dir);
	return mkdir(path, 0750);
}

static void build_put(const char *name, const void *bytes, size_t len)
{
	char path[512];
	int fd;

	build_path(path, sizeof(path), name);
	unlink(path);
	if (!bytes)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

static int build_remove_dir(void **state)
{
	char path[512];

	(void)state;
	build_put("session.mpr", NULL, 0);
	build_put("events.mpr", NULL, 0);
	build_put("ring.mpr", NULL, 0);
	snprintf(path, sizeof(path), "%s/MINDPROF", build_dir);
	rmdir(path);
	return rmdir(build_dir);
}

/* Writes what is built; the buffers stay. */
static void build_write(struct native_build *b)
{
	assert_int_equal(b->session.failed | b->events.failed | b->ring.failed, 0);
	build_put("session.mpr", b->session.data, b->session.len);
	build_put("events.mpr", b->events.data, b->events.len);
	build_put("ring.mpr", b->ring.data, b->ring.len); /* NULL: none */
}

static void build_release(struct native_build *b)
{
	mp_buf_release(&b->session);
	mp_buf_release(&b->events);
	mp_buf_release(&b->ring);
}

/* Writes, reads, releases. */
static struct mp_store *build_read(struct native_build *b)
{
	build_write(b);
	build_release(b);
	return read_with(&mp_reader_native, build_dir, NULL, NULL, NULL);
}

#endif
