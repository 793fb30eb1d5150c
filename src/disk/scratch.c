/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The free buffers. See scratch.h. */
#include "disk/scratch.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "common/lock.h"

/* Lies in the buffer while that is free. */
struct unused {
	TAILQ_ENTRY(unused) link;
	size_t size;
	uint64_t given; /* ns */
};

TAILQ_HEAD(unused_list, unused);
static struct {
	struct lock lock;
	struct unused_list list; /* last used first */
	unsigned int n;
	size_t bytes;
} pool = {.lock = LOCK_INITIALIZER(LOCK_LEAF), .list = TAILQ_HEAD_INITIALIZER(pool.list)};

static size_t size_for(size_t len)
{
	size_t size = SCRATCH_MIN;

	assert(len <= SCRATCH_MAX);
	while (size < len)
		size *= 2;
	return size;
}

static void unlink_unused(struct unused *u)
{
	lock_assert_held(&pool.lock);
	TAILQ_REMOVE(&pool.list, u, link);
	pool.n--;
	pool.bytes -= u->size;
}

void *scratch_take(size_t len)
{
	size_t size = size_for(len);
	struct unused *u;

	lock_take(&pool.lock);
	TAILQ_FOREACH(u, &pool.list, link)
		if (u->size == size)
			break;
	if (u != NULL)
		unlink_unused(u);
	lock_drop(&pool.lock);
	return u != NULL ? (void *)u : aligned_alloc(4096, size);
}

void scratch_give(void *buffer, size_t len, uint64_t now)
{
	struct unused *u = buffer;

	if (buffer == NULL)
		return;
	*u = (struct unused){.size = size_for(len), .given = now};
	lock_take(&pool.lock);
	if (pool.n < SCRATCH_KEPT) {
		TAILQ_INSERT_HEAD(&pool.list, u, link);
		pool.n++;
		pool.bytes += u->size;
		u = NULL;
	}
	lock_drop(&pool.lock);
	free(u);
}

void scratch_trim(uint64_t before)
{
	struct unused *u;

	do {
		lock_take(&pool.lock);
		u = TAILQ_LAST(&pool.list, unused_list);
		if (u != NULL && u->given >= before)
			u = NULL;
		if (u != NULL)
			unlink_unused(u);
		lock_drop(&pool.lock);
		free(u);
	} while (u != NULL);
}

size_t scratch_free_bytes(void)
{
	size_t bytes;

	lock_take(&pool.lock);
	bytes = pool.bytes;
	lock_drop(&pool.lock);
	return bytes;
}
