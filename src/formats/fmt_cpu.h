/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and headers of the text files that MindSpore's CPU profiler leaves in FRAMEWORK/ (2.7) or in
 * the profiler directory itself (2.3). Constants only. docs/formats/cpu.md is the specification.
 */
#ifndef MP_FMT_CPU_H
#define MP_FMT_CPU_H

/* File names are prefix, rank, suffix. */
#define MP_CPU_TIMESTAMP_PREFIX "cpu_op_execute_timestamp_"
#define MP_CPU_DETAIL_PREFIX "cpu_op_detail_info_"
#define MP_CPU_TYPE_PREFIX "cpu_op_type_info_"
#define MP_CPU_FRAMEWORK_PREFIX "cpu_framework_"
#define MP_CPU_MEMORY_PREFIX "cpu_ms_memory_record_"
#define MP_CPU_TEXT_SUFFIX ".txt"
#define MP_CPU_CSV_SUFFIX ".csv"

/* The second field of every line of the timestamp file. */
#define MP_CPU_OP_KIND "HostCpuOps"

/* Columns that are read, by their header text. */
#define MP_CPU_DETAIL_NAME "full_op_name"
#define MP_CPU_DETAIL_COUNT "op_occurrences"
#define MP_CPU_DETAIL_TOTAL "op_total_time(ms)"
#define MP_CPU_TYPE_NAME "op_type"
#define MP_CPU_TYPE_COUNT "type_occurrences"
#define MP_CPU_TYPE_TOTAL "total_compute_time"
#define MP_CPU_MEMORY_TIME "Timestamp(ns)"
#define MP_CPU_MEMORY_ALLOCATED "Total Allocated(Byte)"
#define MP_CPU_MEMORY_RESERVED "Total Reserved(Byte)"
#define MP_CPU_MEMORY_ACTIVE "Total Active(Byte)"

/* Shape text of an input that is no tensor. */
#define MP_CPU_NO_SHAPE "NoShape"

/* How the original shows this layer in a trace. */
#define MP_CPU_LAYER_PID 2
#define MP_CPU_LAYER_NAME "CPU OP"
#define MP_CPU_LAYER_LABELS "CPU"

#endif
