/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording shall be: the caller's options, else the environment (MINDPROF_OUTPUT,
 * MINDPROF_WORKER, MINDPROF_MODE, MINDPROF_MEMORY, MINDPROF_FOLLOW_FORK, RANK_ID), else defaults.
 */
#include "record/rec.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"

#include "base/banned.h"

#define WORKER_MAX \
	226 /* a worker name is shorter than this, else the host's name is used (analysis-current.md) */

static mp_status set_output(const char *path, struct mp_rec_options *out, mp_err *err)
{
	size_t len;

	if (!path || !*path)
		path = getenv("MINDPROF_OUTPUT");
	if (!path || !*path)
		path = "./data";
	len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		len--;
	/* The directories and file names below must fit, too. */
	if (len + sizeof(out->worker) + 128 > sizeof(out->output))
		return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1, "the output path is %zu bytes long",
				  len);
	memcpy(out->output, path, len);
	out->output[len] = '\0';
	return MINDPROF_OK;
}

static mp_status set_worker(const char *name, struct mp_rec_options *out, mp_err *err)
{
	if (!name || !*name)
		name = getenv("MINDPROF_WORKER");
	if (name && *name && strlen(name) < WORKER_MAX) {
		if (strchr(name, '/'))
			return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1,
					  "worker name '%s' holds a slash", name);
		memcpy(out->worker, name, strlen(name) + 1);
		return MINDPROF_OK;
	}
	if (gethostname(out->worker, WORKER_MAX) != 0 || !out->worker[0] || strchr(out->worker, '/'))
		memcpy(out->worker, "localhost", sizeof("localhost"));
	out->worker[WORKER_MAX - 1] = '\0';
	return MINDPROF_OK;
}

static mp_status set_mode(enum mindprof_record_mode mode, struct mp_rec_options *out, mp_err *err)
{
	const char *text;

	out->mode = mode;
	if (mode == MINDPROF_RECORD_STREAM || mode == MINDPROF_RECORD_RING)
		return MINDPROF_OK;
	if (mode)
		return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1, "%d is not a recording mode",
				  (int)mode);
	text = getenv("MINDPROF_MODE");
	out->mode = MINDPROF_RECORD_STREAM;
	if (!text || !*text || strcmp(text, "stream") == 0)
		return MINDPROF_OK;
	out->mode = MINDPROF_RECORD_RING;
	if (strcmp(text, "ring") == 0)
		return MINDPROF_OK;
	return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1, "MINDPROF_MODE is '%s', not 'stream' or 'ring'",
			  text);
}

/* A number of bytes with an optional unit K, M or G (powers of 1024). */
static bool parse_memory(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMG";
	size_t len = strlen(text);
	const char *unit = len ? strchr(units, text[len - 1]) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;

	return mp_num_parse_u64(text, len - (unit != NULL), bytes) &&
	       !__builtin_mul_overflow(*bytes, 1ull << shift, bytes);
}

static mp_status set_memory(uint64_t bytes, struct mp_rec_options *out, mp_err *err)
{
	const char *text = bytes ? NULL : getenv("MINDPROF_MEMORY");

	if (text && *text) {
		if (!parse_memory(text, &bytes))
			return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1,
					  "MINDPROF_MEMORY is '%s', not a number of bytes (K, M, G)", text);
	}
	if (!bytes)
		bytes = MP_REC_DEFAULT_MEMORY;
	if (bytes > MP_REC_MAX_MEMORY)
		return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1, "%llu bytes of memory are too much",
				  (unsigned long long)bytes);
	out->memory_bytes = MP_MAX(bytes, MP_REC_MIN_MEMORY);
	return MINDPROF_OK;
}

/* RANK_ID as the framework reads it: a text with other bytes than digits is 0. */
static int32_t rank_of_environment(void)
{
	const char *text = getenv("RANK_ID");
	int64_t rank;

	if (!text || !*text || text[strspn(text, "0123456789")] != '\0' ||
	    !mp_num_parse_i64(text, strlen(text), &rank) || rank > INT32_MAX)
		return 0;
	return (int32_t)rank;
}

mp_status mp_rec_options_resolve(const struct mindprof_record_options *options, struct mp_rec_options *out,
				 mp_err *err)
{
	struct mindprof_record_options given = {0};
	const char *follow = getenv("MINDPROF_FOLLOW_FORK");

	memset(out, 0, sizeof(*out));
	if (options) {
		if (options->size < offsetof(struct mindprof_record_options, output_path) + sizeof(char *))
			return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1, "options.size is not set");
		memcpy(&given, options, MP_MIN(options->size, sizeof(given)));
	}
	if (given.flags & ~MINDPROF_RECORD_FOLLOW_FORK)
		return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1, "unknown flags 0x%x",
				  (unsigned)given.flags);
	MP_TRY(set_output(given.output_path, out, err));
	MP_TRY(set_worker(given.worker_name, out, err));
	MP_TRY(set_mode(given.mode, out, err));
	MP_TRY(set_memory(given.memory_bytes, out, err));
	out->rank = given.rank > 0 ? given.rank : rank_of_environment();
	out->follow_fork =
		(given.flags & MINDPROF_RECORD_FOLLOW_FORK) || (follow && strcmp(follow, "1") == 0);
	return MINDPROF_OK;
}
