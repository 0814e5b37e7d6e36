/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target without a fuzz engine: every file of the folders named on the command line as it is, cut
 * at several places, and with single bytes changed. The changes are the same in every run.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define CUTS 24
#define CHANGES 64

static unsigned long n_inputs;

static void run(const uint8_t *data, size_t size)
{
	uint8_t *copy =
		malloc(size ? size : 1); /* of the exact size, so that a sanitizer sees each byte too far */

	if (!copy)
		abort();
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	n_inputs++;
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void replay(uint8_t *data, size_t size)
{
	uint32_t random = 1;

	run(data, size);
	for (size_t i = 0; i < CUTS; i++)
		run(data, size * i / CUTS);
	for (size_t i = 0; i < CHANGES && size > 0; i++) {
		size_t at = next_random(&random) % size;
		uint8_t before = data[at];

		data[at] = (uint8_t)(i % 4 == 0   ? 0xff
				     : i % 4 == 1 ? 0
						  : before ^ (1u << next_random(&random) % 8));
		run(data, size);
		data[at] = before;
	}
}

static void replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data;
	long size;

	if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) {
		perror(path);
		exit(1);
	}
	rewind(file);
	data = malloc((size_t)size + 1);
	if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
		perror(path);
		exit(1);
	}
	fclose(file);
	replay(data, (size_t)size);
	free(data);
}

static void replay_folder(const char *folder)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, NULL, alphasort);

	if (n < 0) {
		perror(folder);
		exit(1);
	}
	for (int i = 0; i < n; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.')
			replay_file(path);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay_folder(argv[i]);
	printf("%lu inputs\n", n_inputs);
	return n_inputs > 0 ? 0 : 1;
}
