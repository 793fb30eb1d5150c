/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * When a write-back gets the disk.
 *
 *   reads about:  r r r r [ write-back ] r r r r r [ write-back ] r r r ...
 *                         |<- lasted ->|<- lasted (1 - share) / share ->|
 *   disk idle:    [ write-back ][ write-back ][ write-back ] ...              (accelerate)
 *   share is 0:   r r r r r r r r r r r r r r r r r r r r r r ...             (defer)
 *
 * Disk time is conserved: a policy only chooses who waits, and how much of it goes into seeking. So
 * a write-back is long and contiguous, and what it takes is a share of the disk's time: after one
 * of length t the next waits t (1 - share) / share, while reads use the disk. Reads use it as long
 * as one is queued or running, or one has ended less than writeback_idle ago: the reader that was
 * just answered will be back with its next request before the heads have gone anywhere
 * (anticipation; Iyer & Druschel, SOSP 2001).
 *
 * Readers that think between reads leave the disk without any for about as long each time (read_gap.h). Then
 * a write-back goes at once, and is no longer than that, and a little: a long one would keep the next read
 * waiting, and waiting for Writeback_Idle first would be sure to.
 *
 *   they think:   r [ write-back ] r [ write-back ] r [ write-back ] r ...
 *
 * Who waits for his COMMIT, as one that copies files does at each one's end, does not think: no read of his comes
 * until that is over, and the disk waits for none. Only reads that do come meanwhile show that he has other work.
 * Where others have read lately they may think, and it is as ever: else a read before each COMMIT would be a way round
 * the time in which they do.
 *
 *   a copy:       r r r r [ COMMIT's ][ and more ] r r r [ COMMIT's ] r r r r ...
 *
 * COMMITs that wait together go one after the other, until they have had the disk for half as long as the reads
 * before them, or for one turn. One by one each would be followed by a chunk of a stream, however short it was: who
 * COMMITs a little at a time has a fraction of the share then.
 *
 *   COMMITs a to d:  r r r r r r r r r r r r [ a ][ b ][ c ] r r r r r r r r r r r r [ d ] ...
 *
 * The share is the submitter's business: dirty memory has a price, and so has the disk (CA-NFS,
 * FAST 2009, 2.1). A COMMIT that waits is a client that waits: then at least writeback_share. So is one
 * whose data has nearly filled memory, for its WRITEs are held back then: beside other clients' reads it
 * has as much as a COMMIT, while it has had less than each of these.
 */
#include <assert.h>
#include <math.h>

#include "common/clock.h"
#include "sched/flow_limit.h"
#include "sched/parts.h"

/* Demand reads were here so lately that write-backs keep short for them (ns). */
#define DEMANDS_RECENT UINT64_C(1000000000)
/* ... and this long without them (ns): a stream's turn is alike. */
#define TURN_ALONE UINT64_C(150000000)
/* Others read so lately that they are waited for, whoever COMMITs (ns). */
#define OTHERS_RECENT UINT64_C(1000000000)
/* What a seek costs until that is known (ns): a read may come after each turn, and only then. */
#define SEEK_PRIOR 9e6
/*
 * In the time in which readers think a turn is worth its way there and back if it has so many seeks; and the
 * next read may have to wait for it for so large a part of the time from one read to the next.
 */
#define GAP_SEEKS 2
#define GAP_WAIT  0.15
/* So large a part of writeback_share is bought only where memory is nearly full, or reads are few. */
#define SHARE_PRESSED 0.25
/* Turns that come together have this part of what reads had before: with all of it streams are halved. */
#define ROOM 2
/* A longer share would be no share. */
#define SHARE_MAX 0.95

/* So many groups are looked at for one whose write-back may go. */
#define WRITERS_LOOKED 16

static bool sits_on(const struct sched_queue *q);

/* A COMMIT waits, and none of F's turns has ended for Max_Wait. */
static bool is_late(const struct sched_queue *q, const struct sched_flow *f)
{
	uint64_t since = TAILQ_FIRST(&f->wanted)->arrival;

	since = since > f->written ? since : f->written;
	return q->flows.now > since + q->limits.cost.max_wait;
}

