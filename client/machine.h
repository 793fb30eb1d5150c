/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the mounts of a machine share: its memory, out of /proc, and its limits on dirty memory.
 *
 * The flushing point: where dirty memory makes the kernel write, whatever a single mount may hold.
 * While a mount defers it can be raised (CA-NFS, section 2.1); without that deferral holds little
 * more than the limit as it is.
 */
#ifndef CLIENT_MACHINE_H
#define CLIENT_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "knob.h"
#include "pricing/meter_memory.h"

/* The limit where writers wait is so much above the flushing point (percent of memory). */
#define FLUSH_POINT_ROOM 20
/* Less than one part in so many of the memory available: memory is short. */
#define MEMORY_SHORT 8

struct machine {
	struct price_source source; /* first: its reader finds the machine */
	const char *root;	    /* before all paths */
	struct meter_memory meter;
	double dirty; /* u of decide.h; 0 where /proc does not tell */
	bool memory_short;

	bool dry_run;
	uint32_t flush_point; /* percent, 0: left alone */
	bool raised;
	struct knob background, limit;
};

void machine_init(struct machine *m, const char *root, uint32_t flush_point, bool dry_run);
void machine_look(struct machine *m);
/* Bytes that wait to be written to this bdi; where debugfs is not mounted, to all. */
uint64_t machine_dirty(struct machine *m, const char *device);
/* Raises the limits, where they were recorded, or puts them back; says what it does. */
void machine_flush_point(struct machine *m, bool raise, const struct knob_recorder *recorder);
/* Another setting: first the limits go back to what they were. */
void machine_set_flush_point(struct machine *m, uint32_t percent);

#endif
