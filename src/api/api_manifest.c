/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of files that we wrote into an output folder, so that a later run replaces its own files
 * and no others, and does not do again what is finished: {"program": "mindprof", "version": "0.1.0",
 * "fingerprint": "17", "files": [{"name": "x", "bytes": 1}], "notes": [{"severity": "problem", ...}]}. A size
 * of null means that the file was being written; without "fingerprint" the analysis did not end
 * (docs/cli/analyze.md).
 */
#include <inttypes.h>

#include "api/api_trace.h"
#include "base/json_in.h"
#include "base/mem.h"
#include "base/num.h"

#include "base/banned.h"

#define MAX_MANIFEST (64u << 20)

const struct api_written *api_manifest_lookup(const struct api_manifest *manifest, const char *name)
{
	size_t i;

	for (i = 0; i < manifest->n; i++)
		if (!strcmp(manifest->files[i].name, name))
			return &manifest->files[i];
	return NULL;
}

bool api_manifest_put(struct api_manifest *manifest, const char *name, uint64_t bytes)
{
	struct api_written *at = (struct api_written *)api_manifest_lookup(manifest, name);
	size_t len = strlen(name);

	if (len >= sizeof(at->name))
		return false;
	if (!at) {
		if (manifest->n == manifest->cap) {
			size_t cap = manifest->cap ? 2 * manifest->cap : 32;

			at = mp_realloc_array(manifest->files, cap, sizeof(*at));
			if (!at)
				return false;
			manifest->files = at;
			manifest->cap = cap;
		}
		at = &manifest->files[manifest->n++];
		memcpy(at->name, name, len + 1);
	}
	at->bytes = bytes;
	return true;
}

void api_manifest_remove(struct api_manifest *manifest, const char *name)
{
	struct api_written *at = (struct api_written *)api_manifest_lookup(manifest, name);

	if (at)
		*at = manifest->files[--manifest->n];
}

void api_manifest_release(struct api_manifest *manifest)
{
	mp_free(manifest->files);
	if (manifest->notes.shape)
		mp_table_release(&manifest->notes);
	*manifest = (struct api_manifest){0};
}

/* ----------------------------------------------------------------- reading */

/* Takes one {"name", "bytes"}; the object has begun. E_FORMAT when it is none of ours. */
static mp_status read_file_entry(struct mp_json *json, struct api_manifest *out)
{
	struct api_written entry = {.bytes = API_BYTES_ANY};
	enum mp_json_type type;

	while ((type = mp_json_next(json)) == MP_JSON_KEY) {
		bool is_name = mp_json_key_is(json, "name"), is_bytes = mp_json_key_is(json, "bytes");

		type = mp_json_next(json);
		if (is_name && type == MP_JSON_STRING && !json->escaped && json->len < sizeof(entry.name)) {
			memcpy(entry.name, json->text, json->len);
			entry.name[json->len] = '\0';
		} else if (is_bytes && type == MP_JSON_NUMBER) {
			if (!mp_num_parse_u64(json->text, json->len, &entry.bytes))
				return MINDPROF_E_FORMAT;
		} else if (!is_bytes || type != MP_JSON_NULL) {
			return MINDPROF_E_FORMAT;
		}
	}
	if (type != MP_JSON_OBJECT_END || !entry.name[0])
		return MINDPROF_E_FORMAT;
	return api_manifest_put(out, entry.name, entry.bytes) ? MINDPROF_OK : MINDPROF_E_NOMEM;
}

static mp_status read_files(struct mp_json *json, struct api_manifest *out)
{
	enum mp_json_type type = mp_json_next(json);

	if (type != MP_JSON_ARRAY)
		return MINDPROF_E_FORMAT;
	while ((type = mp_json_next(json)) == MP_JSON_OBJECT)
		MP_TRY(read_file_entry(json, out));
	return type == MP_JSON_ARRAY_END ? MINDPROF_OK : MINDPROF_E_FORMAT;
}

/* Texts of one note are decoded into buf one after the other, each with a NUL: places, as buf may move. */
struct note_texts {
	struct mp_buf buf, one;
	size_t severity, code, text, path;
};

static bool take_text(const struct mp_json *json, struct note_texts *texts, size_t *place)
{
	struct mp_json_str text = mp_json_string(json, &texts->one);

	*place = texts->buf.len;
	mp_buf_add(&texts->buf, text.text, text.len);
	mp_buf_add_char(&texts->buf, '\0');
	return !texts->buf.failed && !texts->one.failed;
}

