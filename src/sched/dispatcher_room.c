/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reads whose client has too much queued: each waits on the thread that brought it.
 *
 *   FULL --> gate --> [ those that wait, oldest first ] --> submitted by whoever frees room
 *             |                      |
 *             '-- no thread to spare '-- its time is over --> FULL: the client is told to come again
 *
 * Room is given away under the lock that it becomes free under, so nobody overtakes one that waits, and
 * nothing waits for a thread that waits: it only takes the verdict.
 */
#include "common/clock.h"
#include "common/room_gate.h"
#include "sched/dispatcher_parts.h"

/* Threads that wait, for whichever device: they are the server's. */
static struct room_gate gate = ROOM_GATE_INITIALIZER(0);

void dispatcher_set_full_threads(uint32_t max)
{
	room_gate_set_max(&gate, max);
}

/* On the stack of the thread that waits. */
struct room_wait {
	TAILQ_ENTRY(room_wait) link;
	struct sched_req *r;
	uint64_t client;
	enum sched_verdict verdict; /* SCHED_FULL: it waits on; else R may be gone */
	pthread_cond_t over;
};

/* Whether one of CLIENT waits, up to BEFORE (NULL: at all): then others of it come after that. */
static bool waits(const struct dispatcher *d, uint64_t client, const struct room_wait *before)
{
	const struct room_wait *w;

	TAILQ_FOREACH(w, &d->waiting, link)
		if (w == before)
			break;
		else if (w->client == client)
			return true;
	return false;
}

bool dispatcher_must_wait(const struct dispatcher *d, const struct sched_req *r)
{
	return r->class == SCHED_DEMAND && waits(d, r->flow.client, NULL);
}

bool dispatcher_let_in(struct dispatcher *d)
{
	struct room_wait *w, *next;
	bool added = false;

	lock_assert_held(&d->lock);
	for (w = TAILQ_FIRST(&d->waiting); w; w = next) {
		next = TAILQ_NEXT(w, link);
		if (waits(d, w->client, w))
			continue;
		w->verdict = sched_submit_again(&d->queue, w->r, d->ops->now());
		if (w->verdict == SCHED_FULL)
			continue;
		TAILQ_REMOVE(&d->waiting, w, link);
		pthread_cond_signal(&w->over);
		dispatcher_advise(d);
		added |= w->verdict == SCHED_ADDED || w->verdict == SCHED_WAITS;
	}
	return added;
}

static void wait_for_room(struct dispatcher *d, struct room_wait *w, uint64_t timeout)
{
	uint64_t until = clock_now() + timeout;
	int err = 0;

	clock_cond_init(&w->over);
	TAILQ_INSERT_TAIL(&d->waiting, w, link);
	d->n_waiting++;
	d->queue.stats.full_waits++;
	while (w->verdict == SCHED_FULL && !err)
		err = clock_cond_wait_until(&w->over, &d->lock.mutex, until);
	if (w->verdict == SCHED_FULL)
		TAILQ_REMOVE(&d->waiting, w, link);
	d->n_waiting--;
	pthread_cond_destroy(&w->over);
}

enum sched_verdict dispatcher_queue_up(struct dispatcher *d, struct sched_req *r, uint64_t timeout)
{
	struct room_wait w = {.r = r, .client = r->flow.client, .verdict = SCHED_FULL};

	if (timeout && room_gate_enter(&gate, w.client)) {
		wait_for_room(d, &w, timeout);
		room_gate_leave(&gate, w.client);
	}
	d->queue.stats.full_delays += w.verdict == SCHED_FULL;
	return w.verdict;
}
