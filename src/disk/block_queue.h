/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the kernel says of the queue of a block device: the files of its queue/ in sysfs. */
#ifndef DISK_BLOCK_QUEUE_H
#define DISK_BLOCK_QUEUE_H

#include <stdint.h>
#include <sys/types.h>

/*
 * The number in the file NAME of DEV's queue, or of that of the disk which DEV is a part of; 0: it says
 * none. SYSFS: where devices are described by their numbers, /sys/dev/block but for tests. Any thread.
 */
uint32_t block_queue_number(const char *sysfs, dev_t dev, const char *name);

#endif
