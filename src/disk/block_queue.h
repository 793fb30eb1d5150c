/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the kernel says of a block device and of its queue: numbers in sysfs. */
#ifndef DISK_BLOCK_QUEUE_H
#define DISK_BLOCK_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The number in the file NAME of DEV's queue, or of that of the disk which DEV is a part of; 0: it says
 * none. SYSFS: where devices are described by their numbers, /sys/dev/block but for tests. Any thread.
 */
uint32_t block_queue_number(const char *sysfs, dev_t dev, const char *name);
/*
 * The numbers with which the file NAME of DEV's own directory begins, as "7", "8:16" or "3 0": one where
 * SECOND is NULL, else two. False: they are not there, and what these lead to is as it was. Any thread.
 */
bool block_numbers(const char *sysfs, dev_t dev, const char *name, uint64_t *first,
		   uint64_t *second);

#endif
