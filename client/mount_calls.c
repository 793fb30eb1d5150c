/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* statfs and syncfs in children. See mount_calls.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/magic.h>

#include "mount_calls.h"

/* ---- in children ------------------------------------------------------------------------- */

static void take_reply(const char *path, struct mount_reply *reply)
{
	FILE *file = fopen(path, "re");

	reply->error = file ? 0 : errno;
	if (!file)
		return;
	if (fscanf(file, "%" SCNu64 " %" SCNu64, &reply->total, &reply->avail) != 2)
		reply->error = EINVAL;
	fclose(file);
}

static void ask(const void *arg, void *result)
{
	const struct mount_place *at = arg;
	struct mount_reply *reply = result;
	struct statfs fs;

	if (at->replies) {
		take_reply(at->replies, reply);
		return;
	}
	reply->error = statfs(at->path, &fs) ? errno : 0;
	if (!reply->error && fs.f_type != NFS_SUPER_MAGIC)
		reply->error = ENODEV; /* unmounted just now */
	reply->total = fs.f_files;
	reply->avail = fs.f_ffree;
}

static void push(const void *arg, void *result)
{
	const struct mount_place *at = arg;
	char path[PATH_MAX];
	int *error = result, fd;

	snprintf(path, sizeof(path), "%s%s", at->root, at->path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*error = fd < 0 || syncfs(fd) ? errno : 0;
}

/* ------------------------------------------------------------------------------------------ */

bool mount_calls_adopt(struct mount_calls *c, unsigned int id, struct async_stuck *stuck)
{
	if (c->mount == id)
		return true;
	if (!async_call_drop(&c->ask, stuck) || !async_call_drop(&c->push, stuck))
		return false;
	c->mount = id;
	return true;
}

bool mount_calls_ask(struct mount_calls *c, const struct mount_place *at)
{
	return async_call_start(&c->ask, ask, at, sizeof(struct mount_reply));
}

bool mount_calls_push(struct mount_calls *c, const struct mount_place *at)
{
	return async_call_start(&c->push, push, at, sizeof(int));
}

bool mount_calls_asked(struct mount_calls *c, struct mount_reply *reply)
{
	return async_call_done(&c->ask, reply);
}

bool mount_calls_pushed(struct mount_calls *c, int *error)
{
	return async_call_done(&c->push, error);
}
