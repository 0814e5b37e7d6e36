/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets share. A target is one file fuzz_<reader>.c with LLVMFuzzerTestOneInput; it is
 * linked with libFuzzer (preset fuzz) and with replay.c (every other build).
 */
#ifndef FUZZ_HARNESS_H
#define FUZZ_HARNESS_H

/* What a target asserts is what it tests, in every build. */
#undef NDEBUG
#include <assert.h>

#include "readers/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One file of a made-up rank directory. */
struct fuzz_file {
	const char *name; /* may hold one '/': folder/name */
	const uint8_t *data;
	size_t size;
};

/*
 * Puts the files into a scratch directory, lets the reader recognise and read it (name NULL: the
 * directory, else that file of it), and takes the store through every analysis and both trace flavours.
 */
void fuzz_read(const struct mp_reader *reader, const char *name, const struct fuzz_file *files, size_t n);

/* The scratch directory, for targets that do not go through a reader. */
const struct mp_dir *fuzz_directory(void);
void fuzz_put(const struct fuzz_file *file);
void fuzz_remove(const struct fuzz_file *file);

#endif
