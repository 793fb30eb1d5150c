/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of the dispatch queue share among themselves. */
#ifndef SCHED_PARTS_H
#define SCHED_PARTS_H

#include "sched/place.h"
#include "sched/policy.h"
#include "sched/queue.h"

/* The device address observed last, when it was a write-back's. */
#define AFTER_WRITEBACK UINT64_MAX

static inline uint64_t req_end(const struct sched_req *r)
{
	return r->offset + r->len;
}

static inline bool is_read_of(const struct sched_req *r, uint64_t file)
{
	return r->file == file && r->class != SCHED_WRITEBACK;
}

/* Whether any read of FILE is stuck. */
static inline bool has_stuck(const struct sched_queue *q, uint64_t file)
{
	const struct sched_req *r;

	TAILQ_FOREACH(r, &q->stuck, age)
		if (is_read_of(r, file))
			return true;
	return false;
}

/* The end of the part of the file that it is of. */
static inline uint64_t covered_end(const struct sched_req *r)
{
	return r->offset + (r->span > r->len ? r->span : r->len);
}

/* Bytes that R, running, has from the disk: of a chunk of records those only. */
static inline uint64_t req_bytes(const struct sched_req *r)
{
	uint64_t rest;

	if (!r->record)
		return r->io_len;
	rest = r->io_len % r->step;
	return r->io_len / r->step * r->record + (rest < r->record ? rest : r->record);
}

/* Small demand reads wait at this share of the chunks or more: there are random readers about. */
#define DEMANDS_ABOUT 0.4
static inline bool demands_about(const struct sched_queue *q)
{
	return q->gap_demand > DEMANDS_ABOUT;
}

/* A chunk that may be at the drive with others (place.h). */
static inline bool is_short_chunk(const struct sched_req *r)
{
	return r->class == SCHED_PREFETCH && r->scattered;
}

/* Who has joined R goes by himself if it hangs. */
static inline bool lets_go(const struct sched_req *r)
{
	return r->class == SCHED_PREFETCH;
}

/* place.c: whether R may be at the drive with others now, if it is one that may be at all. */
bool goes_with_others(const struct sched_queue *q, const struct sched_req *r);
/* Whether chunks in pieces are at the drive together, between whose steps no gap opens. */
bool pieces_are_there(const struct sched_queue *q);

/* Reads queued. */
static inline uint32_t sched_reads(const struct sched_queue *q)
{
	return q->queued - q->by_class[SCHED_WRITEBACK];
}

/* enlist.c: what R is under POLICY. */
enum flow_kind flow_kind_of(const struct sched_policy *policy, const struct sched_req *r);
/* R is queued in its flow's lists and the policy's order; or no more, parked or not. */
void queue_enlist(struct sched_queue *q, struct sched_req *r);
void queue_delist(struct sched_queue *q, struct sched_req *r);
/* ... takes a queued request out of all that is queued. */
void queue_remove(struct sched_queue *q, struct sched_req *r);
/* R comes to those that are queued, or leaves them: counts of chunks. */
void queue_count_chunk(struct sched_queue *q, const struct sched_req *r, bool comes);

/* join.c */
struct sched_list *chunk_list(struct sched_queue *q, uint64_t file);
/* R brings what others may ask for: a chunk, or a demand read that says so. */
static inline bool is_for_others(const struct sched_req *r)
{
	return r->class == SCHED_PREFETCH || r->brings_more;
}
/* If so, those who are queued wait for it, and those to come; no more do. */
void offer(struct sched_queue *q, struct sched_req *r);
void offer_no_more(struct sched_queue *q, struct sched_req *r);
/* The chunk that a demand read can wait for, or NULL. */
struct sched_req *chunk_for(struct sched_queue *q, const struct sched_req *r);
/* The demand R becomes a waiter of TO. */
void join(struct sched_queue *q, struct sched_req *r, struct sched_req *to);
/* A new chunk takes over the demands queued for what it will read. */
void absorb(struct sched_queue *q, struct sched_req *chunk);
/* Demands that follow R on the device ride with it. */
void merge(struct sched_queue *q, struct sched_req *r);
/* Moves R's waiters that end at UPTO or before to WOKEN. */
void wake(struct sched_queue *q, struct sched_req *r, uint64_t upto, uint64_t now,
	  struct sched_list *woken);

