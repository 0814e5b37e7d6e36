/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host side of a run. Input: FRAMEWORK/mindspore.op_range. Output: run->host, one event per record in
 * file order (analysis-current.md sections 5.2, 6, 7.3).
 */
#include <string.h>

#include "current/cur_host.h"
#include "current/cur_tlv.h"

#include "base/banned.h"

#define CACHE_SLOTS 4096u

struct slot {
	uint64_t hash;
	uint32_t len; /* 0 = empty */
	uint32_t flags;
	struct op_range_name name;
};

struct host_walk {
	struct cur_run *run;
	struct mp_file file;
	struct op_range_clock clock;
	struct mp_fault faults[OP_RANGE_FAULTS];
	struct slot *slots; /* owned */
	struct mp_buf buf;
};

static uint32_t flags_of(const struct mp_store *store, const struct op_range_name *name)
{
	struct mp_str text = mp_store_text(store, name->name);
	uint32_t flags = 0;

	if (name->is_stack)
		flags |= CUR_HOST_STACK;
	if (name->is_flow)
		flags |= CUR_HOST_FLOW;
	if (mp_str_holds(text, "KernelLaunch") || mp_str_holds(text, "LaunchTask"))
		flags |= CUR_HOST_LAUNCH;
	if (mp_str_holds(text, "Mstx"))
		flags |= CUR_HOST_MSTX;
	if (mp_str_holds(text, "ProfilerStep#"))
		flags |= CUR_HOST_STEP;
	return flags;
}

/* By what decides the name: everything from the module number on. NULL when memory is out. */
static const struct slot *lookup_name(struct host_walk *walk, const uint8_t *body, uint32_t len)
{
	uint32_t from = offsetof(struct mp_fwk_op_range, module);
	uint64_t hash = mp_hash_bytes(body + from, len - from, 0);
	struct slot *slot = &walk->slots[hash % CACHE_SLOTS];

	if (slot->hash == hash && slot->len == len)
		return slot;
	slot->len = 0;
	if (!op_range_name_compose(walk->run->store, MP_FWK_27, body, len, &walk->buf, &slot->name))
		return NULL;
	slot->flags = flags_of(walk->run->store, &slot->name);
	slot->hash = hash;
	slot->len = len;
	return slot;
}

/* Begin and duration; false when a time does not fit. */
static bool place(const struct host_walk *walk, const struct mp_fwk_op_range *record,
		  struct cur_host_event *event)
{
	int64_t end_ns;

	if (!op_range_clock_ns(&walk->clock, record->start_tick, &event->ts_ns) ||
	    !op_range_clock_ns(&walk->clock, record->end_tick, &end_ns) ||
	    __builtin_sub_overflow(end_ns, event->ts_ns, &event->dur_ns))
		return false;
	if (record->start_tick == record->end_tick)
		event->flags |= CUR_HOST_INSTANT;
	if (record->end_tick >= record->start_tick || !cur_corrects(walk->run, CUR_FIX_NEGATIVE))
		return true;
	event->dur_ns = 0;
	if (!(event->flags & CUR_HOST_FLOW))
		event->flags |= CUR_HOST_INSTANT | CUR_HOST_REVERSED;
	return true;
}

static bool add_record(void *user, const uint8_t *body, uint32_t len)
{
	struct host_walk *walk = user;
	int64_t offset = body - walk->file.data - MP_FWK_HEAD_BYTES;
	struct cur_host_event event = {0};
	struct mp_fwk_op_range record;
	const struct slot *slot = lookup_name(walk, body, len);
	bool is_cut;
	unsigned i;

	if (!slot)
		return false;
	/* What is wrong with the fields of a cut record is the same damage. */
	is_cut = walk->faults[OP_RANGE_CUT].count && walk->faults[OP_RANGE_CUT].first_offset == offset;
	for (i = 0; slot->name.faults && !is_cut && i < OP_RANGE_FAULTS; i++)
		mp_fault_add(&walk->faults[i], offset, slot->name.faults >> i & 1);
	memcpy(&record, body, sizeof(record));
	event.flow_id = record.flow_id;
	event.tid = (int64_t)record.thread_id;
	event.name = slot->name.name;
	event.flags = slot->flags;
	if (!record.start_tick || !place(walk, &record, &event)) {
		mp_fault_add(&walk->faults[record.start_tick ? OP_RANGE_TIME : OP_RANGE_NO_START], offset, 1);
		return true;
	}
	if (record.end_tick < record.start_tick && !(event.flags & CUR_HOST_FLOW))
		mp_fault_add(&walk->faults[OP_RANGE_REVERSED], offset, 1);
	/* A mark that is an instant is drawn by the original and begins no flow. */
	if (event.flags & CUR_HOST_FLOW && event.flags & CUR_HOST_INSTANT &&
	    !cur_corrects(walk->run, CUR_FIX_INSTANT_FLOW))
		event.flags &= ~(uint32_t)CUR_HOST_FLOW;
	else if (event.flags & CUR_HOST_FLOW)
		event.flags &= ~(uint32_t)CUR_HOST_INSTANT;
	return mp_vec_push(&walk->run->host.events, event);
}

