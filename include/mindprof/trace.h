/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading, analysing and writing what was recorded. Link with -lmindprof.
 *
 * A *run* is one recording of one process: a rank directory (`*_ascend_ms`), a bare MINDPROF/
 * directory, or a trace file. mindprof_find_runs lists the runs below a path; mindprof_trace_open
 * opens one of them.
 *
 * Objects are used by one thread at a time; different objects are independent. The library is
 * silent; messages go through the callbacks of the options. Option structs start with their size.
 */
#ifndef MINDPROF_TRACE_H
#define MINDPROF_TRACE_H

#include <mindprof/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------- finding */

/* Called once per run, sorted by path. Return 0 to go on. */
typedef int (*mindprof_run_fn)(void *user, const char *path);
/* E_NOT_FOUND when there is none. Looks at path itself and one level below it (analysis-current.md section 2.1). */
MINDPROF_API enum mindprof_status mindprof_find_runs(const char *path, mindprof_run_fn fn, void *user,
						     struct mindprof_error *error);

/* ----------------------------------------------------------------- opening */

struct mindprof_trace;

struct mindprof_open_options {
	size_t size;
	uint32_t jobs;          /* threads, 0 = one per usable core */
	uint64_t memory_bytes;  /* bound of the event store, 0 = none */
	void (*progress)(void *user, const char *what, uint64_t done, uint64_t total); /* or NULL */
	void *progress_user;
};

/*
 * Recognises what is there; reads no events yet (that happens when something needs them).
 * E_NOT_FOUND, E_UNSUPPORTED (nothing recognised), E_IO. options may be NULL. Free with mindprof_trace_free.
 */
MINDPROF_API enum mindprof_status mindprof_trace_open(const char *path, const struct mindprof_open_options *options,
						      struct mindprof_trace **out, struct mindprof_error *error);
MINDPROF_API void mindprof_trace_free(struct mindprof_trace *trace);
/* The path as given, borrowed. */
MINDPROF_API const char *mindprof_trace_path(const struct mindprof_trace *trace);
/* Sum of the sizes of all files of the run, earlier results left out. */
MINDPROF_API uint64_t mindprof_trace_input_bytes(const struct mindprof_trace *trace);

/* A format that can be read, or that export writes. */
struct mindprof_format {
	const char *name, *title; /* constant */
	int reads, writes;
};
/* All of them, the ones that are read first; 0 past the end. */
MINDPROF_API int mindprof_format_at(size_t index, struct mindprof_format *out);

/* ------------------------------------------------------------------ tables */

struct mindprof_table; /* borrowed from its trace */

enum mindprof_type { MINDPROF_TYPE_INT, MINDPROF_TYPE_DOUBLE, MINDPROF_TYPE_TEXT };
enum mindprof_unit {
	MINDPROF_UNIT_NONE, MINDPROF_UNIT_COUNT, MINDPROF_UNIT_NS, MINDPROF_UNIT_BYTES, MINDPROF_UNIT_SHARE,
	MINDPROF_UNIT_FLOPS, MINDPROF_UNIT_TIME_NS
};

/* Names of all tables that exist, in the order of a report; NULL past the end. */
MINDPROF_API const char *mindprof_table_name(size_t index);
/* One or two sentences on what a table shows; NULL when there is none of that name. */
MINDPROF_API const char *mindprof_table_about(const char *name);
/*
 * Computes (once) and returns a table: the ones of mindprof_table_name, among them "sources" (what was
 * found), "facts" (about the recording) and "notes" (what is missing, lost or odd).
 */
MINDPROF_API enum mindprof_status mindprof_trace_table(struct mindprof_trace *trace, const char *name,
						       const struct mindprof_table **out,
						       struct mindprof_error *error);
MINDPROF_API const char *mindprof_table_title(const struct mindprof_table *table);
/* Why there are no rows; NULL when there are some. */
MINDPROF_API const char *mindprof_table_empty_reason(const struct mindprof_table *table);
MINDPROF_API size_t mindprof_table_rows(const struct mindprof_table *table);
MINDPROF_API size_t mindprof_table_columns(const struct mindprof_table *table);

