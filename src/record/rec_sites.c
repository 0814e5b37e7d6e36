/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry of call sites: (kind, name, attributes) -> id, for the life of the process. Entries are
 * written to the session file before their id is handed out, so no event lacks its name after a kill.
 *
 * Memory comes straight from mmap, because a site may be met first inside a signal handler that
 * interrupted malloc. It is bounded by MAX_BYTES and MAX_SITES.
 */
#include "record/rec.h"

#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/json_in.h"
#include "base/json_out.h"

#include "base/banned.h"

#define MAX_BYTES ((size_t)64 << 20)
#define MAX_SITES (1u << 20)
#define MAX_ATTRIBUTES ((size_t)64 << 10)
#define BLOCK_BYTES ((size_t)256 << 10)
#define FIRST_BUCKETS 1024u
#define BATCH 64u /* sites of one segment */

struct entry {
	struct mindprof_site site; /* name and attributes are text below */
	struct entry *same_bucket, *next;
	uint64_t hash;
	uint32_t name_len, attributes_len;
	char text[]; /* name, NUL, attributes, NUL */
};

static struct {
	struct mp_rec_lock lock;
	char *block; /* free part of the newest block */
	size_t block_left, bytes;
	struct entry **buckets;
	uint32_t n_buckets, n_sites;
	struct entry *first, *last;
	struct entry *unwritten; /* first that the log does not hold; NULL = all written */
	char scratch[MAX_ATTRIBUTES];
	struct mp_native_site heads[BATCH];
	struct iovec iov[MP_REC_LOG_IOV];
} sites;

/* Stands for every site that finds no room; in the list like any other once it was needed. */
static struct entry out_of_names = {
	.site = {.name = MP_REC_OUT_OF_NAMES, .attributes = "", .kind = MINDPROF_SITE_RANGE},
	.name_len = sizeof(MP_REC_OUT_OF_NAMES) - 1};

/* -------------------------------------------------------------------- memory */

static void *map(size_t bytes)
{
	void *at;

	if (bytes > MAX_BYTES - sites.bytes)
		return NULL;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	sites.bytes += bytes;
	return at;
}

static void *take(size_t bytes)
{
	void *at;

	bytes = MP_ALIGN_UP(bytes, sizeof(void *));
	if (bytes > sites.block_left) {
		size_t want = MP_ALIGN_UP(MP_MAX(bytes, BLOCK_BYTES), (size_t)4096);
		char *block = map(want);

		if (!block)
			return NULL;
		sites.block = block;
		sites.block_left = want;
	}
	at = sites.block;
	sites.block += bytes;
	sites.block_left -= bytes;
	return at;
}

/* Doubles the buckets; false leaves them as they are. */
static bool grow_buckets(void)
{
	uint32_t n = sites.n_buckets ? sites.n_buckets * 2 : FIRST_BUCKETS;
	struct entry **buckets = map(n * sizeof(*buckets));

	if (!buckets)
		return false;
	for (struct entry *entry = sites.first; entry; entry = entry->next) {
		struct entry **bucket = &buckets[entry->hash & (n - 1)];

		if (entry == &out_of_names)
			continue;
		entry->same_bucket = *bucket;
		*bucket = entry;
	}
	if (sites.buckets) {
		munmap(sites.buckets, sites.n_buckets * sizeof(*buckets));
		sites.bytes -= sites.n_buckets * sizeof(*buckets);
	}
	sites.buckets = buckets;
	sites.n_buckets = n;
	return true;
}

/* ------------------------------------------------------------------ registry */

struct key {
	uint32_t kind, line;
	const char *name, *attributes, *file;
	size_t name_len, attributes_len;
	uint64_t hash;
};

static struct entry *find(const struct key *key)
{
	struct entry *entry = sites.n_buckets ? sites.buckets[key->hash & (sites.n_buckets - 1)] : NULL;

	for (; entry; entry = entry->same_bucket) {
		if (entry->hash == key->hash && entry->site.kind == key->kind &&
		    entry->name_len == key->name_len && entry->attributes_len == key->attributes_len &&
		    memcmp(entry->text, key->name, key->name_len) == 0 &&
		    memcmp(entry->text + key->name_len + 1, key->attributes, key->attributes_len) == 0)
			return entry;
	}
	return NULL;
}

/* At the end of the list, with the next id. */
static void append(struct entry *entry)
{
	entry->site.id = ++sites.n_sites;
	if (sites.last)
		sites.last->next = entry;
	else
		sites.first = entry;
	sites.last = entry;
	if (!sites.unwritten)
		sites.unwritten = entry;
}

