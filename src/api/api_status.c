/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of status codes and errors; part of both libraries. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <mindprof/types.h>

#include "base/banned.h"

const char *mindprof_status_text(enum mindprof_status status)
{
	switch (status) {
#define STATUS_CASE(name, value, text) \
	case name:                     \
		return text;
		MINDPROF_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
	}
	return "unknown status";
}

static size_t put(char *buf, size_t size, size_t at, const char *text)
{
	size_t len = strlen(text);

	if (at + 1 >= size)
		return at;
	if (len > size - at - 1)
		len = size - at - 1;
	memcpy(buf + at, text, len);
	buf[at + len] = '\0';
	return at + len;
}

static size_t put_place(char *buf, size_t size, size_t at, const struct mindprof_cause *cause)
{
	char offset[40];

	if (!cause->path[0] && cause->byte_offset < 0)
		return at;
	at = put(buf, size, at, " (");
	at = put(buf, size, at, cause->path);
	if (cause->byte_offset >= 0) {
		snprintf(offset, sizeof(offset), "%sbyte %" PRId64, cause->path[0] ? ", " : "",
			 cause->byte_offset);
		at = put(buf, size, at, offset);
	}
	return put(buf, size, at, ")");
}

char *mindprof_error_text(const struct mindprof_error *error, char *buf, size_t size)
{
	size_t at = 0;
	uint32_t i;

	if (!size)
		return buf;
	buf[0] = '\0';
	if (!error || !error->n_causes)
		return put(buf, size, 0, mindprof_status_text(error ? error->status : MINDPROF_OK)), buf;
	for (i = error->n_causes; i-- > 0;) {
		at = put(buf, size, at, error->causes[i].text);
		at = put_place(buf, size, at, &error->causes[i]);
		if (i)
			at = put(buf, size, at, ": ");
	}
	return buf;
}
