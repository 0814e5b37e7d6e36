/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict checks of files, ours and other tools', for `mindprof check`: every fault with its place.
 * A check reads one memory range, uses memory bounded by a small multiple of its size, and delivers
 * its faults at the end in the order of the file.
 */
#ifndef MP_CHECKS_H
#define MP_CHECKS_H

#include "base/err.h"
#include "base/vec.h"

struct mp_check_fault {
	const char *code; /* constant word of the kind, see the lists below */
	const char *text; /* part of a sentence, lower case; valid during the call */
	int64_t byte_offset;
	uint64_t line, column; /* from 1, column in bytes */
};

typedef void (*mp_check_fn)(void *user, const struct mp_check_fault *fault);

/* Where faults go, and how many of them. Those beyond a limit are counted, not delivered. */
struct mp_check {
	mp_check_fn fn; /* may be NULL: count only */
	void *user;
	size_t max_faults;   /* in all; 0 = 1000 */
	size_t max_per_code; /* of one code; 0 = 20 */
};

/*
 * All three: OK = checked, with or without faults (*n_faults is the number of all, delivered or not,
 * and may be NULL); failure = could not be checked (E_NOMEM; mp_check_any also E_UNSUPPORTED).
 */

/*
 * A Chrome JSON trace (Trace Event Format): {"traceEvents": [...]} or [...].
 *   json-syntax json-truncated json-nan json-depth invalid-utf8   the text; checking of it ends there
 *   duplicate-key        in one object, anywhere
 *   not-a-trace          neither an array nor an object with an array "traceEvents"
 *   event-not-object event-phase event-name
 *   event-time           ts or dur is missing, not a number, or beyond the range of nanoseconds
 *   mixed-time           ts is text in some events and a number in others. All of them text is
 *                        accepted: the original writes its traces so
 *   negative-duration
 *   unmatched-begin unmatched-end   B without E and E without B of one lane (pid, tid)
 *   partial-overlap      of two slices of one lane, to the nanosecond
 *   flow-id              missing, or not an integer (text is accepted where times are text)
 *   flow-without-start flow-without-end
 *   unbound-flow         no slice of its lane encloses the end of the flow (bp "e"), or follows it
 *   metadata-args        a name, label or sort index that is missing or of the wrong type
 */
mp_status mp_check_json_trace(const void *data, size_t size, const struct mp_check *check, uint64_t *n_faults,
			      mp_err *err);

/*
 * A CSV file with a header.
 *   csv-columns   a row with another number of fields than the header
 *   csv-header    a title twice, or no header at all
 *   csv-quote     unterminated quote, or text behind a closing quote
 *   csv-cr csv-nul invalid-utf8
 *   csv-line-ends LF and CRLF mixed
 */
mp_status mp_check_csv(const void *data, size_t size, const struct mp_check *check, uint64_t *n_faults, mp_err *err);

/* A trace when the first byte that is not white space is '[' or '{', else CSV; E_UNSUPPORTED for empty and binary data. */
mp_status mp_check_any(const void *data, size_t size, const struct mp_check *check, uint64_t *n_faults, mp_err *err);

/* --- for the files of this room: the faults of one run (ck_faults.c) */

#define MP_CHECK_CODES 32

struct mp_found {
	const char *code; /* constant */
	int64_t offset;
	char text[120];
};

struct mp_faults {
	const struct mp_check *check; /* borrowed */
	MP_VEC(struct mp_found) found; /* the ones to be delivered */
	struct {
		const char *code; /* constant */
		size_t n;
	} codes[MP_CHECK_CODES];
	uint64_t n;
	bool no_memory; /* sticks */
};

void mp_faults_init(struct mp_faults *faults, const struct mp_check *check);
/* Counts the fault and keeps it unless a limit was reached. */
void mp_faults_add(struct mp_faults *faults, const char *code, int64_t offset, const char *fmt, ...) MP_PRINTF(4, 5);
/* Delivers in the order of offsets, with lines and columns, and releases. E_NOMEM when memory was out at any time. */
mp_status mp_faults_finish(struct mp_faults *faults, const void *data, uint64_t *n_faults, mp_err *err);

#endif
