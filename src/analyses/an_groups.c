/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grouped statistics of ranges. Each worker of the pool groups whole tracks on its own; the parts
 * are then added up. All sums are integers, so the result does not depend on the number of workers.
 * Nothing is allocated per event: a group is found through an array by string id, and through a
 * map where one name has several types or classes.
 */
#include "analyses/an_groups.h"

#include "analyses/an_walk.h"
#include "base/mem.h"

#include "base/banned.h"

/* What one worker collects. */
struct part {
	struct mp_groups groups;
	uint32_t *first; /* owned, by string id: position + 1 of the group that came first, 0 = none */
	struct mp_walk walk;
};

struct build {
	const struct mp_store *store;
	struct mp_group_query query;
	const struct mp_detail *details; /* all of them */
	size_t n_details;
	size_t n_strings;
	struct part *parts;
	size_t n_parts;
};

struct visit {
	const struct build *build;
	struct part *part;
};

static uint64_t key_of(const struct mp_group *group)
{
	return ((uint64_t)group->name << 32 | group->type | group->cls) ^ mp_hash_u64(group->shapes);
}

static bool same_key(const struct mp_group *a, const struct mp_group *b)
{
	return a->name == b->name && a->type == b->type && a->cls == b->cls && a->shapes == b->shapes;
}

/* The group of the key, new when it is not there; NULL when memory is out. */
static struct mp_group *find_group(struct mp_groups *groups, const struct mp_group *key)
{
	uint64_t hashed = mp_seeded(groups, key_of(key));
	uint64_t *position = mp_map64_lookup(&groups->index, hashed);

	if (position)
		return &groups->list.at[*position];
	if (!mp_vec_reserve(&groups->list, 1) || !mp_map64_put(&groups->index, hashed, groups->list.len))
		return NULL;
	groups->list.at[groups->list.len] = *key;
	return &groups->list.at[groups->list.len++];
}

static struct mp_group *find_group_fast(const struct build *build, struct part *part,
					const struct mp_group *key)
{
	uint32_t id = build->query.key == MP_GROUP_BY_TYPE ? key->type : key->name;
	struct mp_group *group;

	if (id < build->n_strings && part->first[id]) {
		group = &part->groups.list.at[part->first[id] - 1];
		if (same_key(group, key))
			return group;
	}
	group = find_group(&part->groups, key);
	if (group && id < build->n_strings && part->first[id] == 0)
		part->first[id] = (uint32_t)(group - part->groups.list.at) + 1;
	return group;
}

static void add_to_group(struct mp_group *group, const struct mp_group *more)
{
	group->count += more->count;
	group->total_ns = mp_add_sat(group->total_ns, more->total_ns);
	group->self_ns = mp_add_sat(group->self_ns, more->self_ns);
	group->min_ns = MP_MIN(group->min_ns, more->min_ns);
	group->max_ns = MP_MAX(group->max_ns, more->max_ns);
	group->flops += more->flops;
	group->flops_ns = mp_add_sat(group->flops_ns, more->flops_ns);
}

/* FLOPs of one execution; 0 = not known. The bound keeps the sum of 2^32 of them inside 128 bits. */
static unsigned __int128 whole_flops(double flops)
{
	if (!(flops >= 0.5))
		return 0;
	return (unsigned __int128)(MP_MIN(flops, 1e28) + 0.5);
}

static mp_status visit_range(void *user, const struct mp_walk_range *range, mp_err *err)
{
	const struct visit *visit = user;
	const struct build *build = visit->build;
	uint8_t cls = range->block->cls[range->row];
	uint32_t detail = range->block->detail[range->row];
	struct mp_group key = {0};
	struct mp_group *group;

	if (cls >= MP_CLASSES || !(build->query.classes & 1u << cls))
		return MINDPROF_OK;
	if (build->query.key != MP_GROUP_BY_TYPE)
		key.name = range->block->name[range->row];
	if (build->query.key == MP_GROUP_BY_NAME_AND_CLASS)
		key.cls = cls;
	else if (detail < build->n_details)
		key.type = build->details[detail].type;
	if (build->query.key == MP_GROUP_BY_NAME_AND_SHAPES && detail < build->n_details)
		key.shapes = build->details[detail].shapes;
	key.min_ns = INT64_MAX;
	group = find_group_fast(build, visit->part, &key);
	if (group == NULL)
		return mp_err_nomem(err, (visit->part->groups.list.len + 1) * sizeof(*group));
	group->count++;
	group->total_ns = mp_add_sat(group->total_ns, range->dur_ns);
	group->self_ns = mp_add_sat(group->self_ns, range->self_ns);
	group->min_ns = MP_MIN(group->min_ns, range->dur_ns);
	group->max_ns = MP_MAX(group->max_ns, range->dur_ns);
	if (detail < build->n_details && build->details[detail].flops > 0) {
		group->flops += whole_flops(build->details[detail].flops);
		group->flops_ns = mp_add_sat(group->flops_ns, range->dur_ns);
	}
	return MINDPROF_OK;
}

