/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Slots of the client table whose rule a name server has to say, in the order in which they came. Each stands in it
 * once, so it is never longer than the table, and needs no memory when one comes.
 *
 *   first -> 7 -> 2 -> 9 <- last         next[7] = 2, next[2] = 9, next[9] = NONE; of all others ABSENT
 *
 * Any thread, without a lock of rank LOCK_LEAF.
 */
#ifndef SHARES_NAME_QUEUE_H
#define SHARES_NAME_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/lock.h"

struct name_queue {
	struct lock lock;
	pthread_cond_t changed;
	uint32_t *next; /* of each slot */
	uint32_t first, last;
	bool over;
};

/* For slots below MAX; false: no memory, and it is not to be freed. */
bool name_queue_init(struct name_queue *q, uint32_t max);
/* Nobody waits any more. */
void name_queue_fini(struct name_queue *q);
/* One that is in it stays where it is. */
void name_queue_put(struct name_queue *q, uint32_t slot);
/* Waits for one; false: it is over. */
bool name_queue_take(struct name_queue *q, uint32_t *slot);
/* From now on nobody waits, nor is given one. */
void name_queue_end(struct name_queue *q);

#endif
