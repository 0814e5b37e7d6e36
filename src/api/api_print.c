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

/* ------------------------------------------------------------------- choice */

/* Some columns of a table in another order of rows; texts stay those of the table. */
struct choice {
	struct mp_table_shape shape;
	struct mp_column *columns; /* owned */
	size_t *from;              /* owned; column of the table that each one is */
	char *title;               /* owned */
	struct mp_table table;
};

static void release_choice(struct choice *choice)
{
	mp_table_release(&choice->table);
	mp_free(choice->columns);
	mp_free(choice->from);
	mp_free(choice->title);
}

static mp_status no_column(const struct mp_table_shape *shape, const char *key, size_t len, mp_err *err)
{
	return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1, "table '%s' has no column '%.*s'", shape->name,
			  (int)MP_MIN(len, 64u), key);
}

static int find_key(const struct mp_table_shape *shape, const char *key, size_t len)
{
	size_t i;

	for (i = 0; i < shape->n_columns; i++)
		if (strlen(shape->columns[i].key) == len && !memcmp(shape->columns[i].key, key, len))
			return (int)i;
	return -1;
}

static mp_status add_column(struct choice *choice, const struct mp_table *table, size_t column, mp_err *err)
{
	if (choice->shape.n_columns == table->shape->n_columns)
		return mp_err_set(err, MINDPROF_E_ARGUMENT, NULL, -1, "more columns than table '%s' has",
				  table->shape->name);
	choice->from[choice->shape.n_columns] = column;
	choice->columns[choice->shape.n_columns++] = table->shape->columns[column];
	return MINDPROF_OK;
}

static mp_status choose_columns(struct choice *choice, const struct mp_table *table, const char *keys,
				mp_err *err)
{
	size_t i, len;
	int column;

	for (i = 0; !keys && i < table->shape->n_columns; i++)
		MP_TRY(add_column(choice, table, i, err));
	for (; keys; keys = keys[len] ? keys + len + 1 : NULL) {
		len = strcspn(keys, ",");
		column = find_key(table->shape, keys, len);
		if (column < 0)
			return no_column(table->shape, keys, len, err);
		MP_TRY(add_column(choice, table, (size_t)column, err));
	}
	return MINDPROF_OK;
}

static mp_status copy_rows(struct choice *choice, const struct mp_table *table, mp_err *err)
{
	struct mp_value *row;
	size_t i, j;

	mp_table_init(&choice->table, &choice->shape);
	for (i = 0; i < table->n_rows; i++) {
		row = mp_table_add_row(&choice->table);
		if (!row)
			return mp_err_nomem(err, sizeof(*row));
		for (j = 0; j < choice->shape.n_columns; j++)
			row[j] = mp_table_row(table, i)[choice->from[j]];
	}
	choice->table.empty_reason = table->empty_reason;
	return MINDPROF_OK;
}

/* "Steps" becomes "Steps by duration". */
static mp_status order(struct choice *choice, const char *key, mp_err *err)
{
	int column = find_key(&choice->shape, key, strlen(key));

	if (column < 0)
		return no_column(&choice->shape, key, strlen(key), err);
	choice->title = mp_asprintf("%s by %s", choice->shape.title, choice->columns[column].title);
	if (!choice->title)
		return mp_err_nomem(err, strlen(choice->shape.title));
	choice->title[strlen(choice->shape.title) + 4] |=
		0x20; /* titles of columns begin with a capital letter */
	choice->shape.title = choice->title;
	return mp_table_sort(&choice->table, (size_t)column, true, err);
}

static mp_status choose(struct choice *choice, const struct mp_table *table,
			const struct mindprof_print_options *options, mp_err *err)
{
	size_t n = table->shape->n_columns;

	choice->columns = mp_calloc(n, sizeof(*choice->columns));
	choice->from = mp_calloc(n, sizeof(*choice->from));
	if (!choice->columns || !choice->from)
		return mp_err_nomem(err, n * sizeof(*choice->columns));
	choice->shape = *table->shape;
	choice->shape.columns = choice->columns;
	choice->shape.n_columns = 0;
	MP_TRY(choose_columns(choice, table, options->columns, err));
	MP_TRY(copy_rows(choice, table, err));
	return options->order_by ? order(choice, options->order_by, err) : MINDPROF_OK;
}

/* ----------------------------------------------------------------- printing */

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

static mp_status write_table(const struct mp_table *table, const struct mindprof_print_options *options,
			     struct mp_out *out, mp_err *err)
{
	if (options->format == MINDPROF_TABLE_CSV)
		return mp_write_table_csv(table, out, err);
	return mp_write_table_text(table, options->max_rows, options->width ? options->width : DEFAULT_WIDTH,
				   out, err);
}

/* The writers print into files, so the text takes the way through a file in memory. */
static mp_status take_file(const struct mp_table *table, const struct mindprof_print_options *options,
			   struct mindprof_text *text, mp_err *err)
{
	int fd = memfd_create("mindprof-table", MFD_CLOEXEC);
	struct mp_out out;
	mp_status status;

	if (fd < 0)
		return mp_err_sys(err, errno, NULL, "cannot make a file in memory");
	status = mp_out_open_fd(fd, "table", &out, err);
	if (!status) {
		status = write_table(table, options, &out, err);
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
					  const struct mindprof_print_options *options,
					  struct mindprof_text *text, struct mindprof_error *error)
{
	struct mindprof_print_options taken;
	struct choice choice = {0};
	const struct mp_table *printed = &table->table;
	mp_status status = api_take_options(&taken, sizeof(taken), options, error);

	*text = (struct mindprof_text){0};
	if (!status && (taken.columns || taken.order_by)) {
		status = choose(&choice, printed, &taken, error);
		printed = &choice.table;
	}
	if (!status)
		status = taken.format == MINDPROF_TABLE_JSON ? take_json(printed, text, error)
							     : take_file(printed, &taken, text, error);
	release_choice(&choice);
	return status;
}

void mindprof_text_free(struct mindprof_text *text)
{
	mp_free(text->data);
	*text = (struct mindprof_text){0};
}
