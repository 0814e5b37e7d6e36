/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Help texts, manual pages and shell completion, made from the command and option tables. Output:
 * stdout. Documented in docs/cli/help.md.
 */
#include <mindprof/trace.h>

#include "base/compiler.h"
#include "options.h"

#include "base/banned.h"

#define HELP_WIDTH 80
#define OPTION_COLUMN 24

#define PROGRAM_TEXT                                                                               \
	"MindProf records, analyses and reports where the time and the memory of a deep-learning " \
	"training go. It reads its own recordings, what MindSpore's profiler leaves, and Chrome "  \
	"traces."
#define EXIT_DONE "done"
#define EXIT_FAILED "failed; one line on standard error says what, where and what to do"
#define EXIT_USAGE "wrong usage"
#define EXIT_INCOMPLETE "done but incomplete; what is missing is listed"

/* ---------------------------------------------------------------- plain text */

/* Words of one paragraph from `column`, further lines indented by `indent`. */
static void print_wrapped(const char *text, size_t len, size_t column, size_t indent)
{
	size_t at = 0, word;
	bool first = true;

	while (at < len) {
		while (at < len && text[at] == ' ')
			at++;
		for (word = 0; at + word < len && text[at + word] != ' ';)
			word++;
		if (!word)
			break;
		if (!first && column + 1 + word > HELP_WIDTH) {
			printf("\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			putchar(' ');
			column++;
		}
		fwrite(text + at, 1, word, stdout);
		column += word;
		at += word;
		first = false;
	}
	putchar('\n');
}

/* Length of the paragraph at text; *next is where the next one begins. */
static size_t paragraph(const char *text, const char **next)
{
	const char *end = strstr(text, "\n\n");
	size_t len = end ? (size_t)(end - text) : strlen(text);

	*next = end ? end + 2 : text + len;
	return len;
}

static void print_paragraphs(const char *text)
{
	const char *next;

	for (; *text; text = next) {
		size_t len = paragraph(text, &next);

		print_wrapped(text, len, 0, 0);
		if (*next)
			putchar('\n');
	}
}

static void print_option(const struct cli_option *option)
{
	int n;

	if (option->letter)
		n = printf("  -%c, --%s", option->letter, option->name);
	else
		n = printf("      --%s", option->name);
	if (option->value)
		n += printf("%s%s", *option->value == '[' ? "" : " ", option->value);
	if (n + 2 > OPTION_COLUMN) {
		printf("\n%*s", OPTION_COLUMN, "");
	} else {
		printf("%*s", OPTION_COLUMN - n, "");
	}
	print_wrapped(option->text, strlen(option->text), OPTION_COLUMN, OPTION_COLUMN);
}

static const struct cli_option help_option = {
	.name = "help", .letter = 'h', .type = CLI_FLAG, .text = "Show this text."};

static void print_command_help(const struct cli_command *command)
{
	size_t i;

	printf("usage: mindprof %s [OPTION...]%s%s\n\n", command->name, *command->arguments ? " " : "",
	       command->arguments);
	print_paragraphs(command->description);
	printf("\nOptions:\n");
	for (i = 0; i < command->n_options; i++)
		print_option(&command->options[i]);
	print_option(&help_option);
	if (command->n_examples)
		printf("\nExamples:\n");
	for (i = 0; i < command->n_examples; i++) {
		printf("  %s\n      ", command->examples[i].line);
		print_wrapped(command->examples[i].text, strlen(command->examples[i].text), 6, 6);
	}
	printf("\nExit codes: 0 " EXIT_DONE ", 1 failed, 2 " EXIT_USAGE ", 3 done but incomplete.\n");
	if (command->exit_text)
		print_paragraphs(command->exit_text);
}

static void print_program_help(void)
{
	size_t i;

	printf("usage: mindprof COMMAND [OPTION...] [ARGUMENT...]\n"
	       "       mindprof --help | --version\n\n");
	print_paragraphs(PROGRAM_TEXT);
	printf("\nCommands:\n");
	for (i = 0; cli_commands[i]; i++)
		printf("  %-9s %s\n", cli_commands[i]->name, cli_commands[i]->text);
	printf("\n'mindprof COMMAND --help' explains a command.\n\n"
	       "Exit codes: 0 " EXIT_DONE ", 1 failed, 2 " EXIT_USAGE ", 3 done but incomplete.\n");
}

void cli_print_help(const struct cli_command *command)
{
	if (command)
		print_command_help(command);
	else
		print_program_help();
}

/* --------------------------------------------------------------- manual page */

/* Text as roff: backslashes and dashes escaped, no line begins with a control character. */
static void print_roff(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (!i && (text[i] == '.' || text[i] == '\''))
			fputs("\\&", stdout);
		if (text[i] == '\\')
			fputs("\\e", stdout);
		else if (text[i] == '-')
			fputs("\\-", stdout);
		else
			putchar(text[i]);
	}
}