/* going_on.c: R, which is queued now, may be one; it is queued no more; the one to go before its turn, or NULL. */
void going_on_add(struct sched_queue *q, struct sched_req *r);
void going_on_remove(struct sched_queue *q, struct sched_req *r);
struct sched_req *going_on_pick(struct sched_queue *q);

/* overdue.c: F's read beyond Max_Wait that goes to the disk now, without removing it; NULL: none. */
struct sched_req *overdue_pick(struct sched_queue *q, struct sched_flow *f, uint64_t now);
static inline bool is_overdue(const struct sched_req *r)
{
	return r->order.in == &r->in->overdue.batch;
}

/* flow_table.c: 0 or ENOMEM. */
int flows_init(struct sched_queue *q);
/* What is queued is lost from it. */
void flows_fini(struct sched_queue *q);
/* The flow of ID, made if new; where there is no memory, nobody's. */
struct sched_flow *flow_get(struct sched_queue *q, const struct flow_id *id);
/* RULE holds for F's client from now on. */
void flow_set_rule(struct sched_queue *q, struct sched_flow *f, uint16_t rule);
static inline bool flow_has_reads(const struct sched_flow *f)
{
	return f->node.n[FLOW_SMALL] || f->node.n[FLOW_CHUNK];
}
/* Beside what runs no read of F goes: it has one there (drive_reads.h). */
static inline bool flow_is_kept(const struct sched_queue *q, const struct sched_flow *f)
{
	return q->one_each && f->demands;
}
/* flow_tree.c: a request of KIND is queued for F, or is no more. */
void flow_backlog_add(struct sched_queue *q, struct sched_flow *f, enum flow_kind kind);
void flow_backlog_remove(struct sched_queue *q, struct sched_flow *f, enum flow_kind kind);
/* Those with something of KIND, by virtual time: the first, the next; NULL: none. */
struct sched_group *group_first(const struct sched_queue *q, enum flow_kind kind);
struct sched_group *group_next(const struct sched_group *g, enum flow_kind kind);
struct sched_flow *flow_first(const struct sched_group *g, enum flow_kind kind);
struct sched_flow *flow_next(const struct sched_flow *f, enum flow_kind kind);
/* Nothing but small reads, of several groups, at a disk that takes many as they come: flow_near.c. */
bool flow_goes_near(const struct sched_queue *q);
bool group_is_export(const struct sched_group *g);
/* F is served next: newcomers begin where it stands. */
void flow_serve(struct sched_queue *q, struct sched_flow *f);
/* F has had NS of disk time; ... as promised: that counts among the flows of its group alone. */
void flow_charge(struct sched_queue *q, struct sched_flow *f, uint64_t ns);
void flow_charge_within(struct sched_queue *q, struct sched_flow *f, uint64_t ns);

/* flow_place.c: where groups and flows stand. */

uint32_t group_weight(const struct sched_group *g); /* as it counts now */
/* How long a small read of F may wait for its turn (ns). */
uint64_t flow_promise_time(const struct sched_queue *q, const struct sched_flow *f);
/* NS of disk time at WEIGHT, as virtual time. */
uint64_t flow_virtual(uint64_t ns, uint32_t weight);
/* Beyond this no idleness earns anything (ns). */
uint64_t flow_credit(const struct sched_queue *q);
/* Whether NODE has nothing queued but write-backs that nobody waits for. */
bool flow_can_wait(const struct flow_node *node);
/* NODE stands no lower than before. It has a place for each kind of which something is queued, unless it is held. */
void flow_raise_places(struct flow_node *node);
/* Where NODE of SET, of WEIGHT, stands at least (virtual time): what it did not use is no claim, but for a credit. */
uint64_t flow_level_least(const struct sched_queue *q, const struct flow_set *set,
			  const struct flow_node *node, uint32_t weight);
/* NODE, which had nothing urgent to do, stands there. */
void flow_forget_idleness(const struct sched_queue *q, struct flow_set *set, struct flow_node *node,
			  uint32_t weight);
/* The same of NODE that was held at a ceiling, and may go: what it could not use meanwhile is no claim either. */
void flow_forget_held(struct sched_queue *q, struct flow_node *node);

/* Who may have PERCENT of the disk's time and has had NS leaves it to others for so long (ns). */
static inline uint64_t flow_rest(uint64_t ns, uint64_t percent)
{
	return ns * (100 - percent) / percent;
}

