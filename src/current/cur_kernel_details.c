/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_details.csv. Input: PROF_x/mindstudio_profiler_output/op_summary_*.csv, links of kernels to
 * launches, steps. Output: the rows of op_summary with step, launch and the original's column names
 * (analysis-current.md sections 5.1, 8.1).
 */
#include <string.h>

#include "base/hash.h"
#include "current/cur_csv.h"
#include "current/cur_outputs.h"

#include "base/banned.h"

#define MAX_COLUMNS 256u
#define FORGET_BYTES (4u << 20)

static const struct {
	const char *from, *to;
} renamed[] = {
	{"Op Name", "Name"},
	{"OP Type", "Type"},
	{"Task Type", "Accelerator Core"},
	{"Task Start Time(us)", "Start Time(us)"},
	{"Task Duration(us)", "Duration(us)"},
	{"Task Wait Time(us)", "Wait Time(us)"},
};

static const char *const level0_dropped[] = {
	"Mix Block Dim", "HF32 Eligible",     "Input Shapes",   "Input Data Types", "Input Formats",
	"Output Shapes", "Output Data Types", "Output Formats", "Context ID",
};

/* A column of the output. */
struct column {
	struct mp_str title; /* as in the input; borrowed from the string table */
	bool dropped;
};

struct details {
	struct cur_run *run;
	struct mp_out *out;
	struct column columns[MAX_COLUMNS];
	uint32_t n_columns;
	int32_t name, start; /* columns */
	bool with_steps;
	struct mp_map64 launches; /* kernel by name and start -> device event */
	struct mp_csv csv;        /* of a row with quotes */
	struct mp_buf composed;   /* name with launch */
};

/* One file of op_summary. */
struct summary {
	struct mp_input input;
	const char *at, *end; /* rows left */
	uint32_t n_columns;
	int32_t column_of[MAX_COLUMNS]; /* output column -> column of this file, -1 = it has none */
};

/* ---- kernels by name and start ---- */

static uint64_t kernel_key(uint32_t name, int64_t ts_ns)
{
	return mp_hash_u64((uint64_t)ts_ns ^ mp_hash_u64(name + UINT64_C(1)));
}

static bool index_launches(struct details *details)
{
	const struct cur_run *run = details->run;
	size_t i;

	for (i = 0; i < run->links.npu.len; i++) {
		uint32_t kernel = run->links.npu.at[i].kernel;
		const struct cur_device_event *event = &run->device.events.at[kernel];

		if (!mp_map64_put(&details->launches, kernel_key(event->name, event->ts_ns), kernel))
			return false;
	}
	return true;
}

/* The launch of a row's kernel; NULL when none is known. */
static const struct cur_host_event *launch_of(const struct details *details, struct mp_str name,
					      int64_t ts_ns)
{
	const struct cur_run *run = details->run;
	const struct cur_device_event *event;
	const uint64_t *found;
	uint32_t id;

	if (!details->launches.len)
		return NULL;
	id = mp_strtab_lookup(mp_store_strings(run->store), name.text, name.len);
	if (id == MP_STR_NONE || !(found = mp_map64_lookup(&details->launches, kernel_key(id, ts_ns))))
		return NULL;
	event = &run->device.events.at[*found];
	return event->name == id && event->ts_ns == ts_ns ? &run->host.events.at[event->parent] : NULL;
}

/* ---- columns ---- */

static bool is_dropped(const struct cur_run *run, struct mp_str title)
{
	size_t i;

	if (mp_str_is(title, "Device_id"))
		return true;
	for (i = 0; run->params.level0 && i < MP_COUNT(level0_dropped); i++)
		if (mp_str_is(title, level0_dropped[i]))
			return true;
	return run->params.level0 && cur_corrects(run, CUR_FIX_BLOCK_NUM) &&
	       mp_str_is(title, "Mix Block Num");
}

static int32_t column_of(const struct details *details, struct mp_str title)
{
	uint32_t i;

	for (i = 0; i < details->n_columns; i++)
		if (mp_str_equal(details->columns[i].title, title))
			return (int32_t)i;
	return -1;
}

