/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How many requests a drive can be given at once, as the kernel states it below /sys/dev/block.
 *
 *   8:1 --> the disk it is a part of: 8:0 --> slaves/ ? --> of each member the same, summed (dm, md)
 *                                         --> device/queue_depth ?       SCSI, SATA: the drive's own
 *                                         --> queue/nr_requests          the kernel's for it: a bound
 *                                         --> queue/rotational           whether it is a spindle
 *
 * A loop device, a virtual machine's or one over a network states nothing of what is below it: then
 * only what is observed tells (sched/depth_evidence.h), up to the kernel's bound.
 */
#ifndef DISK_DRIVE_QUEUE_H
#define DISK_DRIVE_QUEUE_H

#include <stdint.h>
#include <sys/types.h>

/* No more at once: SATA's tagged queue. What is queued here instead can still be ordered. */
#define DRIVE_QUEUE_MAX 32

struct drive_queue {
	uint32_t stated;   /* requests; 0: the kernel says nothing of the drive itself */
	uint32_t bound;	   /* 1..DRIVE_QUEUE_MAX: worth a try */
	uint32_t spindles; /* disks that rotate, says the kernel, of which it is made */
};

/* SYSFS is the directory with the links MAJOR:MINOR. What is not there is no error. */
struct drive_queue drive_queue_of(const char *sysfs, dev_t dev);

#endif
