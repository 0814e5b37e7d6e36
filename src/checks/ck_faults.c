/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of one check: counted all, kept up to the limits, delivered in the order of the file. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "checks/checks.h"

#include "base/banned.h"

#define DEFAULT_MAX 1000
#define DEFAULT_MAX_PER_CODE 20

void mp_faults_init(struct mp_faults *faults, const struct mp_check *check)
{
	memset(faults, 0, sizeof(*faults));
	faults->check = check;
}

/* Counts one more of the code; returns how many there were before. */
static size_t count_code(struct mp_faults *faults, const char *code)
{
	size_t i;

	for (i = 0; i < MP_CHECK_CODES - 1 && faults->codes[i].code; i++)
		if (strcmp(faults->codes[i].code, code) == 0)
			break;
	faults->codes[i].code = code;
	return faults->codes[i].n++;
}

void mp_faults_add(struct mp_faults *faults, const char *code, int64_t offset, const char *fmt, ...)
{
	const struct mp_check *check = faults->check;
	size_t max = check->max_faults ? check->max_faults : DEFAULT_MAX;
	size_t max_per_code = check->max_per_code ? check->max_per_code : DEFAULT_MAX_PER_CODE;
	struct mp_found found = {.code = code, .offset = offset};
	va_list args;

	faults->n++;
	if (count_code(faults, code) >= max_per_code || faults->found.len >= max)
		return;
	va_start(args, fmt);
	vsnprintf(found.text, sizeof(found.text), fmt, args);
	va_end(args);
	if (!mp_vec_push(&faults->found, found))
		faults->no_memory = true;
}

/* Insertion sort: few faults, mostly in order; equal offsets stay as they were found. */
static void sort_found(struct mp_found *found, size_t n)
{
	struct mp_found moved;
	size_t i, k;

	for (i = 1; i < n; i++) {
		for (k = i; k > 0 && found[k - 1].offset > found[i].offset; k--)
			;
		if (k == i)
			continue;
		moved = found[i];
		memmove(found + k + 1, found + k, (i - k) * sizeof(*found));
		found[k] = moved;
	}
}

static void deliver(const struct mp_faults *faults, const char *data)
{
	const char *line_begin = data, *at, *end;
	uint64_t line = 1;
	size_t i;

	for (i = 0; i < faults->found.len; i++) {
		const struct mp_found *found = &faults->found.at[i];
		struct mp_check_fault fault = {
			.code = found->code, .text = found->text, .byte_offset = found->offset};

		at = data + found->offset;
		while (line_begin < at && (end = memchr(line_begin, '\n', (size_t)(at - line_begin)))) {
			line_begin = end + 1;
			line++;
		}
		fault.line = line;
		fault.column = (uint64_t)(at - line_begin) + 1;
		faults->check->fn(faults->check->user, &fault);
	}
}

mp_status mp_faults_finish(struct mp_faults *faults, const void *data, uint64_t *n_faults, mp_err *err)
{
	bool no_memory = faults->no_memory;

	if (!no_memory) {
		sort_found(faults->found.at, faults->found.len);
		if (faults->check->fn)
			deliver(faults, data);
		if (n_faults)
			*n_faults = faults->n;
	}
	mp_vec_release(&faults->found);
	return no_memory ? mp_err_set(err, MINDPROF_E_NOMEM, NULL, -1, "out of memory") : MINDPROF_OK;
}
