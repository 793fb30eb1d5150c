/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The client's part in the market: asks for prices, knows its own, and judges.
 * (CA-NFS, sections 3.2 to 3.4; the arithmetic is pricing/auction.h.)
 */
#include <math.h>
#include <string.h>

#include "internal.h"

#define SECOND	    UINT64_C(1000000000)
#define NET_WINDOW  (SECOND / 2)  /* "a few hundreds of milliseconds" (3.3) */
#define READ_WINDOW (10 * SECOND) /* reads by which the cache's worth is known */
#define READS_MIN   256		  /* pages a second: below it the cache is worth less */
#define LATE	    (2 * SECOND)  /* an answer may be later than the interval by this */
#define FIND_OUT    (SECOND / 4)  /* between two questions until the server is believed */
#define GHOST_RING  4096
#define GHOST_SPAN  0.5 /* the ghost caches are 0.3 and 0.9 of the memory */
#define GHOST_SIZE  0.6
#define STAKE_FULL  0.25 /* so many hits of all reads are worth all memory */
#define SURE_PAGES  64	 /* read of a file before its confidence counts */
#define ROOM_SHARE  8	 /* read-ahead may take this part of what can be had */

/*
 * Of two ghost caches one is as large as the read cache where hardly anything is unsaved, the other
 * where as much as may be is. What hits in the larger one only is at stake: with much of that
 * "deferring writes is not of particular benefit" (3.3).
 */
static struct ghost_cache *ghosts(uint32_t pages)
{
	const struct ghost_limits limits = {
		.entries = pages < 1024 ? 1024 : pages, .ring = GHOST_RING, .nearby = GHOST_SPAN};
	struct ghost_cache *g = ghost_new(&limits);

	if (g)
		ghost_resize(g, (uint64_t)(GHOST_SIZE * pages));
	return g;
}

void market_init(struct client *c, uint64_t now)
{
	c->limit = c->set.dirty_limit * c->cache.limit;
	c->judged = c->asked = c->last_expiry = now;
	c->bid = c->set.terms.price_min;
	if (c->set.ca)
		c->ghost = ghosts(c->cache.limit);
}

static bool priced(const struct client *c, uint64_t now)
{
	return c->set.ca && c->detector.believed && now - c->heard <= c->set.fsstat_interval + LATE;
}

/* What may be unsaved: the read cache gives up what it is not worth. */
static double dirty_limit(const struct client *c)
{
	double spare = c->set.dirty_most - c->set.flush_point;

	return (c->set.flush_point + spare * (1 - c->worth)) * c->cache.limit;
}

static enum auction_way decide(struct client *c)
{
	enum auction_way way = auction_write(&c->set.terms, c->ask, c->bid, c->way);

	if (way == AUCTION_DEFER && !c->set.defer)
		return AUCTION_SEND;
	if (way == AUCTION_ACCELERATE && !c->set.accelerate)
		return AUCTION_SEND;
	return way;
}

void market_judge(struct client *c, uint64_t now)
{
	struct auction_state state = {.worth = c->worth};

	c->n.way_ns[c->way] += now - c->judged;
	c->judged = now;
	if (!priced(c, now)) {
		c->way = AUCTION_SEND;
		c->limit = c->set.dirty_limit * c->cache.limit;
		return;
	}
	c->limit = dirty_limit(c);
	state.dirty = unsaved(c) / c->limit;
	if (c->set.link > 0)
		state.network = rate_per_second(&c->net, NET_WINDOW) / c->set.link;
	c->bid = auction_bid(&c->set.terms, &state);
	c->ask = auction_ask(&c->set.terms, &state, c->price);
	c->way = decide(c);
}

static void fsstat_answered(struct rpc *rpc, const struct answer *a, uint64_t now)
{
	struct client *c = rpc->client;

	c->asking = false;
	if (a->status != ANSWER_OK)
		return;
	fsstat_detector_feed(&c->detector, a->total, a->avail);
	if (!c->detector.believed)
		return;
	c->heard = now;
	c->price = c->detector.prices.write;
	c->price_ahead = c->detector.prices.readahead;
}

static void ask(struct client *c, uint64_t now)
{
	if (c->asking)
		return;
	c->asking = true;
	c->asked = now;
	c->since_fsstat = 0;
	rpc_send(rpc_new(c, CALL_FSSTAT, fsstat_answered, NULL, 0, 0), CLASS_DEMAND, now);
}

void market_run(struct client *c, uint64_t now)
{
	if (c->set.ca && c->since_fsstat >= c->set.fsstat_every)
		ask(c, now);
}

static void look_at_reads(struct client *c, uint64_t now)
{
	struct ghost_counts counts;
	double stake;

	ghost_drain(c->ghost);
	ghost_counts(c->ghost, &counts);
	ghost_worth_sample(&c->reads, READ_WINDOW, READS_MIN, now, &counts);
	stake = c->reads.worth * log(counts.ratio); /* hits a read, less where reads are few */
	c->worth = stake < STAKE_FULL ? stake / STAKE_FULL : 1;
}

void market_tick(struct client *c, uint64_t now)
{
	uint64_t interval = c->detector.believed ? c->set.fsstat_interval : FIND_OUT;

	if (!c->set.ca)
		return;
	rate_add(&c->net, NET_WINDOW, now, (double)c->net_bytes);
	look_at_reads(c, now);
	if (now - c->asked >= interval)
		ask(c, now);
	market_judge(c, now);
}

/* Accesses to pages read ahead of all accesses to the file (3.3); 1 until enough is known. */
static double confidence(const struct file *f)
{
	return f->accessed < SURE_PAGES ? 1 : (double)f->accessed_ahead / (double)f->accessed;
}

uint32_t market_window(struct client *c, const struct file *f)
{
	double window = c->set.readahead, room = c->cache.limit - unsaved(c);

	if (!priced(c, c->judged) || !c->set.price_readahead)
		return c->set.readahead;
	if (c->price_ahead <= c->set.terms.price_min)
		window *= 2;
	else
		window *= effectiveness_share(c->price_ahead, confidence(f));
	if (window > room * PAGE_BYTES / ROOM_SHARE)
		window = room * PAGE_BYTES / ROOM_SHARE;
	return (uint32_t)window / PAGE_BYTES * PAGE_BYTES;
}
