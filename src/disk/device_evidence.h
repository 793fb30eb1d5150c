/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a device's reads have shown of it, under a lock that is a leaf: what its seeks cost; in which order, and whether together,
 * records a step apart come fastest; how much a cluster should be asked for at once. Nothing of it is kept over a restart
 * but what device_learnt() takes.
 */
#ifndef DISK_DEVICE_EVIDENCE_H
#define DISK_DEVICE_EVIDENCE_H

#include "common/lock.h"
#include "disk/seek_evidence.h"
#include "pricing/meter_delay.h"
#include "sched/access_order.h"
#include "sched/access_together.h"
#include "sched/depth_search.h"
#include "sched/step_search.h"

struct device_evidence {
	struct lock lock; /* of: */
	struct seek_evidence seeks;
	struct access_order records;	 /* of records a step apart */
	struct access_together together; /* ... one by one, or several at once */
	struct depth_search depth;	 /* of a cluster: how many at once */
	struct step_search steps;	 /* ... how long its requests are */
	struct meter_delay delay;	 /* of a cluster; sampled by the price thread */
};

/* Nothing is known, or nothing any more: the device is another one. Any thread, not with the lock, which is initialised. */
void device_evidence_forget(struct device_evidence *e);

#endif
