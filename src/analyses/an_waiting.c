/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for whom? One row per queue and side: time spent waiting to push or to pop, depth of
 * the queue, and which side is too slow. docs/analyses.md, "waiting".
 *
 * The depth that an operation met is the one that the operation completed last before it left
 * behind. Operations come in order of their begin, so those still waiting are kept in a heap by
 * their end; its size is the number of threads that wait at once.
 */
#include "analyses/an_private.h"

#include <assert.h>

#include "base/mem.h"
#include "base/vec.h"

#include "base/banned.h"

static const struct mp_column columns[] = {
	{"process", "Process", MP_TYPE_TEXT, MP_UNIT_NONE, "Process of the queue."},
	{"queue", "Queue", MP_TYPE_TEXT, MP_UNIT_NONE, "Name of the queue."},
	{"side", "Side", MP_TYPE_TEXT, MP_UNIT_NONE,
	 "push: those who put items in; pop: those who take them out."},
	{"items", "Items", MP_TYPE_INT, MP_UNIT_COUNT, "How many items went through."},
	{"wait_ns", "Waited", MP_TYPE_INT, MP_UNIT_NS,
	 "Sum of the time that all threads of this side waited."},
	{"wait_avg_ns", "Average", MP_TYPE_DOUBLE, MP_UNIT_NS, "Waited per item."},
	{"wait_max_ns", "Longest", MP_TYPE_INT, MP_UNIT_NS, "Longest single wait."},
	{"wait_share", "Share", MP_TYPE_DOUBLE, MP_UNIT_SHARE,
	 "Waited divided by the duration of the trace; above 1 when several threads wait."},
	{"depth_avg", "Depth", MP_TYPE_DOUBLE, MP_UNIT_NONE,
	 "Items in the queue after the operation, on average."},
	{"empty_share", "Found empty", MP_TYPE_DOUBLE, MP_UNIT_SHARE,
	 "Part of the pops that began when the queue was empty."},
	{"full_share", "Found full", MP_TYPE_DOUBLE, MP_UNIT_SHARE,
	 "Part of the pushes that began when the queue was full; missing without capacity."},
	{"capacity", "Capacity", MP_TYPE_INT, MP_UNIT_COUNT,
	 "Items the queue has room for; missing when unbounded."},
	{"verdict", "Verdict", MP_TYPE_TEXT, MP_UNIT_NONE, "Which side is too slow."},
};

static const struct mp_table_shape shape = {
	.name = "waiting",
	.title = "Waiting for queues",
	.text = "Time that producers and consumers of each queue waited for each other.",
	.columns = columns,
	.n_columns = MP_COUNT(columns),
};

/* A side waits when it spends this share of the trace on it, and twice as long as the other side. */
#define WAITS_SHARE 0.05
#define WAITS_TIMES 2.0

struct side {
	uint64_t items, blocked; /* blocked: met an empty (pop) or full (push) queue */
	int64_t wait_ns, max_ns;
	double depths;
};

struct queue {
	uint32_t process, name;
	uint32_t depth;       /* now */
	uint32_t capacity;    /* largest that was told, 0 = unbounded */
	struct side sides[2]; /* by enum mp_queue_op */
};

struct pending { /* an operation that waits */
	int64_t end_ns;
	uint32_t queue, depth;
};

struct sweep {
	const struct mp_store *store;
	uint32_t *track_process; /* owned */
	struct mp_map64 index;   /* process, name -> position in queues */
	MP_VEC(struct queue) queues;
	MP_VEC(struct pending) heap; /* smallest end first */
};

static bool push_pending(struct sweep *sweep, struct pending pending)
{
	size_t i = sweep->heap.len;

	if (!mp_vec_push(&sweep->heap, pending))
		return false;
	for (; i && sweep->heap.at[(i - 1) / 2].end_ns > pending.end_ns; i = (i - 1) / 2)
		sweep->heap.at[i] = sweep->heap.at[(i - 1) / 2];
	sweep->heap.at[i] = pending;
	return true;
}

static struct pending pop_pending(struct sweep *sweep)
{
	struct pending *heap = sweep->heap.at;
	struct pending first = heap[0], last = heap[--sweep->heap.len];
	size_t n = sweep->heap.len, i = 0;

	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && heap[child + 1].end_ns < heap[child].end_ns)
			child++;
		if (heap[child].end_ns >= last.end_ns)
			break;
		heap[i] = heap[child];
	}
	heap[i] = last;
	return first;
}

/* Position of the queue, UINT32_MAX when memory is out. */
static uint32_t find_queue(struct sweep *sweep, uint32_t process, uint32_t name)
{
	uint64_t key = mp_seeded(sweep, (uint64_t)process << 32 | name);
	uint64_t *position = mp_map64_lookup(&sweep->index, key);

	if (position)
		return (uint32_t)*position;
	if (!mp_vec_push(&sweep->queues, (struct queue){.process = process, .name = name}))
		return UINT32_MAX;
	if (!mp_map64_put(&sweep->index, key, sweep->queues.len - 1))
		return UINT32_MAX;
	return (uint32_t)(sweep->queues.len - 1);
}

