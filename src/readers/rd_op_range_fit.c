/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fitting the counter to real time: a kernel launch in op_range and the execution of the same
 * operator in cpu_op_execute_timestamp begin together, so equal names in equal order give pairs of
 * (ticks, ns). Slope: median over distant pairs, then least squares over the pairs that lie near.
 * Document: docs/formats/framework.md, section "Clock".
 */
#include <inttypes.h>
#include <math.h>

#include "base/mem.h"
#include "base/num.h"
#include "readers/rd_cpu_ops.h"
#include "readers/rd_op_range.h"

#include "base/banned.h"

#define PAIRS_MIN 4u
#define SLOPE_MIN 1e-2       /* ns per tick: 100 GHz */
#define SLOPE_MAX 1e4        /* 100 kHz */
#define DEVIATION_MAX_NS 1e6 /* a worse median deviation means that the pairs do not belong together */

struct named_time { /* begin of a launch (ticks) or of an execution (ns) */
	uint32_t name;
	uint64_t time;
};
typedef MP_VEC(struct named_time) named_times;

struct pair {
	double ticks, ns; /* since the first pair */
};

struct fit {
	struct pair *pairs; /* owned */
	double *scratch;    /* owned, n values */
	size_t n;
	uint64_t first_tick;
	int64_t first_ns;
	double slope, offset_ns, deviation_ns;
};

static int by_name_and_time(const void *left, const void *right)
{
	const struct named_time *a = left, *b = right;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->time < b->time ? -1 : a->time > b->time;
}

static int by_ticks(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;

	return a->ticks < b->ticks ? -1 : a->ticks > b->ticks;
}

static int by_value(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), by_value);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* ---- pairs ---- */

static bool name_all(const op_range_launches *launches, const struct mp_cpu_runs *runs,
		     struct mp_strtab *names, named_times *ticks, named_times *times)
{
	uint32_t *ids = mp_malloc((runs->ops.len + 1) * sizeof(*ids));
	bool ok = ids && mp_vec_reserve(ticks, launches->len) && mp_vec_reserve(times, runs->runs.len);

	for (size_t i = 0; ok && i < runs->ops.len; i++) {
		ids[i] = mp_strtab_add(names, runs->ops.at[i].name, runs->ops.at[i].name_len);
		ok = ids[i] != MP_STR_NONE;
	}
	for (size_t i = 0; ok && i < runs->runs.len; i++)
		times->at[times->len++] =
			(struct named_time){ids[runs->runs.at[i].op], (uint64_t)runs->runs.at[i].start_ns};
	for (size_t i = 0; ok && i < launches->len; i++) {
		uint32_t id = mp_strtab_lookup(names, launches->at[i].name, launches->at[i].name_len);

		if (id != MP_STR_NONE)
			ticks->at[ticks->len++] = (struct named_time){id, launches->at[i].tick};
	}
	mp_free(ids);
	return ok;
}

static size_t same_name(const named_times *list, size_t from)
{
	size_t n = 0;

	while (from + n < list->len && list->at[from + n].name == list->at[from].name)
		n++;
	return n;
}

/* Pairs of all names with equal numbers on both sides; any: also of the others, counted from their beginning.
 */
static void make_pairs(const named_times *ticks, const named_times *times, bool any, struct fit *fit)
{
	size_t t = 0, n_ticks;

	fit->n = 0;
	for (size_t i = 0; i < ticks->len; i += n_ticks) {
		size_t n_times = 0;

		n_ticks = same_name(ticks, i);
		while (t < times->len && times->at[t].name < ticks->at[i].name)
			t++;
		if (t < times->len && times->at[t].name == ticks->at[i].name)
			n_times = same_name(times, t);
		if (!any && n_times != n_ticks)
			continue;
		for (size_t k = 0; k < MP_MIN(n_ticks, n_times); k++) {
			if (!fit->n) {
				fit->first_tick = ticks->at[i + k].time;
				fit->first_ns = (int64_t)times->at[t + k].time;
			}
			fit->pairs[fit->n].ticks = (double)(int64_t)(ticks->at[i + k].time - fit->first_tick);
			fit->pairs[fit->n++].ns = (double)((int64_t)times->at[t + k].time - fit->first_ns);
		}
	}
	qsort(fit->pairs, fit->n, sizeof(*fit->pairs), by_ticks);
}

/* ---- the line ---- */

/* Median slope over pairs half the recording apart; false when the ticks do not differ. */
static bool rough_slope(struct fit *fit)
{
	size_t half = fit->n / 2, n = 0;

	for (size_t i = 0; i + half < fit->n; i++) {
		double ticks = fit->pairs[i + half].ticks - fit->pairs[i].ticks;

		if (ticks > 0)
			fit->scratch[n++] = (fit->pairs[i + half].ns - fit->pairs[i].ns) / ticks;
	}
	if (!n)
		return false;
	fit->slope = median(fit->scratch, n);
	return true;
}

