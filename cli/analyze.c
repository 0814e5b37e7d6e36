/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Analyses recordings side by side. What one has to say is kept as text and printed when those before it
 * are done, so that the order never depends on the number of threads.
 */
#include "analyze.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "commands.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/pool.h"

#include "base/banned.h"

#define RUN_BYTES (16u << 20) /* what a run needs at least */

struct run {
	const char *path;
	char *name;    /* owned; its last component, NULL = not needed */
	bool left_out; /* explained on stderr already */
	bool done;
	int was_finished;
	int code;
	char *out_text, *err_text; /* owned; for the two streams */
	size_t out_len, err_len;
};

struct analyzer {
	const struct analyze_options *target;
	struct run *runs;
	size_t n_runs, n_done, n_printed;
	uint32_t jobs_per_run;
	bool shows_runs; /* the progress bar counts runs */
	struct mp_json_out *json;
	/* Of the files of the runs being analysed. */
	uint64_t max_bytes, bytes;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

/* ---- memory */

/* "MemAvailable:  123 kB" of the kernel; 4 GiB when it does not say. */
static uint64_t free_bytes(void)
{
	unsigned long long kib = 4u << 20;
	char line[128];
	FILE *file = fopen("/proc/meminfo", "re");

	while (file && fgets(line, sizeof(line), file)) {
		const char *at = strchr(line, ':');
		uint64_t value;

		if (strncmp(line, "MemAvailable:", 13) != 0)
			continue;
		at += 1 + strspn(at + 1, " ");
		if (mp_num_parse_u64(at, strspn(at, "0123456789"), &value))
			kib = value;
	}
	if (file)
		fclose(file);
	return (uint64_t)kib << 10;
}

static void take_bytes(struct analyzer *all, uint64_t bytes)
{
	pthread_mutex_lock(&all->lock);
	while (all->bytes && (bytes > all->max_bytes || all->bytes > all->max_bytes - bytes))
		pthread_cond_wait(&all->changed, &all->lock);
	all->bytes += bytes;
	pthread_mutex_unlock(&all->lock);
}

static void give_bytes(struct analyzer *all, uint64_t bytes)
{
	pthread_mutex_lock(&all->lock);
	all->bytes -= bytes;
	pthread_cond_broadcast(&all->changed);
	pthread_mutex_unlock(&all->lock);
}

/* ---- one run */

/* What the analysis tells, as lines or as the members of a JSON object. */
struct teller {
	struct run *run;
	FILE *out, *err;
	struct mp_json_out *files, *notes, *removed; /* NULL = lines */
	bool dry_run;
	uint64_t n_removed, bytes_removed;
	bool incomplete;
	enum mindprof_status status;
};

static void tell_file(void *user, const char *path)
{
	struct teller *teller = user;

	if (teller->files)
		mp_json_out_cstr(teller->files, path);
	else
		fprintf(teller->out, "%s\n", path);
}

static void tell_note(void *user, const struct mindprof_note *note)
{
	struct teller *teller = user;

	if (teller->notes)
		cli_json_note(teller->notes, note);
	if (note->severity != MINDPROF_PROBLEM)
		return;
	if (!teller->incomplete)
		fprintf(teller->err, "mindprof: '%s' is incomplete:\n", teller->run->path);
	teller->incomplete = true;
	fputs("  ", teller->err);
	cli_print_note(teller->err, note);
}

/* The paths are the result of a dry run; else the sum is enough for people. */
static void tell_removed(void *user, const char *path, uint64_t bytes)
{
	struct teller *teller = user;

	teller->n_removed++;
	teller->bytes_removed += bytes;
	if (teller->removed) {
		mp_json_out_object(teller->removed);
		cli_json_member(teller->removed, "path", path);
		mp_json_out_key(teller->removed, "bytes");
		mp_json_out_u64(teller->removed, bytes);
		mp_json_out_object_end(teller->removed);
	} else if (teller->dry_run) {
		fprintf(teller->out, "%s\n", path);
	}
}

static void sum_removed(const struct teller *teller)
{
	if (teller->n_removed && !teller->removed)
		fprintf(teller->err, "mindprof: %s: %llu files and folders, %s %s\n", teller->run->path,
			(unsigned long long)teller->n_removed, cli_size((double)teller->bytes_removed).text,
			teller->dry_run ? "would be removed" : "removed");
}

static const char *hint_of(enum mindprof_status status, const struct analyze_options *target)
{
	if (status == MINDPROF_E_EXISTS)
		return target->out ? "; use another --out, or --overwrite"
				   : "; use --out OUT, or --overwrite";
	if (status == MINDPROF_E_IO && !target->out)
		return "; use --out OUT to write elsewhere";
	return "";
}

static int tell_failure(FILE *err, const struct mindprof_error *error, const char *hint)
{
	char text[2048];

	fprintf(err, "mindprof: %s%s\n", mindprof_error_text(error, text, sizeof(text)), hint);
	return CLI_FAILED;
}

static int analyse(struct mindprof_trace *trace, const struct analyze_options *target, struct teller *teller)
{
	struct mindprof_analyse_options options = {
		.size = sizeof(options),
		.out_path = target->out,
		.flavour = (enum mindprof_flavour)target->flavour,
		.overwrite = target->overwrite,
		.pretty = target->pretty,
		.wrote = tell_file,
		.wrote_user = teller,
		.as_original = target->as_original,
		.step_list = target->steps,
		.n_step_list = target->n_steps,
		.noted = tell_note,
		.again = target->again,
		.export_types = target->export_types,
		.simplify = target->simplify,
		.removed = tell_removed,
		.dry_run = target->dry_run,
		.was_finished = &teller->run->was_finished,
	};
	struct mindprof_error error = {0};

	teller->dry_run = target->dry_run;
	teller->status = mindprof_trace_analyse(trace, &options, &error);
	sum_removed(teller);
	if (teller->status)
		return tell_failure(teller->err, &error, hint_of(teller->status, target));
	return teller->incomplete ? CLI_INCOMPLETE : CLI_DONE;
}

/* {"path", "files", "status", "finished_before", "incomplete", "notes", "removed"} */
static int analyse_as_json(struct mindprof_trace *trace, const struct analyze_options *target,
			   struct teller *teller)
{
	struct mp_json_out json, notes, removed;
	struct mp_buf buf, notes_buf, removed_buf;
	int code;

