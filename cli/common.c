/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands share: messages, progress, the runs of a command line, JSON results. */
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <stdarg.h>

#include "commands.h"

#include "base/mem.h"

#include "base/banned.h"

/* ---------------------------------------------------------------- progress */

#define PROGRESS_NS 100000000 /* between two drawings, and before the first: short work shows nothing */
#define BAR_CELLS 30

/* Readers report from any thread. */
static struct {
	pthread_mutex_t lock;
	int64_t drawn_ns;
	bool drawn;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void cli_progress(void *user, const char *what, uint64_t done, uint64_t total)
{
	char bar[BAR_CELLS + 1];
	double share = total ? (double)done / (double)total : 0;
	size_t cells = share >= 1 ? BAR_CELLS : (size_t)(share * BAR_CELLS);
	int64_t now = now_ns();

	(void)user;
	pthread_mutex_lock(&progress.lock);
	if (now - progress.drawn_ns >= PROGRESS_NS) {
		memset(bar, ' ', BAR_CELLS);
		memset(bar, '#', cells);
		bar[BAR_CELLS] = '\0';
		if (total)
			fprintf(stderr, "\r\033[K%.40s [%s] %3.0f %%", what, bar, share * 100);
		else
			fprintf(stderr, "\r\033[K%.40s, %llu", what, (unsigned long long)done);
		progress.drawn_ns = now;
		progress.drawn = true;
	}
	pthread_mutex_unlock(&progress.lock);
}

void cli_progress_end(void)
{
	pthread_mutex_lock(&progress.lock);
	if (progress.drawn)
		fputs("\r\033[K", stderr);
	progress.drawn = false;
	pthread_mutex_unlock(&progress.lock);
}

/* ---------------------------------------------------------------- messages */

void cli_message(const char *fmt, ...)
{
	va_list args;

	cli_progress_end();
	fputs("mindprof: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

int cli_failed(const struct mindprof_error *error, const char *hint)
{
	char text[2048];

	cli_message("%s%s%s", mindprof_error_text(error, text, sizeof(text)), hint ? "; " : "",
		    hint ? hint : "");
	return CLI_FAILED;
}

int cli_no_memory(void)
{
	cli_message("out of memory");
	return CLI_FAILED;
}

void cli_clean(char *to, size_t size, const char *text, size_t len)
{
	size_t at = 0, i, whole = len;

	len = mp_utf8_valid_prefix(text, len);
	if (len > size - 1) {
		for (len = size - 4; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
			len--;
	}
	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		/* U+0080 to U+009F are control characters, too */
		bool high_control = c == 0xc2 && i + 1 < len && (unsigned char)text[i + 1] < 0xa0;

		i += high_control;
		to[at++] = c < 0x20 || c == 0x7f || high_control ? '?' : text[i];
	}
	to[at] = '\0';
	if (len < whole && at + 4 <= size)
		memcpy(to + at, "...", 4);
}

/* Four digits and a unit, as tables have them. */
static struct cli_amount amount(double value, double factor, const char *const *units, size_t n_units)
{
	struct cli_amount out;
	size_t unit = 0;

	for (; unit + 1 < n_units && value >= factor; unit++)
		value /= factor;
	snprintf(out.text, sizeof(out.text), "%.*f %s",
		 !unit          ? 0
		 : value < 10   ? 3
		 : value < 100  ? 2
		 : value < 1000 ? 1
				: 0,
		 value, units[unit]);
	return out;
}

struct cli_amount cli_duration(double ns)
{
	static const char *const units[] = {"ns", "µs", "ms", "s"};

	return amount(ns, 1000, units, MP_COUNT(units));
}

struct cli_amount cli_size(double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};

	return amount(bytes, 1024, units, MP_COUNT(units));
}

int cli_worse(int a, int b)
{
	static const int rank[] = {[CLI_DONE] = 0, [CLI_INCOMPLETE] = 1, [CLI_USAGE] = 2, [CLI_FAILED] = 3};

	return rank[a] >= rank[b] ? a : b;
}

/* -------------------------------------------------------------------- runs */

static int add_run(void *user, const char *path)
{
	struct cli_runs *runs = user;
	char *copy;
	size_t i;

	for (i = 0; i < runs->paths.len; i++)
		if (!strcmp(runs->paths.at[i], path))
			return 0;
	copy = mp_strdup(path);
	if (copy && mp_vec_push(&runs->paths, copy))
		return 0;
	mp_free(copy);
	runs->code = cli_no_memory();
	return 1;
}

void cli_find_runs(const struct cli_arguments *arguments, struct cli_runs *runs)
{
	struct mindprof_error error;
	size_t i;

	*runs = (struct cli_runs){0};
	for (i = 0; i < arguments->n; i++) {
		memset(&error, 0, sizeof(error));
		if (mindprof_find_runs(arguments->at[i], add_run, runs, &error))
			runs->code = cli_failed(&error, NULL);
	}
}

void cli_runs_release(struct cli_runs *runs)
{
	size_t i;

	for (i = 0; i < runs->paths.len; i++)
		mp_free(runs->paths.at[i]);
	mp_vec_release(&runs->paths);
}

int cli_for_runs(const struct cli_arguments *arguments, bool as_json, cli_run_fn fn, void *user)
{
	struct cli_runs runs;
	struct mp_json_out json;
	struct mp_buf buf;
	int code;
	size_t i;

	cli_find_runs(arguments, &runs);
	code = runs.code;
	cli_json_runs_begin(&json, &buf);
	for (i = 0; i < runs.paths.len; i++)
		code = cli_worse(code, fn(user, runs.paths.at[i], as_json ? &json : NULL, i));
	cli_runs_release(&runs);
	return cli_json_runs_end(&json, &buf, as_json, code);
}

void cli_json_runs_begin(struct mp_json_out *json, struct mp_buf *buf)
{
	mp_buf_init(buf, SIZE_MAX);
	mp_json_out_init(json, buf, 0);
	mp_json_out_object(json);
	mp_json_out_key(json, "runs");
	mp_json_out_array(json);
}

int cli_json_runs_end(struct mp_json_out *json, struct mp_buf *buf, bool as_json, int code)
{
	mp_json_out_array_end(json);
	mp_json_out_object_end(json);
	if (as_json)
		return cli_print_json(buf, code);
	mp_buf_release(buf);
	return code;
}

struct mindprof_trace *cli_open(const char *path, uint64_t jobs)
{
	struct mindprof_open_options options = {.size = sizeof(options),
						.jobs = (uint32_t)MP_MIN(jobs, 1024u)};
	struct mindprof_trace *trace = NULL;
	struct mindprof_error error = {0};

	if (isatty(STDERR_FILENO)) {
		options.progress = cli_progress;
		progress.drawn_ns = now_ns();
	}
	if (mindprof_trace_open(path, &options, &trace, &error)) {
		cli_failed(&error, NULL);
		return NULL;
	}
	return trace;
}

void cli_print_note(FILE *to, const struct mindprof_note *note)
{
	char text[1024];

	cli_clean(text, sizeof(text), note->text, strlen(note->text));
	fputs(text, to);
	cli_clean(text, sizeof(text), note->path, strlen(note->path));
	if (*text && note->byte_offset >= 0)
		fprintf(to, " (%s, byte %lld)", text, (long long)note->byte_offset);
	else if (*text)
		fprintf(to, " (%s)", text);
	if (note->count > 1)
		fprintf(to, ", %llu times", (unsigned long long)note->count);
	fputc('\n', to);
}

int cli_list_problems(struct mindprof_trace *trace)
{
	struct mindprof_note note;
	int code = CLI_DONE;
	size_t i;

	if (!mindprof_trace_is_incomplete(trace))
		return CLI_DONE;
	cli_progress_end();
	for (i = 0; mindprof_trace_note(trace, i, &note); i++) {
		if (note.severity != MINDPROF_PROBLEM)
			continue;
		if (code == CLI_DONE)
			fprintf(stderr, "mindprof: '%s' is incomplete:\n", mindprof_trace_path(trace));
		fputs("  ", stderr);
		cli_print_note(stderr, &note);
		code = CLI_INCOMPLETE;
	}
	return code;
}

/* ----------------------------------------------------------------- results */

/* Columns of the terminal on stdout, 100 when it is none. */
static unsigned output_width(void)
{
	struct winsize size;

	if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col >= 40)
		return size.ws_col;
	return 100;
}

int cli_print_table(const struct mindprof_table *table, const char *columns, const char *order_by,
		    uint64_t max_rows)
{
	struct mindprof_print_options options = {
		.size = sizeof(options),
		.columns = columns,
		.order_by = order_by,
		.max_rows = (size_t)max_rows,
		.width = output_width(),
	};
	struct mindprof_text text;
	struct mindprof_error error = {0};

	if (mindprof_table_print(table, &options, &text, &error))
		return cli_failed(&error, NULL);
	cli_progress_end();
	fwrite(text.data, 1, text.len, stdout);
	mindprof_text_free(&text);
	return CLI_DONE;
}

bool cli_json_table(struct mp_json_out *json, const struct mindprof_table *table)
{
	struct mindprof_print_options options = {.size = sizeof(options), .format = MINDPROF_TABLE_JSON};
	struct mindprof_text text;
	struct mindprof_error error = {0};

	if (mindprof_table_print(table, &options, &text, &error)) {
		cli_failed(&error, NULL);
		return false;
	}
	mp_json_out_raw(json, text.data, text.len);
	mindprof_text_free(&text);
	return true;
}

void cli_json_member(struct mp_json_out *json, const char *key, const char *text)
{
	mp_json_out_key(json, key);
	mp_json_out_cstr(json, text);
}

void cli_json_note(struct mp_json_out *json, const struct mindprof_note *note)
{
	static const char *const severities[] = {"info", "warning", "problem"};

	mp_json_out_object(json);
	cli_json_member(json, "severity", severities[note->severity]);
	cli_json_member(json, "code", note->code);
	cli_json_member(json, "text", note->text);
	cli_json_member(json, "path", note->path);
	mp_json_out_key(json, "byte_offset");
	if (note->byte_offset < 0)
		mp_json_out_null(json);
	else
		mp_json_out_i64(json, note->byte_offset);
	mp_json_out_key(json, "count");
	mp_json_out_u64(json, note->count);
	mp_json_out_object_end(json);
}

void cli_json_notes(struct mp_json_out *json, struct mindprof_trace *trace)
{
	struct mindprof_note note;
	size_t i;

	mp_json_out_key(json, "incomplete");
	mp_json_out_bool(json, mindprof_trace_is_incomplete(trace));
	mp_json_out_key(json, "notes");
	mp_json_out_array(json);
	for (i = 0; mindprof_trace_note(trace, i, &note); i++)
		cli_json_note(json, &note);
	mp_json_out_array_end(json);
}

int cli_print_json(struct mp_buf *buf, int code)
{
	cli_progress_end();
	if (buf->failed) {
		code = cli_no_memory();
	} else {
		fwrite(mp_buf_str(buf), 1, buf->len, stdout);
		putchar('\n');
	}
	mp_buf_release(buf);
	return code;
}
