/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers: raw files -> store. One file per raw format, each behind struct mp_reader, listed in
 * rd_all.c. A reader never gives up for one fault: it notes it (path, byte offset) and goes on.
 */
#ifndef MP_READERS_H
#define MP_READERS_H

#include "base/buf.h"
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
extern const struct mp_reader mp_reader_native, mp_reader_op_range, mp_reader_cpu_ops, mp_reader_run_info,
	mp_reader_chrome_json;

/* ---- what the readers share (rd_files.c, rd_facts.c, rd_faults.c) ---- */

/* The same directory once more. */
mp_status mp_dir_reopen(const struct mp_dir *dir, struct mp_dir *out, mp_err *err);
/* The directory of the framework's files: dir/FRAMEWORK when it exists (2.7), else dir again (2.3). */
mp_status mp_framework_dir_open(const struct mp_dir *dir, struct mp_dir *out, mp_err *err);

/* A file whose name is prefix, rank, suffix. */
struct mp_ranked_file {
	char name[256];
	int32_t rank;
	uint32_t n_others; /* further files of the pattern */
};
/* The file of `rank` when it exists, else the one of the lowest rank (rank -1: any). E_NOT_FOUND when there is none. */
mp_status mp_ranked_file_find(const struct mp_dir *dir, const char *prefix, const char *suffix, int32_t rank,
			 struct mp_ranked_file *out);

/* The text of one scalar of a JSON document: keys lead to it from the root ("CPU", "0", "Frequency"). */
bool mp_json_scalar(const void *data, size_t size, const char *const *keys, size_t n_keys, struct mp_buf *out);

/* What is special about a member of a JSON object that becomes facts. */
struct mp_fact_rule {
	const char *key;
	const char *inner_prefix; /* the members of this object become facts with this prefix; NULL = left out */
};
/*
 * The members of one JSON object become facts "<prefix><key>": strings without quotes, other values as JSON text.
 * rules end with a NULL key; may be NULL. False when the text is not one JSON object: *fault_offset (may be NULL)
 * tells where, what was read until then is kept. Want of memory is counted in the store (mp_store_count_lost).
 */
bool mp_facts_from_json(struct mp_store *store, const void *data, size_t size, const char *prefix,
			const struct mp_fact_rule *rules, int64_t *fault_offset);

/* One kind of fault, counted while reading in parallel and noted once per file at the end. */
struct mp_fault {
	uint64_t count;
	int64_t first_offset; /* smallest byte offset; valid when count > 0 */
};
struct mp_fault_kind {
	enum mp_severity severity;
	const char *code;
	const char *text; /* without count and place */
};
void mp_fault_add(struct mp_fault *fault, int64_t byte_offset, uint64_t count);
void mp_faults_merge(struct mp_fault *into, const struct mp_fault *from, size_t n);
void mp_faults_note(struct mp_store *store, const char *path, const struct mp_fault *faults,
		    const struct mp_fault_kind *kinds, size_t n);

#endif
