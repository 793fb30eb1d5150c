/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* statfs and syncfs in children. See mount_calls.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/magic.h>

#include "mount_calls.h"

/* What a child has to know; names that do not fit fail there. */
struct request {
	char path[PATH_MAX];
	char device[MOUNT_DEVICE];			       /* "": any */
	char replies[ASYNC_ARG_MAX - PATH_MAX - MOUNT_DEVICE]; /* "": none */
};

/* ---- in children ------------------------------------------------------------------------- */

/* The file of replies; where that is a directory, the mount's there. */
static FILE *open_replies(const struct request *at)
{
	char path[ASYNC_ARG_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", at->replies, at->path);
	file = fopen(path, "re");
	return file ? file : fopen(at->replies, "re");
}

static void take_reply(const struct request *at, struct mount_reply *reply)
{
	FILE *file = open_replies(at);

	reply->error = file ? 0 : errno;
	if (!file)
		return;
	if (fscanf(file, "%" SCNu64 " %" SCNu64, &reply->total, &reply->avail) != 2)
		reply->error = EINVAL;
	fclose(file);
}

static void ask(const void *arg, void *result)
{
	const struct request *at = arg;
	struct mount_reply *reply = result;
	struct statfs fs;

	if (*at->replies) {
		take_reply(at, reply);
		return;
	}
	reply->error = statfs(at->path, &fs) ? errno : 0;
	if (!reply->error && fs.f_type != NFS_SUPER_MAGIC)
		reply->error = ENODEV; /* unmounted just now */
	reply->total = fs.f_files;
	reply->avail = fs.f_ffree;
}

/* What stands there is not below a mount that was unmounted just now. The server is not asked for that. */
static bool is_of(int fd, const char *device)
{
	char name[MOUNT_DEVICE];
	struct statx st;

	if (!*device)
		return true;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st))
		return false;
	snprintf(name, sizeof(name), "%u:%u", st.stx_dev_major, st.stx_dev_minor);
	return strcmp(name, device) == 0;
}

static int sync_mount(int fd, const char *device)
{
	if (!is_of(fd, device))
		return ENODEV;
	return syncfs(fd) ? errno : 0;
}

static void push(const void *arg, void *result)
{
	const struct request *at = arg;
	int *error = result, fd = open(at->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*error = fd < 0 ? errno : sync_mount(fd, at->device);
	if (fd >= 0)
		close(fd); /* it would keep the mount busy */
}

/* ------------------------------------------------------------------------------------------ */

bool mount_calls_adopt(struct mount_calls *c, unsigned int id, struct async_pool *pool)
{
	if (c->mount == id)
		return true;
	if (!async_call_drop(&c->ask, pool) || !async_call_drop(&c->push, pool))
		return false;
	c->mount = id;
	return true;
}

void mount_calls_leave(struct mount_calls *c, struct async_pool *pool)
{
	async_call_leave(&c->ask, pool);
	async_call_leave(&c->push, pool);
	c->mount = 0;
}

static bool start(struct async_call *c, async_run run, const struct mount_place *at,
		  const char *root, struct async_pool *pool)
{
	struct request r = {0};

	snprintf(r.path, sizeof(r.path), "%s%s", root, at->path);
	snprintf(r.device, sizeof(r.device), "%s", at->device ? at->device : "");
	snprintf(r.replies, sizeof(r.replies), "%s", at->replies ? at->replies : "");
	return async_call_start(c, pool, at->server, run, &r, sizeof(r));
}

bool mount_calls_ask(struct mount_calls *c, const struct mount_place *at, struct async_pool *pool)
{
	return start(&c->ask, ask, at, "", pool);
}

bool mount_calls_push(struct mount_calls *c, const struct mount_place *at, struct async_pool *pool)
{
	return async_pool_group(pool, at->server) < PUSHES_MAX &&
	       start(&c->push, push, at, at->root, pool);
}

bool mount_calls_asks(const struct mount_calls *c)
{
	return c->ask.worker != NULL;
}

bool mount_calls_asked(struct mount_calls *c, struct mount_reply *reply)
{
	return async_call_done(&c->ask, reply, sizeof(*reply));
}

bool mount_calls_pushed(struct mount_calls *c, int *error)
{
	return async_call_done(&c->push, error, sizeof(*error));
}
