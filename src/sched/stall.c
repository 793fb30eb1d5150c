/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Requests that hang in the kernel: an inode's lock, a journal, a device that stopped.
 *
 *   active   [ r1 r2 r3 ... ]  by the last sign of life: handed out, a step done, a gap over
 *              | none for Stall_Time                       ^
 *              v                                           |
 *   stuck    [ r1 ]  counts neither as running nor         | a sign of life
 *                    as a write-back that has its turn ----'
 *
 *   parked   [ the reads queued of where r1 hangs, or of r1's file while more than that hangs: the others
 *              would hang too, and each cost Stall_Time and a place ]
 *
 * One that is stuck may be a bad block, and says nothing of the rest of the file; two in different places are likely a
 * lock. But not a chunk and the read that it has let go, for that is stuck where the chunk is. Chunks do not wait for a
 * bad block, for who has joined one may want another part of it; so it is the file, too, when many reads are stuck.
 *
 * Who has joined a chunk that is stuck need not want what hangs, of a walk's files, of its bytes, or of the reads in its
 * gaps: he is let go, and asks for his own. When the chunk goes on before he has had that, he waits for it again. Nobody
 * does for a read that goes on: it is over, and may have failed.
 *
 * Whoever runs the queue gives the disk to another one instead: at most SCHED_STALLED_MAX times.
 */
#include <assert.h>

#include "common/container.h"
#include "sched/parts.h"

/* A file hangs of which reads are stuck at so many spots, or so many at all. */
#define STUCK_SPOTS 2
#define STUCK_READS 4

/* ---- reads of a file that hangs ---------------------------------------------------------- */

/* Whether AT, which is stuck, is a demand read of a part of what R is of. */
static bool is_stuck_within(const struct sched_req *at, const struct sched_req *r)
{
	return at->file == r->file && at->class == SCHED_DEMAND && at->offset < covered_end(r) &&
	       r->offset < at->offset + at->io_len;
}

/* Whether a demand read is stuck at what R is of, that was so before BEFORE; NULL: at any time. */
static bool is_stuck_at(const struct sched_queue *q, const struct sched_req *r,
			const struct sched_req *before)
{
	const struct sched_req *at;

	TAILQ_FOREACH(at, &q->stuck, age) {
		if (at == before)
			return false;
		if (is_stuck_within(at, r))
			return true;
	}
	return false;
}

/* Whether such a one counts in R's stead, which is stuck too: where R is a chunk any, else one before it. */
static bool is_counted_by_another(const struct sched_queue *q, const struct sched_req *r)
{
	return is_stuck_at(q, r, r->class == SCHED_DEMAND ? r : NULL);
}

static bool file_hangs(const struct sched_queue *q, uint64_t file)
{
	const struct sched_req *r;
	unsigned int reads = 0, spots = 0;

	TAILQ_FOREACH(r, &q->stuck, age)
		if (is_read_of(r, file)) {
			spots += !is_counted_by_another(q, r);
			if (++reads == STUCK_READS || spots == STUCK_SPOTS)
				return true;
		}
	return false;
}

/* Whether a demand read is stuck where R, one too, would be. */
static bool place_hangs(const struct sched_queue *q, const struct sched_req *r)
{
	return r->class == SCHED_DEMAND && is_stuck_at(q, r, NULL);
}

bool would_hang(const struct sched_queue *q, const struct sched_req *r)
{
	return place_hangs(q, r) || file_hangs(q, r->file);
}

void park(struct sched_queue *q, struct sched_req *r)
{
	order_insert(&q->parked, &r->order, r->file, r->sequence);
}

static void park_one(struct sched_queue *q, struct sched_req *r, bool all)
{
	if (r->state != REQ_QUEUED || is_parked(q, r) || !(all || place_hangs(q, r)))
		return;
	queue_delist(q, r);
	park(q, r);
}

/* Those that would hang, or all. */
static void park_those(struct sched_queue *q, uint64_t file, bool all)
{
	struct order_node *at = order_from(&q->places, file, 0);
	struct sched_req *r;

	for (; at && at->high == file; at = order_next(at))
		park_one(q, CONTAINER_OF(at, struct sched_req, place), all);
	TAILQ_FOREACH(r, chunk_list(q, file), hash)
		if (r->file == file)
			park_one(q, r, all);
}

/* Those that would hang no more. Their wait for others begins anew: it was not the queue's order that kept them. */
static void unpark_those(struct sched_queue *q, uint64_t file, uint64_t now)
{
	struct order_node *at = order_from(&q->parked, file, 0), *next;
	struct sched_req *r;

	for (; (r = ordered_req(at)) && r->file == file; at = next) {
		next = order_next(at);
		if (place_hangs(q, r))
			continue;
		order_remove(&r->order);
		if (r->wanted)
			r->arrival = now;
		queue_enlist(q, r);
	}
}

/* What is stuck of FILE is so no more, or just now. Asked once: there may be thousands of reads. */
static void settle(struct sched_queue *q, uint64_t file, uint64_t now)
{
	bool all = file_hangs(q, file);

	park_those(q, file, all);
	if (!all)
		unpark_those(q, file, now);
}

/* ---- those that hang --------------------------------------------------------------------- */

uint64_t sched_stall_at(const struct sched_queue *q)
{
	const struct sched_req *r = TAILQ_FIRST(&q->active);

	if (!r || !q->limits.stall_time || q->stalled >= SCHED_STALLED_MAX)
		return UINT64_MAX;
	return r->sign + q->limits.stall_time;
}

struct sched_req *sched_stall(struct sched_queue *q, uint64_t now)
{
	struct sched_req *r = TAILQ_FIRST(&q->active);

	if (now < sched_stall_at(q))
		return NULL;
	assert(r && r->state == REQ_RUNNING && !r->stalled);
	r->stalled = r->hung = true;
	clock_stop(q, r, now); /* the disk is others' */
	TAILQ_REMOVE(&q->active, r, age);
	TAILQ_INSERT_TAIL(&q->stuck, r, age);
	q->running--;
	q->writeback.running -= r->class == SCHED_WRITEBACK;
	q->stalled++;
	q->stats.stalls++;
	settle(q, r->file, now);
	return r;
}

void sched_let_go(struct sched_queue *q, struct sched_req *r, uint64_t now,
		  struct sched_list *woken)
{
	struct sched_req *w;

	if (!lets_go(r))
		return;
	wake(q, r, UINT64_MAX, now, woken);
	TAILQ_FOREACH(w, woken, link)
		w->let_go = true;
}

bool sched_sign(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	bool stalled = r->stalled;

	assert(r->state == REQ_RUNNING);
	r->sign = now;
	TAILQ_REMOVE(stalled ? &q->stuck : &q->active, r, age);
	TAILQ_INSERT_TAIL(&q->active, r, age);
	if (!stalled)
		return false;
	r->stalled = false;
	clock_start(q, r, now);
	q->stalled--;
	q->running++;
	q->writeback.running += r->class == SCHED_WRITEBACK;
	settle(q, r->file, now);
	if (lets_go(r) && !r->dropped)
		absorb(q, r); /* who was let go, and is queued */
	return true;
}
