/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How many bytes to ask for with a READ over datagrams, by how many fragments are lost. The paper
 * leaves it as further work ("it may be possible to adjust the size dynamically, based on the IP
 * fragment drop rate"); the rule is ours.
 *
 * A datagram of n fragments arrives whole with (1 - p)^n, p being the loss of one. From READs sent
 * and READs sent again p is estimated, over the last few dozens; one that was answered twice had not
 * been lost. (The kernel's own count of datagrams not put together comes too late, when it gives up
 * after half a minute.) The size is the power of two up to the largest for which most bytes a second
 * are expected:
 *
 *	size / (round trip + lost / (1 - lost) * time to wait),   lost = 1 - (1 - p)^n
 *
 * Both times grow with the size, but for a fixed share. One READ at a time is thought of. Times are
 * nanoseconds.
 */
#ifndef NFSBENCH_READ_SIZE_H
#define NFSBENCH_READ_SIZE_H

#include <stdint.h>

#define READ_SIZE_LEAST	   1024 /* bytes: one fragment; the largest is the request's own size */
#define READ_SIZE_FRAGMENT 1480 /* bytes of a datagram in an IP fragment on Ethernet */

/* What became of READs. */
struct read_size_seen {
	uint64_t answered;
	uint64_t again;	   /* sendings but the first */
	uint64_t needless; /* answers but the first */
	uint64_t rtt_samples;
	double rtt_sum;
};

struct read_size {
	uint32_t size, most;	     /* bytes */
	double fragment_loss;	     /* estimated, 0 … 1 */
	struct read_size_seen since; /* the last estimate */
};

void read_size_init(struct read_size *r, uint32_t most);

/* Fragments of an answer with so many bytes of data. */
unsigned int read_size_fragments(uint32_t size);

/* What was seen since the last call; `rto`: the time that a lost READ of the present size costs. */
void read_size_learn(struct read_size *r, const struct read_size_seen *seen, double rto);

#endif
