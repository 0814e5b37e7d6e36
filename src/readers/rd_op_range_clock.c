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

void op_range_clock_assume(struct op_range_clock *clock, const char *path, struct mp_store *store)
{
	*clock = (struct op_range_clock){.divides = true, .mhz = MP_FWK_DEFAULT_MHZ};
	mp_store_note(
		store, MP_WARNING, "clock-assumed", path, -1,
		"nothing tells the counter's frequency: 100 MHz assumed, durations may be wrong by a factor");
}

/* ---- the device tool's files ---- */

/* What reads the files of a directory; no_memory sticks. */
struct reading {
	const struct mp_dir *dir;
	bool no_memory;
};

static bool open_file(struct reading *reading, const char *name, struct mp_file *out)
{
	mp_status status = mp_file_open_at(reading->dir, name, out, NULL);

	reading->no_memory |= status == MINDPROF_E_NOMEM;
	return status == MINDPROF_OK;
}

/* A JSON scalar as text; false when the file or the value is not there. */
static bool scalar_of_file(struct reading *reading, const char *name, const char *const *keys, size_t n_keys,
			   struct mp_buf *out)
{
	struct mp_file file;
	bool found;

	if (!open_file(reading, name, &file))
		return false;
	found = mp_json_scalar(file.data, file.size, keys, n_keys, out);
	reading->no_memory |= out->failed == MINDPROF_E_NOMEM;
	mp_file_close(&file);
	return found;
}

static bool number_of_file(struct reading *reading, const char *name, const char *key, int64_t *out)
{
	const char *const keys[] = {key};
	struct mp_buf text;
	bool ok;

	mp_buf_init(&text, 4096);
	ok = scalar_of_file(reading, name, keys, 1, &text) &&
	     mp_num_parse_i64(mp_buf_str(&text), text.len, out);
	mp_buf_release(&text);
	return ok;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* "key: 123" or "key = 123" in a line of an INI text; sections do not matter. */
static bool number_of_ini(const struct mp_file *file, const char *key, int64_t *out)
{
	const char *at = (const char *)file->data, *end = at + file->size;
	size_t key_len = strlen(key);

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline ? newline : end, *p = at;

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
		return mp_num_parse_i64(p, (size_t)(line_end - p), out);
	}
	return false;
}

/* Frequency in MHz; 100 when absent or empty, with a note. False when it is there and wrong. */
static bool frequency(struct reading *host, struct mp_store *store, double *mhz)
{
	static const char *const keys[] = {"CPU", "0", "Frequency"};
	struct mp_buf text;
	bool ok = true;

	mp_buf_init(&text, 4096);
	*mhz = MP_FWK_DEFAULT_MHZ;
	if (scalar_of_file(host, "info.json", keys, MP_COUNT(keys), &text) && text.len)
		ok = mp_num_parse_double(mp_buf_str(&text), text.len, mhz) && *mhz > 0;
	else if (!host->no_memory)
		mp_store_note(store, MP_PROBLEM, "clock-frequency", host->dir->path, -1,
			      "'info.json' gives no CPU frequency: 100 MHz assumed");
	mp_buf_release(&text);
	return ok;
}

static bool clock_of_27(struct op_range_clock *clock, struct reading *host)
{
	int64_t monotonic_ns, begin_us, start_monotonic_ns, begin_ns;
	struct mp_file file;
	bool ok;

	if (!open_file(host, "host_start.log", &file))
		return false;
	ok = number_of_ini(&file, "cntvct", &clock->base_tick) &&
	     number_of_ini(&file, "clock_monotonic_raw", &monotonic_ns);
	mp_file_close(&file);
	return ok && number_of_file(host, "start_info", "collectionTimeBegin", &begin_us) &&
	       number_of_file(host, "start_info", "clockMonotonicRaw", &start_monotonic_ns) &&
	       clock->base_tick > 0 && monotonic_ns > 0 && begin_us > 0 && start_monotonic_ns > 0 &&
	       !__builtin_mul_overflow(begin_us, 1000, &begin_ns) &&
	       !__builtin_sub_overflow(begin_ns, start_monotonic_ns, &clock->offset_ns) &&
	       !__builtin_add_overflow(clock->offset_ns, monotonic_ns, &clock->offset_ns);
}

static bool clock_of_23(struct op_range_clock *clock, struct reading *rank)
{
	struct mp_ranked_file info;
	mp_status status = mp_ranked_file_find(rank->dir, MP_FWK_INFO_PREFIX, MP_FWK_INFO_SUFFIX, -1, &info);

	rank->no_memory |= status == MINDPROF_E_NOMEM;
	return !status && number_of_file(rank, info.name, "system_cnt", &clock->base_tick) &&
	       number_of_file(rank, info.name, "system_time", &clock->offset_ns);
}

/* E_NOT_FOUND when there is no such directory. */
static mp_status open_host_of(const struct mp_dir *rank_dir, const char *prof_name, struct mp_dir *host)
{
	struct mp_dir prof;
	mp_status status;

	MP_TRY(mp_dir_open_at(rank_dir, prof_name, &prof, NULL));
	status = mp_dir_open_at(&prof, "host", host, NULL);
	mp_dir_close(&prof);
	return status;
}

/* Of the given PROF_* directory, else of the first one that has a host directory. */
static mp_status open_host(const struct mp_dir *rank_dir, const struct mp_dir *prof, struct mp_dir *host)
{
	struct mp_dir_entry *entries = NULL;
	mp_status status = MINDPROF_E_NOT_FOUND;
	size_t n = 0, i;

	if (prof)
		return mp_dir_open_at(prof, "host", host, NULL);
	MP_TRY(mp_dir_list(rank_dir, &entries, &n, NULL));
	for (i = 0; i < n && status && status != MINDPROF_E_NOMEM; i++)
		if (entries[i].is_dir && !strncmp(entries[i].name, PROF_PREFIX, sizeof(PROF_PREFIX) - 1))
			status = open_host_of(rank_dir, entries[i].name, host);
	mp_free(entries);
	return status;
}

/* Reads what the form needs; false when something is missing or odd. */
static bool read_clock(struct op_range_clock *clock, struct reading *host, struct reading *rank,
		       enum mp_fwk_form form, struct mp_store *store)
{
	memset(clock, 0, sizeof(*clock));
	if (!frequency(host, store, &clock->mhz))
		return false;
	clock->divides = form == MP_FWK_27;
	if (clock->divides)
		return clock_of_27(clock, host);
	clock->ns_per_tick = 1000.0 / clock->mhz;
	return clock_of_23(clock, rank);
}

mp_status op_range_clock_from_device_tool(struct op_range_clock *clock, const struct mp_dir *rank_dir,
					  const struct mp_dir *prof, enum mp_fwk_form form,
					  struct mp_store *store, bool *found, mp_err *err)
{
	struct reading host = {0}, rank = {.dir = rank_dir};
	struct mp_dir host_dir;
	mp_status status = open_host(rank_dir, prof, &host_dir);

	*found = false;
	if (status)
		return status == MINDPROF_E_NOMEM ? mp_err_nomem(err, 0) : MINDPROF_OK;
	host.dir = &host_dir;
	*found = read_clock(clock, &host, &rank, form, store);
	if (!*found && !host.no_memory && !rank.no_memory)
		mp_store_note(store, MP_WARNING, "clock-invalid", host_dir.path, -1,
			      "frequency or start times are missing or not positive, they are not used");
	mp_dir_close(&host_dir);
	return host.no_memory || rank.no_memory ? mp_err_nomem(err, 0) : MINDPROF_OK;
}