static struct entry *make(const struct key *key)
{
	size_t bytes = sizeof(struct entry) + key->name_len + key->attributes_len + 2;
	struct entry *entry = NULL;
	struct entry **bucket;

	if (key->name_len < MAX_BYTES && sites.n_sites < MAX_SITES &&
	    (sites.n_sites < sites.n_buckets || grow_buckets()))
		entry = take(bytes);
	if (!entry) {
		if (!out_of_names.site.id)
			append(&out_of_names);
		return &out_of_names;
	}
	memcpy(entry->text, key->name, key->name_len);
	memcpy(entry->text + key->name_len + 1, key->attributes, key->attributes_len);
	entry->site.name = entry->text;
	entry->site.attributes = entry->text + key->name_len + 1;
	entry->site.kind = key->kind;
	entry->name_len = (uint32_t)key->name_len;
	entry->attributes_len = (uint32_t)key->attributes_len;
	entry->hash = key->hash;
	bucket = &sites.buckets[key->hash & (sites.n_buckets - 1)];
	entry->same_bucket = *bucket;
	*bucket = entry;
	append(entry);
	return entry;
}

/* Hands the sites from `unwritten` on to the log, as many as one segment takes; false when it refuses. */
static bool write_batch(void)
{
	static const char zeros[8];
	struct entry *entry = sites.unwritten;
	uint32_t n = 0;
	int n_iov = 0;

	for (; entry && n < BATCH; entry = entry->next, n++) {
		size_t text_bytes = (size_t)entry->name_len + entry->attributes_len;
		struct iovec *iov = sites.iov + n_iov;

		sites.heads[n] = (struct mp_native_site){.id = entry->site.id,
							 .kind = (uint16_t)entry->site.kind,
							 .name_bytes = entry->name_len,
							 .attributes_bytes = entry->attributes_len};
		iov[0] = (struct iovec){&sites.heads[n], sizeof(sites.heads[n])};
		iov[1] = (struct iovec){(void *)entry->site.name, entry->name_len};
		iov[2] = (struct iovec){(void *)entry->site.attributes, entry->attributes_len};
		iov[3] = (struct iovec){(void *)zeros, MP_ALIGN_UP(text_bytes, 8) - text_bytes};
		n_iov += 4;
	}
	if (!mp_rec_log_add(MP_NATIVE_SEG_SITES, n, sites.iov, n_iov))
		return false;
	sites.unwritten = entry;
	return true;
}

static void flush(void)
{
	while (sites.unwritten && write_batch())
		;
}

static struct entry *find_or_make(struct key *key)
{
	struct entry *entry;

	key->hash = mp_hash_bytes(key->name, key->name_len,
				  mp_hash_bytes(key->attributes, key->attributes_len, key->kind));
	entry = find(key);
	if (!entry) {
		entry = make(key);
		flush();
	}
	return entry;
}

/* ---------------------------------------------------------------- attributes */

/* A buffer over the scratch memory, which never grows. */
static struct mp_buf scratch_buf(void)
{
	struct mp_buf buf = {
		.data = sites.scratch, .cap = sizeof(sites.scratch), .max = sizeof(sites.scratch) - 1};

	sites.scratch[0] = '\0';
	return buf;
}

/* Is the text one JSON object? *members: it has some; *has_file: "file" or "line" is among them. */
static bool look_at_object(const char *text, bool *members, bool *has_file)
{
	struct mp_json json;
	enum mp_json_type type;

	*members = *has_file = false;
	mp_json_init(&json, text, strlen(text));
	if (mp_json_next(&json) != MP_JSON_OBJECT)
		return false;
	while ((type = mp_json_next(&json)) == MP_JSON_KEY) {
		*members = true;
		if (mp_json_key_is(&json, "file") || mp_json_key_is(&json, "line"))
			*has_file = true;
		type = mp_json_next(&json);
		if (type == MP_JSON_ERROR || !mp_json_skip(&json, type))
			return false;
	}
	return type == MP_JSON_OBJECT_END && mp_json_next(&json) == MP_JSON_END;
}

/* The members of an object text, without its braces. */
static void add_members(struct mp_buf *buf, const char *text, bool first)
{
	const char *begin = strchr(text, '{') + 1;
	const char *end = strrchr(text, '}');

	if (!first)
		mp_buf_add(buf, ", ", 2);
	mp_buf_add(buf, begin, (size_t)(end - begin));
}

