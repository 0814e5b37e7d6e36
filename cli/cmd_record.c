/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mindprof record: runs a program with the recording library preloaded and its parameters in the
 * environment, passes its exit status on, and says where the recordings are; docs/cli/record.md.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"

#include "base/file.h"
#include "base/mem.h"

#include "base/banned.h"

struct record_options {
	const char *output, *worker;
	int mode;
	uint64_t memory;
	int follow_fork, json;
};

static const char *const modes[] = {"stream", "ring", NULL};

static const struct cli_option options[] = {
	{"output", 'o', CLI_TEXT, CLI_COMPLETE_DIR, "DIR", offsetof(struct record_options, output), NULL,
	 "Directory for recordings; the default is ./data."},
	{"mode", 'm', CLI_CHOICE, 0, "MODE", offsetof(struct record_options, mode), modes,
	 "stream (the default) writes all the time; ring keeps the newest events in memory and writes them "
	 "at "
	 "the end, at a crash or on demand."},
	{"memory", 0, CLI_SIZE, 0, "SIZE", offsetof(struct record_options, memory), NULL,
	 "Bound of all event buffers, such as 64M (the default) or 1G."},
	{"worker", 'w', CLI_TEXT, 0, "NAME", offsetof(struct record_options, worker), NULL,
	 "First part of the recording's name; the default is the host's name."},
	{"follow-fork", 0, CLI_FLAG, 0, NULL, offsetof(struct record_options, follow_fork), NULL,
	 "Record forked children, too, each into a recording of its own."},
	{"json", 0, CLI_FLAG, 0, NULL, offsetof(struct record_options, json), NULL,
	 "Print JSON; the standard output of CMD goes to standard error then."},
};

static const struct cli_example examples[] = {
	{"mindprof record -- ./train --epochs 2", "Record a training program; then mindprof report data."},
	{"mindprof record --mode ring --memory 256M -- ./server", "Keep the newest 256 MiB of events."},
};

/* Exit statuses for a command that could not be run, as env and nohup have them. */
enum { STATUS_CANNOT_RUN = 126, STATUS_NOT_FOUND = 127, STATUS_SIGNAL = 128 };

#define LIBRARY "libmindprof-record.so"
#ifndef MINDPROF_LIBDIR
#define MINDPROF_LIBDIR "lib"
#endif

/* ------------------------------------------------------------- environment */

/* The library beside this program, in the build tree and where it is installed; false when it is missing. */
static bool find_library(char *path, size_t size)
{
	static const char *const places[] = {"../" MINDPROF_LIBDIR "/" LIBRARY ".0", "../lib/" LIBRARY ".0",
					     ("../lib/" LIBRARY)};
	char self[PATH_MAX], tried[PATH_MAX + 64], real[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;
	size_t i;

	if (len <= 0)
		return false;
	self[len] = '\0';
	slash = strrchr(self, '/');
	slash[1] = '\0';
	for (i = 0; i < MP_COUNT(places); i++) {
		snprintf(tried, sizeof(tried), "%s%s", self, places[i]);
		if (realpath(tried, real) && strlen(real) < size) {
			memcpy(path, real, strlen(real) + 1);
			return true;
		}
	}
	return false;
}

static bool set(const char *name, const char *value)
{
	if (!setenv(name, value, 1))
		return true;
	cli_no_memory();
	return false;
}

/* Ours comes first; what the user preloads stays. */
static bool set_preload(const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	char *both = old && *old ? mp_asprintf("%s:%s", library, old) : mp_strdup(library);
	bool good = both && set("LD_PRELOAD", both);

	mp_free(both);
	return good;
}

/* The program may change its directory before the recording starts. */
static bool set_output(const char *output)
{
	char here[PATH_MAX];
	char *absolute;
	bool good;

	if (output[0] == '/')
		return set("MINDPROF_OUTPUT", output);
	if (!getcwd(here, sizeof(here))) {
		cli_message("cannot find the current directory: %s; use --output with an absolute path",
			    strerror(errno));
		return false;
	}
	absolute = mp_path_join(here, output);
	good = absolute && set("MINDPROF_OUTPUT", absolute);
	mp_free(absolute);
	return good;
}

static bool set_environment(const struct record_options *target, const char *status_file)
{
	char library[PATH_MAX], memory[32];

	if (!find_library(library, sizeof(library))) {
		cli_message("cannot find " LIBRARY " beside this program; reinstall MindProf");
		return false;
	}
	snprintf(memory, sizeof(memory), "%llu", (unsigned long long)target->memory);
	return set_preload(library) && set("MINDPROF_RECORD", "1") &&
	       set("MINDPROF_STATUS_FILE", status_file) && (!target->output || set_output(target->output)) &&
	       set("MINDPROF_MODE", modes[target->mode]) &&
	       (!target->memory || set("MINDPROF_MEMORY", memory)) &&
	       (!target->worker || set("MINDPROF_WORKER", target->worker)) &&
	       (!target->follow_fork || set("MINDPROF_FOLLOW_FORK", "1"));
}

/* ----------------------------------------------------------------- running */

static volatile pid_t child_pid;

/* A terminal signals the whole foreground group; a signal sent to us alone is passed on. */
static void pass_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (info->si_code <= 0 && child_pid > 0)
		kill(child_pid, number);
	errno = saved;
}

