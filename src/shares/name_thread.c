/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See name_thread.h. Only while it is away, at a name server, it can be left behind: then it touches nothing of others. */
#include "shares/name_thread.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/clock.h"

struct name_thread {
	struct client_table *clients;
	client_asker ask;
	void (*name)(const char *name);
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool away, ending, over, left;
};

static void destroy(struct name_thread *n)
{
	pthread_cond_destroy(&n->ended);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

/* False: it has to end. */
static bool leave(struct name_thread *n)
{
	pthread_mutex_lock(&n->lock);
	n->away = !n->ending;
	pthread_mutex_unlock(&n->lock);
	return n->away;
}

/* Back with the answer to Q; false: it was left behind, and the table may be gone. */
static bool come_back(struct name_thread *n, const struct client_question *q, uint16_t rule,
		      uint64_t open)
{
	bool left;

	pthread_mutex_lock(&n->lock);
	n->away = false;
	left = n->left;
	pthread_mutex_unlock(&n->lock);
	if (!left)
		client_table_answer(n->clients, q, rule, open);
	return !left;
}

static void *run(void *arg)
{
	struct name_thread *n = arg;
	struct client_question q;

	if (n->name != NULL)
		n->name("ra_names");
	while (client_table_question(n->clients, &q) && leave(n)) {
		uint64_t open = 0;
		uint16_t rule = n->ask(&q.address, &open);

		if (!come_back(n, &q, rule, open)) {
			destroy(n);
			return NULL;
		}
	}
	pthread_mutex_lock(&n->lock);
	n->over = true;
	pthread_cond_signal(&n->ended);
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

struct name_thread *name_thread_start(struct client_table *clients, client_asker ask,
				      void (*name)(const char *name))
{
	struct name_thread *n = calloc(1, sizeof(*n));

	if (n == NULL)
		return NULL;
	n->clients = clients;
	n->ask = ask;
	n->name = name;
	pthread_mutex_init(&n->lock, NULL);
	clock_cond_init(&n->ended);
	if (pthread_create(&n->thread, NULL, run, n) == 0)
		return n;
	destroy(n);
	return NULL;
}

/* With the lock: whether it was over, or is left behind. */
static bool wait_for_end(struct name_thread *n, uint64_t timeout)
{
	uint64_t until = clock_now() + timeout;

	while (!n->over && !(n->away && clock_now() >= until)) {
		if (n->away)
			clock_cond_wait_until(&n->ended, &n->lock, until);
		else
			pthread_cond_wait(&n->ended, &n->lock);
	}
	n->left = !n->over;
	return n->over;
}

bool name_thread_stop(struct name_thread *n, uint64_t timeout)
{
	pthread_t thread;
	bool over;

	if (n == NULL)
		return true;
	client_table_end_questions(n->clients);
	pthread_mutex_lock(&n->lock);
	thread = n->thread; /* who is left behind frees N */
	n->ending = true;
	over = wait_for_end(n, timeout);
	if (!over)
		pthread_detach(thread);
	pthread_mutex_unlock(&n->lock);
	if (!over)
		return false;
	pthread_join(thread, NULL);
	destroy(n);
	return true;
}
