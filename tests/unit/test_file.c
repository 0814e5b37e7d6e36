/* SPDX-License-Identifier: Apache-2.0 */
/* base/file: directories, mapped inputs, outputs by rename; what must be refused; nothing left behind. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "unit/torture.h"

/* Every test works in a fresh directory, which is also the current one. */
static char work[512];
static struct mp_dir top;

static size_t count_fds(void)
{
	DIR *stream = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(stream);
	while (readdir(stream))
		n++;
	closedir(stream);
	return n;
}

static size_t fds_before;

static int set_up(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	umask(0);
	snprintf(work, sizeof(work), "%s/mindprof-file-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(work) || chdir(work) != 0)
		return -1;
	fds_before = count_fds();
	return mp_dir_open(".", &top, NULL);
}

static void remove_tree(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	struct dirent *entry;
	DIR *stream;

	if (fd < 0) {
		unlinkat(dir_fd, name, 0);
		return;
	}
	stream = fdopendir(fd);
	while (stream && (entry = readdir(stream))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_tree(fd, entry->d_name);
	}
	closedir(stream);
	unlinkat(dir_fd, name, AT_REMOVEDIR);
}

static int tear_down(void **state)
{
	(void)state;
	mp_dir_close(&top);
	/* No test may leave a descriptor open. */
	if (count_fds() != fds_before)
		return -1;
	if (chdir("/") != 0)
		return -1;
	remove_tree(AT_FDCWD, work);
	return 0;
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void assert_content(const char *name, const char *text)
{
	struct mp_file file;

	assert_int_equal(mp_file_open(name, &file, NULL), MINDPROF_OK);
	assert_int_equal(file.size, strlen(text));
	if (file.size)
		assert_memory_equal(file.data, text, file.size);
	mp_file_close(&file);
}

static size_t count_entries(void)
{
	struct mp_dir_entry *entries;
	size_t n;

	assert_int_equal(mp_dir_list(&top, &entries, &n, NULL), MINDPROF_OK);
	mp_free(entries);
	return n;
}

/* ------------------------------------------------------------- directories */

static void dir_open_faults(void **state)
{
	struct mp_dir dir;
	mp_err err = {0};

	(void)state;
	assert_int_equal(mp_dir_open("absent", &dir, &err), MINDPROF_E_NOT_FOUND);
	assert_string_equal(err.causes[0].text, "cannot open directory 'absent': No such file or directory");
	assert_string_equal(err.causes[0].path, "absent");
	mp_dir_close(&dir);
	write_file("file", "x");
	assert_int_equal(mp_dir_open("file", &dir, &err), MINDPROF_E_UNSUPPORTED);
	assert_int_equal(mp_dir_open_at(&top, "file", &dir, &err), MINDPROF_E_UNSUPPORTED);
	assert_int_equal(mp_dir_open_at(&top, "absent", &dir, &err), MINDPROF_E_NOT_FOUND);
	assert_string_equal(err.causes[0].path, "./absent");
}

static void dir_symlinks(void **state)
{
	struct mp_dir dir;
	mp_err err = {0};

	(void)state;
	assert_int_equal(mkdir("real", 0750), 0);
	assert_int_equal(symlink("real", "link"), 0);
	assert_int_equal(mp_dir_open("link", &dir, &err), MINDPROF_OK);
	mp_dir_close(&dir);
	mp_dir_close(&dir);
	assert_int_equal(mp_dir_open_at(&top, "link", &dir, &err), MINDPROF_E_UNSUPPORTED);
	assert_non_null(strstr(err.causes[0].text, "symbolic link"));
	assert_int_equal(mp_dir_make_at(&top, "link", &dir, &err), MINDPROF_E_UNSUPPORTED);
	assert_int_equal(mp_dir_open_at(&top, "real", &dir, &err), MINDPROF_OK);
	assert_string_equal(dir.path, "./real");
	mp_dir_close(&dir);
}

static void names_are_one_component(void **state)
{
	static const char *const bad[] = {"", ".", "..", "a/b", "/etc", "../x", "a/"};
	struct mp_dir dir;
	struct mp_file file;
	struct mp_out out;

	(void)state;
	for (size_t i = 0; i < MP_COUNT(bad); i++) {
		assert_int_equal(mp_dir_open_at(&top, bad[i], &dir, NULL), MINDPROF_E_ARGUMENT);
		assert_int_equal(mp_dir_make_at(&top, bad[i], &dir, NULL), MINDPROF_E_ARGUMENT);
		assert_int_equal(mp_file_open_at(&top, bad[i], &file, NULL), MINDPROF_E_ARGUMENT);
		assert_int_equal(mp_out_open_at(&top, bad[i], true, &out, NULL), MINDPROF_E_ARGUMENT);
	}
	assert_int_equal(count_entries(), 0);
}

static void dir_make_sets_the_mode(void **state)
{
	struct mp_dir dir;
	struct stat st;

	(void)state;
	assert_int_equal(mp_dir_make_at(&top, "new", &dir, NULL), MINDPROF_OK);
	assert_int_equal(fstat(dir.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	mp_dir_close(&dir);
	/* Again: it is there already. */
	assert_int_equal(mp_dir_make_at(&top, "new", &dir, NULL), MINDPROF_OK);
	mp_dir_close(&dir);
	write_file("file", "");
	assert_int_equal(mp_dir_make_at(&top, "file", &dir, NULL), MINDPROF_E_UNSUPPORTED);
}

static void dir_make_makes_parents(void **state)
{
	static const char *const paths[] = {"a/b/c", "a/b/c", "a/b/d/", "./e//f", "a/../g"};
	char absolute[600];
	struct mp_dir dir;
	struct stat st;
	mp_err err = {0};

	(void)state;
	for (size_t i = 0; i < MP_COUNT(paths); i++) {
		assert_int_equal(mp_dir_make(paths[i], &dir, &err), MINDPROF_OK);
		assert_string_equal(dir.path, paths[i]);
		mp_dir_close(&dir);
		assert_int_equal(stat(paths[i], &st), 0);
		assert_true(S_ISDIR(st.st_mode));
	}
	snprintf(absolute, sizeof(absolute), "%s/h/i", work);
	assert_int_equal(mp_dir_make(absolute, &dir, &err), MINDPROF_OK);
	mp_dir_close(&dir);
	assert_int_equal(stat("h/i", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(mp_dir_make("/", &dir, &err), MINDPROF_OK);
	mp_dir_close(&dir);
	write_file("file", "");
	assert_int_equal(mp_dir_make("file", &dir, &err), MINDPROF_E_UNSUPPORTED);
	assert_int_equal(mp_dir_make("file/x", &dir, &err), MINDPROF_E_NOT_FOUND);
	assert_int_equal(mp_dir_make("", &dir, &err), MINDPROF_E_ARGUMENT);
}

static void list_is_sorted_and_tells_kinds(void **state)
{
	struct mp_dir_entry *entries;
	size_t n;

	(void)state;
	write_file("b", "12345");
	write_file("\xc3\xa4", "");
	write_file("B", "1");
	assert_int_equal(mkdir("a", 0750), 0);
	assert_int_equal(symlink("b", "c"), 0);
	assert_int_equal(mkfifo("d", 0600), 0);
	/* Twice: the position of one reading must not disturb the next. */
	for (int round = 0; round < 2; round++) {
		static const char *const names[] = {"B", "a", "b", "c", "d", "\xc3\xa4"};

		assert_int_equal(mp_dir_list(&top, &entries, &n, NULL), MINDPROF_OK);
		assert_int_equal(n, 6);
		for (size_t i = 0; i < n; i++) {
			assert_string_equal(entries[i].name, names[i]);
			assert_int_equal(entries[i].is_dir, i == 1);
			assert_int_equal(entries[i].is_file, i == 0 || i == 2 || i == 5);
		}
		assert_int_equal(entries[0].size, 1);
		assert_int_equal(entries[2].size, 5);
		assert_int_equal(entries[3].size, 0);
		mp_free(entries);
	}
}

static void list_of_an_empty_directory(void **state)
{
	struct mp_dir_entry *entries;
	size_t n = 7;

	(void)state;
	assert_int_equal(mp_dir_list(&top, &entries, &n, NULL), MINDPROF_OK);
	assert_int_equal(n, 0);
	mp_free(entries);
}

static void list_of_many(void **state)
{
	struct mp_dir_entry *entries;
	size_t n;

	(void)state;
	for (int i = 0; i < 500; i++) {
		char name[32];

		snprintf(name, sizeof(name), "f%03d", (i * 7) % 500);
		write_file(name, "");
	}
	assert_int_equal(mp_dir_list(&top, &entries, &n, NULL), MINDPROF_OK);
	assert_int_equal(n, 500);
	for (int i = 0; i < 500; i++) {
		char name[32];

		snprintf(name, sizeof(name), "f%03d", i);
		assert_string_equal(entries[i].name, name);
	}
	mp_free(entries);
}

/* ------------------------------------------------------------------ inputs */

static void file_is_mapped(void **state)
{
	static const struct timespec times[2] = {{1700000000, 123456789}, {1700000000, 123456789}};
	struct mp_file file;

	(void)state;
	write_file("f", "hello");
	assert_int_equal(utimensat(AT_FDCWD, "f", times, 0), 0);
	assert_int_equal(mp_file_open_at(&top, "f", &file, NULL), MINDPROF_OK);
	assert_int_equal(file.size, 5);
	assert_memory_equal(file.data, "hello", 5);
	assert_string_equal(file.path, "./f");
	assert_true(file.mtime_ns == 1700000000123456789);
	mp_file_close(&file);
	mp_file_close(&file);
	assert_int_equal(mp_file_open("f", &file, NULL), MINDPROF_OK);
	assert_string_equal(file.path, "f");
	mp_file_close(&file);
}

static void empty_file_has_no_data(void **state)
{
	struct mp_file file;

	(void)state;
	write_file("f", "");
	assert_int_equal(mp_file_open_at(&top, "f", &file, NULL), MINDPROF_OK);
	assert_null(file.data);
	assert_int_equal(file.size, 0);
	mp_file_forget(&file, 0, 10);
	mp_file_close(&file);
}

static void make_socket(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

/* A FIFO without writer would block an ordinary open for ever. */
static void only_regular_files_are_read(void **state)
{
	static const char *const names[] = {"fifo", "dir", "socket"};
	struct mp_file file;
	mp_err err = {0};

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(mkdir("dir", 0700), 0);
	make_socket("socket");
	for (size_t i = 0; i < MP_COUNT(names); i++) {
		assert_int_equal(mp_file_open_at(&top, names[i], &file, &err), MINDPROF_E_UNSUPPORTED);
		assert_non_null(strstr(err.causes[0].text, "is not a regular file"));
		assert_int_equal(mp_file_open(names[i], &file, &err), MINDPROF_E_UNSUPPORTED);
		mp_file_close(&file);
	}
	assert_int_equal(mp_file_open("/dev/zero", &file, &err), MINDPROF_E_UNSUPPORTED);
	assert_int_equal(mp_file_open("absent", &file, &err), MINDPROF_E_NOT_FOUND);
	assert_string_equal(err.causes[0].text, "cannot open 'absent': No such file or directory");
}

static void file_symlinks(void **state)
{
	struct mp_file file;
	mp_err err = {0};

	(void)state;
	write_file("f", "x");
	assert_int_equal(symlink("f", "link"), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	assert_int_equal(mp_file_open_at(&top, "link", &file, &err), MINDPROF_E_UNSUPPORTED);
	assert_string_equal(err.causes[0].text, "cannot open './link': it is a symbolic link");
	assert_int_equal(mp_file_open("link", &file, &err), MINDPROF_OK);
	mp_file_close(&file);
	assert_int_equal(mp_file_open("loop", &file, &err), MINDPROF_E_UNSUPPORTED);
}

/* The bytes come back from the file after any pattern of forgetting. */
static void forget_keeps_the_content(void **state)
{
	static const size_t spans[][2] = {{0, 100},      {1, 4096},   {4095, 2},
					  {5000, 60000}, {99999, 1},  {99990, SIZE_MAX},
					  {0, SIZE_MAX}, {100000, 5}, {SIZE_MAX, SIZE_MAX}};
	struct mp_file file;
	FILE *stream = fopen("f", "w");

	(void)state;
	assert_non_null(stream);
	for (int i = 0; i < 100000; i++)
		fputc('a' + i % 23, stream);
	assert_int_equal(fclose(stream), 0);
	assert_int_equal(mp_file_open_at(&top, "f", &file, NULL), MINDPROF_OK);
	for (size_t i = 0; i < MP_COUNT(spans); i++) {
		mp_file_forget(&file, spans[i][0], spans[i][1]);
		for (size_t j = 0; j < 100000; j++)
			assert_int_equal(file.data[j], 'a' + j % 23);
	}
	mp_file_close(&file);
}

/* ----------------------------------------------------------------- outputs */

static void commit_renames(void **state)
{
	struct mp_out out;
	struct stat st;

	(void)state;
	assert_int_equal(mp_out_open_at(&top, "f", false, &out, NULL), MINDPROF_OK);
	mp_out_str(&out, "one ");
	mp_out_printf(&out, "%d ", 2);
	mp_out_write(&out, "three", 5);
	assert_int_equal(access("f", F_OK), -1);
	assert_int_equal(count_entries(), 1);
	assert_int_equal(mp_out_commit(&out, NULL), MINDPROF_OK);
	mp_out_abort(&out);
	assert_content("f", "one 2 three");
	assert_int_equal(count_entries(), 1);
	assert_int_equal(stat("f", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
}

static void numbers_have_the_forms_of_num(void **state)
{
	struct mp_out out;

	(void)state;
	assert_int_equal(mp_out_open_at(&top, "f", false, &out, NULL), MINDPROF_OK);
	mp_out_i64(&out, INT64_MIN);
	mp_out_str(&out, " ");
	mp_out_us3(&out, 12345);
	mp_out_str(&out, " ");
	mp_out_double(&out, 2);
	assert_int_equal(mp_out_commit(&out, NULL), MINDPROF_OK);
	assert_content("f", "-9223372036854775808 12.345 2.0");
}

static void abort_leaves_nothing(void **state)
{
	struct mp_out out;
	struct mp_out zeroed = {0};

	(void)state;
	assert_int_equal(mp_out_open("f", false, &out, NULL), MINDPROF_OK);
	mp_out_str(&out, "text");
	mp_out_abort(&out);
	mp_out_abort(&out);
	assert_int_equal(count_entries(), 0);
	/* Its descriptor fields are 0: tear_down sees whether that one was closed. */
	mp_out_abort(&zeroed);
}

static void existing_file_needs_overwrite(void **state)
{
	struct mp_out out;
	mp_err err = {0};

	(void)state;
	write_file("f", "old");
	assert_int_equal(mp_out_open("f", false, &out, &err), MINDPROF_E_EXISTS);
	assert_string_equal(err.causes[0].text, "cannot write 'f': File exists");
	mp_out_abort(&out);
	assert_int_equal(mp_out_open("f", true, &out, &err), MINDPROF_OK);
	mp_out_str(&out, "new");
	assert_content("f", "old");
	assert_int_equal(mp_out_commit(&out, &err), MINDPROF_OK);
	assert_content("f", "new");
	assert_int_equal(count_entries(), 1);
}

static void file_that_appears_meanwhile_is_kept(void **state)
{
	struct mp_out out;
	mp_err err = {0};

	(void)state;
	assert_int_equal(mp_out_open("f", false, &out, &err), MINDPROF_OK);
	mp_out_str(&out, "mine");
	write_file("f", "theirs");
	assert_int_equal(mp_out_commit(&out, &err), MINDPROF_E_EXISTS);
	assert_content("f", "theirs");
	assert_int_equal(count_entries(), 1);
}

static void never_through_or_over_special_files(void **state)
{
	static const char *const names[] = {"link", "dangling", "dir", "fifo"};
	struct mp_out out;
	mp_err err = {0};

	(void)state;
	write_file("target", "safe");
	assert_int_equal(symlink("target", "link"), 0);
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	assert_int_equal(mkdir("dir", 0700), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	for (size_t i = 0; i < MP_COUNT(names); i++) {
		assert_int_equal(mp_out_open(names[i], true, &out, &err), MINDPROF_E_UNSUPPORTED);
		assert_int_equal(mp_out_open(names[i], false, &out, &err), MINDPROF_E_UNSUPPORTED);
		assert_int_equal(mp_out_open_at(&top, names[i], true, &out, &err), MINDPROF_E_UNSUPPORTED);
	}
	/* The same when the symlink comes between open and commit. */
	assert_int_equal(mp_out_open("late", true, &out, &err), MINDPROF_OK);
	mp_out_str(&out, "x");
	assert_int_equal(symlink("target", "late"), 0);
	assert_int_equal(mp_out_commit(&out, &err), MINDPROF_E_UNSUPPORTED);
	assert_content("target", "safe");
	assert_int_equal(count_entries(), 6);
}

static void out_paths(void **state)
{
	static const char *const bad[] = {"", "dir/", ".", "dir/..", "/"};
	struct mp_out out;
	mp_err err = {0};

	(void)state;
	assert_int_equal(mkdir("dir", 0700), 0);
	assert_int_equal(symlink("dir", "link"), 0);
	for (size_t i = 0; i < MP_COUNT(bad); i++)
		assert_int_equal(mp_out_open(bad[i], true, &out, &err), MINDPROF_E_ARGUMENT);
	assert_int_equal(mp_out_open("absent/f", true, &out, &err), MINDPROF_E_NOT_FOUND);
	assert_int_equal(err.n_causes, 2);
	assert_string_equal(err.causes[1].text, "cannot write 'absent/f'");
	/* A directory that the user named may be a symlink. */
	assert_int_equal(mp_out_open("link/f", true, &out, &err), MINDPROF_OK);
	assert_int_equal(mp_out_commit(&out, &err), MINDPROF_OK);
	assert_content("dir/f", "");
}

static void longest_name(void **state)
{
	char name[256];
	struct mp_out out;

	(void)state;
	memset(name, 'n', 255);
	name[255] = '\0';
	assert_int_equal(mp_out_open(name, false, &out, NULL), MINDPROF_OK);
	mp_out_str(&out, "x");
	assert_int_equal(mp_out_commit(&out, NULL), MINDPROF_OK);
	assert_content(name, "x");
}

static void two_outputs_of_one_name(void **state)
{
	struct mp_out a, b;

	(void)state;
	assert_int_equal(mp_out_open("f", true, &a, NULL), MINDPROF_OK);
	assert_int_equal(mp_out_open("f", true, &b, NULL), MINDPROF_OK);
	mp_out_str(&a, "first");
	mp_out_str(&b, "second");
	assert_int_equal(mp_out_commit(&b, NULL), MINDPROF_OK);
	assert_int_equal(mp_out_commit(&a, NULL), MINDPROF_OK);
	assert_content("f", "first");
	assert_int_equal(count_entries(), 1);
}

/* Portions of all sizes around the buffer's, by every way of writing. */
static void sizes_of_writes(void **state)
{
	static char text[700000];
	static const size_t sizes[] = {1, 65535, 65536, 262143, 262144, 262145, 1, 700000, 3};
	struct mp_out out;
	struct mp_file file;
	size_t total = 0, at = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 19);
	assert_int_equal(mp_out_open("f", false, &out, NULL), MINDPROF_OK);
	for (size_t i = 0; i < MP_COUNT(sizes); i++) {
		char *to;

		mp_out_write(&out, text, sizes[i]);
		mp_out_printf(&out, "%.*s", (int)sizes[i], text);
		total += 2 * sizes[i];
		to = mp_out_reserve(&out, MP_MIN(sizes[i], (size_t)65536));
		assert_non_null(to);
		memcpy(to, text, MP_MIN(sizes[i], (size_t)65536));
		out.len += MP_MIN(sizes[i], (size_t)65536);
		total += MP_MIN(sizes[i], (size_t)65536);
	}
	assert_int_equal(mp_out_commit(&out, NULL), MINDPROF_OK);
	assert_int_equal(mp_file_open("f", &file, NULL), MINDPROF_OK);
	assert_int_equal(file.size, total);
	for (size_t i = 0; i < MP_COUNT(sizes); i++) {
		for (int way = 0; way < 3; way++) {
			size_t len = way == 2 ? MP_MIN(sizes[i], (size_t)65536) : sizes[i];

			assert_memory_equal(file.data + at, text, len);
			at += len;
		}
	}
	mp_file_close(&file);
}

static void full_disk_is_reported_once_with_the_name(void **state)
{
	struct mp_out out;
	mp_err err = {0};
	int full = open("/dev/full", O_WRONLY);

	(void)state;
	assert_true(full >= 0);
	assert_int_equal(mp_out_open_fd(full, "standard output", &out, &err), MINDPROF_OK);
	mp_out_str(&out, "text");
	assert_int_equal(mp_out_commit(&out, &err), MINDPROF_E_IO);
	assert_string_equal(err.causes[0].text, "cannot write 'standard output': No space left on device");
	assert_string_equal(err.causes[0].path, "standard output");
	assert_int_equal(err.n_causes, 1);
	/* The descriptor is the caller's. */
	assert_true(fcntl(full, F_GETFD) >= 0);

	/* A file whose disk is full: neither it nor the temporary one stays. */
	assert_int_equal(mp_out_open("f", false, &out, &err), MINDPROF_OK);
	assert_true(dup2(full, out.fd) == out.fd);
	for (int i = 0; i < 100000; i++)
		mp_out_str(&out, "0123456789");
	assert_int_equal(out.failed, MINDPROF_E_IO);
	assert_null(mp_out_reserve(&out, 1));
	mp_out_printf(&out, "%d", 1);
	assert_int_equal(mp_out_commit(&out, &err), MINDPROF_E_IO);
	assert_string_equal(err.causes[0].text, "cannot write 'f': No space left on device");
	assert_int_equal(count_entries(), 0);
	close(full);
}

static void *read_all(void *arg)
{
	int fd = *(int *)arg;
	uintptr_t total = 0;
	char buf[1000];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		total += (uintptr_t)n;
	return (void *)total;
}

/* A pipe takes 64 KiB at most, so writes are short; a non-blocking one refuses in between. */
static void slow_pipe(void **state)
{
	static char text[300000];

	(void)state;
	memset(text, 'x', sizeof(text));
	for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
		struct mp_out out;
		pthread_t thread;
		void *total;
		int fds[2];

		assert_int_equal(pipe2(fds, nonblocking ? O_NONBLOCK : 0), 0);
		assert_int_equal(fcntl(fds[0], F_SETFL, 0), 0);
		assert_int_equal(pthread_create(&thread, NULL, read_all, &fds[0]), 0);
		assert_int_equal(mp_out_open_fd(fds[1], "pipe", &out, NULL), MINDPROF_OK);
		for (int i = 0; i < 5; i++)
			mp_out_write(&out, text, sizeof(text));
		mp_out_str(&out, "end");
		assert_int_equal(mp_out_commit(&out, NULL), MINDPROF_OK);
		close(fds[1]);
		assert_int_equal(pthread_join(thread, &total), 0);
		assert_int_equal((uintptr_t)total, 5 * sizeof(text) + 3);
		close(fds[0]);
	}
}

/* The directory was removed after it was opened. */
static void removed_directory(void **state)
{
	struct mp_dir gone, dir;
	struct mp_out out;
	mp_err err = {0};

	(void)state;
	assert_int_equal(mp_dir_make("gone", &gone, NULL), MINDPROF_OK);
	assert_int_equal(rmdir("gone"), 0);
	assert_int_equal(mp_out_open_at(&gone, "f", true, &out, &err), MINDPROF_E_NOT_FOUND);
	assert_string_equal(err.causes[0].text, "cannot write 'gone/f': No such file or directory");
	assert_int_equal(mp_dir_make_at(&gone, "d", &dir, &err), MINDPROF_E_NOT_FOUND);
	mp_dir_close(&gone);
}

static void names_that_are_too_long(void **state)
{
	char path[400];
	struct mp_dir dir;
	struct mp_file file;
	struct mp_out out;
	mp_err err = {0};

	(void)state;
	memset(path, 'n', sizeof(path));
	path[300] = '/';
	path[399] = '\0';
	assert_int_equal(mp_dir_make(path, &dir, &err), MINDPROF_E_IO);
	assert_non_null(strstr(err.causes[0].text, ": File name too long"));
	path[300] = '\0';
	assert_int_equal(mp_dir_make_at(&top, path, &dir, &err), MINDPROF_E_IO);
	assert_int_equal(mp_file_open_at(&top, path, &file, &err), MINDPROF_E_IO);
	assert_int_equal(mp_out_open_at(&top, path, true, &out, &err), MINDPROF_E_IO);
	assert_int_equal(count_entries(), 0);
}

/* From here on this process has no renameat2, like an old kernel. */
static bool forbid_renameat2(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {MP_COUNT(filter), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Exit status of the child: 0 = as it should be, 77 = this kernel has no filters. */
static int commit_without_renameat2(void)
{
	struct mp_out out, late;

	if (!forbid_renameat2())
		return 77;
	if (mp_out_open("f", false, &out, NULL) != MINDPROF_OK)
		return 1;
	if (mp_out_open("f", false, &late, NULL) != MINDPROF_OK)
		return 2;
	mp_out_str(&out, "first");
	mp_out_str(&late, "second");
	if (mp_out_commit(&out, NULL) != MINDPROF_OK)
		return 3;
	return mp_out_commit(&late, NULL) == MINDPROF_E_EXISTS ? 0 : 4;
}

static void no_replace_without_renameat2(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		_exit(commit_without_renameat2());
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_content("f", "first");
	assert_int_equal(count_entries(), 1);
}

/* ------------------------------------------------------- allocation failures */

static mp_status directories(void *user)
{
	struct mp_dir dir = {0};
	struct mp_dir_entry *entries = NULL;
	size_t n;
	mp_err err = {0};
	mp_status status;

	(void)user;
	status = mp_dir_make("a/b", &dir, &err);
	if (status == MINDPROF_OK) {
		mp_dir_close(&dir);
		status = mp_dir_make_at(&top, "c", &dir, &err);
	}
	if (status == MINDPROF_OK)
		status = mp_dir_list(&top, &entries, &n, &err);
	mp_dir_close(&dir);
	mp_free(entries);
	assert_int_equal(err.status, status);
	return status;
}

static mp_status read_and_write(void *user)
{
	struct mp_file file = {0};
	struct mp_out out = {0};
	mp_err err = {0};
	mp_status status = mp_file_open_at(&top, "in", &file, &err);

	(void)user;
	if (status == MINDPROF_OK) {
		mp_file_close(&file);
		status = mp_file_open("in", &file, &err);
	}
	if (status == MINDPROF_OK)
		status = mp_out_open("out", true, &out, &err);
	if (status == MINDPROF_OK) {
		mp_out_printf(&out, "%70000d", 1);
		status = mp_out_commit(&out, &err);
	}
	if (status == MINDPROF_OK)
		status = mp_out_open_at(&top, "out", true, &out, &err);
	if (status == MINDPROF_OK)
		status = mp_out_commit(&out, &err);
	if (status == MINDPROF_OK)
		status = mp_out_open_fd(1, "stdout", &out, &err);
	if (status == MINDPROF_OK)
		status = mp_out_commit(&out, &err);
	mp_out_abort(&out);
	mp_file_close(&file);
	assert_int_equal(err.status, status);
	return status;
}

static void allocation_failures(void **state)
{
	(void)state;
	/* Two paths; one path; one array of entries. */
	assert_int_equal(torture(directories, NULL), 4);
	write_file("in", "text");
	/* 1 + 1 paths; parent, its copy, path, name, buffer, temporary name, long text; 4; 2. */
	assert_int_equal(torture(read_and_write, NULL), 2 + 7 + 4 + 2);
	assert_int_equal(count_entries(), 4);
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILE_TEST(dir_open_faults),
		FILE_TEST(dir_symlinks),
		FILE_TEST(names_are_one_component),
		FILE_TEST(dir_make_sets_the_mode),
		FILE_TEST(dir_make_makes_parents),
		FILE_TEST(list_is_sorted_and_tells_kinds),
		FILE_TEST(list_of_an_empty_directory),
		FILE_TEST(list_of_many),
		FILE_TEST(file_is_mapped),
		FILE_TEST(empty_file_has_no_data),
		FILE_TEST(only_regular_files_are_read),
		FILE_TEST(file_symlinks),
		FILE_TEST(forget_keeps_the_content),
		FILE_TEST(commit_renames),
		FILE_TEST(numbers_have_the_forms_of_num),
		FILE_TEST(abort_leaves_nothing),
		FILE_TEST(existing_file_needs_overwrite),
		FILE_TEST(file_that_appears_meanwhile_is_kept),
		FILE_TEST(never_through_or_over_special_files),
		FILE_TEST(out_paths),
		FILE_TEST(longest_name),
		FILE_TEST(two_outputs_of_one_name),
		FILE_TEST(sizes_of_writes),
		FILE_TEST(full_disk_is_reported_once_with_the_name),
		FILE_TEST(slow_pipe),
		FILE_TEST(removed_directory),
		FILE_TEST(names_that_are_too_long),
		FILE_TEST(no_replace_without_renameat2),
		FILE_TEST(allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
