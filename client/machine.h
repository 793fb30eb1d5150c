/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the mounts of a machine share: its memory, out of /proc and the limits of control groups
 * (group_memory.h), its network, and its limits on dirty memory.
 *
 *   dirty     u of written data that waits, of the machine's memory or of a group's, the fuller one; with the
 *             limits that a deferral raises, where it may
 *   pressed   how little memory is free beside what may be dirty: 0 where written data can wait without
 *             taking memory from cached data
 *   network   u of its network by others than NFS mounts, in the direction where that is more: data that is held back would not make room for
 *             itself
 *
 * The flushing point: where dirty memory makes the kernel write, whatever a single mount may hold.
 * While a mount defers it can be raised (CA-NFS, section 2.1); without that deferral holds little
 * more than the limit as it is. The kernel makes writers wait from the middle between that point and the limit on.
 * When deferral ends, the point follows what is dirty down to where it was, so that the kernel writes, and the limit is
 * put back when what is dirty has drained below where writers would wait then, FLUSH_DRAIN_MAX later at most: put back
 * at once either would stop all writers for as long as draining takes.
 */
#ifndef CLIENT_MACHINE_H
#define CLIENT_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "group_memory.h"
#include "knob.h"
#include "pricing/meter_memory.h"
#include "pricing/meter_net.h"
#include "tell.h"
#include "weights.h"

/* The limit where writers wait is so much above the flushing point (percent of memory). */
#define FLUSH_POINT_ROOM 20
/* Less than one part in so many of the memory available: memory is short. */
#define MEMORY_SHORT 8
/* s */
#define FLUSH_DRAIN_MAX 60
/* While it drains the flushing point is so much below what is dirty (percent of memory). */
#define FLUSH_DRAIN_ROOM 5
/* Bytes a second that programs may write into memory. */
#define BURST_RATE 1e9
/* ns: over which the network's use is averaged. */
#define NETWORK_WINDOW 2000000000u

/* Bytes over the network. */
struct traffic {
	double received, sent;
};

struct machine {
	struct price_source source; /* first: its reader finds the machine */
	const char *root;	    /* before all paths */
	struct meter_memory meter;
	struct meter_net net;
	struct rate received, sent;	/* by NFS mounts, at the looks at the network */
	double dirty, pressed, network; /* u, as above; 0 where nothing tells */
	bool memory_short;
	double total;		      /* bytes of memory; 0: not known */
	const struct weights *groups; /* that are halted: theirs count too; NULL: none */

	bool dry_run;
	uint32_t flush_point; /* percent, 0: left alone */
	bool raised;
	struct tell told;   /* that it is */
	double now;	    /* s: when the network was looked at */
	double drain_until; /* s: the limit is put back then; 0: it is not raised alone */
	uint64_t background_pages, limit_pages; /* in force */
	struct knob background, limit;
};

void machine_init(struct machine *m, const char *root, uint32_t flush_point, bool dry_run);
void machine_look(struct machine *m);
/* Only at what is dirty: one file of /proc. */
void machine_glance(struct machine *m);
/* In so many s a burst of writes fills what the kernel lets gather before it sends it; INFINITY: not known. */
double machine_burst_time(const struct machine *m);
/* NOW: ns. MOUNTS: what NFS mounts have moved by then, from any moment on. Over the same time it is taken from
 * what the network carried in the same direction. */
void machine_network(struct machine *m, const struct traffic *mounts, uint64_t now);
/* Bytes that wait to be written to this bdi; where debugfs is not mounted, to all. */
uint64_t machine_dirty(struct machine *m, const char *device);
/* Raises the limits, where they were recorded, or puts them back at once; says what it does. */
void machine_flush_point(struct machine *m, bool raise, const struct knob_recorder *recorder);
/* The same, but the limit goes back when what is dirty has drained. For each round. */
void machine_flush_follow(struct machine *m, bool raise, const struct knob_recorder *recorder);
/* Another setting: first the limits go back to what they were. */
void machine_set_flush_point(struct machine *m, uint32_t percent);

#endif
