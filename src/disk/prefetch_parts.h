/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inside a prefetch: what prefetch.c, prefetch_records.c and prefetch_young.c share. By the worker whose turn it is. */
#ifndef DISK_PREFETCH_PARTS_H
#define DISK_PREFETCH_PARTS_H

#include "disk/fetch.h"
#include "disk/prefetch.h"

struct prefetch {
	struct sched_req req;
	struct export_io *io;
	struct backing *backing;
	struct readahead_plan plan;
	struct prefetch *next; /* what its stream wants behind it, not submitted yet; or NULL */
	uint64_t step;
	uint64_t upto; /* it is in memory as far as this offset */
	bool started;
	bool failed;
	bool for_others; /* its reader has gone, others wait for what it is */
	bool in_pieces; /* so small ones that it takes twice as long at least as one in one place */
	uint64_t together; /* bytes in whose time it is asked for at once; 0: in steps */
	uint64_t seek;	   /* bytes: from one piece to the next */
};

static inline uint64_t prefetch_end(const struct prefetch *p)
{
	return p->plan.offset + p->plan.len;
}

/* Whether what it brings will be there for its reader. */
static inline bool prefetch_is_worth(const struct prefetch *p)
{
	return backing_prefetches(p->backing, dispatcher_now(&p->backing->device->dispatcher),
				  true);
}

/* Whether anybody can still want the rest. */
static inline bool prefetch_goes_on(const struct prefetch *p)
{
	return p->upto < prefetch_end(p) && !atomic_load(&p->backing->gone) &&
	       !atomic_load(&p->io->closing) && prefetch_is_worth(p);
}

/* The disk brought LEN bytes at OFFSET. */
static inline void prefetch_fetched(const struct prefetch *p, uint64_t offset, uint64_t len)
{
	readahead_fetched(p->io->engine, &p->io->counters, &p->plan, offset, offset + len);
}

/* Brings the records of P's chunk, in a turn whose present slice began at SLICE (ns). */
void prefetch_records(struct dispatcher *d, struct prefetch *p, uint64_t slice);

/* Until so many bytes of it are there the first chunk of a young reader comes as below. */
#define PREFETCH_YOUNG (UINT64_C(1) << 20)

/* Bytes of P that are to come first; 0: it is as any chunk. */
uint64_t prefetch_young_first(struct dispatcher *d, const struct prefetch *p);
/* ... behind LEN of them. */
uint64_t prefetch_young_next(const struct prefetch *p, uint64_t len);
/* Whether that is all: what was asked for from FROM on, at BEGUN (ns), has come. The rest is left out. */
bool prefetch_young_ends(struct dispatcher *d, struct prefetch *p, uint64_t from, uint64_t begun);
/* The rest of P is left out from UPTO on, or from where the last one ends that waits for some of it; false: it goes on there. */
bool prefetch_cut(struct dispatcher *d, struct prefetch *p, uint64_t upto);
/* Whether P's reader has all that he wants before its turn: P is over. With a use. */
bool prefetch_is_over(struct dispatcher *d, struct prefetch *p);

#endif