static mp_status visit(struct sweep *sweep, const struct mp_event *event, mp_err *err)
{
	uint32_t at = find_queue(sweep, sweep->track_process[event->track], event->name);
	uint32_t depth = (uint32_t)((uint64_t)event->b >> 32), capacity = (uint32_t)event->b;
	int64_t wait_ns = MP_MAX(event->a, 0);
	struct queue *queue;
	struct side *side;

	if (at == UINT32_MAX)
		return mp_err_nomem(err, (sweep->queues.len + 1) * sizeof(*queue));
	while (sweep->heap.len && sweep->heap.at[0].end_ns <= event->ts_ns) {
		struct pending done = pop_pending(sweep);

		sweep->queues.at[done.queue].depth = done.depth;
	}
	assert(at < sweep->queues.len && sweep->queues.at);
	queue = &sweep->queues.at[at];
	queue->capacity = MP_MAX(queue->capacity, capacity);
	side = &queue->sides[event->cls == MP_QUEUE_POP];
	side->blocked +=
		event->cls == MP_QUEUE_POP ? queue->depth == 0 : capacity && queue->depth >= capacity;
	side->items++;
	side->wait_ns = mp_add_sat(side->wait_ns, wait_ns);
	side->max_ns = MP_MAX(side->max_ns, wait_ns);
	side->depths += depth;
	if (wait_ns == 0)
		queue->depth = depth;
	else if (!push_pending(sweep, (struct pending){mp_end_ns(event->ts_ns, wait_ns), at, depth}))
		return mp_err_nomem(err, (sweep->heap.len + 1) * sizeof(struct pending));
	return MINDPROF_OK;
}

static const char *verdict(const struct queue *queue, double wall_ns)
{
	double push_ns = (double)queue->sides[MP_QUEUE_PUSH].wait_ns;
	double pop_ns = (double)queue->sides[MP_QUEUE_POP].wait_ns;

	if (pop_ns >= WAITS_SHARE * wall_ns && pop_ns > WAITS_TIMES * push_ns)
		return "consumer waits: producer too slow";
	if (push_ns >= WAITS_SHARE * wall_ns && push_ns > WAITS_TIMES * pop_ns)
		return "producer waits: consumer too slow";
	return "balanced";
}

static bool add_row(const struct sweep *sweep, const struct queue *queue, enum mp_queue_op op, double wall_ns,
		    struct mp_table *out)
{
	const struct side *side = &queue->sides[op];
	struct mp_value *row = mp_table_add_row(out);
	double blocked_share = (double)side->blocked / (double)side->items;

	if (row == NULL || !mp_row_process(out, &row[0], sweep->store, queue->process) ||
	    !mp_row_string(out, &row[1], sweep->store, queue->name) ||
	    !mp_row_text(out, &row[2], op == MP_QUEUE_POP ? "pop" : "push") ||
	    !mp_row_text(out, &row[12], verdict(queue, wall_ns)))
		return false;
	mp_value_int(&row[3], (int64_t)side->items);
	mp_value_int(&row[4], side->wait_ns);
	mp_value_double(&row[5], (double)side->wait_ns / (double)side->items);
	mp_value_int(&row[6], side->max_ns);
	mp_value_double(&row[7], mp_share((double)side->wait_ns, wall_ns));
	mp_value_double(&row[8], side->depths / (double)side->items);
	if (op == MP_QUEUE_POP)
		mp_value_double(&row[9], blocked_share);
	else if (queue->capacity)
		mp_value_double(&row[10], blocked_share);
	if (queue->capacity)
		mp_value_int(&row[11], queue->capacity);
	return true;
}

static mp_status sweep_and_fill(struct sweep *sweep, struct mp_table *out, mp_err *err)
{
	struct mp_ranges events = mp_store_ordered(sweep->store, MP_KIND_QUEUE);
	int64_t begin_ns = 0, end_ns = 0;
	double wall_ns;

	for (size_t i = 0; i < events.n; i++) {
		struct mp_event event = mp_store_event(sweep->store, events.refs[i]);

		MP_TRY(visit(sweep, &event, err));
	}
	mp_store_time_range(sweep->store, &begin_ns, &end_ns);
	wall_ns = (double)mp_sub_sat(end_ns, begin_ns);
	for (size_t i = 0; i < sweep->queues.len; i++) {
		const struct queue *queue = &sweep->queues.at[i];

		for (int op = MP_QUEUE_PUSH; op <= MP_QUEUE_POP; op++) {
			if (queue->sides[op].items &&
			    !add_row(sweep, queue, (enum mp_queue_op)op, wall_ns, out))
				return mp_err_nomem(err, sizeof(struct mp_value) * MP_COUNT(columns));
		}
	}
	return MINDPROF_OK;
}

static mp_status run(const struct mp_store *store, struct mp_pool *pool, struct mp_table *out, mp_err *err)
{
	struct sweep sweep = {.store = store, .track_process = mp_track_processes(store)};
	mp_status status;

	(void)pool;
	if (sweep.track_process)
		status = sweep_and_fill(&sweep, out, err);
	else
		status = mp_err_nomem(err, mp_store_n_tracks(store) * sizeof(uint32_t));
	mp_free(sweep.track_process);
	mp_map64_release(&sweep.index);
	mp_vec_release(&sweep.queues);
	mp_vec_release(&sweep.heap);
	if (status == MINDPROF_OK && out->n_rows == 0)
		out->empty_reason =
			"no queue operations were recorded: call mindprof_queue_push and mindprof_queue_pop";
	return status;
}

const struct mp_analysis mp_analysis_waiting = {&shape, MP_NEEDS(QUEUE), run};
