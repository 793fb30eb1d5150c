/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See name_ask.h. A question is freed by the last who knows it: who asks, or the thread that was left. */
#include "shares/name_ask.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/clock.h"

struct question {
	client_asker ask;
	void (*name)(const char *name);
	struct client_address address;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint16_t rule;
	bool answered, sure, left;
};

static atomic_bool asking; /* there is a question */
static const char silent[] = "the name server does not answer";

static void destroy(struct question *q)
{
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q);
	atomic_store(&asking, false);
}

static void *run(void *arg)
{
	struct question *q = arg;
	uint64_t open = 0;
	uint16_t rule;
	bool left;

	if (q->name != NULL)
		q->name("ra_names");
	rule = q->ask(&q->address, &open);
	pthread_mutex_lock(&q->lock);
	q->rule = rule;
	q->sure = open == 0;
	q->answered = true;
	left = q->left;
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
	if (left)
		destroy(q);
	return NULL;
}

/* Whether there was an answer; else THREAD is left to it, and has the question. */
static bool wait_for_answer(struct question *q, pthread_t thread, uint64_t timeout)
{
	uint64_t until = clock_now() + timeout;
	bool answered;

	pthread_mutex_lock(&q->lock);
	while (!q->answered && clock_now() < until)
		clock_cond_wait_until(&q->changed, &q->lock, until);
	answered = q->answered;
	q->left = !answered;
	if (!answered)
		pthread_detach(thread);
	pthread_mutex_unlock(&q->lock);
	if (answered)
		pthread_join(thread, NULL);
	return answered;
}

const char *name_ask(client_asker ask, const struct client_address *a, uint64_t timeout,
		     void (*name)(const char *name), uint16_t *rule)
{
	struct question *q;
	pthread_t thread;
	bool sure;

	if (atomic_exchange(&asking, true))
		return silent; /* it was not waited for any more */
	q = calloc(1, sizeof(*q));
	if (q == NULL) {
		atomic_store(&asking, false);
		return "no memory";
	}
	q->ask = ask;
	q->name = name;
	q->address = *a;
	pthread_mutex_init(&q->lock, NULL);
	clock_cond_init(&q->changed);
	if (pthread_create(&thread, NULL, run, q) != 0) {
		destroy(q);
		return "no thread can be had that asks for the name of the client";
	}
	if (!wait_for_answer(q, thread, timeout))
		return silent;
	sure = q->sure;
	if (sure)
		*rule = q->rule;
	destroy(q);
	return sure ? NULL : silent;
}
