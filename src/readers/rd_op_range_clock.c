/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock of op_range: counter ticks to nanoseconds by the device tool's files (PROF_x/host), exactly as
 * the original converts them; without those, 100 MHz is assumed (or rd_op_range_fit.c finds better).
 * Input: info.json, host_start.log, start_info, profiler_info. Document: docs/formats/framework.md.
 */
#include "base/mem.h"
#include "base/num.h"
#include "readers/rd_op_range.h"

#include "base/banned.h"

#define PROF_PREFIX "PROF_"

/* ---- conversion ---- */

/* (tick - base) * 1000 rounded once to double, then one division. */
static double divided(const struct op_range_clock *clock, int64_t ticks)
{
	int64_t product;

	if (!__builtin_mul_overflow(ticks, 1000, &product))
		return (double)product / clock->mhz;
	return (double)((__int128)ticks * 1000) / clock->mhz;
}

bool op_range_clock_ns(const struct op_range_clock *clock, uint64_t tick, int64_t *out_ns)
{
	int64_t ticks, sum;
	double d;

	if (tick > INT64_MAX || __builtin_sub_overflow((int64_t)tick, clock->base_tick, &ticks))
		return false;
	d = clock->divides ? divided(clock, ticks) : (double)ticks * clock->ns_per_tick;
	if (!(d >= -9.2e18 && d <= 9.2e18) || __builtin_add_overflow(clock->offset_ns, (int64_t)d, &sum) ||
	    sum < INT64_MIN + 2 || sum > INT64_MAX - 2)
		return false;
	*out_ns = op_range_add_rounded_(clock->offset_ns, d);
	return true;
}

void op_range_clock_ready(struct op_range_clock *clock)
{
	double ns_per_tick = clock->divides ? 1000 / clock->mhz : clock->ns_per_tick;
	bool usual = clock->base_tick >= 0 && (uint64_t)clock->base_tick < MP_FWK_UNIX_NS_MIN / 2 &&
		     clock->offset_ns > INT64_MIN / 4 && clock->offset_ns < INT64_MAX / 4 &&
		     ns_per_tick > 0 && ns_per_tick < 256;

	/* 2^52 ticks: the product with 1000 fits, so does a time of 2^60 ns, and Unix ns are none of them. */
	clock->n_near = usual ? 1ull << 52 : 0;
	clock->first_near = usual ? (uint64_t)MP_MAX(clock->base_tick - (1ll << 51), 0) : 0;
}

void op_range_clock_assume(struct op_range_clock *clock)
{
	*clock = (struct op_range_clock){.divides = true, .mhz = MP_FWK_DEFAULT_MHZ};
}

void op_range_clock_tell(const struct op_range_clock *clock, const char *path, struct mp_store *store)
{
	if (clock->n_fitted)
		mp_store_note(store, MP_INFO, "clock-calibrated", path, -1,
			      "counter runs at %.3f MHz, fitted to %zu operator executions (median deviation "
			      "%.0f ns)",
			      1000 / clock->ns_per_tick, clock->n_fitted, clock->deviation_ns);
	else
		mp_store_note(
			store, MP_WARNING, "clock-assumed", path, -1,
			"nothing tells the counter's frequency: 100 MHz assumed, durations may be wrong by "
			"a factor");
}

/* ---- the device tool's files ---- */

/* PROF_x/host while it is read. */
struct host {
	struct mp_dir dir; /* owned */
	struct mp_store *store;
	const char *lost; /* the file that does not give what the clock needs; NULL = none */
	mp_err *err;
};

/* An absent or unreadable file is *found false. Failure: memory. */
static mp_status open_file(const struct mp_dir *dir, const char *name, struct mp_file *file, bool *found,
			   mp_err *err)
{
	mp_status status = mp_file_open_at(dir, name, file, NULL);

	*found = status == MINDPROF_OK;
	return status == MINDPROF_E_NOMEM ? mp_err_nomem(err, 0) : MINDPROF_OK;
}

/* A JSON scalar as text; *found false when the file or the value is not there. */
static mp_status scalar_of_file(const struct mp_dir *dir, const char *name, const char *const *keys,
				size_t n_keys, struct mp_buf *out, bool *found, mp_err *err)
{
	struct mp_file file;

	MP_TRY(open_file(dir, name, &file, found, err));
	if (!*found)
		return MINDPROF_OK;
	*found = mp_json_scalar(file.data, file.size, keys, n_keys, out);
	mp_file_close(&file);
	return out->failed == MINDPROF_E_NOMEM ? mp_err_nomem(err, out->len) : MINDPROF_OK;
}

