/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the analysis side's API (include/mindprof/trace.h): a trace is a recognised run, read
 * when something needs its events, with the tables that were asked for.
 */
#ifndef MP_API_TRACE_H
#define MP_API_TRACE_H

#include <mindprof/trace.h>

#include <stdbool.h>

#include "analyses/analyses.h"
#include "base/file.h"
#include "current/cur.h"
#include "current/cur_db.h"
#include "current/cur_tables.h"
#include "readers/readers.h"
#include "writers/writers.h"

#define API_OUTPUT_DIR "ASCEND_PROFILER_OUTPUT"

struct mindprof_table {
	struct mp_table table;
	bool ready;
};

/* One reader that recognised the run. */
struct api_source {
	const struct mp_reader *reader; /* constant */
	uint64_t events;                /* after reading */
	bool failed;                    /* after reading: nothing of it could be used */
};

/* The output files and tables of the current layout. */
struct api_current {
	struct mp_store *store; /* owned; notes and strings; NULL = not open */
	struct cur_run run;
};

struct mindprof_trace {
	char *path;           /* owned; as given */
	struct mp_dir dir;    /* the run, or the parent of the file */
	char *file;           /* owned; name in dir when the run is one file, else NULL */
	struct mp_pool *pool; /* owned */
	struct mp_ctx ctx;
	uint64_t memory_bytes;
	struct api_source *sources; /* owned */
	size_t n_sources;
	struct mp_store *store;        /* owned; NULL until events were read and kept */
	struct mindprof_table *tables; /* owned; api_n_tables(), those of mindprof_table_name */
	struct api_current current;    /* with every correction and all steps; opened by api_current_shared */
	bool described; /* the tables "sources", "facts" and "notes" are made */
};

/* --- api_current.c: the output files of the current layout */
mp_status api_current_open(struct mindprof_trace *trace, const struct cur_options *options, struct api_current *out,
			   mp_err *err);
void api_current_close(struct api_current *current);
/* The one of the trace, opened the first time. */
mp_status api_current_shared(struct mindprof_trace *trace, struct api_current **out, mp_err *err);
/* The file name of an output; the rank stands for %s. */
void api_current_name(const struct api_current *current, const char *pattern, char *name, size_t size);
/* trace_view.json: the original's form, or converted to the portable one by way of a file in dir. */
mp_status api_current_trace(struct api_current *current, const struct cur_output *output, const struct mp_dir *dir,
			    bool portable, struct mp_out *out, mp_err *err);

/* --- api_find.c */
/* A directory with what a recording leaves, or one that a reader takes as a whole. */
bool api_is_run_dir(const struct mp_dir *dir);
/* Whether the run is a directory that MindSpore or CANN filled. */
bool api_is_current(const struct mindprof_trace *trace);
/* Whether the run is a directory with parameters, perhaps with results, but without what those are made from. */
bool api_has_no_data(const struct mindprof_trace *trace);
/* E_NOT_FOUND for a directory without recordings, which tells about results there. */
mp_status api_no_recording(const struct mp_dir *dir, const char *path, mp_err *err);
/* The reader that is surest of a file; NULL when none is. */
const struct mp_reader *api_file_reader(const struct mp_dir *dir, const char *name);
/* Splits a path that may be a symbolic link into the open parent and the name in it (owned). */
mp_status api_open_parent(const char *path, struct mp_dir *dir, char **name, mp_err *err);

/* --- api_open.c */
/* Bound of what a packed file of that size may unpack to. */
uint64_t api_max_unpacked(uint64_t file_bytes);

/* --- api_read.c */
/*
 * Reads every source into the store, on pool (NULL = in order, one thread). A source that fails
 * leaves a note, the others are still read; only lack of memory is a failure of the whole.
 */
mp_status api_read_sources(struct mindprof_trace *trace, struct mp_pool *pool, struct mp_store *store,
			   mp_err *err);
