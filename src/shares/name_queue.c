/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A list in an array of successors. See name_queue.h. */
#include "shares/name_queue.h"

#include <stdlib.h>
#include <string.h>

#define ABSENT UINT32_MAX
#define NONE   (UINT32_MAX - 1)

bool name_queue_init(struct name_queue *q, uint32_t max)
{
	q->next = malloc(max * sizeof(*q->next));
	if (q->next == NULL)
		return false;
	memset(q->next, 0xff, max * sizeof(*q->next)); /* ABSENT */
	q->first = q->last = NONE;
	q->over = false;
	lock_init(&q->lock, LOCK_LEAF);
	pthread_cond_init(&q->changed, NULL);
	return true;
}

void name_queue_fini(struct name_queue *q)
{
	pthread_cond_destroy(&q->changed);
	lock_fini(&q->lock);
	free(q->next);
}

void name_queue_put(struct name_queue *q, uint32_t slot)
{
	lock_take(&q->lock);
	if (q->next[slot] == ABSENT) {
		q->next[slot] = NONE;
		if (q->first == NONE)
			q->first = slot;
		else
			q->next[q->last] = slot;
		q->last = slot;
		pthread_cond_signal(&q->changed);
	}
	lock_drop(&q->lock);
}

bool name_queue_take(struct name_queue *q, uint32_t *slot)
{
	bool given;

	lock_take(&q->lock);
	while (q->first == NONE && !q->over)
		pthread_cond_wait(&q->changed, &q->lock.mutex);
	given = !q->over;
	if (given) {
		*slot = q->first;
		q->first = q->next[*slot];
		q->next[*slot] = ABSENT;
	}
	lock_drop(&q->lock);
	return given;
}

void name_queue_end(struct name_queue *q)
{
	lock_take(&q->lock);
	q->over = true;
	pthread_cond_broadcast(&q->changed);
	lock_drop(&q->lock);
}
