/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How a mount is used of late, out of the kernel's counters (mountstats.h): what an unpatched kernel
 * tells in place of the paper's ghost caches and page flags (CA-NFS, section 3.3).
 *
 *   programs --read()--> cache --READ--> server
 *            `read'              `fetched'
 *
 *   hit rate       = 1 - fetched / read             over USE_SOON, and over USE_LATE
 *   worth          = the higher of the two: while it falls, what is being lost counts as before;
 *                    in proportion less below USE_READS_MIN
 *   lost           = USE_READS_MIN and more are read, of which part hits and part does not: programs read again
 *                    what is not there any more. Where nothing hits nothing is read again; where all but
 *                    USE_WHOLE does, all fits
 *   effectiveness  = read / fetched, at most 1, since read-ahead was turned last; or what of a read-ahead is
 *                    used where files end early, if that is less:
 *                    length / (length + (fetched - read) / opens), of USE_OPENS files and more. The knob
 *                    holds for files that are opened from then on, and beside a few long streams it does
 *                    not show in the sums how much of each of these is for nothing
 *
 * Reads past the cache (O_DIRECT) are in none of them. What programs read by mmap is in `fetched', not
 * in `read': so is all that is not read at all. Less than 1 part in USE_MAPPED can hardly be read-ahead,
 * which begins with four times the first read and doubles: it is taken for mmap, and nothing is known.
 * What is read again out of the cache makes read-ahead look better than it is.
 *
 * A look is cheap, and none of the mount's. Pure: counters and times are handed in. One thread.
 */
#ifndef CLIENT_MOUNT_USE_H
#define CLIENT_MOUNT_USE_H

#include "mountstats.h"

/* Time constants (s) of what is forgotten: of the hit rate now, and of that before. */
#define USE_SOON 5
#define USE_LATE 60
/* With fewer bytes a second read by programs a cache is worth less in proportion. */
#define USE_READS_MIN 1048576.0
/* Programs read again what is cached above the first hit rate (soon); and not all of it fits, below the
 * second; below the third once that was so. */
#define USE_AGAIN 0.2
#define USE_FITS  0.9
#define USE_WHOLE 0.98
/* Bytes from the server before the effectiveness of read-ahead is known. */
#define USE_EVIDENCE 1048576.0
/* Of so many times that old evidence counts half. */
#define USE_FADE 8
/* So many files opened; where those told of it before a turn, they are waited for so long (s) after it. */
#define USE_OPENS      8
#define USE_OPENS_WAIT 10
#define USE_MAPPED     64

/* Bytes, forgotten with time. */
struct use_bytes {
	double read, fetched;
};

/* All zero: nothing known. */
struct mount_use {
	struct mountstats last;
	double at;		     /* s: when that was */
	struct use_bytes soon, late; /* over USE_SOON and USE_LATE */
	struct use_bytes turned;     /* since mount_use_turned() */
	struct use_bytes opened;     /* the same, that fades by opens */
	double opens;		     /* in that time */
	double turned_at;	     /* s: mount_use_turned() */
	bool by_opens;		     /* before that it was files that ended early which told */
	uint32_t readahead;	     /* KiB of the mount's now; 0: not known; its owner sets it */
	double read_at;		     /* s: when something was last; a mount begins with that */
	double written_at;	     /* s: the same, if it ever was; -INFINITY */
	uint64_t asked_calls;	     /* READs and WRITEs when it was asked for prices last */
	uint64_t asked_written;	     /* bytes that programs had written by then */
};

/* What read-ahead was good for. */
enum use_evidence {
	USE_NOT_COUNTED, /* the kernel has no counters of it */
	USE_TOO_LITTLE,	 /* too little was fetched, or mmap hides it */
	USE_KNOWN,
};

/* S are not of the mount that was there: it is gone, or has begun anew. */
bool mount_use_replaced(const struct mount_use *u, const struct mountstats *s);
/* The counters stand at S now. Where they went back, or are no more, all is forgotten. */
void mount_use_feed(struct mount_use *u, const struct mountstats *s, double now);
/* 0..1; 0 where nothing was read. */
double use_hit_rate(const struct use_bytes *b);
/* What the cached data of several mounts is worth, 0..1: the sums of their bytes. */
double use_worth(const struct use_bytes *soon, const struct use_bytes *late);
/* Cached data is lost; WAS: it was until now. */
bool use_lost(const struct use_bytes *soon, bool was);
/* *EFFECTIVENESS: 0..1, where it is known. */
enum use_evidence mount_use_evidence(const struct mount_use *u, double *effectiveness);
/* Read-ahead was turned: its effectiveness from now on. */
void mount_use_turned(struct mount_use *u);
/* READs and WRITEs since it was asked; and that it is asked now. */
uint64_t mount_use_calls(const struct mount_use *u);
void mount_use_asked(struct mount_use *u);

#endif
