/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The disks below a block device, as sysfs has them: of a part the whole, of a device upon others (LVM, RAID, LUKS) those of
 * its members.
 */
#ifndef DISK_BLOCK_DISKS_H
#define DISK_BLOCK_DISKS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Calls FOUND with the directory of each disk that DEV is on, some of them perhaps more than once. SYSFS: where devices are
 * described by their numbers. Bounded: in members of one, and in devices upon devices. Any thread.
 */
void block_disks(const char *sysfs, dev_t dev, void (*found)(const char *dir, void *arg),
		 void *arg);
/* Whether A and B, which are two, have a disk in common: *DISK. Any thread. */
bool block_disks_shared(const char *sysfs, dev_t a, dev_t b, dev_t *disk);

#endif