/* The columns of one more file; a title of 0 bytes for what does not fit. False when memory is out. */
static bool add_columns(struct details *details, struct summary *summary)
{
	struct cur_run *run = details->run;
	uint32_t i;

	for (i = 0; i < MAX_COLUMNS; i++)
		summary->column_of[i] = -1;
	summary->n_columns = (uint32_t)MP_MIN(details->csv.n_fields, (size_t)MAX_COLUMNS);
	for (i = 0; i < summary->n_columns; i++) {
		struct mp_str title = {details->csv.fields[i].text, details->csv.fields[i].len};
		int32_t at = column_of(details, title);
		uint32_t id;

		if (at < 0 && details->n_columns == MAX_COLUMNS)
			continue;
		if (at < 0) {
			id = mp_strtab_add(mp_store_strings(run->store), title.text, title.len);
			if (id == MP_STR_NONE)
				return false;
			at = (int32_t)details->n_columns++;
			details->columns[at] =
				(struct column){mp_store_text(run->store, id), is_dropped(run, title)};
		}
		summary->column_of[at] = (int32_t)i;
	}
	return true;
}

/* ---- output ---- */

static void put_field(struct mp_out *out, struct mp_str text)
{
	cur_csv_text(out, text.text, text.len);
}

static void put_header(struct details *details)
{
	bool first = !details->with_steps;
	uint32_t i, r;

	if (details->with_steps)
		mp_out_str(details->out, "Step ID");
	for (i = 0; i < details->n_columns; i++) {
		struct mp_str title = details->columns[i].title;

		if (details->columns[i].dropped)
			continue;
		if (!first)
			mp_out_str(details->out, ",");
		first = false;
		for (r = 0; r < MP_COUNT(renamed); r++)
			if (mp_str_is(title, renamed[r].from))
				title = (struct mp_str){renamed[r].to, strlen(renamed[r].to)};
		put_field(details->out, title);
	}
	mp_out_str(details->out, "\r\n");
}

/* What a row says beside its cells. */
struct row_link {
	const struct cur_host_event *launch;
	const struct cur_step *step;
};

static struct row_link link_row(const struct details *details, const struct mp_str *fields)
{
	struct row_link link = {0};
	struct mp_str start = fields[details->start];
	int64_t ts_ns;

	while (start.len && start.text[start.len - 1] == '\t')
		start.len--;
	if (!mp_num_parse_scaled(start.text, start.len, 3, &ts_ns))
		return link;
	link.launch = launch_of(details, fields[details->name], ts_ns);
	if (!details->with_steps || !details->launches.len)
		return link;
	if (link.launch)
		link.step = cur_step_at(&details->run->steps, link.launch->ts_ns);
	if (!link.step)
		link.step = cur_step_at(&details->run->steps, ts_ns);
	return link;
}

static void put_name(struct details *details, struct mp_str name, const struct cur_host_event *launch)
{
	struct mp_str launch_name;

	if (!launch) {
		put_field(details->out, name);
		return;
	}
	launch_name = mp_store_text(details->run->store, launch->name);
	mp_buf_clear(&details->composed);
	mp_buf_add(&details->composed, launch_name.text, launch_name.len);
	mp_buf_add_char(&details->composed, '/');
	mp_buf_add(&details->composed, name.text, name.len);
	put_field(details->out, (struct mp_str){details->composed.data, details->composed.len});
}

/* fields: by output column. plain: they lie in one row without quotes, so neighbours are written at once. */
static void put_row(struct details *details, const struct mp_str *fields, bool plain)
{
	struct row_link link = link_row(details, fields);
	bool first = true;
	uint32_t i = 0, next;

	if (details->with_steps) {
		if (link.step) {
			struct mp_str id = mp_store_text(details->run->store, link.step->id);

			put_field(details->out, id);
		}
		first = false;
	}
	for (; i < details->n_columns; i = next) {
		next = i + 1;
		if (details->columns[i].dropped)
			continue;
		if (!first)
			mp_out_str(details->out, ",");
		first = false;
		if ((int32_t)i == details->name) {
			put_name(details, fields[i], link.launch);
			continue;
		}
		while (plain && next < details->n_columns && (int32_t)next != details->name &&
		       !details->columns[next].dropped &&
		       fields[next].text == fields[next - 1].text + fields[next - 1].len + 1)
			next++;
		if (plain)
			mp_out_write(details->out, fields[i].text,
				     (size_t)(fields[next - 1].text + fields[next - 1].len - fields[i].text));
		else
			put_field(details->out, fields[i]);
	}
	mp_out_str(details->out, "\r\n");
}

/* ---- rows ---- */

/* Cells by output column; missing ones are N/A. */
static void arrange(const struct details *details, const struct summary *summary, const struct mp_str *cells,
		    uint32_t n_cells, struct mp_str *fields)
{
	uint32_t i;

	for (i = 0; i < details->n_columns; i++) {
		int32_t at = summary->column_of[i];

		fields[i] = at >= 0 && (uint32_t)at < n_cells ? cells[at] : (struct mp_str){"N/A", 3};
	}
}

