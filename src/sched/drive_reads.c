/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Scattered reads at a drive. See drive_reads.h. */
#include "sched/drive_reads.h"

#include <assert.h>

#include "sched/parts.h"
#include "sched/place.h"

/* Reads that a flow has queued and running: a few. */
#define FEW 2
/* Reads of several clients, of one of them a few, so lately (ns) that there will be more. */
#define CROWD_RECENT UINT64_C(1000000000)
/* Of Demand_Wait, what a client's reads at the drive may take while others have some too. */
#define CROWD_PART 4

void drive_reads_init(struct drive_reads *d)
{
	*d = (struct drive_reads){.max = 1};
	depth_evidence_init(&d->evidence, 1);
}

void drive_reads_set_max(struct drive_reads *d, uint32_t max)
{
	if (!max)
		max = 1;
	if (max > 1 && max != d->evidence.bound)
		depth_evidence_init(&d->evidence, max);
	d->max = max;
}

void drive_reads_forget(struct drive_reads *d)
{
	depth_evidence_init(&d->evidence, d->max);
}

uint32_t drive_reads_level(const struct drive_reads *d)
{
	uint32_t level = d->max > 1 ? depth_evidence_level(&d->evidence) : 1;

	return level < d->max ? level : d->max;
}

uint32_t drive_reads_there(const struct drive_reads *d, const struct sched_queue *q)
{
	uint32_t level = drive_reads_level(d);

	return level == 1 && d->max > 1 && sched_may_be_at_hand(q) ? 2 : level;
}

static bool has_few(const struct sched_flow *f)
{
	return f->stats.queued[SCHED_DEMAND] + f->stats.running <= FEW;
}

/* Whether the drive leaves one of a few for longer than WAIT (ns). */
static bool is_left(const struct sched_queue *q, uint64_t wait, uint64_t now)
{
	const struct sched_req *r;

	TAILQ_FOREACH(r, &q->active, age) {
		if (now - r->started < wait)
			break;
		if (is_scattered(r) && has_few(r->in))
			return true;
	}
	return false;
}

/* Flows that have reads queued or running: those that have none queued once for all that run. */
static double flows_about(const struct sched_queue *q)
{
	const struct sched_req *r;
	double n = q->flows.reading;

	TAILQ_FOREACH(r, &q->active, age)
		if (is_scattered(r) && !flow_has_reads(r->in))
			n += 1.0 / r->in->stats.running;
	return n;
}

/* How long one of a few may wait at the drive (ns). */
static uint64_t few_wait(const struct sched_queue *q)
{
	uint64_t most = q->limits.cost.demand_wait / CROWD_PART;
	double share = flows_about(q) * q->cost.seek_ns / 2;

	return q->cost.seek_ns > 0 && share < (double)most ? (uint64_t)share : most;
}

uint32_t drive_reads_of_one(const struct drive_reads *d, const struct sched_queue *q, uint64_t now)
{
	uint32_t level = drive_reads_level(d);
	double each = d->evidence.ns[1] > 0 ? d->evidence.ns[1] : d->evidence.ns[0];
	uint64_t wait;

	if (level == 1 || now >= d->crowded_until)
		return drive_reads_there(d, q);
	wait = few_wait(q);
	if (is_left(q, wait, now))
		return 1;
	if (each > 0 && level * each > (double)wait)
		level = (uint32_t)((double)wait / each);
	return level ? level : 1;
}

static bool is_same(const struct flow_id *a, const struct flow_id *b)
{
	return a->client == b->client && a->export_id == b->export_id;
}

void drive_reads_to(struct drive_reads *d, const struct sched_req *r, uint64_t now)
{
	if (!is_scattered(r))
		return;
	depth_evidence_pass(&d->evidence, d->there, now);
	d->there++;
}

void drive_reads_from(struct drive_reads *d, const struct sched_req *r, uint64_t now)
{
	if (!is_scattered(r))
		return;
	assert(d->there);
	depth_evidence_pass(&d->evidence, d->there, now);
	d->there--;
	/* now: the first of many may have gone there before the others had come */
	if (d->last.client && !is_same(&d->last, &r->flow) && has_few(r->in))
		d->crowded_until = now + CROWD_RECENT;
	d->last = r->flow;
}

uint64_t drive_reads_came(struct drive_reads *d, uint32_t queued, uint64_t len, uint64_t service,
			  uint64_t now)
{
	uint64_t since = now - d->came;

	if (d->max <= 1 || !d->there || len > SCATTERED_MAX)
		return service;
	d->came = now;
	depth_evidence_read(&d->evidence, d->there, d->there + queued, now);
	return d->there > 1 && since < service ? since : service;
}
