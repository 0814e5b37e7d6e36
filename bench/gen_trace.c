/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes valid input of any size, streaming and the same for the same arguments: a native recording, a
 * framework event file (op_range, with the files that give its clock), or Chrome JSON.
 * Usage: gen_trace native|op_range DIR or gen_trace chrome FILE; see usage() below.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "formats/fmt_framework.h"
#include "formats/fmt_native.h"

#define EPOCH_NS 1790000000000000000ull
#define TICKS_PER_NS_NUM 21u /* 2.1 GHz */
#define TICKS_PER_NS_DEN 10u
#define MAX_THREADS 256u
#define N_OPS 48u
#define GROUP 10u        /* nine operators, then the range around them */
#define STEP_GROUPS 100u /* groups of thread 0 per step */
#define PAYLOAD_BYTES 65472u

static struct {
	const char *format, *path;
	uint64_t events;
	unsigned threads;
	bool plain; /* ranges only */
} options = {.events = 1000000, .threads = 4};

static void die(const char *what, const char *name)
{
	fprintf(stderr, "gen_trace: %s '%s': %s\n", what, name, strerror(errno));
	exit(1);
}

static void usage(FILE *to)
{
	fputs("usage: gen_trace native|op_range|chrome --out PATH [--events N] [--threads T] [--plain]\n"
	      "\n"
	      "  native    a recording in PATH/MINDPROF\n"
	      "  op_range  framework events in PATH/FRAMEWORK, their clock in PATH/PROF_.../host\n"
	      "  chrome    one JSON file PATH\n"
	      "\n"
	      "  --events N   records or events to write (default 1000000)\n"
	      "  --threads T  threads they belong to (default 4, at most 256)\n"
	      "  --plain      ranges only, else one event in twenty is of another kind\n",
	      to);
}

static FILE *open_out(const char *name)
{
	FILE *file = fopen(name, "wb");

	if (!file)
		die("cannot make", name);
	setvbuf(file, NULL, _IOFBF, 1u << 20);
	return file;
}

static void close_out(FILE *file, const char *name)
{
	if (fflush(file) || ferror(file) || fclose(file))
		die("cannot write", name);
}

static void make_dir(const char *name)
{
	if (mkdir(name, 0750) && errno != EEXIST)
		die("cannot make directory", name);
}

/* ---- what happens: the same story for all formats ---- */

enum what { OPERATOR, OUTER, MARK, COUNTER, ALLOC, RELEASE, PUSH, POP, FLOW_BEGIN, FLOW_END, STEP };

struct happening {
	enum what what;
	uint32_t op; /* 0 .. N_OPS-1 */
	uint64_t start_ns, dur_ns;
	uint64_t value;
};

struct thread {
	uint64_t now_ns, group_ns, made, groups;
	uint64_t random;
	uint32_t member;
	bool allocated;
};

static uint64_t next_random(struct thread *t)
{
	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	return t->random >> 33;
}

/* One event in twenty. */
static struct happening other_happening(struct thread *t, unsigned index)
{
	static const enum what cycle[] = {MARK, COUNTER, ALLOC, RELEASE, PUSH, POP, COUNTER, MARK};
	struct happening h = {.op = (uint32_t)(t->made % N_OPS), .start_ns = t->now_ns += 20};

	h.what = cycle[t->made / 20 % MP_COUNT(cycle)];
	h.value = h.what == ALLOC || h.what == RELEASE ? 1u << 20 : t->made;
	if (h.what == PUSH || h.what == POP)
		h.dur_ns = next_random(t) % 500;
	if (t->made % 2000 == 20) { /* rare: a flow to the next range */
		h.what = FLOW_BEGIN;
		h.value = (uint64_t)index << 40 | t->made;
	} else if (t->made % 2000 == 40) {
		h.what = FLOW_END;
		h.value = (uint64_t)index << 40 | (t->made - 20);
	}
	return h;
}

