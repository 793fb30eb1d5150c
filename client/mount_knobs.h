/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The two knobs of a mount's bdi, as wanted or as found, and what is said about that.
 *
 *   min_ratio       percent of dirty memory that the mount may keep: deferral
 *   read_ahead_kb   KiB, for files that are opened from then on
 *
 * Kernels from 6.2 on show as min_ratio the whole percents of min_ratio_fine, which has them in parts of a million: there
 * that is turned, for what it stands at could not be put back by the other.
 *
 * Mounts of one export have them in common, so one mount owns them. One thread.
 */
#ifndef CLIENT_MOUNT_KNOBS_H
#define CLIENT_MOUNT_KNOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "knob.h"
#include "tell.h"

#define KNOB_AS_FOUND (-1)
/* s: one that was refused is tried again after so long, then after twice as long each time, up to the second:
 * what the kernel refuses now it may take when another mount's is back, or there is a descriptor again. */
#define KNOB_AGAIN	2
#define KNOB_AGAIN_MOST 64

struct mount_knob {
	struct knob knob;
	const char *name;	   /* to say */
	uint32_t unit;		   /* of the knob's, that one of ours is */
	int64_t set;		   /* what it is turned to, or KNOB_AS_FOUND */
	double pause;		   /* s: before it is tried again; 0: it was not refused last */
	double again_at;	   /* s: not before */
	int refusal;		   /* errno: why it was refused last */
	struct tell told, refused; /* that it is turned; that it could not be */
};

struct mount_knobs {
	const char *path;  /* of the mount, to say */
	bool owns;	   /* these are its */
	uint32_t page_kib; /* of the kernel, KiB: it reads ahead whole ones */
	struct mount_knob ratio, readahead;
};

/* How knobs are turned. */
struct knob_hand {
	struct knob_recorder recorder;
	bool dry_run; /* only say what would be done */
};

/* The knobs of the mount at PATH: not its own yet, and nothing is touched. */
void mount_knobs_init(struct mount_knobs *m, const char *path);
/* They are its: those of DEVICE, below ROOT, of a kernel with pages of PAGE_KIB. */
void mount_knobs_own(struct mount_knobs *m, const char *root, const char *device,
		     uint32_t page_kib);
/* A number, or KNOB_AS_FOUND; WHY is said, where a change is said (tell.h). One that is refused stays where we had
 * it, else as it was found, and is tried again by later calls: NOW, s. That it is, and when it can be turned again,
 * is said. */
void mount_knobs_ratio(struct mount_knobs *m, int64_t percent, const char *why,
		       const struct knob_hand *hand, double now);
void mount_knobs_readahead(struct mount_knobs *m, int64_t kib, const char *why,
			   const struct knob_hand *hand, double now);
/* How they stand, where that was not said and has not changed for long (tell.h). For each round. */
void mount_knobs_calm(struct mount_knobs *m, const struct knob_hand *hand, double now);
/* KiB that read_ahead_kb had before us; 0 where that cannot be read. */
uint32_t mount_knobs_readahead_found(struct mount_knobs *m);
/* Both as found, and said. */
void mount_knobs_release(struct mount_knobs *m, const struct knob_hand *hand);
/* The mount is gone: what is still there as found, and not its own any more; nothing is said. */
void mount_knobs_disown(struct mount_knobs *m);

#endif