/* flow_level.c: disk time without a break while small reads wait (ns); ... of a visit else. */
uint64_t flow_slice(const struct sched_queue *q);
uint64_t flow_visit_time(const struct sched_queue *q);
/* ... of a chunk that is short (ns): it may go before its turn. */
uint64_t flow_short_time(const struct sched_queue *q);
/* How far ahead of a group of WEIGHT another may be and still go with it (virtual ns). */
uint64_t flow_slack(const struct sched_queue *q, uint32_t weight);
uint64_t group_vtime(const struct sched_group *g); /* NULL: the end of time */
/* How far (virtual time) groups may be that go next, of all that have reads. */
uint64_t flow_level_of_reads(const struct sched_queue *q);
/* A group other than G has reads queued and is further behind. */
bool flow_reads_behind(const struct sched_queue *q, const struct sched_group *g);
/* Another flow of F's group has. */
bool flow_reads_behind_within(const struct sched_queue *q, const struct sched_flow *f);
/* Reads of one client, queued: a few. */
#define FLOW_FEW 8
/* F comes before G: of those over their ceilings who may go first, of others who has had less. */
bool flow_is_behind(const struct sched_flow *f, const struct sched_flow *g);

/* flow_promise.c: F, a small read of which came at SINCE (ns), has small reads queued, or no more. */
void flow_promise(struct sched_queue *q, struct sched_flow *f, uint64_t since);
/* A small read of F is over: the next one has time. */
void flow_keep_promise(struct sched_queue *q, struct sched_flow *f, uint64_t now);

/* flow_visit.c: the read to serve next, without removing it; NULL: none, or the disk waits. */
struct sched_req *flow_pick(struct sched_queue *q, uint64_t now);
/* The same within CHUNK. */
struct sched_req *flow_pick_in_gap(struct sched_queue *q, struct sched_req *chunk, bool first,
				   uint64_t now);
/* How many reads such a gap would serve, as far as that makes turns longer. */
uint32_t flow_gap_reads(const struct sched_queue *q, const struct sched_req *chunk);
/* The disk waits for the next read of whom it has just served. */
bool flow_waits(struct sched_queue *q, uint64_t now);
/* Whether R is the one to go next, and nothing else would come first: then it does. */
bool flow_next_is(struct sched_queue *q, struct sched_req *r, uint64_t now);
/* flow_served.c: R goes to the disk. */
void flow_started(struct sched_queue *q, struct sched_req *r);
/* R has left the disk. */
void flow_served(struct sched_queue *q, const struct sched_req *r, uint64_t now);

/* flow_along.c: whether a visit whose time is over has one read more, a neighbour. It counts it. */
bool flow_takes_along(const struct sched_queue *q, struct flow_visit *v, uint64_t now);
/* R, handed out in V, is over. */
void flow_along_served(struct sched_queue *q, const struct flow_visit *v, const struct sched_req *r,
		       uint64_t now);

/* flow_late.c: somebody waits for a read of F since SINCE (ns). */
void flow_late_watch(struct sched_queue *q, struct sched_flow *f, uint64_t since);
/* A flow that was kept from the disk for too long, and may have a read of KIND now; NULL: none. */
struct sched_flow *flow_late(struct sched_queue *q, enum flow_kind *kind, uint64_t now);
/* How long that is (ns). */
uint64_t flow_patience(const struct sched_queue *q);
/* It begins to have one (about NS), or has had it. */
void flow_late_served(struct sched_queue *q, uint64_t ns, uint64_t now);

/* flow_near.c: V is for one read of who may go, the nearest; false: all had too much, or no flow_goes_near(). */
bool flow_near_begin(struct sched_queue *q, struct flow_visit *v, uint64_t now);

/* flow_joined.c: the chunk R is queued, and waited for. It may be one that small reads have joined. */
void flow_joined_watch(struct sched_queue *q, struct sched_req *r);
/* The first of these, of F or (NULL) any flow, whose time has come; NULL: none. */
struct sched_req *flow_joined_next(struct sched_queue *q, const struct sched_flow *f, uint64_t now);
/* One may go now, and V is its visit; */
bool flow_joined_begin(struct sched_queue *q, struct flow_visit *v, uint64_t now);
/* R is over, which may be the one that V was for. */
void flow_joined_served(struct sched_queue *q, const struct flow_visit *v,
			const struct sched_req *r, uint64_t now);

/*
 * flow_guest.c: another client's read, which waits since SINCE (ns), has joined R, which is queued; R, which is queued
 * again, may have been joined by some; R is queued no more.
 */
