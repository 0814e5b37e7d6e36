/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of <mindprof/record.h> that are not on the way of an event (those are in
 * record/rec_hot.c), and what happens when the library is loaded and when the process exits.
 * errno is the same after each call as before it.
 */
#include <errno.h>
#include <string.h>

#include <mindprof/record.h>

#include "record/rec.h"

#include "base/banned.h"

enum mindprof_status mindprof_record_start(const struct mindprof_record_options *options,
					   struct mindprof_error *error)
{
	int saved = errno;
	enum mindprof_status status;

	mp_rec_process_prepare();
	status = mp_rec_start(options, error);
	errno = saved;
	return status;
}

enum mindprof_status mindprof_record_stop(struct mindprof_error *error)
{
	int saved = errno;
	enum mindprof_status status = mp_rec_stop(error);

	errno = saved;
	return status;
}

enum mindprof_status mindprof_record_dump(struct mindprof_error *error)
{
	int saved = errno;
	enum mindprof_status status = mp_rec_dump(error);

	errno = saved;
	return status;
}

int mindprof_record_dump_from_signal(void)
{
	int saved = errno;
	int result = mp_rec_dump_from_signal();

	errno = saved;
	return result;
}

size_t mindprof_record_directory(char *buf, size_t size)
{
	int saved = errno;
	size_t len = mp_rec_directory(buf, size);

	errno = saved;
	return len;
}

void mindprof_record_get_stats(struct mindprof_record_stats *stats)
{
	mp_rec_stats(stats);
}

/* For names asked for by a signal handler that interrupted the recorder; id 0 makes it resolve later. */
static struct mindprof_site no_names = {.name = MP_REC_OUT_OF_NAMES, .kind = MINDPROF_SITE_RANGE};

struct mindprof_site *mindprof_site_get(enum mindprof_site_kind kind, const char *name,
					const char *attributes)
{
	struct mindprof_site *site = &no_names;
	int saved = errno;

	if (mp_rec_enter()) {
		site = mp_rec_site_get((uint32_t)kind, name, attributes);
		mp_rec_leave();
	}
	errno = saved;
	return site;
}

struct mindprof_site *mindprof_op_site(const struct mindprof_op *op)
{
	struct mindprof_op known = {.stream = -1};
	struct mindprof_site *site = &no_names;
	int saved = errno;

	memcpy(&known, op, MP_MIN(op->size, sizeof(known)));
	if (mp_rec_enter()) {
		site = mp_rec_op_site(&known);
		mp_rec_leave();
	}
	errno = saved;
	return site;
}

void mindprof_thread_name_(const char *name)
{
	int saved = errno;

	if (mp_rec_enter()) {
		mp_rec_thread_rename(name);
		mp_rec_leave();
	}
	errno = saved;
}

void mindprof_process_name_(const char *name)
{
	int saved = errno;

	mp_rec_process_rename(name);
	errno = saved;
}

void mindprof_metadata_(const char *key, const char *json)
{
	int saved = errno;

	mp_rec_metadata(key, json);
	errno = saved;
}

__attribute__((constructor)) static void library_loaded(void)
{
	int saved = errno;

	mp_rec_process_prepare();
	mp_rec_start_from_environment();
	errno = saved;
}

__attribute__((destructor)) static void process_exits(void)
{
	mp_rec_stop_at_exit();
}