static struct happening next_happening(struct thread *t, unsigned index)
{
	struct happening h = {.what = OPERATOR};

	t->made++;
	if (!options.plain && t->made % 20 == 0)
		return other_happening(t, index);
	if (!options.plain && index == 0 && t->member == 0 && t->groups % STEP_GROUPS == 0 && !t->allocated) {
		t->allocated = true; /* the step of this group is told */
		h.what = STEP;
		h.value = t->groups / STEP_GROUPS;
		h.start_ns = t->now_ns += 20;
		return h;
	}
	if (t->member == 0)
		t->group_ns = t->now_ns += 50;
	if (++t->member == GROUP) {
		t->member = 0;
		t->groups++;
		t->allocated = false;
		h.what = OUTER;
		h.op = (uint32_t)(t->groups % 4);
		h.start_ns = t->group_ns;
		h.dur_ns = t->now_ns + 30 - t->group_ns;
		t->now_ns += 30;
		return h;
	}
	h.op = (uint32_t)(next_random(t) % N_OPS);
	h.start_ns = t->now_ns + 50;
	h.dur_ns = 500 + next_random(t) % 20000;
	t->now_ns = h.start_ns + h.dur_ns;
	return h;
}

static struct thread threads[MAX_THREADS];

static void begin_threads(void)
{
	for (unsigned i = 0; i < options.threads; i++)
		threads[i] = (struct thread){.now_ns = 1000 + i * 7, .random = i + 1};
}

static void op_name(char *to, size_t size, uint32_t op)
{
	static const char *const types[] = {"MatMul", "Add", "Softmax", "LayerNorm", "Transpose", "ReLU"};
	const char *type = types[op % MP_COUNT(types)];

	snprintf(to, size, "Default/network-Net/layer%u-Block/attention/%s-op%u", op / 6, type, op);
}

/* ---- native ---- */

enum { SITE_OUTER = N_OPS + 1, SITE_MARK = SITE_OUTER + 4, SITE_COUNTER, SITE_MEMORY, SITE_QUEUE, SITE_FLOW };

static const uint8_t session_id[16] = "gen_trace";

static void put_header(FILE *out, enum mp_native_file_kind kind)
{
	struct mp_native_file_header header = {
		.version = MP_NATIVE_VERSION, .header_bytes = sizeof(header), .kind = kind, .pid = 4242};

	memcpy(header.magic, MP_NATIVE_MAGIC, sizeof(header.magic));
	memcpy(header.session_id, session_id, sizeof(session_id));
	header.crc = mp_crc32c(0, &header, offsetof(struct mp_native_file_header, crc));
	fwrite(&header, sizeof(header), 1, out);
}

static void put_segment(FILE *out, struct mp_native_segment segment, const void *payload, size_t len)
{
	static const char zeros[MP_NATIVE_ALIGN];

	segment.magic = MP_NATIVE_SEGMENT_MAGIC;
	segment.header_bytes = sizeof(segment);
	segment.payload_bytes = (uint32_t)len;
	segment.segment_bytes = (uint32_t)MP_ALIGN_UP(sizeof(segment) + len, MP_NATIVE_ALIGN);
	segment.payload_crc = mp_crc32c(0, payload, len);
	segment.header_crc = mp_crc32c(0, &segment, offsetof(struct mp_native_segment, header_crc));
	fwrite(&segment, sizeof(segment), 1, out);
	fwrite(payload, 1, len, out);
	fwrite(zeros, 1, segment.segment_bytes - sizeof(segment) - len, out);
}

static void put_kind(FILE *out, enum mp_native_segment_kind kind, const void *payload, size_t len)
{
	put_segment(out, (struct mp_native_segment){.kind = (uint16_t)kind}, payload, len);
}

