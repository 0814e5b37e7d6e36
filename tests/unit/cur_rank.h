/* SPDX-License-Identifier: Apache-2.0 */
/* A rank directory of the current layout that a test makes by hand, and what an output writes for it. */
#ifndef MP_TEST_CUR_RANK_H
#define MP_TEST_CUR_RANK_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "current/cur_outputs.h"
#include "current/cur_tables.h"

/* Sets of corrections. */
#define ALL CUR_FIX_ALL
#define BUT(correction) (CUR_FIX_ALL & ~(UINT64_C(1) << (correction)))

#define RANK_PROF "PROF_000001_20250705072000000_ABCDEFGHIJKLMNOP"
#define RANK_EXPORT RANK_PROF "/mindstudio_profiler_output"

struct rank {
	char path[512];
	struct mp_ctx ctx;
	struct mp_store *store;
	struct cur_run run;
	bool open;
};

/* What the profiler says about an Ascend run with a schedule. */
static const char rank_info[] =
	"{\"profiler_parameters\": {\"is_set_schedule\": true, \"profiler_level\": \"Level1\","
	" \"activities\": [\"CPU\", \"NPU\"], \"export_type\": [\"text\"]},"
	" \"ms_profiler_info\": {\"rank_id\": \"0\", \"device_id\": \"0\"}, \"jit_level\": \"O0\"}";

/* A file at a path below the rank directory. */
static inline void rank_put_at(const struct rank *rank, const char *name, const char *data, size_t size)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", rank->path, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static inline void rank_make(struct rank *rank)
{
	char path[1024];

	memset(rank, 0, sizeof(*rank));
	rank->ctx.max_unpacked = 1 << 30;
	snprintf(rank->path, sizeof(rank->path), "/tmp/mindprof-rank-XXXXXX");
	assert_non_null(mkdtemp(rank->path));
	snprintf(path, sizeof(path), "%s/%s", rank->path, RANK_PROF);
	assert_int_equal(mkdir(path, 0750), 0);
	snprintf(path, sizeof(path), "%s/%s", rank->path, RANK_EXPORT);
	assert_int_equal(mkdir(path, 0750), 0);
	rank_put_at(rank, "profiler_info_0.json", rank_info, sizeof(rank_info) - 1);
}

/* A file of the export. */
static inline void rank_put(const struct rank *rank, const char *name, const char *data, size_t size)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s", RANK_EXPORT, name);
	rank_put_at(rank, path, data, size);
}

static inline void rank_put_text(const struct rank *rank, const char *name, const char *text)
{
	rank_put(rank, name, text, strlen(text));
}

static inline void rank_close(struct rank *rank)
{
	if (rank->open) {
		cur_close(&rank->run);
		mp_store_free(rank->store);
	}
	rank->open = false;
}

static inline void rank_good(mp_status status, const mp_err *err)
{
	char text[512];

	if (status)
		fail_msg("status %d: %s", status, mindprof_error_text(err, text, sizeof(text)));
}

static inline void rank_open(struct rank *rank, uint64_t corrections)
{
	struct cur_options options = {.corrections = corrections};
	struct mp_store_options store_options = {0};
	struct mp_dir dir;
	mp_err err = {0};

	rank_close(rank);
	assert_int_equal(mp_store_new(&store_options, &rank->store, NULL), MINDPROF_OK);
	rank_good(mp_dir_open(rank->path, &dir, &err), &err);
	rank_good(cur_open(&rank->ctx, &dir, &options, rank->store, &rank->run, &err), &err);
	mp_dir_close(&dir);
	rank->open = true;
}

static inline int rank_unlink(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
	(void)st;
	(void)kind;
	(void)walk;
	return remove(path);
}

