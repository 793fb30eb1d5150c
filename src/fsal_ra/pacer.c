/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The pacer's thread and its list of held replies, the next one due first. A reply is inserted from
 * the back: delays are alike, so its place is near there.
 */
#include "pacer.h"

#include "dirty.h"
#include "io.h"
#include "ra_methods.h"
#include "writeback/pacing.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool running, stopping;
	TAILQ_HEAD(paced_list, paced) held;
	struct pacing clocks;
	struct pacer_view view;
} pacer = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint64_t pacer_delay(uint64_t client, uint64_t bytes, uint64_t max_ms)
{
	double level = dirty_level();
	uint64_t delay;

	if (level <= PACING_SETPOINT || !max_ms || !pacer.running)
		return 0;
	pthread_mutex_lock(&pacer.lock);
	delay = pacing_delay(&pacer.clocks, client, bytes, level, dirty_rate(), max_ms * 1000000u,
			     clock_now());
	pthread_mutex_unlock(&pacer.lock);
	return delay;
}

bool pacer_hold(struct paced *p, uint64_t delay, void (*answer)(struct paced *p))
{
	struct paced *before;
	bool room;

	p->due = clock_now() + delay;
	p->answer = answer;
	pthread_mutex_lock(&pacer.lock);
	room = !pacer.stopping && pacer.view.held < ra_module_params.paced_replies;
	if (room) {
		TAILQ_FOREACH_REVERSE(before, &pacer.held, paced_list, link)
			if (before->due <= p->due)
				break;
		if (before != NULL)
			TAILQ_INSERT_AFTER(&pacer.held, before, p, link);
		else
			TAILQ_INSERT_HEAD(&pacer.held, p, link);
		pacer.view.held++;
		pacer.view.replies++;
		pacer.view.delay += delay;
		if (delay > pacer.view.delay_max)
			pacer.view.delay_max = delay;
		if (TAILQ_FIRST(&pacer.held) == p)
			pthread_cond_signal(&pacer.wake);
	} else {
		pacer.view.refused++;
	}
	pthread_mutex_unlock(&pacer.lock);
	return room;
}

static void *run(void *arg)
{
	struct paced *p;

	SetNameFunction("ra_pacer");
	pthread_mutex_lock(&pacer.lock);
	for (;;) {
		p = TAILQ_FIRST(&pacer.held);
		if (p == NULL) {
			if (pacer.stopping)
				break;
			pthread_cond_wait(&pacer.wake, &pacer.lock);
		} else if (!pacer.stopping && p->due > clock_now()) {
			clock_cond_wait_until(&pacer.wake, &pacer.lock, p->due);
		} else {
			TAILQ_REMOVE(&pacer.held, p, link);
			pacer.view.held--;
			pthread_mutex_unlock(&pacer.lock);
			p->answer(p); /* P is gone */
			pthread_mutex_lock(&pacer.lock);
		}
	}
	pthread_mutex_unlock(&pacer.lock);
	return NULL;
}

int pacer_start(void)
{
	int err;

	TAILQ_INIT(&pacer.held);
	pacer.stopping = false;
	clock_cond_init(&pacer.wake);
	err = pthread_create(&pacer.thread, NULL, run, NULL);
	pacer.running = !err;
	return err;
}

void pacer_stop(void)
{
	if (!pacer.running)
		return;
	pthread_mutex_lock(&pacer.lock);
	pacer.stopping = true;
	pthread_cond_signal(&pacer.wake);
	pthread_mutex_unlock(&pacer.lock);
	pthread_join(pacer.thread, NULL);
	pacer.running = false;
}

void pacer_view(struct pacer_view *v)
{
	pthread_mutex_lock(&pacer.lock);
	*v = pacer.view;
	pthread_mutex_unlock(&pacer.lock);
}
