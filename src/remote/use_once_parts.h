/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inside use_once.h: what its files share. Functions: with the shard's lock, where nothing else is said. */
#ifndef REMOTE_USE_ONCE_PARTS_H
#define REMOTE_USE_ONCE_PARTS_H

#include "common/lock.h"
#include "remote/use_once_block.h"

#define USE_ONCE_BUCKETS 256u /* of a shard */
#define USE_ONCE_SPREAD	 UINT64_C(0x9E3779B97F4A7C15)
#define USE_ONCE_LINE	 64

TAILQ_HEAD(block_list, use_once_block);

struct file {
	TAILQ_ENTRY(file) link;
	uint64_t serial;
	uint64_t mark; /* another with each drop */
	uint64_t change, checked, asked;
	uint64_t shown; /* the stamp of what was shown last; 0: nothing was */
	bool known;	/* ... the first two of those above */
	bool settled;	/* a change since would have been another answer */
	uint64_t came;	/* bytes that were kept, since another's change; at the last one: */
	uint64_t judged,
		lost; /* ... and of those what went with it unread; 0 of 0: nobody is to be told */
	struct block_list blocks;
};
TAILQ_HEAD(file_list, file);

struct shard {
	_Alignas(USE_ONCE_LINE) struct lock lock; /* LOCK_LEAF: all of this */
	uint64_t marks;				  /* given to files: none comes twice */
	struct file_list files;
	struct block_list by_age;
	struct use_once_block *bucket[USE_ONCE_BUCKETS];
	/* Since when its first block by age is there, UINT64_MAX: none; read without the lock. */
	_Atomic uint64_t oldest;
};

struct use_once {
	_Atomic uint64_t held, max; /* bytes */
	uint64_t age;
	struct shard shard[USE_ONCE_SHARDS];
};

/* Without the lock. */
static inline struct shard *shard_of(struct use_once *c, uint64_t file)
{
	return &c->shard[(file * USE_ONCE_SPREAD >> 32) % USE_ONCE_SHARDS];
}

static inline struct file *file_of(struct shard *s, uint64_t serial)
{
	struct file *f;

	TAILQ_FOREACH(f, &s->files, link)
		if (f->serial == serial)
			return f;
	return NULL;
}

/* With its lock from now on, *S: the shard of FILE; NULL: it does not know it. */
static inline struct file *lock_file(struct use_once *c, uint64_t file, struct shard **s)
{
	*s = shard_of(c, file);
	lock_take(&(*s)->lock);
	return file_of(*s, file);
}

/* One that is not known yet too; NULL: no memory. */
struct file *use_once_file(struct shard *s, uint64_t serial);
/* The blocks of F with any of [offset, end), and what is on its way. */
void use_once_drop_blocks(struct use_once *c, struct shard *s, struct file *f, uint64_t offset,
			  uint64_t end);

#endif
