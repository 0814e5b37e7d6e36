/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of all processes: from step marks, or from ranges of class STEP. */
#ifndef MP_AN_STEP_LIST_H
#define MP_AN_STEP_LIST_H

#include "base/vec.h"
#include "store/st_store.h"

struct mp_step {
	uint32_t process, track;
	int64_t number;
	int64_t begin_ns, end_ns;
	bool open_end; /* the last mark: the step ends with the recording of its process */
};

/* By process, then begin. The steps of one process do not overlap. */
struct mp_step_list {
	MP_VEC(struct mp_step) steps;
	size_t *process_at; /* owned; n_processes + 1 positions in steps */
	size_t n_processes;
};

/* out is zeroed first; release it in any case. */
mp_status mp_step_list_build(struct mp_step_list *out, const struct mp_store *store, mp_err *err);
/* The step of a process that holds the moment, NULL when none. */
const struct mp_step *mp_step_list_lookup(const struct mp_step_list *list, uint32_t process, int64_t at_ns);
void mp_step_list_release(struct mp_step_list *list);

#endif