static void put_site(FILE *out, uint32_t id, unsigned kind, const char *name, const char *attributes)
{
	struct mp_native_site site = {.id = id,
				      .kind = (uint16_t)kind,
				      .name_bytes = (uint32_t)strlen(name),
				      .attributes_bytes = (uint32_t)strlen(attributes)};
	char payload[1024] = {0};
	size_t len = sizeof(site) + site.name_bytes + site.attributes_bytes;

	memcpy(payload, &site, sizeof(site));
	memcpy(payload + sizeof(site), name, site.name_bytes);
	memcpy(payload + sizeof(site) + site.name_bytes, attributes, site.attributes_bytes);
	put_kind(out, MP_NATIVE_SEG_SITES, payload, MP_ALIGN_UP(len, (size_t)8));
}

static void put_sites(FILE *out)
{
	static const char *const outer[] = {"forward", "backward", "optimizer", "load batch"};
	char name[128], attributes[256];

	for (uint32_t i = 0; i < N_OPS; i++) {
		op_name(name, sizeof(name), i);
		snprintf(attributes, sizeof(attributes),
			 "{\"type\": \"Op%u\", \"shapes\": \"32,%u;%u,64\", \"dtypes\": \"Float32;Float32\"}",
			 i % 6, i, i);
		put_site(out, i + 1, MP_NATIVE_SITE_OPERATOR, name, attributes);
	}
	for (uint32_t i = 0; i < MP_COUNT(outer); i++)
		put_site(out, SITE_OUTER + i, MP_NATIVE_SITE_RANGE, outer[i],
			 "{\"file\": \"train.c\", \"line\": 77}");
	put_site(out, SITE_MARK, MP_NATIVE_SITE_MARK, "checkpoint", "");
	put_site(out, SITE_COUNTER, MP_NATIVE_SITE_COUNTER, "loss", "");
	put_site(out, SITE_MEMORY, MP_NATIVE_SITE_MEMORY, "pool", "");
	put_site(out, SITE_QUEUE, MP_NATIVE_SITE_QUEUE, "batches", "");
	put_site(out, SITE_FLOW, MP_NATIVE_SITE_FLOW, "batch", "");
}

static void put_session(FILE *out)
{
	static const char json[] =
		"{\"library\": \"gen_trace\", \"host\": \"host0\", \"pid\": 4242, \"rank\": 0, "
		"\"mode\": \"stream\", \"clock\": \"tsc\", \"clock_hz\": 2100000000, "
		"\"program\": \"/bin/train\"}";

	put_header(out, MP_NATIVE_FILE_SESSION);
	put_kind(out, MP_NATIVE_SEG_SESSION, json, sizeof(json) - 1);
	for (uint64_t second = 0; second <= 3600; second += 60) {
		struct mp_native_clock point = {second * 2100000000u, (int64_t)(second * 1000000000u),
						(int64_t)(EPOCH_NS + second * 1000000000u), 20, 0};

		put_kind(out, MP_NATIVE_SEG_CLOCK, &point, sizeof(point));
	}
	for (uint32_t i = 0; i < options.threads; i++) {
		struct mp_native_thread thread = {.index = i, .os_tid = 4242 + i};

		put_kind(out, MP_NATIVE_SEG_THREADS, &thread, sizeof(thread));
	}
	put_sites(out);
}

static uint64_t ticks(uint64_t ns)
{
	return ns * TICKS_PER_NS_NUM / TICKS_PER_NS_DEN;
}

