/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See learnt_file.h. */
#include "disk/learnt_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fresh_file.h"
#include "common/text.h"

#define PREFIX	    "device-"
#define NAME_LENGTH (sizeof(PREFIX) - 1 + 16)

static int open_dir(const char *dir)
{
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* ---- reading ----------------------------------------------------------------------------- */

/* Another's file may be anything, and say anything. */
static const char *check_file(int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return "it is no regular file";
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return "others than the server may write it";
	return st.st_size >= LEARNT_TEXT ? "it is too long" : NULL;
}

static const char *read_file(int fd, struct learnt *l)
{
	const char *wrong = check_file(fd);
	char text[LEARNT_TEXT];
	ssize_t n;

	if (wrong != NULL)
		return wrong;
	n = text_read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return strerror(errno);
	text[n] = '\0';
	return learnt_parse(l, text, (size_t)n);
}

const char *learnt_read(const char *dir, const struct device_identity *id, uint64_t now,
			struct learnt *l)
{
	char path[PATH_MAX], name[LEARNT_NAME];
	const char *wrong;
	int fd;

	learnt_name(id, name);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? "" : strerror(errno);
	wrong = read_file(fd, l);
	close(fd);
	return wrong != NULL ? wrong : learnt_judge(l, id, now);
}

/* ---- writing ----------------------------------------------------------------------------- */

static bool is_ours(const char *name)
{
	if (strlen(name) != NAME_LENGTH || strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0)
		return false;
	for (name += sizeof(PREFIX) - 1; *name != '\0'; name++)
		if (!isxdigit((unsigned char)*name))
			return false;
	return true;
}

/* Where there are too many, the oldest goes: one, for one comes. */
static void make_room(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	char oldest[NAME_LENGTH + 1] = "";
	const struct dirent *e;
	time_t since = 0;
	unsigned int n = 0;
	struct stat st;

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		if (!is_ours(e->d_name) || fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		n++;
		if (oldest[0] == '\0' || st.st_mtime < since) {
			memcpy(oldest, e->d_name, sizeof(oldest));
			since = st.st_mtime;
		}
	}
	if (dir != NULL)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	if (n >= LEARNT_FILES_MAX)
		unlinkat(dir_fd, oldest, 0);
}

static int write_all(int fd, const char *text, size_t n)
{
	ssize_t done = write(fd, text, n);

	if (done == (ssize_t)n)
		return 0;
	return done < 0 ? errno : ENOSPC;
}

static int replace(int dir_fd, const char *name, const char *text, size_t n)
{
	char fresh[LEARNT_NAME + 4];
	int fd, err;

	snprintf(fresh, sizeof(fresh), "%s.new", name);
	fd = fresh_file_open(dir_fd, fresh, 0600);
	if (fd < 0)
		return errno;
	err = write_all(fd, text, n);
	if (close(fd) != 0 && err == 0)
		err = errno;
	if (err == 0 && renameat(dir_fd, fresh, dir_fd, name) != 0)
		err = errno;
	if (err != 0)
		unlinkat(dir_fd, fresh, 0);
	return err;
}

/* DIR and those above it, as far as they are missing. */
static int make_dir(const char *dir)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s", dir) >= sizeof(path))
		return ENAMETOOLONG;
	for (char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return errno;
		*at = '/';
	}
	return mkdir(path, 0700) != 0 && errno != EEXIST ? errno : 0;
}

int learnt_write(const char *dir, const struct learnt *l)
{
	char text[LEARNT_TEXT], name[LEARNT_NAME];
	size_t n = learnt_print(l, text, sizeof(text));
	int dir_fd = open_dir(dir), err;
	struct stat st;

	if (dir_fd < 0 && errno == ENOENT) {
		err = make_dir(dir);
		if (err != 0)
			return err;
		dir_fd = open_dir(dir);
	}
	if (dir_fd < 0)
		return errno;
	learnt_name(&l->id, name);
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		make_room(dir_fd);
	err = n != 0 ? replace(dir_fd, name, text, n) : EOVERFLOW;
	close(dir_fd);
	return err;
}
