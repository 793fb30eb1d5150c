/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Replacing a file whole. See whole_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "whole_file.h"

static int write_new(const char *path, const char *text, int readable)
{
	const size_t length = strlen(text);
	size_t done = 0;
	ssize_t n = 0;
	int err = 0, fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

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

int whole_file_write(const char *path, const char *text, int readable)
{
	char made[PATH_MAX];
	int err;

	if (snprintf(made, sizeof(made), "%s.new", path) >= (int)sizeof(made))
		return ENAMETOOLONG;
	err = write_new(made, text, readable);
	if (!err && rename(made, path))
		err = errno;
	if (err)
		unlink(made);
	return err;
}
