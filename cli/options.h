/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands and their options as tables: parsing, --help, manual pages and shell completion are all
 * made from the same entries, so they cannot disagree.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes (product.md section 3). */
enum cli_exit {
	CLI_DONE = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_INCOMPLETE = 3, /* done, but something is missing and was listed */
};

enum cli_type {
	CLI_FLAG,   /* int, set to 1 */
	CLI_TEXT,   /* const char * */
	CLI_CHOICE, /* int, index into choices */
	CLI_COUNT,  /* uint64_t, decimal */
	CLI_SIZE,   /* uint64_t, bytes with an optional K, M or G (powers of 1024) */
};

/* What a value names, for completion. */
enum cli_complete { CLI_COMPLETE_NONE, CLI_COMPLETE_FILE, CLI_COMPLETE_DIR, CLI_COMPLETE_TABLE };

struct cli_option {
	const char *name;            /* long form without dashes */
	char letter;                 /* short form, 0 = none */
	uint8_t type;                /* enum cli_type */
	uint8_t complete;            /* enum cli_complete */
	const char *value;           /* name of the value in help; NULL for a flag; "[=NAMES]" need not be given */
	size_t offset;               /* of the target in the command's struct */
	const char *const *choices;  /* CLI_CHOICE: NULL-terminated */
	const char *text;            /* what it does; says the default */
};

struct cli_example {
	const char *line, *text;
};

struct cli_command {
	const char *name;
	const char *text;        /* one line */
	const char *arguments;   /* as shown after the options: "DIR..." */
	uint8_t complete;        /* enum cli_complete of an argument */
	uint8_t min_arguments;
	uint8_t max_arguments;   /* UINT8_MAX = any number */
	bool runs_command;       /* options end at the first argument, the rest is another program's */
	const char *description; /* paragraphs, separated by an empty line */
	const char *exit_text;   /* what the exit codes mean beyond the usual; NULL = nothing */
	const struct cli_option *options;
	size_t n_options;
	const struct cli_example *examples;
	size_t n_examples;
	const char *list_title; /* a further section of the manual page, such as the names an option takes; NULL = none */
	bool (*list_at)(size_t index, struct cli_example *out); /* its entries; false past the end */
	int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

/* All commands, NULL-terminated, in the order of the help (main.c). */
extern const struct cli_command *const cli_commands[];
/* NULL when there is none of that name. */
const struct cli_command *cli_command_lookup(const char *name);
/* The listed command closest to a mistyped name, NULL when none is close. */
const char *cli_closest_command(const char *name);

/* The arguments that are not options; borrowed from argv, which is permuted. */
struct cli_arguments {
	char **at;
	size_t n;
};

/*
 * Fills the command's option struct. Returns -1 to go on, else the exit code to leave with:
 * --help was answered on stdout, or a wrong usage was explained on stderr.
 */
int cli_parse(const struct cli_command *command, int argc, char **argv, void *target,
	      struct cli_arguments *arguments);

/* Explains a wrong usage on stderr, "mindprof report: <text>", and points to --help; returns CLI_USAGE. */
int cli_usage_error(const struct cli_command *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* help.c: all on stdout. command NULL = the program as a whole. */
void cli_print_help(const struct cli_command *command);
void cli_print_man(const struct cli_command *command);
void cli_print_bash_completion(void);

#endif
