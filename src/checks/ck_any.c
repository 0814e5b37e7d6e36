/* SPDX-License-Identifier: Apache-2.0 */
/* Which check a file needs, by its first bytes. */
#include <string.h>

#include "checks/checks.h"

#include "base/banned.h"

/* How far a header line is looked at. */
#define HEAD_MAX 4096

static bool is_text(const uint8_t *data, size_t size)
{
	size_t i;

	for (i = 0; i < size && i < HEAD_MAX && data[i] != '\n'; i++)
		if (data[i] < 0x20 && data[i] != '\t' && data[i] != '\r')
			return false;
	return true;
}

mp_status mp_check_any(const void *data, size_t size, const struct mp_check *check, uint64_t *n_faults,
		       mp_err *err)
{
	const uint8_t *bytes = data;
	size_t i = 0;

	if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
		i = 3;
	while (i < size && (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\r' || bytes[i] == '\t'))
		i++;
	if (i == size)
		return mp_err_set(err, MINDPROF_E_UNSUPPORTED, NULL, -1, "there is nothing to check");
	if (bytes[i] == '[' || bytes[i] == '{')
		return mp_check_json_trace(data, size, check, n_faults, err);
	if (is_text(bytes + i, size - i))
		return mp_check_csv(data, size, check, n_faults, err);
	return mp_err_set(err, MINDPROF_E_UNSUPPORTED, NULL, (int64_t)i, "neither JSON nor CSV");
}
