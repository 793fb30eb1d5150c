/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The lock in /run. See run_lock.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "knob.h"
#include "run_lock.h"

#define AGAIN (50 * CLOCK_MS) /* ns between two tries */

static int lock_file(const char *root, int flags)
{
	char path[KNOB_PATH];

	snprintf(path, sizeof(path), "%s" RUN_LOCK, root);
	return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static pid_t holder_of(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_GETLK, &lock) || lock.l_type == F_UNLCK)
		return 0;
	return lock.l_pid > 0 ? lock.l_pid : -1; /* 0: of another pid namespace */
}

int run_lock_holder(const char *root, pid_t *holder)
{
	int fd = lock_file(root, O_RDWR);

	*holder = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : errno;
	*holder = holder_of(fd);
	close(fd);
	return 0;
}

int run_lock_take(const char *root, double seconds, pid_t *holder)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	const uint64_t until = clock_now() + (uint64_t)(seconds * (double)CLOCK_SECOND);
	int err, fd = lock_file(root, O_RDWR | O_CREAT);

	if (fd < 0)
		return errno;
	while (fcntl(fd, F_SETLK, &lock)) {
		err = errno;
		*holder = holder_of(fd);
		if ((err != EAGAIN && err != EACCES) || clock_now() >= until) {
			close(fd);
			return err == EACCES ? EWOULDBLOCK : err;
		}
		nanosleep(&(struct timespec){.tv_nsec = (long)AGAIN}, NULL);
	}
	return 0; /* the descriptor stays open: it is the lock */
}

const char *run_lock_name(pid_t holder, char *text, size_t size)
{
	char path[64], name[32] = "";
	FILE *file;

	if (holder <= 0) {
		snprintf(text, size, "a process of another container");
		return text;
	}
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)holder);
	file = fopen(path, "re");
	if (file) {
		if (fgets(name, sizeof(name), file))
			name[strcspn(name, "\n")] = '\0';
		fclose(file);
	}
	snprintf(text, size, "process %d (%s)", (int)holder, *name ? name : "?");
	return text;
}
