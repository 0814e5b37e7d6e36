/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings of a report: sentences about what stands out, made from the tables (docs/cli/report.md).
 * Input: tables by name and column key; one that is missing or empty gives no finding.
 */
#include <stdarg.h>

#include "report.h"

#include "base/mem.h"

#include "base/banned.h"

#define NAME_BYTES 96

/* ------------------------------------------------------------------- values */

/* A table that may be absent: then every value is missing. */
static const struct mindprof_table *table_of(struct mindprof_trace *trace, const char *name, int *code)
{
	const struct mindprof_table *table = NULL;
	struct mindprof_error error = {0};

	if (mindprof_table_about(name) && mindprof_trace_table(trace, name, &table, &error))
		*code = cli_failed(&error, NULL);
	return table;
}

static size_t rows_of(const struct mindprof_table *table)
{
	return table ? mindprof_table_rows(table) : 0;
}

static bool get_int(const struct mindprof_table *table, size_t row, const char *key, int64_t *out)
{
	int column = mindprof_table_find_column(table, key);

	return column >= 0 && mindprof_table_int(table, row, (size_t)column, out);
}

static bool get_double(const struct mindprof_table *table, size_t row, const char *key, double *out)
{
	int column = mindprof_table_find_column(table, key);

	return column >= 0 && mindprof_table_double(table, row, (size_t)column, out);
}

static bool get_text(const struct mindprof_table *table, size_t row, const char *key, const char **text,
		     size_t *len)
{
	int column = mindprof_table_find_column(table, key);

	return column >= 0 && mindprof_table_text(table, row, (size_t)column, text, len);
}

/* The text without control characters and not too long, "" when missing. */
struct name {
	char text[NAME_BYTES];
};

static struct name get_name(const struct mindprof_table *table, size_t row, const char *key)
{
	struct name name = {""};
	const char *text;
	size_t len;

	if (get_text(table, row, key, &text, &len))
		cli_clean(name.text, sizeof(name.text), text, len);
	return name;
}

static bool text_is(const struct mindprof_table *table, size_t row, const char *key, const char *expected)
{
	const char *text;
	size_t len;

	return get_text(table, row, key, &text, &len) && len == strlen(expected) &&
	       !memcmp(text, expected, len);
}

/* ----------------------------------------------------------------- findings */

static void add(struct report_findings *out, const char *code, const char *fmt, ...) MP_PRINTF(3, 4);

static void add(struct report_findings *out, const char *code, const char *fmt, ...)
{
	struct report_finding *finding = &out->at[out->n];
	va_list args;

	if (out->n == REPORT_FINDINGS)
		return;
	finding->code = code;
	va_start(args, fmt);
	vsnprintf(finding->text, sizeof(finding->text), fmt, args);
	va_end(args);
	out->n++;
}

