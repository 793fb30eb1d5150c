/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A simulated disk with a clock of its own, and the limits that go with it: a seek of 9 ms wherever
 * the head is not, then 130 MB/s.
 */
#ifndef UNIT_DISK_H
#define UNIT_DISK_H

#include "sched/policy.h"
#include "support.h"

#define DISK_SEEK      (9 * MSEC)
#define DISK_MB_S      130
#define DISK_NS(bytes) ((uint64_t)(bytes)*1000 / DISK_MB_S)

struct disk {
	uint64_t now, head, busy, bytes;
};

/* Reads LEN bytes at BLOCK; returns how long that took. */
static inline uint64_t disk_read(struct disk *d, uint64_t block, uint64_t len)
{
	uint64_t service = (block == d->head ? 0 : DISK_SEEK) + DISK_NS(len);

	d->head = block + len;
	d->now += service;
	d->busy += service;
	d->bytes += len;
	return service;
}

static inline struct sched_limits default_limits(void)
{
	return (struct sched_limits){
		.queue_max = 4096,
		.queue_bytes = 256 * MIB,
		.max_io = MIB,
		.prefetch_max_age = 10 * SEC,
		.cost = {.chunk_min = 512 * KIB,
			 .chunk_max = 8 * MIB,
			 .chunk_default = 4 * MIB,
			 .max_wait = 2 * SEC,
			 .demand_wait = 55 * MSEC,
			 .seek_share = 14},
	};
}

/* The chunk R, which runs, has no more than its turn, as far as that is worth it (disk/prefetch.c). */
static inline void cut_to_turn(struct sched_queue *q, struct sched_req *r)
{
	uint64_t turn = sched_chunk_of(q, r);

	if (r->len > turn + turn / 2)
		sched_shorten(q, r, turn);
}

/* A cost model that knows this disk already. */
static inline void learn_disk(struct cost_model *m)
{
	for (int i = 0; i < 16; i++) {
		cost_observe(m, MIB, DISK_NS(MIB), true);
		cost_observe(m, MIB, DISK_NS(MIB) + DISK_SEEK, false);
	}
}

/* A queue of POLICY with LIMITS; to be freed with queue_free(). */
static inline struct sched_queue *queue_new(const struct sched_policy *policy,
					    const struct sched_limits *limits)
{
	struct sched_queue *q = malloc(sizeof(*q));

	assert_non_null(q);
	assert_int_equal(sched_queue_init(q, policy, limits), 0);
	return q;
}

static inline void queue_free(struct sched_queue *q)
{
	sched_queue_fini(q);
	free(q);
}

#endif
