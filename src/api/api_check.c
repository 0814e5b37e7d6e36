/* SPDX-License-Identifier: Apache-2.0 */
/* Strict validation of one file, packed or not, through the checks room. */
#include <limits.h>
#include <sys/stat.h>

#include "api/api_trace.h"
#include "base/input.h"
#include "checks/checks.h"

#include "base/banned.h"

#define DEFAULT_MAX_FAULTS 100

struct fault_adapter {
	mindprof_fault_fn fn;
	void *user;
	size_t left; /* faults that may still be delivered */
};

static void deliver(void *user, const struct mp_check_fault *fault)
{
	struct fault_adapter *adapter = user;
	struct mindprof_fault out = {
		.code = fault->code,
		.text = fault->text,
		.byte_offset = fault->byte_offset,
		.line = fault->line,
		.column = fault->column,
	};

	if (!adapter->left)
		return;
	adapter->left--;
	if (adapter->fn)
		adapter->fn(adapter->user, &out);
}

static mp_status check_input(const struct mp_input *input, size_t max_faults, struct fault_adapter *adapter,
			     uint64_t *n_faults, mp_err *err)
{
	struct mp_check check = {
		.fn = deliver, .user = adapter, .max_faults = max_faults, .max_per_code = max_faults};
	struct mp_check_fault damage = {
		.code = "packed-damage",
		.text = "packed data are damaged at this byte of the file, what follows is not checked",
		.byte_offset = input->damage_offset,
		.line = 1,
		.column = 1,
	};

	MP_TRY(mp_check_any(input->data, input->size, &check, n_faults, err));
	if (input->damage) {
		++*n_faults;
		deliver(adapter, &damage);
	}
	return MINDPROF_OK;
}

enum mindprof_status mindprof_check_file(const char *path, size_t max_faults, mindprof_fault_fn fn,
					 void *user, uint64_t *n_faults, struct mindprof_error *error)
{
	struct fault_adapter adapter = {.fn = fn, .user = user};
	struct mp_input input;
	struct stat info;
	uint64_t n = 0;
	mp_status status;

	if (!max_faults)
		max_faults = DEFAULT_MAX_FAULTS;
	adapter.left = max_faults;
	status = mp_input_open(path, (size_t)api_max_unpacked(stat(path, &info) ? 0 : (uint64_t)info.st_size),
			       &input, error);
	if (status)
		return status;
	status = check_input(&input, max_faults, &adapter, &n, error);
	mp_input_close(&input);
	if (n_faults)
		*n_faults = n;
	return status ? mp_err_wrap(error, status, NULL, "cannot check '%s'", path) : MINDPROF_OK;
}