struct mindprof_column {
	const char *key, *title, *text; /* constant */
	enum mindprof_type type;
	enum mindprof_unit unit;
};
/* False when there is no such column. */
MINDPROF_API int mindprof_table_column(const struct mindprof_table *table, size_t column, struct mindprof_column *out);
/* Index of a column by key, -1 if absent. */
MINDPROF_API int mindprof_table_find_column(const struct mindprof_table *table, const char *key);
/* 0 when the value is missing or of another type (an INT is also given as double). Texts are borrowed, may hold NULs. */
MINDPROF_API int mindprof_table_int(const struct mindprof_table *table, size_t row, size_t column, int64_t *out);
MINDPROF_API int mindprof_table_double(const struct mindprof_table *table, size_t row, size_t column, double *out);
MINDPROF_API int mindprof_table_text(const struct mindprof_table *table, size_t row, size_t column, const char **text,
				     size_t *len);

/* A printed form of one table: the text is the caller's, freed with mindprof_text_free. */
enum mindprof_table_format { MINDPROF_TABLE_TERMINAL, MINDPROF_TABLE_CSV, MINDPROF_TABLE_JSON };
struct mindprof_print_options {
	size_t size;
	enum mindprof_table_format format;
	const char *columns;  /* keys of the columns to print, "name,count,total_ns"; NULL = all */
	const char *order_by; /* key of a column to sort by, largest first; NULL = as it is */
	size_t max_rows;      /* TERMINAL only: 0 = all */
	unsigned width;       /* TERMINAL only: columns of the terminal, 0 = 100 */
};
struct mindprof_text {
	char *data; /* NUL-terminated; NULL when empty */
	size_t len;
};
/* E_ARGUMENT when there is no such column. */
MINDPROF_API enum mindprof_status mindprof_table_print(const struct mindprof_table *table,
						       const struct mindprof_print_options *options,
						       struct mindprof_text *text, struct mindprof_error *error);
MINDPROF_API void mindprof_text_free(struct mindprof_text *text);

/* ------------------------------------------------------------------- notes */

enum mindprof_severity { MINDPROF_INFO, MINDPROF_WARNING, MINDPROF_PROBLEM };
struct mindprof_note {
	enum mindprof_severity severity;
	const char *code;    /* short constant word */
	const char *text;    /* the message */
	const char *path;    /* "" = none */
	int64_t byte_offset; /* -1 = none */
	uint64_t count;
};
/* After a table or mindprof_trace_is_incomplete was asked for. Texts are borrowed. 0 past the end. */
MINDPROF_API int mindprof_trace_note(struct mindprof_trace *trace, size_t index, struct mindprof_note *out);
/* Whether something is missing or broken (a note of severity PROBLEM); reads the events if needed. */
MINDPROF_API int mindprof_trace_is_incomplete(struct mindprof_trace *trace);

/* ----------------------------------------------------------------- writing */

/*
 * PORTABLE opens everywhere and keeps nanoseconds; COMPATIBLE has the byte forms of MindSpore's files. AUTO is what
 * the recording's usual viewer reads: COMPATIBLE from mindprof_trace_analyse for what MindSpore or CANN recorded,
 * else PORTABLE.
 */
enum mindprof_flavour { MINDPROF_FLAVOUR_AUTO, MINDPROF_FLAVOUR_PORTABLE, MINDPROF_FLAVOUR_COMPATIBLE };

/* A place where MindSpore's own analysis computes a wrong value or loses something and this one does not. */
struct mindprof_correction {
	const char *name;     /* constant, like the other texts */
	const char *original; /* what MindSpore does */
	const char *ours;     /* what is right */
	const char *where;    /* output and column */
};
/* All of them; 0 past the end. */
MINDPROF_API int mindprof_correction_at(size_t index, struct mindprof_correction *out);
/* Whether a text is one that `as_original` below may have: E_ARGUMENT tells the first name that is unknown. */
MINDPROF_API enum mindprof_status mindprof_corrections_check(const char *names, struct mindprof_error *error);

