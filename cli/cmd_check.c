/* SPDX-License-Identifier: Apache-2.0 */
/* mindprof check: strict validation of trace JSON and CSV files; docs/cli/check.md. */
#include <sys/stat.h>

#include "commands.h"

#include "base/file.h"
#include "base/mem.h"

#include "base/banned.h"

struct check_options {
	uint64_t max;
	int json;
};

static const struct cli_option options[] = {
	{"max", 'm', CLI_COUNT, 0, "N", offsetof(struct check_options, max), NULL,
	 "Show at most N faults of each file; the default is 100. All are counted."},
	{"json", 0, CLI_FLAG, 0, NULL, offsetof(struct check_options, json), NULL, "Print JSON."},
};

static const struct cli_example examples[] = {
	{"mindprof check trace.json", "Is it valid, and will it open without loss?"},
	{"mindprof check data", "All traces and tables that an analysis wrote below data."},
};

#define OUTPUT_DIR "ASCEND_PROFILER_OUTPUT"

struct checker {
	const struct check_options *target;
	struct mp_json_out *json; /* NULL = text */
	const char *path;         /* of the file being checked */
	bool below;               /* found in a directory: JSON that is no trace is left out */
	bool no_trace;            /* the file is such a one */
	size_t n_files, n_bad;
	int code;
};

/* -------------------------------------------------------------------- file */

static void show_fault(void *user, const struct mindprof_fault *fault)
{
	struct checker *checker = user;
	struct mp_json_out *json = checker->json;

	if (checker->below && !strcmp(fault->code, "not-a-trace")) {
		checker->no_trace = true;
		return;
	}
	if (!json) {
		printf("%s:%llu:%llu: %s [%s, byte %lld]\n", checker->path, (unsigned long long)fault->line,
		       (unsigned long long)fault->column, fault->text, fault->code,
		       (long long)fault->byte_offset);
		return;
	}
	mp_json_out_object(json);
	cli_json_member(json, "code", fault->code);
	cli_json_member(json, "text", fault->text);
	mp_json_out_key(json, "line");
	mp_json_out_u64(json, fault->line);
	mp_json_out_key(json, "column");
	mp_json_out_u64(json, fault->column);
	mp_json_out_key(json, "byte");
	mp_json_out_i64(json, fault->byte_offset);
	mp_json_out_object_end(json);
}

static void check_file(struct checker *checker, const char *path)
{
	struct mindprof_error error = {0};
	struct mp_json_out *json = checker->json;
	enum mindprof_status status;
	uint64_t n_faults = 0;

	checker->path = path;
	checker->no_trace = false;
	checker->n_files++;
	if (json) {
		mp_json_out_object(json);
		cli_json_member(json, "path", path);
		mp_json_out_key(json, "faults");
		mp_json_out_array(json);
	}
	status = mindprof_check_file(path, (size_t)checker->target->max, show_fault, checker, &n_faults,
				     &error);
	n_faults -= checker->no_trace;
	if (json) {
		mp_json_out_array_end(json);
		mp_json_out_key(json, "left_out");
		mp_json_out_bool(json, checker->no_trace);
		mp_json_out_key(json, "n_faults");
		mp_json_out_u64(json, n_faults);
		cli_json_member(json, "status", mindprof_status_text(status));
		mp_json_out_object_end(json);
	} else if (!status && n_faults) {
		printf("%s: %llu fault%s\n", path, (unsigned long long)n_faults, n_faults > 1 ? "s" : "");
	} else if (!status) {
		printf("%s: %s\n", path, checker->no_trace ? "no trace, not checked further" : "no fault");
	}
	if (status)
		checker->code = cli_failed(&error, NULL);
	else if (n_faults)
		checker->code = CLI_FAILED;
	checker->n_bad += status || n_faults;
}

/* --------------------------------------------------------------- directory */

static bool is_checkable(const struct mp_dir_entry *entry)
{
	static const char *const suffixes[] = {".json", ".json.gz", ".json.zst",
					       ".csv",  ".csv.gz",  ".csv.zst"};
	size_t len = strlen(entry->name), i;

	for (i = 0; entry->is_file && i < MP_COUNT(suffixes); i++) {
		size_t suffix_len = strlen(suffixes[i]);

		if (len > suffix_len && entry->name[0] != '.' &&
		    !strcmp(entry->name + len - suffix_len, suffixes[i]))
			return true;
	}
	return false;
}

