/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See watcher.h. */
#include "disk/watcher.h"

#include <pthread.h>
#include <unistd.h>

#include "common/clock.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	void (*look)(void);
	void (*name)(const char *name);
	uint64_t interval; /* ns */
	bool running, stopping, over;
	bool away; /* in a call that may take any time */
	bool left; /* it was when nobody waited any longer */
} watcher = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Which thread is the watcher's: of one that was left behind too. */
static _Thread_local bool is_watcher;

static void *run(void *arg)
{
	(void)arg;
	is_watcher = true;
	if (watcher.name != NULL)
		watcher.name("ra_watch");
	pthread_mutex_lock(&watcher.lock);
	while (!watcher.stopping) {
		clock_cond_wait_until(&watcher.changed, &watcher.lock,
				      clock_now() + watcher.interval);
		if (watcher.stopping)
			break;
		pthread_mutex_unlock(&watcher.lock);
		watcher.look();
		pthread_mutex_lock(&watcher.lock);
	}
	watcher.over = true;
	pthread_cond_broadcast(&watcher.changed);
	pthread_mutex_unlock(&watcher.lock);
	return NULL;
}

/* Whether there is one, also one that was left behind. */
static bool is_there(void)
{
	bool there;

	pthread_mutex_lock(&watcher.lock);
	there = watcher.running || watcher.left;
	pthread_mutex_unlock(&watcher.lock);
	return there;
}

int watcher_start(void (*look)(void), uint64_t interval, void (*name)(const char *name))
{
	int err;

	if (is_there())
		return 0;
	watcher.look = look;
	watcher.interval = interval;
	watcher.name = name;
	watcher.stopping = watcher.over = watcher.away = false;
	clock_cond_init(&watcher.changed);
	err = pthread_create(&watcher.thread, NULL, run, NULL);
	watcher.running = err == 0;
	if (err != 0)
		pthread_cond_destroy(&watcher.changed);
	return err;
}

/* Its thread is to end; until it is over, or away for too long. With the lock. False: left behind. */
static bool end(uint64_t until)
{
	watcher.stopping = true;
	pthread_cond_broadcast(&watcher.changed);
	while (!watcher.over && !watcher.left) {
		if (!watcher.away)
			pthread_cond_wait(&watcher.changed, &watcher.lock);
		else if (clock_now() < until)
			clock_cond_wait_until(&watcher.changed, &watcher.lock, until);
		else
			watcher.left = true;
	}
	return !watcher.left;
}

bool watcher_stop(uint64_t timeout)
{
	uint64_t until = clock_now() + timeout;
	bool was, over;

	pthread_mutex_lock(&watcher.lock);
	was = watcher.running;
	watcher.running = false;
	over = !was || end(until);
	pthread_mutex_unlock(&watcher.lock);
	if (!was)
		return true;
	if (!over) {
		pthread_detach(watcher.thread);
		return false;
	}
	pthread_join(watcher.thread, NULL);
	pthread_cond_destroy(&watcher.changed);
	return true;
}

void watcher_leaves(void)
{
	if (!is_watcher)
		return;
	pthread_mutex_lock(&watcher.lock);
	watcher.away = true;
	pthread_cond_broadcast(&watcher.changed);
	pthread_mutex_unlock(&watcher.lock);
}

void watcher_returns(void)
{
	bool left;

	if (!is_watcher)
		return;
	pthread_mutex_lock(&watcher.lock);
	watcher.away = false;
	left = watcher.left;
	pthread_cond_broadcast(&watcher.changed);
	pthread_mutex_unlock(&watcher.lock);
	while (left) /* until the process ends */
		pause();
}