/* Behind a quoted cell that needs its quotes, as our own writing gives it; NULL when it is not that. */
static const char *quoted_end(const char *at, const char *end)
{
	bool needed = false;

	for (at++; at < end; at++) {
		if (*at != '"') {
			needed |= *at == ',' || *at == '\r';
		} else if (at + 1 < end && at[1] == '"') {
			needed = true;
			at++;
		} else {
			return needed ? at + 1 : NULL;
		}
	}
	return NULL;
}

/*
 * Cells as they stand in the line, quoted ones with their quotes. 0 = what would be written differs from what
 * stands there, or a cell goes on in the next line: for the CSV reader.
 */
static uint32_t split_plain(const struct summary *summary, const struct details *details, const char *at,
			    const char *end, struct mp_str *cells)
{
	int32_t name = summary->column_of[details->name], start = summary->column_of[details->start];
	uint32_t n = 0;

	while (n < MAX_COLUMNS) {
		bool quoted = at < end && *at == '"';
		const char *cell_end = quoted ? quoted_end(at, end) : memchr(at, ',', (size_t)(end - at));

		if (quoted && (!cell_end || (int32_t)n == name || (int32_t)n == start))
			return 0;
		cell_end = cell_end ? cell_end : end;
		if ((cell_end < end && *cell_end != ',') ||
		    (!quoted && cell_end > at && memchr(at, '"', (size_t)(cell_end - at))))
			return 0;
		cells[n++] = (struct mp_str){at, (size_t)(cell_end - at)};
		if (cell_end == end)
			break;
		at = cell_end + 1;
	}
	return n;
}

/* A row that has quotes somewhere: through the CSV reader. Returns its number of cells. */
static uint32_t split_quoted(struct details *details, struct summary *summary, struct mp_str *cells)
{
	uint32_t n = 0;

	mp_csv_init(&details->csv, summary->at, (size_t)(summary->end - summary->at));
	if (mp_csv_next(&details->csv))
		for (; n < details->csv.n_fields && n < MAX_COLUMNS; n++)
			cells[n] = (struct mp_str){details->csv.fields[n].text, details->csv.fields[n].len};
	return n;
}

static mp_status put_rows(struct details *details, struct summary *summary, mp_err *err)
{
	struct mp_str cells[MAX_COLUMNS], fields[MAX_COLUMNS];
	const char *forgotten = summary->at;
	mp_status status = MINDPROF_OK;

	while (!status && summary->at < summary->end) {
		const char *newline = memchr(summary->at, '\n', (size_t)(summary->end - summary->at));
		const char *line_end = newline ? newline : summary->end,
			   *next = newline ? newline + 1 : summary->end;
		const char *text_end =
			line_end > summary->at && line_end[-1] == '\r' ? line_end - 1 : line_end;
		bool quoted = false;
		uint32_t n = 0;

		if (text_end > summary->at) {
			n = split_plain(summary, details, summary->at, text_end, cells);
			quoted = !n;
		}
		if (quoted)
			n = split_quoted(details, summary, cells);
		if (n) {
			arrange(details, summary, cells, n, fields);
			put_row(details, fields, !quoted);
		}
		if (quoted) {
			if (details->csv.failed)
				status = mp_err_nomem(err, 0);
			else if (details->csv.err_text)
				mp_store_note(details->run->store, MP_PROBLEM, "bad-csv",
					      summary->input.file.path,
					      summary->at - (const char *)summary->input.data,
					      "%s, row left out", details->csv.err_text);
			else
				next = details->csv.at;
			mp_csv_release(&details->csv);
		}
		summary->at = next;
		if (next - forgotten > FORGET_BYTES && summary->input.packing == MP_PACKING_NONE) {
			mp_file_forget(&summary->input.file,
				       (size_t)(forgotten - (const char *)summary->input.data),
				       (size_t)(next - forgotten));
			forgotten = next;
		}
	}
	return status;
}

/* ---- files ---- */

typedef MP_VEC(struct summary) summaries;

static mp_status read_header(struct details *details, struct summary *summary, mp_err *err)
{
	bool good = true;

	mp_csv_init(&details->csv, summary->input.data, summary->input.size);
	if (mp_csv_next(&details->csv))
		good = add_columns(details, summary);
	else if (details->csv.failed)
		good = false;
	else
		mp_store_note(details->run->store, MP_PROBLEM, "bad-csv", summary->input.file.path,
			      details->csv.err_text ? details->csv.err_offset : 0, "no header");
	summary->at = details->csv.at;
	summary->end =
		summary->input.size ? (const char *)summary->input.data + summary->input.size : summary->at;
	mp_csv_release(&details->csv);
	return good ? MINDPROF_OK : mp_err_nomem(err, 0);
}

