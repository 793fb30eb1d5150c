/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The thread that looks after readers of clusters. It is not the one that maintains everything else: what it
 * does may wait for the cluster as long as that is away. See remote_watch.h.
 */
#include "remote_watch.h"

#include <pthread.h>
#include <stdbool.h>

#include "common/clock.h"
#include "compat.h"
#include "disk/backing_remote.h"
#include "thread_name.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool running, stopping, over;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *watcher(void *arg)
{
	(void)arg;
	ra_name_thread("ra_watch");
	pthread_mutex_lock(&watch.lock);
	while (!watch.stopping) {
		clock_cond_wait_until(&watch.wake, &watch.lock, clock_now() + OVERDUE_LOOK);
		pthread_mutex_unlock(&watch.lock);
		backings_wake_overdue(clock_now());
		pthread_mutex_lock(&watch.lock);
	}
	watch.over = true;
	pthread_cond_broadcast(&watch.wake);
	pthread_mutex_unlock(&watch.lock);
	return NULL;
}

void remote_watch_start(void)
{
	if (watch.running)
		return;
	watch.stopping = watch.over = false;
	clock_cond_init(&watch.wake);
	watch.running = pthread_create(&watch.thread, NULL, watcher, NULL) == 0;
	if (watch.running)
		return;
	pthread_cond_destroy(&watch.wake);
	LogWarn(COMPONENT_FSAL, "RA: no thread to look after reads of the cluster: one that its "
				"client forgets is not woken");
}

void remote_watch_stop(uint64_t timeout)
{
	uint64_t until = clock_now() + timeout;
	bool over;

	if (!watch.running)
		return;
	pthread_mutex_lock(&watch.lock);
	watch.stopping = true;
	pthread_cond_broadcast(&watch.wake);
	while (!watch.over && clock_now() < until)
		clock_cond_wait_until(&watch.wake, &watch.lock, until);
	over = watch.over;
	pthread_mutex_unlock(&watch.lock);
	if (!over) {
		pthread_detach(watch.thread);
		return;
	}
	pthread_join(watch.thread, NULL);
	pthread_cond_destroy(&watch.wake);
	watch.running = false;
}