/*
 * What F reads goes before its next write-back, and what other flows of its group do that have had less:
 * what write-backs may have beside others is a part of their group's.
 */
static bool owes_reads(const struct sched_queue *q, const struct sched_flow *f)
{
	if (!q->writeback.beside && q->flows.reading == flow_has_reads(f))
		return false;
	return (f->owed && flow_has_reads(f) && !sits_on(q)) || flow_reads_behind_within(q, f);
}

/* The flow of G whose write-back of KIND may go; NULL: none, reads come first. */
static struct sched_flow *writer_in(const struct sched_queue *q, const struct sched_group *g,
				    enum flow_kind kind)
{
	struct sched_flow *f = flow_first(g, kind), *may = NULL;

	for (int n = 0; f && n < WRITERS_LOOKED; n++, f = flow_next(f, kind)) {
		if (kind == FLOW_COMMIT && is_late(q, f))
			return f;
		if (!may && !owes_reads(q, f))
			may = f;
	}
	return may;
}

/* The flow whose write-back of KIND is next: of the group that has had least. */
static struct sched_flow *writer_of(const struct sched_queue *q, enum flow_kind kind)
{
	struct sched_group *g = group_first(q, kind);
	struct sched_flow *f = NULL;

	for (int n = 0; g && !f && n < WRITERS_LOOKED; n++, g = group_next(g, kind))
		f = writer_in(q, g, kind);
	return f;
}

/* The flow whose write-back is next; those a COMMIT waits for first. */
static struct sched_flow *writer(const struct sched_queue *q)
{
	struct sched_flow *f = writer_of(q, FLOW_COMMIT);

	return f ? f : writer_of(q, FLOW_WRITE);
}

/* Others have reads queued, and each of them has had more than G. */
static bool has_had_least(const struct sched_queue *q, const struct sched_group *g)
{
	bool others = false;

	for (int kind = 0; kind < FLOW_READ_KINDS; kind++) {
		const struct sched_group *other = group_first(q, kind);

		if (other && other == g)
			other = group_next(other, kind);
		if (other && other->node.vtime <= g->node.vtime)
			return false;
		others |= other != NULL;
	}
	return others;
}

static double share_of(const struct sched_queue *q)
{
	double share = q->writeback.share, most = q->limits.writeback_share;
	const struct sched_flow *f;

	if (share >= most)
		return share;
	if (q->flows.groups.backlogged[FLOW_COMMIT].n)
		return most;
	/* the claim of many reads is theirs against their own client's data, not against another's */
	f = share >= most * SHARE_PRESSED ? writer(q) : NULL;
	return f && has_had_least(q, f->group) ? most : share;
}

/* A seek (ns), as far as that is known. */
double writeback_seek(const struct sched_queue *q)
{
	return cost_seek_known(&q->cost) ? q->cost.seek_ns : SEEK_PRIOR;
}

/*
 * The same of the drive alone. Reads that came between those of an fsync, or behind what a drive's cache had
 * left, took longer, and pass for dear seeks.
 */
static double plain_seek(const struct sched_queue *q)
{
	return fmin(writeback_seek(q), SEEK_PRIOR);
}

/* The shortest turn that is worth going there and back for (ns). */
static uint64_t least_turn(const struct sched_queue *q)
{
	return (uint64_t)(GAP_SEEKS * plain_seek(q));
}

/*
 * So long a turn writes at least as much as is read in the time of a seek; and the drive has not as much more
 * to do after one, that the next read waits for.
 */
static bool is_worth(const struct sched_queue *q, uint64_t turn)
{
	return turn >= least_turn(q) && q->writeback.cost.drain <= (double)turn &&
	       writeback_cost_bytes(&q->writeback.cost, turn) >= cost_seek_bytes(&q->cost);
}

/* Whether anybody but F has read lately. */
static bool others_read(const struct sched_queue *q, const struct sched_flow *f)
{
	const struct sched_writeback *w = &q->writeback;
	uint64_t ended = f == w->reader ? w->others_ended : w->read_ended;

	return ended && q->flows.now < ended + OTHERS_RECENT;
}

/* Whether who read last waits for a COMMIT now, and neither he is known to read meanwhile nor others are. */
static bool reader_waits(const struct sched_queue *q)
{
	const struct sched_flow *f = q->writeback.reader;

	return f && f->node.n[FLOW_COMMIT] && !f->beside && !others_read(q, f);
}

