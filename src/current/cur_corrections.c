/* SPDX-License-Identifier: Apache-2.0 */
/* The table of named corrections (product.md section 5); docs/differences.md shows it. */
#include "current/cur_corrections.h"

#include "base/banned.h"

#define TRACE "trace_view.json"

const struct cur_correction_text cur_correction_texts[CUR_CORRECTIONS] = {
	[CUR_FIX_CLOCK] = {"clock", "assumes counter ticks of 100 MHz where nothing tells the frequency",
			   "fits the ticks to the CPU operators that were recorded with both clocks",
			   TRACE ", dataset.csv"},
	[CUR_FIX_CPU_OP_START] = {"cpu-op-start",
				  "CPU operators begin some 37 ns late: ns times a binary 0.001",
				  "exact nanoseconds", TRACE ", layer CPU OP"},
	[CUR_FIX_INSTANT_FLOW] = {"instant-flow",
				  "draws a flow mark that begins and ends at once, and loses its flow",
				  "the mark begins its flow", TRACE},
	[CUR_FIX_NEGATIVE] = {"negative-duration",
			      "draws a range that ends before it begins with a negative duration",
			      "draws an instant", TRACE},
	[CUR_FIX_CUT_RECORD] = {"cut-record",
				"loses the last record of a cut op_range, and with it perhaps a step",
				"uses the record when its fixed part and name are whole",
				TRACE ", kernel_details.csv, step_trace_time.csv"},
	[CUR_FIX_SCOPE_FOREIGN] = {"scope-foreign-time",
				   "extends a scope that was left over the scopes in between",
				   "closes a scope as soon as an event is outside of it",
				   TRACE ", Scope Layer"},
	[CUR_FIX_SCOPE_DECIMALS] = {"scope-decimals", "writes durations of scopes with up to 50 digits",
				    "3 decimals", TRACE ", Scope Layer"},
	[CUR_FIX_NUMERIC_TS] =
		{"numeric-ts",
		 "keeps a \"ts\" of msprof that is a JSON number as a binary fraction, exact to "
		 "0.25 us only, and finds no such kernel in op_summary",
		 "exact nanoseconds", TRACE ", kernel_details.csv, step_trace_time.csv"},
	[CUR_FIX_PROCESS_TWICE] = {"process-twice", "writes no trace when two msprof processes share a name",
				   "treats them as one layer", "all outputs with device events"},
	[CUR_FIX_COMMUNICATION_LAYER] =
		{"communication-layer",
		 "finds no communication when the layer is called Communication and not HCCL",
		 "accepts both names", "step_trace_time.csv, Stage and Bubble"},
	[CUR_FIX_STEP_DECIMALS] = {"step-decimals", "writes sums of binary fractions with up to 28 digits",
				   "3 decimals", "step_trace_time.csv"},
	[CUR_FIX_HEADERS] = {"op-summary-headers",
			     "gives up when slices of op_summary have different headers",
			     "joins the columns by name", "kernel_details.csv"},
	[CUR_FIX_KERNEL_STEP] = {"kernel-step", "leaves Step ID empty when no kernel is linked to a launch",
				 "the step that holds the start of the kernel", "kernel_details.csv"},
	[CUR_FIX_BLOCK_NUM] = {"block-num", "keeps Mix Block Num at level 0, where it drops Mix Block Dim",
			       "drops both spellings", "kernel_details.csv"},
	[CUR_FIX_UNSTARTED_OP] = {"unstarted-op",
				  "writes no file when one communication operator has no start",
				  "the operator belongs to no step",
				  "communication.json, communication_matrix.json"},
	[CUR_FIX_TOTAL_BANDWIDTH] = {"total-bandwidth", "leaves Bandwidth(GB/s) out of Total Op Info",
				     "size by time, 4 decimals", "communication.json"},
	[CUR_FIX_CUSTOM_INFO] = {"custom-info", "writes no file when a value of custom_info holds a colon",
				 "splits at the first colon", "dataset.csv"},
	[CUR_FIX_MEMORY_PAIRS] =
		{"memory-pairs",
		 "pairs each allocation with the release before it once a stray release was seen, and "
		 "loses an allocation that another one follows",
		 "a release ends the allocation before it; one without is left out", "operator_memory.csv"},
	[CUR_FIX_MEMORY_DECIMALS] = {"memory-decimals",
				     "keeps times as binary fractions, exact to 0.25 us only",
				     "exact microseconds with 3 decimals", "operator_memory.csv"},
	[CUR_FIX_DATA_QUEUE] = {"data-queue", "looks for DeviceQueueOp, which is called DataQueueOp now",
				"accepts both", "minddata_pipeline_summary"},
	[CUR_FIX_NEWEST_FILE] = {"newest-file", "uses any of several files of one kind", "uses the newest",
				 "all outputs from PROF_*"},
	[CUR_FIX_LOST_OUTPUTS] = {"lost-outputs",
				  "loses outputs when an input is missing that they do not need",
				  "an output needs its own inputs only", "all outputs"},
	[CUR_FIX_ALL_TARGETS] = {"all-targets", "makes most outputs for Ascend runs only",
				 "makes them for CPU and GPU runs as far as the data carry them",
				 "all outputs"},
};
