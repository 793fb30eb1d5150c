/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Mounts that fstab(5) names as ours: those with the option FSTAB_OPTION, which mount(8) and the
 * kernel ignore as all that begin with "x-".
 *
 *   server:/export  /mnt/my\040data  nfs  vers=3,hard,x-ca-nfs  0  0
 */
#ifndef CLIENT_FSTAB_H
#define CLIENT_FSTAB_H

#include <stdbool.h>
#include <stddef.h>

#define FSTAB_FILE   "/etc/fstab"
#define FSTAB_OPTION "x-ca-nfs"

/* A line of fstab, any bytes. True: it is ours, and PATH is its mount point; false also where that
 * is longer than SIZE - 1. */
bool fstab_parse(const char *line, char *path, size_t size);

#endif
