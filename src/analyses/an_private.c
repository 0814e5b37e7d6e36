/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of result rows, and look-ups that several analyses need. */
#include "analyses/an_private.h"

#include <stdarg.h>

#include "base/mem.h"

#include "base/banned.h"

uint32_t *mp_track_processes(const struct mp_store *store)
{
	size_t n = mp_store_n_tracks(store);
	uint32_t *processes = mp_realloc_array(NULL, n + 1, sizeof(*processes));

	for (size_t i = 0; processes && i < n; i++)
		processes[i] = mp_store_get_track(store, (uint32_t)i).process;
	return processes;
}

bool mp_row_string(struct mp_table *table, struct mp_value *v, const struct mp_store *store,
		   uint32_t string_id)
{
	struct mp_str text = mp_store_text(store, string_id);

	return mp_value_text(table, v, text.text, text.len);
}

bool mp_row_text(struct mp_table *table, struct mp_value *v, const char *text)
{
	return mp_value_text(table, v, text, strlen(text));
}

bool mp_row_printf(struct mp_table *table, struct mp_value *v, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return mp_row_text(table, v, text);
}

bool mp_row_process(struct mp_table *table, struct mp_value *v, const struct mp_store *store,
		    uint32_t process)
{
	struct mp_process entry = mp_store_get_process(store, process);

	if (entry.name)
		return mp_row_string(table, v, store, entry.name);
	return mp_row_printf(table, v, "pid %lld", (long long)entry.pid);
}

bool mp_row_track(struct mp_table *table, struct mp_value *v, const struct mp_store *store, uint32_t track)
{
	struct mp_track entry = mp_store_get_track(store, track);

	if (entry.name)
		return mp_row_string(table, v, store, entry.name);
	if (entry.kind == MP_TRACK_STREAM)
		return mp_row_printf(table, v, "stream %lld",
				     (long long)(entry.stream >= 0 ? entry.stream : entry.tid));
	return mp_row_printf(table, v, "thread %lld", (long long)entry.tid);
}
