/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See learnt_thread.h. Looks are counted: those asked for, and up to which one they are over. */
#include "disk/learnt_thread.h"

#include <pthread.h>
#include <time.h>

#include "common/clock.h"
#include "disk/learnt_table.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	void (*name_thread)(const char *name);
	uint64_t asked, over;
	uint64_t since; /* ns: when the one under way began; 0: none is */
	bool running, stopping;
	bool left; /* nobody waits for it any more, and it begins no look */
} keeper = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* One look, of all that were asked for; with the lock, which is let go. */
static void look(void)
{
	uint64_t n = keeper.asked, now = clock_now();
	bool last = keeper.stopping;

	keeper.since = now;
	pthread_mutex_unlock(&keeper.lock);
	learnt_look(now, (uint64_t)time(NULL), last);
	pthread_mutex_lock(&keeper.lock);
	keeper.since = 0;
	keeper.over = n;
	pthread_cond_broadcast(&keeper.changed);
}

static void *run(void *arg)
{
	(void)arg;
	if (keeper.name_thread != NULL)
		keeper.name_thread("ra_learnt");
	pthread_mutex_lock(&keeper.lock);
	while (!keeper.left) {
		if (keeper.over != keeper.asked)
			look();
		else if (keeper.stopping)
			break;
		else
			pthread_cond_wait(&keeper.changed, &keeper.lock);
	}
	pthread_mutex_unlock(&keeper.lock);
	return NULL;
}

int learnt_thread_start(void (*name_thread)(const char *name))
{
	int err;

	if (keeper.running)
		return 0;
	keeper.name_thread = name_thread;
	keeper.asked = keeper.over = keeper.since = 0;
	keeper.stopping = keeper.left = false;
	clock_cond_init(&keeper.changed);
	err = pthread_create(&keeper.thread, NULL, run, NULL);
	keeper.running = err == 0;
	if (err != 0)
		pthread_cond_destroy(&keeper.changed);
	return err;
}

/* With the lock; the number of the look. */
static uint64_t ask(void)
{
	uint64_t n = ++keeper.asked;

	pthread_cond_broadcast(&keeper.changed);
	return n;
}

/* With the lock: whether the Nth look is over, or will be before one has taken TIMEOUT. */
static bool wait_for(uint64_t n, uint64_t timeout)
{
	uint64_t until = clock_now() + timeout;

	while (keeper.over < n) {
		if (keeper.since != 0)
			until = keeper.since + timeout;
		if (clock_now() >= until)
			return false;
		clock_cond_wait_until(&keeper.changed, &keeper.lock, until);
	}
	return true;
}

void learnt_thread_ask(void)
{
	pthread_mutex_lock(&keeper.lock);
	if (keeper.running && keeper.over == keeper.asked)
		(void)ask();
	pthread_mutex_unlock(&keeper.lock);
}

bool learnt_thread_wait(uint64_t timeout)
{
	bool done;

	pthread_mutex_lock(&keeper.lock);
	done = !keeper.running || wait_for(ask(), timeout);
	pthread_mutex_unlock(&keeper.lock);
	return done;
}

bool learnt_thread_stop(uint64_t timeout)
{
	bool done;

	if (!keeper.running)
		return true;
	pthread_mutex_lock(&keeper.lock);
	keeper.stopping = true;
	done = wait_for(ask(), timeout);
	keeper.left = !done;
	pthread_mutex_unlock(&keeper.lock);
	if (!done) {
		learnt_end();
		pthread_detach(keeper.thread);
		return false;
	}
	pthread_join(keeper.thread, NULL);
	pthread_cond_destroy(&keeper.changed);
	keeper.running = false;
	return true;
}
