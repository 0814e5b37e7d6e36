/* SPDX-License-Identifier: Apache-2.0 */
/* A table with every type and unit, and what a printer makes of it as text in memory. */
#ifndef MP_TEST_TABLE_SAMPLE_H
#define MP_TEST_TABLE_SAMPLE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "writers/writers.h"

static const struct mp_column sample_columns[] = {
	{"name", "Operator", MP_TYPE_TEXT, MP_UNIT_NONE, "the operator"},
	{"stream", "Stream", MP_TYPE_INT, MP_UNIT_NONE, "its stream"},
	{"count", "Count", MP_TYPE_INT, MP_UNIT_COUNT, "how often it ran"},
	{"total_ns", "Total", MP_TYPE_INT, MP_UNIT_NS, "time in all"},
	{"avg_ns", "Average", MP_TYPE_DOUBLE, MP_UNIT_NS, "time of one"},
	{"bytes", "Memory", MP_TYPE_INT, MP_UNIT_BYTES, "what it took"},
	{"flops", "Work", MP_TYPE_DOUBLE, MP_UNIT_FLOPS, "what it did"},
	{"begin_ns", "Begin", MP_TYPE_INT, MP_UNIT_TIME_NS, "when it ran first"},
	{"ratio", "Ratio", MP_TYPE_DOUBLE, MP_UNIT_NONE, "a number"},
	{"share", "Share", MP_TYPE_DOUBLE, MP_UNIT_SHARE, "part of the whole"},
};

static const struct mp_table_shape sample_shape = {
	.name = "operators",
	.title = "Operators by total time",
	.text = "For tests.",
	.columns = sample_columns,
	.n_columns = MP_COUNT(sample_columns),
};

/* False when memory is out. */
static inline bool fill_sample(struct mp_table *table)
{
	struct mp_value *row = mp_table_add_row(table);

	if (!row || !mp_value_text(table, &row[0], "MatMul, \"fused\"\n", 16))
		return false;
	mp_value_int(&row[1], 3);
	mp_value_int(&row[2], 1234567);
	mp_value_int(&row[3], 1234567890);
	mp_value_double(&row[4], 1000.5);
	mp_value_int(&row[5], 1536);
	mp_value_double(&row[6], 2.5e12);
	mp_value_int(&row[7], 1719800000000010100);
	mp_value_double(&row[8], 0.1);
	mp_value_double(&row[9], 0.75);
	row = mp_table_add_row(table);
	if (!row || !mp_value_text(table, &row[0], "\xe7\xae\x97\xe5\xad\x90", 6))
		return false;
	mp_value_int(&row[1], INT64_MIN);
	mp_value_int(&row[2], 0);
	mp_value_int(&row[3], -999);
	mp_value_double(&row[4], NAN);
	mp_value_double(&row[8], INFINITY);
	mp_value_double(&row[9], 0.25);
	return true;
}

/* Runs a printer into memory; the caller frees. */
static inline char *printed(mp_status (*print)(const struct mp_table *table, struct mp_out *out, mp_err *err),
			    const struct mp_table *table)
{
	int fd = memfd_create("printed", MFD_CLOEXEC);
	struct mp_out out;
	char *text;
	off_t size;

	assert_true(fd >= 0);
	assert_int_equal(mp_out_open_fd(fd, "printed", &out, NULL), MINDPROF_OK);
	assert_int_equal(print(table, &out, NULL), MINDPROF_OK);
	assert_int_equal(mp_out_commit(&out, NULL), MINDPROF_OK);
	size = lseek(fd, 0, SEEK_END);
	text = calloc(1, (size_t)size + 1);
	assert_non_null(text);
	assert_int_equal(pread(fd, text, (size_t)size, 0), size);
	close(fd);
	return text;
}

/* For torture: does all of it and lets go of everything. */
static inline mp_status print_and_drop(mp_status (*print)(const struct mp_table *table, struct mp_out *out,
							  mp_err *err))
{
	int fd = memfd_create("printed", MFD_CLOEXEC);
	struct mp_table table;
	struct mp_out out;
	mp_status status = mp_out_open_fd(fd, "printed", &out, NULL);

	mp_table_init(&table, &sample_shape);
	if (status == MINDPROF_OK) {
		status = fill_sample(&table) ? print(&table, &out, NULL) : MINDPROF_E_NOMEM;
		if (status == MINDPROF_OK)
			status = mp_out_commit(&out, NULL);
		else
			mp_out_abort(&out);
	}
	mp_table_release(&table);
	close(fd);
	return status;
}

#endif