/* depth 0: this directory's files; 1: also those of its output directory; 2: also of one level below. */
static void check_dir(struct checker *checker, const char *path, unsigned depth)
{
	struct mindprof_error error = {0};
	struct mp_dir_entry *entries = NULL;
	struct mp_dir dir;
	size_t n = 0, i;
	char *below;

	if (mp_dir_open(path, &dir, &error)) {
		checker->code = cli_failed(&error, NULL);
		return;
	}
	if (mp_dir_list(&dir, &entries, &n, &error))
		checker->code = cli_failed(&error, NULL);
	mp_dir_close(&dir);
	for (i = 0; i < n; i++) {
		bool is_output = entries[i].is_dir && !strcmp(entries[i].name, OUTPUT_DIR);
		bool is_file = is_checkable(&entries[i]);

		if (!is_file && !(is_output && depth >= 1) && !(entries[i].is_dir && depth >= 2))
			continue;
		below = mp_path_join(path, entries[i].name);
		if (!below)
			checker->code = cli_no_memory();
		else if (is_file)
			check_file(checker, below);
		else
			check_dir(checker, below, is_output ? 0 : depth - 1);
		mp_free(below);
	}
	mp_free(entries);
}

static void check_argument(struct checker *checker, const char *path)
{
	struct stat info;
	size_t before = checker->n_files;

	checker->below = false;
	if (!stat(path, &info) && S_ISDIR(info.st_mode)) {
		checker->below = true;
		check_dir(checker, path, 2);
		if (checker->n_files == before) {
			cli_message("nothing to check in '%s': no .json or .csv file there or in " OUTPUT_DIR,
				    path);
			checker->code = CLI_FAILED;
		}
		return;
	}
	check_file(checker, path);
}

/* --------------------------------------------------------------------- all */

static int run(int argc, char **argv)
{
	struct check_options target = {.max = 100};
	struct checker checker = {.target = &target};
	struct cli_arguments arguments;
	struct mp_json_out json;
	struct mp_buf buf;
	int code = cli_parse(&cmd_check, argc, argv, &target, &arguments);
	size_t i;

	if (code >= 0)
		return code;
	mp_buf_init(&buf, SIZE_MAX);
	mp_json_out_init(&json, &buf, 0);
	if (target.json)
		checker.json = &json;
	mp_json_out_object(&json);
	mp_json_out_key(&json, "files");
	mp_json_out_array(&json);
	for (i = 0; i < arguments.n; i++)
		check_argument(&checker, arguments.at[i]);
	mp_json_out_array_end(&json);
	mp_json_out_key(&json, "n_files");
	mp_json_out_u64(&json, checker.n_files);
	mp_json_out_key(&json, "n_bad");
	mp_json_out_u64(&json, checker.n_bad);
	mp_json_out_object_end(&json);
	if (target.json)
		return cli_print_json(&buf, checker.code);
	mp_buf_release(&buf);
	return checker.code;
}

const struct cli_command cmd_check = {
	.name = "check",
	.text = "validate trace JSON and CSV files strictly",
	.arguments = "FILE|DIR...",
	.complete = CLI_COMPLETE_FILE,
	.min_arguments = 1,
	.max_arguments = UINT8_MAX,
	.description = "Checks Chrome trace JSON and CSV files, its own and other tools', also packed with "
		       "gzip or zstd: "
		       "syntax, numbers, UTF-8, duplicate keys, events without what they need, ranges that "
		       "overlap in part, "
		       "flows without an end, rows of unequal length. Each fault is printed with line, "
		       "column and byte.\n\n"
		       "Of a directory, its .json and .csv files and those in ASCEND_PROFILER_OUTPUT are "
		       "checked, there and "
		       "one level below.",
	.exit_text = "Code 1 also means that faults were found.",
	.options = options,
	.n_options = MP_COUNT(options),
	.examples = examples,
	.n_examples = MP_COUNT(examples),
	.run = run,
};
