/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output files of the current layout (MindSpore 2.5 to 2.10: ASCEND_PROFILER_OUTPUT/), made from one
 * rank directory. One file of this room per input, model or group of outputs; outputs are listed in
 * cur_all.c. Document: docs/formats/ascend-output.md. All times are int64 ns of Unix time.
 *
 * An input that is absent or broken is noted once in run->store and is empty; it never takes outputs with
 * it that do not need it.
 */
#ifndef MP_CUR_H
#define MP_CUR_H

#include "base/buf.h"
#include "base/csv_in.h"
#include "base/csv_out.h"
#include "base/input.h"
#include "base/json_in.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/vec.h"
#include "current/cur_corrections.h"
#include "readers/readers.h"
#include "store/st_store.h"

/* Sums of times that a broken input may have anywhere: they stop at the ends of int64. */
static inline int64_t cur_add_ns(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static inline int64_t cur_sub_ns(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference))
		return b < 0 ? INT64_MAX : INT64_MIN;
	return difference;
}

/* ---- parameters: profiler_info_{rank}.json (cur_params.c) ---- */

struct cur_params {
	bool found;             /* there is a profiler_info; else the defaults fit what is there */
	bool cpu, npu;          /* activities */
	bool schedule;          /* is_set_schedule */
	bool o2;                /* jit_level O2 */
	bool level_none, level0;
	bool data_process, profile_memory, record_shapes;
	bool text, db;          /* export_type holds it */
	char rank_id[16], device_id[16]; /* decimal text, "" = not known */
};

/* ---- host side (cur_host.c, cur_cpu_ops.c) ---- */

enum cur_host_flags {
	CUR_HOST_STACK = 1 << 0,  /* a Python function */
	CUR_HOST_FLOW = 1 << 1,   /* begins the flow flow_id, is not drawn */
	CUR_HOST_LAUNCH = 1 << 2, /* the name holds KernelLaunch or LaunchTask */
	CUR_HOST_MSTX = 1 << 3,   /* the name holds Mstx */
	CUR_HOST_STEP = 1 << 4,   /* the name holds ProfilerStep# */
	CUR_HOST_INSTANT = 1 << 5, /* drawn as an instant */
	CUR_HOST_REVERSED = 1 << 6, /* an instant only because it ends before it begins: ends its flow */
};

/* One record of op_range, in file order; records with start 0 are left out. */
struct cur_host_event {
	int64_t ts_ns, dur_ns; /* negative only as the original draws it (CUR_FIX_NEGATIVE) */
	uint64_t flow_id;      /* UINT64_MAX = none */
	int64_t tid;
	uint32_t name;         /* string id: display name */
	uint32_t flags;
};

struct cur_host {
	MP_VEC(struct cur_host_event) events;
	bool present; /* the file was there and gave records */
};

struct cur_cpu_op {
	int64_t ts_ns, dur_ns;
	int64_t tid;
	uint32_t name, type; /* string ids */
};

struct cur_cpu_ops {
	MP_VEC(struct cur_cpu_op) events; /* in file order */
};

/* ---- steps (cur_steps.c; analysis-current.md section 7.7) ---- */

struct cur_step {
	uint32_t id;               /* string id: text after the last '#' */
	int64_t begin_ns, end_ns;  /* both belong to it */
};

/* From this time to the next one's, kernels belong to one step. */
struct cur_step_part {
	int64_t from_ns;
	uint32_t step; /* index into at; UINT32_MAX = none */
};

struct cur_steps {
	MP_VEC(struct cur_step) at; /* by begin, one per id; an id that came twice stands at its first place */
	MP_VEC(struct cur_step_part) parts; /* by time; steps of hand-made tables may have none */
};

/* ---- device side: PROF_x/mindstudio_profiler_output/msprof_*.json (cur_device.c) ---- */

enum cur_layer { /* by process_name */
	CUR_LAYER_OTHER,
	CUR_LAYER_PYTHON,         /* python, python3 */
	CUR_LAYER_CANN,
	CUR_LAYER_HARDWARE,       /* Ascend Hardware */
	CUR_LAYER_COMMUNICATION,  /* HCCL, newer: Communication */
	CUR_LAYER_OVERLAP,        /* Overlap Analysis */
	CUR_LAYERS,
};

/* What a thread of the Overlap Analysis layer shows. */
enum cur_overlap { CUR_OVERLAP_NONE, CUR_OVERLAP_COMPUTING, CUR_OVERLAP_COMMUNICATION, CUR_OVERLAP_NOT_OVERLAPPED,
		   CUR_OVERLAP_FREE };

