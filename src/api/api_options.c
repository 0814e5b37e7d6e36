/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option structs begin with their size, so that programs built against an older header keep
 * working: missing fields are 0; fields that this library does not know must be 0.
 */
#include "api/api_trace.h"

#include "base/banned.h"

mp_status api_take_options(void *to, size_t to_size, const void *from, mp_err *err)
{
	size_t size, i;

	memset(to, 0, to_size);
	if (!from)
		return MINDPROF_OK;
	memcpy(&size, from, sizeof(size));
	if (size < sizeof(size))
		return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1, "option struct has no size");
	for (i = to_size; i < size; i++)
		if (((const char *)from)[i])
			return mp_err_set(err, MINDPROF_E_UNSUPPORTED, NULL, -1,
					  "option struct has a field that this library does not know");
	memcpy(to, from, MP_MIN(size, to_size));
	return MINDPROF_OK;
}
