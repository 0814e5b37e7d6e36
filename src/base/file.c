/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories and mapped input files by descriptor. A path that the user named may be a symlink;
 * a name below an open directory is one component and never followed. Outputs: file_out.c.
 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"

#include "base/banned.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define FILE_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

char *mp_path_join(const char *dir, const char *name)
{
	size_t len = strlen(dir);

	return mp_asprintf("%s%s%s", dir, len && dir[len - 1] == '/' ? "" : "/", name);
}

mp_status mp_file_check_name(const char *name, mp_err *err)
{
	if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1, "'%s' is not a file name", name);
	return MINDPROF_OK;
}

static int open_retry(int dir_fd, const char *name, int flags)
{
	int fd;

	do
		fd = openat(dir_fd, name, flags);
	while (fd < 0 && errno == EINTR);
	return fd;
}

/* Opens for mp_dir_open and mp_dir_open_at; takes over path. */
static mp_status open_dir(int dir_fd, const char *name, int flags, char *path, struct mp_dir *out,
			  mp_err *err)
{
	struct stat st;
	mp_status status;

	out->fd = -1;
	out->path = NULL;
	if (!path)
		return mp_err_nomem(err, strlen(name) + 2);
	out->fd = open_retry(dir_fd, name, DIR_FLAGS | flags);
	if (out->fd >= 0) {
		out->path = path;
		return MINDPROF_OK;
	}
	/* The kernel says ENOTDIR for a symlink to a directory, too. */
	if ((errno == ENOTDIR || errno == ELOOP) && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		status = mp_err_set(err, MINDPROF_E_UNSUPPORTED, path, -1, "cannot open directory '%s': %s",
				    path,
				    S_ISLNK(st.st_mode) && (flags & O_NOFOLLOW) ? "it is a symbolic link"
										: "it is not a directory");
	else
		status = mp_err_sys(err, errno, path, "cannot open directory '%s'", path);
	mp_free(path);
	return status;
}

mp_status mp_dir_open(const char *path, struct mp_dir *out, mp_err *err)
{
	return open_dir(AT_FDCWD, path, 0, mp_strdup(path), out, err);
}

mp_status mp_dir_open_at(const struct mp_dir *parent, const char *name, struct mp_dir *out, mp_err *err)
{
	out->fd = -1;
	out->path = NULL;
	MP_TRY(mp_file_check_name(name, err));
	return open_dir(parent->fd, name, O_NOFOLLOW, mp_path_join(parent->path, name), out, err);
}

mp_status mp_dir_make_at(const struct mp_dir *parent, const char *name, struct mp_dir *out, mp_err *err)
{
	out->fd = -1;
	out->path = NULL;
	MP_TRY(mp_file_check_name(name, err));
	if (mkdirat(parent->fd, name, 0750) != 0 && errno != EEXIST)
		return mp_err_sys(err, errno, parent->path, "cannot make directory '%s'", name);
	return mp_dir_open_at(parent, name, out, err);
}

/* mkdir -p; `path` is changed while it works and put back. */
static int make_path(char *path)
{
	for (char *at = path + 1; *at; at++) {
		int result;

		if (*at != '/')
			continue;
		*at = '\0';
		result = mkdir(path, 0750);
		*at = '/';
		/* EROFS and EACCES come before EEXIST on some file systems: let the last one decide. */
		if (result != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
			return -1;
	}
	return mkdir(path, 0750);
}

mp_status mp_dir_make(const char *path, struct mp_dir *out, mp_err *err)
{
	char *copy;
	int errnum;

	out->fd = -1;
	out->path = NULL;
	if (!*path)
		return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1, "'' is not a directory name");
	copy = mp_strdup(path);
	if (!copy)
		return mp_err_nomem(err, strlen(path) + 1);
	errnum = make_path(copy) == 0 ? 0 : errno;
	mp_free(copy);
	if (errnum && errnum != EEXIST && access(path, F_OK) != 0)
		return mp_err_sys(err, errnum, path, "cannot make directory '%s'", path);
	return mp_dir_open(path, out, err);
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct mp_dir_entry *)a)->name, ((const struct mp_dir_entry *)b)->name);
}

