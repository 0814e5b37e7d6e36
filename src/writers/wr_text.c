/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Table -> lines for people: aligned columns, units scaled, long texts shortened in the middle, a
 * bar for the first share column when there is room. Texts come from measured programs, so control
 * and direction characters are shown as escapes. Nothing is kept but one line: cells are formatted
 * twice, first to measure.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/utf8.h"
#include "writers/writers.h"

#include "base/banned.h"

#define GAP 2u
#define TEXT_MIN 12u /* text columns are not shortened below */
#define BAR_MIN 8u
#define BAR_MAX 24u

struct layout {
	const struct mp_table *table;
	size_t n_rows, n_columns; /* shown */
	unsigned *natural;        /* owned; widths that would shorten nothing */
	unsigned *widths;         /* inside natural's block */
	size_t bar_column;
	unsigned bar_width;       /* 0 = none */
	double bar_full;          /* share that fills the bar */
	struct mp_buf cell, line; /* owned */
	mp_status failed;         /* of any cell */
};

/* --- texts */

struct code_range {
	uint32_t first, last;
};

static bool in_ranges(uint32_t code, const struct code_range *ranges, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

/* Cells that a character takes in a terminal: 0 for the usual combining marks, 2 for East Asian wide and
 * emoji. */
static unsigned char_width(uint32_t code)
{
	static const struct code_range none[] = {
		{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},   {0x0610, 0x061a}, {0x064b, 0x065f},
		{0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x1ab0, 0x1aff},   {0x1dc0, 0x1dff}, {0x20d0, 0x20ff},
		{0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef},
	};
	static const struct code_range two[] = {
		{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},
		{0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
		{0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
		{0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
	};

	if (code < 0x300)
		return 1;
	if (in_ranges(code, none, MP_COUNT(none)))
		return 0;
	return in_ranges(code, two, MP_COUNT(two)) ? 2 : 1;
}

/* Characters that would move the cursor, change the direction of the line, or not be seen. */
static bool is_unsafe(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad || code == 0x061c ||
	       (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

static void add_clean(struct mp_buf *buf, const char *text, size_t len)
{
	const char *p = text, *end = text + len;

	while (p < end && !buf->failed) {
		struct mp_utf8 c = mp_utf8_step(p, (size_t)(end - p));

		if (!c.valid)
			mp_buf_add(buf, "\xef\xbf\xbd", 3);
		else if (!is_unsafe(c.code))
			mp_buf_add(buf, p, c.len);
		else if (c.code == '\n' || c.code == '\t' || c.code == '\r')
			mp_buf_add_str(buf, c.code == '\n' ? "\\n" : c.code == '\t' ? "\\t" : "\\r");
		else if (c.code < 0x80)
			mp_buf_printf(buf, "\\x%02x", (unsigned)c.code);
		else
			mp_buf_printf(buf, "\\u%04x", (unsigned)c.code);
		p += c.len;
	}
}

/* Of clean text. */
static size_t text_width(const char *text, size_t len)
{
	size_t at, width = 0;
	struct mp_utf8 c;

	for (at = 0; at < len; at += c.len) {
		c = mp_utf8_step(text + at, len - at);
		width += char_width(c.code);
	}
	return width;
}

/* Adds clean text in exactly `width` cells or less: the middle gives way, since names differ at both ends. */
static size_t add_shortened(struct mp_buf *buf, const char *text, size_t len, size_t width)
{
	size_t whole = text_width(text, len), done = 0, at, head_len = 0, tail_at = len, head = 0, tail = 0;
	size_t head_room = (width - 1) / 2, tail_room = width - 1 - head_room;
	struct mp_utf8 c;

	if (whole <= width) {
		mp_buf_add(buf, text, len);
		return whole;
	}
	for (at = 0; at < len; at += c.len) {
		c = mp_utf8_step(text + at, len - at);
		/* A combining mark stays with what it follows. */
		if (tail_at == len && whole - done <= tail_room && char_width(c.code) > 0) {
			tail_at = at;
			tail = whole - done;
		}
		done += char_width(c.code);
		if (done <= head_room) {
			head_len = at + c.len;
			head = done;
		}
	}
	mp_buf_add(buf, text, head_len);
	mp_buf_add_str(buf, "\xe2\x80\xa6");
	mp_buf_add(buf, text + tail_at, len - tail_at);
	return head + 1 + tail;
}

/* --- numbers */

struct scale {
	uint64_t unit;
	const char *suffix; /* of equal length within one list, so that digits stand under digits */
};

static const struct scale time_scales[] = {
	{1, " ns"}, {1000, " \xc2\xb5s"}, {1000000, " ms"}, {1000000000, " s "}, {0, NULL},
};

static const struct scale byte_scales[] = {
	{1, " B  "},
	{1ull << 10, " KiB"},
	{1ull << 20, " MiB"},
	{1ull << 30, " GiB"},
	{1ull << 40, " TiB"},
	{1ull << 50, " PiB"},
	{0, NULL},
};

static const struct scale flop_scales[] = {
	{1, "  FLOP"},
	{1000, " kFLOP"},
	{1000000, " MFLOP"},
	{1000000000, " GFLOP"},
	{1000000000000, " TFLOP"},
	{1000000000000000, " PFLOP"},
	{0, NULL},
};

/* value / unit with as many decimals (at most 3) as make four digits; half up. */
static void add_four_digits(struct mp_buf *buf, uint64_t value, uint64_t unit)
{
	unsigned __int128 power = 1000, rounded = 0;
	char text[MP_NUM_MAX];
	int decimals;

	for (decimals = 3; decimals >= 0; decimals--, power /= 10) {
		rounded = (value * power + unit / 2) / unit;
		if (rounded < 10000 || decimals == 0)
			break;
	}
	mp_buf_add(buf, text, mp_num_put_scaled(text, (int64_t)rounded, decimals));
}

static void add_scaled(struct mp_buf *buf, int64_t value, const struct scale *scale)
{
	uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	if (value < 0)
		mp_buf_add_char(buf, '-');
	/* Also when only rounding reaches the next unit: 999.96 us is 1.000 ms. */
	while (scale[1].suffix && (size + scale->unit / 2) / scale->unit >= scale[1].unit / scale->unit)
		scale++;
	if (scale->unit == 1)
		mp_buf_printf(buf, "%llu", (unsigned long long)size);
	else
		add_four_digits(buf, size, scale->unit);
	mp_buf_add_str(buf, scale->suffix);
}

/* 1234567 -> 1,234,567. */
static void add_grouped(struct mp_buf *buf, int64_t value)
{
	char text[MP_NUM_MAX];
	size_t len = mp_num_put_i64(text, value), at;

	for (at = 0; at < len; at++) {
		if (at > 0 && text[at - 1] != '-' && (len - at) % 3 == 0)
			mp_buf_add_char(buf, ',');
		mp_buf_add_char(buf, text[at]);
	}
}

/* Half away from zero; |value| < 9.2e18. (llround would need libm.) */
static int64_t nearest(double value)
{
	return (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

static void add_plain_double(struct mp_buf *buf, double value)
{
	double size = fabs(value);
	int decimals = size < 1 ? 4 : size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0;
	static const double powers[] = {1, 10, 100, 1000, 10000};
	char text[MP_NUM_MAX];

	if (size != 0 && (size < 0.001 || size >= 1e15))
		mp_buf_add(buf, text, mp_num_put_double(text, value));
	else
		mp_buf_add(buf, text, mp_num_put_scaled(text, nearest(value * powers[decimals]), decimals));
}

static void add_share(struct mp_buf *buf, double share)
{
	char text[MP_NUM_MAX];

	if (fabs(share) >= 1e12)
		mp_buf_add(buf, text, mp_num_put_double(text, share * 100));
	else if (share > 0 && share < 0.0005)
		mp_buf_add_str(buf, "<0.1");
	else
		mp_buf_add(buf, text, mp_num_put_scaled(text, nearest(share * 1000), 1));
	mp_buf_add_str(buf, " %");
}

/* A point on the time axis: seconds to the microsecond. */
static void add_time(struct mp_buf *buf, int64_t ns)
{
	int64_t us = ns / 1000, rest = ns % 1000;
	char text[MP_NUM_MAX];

	us += rest >= 500 ? 1 : rest <= -500 ? -1 : 0;
	mp_buf_add(buf, text, mp_num_put_scaled(text, us, 6));
	mp_buf_add_str(buf, " s");
}

static void add_int(struct mp_buf *buf, int64_t value, enum mp_unit unit)
{
	char text[MP_NUM_MAX];

	switch (unit) {
	case MP_UNIT_NS:
		add_scaled(buf, value, time_scales);
		break;
	case MP_UNIT_BYTES:
		add_scaled(buf, value, byte_scales);
		break;
	case MP_UNIT_FLOPS:
		add_scaled(buf, value, flop_scales);
		break;
	case MP_UNIT_SHARE:
		add_share(buf, (double)value);
		break;
	case MP_UNIT_TIME_NS:
		add_time(buf, value);
		break;
	case MP_UNIT_COUNT:
		add_grouped(buf, value);
		break;
	case MP_UNIT_NONE:
		mp_buf_add(buf, text, mp_num_put_i64(text, value));
		break;
	}
}

static void add_double(struct mp_buf *buf, double value, enum mp_unit unit)
{
	if (unit == MP_UNIT_SHARE)
		add_share(buf, value);
	else if (unit == MP_UNIT_NONE || unit == MP_UNIT_COUNT || fabs(value) >= 9e18)
		add_plain_double(buf, value);
	else
		add_int(buf, nearest(value), unit);
}

/* --- cells and lines */

static bool is_text(const struct layout *layout, size_t column)
{
	return layout->table->shape->columns[column].type == MP_TYPE_TEXT;
}

/* The cell as clean text into layout->cell. */
static void format_cell(struct layout *layout, size_t row, size_t column)
{
	const struct mp_value *value = mp_table_row(layout->table, row) + column;
	const struct mp_column *shape = &layout->table->shape->columns[column];
	struct mp_buf *buf = &layout->cell;

	mp_buf_clear(buf);
	if (value->missing || (shape->type == MP_TYPE_DOUBLE && !isfinite(value->d)))
		mp_buf_add_char(buf, '-');
	else if (shape->type == MP_TYPE_TEXT)
		add_clean(buf, value->s.text, value->s.len);
	else if (shape->type == MP_TYPE_DOUBLE)
		add_double(buf, value->d, (enum mp_unit)shape->unit);
	else
		add_int(buf, value->i, (enum mp_unit)shape->unit);
	if (buf->failed)
		layout->failed = buf->failed;
}

static void add_repeated(struct mp_buf *buf, char c, size_t n)
{
	char *to = mp_buf_reserve(buf, n);

	if (!to)
		return;
	memset(to, c, n);
	buf->len += n;
}

/* Adds one field to the line: texts to the left, numbers to the right. */
static void add_field(struct layout *layout, size_t column, const char *text, size_t len)
{
	size_t width = layout->widths[column], used = text_width(text, len);
	struct mp_buf *line = &layout->line;

	if (column)
		add_repeated(line, ' ', GAP);
	if (is_text(layout, column)) {
		used = add_shortened(line, text, len, width);
		add_repeated(line, ' ', width - used);
	} else {
		add_repeated(line, ' ', width > used ? width - used : 0);
		mp_buf_add(line, text, len);
	}
}

static void end_line(struct layout *layout, struct mp_out *out)
{
	struct mp_buf *line = &layout->line;

	while (line->len && line->data[line->len - 1] == ' ')
		line->len--;
	mp_buf_add_char(line, '\n');
	if (!line->failed)
		mp_out_write(out, line->data, line->len);
	line->len = 0;
}

static double share_of(const struct layout *layout, size_t row)
{
	const struct mp_value *value = mp_table_row(layout->table, row) + layout->bar_column;
	const struct mp_column *shape = &layout->table->shape->columns[layout->bar_column];
	double share;

	if (value->missing)
		return 0;
	share = shape->type == MP_TYPE_DOUBLE ? value->d : (double)value->i;
	return share > 0 && isfinite(share) ? share : 0;
}

/* Eighths of a cell: U+2588 is a full one, U+2589 to U+258F are seven eighths down to one. */
static void add_bar(struct layout *layout, size_t row)
{
	double share = share_of(layout, row) / layout->bar_full;
	unsigned eighths = (unsigned)nearest(share * 8 * layout->bar_width);
	char block[4];

	if (share > 0 && eighths == 0)
		eighths = 1;
	add_repeated(&layout->line, ' ', GAP);
	for (; eighths >= 8; eighths -= 8)
		mp_buf_add(&layout->line, block, mp_utf8_put(block, 0x2588));
	if (eighths)
		mp_buf_add(&layout->line, block, mp_utf8_put(block, 0x2590 - eighths));
}

static void put_head(struct layout *layout, struct mp_out *out)
{
	const struct mp_column *columns = layout->table->shape->columns;
	size_t k;

	for (k = 0; k < layout->n_columns; k++)
		add_field(layout, k, columns[k].title, strlen(columns[k].title));
	end_line(layout, out);
	for (k = 0; k < layout->n_columns; k++) {
		if (k)
			add_repeated(&layout->line, ' ', GAP);
		add_repeated(&layout->line, '-', layout->widths[k]);
	}
	end_line(layout, out);
}

static void put_row(struct layout *layout, size_t row, struct mp_out *out)
{
	size_t k;

	for (k = 0; k < layout->n_columns; k++) {
		format_cell(layout, row, k);
		add_field(layout, k, mp_buf_str(&layout->cell), layout->cell.len);
	}
	if (layout->bar_width)
		add_bar(layout, row);
	end_line(layout, out);
}

/* What is not shown, so that nobody takes a part for the whole. */
static void put_foot(struct layout *layout, struct mp_out *out)
{
	const struct mp_table_shape *shape = layout->table->shape;
	size_t more = layout->table->n_rows - layout->n_rows, k;

	if (more)
		mp_out_printf(out, "(%zu more row%s)\n", more, more == 1 ? "" : "s");
	if (layout->n_columns == shape->n_columns)
		return;
	mp_out_str(out, "(too narrow for:");
	for (k = layout->n_columns; k < shape->n_columns; k++)
		mp_out_printf(out, " %s%s", shape->columns[k].title, k + 1 < shape->n_columns ? "," : ")\n");
}

/* --- widths */

static void measure(struct layout *layout)
{
	const struct mp_table_shape *shape = layout->table->shape;
	size_t row, k, width;

	for (k = 0; k < shape->n_columns; k++)
		layout->natural[k] = (unsigned)MP_MAX(
			text_width(shape->columns[k].title, strlen(shape->columns[k].title)), 1u);
	for (row = 0; row < layout->n_rows; row++) {
		for (k = 0; k < shape->n_columns; k++) {
			format_cell(layout, row, k);
			width = text_width(mp_buf_str(&layout->cell), layout->cell.len);
			if (width > layout->natural[k])
				layout->natural[k] = (unsigned)MP_MIN(width, (size_t)1 << 30);
		}
	}
}

/* Widths of the first n columns, the widest texts shortened; returns the width of the line. */
static uint64_t shorten(struct layout *layout, size_t n, uint64_t room)
{
	uint64_t total = (n - 1) * GAP;
	size_t k, widest;

	for (k = 0; k < n; k++) {
		layout->widths[k] = layout->natural[k];
		if (is_text(layout, k))
			layout->widths[k] = (unsigned)MP_MIN(layout->widths[k], MP_MAX(room, TEXT_MIN));
		total += layout->widths[k];
	}
	while (total > room) {
		widest = n;
		for (k = 0; k < n; k++)
			if (is_text(layout, k) && layout->widths[k] > TEXT_MIN &&
			    (widest == n || layout->widths[k] > layout->widths[widest]))
				widest = k;
		if (widest == n)
			break;
		layout->widths[widest]--;
		total--;
	}
	return total;
}

static void place_bar(struct layout *layout, uint64_t room)
{
	const struct mp_table_shape *shape = layout->table->shape;
	size_t k, row;

	for (k = 0; k < layout->n_columns && shape->columns[k].unit != MP_UNIT_SHARE; k++)
		;
	if (k == layout->n_columns || room < GAP + BAR_MIN)
		return;
	layout->bar_column = k;
	for (row = 0; row < layout->n_rows; row++)
		layout->bar_full = MP_MAX(layout->bar_full, share_of(layout, row));
	if (layout->bar_full > 0)
		layout->bar_width = (unsigned)MP_MIN(room - GAP, BAR_MAX);
}

/* Columns go from the right when even shortened texts do not fit; the first one always stays. */
static void arrange(struct layout *layout, unsigned width)
{
	uint64_t room = width ? width : UINT32_MAX, used;
	size_t n = layout->table->shape->n_columns;

	measure(layout);
	while ((used = shorten(layout, n, room)) > room && n > 1)
		n--;
	layout->n_columns = n;
	if (used < room)
		place_bar(layout, room - used);
}

static void put_empty(struct layout *layout, struct mp_out *out)
{
	const char *reason = layout->table->empty_reason ? layout->table->empty_reason : "no rows";

	add_clean(&layout->cell, reason, strlen(reason));
	layout->failed = layout->cell.failed;
	mp_out_printf(out, "  %s\n", mp_buf_str(&layout->cell));
}

mp_status mp_write_table_text(const struct mp_table *table, size_t max_rows, unsigned width,
			      struct mp_out *out, mp_err *err)
{
	struct layout layout = {.table = table};
	size_t n = table->shape->n_columns, row;
	mp_status status;

	layout.n_rows = max_rows ? MP_MIN(max_rows, table->n_rows) : table->n_rows;
	layout.natural = mp_realloc_array(NULL, n * 2, sizeof(*layout.natural));
	if (!layout.natural)
		return mp_err_nomem(err, n * 2 * sizeof(*layout.natural));
	layout.widths = layout.natural + n;
	mp_buf_init(&layout.cell, SIZE_MAX - 1);
	mp_buf_init(&layout.line, SIZE_MAX - 1);
	mp_out_printf(out, "%s\n", table->shape->title);
	if (table->n_rows == 0) {
		put_empty(&layout, out);
	} else {
		arrange(&layout, width);
		put_head(&layout, out);
		for (row = 0; row < layout.n_rows && !layout.line.failed && !layout.failed; row++)
			put_row(&layout, row, out);
		put_foot(&layout, out);
	}
	status = layout.line.failed ? layout.line.failed : layout.failed;
	mp_buf_release(&layout.cell);
	mp_buf_release(&layout.line);
	mp_free(layout.natural);
	return status ? mp_err_set(err, status, NULL, -1, "cannot print table '%s': out of memory",
				   table->shape->name)
		      : MINDPROF_OK;
}
