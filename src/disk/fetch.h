/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a request does at the disk: timed, and told to the device's model of what its reads cost.
 *
 *   fetch_reply()  straight into a client's reply: a READ that nobody shares is copied once
 *   fetch_cache()  into the page cache and nowhere else: not copied at all
 *   fetch_chunk_*  the same for what is fetched ahead, step by step
 *
 *       windows     [ window ][ window ][ window ]   of a chunk: large folios (kernel_windows.h)
 *       WILLNEED                         [ piece ]   of the rest: single pages
 *       arrival     |...x|...x|...x|...x|...x|...x   a byte of each unit: waits until that is there (arrival.h)
 *       residency   [............................]   all of it? else it is read into a scratch buffer
 *
 * One call of WILLNEED starts no more than the device's read_ahead_kb or max_sectors_kb, the larger, less where
 * memory is short, and does not say so. Hence pieces, smaller by half each time that one turns out to be cut short,
 * and larger again after many that were not; and hence the look at what arrived. An error of the device that no
 * unit's byte meets is met by who reads then.
 *
 * The descriptor is a backing's (backing.h), without the kernel's own read-ahead. Any thread.
 */
#ifndef DISK_FETCH_H
#define DISK_FETCH_H

#include <sys/types.h>
#include <sys/uio.h>

#include "disk/backing.h"
#include "disk/kernel_windows.h"

/* Bytes that one call of WILLNEED is asked for: at first, and at least. */
#define FETCH_PIECE_MAX (UINT32_C(1) << 20)
#define FETCH_PIECE_MIN (UINT32_C(64) << 10)
/* ... of which one byte is awaited. */
#define FETCH_UNIT (UINT64_C(64) << 10)
/* Bytes of a step at most where several chunks share a device that serves them beside each other. */
#define FETCH_SHARED (UINT64_C(256) << 10)

/*
 * LEN bytes of B, of which the caller has a use, at OFFSET. Returns how many are there from OFFSET on:
 * fewer at the end of the file, 0 beyond it, -1 where none could be read.
 */
ssize_t fetch_cache(struct dispatcher *d, struct backing *b, uint64_t offset, uint64_t len);
/*
 * The same of one of many pieces whose order was chosen so that they cost least: what it took says nothing
 * of a seek.
 */
ssize_t fetch_piece(struct dispatcher *d, struct backing *b, uint64_t offset, uint64_t len);
/*
 * The same of several pieces together: the device is asked for each, where that can be (backing_begins()),
 * and then waited for. What is on its way may count as resident, so who begins it looks before.
 */
void fetch_begin(struct backing *b, uint64_t offset, uint64_t len);
ssize_t fetch_begun(struct dispatcher *d, struct backing *b, uint64_t offset, uint64_t len);
/* As fetch_cache(), into the N parts of IOV, LEN bytes together. ABSENT: not in memory a moment ago. */
ssize_t fetch_reply(struct dispatcher *d, struct backing *b, const struct iovec *iov, int n,
		    uint64_t offset, uint64_t len, bool absent);

/* Up to where [offset, offset + len) is in memory from its beginning on, in units: others read the same, or it was fetched. */
uint64_t fetch_there_upto(struct backing *b, uint64_t offset, uint64_t len);

/* [offset, offset + len) of B, to be brought in steps. One thread. */
struct fetch_chunk {
	struct dispatcher *d;
	struct backing *b;
	struct kernel_windows windows;
	uint64_t end;  /* of one with turns */
	uint64_t turn; /* bytes in whose time it is asked for together; 0: in steps */
	uint64_t seek; /* bytes */
	bool beside;   /* others are at the device with it */
	bool came;     /* its last step came from the device */
	bool goes_on;  /* ... and nothing else since, as far as is known here */
	bool pure; /* it did, all of it, where the one before it had ended, with no chunk beside it */
	struct {   /* what the device was asked for at BEGUN (ns), as far as windows.end */
		uint64_t begun, len;
		uint64_t there; /* but for what was in memory up to this offset */
		uint32_t seeks; /* that it takes; 0: what it takes says nothing */
	} group;
};

/* B is in use until the end. */
void fetch_chunk_begin(struct fetch_chunk *c, struct dispatcher *d, struct backing *b,
		       uint64_t offset, uint64_t len);
/*
 * The same of one that lies in pieces: the device is asked at once for as many as it reads in the time of TURN bytes
 * in one place, a seek taking that of SEEK, then for as many again. So it goes to them in the order that suits it, and
 * none ends within a window or a step. What a step takes then says nothing of a seek, but what such a group takes does.
 */
void fetch_chunk_together(struct fetch_chunk *c, struct dispatcher *d, struct backing *b,
			  uint64_t offset, uint64_t len, uint64_t turn, uint64_t seek);
/* The same, at once and as one step, of so little that what it takes is not told: it says too little of the device. */
void fetch_chunk_short(struct fetch_chunk *c, struct dispatcher *d, struct backing *b,
		       uint64_t offset, uint64_t len);
/*
 * As fetch_cache(), of the step behind the last one; no farther than what was asked for together, and no more than
 * FETCH_SHARED where device_is_shared(). *ALREADY: all that it returns was there before.
 */
ssize_t fetch_chunk_next(struct fetch_chunk *c, uint64_t offset, uint64_t len, bool *already);
/* Whether no group of it is still to be asked for. */
static inline bool fetch_chunk_is_asked(const struct fetch_chunk *c)
{
	return c->turn == 0 || c->windows.end >= c->end;
}
/*
 * Whether what is at OFFSET, and behind it, comes in any case: it was asked for; or the kernel's windows go, which who reads up
 * to the last one's mark has go on.
 */
static inline bool fetch_chunk_comes(const struct fetch_chunk *c, uint64_t offset)
{
	return c->windows.begun > offset || c->windows.going;
}
/* The device is given others' to do beside it: what a group of it takes says nothing of a seek. */
static inline void fetch_chunk_beside(struct fetch_chunk *c)
{
	c->beside = true;
}
/* The device was given something else to do meanwhile. */
void fetch_chunk_disturbed(struct fetch_chunk *c);
void fetch_chunk_end(struct fetch_chunk *c);

#endif
