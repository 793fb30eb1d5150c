/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The clients: closed loops. */
#include <stdlib.h>

#include "sim.h"

/* Of clients of one file (ns): from one connection to the next, and until all have sent their first request. */
#define CONNECT_NS (MS / 10)
#define FIRST_NS   (10 * MS)

static uint64_t random_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u); /* SplitMix64 */

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

bool client_resident(const struct sim_client *c, uint64_t offset, uint64_t len)
{
	for (uint64_t page = offset / PAGE; page * PAGE < offset + len; page++)
		if (!c->resident[page])
			return false;
	return true;
}

void client_arrived(struct sim_client *c, uint64_t offset, uint64_t len)
{
	if (c->kind.work == SIM_RANDOM || c->kind.work == SIM_WRITE)
		return; /* each of a random reader's reads is of the disk */
	for (uint64_t page = offset / PAGE; page * PAGE < offset + len; page++)
		c->resident[page] = 1;
}

/* What is done with the request R of client C is its server's. */
static void send(void *arg)
{
	struct sim_request *r = arg;
	struct sim *s = r->client->sim;

	r->issued = s->events.now;
	if (r->client->kind.work == SIM_WRITE)
		s->ops->write(s, r);
	else
		s->ops->read(s, r);
}

static bool has_more(const struct sim_client *c)
{
	return !c->kind.count || c->sent < c->kind.count;
}

static void send_next(struct sim_request *r, uint64_t delay)
{
	struct sim_client *c = r->client;
	uint64_t offset = c->next;

	if (c->kind.work == SIM_RANDOM)
		offset = random_next(&c->seed) % (c->kind.size / c->kind.request) * c->kind.request;
	if (c->order) {
		offset = c->order[c->sent] * c->kind.request;
	} else if (c->kind.work != SIM_RANDOM) {
		c->next += c->kind.request;
		if (c->next + c->kind.request > c->kind.size)
			c->next = 0;
	}
	c->sent++;
	c->running++;
	r->req = (struct sched_req){
		.class = SCHED_DEMAND,
		.file = c->file,
		.offset = offset,
		.len = c->kind.request,
		.block = c->base + offset,
		.flow = {.client = c->kind.address + 1},
	};
	events_at(&c->sim->events, c->sim->events.now + delay, send, r);
}

/*
 * When C sends its Nth request first: of many connections, as a server sees them, the first one of each comes before
 * the second one of any.
 */
static uint64_t begin_after(struct sim_client *c, uint32_t n)
{
	uint64_t chance = random_next(&c->seed);

	if (c->kind.work != SIM_CURSORS)
		return THINK_NS + chance % MS;
	return THINK_NS + c->n * CONNECT_NS + n * MS + (n ? FIRST_NS : 0) + chance % (MS / 2);
}

void client_start(struct sim_client *c)
{
	for (uint32_t i = 0; i < c->kind.outstanding && has_more(c); i++) {
		c->requests[i].client = c;
		send_next(&c->requests[i], begin_after(c, i));
	}
}

static void note(struct sim_client *c, uint64_t latency)
{
	struct sim_figures *g = &c->got;

	if (g->answers == g->room) {
		g->room = g->room ? 2 * g->room : 1024;
		g->answer = realloc(g->answer, g->room * sizeof(*g->answer));
		if (!g->answer)
			abort();
	}
	g->answer[g->answers++] = (struct sim_answer){c->sim->events.now, latency};
	g->bytes += c->kind.request;
}

void client_answer(struct sim_request *r)
{
	struct sim_client *c = r->client;
	uint64_t now = c->sim->events.now, work;

	note(c, now - r->issued);
	c->running--;
	work = c->kind.work == SIM_WRITE ? WRITE_NS * c->kind.outstanding : THINK_NS;
	if (has_more(c)) {
		send_next(r, work + c->kind.think);
		return;
	}
	if (c->running)
		return;
	c->got.acked = now;
	if (c->kind.work == SIM_WRITE)
		c->sim->ops->commit(c);
	else
		c->got.ended = now;
}

void client_stable(struct sim_client *c)
{
	if (c->kind.again) {
		c->sent = c->next = 0;
		client_start(c);
		return;
	}
	c->got.stable = c->got.ended = c->sim->events.now;
}