static void handle_signals(void)
{
	static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
	size_t i;

	action.sa_sigaction = pass_signal;
	sigemptyset(&action.sa_mask);
	for (i = 0; i < MP_COUNT(numbers); i++)
		sigaction(numbers[i], &action, NULL);
}

/* In the child. Tells errno to the parent when the program cannot be run. */
static _Noreturn void run_program(char **command, bool json, int report_fd)
{
	int failure;

	if (json)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	execvp(command[0], command);
	failure = errno;
	if (write(report_fd, &failure, sizeof(failure)) < 0)
		_exit(STATUS_CANNOT_RUN);
	_exit(failure == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN);
}

/* The command's exit status as a shell has it, or -1 after an explanation. *ran: it was started. */
static int run_and_wait(char **command, bool json, bool *ran)
{
	int report[2], failure = 0, status;
	pid_t pid;

	*ran = false;
	if (pipe2(report, O_CLOEXEC)) {
		cli_message("cannot make a pipe: %s", strerror(errno));
		return -1;
	}
	fflush(stdout);
	handle_signals();
	pid = fork();
	if (!pid)
		run_program(command, json, report[1]);
	close(report[1]);
	if (pid < 0) {
		cli_message("cannot start a process: %s", strerror(errno));
		close(report[0]);
		return -1;
	}
	child_pid = pid;
	*ran = read(report[0], &failure, sizeof(failure)) != sizeof(failure);
	close(report[0]);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	child_pid = 0;
	if (!*ran)
		cli_message("cannot run '%s': %s", command[0], strerror(failure));
	return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_SIGNAL + WTERMSIG(status);
}

/* ----------------------------------------------------------------- results */

/* One line of the status file: "<pid> <directory>" or "<pid> error: <text>". Borrowed from the file. */
struct status_line {
	const char *pid, *text;
	int pid_len, text_len;
	bool failed;
};

#define FAILED_PREFIX "error: "

/* Takes the line at *at; false for a cut one and others than ours. */
static bool parse_line(const char **at, const char *end, struct status_line *out)
{
	const char *begin = *at;
	const char *newline = memchr(begin, '\n', (size_t)(end - begin));
	const char *stop = newline ? newline : end;
	const char *blank = memchr(begin, ' ', (size_t)(stop - begin));

	*at = newline ? newline + 1 : end;
	if (!newline || !blank || blank + 1 == stop || strspn(begin, "0123456789") != (size_t)(blank - begin))
		return false;
	*out = (struct status_line){.pid = begin, .pid_len = (int)(blank - begin), .text = blank + 1};
	out->failed = !strncmp(out->text, FAILED_PREFIX, strlen(FAILED_PREFIX));
	if (out->failed)
		out->text += strlen(FAILED_PREFIX);
	out->text_len = (int)(stop - out->text);
	return true;
}

static void print_line(const struct status_line *line, struct mp_json_out *json)
{
	if (json) {
		mp_json_out_object(json);
		mp_json_out_key(json, "pid");
		mp_json_out_raw(json, line->pid, (size_t)line->pid_len);
		mp_json_out_key(json, line->failed ? "error" : "path");
		mp_json_out_str(json, line->text, (size_t)line->text_len);
		mp_json_out_object_end(json);
	} else if (!line->failed) {
		printf("%.*s\n", line->text_len, line->text);
	}
	if (line->failed)
		cli_message("process %.*s was not recorded: %.*s", line->pid_len, line->pid, line->text_len,
			    line->text);
}