static inline void rank_drop(struct rank *rank)
{
	rank_close(rank);
	nftw(rank->path, rank_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

/* What the output writes, with a NUL behind it; the caller frees. */
static inline char *rank_write(struct rank *rank, const struct cur_output *output, size_t *size)
{
	int fd = memfd_create("output", MFD_CLOEXEC);
	struct mp_out out;
	struct stat st;
	mp_err err = {0};
	char *text;

	assert_true(fd >= 0);
	assert_int_equal(mp_out_open_fd(fd, "output", &out, NULL), MINDPROF_OK);
	rank_good(cur_output_write(&rank->run, output, &out, &err), &err);
	assert_int_equal(mp_out_commit(&out, NULL), MINDPROF_OK);
	assert_int_equal(fstat(fd, &st), 0);
	*size = (size_t)st.st_size;
	text = calloc(1, *size + 1);
	assert_non_null(text);
	assert_int_equal(pread(fd, text, *size, 0), *size);
	close(fd);
	return text;
}

static inline void rank_expect(struct rank *rank, const struct cur_output *output, const char *expected)
{
	size_t size;
	char *text = rank_write(rank, output, &size);

	assert_string_equal(text, expected);
	assert_int_equal(size, strlen(expected));
	free(text);
}

/* A table as text: cells joined by '|', '-' for missing, doubles with 4 digits, a line per row. */
static inline char *rank_table(struct rank *rank, const struct cur_table *table, char *text, size_t size)
{
	struct mp_table made;
	mp_err err = {0};
	size_t r, c, len = 0;

	mp_table_init(&made, table->shape);
	rank_good(table->fill(&rank->run, &made, &err), &err);
	text[0] = '\0';
	for (r = 0; r < made.n_rows; r++)
		for (c = 0; c < table->shape->n_columns; c++) {
			const struct mp_value *value = &mp_table_row(&made, r)[c];
			const char *end = c + 1 < table->shape->n_columns ? "|" : "\n";

			assert_true(len < size - 1);
			if (value->missing)
				len += (size_t)snprintf(text + len, size - len, "-%s", end);
			else if (table->shape->columns[c].type == MP_TYPE_INT)
				len += (size_t)snprintf(text + len, size - len, "%lld%s", (long long)value->i,
							end);
			else if (table->shape->columns[c].type == MP_TYPE_DOUBLE)
				len += (size_t)snprintf(text + len, size - len, "%.4g%s", value->d, end);
			else
				len += (size_t)snprintf(text + len, size - len, "%s%s", value->s.text, end);
		}
	assert_true(made.n_rows || made.empty_reason);
	mp_table_release(&made);
	return text;
}

/* How many notes have the code; count gets how often the last of them came. */
static inline size_t rank_notes(const struct rank *rank, const char *code, uint64_t *count)
{
	size_t i, n = 0;

	for (i = 0; i < mp_store_n_notes(rank->store); i++) {
		struct mp_note note = mp_store_get_note(rank->store, i);

		if (strcmp(mp_store_text(rank->store, note.code).text, code) != 0)
			continue;
		n++;
		if (count)
			*count = note.count;
	}
	return n;
}

/* What the output writes from the files of the directory; the caller frees *text, NULL after a failure. */
static inline mp_status rank_write_once(const struct rank *rank, const struct cur_output *output, char **text)
{
	struct cur_options options = {.corrections = CUR_FIX_ALL};
	struct mp_store_options store_options = {0};
	struct mp_store *store = NULL;
	struct mp_dir dir = {.fd = -1};
	struct cur_run run;
	struct mp_out out;
	mp_status status = mp_store_new(&store_options, &store, NULL);
	int fd = memfd_create("output", MFD_CLOEXEC);

	assert_true(fd >= 0);
	*text = NULL;
	if (!status)
		status = mp_dir_open(rank->path, &dir, NULL);
	if (!status) {
		status = cur_open(&rank->ctx, &dir, &options, store, &run, NULL);
		if (!status) {
			status = mp_out_open_fd(fd, "output", &out, NULL);
			if (!status) {
				status = cur_output_write(&run, output, &out, NULL);
				if (status)
					mp_out_abort(&out);
				else
					status = mp_out_commit(&out, NULL);
			}
			cur_close(&run);
		}
		mp_dir_close(&dir);
	}
	if (!status) {
		struct stat st;

		assert_int_equal(fstat(fd, &st), 0);
		*text = calloc(1, (size_t)st.st_size + 1);
		assert_non_null(*text);
		assert_int_equal(pread(fd, *text, (size_t)st.st_size, 0), st.st_size);
	}
	mp_store_free(store);
	close(fd);
	return status;
}

/*
 * Each allocation fails once: the output then says E_NOMEM, or is the same as ever (only a note was lost).
 * Returns the number of allocations of the undisturbed run.
 */
static inline uint64_t rank_torture(const struct rank *rank, const struct cur_output *output)
{
	char *good, *text;
	uint64_t n, tried;

	assert_int_equal(rank_write_once(rank, output, &good), MINDPROF_OK);
	for (n = 0;; n++) {
		mp_status status;

		mp_mem_fail_after(n);
		status = rank_write_once(rank, output, &text);
		tried = mp_mem_fail_after(UINT64_MAX);
		if (status && (status != MINDPROF_E_NOMEM || tried <= n))
			fail_msg("status %d when allocation %llu of %llu fails", status,
				 (unsigned long long)n, (unsigned long long)tried);
		if (!status && strcmp(text, good) != 0)
			fail_msg("another output when allocation %llu fails", (unsigned long long)n);
		free(text);
		if (tried <= n)
			break;
	}
	free(good);
	return tried;
}

/* ---- the rank directory of a test, with its setup and teardown ---- */

static struct rank rank;

static int make(void **state)
{
	(void)state;
	rank_make(&rank);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	rank_drop(&rank);
	return 0;
}

#endif