static mp_status group_track(void *user, size_t index, unsigned worker, mp_err *err)
{
	struct build *build = user;
	struct part *part = &build->parts[worker];
	struct visit visit = {build, part};

	if (part->first == NULL) {
		part->first = mp_calloc(build->n_strings, sizeof(*part->first));
		if (part->first == NULL)
			return mp_err_nomem(err, build->n_strings * sizeof(*part->first));
	}
	return mp_walk_track(&part->walk, build->store, (uint32_t)index, visit_range, &visit, err);
}

static mp_status merge_parts(const struct build *build, struct mp_groups *out, mp_err *err)
{
	for (size_t i = 0; i < build->n_parts; i++) {
		const struct mp_groups *groups = &build->parts[i].groups;

		for (size_t g = 0; g < groups->list.len; g++) {
			struct mp_group key = {.name = groups->list.at[g].name,
					       .type = groups->list.at[g].type,
					       .cls = groups->list.at[g].cls,
					       .shapes = groups->list.at[g].shapes,
					       .min_ns = INT64_MAX};
			struct mp_group *group = find_group(out, &key);

			if (group == NULL)
				return mp_err_nomem(err, (out->list.len + 1) * sizeof(*group));
			add_to_group(group, &groups->list.at[g]);
			out->total_count += groups->list.at[g].count;
			out->total_ns = mp_add_sat(out->total_ns, groups->list.at[g].total_ns);
		}
	}
	return MINDPROF_OK;
}

static void release_parts(struct build *build)
{
	for (size_t i = 0; build->parts && i < build->n_parts; i++) {
		mp_groups_release(&build->parts[i].groups);
		mp_walk_release(&build->parts[i].walk);
		mp_free(build->parts[i].first);
	}
	mp_free(build->parts);
}

mp_status mp_groups_build(struct mp_groups *out, const struct mp_store *store, struct mp_pool *pool,
			  struct mp_group_query query, mp_err *err)
{
	struct build build = {.store = store, .query = query};
	struct mp_detail *details;
	mp_status status;

	*out = (struct mp_groups){0};
	build.n_strings = mp_strtab_count(mp_store_strings(store));
	build.n_details = mp_store_n_details(store);
	build.n_parts = pool ? mp_pool_threads(pool) : 1;
	build.parts = mp_calloc(build.n_parts, sizeof(*build.parts));
	details = mp_realloc_array(NULL, build.n_details, sizeof(*details));
	if (build.parts && details) {
		for (size_t i = 0; i < build.n_details; i++)
			details[i] = mp_store_get_detail(store, (uint32_t)i);
		build.details = details;
		status = mp_pool_for(pool, mp_store_n_tracks(store), group_track, &build, err);
		if (status == MINDPROF_OK)
			status = merge_parts(&build, out, err);
	} else {
		status = mp_err_nomem(err, build.n_details * sizeof(*details));
	}
	release_parts(&build);
	mp_free(details);
	return status;
}

mp_status mp_groups_build_operators(struct mp_groups *out, const struct mp_store *store, struct mp_pool *pool,
				    enum mp_group_key key, mp_err *err)
{
	struct mp_group_query query = {MP_CLASSES_OPERATOR, key};

	MP_TRY(mp_groups_build(out, store, pool, query, err));
	if (out->list.len)
		return MINDPROF_OK;
	mp_groups_release(out);
	query.classes = 1u << MP_CLASS_RANGE;
	return mp_groups_build(out, store, pool, query, err);
}

void mp_groups_release(struct mp_groups *groups)
{
	mp_vec_release(&groups->list);
	mp_map64_release(&groups->index);
}

void mp_group_fill_times(const struct mp_groups *groups, const struct mp_group *group, struct mp_value *row)
{
	mp_value_int(&row[0], (int64_t)group->count);
	mp_value_int(&row[1], group->total_ns);
	mp_value_int(&row[2], group->self_ns);
	mp_value_double(&row[3], (double)group->total_ns / (double)group->count);
	mp_value_int(&row[4], group->min_ns);
	mp_value_int(&row[5], group->max_ns);
	mp_value_double(&row[6], mp_share((double)group->total_ns, (double)groups->total_ns));
}

void mp_group_fill_flops(const struct mp_group *group, struct mp_value *row)
{
	if (group->flops == 0)
		return;
	mp_value_double(&row[0], (double)group->flops);
	if (group->flops_ns > 0)
		mp_value_double(&row[1], (double)group->flops * 1e9 / (double)group->flops_ns);
}
