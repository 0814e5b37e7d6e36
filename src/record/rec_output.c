/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of a recording: <output>/<worker>_<pid>_<UTC ms stamp>_ascend_ms/MINDPROF/
 * (analysis-current.md section 1). What a failed start made is removed again.
 */
#include "record/rec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

#include "base/banned.h"

#define NAME_TRIES 100 /* names that were taken already, one per millisecond */

/* "20250705105252123": UTC to the millisecond. */
static void put_stamp(char *to, size_t size)
{
	struct timespec now;
	struct tm utc;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	snprintf(to, size, "%04d%02d%02d%02d%02d%02d%03d", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
		 utc.tm_hour, utc.tm_min, utc.tm_sec, (int)(now.tv_nsec / 1000000));
}

/* Length of the longest leading part of the path that exists. */
static size_t existing_part(const char *path)
{
	char part[sizeof(((struct mp_rec_options *)0)->output)];
	size_t len = strlen(path);

	memcpy(part, path, len + 1);
	while (len > 0 && access(part, F_OK) != 0) {
		while (len > 0 && part[len - 1] != '/')
			len--;
		while (len > 0 && part[len - 1] == '/')
			len--;
		part[len] = '\0';
	}
	return len;
}

static mp_status make_rank_directory(const struct mp_dir *output, const struct mp_rec_options *options,
				     char *name, size_t size, mp_err *err)
{
	const struct timespec millisecond = {0, 1000000};
	char stamp[64];

	for (int i = 0; i < NAME_TRIES; i++) {
		put_stamp(stamp, sizeof(stamp));
		snprintf(name, size, "%s_%d_%s_ascend_ms", options->worker, (int)getpid(), stamp);
		if (mkdirat(output->fd, name, 0750) == 0)
			return MINDPROF_OK;
		if (errno != EEXIST)
			break;
		nanosleep(&millisecond, NULL);
	}
	return mp_err_sys(err, errno, output->path, "cannot make directory '%s'", name);
}

/* Makes and opens the rank directory's MINDPROF/, and finds the absolute name of the rank directory. */
static mp_status make_inner(const struct mp_dir *output, const char *name, struct mp_rec_output *out,
			    mp_err *err)
{
	struct mp_dir rank = {-1, NULL}, inner = {-1, NULL};
	mp_status status = mp_dir_open_at(output, name, &rank, err);
	char real[PATH_MAX];

	if (!status && !realpath(rank.path, real))
		status = mp_err_sys(err, errno, rank.path, "cannot resolve '%s'", rank.path);
	if (!status)
		status = mp_dir_make_at(&rank, MP_NATIVE_DIR, &inner, err);
	if (!status) {
		snprintf(out->directory, sizeof(out->directory), "%s", real);
		out->fd = inner.fd;
		inner.fd = -1;
	} else {
		if (rank.fd >= 0)
			unlinkat(rank.fd, MP_NATIVE_DIR, AT_REMOVEDIR);
		unlinkat(output->fd, name, AT_REMOVEDIR);
	}
	mp_dir_close(&inner);
	mp_dir_close(&rank);
	return status;
}

/* Takes the directories away that were made for the output path, innermost first. */
static void remove_output_path(const struct mp_rec_options *options, size_t existing)
{
	char path[sizeof(options->output)];
	size_t len = strlen(options->output);

	memcpy(path, options->output, len + 1);
	while (len > existing && rmdir(path) == 0) {
		while (len > existing && path[len - 1] != '/')
			len--;
		while (len > existing && path[len - 1] == '/')
			len--;
		path[len] = '\0';
	}
}

mp_status mp_rec_output_make(const struct mp_rec_options *options, struct mp_rec_output *out, mp_err *err)
{
	char name[sizeof(options->worker) + 96];
	struct mp_dir output = {-1, NULL};
	mp_status status;

	out->fd = -1;
	out->directory[0] = '\0';
	out->existing = existing_part(options->output);
	status = mp_dir_make(options->output, &output, err);
	if (!status)
		status = make_rank_directory(&output, options, name, sizeof(name), err);
	if (!status)
		status = make_inner(&output, name, out, err);
	mp_dir_close(&output);
	if (status)
		remove_output_path(options, out->existing);
	return status;
}

void mp_rec_output_remove(const struct mp_rec_options *options, struct mp_rec_output *output)
{
	char inner[sizeof(output->directory) + sizeof(MP_NATIVE_DIR) + 1];

	if (output->fd < 0)
		return;
	unlinkat(output->fd, MP_NATIVE_SESSION_FILE, 0);
	unlinkat(output->fd, MP_NATIVE_EVENTS_FILE, 0);
	unlinkat(output->fd, MP_NATIVE_RING_FILE, 0);
	close(output->fd);
	output->fd = -1;
	snprintf(inner, sizeof(inner), "%s/" MP_NATIVE_DIR, output->directory);
	rmdir(inner);
	rmdir(output->directory);
	remove_output_path(options, output->existing);
	output->directory[0] = '\0';
}