static mp_status open_summary(struct details *details, const char *name, summaries *list, mp_err *err)
{
	struct cur_run *run = details->run;
	struct summary summary = {0};
	mp_err failure = {0};
	mp_status status =
		mp_input_open_at(&run->exported, name, run->ctx->max_unpacked, &summary.input, &failure);

	if (status)
		return cur_go_on_without(run, run->exported.path, status, &failure, err);
	status = read_header(details, &summary, err);
	if (!status && !mp_vec_push(list, summary))
		status = mp_err_nomem(err, sizeof(summary));
	if (status)
		mp_input_close(&summary.input);
	return status;
}

static mp_status open_summaries(struct details *details, summaries *list, mp_err *err)
{
	struct cur_file_list files;
	mp_status status;
	size_t i;

	MP_TRY(cur_files_find(&details->run->exported, "op_summary_*.csv", &files, err));
	status = MINDPROF_OK;
	for (i = 0; !status && i < files.names.len; i++)
		status = open_summary(details, files.names.at[i], list, err);
	cur_files_release(&files);
	return status;
}

/* Whether all files have the columns of the first, in its order. */
static bool have_equal_headers(const struct details *details, const summaries *list)
{
	size_t i;
	uint32_t c;

	for (i = 0; i < list->len; i++)
		for (c = 0; c < details->n_columns; c++)
			if (list->at[i].column_of[c] != (int32_t)c)
				return false;
	return true;
}

/* The original loses the file then. */
static bool is_lost(const struct details *details, const summaries *list)
{
	return !cur_corrects(details->run, CUR_FIX_HEADERS) && !have_equal_headers(details, list);
}

static void note_headers(const struct details *details, const summaries *list)
{
	if (!have_equal_headers(details, list))
		mp_store_note(details->run->store, MP_WARNING, "op-summary-headers",
			      details->run->exported.path, -1,
			      "files of op_summary have different columns, they are joined by name");
	if (list->len && (details->name < 0 || details->start < 0))
		mp_store_note(details->run->store, MP_PROBLEM, "op-summary-columns",
			      details->run->exported.path, -1,
			      "op_summary has no columns 'Op Name' and 'Task Start Time(us)'");
}

static mp_status put_all(struct details *details, summaries *list, mp_err *err)
{
	static const struct mp_str name = {"Op Name", 7}, start = {"Task Start Time(us)", 19};
	struct cur_run *run = details->run;
	size_t i;

	details->name = column_of(details, name);
	details->start = column_of(details, start);
	if (is_lost(details, list))
		return MINDPROF_OK;
	note_headers(details, list);
	if (details->name < 0 || details->start < 0)
		return MINDPROF_OK;
	details->with_steps = run->params.schedule && !run->params.o2 && run->steps.at.len > 0;
	if (!index_launches(details))
		return mp_err_nomem(err, 0);
	put_header(details);
	for (i = 0; i < list->len; i++)
		MP_TRY(put_rows(details, &list->at[i], err));
	return details->composed.failed ? mp_err_nomem(err, 0) : MINDPROF_OK;
}

static mp_status write_details(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	struct details *details;
	summaries list = {0};
	mp_status status;
	size_t i;

	MP_TRY(cur_load_links(run, err));
	MP_TRY(cur_load_steps(run, err));
	details = mp_calloc(1, sizeof(*details));
	if (!details)
		return mp_err_nomem(err, sizeof(*details));
	details->run = run;
	details->out = out;
	mp_buf_init(&details->composed, SIZE_MAX / 8);
	status = open_summaries(details, &list, err);
	if (!status && !list.len)
		mp_store_note(run->store, MP_PROBLEM, "no-op-summary",
			      run->prof.fd >= 0 ? run->prof.path : run->rank_dir.path, -1,
			      "no op_summary_*.csv: no details of kernels");
	else if (!status)
		status = put_all(details, &list, err);
	for (i = 0; i < list.len; i++)
		mp_input_close(&list.at[i].input);
	mp_vec_release(&list);
	mp_map64_release(&details->launches);
	mp_buf_release(&details->composed);
	mp_free(details);
	return status;
}

static bool wanted(const struct cur_run *run)
{
	return run->params.npu && !run->params.level_none;
}

const struct cur_output cur_kernel_details = {
	.name = "kernel_details.csv",
	.about = "Every kernel with its launch, step, times, shapes and metrics.",
	.wanted = wanted,
	.write = write_details,
	.original_needs = CUR_NEEDS_EXPORT | CUR_NEEDS_TIMELINE,
};
