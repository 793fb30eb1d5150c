/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Threads of which one runs at a time, so that a test decides how they interleave.
 *
 *   actor A  ---step---+                +---step---> ...
 *                      | pause: choose  |
 *   actor B            +-----step-------+            the one chosen has the baton
 *
 * Code under test runs up to the next baton_pause(), which a fake of the kernel calls; there the next
 * actor is chosen: by chance, or one way after the other until all have been walked (baton_next_path).
 * An actor that waits for a condition can run again when another has woken it; when nothing else can
 * run, the one whose time is over first is timed out.
 */
#ifndef UNIT_BATON_H
#define UNIT_BATON_H

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BATON_ACTORS 8
#define BATON_PATH   512

enum actor_state { ACTOR_READY, ACTOR_WAITING, ACTOR_DONE };

struct actor {
	pthread_t thread; /* for all runs */
	pthread_cond_t go;
	bool started;
	enum actor_state state;
	const pthread_cond_t *cond; /* waiting for it ... */
	uint64_t until;		    /* ... up to this time, ns */
	bool woken, timed_out;
	void (*run)(void *arg);
	void *arg;
	bool (*runnable)(void *arg); /* NULL: always; asked while it is in baton_idle() */
	bool idle;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t over;
	struct actor actor[BATON_ACTORS];
	unsigned int n, current, ended;
	uint64_t steps;
	_Atomic uint64_t now; /* ns: fake time; a thread without a baton asks for it too */
	bool running, stopping;
	bool timeouts; /* a wait may be timed out though others could run */
	uint32_t (*choose)(uint32_t n);
	/* The path: what was chosen, out of how many. */
	uint8_t path[BATON_PATH], width[BATON_PATH];
	unsigned int depth, length;
} baton = {.lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};

static inline uint32_t baton_choose_path(uint32_t n)
{
	uint32_t chosen = 0;

	assert(baton.depth < BATON_PATH);
	if (baton.depth < baton.length)
		chosen = baton.path[baton.depth];
	else
		baton.path[baton.length++] = 0;
	assert(chosen < n && "the same path leads elsewhere: something else decides too");
	baton.width[baton.depth++] = (uint8_t)n;
	return chosen;
}

/* The next path that was not walked yet; false: all were. */
static inline bool baton_next_path(void)
{
	while (baton.length && baton.path[baton.length - 1] + 1 >= baton.width[baton.length - 1])
		baton.length--;
	if (!baton.length)
		return false;
	baton.path[baton.length - 1]++;
	return true;
}

static bool baton_can_run(const struct actor *a)
{
	if (a->state == ACTOR_DONE)
		return false;
	if (a->idle)
		return a->runnable(a->arg);
	return a->state == ACTOR_READY || a->woken;
}

/* The one to be timed out when nobody can run; BATON_ACTORS: there is none. */
static unsigned int baton_first_timeout(void)
{
	unsigned int first = BATON_ACTORS;

	for (unsigned int i = 0; i < baton.n; i++)
		if (baton.actor[i].state == ACTOR_WAITING &&
		    (first == BATON_ACTORS || baton.actor[i].until < baton.actor[first].until))
			first = i;
	return first;
}

static void baton_time_out(unsigned int i)
{
	baton.actor[i].timed_out = true;
	if (baton.actor[i].until > baton.now)
		baton.now = baton.actor[i].until;
}

/* Chooses who goes on; lock held. */
static void baton_pass(void)
{
	unsigned int who[2 * BATON_ACTORS], n = 0, can, chosen;

	for (unsigned int i = 0; i < baton.n; i++)
		if (baton_can_run(&baton.actor[i]))
			who[n++] = i;
	can = n;
	for (unsigned int i = 0; baton.timeouts && i < baton.n; i++)
		if (baton.actor[i].state == ACTOR_WAITING && !baton.actor[i].woken)
			who[n++] = i;
	if (!n) {
		who[0] = baton_first_timeout();
		if (who[0] == BATON_ACTORS) { /* all are done, or idle for ever */
			baton.running = false;
			pthread_cond_signal(&baton.over);
			for (unsigned int i = 0; i < baton.n; i++)
				pthread_cond_signal(&baton.actor[i].go);
			return;
		}
		baton_time_out(who[0]);
		n = can = 1;
	}
	chosen = n == 1 ? 0 : baton.choose(n);
	if (chosen >= can)
		baton_time_out(who[chosen]);
	baton.current = who[chosen];
	pthread_cond_signal(&baton.actor[baton.current].go);
}

/* Gives the baton away and waits for it; lock held. False: all is over. */
static bool baton_yield(struct actor *a)
{
	baton_pass();
	while (baton.running && &baton.actor[baton.current] != a)
		pthread_cond_wait(&a->go, &baton.lock);
	return baton.running;
}

