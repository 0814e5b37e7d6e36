/* SPDX-License-Identifier: Apache-2.0 */
/* Fork: the registry of sites is kept whole over it, everything else starts anew in the child. */
#include "record/rec.h"

#include <pthread.h>

#include "base/banned.h"

static uint32_t prepared;                      /* atomic */
static __thread bool entered MP_REC_TLS_MODEL; /* this thread's fork holds the registry */

/* Between here and the next two, also no signal handler of this thread comes into the recorder. */
static void before_fork(void)
{
	entered = mp_rec_enter();
	if (entered)
		mp_rec_sites_fork_prepare();
}

static void after_fork_in_parent(void)
{
	if (!entered)
		return;
	entered = false;
	mp_rec_sites_fork_done();
	mp_rec_leave();
}

static void after_fork_in_child(void)
{
	bool in_order = entered;

	entered = false;
	mp_rec_session_child(in_order);
}

void mp_rec_process_prepare(void)
{
	if (__atomic_exchange_n(&prepared, 1, __ATOMIC_ACQ_REL) == 0)
		pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