static int compare_durations(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Median duration of the steps of one process that did not end with the recording; 0 = no memory or none. */
static double median_step(const struct mindprof_table *steps, const char *process)
{
	size_t n = 0, i;
	int64_t *durations = mp_realloc_array(NULL, rows_of(steps), sizeof(*durations));
	double median = 0;

	if (!durations)
		return 0;
	for (i = 0; i < rows_of(steps); i++)
		if (text_is(steps, i, "process", process) && !text_is(steps, i, "mark", "open end") &&
		    get_int(steps, i, "dur_ns", &durations[n]))
			n++;
	qsort(durations, n, sizeof(*durations), compare_durations);
	if (n) {
		size_t lower = (n - 1) / 2, upper = n / 2;

		median = ((double)durations[lower] + (double)durations[upper]) / 2;
	}
	mp_free(durations);
	return median;
}

static void find_slow_steps(const struct mindprof_table *steps, struct report_findings *out)
{
	size_t n_slow = 0, slowest = 0, i;
	int64_t dur_ns, longest_ns = -1, number = 0;
	const char *process;
	size_t process_len;
	double median;

	for (i = 0; i < rows_of(steps); i++) {
		if (!text_is(steps, i, "mark", "slow") || !get_int(steps, i, "dur_ns", &dur_ns))
			continue;
		n_slow++;
		if (dur_ns > longest_ns) {
			longest_ns = dur_ns;
			slowest = i;
		}
	}
	if (!n_slow || !get_int(steps, slowest, "step", &number) ||
	    !get_text(steps, slowest, "process", &process, &process_len))
		return;
	median = median_step(steps, process);
	if (n_slow == 1)
		add(out, "slow-step", "Step %lld was slow: %s, %.1f times the median step (%s).",
		    (long long)number, cli_duration((double)longest_ns).text,
		    median > 0 ? (double)longest_ns / median : 0, cli_duration(median).text);
	else
		add(out, "slow-steps",
		    "%zu of %zu steps were slow; the slowest, step %lld, took %s, %.1f times the "
		    "median step (%s).",
		    n_slow, rows_of(steps), (long long)number, cli_duration((double)longest_ns).text,
		    median > 0 ? (double)longest_ns / median : 0, cli_duration(median).text);
}

/*
 * Only consumers that wait: a producer that waits is the usual, healthy state of a loader. The table
 * shows both.
 */
static void find_waiting(const struct mindprof_table *waiting, struct report_findings *out)
{
	size_t i;

	for (i = 0; i < rows_of(waiting); i++) {
		struct name queue = get_name(waiting, i, "queue"), verdict = get_name(waiting, i, "verdict");
		double share = 0;
		int64_t wait_ns = 0;

		/* Both sides of a queue have the same verdict: the side that waits tells it. */
		if (!text_is(waiting, i, "side", "pop") || !strstr(verdict.text, "consumer waits"))
			continue;
		get_double(waiting, i, "wait_share", &share);
		get_int(waiting, i, "wait_ns", &wait_ns);
		add(out, "waits-for-data", "Queue '%s': %s; waited %s, %.0f %% of the trace.", queue.text,
		    verdict.text, cli_duration((double)wait_ns).text, share * 100);
	}
}

static void find_memory_growth(const struct mindprof_table *memory, struct report_findings *out)
{
	size_t i;

	for (i = 0; i < rows_of(memory); i++) {
		struct name owner = get_name(memory, i, "owner"), hint = get_name(memory, i, "hint");
		int64_t live_bytes = 0;

		if (!*hint.text)
			continue;
		get_int(memory, i, "live_bytes", &live_bytes);
		add(out, "memory-grows", "Memory of '%s' %s; %s live at the end.", owner.text, hint.text,
		    cli_size((double)live_bytes).text);
	}
}

static void find_losses(struct mindprof_trace *trace, struct report_findings *out)
{
	struct mindprof_note note;
	size_t i, n_warnings = 0;
	char text[300];

	for (i = 0; mindprof_trace_note(trace, i, &note); i++) {
		n_warnings += note.severity == MINDPROF_WARNING;
		if (note.severity != MINDPROF_PROBLEM)
			continue;
		cli_clean(text, sizeof(text), note.text, strlen(note.text));
		add(out, note.code, "Incomplete: %s.", text);
	}
	if (n_warnings)
		add(out, "warnings", "%zu warning%s about lost or odd data, see 'What was lost'.", n_warnings,
		    n_warnings > 1 ? "s" : "");
}

int report_find(struct mindprof_trace *trace, struct report_findings *out)
{
	int code = CLI_DONE;

	out->n = 0;
	find_slow_steps(table_of(trace, "steps", &code), out);
	find_waiting(table_of(trace, "waiting", &code), out);
	find_memory_growth(table_of(trace, "memory", &code), out);
	find_losses(trace, out);
	return code;
}

/* -------------------------------------------------------------------- facts */

/* The text of a fact, "" when it is not there. */
static const char *fact(const struct mindprof_table *facts, const char *key)
{
	const char *text;
	size_t i, len;

	for (i = 0; i < rows_of(facts); i++)
		if (text_is(facts, i, "key", key) && get_text(facts, i, "value", &text, &len))
			return text;
	return "";
}

int report_read_facts(struct mindprof_trace *trace, struct report_facts *out)
{
	int code = CLI_DONE;
	const struct mindprof_table *facts = table_of(trace, "facts", &code);

	*out = (struct report_facts){
		.program = fact(facts, "program"),
		.ranks = fact(facts, "ranks"),
		.threads = fact(facts, "threads"),
		.span_ns = fact(facts, "span_ns"),
		.events = fact(facts, "events"),
		.begin = fact(facts, "begin"),
	};
	if (!*out->program)
		out->program = fact(facts, "content");
	return code;
}
