/* SPDX-License-Identifier: Apache-2.0 */
/* Printed forms of one table as text in memory: for terminals, CSV, JSON. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api_trace.h"
#include "base/mem.h"

#include "base/banned.h"

#define DEFAULT_WIDTH 100

static mp_status take_json(const struct mp_table *table, struct mindprof_text *text, mp_err *err)
{
	struct mp_buf buf;
	struct mp_json_out json;

	mp_buf_init(&buf, SIZE_MAX);
	mp_json_out_init(&json, &buf, 0);
	mp_write_table_json(table, &json);
	if (buf.failed) {
		mp_buf_release(&buf);
		return mp_err_nomem(err, buf.len);
	}
	*text = (struct mindprof_text){.data = buf.data, .len = buf.len};
	return MINDPROF_OK;
}

static mp_status read_back(int fd, struct mindprof_text *text, mp_err *err)
{
	struct stat info;
	size_t size, at = 0;
	ssize_t n = 1;

	if (fstat(fd, &info))
		return mp_err_sys(err, errno, NULL, "cannot read a printed table");
	size = (size_t)info.st_size;
	text->data = mp_malloc(size + 1);
	if (!text->data)
		return mp_err_nomem(err, size + 1);
	for (; at < size && n > 0; at += n > 0 ? (size_t)n : 0)
		n = pread(fd, text->data + at, size - at, (off_t)at);
	text->data[at] = '\0';
	text->len = at;
	return MINDPROF_OK;
}

/* The writers print into files, so the text takes the way through a file in memory. */
static mp_status take_file(const struct mp_table *table, enum mindprof_table_format format, size_t max_rows,
			   unsigned width, struct mindprof_text *text, mp_err *err)
{
	int fd = memfd_create("mindprof-table", MFD_CLOEXEC);
	struct mp_out out;
	mp_status status;

	if (fd < 0)
		return mp_err_sys(err, errno, NULL, "cannot make a file in memory");
	status = mp_out_open_fd(fd, "table", &out, err);
	if (!status) {
		status = format == MINDPROF_TABLE_CSV
				 ? mp_write_table_csv(table, &out, err)
				 : mp_write_table_text(table, max_rows, width ? width : DEFAULT_WIDTH, &out,
						       err);
		if (status)
			mp_out_abort(&out);
		else
			status = mp_out_commit(&out, err);
	}
	if (!status)
		status = read_back(fd, text, err);
	close(fd);
	return status;
}

enum mindprof_status mindprof_table_print(const struct mindprof_table *table,
					  enum mindprof_table_format format, size_t max_rows, unsigned width,
					  struct mindprof_text *text, struct mindprof_error *error)
{
	*text = (struct mindprof_text){0};
	if (format == MINDPROF_TABLE_JSON)
		return take_json(&table->table, text, error);
	return take_file(&table->table, format, max_rows, width, text, error);
}

void mindprof_text_free(struct mindprof_text *text)
{
	mp_free(text->data);
	*text = (struct mindprof_text){0};
}
