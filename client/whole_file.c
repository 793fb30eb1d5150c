/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Replacing a file whole. See whole_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fresh_file.h"
#include "whole_file.h"

static int write_new(const char *path, const char *text, int readable)
{
	const size_t length = strlen(text);
	size_t done = 0;
	ssize_t n = 0;
	int err = 0, fd = fresh_file_open(AT_FDCWD, path, 0644);

	if (fd < 0)
		return errno;
	if (readable && fchmod(fd, 0644))
		err = errno;
	while (!err && done < length && (n = write(fd, text + done, length - done)) > 0)
		done += (size_t)n;
	if (!err && done < length)
		err = n < 0 ? errno : EIO;
	if (close(fd) && !err)
		err = errno;
	return err;
}

/* False: it is too long. */
static bool name_new(char made[PATH_MAX], const char *path)
{
	return snprintf(made, PATH_MAX, "%s.new", path) < PATH_MAX;
}

int whole_file_write(const char *path, const char *text, int readable)
{
	char made[PATH_MAX];
	int err;

	if (!name_new(made, path))
		return ENAMETOOLONG;
	err = write_new(made, text, readable);
	if (!err && rename(made, path))
		err = errno;
	if (err)
		unlink(made);
	return err;
}

/* LEAST: so many bytes of BEGIN must be there. */
static bool begins(const char *path, const char *begin, size_t least)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[64];
	size_t length = strlen(begin);
	struct stat st;
	ssize_t n = -1;

	if (fd < 0)
		return false;
	length = length < sizeof(text) ? length : sizeof(text);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = read(fd, text, length);
	close(fd);
	return n >= 0 && (size_t)n >= least && memcmp(text, begin, (size_t)n) == 0;
}

void whole_file_remove(const char *path, const char *begin)
{
	char made[PATH_MAX];

	if (begins(path, begin, strlen(begin)))
		unlink(path);
	if (name_new(made, path) && begins(made, begin, 0)) /* it may end anywhere */
		unlink(made);
}