static int64_t mtime_of(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static void fill_entry(struct mp_dir_entry *entry, const char *name, const struct stat *st)
{
	size_t len = strlen(name);

	memset(entry, 0, sizeof(*entry));
	memcpy(entry->name, name, MP_MIN(len, sizeof(entry->name) - 1));
	entry->is_dir = S_ISDIR(st->st_mode);
	entry->is_file = S_ISREG(st->st_mode);
	entry->size = entry->is_file ? (uint64_t)st->st_size : 0;
	entry->mtime_ns = mtime_of(st);
}

typedef MP_VEC(struct mp_dir_entry) entry_vec;

/* Reads all entries; 0 or an errno. An entry that vanishes meanwhile is left out. */
static int read_entries(DIR *stream, entry_vec *entries)
{
	for (;;) {
		struct mp_dir_entry entry;
		const struct dirent *there;
		struct stat st;

		errno = 0;
		there = readdir(stream);
		if (!there)
			return errno;
		if (strcmp(there->d_name, ".") == 0 || strcmp(there->d_name, "..") == 0)
			continue;
		if (fstatat(dirfd(stream), there->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
			if (errno == ENOENT)
				continue;
			return errno;
		}
		fill_entry(&entry, there->d_name, &st);
		if (!mp_vec_push(entries, entry))
			return ENOMEM;
	}
}

mp_status mp_dir_list(const struct mp_dir *dir, struct mp_dir_entry **out, size_t *n, mp_err *err)
{
	entry_vec entries = {0};
	/* A descriptor of its own, because the read position belongs to the descriptor. */
	int fd = open_retry(dir->fd, ".", DIR_FLAGS);
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	int errnum = stream ? read_entries(stream, &entries) : errno;

	*out = NULL;
	*n = 0;
	if (stream)
		closedir(stream);
	else if (fd >= 0)
		close(fd);
	if (errnum) {
		mp_vec_release(&entries);
		return mp_err_sys(err, errnum, dir->path, "cannot list directory '%s'", dir->path);
	}
	if (entries.len)
		qsort(entries.at, entries.len, sizeof(*entries.at), compare_entries);
	*out = entries.at;
	*n = entries.len;
	return MINDPROF_OK;
}

void mp_dir_close(struct mp_dir *dir)
{
	/* path tells an open directory from a zeroed or closed one. */
	if (dir->path)
		close(dir->fd);
	mp_free(dir->path);
	dir->path = NULL;
	dir->fd = -1;
}

/* Maps an open file; the descriptor stays the caller's. */
static mp_status map_file(int fd, struct mp_file *file, mp_err *err)
{
	struct stat st;
	void *data;

	if (fstat(fd, &st) != 0)
		return mp_err_sys(err, errno, file->path, "cannot read '%s'", file->path);
	if (!S_ISREG(st.st_mode))
		return mp_err_set(err, MINDPROF_E_UNSUPPORTED, file->path, -1, "'%s' is not a regular file",
				  file->path);
	file->mtime_ns = mtime_of(&st);
	if (st.st_size == 0)
		return MINDPROF_OK;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return mp_err_sys(err, errno, file->path, "cannot map '%s'", file->path);
	file->data = data;
	file->size = (size_t)st.st_size;
	return MINDPROF_OK;
}

/* Takes over path. */
static mp_status open_file(int dir_fd, const char *name, int flags, char *path, struct mp_file *out,
			   mp_err *err)
{
	mp_status status;
	int fd;

	memset(out, 0, sizeof(*out));
	if (!path)
		return mp_err_nomem(err, strlen(name) + 2);
	out->path = path;
	fd = open_retry(dir_fd, name, FILE_FLAGS | flags);
	if (fd >= 0) {
		status = map_file(fd, out, err);
		close(fd);
	} else if (errno == ELOOP && (flags & O_NOFOLLOW)) {
		status = mp_err_set(err, MINDPROF_E_UNSUPPORTED, path, -1,
				    "cannot open '%s': it is a symbolic link", path);
	} else if (errno == ENXIO || errno == ENODEV) {
		/* A socket, or a device without a driver. */
		status =
			mp_err_set(err, MINDPROF_E_UNSUPPORTED, path, -1, "'%s' is not a regular file", path);
	} else {
		status = mp_err_sys(err, errno, path, "cannot open '%s'", path);
	}
	if (status != MINDPROF_OK)
		mp_file_close(out);
	return status;
}

mp_status mp_file_open_at(const struct mp_dir *dir, const char *name, struct mp_file *out, mp_err *err)
{
	memset(out, 0, sizeof(*out));
	MP_TRY(mp_file_check_name(name, err));
	return open_file(dir->fd, name, O_NOFOLLOW, mp_path_join(dir->path, name), out, err);
}

mp_status mp_file_open(const char *path, struct mp_file *out, mp_err *err)
{
	return open_file(AT_FDCWD, path, 0, mp_strdup(path), out, err);
}

void mp_file_forget(const struct mp_file *file, size_t offset, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t end;

	if (!file->data || offset >= file->size)
		return;
	end = len > file->size - offset ? file->size : offset + len;
	/* Whole pages before the end; the last page of the file goes with its last byte. */
	if (end < file->size)
		end -= end % page;
	offset -= offset % page;
	/* Only a hint: on failure the pages just stay resident. */
	if (end > offset)
		(void)madvise((void *)(uintptr_t)(file->data + offset), end - offset, MADV_DONTNEED);
}

void mp_file_close(struct mp_file *file)
{
	if (file->data)
		munmap((void *)(uintptr_t)file->data, file->size);
	mp_free(file->path);
	memset(file, 0, sizeof(*file));
}