static bool take_number(const struct mp_json *json, enum mp_json_type type, int64_t *out)
{
	return type == MP_JSON_NUMBER && mp_num_parse_i64(json->text, json->len, out);
}

/* Takes the members of one note; the object has begun. */
static mp_status read_members(struct mp_json *json, struct note_texts *texts, struct mindprof_note *note)
{
	enum mp_json_type type;
	int64_t count = 1;

	while ((type = mp_json_next(json)) == MP_JSON_KEY) {
		bool is_offset = mp_json_key_is(json, "byte_offset"),
		     is_count = mp_json_key_is(json, "count");
		size_t *place = mp_json_key_is(json, "severity") ? &texts->severity
				: mp_json_key_is(json, "code")   ? &texts->code
				: mp_json_key_is(json, "text")   ? &texts->text
				: mp_json_key_is(json, "path")   ? &texts->path
								 : NULL;

		type = mp_json_next(json);
		if (place && type == MP_JSON_STRING) {
			if (!take_text(json, texts, place))
				return MINDPROF_E_NOMEM;
		} else if (!(is_offset && take_number(json, type, &note->byte_offset)) &&
			   !(is_count && take_number(json, type, &count))) {
			return MINDPROF_E_FORMAT;
		}
	}
	note->count = (uint64_t)count;
	return type == MP_JSON_OBJECT_END ? MINDPROF_OK : MINDPROF_E_FORMAT;
}

static mp_status read_note(struct mp_json *json, struct note_texts *texts, struct api_manifest *out)
{
	struct mindprof_note note = {.byte_offset = -1};
	const char *severity;

	mp_buf_clear(&texts->buf);
	mp_buf_add_char(&texts->buf, '\0'); /* what is not given is "" */
	texts->severity = texts->code = texts->text = texts->path = 0;
	MP_TRY(read_members(json, texts, &note));
	severity = texts->buf.data + texts->severity;
	note.severity = *severity == 'i'   ? MINDPROF_INFO
			: *severity == 'w' ? MINDPROF_WARNING
					   : MINDPROF_PROBLEM;
	note.code = texts->buf.data + texts->code;
	note.text = texts->buf.data + texts->text;
	note.path = texts->buf.data + texts->path;
	return api_add_note(&out->notes, &note) ? MINDPROF_OK : MINDPROF_E_NOMEM;
}

static mp_status read_notes(struct mp_json *json, struct api_manifest *out)
{
	struct note_texts texts = {0};
	enum mp_json_type type = mp_json_next(json);
	mp_status status = type == MP_JSON_ARRAY ? MINDPROF_OK : MINDPROF_E_FORMAT;

	mp_buf_init(&texts.buf, MAX_MANIFEST);
	mp_buf_init(&texts.one, MAX_MANIFEST);
	while (!status && (type = mp_json_next(json)) == MP_JSON_OBJECT)
		status = read_note(json, &texts, out);
	mp_buf_release(&texts.buf);
	mp_buf_release(&texts.one);
	return status || type == MP_JSON_ARRAY_END ? status : MINDPROF_E_FORMAT;
}

static mp_status read_manifest(struct mp_json *json, struct api_manifest *out)
{
	bool ours = false;
	enum mp_json_type type = mp_json_next(json);

	if (type != MP_JSON_OBJECT)
		return MINDPROF_E_FORMAT;
	while ((type = mp_json_next(json)) == MP_JSON_KEY) {
		if (mp_json_key_is(json, "files")) {
			MP_TRY(read_files(json, out));
			continue;
		}
		if (mp_json_key_is(json, "notes")) {
			MP_TRY(read_notes(json, out));
			continue;
		}
		if (mp_json_key_is(json, "program"))
			ours = mp_json_next(json) == MP_JSON_STRING && json->len == 8 &&
			       !memcmp(json->text, "mindprof", 8);
		else if (mp_json_key_is(json, "fingerprint")) {
			if (mp_json_next(json) != MP_JSON_STRING ||
			    !mp_num_parse_u64(json->text, json->len, &out->fingerprint))
				return MINDPROF_E_FORMAT;
		} else if (mp_json_next(json) != MP_JSON_STRING)
			return MINDPROF_E_FORMAT;
	}
	return type == MP_JSON_OBJECT_END && ours ? MINDPROF_OK : MINDPROF_E_FORMAT;
}

