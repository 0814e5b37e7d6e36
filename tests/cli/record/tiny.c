/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that the record cases run: three steps of one range each; then, by argument, exits
 * with that number, waits for a signal, or starts a child that does one more range.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mindprof/record.h>

static void work(void)
{
	for (uint64_t step = 1; step <= 3; step++) {
		mindprof_step(step);
		MINDPROF_RANGE ("work") {
			usleep(1000);
		}
	}
}

int main(int argc, char **argv)
{
	const char *then = argc > 1 ? argv[1] : "0";

	work();
	puts("worked");
	fflush(stdout);
	if (!strcmp(then, "wait")) {
		pause();
	} else if (!strcmp(then, "kill")) {
		raise(SIGKILL);
	} else if (!strcmp(then, "fork")) {
		if (!fork()) {
			MINDPROF_RANGE ("child") {
				usleep(1000);
			}
			exit(0);
		}
		wait(NULL);
		then = "0";
	}
	return atoi(then);
}