	mp_buf_init(&buf, SIZE_MAX);
	mp_buf_init(&notes_buf, SIZE_MAX);
	mp_buf_init(&removed_buf, SIZE_MAX);
	mp_json_out_init(&json, &buf, 0);
	mp_json_out_init(&notes, &notes_buf, 0);
	mp_json_out_init(&removed, &removed_buf, 0);
	teller->files = &json;
	teller->notes = &notes;
	teller->removed = &removed;
	mp_json_out_object(&json);
	cli_json_member(&json, "path", mindprof_trace_path(trace));
	mp_json_out_key(&json, "files");
	mp_json_out_array(&json);
	mp_json_out_array(&notes);
	mp_json_out_array(&removed);
	code = analyse(trace, target, teller);
	mp_json_out_array_end(&removed);
	mp_json_out_array_end(&notes);
	mp_json_out_array_end(&json);
	cli_json_member(&json, "status", teller->status ? mindprof_status_text(teller->status) : "success");
	if (!teller->status) {
		mp_json_out_key(&json, "finished_before");
		mp_json_out_bool(&json, teller->run->was_finished);
		mp_json_out_key(&json, "incomplete");
		mp_json_out_bool(&json, teller->incomplete);
		mp_json_out_key(&json, "notes");
		mp_json_out_raw(&json, notes_buf.data, notes_buf.len);
	}
	if (target->simplify) {
		mp_json_out_key(&json, "removed");
		mp_json_out_raw(&json, removed_buf.data, removed_buf.len);
	}
	mp_json_out_object_end(&json);
	if (buf.failed || notes_buf.failed || removed_buf.failed)
		code = cli_no_memory();
	else
		fwrite(mp_buf_str(&buf), 1, buf.len, teller->out);
	mp_buf_release(&buf);
	mp_buf_release(&notes_buf);
	mp_buf_release(&removed_buf);
	return code;
}

static int analyse_opened(struct analyzer *all, struct mindprof_trace *trace, struct teller *teller)
{
	uint64_t bytes = RUN_BYTES + mindprof_trace_input_bytes(trace);
	int code;

	take_bytes(all, bytes);
	code = all->target->json ? analyse_as_json(trace, all->target, teller)
				 : analyse(trace, all->target, teller);
	give_bytes(all, bytes);
	return code;
}

static int analyse_run(struct analyzer *all, struct run *run, FILE *out, FILE *err)
{
	struct mindprof_open_options options = {.size = sizeof(options), .jobs = all->jobs_per_run};
	struct teller teller = {.run = run, .out = out, .err = err};
	struct mindprof_trace *trace = NULL;
	struct mindprof_error error = {0};
	int code;

	if (!all->shows_runs && isatty(STDERR_FILENO))
		options.progress = cli_progress;
	if (mindprof_trace_open(run->path, &options, &trace, &error))
		return tell_failure(err, &error, "");
	code = analyse_opened(all, trace, &teller);
	mindprof_trace_free(trace);
	return code;
}

/* ---- all of them */

static void print_run(struct analyzer *all, struct run *run)
{
	cli_progress_end();
	if (run->out_text && all->target->json && run->out_len)
		mp_json_out_raw(all->json, run->out_text, run->out_len);
	else if (run->out_text)
		fwrite(run->out_text, 1, run->out_len, stdout);
	if (run->err_text)
		fwrite(run->err_text, 1, run->err_len, stderr);
	free(run->out_text);
	free(run->err_text);
	run->out_text = run->err_text = NULL;
}

static void end_run(struct analyzer *all, struct run *run, int code)
{
	pthread_mutex_lock(&all->lock);
	run->code = code;
	run->done = true;
	all->n_done++;
	for (; all->n_printed < all->n_runs && all->runs[all->n_printed].done; all->n_printed++)
		print_run(all, &all->runs[all->n_printed]);
	if (all->shows_runs && isatty(STDERR_FILENO) && all->n_done < all->n_runs)
		cli_progress(NULL, "recordings", all->n_done, all->n_runs);
	pthread_mutex_unlock(&all->lock);
}

/* A mp_pool_fn; what happens to one run does not keep the others from being done. */
static mp_status work(void *user, size_t index, unsigned worker MP_UNUSED, mp_err *err MP_UNUSED)
{
	struct analyzer *all = user;
	struct run *run = &all->runs[index];
	FILE *out = open_memstream(&run->out_text, &run->out_len);
	FILE *err_out = open_memstream(&run->err_text, &run->err_len);
	int code = CLI_FAILED;

	if (!out || !err_out)
		cli_no_memory();
	else if (!run->left_out)
		code = analyse_run(all, run, out, err_out);
	if (out && fclose(out))
		code = cli_no_memory();
	if (err_out && fclose(err_out))
		code = cli_no_memory();
	end_run(all, run, code);
	return MINDPROF_OK;
}

/* With --out two runs of one name would replace each other's files: the later one is left out. */
static bool is_name_taken(const struct analyzer *all, size_t index)
{
	size_t i;

	for (i = 0; i < index; i++)
		if (!all->runs[i].left_out && all->runs[i].name &&
		    !strcmp(all->runs[i].name, all->runs[index].name))
			return true;
	return false;
}

static void list_run(struct analyzer *all, size_t index, const char *path)
{
	struct run *run = &all->runs[index];
	char real[PATH_MAX];

	run->path = path;
	if (!all->target->out || !realpath(path, real))
		return;
	run->name = mp_strdup(strrchr(real, '/') + 1);
	run->left_out = !run->name || is_name_taken(all, index);
	if (!run->name)
		cli_no_memory();
	else if (run->left_out)
		cli_message("'%s' is left out: another recording called '%s' was written to '%s'; analyse it "
			    "with another --out",
			    path, run->name, all->target->out);
}

static int sum_up(const struct analyzer *all, int code)
{
	size_t i, n_finished = 0;

	for (i = 0; i < all->n_runs; i++) {
		code = cli_worse(code, all->runs[i].code);
		n_finished += all->runs[i].was_finished != 0;
	}
	if (n_finished)
		cli_message("%zu of %zu recordings had been analysed before; --again does it once more",
			    n_finished, all->n_runs);
	return code;
}

static int analyse_all(struct analyzer *all, const struct cli_runs *runs)
{
	unsigned jobs = (unsigned)MP_MIN(all->target->jobs, 1024u);
	struct mp_pool *pool;
	int code = runs->code;

	if (!runs->paths.len)
		return code;
	if (mp_pool_new(jobs, &pool, NULL))
		return cli_no_memory();
	jobs = mp_pool_threads(pool);
	mp_pool_free(pool);
	all->jobs_per_run = (uint32_t)MP_MAX(1, jobs / runs->paths.len);
	all->shows_runs = runs->paths.len > 1;
	if (mp_pool_new((unsigned)MP_MIN(jobs, runs->paths.len), &pool, NULL))
		return cli_no_memory();
	mp_pool_for(pool, runs->paths.len, work, all, NULL);
	mp_pool_free(pool);
	return sum_up(all, code);
}

int analyze_runs(const struct analyze_options *target, const struct cli_arguments *arguments)
{
	struct analyzer all = {
		.target = target, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	struct cli_runs runs;
	struct mp_json_out json;
	struct mp_buf buf;
	int code;
	size_t i;

	cli_find_runs(arguments, &runs);
	cli_json_runs_begin(&json, &buf);
	all.json = &json;
	all.max_bytes =
		target->memory_mib ? MP_MIN(target->memory_mib, UINT64_MAX >> 20) << 20 : free_bytes() / 2;
	all.n_runs = runs.paths.len;
	all.runs = mp_calloc(runs.paths.len + 1, sizeof(*all.runs));
	for (i = 0; all.runs && i < runs.paths.len; i++)
		list_run(&all, i, runs.paths.at[i]);
	code = all.runs ? analyse_all(&all, &runs) : cli_no_memory();
	for (i = 0; all.runs && i < all.n_runs; i++)
		mp_free(all.runs[i].name);
	mp_free(all.runs);
	cli_runs_release(&runs);
	return cli_json_runs_end(&json, &buf, target->json, code);
}
