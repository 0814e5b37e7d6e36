/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and segments of a native recording: header checks, the chain of segments, and finding it
 * again after damage. Input: mapped files. Document: docs/formats/native.md.
 */
#include "readers/rd_native.h"

#include "base/banned.h"

#define FORGET_BYTES (1u << 20)

const struct mp_fault_kind native_fault_kinds[NATIVE_FAULTS] = {
	[NATIVE_BAD_SEGMENT] = {MP_PROBLEM, "damaged", "no sound segment header, skipped to the next one"},
	[NATIVE_BAD_PAYLOAD] = {MP_PROBLEM, "checksum",
				"checksum of a segment does not match, its content is skipped"},
	[NATIVE_CUT] = {MP_WARNING, "recording-cut", "file ends inside a segment, which is skipped"},
	[NATIVE_BAD_ENTRY] = {MP_PROBLEM, "bad-entry", "entry does not fit its segment, skipped"},
	[NATIVE_BAD_RECORD] = {MP_PROBLEM, "bad-record", "event record is not valid, skipped"},
	[NATIVE_UNKNOWN_SITE] = {MP_WARNING, "unknown-site", "event of a site that has no name here"},
	[NATIVE_UNKNOWN_THREAD] = {MP_WARNING, "unknown-thread", "events of a thread that is not described"},
	[NATIVE_LOST_END] = {MP_INFO, "async-unpaired", "end of a range whose begin is not in the recording"},
	[NATIVE_SAME_ID] = {MP_WARNING, "async-same-id",
			    "two ranges across threads have the same id, one is left out"},
};

static mp_status check_header(const struct mp_file *file, enum mp_native_file_kind kind,
			      struct mp_native_file_header *header, mp_err *err)
{
	if (file->size < sizeof(*header))
		return mp_err_set(err, MINDPROF_E_TRUNCATED, file->path, (int64_t)file->size,
				  "file is shorter than its header");
	memcpy(header, file->data, sizeof(*header));
	if (memcmp(header->magic, "\0\0\0\0\0\0\0", sizeof(header->magic)) == 0)
		return mp_err_set(err, MINDPROF_E_TRUNCATED, file->path, 0,
				  "file header was not written yet");
	if (memcmp(header->magic, MP_NATIVE_MAGIC, sizeof(header->magic)) != 0)
		return mp_err_set(err, MINDPROF_E_FORMAT, file->path, 0, "not a file of a native recording");
	if (header->version != MP_NATIVE_VERSION)
		return mp_err_set(err, MINDPROF_E_UNSUPPORTED, file->path,
				  offsetof(struct mp_native_file_header, version),
				  "format version %u is not known", header->version);
	if (header->crc != mp_crc32c(0, header, offsetof(struct mp_native_file_header, crc)))
		return mp_err_set(err, MINDPROF_E_FORMAT, file->path, 0,
				  "checksum of the file header does not match");
	if (header->features & ~MP_NATIVE_FEATURES_KNOWN)
		return mp_err_set(err, MINDPROF_E_UNSUPPORTED, file->path,
				  offsetof(struct mp_native_file_header, features),
				  "file needs features that are not known (0x%llx)",
				  (unsigned long long)header->features);
	if (header->kind != (uint32_t)kind || header->header_bytes < sizeof(*header) ||
	    header->header_bytes > file->size || header->header_bytes % MP_NATIVE_ALIGN)
		return mp_err_set(err, MINDPROF_E_FORMAT, file->path, 0, "file header does not fit the file");
	return MINDPROF_OK;
}

mp_status native_file_open(const struct mp_dir *dir, const char *name, enum mp_native_file_kind kind,
			   struct mp_file *file, struct mp_native_file_header *header, mp_err *err)
{
	mp_status status;

	MP_TRY(mp_file_open_at(dir, name, file, err));
	status = check_header(file, kind, header, err);
	if (status != MINDPROF_OK)
		mp_file_close(file);
	return status;
}

enum segment_state { SEGMENT_SOUND, SEGMENT_BAD, SEGMENT_CUT };

/* Whether a segment begins at `at`; at + sizeof(struct mp_native_segment) lies in the file. */
static enum segment_state look(const struct mp_file *file, uint64_t at, struct mp_native_segment *segment)
{
	uint64_t left = file->size - at;

	memcpy(segment, file->data + at, sizeof(*segment));
	if (segment->magic != MP_NATIVE_SEGMENT_MAGIC ||
	    segment->header_crc != mp_crc32c(0, segment, offsetof(struct mp_native_segment, header_crc)) ||
	    segment->header_bytes < sizeof(*segment) ||
	    segment->segment_bytes != MP_ALIGN_UP((uint64_t)segment->header_bytes + segment->payload_bytes,
						  (uint64_t)MP_NATIVE_ALIGN))
		return SEGMENT_BAD;
	/* Padding alone may be missing. */
	return (uint64_t)segment->header_bytes + segment->payload_bytes <= left ? SEGMENT_SOUND : SEGMENT_CUT;
}

/* Memory stays flat while a long file is walked. */
static void forget(struct native_walk *walk)
{
	if (walk->at - walk->forgotten < FORGET_BYTES)
		return;
	mp_file_forget(walk->file, walk->forgotten, walk->at - walk->forgotten);
	walk->forgotten = walk->at;
}

bool native_walk_next(struct native_walk *walk, struct mp_native_segment *segment, uint64_t *payload)
{
	uint64_t size = walk->file->size;
	bool lost = false;

	while (walk->at < size && size - walk->at >= sizeof(*segment)) {
		enum segment_state state = look(walk->file, walk->at, segment);

		if (state == SEGMENT_SOUND) {
			*payload = walk->at + segment->header_bytes;
			walk->at += segment->segment_bytes;
			forget(walk);
			return true;
		}
		if (!lost)
			mp_fault_add(&walk->faults[state == SEGMENT_CUT ? NATIVE_CUT : NATIVE_BAD_SEGMENT],
				     (int64_t)walk->at, 1);
		lost = true;
		walk->at += MP_NATIVE_ALIGN;
		forget(walk);
	}
	if (walk->at < size && !lost)
		mp_fault_add(&walk->faults[NATIVE_CUT], (int64_t)walk->at, 1);
	return false;
}

bool native_payload_is_sound(const struct mp_file *file, const struct mp_native_segment *segment,
			     uint64_t payload)
{
	return mp_crc32c(0, file->data + payload, segment->payload_bytes) == segment->payload_crc;
}
