/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The dispatch queue of one device: what waits for the disk, and in which order it gets it.
 *
 *            submit                     next                        progress / done
 *   request ---------> [ policy's order, ] --------> running on disk ---------> waiters woken
 *              |         |  a flow's own                  |
 *              |         |     ^       ^                  |
 *              |         |     |       |                  '--> stalled: no sign of life for Stall_Time,
 *              |         |     |       |                       others pass it (stall.c)
 *              |         |     |       '-- write-backs keep apart (writeback_turn.c)
 *              |         '-----'--- overdue: beyond Max_Wait, a batch before the policy's (overdue.c)
 *              '-> joins a chunk that covers it (queued: promotes it; running: waits for it), and
 *                  becomes one of its waiters (join.c)
 *
 * The words for disk time. A chunk is what one prefetch reads, a step what one system call of it
 * reads. A turn is the time for which one chunk or write-back has the disk, with its seek; a slice
 * is as much of a turn as goes on without a break. A gap is that break, in which small demand reads
 * are served; a batch is what was frozen together, to be served before what came later.
 *
 * Requests have a class. A demand read is one a client waits for; a prefetch is a chunk nobody
 * waits for yet; a write-back pushes dirty data out. A demand inside a chunk queued or running joins
 * it; a chunk submitted over demands still queued absorbs them; demands that are neighbours on the
 * device are merged up to Max_Io when picked. So nothing is read twice. A prefetch nobody waits for
 * that has grown older than Prefetch_Max_Age is dropped.
 *
 * What next() chooses from, in this order: prefetches to be dropped; a write-back that is due, with
 * its share of the disk's time; of the flow whose visit it is (flow_visit.c) overdue reads, at most
 * half of its time, else what the policy picks.
 *
 * Bounded: reads queued, joined and being answered by queue_max, and by queue_bytes of replies, for
 * each READ owns its reply buffer (and one client may hold as much as is free: one alone half, two a
 * third each; what it has of an export that is a group counts by itself; Choudhury & Hahne's dynamic threshold, 1998); write-backs queued by queue_max; stalled by
 * SCHED_STALLED_MAX. Beyond a bound the verdict is SCHED_FULL: a read waits for room on its caller's
 * thread, or its client is told to come again (dispatcher_wait_room()); a prefetch is dropped.
 *
 * Pure: the clock is handed in, there is no lock (dispatcher.h has it) and no I/O. n requests
 * queued, no operation takes more than O(log n), but for those of a chunk, which look at the other
 * chunks of its file, and the freezing of a batch, O(log n) for each request in it.
 */
#ifndef SCHED_QUEUE_H
#define SCHED_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "sched/cost.h"
#include "sched/depth_search.h"
#include "sched/flows.h"
#include "sched/gap_credit.h"
#include "sched/order.h"
#include "sched/read_gap.h"
#include "sched/writeback_cost.h"

enum sched_class { SCHED_DEMAND, SCHED_PREFETCH, SCHED_WRITEBACK, SCHED_CLASSES };

struct dispatcher;

/* What "doing" a request means, by its class: the submitter's. Called without any lock. */
struct sched_req_ops {
	/* Carries out R on a dispatcher's thread (dropped: only tidies up). Does not free it. */
	void (*execute)(struct dispatcher *d, struct sched_req *r);
	/*
	 * R had joined another, whose data is there (or whose I/O failed: R must find out): answers
	 * the client, ends R. NULL where a class joins nothing.
	 */
	void (*complete)(struct sched_req *r);
	/* R was executed, and its waiters completed: ends R. */
	void (*finish)(struct dispatcher *d, struct sched_req *r);
};

enum sched_state { REQ_IDLE, REQ_QUEUED, REQ_JOINED, REQ_RUNNING };

struct sched_req {
	/* The submitter's. */
	const struct sched_req_ops *ops;
	enum sched_class class;
	uint64_t file;	 /* identity of the file on this device */
	uint64_t offset; /* in the file, bytes */
	uint64_t len;	 /* bytes */
	uint64_t
		span; /* of a chunk: bytes of the file that it covers, where these are more than LEN */
	uint64_t record, step; /* of a chunk: only so many bytes of every STEP; 0: all */
	uint64_t by_reads;     /* a chunk: reads of its first so many bytes go before it */
	bool counts;	       /* a chunk: who executes it says in io_len how many bytes it had */
	bool several;	       /* a chunk: of several files */
	bool begins;	       /* a chunk: the first of its stream that goes on behind it */
	bool young;	       /* a chunk: its reader may want no more than the beginning */
	bool one_step;	       /* a chunk: it is brought by one request to the device */
	bool pieces; /* a chunk: it lies in pieces, a seek each, for which the device is asked at once */
	bool brings_more; /* a demand read: its client wants less, and may soon want the rest: who does joins it */
	uint64_t block; /* on the device, bytes; file order where unmapped */
	uint64_t owner; /* the stream it belongs to; 0: none */
	bool crowded;	/* no chunk: who executed it says that others wrote to the device as well */
	struct flow_id
		flow; /* whom it is for: read for, fetched ahead for, written by, COMMITted by */
	/* The queue's. */
	enum sched_state state;
	bool wanted; /* a demand read waits: it is one, or it was joined by one; or a COMMIT does */
	bool dropped;	/* handed out to be finished without I/O: too old */
	bool in_gap;	/* handed out in a gap of another */
	bool stalled;	/* running, and no sign of life for Stall_Time */
	bool hung;	/* it has stalled, now or before */
	bool let_go;	/* woken by a chunk that hangs: what it waited for need not be there */
	bool on_clock;	/* running, and the disk is not elsewhere: in a gap of it, or past it */
	bool scattered; /* it may be at the drive together with others, or is (place.h) */
	bool goes_on;	/* it lies next to one that is (going_on.c) */
	bool offered;	/* others may wait for what it brings along */
	bool rare;	/* a small read that follows from none of its flow (flow_comes_rarely()) */
	bool has_floor; /* handed out for who has one in bytes: little of it at a time */
	bool reserved;	/* handed out while its flow was behind a floor */
	bool promised;	/* ... though it is ahead of the others: not held against it */
	bool late;	/* ... and it was kept waiting for too long */
	bool was_guest; /* a chunk: it went because another client's read had joined it */
	enum flow_kind kind;   /* queued */
	struct sched_flow *in; /* whom it is charged to */
	struct flow_id behind; /* who had the disk when it came; 0: nobody else */
	uint64_t disk_time;    /* ns that it has had of the disk; ... up to this sum of the clock */
	uint64_t clock_from;
	uint64_t charged;   /* bytes, to its flow's floor and ceiling */
	uint64_t arrival;   /* ns; of the oldest demand that waits for it, if one does */
	uint64_t submitted; /* ns */
	uint64_t started;   /* ns; running */
	uint64_t sign;	    /* ns; running: the last sign of life */
	uint64_t sequence;  /* order of submission */
	uint64_t progress;  /* running: arrived up to this offset of the file */
	uint64_t io_len;    /* running: bytes to read, with the neighbours merged into it */
	uint64_t tag;	    /* bytes its stream had before it (policy turns) */
	/* Queued: in the policy's order, the overdue batch's, the parked ones' or the write-backs'. */
	struct order_node order;
	/* Queued demands: by file and offset. */
	struct order_node place;
	/* Queued chunks that another client's read has joined. */
	struct order_node guest;
	/* Reads queued, by submission; running: by sign of life. */
	TAILQ_ENTRY(sched_req) age;
	/* The same of one flow, without those parked. */
	TAILQ_ENTRY(sched_req) mine;
	/* Reads queued that somebody waits for, by arrival; write-backs that a COMMIT waits for. */
	TAILQ_ENTRY(sched_req) wait;
	/* The waiters of another, or woken. */
	TAILQ_ENTRY(sched_req) link;
	/* Chunks queued or running, of files of one hash. */
	TAILQ_ENTRY(sched_req) hash;
	/* Those queued that go on where one at the drive is. */
	TAILQ_ENTRY(sched_req) on;
	struct sched_list waiters;
};

struct sched_limits {
	uint32_t
		queue_max; /* reads queued, joined or being answered; as many write-backs not wanted */
	uint64_t queue_bytes; /* bytes of demand reads queued, joined, running, being answered */
	uint64_t max_io;      /* bytes of merged demands */
	uint64_t prefetch_max_age; /* ns */
	uint64_t stall_time;	   /* ns without a sign of life; 0: for ever */
	/* ns of the disk for one write-back while demand reads are about */
	uint64_t writeback_turn;
	uint64_t writeback_idle; /* ns without a read after which the disk counts as idle */
	/* of the disk's time while reads use it and a COMMIT waits, 0..0.95 */
	double writeback_share;
	struct cost_limits cost; /* max_wait is there */
};

#define SCHED_WAIT_BUCKETS 40 /* bucket b: waits below 2^b us */
struct sched_stats {
	uint64_t submitted[SCHED_CLASSES], served[SCHED_CLASSES], bytes[SCHED_CLASSES];
	uint64_t joined, absorbed, merged, overdue, dropped, refused, switches, stalls;
	/* the dispatcher's: reads that waited for room; whose clients were told to come again */
	uint64_t full_waits, full_delays;
	uint64_t wait_max, waited; /* ns, of a demand; of all of them */
	uint64_t waits[SCHED_WAIT_BUCKETS];
};

struct sched_policy;

/* writeback_turn.c's. */
struct sched_writeback {
	double share;	  /* of the disk's time while reads use it: 0 defers, set from outside */
	uint32_t running; /* and not stalled */
	bool hurry;	  /* no more holding back: the end is near */
	uint64_t ended,
		lasted; /* ns: the last one's end, and its length with those that came with it */
	uint64_t last, sitting;	   /* ... its own; theirs, 0 once a read has begun since */
	uint64_t room;		   /* ... as much as these may have */
	struct flow_id by;	   /* ... and whose it was */
	bool beside;		   /* since then another flow has had reads */
	uint64_t read_ended;	   /* ns: when a read last left the disk */
	struct sched_flow *reader; /* ... whose that was; NULL: nobody's who is known */
	uint64_t others_ended;	   /* ... when one of anybody else did */
	uint64_t demand_ended;	   /* ... when a demand read did */
	struct read_gap gap;	   /* the time without reads */
	uint64_t until; /* ns: the one that runs should have ended; 0: as long as its turn is */
	struct writeback_cost cost;
};

/* flow_past.c's: reads that go past the queue of a cluster. */
struct sched_past {
	bool on;
	uint32_t n;		    /* under way */
	struct depth_search search; /* of those that are queued: how many at once */
};

/*
 * Requests that may count as stalled at a time: so many more are let to the disk. All that a drive was
 * given together (disk/drive_queue.h) may be among them, and a few others.
 */
#define SCHED_STALLED_MAX 48
#define SCHED_FILE_HASH	  256
#define SCHED_OWNERS	  1024 /* streams that are told apart by the chunks queued, nearly */
struct sched_queue {
	const struct sched_policy *policy;
	void *policy_shared; /* what the policy keeps for all flows together */
	struct sched_limits limits;
	struct sched_stats stats;
	struct cost_model cost;
	uint64_t head;	   /* the device address after the last request handed out */
	uint64_t observed; /* ... and after the last one measured */
	uint64_t sequence;
	double gap_demand;  /* share of chunks lately within or behind which demand reads waited */
	bool gap_opened;    /* within the present chunk */
	uint64_t elsewhere; /* ns: the end of the last request that was no chunk */
	uint64_t gap_after; /* ns: ... and how long ago that was when the present gap opened */
	uint32_t gap_reads; /* served in it */
	struct gap_credit gap_credit; /* for reads that come once in a while */
	/* Set by whoever runs it: the disk has a place for small reads only (place.h), so that nothing else
	 * is handed out, nor what would come behind it. */
	bool scattered_only;
	bool at_hand;	 /* ... for one that is served when what runs is over (place.h) */
	bool short_too;	 /* ... and for short chunks */
	bool pieces_too; /* ... and for one in pieces */
	bool young_too;	 /* ... and for the beginning of a young one */
	bool one_each;	 /* ... and none of a flow that has one running (drive_reads.h) */
	bool direct;	 /* reads go past it, and what is handed out is served beside them */
	uint32_t queued, running, stalled;
	uint32_t by_class[SCHED_CLASSES]; /* queued */
	uint32_t short_chunks;		  /* of them chunks that may be at the drive with others */
	struct {
		uint32_t n;		   /* that have chunks queued */
		uint32_t of[SCHED_OWNERS]; /* how many */
	} owners;
	uint32_t joined;		 /* demands that wait for a chunk, or merged into another */
	uint32_t with_others;		 /* of them those with a chunk */
	uint32_t answering;		 /* woken ones handed over to be answered */
	uint64_t held;			 /* bytes of demands queued, joined, running, answering */
	struct sched_list aged;		 /* reads queued, by submission */
	struct sched_list active, stuck; /* running, by sign of life; stalled */
	struct sched_list chunks[SCHED_FILE_HASH];
	struct sched_list going_on; /* queued */
	struct order places;	    /* queued demands, by file and offset */
	struct order parked;	    /* reads queued that would hang, by file: stall.c */
	struct sched_writeback writeback;
	struct sched_past past;
	struct sched_flows flows;
};

enum sched_verdict {
	SCHED_ADDED,	/* queued: it will be handed out */
	SCHED_WAITS,	/* joined another: it will be woken */
	SCHED_RESIDENT, /* what it asks for has arrived meanwhile: read it now */
	SCHED_FULL,	/* refused: its client has too much queued */
	SCHED_RUN,	/* dispatcher only: the disk is free, the caller runs it itself */
};

/* Returns 0 or ENOMEM. */
int sched_queue_init(struct sched_queue *q, const struct sched_policy *policy,
		     const struct sched_limits *limits);
/* What may still be queued or running stays its submitter's. */
void sched_queue_fini(struct sched_queue *q);
/*
 * R's first block of fields (of a write-back also wanted) is set by the caller, the rest is zero;
 * the caller keeps R alive until it is handed out or woken. NOW never goes back.
 */
enum sched_verdict sched_submit(struct sched_queue *q, struct sched_req *r, uint64_t now);
/* The same of one that was refused, and waits for room: if it is again, that does not count. */
enum sched_verdict sched_submit_again(struct sched_queue *q, struct sched_req *r, uint64_t now);
/*
 * The same of a demand read that is to be queued in no case: SCHED_WAITS or SCHED_RESIDENT, if a chunk
 * covers it, else SCHED_FULL and nothing has happened.
 */
enum sched_verdict sched_join(struct sched_queue *q, struct sched_req *r, uint64_t now);
/*
 * The queue is a cluster's, which serves many at once, or is not. Then a demand read may go past it: R is charged
 * from now until sched_past_end(), and is in no list. False: its flow is over a ceiling, has had more than another
 * one that is about, or has reads queued: it is to be submitted. R as for sched_submit().
 */
void sched_set_past(struct sched_queue *q, bool on);
bool sched_past_begin(struct sched_queue *q, struct sched_req *r, uint64_t now);
void sched_past_end(struct sched_queue *q, struct sched_req *r, uint64_t now);
/* Of those that are queued so many may be there now, beyond the depth only beside each other. */
uint32_t sched_past_places(const struct sched_queue *q);
/* The next request for the disk, now running; NULL when none is queued. */
struct sched_req *sched_next(struct sched_queue *q, uint64_t now);
/*
 * The same if that is R, the only read queued or the one that the disk waits for; else false, and
 * nothing happens.
 */
bool sched_next_is(struct sched_queue *q, struct sched_req *r, uint64_t now);
/*
 * R, a demand read as for sched_submit(), runs where nothing else is queued or under way and its flow had the
 * disk last: all is as after sched_submit() and sched_next_is(), but R was in none of the orders. Else
 * false, and R is not submitted.
 */
bool sched_run_alone(struct sched_queue *q, struct sched_req *r, uint64_t now);
/*
 * A small demand read to serve in a gap of CHUNK, which has been running for SLICE ns, others before it
 * perhaps; NULL when none waits, it is too early, a write-back's turn has come, or the policy has no
 * gaps. FIRST: of this gap. Handed out as by sched_next().
 */
struct sched_req *sched_next_in_gap(struct sched_queue *q, struct sched_req *chunk, uint64_t slice,
				    bool first, uint64_t now);
/*
 * Of the running R all up to the file offset UPTO has arrived: moves waiters served by it to WOKEN.
 */
void sched_progress(struct sched_queue *q, struct sched_req *r, uint64_t upto, uint64_t now,
		    struct sched_list *woken);
/* The running R becomes only LEN bytes long, or as long as its waiters need; returns its length. */
uint64_t sched_shorten(struct sched_queue *q, struct sched_req *r, uint64_t len);
/* R is over: all its waiters move to WOKEN, and R is the caller's again. */
void sched_done(struct sched_queue *q, struct sched_req *r, uint64_t now, struct sched_list *woken);
/*
 * A woken one that is not answered at once keeps its place, and its bytes, until it is: LEN bytes of
 * its flow, R->in. The two are called in pairs.
 */
void sched_answer_later(struct sched_queue *q, struct sched_req *r);
void sched_answered(struct sched_queue *q, struct sched_flow *f, uint64_t len);
/* One read of LEN bytes at device address BLOCK took SERVICE ns: for the cost model. */
void sched_observe(struct sched_queue *q, uint64_t block, uint64_t len, uint64_t service);
/*
 * One whose bytes lie in several places, the last of which ends at END: what it took says neither what bytes
 * cost nor what a seek does, only where the disk is now is known.
 */
void sched_passed(struct sched_queue *q, uint64_t end);
/* Bytes a chunk should have now. */
uint64_t sched_chunk(const struct sched_queue *q);
/* ... that is R, which is running: less where a ceiling or a floor of its flow is small. */
uint64_t sched_chunk_of(const struct sched_queue *q, const struct sched_req *r);
/*
 * Whether a read may be at hand behind the one that runs: not where a chunk may be next, nor where what runs
 * shows what the drive still had to write.
 */
bool sched_may_be_at_hand(const struct sched_queue *q);
/* Streams competing for the disk at present, at least 1. */
uint32_t sched_streams(const struct sched_queue *q);
/* Changes the policy; everything queued stays queued. ENOMEM: the old one stays. */
int sched_set_policy(struct sched_queue *q, const struct sched_policy *policy);
/* The share of the disk's time, 0..0.95, that write-backs may have while reads use it; 0 defers
 * them. */
void sched_set_writeback_share(struct sched_queue *q, double share);
/*
 * A COMMIT of BY (NULL: of who wrote) waits for the write-back R, which is queued or running. Queued,
 * it is charged to BY from now on, and it is handed out after
 * the request that is on the disk, those that COMMITs wanted before it, and before each of them and
 * it the rest of the pause of a share of writeback_share: with k wanted before it, turns of t and a
 * share of s that is (k + 1) t / s at most, whatever reads are queued.
 */
void sched_want(struct sched_queue *q, struct sched_req *r, const struct flow_id *by, uint64_t now);
/*
 * sched_next() returned NULL: when to ask again though nothing was submitted (ns of the same
 * clock); UINT64_MAX: not until then.
 */
uint64_t sched_hold_until(const struct sched_queue *q, uint64_t now);
/* Who may have how much, copied. ENOMEM: as before. Without it all clients are alike. */
int sched_set_shares(struct sched_queue *q, const struct sched_shares *shares, uint64_t now);
/* Up to MAX flows, the most lately active first; returns how many there are. */
unsigned int sched_flows(const struct sched_queue *q, struct flow_stats *stats, unsigned int max);
/* Adds to each of the N totals, which are in the order of their clients, what its client's flows have had. */
void sched_client_totals(const struct sched_queue *q, struct client_total *totals, size_t n);
/* What a write-back that begins now may have: short while demand reads are about. */
struct sched_turn {
	uint64_t slice; /* ns of the disk, with what the drive needs after it */
	uint64_t bytes; /* that cost as much, as observed; UINT64_MAX: not known yet */
	uint64_t step;	/* bytes of one step of it */
};
struct sched_turn sched_writeback_turn(const struct sched_queue *q, uint64_t now);
/* stall.c: a running one that has given no sign of life for Stall_Time, and is stalled from now on;
 * NULL: none has, or too many have. */
struct sched_req *sched_stall(struct sched_queue *q, uint64_t now);
/* Whoever joined the chunk R, which hangs with something that need not be theirs, is in WOKEN then. */
void sched_let_go(struct sched_queue *q, struct sched_req *r, uint64_t now,
		  struct sched_list *woken);
/* Requests queued that could go to the disk if it had room: not parked; or if a chunk hangs. */
static inline uint32_t sched_held_up(const struct sched_queue *q)
{
	return q->queued - q->parked.n + q->with_others;
}
/* Those of them that could go now: over no ceiling. */
static inline uint32_t sched_ready(const struct sched_queue *q)
{
	uint32_t n = 0;

	for (int kind = 0; kind < FLOW_KINDS; kind++)
		n += q->flows.ready[kind];
	return n;
}
/* When the next one will have stalled (ns); UINT64_MAX: none can. */
uint64_t sched_stall_at(const struct sched_queue *q);
/* The running R gives a sign of life; true: it was stalled, and is no more. */
bool sched_sign(struct sched_queue *q, struct sched_req *r, uint64_t now);
/* The wait (ns) that PERCENT of demand reads did not exceed, to a factor of 2. */
uint64_t sched_wait_percentile(const struct sched_stats *s, double percent);
/* check.c: for tests and debugging. NULL, or the invariant that does not hold. O(queued). */
const char *sched_check(const struct sched_queue *q);

#endif