/* Median of what the slope leaves, and the median distance from it. */
static void offsets(struct fit *fit)
{
	for (size_t i = 0; i < fit->n; i++)
		fit->scratch[i] = fit->pairs[i].ns - fit->slope * fit->pairs[i].ticks;
	fit->offset_ns = median(fit->scratch, fit->n);
	for (size_t i = 0; i < fit->n; i++)
		fit->scratch[i] = fabs(fit->pairs[i].ns - fit->slope * fit->pairs[i].ticks - fit->offset_ns);
	fit->deviation_ns = median(fit->scratch, fit->n);
}

/* Least squares over the pairs within three deviations. */
static void refine(struct fit *fit)
{
	double limit = 3 * 1.4826 * fit->deviation_ns + 100;
	double sum_x = 0, sum_y = 0, xx = 0, xy = 0;
	size_t n = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < fit->n; i++) {
			const struct pair *p = &fit->pairs[i];

			if (fabs(p->ns - fit->slope * p->ticks - fit->offset_ns) > limit)
				continue;
			if (pass == 0) {
				sum_x += p->ticks;
				sum_y += p->ns;
				n++;
			} else {
				xx += (p->ticks - sum_x / (double)n) * (p->ticks - sum_x / (double)n);
				xy += (p->ticks - sum_x / (double)n) * (p->ns - sum_y / (double)n);
			}
		}
	}
	if (n >= PAIRS_MIN && xx > 0)
		fit->slope = xy / xx;
}

static bool fit_line(struct fit *fit)
{
	if (fit->n < PAIRS_MIN || !rough_slope(fit))
		return false;
	offsets(fit);
	for (int i = 0; i < 3; i++) {
		refine(fit);
		offsets(fit);
	}
	return fit->slope >= SLOPE_MIN && fit->slope <= SLOPE_MAX && fit->deviation_ns <= DEVIATION_MAX_NS;
}

static bool fit_all(named_times *ticks, named_times *times, struct fit *fit)
{
	qsort(ticks->at, ticks->len, sizeof(*ticks->at), by_name_and_time);
	qsort(times->at, times->len, sizeof(*times->at), by_name_and_time);
	make_pairs(ticks, times, false, fit);
	if (fit_line(fit))
		return true;
	make_pairs(ticks, times, true, fit);
	return fit_line(fit);
}

/* False when the offset does not fit the time axis. */
static bool use_fit(struct op_range_clock *clock, const struct fit *fit, struct mp_store *store)
{
	char fact[MP_NUM_MAX];
	int64_t offset_ns;

	if (!(fabs(fit->offset_ns) < 9e18) ||
	    __builtin_add_overflow(fit->first_ns, (int64_t)llrint(fit->offset_ns), &offset_ns))
		return false;
	*clock = (struct op_range_clock){
		.base_tick = (int64_t)fit->first_tick,
		.offset_ns = offset_ns,
		.ns_per_tick = fit->slope,
		.n_fitted = fit->n,
		.deviation_ns = fit->deviation_ns,
	};
	mp_store_set_fact(store, "op_range.counter_mhz", fact, mp_num_put_double(fact, 1000 / fit->slope));
	return true;
}

mp_status op_range_clock_fit(struct op_range_clock *clock, const struct mp_dir *framework,
			     const op_range_launches *launches, struct mp_store *store, bool *fitted,
			     mp_err *err)
{
	struct mp_strtab *names = NULL;
	named_times ticks = {0}, times = {0};
	struct mp_cpu_runs runs;
	struct fit fit = {0};
	mp_status status = mp_cpu_runs_load(framework, -1, &runs, NULL);
	bool ok = status != MINDPROF_E_NOMEM;

	*fitted = false;
	if (status == MINDPROF_OK && runs.runs.len && launches->len) {
		ok = mp_strtab_new(0, &names, NULL) == MINDPROF_OK &&
		     name_all(launches, &runs, names, &ticks, &times);
		if (ok && ticks.len) {
			fit.pairs = mp_malloc(ticks.len * sizeof(*fit.pairs));
			fit.scratch = mp_malloc(ticks.len * sizeof(*fit.scratch));
			ok = fit.pairs && fit.scratch;
			*fitted = ok && fit_all(&ticks, &times, &fit);
		}
	}
	*fitted = *fitted && use_fit(clock, &fit, store);
	mp_free(fit.pairs);
	mp_free(fit.scratch);
	mp_vec_release(&ticks);
	mp_vec_release(&times);
	mp_strtab_free(names);
	mp_cpu_runs_release(&runs);
	return ok ? MINDPROF_OK : mp_err_nomem(err, 0);
}
