/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Files that are in memory as a whole: their READs need not ask what is there, nor read ahead.
 *
 *   READ after READ is found in memory, HOT_READS of them within HOT_TIME
 *     -> all of the file is looked at, once;  all there?  -> hot for a while; at the next READ once more
 *   of a hot file: copied with RWF_NOWAIT under RCU: no lock, no line that another thread writes
 *     -> fails?  not hot, and the READ goes the usual way
 *
 * How long one look is believed, and when the next may be, follows from what it took: less than one part
 * in HOT_SHARE of the time goes into looking, whatever the file's size. Where the belief is wrong the kernel
 * brings the few pages of one READ past the queue.
 *
 * The copy must not wait, and to write an access time down may wait for the disk: READs of a hot file do not
 * count as access. Those between two looks do, and the first after a WRITE or what else a client changes of the
 * inode, which is what relatime asks for; where each READ is to count (strictatime) no file is hot.
 *
 * Only of whole files: a stream that is to be read ahead of must be seen by the engine, READ by READ.
 */
#ifndef DISK_HOT_H
#define DISK_HOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HOT_READS 16u
#define HOT_TIME  100000000u /* ns */
#define HOT_SHARE 256u
/* A larger file is never looked at: it takes milliseconds (bytes). */
#define HOT_FILE_MAX (UINT64_C(1) << 30)

/* Of one file; all zero: nothing is known. Any thread, no lock. */
struct hot {
	_Atomic uint64_t until; /* ns: it is in memory, as far as is known */
	_Atomic uint64_t next;	/* ns: not looked at before; UINT64_MAX: never */
	_Atomic uint64_t since; /* ns: the first of ... */
	_Atomic uint32_t reads; /* ... these, found in memory one by one */
};

/* Whether the file is hot at NOW (ns). */
bool hot_is(const struct hot *h, uint64_t now);
/* A READ was found in memory. True: all of the file should be looked at. */
bool hot_read(struct hot *h, uint64_t now);
/* It was, which took TOOK ns until NOW. */
void hot_looked(struct hot *h, bool whole, uint64_t took, uint64_t now);
/* Something of it is not there. */
void hot_forget(struct hot *h);
/* It cannot be read so. */
void hot_never(struct hot *h);

#endif
