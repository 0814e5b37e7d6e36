/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which operators hold the device's memory when most of it is in use? One row per owner. Input:
 * FRAMEWORK/mindspore.memory_usage. docs/analyses.md, "device_memory".
 */
#include <stdlib.h>

#include "base/hash.h"
#include "current/cur_operator_memory.h"
#include "current/cur_tables.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"owner", "Owner", MP_TYPE_TEXT, MP_UNIT_NONE,
	 "Operator that allocated it; (none) when it has no name."},
	{"device", "Device", MP_TYPE_INT, MP_UNIT_NONE, "Number of the device."},
	{"allocations", "Allocations", MP_TYPE_INT, MP_UNIT_COUNT, "Blocks that it held at the peak."},
	{"held_bytes", "Held", MP_TYPE_INT, MP_UNIT_BYTES, "Their size."},
	{"share", "Share", MP_TYPE_DOUBLE, MP_UNIT_SHARE, "Of all that was held at the peak."},
	{"step", "Step", MP_TYPE_TEXT, MP_UNIT_NONE, "Step in which the peak lies; missing when in none."},
};

static const struct mp_table_shape shape = {
	.name = "device_memory",
	.title = "Device memory at its peak",
	.text = "Operators that hold device memory at the moment when most of it is allocated.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

struct holder {
	uint32_t owner;
	int32_t device;
	int64_t allocations, held_bytes;
};

struct holders {
	struct cur_run *run;
	struct cur_operator_memory memory;
	MP_VEC(struct holder) at;
	struct mp_map64 index; /* owner and device -> holder */
	double held_bytes;
};

/* Begin and end of blocks on one axis: what is held changes by size at ts_ns. */
struct change {
	int64_t ts_ns;
	uint64_t size;
	bool is_release;
};

/* Releases first: memory that one operator gives back and another takes at the same time counts once. */
static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return (int)y->is_release - (int)x->is_release;
}

/* The first moment at which most is held. False when memory is out. */
static bool find_peak(const struct cur_operator_memory *memory, int64_t *peak_ns)
{
	MP_VEC(struct change) changes = {0};
	double held = 0, most = 0;
	bool good = mp_vec_reserve(&changes, 2 * memory->blocks.len + 1);
	size_t i;

	for (i = 0; good && i < memory->blocks.len; i++) {
		const struct cur_memory_block *block = &memory->blocks.at[i];
		const struct cur_memory_event *alloc = &memory->events.at[block->alloc];

		changes.at[changes.len++] = (struct change){alloc->ts_ns, alloc->size, false};
		if (block->release != UINT32_MAX)
			changes.at[changes.len++] =
				(struct change){memory->events.at[block->release].ts_ns, alloc->size, true};
	}
	if (changes.len)
		qsort(changes.at, changes.len, sizeof(*changes.at), compare_changes);
	for (i = 0; i < changes.len; i++) {
		held += changes.at[i].is_release ? -(double)changes.at[i].size : (double)changes.at[i].size;
		if (held > most) {
			most = held;
			*peak_ns = changes.at[i].ts_ns;
		}
	}
	mp_vec_release(&changes);
	return good;
}

static bool hold(struct holders *holders, const struct cur_memory_event *alloc)
{
	uint64_t key = mp_hash_u64((uint64_t)alloc->owner << 32 | (uint32_t)alloc->device);
	const uint64_t *found = mp_map64_lookup(&holders->index, key);
	struct holder *holder;

	if (!found &&
	    (!mp_map64_put(&holders->index, key, holders->at.len) ||
	     !mp_vec_push(&holders->at, (struct holder){.owner = alloc->owner, .device = alloc->device})))
		return false;
	holder = &holders->at.at[found ? (size_t)*found : holders->at.len - 1];
	holder->allocations++;
	if (alloc->size > INT64_MAX ||
	    __builtin_add_overflow(holder->held_bytes, (int64_t)alloc->size, &holder->held_bytes))
		holder->held_bytes = INT64_MAX;
	holders->held_bytes += (double)alloc->size;
	return true;
}

static bool collect(struct holders *holders, int64_t peak_ns)
{
	const struct cur_operator_memory *memory = &holders->memory;
	size_t i;

	for (i = 0; i < memory->blocks.len; i++) {
		const struct cur_memory_block *block = &memory->blocks.at[i];
		const struct cur_memory_event *alloc = &memory->events.at[block->alloc];

		if (alloc->ts_ns <= peak_ns &&
		    (block->release == UINT32_MAX || memory->events.at[block->release].ts_ns > peak_ns) &&
		    !hold(holders, alloc))
			return false;
	}
	return true;
}

static bool put_row(const struct holders *holders, const struct holder *holder, const struct cur_step *step,
		    struct mp_table *out)
{
	struct mp_str owner = mp_store_text(holders->run->store, holder->owner), id;
	struct mp_value *row = mp_table_add_row(out);

	if (!owner.len)
		owner = (struct mp_str){"(none)", 6};
	if (!row || !mp_value_text(out, &row[0], owner.text, owner.len))
		return false;
	mp_value_int(&row[1], holder->device);
	mp_value_int(&row[2], holder->allocations);
	mp_value_int(&row[3], holder->held_bytes);
	if (holders->held_bytes > 0)
		mp_value_double(&row[4], (double)holder->held_bytes / holders->held_bytes);
	if (!step)
		return true;
	id = mp_store_text(holders->run->store, step->id);
	return mp_value_text(out, &row[5], id.text, id.len);
}

static bool make_rows(struct holders *holders, struct mp_table *out)
{
	const struct cur_step *step;
	int64_t peak_ns = 0;
	size_t i;

	if (!find_peak(&holders->memory, &peak_ns) || !collect(holders, peak_ns))
		return false;
	step = holders->run->steps.at.len ? cur_step_at(&holders->run->steps, peak_ns) : NULL;
	for (i = 0; i < holders->at.len; i++)
		if (!put_row(holders, &holders->at.at[i], step, out))
			return false;
	return true;
}

static mp_status fill(struct cur_run *run, struct mp_table *out, mp_err *err)
{
	struct holders holders = {.run = run};
	bool good;

	MP_TRY(cur_load_steps(run, err));
	MP_TRY(cur_operator_memory_load(run, &holders.memory, err));
	good = !holders.memory.blocks.len || make_rows(&holders, out);
	cur_operator_memory_release(&holders.memory);
	mp_vec_release(&holders.at);
	mp_map64_release(&holders.index);
	if (!good)
		return mp_err_nomem(err, 0);
	if (!out->n_rows)
		out->empty_reason = "no device memory of operators was recorded";
	MP_TRY(mp_table_sort(out, 0, false, err));
	return mp_table_sort(out, 3, true, err);
}

const struct cur_table cur_table_device_memory = {&shape, fill};
