/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables about a recording: what was found ("sources"), what it says about itself ("facts"),
 * and what is missing, lost or odd ("notes"). Made from a store that was read once, copied out of
 * it, so they outlive it.
 */
#include <inttypes.h>

#include "api/api_trace.h"
#include "base/buf.h"
#include "base/mem.h"

#include "base/banned.h"

enum { SOURCE_PATH, SOURCE_TITLE, SOURCE_READER, SOURCE_STATE, SOURCE_BYTES, SOURCE_EVENTS };

static const struct mp_column source_columns[] = {
	{"path", "Path", MP_TYPE_TEXT, MP_UNIT_NONE, "Path in the recording."},
	{"content", "Content", MP_TYPE_TEXT, MP_UNIT_NONE, "What it is."},
	{"reader", "Reader", MP_TYPE_TEXT, MP_UNIT_NONE, "Name of the reader that takes it."},
	{"state", "State", MP_TYPE_TEXT, MP_UNIT_NONE,
	 "read, analysed (becomes output files), failed, not read (known, but this version does not read it), "
	 "ignored (holds no measurements) or unknown."},
	{"bytes", "Size", MP_TYPE_INT, MP_UNIT_BYTES, "Bytes on disk."},
	{"events", "Events", MP_TYPE_INT, MP_UNIT_COUNT, "Events that the reader gave, for its first path."},
};

const struct mp_table_shape api_sources_shape = {
	"sources",
	"Sources",
	"What was found in the recording and who reads it.",
	source_columns,
	MP_COUNT(source_columns),
};

static const struct mp_column fact_columns[] = {
	{"key", "Fact", MP_TYPE_TEXT, MP_UNIT_NONE, "Name of the fact."},
	{"value", "Value", MP_TYPE_TEXT, MP_UNIT_NONE, "Its value as text."},
};

const struct mp_table_shape api_facts_shape = {
	"facts",
	"Facts",
	"What is known about the recording as a whole.",
	fact_columns,
	MP_COUNT(fact_columns),
};

enum { NOTE_SEVERITY, NOTE_CODE, NOTE_TEXT, NOTE_PATH, NOTE_BYTE_OFFSET, NOTE_COUNT };

static const struct mp_column note_columns[] = {
	{"severity", "Severity", MP_TYPE_TEXT, MP_UNIT_NONE,
	 "info, warning or problem (something is missing)."},
	{"code", "Code", MP_TYPE_TEXT, MP_UNIT_NONE, "A constant word for the kind of note."},
	{"text", "Note", MP_TYPE_TEXT, MP_UNIT_NONE, "The message."},
	{"path", "Path", MP_TYPE_TEXT, MP_UNIT_NONE, "File concerned."},
	{"byte_offset", "Byte", MP_TYPE_INT, MP_UNIT_NONE, "Where in the file, of the first one."},
	{"count", "Count", MP_TYPE_INT, MP_UNIT_COUNT, "How often."},
};

const struct mp_table_shape api_notes_shape = {
	"notes",
	"Notes",
	"What is missing, lost or odd in the recording.",
	note_columns,
	MP_COUNT(note_columns),
};

static struct mp_table *own_table(struct mindprof_trace *trace, const struct mp_table_shape *shape)
{
	return &trace->tables[api_find_table(shape->name)].table;
}

static bool put_str(struct mp_table *table, struct mp_value *value, const char *text)
{
	return mp_value_text(table, value, text, strlen(text));
}

/* ----------------------------------------------------------------- sources */

/* Calls fn for every entry of the run directory and of its FRAMEWORK. */
typedef bool (*entry_fn)(void *user, const char *folder, const struct mp_dir_entry *entry,
			 const struct api_content *content);

static bool walk_folder(const struct mp_dir *dir, const char *folder, entry_fn fn, void *user)
{
	struct mp_dir_entry *entries;
	size_t n, i;
	bool good = true;

	if (mp_dir_list(dir, &entries, &n, NULL))
		return true;
	for (i = 0; i < n && good; i++)
		good = fn(user, folder, &entries[i], api_content_lookup(folder, &entries[i]));
	mp_free(entries);
	return good;
}

