/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator_memory.csv. Input: FRAMEWORK/mindspore.memory_usage. Output: one row per allocation of an
 * operator, with its release (analysis-current.md section 8.7).
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "current/cur_csv.h"
#include "current/cur_operator_memory.h"
#include "current/cur_outputs.h"
#include "current/cur_tlv.h"

#include "base/banned.h"

#define MEMORY_USAGE_FILE "mindspore.memory_usage"
#define NONE UINT32_MAX

/* What a record begins with. */
struct __attribute__((packed)) memory_usage {
	int32_t device;
	uint64_t tid, pid, create_at_ns, address, size, used, peak, alloc, used_by_event, eager_free, stream;
	uint32_t stream_id;
	uint8_t from_persistent, is_persistent, run_mode, alloc_type;
};
_Static_assert(sizeof(struct memory_usage) == 100, "memory_usage record");

#define FIELD_OWNER 13

struct reader {
	struct cur_run *run;
	struct cur_operator_memory *out;
};

static bool take(void *user, const uint8_t *value, uint32_t len)
{
	struct reader *reader = user;
	struct mp_str owner = cur_tlv_field(value, len, sizeof(struct memory_usage), FIELD_OWNER);
	struct memory_usage usage;
	struct cur_memory_event event;

	memcpy(&usage, value, sizeof(usage));
	event = (struct cur_memory_event){
		.ts_ns = usage.create_at_ns <= INT64_MAX ? (int64_t)usage.create_at_ns : INT64_MAX,
		.address = usage.address,
		.size = usage.size,
		.used = usage.used,
		.reserved = usage.alloc,
		.stream = usage.stream,
		.device = usage.device,
		.owner = mp_strtab_add(mp_store_strings(reader->run->store), owner.text, owner.len),
	};
	return event.owner != MP_STR_NONE && reader->out->events.len < NONE - 1 &&
	       mp_vec_push(&reader->out->events, event);
}

/* ---- order; stable by way of a merge of sorted places ---- */

