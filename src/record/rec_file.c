/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the three files of a recording share: creation, headers, and writing at a position without
 * ever raising a signal. Layouts: docs/formats/native.md.
 */
#include "record/rec.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/hash.h"

#include "base/banned.h"

int mp_rec_file_create(int dir_fd, const char *name, bool readable)
{
	int flags = (readable ? O_RDWR : O_WRONLY) | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd;

	do
		fd = openat(dir_fd, name, flags, 0640);
	while (fd < 0 && errno == EINTR);
	return fd;
}

struct mp_native_file_header mp_rec_file_header(enum mp_native_file_kind kind, const uint8_t session_id[16])
{
	struct mp_native_file_header header = {
		.version = MP_NATIVE_VERSION,
		.header_bytes = sizeof(header),
		.kind = kind,
		.pid = (uint32_t)getpid(),
	};

	memcpy(header.magic, MP_NATIVE_MAGIC, sizeof(header.magic));
	memcpy(header.session_id, session_id, sizeof(header.session_id));
	header.crc = mp_crc32c(0, &header, offsetof(struct mp_native_file_header, crc));
	return header;
}

bool mp_rec_file_too_big(uint64_t end)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	       end > limit.rlim_cur;
}

int mp_rec_write_at(int fd, struct iovec *iov, int n, uint64_t offset)
{
	uint64_t total = 0;

	for (int i = 0; i < n; i++)
		total += iov[i].iov_len;
	if (mp_rec_file_too_big(offset + total))
		return EFBIG;
	while (n > 0) {
		ssize_t written = pwritev(fd, iov, n, (off_t)offset);

		if (written < 0) {
			if (errno == EINTR)
				continue;
			return errno;
		}
		if (written == 0)
			return ENOSPC;
		offset += (uint64_t)written;
		while (n > 0 && (size_t)written >= iov->iov_len) {
			written -= (ssize_t)iov->iov_len;
			iov++;
			n--;
		}
		if (n > 0) {
			iov->iov_base = (char *)iov->iov_base + written;
			iov->iov_len -= (size_t)written;
		}
	}
	return 0;
}

void mp_rec_segment_seal(struct mp_native_segment *segment)
{
	segment->header_crc = mp_crc32c(0, segment, offsetof(struct mp_native_segment, header_crc));
}
