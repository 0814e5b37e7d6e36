/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of Chrome trace event JSON that both its writer and its reader use: the forms of our
 * portable flavour, and what PyTorch's Kineto calls things. docs/formats/chrome-json.md specifies
 * them. Constants only.
 */
#ifndef MP_FMT_TRACE_EVENT_H
#define MP_FMT_TRACE_EVENT_H

/* Members of otherData that make a file one of ours. */
#define MP_TRACE_VERSION_KEY "mindprof_trace"
#define MP_TRACE_VERSION "1"
#define MP_TRACE_BASE_KEY "base_time_ns" /* text of Unix ns that all ts count from */
/* Member of a Kineto trace: number of Unix ns that all ts count from. */
#define MP_TRACE_KINETO_BASE_KEY "baseTimeNanoseconds"

/*
 * Class -> category that is written when an event has none of its own, and hint `class` in args
 * when the category does not tell the class. Kineto's words where it has one, so that tools that
 * know Kineto's traces know ours.
 */
#define MP_TRACE_CLASS_MAP(X)                   \
	X(MP_CLASS_RANGE, "user_annotation")    \
	X(MP_CLASS_OPERATOR, "cpu_op")          \
	X(MP_CLASS_KERNEL, "kernel")            \
	X(MP_CLASS_COMMUNICATION, "communication") \
	X(MP_CLASS_MEMCPY, "gpu_memcpy")        \
	X(MP_CLASS_LAUNCH, "cuda_runtime")      \
	X(MP_CLASS_PYTHON, "python_function")   \
	X(MP_CLASS_DATASET, "dataset")          \
	X(MP_CLASS_STEP, "step_range")          \
	X(MP_CLASS_OPEN, "unfinished")

/* Categories of events that are not ranges or marks. */
#define MP_TRACE_CAT_STEP "step"
#define MP_TRACE_CAT_FLOW "flow"
#define MP_TRACE_CAT_COUNTER "counter"
#define MP_TRACE_CAT_TOTAL "memory_total"
#define MP_TRACE_CAT_PUSH "queue_push"
#define MP_TRACE_CAT_POP "queue_pop"
#define MP_TRACE_CAT_MEMORY "cpu_instant_event"
#define MP_TRACE_NAME_MEMORY "[memory]"

/* Kinds of a lane, hint `kind` in the args of thread_name. */
#define MP_TRACE_TRACK_MAP(X)            \
	X(MP_TRACK_THREAD, "thread")     \
	X(MP_TRACK_STREAM, "stream")     \
	X(MP_TRACK_COUNTER, "counter")   \
	X(MP_TRACK_ASYNC, "async")
#define MP_TRACE_TRACK_STEPS "steps" /* lane of the drawn steps: no track of the store */

#endif