/* The fixed part of a cut record and the field that names it are whole. */
static bool is_usable_cut(const uint8_t *body, uint32_t len)
{
	struct mp_fwk_op_range record;
	uint32_t at = sizeof(record);

	if (len < sizeof(record))
		return false;
	memcpy(&record, body, sizeof(record));
	if (record.is_graph_data)
		return false; /* its name needs the last fields */
	while (len - at >= MP_FWK_HEAD_BYTES) {
		uint16_t type = op_range_u16(body + at);
		uint32_t field_len = op_range_u32(body + at + 2);

		at += MP_FWK_HEAD_BYTES;
		if (field_len > len - at)
			return false;
		if (type == (record.is_stack ? MP_FWK_NAME : MP_FWK_FULL_NAME))
			return true;
		at += field_len;
	}
	return false;
}

/* Every whole record; faults NULL = they are not counted. False when fn was. */
static bool walk_all(struct cur_run *run, const struct mp_file *file, struct mp_fault *faults,
		     cur_record_fn fn, void *user)
{
	const uint8_t *data = file->data;
	uint64_t size = file->size, at = 0, forgotten = 0;

	while (at < size) {
		uint64_t left = size - at;
		uint32_t len = left >= MP_FWK_HEAD_BYTES ? op_range_u32(data + at + 2) : 0;
		const uint8_t *body = data + at + MP_FWK_HEAD_BYTES;
		bool cut = left < MP_FWK_HEAD_BYTES || len > left - MP_FWK_HEAD_BYTES;

		if (cut && faults)
			mp_fault_add(&faults[OP_RANGE_CUT], (int64_t)at, 1);
		if (cut && (left < MP_FWK_HEAD_BYTES || !cur_corrects(run, CUR_FIX_CUT_RECORD) ||
			    !is_usable_cut(body, (uint32_t)(left - MP_FWK_HEAD_BYTES))))
			return true;
		if (cut)
			len = (uint32_t)(left - MP_FWK_HEAD_BYTES);
		if (len < sizeof(struct mp_fwk_op_range)) {
			if (faults)
				mp_fault_add(&faults[OP_RANGE_SHORT], (int64_t)at, 1);
		} else if (!fn(user, body, len)) {
			return false;
		}
		at += mp_fwk_record_bytes(len);
		cur_tlv_forget(file, at, &forgotten);
	}
	return true;
}

/* The records of a list of steps, which count from the smallest of the file (section 5.2). */
struct step_filter {
	const struct cur_run *run;
	uint64_t first_step;
	cur_record_fn fn;
	void *user;
};

static uint64_t step_of(const uint8_t *body)
{
	return op_range_u64(body + offsetof(struct mp_fwk_op_range, step));
}

static bool take_step(void *user, const uint8_t *body, uint32_t len MP_UNUSED)
{
	struct step_filter *filter = user;

	filter->first_step = MP_MIN(filter->first_step, step_of(body));
	return true;
}

static bool pass_step(void *user, const uint8_t *body, uint32_t len)
{
	const struct step_filter *filter = user;
	uint64_t step = step_of(body) - filter->first_step + 1;
	bool wanted = step <= INT64_MAX && (int64_t)step >= filter->run->step_list[0] &&
		      (int64_t)step <= filter->run->step_list[filter->run->n_step_list - 1];

	return !wanted || filter->fn(filter->user, body, len);
}

bool cur_host_walk(struct cur_run *run, const struct mp_file *file, struct mp_fault *faults, cur_record_fn fn,
		   void *user)
{
	struct step_filter filter = {.run = run, .first_step = UINT64_MAX, .fn = fn, .user = user};

	if (!run->step_list || !run->n_step_list)
		return walk_all(run, file, faults, fn, user);
	walk_all(run, file, NULL, take_step, &filter);
	return walk_all(run, file, faults, pass_step, &filter);
}

static mp_status fit_clock(struct host_walk *walk, bool *fitted, mp_err *err)
{
	struct op_range_file in = {.file = walk->file, .form = MP_FWK_27, .store = walk->run->store};
	op_range_launches launches = {0};
	mp_status status = op_range_find_launches(&in, &launches) ? MINDPROF_OK : mp_err_nomem(err, 0);

	if (!status)
		status = op_range_clock_fit(&walk->clock, &walk->run->framework, &launches, walk->run->store,
					    fitted, err);
	mp_vec_release(&launches);
	return status;
}