struct place {
	int64_t ts_ns;
	uint32_t index;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static bool sort_events(struct cur_operator_memory *memory)
{
	size_t n = memory->events.len, i;
	struct cur_memory_event *sorted;
	struct place *places;

	for (i = 1; i < n && memory->events.at[i - 1].ts_ns <= memory->events.at[i].ts_ns; i++)
		;
	if (i >= n)
		return true;
	places = mp_calloc(n, sizeof(*places));
	sorted = mp_calloc(n, sizeof(*sorted));
	for (i = 0; places && sorted && i < n; i++)
		places[i] = (struct place){memory->events.at[i].ts_ns, (uint32_t)i};
	if (places && sorted) {
		qsort(places, n, sizeof(*places), compare_places);
		for (i = 0; i < n; i++)
			sorted[i] = memory->events.at[places[i].index];
		memcpy(memory->events.at, sorted, n * sizeof(*sorted));
	}
	i = places && sorted;
	mp_free(places);
	mp_free(sorted);
	return i;
}

/* ---- pairs ---- */

/* What is open at one address. */
struct address {
	uint32_t alloc, release; /* NONE = not seen */
	bool seen;               /* some event of it */
};

struct found_block {
	struct cur_memory_block block;
	uint32_t address; /* in order of first appearance */
	uint32_t order;
};

struct pairing {
	struct cur_run *run;
	struct cur_operator_memory *memory;
	MP_VEC(struct address) addresses;
	struct mp_map64 by_address;
	MP_VEC(struct found_block) blocks;
	uint64_t n_stray, n_lost;
};

static bool emit(struct pairing *pairing, uint32_t address, uint32_t alloc, uint32_t release)
{
	return mp_vec_push(&pairing->blocks,
			   (struct found_block){{alloc, release}, address, (uint32_t)pairing->blocks.len});
}

/* The original remembers a stray release that is not the first event, and forgets an allocation that another
 * one follows. */
static bool put_event(struct pairing *pairing, uint32_t address, uint32_t index, bool is_release)
{
	struct address *at = &pairing->addresses.at[address];
	bool corrected = cur_corrects(pairing->run, CUR_FIX_MEMORY_PAIRS);
	bool first = !at->seen;

	at->seen = true;
	if (is_release && at->alloc == NONE)
		pairing->n_stray++;
	if (!is_release && at->alloc != NONE)
		pairing->n_lost++;
	if (is_release && at->alloc == NONE && (first || corrected))
		return true;
	if (is_release) {
		at->release = index;
	} else {
		if (at->alloc != NONE && corrected && !emit(pairing, address, at->alloc, NONE))
			return false;
		at->alloc = index;
	}
	if (at->alloc == NONE || at->release == NONE)
		return true;
	if (!emit(pairing, address, at->alloc, at->release))
		return false;
	at->alloc = at->release = NONE;
	return true;
}

static uint32_t address_of(struct pairing *pairing, uint64_t address)
{
	const uint64_t *found = mp_map64_lookup(&pairing->by_address, address);

	if (found)
		return (uint32_t)*found;
	if (!mp_map64_put(&pairing->by_address, address, pairing->addresses.len) ||
	    !mp_vec_push(&pairing->addresses, (struct address){NONE, NONE, false}))
		return NONE;
	return (uint32_t)pairing->addresses.len - 1;
}

static bool find_blocks(struct pairing *pairing)
{
	size_t i;

	for (i = 0; i < pairing->memory->events.len; i++) {
		const struct cur_memory_event *event = &pairing->memory->events.at[i];
		uint32_t address = address_of(pairing, event->address);

		if (address == NONE || !put_event(pairing, address, (uint32_t)i, event->size == UINT64_MAX))
			return false;
	}
	for (i = 0; i < pairing->addresses.len; i++)
		if (pairing->addresses.at[i].alloc != NONE &&
		    !emit(pairing, (uint32_t)i, pairing->addresses.at[i].alloc, NONE))
			return false;
	return true;
}

/* The double nearest to a time in microseconds, as Python divides integers. */
static double us_of(int64_t ns)
{
	return (double)((long double)(ns / 1000) + (long double)(ns % 1000) / 1000);
}

/* The original orders by the time that it prints. */
static int compare_times(const struct pairing *pairing, int64_t a_ns, int64_t b_ns)
{
	double a_us, b_us;

	if (cur_corrects(pairing->run, CUR_FIX_MEMORY_DECIMALS))
		return (a_ns > b_ns) - (a_ns < b_ns);
	a_us = us_of(a_ns);
	b_us = us_of(b_ns);
	return (a_us > b_us) - (a_us < b_us);
}

static int compare_blocks(const void *a, const void *b, void *user)
{
	const struct pairing *pairing = user;
	const struct cur_memory_event *events = pairing->memory->events.at;
	const struct found_block *x = a, *y = b;
	int by_time = compare_times(pairing, events[x->block.alloc].ts_ns, events[y->block.alloc].ts_ns);

	if (by_time)
		return by_time;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static bool take_blocks(struct pairing *pairing)
{
	struct cur_operator_memory *memory = pairing->memory;
	size_t i;

	if (!pairing->blocks.len)
		return true;
	qsort_r(pairing->blocks.at, pairing->blocks.len, sizeof(*pairing->blocks.at), compare_blocks,
		pairing);
	if (!mp_vec_reserve(&memory->blocks, pairing->blocks.len))
		return false;
	for (i = 0; i < pairing->blocks.len; i++)
		memory->blocks.at[memory->blocks.len++] = pairing->blocks.at[i].block;
	return true;
}

static void note_pairs(const struct pairing *pairing)
{
	struct cur_run *run = pairing->run;

	if (pairing->n_stray)
		mp_store_note(run->store, MP_INFO, "stray-release", run->framework.path, -1,
			      "%llu releases of memory without an allocation",
			      (unsigned long long)pairing->n_stray);
	if (pairing->n_lost)
		mp_store_note(run->store, MP_INFO, "double-allocation", run->framework.path, -1,
			      "%llu allocations at an address that was not released",
			      (unsigned long long)pairing->n_lost);
}

static bool pair_events(struct cur_run *run, struct cur_operator_memory *memory)
{
	struct pairing pairing = {.run = run, .memory = memory};
	bool good = sort_events(memory) && find_blocks(&pairing) && take_blocks(&pairing);

	note_pairs(&pairing);
	mp_vec_release(&pairing.addresses);
	mp_vec_release(&pairing.blocks);
	mp_map64_release(&pairing.by_address);
	return good;
}

mp_status cur_operator_memory_load(struct cur_run *run, struct cur_operator_memory *out, mp_err *err)
{
	struct reader reader = {run, out};
	mp_status status;

	*out = (struct cur_operator_memory){0};
	status = cur_tlv_walk(run, MEMORY_USAGE_FILE, sizeof(struct memory_usage), take, &reader, &out->found,
			      err);
	if (!status && !pair_events(run, out))
		status = mp_err_nomem(err, 0);
	if (status)
		cur_operator_memory_release(out);
	return status;
}

void cur_operator_memory_release(struct cur_operator_memory *memory)
{
	mp_vec_release(&memory->events);
	mp_vec_release(&memory->blocks);
}

/* ---- rows ---- */

static void put_us(const struct cur_run *run, struct mp_out *out, int64_t ns)
{
	if (cur_corrects(run, CUR_FIX_MEMORY_DECIMALS))
		mp_out_us3(out, ns);
	else
		mp_out_double(out, us_of(ns));
	mp_out_str(out, ",");
}

static void put_mb(struct mp_out *out, uint64_t bytes)
{
	mp_out_double(out, (double)bytes / 1048576);
	mp_out_str(out, ",");
}

/* Allocated, reserved, active; the first and the last are the same. */
static void put_totals(struct mp_out *out, const struct cur_memory_event *event)
{
	put_mb(out, event->used);
	put_mb(out, event->reserved);
	put_mb(out, event->used);
}

static void put_block(const struct cur_run *run, const struct cur_operator_memory *memory,
		      const struct cur_memory_block *block, struct mp_out *out)
{
	const struct cur_memory_event *alloc = &memory->events.at[block->alloc];
	const struct cur_memory_event *release =
		block->release == NONE ? NULL : &memory->events.at[block->release];
	struct mp_str owner = mp_store_text(run->store, alloc->owner);

	cur_csv_text(out, owner.text, owner.len);
	mp_out_str(out, ",");
	mp_out_double(out, (double)alloc->size / 1024);
	mp_out_str(out, ",");
	put_us(run, out, alloc->ts_ns);
	if (release) {
		put_us(run, out, release->ts_ns);
		mp_out_str(out, "N/A,");
		put_us(run, out, release->ts_ns - alloc->ts_ns);
		mp_out_str(out, "N/A,");
	} else {
		mp_out_str(out, "N/A,N/A,N/A,N/A,");
	}
	put_totals(out, alloc);
	if (release)
		put_totals(out, release);
	else
		mp_out_str(out, "N/A,N/A,N/A,");
	mp_out_printf(out, "%llu,NPU:%d\r\n", (unsigned long long)alloc->stream, (int)alloc->device);
}

static mp_status write_memory(struct cur_run *run, struct mp_out *out, mp_err *err)
{
	struct cur_operator_memory memory;
	size_t i;

	MP_TRY(cur_operator_memory_load(run, &memory, err));
	if (!memory.found && run->params.found && run->params.profile_memory)
		mp_store_note(run->store, MP_PROBLEM, "no-memory-usage", run->framework.path, -1,
			      "no '%s': memory of operators is not known", MEMORY_USAGE_FILE);
	if (memory.blocks.len)
		mp_out_str(out, "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),"
				"Duration(us),Active Duration(us),Allocation Total Allocated(MB),"
				"Allocation Total Reserved(MB),Allocation Total Active(MB),"
				"Release Total Allocated(MB),Release Total Reserved(MB),"
				"Release Total Active(MB),Stream Ptr,Device Type\r\n");
	for (i = 0; i < memory.blocks.len; i++)
		put_block(run, &memory, &memory.blocks.at[i], out);
	cur_operator_memory_release(&memory);
	return MINDPROF_OK;
}

static bool wanted(const struct cur_run *run)
{
	return run->params.npu && run->params.cpu && run->params.profile_memory;
}

const struct cur_output cur_operator_memory_csv = {
	.name = "operator_memory.csv",
	.about = "Device memory that operators allocated, until its release.",
	.wanted = wanted,
	.write = write_memory,
	.original_needs = CUR_NEEDS_EXPORT,
};
