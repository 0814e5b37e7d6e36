/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands share: the list, the runs named on a command line, messages, JSON results. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <mindprof/trace.h>

#include <stdio.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/json_out.h"
#include "base/vec.h"
#include "options.h"

extern const struct cli_command cmd_record, cmd_analyze, cmd_report, cmd_export, cmd_info, cmd_check, cmd_op, cmd_help;

/* Explains on stderr; returns CLI_USAGE. */
int cli_unknown_command(const char *name);

/* --- messages (common.c): one line on stderr, "mindprof: <text>" */
void cli_message(const char *fmt, ...) MP_PRINTF(1, 2);
/* The text of an error and, after a semicolon, what to do about it (NULL = nothing); returns CLI_FAILED. */
int cli_failed(const struct mindprof_error *error, const char *hint);
int cli_no_memory(void);
/* Copies a text of a measured program for people: without control characters, cut to fit. */
void cli_clean(char *to, size_t size, const char *text, size_t len);
/* For people: "312.5 ms", "3.750 MiB". */
struct cli_amount {
	char text[32];
};
struct cli_amount cli_duration(double ns);
struct cli_amount cli_size(double bytes);
/* The worse of two exit codes: failed, then wrong usage, then incomplete, then done. */
int cli_worse(int a, int b);

/* --- runs */
/*
 * Calls fn for every run below the given paths, each once, and returns the worst exit code. json is
 * NULL, or takes the run as one value of {"runs": [...]}, which is printed at the end.
 */
typedef int (*cli_run_fn)(void *user, const char *path, struct mp_json_out *json, size_t index);
int cli_for_runs(const struct cli_arguments *arguments, bool as_json, cli_run_fn fn, void *user);
/* Its parts: the runs, without duplicates; the JSON around them. */
struct cli_runs {
	MP_VEC(char *) paths; /* owned */
	int code;             /* CLI_DONE, or CLI_FAILED when a path gave none (explained on stderr) */
};
void cli_find_runs(const struct cli_arguments *arguments, struct cli_runs *runs);
void cli_runs_release(struct cli_runs *runs);
void cli_json_runs_begin(struct mp_json_out *json, struct mp_buf *buf);
/* Prints it when as_json and releases buf; returns the exit code. */
int cli_json_runs_end(struct mp_json_out *json, struct mp_buf *buf, bool as_json, int code);
/* Opens a run, with a progress bar on a terminal; NULL after an explanation on stderr. jobs 0 = all cores. */
struct mindprof_trace *cli_open(const char *path, uint64_t jobs);
/* The note with its place and a line end. */
void cli_print_note(FILE *to, const struct mindprof_note *note);
/* Problems of a run on stderr, each with its place. CLI_INCOMPLETE when there were any, else CLI_DONE. */
int cli_list_problems(struct mindprof_trace *trace);

/* Draws the progress bar, at most ten times a second; a mindprof_open_options.progress. Not for what is no terminal. */
void cli_progress(void *user, const char *what, uint64_t done, uint64_t total);
/* Wipes the progress bar; everything here that prints does so first. */
void cli_progress_end(void);

/* --- results on stdout */
/* A table for people; returns an exit code. columns, order_by: as in struct mindprof_print_options; max_rows 0 = all. */
int cli_print_table(const struct mindprof_table *table, const char *columns, const char *order_by,
		    uint64_t max_rows);
/* Appends the table as one JSON value; false after an explanation. */
bool cli_json_table(struct mp_json_out *json, const struct mindprof_table *table);
/* A key with a text; a note; the members "incomplete" and "notes". */
void cli_json_member(struct mp_json_out *json, const char *key, const char *text);
void cli_json_note(struct mp_json_out *json, const struct mindprof_note *note);
void cli_json_notes(struct mp_json_out *json, struct mindprof_trace *trace);
/* Prints the buffer with a line end and releases it; returns code, or CLI_FAILED when memory ran out. */
int cli_print_json(struct mp_buf *buf, int code);

#endif
