/* SPDX-License-Identifier: Apache-2.0 */
/* mindprof op: times of operators by input shapes, as the original's op_analyse gives them; docs/cli/op.md.
 */
#include "commands.h"

#include "base/mem.h"
#include "base/num.h"

#include "base/banned.h"

struct op_options {
	int json;
};

static const struct cli_option options[] = {
	{"json", 0, CLI_FLAG, 0, NULL, offsetof(struct op_options, json), NULL,
	 "Print the JSON object that MindSpore's Profiler.op_analyse returns."},
};

static const struct cli_example examples[] = {
	{"mindprof op host_42_20250705052123000_ascend_ms MatMul Conv2D",
	 "Two types of operators by input shapes."},
	{"mindprof op data/rank_0 --json | jq '.MatMul[0]'", "All types, for scripts."},
};

/* One operator, or what several of the same shapes took together. */
struct entry {
	const char *side;
	const char *name, *type, *shapes; /* borrowed from the tables */
	int64_t count, total_ns;
};

struct op {
	struct mindprof_trace *trace;
	MP_VEC(struct entry) rows; /* of both tables */
	int64_t rank;
};

/* ---- rows ---- */

static const char *text_at(const struct mindprof_table *table, size_t row, const char *key)
{
	int column = mindprof_table_find_column(table, key);
	const char *text = NULL;
	size_t len;

	return column >= 0 && mindprof_table_text(table, row, (size_t)column, &text, &len) ? text : "";
}

static int64_t int_at(const struct mindprof_table *table, size_t row, const char *key)
{
	int column = mindprof_table_find_column(table, key);
	int64_t value = 0;

	return column >= 0 && mindprof_table_int(table, row, (size_t)column, &value) ? value : 0;
}

static int take_table(struct op *op, const char *name, const char *side)
{
	const struct mindprof_table *table;
	struct mindprof_error error = {0};
	size_t i;

	if (mindprof_trace_table(op->trace, name, &table, &error))
		return cli_failed(&error, NULL);
	for (i = 0; i < mindprof_table_rows(table); i++) {
		struct entry entry = {
			.side = side,
			.name = text_at(table, i, "name"),
			.type = text_at(table, i, "type"),
			.shapes = text_at(table, i, "input_shapes"),
			.count = int_at(table, i, "count"),
			.total_ns = int_at(table, i, "total_ns"),
		};

		if (!mp_vec_push(&op->rows, entry))
			return cli_no_memory();
	}
	return CLI_DONE;
}

static int64_t rank_of(struct mindprof_trace *trace)
{
	const struct mindprof_table *facts;
	int64_t rank = 0;
	size_t i;

	if (mindprof_trace_table(trace, "facts", &facts, NULL))
		return 0;
	for (i = 0; i < mindprof_table_rows(facts); i++)
		if (!strcmp(text_at(facts, i, "key"), "ranks")) {
			const char *text = text_at(facts, i, "value");

			mp_num_parse_i64(text, strcspn(text, ","), &rank);
		}
	return rank;
}

/* ---- names ---- */

static bool is_called(const struct entry *entry, const char *name)
{
	const char *slash = strrchr(entry->name, '/');

	return !strcmp(entry->type, name) || !strcmp(entry->name, name) ||
	       (slash && !strcmp(slash + 1, name));
}

/* Entries of one name, those of equal shapes as one, in the order of their rows. */
typedef MP_VEC(struct entry) entry_list;

static bool collect(const struct op *op, const char *name, entry_list *out)
{
	size_t i, k;

	out->len = 0;
	for (i = 0; i < op->rows.len; i++) {
		const struct entry *row = &op->rows.at[i];

		if (!is_called(row, name))
			continue;
		for (k = 0; k < out->len; k++)
			if (!strcmp(out->at[k].shapes, row->shapes) && !strcmp(out->at[k].side, row->side))
				break;
		if (k < out->len) {
			out->at[k].count += row->count;
			if (__builtin_add_overflow(out->at[k].total_ns, row->total_ns, &out->at[k].total_ns))
				out->at[k].total_ns = INT64_MAX;
		} else if (!mp_vec_push(out, *row)) {
			return false;
		}
	}
	return true;
}

