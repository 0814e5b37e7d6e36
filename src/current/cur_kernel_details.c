/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_details.csv. Input: PROF_x/mindstudio_profiler_output/op_summary_*.csv, links of kernels to
 * launches, steps. Output: the rows of op_summary with step, launch and the original's column names
 * (analysis-current.md sections 5.1, 8.1).
 */
#include <string.h>

#include "base/hash.h"
#include "current/cur_cpu_kernels.h"
#include "current/cur_csv.h"
#include "current/cur_outputs.h"

#include "base/banned.h"

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

/* What every export has; these are kept wherever they stand. */
static const char *const known[] = {
	"Device_id",
	"Model Name",
	"Model ID",
	"Task ID",
	"Stream ID",
	"Op Name",
	"OP Type",
	"OP State",
	"Task Type",
	"Block Dim",
	"Task Start Time(us)",
	"Task Duration(us)",
	"Block Num",
	"Mix Block Num",
	"Task Wait Time(us)",
	"Mix Block Dim",
	"HF32 Eligible",
	"Input Shapes",
	"Output Shapes",
	"Input Data Types",
	"Input Formats",
	"Context ID",
	"Output Data Types",
	"Output Formats",
};

/* Others, such as metrics: without a bound a header of a million cells would make every short row that long.
 */
#define MAX_OTHERS 256u
#define MAX_COLUMNS (MAX_OTHERS + MP_COUNT(known))

/* A column of the output. */
struct column {
	struct mp_str title; /* as in the input; borrowed from the string table */
	bool dropped;
};

struct details {
	struct cur_run *run;
	struct mp_out *out;
	struct column columns[MAX_COLUMNS];
	uint32_t n_columns, n_others;
	int32_t name, start; /* columns */
	bool with_steps;
	struct mp_map64 launches; /* kernel by name and start -> device event */
	struct mp_str *cells;     /* owned; of one row, room for those that any file needs */
	struct mp_csv csv;        /* of a row with quotes */
	struct mp_buf composed;   /* name with launch */
};

/* One file of op_summary. */
struct summary {
	struct mp_input input;
	const char *at, *end; /* rows left */
	size_t n_titles;      /* of its header */
	uint32_t n_needed;    /* cells of a row up to the last that is used */
	bool title_twice;
	bool bad_header;                /* which is noted */
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

