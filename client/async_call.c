/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One blocking call at a time, in a thread of its own. See async_call.h. */
#include <limits.h>
#include <stdint.h>
#include <unistd.h>

#include "async_call.h"

#define STACK ((size_t)256 * 1024) /* bytes: paths and little else */

static void *work(void *arg)
{
	struct async_call *e = arg;
	uint64_t one = 1;

	pthread_mutex_lock(&e->lock);
	for (;;) {
		while (e->state != ASYNC_CALL_UNDER_WAY)
			pthread_cond_wait(&e->start, &e->lock);
		pthread_mutex_unlock(&e->lock);
		e->run(e->arg);
		pthread_mutex_lock(&e->lock);
		e->state = ASYNC_CALL_RETURNED;
		if (write(e->wake, &one, sizeof(one)) < 0)
			continue; /* full: the owner is awake */
	}
	return NULL;
}

int async_call_init(struct async_call *e, void (*run)(void *arg), void *arg, int wake)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	*e = (struct async_call){.run = run, .arg = arg, .wake = wake};
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->start, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, work, e);
	pthread_attr_destroy(&attr);
	return err;
}

bool async_call_start(struct async_call *e)
{
	bool idle;

	pthread_mutex_lock(&e->lock);
	idle = e->state == ASYNC_CALL_IDLE;
	if (idle) {
		e->state = ASYNC_CALL_UNDER_WAY;
		pthread_cond_signal(&e->start);
	}
	pthread_mutex_unlock(&e->lock);
	return idle;
}

bool async_call_done(struct async_call *e)
{
	bool done;

	pthread_mutex_lock(&e->lock);
	done = e->state == ASYNC_CALL_RETURNED;
	if (done)
		e->state = ASYNC_CALL_IDLE;
	pthread_mutex_unlock(&e->lock);
	return done;
}
