/* SPDX-License-Identifier: Apache-2.0 */
/* Passes one formatted line to the program's log function; never allocates. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/banned.h"

#define LINE_MAX_BYTES 1024

void mp_log(const struct mp_log *log, enum mp_log_level level, const char *module, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;
	int len;

	if (!log || !log->fn || level > log->level)
		return;
	va_start(args, fmt);
	len = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (len < 0)
		return;
	for (char *c = line; *c; c++) {
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	}
	log->fn(log->user, level, module, line);
}
