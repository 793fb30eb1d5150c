/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Scattered reads at a drive. See drive_reads.h. */
#include "sched/drive_reads.h"

#include <assert.h>

#include "sched/parts.h"
#include "sched/place.h"

/* More reads than this, queued and at the drive, are enough to ask an unknown one for its order. */
#define ASKED_WITH 3
/* Reads that a flow has queued and running: a few. */
#define FEW 2
/* Reads of several clients, of one of them a few, so lately (ns) that there will be more. */
#define CROWD_RECENT UINT64_C(1000000000)
/* Of Demand_Wait, what a client's reads at the drive may take while others have some too. */
#define CROWD_PART 4

/* With so many bytes there no more go: of a disk they take about as long as 32 reads of 128 KiB. */
#define TOGETHER_BYTES (UINT64_C(8) << 20)

/* Chunks that lie in pieces: together they are what a drive has use for. */
#define PIECES_MAX 4

/* Reads that went there within so long (ns) may have come to it in another order. */
#define ORDER_SLACK UINT64_C(200000)
/* One that took no longer (ns) was not there at all. */
#define FROM_MEMORY UINT64_C(500000)

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
	uint32_t level =
		d->max > 1 && !d->evidence.probing ? depth_evidence_level(&d->evidence) : 1;

	return level < d->max ? level : d->max;
}

/*
 * Nothing is known of the drive: with more than a few reads several go, and their order tells; with fewer that of two
 * does, in time.
 */
static bool is_asked(const struct drive_reads *d, const struct sched_queue *q)
{
	return d->evidence.probing && q->observed != AFTER_WRITEBACK &&
	       d->there + d->chunks + q->by_class[SCHED_DEMAND] + q->short_chunks > ASKED_WITH;
}

bool drive_reads_one_at_hand(const struct drive_reads *d, const struct sched_queue *q)
{
	return drive_reads_level(d) == 1 && !is_asked(d, q);
}

bool drive_reads_takes_chunks(const struct drive_reads *d, const struct sched_queue *q)
{
	const struct depth_evidence *e = &d->evidence;

	return d->max > 1 &&
	       (e->probing ? is_asked(d, q) : e->together && !depth_evidence_waits(e));
}

bool drive_reads_takes_pieces(const struct drive_reads *d, const struct sched_queue *q)
{
	bool others = d->there || q->by_class[SCHED_DEMAND] || q->by_class[SCHED_WRITEBACK];

	return d->chunks < PIECES_MAX && !d->evidence.probing && !others && !demands_about(q) &&
	       drive_reads_takes_chunks(d, q);
}

bool drive_reads_takes_young(const struct drive_reads *d, const struct sched_queue *q)
{
	return !d->evidence.probing && drive_reads_takes_chunks(d, q);
}

uint32_t drive_reads_together(const struct drive_reads *d, const struct sched_queue *q)
{
	return d->max > 1 && is_asked(d, q) ? depth_evidence_level(&d->evidence)
					    : drive_reads_level(d);
}

static uint32_t most_there(const struct drive_reads *d, const struct sched_queue *q)
{
	uint32_t most = drive_reads_together(d, q);

	return most == 1 && d->max > 1 && sched_may_be_at_hand(q) ? 2 : most;
}

bool drive_reads_is_full(const struct drive_reads *d)
{
	return d->bytes >= TOGETHER_BYTES;
}

uint32_t drive_reads_there(const struct drive_reads *d, const struct sched_queue *q)
{
	uint32_t most = most_there(d, q);

	return drive_reads_is_full(d) && d->there < most ? d->there : most;
}

static bool has_few(const struct sched_flow *f)
{
	return f->stats.queued[SCHED_DEMAND] + f->stats.running <= FEW;
}

/* Whether R comes to the drive as it is handed out, by one request: then when it comes back tells of the drive. */
static bool tells(const struct sched_req *r)
{
	return r->scattered && !r->pieces && !r->young;
}

/* Whether the drive leaves one of a few for longer than WAIT (ns). A chunk in pieces, or a beginning, takes as long as it takes. */
static bool is_left(const struct sched_queue *q, uint64_t wait, uint64_t now)
{
	const struct sched_req *r;

	TAILQ_FOREACH(r, &q->active, age) {
		if (now - r->started < wait)
			break;
		if (tells(r) && has_few(r->in))
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
		if (r->scattered && !flow_has_reads(r->in))
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
	uint32_t level = drive_reads_together(d, q);
	double each = d->evidence.ns[1] > 0 ? d->evidence.ns[1] : d->evidence.ns[0];
	uint64_t wait;

	if (each == 0)
		each = q->cost.seek_ns;
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

/* What reads take beside a chunk says nothing of how many should go together. */
static void count_chunk(struct drive_reads *d, int n)
{
	d->chunks += n;
	depth_evidence_disturbed(&d->evidence);
}

void drive_reads_to(struct drive_reads *d, const struct sched_req *r, uint64_t now)
{
	if (!r->scattered)
		return;
	if (r->class == SCHED_PREFETCH) {
		count_chunk(d, 1);
		return;
	}
	depth_evidence_pass(&d->evidence, d->there, now);
	d->there++;
	d->bytes += r->io_len;
}

void drive_reads_from(struct drive_reads *d, const struct sched_req *r, uint64_t now)
{
	if (!r->scattered)
		return;
	if (r->class == SCHED_PREFETCH) {
		assert(d->chunks);
		count_chunk(d, -1);
		return;
	}
	assert(d->there && d->bytes >= r->io_len);
	depth_evidence_pass(&d->evidence, d->there, now);
	d->there--;
	d->bytes -= r->io_len;
	/* now: the first of many may have gone there before the others had come */
	if (d->last.client && !is_same(&d->last, &r->flow) && has_few(r->in))
		d->crowded_until = now + CROWD_RECENT;
	d->last = r->flow;
}

void drive_reads_order(struct drive_reads *d, const struct sched_queue *q,
		       const struct sched_req *r, uint64_t now)
{
	uint32_t there = 1, older = 0, younger = 0;
	const struct sched_req *other;

	if (!d->evidence.probing || !tells(r) || d->there + d->chunks < 2 ||
	    now - r->started < FROM_MEMORY)
		return;
	TAILQ_FOREACH(other, &q->active, age) {
		if (other == r || !tells(other))
			continue;
		there++;
		older += other->started + ORDER_SLACK < r->started;
		younger += other->started > r->started + ORDER_SLACK;
	}
	if (older || younger)
		depth_evidence_order(&d->evidence, there, older, younger);
}

uint64_t drive_reads_came(struct drive_reads *d, uint32_t queued, uint64_t len, uint64_t service,
			  uint64_t now)
{
	uint64_t since = now - d->came;
	uint32_t among = d->there + d->chunks;

	if (d->max <= 1 || !among)
		return service;
	d->came = now;
	if (d->there && len <= SCATTERED_MAX)
		depth_evidence_read(&d->evidence, d->there, d->there + queued, len, now);
	return among > 1 && since < service ? since : service;
}
