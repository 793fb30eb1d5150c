/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Threads, their pauses (a heap of times), and what their steps took. */
#include "tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

#define PATIENCE 20.0 /* seconds for an answer before the load */

/* ns: a thread that came late keeps its rate nevertheless; after a longer wait it begins anew. */
#define CATCH_UP UINT64_C(50000000)

struct task {
	TAILQ_ENTRY(task) next;
	struct run *run;
	unsigned int group, client;
	struct worker worker;
	struct reader reader;
	struct op op;
	struct step step;
	bool busy;     /* with `op` */
	uint64_t wake; /* ns */
	uint64_t due;  /* ns: by its rate */
};

static const struct group_spec *spec_of(const struct task *t)
{
	return &t->run->o->groups[t->group];
}

/* ---- pauses ---- */

static void swap(struct run *run, unsigned int a, unsigned int b)
{
	struct task *t = run->timers[a];

	run->timers[a] = run->timers[b];
	run->timers[b] = t;
}

static void sleep_until(struct task *t, uint64_t wake)
{
	struct run *run = t->run;
	unsigned int i = run->n_timers++;

	t->wake = wake;
	run->timers[i] = t;
	while (i && run->timers[i]->wake < run->timers[(i - 1) / 2]->wake) {
		swap(run, i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
}

static void wake_first(struct run *run)
{
	unsigned int i = 0, child;

	TAILQ_INSERT_TAIL(&run->ready, run->timers[0], next);
	run->timers[0] = run->timers[--run->n_timers];
	while ((child = 2 * i + 1) < run->n_timers) {
		if (child + 1 < run->n_timers &&
		    run->timers[child + 1]->wake < run->timers[child]->wake)
			child++;
		if (run->timers[i]->wake <= run->timers[child]->wake)
			break;
		swap(run, i, child);
		i = child;
	}
}

/* ---- steps ---- */

static void account(struct task *t, uint64_t now)
{
	if (t->step.quiet)
		return;
	t->run->members[t->client].ops++;
	tally_ended(&t->run->groups[t->group].did, &t->run->counted, &t->op, now);
}

/* When the next step may begin: think time, and the rate. */
static uint64_t pause_after(struct task *t, uint64_t now)
{
	const struct group_spec *g = spec_of(t);
	uint64_t wake = now + g->think * 1000;

	if (g->rate && t->op.length && (t->op.kind == OP_READ || t->op.kind == OP_WRITE)) {
		uint64_t due = t->op.began > t->due + CATCH_UP ? t->op.began : t->due;

		t->due = due + (uint64_t)(1e9 * (double)t->op.length / (double)g->rate);
		if (t->due > wake)
			wake = t->due;
	}
	return wake;
}

static void step_done(struct op *op, uint64_t now)
{
	struct task *t = op->owner;
	uint64_t wake;

	t->run->busy--;
	t->busy = false;
	account(t, now);
	if (op->status != ANSWER_OK && !t->run->members[t->client].client.n.errors++)
		snprintf(t->run->members[t->client].client.n.error, 160, "%s of %s failed",
			 op_kind_names[op->kind], op->file->name);
	wake = pause_after(t, now);
	if (wake > now)
		sleep_until(t, wake);
	else
		TAILQ_INSERT_TAIL(&t->run->ready, t, next);
}

static void end_task(struct task *t)
{
	struct group_result *g = &t->run->groups[t->group];
	double seconds = 1e-9 * (double)(nfs_now() - t->run->began);

	if (!g->ended++)
		g->first_end = seconds;
	g->last_end = seconds;
	if (spec_of(t)->background)
		return;
	t->run->held -= spec_of(t)->hold;
	if (--t->run->foreground == t->run->held)
		TAILQ_CONCAT(&t->run->ready, &t->run->holding, next);
}

static void hold(struct task *t)
{
	struct group_result *g = &t->run->groups[t->group];

	g->held_at = 1e-9 * (double)(nfs_now() - t->run->began);
	if (t->run->foreground > t->run->held)
		TAILQ_INSERT_TAIL(&t->run->holding, t, next);
	else
		TAILQ_INSERT_TAIL(&t->run->ready, t, next);
}

static void make_step(struct task *t)
{
	struct run *run = t->run;
	struct step *s = &t->step;

	work_next(&t->worker, s);
	if (s->kind == STEP_END) {
		end_task(t);
		return;
	}
	if (s->kind == STEP_HOLD) {
		hold(t);
		return;
	}
	t->op = (struct op){.kind = s->op,
			    .file = run->files[t->group][t->client][s->file],
			    .reader = &t->reader,
			    .offset = s->offset,
			    .length = s->length,
			    .content = s->content,
			    .verify = s->verify && run->o->verify,
			    .done = step_done,
			    .owner = t};
	if (s->op == OP_OPEN)
		t->reader = (struct reader){0};
	run->busy++;
	t->busy = true;
	client_submit(&run->members[t->client].client, &t->op, nfs_now());
}

bool tasks_run(struct run *run, unsigned int steps)
{
	uint64_t now = nfs_now();
	struct task *t;

	while (run->n_timers && run->timers[0]->wake <= now)
		wake_first(run);
	while (!run->stopping && steps-- && (t = TAILQ_FIRST(&run->ready))) {
		TAILQ_REMOVE(&run->ready, t, next);
		make_step(t);
	}
	return !run->stopping && !TAILQ_EMPTY(&run->ready);
}

uint64_t tasks_wait(const struct run *run, uint64_t most)
{
	uint64_t now = nfs_now();

	if (!run->n_timers || run->timers[0]->wake >= now + most)
		return most;
	return run->timers[0]->wake > now ? run->timers[0]->wake - now : 0;
}

void tasks_stop(struct run *run, uint64_t now)
{
	run->stopping = true;
	for (unsigned int i = 0; i < run->n_tasks; i++) {
		const struct task *t = &run->tasks[i];

		if (t->busy && !t->step.quiet)
			tally_under_way(&run->groups[t->group].did, &t->op, now);
	}
}

/* ---- the beginning ---- */

static int look_up_dirs(struct run *run, unsigned int group, unsigned int client,
			struct nfs_handle *dirs)
{
	const struct group_spec *g = &run->o->groups[group];
	struct member *m = &run->members[client];
	struct handle root, found;
	uint64_t size;
	char path[96];

	root.len = m->client.root.len;
	memcpy(root.data, m->client.root.data, root.len);
	for (uint64_t d = 0; d < g->dirs; d++) {
		snprintf(path, sizeof(path), "%s/c%02u/d%02llu", g->dir, client,
			 (unsigned long long)d);
		if (session_lookup(&m->edge.nfs, &root, path, PATIENCE, &found, &size))
			return 1;
		dirs[d].len = found.len;
		memcpy(dirs[d].data, found.data, found.len);
	}
	return 0;
}

static int make_files(struct run *run, unsigned int group, unsigned int client)
{
	const struct group_spec *g = &run->o->groups[group];
	struct work_set *s = &run->sets[group * RUN_CLIENTS + client];
	struct nfs_handle dirs[GROUP_DIRS];
	uint32_t n;
	char name[GROUP_NAME];

	if (!work_set_init(s, g, group * RUN_CLIENTS + client, run->o->seed) ||
	    look_up_dirs(run, group, client, dirs))
		return 1;
	n = work_set_files(s);
	run->files[group][client] = calloc(n, sizeof(struct file *));
	for (uint32_t i = 0; i < n; i++) {
		work_file_name(s, i, name);
		run->files[group][client][i] =
			file_new(&run->members[client].client, &dirs[i % s->files % g->dirs], name);
		if (!run->files[group][client][i])
			return 1;
	}
	return 0;
}

static void make_tasks(struct run *run, unsigned int group, unsigned int client)
{
	const struct group_spec *g = &run->o->groups[group];

	for (uint32_t i = 0; i < g->threads; i++) {
		struct task *t = &run->tasks[run->n_tasks++];

		*t = (struct task){.run = run, .group = group, .client = client};
		worker_init(&t->worker, &run->sets[group * RUN_CLIENTS + client], i);
		run->foreground += !g->background;
		run->held += g->hold;
	}
}

int tasks_init(struct run *run)
{
	const struct run_options *o = run->o;
	uint64_t tasks = 0;

	TAILQ_INIT(&run->ready);
	TAILQ_INIT(&run->holding);
	for (unsigned int i = 0; i < o->n_groups; i++)
		tasks += o->groups[i].threads * (o->groups[i].last - o->groups[i].first + 1);
	run->sets = calloc((size_t)o->n_groups * RUN_CLIENTS, sizeof(*run->sets));
	run->tasks = calloc(tasks, sizeof(*run->tasks));
	run->timers = calloc(tasks, sizeof(struct task *));
	if (!run->sets || !run->tasks || !run->timers)
		return 1;
	for (unsigned int i = 0; i < o->n_groups; i++) {
		for (uint64_t c = o->groups[i].first; c <= o->groups[i].last; c++) {
			if (make_files(run, i, (unsigned int)c))
				return 1;
			make_tasks(run, i, (unsigned int)c);
		}
	}
	return 0;
}

void tasks_start(struct run *run)
{
	for (unsigned int i = 0; i < run->n_tasks; i++)
		sleep_until(&run->tasks[i], run->began + spec_of(&run->tasks[i])->start * 1000000);
}