static mp_status number_of_file(const struct mp_dir *dir, const char *name, const char *key, int64_t *out,
				bool *found, mp_err *err)
{
	const char *const keys[] = {key};
	struct mp_buf text;
	mp_status status;

	mp_buf_init(&text, 4096);
	status = scalar_of_file(dir, name, keys, 1, &text, found, err);
	*found = !status && *found && mp_num_parse_i64(mp_buf_str(&text), text.len, out);
	mp_buf_release(&text);
	return status;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/*
 * "key: 123" or "key = 123" in a line of an INI text; sections do not matter. *open_at: where that line
 * begins when the file ends in it, so that digits may be missing.
 */
static bool number_of_ini(const struct mp_file *file, const char *key, int64_t *out, int64_t *open_at)
{
	const char *at = (const char *)file->data, *end = at + file->size;
	size_t key_len = strlen(key);

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline ? newline : end, *line = at, *p = at;

		while (p < line_end && is_blank(*p))
			p++;
		at = newline ? newline + 1 : end;
		if ((size_t)(line_end - p) <= key_len || memcmp(p, key, key_len) != 0)
			continue;
		for (p += key_len; p < line_end && is_blank(*p);)
			p++;
		if (p == line_end || (*p != ':' && *p != '='))
			continue;
		for (p++; p < line_end && is_blank(*p);)
			p++;
		while (line_end > p && is_blank(line_end[-1]))
			line_end--;
		if (!newline)
			*open_at = line - (const char *)file->data;
		return mp_num_parse_i64(p, (size_t)(line_end - p), out);
	}
	return false;
}

/* Frequency in MHz; 100 when absent or empty, with a note. */
static mp_status take_frequency(struct host *host, double *mhz)
{
	static const char *const keys[] = {"CPU", "0", "Frequency"};
	struct mp_buf text;
	bool found;
	mp_status status;

	mp_buf_init(&text, 4096);
	*mhz = MP_FWK_DEFAULT_MHZ;
	status = scalar_of_file(&host->dir, "info.json", keys, MP_COUNT(keys), &text, &found, host->err);
	if (!status && (!found || !text.len))
		mp_store_note(host->store, MP_PROBLEM, "clock-frequency", host->dir.path, -1,
			      "'info.json' gives no CPU frequency: 100 MHz assumed");
	else if (!status && (!mp_num_parse_double(mp_buf_str(&text), text.len, mhz) || !(*mhz > 0)))
		host->lost = "info.json";
	mp_buf_release(&text);
	return status;
}

/* Both numbers of host_start.log, positive. */
static mp_status take_host_start(struct host *host, int64_t *tick, int64_t *monotonic_ns)
{
	int64_t open_at = -1;
	struct mp_file file;
	bool found;

	MP_TRY(open_file(&host->dir, "host_start.log", &file, &found, host->err));
	if (!found) {
		host->lost = "host_start.log";
		return MINDPROF_OK;
	}
	if (!number_of_ini(&file, "cntvct", tick, &open_at) ||
	    !number_of_ini(&file, "clock_monotonic_raw", monotonic_ns, &open_at) || *tick <= 0 ||
	    *monotonic_ns <= 0)
		host->lost = "host_start.log";
	else if (open_at >= 0)
		mp_store_note(host->store, MP_WARNING, "truncated", file.path, open_at,
			      "file ends inside a line: the clock of host and device may be wrong");
	mp_file_close(&file);
	return MINDPROF_OK;
}

/* A positive number of start_info. */
static mp_status take_start_info(struct host *host, const char *key, int64_t *out)
{
	bool found;

	MP_TRY(number_of_file(&host->dir, "start_info", key, out, &found, host->err));
	if (!found || *out <= 0)
		host->lost = "start_info";
	return MINDPROF_OK;
}

static mp_status clock_of_27(struct op_range_clock *clock, struct host *host)
{
	int64_t monotonic_ns, begin_us, start_monotonic_ns, begin_ns;

	MP_TRY(take_host_start(host, &clock->base_tick, &monotonic_ns));
	if (!host->lost)
		MP_TRY(take_start_info(host, "collectionTimeBegin", &begin_us));
	if (!host->lost)
		MP_TRY(take_start_info(host, "clockMonotonicRaw", &start_monotonic_ns));
	if (!host->lost && (__builtin_mul_overflow(begin_us, 1000, &begin_ns) ||
			    __builtin_sub_overflow(begin_ns, start_monotonic_ns, &clock->offset_ns) ||
			    __builtin_add_overflow(clock->offset_ns, monotonic_ns, &clock->offset_ns)))
		host->lost = "start_info";
	return MINDPROF_OK;
}

