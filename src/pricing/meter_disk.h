/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How busy a disk is, in two ways of which one is chosen (CA-NFS, section 3.3, "Server Disk").
 *
 * DISK_QUEUE, the paper's: the length of the queue against the length that saturates the disk.
 *
 *   length = waiting with us + max(in the kernel, running by us)
 *   utilization = length / saturation_length
 *
 * All are averages over the window. What waits with us is sampled. For the kernel's queue no
 * sampling is needed: its "time in queue" is the sum of all requests' times, so its growth per
 * second is the average number of requests there (Little's law), other programs' and write-back
 * included. It grows when a request ends; for the case that none does the "in flight" of each
 * sample is averaged too, and the higher counts. Our own running requests are among the kernel's:
 * they are not added again, only taken where the kernel shows fewer (FUSE, or a device without
 * counters).
 *
 * DISK_DELAY, the alternative: how long a request waits, against the delay that is too long.
 *
 *   delay = waiting with us / requests ended per second + kernel's time in queue / requests ended
 *   utilization = delay / saturation_delay
 *
 * A queue that moves fast is no congestion then; a single large request already may be. A queue in
 * which nothing ends in a whole window is full.
 *
 * Not thread-safe.
 */
#ifndef PRICING_METER_DISK_H
#define PRICING_METER_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "pricing/rate.h"
#include "pricing/source.h"

enum disk_method { DISK_QUEUE, DISK_DELAY };

struct disk_limits {
	enum disk_method method;
	double saturation_length; /* requests, > 0 */
	double saturation_delay;  /* seconds, > 0 */
	uint64_t window;	  /* ns */
	uint64_t step;		  /* ns that a sample speaks for; what lies further back the one
				   * before does. 0: it speaks for all since that one */
};

/* Our dispatcher, as it is now. */
struct disk_sample {
	uint32_t waiting; /* requests queued with us and not given to the kernel yet */
	uint32_t running; /* given to the kernel */
	uint64_t ended;	  /* requests done since the start */
	double longer; /* of a cluster: 0..1, meter_delay.h's; it counts where it is the higher */
	double unstable; /* ... what is not stable, of what may be: meter_unstable.h's, not this one's */
};

struct meter_disk {
	unsigned int major, minor;
	struct disk_limits limits;
	uint64_t last;			 /* ns, of the last sample */
	struct disk_sample before;	 /* the last sample: our queue */
	double inflight_before;		 /* ... and the kernel's */
	double waiting_sum, running_sum; /* request seconds */
	double inflight_sum;		 /* request seconds, from "in flight" */
	struct rate waiting, running, ended;
	struct rate inflight, kernel, kernel_ended;

	double length;		    /* requests, by the first method */
	double delay;		    /* seconds, by the second */
	double by_length, by_delay; /* utilization, 0..1 */
	double utilization;	    /* 0..1, the one chosen */
	char unknown[SOURCE_NAME];  /* the file that told nothing: only our own queue counts */
};

/* A partition is measured by its whole disk. */
void meter_disk_init(struct meter_disk *m, unsigned int major, unsigned int minor,
		     const struct disk_limits *limits);
/* At short, regular intervals (tens of ms). Reads one file, and brings the results up to date. */
void meter_disk_sample(struct meter_disk *m, struct price_source *s, uint64_t now,
		       const struct disk_sample *ours);

#endif
