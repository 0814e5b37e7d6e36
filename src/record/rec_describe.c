/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is recorded: the JSON object of the SESSION segment (docs/formats/native.md, "SESSION").
 * Input: the options, /proc/self/exe, /proc/self/cmdline.
 */
#include "record/rec.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/json_out.h"

#include "base/banned.h"

#define COMMAND_LINE_MAX 65536 /* bytes of the command line that are kept */

static void put_text(struct mp_json_out *json, const char *key, const char *text)
{
	mp_json_out_key(json, key);
	mp_json_out_cstr(json, text);
}

static void put_number(struct mp_json_out *json, const char *key, uint64_t value)
{
	mp_json_out_key(json, key);
	mp_json_out_u64(json, value);
}

static void put_program(struct mp_json_out *json)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path));

	if (len <= 0)
		return;
	mp_json_out_key(json, "program");
	mp_json_out_str(json, path, (size_t)len);
}

/* The arguments, each ended by NUL in the file. */
static void put_command_line(struct mp_json_out *json)
{
	struct mp_buf text;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	mp_buf_init(&text, COMMAND_LINE_MAX);
	while (fd >= 0 && n > 0) {
		char *to = mp_buf_reserve(&text, 4096);

		n = to ? read(fd, to, 4096) : 0;
		if (n > 0)
			text.len += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	mp_json_out_key(json, "command_line");
	mp_json_out_array(json);
	for (size_t at = 0; at < text.len;) {
		size_t len = strnlen(text.data + at, text.len - at);

		mp_json_out_str(json, text.data + at, len);
		at += len + 1;
	}
	mp_json_out_array_end(json);
	if (text.failed == MINDPROF_E_NOMEM)
		json->buf->failed = text.failed;
	mp_buf_release(&text);
}

static void put_clock(struct mp_json_out *json, const struct mp_rec_session_facts *facts)
{
	put_text(json, "clock", mp_rec_clock_name());
	if (mp_rec_clock_hz())
		put_number(json, "clock_hz", mp_rec_clock_hz());
	put_number(json, "base_tick", facts->base_tick);
	mp_json_out_key(json, "start_realtime_ns");
	mp_json_out_i64(json, facts->begin.realtime_ns);
	mp_json_out_key(json, "start_monotonic_ns");
	mp_json_out_i64(json, facts->begin.monotonic_ns);
}

void mp_rec_session_json(struct mp_buf *buf, const struct mp_rec_session_facts *facts)
{
	const struct mp_rec_options *options = facts->options;
	char host[256] = "";
	struct mp_json_out json;

	gethostname(host, sizeof(host) - 1);
	mp_json_out_init(&json, buf, 0);
	mp_json_out_object(&json);
	put_text(&json, "library", "mindprof " MINDPROF_VERSION);
	put_text(&json, "host", host);
	put_text(&json, "worker", options->worker);
	put_number(&json, "pid", (uint64_t)getpid());
	put_number(&json, "parent_pid", (uint64_t)getppid());
	mp_json_out_key(&json, "forked");
	mp_json_out_bool(&json, facts->forked);
	put_number(&json, "rank", (uint64_t)options->rank);
	put_text(&json, "mode", options->mode == MINDPROF_RECORD_RING ? "ring" : "stream");
	put_number(&json, "memory_bytes", options->memory_bytes);
	put_clock(&json, facts);
	put_program(&json);
	put_command_line(&json);
	if (facts->process_name[0])
		put_text(&json, "process_name", facts->process_name);
	mp_json_out_object_end(&json);
}
