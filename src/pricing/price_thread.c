/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A thread around the price loop. See price_thread.h. */
#include "pricing/price_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/lock.h"

struct price_thread {
	struct lock lock; /* of all below */
	pthread_cond_t wake;
	pthread_t thread;
	void (*name_thread)(const char *name);
	bool stopping, changed;
	struct price_loop loop;
};

static void *run(void *arg)
{
	struct price_thread *t = arg;

	if (t->name_thread)
		t->name_thread("ra_prices");
	lock_take(&t->lock);
	while (!t->stopping) {
		uint64_t until = price_loop_turn(&t->loop, clock_now());
		int err = 0;

		t->changed = false;
		while (!t->stopping && !t->changed && !err)
			err = clock_cond_wait_until(&t->wake, &t->lock.mutex, until);
	}
	lock_drop(&t->lock);
	return NULL;
}

static void destroy(struct price_thread *t)
{
	price_loop_fini(&t->loop);
	pthread_cond_destroy(&t->wake);
	lock_fini(&t->lock);
	free(t);
}

struct price_thread *price_thread_start(const struct price_settings *s,
					const struct price_hosts *hosts,
					struct price_source *source, struct ghost_cache *ghost,
					void (*name_thread)(const char *name), int *err)
{
	struct price_thread *t = calloc(1, sizeof(*t));

	*err = t ? 0 : ENOMEM;
	if (!t)
		return NULL;
	lock_init(&t->lock, LOCK_PRICES);
	clock_cond_init(&t->wake);
	t->name_thread = name_thread;
	price_loop_init(&t->loop, s, hosts, source, ghost);
	*err = pthread_create(&t->thread, NULL, run, t);
	if (!*err)
		return t;
	destroy(t);
	return NULL;
}

void price_thread_set(struct price_thread *t, const struct price_settings *s)
{
	lock_take(&t->lock);
	price_loop_set(&t->loop, s);
	t->loop.publish_at = 0; /* at once */
	t->changed = true;
	pthread_cond_signal(&t->wake);
	lock_drop(&t->lock);
}

double price_thread_length(struct price_thread *t, unsigned int n)
{
	double length = 0;

	lock_take(&t->lock);
	if (n < t->loop.n)
		length = t->loop.disks[n].meter.length;
	lock_drop(&t->lock);
	return length;
}

unsigned int price_thread_clients(struct price_thread *t, unsigned int n,
				  struct ledger_entry *entries, unsigned int max)
{
	unsigned int found = 0;

	lock_take(&t->lock);
	if (n < t->loop.n && t->loop.disks[n].ledger != NULL)
		found = ledger_top(t->loop.disks[n].ledger, entries, max);
	lock_drop(&t->lock);
	return found;
}

void price_thread_k(struct price_thread *t, double k[PRICE_RESOURCES])
{
	lock_take(&t->lock);
	memcpy(k, t->loop.settings.k, sizeof(t->loop.settings.k));
	lock_drop(&t->lock);
}

void price_thread_stop(struct price_thread *t)
{
	if (!t)
		return;
	lock_take(&t->lock);
	t->stopping = true;
	pthread_cond_signal(&t->wake);
	lock_drop(&t->lock);
	pthread_join(t->thread, NULL);
	destroy(t);
}
