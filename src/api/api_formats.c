/* SPDX-License-Identifier: Apache-2.0 */
/* The formats that are read (the list of readers) and written (the formats of an export). */
#include "api/api_trace.h"

#include "base/banned.h"

static const struct mindprof_format written[] = {
	{"chrome", "Chrome trace JSON", 0, 1},
	{"csv", "CSV of one table", 0, 1},
};

int mindprof_format_at(size_t index, struct mindprof_format *out)
{
	size_t i;

	for (i = 0; mp_readers[i]; i++)
		if (i == index) {
			*out = (struct mindprof_format){mp_readers[i]->name, mp_readers[i]->title, 1, 0};
			return 1;
		}
	if (index - i >= MP_COUNT(written))
		return 0;
	*out = written[index - i];
	return 1;
}
