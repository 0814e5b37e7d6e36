/* SPDX-License-Identifier: Apache-2.0 */
/* The growth step of MP_VEC arrays. */
#include "base/vec.h"

#include "base/compiler.h"
#include "base/mem.h"

#include "base/banned.h"

bool mp_vec_grow_(void **at, size_t *cap, size_t len, size_t more, size_t item_size)
{
	size_t need, new_cap;
	void *grown;

	if (mp_add_overflow(len, more, &need))
		return false;
	if (need <= *cap)
		return true;
	/* At least half as much again, so that n pushes cost O(n). */
	new_cap = *cap > SIZE_MAX - *cap / 2 ? need : *cap + *cap / 2;
	new_cap = MP_MAX(MP_MAX(new_cap, need), (size_t)8);
	grown = mp_realloc_array(*at, new_cap, item_size);
	if (!grown)
		return false;
	*at = grown;
	*cap = new_cap;
	return true;
}
