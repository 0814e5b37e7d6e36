/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages about the data and facts about the recording. Equal messages collapse into one with a
 * count, so broken input of any size makes few notes. When memory is out, one note that was
 * prepared in advance says so.
 */
#include <stdarg.h>

#include "base/hash.h"
#include "store/st_private.h"

#include "base/banned.h"

#define NOTE_TEXT_MAX 2048

static bool same_note(const void *wanted, const void *entries, uint32_t id)
{
	const struct mp_note *a = wanted, *b = (const struct mp_note *)entries + id;

	return a->severity == b->severity && a->code == b->code && a->path == b->path;
}

static bool same_fact(const void *wanted, const void *entries, uint32_t id)
{
	return ((const struct mp_fact *)entries)[id].key == ((const struct mp_fact *)wanted)->key;
}

static uint64_t note_hash(const struct mp_store *store, const struct mp_note *note)
{
	return mp_hash_u64(mp_hash_u64(((uint64_t)note->code << 32 | note->path) ^ store->seed) +
			   note->severity);
}

/* Under the lock. False when memory is out. */
static bool count_note(struct mp_store *store, const struct mp_note *note)
{
	uint64_t hash = note_hash(store, note);
	uint32_t id = mp_index_lookup(&store->note_index, hash, same_note, note, store->notes.at);

	if (id != MP_INDEX_NONE) {
		store->notes.at[id].count++;
		return true;
	}
	/* One place stays free for the note that says that memory is out. */
	if (!mp_index_reserve(&store->note_index) || !mp_vec_reserve(&store->notes, 2))
		return false;
	mp_index_add(&store->note_index, hash, (uint32_t)store->notes.len);
	store->notes.at[store->notes.len] = *note;
	store->notes.at[store->notes.len++].count = 1;
	return true;
}

/* Under the lock. Cannot fail. */
static void note_lost(struct mp_store *store)
{
	if (store->lost_note.count++ == 0) {
		store->lost_note_at = store->notes.len;
		store->notes.at[store->notes.len++] = store->lost_note;
	}
	store->notes.at[store->lost_note_at].count = store->lost_note.count;
}

void mp_store_count_lost(struct mp_store *store)
{
	mp_store_lock(&store->names_lock);
	note_lost(store);
	mp_store_unlock(&store->names_lock);
}

/* Length of the text without a UTF-8 sequence that was cut at its end. */
static size_t whole_utf8(const char *text, size_t len)
{
	size_t more = 0; /* continuation bytes at the end */
	unsigned char lead;

	while (more < 3 && more < len && ((unsigned char)text[len - 1 - more] & 0xc0) == 0x80)
		more++;
	if (more == len)
		return len;
	lead = (unsigned char)text[len - 1 - more];
	if ((lead >= 0xc0 && more < 1) || (lead >= 0xe0 && more < 2) || (lead >= 0xf0 && more < 3))
		return len - 1 - more;
	return len;
}

void mp_store_note(struct mp_store *store, enum mp_severity severity, const char *code, const char *path,
		   int64_t byte_offset, const char *fmt, ...)
{
	struct mp_note note = {.severity = severity, .byte_offset = byte_offset};
	char text[NOTE_TEXT_MAX];
	va_list args;
	int written;
	size_t len;

	va_start(args, fmt);
	written = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	len = written < 0 ? 0 : MP_MIN((size_t)written, sizeof(text) - 1);
	if (written >= (int)sizeof(text))
		len = whole_utf8(text, len);
	note.code = mp_store_string(store, code);
	note.path = path ? mp_store_string(store, path) : 0;
	note.text = mp_strtab_add(store->strings, text, len);
	mp_store_lock(&store->names_lock);
	if (note.code == MP_STR_NONE || note.path == MP_STR_NONE || note.text == MP_STR_NONE ||
	    !count_note(store, &note))
		note_lost(store);
	mp_store_unlock(&store->names_lock);
}

size_t mp_store_n_notes(const struct mp_store *store)
{
	size_t n;

	mp_store_lock(&store->names_lock);
	n = store->notes.len;
	mp_store_unlock(&store->names_lock);
	return n;
}

struct mp_note mp_store_get_note(const struct mp_store *store, size_t index)
{
	struct mp_note note = {.byte_offset = -1};

	mp_store_lock(&store->names_lock);
	if (index < store->notes.len)
		note = store->notes.at[index];
	mp_store_unlock(&store->names_lock);
	return note;
}

void mp_store_set_fact(struct mp_store *store, const char *key, const char *text, size_t len)
{
	struct mp_fact fact = {mp_store_string(store, key), mp_strtab_add(store->strings, text, len)};
	uint64_t hash = mp_hash_u64(fact.key ^ store->seed);
	uint32_t id;

	mp_store_lock(&store->names_lock);
	id = mp_index_lookup(&store->fact_index, hash, same_fact, &fact, store->facts.at);
	if (fact.key == MP_STR_NONE || fact.text == MP_STR_NONE) {
		note_lost(store);
	} else if (id != MP_INDEX_NONE) {
		store->facts.at[id].text = fact.text;
	} else if (mp_index_reserve(&store->fact_index) && mp_vec_push(&store->facts, fact)) {
		mp_index_add(&store->fact_index, hash, (uint32_t)(store->facts.len - 1));
	} else {
		note_lost(store);
	}
	mp_store_unlock(&store->names_lock);
}

size_t mp_store_n_facts(const struct mp_store *store)
{
	size_t n;

	mp_store_lock(&store->names_lock);
	n = store->facts.len;
	mp_store_unlock(&store->names_lock);
	return n;
}

void mp_store_get_fact(const struct mp_store *store, size_t index, struct mp_str *key, struct mp_str *text)
{
	struct mp_fact fact = {0, 0};

	mp_store_lock(&store->names_lock);
	if (index < store->facts.len)
		fact = store->facts.at[index];
	mp_store_unlock(&store->names_lock);
	*key = mp_store_text(store, fact.key);
	*text = mp_store_text(store, fact.text);
}

struct mp_str mp_store_fact(const struct mp_store *store, const char *key)
{
	struct mp_fact fact = {mp_strtab_lookup(store->strings, key, strlen(key)), 0};
	uint32_t id = MP_INDEX_NONE;

	mp_store_lock(&store->names_lock);
	if (fact.key != MP_STR_NONE)
		id = mp_index_lookup(&store->fact_index, mp_hash_u64(fact.key ^ store->seed), same_fact,
				     &fact, store->facts.at);
	if (id != MP_INDEX_NONE)
		fact.text = store->facts.at[id].text;
	mp_store_unlock(&store->names_lock);
	return mp_store_text(store, fact.text);
}