static bool walk_contents(const struct mindprof_trace *trace, entry_fn fn, void *user)
{
	struct mp_dir framework;
	bool good = walk_folder(&trace->dir, "", fn, user);

	if (good && !mp_dir_open_at(&trace->dir, "FRAMEWORK", &framework, NULL)) {
		good = walk_folder(&framework, "FRAMEWORK", fn, user);
		mp_dir_close(&framework);
	}
	return good;
}

/* Bytes of the regular files directly in a folder of the run. */
static uint64_t folder_bytes(const struct mp_dir *parent, const char *name)
{
	struct mp_dir dir;
	struct mp_dir_entry *entries;
	uint64_t bytes = 0;
	size_t n, i;

	if (mp_dir_open_at(parent, name, &dir, NULL))
		return 0;
	if (!mp_dir_list(&dir, &entries, &n, NULL)) {
		for (i = 0; i < n; i++)
			bytes += entries[i].is_file ? entries[i].size : 0;
		mp_free(entries);
	}
	mp_dir_close(&dir);
	return bytes;
}

static struct api_source *source_of_reader(struct mindprof_trace *trace, const char *reader)
{
	size_t i;

	for (i = 0; reader && i < trace->n_sources; i++)
		if (!strcmp(trace->sources[i].reader->name, reader))
			return &trace->sources[i];
	return NULL;
}

struct source_filler {
	struct mindprof_trace *trace;
	struct mp_table *table;
	uint64_t listed; /* bit per source: its events were already shown */
};

static const char *state_of(const struct api_content *content, const struct api_source *source)
{
	if (source)
		return source->failed ? "failed" : "read";
	if (!content)
		return "unknown";
	if (content->reader && !strcmp(content->reader, API_BY_OUTPUTS))
		return "analysed";
	return content->unread > MP_INFO || content->reader ? "not read" : "ignored";
}

static bool add_source_row(void *user, const char *folder, const struct mp_dir_entry *entry,
			   const struct api_content *content)
{
	struct source_filler *filler = user;
	struct mp_table *table = filler->table;
	struct api_source *source = source_of_reader(filler->trace, content ? content->reader : NULL);
	uint64_t bit = source ? 1ull << ((source - filler->trace->sources) & 63) : 0;
	char path[300];
	struct mp_value *row;

	if (content && !*content->title) /* a folder whose files are listed one by one */
		return true;
	row = mp_table_add_row(table);
	snprintf(path, sizeof(path), "%s%s%s%s", folder, *folder ? "/" : "", entry->name,
		 entry->is_dir ? "/" : "");
	if (!row || !put_str(table, &row[SOURCE_PATH], path) ||
	    !put_str(table, &row[SOURCE_STATE], state_of(content, source)))
		return false;
	if (content && !put_str(table, &row[SOURCE_TITLE], content->title))
		return false;
	if (content && content->reader && !put_str(table, &row[SOURCE_READER], content->reader))
		return false;
	mp_value_int(&row[SOURCE_BYTES],
		     (int64_t)(entry->is_dir ? folder_bytes(&filler->trace->dir, entry->name) : entry->size));
	if (source && !(filler->listed & bit))
		mp_value_int(&row[SOURCE_EVENTS], (int64_t)source->events);
	filler->listed |= bit;
	return true;
}

/* A run that is one file, or one whose files carry names that are not of the list. */
static bool add_reader_row(struct mindprof_trace *trace, struct mp_table *table,
			   const struct api_source *source)
{
	struct mp_value *row = mp_table_add_row(table);
	struct mp_file file;

	if (!row || !put_str(table, &row[SOURCE_PATH], trace->file ? trace->file : ".") ||
	    !put_str(table, &row[SOURCE_TITLE], source->reader->title) ||
	    !put_str(table, &row[SOURCE_READER], source->reader->name) ||
	    !put_str(table, &row[SOURCE_STATE], source->failed ? "failed" : "read"))
		return false;
	mp_value_int(&row[SOURCE_EVENTS], (int64_t)source->events);
	if (trace->file && !mp_file_open_at(&trace->dir, trace->file, &file, NULL)) {
		mp_value_int(&row[SOURCE_BYTES], (int64_t)file.size);
		mp_file_close(&file);
	}
	return true;
}

