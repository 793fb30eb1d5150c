/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The image's bytes. By default they are an anonymous file in memory, sparse: it takes as much
 * memory as was ever written, and `echo 3 > /proc/sys/vm/drop_caches` does not touch it, so that no
 * time of a real disk gets into a measurement. An image in a file (--image) is kept between runs,
 * but its cache is dropped with everybody else's: put it on a tmpfs, or read it before measuring.
 */
#include "image.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int image_fd = -1;

int image_open(const char *path, uint64_t size)
{
	if (path)
		image_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	else
		image_fd = memfd_create("mechdisk", MFD_CLOEXEC);
	if (image_fd < 0 || ftruncate(image_fd, (off_t)size) < 0)
		return errno;
	return 0;
}

void image_close(void)
{
	if (image_fd >= 0)
		close(image_fd);
	image_fd = -1;
}

int image_read(void *buffer, uint64_t offset, size_t length)
{
	char *at = buffer;

	while (length) {
		ssize_t n = pread(image_fd, at, length, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : EIO;
		at += n;
		offset += (uint64_t)n;
		length -= (size_t)n;
	}
	return 0;
}

int image_write(const void *buffer, uint64_t offset, size_t length)
{
	const char *at = buffer;

	while (length) {
		ssize_t n = pwrite(image_fd, at, length, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : EIO;
		at += n;
		offset += (uint64_t)n;
		length -= (size_t)n;
	}
	return 0;
}

int image_discard(uint64_t offset, uint64_t length)
{
	if (fallocate(image_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
		      (off_t)length) < 0)
		return errno;
	return 0;
}