/* How long a turn may be that begins when readers begin to think (ns); 0: they do not, or too briefly. */
static uint64_t gap_turn(const struct sched_queue *q)
{
	uint64_t usual = read_gap_usual(&q->writeback.gap);
	uint64_t turn = usual + (uint64_t)(GAP_WAIT * ((double)usual + plain_seek(q)));

	return usual && !reader_waits(q) && is_worth(q, turn) ? turn : 0;
}

/*
 * Whether the disk stays with write-backs: a COMMIT waits, no read has come between, and a turn as long as the
 * last still fits.
 */
static bool sits_on(const struct sched_queue *q)
{
	const struct sched_writeback *w = &q->writeback;

	return w->sitting && q->flows.groups.backlogged[FLOW_COMMIT].n && !gap_turn(q) &&
	       w->sitting + w->last <= w->room;
}

static bool has_reads(const struct sched_queue *q)
{
	return q->flows.reading || q->parked.n || q->running > q->writeback.running;
}

/* When one that begins NOW, while they think, should have ended (ns); 0: it would not be worth it, or they do not. */
static uint64_t gap_until(const struct sched_queue *q, uint64_t now)
{
	uint64_t turn = gap_turn(q), until = q->writeback.gap.since + turn;

	return turn && q->writeback.gap.since && !has_reads(q) && now + least_turn(q) <= until
		       ? until
		       : 0;
}

/* When the disk counts as idle if no read comes (ns); UINT64_MAX: a read is there. */
static uint64_t idle_from(const struct sched_queue *q, uint64_t now)
{
	uint64_t idle = q->writeback.read_ended + q->limits.writeback_idle, late;

	if (has_reads(q))
		return UINT64_MAX;
	if (!q->writeback.read_ended || reader_waits(q) || gap_until(q, now))
		return 0;
	late = gap_turn(q) ? read_gap_late(&q->writeback.gap) : 0; /* any moment now */
	return idle > late ? idle : late;
}

/* When the next write-back has earned its turn though reads use the disk. */
static uint64_t earned_at(const struct sched_queue *q)
{
	double share = share_of(q), lasted = (double)q->writeback.lasted, pause;

	if (share <= 0 || q->writeback.running)
		return UINT64_MAX;
	if (sits_on(q))
		return q->writeback.ended;
	pause = lasted * (1 - share) / share;
	/* short ones go while readers think: from one's begin to the next's no longer than with long ones */
	if (gap_turn(q))
		pause = fmax(pause, (double)q->limits.writeback_turn / share - lasted);
	return q->writeback.ended + (uint64_t)pause;
}

static uint64_t due_at(const struct sched_queue *q, uint64_t now)
{
	uint64_t idle = idle_from(q, now), earned = earned_at(q);

	if (q->writeback.hurry)
		return 0;
	return idle < earned ? idle : earned;
}

/*
 * The next one of F in the disk's order, of those that were there when the last batch had gone: a file that is
 * written on and on, always ahead of the heads, would keep those behind it from ever having a turn.
 */
static struct sched_req *next_of_batch(const struct sched_queue *q, struct sched_flow *f)
{
	order_batch_freeze(&f->writebacks);
	return ordered_req(order_scan(order_batch(&f->writebacks), q->head));
}

struct sched_req *writeback_pick(struct sched_queue *q, uint64_t now)
{
	struct sched_flow *f;

	if (!q->by_class[SCHED_WRITEBACK] || now < due_at(q, now))
		return NULL;
	f = writer(q);
	if (!f) /* all over their ceilings */
		return NULL;
	/* its share of the disk is its group's, too: others who wait come first while they are behind, as
	 * does the one that the disk waits for */
	if (!q->writeback.hurry && (flow_reads_behind(q, f->group) || flow_waits(q, now)))
		return NULL;
	if (f->node.n[FLOW_COMMIT])
		return TAILQ_FIRST(&f->wanted);
	return next_of_batch(q, f);
}

