/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A list in the order of sending, and a thread that sleeps until the first of it is there. See wire.h. */
#include "wire.h"

#include <pthread.h>
#include <sys/prctl.h>

#include "real_time.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t sent;
	pthread_t thread;
	STAILQ_HEAD(, wire_item) items;
	int64_t latency_ns;
	void (*arrive)(struct wire_item *item); /* NULL: there is no wire */
	bool stopping;
} wire = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.sent = PTHREAD_COND_INITIALIZER,
	.items = STAILQ_HEAD_INITIALIZER(wire.items),
};

static void deliver(struct wire_item *item)
{
	STAILQ_REMOVE_HEAD(&wire.items, link);
	pthread_mutex_unlock(&wire.lock);
	sleep_until(item->at_ns);
	wire.arrive(item);
	pthread_mutex_lock(&wire.lock);
}

static void *run(void *arg)
{
	(void)arg;
	prctl(PR_SET_TIMERSLACK, 1UL);
	pthread_mutex_lock(&wire.lock);
	for (;;) {
		struct wire_item *first = STAILQ_FIRST(&wire.items);

		if (first)
			deliver(first);
		else if (wire.stopping)
			break;
		else
			pthread_cond_wait(&wire.sent, &wire.lock);
	}
	pthread_mutex_unlock(&wire.lock);
	return NULL;
}

int wire_start(int64_t latency_ns, void (*arrive)(struct wire_item *item))
{
	int err;

	wire.latency_ns = latency_ns;
	err = pthread_create(&wire.thread, NULL, run, NULL);
	if (!err)
		wire.arrive = arrive;
	return err;
}

bool wire_is_up(void)
{
	return wire.arrive != NULL;
}

void wire_send(struct wire_item *item, int64_t left_ns)
{
	item->at_ns = left_ns + wire.latency_ns;
	pthread_mutex_lock(&wire.lock);
	STAILQ_INSERT_TAIL(&wire.items, item, link);
	pthread_cond_signal(&wire.sent);
	pthread_mutex_unlock(&wire.lock);
}

void wire_stop(void)
{
	if (!wire_is_up())
		return;
	pthread_mutex_lock(&wire.lock);
	wire.stopping = true;
	pthread_cond_signal(&wire.sent);
	pthread_mutex_unlock(&wire.lock);
	pthread_join(wire.thread, NULL);
}
