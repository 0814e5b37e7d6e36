/* SPDX-License-Identifier: Apache-2.0 */
/* mindprof help: help texts, manual pages and completion from the tables; docs/cli/help.md. */
#include "commands.h"

#include "base/banned.h"

enum { COMPLETION_NONE = -1, COMPLETION_BASH };

struct help_options {
	int man;
	int completion;
};

static const char *const shells[] = {"bash", NULL};

static const struct cli_option options[] = {
	{"man", 0, CLI_FLAG, 0, NULL, offsetof(struct help_options, man), NULL,
	 "Print the manual page in roff form."},
	{"completion", 0, CLI_CHOICE, 0, "SHELL", offsetof(struct help_options, completion), shells,
	 "Print the completion script of a shell: bash."},
};

static const struct cli_example examples[] = {
	{"mindprof help report", "The same as mindprof report --help."},
	{"mindprof help --man report | man -l -", "Read the manual page without installing it."},
	{"source <(mindprof help --completion bash)", "Completion in the running shell."},
};

static int run(int argc, char **argv)
{
	struct help_options target = {.completion = COMPLETION_NONE};
	struct cli_arguments arguments;
	const struct cli_command *command = NULL;
	int code = cli_parse(&cmd_help, argc, argv, &target, &arguments);

	if (code >= 0)
		return code;
	if (arguments.n) {
		command = cli_command_lookup(arguments.at[0]);
		if (!command)
			return cli_unknown_command(arguments.at[0]);
	}
	if (target.completion == COMPLETION_BASH)
		cli_print_bash_completion();
	else if (target.man)
		cli_print_man(command);
	else
		cli_print_help(command);
	return CLI_DONE;
}

const struct cli_command cmd_help = {
	.name = "help",
	.text = "explain a command; print manual pages and shell completion",
	.arguments = "[COMMAND]",
	.max_arguments = 1,
	.description = "Prints the help of a command or, without one, of the program. The same tables also "
		       "give manual pages and the completion script of a shell.",
	.options = options,
	.n_options = MP_COUNT(options),
	.examples = examples,
	.n_examples = MP_COUNT(examples),
	.run = run,
};
