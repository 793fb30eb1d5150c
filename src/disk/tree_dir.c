/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Opening and reading directories. See tree_dir.h. */
#include "disk/tree_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "common/clock.h"
#include "disk/wire_handle.h"

/* Bytes of entries asked for at a time. */
#define READ_SIZE ((size_t)64 << 10)

/* ---- opening ----------------------------------------------------------------------------- */

/*
 * NAME in the directory AT as a place only: what is mounted there is not entered, nor asked for anything, be it a server
 * that is gone; an automounter is not woken. -1: it is not there, something is mounted there, or the kernel (before 5.6) does
 * not know how: then it is done without.
 */
static int open_place(int at, const char *name)
{
	struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
			       .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS |
					  RESOLVE_NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, at, name, &how, sizeof(how));
}

bool tree_dir_look(const struct tree_dir *dir, const char *name)
{
	int fd = open_place(dir->fd, name);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* FD is its own from now on. */
static bool take(struct tree_dir *dir, int fd)
{
	struct stat st;

	dir->fd = -1;
	if (fd < 0)
		return false;
	if (fstat(fd, &st) || !S_ISDIR(st.st_mode)) {
		close(fd);
		return false;
	}
	dir->fd = fd;
	dir->dev = st.st_dev;
	dir->inode = st.st_ino;
	dir->id = tree_id(st.st_dev, st.st_ino);
	dir->stamp = (uint64_t)st.st_mtim.tv_sec * CLOCK_SECOND + (uint64_t)st.st_mtim.tv_nsec;
	return true;
}

bool tree_dir_open(struct tree_dir *dir, int mount_fd, const struct dir_handle *h)
{
	struct kernel_handle kh;

	_Static_assert(DIR_HANDLE_MAX <= KERNEL_HANDLE_MAX, "a handle fits");
	kh.fh.handle_type = h->type;
	kh.fh.handle_bytes = h->len;
	memcpy(kh.bytes, h->bytes, h->len);
	return take(dir, open_by_handle_at(mount_fd, &kh.fh,
					   O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC));
}

bool tree_dir_open_at(struct tree_dir *dir, const struct tree_dir *at, const char *name)
{
	int place = open_place(at->fd, name), fd = -1;

	if (place >= 0) {
		fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
		close(place);
	}
	return take(dir, fd) && dir->dev == at->dev;
}

void tree_dir_close(struct tree_dir *dir)
{
	if (dir->fd >= 0)
		close(dir->fd);
	dir->fd = -1;
}

/*
 * First without opening it: whoever put something else in the file's place meanwhile (a device, a pipe) must
 * not have that opened.
 */
int tree_file_open(const struct tree_dir *dir, const char *name, uint64_t inode, uint64_t *size)
{
	int at = open_place(dir->fd, name), fd = -1;
	struct stat st;
	char path[32];

	if (at < 0)
		return -1;
	if (!fstat(at, &st) && S_ISREG(st.st_mode) && st.st_ino == inode && st.st_dev == dir->dev) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
		fd = open(path, O_RDONLY | O_NOATIME | O_NONBLOCK | O_CLOEXEC);
		*size = (uint64_t)st.st_size;
	}
	close(at);
	if (fd >= 0)
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* the kernel's read-ahead off */
	return fd;
}

/* ---- reading ----------------------------------------------------------------------------- */

static bool is_dots(const char *name)
{
	return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0));
}

/* A directory that is read. */
struct reading {
	int fd;
	const struct tree_dir_pause *pause;
	struct dir_list *files, *dirs;
	uint32_t entries, unknown;
};

/*
 * What E in the directory of R is. Old file systems do not say it (XFS with ftype=0, ext4 without filetype): of
 * those UNKNOWN that are left the inode does, which a walk needs anyway. Of further ones it is not asked for: they
 * are taken for files, and who opens one looks (tree_file_open).
 */
static unsigned char type_of(struct reading *r, const struct dirent64 *e)
{
	struct stat st;
	int fd, err;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type;
	if (is_dots(e->d_name))
		return DT_DIR;
	if (r->unknown == 0)
		return DT_REG;
	r->unknown--;
	(void)r->pause->pause(r->pause->arg); /* it may be a wait for the disk */
	fd = open_place(r->fd, e->d_name);
	if (fd < 0)
		return DT_UNKNOWN;
	err = fstat(fd, &st);
	close(fd);
	if (err)
		return DT_UNKNOWN;
	return (unsigned char)IFTODT(st.st_mode);
}

/* The entries in BUFFER; those that there is no room for are left out. */
static void add_entries(struct reading *r, const char *buffer, ssize_t len)
{
	const struct dirent64 *e;

	for (ssize_t at = 0; at < len; at += e->d_reclen) {
		unsigned char type;

		e = (const struct dirent64 *)(const void *)(buffer + at);
		type = type_of(r, e);
		r->entries++;
		if (type == DT_REG)
			(void)dir_list_add(r->files, e->d_name, e->d_ino);
		else if (type == DT_DIR && !is_dots(e->d_name))
			(void)dir_list_add(r->dirs, e->d_name, e->d_ino);
	}
}

static bool has_room(const struct reading *r)
{
	return r->entries < TREE_ENTRIES_MAX && !dir_list_full(r->files) && !dir_list_full(r->dirs);
}

static bool read_all(struct reading *r)
{
	char *buffer = malloc(READ_SIZE);
	bool wanted = true;
	ssize_t got = -1;

	if (buffer == NULL || lseek(r->fd, 0, SEEK_SET) < 0) {
		free(buffer);
		return false;
	}
	while (wanted && has_room(r) && (got = getdents64(r->fd, buffer, READ_SIZE)) > 0) {
		add_entries(r, buffer, got);
		wanted = r->pause->pause(r->pause->arg);
	}
	free(buffer);
	return wanted && got >= 0;
}

bool tree_dir_read(const struct tree_dir *dir, const struct tree_dir_pause *pause,
		   struct dir_list **files, struct dir_list **dirs)
{
	struct reading r = {.fd = dir->fd, .pause = pause, .unknown = TREE_UNKNOWN_MAX};

	*files = r.files = dir_list_new();
	*dirs = r.dirs = dir_list_new();
	if (*files != NULL && *dirs != NULL && read_all(&r) && dir_list_end(*files) &&
	    dir_list_end(*dirs))
		return true;
	dir_list_free(*files);
	dir_list_free(*dirs);
	*files = *dirs = NULL;
	return false;
}
