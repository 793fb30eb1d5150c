/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * File offset -> byte address on the device, from FIEMAP, cached for one file.
 *
 * The fetch is handed in, so that tests need no file system. A map is only advice: a stale one
 * costs a seek, never a byte. Writes, truncation and size changes invalidate it. Extents that have
 * no place yet (delayed allocation, unknown, holes) are unmapped. Safe from any thread.
 *
 * Whoever asks the file system waits for the inode's lock, which a writer has for as long as its write takes. So one
 * thread asks at a time, the others do with what is cached; nobody asks while a change that we know of is under way;
 * and where it took long, for a writer that we do not know of, nobody asks again for EXTENT_PAUSE times as long.
 * extent_map_invalidate() waits for none of this.
 *
 * And whoever asks waits for the disk, where the file system does not have the map in memory: past the disk's queue, and
 * Stall_Time does not see it. A dispatcher's thread may, for it is at the disk by its turn: it calls the functions as they
 * are. Whoever submits to the queue, a client's READ on one of the server's threads first of all, calls ..._if_few(): of
 * one disk that hangs no more than EXTENT_ASKERS_MAX of these wait. Beside so many threads that ask of it, those of the
 * dispatcher among them, it does with what is cached.
 */
#ifndef DISK_EXTENTS_H
#define DISK_EXTENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/lock.h"

#define EXTENT_MAP_MAX 64 /* extents cached of one file; around the last look-up beyond that */
/* An answer that took so long (ns) waited for a writer, not for the disk; it is not asked again for so many times that. */
#define EXTENT_SLOW  UINT64_C(100000000)
#define EXTENT_PAUSE 10
/* Threads that ask of one device: beside so many, who may not wait for long asks for nothing. */
#define EXTENT_ASKERS_MAX 8

struct extent {
	uint64_t offset, length; /* in the file, bytes */
	uint64_t block;		 /* on the device, bytes */
	bool unwritten;		 /* reading it is no read of the device */
};

/* Where a part of a file lies on the device. */
struct extent_span {
	uint64_t block, end; /* bytes: of its first one; behind its last one */
	uint32_t pieces;     /* places */
	uint32_t seeks;	     /* from one of these to the next: as seek_is_far() says */
};

/*
 * Fills EXTENTS (up to MAX, ascending, mapped ones only) from OFFSET on; returns how many, or -1.
 * *covered: the map is known up to this offset of the file.
 */
typedef int (*extent_fetch)(void *arg, uint64_t offset, struct extent *extents, int max,
			    uint64_t *covered);

struct extent_map {
	struct lock lock; /* not held while the file system is asked */
	_Atomic uint32_t *
		askers; /* threads that ask, of any file of its device; NULL: they are not counted */
	_Atomic uint64_t changed; /* how often it was invalidated */
	_Atomic uint32_t changes; /* of the file, under way: extent_map_set_changes() */
	uint64_t (*now)(void);	  /* ns */
	uint64_t not_before;	  /* ns: nobody asks sooner */
	bool asking;		  /* somebody does */
	bool valid;		  /* as of AS_OF: if that is `changed` still */
	uint64_t as_of;
	int n;
	uint64_t from, to; /* the cached part of the file */
	struct extent extents[EXTENT_MAP_MAX];
};

void extent_map_init(struct extent_map *m);
void extent_map_fini(struct extent_map *m);
void extent_map_invalidate(struct extent_map *m);
/* N changes of the file are under way, which may have its inode's lock: nobody asks for a place. */
void extent_map_set_changes(struct extent_map *m, uint32_t n);
/* An extent_fetch: asks FIEMAP of the descriptor that ARG points to. */
int extent_fetch_fiemap(void *arg, uint64_t offset, struct extent *extents, int max,
			uint64_t *covered);
/*
 * The device address of OFFSET; false where there is none. FETCH is called on a miss, as by the rules above; what was
 * cached before counts where it is not.
 */
bool extent_map_lookup(struct extent_map *m, uint64_t offset, extent_fetch fetch, void *arg,
		       uint64_t *block);
/* The same for who submits: FETCH is called only beside few others that ask of the device. */
bool extent_map_lookup_if_few(struct extent_map *m, uint64_t offset, extent_fetch fetch, void *arg,
			      uint64_t *block);
/* Whether all of [offset, offset + len) is written there, as far as is known; then SPAN is where. */
bool extent_map_written(struct extent_map *m, uint64_t offset, uint64_t len, extent_fetch fetch,
			void *arg, struct extent_span *span);
/*
 * Bytes from OFFSET on that the device reads in the time of TURN bytes in one place, a seek taking that of SEEK bytes:
 * as many as TURN, or fewer. A piece that is begun is finished where the rest takes no longer than to come back for it
 * would. What has no known place counts as one place.
 */
uint64_t extent_map_reach(struct extent_map *m, uint64_t offset, uint64_t turn, uint64_t seek,
			  extent_fetch fetch, void *arg);
/* The same for who submits, as extent_map_lookup_if_few(). */
uint64_t extent_map_reach_if_few(struct extent_map *m, uint64_t offset, uint64_t turn,
				 uint64_t seek, extent_fetch fetch, void *arg);
/*
 * As many of LEN bytes from OFFSET on as end where a piece does: LEN, or without the beginning of a last piece that goes
 * on behind them. What has no known place ends nowhere.
 */
uint64_t extent_map_whole(struct extent_map *m, uint64_t offset, uint64_t len, extent_fetch fetch,
			  void *arg);
/*
 * The PIECES of [offset, offset + len), EXTENT_MAP_MAX at most, as they lie on the device one behind the other. Returns
 * how many; 0: not all of it has a known place.
 */
int extent_map_in_order(struct extent_map *m, uint64_t offset, uint64_t len, extent_fetch fetch,
			void *arg, struct extent *pieces);
/* extent_map_lookup() of what is cached, valid or not, without asking: false if it is not known. */
bool extent_map_peek(struct extent_map *m, uint64_t offset, uint64_t *block);

#endif