struct mindprof_analyse_options {
	size_t size;
	const char *out_path;  /* NULL: <run>/ASCEND_PROFILER_OUTPUT, of a file <file>.analysis/ASCEND_PROFILER_OUTPUT;
	                          else <out>/<run name>/ASCEND_PROFILER_OUTPUT */
	enum mindprof_flavour flavour;
	int overwrite;         /* 0: fail with E_EXISTS when an output exists that we did not make */
	int pretty;            /* list of written files (.mindprof.json) with indentation */
	/* Told of each file written; may be NULL. */
	void (*wrote)(void *user, const char *path);
	void *wrote_user;
	/* NULL: every correction is on. "": all are off and only the files are written that MindSpore would have
	   written. "NAME,NAME": these are off. */
	const char *as_original;
	/* Steps to restrict the output files to, consecutive (analysis-current.md section 3.2); NULL = all. */
	const int64_t *step_list;
	size_t n_step_list;
	/* Told of each note after the last file, with wrote_user; may be NULL. */
	void (*noted)(void *user, const struct mindprof_note *note);
	/* 0: when all files are there from an earlier analysis of the same input with the same options, nothing is
	   written; wrote and noted are called as they were then. */
	int again;
	int *was_finished; /* set to whether that was so; may be NULL */
	/* "text", "db" or "text,db": files of text, databases (docs/formats/ascend-output.md). NULL = text, and databases
	   when the profiler was asked for them. */
	const char *export_types;
	/* Afterwards the exports of the device tool that the files were made from are removed, as the original does
	   unless told not to; what is finished stays finished. Told of each, with the bytes in it; may be NULL. */
	int simplify;
	void (*removed)(void *user, const char *path, uint64_t bytes);
	int dry_run; /* with simplify: nothing is analysed, written or removed; removed is told what would go */
};
/*
 * Writes trace_view.json, the files of MindSpore's own analysis as far as the recording carries them
 * (docs/formats/ascend-output.md), and one CSV per table. E_ARGUMENT: unknown correction, steps with gaps.
 */
MINDPROF_API enum mindprof_status mindprof_trace_analyse(struct mindprof_trace *trace,
							 const struct mindprof_analyse_options *options,
							 struct mindprof_error *error);

enum mindprof_export_format { MINDPROF_EXPORT_CHROME, MINDPROF_EXPORT_CSV };
struct mindprof_export_options {
	size_t size;
	enum mindprof_export_format format;
	enum mindprof_flavour flavour;
	const char *table; /* CSV: which table */
	int overwrite;
};
/* One converted file, streaming; path "-" = standard output. */
MINDPROF_API enum mindprof_status mindprof_trace_export(struct mindprof_trace *trace, const char *path,
							const struct mindprof_export_options *options,
							struct mindprof_error *error);

/* ---------------------------------------------------------------- checking */

/* One fault of a file. */
struct mindprof_fault {
	const char *code;      /* "json-syntax", "duplicate-key", "partial-overlap", "unbound-flow", "csv-columns" ... */
	const char *text;
	int64_t byte_offset;
	uint64_t line, column; /* from 1 */
};
typedef void (*mindprof_fault_fn)(void *user, const struct mindprof_fault *fault);
/*
 * Strict validation of a Chrome JSON trace or CSV file. Calls fn for each fault (at most max_faults, 0 = 100).
 * OK = checked (with or without faults; their number is in *n_faults); failure = could not be checked.
 */
MINDPROF_API enum mindprof_status mindprof_check_file(const char *path, size_t max_faults, mindprof_fault_fn fn,
						      void *user, uint64_t *n_faults, struct mindprof_error *error);

#ifdef __cplusplus
}
#endif

#endif
