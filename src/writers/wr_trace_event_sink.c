/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of the portable trace in two large buffers: while one is filled, a thread hands the other to
 * the output file, because writing takes about as long as formatting. Without a thread it works as well.
 */
#include "writers/wr_trace_event.h"

#include <signal.h>

#include "base/banned.h"

static void hand_over(struct mp_trace_sink *sink, unsigned buffer)
{
	mp_out_write(sink->out, sink->buffers[buffer], sink->len[buffer]);
}

static void *run(void *user)
{
	struct mp_trace_sink *sink = user;

	pthread_mutex_lock(&sink->lock);
	for (;;) {
		unsigned buffer = sink->waiting;

		if (buffer == MP_SINK_NONE) {
			if (sink->stop)
				break;
			pthread_cond_wait(&sink->changed, &sink->lock);
			continue;
		}
		pthread_mutex_unlock(&sink->lock);
		hand_over(sink, buffer);
		pthread_mutex_lock(&sink->lock);
		sink->failed = sink->out->failed;
		sink->waiting = MP_SINK_NONE;
		pthread_cond_broadcast(&sink->changed);
	}
	pthread_mutex_unlock(&sink->lock);
	return NULL;
}

static void start_thread(struct mp_trace_sink *sink)
{
	sigset_t all, old;

	if (pthread_mutex_init(&sink->lock, NULL) != 0)
		return;
	if (pthread_cond_init(&sink->changed, NULL) != 0) {
		pthread_mutex_destroy(&sink->lock);
		return;
	}
	/* Signals of the program belong to the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	sink->has_thread = pthread_create(&sink->thread, NULL, run, sink) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!sink->has_thread) {
		pthread_cond_destroy(&sink->changed);
		pthread_mutex_destroy(&sink->lock);
	}
}

mp_status mp_trace_sink_open(struct mp_trace_sink *sink, struct mp_out *out, mp_err *err)
{
	sink->out = out;
	sink->waiting = MP_SINK_NONE;
	for (unsigned i = 0; i < 2; i++) {
		sink->buffers[i] = mp_malloc(MP_SINK_BYTES);
		if (!sink->buffers[i])
			return mp_err_nomem(err, MP_SINK_BYTES);
	}
	sink->at = sink->buffers[0];
	sink->end = sink->at + MP_SINK_BYTES;
	start_thread(sink);
	return MINDPROF_OK;
}

/* Gives the current buffer away and waits until the other one is free. */
static bool swap(struct mp_trace_sink *sink)
{
	unsigned full = sink->current;

	sink->len[full] = (size_t)(sink->at - sink->buffers[full]);
	if (sink->has_thread) {
		pthread_mutex_lock(&sink->lock);
		while (sink->waiting != MP_SINK_NONE)
			pthread_cond_wait(&sink->changed, &sink->lock);
		sink->waiting = full;
		sink->seen = sink->failed;
		pthread_cond_broadcast(&sink->changed);
		pthread_mutex_unlock(&sink->lock);
	} else {
		hand_over(sink, full);
		sink->seen = sink->out->failed;
	}
	sink->current = 1 - full;
	sink->at = sink->buffers[sink->current];
	sink->end = sink->at + MP_SINK_BYTES;
	return !sink->seen;
}

bool mp_trace_sink_renew(struct mp_trace_sink *sink)
{
	return swap(sink);
}

void mp_trace_sink_put(struct mp_trace_sink *sink, const char *bytes, size_t len)
{
	while (len) {
		size_t room = (size_t)(sink->end - sink->at), part = MP_MIN(room, len);

		memcpy(sink->at, bytes, part);
		sink->at += part;
		bytes += part;
		len -= part;
		if (len && !swap(sink))
			return;
	}
}

mp_status mp_trace_sink_close(struct mp_trace_sink *sink)
{
	if (!sink->out)
		return sink->seen;
	if (sink->at && !sink->seen)
		swap(sink);
	if (sink->has_thread) {
		pthread_mutex_lock(&sink->lock);
		sink->stop = true;
		pthread_cond_broadcast(&sink->changed);
		pthread_mutex_unlock(&sink->lock);
		pthread_join(sink->thread, NULL);
		pthread_cond_destroy(&sink->changed);
		pthread_mutex_destroy(&sink->lock);
		sink->has_thread = false;
	}
	sink->seen = sink->out->failed;
	mp_free(sink->buffers[0]);
	mp_free(sink->buffers[1]);
	sink->buffers[0] = sink->buffers[1] = sink->at = sink->end = NULL;
	sink->out = NULL;
	return sink->seen;
}