mp_status api_manifest_read(const struct mp_dir *dir, struct api_manifest *out, mp_err *err)
{
	struct mp_file file;
	struct mp_json json;
	mp_status status = mp_file_open_at(dir, API_MANIFEST, &file, err);

	*out = (struct api_manifest){0};
	mp_table_init(&out->notes, &api_notes_shape);
	if (status)
		return status == MINDPROF_E_NOMEM ? status : MINDPROF_OK;
	status = MINDPROF_E_FORMAT;
	if (file.size <= MAX_MANIFEST) {
		mp_json_init(&json, file.data, file.size);
		status = read_manifest(&json, out);
	}
	mp_file_close(&file);
	out->found = status == MINDPROF_OK;
	if (!out->found) {
		api_manifest_release(out);
		mp_table_init(&out->notes, &api_notes_shape);
	}
	return status == MINDPROF_E_NOMEM ? mp_err_nomem(err, sizeof(struct api_written)) : MINDPROF_OK;
}

/* ----------------------------------------------------------------- writing */

static void print_member(struct mp_json_out *json, const char *key, const char *text)
{
	mp_json_out_key(json, key);
	mp_json_out_cstr(json, text);
}

static void print_notes(const struct api_manifest *manifest, struct mp_json_out *json)
{
	static const char *const severities[] = {"info", "warning", "problem"};
	size_t i;

	mp_json_out_array(json);
	for (i = 0; i < manifest->notes.n_rows; i++) {
		struct mindprof_note note = api_note_of_row(mp_table_row(&manifest->notes, i));

		mp_json_out_object(json);
		print_member(json, "severity", severities[note.severity]);
		print_member(json, "code", note.code);
		print_member(json, "text", note.text);
		print_member(json, "path", note.path);
		mp_json_out_key(json, "byte_offset");
		mp_json_out_i64(json, note.byte_offset);
		mp_json_out_key(json, "count");
		mp_json_out_u64(json, note.count);
		mp_json_out_object_end(json);
	}
	mp_json_out_array_end(json);
}

static void print_files(const struct api_manifest *manifest, struct mp_json_out *json)
{
	size_t i;

	mp_json_out_array(json);
	for (i = 0; i < manifest->n; i++) {
		mp_json_out_object(json);
		mp_json_out_key(json, "name");
		mp_json_out_cstr(json, manifest->files[i].name);
		mp_json_out_key(json, "bytes");
		if (manifest->files[i].bytes == API_BYTES_ANY)
			mp_json_out_null(json);
		else
			mp_json_out_u64(json, manifest->files[i].bytes);
		mp_json_out_object_end(json);
	}
	mp_json_out_array_end(json);
}

static void print_manifest(const struct api_manifest *manifest, bool pretty, struct mp_buf *buf)
{
	struct mp_json_out json;
	char digits[24]; /* a string: as a number it is too large for many readers */

	snprintf(digits, sizeof(digits), "%" PRIu64, manifest->fingerprint);
	mp_json_out_init(&json, buf, pretty ? 4 : 0);
	mp_json_out_object(&json);
	mp_json_out_key(&json, "program");
	mp_json_out_cstr(&json, "mindprof");
	mp_json_out_key(&json, "version");
	mp_json_out_cstr(&json, MINDPROF_VERSION);
	if (manifest->fingerprint) {
		mp_json_out_key(&json, "fingerprint");
		mp_json_out_cstr(&json, digits);
	}
	mp_json_out_key(&json, "files");
	print_files(manifest, &json);
	if (manifest->notes.n_rows) {
		mp_json_out_key(&json, "notes");
		print_notes(manifest, &json);
	}
	mp_json_out_object_end(&json);
}

mp_status api_manifest_write(const struct mp_dir *dir, const struct api_manifest *manifest, bool pretty,
			     mp_err *err)
{
	struct mp_buf buf;
	struct mp_out out;
	mp_status status;

	mp_buf_init(&buf, MAX_MANIFEST);
	print_manifest(manifest, pretty, &buf);
	if (buf.failed) {
		status = mp_err_nomem(err, buf.len);
	} else {
		status = mp_out_open_at(dir, API_MANIFEST, true, &out, err);
		if (!status) {
			mp_out_write(&out, buf.data, buf.len);
			status = mp_out_commit(&out, err);
		}
	}
	mp_buf_release(&buf);
	return status;
}
