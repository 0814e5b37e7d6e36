/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers: raw files -> store. One file per raw format, each behind struct mp_reader, listed in
 * rd_all.c. A reader never gives up for one fault: it notes it (path, byte offset) and goes on.
 */
#ifndef MP_READERS_H
#define MP_READERS_H

#include "base/file.h"
#include "base/log.h"
#include "store/st_store.h"

/* What the reading and analysing code may use; borrowed, one per run. */
struct mp_ctx {
	struct mp_pool *pool;  /* may be NULL: one thread */
	struct mp_log log;
	uint64_t max_unpacked; /* bound of one unpacked gzip or zstd input, bytes */
	void (*progress)(void *user, const char *what, uint64_t done, uint64_t total); /* may be NULL */
	void *progress_user;
};

/*
 * One thing to read: a file or a directory that recognise() was asked about. `dir` is the rank
 * directory (or the parent of a single file); `name` the file inside it, NULL = the directory itself.
 */
struct mp_source {
	const struct mp_dir *dir;
	const char *name;
};

struct mp_reader {
	const char *name;  /* "native", "op-range", "cpu-ops", "chrome-json" ... */
	const char *title; /* for people: "MindProf recording" */
	/* 0 = not mine, 100 = certain. Looks at content, not at the name alone; cheap; never fails. */
	int (*recognise)(const struct mp_source *source);
	/* Appends to the store. Failure means: nothing of this source could be used. */
	mp_status (*read)(struct mp_ctx *ctx, const struct mp_source *source, struct mp_store *store,
			  mp_err *err);
};

/* NULL-terminated list of all readers, in order of preference. */
extern const struct mp_reader *const mp_readers[];

#endif
