/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whether a descriptor is of the file that it was opened for.
 *
 * A handle names a file by inode and generation, within a file system that is found by a path; and
 * over that path another one may be mounted by now, perhaps a clone with the same inodes and
 * generations. So the device is compared too.
 */
#ifndef DISK_FILE_IDENTITY_H
#define DISK_FILE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct file_identity {
	dev_t dev; /* st_dev of its file system */
	uint64_t ino;
	uint32_t generation;
	bool has_generation; /* it is known */
};

/* What a kernel handle of TYPE, LEN bytes of HANDLE, says of the generation of the inode id->ino. */
void file_identity_generation(struct file_identity *id, int type, const unsigned char *handle,
			      unsigned int len);
/*
 * 0 when FD is of the file ID; EXDEV: it is on another file system; EUCLEAN: it is another file; else
 * what fstat said. A generation that the file system does not tell is not compared.
 */
int file_identity_check(const struct file_identity *id, int fd);
/* 0 when FD, a directory, is on the file system of ID; else as above. */
int file_identity_check_mount(const struct file_identity *id, int fd);

#endif
