/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How busy a cluster is, by how much longer its requests take than when it is calm.
 *
 * Whoever reads from a cluster sees neither its disks nor their queues, only how long it takes. Where
 * requests wait in a queue of utilization u (M/M/1) they take 1 / (1 - u) times as long as alone, so
 *
 *   u = 1 - calm / now
 *
 *   now    mean time of the window's requests of a kind
 *   calm   the least such mean, which rises by a part in DELAY_DRIFT with each window, so that a cluster
 *          that became another one is found out within minutes
 *
 * Kinds are kept apart, for a read of 8 KiB and one of 512 KiB do not compare; the slowest kind counts. A write
 * goes into memory of the cluster's client as long as there is room, and waits for the cluster when there is none:
 * what takes less than DELAY_MEMORY is taken to have taken that. A read that takes less came out of some memory, the
 * client library's or that of a brick or OSD, and is left out, or the next one that a disk has to do would pass for one that
 * waits. What the cluster's disks take otherwise (sched/cost.h) is no better measure: it is learnt from the same reads, and eight
 * quick ones are enough to forget it. Where disks are quicker than that their slower reads are what is judged: but where the quick
 * ones took more time in all, few waited, and the cluster is calm. Nor is learnt then what is calm: the few may be caches' answers
 * that came late, beside which each read that a disk has to do would pass for one that waits. So fast disks that are loaded all
 * at once pass for slower ones, until less load shows that they are not.
 * Where a kind has fewer than DELAY_SAMPLES requests in a window the next ones are taken along, up to
 * DELAY_WINDOWS, for the busier a cluster is the fewer requests end; until then it is as busy as it was.
 * Still fewer say nothing, and DELAY_SILENT windows without any that nothing is waited for.
 *
 * meter_delay_add() by any thread, the others by one.
 */
#ifndef PRICING_METER_DELAY_H
#define PRICING_METER_DELAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DELAY_WINDOW  UINT64_C(500000000) /* ns */
#define DELAY_SAMPLES 4
#define DELAY_WINDOWS 4
#define DELAY_SILENT  2
#define DELAY_DRIFT   200

/* What took no longer was memory, and says nothing of the cluster's disks (ns). */
#define DELAY_MEMORY UINT64_C(1000000)

/*
 * By length, up to 64, 256, 768, 1,536 KiB, longer: reads, of which those of chunks become longer and shorter while the
 * cluster is the same (sched/step_search.h); as many of writes, and of those that are to be stable.
 */
enum delay_kind {
	DELAY_SMALL,
	DELAY_MIDDLE,
	DELAY_LARGE,
	DELAY_LARGER,
	DELAY_LARGEST,
	DELAY_WRITE,
	DELAY_STABLE = DELAY_WRITE + DELAY_LARGEST + 1,
	DELAY_KINDS = DELAY_STABLE + DELAY_LARGEST + 1
};

struct delay_count {
	_Atomic uint64_t sum, n; /* ns, and how many */
};

/* Zero: nothing is known. */
struct meter_delay {
	struct {
		struct delay_count judged,
			quick; /* since the start; those that came out of memory */
		uint64_t sum_before, quick_before; /* at the begin of what is judged next */
		uint64_t n_before, n_last;
		uint32_t windows, silent; /* since then; of these, the last ones without any */
		double calm;		  /* ns; 0: not known */
		double utilization;	  /* 0..1, as judged last */
	} kind[DELAY_KINDS];
	uint64_t begun;	    /* ns: the window */
	double utilization; /* 0..1, of the last whole window */
};

static inline enum delay_kind delay_kind_of_read(uint64_t len)
{
	uint64_t kib = len / 1024 + (len % 1024 != 0);

	return kib <= 64     ? DELAY_SMALL
	       : kib <= 256  ? DELAY_MIDDLE
	       : kib <= 768  ? DELAY_LARGE
	       : kib <= 1536 ? DELAY_LARGER
			     : DELAY_LARGEST;
}

static inline enum delay_kind delay_kind_of_write(uint64_t len, bool stable)
{
	return (enum delay_kind)((stable ? DELAY_STABLE : DELAY_WRITE) + delay_kind_of_read(len));
}

/* A request took TOOK ns. */
void meter_delay_add(struct meter_delay *m, enum delay_kind kind, uint64_t took);
/* What a request of that kind took in the mean (ns), since the start; 0: there were fewer than LEAST. */
double meter_delay_mean(const struct meter_delay *m, enum delay_kind kind, uint32_t least);
/* The utilization (0..1) as of NOW. At regular times, several a window. */
double meter_delay_sample(struct meter_delay *m, uint64_t now);

#endif
