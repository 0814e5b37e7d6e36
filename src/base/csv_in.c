/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV text -> rows of fields (dialect of analysis-current.md section 2.2). Fields are pointers into
 * the text; only a quoted field with doubled quotes, or with text behind its closing quote, is
 * copied. A quote inside an unquoted field is text, a CR that no LF follows is text, NULs are kept.
 */
#include "base/csv_in.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

void mp_csv_init(struct mp_csv *csv, const void *data, size_t size)
{
	memset(csv, 0, sizeof(*csv));
	csv->begin = csv->at = data ? (const char *)data : "";
	csv->end = csv->begin + (data ? size : 0);
	if (csv->end - csv->at >= 3 && memcmp(csv->at, "\xef\xbb\xbf", 3) == 0)
		csv->at += 3;
	mp_buf_init(&csv->buf, SIZE_MAX / 2);
}

void mp_csv_release(struct mp_csv *csv)
{
	mp_free(csv->fields);
	mp_buf_release(&csv->buf);
	memset(csv, 0, sizeof(*csv));
}

static bool fail(struct mp_csv *csv, const char *at, const char *text)
{
	csv->err_text = text;
	csv->err_offset = at - csv->begin;
	csv->n_fields = 0;
	return false;
}

static bool fail_nomem(struct mp_csv *csv)
{
	csv->failed = MINDPROF_E_NOMEM;
	return fail(csv, csv->begin + csv->row_offset, "out of memory");
}

/* text NULL: the next len bytes of buf (which may still move). */
static bool add_field(struct mp_csv *csv, const char *text, size_t len)
{
	if (csv->n_fields == csv->cap_fields) {
		size_t cap = csv->cap_fields ? csv->cap_fields * 2 : 16;
		void *grown = mp_realloc_array(csv->fields, cap, sizeof(*csv->fields));

		if (!grown)
			return false;
		csv->fields = grown;
		csv->cap_fields = cap;
	}
	csv->fields[csv->n_fields++] = (struct mp_csv_field){.text = text, .len = len};
	return true;
}

/* Length of the line end at p: 0 = none. A CR at the very end of the data counts as one. */
static inline size_t line_end(const char *p, const char *end)
{
	if (*p == '\n')
		return 1;
	if (*p == '\r' && (p + 1 == end || p[1] == '\n'))
		return p + 1 == end ? 1 : 2;
	return 0;
}

/* The first comma or line end from p. */
static const char *scan_unquoted(const char *p, const char *end)
{
	static const bool stops[256] = {[','] = true, ['\n'] = true, ['\r'] = true};

	for (;; p++) {
		while (p < end && !stops[(unsigned char)*p])
			p++;
		if (p == end || *p == ',' || line_end(p, end))
			return p;
	}
}

/*
 * A quoted field; p is its opening quote. Returns the byte behind the field, NULL after a fault. The
 * common case, one quoted run and then a comma or a line end, is not copied.
 */
static const char *read_quoted(struct mp_csv *csv, const char *p)
{
	const char *open = p, *end = csv->end, *run = p + 1, *tail;
	size_t before = csv->buf.len;

	for (;;) {
		p = memchr(run, '"', (size_t)(end - run));
		if (!p) {
			fail(csv, open, "unterminated quote");
			return NULL;
		}
		if (p + 1 == end || p[1] != '"')
			break;
		mp_buf_add(&csv->buf, run, (size_t)(p + 1 - run));
		run = p + 2;
	}
	tail = p + 1;
	p = scan_unquoted(tail, end);
	if (run == open + 1 && p == tail) {
		if (add_field(csv, run, (size_t)(tail - 1 - run)))
			return p;
	} else {
		mp_buf_add(&csv->buf, run, (size_t)(tail - 1 - run));
		mp_buf_add(&csv->buf, tail, (size_t)(p - tail));
		if (csv->buf.failed == MINDPROF_OK && add_field(csv, NULL, csv->buf.len - before))
			return p;
	}
	fail_nomem(csv);
	return NULL;
}

/* Now that buf stands still, points the copied fields into it. */
static void place_copied(struct mp_csv *csv)
{
	const char *at = mp_buf_str(&csv->buf);
	size_t i;

	for (i = 0; i < csv->n_fields; i++) {
		if (csv->fields[i].text)
			continue;
		csv->fields[i].text = at;
		at += csv->fields[i].len;
	}
}

static bool read_row(struct mp_csv *csv)
{
	const char *p = csv->at, *end = csv->end, *begin;

	for (;;) {
		begin = p;
		if (p < end && *p == '"') {
			p = read_quoted(csv, p);
			if (!p)
				return false;
		} else {
			p = scan_unquoted(p, end);
			if (!add_field(csv, begin, (size_t)(p - begin)))
				return fail_nomem(csv);
		}
		if (p == end || *p != ',')
			break;
		p++;
	}
	if (p < end)
		p += line_end(p, end);
	csv->at = p;
	place_copied(csv);
	return true;
}

bool mp_csv_next(struct mp_csv *csv)
{
	const char *line;
	size_t skip;

	csv->n_fields = 0;
	if (csv->failed != MINDPROF_OK)
		return false;
	csv->err_text = NULL;
	mp_buf_clear(&csv->buf);
	while (csv->at < csv->end && (skip = line_end(csv->at, csv->end)))
		csv->at += skip;
	if (csv->at == csv->end)
		return false;
	csv->row++;
	csv->row_offset = csv->at - csv->begin;
	if (read_row(csv))
		return true;
	if (csv->failed == MINDPROF_OK) {
		line = memchr(csv->begin + csv->err_offset, '\n',
			      (size_t)(csv->end - csv->begin - csv->err_offset));
		csv->at = line ? line + 1 : csv->end;
	}
	return false;
}

int mp_csv_column(const struct mp_csv *csv, const char *title)
{
	size_t i, len = strlen(title);

	for (i = 0; i < csv->n_fields && i < INT32_MAX; i++)
		if (csv->fields[i].len == len && memcmp(csv->fields[i].text, title, len) == 0)
			return (int)i;
	return -1;
}