static mp_status make_clock(struct cur_run *run, const struct mp_file *file, struct op_range_clock *clock,
			    mp_err *err)
{
	const struct mp_dir *prof = run->prof.fd >= 0 ? &run->prof : NULL;
	struct host_walk walk = {.run = run, .file = *file};
	enum op_range_device_clock device = OP_RANGE_CLOCK_ABSENT;
	bool corrects = cur_corrects(run, CUR_FIX_CLOCK), fitted = false;

	if (run->params.npu || corrects)
		MP_TRY(op_range_clock_from_device_tool(&walk.clock, &run->rank_dir, prof, MP_FWK_27,
						       run->store, &device, err));
	if (device == OP_RANGE_CLOCK_ABSENT && run->params.npu)
		mp_store_note(run->store, MP_PROBLEM, "no-device-clock",
			      prof ? prof->path : run->rank_dir.path, -1,
			      "no PROF_*/host directory: no common clock of host and device");
	if (device != OP_RANGE_CLOCK_FOUND && corrects)
		MP_TRY(fit_clock(&walk, &fitted, err));
	if (device != OP_RANGE_CLOCK_FOUND && !fitted)
		op_range_clock_assume(&walk.clock);
	if (device == OP_RANGE_CLOCK_ABSENT && !run->params.npu && corrects)
		op_range_clock_tell(&walk.clock, file->path, run->store);
	op_range_clock_ready(&walk.clock);
	*clock = walk.clock;
	return MINDPROF_OK;
}

mp_status cur_host_clock(struct cur_run *run, const struct mp_file *file, const struct op_range_clock **clock,
			 mp_err *err)
{
	struct op_range_clock *made;
	mp_status status;

	if (!run->clock) {
		made = mp_calloc(1, sizeof(*made));
		if (!made)
			return mp_err_nomem(err, sizeof(*made));
		status = make_clock(run, file, made, err);
		if (status) {
			mp_free(made);
			return status;
		}
		run->clock = made;
	}
	*clock = run->clock;
	return MINDPROF_OK;
}

static mp_status read_file(struct host_walk *walk, mp_err *err)
{
	struct cur_run *run = walk->run;
	const struct op_range_clock *clock = NULL;
	mp_status status = MINDPROF_OK;

	MP_TRY(cur_host_clock(run, &walk->file, &clock, err));
	walk->clock = *clock;
	walk->slots = mp_calloc(CACHE_SLOTS, sizeof(*walk->slots));
	if (!walk->slots)
		return mp_err_nomem(err, CACHE_SLOTS * sizeof(*walk->slots));
	mp_buf_init(&walk->buf, SIZE_MAX / 8);
	if (!cur_host_walk(run, &walk->file, walk->faults, add_record, walk))
		status = mp_err_nomem(err, run->host.events.cap * sizeof(*run->host.events.at));
	mp_faults_note(run->store, walk->file.path, walk->faults, op_range_fault_kinds, OP_RANGE_FAULTS);
	run->host.present = run->host.events.len > 0;
	mp_buf_release(&walk->buf);
	mp_free(walk->slots);
	return status;
}

/* The original's parser of host data does nothing without CPU activity, and ignores op_range on a CPU. */
static bool is_asked_for(const struct cur_run *run)
{
	if (!run->params.cpu || run->framework.fd < 0)
		return false;
	return run->params.found || cur_corrects(run, CUR_FIX_ALL_TARGETS);
}

mp_status cur_load_host(struct cur_run *run, mp_err *err)
{
	struct host_walk walk = {.run = run};
	mp_status status;

	if (run->loaded_host)
		return MINDPROF_OK;
	run->loaded_host = true;
	if (!is_asked_for(run))
		return MINDPROF_OK;
	status = mp_file_open_at(&run->framework, MP_FWK_OP_RANGE_FILE, &walk.file, NULL);
	if (status == MINDPROF_E_NOMEM)
		return mp_err_nomem(err, 0);
	if (status) {
		if (run->params.npu)
			mp_store_note(
				run->store, MP_PROBLEM, "no-op-range", run->framework.path, -1,
				"'%s' is missing or cannot be read: no framework events, steps and links",
				MP_FWK_OP_RANGE_FILE);
		return MINDPROF_OK;
	}
	if (!walk.file.size)
		mp_store_note(run->store, MP_PROBLEM, "empty-op-range", walk.file.path, -1,
			      "file is empty: no framework events, steps and links");
	else
		status = read_file(&walk, err);
	mp_file_close(&walk.file);
	return status;
}