/* Reads all events into trace->store once and sorts them. */
mp_status api_load(struct mindprof_trace *trace, mp_err *err);
/* Makes the tables about the recording; reads the events past a store that keeps none when needed. */
mp_status api_describe(struct mindprof_trace *trace, mp_err *err);

/* --- api_describe.c: the tables that the API makes itself */
extern const struct mp_table_shape api_sources_shape, api_facts_shape, api_notes_shape;
/* Notes in a store that was read once what the run holds that nothing reads; makes the tables the first time. */
mp_status api_make_descriptions(struct mindprof_trace *trace, struct mp_store *store, mp_err *err);
struct mindprof_note api_note_of_row(const struct mp_value *row);
bool api_add_note(struct mp_table *table, const struct mindprof_note *note);
/* Adds the notes of a further store that are not there yet, after the descriptions are made. */
mp_status api_add_notes(struct mindprof_trace *trace, const struct mp_store *store, mp_err *err);

/* --- api_contents.c: what a run directory holds */
#define API_BY_OUTPUTS "outputs" /* no reader of events, but outputs of the current layout take it */
struct api_content {
	const char *folder;  /* "" = the run itself */
	const char *pattern; /* of a shell; a trailing '/' means directories only */
	const char *reader;  /* name of the reader that takes it, or API_BY_OUTPUTS; NULL = none */
	const char *title;
	enum mp_severity unread; /* how bad it is that nothing reads it; MP_INFO = not worth a note */
};
extern const struct api_content api_contents[]; /* ends with pattern NULL */
/* The entry for a name in a folder of the run; NULL = not known. */
const struct api_content *api_content_lookup(const char *folder, const struct mp_dir_entry *entry);

/* --- api_tables.c */
size_t api_n_tables(void);
const struct mp_table_shape *api_table_shape(size_t index);
/* Index of a table, SIZE_MAX = unknown. */
size_t api_find_table(const char *name);

/* --- api_fingerprint.c */
/* Of what an analysis with these options depends on; 0 = cannot be told. */
mp_status api_fingerprint(const struct mindprof_trace *trace, const struct mindprof_analyse_options *options,
			  uint64_t *out, mp_err *err);

/* --- api_simplify.c: removes, or with dry_run only tells, what the results were made from */
mp_status api_simplify(const struct mindprof_trace *trace, const struct mindprof_analyse_options *options, mp_err *err);

/* --- api_options.c */
/* Copies an option struct of any age over the zeroed newest one; from NULL = all defaults. */
mp_status api_take_options(void *to, size_t to_size, const void *from, mp_err *err);

/* --- api_export.c */
/* The events as Chrome JSON into an open output, from the kept store or streaming. */
mp_status api_write_trace(struct mindprof_trace *trace, enum mindprof_flavour flavour, struct mp_out *out,
			  mp_err *err);

/* --- api_manifest.c: the list of files that we wrote into an output folder */
#define API_MANIFEST ".mindprof.json"
#define API_BYTES_ANY UINT64_MAX

struct api_written {
	char name[64];
	uint64_t bytes; /* API_BYTES_ANY = being written when the list was made: any size is ours */
};
struct api_manifest {
	struct api_written *files; /* owned */
	size_t n, cap;
	bool found; /* a list of ours was there */
	uint64_t fingerprint;  /* of the analysis that wrote them all; 0 = it did not end */
	struct mp_table notes; /* owned; of that analysis; api_notes_shape */
};
/* An absent or foreign file gives an empty list. */
mp_status api_manifest_read(const struct mp_dir *dir, struct api_manifest *out, mp_err *err);
mp_status api_manifest_write(const struct mp_dir *dir, const struct api_manifest *manifest, bool pretty,
			     mp_err *err);
const struct api_written *api_manifest_lookup(const struct api_manifest *manifest, const char *name);
bool api_manifest_put(struct api_manifest *manifest, const char *name, uint64_t bytes);
void api_manifest_remove(struct api_manifest *manifest, const char *name);
void api_manifest_release(struct api_manifest *manifest);

#endif
