/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Blocking calls in child processes. See async_call.h. */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "async_call.h"

/* What a worker and its owner share. */
struct async_job {
	sem_t begin;
	_Atomic bool done;
	async_run run;
	char result[ASYNC_RESULT_MAX];
	char arg[ASYNC_ARG_MAX];
};

/* ---- the child --------------------------------------------------------------------------- */

static void __attribute__((noreturn)) child(pid_t parent, struct async_job *job)
{
	sigset_t all;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	close_range(0, ~0U, 0); /* who reads our output must not wait for this child */
	for (;;) {
		while (sem_wait(&job->begin))
			continue;
		job->run(job->arg, job->result);
		job->done = true;
		kill(parent, SIGCHLD);
	}
}

/* ---- workers ----------------------------------------------------------------------------- */

static void forget(struct async_worker *w)
{
	munmap(w->job, sizeof(*w->job));
	*w = (struct async_worker){0};
}

/* True: it has ended. */
static bool has_ended(const struct async_worker *w)
{
	return waitpid(w->child, NULL, WNOHANG) != 0;
}

static bool make(struct async_worker *w)
{
	const pid_t parent = getpid();
	struct async_job *job =
		mmap(NULL, sizeof(*job), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (job == MAP_FAILED)
		return false;
	sem_init(&job->begin, 1, 0);
	*w = (struct async_worker){.child = fork(), .job = job};
	if (w->child == 0)
		child(parent, job);
	if (w->child > 0)
		return true;
	forget(w);
	return false;
}

bool async_pool_crowded(const struct async_pool *pool, uint32_t group)
{
	unsigned int places = 0, own = 0;

	for (unsigned int i = 0; i < ASYNC_WORKERS_MAX; i++) {
		const struct async_worker *w = &pool->workers[i];

		if (!w->child || w->state == ASYNC_IDLE)
			places++;
		else
			own += w->group == group;
	}
	return places <= (own ? ASYNC_KEPT : 0);
}

unsigned int async_pool_group(const struct async_pool *pool, uint32_t group)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < ASYNC_WORKERS_MAX; i++) {
		const struct async_worker *w = &pool->workers[i];

		count += w->child && w->group == group &&
			 (w->state == ASYNC_BUSY || w->state == ASYNC_LEFT);
	}
	return count;
}

/* An idle one, else a new one; NULL: none can be had. */
static struct async_worker *find(struct async_pool *pool, uint32_t group)
{
	struct async_worker *idle = NULL, *place = NULL;

	for (unsigned int i = 0; i < ASYNC_WORKERS_MAX; i++) {
		struct async_worker *w = &pool->workers[i];

		if (!w->child)
			place = place ? place : w;
		else if (w->state == ASYNC_IDLE)
			idle = w;
	}
	if (async_pool_group(pool, group) >= ASYNC_GROUP_MAX || async_pool_crowded(pool, group))
		return NULL;
	if (idle)
		return idle;
	return place && make(place) ? place : NULL;
}

bool async_call_start(struct async_call *c, struct async_pool *pool, uint32_t group, async_run run,
		      const void *arg, size_t size)
{
	struct async_worker *w;

	if (c->worker || size > ASYNC_ARG_MAX)
		return false;
	w = find(pool, group);
	if (!w)
		return false;
	w->state = ASYNC_BUSY;
	w->group = group;
	w->job->done = false;
	w->job->run = run;
	memset(w->job->result, 0, sizeof(w->job->result));
	if (size)
		memcpy(w->job->arg, arg, size);
	sem_post(&w->job->begin);
	c->worker = w;
	return true;
}

bool async_call_done(struct async_call *c, void *result, size_t size)
{
	struct async_worker *w = c->worker;

	if (!w)
		return false;
	if (w->job->done) {
		memcpy(result, w->job->result, size);
		w->state = ASYNC_IDLE;
		c->worker = NULL;
		return true;
	}
	if (has_ended(w)) { /* somebody has killed it: there is no result */
		forget(w);
		c->worker = NULL;
	}
	return false;
}

bool async_call_drop(struct async_call *c, struct async_pool *pool)
{
	struct async_worker *w = c->worker;

	if (!w)
		return true;
	kill(w->child, SIGKILL);
	async_pool_reap(pool);
	if (has_ended(w))
		forget(w);
	else if (async_pool_stuck(pool) < ASYNC_STUCK_MAX)
		w->state = ASYNC_STUCK;
	else
		return false;
	c->worker = NULL;
	return true;
}

void async_call_leave(struct async_call *c, struct async_pool *pool)
{
	if (!async_call_drop(c, pool))
		c->worker->state = ASYNC_LEFT;
	c->worker = NULL;
}

/* ---- all of them ------------------------------------------------------------------------- */

unsigned int async_pool_stuck(const struct async_pool *pool)
{
	unsigned int stuck = 0;

	for (unsigned int i = 0; i < ASYNC_WORKERS_MAX; i++)
		stuck += pool->workers[i].child && pool->workers[i].state == ASYNC_STUCK;
	return stuck;
}

static void end_idle(struct async_pool *pool, unsigned int keep, unsigned int most)
{
	unsigned int idle = 0;

	for (unsigned int i = 0; i < ASYNC_WORKERS_MAX; i++) {
		struct async_worker *w = &pool->workers[i];

		if (!w->child || w->state != ASYNC_IDLE || ++idle <= keep || !most)
			continue;
		most--;
		kill(w->child, SIGKILL);
		waitpid(w->child, NULL, 0); /* it is in no call: at once */
		forget(w);
	}
}

void async_pool_reap(struct async_pool *pool)
{
	for (unsigned int i = 0; i < ASYNC_WORKERS_MAX; i++) {
		struct async_worker *w = &pool->workers[i];

		if (!w->child || w->state < ASYNC_LEFT)
			continue;
		if (has_ended(w))
			forget(w);
		else if (w->state == ASYNC_LEFT && async_pool_stuck(pool) < ASYNC_STUCK_MAX)
			w->state = ASYNC_STUCK;
	}
	end_idle(pool, ASYNC_IDLE_MAX, 1);
}

void async_pool_end(struct async_pool *pool)
{
	end_idle(pool, 0, ASYNC_WORKERS_MAX);
}