static bool fill_sources(struct mindprof_trace *trace)
{
	struct source_filler filler = {.trace = trace, .table = own_table(trace, &api_sources_shape)};
	size_t i;

	if (!trace->file && !walk_contents(trace, add_source_row, &filler))
		return false;
	for (i = 0; i < trace->n_sources; i++)
		if (!(filler.listed >> (i & 63) & 1) &&
		    !add_reader_row(trace, filler.table, &trace->sources[i]))
			return false;
	return true;
}

/* ------------------------------------------------------------------- notes */

static bool note_entry(void *user, const char *folder, const struct mp_dir_entry *entry,
		       const struct api_content *content)
{
	struct mp_store *store = user;
	char path[300];

	snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", entry->name);
	if (content && content->unread > MP_INFO)
		mp_store_note(store, content->unread, "not-read", path, -1, "%s is not read by this version",
			      content->title);
	else if (!content)
		mp_store_note(store, MP_INFO, "unknown-content", path, -1, "nobody knows what this is");
	return true;
}

/* Ends the walk at the first entry that outputs are made from. */
static bool is_no_output_input(void *user MP_UNUSED, const char *folder MP_UNUSED,
			       const struct mp_dir_entry *entry MP_UNUSED, const struct api_content *content)
{
	return !content || !content->reader || strcmp(content->reader, API_BY_OUTPUTS) != 0;
}

static void note_contents(struct mindprof_trace *trace, struct mp_store *store)
{
	if (trace->file)
		return;
	walk_contents(trace, note_entry, store);
	if (api_has_no_data(trace))
		mp_store_note(
			store, MP_PROBLEM, "no-data", NULL, -1,
			"no recording here, only parameters or finished results: FRAMEWORK and PROF_* are "
			"missing");
	else if (!trace->n_sources && walk_contents(trace, is_no_output_input, NULL))
		mp_store_note(store, MP_PROBLEM, "nothing-to-read", NULL, -1,
			      "nothing here can be read by this version");
}

static bool is_value(const struct mp_value *value, struct mp_str text)
{
	if (value->missing)
		return !text.len;
	return value->s.len == text.len && !memcmp(value->s.text, text.text, text.len);
}

/* Readers and outputs of one file may meet the same fault. */
static bool has_note(const struct mp_table *table, struct mp_str code, struct mp_str path)
{
	size_t i;

	for (i = 0; i < table->n_rows; i++) {
		const struct mp_value *row = mp_table_row(table, i);

		if (is_value(&row[NOTE_CODE], code) && is_value(&row[NOTE_PATH], path))
			return true;
	}
	return false;
}

bool api_add_note(struct mp_table *table, const struct mindprof_note *note)
{
	static const char *const severities[] = {"info", "warning", "problem"};
	struct mp_value *row = mp_table_add_row(table);

	if (!row || !put_str(table, &row[NOTE_SEVERITY], severities[note->severity]) ||
	    !put_str(table, &row[NOTE_CODE], note->code) || !put_str(table, &row[NOTE_TEXT], note->text))
		return false;
	if (*note->path && !put_str(table, &row[NOTE_PATH], note->path))
		return false;
	if (note->byte_offset >= 0)
		mp_value_int(&row[NOTE_BYTE_OFFSET], note->byte_offset);
	mp_value_int(&row[NOTE_COUNT], (int64_t)note->count);
	return true;
}

