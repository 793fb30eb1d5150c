/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The files of a load, locally. Those to read are created: each file is allocated whole before its
 * first byte is written, so that a file system with extents places it in one piece, and is on the
 * disk when this returns.
 */
#include "layout.h"
#include "content.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE (1u << 20)

static int fail(const char *what, const char *path)
{
	fprintf(stderr, "nfsbench: %s %s: %s\n", what, path, strerror(errno));
	return -1;
}

static int write_piece(int fd, const char *buf, size_t len, uint64_t offset)
{
	while (len) {
		ssize_t n = pwrite(fd, buf, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		buf += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

static int fill(int fd, const char *path, uint64_t size, uint64_t start, char *buf)
{
	/* A file system without allocation ahead places the file as well as it can. */
	if (fallocate(fd, 0, 0, (off_t)size) && errno != EOPNOTSUPP)
		return fail("cannot allocate", path);
	for (uint64_t at = 0; at < size; at += PIECE) {
		size_t len = size - at < PIECE ? (size_t)(size - at) : PIECE;

		content_fill(start, at, buf, len);
		if (write_piece(fd, buf, len, at))
			return fail("cannot write", path);
	}
	return fsync(fd) ? fail("cannot sync", path) : 0;
}

static int layout_file(const struct options *o, uint32_t number, char *buf)
{
	char path[PATH_MAX];
	int fd, rc;

	if (snprintf(path, sizeof(path), "%s/f%04u", o->layout, number) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return fail("cannot create in", o->layout);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return fail("cannot create", path);
	rc = fill(fd, path, o->size, content_start(o->seed, number), buf);
	if (close(fd) && !rc)
		rc = fail("cannot close", path);
	return rc;
}

int layout(const struct options *o)
{
	char *buf = malloc(PIECE);
	int rc = buf ? 0 : -1;

	for (uint64_t i = 0; i < o->files && !rc; i++) {
		rc = layout_file(o, (uint32_t)(o->first_file + i), buf);
		if (!o->quiet)
			fprintf(stderr, "laid out %llu of %llu files\n", (unsigned long long)i + 1,
				(unsigned long long)o->files);
	}
	free(buf);
	return rc;
}

/* Whether the file holds what writer NUMBER writes, to the byte and no byte more. */
static int check_file(const struct options *o, uint32_t number, char *buf)
{
	char path[PATH_MAX];
	uint64_t at = 0, start = content_start(o->seed, number);
	ssize_t n = 0;
	int fd;

	if (snprintf(path, sizeof(path), "%s/w%04u", o->check, number) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return fail("cannot open in", o->check);
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail("cannot open", path);
	while ((n = pread(fd, buf, PIECE, (off_t)at)) > 0) {
		if (content_differences(start, at, buf, (size_t)n))
			break;
		at += (uint64_t)n;
	}
	close(fd);
	if (n < 0)
		return fail("cannot read", path);
	if (n == 0 && at == o->size)
		return 0;
	fprintf(stderr, "nfsbench: %s is not what was written: %s after %llu of %llu bytes\n", path,
		n ? "other bytes" : "its end", (unsigned long long)at, (unsigned long long)o->size);
	return -1;
}

int layout_check(const struct options *o)
{
	char *buf = malloc(PIECE);
	int rc = buf ? 0 : -1;

	for (uint64_t i = 0; i < o->files && !rc; i++)
		rc = check_file(o, (uint32_t)(o->first_file + i), buf);
	free(buf);
	return rc;
}