/* Writes the record at `to`; returns its size. */
static size_t put_record(uint8_t *to, const struct happening *h)
{
	static const uint8_t kinds[] = {
		[OPERATOR] = MP_NATIVE_RANGE,
		[OUTER] = MP_NATIVE_RANGE,
		[MARK] = MP_NATIVE_MARK,
		[COUNTER] = MP_NATIVE_COUNTER,
		[ALLOC] = MP_NATIVE_ALLOC,
		[RELEASE] = MP_NATIVE_FREE,
		[PUSH] = MP_NATIVE_QUEUE_PUSH,
		[POP] = MP_NATIVE_QUEUE_POP,
		[FLOW_BEGIN] = MP_NATIVE_FLOW_BEGIN,
		[FLOW_END] = MP_NATIVE_FLOW_END,
		[STEP] = MP_NATIVE_STEP,
	};
	struct mp_native_event32 record = {
		.head = {.dur = (uint32_t)ticks(h->dur_ns)}, .a = h->value, .b = 8};
	double number = (double)h->value;

	record.head.tick_kind = ticks(h->start_ns) << MP_NATIVE_TICK_SHIFT | kinds[h->what];
	switch (h->what) {
	case OPERATOR:
		record.head.site = h->op + 1;
		break;
	case OUTER:
		record.head.site = SITE_OUTER + h->op;
		break;
	case MARK:
		record.head.site = SITE_MARK;
		break;
	case STEP:
		record.head.site = (uint32_t)h->value;
		break;
	case COUNTER:
		record.head.site = SITE_COUNTER;
		memcpy(&record.a, &number, sizeof(number));
		break;
	case ALLOC:
	case RELEASE:
		record.head.site = SITE_MEMORY;
		record.a = 0x100000000u + h->op * 0x100000u;
		record.b = h->value;
		break;
	case PUSH:
	case POP:
		record.head.site = SITE_QUEUE;
		record.a = h->value % 9;
		break;
	default:
		record.head.site = SITE_FLOW;
	}
	memcpy(to, &record, kinds[h->what] < 0x40 ? 16 : 32);
	return kinds[h->what] < 0x40 ? 16 : 32;
}

static void write_native(void)
{
	static uint8_t payload[PAYLOAD_BYTES];
	uint64_t left = options.events, last_ns = 0;
	char dir[4096], name[4200], end[256];
	uint32_t sequence = 0;
	FILE *session, *events;

	make_dir(options.path);
	snprintf(dir, sizeof(dir), "%s/" MP_NATIVE_DIR, options.path);
	make_dir(dir);
	snprintf(name, sizeof(name), "%s/" MP_NATIVE_EVENTS_FILE, dir);
	events = open_out(name);
	put_header(events, MP_NATIVE_FILE_EVENTS);
	for (; left; sequence++) {
		for (uint32_t i = 0; i < options.threads && left; i++) {
			struct mp_native_segment segment = {
				.kind = MP_NATIVE_SEG_EVENTS, .thread_index = i, .sequence = sequence};
			size_t len = 0;

			for (; left && len + 32 <= sizeof(payload); left--, segment.n_records++) {
				struct happening h = next_happening(&threads[i], i);

				len += put_record(payload + len, &h);
			}
			last_ns = MP_MAX(last_ns, threads[i].now_ns);
			segment.last_tick = ticks(threads[i].now_ns);
			put_segment(events, segment, payload, len);
		}
	}
	close_out(events, name);
	snprintf(name, sizeof(name), "%s/" MP_NATIVE_SESSION_FILE, dir);
	session = open_out(name);
	put_session(session);
	snprintf(end, sizeof(end),
		 "{\"reason\": \"stop\", \"tick\": %" PRIu64 ", \"complete\": true, \"events\": %" PRIu64 "}",
		 ticks(last_ns + 1000), options.events);
	put_kind(session, MP_NATIVE_SEG_END, end, strlen(end));
	close_out(session, name);
}

/* ---- op_range ---- */

static uint8_t *put_field(uint8_t *to, uint16_t type, const char *text)
{
	uint32_t len = (uint32_t)strlen(text);

	memcpy(to, &type, sizeof(type));
	memcpy(to + 2, &len, sizeof(len));
	memcpy(to + MP_FWK_HEAD_BYTES, text, len);
	return to + MP_FWK_HEAD_BYTES + len;
}

