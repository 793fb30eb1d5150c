/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How many requests a device is given at once, and whether demand reads queue for it.
 *
 *   Queue_Depth = n          as configured: n requests, demand reads queue
 *   Queue_Depth = 0:
 *
 *              rotates?
 *       no /            \ yes         seeks cost < 1 ms
 *     +-------+     +------+ -------------------------> +------------+
 *     | flash |     | disk |                            | seeks free |
 *     | 8     |     | 1    | <------------------------- | 8          |
 *     | direct|     | queue|     seeks cost >= 4 ms     | direct     |
 *     +-------+     +------+                            +------------+
 *
 *   over those that queue, while others than us write to the device: at least 32, direct
 *   ... while fsyncs of ours do, of what had no turns: at least 32; demand reads queue as before
 *
 *   a cluster (device_use_cluster()): as many as were found to bring most, direct, but for clients after whom others
 *   come (sched/flow_past.c); others' writes are not seen
 *
 * A disk that seeks may be given several scattered reads at once, up to what its drive can take: the
 * dispatcher tries what that is worth. Of the other modes the depth is the depth.
 *
 * "Direct" reads go to the kernel at once, past the queue. Reads that are still queued when others
 * begin to write must not wait one by one behind those that now go to the disk directly: therefore 32,
 * as many as the kernel would have without us. Where it is our own fsyncs that write, they stay in the queue: it is
 * to know of them when it is a write-back's turn.
 *
 * Pure: no lock, no clock; what was seen is handed in.
 */
#ifndef DISK_DEVICE_MODE_H
#define DISK_DEVICE_MODE_H

#include <stdbool.h>
#include <stdint.h>

/* Requests at once: of a device without seeks, and at least while others write to it. */
#define DEVICE_DEPTH_FLASH   8
#define DEVICE_DEPTH_FOREIGN 32
/*
 * A seek cheaper than the first is no seek (ns). Dearer than the second, it is one after all. What
 * is needed to believe either: seek_evidence.h.
 */
#define DEVICE_SEEK_NONE 1e6
#define DEVICE_SEEK_REAL 4e6
/*
 * Looks for writes of others that are averaged, where one finds some and where it does not: reads lose more
 * by waiting here one by one than by going at once. The shares of busy ones that make a change.
 */
#define DEVICE_FOREIGN_RISES	4
#define DEVICE_FOREIGN_AVERAGED 8
#define DEVICE_FOREIGN_AGES	32 /* the same where writes of ours hide theirs */
#define DEVICE_FOREIGN_BUSY	0.5
#define DEVICE_FOREIGN_GONE	0.25

/* What a seek's cost can still change. */
enum device_learns { DEVICE_LEARNS_NOTHING, DEVICE_LEARNS_FREE, DEVICE_LEARNS_DEAR };

struct device_mode {
	bool cluster;	      /* no block device: a FSAL's, by way of a network */
	uint32_t learnt;      /* its depth */
	bool rotating;	      /* says the kernel */
	uint32_t drive_queue; /* what its drive can be given at once: drive_queue.h's bound */
	uint32_t configured;  /* Queue_Depth; 0: by what it is */
	bool seeks_free;      /* says it rotates, but seeks cost next to nothing */
	bool foreign_writes;  /* others than our turns are writing to it */
	double foreign_share; /* of the looks lately that found it so */
	bool by_fsyncs;	      /* ... for fsyncs of our own */
	double fsync_share;   /* of those looks the ones that found these, too */
};

void device_mode_init(struct device_mode *m, bool rotating, uint32_t drive_queue,
		      uint32_t configured);
/* It is a cluster, at first for one request at once. */
void device_mode_set_cluster(struct device_mode *m);
/* Another Queue_Depth. What was learnt of seeks stays, writes of others are found out anew. */
void device_mode_configure(struct device_mode *m, uint32_t configured);
/* What the kernel says now: if that is new, what was learnt of seeks is of another disk. */
void device_mode_set_rotating(struct device_mode *m, bool rotating);
/* Seeks were found to be what WHAT says. True: that changed the mode. */
bool device_mode_learn(struct device_mode *m, enum device_learns what);
enum device_learns device_mode_learns(const struct device_mode *m);
/*
 * One look at regular times: whether others than our turns had writes under way, and fsyncs of ours were or have
 * been. True: that changed the mode.
 */
bool device_mode_look(struct device_mode *m, bool writing, bool fsyncs);
/* ... at which writes of our turns hid what others do: what was seen before grows old. True: that changed the mode. */
bool device_mode_no_look(struct device_mode *m);
/* Nobody looks for a while: no writes of others. True: that changed the mode. */
bool device_mode_forget(struct device_mode *m);

/* Requests at once, as the dispatcher should have them. */
uint32_t device_mode_depth(const struct device_mode *m);
/* Scattered reads at once, at most, while nothing else is under way; 1: no more than that depth. */
uint32_t device_mode_scattered(const struct device_mode *m);
/* Requests at once as they would be if nobody else wrote: what the device can do. */
uint32_t device_mode_own_depth(const struct device_mode *m);
/* Whether demand reads queue; and whether they would if nobody else wrote. */
bool device_mode_queues(const struct device_mode *m);
bool device_mode_own_queues(const struct device_mode *m);
/* Whether reads, queued or not, go to the disk among writes that are not of our turns. */
bool device_mode_written(const struct device_mode *m);

#endif
