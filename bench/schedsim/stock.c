/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The kernel alone, for comparison: read-ahead of 128 KiB for each file (what is longer it reads as it is
 * asked for), and a flusher whose writes are throttled by blk-wbt, which looks at the least latency of a
 * read in each 100 ms:
 *
 *   writes on the way, at most    16 >> scale    scale + 1: even the fastest read took over 75 ms
 *                                                scale - 1: it did not
 *
 * A loop device takes whatever mq-deadline has, so a read waits for all the writes before it.
 */

#include "sim.h"

#define WBT_LATENCY  (75 * MS)
#define WBT_COMMANDS 16
#define WBT_LEAST    -1
#define WBT_MOST     4
#define AHEAD	     (128 * KIB)
#define FLUSH	     (1280 * KIB)

static void read_done(struct sim_io *io)
{
	struct sim_request *r = io->arg;

	stock_read_took(r->client->sim, r->client->sim->events.now - io->begun);
	client_arrived(r->client, r->req.offset, r->req.len);
	client_answer(r);
}

struct ahead {
	struct sim_io io;
	struct sim_client *client;
};

/* Those that wait for what has come; they look again as the kernel wakes them. */
static void retry(void *arg)
{
	struct sim_request *r = arg;

	if (client_resident(r->client, r->req.offset, r->req.len))
		client_answer(r);
	else
		events_at(&r->client->sim->events, r->client->sim->events.now + MS / 5, retry, r);
}

static void ahead_done(struct sim_io *io)
{
	struct ahead *a = io->arg;

	stock_read_took(a->client->sim, a->client->sim->events.now - io->begun);
	client_arrived(a->client, io->offset - a->client->base, io->len);
	block_free(a);
}

/* The next window of a stream. */
static void read_ahead(struct sim_client *c)
{
	struct ahead *a = block_new(&c->sim->blocks, sizeof(*a));

	if (c->ahead >= c->kind.size)
		c->ahead = 0;
	a->client = c;
	a->io = (struct sim_io){.op = DISK_READ,
				.offset = c->base + c->ahead,
				.len = AHEAD,
				.client = c->n,
				.done = ahead_done,
				.arg = a};
	c->mark = c->ahead;
	c->ahead += AHEAD;
	sim_disk_submit(&c->sim->disk, &a->io);
}

void stock_read(struct sim *s, struct sim_request *r)
{
	struct sim_client *c = r->client;

	if (c->kind.work == SIM_STREAM && r->req.len <= AHEAD) {
		/* the first read of a window asks for the next one */
		if (r->req.offset + r->req.len > c->mark)
			read_ahead(c);
		retry(r);
		return;
	}
	r->io = (struct sim_io){.op = DISK_READ,
				.offset = r->req.block,
				.len = r->req.len,
				.client = c->n,
				.done = read_done,
				.arg = r};
	sim_disk_submit(&s->disk, &r->io);
}

void stock_read_took(struct sim *s, uint64_t ns)
{
	if (!s->memory.read_least || ns < s->memory.read_least)
		s->memory.read_least = ns;
}

/* ---- the flusher --------------------------------------------------------------------------- */

static uint32_t commands_max(const struct sim *s)
{
	int32_t scale = s->memory.scale;

	return scale < 0		 ? WBT_COMMANDS << -scale
	       : (WBT_COMMANDS >> scale) ? WBT_COMMANDS >> scale
					 : 1;
}

struct flush {
	struct sim_io io;
	struct sim_client *client;
};

static void flushed(struct sim_io *io)
{
	struct flush *f = io->arg;
	struct sim_client *c = f->client;
	struct sim *s = c->sim;

	memory_cleaned(s, io->len);
	s->memory.commands--;
	c->written--;
	block_free(f);
	stock_flush(s);
	if (c->committing && !c->dirty.n && !c->written)
		turn_settle(c);
}

/* One command of C's data; false: there is none. */
static bool flush_one(struct sim *s, struct sim_client *c)
{
	struct dirty_range range;
	struct flush *f;

	if (!dirty_take(&c->dirty, FLUSH, 1, &range))
		return false;
	f = block_new(&s->blocks, sizeof(*f));
	f->client = c;
	f->io = (struct sim_io){.op = DISK_WRITE,
				.offset = c->base + range.offset,
				.len = range.end - range.offset,
				.client = c->n,
				.done = flushed,
				.arg = f};
	s->memory.dirty -= f->io.len;
	s->memory.flying += f->io.len;
	s->memory.commands++;
	c->written++; /* on the way */
	sim_disk_submit(&s->disk, &f->io);
	return true;
}

void stock_flush(struct sim *s)
{
	bool some = true;

	while (some && s->memory.commands < commands_max(s)) {
		some = false;
		for (unsigned int i = 0; i < s->n; i++) {
			struct sim_client *c = &s->clients[i];

			if (c->kind.work != SIM_WRITE || s->memory.commands >= commands_max(s))
				continue;
			if (c->committing || s->memory.dirty > s->memory.background)
				some |= flush_one(s, c);
		}
	}
}

/* wbt's window, every other tick. */
void stock_tick(struct sim *s)
{
	struct sim_memory *m = &s->memory;
	static const uint64_t window = 2;

	if (s->events.now / (50 * MS) % window)
		return;
	if (m->read_least > WBT_LATENCY && m->scale < WBT_MOST)
		m->scale++;
	else if (m->read_least && m->read_least <= WBT_LATENCY && m->scale > WBT_LEAST)
		m->scale--;
	m->read_least = 0;
	stock_flush(s);
}
