/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What reads of a device say of its seeks: that they cost nothing, that they do cost, or nothing yet.
 *
 *   a read, far from the one before:  its time, less its transfer
 *        |<-- free, < 1 ms -->|   nobody knows   |<-- dear, >= 4 ms ... -->
 *
 *   of 32 in a row 26 are free: no seeks       12 are dear: seeks       else: 32 others
 *
 * Of a file in pieces a read may lie in several places: then the disk seeks within it, and is where the next
 * one begins. Its seeks, up to eight, share its time before they are called dear; to be free they must be so
 * together. For what it asks for is sorted on its way: they may be fewer than it has places, or shorter.
 *
 *   reads:     |  1   |  2   |  3   |  4   |        the second one seeks, and not the third
 *   on disk:   [  here    ] [   far away   ]
 *
 * A mean would let a few reads that memory answered speak for the device; here most must say the
 * same; the others are time that a busy processor took before it looked. Reads that wait for each
 * other at the device share their time before it is called dear; for a free one it is not divided,
 * for some of them may hang and take none of the disk. What is near may come from the drive's own
 * read-ahead and does not count. Whose seeks were dear after all has to show twice as much each time
 * before it is believed to have none: what is neither disk nor flash must not change for ever.
 *
 * Pure: no lock, no clock.
 */
#ifndef DISK_SEEK_EVIDENCE_H
#define DISK_SEEK_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "disk/device_mode.h"

/* Reads that are judged together, and how many of them decide. */
#define SEEKS_JUDGED 32
#define SEEKS_FREE   26
#define SEEKS_DEAR   12
/* After so many returns to a disk with seeks no more is asked for. */
#define SEEKS_RETURNS_MAX 5
/* Nearer to the one before (bytes) is no seek. */
#define SEEK_FAR (UINT64_C(4) << 20)

/* Whether the disk must seek from the byte FROM to TO. */
static inline bool seek_is_far(uint64_t from, uint64_t to)
{
	return (to > from ? to - from : from - to) >= SEEK_FAR;
}

struct seek_sample {
	uint64_t block, end; /* on the device, bytes: of its first one; behind its last one */
	uint64_t len;
	uint32_t seeks;	    /* between these, within it */
	uint64_t service;   /* ns */
	uint32_t readers;   /* reads under way when it began, with it */
	double ns_per_byte; /* the medium's, as observed; 0: not known */
};

struct seek_evidence {
	uint64_t end;		   /* of the last one, on the device */
	uint32_t seen, free, dear; /* of those being judged */
	uint32_t agreed;	   /* judgements in a row that say free: 2^returns are needed */
	uint32_t returns;	   /* times that seeks were dear after all */
	double sum, mean;	   /* ns a seek: of those being judged; of those judged last */
};

/* One read from the device, not from memory. What it settles: NOTHING most times. */
enum device_learns seek_evidence_add(struct seek_evidence *e, const struct seek_sample *s);
/* The device was taken for one without seeks, and was found to have them. */
void seek_evidence_returned(struct seek_evidence *e);

#endif
