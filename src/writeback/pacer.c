/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The pacer's thread and its list of held replies, the next one due first. A reply is inserted from
 * the back: delays are alike, so its place is near there. See pacer.h.
 */
#include "writeback/pacer.h"

#include <stdatomic.h>

#include "common/clock.h"
#include "common/lock.h"
#include "writeback/dirty_memory.h"
#include "writeback/pacing.h"

/* Who was let go and has sent nothing for so long (ns) will not. */
#define PROMISE_TIME UINT64_C(50000000)

static struct {
	struct lock lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool running, stopping;
	TAILQ_HEAD(paced_list, paced) held;
	_Atomic uint32_t relaxing; /* of them, those that relaxing may let go */
	uint64_t room;		   /* bytes: that may come now */
	_Atomic uint64_t promised; /* bytes: that those let go early will send */
	uint64_t promised_at;	   /* ns: when the last of them was */
	struct pacing clocks;
	struct pacer_limits limits;
	struct pacer_stats stats;
} pacer = {.lock = LOCK_INITIALIZER(LOCK_LEAF)};

/* BYTES came, of whomever. */
static void keep_promise(uint64_t bytes)
{
	uint64_t p = atomic_load_explicit(&pacer.promised, memory_order_relaxed);

	while (p && !atomic_compare_exchange_weak(&pacer.promised, &p, p > bytes ? p - bytes : 0))
		;
}

uint64_t pacer_delay(uint64_t client, uint64_t bytes, uint64_t max)
{
	keep_promise(bytes);
	return pacer_delay_at(client, bytes, dirty_memory_level(), dirty_memory_rate(), max);
}

uint64_t pacer_delay_at(uint64_t client, uint64_t bytes, double level, double rate, uint64_t max)
{
	uint64_t delay;

	if (level <= PACING_SETPOINT || !max || !pacer.running)
		return 0;
	lock_take(&pacer.lock);
	delay = pacing_delay(&pacer.clocks, client, bytes, level, rate, max, clock_now());
	lock_drop(&pacer.lock);
	return delay;
}

/* Lock held. */
static bool has_room(uint64_t bytes)
{
	return !pacer.stopping && pacer.stats.held < pacer.limits.replies &&
	       pacer.stats.bytes + bytes <= pacer.limits.bytes;
}

static void insert(struct paced *p, uint64_t delay)
{
	struct paced *before;

	TAILQ_FOREACH_REVERSE(before, &pacer.held, paced_list, link)
		if (before->due <= p->due)
			break;
	if (before != NULL)
		TAILQ_INSERT_AFTER(&pacer.held, before, p, link);
	else
		TAILQ_INSERT_HEAD(&pacer.held, p, link);
	pacer.stats.held++;
	pacer.relaxing += !p->elsewhere;
	pacer.stats.bytes += p->bytes;
	pacer.stats.replies++;
	pacer.stats.delay += delay;
	if (delay > pacer.stats.delay_max)
		pacer.stats.delay_max = delay;
}

bool pacer_hold(struct paced *p, uint64_t bytes, uint64_t delay, void (*answer)(struct paced *p))
{
	bool room;

	p->due = clock_now() + delay;
	p->bytes = bytes;
	p->answer = answer;
	lock_take(&pacer.lock);
	room = pacer.running && has_room(bytes);
	if (room) {
		insert(p, delay);
		if (TAILQ_FIRST(&pacer.held) == p)
			pthread_cond_signal(&pacer.wake);
	} else {
		pacer.stats.refused++;
	}
	lock_drop(&pacer.lock);
	return room;
}

/* Lock held before and after, not while it is answered. */
static void let_go(struct paced *p)
{
	uint64_t now = clock_now();

	TAILQ_REMOVE(&pacer.held, p, link);
	pacer.stats.held--;
	pacer.relaxing -= !p->elsewhere;
	if (!pacer.relaxing)
		pacer.room = 0; /* whoever comes is held by what is known then */
	pacer.stats.delay -= p->due > now ? p->due - now : 0;
	pacer.stats.bytes -= p->bytes;
	lock_drop(&pacer.lock);
	p->answer(p); /* P is gone */
	lock_take(&pacer.lock);
}

/*
 * The next one that may go before it is due; NULL: there is room for nobody. Those that are due first have sent least of
 * late. Who is answered sends as much again, which is promised room until it comes.
 */
static struct paced *next_relaxed(void)
{
	struct paced *p;

	if (!pacer.relaxing || !pacer.room)
		return NULL;
	TAILQ_FOREACH(p, &pacer.held, link)
		if (!p->elsewhere)
			break;
	pacer.room -= p->bytes < pacer.room ? p->bytes : pacer.room;
	pacer.promised += p->bytes;
	pacer.promised_at = clock_now();
	return p;
}

void pacer_relax(uint64_t now)
{
	double room;
	uint64_t promised;

	if (!atomic_load_explicit(&pacer.relaxing, memory_order_relaxed))
		return;
	dirty_memory_refresh(now, true);
	lock_take(&pacer.lock);
	if (elapsed(pacer.promised_at, now) > PROMISE_TIME)
		pacer.promised = 0;
	promised = pacer.promised;
	room = (PACING_SETPOINT - dirty_memory_level()) * (double)dirty_memory_budget();
	pacer.room = pacer.relaxing && room > (double)promised ? (uint64_t)room - promised : 0;
	if (pacer.room && pacer.running)
		pthread_cond_signal(&pacer.wake);
	lock_drop(&pacer.lock);
}

static void *run(void *arg)
{
	struct paced *p, *early;

	if (pacer.limits.name_thread != NULL)
		pacer.limits.name_thread("ra_pacer");
	lock_take(&pacer.lock);
	for (;;) {
		p = TAILQ_FIRST(&pacer.held);
		if (p == NULL && pacer.stopping)
			break;
		if (p != NULL && (pacer.stopping || p->due <= clock_now()))
			let_go(p);
		else if ((early = next_relaxed()) != NULL)
			let_go(early);
		else if (p == NULL)
			pthread_cond_wait(&pacer.wake, &pacer.lock.mutex);
		else
			clock_cond_wait_until(&pacer.wake, &pacer.lock.mutex, p->due);
	}
	lock_drop(&pacer.lock);
	return NULL;
}

int pacer_start(const struct pacer_limits *limits)
{
	int err;

	TAILQ_INIT(&pacer.held);
	pacer.limits = *limits;
	pacer.relaxing = 0;
	pacer.room = pacer.promised = 0;
	pacer.stats = (struct pacer_stats){0};
	pacer.stopping = false;
	clock_cond_init(&pacer.wake);
	pacer.running = true;
	err = pthread_create(&pacer.thread, NULL, run, NULL);
	if (err)
		pacer.running = false;
	return err;
}

void pacer_set_room(uint32_t replies, uint64_t bytes)
{
	lock_take(&pacer.lock);
	pacer.limits.replies = replies;
	pacer.limits.bytes = bytes;
	lock_drop(&pacer.lock);
}

void pacer_stop(void)
{
	if (!pacer.running)
		return;
	lock_take(&pacer.lock);
	pacer.stopping = true;
	pthread_cond_signal(&pacer.wake);
	lock_drop(&pacer.lock);
	pthread_join(pacer.thread, NULL);
	lock_take(&pacer.lock); /* turns may still end */
	pacer.running = false;
	lock_drop(&pacer.lock);
	pthread_cond_destroy(&pacer.wake);
}

void pacer_stats(struct pacer_stats *s)
{
	lock_take(&pacer.lock);
	*s = pacer.stats;
	lock_drop(&pacer.lock);
}
