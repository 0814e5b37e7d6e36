/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mindprof: the command table, the exit codes, and the check that everything printed arrived
 * (product.md section 3).
 */
#include <errno.h>

#include "commands.h"

#include "base/banned.h"

const struct cli_command *const cli_commands[] = {
	&cmd_record, &cmd_analyze, &cmd_report, &cmd_export, &cmd_info, &cmd_check, &cmd_op, &cmd_help, NULL,
};

int cli_unknown_command(const char *name)
{
	const char *closest = cli_closest_command(name);

	if (closest)
		fprintf(stderr, "mindprof: unknown command '%s'; did you mean '%s'?\n", name, closest);
	else
		fprintf(stderr, "mindprof: unknown command '%s'\n", name);
	fprintf(stderr, "try 'mindprof --help'\n");
	return CLI_USAGE;
}

/* A full disk or a closed pipe must not look like success. */
static int check_output(int code)
{
	int failed = ferror(stdout);

	cli_progress_end();
	errno = 0;
	if (fflush(stdout) || failed || fclose(stdout)) {
		fprintf(stderr, "mindprof: cannot write to standard output: %s\n",
			strerror(errno ? errno : EIO));
		return CLI_FAILED;
	}
	return code;
}

static int dispatch(int argc, char **argv)
{
	const struct cli_command *command;

	if (argc < 2) {
		fprintf(stderr, "mindprof: missing command\ntry 'mindprof --help'\n");
		return CLI_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		cli_print_help(NULL);
		return CLI_DONE;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("mindprof " MINDPROF_VERSION "\n");
		return CLI_DONE;
	}
	if (argv[1][0] == '-') {
		fprintf(stderr, "mindprof: unknown option '%s'\ntry 'mindprof --help'\n", argv[1]);
		return CLI_USAGE;
	}
	command = cli_command_lookup(argv[1]);
	return command ? command->run(argc - 1, argv + 1) : cli_unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
	return check_output(dispatch(argc, argv));
}
