/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing arrays of any type. MP_VEC(struct x) v = {0}; mp_vec_push(&v, item) is false when memory
 * is out (the vector is unchanged then).
 */
#ifndef MP_VEC_H
#define MP_VEC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

#define MP_VEC(type)             \
	struct {                 \
		type *at;        \
		size_t len, cap; \
	}

/* Makes room for `more` further items. */
bool mp_vec_grow_(void **at, size_t *cap, size_t len, size_t more, size_t item_size);

#define mp_vec_reserve(v, more) \
	mp_vec_grow_((void **)&(v)->at, &(v)->cap, (v)->len, (more), sizeof(*(v)->at))
#define mp_vec_push(v, ...)                                                               \
	(((v)->len < (v)->cap || mp_vec_reserve(v, 1)) ? ((v)->at[(v)->len++] = (__VA_ARGS__), true) \
						       : false)
#define mp_vec_release(v)                 \
	do {                              \
		mp_free((v)->at);         \
		(v)->at = NULL;           \
		(v)->len = (v)->cap = 0;  \
	} while (0)

#endif
