/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What we have of our own of a file of the sub-FSAL, to ask what is in memory, to fetch ahead, and to know
 * where it is. There are two kinds, behind one table of functions; who uses a backing need not know which:
 *
 *   local    a descriptor, the page cache, FIEMAP (backing_local.c)
 *   remote   a handle of the sub-FSAL of our own, read through it into what it caches (backing_remote.h)
 *
 * A local one is read-only, with the kernel's own read-ahead off, so that what the disk does is what the
 * scheduler decided, and leaves the file's access time alone. Clients' own reads count as access: they
 * have a second descriptor, from the first of them on, which the kernel reads ahead of past the queue. A handle
 * has at most one backing, in its slot; all of them together are bounded (least recently used first) and
 * closed when idle. Who can open one is handed in with the slot.
 *
 *        slot ----use----> +---------+ <----hold---- request in a queue
 *     (a handle's)         | backing |
 *     reading now --use--> +---------+ ----------> device (stays to the end)
 *                            |     |
 *             last use gone: |     | last hold gone:
 *                    close  <+     +> free
 *
 * There are two sorts of reference. A use keeps the descriptor or handle open: the slot's own, and that of
 * whoever does I/O just now. A hold keeps only the memory: a queued request has one, so that a file
 * removed meanwhile is closed, and its space free, at once and not when its turn comes. Each use is
 * a hold too.
 */
#ifndef DISK_BACKING_H
#define DISK_BACKING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "disk/device.h"
#include "disk/extents.h"
#include "disk/hot.h"
#include "disk/residency.h"

/* Descriptors of a backing, at most. */
#define BACKING_DESCRIPTORS 2

struct backing_slot;
struct export_io;
struct kernel_windows;
struct overdue;
struct overdue_read;
struct use_once_attrs;

struct backing;

/* What a kind of backing does. The caller has a use, but for place_known() and changed(): a hold. */
struct backing_ops {
	/* As the functions below of the same name. */
	bool (*resident)(struct backing *b, uint64_t offset, uint64_t len);
	/*
	 * The device address of OFFSET into *BLOCK; false: none. IF_FEW: for who submits, backing_block_if_few(). The same
	 * as far as known, without waiting.
	 */
	bool (*block)(struct backing *b, uint64_t offset, bool if_few, uint64_t *block);
	bool (*place_known)(struct backing *b, uint64_t offset, uint64_t *block);
	/* *SPAN is in file order before. */
	bool (*written)(struct backing *b, uint64_t offset, uint64_t len, struct extent_span *span);
	/* As backing_reach(), or backing_reach_if_few(); NULL: it lies nowhere in particular. */
	uint64_t (*reach)(struct backing *b, uint64_t offset, uint64_t turn, uint64_t seek,
			  bool if_few);
	/* As backing_whole(); NULL: as before. */
	uint64_t (*whole)(struct backing *b, uint64_t offset, uint64_t len);
	/* As backing_in_order(); NULL: as before. */
	int (*in_order)(struct backing *b, uint64_t offset, uint64_t len, struct extent *pieces);
	/* The size as it is now, into b->size; an error leaves that. */
	void (*refresh_size)(struct backing *b);
	/* Whether the file has lost its last name, as far as that can be asked. */
	bool (*is_removed)(struct backing *b);
	/* [offset, offset + len) is not what it was; LEN UINT64_MAX: to the end. */
	void (*changed)(struct backing *b, uint64_t offset, uint64_t len);
	/*
	 * Brings [offset, offset + len), which is not all there, into memory for the dispatcher D; W: windows
	 * of a chunk or NULL. Returns how many bytes are there from OFFSET on, -1: none could be read.
	 */
	ssize_t (*fetch)(struct dispatcher *d, struct backing *b, struct kernel_windows *w,
			 uint64_t offset, uint64_t len);
	/* Asks for it and does not wait: for fetch(), which does. NULL: it cannot be asked for so. */
	void (*begin)(struct backing *b, uint64_t offset, uint64_t len);
	/*
	 * Whether prefetching makes sense at NOW, for a reader who TAKES what is kept here, or does not; a read of
	 * LEN bytes at OFFSET was answered in TOOK ns, and should have been in memory, RESIDENT, or was not. NULL:
	 * always; nobody wants to know. A hold will do.
	 */
	bool (*prefetches)(struct backing *b, uint64_t now, bool takes);
	void (*answered)(struct backing *b, uint64_t offset, uint64_t len, bool resident,
			 uint64_t took);
	/*
	 * The FSAL below is asked to read, from NOW (ns) on until overdue_end() of *O, which is returned; who
	 * sees that it takes too long does something about it. NULL: nobody does, there is nothing to end.
	 */
	struct overdue *(*asks)(struct backing *b, struct overdue_read *r, uint64_t now);
	/*
	 * Fills the N parts of IOV with what lies at OFFSET, if all of it is kept here and may be given, and the
	 * file goes on behind it: how many bytes, or 0. NULL: nothing is kept.
	 */
	size_t (*take)(struct backing *b, const struct iovec *iov, int n, uint64_t offset);
	/* As backing_show(); NULL: nothing is kept. */
	void (*shown)(struct backing *b, const struct use_once_attrs *a);
	/* The last use is gone: what is open is closed. The last hold is, NULL: nothing to do. */
	void (*close)(struct backing *b);
	void (*fini)(struct backing *b);
};

struct backing {
	const struct backing_ops *ops;
	TAILQ_ENTRY(backing) link;   /* of all open ones; the list's lock */
	LIST_ENTRY(backing) of_file; /* ... of which the files share a place; the same */
	struct backing_slot *slot;   /* its owner while linked; the list's lock */
	atomic_uint holds, uses;
	atomic_bool gone;	     /* closed or unlinked: stop prefetching */
	_Atomic uint64_t used;	     /* ns */
	_Atomic uint64_t size;	     /* of the file as last seen, bytes */
	_Atomic uint64_t demand_end; /* ns: the last of clients' own reads came from the disk */
	_Atomic uint32_t demands;    /* ... are there */
	const struct export_io *io;  /* whose FSAL's handle it has; NULL: none, a local one */
	uint64_t file;		     /* identity on the device: backing_file_name() */
	struct device *device;
	/* ns that what is fetched ahead is kept here at most; 0: not here, and for any time */
	_Atomic uint64_t kept_for;
	struct hot hot; /* of a remote one: never */
	bool seen_hot;	/* by readers without a use, under RCU; the slot's lock */
	/* Of a local one only. */
	int fd;
	_Atomic uint32_t folio;	  /* bytes of the largest that chunks are brought in; 0: pages */
	_Atomic uint32_t dropped; /* grows whenever one is, for what lies beside a bad sector */
	atomic_bool apart;	  /* a READ tries to drop one */
	_Atomic int reply_fd;	  /* for clients' own reads: backing_read() */
	_Atomic uint64_t reply_again; /* ns: it is not asked for sooner */
	atomic_bool reply_quiet;      /* ... without the kernel's read-ahead */
	bool own_queue; /* no file system over several devices, with read-ahead of its own */
	struct extent_map extents;
	struct residency residency;
};

/*
 * A local backing of FD on DEVICE, of which fstat says ST: with two uses, the slot's and the caller's. FD is
 * its own from now on. NULL: no memory, FD stays the caller's.
 */
struct backing *backing_new(int fd, const struct stat *st, struct device *device);
/* Names of files: what fits into a signed number, as JSON's are read. */
#define BACKING_FILE_MAX ((uint64_t)INT64_MAX)
/*
 * What the file with this INODE on DEV is called: its number, mixed with that of its subvolume where DEV is none of a disk,
 * not HAS_DISK; for subvolumes that share one have the same inode numbers.
 */
uint64_t backing_file_name(uint64_t inode, dev_t dev, bool has_disk);
/* For a kind of backing: fills what all have of B, which is zero, with two uses. */
void backing_init(struct backing *b, const struct backing_ops *ops, struct device *device,
		  uint64_t file, uint64_t size);
/* Another use by somebody who has one; backing_put() gives it back. */
struct backing *backing_ref(struct backing *b);
void backing_put(struct backing *b);
/* A hold by somebody who has a use or hold; backing_release() gives it back. */
struct backing *backing_hold(struct backing *b);
void backing_release(struct backing *b);
/* Makes a use of a hold, to be ended by backing_unuse(); false when it is closed. */
bool backing_use(struct backing *b);
void backing_unuse(struct backing *b);

/* ---- of a local one (backing_fd.c) --------------------------------------------------------- */

/*
 * The same file once more, with FLAGS of open(2) beside O_RDONLY, as the kernel reads ahead of it; -1: it
 * cannot be had. For who has a use.
 */
int backing_open_again(struct backing *b, int flags);
/*
 * A client's read from OFFSET on into the N parts of IOV, as preadv(2), from the page cache or the
 * device; the caller has a use.
 */
ssize_t backing_read(struct backing *b, const struct iovec *iov, int n, uint64_t offset);
/* Drops [from, from + len) from memory, where a sector cannot be read, for who fails beside that. */
void backing_evict(struct backing *b, uint64_t from, uint64_t len);
/*
 * The same if all of it is in memory, without waiting and without counting as access; 0: it is not, or
 * cannot be read so. Needs no use: under RCU (common/rcu.h).
 */
size_t backing_read_cached(struct backing *b, const struct iovec *iov, int n, uint64_t offset,
			   uint64_t len);
/* Whether the whole file is in the page cache, which is looked at once; *TOOK ns. */
bool backing_resident_whole(struct backing *b, uint64_t *took);

/* ---- of any -------------------------------------------------------------------------------- */

/* Whether [offset, offset + len) is in memory; false if unsure. Never starts I/O. */
bool backing_resident(struct backing *b, uint64_t offset, uint64_t len);
/* The device address of OFFSET; where unmapped or not known, one that keeps file order. */
uint64_t backing_block(struct backing *b, uint64_t offset);
/*
 * The same for who submits to the device's queue, and is not to wait for the device himself: beside many threads that
 * ask the file system (EXTENT_ASKERS_MAX) as far as it is known, else file order.
 */
uint64_t backing_block_if_few(struct backing *b, uint64_t offset);
/* Whether LEN bytes at OFFSET are written on the device, as far as known; then *SPAN is where. */
bool backing_written(struct backing *b, uint64_t offset, uint64_t len, struct extent_span *span);
/* Bytes at OFFSET that are read in the time of TURN bytes in one place, seeks taking that of SEEK: extent_map_reach(). */
uint64_t backing_reach(struct backing *b, uint64_t offset, uint64_t turn, uint64_t seek);
/* The same for who submits, as backing_block_if_few(). */
uint64_t backing_reach_if_few(struct backing *b, uint64_t offset, uint64_t turn, uint64_t seek);
/* How many of LEN bytes at OFFSET end where a place on the device does: extent_map_whole(). */
uint64_t backing_whole(struct backing *b, uint64_t offset, uint64_t len);
/* Its PIECES as the device has them: extent_map_in_order(); 0: nothing is known of them. */
int backing_in_order(struct backing *b, uint64_t offset, uint64_t len, struct extent *pieces);
/* Where OFFSET will go if it has no place yet: behind the byte before it. */
uint64_t backing_place(struct backing *b, uint64_t offset);
/* The same as far as it is known: asks nobody and waits for nobody. Else file order. */
uint64_t backing_place_known(struct backing *b, uint64_t offset);
/* Asks the file system for the size again. */
uint64_t backing_refresh_size(struct backing *b);
/* Whether several pieces can be brought together: fetch_begin(). */
bool backing_begins(const struct backing *b);
/* Whether what is fetched ahead of it at NOW (ns) will be there for its readers; TAKES: as by backing_ops. */
bool backing_prefetches(struct backing *b, uint64_t now, bool takes);
/* A client's read was answered, as by backing_ops. */
void backing_answered(struct backing *b, uint64_t offset, uint64_t len, bool resident,
		      uint64_t took);
/* The FSAL below is asked to read: as by backing_ops; NULL: there is nothing to end. A hold will do. */
struct overdue *backing_asks(struct backing *b, struct overdue_read *r);
/* Whether the file has lost its last name. */
bool backing_is_removed(struct backing *b);
/* [offset, offset + len) was written, or cut off (LEN UINT64_MAX): what is known of it is void. A hold will do. */
void backing_changed(struct backing *b, uint64_t offset, uint64_t len);
/* A client is shown A, the file's attributes: what is kept of it is to be no older (remote/use_once.h). B: a hold, given back, or NULL. */
void backing_show(struct backing *b, const struct use_once_attrs *a);

#endif
