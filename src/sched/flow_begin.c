/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Streams that begin among others: their first turns are short.
 *
 *   a, b, c, d begin   |#### a ####|#### b ####|#### c ####|#### d ####|     d waits for three whole turns
 *                      |a|b|c|d|#### a ####|#### b ####|#### c ####|...      ... for three short ones
 *
 * The first few reads with which a client begins a file go by themselves, within Demand_Wait or so (join.c); those behind
 * them are joined to its first chunk. Where those who begin would wait for longer than that, each has a part of a chunk
 * first, and the rest in its next turn: that is one seek more for a stream. So does who goes before his turn
 * (flow_joined.c). At a drive that serves several together the beginnings, of SHORT_CHUNK_MAX, go beside each other and beside
 * others' small reads (place.h), those of whole files too, where the rest takes longer than a seek; but not of who waits for
 * more already. A file that is one chunk does not begin, but for one in pieces (disk/prefetch.h): it goes in the order of
 * the disk.
 */
#include "common/container.h"
#include "sched/flow_limit.h"
#include "sched/parts.h"

/* A first turn is this part of one. */
#define BEGIN_SHARE 8
/* So many requests are looked at for others that begin. */
#define LOOKS_MAX 64

/* Others than R that begin, and that somebody waits for: they are among the joined ones. */
static uint32_t count_others(const struct sched_queue *q, const struct sched_req *r)
{
	struct order_node *at = order_first(&q->flows.joined);
	uint32_t n = 0;

	for (int looks = 0; at && looks < LOOKS_MAX; looks++, at = order_next(at)) {
		const struct sched_req *other = CONTAINER_OF(at, struct sched_req, place);

		n += other != r && other->begins && !flow_is_held(other->in);
	}
	return n;
}

bool flow_begins(const struct sched_queue *q, const struct sched_req *r)
{
	return r->begins && q->policy->gap;
}

/* Bytes of a short turn. */
static uint64_t begin_chunk(const struct sched_queue *q)
{
	const struct cost_limits *l = &q->limits.cost;
	uint64_t part = sched_chunk(q) / BEGIN_SHARE, least = cost_seek_bytes(&q->cost);
	double most = (double)cost_slice_bytes(&q->cost, l) * (double)flow_short_time(q) /
		      (double)cost_slice(&q->cost, l, 1);

	part = part > least ? part : least;
	return cost_chunk_within(l, (double)part < most ? (double)part : most);
}

bool flow_begins_among(const struct sched_queue *q, const struct sched_req *r)
{
	return flow_begins(q, r) && count_others(q, r);
}

/* Whether those who begin with R would wait for longer than a small read does, if each had a whole turn. */
static bool is_long_round(const struct sched_queue *q, const struct sched_req *r)
{
	uint64_t seek = cost_seek_bytes(&q->cost), turn = sched_chunk(q) + seek;

	return count_others(q, r) * turn > cost_slice_bytes(&q->cost, &q->limits.cost) + seek;
}

/* Whether R, which goes to the disk, has such a one: others that begin would wait for too long. */
static bool begins_briefly(const struct sched_queue *q, const struct sched_req *r)
{
	const struct flow_visit *v = &q->flows.visit;

	return flow_begins(q, r) && ((v->flow == r->in && v->joined) || is_long_round(q, r));
}

uint64_t flow_turn(const struct sched_queue *q, const struct sched_req *r)
{
	if (place_is_beginning(r))
		return SHORT_CHUNK_MAX;
	return begins_briefly(q, r) ? begin_chunk(q) : sched_chunk(q);
}
