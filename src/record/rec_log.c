/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.mpr: segments are appended at a tracked position, so a write that failed half-way is
 * overwritten by the next one. Layout: docs/formats/native.md.
 */
#include "record/rec.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

#include "base/banned.h"

static struct {
	struct mp_rec_lock lock;
	bool open;
	int fd;
	int errnum;      /* atomic */
	uint64_t offset; /* atomic for readers without the lock */
	struct iovec iov[MP_REC_LOG_IOV + 2];
} session_file;

mp_status mp_rec_log_open(int dir_fd, const uint8_t session_id[16], mp_err *err)
{
	struct mp_native_file_header header = mp_rec_file_header(MP_NATIVE_FILE_SESSION, session_id);
	struct iovec iov = {&header, sizeof(header)};
	int fd = mp_rec_file_create(dir_fd, MP_NATIVE_SESSION_FILE, false);
	int errnum;

	if (fd < 0)
		return mp_err_sys(err, errno, MP_NATIVE_SESSION_FILE, "cannot make '%s'",
				  MP_NATIVE_SESSION_FILE);
	errnum = mp_rec_write_at(fd, &iov, 1, 0);
	if (errnum) {
		close(fd);
		return mp_err_sys(err, errnum, MP_NATIVE_SESSION_FILE, "cannot write '%s'",
				  MP_NATIVE_SESSION_FILE);
	}
	mp_rec_lock(&session_file.lock);
	session_file.fd = fd;
	session_file.open = true;
	__atomic_store_n(&session_file.errnum, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&session_file.offset, sizeof(header), __ATOMIC_RELAXED);
	mp_rec_unlock(&session_file.lock);
	return MINDPROF_OK;
}

/* The segment with its padding, under the lock. */
static bool append(struct mp_native_segment *segment, const struct iovec *iov, int n_iov)
{
	static const char zeros[MP_NATIVE_ALIGN];
	uint64_t offset = session_file.offset;
	int errnum;

	session_file.iov[0] = (struct iovec){segment, sizeof(*segment)};
	memcpy(session_file.iov + 1, iov, (size_t)n_iov * sizeof(*iov));
	session_file.iov[n_iov + 1] = (struct iovec){
		(void *)zeros, segment->segment_bytes - segment->payload_bytes - segment->header_bytes};
	errnum = mp_rec_write_at(session_file.fd, session_file.iov, n_iov + 2, offset);
	if (errnum) {
		__atomic_store_n(&session_file.errnum, errnum, __ATOMIC_RELAXED);
		return false;
	}
	__atomic_store_n(&session_file.offset, offset + segment->segment_bytes, __ATOMIC_RELAXED);
	return true;
}

bool mp_rec_log_add(enum mp_native_segment_kind kind, uint32_t n, const struct iovec *iov, int n_iov)
{
	struct mp_native_segment segment = {
		.magic = MP_NATIVE_SEGMENT_MAGIC,
		.kind = (uint16_t)kind,
		.header_bytes = sizeof(segment),
		.n_records = n,
	};
	uint64_t payload = 0;
	bool done = false;

	if (n_iov > MP_REC_LOG_IOV)
		return false;
	for (int i = 0; i < n_iov; i++) {
		segment.payload_crc = mp_crc32c(segment.payload_crc, iov[i].iov_base, iov[i].iov_len);
		payload += iov[i].iov_len;
	}
	if (payload > UINT32_MAX / 2)
		return false;
	segment.payload_bytes = (uint32_t)payload;
	segment.segment_bytes =
		MP_ALIGN_UP((uint32_t)sizeof(segment) + segment.payload_bytes, MP_NATIVE_ALIGN);
	mp_rec_segment_seal(&segment);
	mp_rec_lock(&session_file.lock);
	if (session_file.open)
		done = append(&segment, iov, n_iov);
	mp_rec_unlock(&session_file.lock);
	return done;
}

bool mp_rec_log_text(enum mp_native_segment_kind kind, const char *text, size_t len)
{
	struct iovec iov = {(void *)text, len};

	return mp_rec_log_add(kind, 1, &iov, 1);
}

uint64_t mp_rec_log_bytes(void)
{
	return __atomic_load_n(&session_file.offset, __ATOMIC_RELAXED);
}

int mp_rec_log_errnum(void)
{
	return __atomic_load_n(&session_file.errnum, __ATOMIC_RELAXED);
}

void mp_rec_log_close(void)
{
	mp_rec_lock(&session_file.lock);
	if (session_file.open)
		close(session_file.fd);
	session_file.open = false;
	mp_rec_unlock(&session_file.lock);
}

void mp_rec_log_child(bool close_fd)
{
	mp_rec_lock_reset(&session_file.lock);
	if (session_file.open && close_fd)
		close(session_file.fd);
	session_file.open = false;
}
