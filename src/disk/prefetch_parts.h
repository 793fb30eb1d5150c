/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inside a prefetch: what prefetch.c and prefetch_records.c share. By the worker whose turn it is. */
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

#endif