void flow_guest(struct sched_queue *q, struct sched_req *r, uint64_t since);
void flow_guests_of(struct sched_queue *q, struct sched_req *r);
void flow_guest_no_more(struct sched_req *r);
/* One that goes before all others now; NULL: none. R goes for that; R, which may have been one that did, is over. */
struct sched_req *flow_guest_due(struct sched_queue *q, uint64_t now);
void flow_guest_started(struct sched_queue *q, struct sched_req *r);
void flow_guest_served(struct sched_queue *q, const struct sched_req *r);

/* flow_begin.c: R is the first chunk of its stream, and might have a short turn; */
bool flow_begins(const struct sched_queue *q, const struct sched_req *r);
/* ... and others that somebody waits for are queued. */
bool flow_begins_among(const struct sched_queue *q, const struct sched_req *r);
/* Bytes that R, a chunk that goes to the disk, should have, floors and ceilings aside. */
uint64_t flow_turn(const struct sched_queue *q, const struct sched_req *r);

/* flow_think.c: F asks for a read. */
void flow_thought(struct sched_flow *f, uint64_t now);
/* F has asked for the next read so soon that the disk may wait for it. */
bool flow_is_quick(const struct sched_flow *f);
/* No small read of F was over in a while before NOW, from which this one could follow; whatever its streams have. */
bool flow_comes_rarely(const struct sched_flow *f, uint64_t now);
/* A small read waits that came so, of one of those who have had least. */
bool flow_rare_waits(const struct sched_queue *q);
/*
 * Whether the disk should wait for the next read of V's flow, which has none, once it has had AHEAD ns more; a
 * read takes READ.
 */
bool flow_worth_waiting(const struct sched_queue *q, const struct flow_visit *v, uint64_t read,
			uint64_t ahead);

/* flow_clock.c: R runs, or is out of the disk's way for a while: nothing happens a second time. */
void clock_start(struct sched_queue *q, struct sched_req *r, uint64_t now);
void clock_stop(struct sched_queue *q, struct sched_req *r, uint64_t now);
/* Disk time that R has had (ns). */
uint64_t clock_had(struct sched_queue *q, const struct sched_req *r, uint64_t now);
/* flow_account.c: F has so many reads more in the queue, and bytes of replies; or less. */
void flow_hold(struct sched_flow *f, uint32_t requests, uint64_t bytes);
void flow_free_room(struct sched_flow *f, uint32_t requests, uint64_t bytes);
/* R, of the flow R->in, comes; has waited for WAIT ns; was served; leaves the queue; has gone. */
void flow_enter(struct sched_queue *q, struct sched_req *r, uint64_t now);
void flow_count_wait(const struct sched_req *r, unsigned int bucket, uint64_t wait);
void flow_count_served(const struct sched_req *r);
/* ... queued but not enlisted, and no demand read, goes over to F; */
void flow_rehome(struct sched_req *r, struct sched_flow *f);
void flow_unqueue(const struct sched_req *r);
void flow_leave(const struct sched_req *r, uint64_t now);
/* Whether the client of R may have it too: no more than is free, READS of queue_max being taken. */
bool flow_has_room(const struct sched_queue *q, const struct sched_req *r, uint32_t reads);

/* stall.c: whether R, a read, would hang at the disk as others do. */
bool would_hang(const struct sched_queue *q, const struct sched_req *r);
/* The queued read R, in no order, waits until it would hang no more. */
void park(struct sched_queue *q, struct sched_req *r);
static inline bool is_parked(const struct sched_queue *q, const struct sched_req *r)
{
	return r->order.in == &q->parked;
}

/* writeback_turn.c: the write-back that goes to the disk now, without removing it; NULL: none is due. */
struct sched_req *writeback_pick(struct sched_queue *q, uint64_t now);
/* The read R comes. */
void writeback_read_comes(struct sched_queue *q, struct sched_req *r, uint64_t now);
/* R goes to the disk. */
void writeback_begins(struct sched_queue *q, struct sched_req *r, uint64_t now);
/* What a seek costs (ns), known or not. */
double writeback_seek(const struct sched_queue *q);
/* writeback_account.c: R, of any class, has left the disk (or was dropped). */
void writeback_account(struct sched_queue *q, struct sched_req *r, uint64_t now);

/* flow_past.c: a small demand read is over, whichever way it went. */
void past_served(struct sched_queue *q, uint64_t now);

/* wait_stats.c: a demand read is over. */
void account_wait(struct sched_queue *q, const struct sched_req *r, uint64_t now);

#endif