static void print_roff_str(const char *text)
{
	print_roff(text, strlen(text));
}

static void print_roff_paragraphs(const char *text)
{
	const char *next;

	for (; *text; text = next) {
		size_t len = paragraph(text, &next);

		print_roff(text, len);
		fputs(*next ? "\n.PP\n" : "\n", stdout);
	}
}

static void print_man_option(const struct cli_option *option)
{
	fputs(".TP\n", stdout);
	if (option->letter)
		printf("\\fB\\-%c\\fR, ", option->letter);
	fputs("\\fB\\-\\-", stdout);
	print_roff_str(option->name);
	fputs("\\fR", stdout);
	if (option->value) {
		fputs(*option->value == '[' ? "\\fI" : " \\fI", stdout);
		print_roff_str(option->value);
		fputs("\\fR", stdout);
	}
	putchar('\n');
	print_roff_str(option->text);
	putchar('\n');
}

static void print_man_exit(const char *exit_text)
{
	static const char *const texts[] = {EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_INCOMPLETE};
	size_t i;

	fputs(".SH \"EXIT STATUS\"\n", stdout);
	for (i = 0; i < MP_COUNT(texts); i++)
		printf(".TP\n\\fB%zu\\fR\n%s\n", i, texts[i]);
	if (exit_text) {
		fputs(".PP\n", stdout);
		print_roff_paragraphs(exit_text);
	}
}

static void print_man_term(const struct cli_example *entry)
{
	fputs(".TP\n\\fB", stdout);
	print_roff_str(entry->line);
	fputs("\\fR\n", stdout);
	print_roff_str(entry->text);
	putchar('\n');
}

static void print_man_list(const struct cli_command *command)
{
	struct cli_example entry;
	size_t i;

	printf(".SH %s\n", command->list_title);
	for (i = 0; command->list_at(i, &entry); i++)
		print_man_term(&entry);
}

static void print_command_man(const struct cli_command *command)
{
	size_t i;

	printf(".TH MINDPROF\\-%s 1 \"\" \"MindProf " MINDPROF_VERSION "\" \"MindProf manual\"\n"
	       ".SH NAME\nmindprof\\-%s \\- %s\n.SH SYNOPSIS\n\\fBmindprof %s\\fR [\\fIOPTION\\fR...] ",
	       command->name, command->name, command->text, command->name);
	print_roff_str(command->arguments);
	fputs("\n.SH DESCRIPTION\n", stdout);
	print_roff_paragraphs(command->description);
	fputs(".SH OPTIONS\n", stdout);
	for (i = 0; i < command->n_options; i++)
		print_man_option(&command->options[i]);
	print_man_option(&help_option);
	if (command->list_title)
		print_man_list(command);
	print_man_exit(command->exit_text);
	if (command->n_examples)
		fputs(".SH EXAMPLES\n", stdout);
	for (i = 0; i < command->n_examples; i++)
		print_man_term(&command->examples[i]);
	fputs(".SH \"SEE ALSO\"\n\\fBmindprof\\fR(1)\n", stdout);
}

