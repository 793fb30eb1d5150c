/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Comparing a descriptor with the file it is for. See file_identity.h. */
#include "disk/file_identity.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <linux/fs.h>

/* The kernel's types of handles that we know (linux/exportfs.h): inode number and generation first. */
enum { HANDLE_INO32 = 1, HANDLE_INO32_PARENT = 2, HANDLE_INO64 = 0x81, HANDLE_INO64_PARENT = 0x82 };

void file_identity_generation(struct file_identity *id, int type, const unsigned char *handle,
			      unsigned int len)
{
	bool is32 = type == HANDLE_INO32 || type == HANDLE_INO32_PARENT;
	bool is64 = type == HANDLE_INO64 || type == HANDLE_INO64_PARENT;
	unsigned int width = is64 ? 8 : 4;
	uint64_t ino = 0;

	id->has_generation = false;
	if ((!is32 && !is64) || len < width + sizeof(id->generation))
		return;
	memcpy(&ino, handle, width); /* the machine's order: no other reads it */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	ino >>= 64 - 8 * width;
#endif
	if (ino != id->ino)
		return; /* a file system with handles of its own */
	memcpy(&id->generation, handle + width, sizeof(id->generation));
	id->has_generation = true;
}

static bool other_generation(const struct file_identity *id, int fd)
{
	long generation = 0; /* the kernel writes an int, whatever the ioctl's number says */
	uint32_t found;

	if (!id->has_generation || ioctl(fd, FS_IOC_GETVERSION, &generation))
		return false;
	memcpy(&found, &generation, sizeof(found));
	return found != id->generation;
}

int file_identity_check_mount(const struct file_identity *id, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return errno;
	return st.st_dev == id->dev ? 0 : EXDEV;
}

int file_identity_check(const struct file_identity *id, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return errno;
	if (st.st_dev != id->dev)
		return EXDEV;
	return st.st_ino != id->ino || other_generation(id, fd) ? EUCLEAN : 0;
}