struct cur_device_track {
	int64_t pid, tid;
	uint32_t process_name, thread_name; /* string ids, 0 = none */
	uint8_t layer;                      /* enum cur_layer */
	uint8_t overlap;                    /* enum cur_overlap */
};

typedef MP_VEC(struct cur_device_track) cur_device_tracks;

#define CUR_NO_PARENT UINT32_MAX

enum cur_args { CUR_ARGS_SOME, CUR_ARGS_EMPTY, CUR_ARGS_NAMED /* may hold "mindspore_op" already */ };

/* By "Task Type" in args. */
enum cur_task {
	CUR_TASK_NONE,    /* it has none */
	CUR_TASK_COMPUTE, /* runs an operator */
	CUR_TASK_HOST,    /* no work of the device */
	CUR_TASK_OTHER,
};

/* One "X" event; only those that something needs: of the layers above and every target of HostToDevice. */
struct cur_device_event {
	int64_t ts_ns, dur_ns;
	uint64_t args_at;  /* byte offset of the '}' that ends "args" (CUR_ARGS_NAMED: of its '{'); 0 = none */
	uint32_t name;     /* string id */
	uint32_t track;    /* index into tracks */
	uint32_t parent;   /* index into cur_host.events of the launch; CUR_NO_PARENT */
	uint16_t file;     /* index into files */
	uint8_t args;      /* enum cur_args */
	uint8_t task : 7;  /* enum cur_task */
	bool binary_ts : 1; /* as the original has a "ts" that is a JSON number: the nearest double (CUR_FIX_NUMERIC_TS) */
};
_Static_assert(sizeof(struct cur_device_event) == 40, "memory goes by this");

/* One end of a HostToDevice flow, the first of its id and phase. */
struct cur_device_flow {
	uint64_t id;   /* hash of the id text */
	int64_t ts_ns;
	uint32_t track;
	bool is_end;
};

struct cur_device_file {
	struct mp_input input; /* owned, open until the run is closed */
	uint64_t array_begin, array_end; /* bytes between '[' and ']' that are whole events, without the last comma */
};

struct cur_device {
	MP_VEC(struct cur_device_file) files;
	cur_device_tracks tracks;
	MP_VEC(struct cur_device_event) events; /* in file order */
	MP_VEC(double) durs_us; /* of each event, NAN = no number; empty with CUR_FIX_SCOPE_DECIMALS */
	MP_VEC(struct cur_device_flow) flows;   /* in file order */
	bool has_layer[CUR_LAYERS];
	bool present;          /* some file gave events */
	bool duplicate_process; /* two pids share a process name */
};

/* ---- links between both (cur_links.c; section 7.4) ---- */

struct cur_self_flow { uint32_t begin, end; };     /* indexes into host events */
struct cur_npu_flow { uint32_t launch, kernel; };  /* host event, device event */

struct cur_links {
	MP_VEC(struct cur_self_flow) self;
	MP_VEC(struct cur_npu_flow) mstx; /* host event, device event */
	MP_VEC(struct cur_npu_flow) npu;  /* also sets device event .parent, the last one wins */
};

/* ---- the run ---- */

struct cur_run {
	const struct mp_ctx *ctx; /* borrowed */
	struct mp_store *store;   /* borrowed: strings, notes, facts; no events are appended */
	struct mp_dir rank_dir;   /* owned, like the following; fd -1 = there is none */
	struct mp_dir framework;  /* FRAMEWORK */
	struct mp_dir prof;       /* the newest PROF_* */
	struct mp_dir exported;   /* PROF_x/mindstudio_profiler_output */
	struct mp_dir analyze;    /* PROF_x/analyze */
	char *made_text;          /* owned; temporary directory that exported is, NULL = it is none; cur_db_text.h */
	struct cur_params params;
	uint64_t corrections;     /* bits 1 << enum cur_correction that are on */
	const int64_t *step_list; /* sorted consecutive steps, NULL = all; borrowed */
	size_t n_step_list;
	/* Loaded on demand by the functions below. */
	struct cur_host host;
	struct cur_cpu_ops cpu_ops;
	struct cur_steps steps;
	struct cur_device device;
	struct cur_links links;
	struct op_range_clock *clock;            /* owned; NULL = not made; cur_host.h */
	struct cur_pipeline *pipeline;           /* owned; NULL = not loaded; cur_minddata.h */
	struct cur_communication *communication; /* owned; NULL = not loaded; cur_communication.h */
	bool loaded_host, loaded_cpu_ops, loaded_steps, opened_device, loaded_device, loaded_links;
};