static mp_status clock_of_23(struct op_range_clock *clock, struct host *host, const struct mp_dir *rank_dir)
{
	struct mp_ranked_file info;
	mp_status status = mp_ranked_file_find(rank_dir, MP_FWK_INFO_PREFIX, MP_FWK_INFO_SUFFIX, -1, &info);
	bool has_ticks = false, has_time = false;

	if (status == MINDPROF_E_NOMEM)
		return mp_err_nomem(host->err, 0);
	if (!status)
		MP_TRY(number_of_file(rank_dir, info.name, "system_cnt", &clock->base_tick, &has_ticks,
				      host->err));
	if (has_ticks)
		MP_TRY(number_of_file(rank_dir, info.name, "system_time", &clock->offset_ns, &has_time,
				      host->err));
	if (!has_time)
		host->lost = MP_FWK_INFO_PREFIX "*" MP_FWK_INFO_SUFFIX;
	return MINDPROF_OK;
}

/* A directory that is not there is *found false. */
static mp_status open_dir(const struct mp_dir *parent, const char *name, struct mp_dir *out, bool *found,
			  mp_err *err)
{
	mp_status status = mp_dir_open_at(parent, name, out, NULL);

	*found = status == MINDPROF_OK;
	return status == MINDPROF_E_NOMEM ? mp_err_nomem(err, 0) : MINDPROF_OK;
}

/* Of the first PROF_* directory that has one. */
static mp_status find_host(const struct mp_dir *rank_dir, struct mp_dir *host, bool *found, mp_err *err)
{
	struct mp_dir_entry *entries = NULL;
	mp_status status;
	size_t n = 0;

	*found = false;
	status = mp_dir_list(rank_dir, &entries, &n, NULL);
	if (status)
		return status == MINDPROF_E_NOMEM ? mp_err_nomem(err, 0) : MINDPROF_OK;
	for (size_t i = 0; i < n && !*found && !status; i++) {
		struct mp_dir prof;
		bool has_prof;

		if (!entries[i].is_dir || strncmp(entries[i].name, PROF_PREFIX, sizeof(PROF_PREFIX) - 1) != 0)
			continue;
		status = open_dir(rank_dir, entries[i].name, &prof, &has_prof, err);
		if (status || !has_prof)
			continue;
		status = open_dir(&prof, "host", host, found, err);
		mp_dir_close(&prof);
	}
	mp_free(entries);
	return status;
}

static mp_status note_lost(const struct host *host)
{
	char *path = mp_path_join(host->dir.path, host->lost);

	if (!path)
		return mp_err_nomem(host->err, strlen(host->dir.path));
	mp_store_note(host->store, MP_PROBLEM, "no-device-clock", path, -1,
		      "'%s' is missing or has no valid numbers: no common clock of host and device",
		      host->lost);
	mp_free(path);
	return MINDPROF_OK;
}

mp_status op_range_clock_from_device_tool(struct op_range_clock *clock, const struct mp_dir *rank_dir,
					  const struct mp_dir *prof, enum mp_fwk_form form,
					  struct mp_store *store, enum op_range_device_clock *result,
					  mp_err *err)
{
	struct host host = {.store = store, .err = err};
	mp_status status;
	bool found;

	*result = OP_RANGE_CLOCK_ABSENT;
	*clock = (struct op_range_clock){0};
	MP_TRY(prof ? open_dir(prof, "host", &host.dir, &found, err)
		    : find_host(rank_dir, &host.dir, &found, err));
	if (!found)
		return MINDPROF_OK;
	status = take_frequency(&host, &clock->mhz);
	if (!status && !host.lost && form == MP_FWK_27) {
		clock->divides = true;
		status = clock_of_27(clock, &host);
	} else if (!status && !host.lost) {
		clock->ns_per_tick = 1000.0 / clock->mhz;
		status = clock_of_23(clock, &host, rank_dir);
	}
	*result = host.lost ? OP_RANGE_CLOCK_LOST : OP_RANGE_CLOCK_FOUND;
	if (!status && host.lost)
		status = note_lost(&host);
	mp_dir_close(&host.dir);
	return status;
}