/* CLI_INCOMPLETE when a process, or everything, was not recorded. */
static int print_lines(const struct mp_file *file, struct mp_json_out *json)
{
	const char *at = (const char *)file->data, *end = at ? at + file->size : NULL;
	struct status_line line;
	int code = CLI_DONE;
	size_t n = 0;

	while (at < end) {
		if (!parse_line(&at, end, &line))
			continue;
		print_line(&line, json);
		n++;
		if (line.failed)
			code = CLI_INCOMPLETE;
	}
	if (n)
		return code;
	cli_message("no recording was made: does the program load libraries of its environment? (static and "
		    "set-user-id ones do not)");
	return CLI_INCOMPLETE;
}

static int print_results(const char *status_file, int status, bool as_json)
{
	struct mp_file file = {0};
	struct mp_json_out json;
	struct mp_buf buf;
	int code;

	mp_buf_init(&buf, SIZE_MAX);
	mp_json_out_init(&json, &buf, 0);
	mp_json_out_object(&json);
	mp_json_out_key(&json, "status");
	mp_json_out_i64(&json, status);
	mp_json_out_key(&json, "recordings");
	mp_json_out_array(&json);
	/* A file that cannot be read is left empty: nothing was recorded. */
	mp_file_open(status_file, &file, NULL);
	code = print_lines(&file, as_json ? &json : NULL);
	mp_file_close(&file);
	mp_json_out_array_end(&json);
	mp_json_out_object_end(&json);
	if (as_json)
		return cli_print_json(&buf, code);
	mp_buf_release(&buf);
	return code;
}

/* --------------------------------------------------------------------- all */

static int record(const struct record_options *target, char **command, const char *status_file)
{
	int status, code;
	bool ran;

	if (!set_environment(target, status_file))
		return CLI_FAILED;
	status = run_and_wait(command, target->json, &ran);
	if (status < 0)
		return CLI_FAILED;
	if (!ran)
		return status;
	if (status > STATUS_SIGNAL)
		cli_message("'%s' was ended by signal %d (%s)", command[0], status - STATUS_SIGNAL,
			    strsignal(status - STATUS_SIGNAL));
	else if (status)
		cli_message("'%s' failed with exit status %d", command[0], status);
	code = print_results(status_file, status, target->json);
	return status ? status : code;
}

static int run(int argc, char **argv)
{
	struct record_options target = {0};
	struct cli_arguments arguments;
	const char *folder = getenv("TMPDIR");
	char *status_file;
	int code = cli_parse(&cmd_record, argc, argv, &target, &arguments);
	int fd;

	if (code >= 0)
		return code;
	status_file = mp_asprintf("%s/mindprof-record-XXXXXX", folder && *folder ? folder : "/tmp");
	if (!status_file)
		return cli_no_memory();
	fd = mkostemp(status_file, O_CLOEXEC);
	if (fd < 0) {
		cli_message("cannot make '%s': %s; set TMPDIR to a directory that can be written",
			    status_file, strerror(errno));
		code = CLI_FAILED;
	} else {
		close(fd);
		code = record(&target, arguments.at, status_file);
		unlink(status_file);
	}
	mp_free(status_file);
	return code;
}

const struct cli_command cmd_record = {
	.name = "record",
	.text = "run a program with recording on",
	.arguments = "-- CMD [ARG...]",
	.min_arguments = 1,
	.max_arguments = UINT8_MAX,
	.runs_command = true,
	.description = "Runs CMD with the recording library preloaded and prints the directory of each "
		       "recording when CMD "
		       "has ended. The program needs no change to be run, and records what it marks through "
		       "<mindprof/record.h>.\n\n"
		       "Interrupts and other signals are passed on to CMD; what was recorded until then can "
		       "be read.",
	.exit_text = "When CMD was run, its own exit status is passed on, 128 plus the number of a signal "
		     "that ended it. "
		     "126: CMD cannot be run; 127: CMD was not found. Code 3: CMD succeeded, but left no "
		     "recording.",
	.options = options,
	.n_options = MP_COUNT(options),
	.examples = examples,
	.n_examples = MP_COUNT(examples),
	.run = run,
};
