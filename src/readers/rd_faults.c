/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault counters of the readers: every worker counts on its own, the sums become one note per kind
 * and file, with the first byte offset. Bad input cannot make more notes than there are kinds.
 */
#include "readers/readers.h"

#include <inttypes.h>

#include "base/banned.h"

void mp_fault_add(struct mp_fault *fault, int64_t byte_offset, uint64_t count)
{
	if (!count)
		return;
	if (!fault->count || byte_offset < fault->first_offset)
		fault->first_offset = byte_offset;
	fault->count += count;
}

void mp_faults_merge(struct mp_fault *into, const struct mp_fault *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mp_fault_add(&into[i], from[i].first_offset, from[i].count);
}

void mp_faults_note(struct mp_store *store, const char *path, const struct mp_fault *faults,
		    const struct mp_fault_kind *kinds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct mp_fault_kind *kind = &kinds[i];

		if (faults[i].count == 1)
			mp_store_note(store, kind->severity, kind->code, path, faults[i].first_offset, "%s",
				      kind->text);
		else if (faults[i].count > 1)
			mp_store_note(store, kind->severity, kind->code, path, faults[i].first_offset,
				      "%s (%" PRIu64 " times)", kind->text, faults[i].count);
	}
}
