/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Mounts that were given to us by the option FSTAB_OPTION, which mount(8) and the kernel ignore as
 * all that begin with "x-". It stands in fstab(5); and, where it was given to mount(8) or in a map
 * of autofs, in the file where libmount keeps what the kernel does not, as long as that mount is
 * there:
 *
 *   server:/export  /mnt/my\040data  nfs  vers=3,hard,x-ca-nfs  0  0
 *   SRC=server:/export TARGET=/mnt/my\040data ROOT=/ OPTS=x-ca-nfs
 */
#ifndef CLIENT_FSTAB_H
#define CLIENT_FSTAB_H

#include <stdbool.h>
#include <stddef.h>

#define FSTAB_FILE   "/etc/fstab"
#define UTAB_FILE    "/run/mount/utab"
#define FSTAB_OPTION "x-ca-nfs"

/* A line of fstab, any bytes. True: it is ours, and PATH is its mount point; false also where that
 * is longer than SIZE - 1. */
bool fstab_parse(const char *line, char *path, size_t size);
/* The same of a line of UTAB_FILE. */
bool utab_parse(const char *line, char *path, size_t size);

#endif
