/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A trace's files, locally: those that it needs are made, those that it leaves are compared. A file is
 * allocated whole before its first byte is written, so that a file system with extents places it in one
 * piece, and is on the disk when this returns.
 */
#include "replay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (1u << 20)

static int fail(const char *what, const char *path)
{
	fprintf(stderr, "nfsreplay: cannot %s %s: %s\n", what, path, strerror(errno));
	return -1;
}

static int local_path(const struct trace *t, const char *directory, uint32_t object, char *path)
{
	char buffer[TRACE_PATH_MAX + 1];

	if (snprintf(path, PATH_MAX, "%s/%s", directory, trace_path(t, object, buffer)) < PATH_MAX)
		return 0;
	errno = ENAMETOOLONG;
	return fail("make", directory);
}

static int write_all(int fd, const char *data, size_t length, uint64_t at)
{
	while (length) {
		ssize_t n = pwrite(fd, data, length, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		data += n;
		length -= (size_t)n;
		at += (uint64_t)n;
	}
	return 0;
}

static int fill(int fd, const struct trace_object *o, uint64_t seed, char *buffer)
{
	/* A file system without allocation ahead places the file as well as it can. */
	if (o->prepared_size && fallocate(fd, 0, 0, (off_t)o->prepared_size) && errno != EOPNOTSUPP)
		return -1;
	for (uint64_t at = 0; at < o->prepared_size; at += PIECE) {
		const uint64_t left = o->prepared_size - at;
		const size_t length = left < PIECE ? (size_t)left : PIECE;

		if (write_all(fd, bytes_of(seed, o->prepared_content, at, buffer, length), length,
			      at))
			return -1;
	}
	return fsync(fd);
}

static int make(const char *path, const struct trace_object *o, uint64_t seed, char *buffer)
{
	int fd, rc;

	if (o->prepared == TRACE_DIR)
		return mkdir(path, 0777) ? fail("make", path) : 0;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return fail("make", path);
	rc = fill(fd, o, seed, buffer) ? fail("write", path) : 0;
	if (close(fd) && !rc)
		rc = fail("close", path);
	return rc;
}

/* The directory is made, or must be empty: what another replay left would be in the way. */
static int begin(const char *directory)
{
	const struct dirent *entry;
	DIR *dir;
	int rc = 0;

	if (mkdir(directory, 0777) && errno != EEXIST)
		return fail("make", directory);
	dir = opendir(directory);
	if (!dir)
		return fail("open", directory);
	while (!rc && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		    strcmp(entry->d_name, "lost+found")) {
			fprintf(stderr,
				"nfsreplay: --prepare %s: must be an empty directory or none, and "
				"holds %s\n",
				directory, entry->d_name);
			rc = -1;
		}
	}
	closedir(dir);
	return rc;
}

int prepare_lay_out(const struct trace *t, const char *directory, uint64_t seed)
{
	char *buffer = malloc(PIECE + 16), path[PATH_MAX];
	const mode_t mask = umask(0); /* whoever the clients are */
	int rc = buffer ? begin(directory) : -1;

	for (uint32_t i = 0; i < t->object_count && !rc; i++) {
		if (!t->objects[i].prepared)
			continue;
		rc = local_path(t, directory, i, path);
		if (!rc)
			rc = make(path, &t->objects[i], seed, buffer);
	}
	umask(mask);
	free(buffer);
	return rc;
}

/* ---- what is there afterwards ---- */

static int differs(const char *path, const char *what, uint64_t at)
{
	fprintf(stderr, "nfsreplay: %s is not what the trace leaves: %s (byte %llu)\n", path, what,
		(unsigned long long)at);
	return -1;
}

/* BUFFER: one piece read and one expected. */
static int compare(int fd, const char *path, const struct trace *t, const struct trace_object *o,
		   uint64_t seed, char *buffer)
{
	char *room = buffer + PIECE;
	uint64_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buffer, PIECE, (off_t)at)) > 0) {
		const char *expected = bytes_of(seed, o->content, at, room, (size_t)n);

		if (bytes_wrong(buffer, expected, (size_t)n, t->sparse[o->content]))
			return differs(path, "other bytes", at);
		at += (uint64_t)n;
	}
	if (n < 0)
		return fail("read", path);
	return at == o->size ? 0 : differs(path, "another size", at);
}

static int check(const char *path, const struct trace *t, const struct trace_object *o,
		 uint64_t seed, char *buffer)
{
	struct stat found;
	const bool there = lstat(path, &found) == 0;
	int fd, rc;

	if (o->kind == TRACE_ABSENT)
		return there ? differs(path, "it is there", 0) : 0;
	if (!there)
		return fail("find", path);
	if ((o->kind == TRACE_DIR) != S_ISDIR(found.st_mode))
		return differs(path, "a file instead of a directory, or the reverse", 0);
	if (o->kind == TRACE_DIR)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail("open", path);
	rc = compare(fd, path, t, o, seed, buffer);
	close(fd);
	return rc;
}

int prepare_check(const struct trace *t, const char *directory, uint64_t seed)
{
	char *buffer = malloc(2 * PIECE + 16), path[PATH_MAX];
	int rc = buffer ? 0 : -1;

	for (uint32_t i = 0; i < t->object_count && buffer; i++) {
		if (local_path(t, directory, i, path) ||
		    check(path, t, &t->objects[i], seed, buffer))
			rc = -1;
	}
	free(buffer);
	return rc;
}
