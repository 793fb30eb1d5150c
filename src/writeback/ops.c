/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The world as it is: Linux, and the disk's queue. See ops.h. */
#include "writeback/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/clock.h"

/* Nothing of a file without a descriptor is ours to write out. */
static int linux_sync(const struct backing *b, uint64_t offset, uint64_t len, unsigned int flags)
{
	if (b->fd < 0)
		return 0;
	return sync_file_range(b->fd, (off_t)offset, (off_t)len, flags) ? errno : 0;
}

/* Waiting for the pages of a range that no file has costs nothing, and tells the error. */
static int linux_pending(const struct backing *b)
{
	return linux_sync(b, UINT64_C(1) << 62, 1, SYNC_FILE_RANGE_WAIT_BEFORE);
}

static void linux_wake(pthread_cond_t *cond)
{
	pthread_cond_broadcast(cond);
}

static bool linux_nameless(const struct backing *b)
{
	struct stat st;

	return !fstat(b->fd, &st) && st.st_nlink == 0;
}

const struct writeback_ops writeback_linux_ops = {
	.now = clock_now,
	.wait = clock_cond_wait_until,
	.wake = linux_wake,
	.sync = linux_sync,
	.pending = linux_pending,
	.nameless = linux_nameless,
	.place = backing_place_known,
	.find_place = backing_place,
	.submit = dispatcher_submit,
	.want = dispatcher_want,
	.allowance = dispatcher_writeback_turn,
};