/* File, line and the attributes that the program gave, as one JSON object in the scratch memory. */
static void put_attributes(struct key *key, const char *given)
{
	struct mp_buf buf = scratch_buf();
	struct mp_json_out json;
	bool members = false, has_file = false;
	bool is_object = given && look_at_object(given, &members, &has_file);

	key->attributes = sites.scratch;
	key->attributes_len = 0;
	if (!key->file && !(given && *given))
		return;
	mp_json_out_init(&json, &buf, 0);
	mp_json_out_object(&json);
	if (key->file && !has_file) {
		mp_json_out_key(&json, "file");
		mp_json_out_cstr(&json, key->file);
		mp_json_out_key(&json, "line");
		mp_json_out_u64(&json, key->line);
	}
	if (is_object && members) {
		add_members(&buf, given, !key->file || has_file);
	} else if (given && !is_object) {
		mp_json_out_key(&json, "text");
		mp_json_out_cstr(&json, given);
	}
	mp_json_out_object_end(&json);
	if (buf.failed) {
		buf = scratch_buf();
		mp_buf_add_str(&buf, "{\"text\": \"(attributes too long)\"}");
	}
	key->attributes_len = buf.len;
}

static void put_text(struct mp_json_out *json, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	mp_json_out_key(json, key);
	mp_json_out_cstr(json, text);
}

static void put_op(struct key *key, const struct mindprof_op *op)
{
	struct mp_buf buf = scratch_buf();
	struct mp_json_out json;

	mp_json_out_init(&json, &buf, 0);
	mp_json_out_object(&json);
	put_text(&json, "type", op->type);
	put_text(&json, "shapes", op->shapes);
	put_text(&json, "dtypes", op->dtypes);
	put_text(&json, "device", op->device);
	if (op->stream >= 0) {
		mp_json_out_key(&json, "stream");
		mp_json_out_i64(&json, op->stream);
	}
	if (op->flops > 0) {
		mp_json_out_key(&json, "flops");
		mp_json_out_double(&json, op->flops);
	}
	mp_json_out_object_end(&json);
	if (buf.failed) {
		buf = scratch_buf();
		mp_buf_add_str(&buf, "{\"text\": \"(attributes too long)\"}");
	}
	key->attributes = sites.scratch;
	key->attributes_len = buf.len;
}

/* ----------------------------------------------------------------- the calls */

static struct key key_of(uint32_t kind, const char *name)
{
	struct key key = {.kind = kind, .name = name ? name : ""};

	key.name_len = strlen(key.name);
	return key;
}

uint32_t mp_rec_site_id(struct mindprof_site *site)
{
	uint32_t id = __atomic_load_n(&site->id, __ATOMIC_ACQUIRE);
	struct key key;

	if (id)
		return id;
	key = key_of(site->kind, site->name);
	key.file = site->file;
	key.line = site->line;
	mp_rec_lock(&sites.lock);
	put_attributes(&key, site->attributes);
	id = find_or_make(&key)->site.id;
	mp_rec_unlock(&sites.lock);
	__atomic_store_n(&site->id, id, __ATOMIC_RELEASE);
	return id;
}

struct mindprof_site *mp_rec_site_get(uint32_t kind, const char *name, const char *attributes)
{
	struct key key = key_of(kind, name);
	struct entry *entry;

	mp_rec_lock(&sites.lock);
	put_attributes(&key, attributes);
	entry = find_or_make(&key);
	mp_rec_unlock(&sites.lock);
	return &entry->site;
}

struct mindprof_site *mp_rec_op_site(const struct mindprof_op *op)
{
	struct key key = key_of(MINDPROF_SITE_OPERATOR, op->name);
	struct entry *entry;

	mp_rec_lock(&sites.lock);
	put_op(&key, op);
	entry = find_or_make(&key);
	mp_rec_unlock(&sites.lock);
	return &entry->site;
}

void mp_rec_sites_flush(bool restart)
{
	mp_rec_lock(&sites.lock);
	if (restart)
		sites.unwritten = sites.first;
	flush();
	mp_rec_unlock(&sites.lock);
}

void mp_rec_sites_fork_prepare(void)
{
	mp_rec_lock(&sites.lock);
}

void mp_rec_sites_fork_done(void)
{
	mp_rec_unlock(&sites.lock);
}

void mp_rec_sites_child(void)
{
	mp_rec_lock_reset(&sites.lock);
}
