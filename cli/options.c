/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a command line by the command's option table. getopt_long does the splitting (it permutes,
 * knows "--name=value" and unique abbreviations); values, choices and messages are ours, because a
 * wrong name is answered with the closest right one.
 */
#include "options.h"

#include <getopt.h>
#include <stdarg.h>

#include "base/compiler.h"
#include "base/num.h"

#include "base/banned.h"

#define MAX_OPTIONS 24
#define MAX_NAME 32

/* Keys for getopt_long: an option's index above all letters. */
#define KEY_BASE 0x100
#define KEY_HELP (KEY_BASE + MAX_OPTIONS)

/* Levenshtein distance of two short words. */
static size_t distance(const char *a, const char *b)
{
	size_t row[MAX_NAME + 1];
	size_t n = strlen(b);
	size_t i, j, diagonal, above;

	if (n > MAX_NAME || strlen(a) > MAX_NAME)
		return SIZE_MAX;
	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 0; a[i]; i++) {
		diagonal = row[0];
		row[0] = i + 1;
		for (j = 1; j <= n; j++) {
			above = row[j];
			row[j] = MP_MIN(MP_MIN(row[j], row[j - 1]) + 1, diagonal + (a[i] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[n];
}

/* Keeps the closer of two candidates; anything further than a third of the word is no hint. */
static void consider(const char *name, const char *candidate, const char **best, size_t *best_distance)
{
	size_t d = distance(name, candidate);

	if (d < *best_distance && d <= 1 + strlen(name) / 3) {
		*best = candidate;
		*best_distance = d;
	}
}

const struct cli_command *cli_command_lookup(const char *name)
{
	size_t i;

	for (i = 0; cli_commands[i]; i++)
		if (!strcmp(cli_commands[i]->name, name))
			return cli_commands[i];
	return NULL;
}

const char *cli_closest_command(const char *name)
{
	const char *best = NULL;
	size_t best_distance = SIZE_MAX, i;

	for (i = 0; cli_commands[i]; i++)
		consider(name, cli_commands[i]->name, &best, &best_distance);
	return best;
}

int cli_usage_error(const struct cli_command *command, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "mindprof %s: ", command->name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\ntry 'mindprof %s --help'\n", command->name);
	return CLI_USAGE;
}

static int unknown_option(const struct cli_command *command, const char *word)
{
	const char *best = NULL;
	size_t best_distance = SIZE_MAX, i;
	char name[MAX_NAME + 1];
	size_t len;

	if (word[0] != '-' || word[1] != '-')
		return cli_usage_error(command, "unknown option '%s'", word);
	len = MP_MIN(strcspn(word + 2, "="), (size_t)MAX_NAME);
	memcpy(name, word + 2, len);
	name[len] = '\0';
	consider(name, "help", &best, &best_distance);
	for (i = 0; i < command->n_options; i++)
		consider(name, command->options[i].name, &best, &best_distance);
	if (best)
		return cli_usage_error(command, "unknown option '--%s'; did you mean '--%s'?", name, best);
	return cli_usage_error(command, "unknown option '--%s'", name);
}

static bool parse_size(const char *text, uint64_t *out)
{
	size_t len = strlen(text);
	unsigned shift = 0;
	uint64_t value;

	if (len && strchr("KMGkmg", text[len - 1])) {
		len--;
		shift = strchr("Kk", text[len]) ? 10 : strchr("Mm", text[len]) ? 20 : 30;
	}
	if (!mp_num_parse_u64(text, len, &value) || value > (UINT64_MAX >> shift))
		return false;
	*out = value << shift;
	return true;
}

static int bad_choice(const struct cli_command *command, const struct cli_option *option, const char *value)
{
	char list[160];
	size_t at = 0, i;

	for (i = 0; option->choices[i]; i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s'%s'",
				       !i                       ? ""
				       : option->choices[i + 1] ? ", "
								: " or ",
				       option->choices[i]);
	return cli_usage_error(command, "'%s' is no value of --%s, which takes %s", value, option->name,
			       list);
}

/* -1 = taken. */
static int take(const struct cli_command *command, const struct cli_option *option, const char *value,
		void *target)
{
	void *to = (char *)target + option->offset;
	size_t i;

	switch ((enum cli_type)option->type) {
	case CLI_FLAG:
		*(int *)to = 1;
		return -1;
	case CLI_TEXT:
		*(const char **)to = value ? value : "";
		return -1;
	case CLI_CHOICE:
		for (i = 0; option->choices[i]; i++)
			if (!strcmp(option->choices[i], value)) {
				*(int *)to = (int)i;
				return -1;
			}
		return bad_choice(command, option, value);
	case CLI_COUNT:
		if (mp_num_parse_u64(value, strlen(value), to))
			return -1;
		return cli_usage_error(command, "'%s' is no number (--%s)", value, option->name);
	case CLI_SIZE:
		if (parse_size(value, to))
			return -1;
		return cli_usage_error(command, "'%s' is no size such as 67108864, 512K, 64M or 2G (--%s)",
				       value, option->name);
	}
	return -1;
}

/* getopt's tables from ours. */
struct getopt_tables {
	struct option longs[MAX_OPTIONS + 2];
	char shorts[2 * MAX_OPTIONS + 4];
};

static void make_tables(const struct cli_command *command, struct getopt_tables *tables)
{
	size_t i, at = 0;

	if (command->runs_command)
		tables->shorts[at++] = '+';
	tables->shorts[at++] = ':';
	tables->shorts[at++] = 'h';
	for (i = 0; i < command->n_options && i < MAX_OPTIONS; i++) {
		const struct cli_option *option = &command->options[i];
		int has_value = !option->value          ? no_argument
				: *option->value == '[' ? optional_argument
							: required_argument;

		tables->longs[i] = (struct option){option->name, has_value, NULL, KEY_BASE + (int)i};
		if (!option->letter)
			continue;
		tables->shorts[at++] = option->letter;
		if (option->value)
			tables->shorts[at++] = ':';
	}
	tables->shorts[at] = '\0';
	tables->longs[i++] = (struct option){"help", no_argument, NULL, KEY_HELP};
	tables->longs[i] = (struct option){0};
}

static const struct cli_option *option_of_key(const struct cli_command *command, int key)
{
	size_t i;

	if (key >= KEY_BASE && (size_t)(key - KEY_BASE) < command->n_options)
		return &command->options[key - KEY_BASE];
	for (i = 0; i < command->n_options; i++)
		if (key && command->options[i].letter == key)
			return &command->options[i];
	return NULL;
}

/* What getopt_long did not like. word is the argument that it looked at. */
static int explain_fault(const struct cli_command *command, int result, const char *word)
{
	char letter[3] = {'-', (char)optopt, '\0'};
	const struct cli_option *option = option_of_key(command, optopt);

	if (result == ':' && option)
		return cli_usage_error(command, "--%s needs a value: %s", option->name, option->value);
	if (option || optopt == KEY_HELP)
		return cli_usage_error(command, "--%s takes no value", option ? option->name : "help");
	return unknown_option(command, optopt ? letter : word);
}

static int check_arguments(const struct cli_command *command, const struct cli_arguments *arguments)
{
	if (arguments->n < command->min_arguments)
		return cli_usage_error(command, "missing argument: %s", command->arguments);
	if (command->max_arguments != UINT8_MAX && arguments->n > command->max_arguments)
		return cli_usage_error(command, "unexpected argument '%s'",
				       arguments->at[command->max_arguments]);
	return -1;
}

int cli_parse(const struct cli_command *command, int argc, char **argv, void *target,
	      struct cli_arguments *arguments)
{
	struct getopt_tables tables;
	const struct cli_option *option;
	int result, at, code;

	make_tables(command, &tables);
	opterr = 0;
	optind = 0; /* glibc: start anew */
	for (;;) {
		at = optind ? optind : 1;
		result = getopt_long(argc, argv, tables.shorts, tables.longs, NULL);
		if (result < 0)
			break;
		if (result == 'h' || result == KEY_HELP) {
			cli_print_help(command);
			return CLI_DONE;
		}
		if (result == '?' || result == ':')
			return explain_fault(command, result, argv[MP_MAX(optind - 1, at)]);
		option = option_of_key(command, result);
		code = option ? take(command, option, optarg, target) : CLI_USAGE;
		if (code >= 0)
			return code;
	}
	arguments->at = argv + optind;
	arguments->n = (size_t)(argc - optind);
	return check_arguments(command, arguments);
}
