/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The drive's queue in front of the arm. Pure, not thread-safe. Commands belong to the caller and
 * must stay until they are taken. Times are nanoseconds.
 */
#ifndef MECHDISK_DISK_QUEUE_H
#define MECHDISK_DISK_QUEUE_H

#include "disk_model.h"

struct disk_command {
	enum disk_op op;
	uint64_t offset, length;
	int64_t arrival_ns;
	struct disk_command *next;
};

struct disk_queue {
	struct disk_command *first, **last;
	uint32_t count, count_max; /* commands waiting, and the most there ever were */
	uint32_t depth;		   /* the drive sees this many, in order of arrival */
	int64_t age_ns;		   /* the oldest goes next when it waited so long */
};

void disk_queue_init(struct disk_queue *queue, uint32_t depth, int64_t age_ns);
void disk_queue_add(struct disk_queue *queue, struct disk_command *command);

/* Takes the command that the drive serves next out of the queue; NULL when it is empty. */
struct disk_command *disk_queue_take(struct disk_queue *queue, const struct disk_model *model,
				     int64_t now_ns);

#endif