static bool fill_notes(struct mindprof_trace *trace, const struct mp_store *store)
{
	struct mp_table *table = own_table(trace, &api_notes_shape);
	bool first = !table->n_rows;
	size_t i;

	table->empty_reason = "nothing is missing, lost or odd";
	for (i = 0; i < mp_store_n_notes(store); i++) {
		struct mp_note note = mp_store_get_note(store, i);
		struct mp_str code = mp_store_text(store, note.code), path = mp_store_text(store, note.path);
		struct mindprof_note taken = {
			.severity = (enum mindprof_severity)note.severity,
			.code = code.text,
			.text = mp_store_text(store, note.text).text,
			.path = path.text,
			.byte_offset = note.byte_offset,
			.count = note.count,
		};

		if ((first || !has_note(table, code, path)) && !api_add_note(table, &taken))
			return false;
	}
	return true;
}

mp_status api_add_notes(struct mindprof_trace *trace, const struct mp_store *store, mp_err *err)
{
	return fill_notes(trace, store) ? MINDPROF_OK : mp_err_nomem(err, sizeof(struct mp_value));
}

struct mindprof_note api_note_of_row(const struct mp_value *row)
{
	return (struct mindprof_note){
		.severity = row[NOTE_SEVERITY].s.text[0] == 'i'   ? MINDPROF_INFO
			    : row[NOTE_SEVERITY].s.text[0] == 'w' ? MINDPROF_WARNING
								  : MINDPROF_PROBLEM,
		.code = row[NOTE_CODE].s.text,
		.text = row[NOTE_TEXT].s.text,
		.path = row[NOTE_PATH].missing ? "" : row[NOTE_PATH].s.text,
		.byte_offset = row[NOTE_BYTE_OFFSET].missing ? -1 : row[NOTE_BYTE_OFFSET].i,
		.count = (uint64_t)row[NOTE_COUNT].i,
	};
}

int mindprof_trace_note(struct mindprof_trace *trace, size_t index, struct mindprof_note *out)
{
	const struct mp_table *table = own_table(trace, &api_notes_shape);

	if (!trace->described || index >= table->n_rows)
		return 0;
	*out = api_note_of_row(mp_table_row(table, index));
	return 1;
}

int mindprof_trace_is_incomplete(struct mindprof_trace *trace)
{
	struct mindprof_note note;
	size_t i;

	if (api_describe(trace, NULL))
		return 1;
	for (i = 0; mindprof_trace_note(trace, i, &note); i++)
		if (note.severity == MINDPROF_PROBLEM)
			return 1;
	return 0;
}

/* ------------------------------------------------------------------- facts */

static bool add_fact(struct mp_table *table, const char *key, const char *text, size_t len)
{
	struct mp_value *row = mp_table_add_row(table);

	return row && put_str(table, &row[0], key) && mp_value_text(table, &row[1], text, len);
}

static bool add_number(struct mp_table *table, const char *key, uint64_t value)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%" PRIu64, value);

	return add_fact(table, key, text, (size_t)len);
}

/* As "2026-11-30T20:53:43.493000000Z". */
static bool add_time(struct mp_table *table, const char *key, int64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm parts;
	char text[64];
	size_t len;

	if (!gmtime_r(&seconds, &parts))
		return true;
	len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
	len += (size_t)snprintf(text + len, sizeof(text) - len, ".%09dZ", (int)(ns % 1000000000));
	return add_fact(table, key, text, len);
}

/* Times before this are no Unix time but some other clock. */
#define LEAST_UNIX_NS 946684800000000000 /* 2000-01-01 */

static bool add_span(struct mp_table *table, const struct mp_store *store)
{
	int64_t begin_ns, end_ns;

	if (!mp_store_time_range(store, &begin_ns, &end_ns))
		return true;
	if (begin_ns >= LEAST_UNIX_NS &&
	    (!add_time(table, "begin", begin_ns) || !add_time(table, "end", end_ns)))
		return false;
	return add_number(table, "span_ns", (uint64_t)end_ns - (uint64_t)begin_ns);
}

