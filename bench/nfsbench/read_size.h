/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How many bytes to ask for with a READ over datagrams, by how many fragments are lost. The paper
 * leaves it as further work ("it may be possible to adjust the size dynamically, based on the IP
 * fragment drop rate"); the rule is ours.
 *
 * A datagram of n fragments arrives whole with (1 - p)^n, p being the loss of one. From READs sent
 * and READs sent again p is estimated, over the last few dozens. The size is the power of two up to
 * the largest for which most bytes a second are expected:
 *
 *	size / (round trip + bytes' time + lost / (1 - lost) * time to wait),   lost = 1 - (1 - p)^n
 *
 * One READ at a time is thought of. Times are nanoseconds.
 */
#ifndef NFSBENCH_READ_SIZE_H
#define NFSBENCH_READ_SIZE_H

#include <stdint.h>

#define READ_SIZE_LEAST	   1024 /* bytes: one fragment; the largest is the request's own size */
#define READ_SIZE_FRAGMENT 1480 /* bytes of a datagram in an IP fragment on Ethernet */

struct read_size {
	uint32_t size, most;  /* bytes */
	double fragment_loss; /* estimated, 0 … 1 */
	/* Since the last estimate. */
	uint64_t sent, again;
};

void read_size_init(struct read_size *r, uint32_t most);

/* Fragments of an answer with so many bytes of data. */
unsigned int read_size_fragments(uint32_t size);

/* So many READs were sent and sent again since the last call; `rtt` is the mean round trip of a READ
 * of the present size, `rto` the time that a lost one costs. */
void read_size_learn(struct read_size *r, uint64_t sent, uint64_t again, double rtt, double rto);

#endif
