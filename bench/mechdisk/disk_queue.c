/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The drive's queue: shortest positioning time first among the `depth` oldest commands, with a
 * bound on waiting. With depth 1 that is first come, first served, as a drive without a tagged
 * queue works: what the host sends beyond the depth waits in order and is not looked at.
 */
#include "disk_queue.h"

#include <stddef.h>

void disk_queue_init(struct disk_queue *queue, uint32_t depth, int64_t age_ns)
{
	*queue = (struct disk_queue){.depth = depth, .age_ns = age_ns};
	queue->last = &queue->first;
}

void disk_queue_add(struct disk_queue *queue, struct disk_command *command)
{
	command->next = NULL;
	*queue->last = command;
	queue->last = &command->next;
	if (++queue->count > queue->count_max)
		queue->count_max = queue->count;
}

static struct disk_command *unlink_at(struct disk_queue *queue, struct disk_command **link)
{
	struct disk_command *command = *link;

	*link = command->next;
	if (queue->last == &command->next)
		queue->last = link;
	queue->count--;
	return command;
}

struct disk_command *disk_queue_take(struct disk_queue *queue, const struct disk_model *model,
				     int64_t now_ns)
{
	struct disk_command **link = &queue->first, **best = link;
	int64_t best_ns = INT64_MAX;

	if (!queue->first)
		return NULL;
	if (queue->depth == 1 || now_ns - queue->first->arrival_ns >= queue->age_ns)
		return unlink_at(queue, &queue->first);
	for (uint32_t i = 0; i < queue->depth && *link; i++, link = &(*link)->next) {
		int64_t wait_ns = disk_model_estimate(model, (*link)->op, (*link)->offset,
						      (*link)->length, now_ns);

		if (wait_ns < best_ns) {
			best_ns = wait_ns;
			best = link;
		}
	}
	return unlink_at(queue, best);
}
