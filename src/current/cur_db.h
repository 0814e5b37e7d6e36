/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The databases of the current layout, made from the exported text (cur_db.c). Schema: prof-raw.md section 9.3. A table
 * is one function; those of ascend_mindspore_profiler_{rank}.db are listed in cur_db.c.
 */
#ifndef MP_CUR_DB_H
#define MP_CUR_DB_H

#include "base/hash.h"
#include "current/cur_csv.h"
#include "current/cur_db_out.h"

#define CUR_DB_NEW_MODULE 1000
#define CUR_DB_NONE 4294967295 /* "no context", "no model" and the like, as the device tool writes it */

struct cur_db {
	struct cur_run *run;
	struct cur_db_out out;
	/* STRING_IDS: ids from 0 in order of first use. */
	struct mp_map64 string_ids; /* string id of the store -> id */
	MP_VEC(uint32_t) strings;   /* id -> string id of the store */
	/* globalTaskId: from 0 by (device, stream, task, begin). */
	struct mp_map64 task_ids;
	struct cur_db_rows tasks; /* of TASK, one per globalTaskId */
	/* Components of memory that ENUM_MODULE does not have: codes from CUR_DB_NEW_MODULE on. */
	MP_VEC(struct mp_str) modules; /* borrowed from the store's strings */
	int64_t begin_ns, end_ns;     /* of everything; begin > end = nothing */
	uint64_t devices;             /* bit by device id */
	bool no_memory;
};

/* What an output of the database consists of. */
typedef mp_status (*cur_db_fill_fn)(struct cur_db *db, mp_err *err);

/* CUR_DB_NONE and db->no_memory when memory is out. */
int64_t cur_db_string(struct cur_db *db, struct mp_str text);

/* A row of TASK. */
struct cur_db_task {
	int64_t begin_ns, end_ns, device, connection, pid, type, context, stream, task, model;
};
/* Its globalTaskId; the row is written when it is the first of that task. */
int64_t cur_db_task_id(struct cur_db *db, const struct cur_db_task *task);
/* Widens the session. */
void cur_db_span(struct cur_db *db, int64_t begin_ns, int64_t end_ns);

/* ---- tables ---- */

mp_status cur_db_put_enums(struct cur_db *db, mp_err *err);         /* cur_db_enums.c */
mp_status cur_db_put_events(struct cur_db *db, mp_err *err);        /* of msprof_*.json; cur_db_events.c */
mp_status cur_db_put_kernels(struct cur_db *db, mp_err *err);       /* of op_summary; cur_db_kernels.c */
mp_status cur_db_put_memory(struct cur_db *db, mp_err *err);        /* cur_db_memory.c */
mp_status cur_db_put_communication(struct cur_db *db, mp_err *err); /* of analyze/; cur_db_communication.c */

/* Codes of ENUM_* (cur_db_enums.c); otherwise when the name is not known. */
enum cur_db_enum { CUR_DB_API_TYPE, CUR_DB_MODULE, CUR_DB_HCCL_DATA_TYPE, CUR_DB_HCCL_LINK_TYPE,
		   CUR_DB_HCCL_TRANSPORT_TYPE, CUR_DB_OVERLAP_TYPE };
int64_t cur_db_code(enum cur_db_enum of, struct mp_str name, int64_t otherwise);

/* ---- files ---- */

struct cur_db_file {
	const char *name;  /* "%s" stands for the rank id */
	const char *about;
	const char *dir;   /* where a finished one may lie: "" = PROF_x, "analyze" */
	const char *pattern; /* of its name there */
	const cur_db_fill_fn *fill; /* ends with NULL */
};
extern const struct cur_db_file cur_db_files[]; /* ends with name NULL */

/*
 * Writes dir/name: a copy of the finished one, else made from text. *written is false when there is nothing to say.
 * Failure: memory, output.
 */
mp_status cur_db_write(struct cur_run *run, const struct cur_db_file *file, const struct mp_dir *dir,
		       const char *name, bool *written, mp_err *err);

#endif
