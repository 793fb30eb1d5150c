/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * An offered load, as Nhfsstone's (Legato Systems, 1989) is described in Macklem's paper: which calls,
 * in what mix, and when, however fast they are answered.
 *
 * A mix is a weight of each operation; each arrival is one of them by chance. Arrivals are so many a
 * second: at equal distances, or as a Poisson process. Times are nanoseconds; nothing reads a clock.
 */
#ifndef NFSBENCH_OFFERED_H
#define NFSBENCH_OFFERED_H

#include <stdbool.h>
#include <stdint.h>

#include "prng.h"

enum mix_op {
	MIX_GETATTR,
	MIX_SETATTR,
	MIX_LOOKUP,
	MIX_READLINK,
	MIX_READ,
	MIX_WRITE,
	MIX_CREATE,
	MIX_REMOVE,
	MIX_READDIR,
	MIX_FSSTAT,
	MIX_OPS
};

#define MIX_WEIGHT_MAX 10000

struct mix {
	uint32_t weight[MIX_OPS]; /* 0 … MIX_WEIGHT_MAX */
	uint32_t total;
};

const char *mix_op_name(enum mix_op op);

/* "lookup", "read-lookup" (50/50), "default", or weights: "lookup=34,read=22,write=8". 0, or -1 after a
 * message on stderr with the names and the range. */
int mix_parse(struct mix *mix, const char *text);

enum mix_op mix_draw(const struct mix *mix, struct prng *prng);

struct schedule {
	double interval; /* ns, the mean */
	bool poisson;
	struct prng prng;
	double next; /* ns since the beginning */
};

/* `rate` arrivals a second. */
void schedule_init(struct schedule *s, double rate, bool poisson, uint64_t seed);
/* When the next arrival is, since the beginning; each call is one arrival further. */
uint64_t schedule_next(struct schedule *s);

#endif