static void put_op_range(FILE *out, const struct happening *h, unsigned thread)
{
	struct mp_fwk_op_range record = {
		.thread_id = 4242 + thread,
		.flow_id = MP_FWK_NO_FLOW,
		/* 100 MHz: 10 ns are one tick */
		.start_tick = 1000 + h->start_ns / 10,
		.end_tick = 1000 + h->start_ns / 10 + h->dur_ns / 10,
		.process_id = (int32_t)(4242 + thread),
		.level = -1,
	};
	uint8_t body[512], *at = body + MP_FWK_HEAD_BYTES + sizeof(record);
	char name[128], full[128];
	uint32_t len;

	op_name(full, sizeof(full), h->op);
	snprintf(name, sizeof(name), "%s", "Op");
	record.module = 4;
	record.event = h->what == OPERATOR ? 4 : 7;
	if (h->what == FLOW_BEGIN) {
		record.flow_id = h->value;
		record.module = record.event = 0;
		snprintf(name, sizeof(name), MP_FWK_FLOW_NAME);
		snprintf(full, sizeof(full), MP_FWK_FLOW_NAME);
	} else if (h->what == FLOW_END) {
		record.flow_id = h->value;
		record.module = 3;
		record.event = 31;
		record.end_tick++;
	} else if (h->what == STEP) {
		record.module = 5;
		record.event = 53;
		record.end_tick++;
		snprintf(name, sizeof(name), "ProfilerStep#%" PRIu64, h->value);
		snprintf(full, sizeof(full), "ProfilerStep#%" PRIu64, h->value);
	}
	at = put_field(at, MP_FWK_NAME, name);
	at = put_field(at, MP_FWK_FULL_NAME, full);
	at = put_field(at, MP_FWK_MODULE_GRAPH, "");
	at = put_field(at, MP_FWK_EVENT_GRAPH, "");
	len = (uint32_t)(at - body - MP_FWK_HEAD_BYTES);
	memset(body, 0, 2);
	memcpy(body + 2, &len, sizeof(len));
	memcpy(body + MP_FWK_HEAD_BYTES, &record, sizeof(record));
	fwrite(body, 1, (size_t)(at - body), out);
}

static void put_text_file(const char *dir, const char *name, const char *text)
{
	char path[4400];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	out = open_out(path);
	fputs(text, out);
	close_out(out, path);
}

static void write_op_range(void)
{
	char dir[4200], name[4300];
	FILE *out;

	make_dir(options.path);
	snprintf(dir, sizeof(dir), "%s/PROF_000001_20261130000000000_ABCDEFGHIJKLMNOP", options.path);
	make_dir(dir);
	snprintf(name, sizeof(name), "%s/host", dir);
	make_dir(name);
	put_text_file(name, "info.json", "{\"CPU\": [{\"Frequency\": \"100.000000\"}]}");
	put_text_file(name, "host_start.log", "[Host]\nclock_monotonic_raw: 5000000000\ncntvct: 1000\n");
	put_text_file(
		name, "start_info",
		"{\"collectionTimeBegin\": \"1790000000000000\", \"clockMonotonicRaw\": \"5000000000\"}");
	snprintf(dir, sizeof(dir), "%s/" MP_FWK_DIR, options.path);
	make_dir(dir);
	snprintf(name, sizeof(name), "%s/" MP_FWK_OP_RANGE_FILE, dir);
	out = open_out(name);
	for (uint64_t i = 0; i < options.events; i++) {
		unsigned thread = (unsigned)(i / 64 % options.threads);
		struct happening h = next_happening(&threads[thread], thread);

		put_op_range(out, &h, thread);
	}
	close_out(out, name);
}

/* ---- chrome ---- */

