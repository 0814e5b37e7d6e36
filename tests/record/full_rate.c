/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to be killed: each thread records empty ranges as fast as it can and counts them in a file that
 * survives it. Arguments: output directory, file of counters, number of threads, "stream" or "ring".
 * kill_test.py compares the counters with what a report says.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mindprof/record.h>

#define MAX_THREADS 16
#define LINE 16 /* counters apart, so that the threads do not slow each other down */

static uint64_t *counters;

static void *work(void *argument)
{
	size_t number = (size_t)(uintptr_t)argument;
	char name[32];
	struct mindprof_site *site;

	snprintf(name, sizeof(name), "work %zu", number);
	mindprof_thread_name(name);
	site = mindprof_site_get(MINDPROF_SITE_RANGE, name, NULL);
	for (uint64_t i = 1;; i++) {
		struct mindprof_range range = mindprof_range_begin(site);

		mindprof_range_end(&range);
		__atomic_store_n(&counters[number * LINE], i, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct mindprof_record_options options = {.size = sizeof(options), .rank = -1};
	size_t bytes = MAX_THREADS * LINE * sizeof(uint64_t), n_threads;
	int fd;

	if (argc != 5)
		return 2;
	n_threads = (size_t)atoi(argv[3]);
	fd = open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (n_threads < 1 || n_threads > MAX_THREADS || fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
		return 2;
	counters = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	options.output_path = argv[1];
	options.mode = strcmp(argv[4], "ring") == 0 ? MINDPROF_RECORD_RING : MINDPROF_RECORD_STREAM;
	options.memory_bytes = 16u << 20;
	if (counters == MAP_FAILED || mindprof_record_start(&options, NULL) != MINDPROF_OK)
		return 1;
	for (size_t i = 0; i < n_threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)i) != 0)
			return 1;
	}
	for (;;)
		pause();
}