static struct actor *baton_me(void)
{
	for (unsigned int i = 0; i < baton.n; i++)
		if (pthread_equal(baton.actor[i].thread, pthread_self()))
			return &baton.actor[i];
	return NULL;
}

/* A pause point. Does nothing on a thread that is no actor. */
static void baton_pause(void)
{
	struct actor *a;

	pthread_mutex_lock(&baton.lock);
	a = baton.running ? baton_me() : NULL;
	baton.steps++;
	if (a != NULL)
		baton_yield(a);
	pthread_mutex_unlock(&baton.lock);
}

/* Waits until the actor's runnable() says so; false: it never will. */
static inline bool baton_idle(void)
{
	struct actor *a;
	bool more;

	pthread_mutex_lock(&baton.lock);
	a = baton_me();
	baton.steps++;
	a->idle = true;
	more = baton_yield(a);
	a->idle = false;
	pthread_mutex_unlock(&baton.lock);
	return more;
}

/* As pthread_cond_timedwait(). */
static int baton_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until)
{
	struct actor *a;
	bool timed_out;

	pthread_mutex_lock(&baton.lock);
	a = baton_me();
	assert(a != NULL);
	if (baton.now >= until) {
		pthread_mutex_unlock(&baton.lock);
		return ETIMEDOUT;
	}
	pthread_mutex_unlock(lock);
	a->state = ACTOR_WAITING;
	a->until = until;
	a->cond = cond;
	a->woken = a->timed_out = false;
	baton_yield(a);
	a->state = ACTOR_READY;
	timed_out = a->timed_out;
	pthread_mutex_unlock(&baton.lock);
	pthread_mutex_lock(lock);
	return timed_out ? ETIMEDOUT : 0;
}

/* As pthread_cond_broadcast(). */
static void baton_wake(const pthread_cond_t *cond)
{
	pthread_mutex_lock(&baton.lock);
	for (unsigned int i = 0; i < baton.n; i++)
		if (baton.actor[i].state == ACTOR_WAITING && baton.actor[i].cond == cond)
			baton.actor[i].woken = true;
	pthread_mutex_unlock(&baton.lock);
}

static void *baton_main(void *arg)
{
	struct actor *a = arg;

	pthread_mutex_lock(&baton.lock);
	for (;;) {
		while (!baton.stopping &&
		       !(a->run != NULL && baton.running && &baton.actor[baton.current] == a))
			pthread_cond_wait(&a->go, &baton.lock);
		if (baton.stopping)
			break;
		pthread_mutex_unlock(&baton.lock);
		a->run(a->arg);
		pthread_mutex_lock(&baton.lock);
		a->state = ACTOR_DONE;
		a->run = NULL;
		baton.steps++;
		baton.ended++;
		if (baton.running)
			baton_pass();
		pthread_cond_signal(&baton.over);
	}
	pthread_mutex_unlock(&baton.lock);
	return NULL;
}

static inline void baton_actor(void (*run)(void *arg), void *arg, bool (*runnable)(void *arg))
{
	struct actor *a = &baton.actor[baton.n++];

	assert(baton.n <= BATON_ACTORS);
	pthread_mutex_lock(&baton.lock);
	if (!a->started) {
		pthread_cond_init(&a->go, NULL);
		pthread_create(&a->thread, NULL, baton_main, a);
		a->started = true;
	}
	a->run = run;
	a->arg = arg;
	a->runnable = runnable;
	a->state = ACTOR_READY;
	a->idle = false;
	pthread_mutex_unlock(&baton.lock);
}

/* Runs the actors to their ends, the first choice included. */
static inline void baton_run(uint32_t (*choose)(uint32_t n))
{
	pthread_mutex_lock(&baton.lock);
	baton.choose = choose;
	baton.depth = 0;
	baton.ended = 0;
	baton.running = true;
	baton.current = BATON_ACTORS;
	baton_pass();
	while (baton.running || baton.ended < baton.n)
		pthread_cond_wait(&baton.over, &baton.lock);
	baton.n = 0;
	pthread_mutex_unlock(&baton.lock);
}

static inline void baton_fini(void)
{
	pthread_mutex_lock(&baton.lock);
	baton.stopping = true;
	for (unsigned int i = 0; i < BATON_ACTORS; i++)
		pthread_cond_signal(&baton.actor[i].go);
	pthread_mutex_unlock(&baton.lock);
	for (unsigned int i = 0; i < BATON_ACTORS; i++)
		if (baton.actor[i].started)
			pthread_join(baton.actor[i].thread, NULL);
}

#endif
