/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Bytes fetched ahead of files of a cluster, each for the next who reads it, where the client library
 * below keeps none itself (GLUSTER).
 *
 *   prefetch:  mark --> read below --> put            refused if the file was dropped after the mark
 *   reader:    asks? -> getattr below -> told         another change than before: all of the file goes
 *   a client is shown attributes:       shown         the same: who has seen that it changed gets no bytes of before
 *              take: all of a READ's bytes, or none   what was read to its end goes
 *   own WRITE, SETATTR, OPEN that cuts off:  drop     before it, as far as it is known then, and after it
 *
 *   file     [ block ][ block ][ block ]...           USE_ONCE_BLOCK; a bit for each USE_ONCE_UNIT of it:
 *   there     ######    ##  ##                        what came
 *   read      ####                                    what was read since; all of it: the block goes
 *
 * How stale it can be: nothing is given whose file was not vouched for within USE_ONCE_VOUCHED, that is, its
 * change attribute was then the same as before the bytes were fetched. It is asked for every USE_ONCE_ASKS, so
 * that readers need not wait for the answer. A write of another client's is so seen after USE_ONCE_VOUCHED,
 * and as long as the library below may keep an attribute (md-cache: 1 s, where the volume does not say otherwise),
 * at most. GlusterFS's io-cache vouches by the same rule. A change attribute that is not settled vouches for what is
 * fetched until the next answer, and no longer.
 *
 * What is held is bounded: beyond it what came first goes first. A file is a number that is never used
 * again. Any thread; a lock for each of USE_ONCE_SHARDS, so that files have one in common by chance only; bytes
 * are copied without it. Times are ns of one clock, handed in.
 */
#ifndef REMOTE_USE_ONCE_H
#define REMOTE_USE_ONCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define USE_ONCE_BLOCK	 (UINT32_C(64) << 10) /* bytes */
#define USE_ONCE_UNIT	 (UINT32_C(4) << 10)  /* bytes */
#define USE_ONCE_ASKS	 UINT64_C(1000000000) /* ns */
#define USE_ONCE_VOUCHED UINT64_C(1250000000) /* ns */
#define USE_ONCE_SHARDS	 64
/* The longest read that it answers (bytes). */
#define USE_ONCE_READ_MAX (UINT32_C(4) << 20)

struct use_once;

/* Holds at most MAX bytes, none longer than AGE ns. NULL: no memory. */
struct use_once *use_once_new(uint64_t max, uint64_t age);
/* When nobody uses it. NULL is nothing. */
void use_once_free(struct use_once *c);
/* From now on at most MAX bytes; what is too much goes at once. */
void use_once_limit(struct use_once *c, uint64_t max);
/* Its AGE. */
uint64_t use_once_age(const struct use_once *c);
/* Bytes held now, with what a block takes beside its data. */
uint64_t use_once_held(struct use_once *c);

/* Before a prefetch's read of FILE is sent. */
uint64_t use_once_mark(struct use_once *c, uint64_t file);
/*
 * That read brought LEN bytes at OFFSET, which are copied. They are not kept where a drop came between, or no
 * room can be made. Of a unit that it has in part only the beginning is kept, for the file's last bytes. What was asked
 * for of the file ends at ASKED, within the last unit or behind it; 0: all was. Who reads up to there has read that unit.
 */
void use_once_put(struct use_once *c, uint64_t file, uint64_t mark, uint64_t offset,
		  const void *data, uint64_t len, uint64_t asked, uint64_t now);
/* Whether use_once_take() would answer. */
bool use_once_has(struct use_once *c, uint64_t file, uint64_t offset, uint64_t len, uint64_t now);
/* LEN bytes at OFFSET into the N parts of IOV, which are as long together or longer: all, or none. */
bool use_once_take(struct use_once *c, uint64_t file, const struct iovec *iov, int n,
		   uint64_t offset, uint64_t len, uint64_t now);
/* Nothing of [offset, offset + len) that was fetched until now is given any more. UINT64_MAX: to the end. */
void use_once_drop(struct use_once *c, uint64_t file, uint64_t offset, uint64_t len);
/* FILE is closed: all of it goes, and what is known of it. */
void use_once_forget(struct use_once *c, uint64_t file);
/* What is older than its age goes. */
void use_once_sweep(struct use_once *c, uint64_t now);

/*
 * Whether the caller must ask for FILE's change attribute now, and say it by use_once_told(): one caller in
 * USE_ONCE_ASKS.
 */
bool use_once_asks(struct use_once *c, uint64_t file, uint64_t now);
/*
 * It was CHANGE at ASKED (the `now` of use_once_asks()) or later. Not SETTLED: another change may still come to the same
 * number (vouching_is_settled()), so that the next answer is another one, whatever it is.
 */
void use_once_told(struct use_once *c, uint64_t file, uint64_t change, bool settled,
		   uint64_t asked);

/* Attributes that go to a client: CHANGE, SETTLED and ASKED as by use_once_told(). */
struct use_once_attrs {
	uint64_t change;
	bool settled;
	uint64_t stamp; /* another one where any of the file's times or its size is another */
	uint64_t asked; /* ns: before the file was asked for them */
};
/*
 * FILE's are A: a client who sees by them that it changed drops what he has, and must not be given what was fetched before,
 * for nothing would ever tell him. They answer what use_once_asks() would ask. Where they are not settled, and those that
 * were shown last, nobody learns anything from them.
 */
void use_once_shown(struct use_once *c, uint64_t file, const struct use_once_attrs *a);

/*
 * What came of FILE until others' changes, of which the last one was just heard of: whether so much of it went with them unread
 * that it moves too much, to be fetched again. A reader who is slow beside what is fetched ahead of him, of a file that somebody
 * writes to all the time, would have all of it moved several times. NONE: nothing changed, or too little had come.
 */
#define USE_ONCE_LOST	8U		      /* one part of so many is too much */
#define USE_ONCE_JUDGED (UINT64_C(256) << 10) /* bytes */
enum use_once_verdict { USE_ONCE_NONE, USE_ONCE_OF_USE, USE_ONCE_IN_VAIN };
enum use_once_verdict use_once_judge(struct use_once *c, uint64_t file);

#endif
