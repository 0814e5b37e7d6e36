/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escaped names and finished args, made once per id, so that writing an event copies bytes. The
 * cache is bounded; what it has no room for is made again each time.
 */
#include "writers/wr_trace_event.h"

#include "base/banned.h"

#define CACHE_BYTES ((size_t)32 << 20)
#define SCRATCH_NAME 0
#define SCRATCH_DETAIL 1

void mp_texts_init(struct mp_texts *texts, const struct mp_store *store)
{
	texts->store = store;
	mp_arena_init(&texts->arena, CACHE_BYTES);
	mp_buf_init(&texts->scratch[SCRATCH_NAME], UINT32_MAX / 2);
	mp_buf_init(&texts->scratch[SCRATCH_DETAIL], UINT32_MAX / 2);
	mp_buf_init(&texts->work, UINT32_MAX / 2);
}

/* The entry of an id, made empty when new; NULL when memory is out. */
static struct mp_fragment *entry(mp_fragments *entries, size_t id)
{
	/* No string (memory was out when it was made) is shown as the empty one. */
	if (id == MP_STR_NONE)
		id = MP_STR_EMPTY;
	if (id >= entries->len) {
		size_t more = id + 1 - entries->len;

		if (!mp_vec_reserve(entries, more))
			return NULL;
		memset(&entries->at[entries->len], 0, more * sizeof(*entries->at));
		entries->len += more;
	}
	return &entries->at[id];
}

/* The text of the buffer in place; NULL when making it failed. */
static const struct mp_fragment *keep_scratch(struct mp_buf *made, struct mp_fragment *uncached)
{
	if (!mp_buf_reserve(made, MP_FRAGMENT_SLACK))
		return NULL;
	*uncached = (struct mp_fragment){.at = made->data, .len = (uint32_t)made->len};
	return uncached;
}

/* As above, but copied to the cache when that has room. */
static const struct mp_fragment *keep(struct mp_texts *texts, struct mp_buf *made, struct mp_fragment *at,
				      struct mp_fragment *uncached)
{
	size_t len = made->len;
	char *copy = NULL;

	if (!made->failed && len <= CACHE_BYTES / 64)
		copy = mp_arena_alloc_bytes(&texts->arena, len + MP_FRAGMENT_SLACK);
	if (!copy)
		return keep_scratch(made, uncached);
	memcpy(copy, made->data, len);
	*at = (struct mp_fragment){.at = copy, .len = (uint32_t)len};
	return at;
}

const struct mp_fragment *mp_texts_name(struct mp_texts *texts, uint32_t name)
{
	struct mp_fragment *at = entry(&texts->names, name);
	struct mp_buf *made = &texts->scratch[SCRATCH_NAME];
	struct mp_str text;

	if (!at || at->at)
		return at;
	text = mp_store_text(texts->store, name);
	mp_buf_clear(made);
	mp_buf_add_str(made, ",\"name\":");
	mp_json_escape(made, text.text, text.len);
	return keep(texts, made, at, &texts->uncached[SCRATCH_NAME]);
}

static void make_detail(struct mp_texts *texts, struct mp_buf *made, uint32_t detail, uint8_t cls)
{
	struct mp_detail full = mp_store_get_detail(texts->store, detail);
	struct mp_str category = mp_store_text(texts->store, full.category);

	if (!category.len) {
		category.text = mp_trace_class_category(cls);
		category.len = strlen(category.text);
	}
	mp_buf_clear(made);
	mp_buf_add_str(made, ",\"cat\":");
	mp_json_escape(made, category.text, category.len);
	mp_buf_add_str(made, ",\"args\":");
	mp_trace_args(made, texts->store, &full, cls, &texts->work);
	mp_buf_add_char(made, '}');
}

const struct mp_fragment *mp_texts_detail(struct mp_texts *texts, uint32_t detail, uint8_t cls)
{
	uint8_t known = cls < MP_CLASSES ? cls : MP_CLASS_RANGE;
	size_t place = detail ? MP_CLASSES - 1 + (size_t)detail : known;
	struct mp_fragment *at = entry(&texts->details, place);
	struct mp_buf *made = &texts->scratch[SCRATCH_DETAIL];
	struct mp_fragment *uncached = &texts->uncached[SCRATCH_DETAIL];

	if (!at || (at->at && at->cls == known))
		return at;
	make_detail(texts, made, detail, known);
	/* A detail that is used with several classes is kept for the first one only. */
	if (!at->at && keep(texts, made, at, uncached) == at) {
		at->cls = known;
		return at;
	}
	return keep_scratch(made, uncached);
}

void mp_texts_release(struct mp_texts *texts)
{
	mp_arena_release(&texts->arena);
	mp_vec_release(&texts->names);
	mp_vec_release(&texts->details);
	mp_buf_release(&texts->scratch[SCRATCH_NAME]);
	mp_buf_release(&texts->scratch[SCRATCH_DETAIL]);
	mp_buf_release(&texts->work);
}
