/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: bytes that a target cut into files. Output: nothing; faults show as crashes, sanitizer reports or
 * assertions. Memory is bounded by FUZZ_STORE_BYTES, so a small input that wants much memory shows, too.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyses/analyses.h"
#include "writers/writers.h"

#define FUZZ_STORE_BYTES (64u << 20)
#define FUZZ_UNPACKED_BYTES (16u << 20)

static struct mp_dir scratch = {.fd = -1};

static void require(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "fuzz: %s: %s\n", what, strerror(errno));
	abort();
}

static void remove_scratch(void)
{
	rmdir(scratch.path);
	mp_dir_close(&scratch);
}

const struct mp_dir *fuzz_directory(void)
{
	char path[] = "/tmp/mindprof-fuzz-XXXXXX";

	if (scratch.fd >= 0)
		return &scratch;
	require(mkdtemp(path) != NULL, "cannot make a scratch directory");
	require(mp_dir_open(path, &scratch, NULL) == MINDPROF_OK, "cannot open the scratch directory");
	atexit(remove_scratch);
	return &scratch;
}

/* The folder part of a name, "" if there is none. */
static void folder_of(const char *name, char *folder, size_t size)
{
	const char *slash = strchr(name, '/');

	snprintf(folder, size, "%.*s", slash ? (int)(slash - name) : 0, name);
}

void fuzz_put(const struct fuzz_file *file)
{
	const struct mp_dir *dir = fuzz_directory();
	char folder[64];
	int fd;

	folder_of(file->name, folder, sizeof(folder));
	if (folder[0])
		require(mkdirat(dir->fd, folder, 0700) == 0 || errno == EEXIST, "cannot make a folder");
	fd = openat(dir->fd, file->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	require(fd >= 0, "cannot make a file");
	require(write(fd, file->data, file->size) == (ssize_t)file->size, "cannot write a file");
	close(fd);
}

void fuzz_remove(const struct fuzz_file *file)
{
	char folder[64];

	unlinkat(scratch.fd, file->name, 0);
	folder_of(file->name, folder, sizeof(folder));
	if (folder[0])
		unlinkat(scratch.fd, folder, AT_REMOVEDIR); /* succeeds with the last file of the folder */
}

static void run_analyses(const struct mp_store *store)
{
	for (const struct mp_analysis *const *analysis = mp_analyses; *analysis; analysis++) {
		struct mp_table table;

		mp_table_init(&table, (*analysis)->shape);
		(*analysis)->run(store, NULL, &table, NULL);
		mp_table_release(&table);
	}
}

static void write_trace(const struct mp_store *store, enum mp_flavour flavour)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct mp_out out;

	require(fd >= 0, "cannot open /dev/null");
	if (mp_out_open_fd(fd, "null", &out, NULL) == MINDPROF_OK) {
		mp_trace_write_store(flavour, store, &out, NULL);
		mp_out_abort(&out);
	}
	close(fd);
}

void fuzz_read(const struct mp_reader *reader, const char *name, const struct fuzz_file *files, size_t n)
{
	struct mp_store_options options = {.max_bytes = FUZZ_STORE_BYTES};
	struct mp_ctx ctx = {.max_unpacked = FUZZ_UNPACKED_BYTES};
	struct mp_source source = {.dir = fuzz_directory(), .name = name};
	struct mp_store *store = NULL;
	mp_err err = {0};

	for (size_t i = 0; i < n; i++)
		fuzz_put(&files[i]);
	require(mp_store_new(&options, &store, NULL) == MINDPROF_OK, "cannot make a store");
	reader->recognise(&source);
	if (reader->read(&ctx, &source, store, &err) != MINDPROF_OK)
		assert(err.n_causes > 0 && err.causes[0].text[0]); /* a failure has a message */
	if (mp_store_sort(store, NULL, NULL) == MINDPROF_OK) {
		run_analyses(store);
		write_trace(store, MP_FLAVOUR_PORTABLE);
		write_trace(store, MP_FLAVOUR_COMPATIBLE);
	}
	mp_store_free(store);
	for (size_t i = 0; i < n; i++)
		fuzz_remove(&files[i]);
}