/* What to make (cur_open.c). */
struct cur_options {
	uint64_t corrections;
	const int64_t *step_list; /* borrowed */
	size_t n_step_list;
};

/* Opens the directories, reads the parameters. rank_dir is opened again. */
mp_status cur_open(const struct mp_ctx *ctx, const struct mp_dir *rank_dir, const struct cur_options *options,
		   struct mp_store *store, struct cur_run *run, mp_err *err);
void cur_close(struct cur_run *run);

static inline bool cur_corrects(const struct cur_run *run, enum cur_correction correction)
{
	return run->corrections >> correction & 1;
}

mp_status cur_params_load(struct cur_run *run, mp_err *err);
void cur_pipeline_free(struct cur_pipeline *pipeline);
void cur_communication_free(struct cur_communication *communication);
/* Whether the original writes nothing at all (analysis-current.md section 3.2); false with CUR_FIX_LOST_OUTPUTS. */
bool cur_original_gives_up(const struct cur_run *run);

/*
 * Each loads its part once; MINDPROF_OK with an empty part when the input is absent or broken (noted). Failure:
 * memory only.
 */
mp_status cur_load_host(struct cur_run *run, mp_err *err);    /* op_range; cur_host.c */
mp_status cur_load_cpu_ops(struct cur_run *run, mp_err *err); /* cur_cpu_ops.c */
mp_status cur_load_steps(struct cur_run *run, mp_err *err);   /* needs host; cur_steps.c */
mp_status cur_open_device(struct cur_run *run, mp_err *err);  /* the files only; cur_device.c */
mp_status cur_load_device(struct cur_run *run, mp_err *err);  /* cur_device.c */
mp_status cur_load_links(struct cur_run *run, mp_err *err);   /* needs host and device; cur_links.c */

/* First step with begin <= t <= end, NULL when there is none (cur_steps.c). */
const struct cur_step *cur_step_at(const struct cur_steps *steps, int64_t t_ns);

/*
 * The bytes of all events of the msprof files between two separators ", ", unchanged but for "mindspore_op" in the
 * args of events with a parent (cur_device_copy.c). *first tells whether an event was written before, and is
 * updated.
 */
mp_status cur_device_copy(struct cur_run *run, struct mp_out *out, bool *first, mp_err *err);

/* ---- files by pattern (cur_files.c) ---- */

struct cur_file_list {
	MP_VEC(char *) names; /* owned; sorted: by the text, slices of one export by their number */
};
/* The regular files of dir whose name matches the shell pattern; empty when dir is not open. */
mp_status cur_files_find(const struct mp_dir *dir, const char *pattern, struct cur_file_list *out, mp_err *err);
void cur_files_release(struct cur_file_list *list);
/* Notes that a packed file is damaged; what could be unpacked of it is used. */
void cur_note_damage(struct cur_run *run, const struct mp_input *input);
/* After an input could not be opened: notes why and returns OK to go on without it; lack of memory stays a failure. */
mp_status cur_go_on_without(struct cur_run *run, const char *path, mp_status status, const mp_err *failure,
			    mp_err *err);

/* ---- outputs ---- */

/* What an output of the original dies without although it may not need it; bits. */
enum cur_original_needs {
	CUR_NEEDS_EXPORT = 1 << 0,   /* some msprof_*.json; see CUR_FIX_LOST_OUTPUTS */
	CUR_NEEDS_TIMELINE = 1 << 1, /* no two processes of one name; see CUR_FIX_PROCESS_TWICE */
};

struct cur_output {
	const char *name;  /* "kernel_details.csv"; "%s" in it stands for the rank id, without NPU the device id */
	const char *about; /* one sentence for docs and messages */
	/* Whether these parameters ask for the file (section 3.7). Without corrections this is exactly when the
	 * original tries to write it; with them also when the data carry it. */
	bool (*wanted)(const struct cur_run *run);
	/* Writes the content. OK and nothing written = there is nothing to say, the file is not made; whoever finds
	 * that an input is missing notes it. Failure: memory, output. */
	mp_status (*write)(struct cur_run *run, struct mp_out *out, mp_err *err);
	uint8_t original_needs; /* enum cur_original_needs */
};

/* output->write, but nothing is written where the original would have lost the file and that is not corrected. */
mp_status cur_output_write(struct cur_run *run, const struct cur_output *output, struct mp_out *out, mp_err *err);

/* NULL-terminated, in the order of writing. */
extern const struct cur_output *const cur_outputs[];

#endif
