/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How long a disk is without reads, between the end of the last one and the next one's coming: the time in
 * which its readers think.
 *
 *   disk     [ r ]               [ r ]               [ r ]
 *                 |<--- gap --->|     |<--- gap --->|
 *                 since         ^ expected: mean less deviation
 *
 * Readers that think alike leave gaps alike, and work that fits into one costs them nothing. Anticipation
 * (Iyer & Druschel, SOSP 2001, 4.1) keeps a distribution of think times for each process and asks whether to
 * wait; here it is asked how much to do meanwhile, and one mean with its mean deviation (Jacobson, SIGCOMM
 * 1988) is enough: of several readers the gaps are short, or differ, and then nothing is expected. A gap many
 * times as long as usual is a pause, and counts only if the next one is so too. Pure; no locking of its own.
 */
#ifndef SCHED_READ_GAP_H
#define SCHED_READ_GAP_H

#include <stdbool.h>
#include <stdint.h>

/* Gaps that must have been seen, and the longest that is one (ns). */
#define READ_GAP_SURE 8
#define READ_GAP_MAX  UINT64_C(250000000)
/* So many times as long as expected is a pause. */
#define READ_GAP_PAUSE 4

struct read_gap {
	uint64_t since;	  /* ns: the present one began; 0: there is none */
	double mean, dev; /* ns: of those lately */
	uint32_t n;
	bool paused; /* the last one was so long that it did not count */
};

/* No read is queued or running any more. */
void read_gap_begins(struct read_gap *g, uint64_t now);
/* One comes. */
void read_gap_ends(struct read_gap *g, uint64_t now);
/* How long (ns) one lasts at least, as a rule; 0: nobody knows. */
uint64_t read_gap_usual(const struct read_gap *g);
/* When it is over for sure (ns), unless this is a pause; of the present one. */
uint64_t read_gap_late(const struct read_gap *g);

#endif
