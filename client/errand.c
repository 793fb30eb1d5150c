/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One blocking call at a time, in a thread of its own. See errand.h. */
#include <limits.h>
#include <stdint.h>
#include <unistd.h>

#include "errand.h"

#define STACK ((size_t)256 * 1024) /* bytes: paths and little else */

static void *work(void *arg)
{
	struct errand *e = arg;
	uint64_t one = 1;

	pthread_mutex_lock(&e->lock);
	for (;;) {
		while (e->state != ERRAND_UNDER_WAY)
			pthread_cond_wait(&e->start, &e->lock);
		pthread_mutex_unlock(&e->lock);
		e->run(e->arg);
		pthread_mutex_lock(&e->lock);
		e->state = ERRAND_RETURNED;
		if (write(e->wake, &one, sizeof(one)) < 0)
			continue; /* full: the owner is awake */
	}
	return NULL;
}

int errand_init(struct errand *e, void (*run)(void *arg), void *arg, int wake)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	*e = (struct errand){.run = run, .arg = arg, .wake = wake};
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->start, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, work, e);
	pthread_attr_destroy(&attr);
	return err;
}

bool errand_start(struct errand *e)
{
	bool idle;

	pthread_mutex_lock(&e->lock);
	idle = e->state == ERRAND_IDLE;
	if (idle) {
		e->state = ERRAND_UNDER_WAY;
		pthread_cond_signal(&e->start);
	}
	pthread_mutex_unlock(&e->lock);
	return idle;
}

bool errand_done(struct errand *e)
{
	bool done;

	pthread_mutex_lock(&e->lock);
	done = e->state == ERRAND_RETURNED;
	if (done)
		e->state = ERRAND_IDLE;
	pthread_mutex_unlock(&e->lock);
	return done;
}
