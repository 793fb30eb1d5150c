/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Going through things that may go. See visit.h. */
#include "common/visit.h"

#include "common/lock.h"

static struct lock lock = LOCK_INITIALIZER(LOCK_LEAF);
static pthread_cond_t over = PTHREAD_COND_INITIALIZER; /* of any visit's one */

void visit_begin(struct visit *v)
{
	TAILQ_INIT(&v->waiting);
	v->now = NULL;
}

bool visit_add(struct visit *v, struct visited *x)
{
	bool added;

	lock_take(&lock);
	added = x->visit == NULL;
	if (added) {
		x->visit = v;
		TAILQ_INSERT_TAIL(&v->waiting, x, link);
	}
	lock_drop(&lock);
	return added;
}

/* With the lock. */
static void end_one(struct visit *v)
{
	if (v->now == NULL)
		return;
	v->now->visit = NULL;
	v->now = NULL;
	pthread_cond_broadcast(&over);
}

struct visited *visit_next(struct visit *v)
{
	struct visited *x;

	lock_take(&lock);
	end_one(v);
	x = v->now = TAILQ_FIRST(&v->waiting);
	if (x != NULL)
		TAILQ_REMOVE(&v->waiting, x, link);
	lock_drop(&lock);
	return x;
}

size_t visit_end(struct visit *v)
{
	struct visited *x;
	size_t left = 0;

	lock_take(&lock);
	end_one(v);
	while ((x = TAILQ_FIRST(&v->waiting)) != NULL) {
		TAILQ_REMOVE(&v->waiting, x, link);
		x->visit = NULL;
		left++;
	}
	lock_drop(&lock);
	return left;
}

void visit_leave(struct visited *x)
{
	struct visit *v;

	if (x->visit == NULL) /* nearly always */
		return;
	lock_take(&lock);
	while ((v = x->visit) != NULL) {
		if (v->now == x) {
			pthread_cond_wait(&over, &lock.mutex);
			continue;
		}
		TAILQ_REMOVE(&v->waiting, x, link);
		x->visit = NULL;
	}
	lock_drop(&lock);
}