		/* Its digits are never those of op_summary. */
		if (event->binary_ts)
			continue;
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

static bool is_known(struct mp_str title)
{
	size_t i;

	for (i = 0; i < MP_COUNT(known); i++)
		if (mp_str_is(title, known[i]))
			return true;
	return false;
}

/* Place of a title that is new; -1 = there is no room. False when memory is out. */
static bool add_column(struct details *details, struct mp_str title, int32_t *at)
{
	bool other = !is_known(title);
	uint32_t id;

	*at = -1;
	if (other && details->n_others == MAX_OTHERS)
		return true;
	id = mp_strtab_add(mp_store_strings(details->run->store), title.text, title.len);
	if (id == MP_STR_NONE)
		return false;
	*at = (int32_t)details->n_columns++;
	details->n_others += other;
	details->columns[*at] =
		(struct column){mp_store_text(details->run->store, id), is_dropped(details->run, title)};
	return true;
}

/* The columns of one more file. False when memory is out. */
static bool add_columns(struct details *details, struct summary *summary)
{
	size_t n_lost = 0;
	uint32_t i;

	for (i = 0; i < MAX_COLUMNS; i++)
		summary->column_of[i] = -1;
	summary->n_titles = details->csv.n_fields;
	for (i = 0; i < summary->n_titles && i < INT32_MAX; i++) {
		struct mp_str title = {details->csv.fields[i].text, details->csv.fields[i].len};
		int32_t at = column_of(details, title);

		if (at < 0 && !add_column(details, title, &at))
			return false;
		if (at < 0) {
			n_lost++;
			continue;
		}
		summary->title_twice |= summary->column_of[at] >= 0;
		summary->column_of[at] = (int32_t)i;
		summary->n_needed = i + 1;
	}
	if (n_lost)
		mp_store_note(details->run->store, MP_PROBLEM, "too-many-columns", summary->input.file.path,
			      0, "%zu of %zu columns are left out: no export has so many", n_lost,
			      summary->n_titles);
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
	/* Without any launch the original gives no kernel a step. */
	if (!details->with_steps ||
	    (!details->run->links.npu.len && !cur_corrects(details->run, CUR_FIX_KERNEL_STEP)))
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
static void arrange(const struct details *details, const struct summary *summary, size_t n_cells,
		    struct mp_str *fields)
{
	uint32_t i;

	for (i = 0; i < details->n_columns; i++) {
		int32_t at = summary->column_of[i];

		fields[i] = at >= 0 && (size_t)at < n_cells ? details->cells[at] : (struct mp_str){"N/A", 3};
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
 * Cells as they stand in the line, quoted ones with their quotes; returns how many there are. 0 = what would
 * be written differs from what stands there, or a cell goes on in the next line: for the CSV reader.
 */
static size_t split_plain(const struct details *details, const struct summary *summary, const char *at,
			  const char *end)
{
	int32_t name = summary->column_of[details->name], start = summary->column_of[details->start];
	size_t n = 0;

	for (;;) {
		bool quoted = at < end && *at == '"';
		const char *cell_end = quoted     ? quoted_end(at, end)
				       : at < end ? memchr(at, ',', (size_t)(end - at))
						  : NULL;

		if (quoted && (!cell_end || (int64_t)n == name || (int64_t)n == start))
			return 0;
		cell_end = cell_end ? cell_end : end;
		if ((cell_end < end && *cell_end != ',') ||
		    (!quoted && cell_end > at && memchr(at, '"', (size_t)(cell_end - at))))
			return 0;
		if (n < summary->n_needed)
			details->cells[n] = (struct mp_str){at, (size_t)(cell_end - at)};
		n++;
		if (cell_end == end)
			return n;
		at = cell_end + 1;
	}
}

/* A row that has quotes somewhere: through the CSV reader, which keeps its cells. Returns their number. */
static size_t split_quoted(struct details *details, struct summary *summary)
{
	size_t i;

	mp_csv_init(&details->csv, summary->at, (size_t)(summary->end - summary->at));
	if (!mp_csv_next(&details->csv))
		return 0;
	for (i = 0; i < details->csv.n_fields && i < summary->n_needed; i++)
		details->cells[i] = (struct mp_str){details->csv.fields[i].text, details->csv.fields[i].len};
	return details->csv.n_fields;
}

static int64_t offset_of(const struct summary *summary, const char *at)
{
	return at - (const char *)summary->input.data;
}

/* A row of n cells that ends before `next`; plain: its cells stand as they are to be written. */
static void put_cells(struct details *details, struct summary *summary, size_t n, const char *next,
		      bool plain)
{
	struct mp_str fields[MAX_COLUMNS];

	if (!n || (next == summary->end && next[-1] != '\n' &&
		   cur_csv_is_cut(details->run, &summary->input, offset_of(summary, summary->at), n,
				  summary->n_titles)))
		return;
	arrange(details, summary, n, fields);
	put_row(details, fields, plain);
}

/* The row at summary->at, which has quotes; *next is behind it. */
static mp_status put_quoted(struct details *details, struct summary *summary, const char **next, mp_err *err)
{
	size_t n = split_quoted(details, summary);
	bool failed = details->csv.failed;

	if (details->csv.err_text && !failed)
		mp_store_note(details->run->store, MP_PROBLEM, "bad-csv", summary->input.file.path,
			      offset_of(summary, summary->at), "%s, row left out", details->csv.err_text);
	else
		*next = details->csv.at;
	put_cells(details, summary, n, *next, false);
	mp_csv_release(&details->csv);
	return failed ? mp_err_nomem(err, 0) : MINDPROF_OK;
}

static mp_status put_rows(struct details *details, struct summary *summary, mp_err *err)
{
	const char *forgotten = summary->at;
	mp_status status = MINDPROF_OK;

	while (!status && summary->at < summary->end) {
		const char *newline = memchr(summary->at, '\n', (size_t)(summary->end - summary->at));
		const char *line_end = newline ? newline : summary->end;
		const char *next = newline ? newline + 1 : summary->end;
		size_t n;

		if (line_end > summary->at && line_end[-1] == '\r')
			line_end--;
		if (line_end > summary->at) {
			n = split_plain(details, summary, summary->at, line_end);
			if (n)
				put_cells(details, summary, n, next, true);
			else
				status = put_quoted(details, summary, &next, err);
		}
		summary->at = next;
		if (next - forgotten > FORGET_BYTES && summary->input.packing == MP_PACKING_NONE) {
			mp_file_forget(&summary->input.file, (size_t)offset_of(summary, forgotten),
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
	size_t size;

	mp_csv_init(&details->csv, summary->input.data, summary->input.size);
	summary->bad_header = !mp_csv_next(&details->csv);
	if (!summary->bad_header)
		good = add_columns(details, summary);
	else if (details->csv.failed)
		good = false;
	else
		mp_store_note(details->run->store, MP_PROBLEM, "bad-csv", summary->input.file.path,
			      details->csv.err_text ? details->csv.err_offset : 0, "no header");
	summary->at = details->csv.at;
	size = summary->input.size;
	if (size && !summary->bad_header && summary->at == (const char *)summary->input.data + size &&
	    summary->at[-1] != '\n') {
		summary->bad_header = true;
		cur_csv_is_cut(details->run, &summary->input, 0, summary->n_titles, summary->n_titles + 1);
	}
	summary->end = size ? (const char *)summary->input.data + size : summary->at;
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
	cur_note_damage(run, &summary.input);
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
			if (list->at[i].column_of[c] < 0 ||
			    list->at[i].column_of[c] != list->at[0].column_of[c])
				return false;
	return true;
}

static bool has_title_twice(const summaries *list)
{
	size_t i;

	for (i = 0; i < list->len; i++)
		if (list->at[i].title_twice)
			return true;
	return false;
}

static bool has_bad_header(const summaries *list)
{
	size_t i;

	for (i = 0; i < list->len; i++)
		if (list->at[i].bad_header)
			return true;
	return false;
}

/* The original loses the file then. */
static bool is_lost(const struct details *details, const summaries *list)
{
	return !cur_corrects(details->run, CUR_FIX_HEADERS) &&
	       (!have_equal_headers(details, list) || has_title_twice(list));
}

static void note_headers(const struct details *details, const summaries *list)
{
	if (!have_equal_headers(details, list))
		mp_store_note(details->run->store, MP_WARNING, "op-summary-headers",
			      details->run->exported.path, -1,
			      "files of op_summary have different columns, they are joined by name");
	if (has_title_twice(list))
		mp_store_note(details->run->store, MP_WARNING, "op-summary-title-twice",
			      details->run->exported.path, -1,
			      "a column of op_summary comes twice, the last one is used");
	if (list->len && (details->name < 0 || details->start < 0) && !has_bad_header(list))
		mp_store_note(details->run->store, MP_PROBLEM, "op-summary-columns",
			      details->run->exported.path, -1,
			      "op_summary has no columns 'Op Name' and 'Task Start Time(us)'");
}

static bool reserve_cells(struct details *details, const summaries *list)
{
	size_t n = 1, i;

	for (i = 0; i < list->len; i++)
		n = MP_MAX(n, (size_t)list->at[i].n_needed);
	details->cells = mp_calloc(n, sizeof(*details->cells));
	return details->cells != NULL;
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
	if (!index_launches(details) || !reserve_cells(details, list))
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

	if (cur_has_cpu_kernels(run))
		return cur_cpu_kernel_details(run, out, err);
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
	mp_free(details->cells);
	mp_free(details);
	return status;
}

static bool wanted(const struct cur_run *run)
{
	return (run->params.npu && !run->params.level_none) || cur_has_cpu_kernels(run);
}

const struct cur_output cur_kernel_details = {
	.name = "kernel_details.csv",
	.about = "Every kernel with its launch, step, times, shapes and metrics.",
	.wanted = wanted,
	.write = write_details,
	.original_needs = CUR_NEEDS_EXPORT | CUR_NEEDS_TIMELINE,
};
