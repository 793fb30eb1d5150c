/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Files made anew. See fresh_file.h. */
#include "common/fresh_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int fresh_file_open(int dir_fd, const char *path, mode_t mode)
{
	if (unlinkat(dir_fd, path, 0) && errno != ENOENT)
		return -1;
	return openat(dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}
