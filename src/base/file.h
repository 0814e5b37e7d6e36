/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files by descriptor. Inputs: regular files only, mapped read-only, symlinks refused below the
 * directory the user named. Outputs: temporary name in the same directory, then rename; never
 * through a symlink; files 0640, directories 0750. (product.md section 7.)
 */
#ifndef MP_FILE_H
#define MP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

/* A mapped input file. Reading it while somebody shortens it raises SIGBUS, as with every mapping. */
struct mp_file {
	const uint8_t *data; /* NULL when size is 0 */
	size_t size;
	char *path; /* owned; as shown in messages */
	int64_t mtime_ns;
};

/* An open directory. */
struct mp_dir {
	int fd;
	char *path; /* owned */
};

struct mp_dir_entry {
	char name[256];
	bool is_dir, is_file; /* symlinks and other kinds are neither */
	uint64_t size;
	int64_t mtime_ns;
};

/*
 * Names (not paths) are one component: '/', "", "." and ".." are E_ARGUMENT. After a failure *out
 * is empty, so closing it is harmless.
 */
mp_status mp_file_check_name(const char *name, mp_err *err);
/* dir/name in a new string, NULL when memory is out. */
char *mp_path_join(const char *dir, const char *name);

mp_status mp_dir_open(const char *path, struct mp_dir *out, mp_err *err);
mp_status mp_dir_open_at(const struct mp_dir *parent, const char *name, struct mp_dir *out, mp_err *err);
/* Makes the directory (0750) when absent, then opens it. */
mp_status mp_dir_make_at(const struct mp_dir *parent, const char *name, struct mp_dir *out, mp_err *err);
/* mkdir -p of a whole path, then open. */
mp_status mp_dir_make(const char *path, struct mp_dir *out, mp_err *err);
/* All entries except . and .., sorted by name (bytes); *out is one mp_free-able array. */
mp_status mp_dir_list(const struct mp_dir *dir, struct mp_dir_entry **out, size_t *n, mp_err *err);
void mp_dir_close(struct mp_dir *dir);

/* Opens and maps. E_NOT_FOUND, E_UNSUPPORTED (not a regular file, symlink), E_IO. */
mp_status mp_file_open_at(const struct mp_dir *dir, const char *name, struct mp_file *out, mp_err *err);
/* As above for a path that the user named (a symlink is followed there). */
mp_status mp_file_open(const char *path, struct mp_file *out, mp_err *err);
/* Tells the kernel that [offset, offset+len) will not be needed again: keeps resident memory flat. */
void mp_file_forget(const struct mp_file *file, size_t offset, size_t len);
void mp_file_close(struct mp_file *file);

/* An output file being written under a temporary name. */
struct mp_out {
	int fd;
	int dir_fd;
	char *name, *tmp_name, *path; /* owned */
	char *data;                   /* owned buffer */
	size_t len, cap;
	uint64_t written;
	bool overwrite;
	mp_status failed; /* sticks, like struct mp_buf */
	int errnum;
};

/* overwrite false: E_EXISTS when the final name exists (checked now and at commit). */
mp_status mp_out_open_at(const struct mp_dir *dir, const char *name, bool overwrite, struct mp_out *out,
			 mp_err *err);
mp_status mp_out_open(const char *path, bool overwrite, struct mp_out *out, mp_err *err);
/* Writes to an already open descriptor (standard output); commit flushes, nothing is renamed or closed. */
mp_status mp_out_open_fd(int fd, const char *shown_name, struct mp_out *out, mp_err *err);
void mp_out_write_slow_(struct mp_out *out, const void *bytes, size_t len);

static inline void mp_out_write(struct mp_out *out, const void *bytes, size_t len)
{
	if (MP_UNLIKELY(out->failed || len > out->cap - out->len || !len)) {
		mp_out_write_slow_(out, bytes, len);
		return;
	}
	memcpy(out->data + out->len, bytes, len);
	out->len += len;
}

static inline void mp_out_str(struct mp_out *out, const char *text)
{
	mp_out_write(out, text, strlen(text));
}

/* Numbers as text in the forms of base/num.h. */
void mp_out_i64(struct mp_out *out, int64_t value);
void mp_out_us3(struct mp_out *out, int64_t ns); /* microseconds with 3 decimals */
void mp_out_double(struct mp_out *out, double value);
void mp_out_printf(struct mp_out *out, const char *fmt, ...) MP_PRINTF(2, 3);
/* Room for len bytes inside the buffer (len <= 64 KiB), NULL after a failure; then add to out->len. */
char *mp_out_reserve(struct mp_out *out, size_t len);
/* Flushes, renames; on failure the temporary file is removed. Releases everything. */
mp_status mp_out_commit(struct mp_out *out, mp_err *err);
/* Removes the temporary file; safe after commit and on a zeroed struct. */
void mp_out_abort(struct mp_out *out);

#endif
