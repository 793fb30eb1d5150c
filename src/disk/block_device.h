/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which disk a file is on, where stat(2) does not say: btrfs gives each subvolume a device number of
 * its own, without a block device. Then the mount's source says it.
 *
 *   st_dev 0:57 --> the mount of the descriptor (statx) --> /proc/self/mountinfo --> /dev/sdb1 --> 8:17
 *
 * So all subvolumes of a file system share one queue. Of a file system over several disks it is the
 * one that was mounted. What has no block device at all (tmpfs, overlays, ZFS) keeps its own number.
 */
#ifndef DISK_BLOCK_DEVICE_H
#define DISK_BLOCK_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The source of the mount ID in TEXT, of the form of /proc/self/mountinfo, into SOURCE of SIZE bytes.
 * False: it is not there, malformed, or too long.
 */
bool mountinfo_source(const char *text, uint64_t id, char *source, size_t size);

/*
 * The device number of the disk below FD, of which stat says DEV. What was found is remembered for a
 * while; NOW: ns. Any thread.
 */
dev_t block_device_of(int fd, dev_t dev, uint64_t now);

#endif
