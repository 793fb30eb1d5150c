/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Mounts that were given to us by the option FSTAB_OPTION, or FSTAB_WEIGHT with a number, which mount(8)
 * and the kernel ignore as all that begin with "x-". It stands in fstab(5); and, where it was given to
 * mount(8) or in a map of autofs, in the file where libmount keeps what the kernel does not, as long as
 * that mount is there:
 *
 *   server:/export  /mnt/my\040data  nfs  vers=3,hard,x-ca-nfs,x-ca-nfs.weight=0.1  0  0
 *   SRC=server:/export TARGET=/mnt/my\040data ROOT=/ OPTS=x-ca-nfs.weight=0.1
 */
#ifndef CLIENT_FSTAB_H
#define CLIENT_FSTAB_H

#include <stdbool.h>
#include <stddef.h>

#define FSTAB_FILE   "/etc/fstab"
#define UTAB_FILE    "/run/mount/utab"
#define FSTAB_OPTION "x-ca-nfs"
#define FSTAB_WEIGHT "x-ca-nfs.weight="

struct fstab_mount {
	char *path; /* the caller's, of SIZE bytes */
	size_t size;
	const char *weight; /* what stands behind FSTAB_WEIGHT, in the line; NULL: no such option */
	size_t weight_length;
};

/* A line of fstab, any bytes. True: it is ours, and M has its mount point and weight; false also where the
 * mount point is longer than SIZE - 1. Of two weights the last one counts. */
bool fstab_parse(const char *line, struct fstab_mount *m);
/* The same of a line of UTAB_FILE. */
bool utab_parse(const char *line, struct fstab_mount *m);

#endif