static void print_program_man(void)
{
	size_t i;

	fputs(".TH MINDPROF 1 \"\" \"MindProf " MINDPROF_VERSION "\" \"MindProf manual\"\n"
	      ".SH NAME\nmindprof \\- performance profiler for deep\\-learning training\n"
	      ".SH SYNOPSIS\n\\fBmindprof\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n"
	      ".SH DESCRIPTION\n",
	      stdout);
	print_roff_paragraphs(PROGRAM_TEXT);
	fputs(".SH COMMANDS\n", stdout);
	for (i = 0; cli_commands[i]; i++)
		printf(".TP\n\\fBmindprof\\-%s\\fR(1)\n%s\n", cli_commands[i]->name, cli_commands[i]->text);
	print_man_exit(NULL);
}

void cli_print_man(const struct cli_command *command)
{
	if (command)
		print_command_man(command);
	else
		print_program_man();
}

/* ---------------------------------------------------------------- completion */

/* How the words for a value are made in bash. */
static void print_value_words(const struct cli_option *option)
{
	const char *name;
	size_t i;

	if (option->type == CLI_CHOICE) {
		fputs("COMPREPLY=($(compgen -W '", stdout);
		for (i = 0; option->choices[i]; i++)
			printf("%s%s", i ? " " : "", option->choices[i]);
		fputs("' -- \"$word\"))", stdout);
	} else if (option->complete == CLI_COMPLETE_TABLE) {
		fputs("COMPREPLY=($(compgen -W '", stdout);
		for (i = 0; (name = mindprof_table_name(i)); i++)
			printf("%s%s", i ? " " : "", name);
		fputs("' -- \"$word\"))", stdout);
	} else if (option->complete == CLI_COMPLETE_DIR) {
		fputs("COMPREPLY=($(compgen -d -- \"$word\"))", stdout);
	} else if (option->complete == CLI_COMPLETE_FILE) {
		fputs("COMPREPLY=($(compgen -f -- \"$word\"))", stdout);
	} else {
		fputs("COMPREPLY=()", stdout);
	}
}

static void print_command_completion(const struct cli_command *command)
{
	size_t i;

	printf("\t%s)\n\t\tcase $before in\n", command->name);
	for (i = 0; i < command->n_options; i++) {
		if (!command->options[i].value || *command->options[i].value == '[')
			continue;
		printf("\t\t--%s", command->options[i].name);
		if (command->options[i].letter)
			printf("|-%c", command->options[i].letter);
		fputs(") ", stdout);
		print_value_words(&command->options[i]);
		fputs("; return ;;\n", stdout);
	}
	fputs("\t\tesac\n\t\toptions='", stdout);
	for (i = 0; i < command->n_options; i++)
		printf("--%s ", command->options[i].name);
	printf("--help'\n\t\tkind=%s ;;\n", command->complete == CLI_COMPLETE_DIR    ? "-d"
					    : command->complete == CLI_COMPLETE_FILE ? "-f"
					    : command->runs_command                  ? "-c"
										     : "");
}

void cli_print_bash_completion(void)
{
	size_t i;

	fputs("# bash completion of mindprof, made by 'mindprof help --completion bash'\n"
	      "_mindprof()\n{\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options='' kind=''\n"
	      "\tcompopt -o filenames 2>/dev/null\n"
	      "\tif ((COMP_CWORD == 1)); then\n"
	      "\t\tCOMPREPLY=($(compgen -W '",
	      stdout);
	for (i = 0; cli_commands[i]; i++)
		printf("%s ", cli_commands[i]->name);
	fputs("--help --version' -- \"$word\"))\n\t\treturn\n\tfi\n"
	      "\tcase ${COMP_WORDS[1]} in\n",
	      stdout);
	for (i = 0; cli_commands[i]; i++)
		print_command_completion(cli_commands[i]);
	fputs("\tesac\n"
	      "\tif [[ $word == -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
	      "\telif [[ $kind ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen $kind -- \"$word\"))\n"
	      "\tfi\n}\n"
	      "complete -F _mindprof mindprof\n",
	      stdout);
}
