/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Making the socket's file. What may be there already:
 *
 *   nothing                        made
 *   a socket nobody listens on     left by a server that died: removed, made anew
 *   a socket that accepts          another server's: refused
 *   anything else, also a symlink  not ours: refused, never removed
 *
 * A file beside it, NAME.lock, is locked meanwhile, so that of two servers starting at once one is refused. Nobody else
 * may open that one: the directory itself any user may lock. The mode is set before the file has a name: there is no moment at which others could connect.
 */
#include "control/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 64
/* The lock is tried this often, so many ms apart. */
#define LOCK_TRIES 100
#define LOCK_PAUSE 10
/* Of the file that is locked. */
#define LOCK_SUFFIX   ".lock"
#define LOCK_NAME_MAX (sizeof(((struct listener *)0)->path) + sizeof(LOCK_SUFFIX))

static int __attribute__((format(printf, 3, 4)))
say(void (*log)(const char *), int err, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	log(line);
	return err;
}

static struct sockaddr_un address_of(const struct listener *l)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memcpy(address.sun_path, l->path, sizeof(address.sun_path));
	return address;
}

static int open_directory(struct listener *l, void (*log)(const char *))
{
	char path[sizeof(l->path)];
	char *slash;

	memcpy(path, l->path, sizeof(path));
	slash = strrchr(path, '/');
	slash[slash == path] = '\0'; /* the root keeps its slash */
	if (mkdir(path, 0755) && errno != EEXIST)
		return say(log, errno, "%s: its directory cannot be made: %s", l->path,
			   strerror(errno));
	l->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->dir < 0)
		return say(log, errno, "%s: its directory cannot be opened: %s", l->path,
			   strerror(errno));
	return 0;
}

static const char *lock_name(const struct listener *l, char name[LOCK_NAME_MAX])
{
	snprintf(name, LOCK_NAME_MAX, "%s" LOCK_SUFFIX, l->name);
	return name;
}

/* Whether nobody else could have put it there, or can lock it. */
static bool is_private(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 077);
}

/* 0: it is ours; EBUSY: somebody else's, or it was, and its file has gone with it. */
static int try_lock(struct listener *l, void (*log)(const char *))
{
	char name[LOCK_NAME_MAX];
	struct stat st;

	l->lock = openat(l->dir, lock_name(l, name),
			 O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (l->lock < 0)
		return say(log, errno, "%s" LOCK_SUFFIX ": %s", l->path, strerror(errno));
	if (flock(l->lock, LOCK_EX | LOCK_NB))
		return EBUSY;
	if (fstat(l->lock, &st) || !is_private(&st))
		return say(log, EPERM,
			   "%s" LOCK_SUFFIX ": not a file that only the server may open; it stays",
			   l->path);
	return st.st_nlink != 0 ? 0 : EBUSY;
}

static int take_lock(struct listener *l, void (*log)(const char *))
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE * 1000000};
	int err = EBUSY;

	for (int i = 0; err == EBUSY && i < LOCK_TRIES; i++) {
		if (i > 0)
			nanosleep(&pause, NULL);
		err = try_lock(l, log);
		if (err && l->lock >= 0) {
			close(l->lock);
			l->lock = -1;
		}
	}
	if (err == EBUSY)
		say(log, err, "%s" LOCK_SUFFIX " stays locked by another process", l->path);
	return err;
}

/* Its file goes first: who has it open sees that it is none any more. */
static void drop_lock(struct listener *l)
{
	char name[LOCK_NAME_MAX];

	if (l->lock < 0)
		return;
	unlinkat(l->dir, lock_name(l, name), 0);
	close(l->lock);
	l->lock = -1;
}

/* Whether somebody listens there. */
static bool is_live(const struct listener *l)
{
	struct sockaddr_un address = address_of(l);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool live;

	if (fd < 0)
		return true; /* unsure: then it is not ours to remove */
	live = !connect(fd, (struct sockaddr *)&address, sizeof(address)) || errno != ECONNREFUSED;
	close(fd);
	return live;
}

static int make_room(struct listener *l, void (*log)(const char *))
{
	struct stat st;

	if (fstatat(l->dir, l->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : say(log, errno, "%s: %s", l->path, strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return say(log, EEXIST, "%s: there is something that is not a socket; it stays",
			   l->path);
	if (is_live(l))
		return say(log, EADDRINUSE, "%s: another server answers there", l->path);
	if (unlinkat(l->dir, l->name, 0) && errno != ENOENT)
		return say(log, errno, "%s: the stale socket cannot be removed: %s", l->path,
			   strerror(errno));
	return 0;
}

/* Nobody can connect yet: that takes listen(). */
static int give_to(struct listener *l, gid_t group)
{
	if (group == (gid_t)-1)
		return 0;
	return fchownat(l->dir, l->name, (uid_t)-1, group, AT_SYMLINK_NOFOLLOW) ||
	       fchmodat(l->dir, l->name, 0660, 0);
}

static int bind_and_listen(struct listener *l, gid_t group, void (*log)(const char *))
{
	struct sockaddr_un address = address_of(l);
	struct stat st;
	int err;

	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->fd < 0 || fchmod(l->fd, 0600) ||
	    bind(l->fd, (struct sockaddr *)&address, sizeof(address)))
		return say(log, errno, "%s: %s", l->path, strerror(errno));
	if (!fstatat(l->dir, l->name, &st, AT_SYMLINK_NOFOLLOW)) {
		l->dev = st.st_dev;
		l->ino = st.st_ino;
		if (!(st.st_mode & 077) && !give_to(l, group) && !listen(l->fd, BACKLOG))
			return 0;
	}
	err = errno ? errno : EPERM;
	unlinkat(l->dir, l->name, 0);
	return say(log, err, "%s: cannot listen: %s", l->path, strerror(err));
}

int listener_open(struct listener *l, const char *path, gid_t group, void (*log)(const char *line))
{
	int err;

	*l = (struct listener){.fd = -1, .dir = -1, .lock = -1};
	if (path[0] != '/' || path[strlen(path) - 1] == '/')
		return say(log, EINVAL, "%s: not an absolute path of a file", path);
	if (strlen(path) >= sizeof(l->path))
		return say(log, ENAMETOOLONG, "%.64s...: longer than %zu bytes", path,
			   sizeof(l->path) - 1);
	memcpy(l->path, path, strlen(path) + 1);
	l->name = strrchr(l->path, '/') + 1;

	err = open_directory(l, log);
	if (!err)
		err = take_lock(l, log);
	if (!err)
		err = make_room(l, log);
	if (!err)
		err = bind_and_listen(l, group, log);
	drop_lock(l);
	if (err) {
		l->ino = 0; /* nothing of ours to remove */
		listener_close(l);
	}
	return err;
}

void listener_close(struct listener *l)
{
	struct stat st;

	if (l->ino && !fstatat(l->dir, l->name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == l->dev &&
	    st.st_ino == l->ino)
		unlinkat(l->dir, l->name, 0);
	if (l->fd >= 0)
		close(l->fd);
	if (l->dir >= 0)
		close(l->dir);
	*l = (struct listener){.fd = -1, .dir = -1, .lock = -1};
}