/* Some type that is spelled nearly so; NULL = none. */
static const char *like(const struct op *op, const char *name)
{
	size_t i;

	for (i = 0; i < op->rows.len; i++)
		if (*op->rows.at[i].type &&
		    (strcasestr(op->rows.at[i].type, name) || strcasestr(name, op->rows.at[i].type)))
			return op->rows.at[i].type;
	return NULL;
}

static int not_found(const struct op *op, const char *name)
{
	const char *other = like(op, name);

	if (!op->rows.len)
		cli_message("'%s' holds no operators", mindprof_trace_path(op->trace));
	else if (other)
		cli_message("no operator is called '%s'; there is '%s'", name, other);
	else
		cli_message("no operator is called '%s'; without a name all are listed", name);
	return CLI_FAILED;
}

/* The types of all rows, each once; names where there is no type. */
static bool all_names(const struct op *op, struct cli_arguments *names)
{
	MP_VEC(char *) list = {0};
	size_t i, k;

	for (i = 0; i < op->rows.len; i++) {
		const char *name = *op->rows.at[i].type ? op->rows.at[i].type : op->rows.at[i].name;

		for (k = 0; k < list.len && strcmp(list.at[k], name) != 0;)
			k++;
		if (k == list.len && !mp_vec_push(&list, (char *)(uintptr_t)name))
			return false;
	}
	names->at = list.at;
	names->n = list.len;
	return true;
}

/* ---- output ---- */

/* "8,64;10" as the original writes shapes: "input_1:(8, 64),input_2:(10),". */
static void add_shapes(struct mp_buf *out, const char *shapes)
{
	const char *at = shapes;
	int input;

	for (input = 1; *at; input++) {
		size_t len = strcspn(at, ";"), i;

		mp_buf_printf(out, "input_%d:(", input);
		for (i = 0; i < len; i++) {
			mp_buf_add_char(out, at[i]);
			if (at[i] == ',')
				mp_buf_add_char(out, ' ');
		}
		mp_buf_add_str(out, "),");
		at += len + (at[len] == ';');
	}
}

/* As the original: microseconds with at most 4 decimals. */
static double rounded_us(int64_t ns, int64_t divisor)
{
	__int128 tenths = (__int128)ns * 10;

	return divisor > 0 ? (double)((tenths + divisor / 2) / divisor) / 10000 : 0;
}

static void print_entry_json(struct mp_json_out *json, const struct entry *entry)
{
	struct mp_buf shapes;

	mp_buf_init(&shapes, SIZE_MAX);
	add_shapes(&shapes, entry->shapes);
	mp_json_out_object(json);
	cli_json_member(json, "op_side", entry->side);
	cli_json_member(json, "input_shape", mp_buf_str(&shapes));
	mp_json_out_key(json, "op_occurrences");
	mp_json_out_i64(json, entry->count);
	mp_json_out_key(json, "op_total_time(us)");
	mp_json_out_double(json, rounded_us(entry->total_ns, 1));
	mp_json_out_key(json, "op_avg_time(us)");
	mp_json_out_double(json, rounded_us(entry->total_ns, entry->count));
	mp_json_out_object_end(json);
	mp_buf_release(&shapes);
}

/* Width for printf so that a text with a µ takes 10 columns. */
static int width_of(const char *text)
{
	return strchr(text, (char)0xc2) ? 11 : 10;
}

static void print_entry(const struct entry *entry)
{
	double total_ns = (double)entry->total_ns;
	struct cli_amount total = cli_duration(total_ns);
	struct cli_amount mean = cli_duration(entry->count ? total_ns / (double)entry->count : 0);
	char shapes[256];

	cli_clean(shapes, sizeof(shapes), entry->shapes, strlen(entry->shapes));
	printf("  %-4s %8lld × %*s = %*s  %s\n", entry->side, (long long)entry->count, width_of(mean.text),
	       mean.text, width_of(total.text), total.text, *shapes ? shapes : "(shapes not known)");
}