static bool add_events(struct mp_table *table, const struct mp_store *store)
{
	static const char *const keys[MP_KINDS] = {
		"events.range",  "events.mark",  "events.counter", "events.flow",
		"events.memory", "events.queue", "events.step",    "events.memory_total",
	};
	uint64_t total = 0;
	unsigned kind;

	for (kind = 0; kind < MP_KINDS; kind++)
		total += mp_store_n_events(store, (enum mp_kind)kind);
	if (!add_number(table, "events", total))
		return false;
	for (kind = 0; kind < MP_KINDS; kind++) {
		uint64_t n = mp_store_n_events(store, (enum mp_kind)kind);

		if (n && !add_number(table, keys[kind], n))
			return false;
	}
	return true;
}

/* The distinct ranks, as "0, 3". */
static bool add_ranks(struct mp_table *table, const struct mp_store *store)
{
	struct mp_buf text;
	size_t i, j, n = mp_store_n_processes(store);
	bool good = true;

	mp_buf_init(&text, 4096);
	for (i = 0; i < n; i++) {
		int32_t rank = mp_store_get_process(store, (uint32_t)i).rank;

		for (j = 0; j < i && mp_store_get_process(store, (uint32_t)j).rank != rank;)
			j++;
		if (j == i && rank >= 0)
			mp_buf_printf(&text, "%s%" PRId32, text.len ? ", " : "", rank);
	}
	if (text.len)
		good = add_fact(table, "ranks", mp_buf_str(&text), text.len);
	mp_buf_release(&text);
	return good;
}

/* What the readers call it, as "MindProf recording, Chrome trace". */
static bool add_content(struct mp_table *table, const struct mindprof_trace *trace)
{
	struct mp_buf text;
	bool good;
	size_t i;

	mp_buf_init(&text, 4096);
	for (i = 0; i < trace->n_sources; i++)
		mp_buf_printf(&text, "%s%s", i ? ", " : "", trace->sources[i].reader->title);
	good = !text.failed && (!text.len || add_fact(table, "content", mp_buf_str(&text), text.len));
	mp_buf_release(&text);
	return good;
}

static bool fill_facts(struct mindprof_trace *trace, const struct mp_store *store)
{
	struct mp_table *table = own_table(trace, &api_facts_shape);
	size_t i, n_threads = 0;

	for (i = 0; i < mp_store_n_tracks(store); i++)
		n_threads += mp_store_get_track(store, (uint32_t)i).kind == MP_TRACK_THREAD;
	if (!add_fact(table, "path", trace->path, strlen(trace->path)) || !add_content(table, trace) ||
	    !add_span(table, store) || !add_events(table, store) || !add_ranks(table, store) ||
	    !add_number(table, "processes", mp_store_n_processes(store)) ||
	    !add_number(table, "threads", n_threads))
		return false;
	for (i = 0; i < mp_store_n_facts(store); i++) {
		struct mp_str key, text;

		mp_store_get_fact(store, i, &key, &text);
		if (!add_fact(table, key.text, text.text, text.len))
			return false;
	}
	return true;
}

/* --------------------------------------------------------------------- all */

mp_status api_make_descriptions(struct mindprof_trace *trace, struct mp_store *store, mp_err *err)
{
	static const struct mp_table_shape *const shapes[] = {&api_sources_shape, &api_facts_shape,
							      &api_notes_shape};
	bool good;
	size_t i;

	note_contents(trace, store);
	if (trace->described)
		return MINDPROF_OK;
	good = fill_sources(trace) && fill_facts(trace, store) && fill_notes(trace, store);
	for (i = 0; i < MP_COUNT(shapes); i++) {
		size_t index = api_find_table(shapes[i]->name);

		trace->tables[index].ready = good;
		if (!good) {
			mp_table_release(&trace->tables[index].table);
			mp_table_init(&trace->tables[index].table, shapes[i]);
		}
	}
	trace->described = good;
	return good ? MINDPROF_OK : mp_err_nomem(err, sizeof(struct mp_value));
}