/* The first of those that come together: all of them have half of what reads had before, and one turn at most. */
static void sit_down(struct sched_queue *q, uint64_t now)
{
	struct sched_writeback *w = &q->writeback;
	uint64_t reads = elapsed(w->ended, now);

	w->sitting = 0;
	w->room = reads / ROOM < q->limits.writeback_turn ? reads / ROOM : q->limits.writeback_turn;
}

void writeback_read_comes(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	struct read_gap *g = &q->writeback.gap;
	struct sched_flow *f = r->in;

	if (r->class == SCHED_DEMAND && (f->node.n[FLOW_COMMIT] || f->committing))
		f->beside = true;
	if (!f->beside && f->committed > g->since && !others_read(q, f))
		g->since = 0; /* it waited for that, and did not think */
	read_gap_ends(g, now);
}

/* R, which a COMMIT waits for, goes: has it waited for longer than who read last thinks, and no read of his came? */
static void note_silence(struct sched_queue *q, const struct sched_req *r, uint64_t now)
{
	const struct read_gap *g = &q->writeback.gap;
	uint64_t silent = r->arrival > g->since ? r->arrival : g->since;

	if (r->in == q->writeback.reader && g->since && now - silent > read_gap_late(g) - g->since)
		r->in->beside = false;
}

void writeback_begins(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	if (r->wanted) {
		note_silence(q, r, now);
		r->in->committing++;
	}
	q->writeback.until = gap_until(q, now);
	if (!sits_on(q) || now > q->writeback.ended + q->limits.writeback_idle)
		sit_down(q, now);
	flow_serve(q, r->in);
}

void sched_set_writeback_share(struct sched_queue *q, double share)
{
	q->writeback.share = share < 0 ? 0 : share > SHARE_MAX ? SHARE_MAX : share;
}

/* Since when R is waited for in its flow: it goes behind others there, and is no younger by that than it must. */
static uint64_t wanted_since(const struct sched_req *r, uint64_t now)
{
	const struct sched_req *last;

	if (!r->wanted) /* nor was it perhaps ever queued */
		return now;
	last = TAILQ_LAST(&r->in->wanted, sched_list);
	return last && last->arrival > r->arrival ? last->arrival : r->arrival;
}

void sched_want(struct sched_queue *q, struct sched_req *r, const struct flow_id *by, uint64_t now)
{
	bool queued = r->state == REQ_QUEUED;
	struct sched_flow *f = queued && by ? flow_get(q, by) : r->in;

	/* for another one who waits for it too it may go sooner */
	if (r->wanted && !(queued && flow_is_behind(f, r->in)))
		return;
	if (queued) {
		queue_delist(q, r);
		flow_rehome(r, f);
	}
	r->arrival = wanted_since(r, now);
	r->wanted = true;
	if (r->state == REQ_RUNNING)
		r->in->committing++;
	if (queued)
		queue_enlist(q, r);
}

uint64_t sched_hold_until(const struct sched_queue *q, uint64_t now)
{
	uint64_t due = UINT64_MAX, again = q->flows.reading ? q->flows.visit.wait_until : 0;
	uint64_t release = q->queued ? flow_release_at(q) : UINT64_MAX;
	const struct sched_flow *f = writer(q);

	/* while others are before it nothing is due: they go first, or the disk waits for one of them */
	if (again > now && !q->writeback.hurry)
		due = again;
	else if (f && (q->writeback.hurry || !flow_reads_behind(q, f->group)))
		due = due_at(q, now);
	if (release < due)
		due = release;
	return due > now ? due : now;
}

struct sched_turn sched_writeback_turn(const struct sched_queue *q, uint64_t now)
{
	uint64_t last = q->writeback.demand_ended, slice = TURN_ALONE;

	if (flows_demands(q) || (last && now - last < DEMANDS_RECENT))
		slice = q->limits.writeback_turn;
	if (q->writeback.running)
		slice -= q->writeback.sitting < slice ? q->writeback.sitting : slice;
	if (q->writeback.until && q->writeback.until < now + slice)
		slice = q->writeback.until > now ? q->writeback.until - now : 0;
	return (struct sched_turn){
		.slice = slice,
		.bytes = writeback_cost_turn_bytes(&q->writeback.cost, slice),
		.step = writeback_cost_step(&q->writeback.cost, slice),
	};
}
