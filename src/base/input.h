/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text or binary input as one memory range whatever its packing: plain files are mapped; gzip
 * and zstd (recognised by their first bytes, not by name) are unpacked. Analysis side only.
 */
#ifndef MP_INPUT_H
#define MP_INPUT_H

#include "base/file.h"

enum mp_packing { MP_PACKING_NONE, MP_PACKING_GZIP, MP_PACKING_ZSTD };

struct mp_input {
	const uint8_t *data; /* mapped or owned, see packing */
	size_t size;
	enum mp_packing packing;
	struct mp_file file; /* the packed file */
	/* A damaged packed file: what could be unpacked is in data, and this tells the fault. */
	mp_status damage;
	int64_t damage_offset; /* in the packed file */
};

/* max_bytes bounds the unpacked size (E_LIMIT). Damage after some output is not a failure. */
mp_status mp_input_open_at(const struct mp_dir *dir, const char *name, size_t max_bytes,
			   struct mp_input *out, mp_err *err);
mp_status mp_input_open(const char *path, size_t max_bytes, struct mp_input *out, mp_err *err);
void mp_input_close(struct mp_input *input);

#endif