static void print_entries(const char *name, const entry_list *entries, struct mp_json_out *json)
{
	char clean[256];
	size_t i;

	if (json) {
		mp_json_out_key(json, name);
		mp_json_out_array(json);
	} else {
		cli_clean(clean, sizeof(clean), name, strlen(name));
		printf("%s\n", clean);
	}
	for (i = 0; i < entries->len; i++)
		if (json)
			print_entry_json(json, &entries->at[i]);
		else
			print_entry(&entries->at[i]);
	if (json)
		mp_json_out_array_end(json);
}

static int print_names(const struct op *op, const struct cli_arguments *names, struct mp_json_out *json)
{
	entry_list entries = {0};
	int code = CLI_DONE;
	size_t i;

	for (i = 0; i < names->n; i++) {
		if (!collect(op, names->at[i], &entries))
			code = cli_no_memory();
		else if (!entries.len)
			code = cli_worse(code, not_found(op, names->at[i]));
		else
			print_entries(names->at[i], &entries, json);
	}
	mp_vec_release(&entries);
	return code;
}

static int show(struct op *op, struct cli_arguments *names, bool as_json)
{
	bool all = !names->n;
	struct mp_json_out json;
	struct mp_buf buf;
	int code;

	if (all && !all_names(op, names))
		return cli_no_memory();
	if (all && !names->n)
		return not_found(op, "");
	mp_buf_init(&buf, SIZE_MAX);
	mp_json_out_init(&json, &buf, 0);
	mp_json_out_object(&json);
	code = print_names(op, names, as_json ? &json : NULL);
	mp_json_out_key(&json, "device_id");
	mp_json_out_i64(&json, op->rank);
	mp_json_out_object_end(&json);
	if (all)
		mp_free(names->at);
	if (as_json)
		return cli_print_json(&buf, code);
	mp_buf_release(&buf);
	return code;
}

static int show_run(const char *path, struct cli_arguments *names, bool as_json)
{
	struct op op = {.trace = cli_open(path, 0)};
	int code;

	if (!op.trace)
		return CLI_FAILED;
	code = take_table(&op, "operator_shapes", "cpu");
	if (code == CLI_DONE)
		code = take_table(&op, "kernel_shapes", "npu");
	op.rank = rank_of(op.trace);
	if (code == CLI_DONE)
		code = show(&op, names, as_json);
	if (code == CLI_DONE)
		code = cli_list_problems(op.trace);
	mp_vec_release(&op.rows);
	mindprof_trace_free(op.trace);
	return code;
}

static int run(int argc, char **argv)
{
	struct op_options target = {0};
	struct cli_arguments arguments, dir, names;
	struct cli_runs runs;
	int code = cli_parse(&cmd_op, argc, argv, &target, &arguments);

	if (code >= 0)
		return code;
	dir = (struct cli_arguments){.at = arguments.at, .n = 1};
	names = (struct cli_arguments){.at = arguments.at + 1, .n = arguments.n - 1};
	cli_find_runs(&dir, &runs);
	code = runs.code;
	if (runs.paths.len > 1) {
		cli_message("'%s' holds %zu recordings; name one of them, such as '%s'", arguments.at[0],
			    (size_t)runs.paths.len, runs.paths.at[0]);
		code = CLI_FAILED;
	} else if (runs.paths.len) {
		code = show_run(runs.paths.at[0], &names, target.json);
	}
	cli_runs_release(&runs);
	return code;
}

const struct cli_command cmd_op = {
	.name = "op",
	.text = "times of operators by their input shapes",
	.arguments = "DIR [NAME...]",
	.complete = CLI_COMPLETE_FILE,
	.min_arguments = 1,
	.max_arguments = UINT8_MAX,
	.description =
		"Prints for each NAME, an operator type such as MatMul or the name of one operator, how often it "
		"ran with which input shapes, the mean and the total time. Without a NAME all types are "
		"printed. DIR is one recording.",
	.options = options,
	.n_options = MP_COUNT(options),
	.examples = examples,
	.n_examples = MP_COUNT(examples),
	.run = run,
};