static void put_us(FILE *out, const char *key, uint64_t ns)
{
	fprintf(out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static void put_json_event(FILE *out, const struct happening *h, unsigned thread)
{
	static const char phases[] = {[OPERATOR] = 'X',   [OUTER] = 'X',    [MARK] = 'i', [COUNTER] = 'C',
				      [ALLOC] = 'C',      [RELEASE] = 'C',  [PUSH] = 'X', [POP] = 'X',
				      [FLOW_BEGIN] = 's', [FLOW_END] = 'f', [STEP] = 'i'};
	static const char *const names[] = {
		[OUTER] = "forward",  [MARK] = "checkpoint",  [COUNTER] = "loss", [ALLOC] = "memory",
		[RELEASE] = "memory", [PUSH] = "push",        [POP] = "pop",      [FLOW_BEGIN] = "batch",
		[FLOW_END] = "batch", [STEP] = "ProfilerStep"};
	char name[128];

	if (h->what == OPERATOR)
		op_name(name, sizeof(name), h->op);
	else
		snprintf(name, sizeof(name), "%s", names[h->what]);
	fprintf(out, ",\n{\"ph\":\"%c\",\"name\":\"%s\",\"pid\":4242,\"tid\":%u", phases[h->what], name,
		4242 + thread);
	put_us(out, "ts", h->start_ns);
	if (phases[h->what] == 'X')
		put_us(out, "dur", h->dur_ns);
	if (h->what == OPERATOR)
		fprintf(out, ",\"cat\":\"operator\",\"args\":{\"type\":\"Op%u\"}}", h->op % 6);
	else if (phases[h->what] == 'C')
		fprintf(out, ",\"args\":{\"value\":%" PRIu64 "}}", h->value);
	else if (phases[h->what] == 's' || phases[h->what] == 'f')
		fprintf(out, ",\"cat\":\"flow\",\"id\":%" PRIu64 "%s}", h->value,
			h->what == FLOW_END ? ",\"bp\":\"e\"" : "");
	else
		fprintf(out, "%s}", phases[h->what] == 'i' ? ",\"s\":\"t\"" : "");
}

static void write_chrome(void)
{
	FILE *out = open_out(options.path);

	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
	      "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":4242,\"tid\":0,\"args\":{\"name\":\"train\"}}",
	      out);
	for (unsigned i = 0; i < options.threads; i++)
		fprintf(out,
			",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":4242,\"tid\":%u,\"args\":{\"name\":\"worker %u\"}}",
			4242 + i, i);
	for (uint64_t i = 0; i < options.events; i++) {
		unsigned thread = (unsigned)(i / 64 % options.threads);
		struct happening h = next_happening(&threads[thread], thread);

		put_json_event(out, &h, thread);
	}
	fputs("\n]}\n", out);
	close_out(out, options.path);
}

/* ---- arguments ---- */

static uint64_t number(const char *text)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-') {
		fprintf(stderr, "gen_trace: '%s' is not a number\n", text);
		exit(2);
	}
	return value;
}

static void parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (strcmp(arg, "--help") == 0) {
			usage(stdout);
			exit(0);
		} else if (strcmp(arg, "--plain") == 0) {
			options.plain = true;
			continue;
		} else if (arg[0] != '-' && !options.format) {
			options.format = arg;
			continue;
		}
		if (value && strcmp(arg, "--out") == 0) {
			options.path = value;
		} else if (value && strcmp(arg, "--events") == 0) {
			options.events = number(value);
		} else if (value && strcmp(arg, "--threads") == 0) {
			options.threads = (unsigned)MP_MIN(number(value), (uint64_t)MAX_THREADS);
		} else {
			usage(stderr);
			exit(2);
		}
		i++;
	}
	if (!options.format || !options.path || !options.threads) {
		usage(stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	begin_threads();
	if (strcmp(options.format, "native") == 0) {
		write_native();
	} else if (strcmp(options.format, "op_range") == 0) {
		write_op_range();
	} else if (strcmp(options.format, "chrome") == 0) {
		write_chrome();
	} else {
		usage(stderr);
		return 2;
	}
	return 0;
}
