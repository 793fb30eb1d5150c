/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What write-backs and the reads beside them had of the disk: what a turn cost, with what the drive still had to
 * write after it, and what reads have before the next one. When that goes: writeback_turn.c.
 */
#include <assert.h>

#include "sched/parts.h"

/* Of the time that R had the disk, NS were the last write-back's: its writer had them. */
static void charge_drain(struct sched_queue *q, struct sched_req *r, uint64_t ns)
{
	struct sched_flow *writer = flow_get(q, &q->writeback.by);

	ns = ns < r->disk_time ? ns : r->disk_time;
	r->disk_time -= ns;
	flow_charge(q, writer, ns);
	writer->stats.disk_time[SCHED_WRITEBACK] += ns;
}

/*
 * A read is over. The first one after a turn waited for what the drive still had to write, which the
 * turn cost as well.
 */
static void account_drain(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	double expected = writeback_seek(q) + (double)r->io_len * q->cost.ns_per_byte;
	bool alone = r->class == SCHED_DEMAND && !r->hung && !r->crowded && q->running == 1 &&
		     r->started >= q->writeback.ended;
	uint64_t drain = writeback_cost_read(&q->writeback.cost, now - r->started, expected, alone);

	q->writeback.ended += drain;
	q->writeback.lasted += drain;
	if (drain)
		charge_drain(q, r, drain);
}

static void account_read(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	struct sched_flow *f = r->in;

	if (r->dropped)
		return;
	if (q->writeback.cost.fresh)
		account_drain(q, r, now);
	f->owed -= f->owed < r->disk_time ? f->owed : r->disk_time;
	q->writeback.beside |= f->id.client != q->writeback.by.client ||
			       f->id.export_id != q->writeback.by.export_id;
	if (f != q->writeback.reader)
		q->writeback.others_ended = q->writeback.read_ended;
	q->writeback.read_ended = now;
	q->writeback.reader = f;
	if (!sched_reads(q) && q->running == q->writeback.running + 1) /* R, which goes */
		read_gap_begins(&q->writeback.gap, now);
	if (r->class == SCHED_DEMAND)
		q->writeback.demand_ended = now;
}

/* What reads of its own flow have after one of NS. */
static uint64_t owed_for(const struct sched_queue *q, uint64_t ns)
{
	double share = q->limits.writeback_share;

	if (share < q->writeback.share)
		share = q->writeback.share;
	return share > 0 ? (uint64_t)((double)ns * (1 - share) / share) : 0;
}

/*
 * R, a turn, took NS: what reads have after it, or after all of those that came together. What a drive's cache took
 * fast it writes before the next read: that is counted as the bytes cost otherwise.
 */
static void note_turn(struct sched_queue *q, struct sched_req *r, uint64_t ns)
{
	struct sched_writeback *w = &q->writeback;
	uint64_t owed = owed_for(q, ns), cost = writeback_cost_of(&w->cost, r->io_len);

	r->in->owed = w->sitting ? r->in->owed + owed : owed;
	w->lasted = w->sitting ? w->lasted + ns : ns;
	w->last = ns > cost ? ns : cost;
	w->sitting += w->last;
}

void writeback_account(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	if (r->class != SCHED_WRITEBACK) {
		account_read(q, r, now);
		return;
	}
	assert(q->writeback.running);
	q->writeback.running--;
	r->in->written = now;
	if (r->wanted) {
		r->in->committing--;
		r->in->committed = now;
	}
	q->stats.served[SCHED_WRITEBACK]++;
	q->observed = AFTER_WRITEBACK;
	if (r->hung) /* the disk was not its: others passed it */
		return;
	note_turn(q, r, now - r->started);
	q->writeback.ended = now;
	q->writeback.by = r->in->id;
	q->writeback.beside = false;
	if (r->crowded)
		writeback_cost_crowded(&q->writeback.cost, r->io_len, now - r->started);
	else
		writeback_cost_turn(&q->writeback.cost, r->io_len, now - r->started);
}
