/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One mount: asked for its prices, believed or not, judged, and its knobs turned.
 *
 *   mountinfo: what is mounted at the path?          none, autofs, vers=4, not NFS: not yet
 *        | another mount: all is forgotten
 *        v
 *   mount_calls: statfs(2) ---> reply
 *        |
 *        v
 *   fsstat_detector --> decide --> mount_knobs: min_ratio        defer
 *                              |--> mount_knobs: read_ahead_kb   by the price of read-ahead
 *                              '--> mount_calls: syncfs(2)       accelerate
 *
 * Nothing but those two calls touches the mount, so a server that hangs stops them and nothing
 * else. When prices end - not stated, not fresh, not mounted - the knobs are put back.
 *
 *   watch.c      mounted, asked, believed     watch_use.c    counters: what is asked about, and worth
 *   watch_act.c  judged, and knobs turned     watch_groups.c control groups that halt
 *   watch_show.c said                         watch_list.c   which mounts there are
 *   watch_keep.c control groups whose cached data is kept
 *   watch_done.c which knobs are turned
 *
 * NOW is seconds of a clock that only goes forward. One thread.
 */
#ifndef CLIENT_WATCH_H
#define CLIENT_WATCH_H

#include <stdio.h>

#include "decide.h"
#include "doubt.h"
#include "halt.h"
#include "history.h"
#include "keep.h"
#include "machine.h"
#include "mount_calls.h"
#include "mount_knobs.h"
#include "mounts.h"
#include "mount_use.h"
#include "mountstats.h"
#include "pricing/fsstat_price.h"
#include "settings.h"
#include "tell.h"

/* Time between questions (s) to a server that may be one with prices, until it is believed. */
#define ASK_SOON (1.0 / 3)
/* Not sooner again (s): doc/fsstat-prices.md. */
#define ASK_LEAST 0.25
/* A question comes that part of the interval early at most, at random: clients that ask at the same
 * moments would act at the same moments. */
#define ASK_EARLY 0.25
/* What is mounted is read at most so often in an interval. */
#define MOUNTS_PACE 4
/* So many READs and WRITEs make a new question (CA-NFS, section 3.4), or so many s without; half of the
 * time for which an answer counts, if that is less. */
#define ASK_CALLS 10
#define ASK_IDLE  10
/* A question goes by the path, as any use does: autofs counts from it anew for how long a mount was idle. So one
 * below a mount of autofs is asked no more when programs have not used it for so long (s). */
#define ASK_USED 10
/* Where control groups may halt prices are asked for so often (s). */
#define ASK_HALTS 1
/* Knobs of groups whose cached data is kept are looked at so often (s). */
#define KEEP_PACE 1
/* The kernel's counters are not looked at sooner again (s), unless the kernel would send what is written
 * before that. */
#define USE_PACE 0.5
/* min_ratio of a mount that defers (percent): half of what may be dirty. All of them together must
 * stay below 100. */
#define DEFER_RATIO	50
#define DEFER_RATIO_SUM 90

/* A deferral is in vain, and so would be others for so long (s), during which, from AUCTION_DWELL on, programs
 * wrote so many bytes and that part of them was sent: files are closed or synced as soon as they are
 * written. */
#define VAIN_BYTES 4194304.0
#define VAIN_SHARE 0.75
#define VAIN_TIME  60

enum news {
	NEWS_NONE,
	NEWS_BELIEVED,
	NEWS_NO_PRICES,
	NEWS_NO_ANSWER,
	NEWS_STUCK,   /* not asked: too many calls hang in mounts that are gone */
	NEWS_CROWDED, /* not asked: too many calls are under way in other mounts */
	NEWS_UNUSED,  /* not asked: autofs would never unmount it */
	NEWS_NOT_MOUNTED
};

/* Since the path is looked after. */
struct watch_totals {
	uint64_t replies, deferrals, pushes; /* pushes: that have succeeded */
	double deferred;		     /* s */
};

struct watch {
	const char *path; /* one of the settings' */
	struct mount mount;
	uint64_t looked; /* changes of the table of mounts, when it was looked up there */
	struct mount_calls calls;
	struct mount_knobs knobs;
	struct fsstat_detector detector;
	struct doubt doubt;
	struct decision decision;
	struct mount_use use;
	struct tell told;	    /* its ways of writing */
	enum news news;		    /* last said */
	struct tell unused_told;    /* that it is not asked while nobody uses it */
	double ask_at, asked;	    /* s: when to ask; when it was asked last */
	double answered;	    /* s: the question of the last reply, or the mount */
	double waits_since;	    /* s: the first question after that */
	double look_at;		    /* s: when to look what is mounted */
	bool replaced;		    /* its counters are another mount's, whatever mountinfo says */
	bool crowded;		    /* since the last reply there was no place for a question */
	uint32_t readahead_found;   /* KiB: then */
	double acted;		    /* s: when it was judged last */
	struct mountstats deferred; /* counters when this deferral was AUCTION_DWELL old */
	double held_back;	    /* bytes: deferred when the last answer came */
	double waiting;		    /* bytes written before that, and still to be sent then */
	double vain_until;	    /* s: deferrals are in vain before */
	bool pushed;		    /* one has begun since the last reply */
	bool push_fails, push_told; /* the last one failed; one has, which was said */
	struct watch_totals totals;
};

/* A control group of the settings' `halt'. */
struct watch_group {
	const char *path; /* one of the settings' */
	struct knob knob;
	struct halt halt;
	struct tell told, away_told;
	const char *away; /* why it is not ours to halt now; NULL: it is */
	bool refused;	  /* it cannot be halted, which was said */
};

/* What all watches share. */
struct watch_host {
	struct settings settings;
	struct machine machine;
	struct knob_hand hand;
	struct mount_table mounts; /* what is mounted */
	double mounts_read;	   /* s: when that was read */
	struct async_pool pool;
	bool crowded; /* in the last round some mount had no place for its question */
	struct history history;
	double used;	      /* s: when counters were looked at */
	double dirty_pages;   /* the machine's, then */
	struct traffic moved; /* by the mounts, since we look after them */
	double networked;     /* s: when the network was looked at */
	double burst_time;    /* s: so soon a burst of writes is to be seen */
	bool misled;	 /* that look came early, and no mount with prices had been written to */
	double worth;	 /* of cached data, 0..1: mount_use.h, with machine.pressed */
	bool cache_lost; /* and it is lost: the same */
	struct watch_group groups[WEIGHTS_MAX]; /* settings.halts.count of them */
	struct keep keep;			/* of settings.keeps */
	uint64_t draw;				/* random numbers: the state, any */
	struct watch watches[MOUNTS_MAX];	/* settings.mount_count of them, in their order */
};

/*
 * The watches that the settings name: one whose path was there already goes on as it is, the knobs
 * of one that is not named any more are put back.
 */
void watch_list(struct watch_host *h, const struct settings *settings);
/* Once a round, before the ticks: counters, network, control groups. */
void watch_round(struct watch_host *h, double now);
/* Reads the counters, and what they say of all mounts together. */
void watch_use_look(struct watch_host *h, double now);
/* So often (s) may it be asked for prices; and whether there is a reason to now. */
double watch_use_interval(const struct watch_host *h, const struct watch *w);
bool watch_use_asks(const struct watch_host *h, const struct watch *w, double now);
/* When (s) there is one though nobody uses it. */
double watch_use_idle(const struct watch_host *h, const struct watch *w);
/* Groups of other settings, which are the host's by now: those that are still named go on as they are. */
void watch_groups_list(struct watch_host *h, const struct settings *settings);
void watch_keep_list(struct watch_host *h, const struct settings *settings);
/* What they halt; what they keep; all of that as found; lines for people. */
void watch_groups_tick(struct watch_host *h, double now);
void watch_groups_release(struct watch_host *h);
void watch_groups_show(const struct watch_host *h, FILE *out);
void watch_keep_tick(struct watch_host *h, double now);
void watch_keep_release(struct watch_host *h);
void watch_keep_show(const struct watch_host *h, FILE *out);
/* Judges, and turns the knobs. */
void watch_act(struct watch_host *h, struct watch *w, double now);
/* What is mounted is read again, once for many watches: MOUNTS_PACE. */
void watch_read_mounts(struct watch_host *h, double now);
/* Looks what is mounted. */
void watch_look(struct watch_host *h, struct watch *w, double now);
/* Looks, takes a reply if there is one, judges, acts, and asks again when it is time. */
void watch_tick(struct watch_host *h, struct watch *w, double now);
/* When (s) there is something to do again, unless a call returns. */
double watch_next(const struct watch *w, double now);
/* The ticks of a round: there are fewer places for questions than mounts, so who was asked longest ago is first. When
 * (s) there is something to do again. */
double watch_tick_all(struct watch_host *h, double now);
/* Only asks and believes: what --once needs. */
bool watch_feed(struct watch *w, double now);
void watch_ask(struct watch_host *h, struct watch *w, double now);
/* The knobs as they were found. */
void watch_release(struct watch_host *h, struct watch *w);
/* Prices count for so long (s) without an answer: two intervals at least, so that a server that answers is asked and
 * heard before that. */
double watch_answer(const struct watch_host *h);
/* No answer to any question that is not too old. */
bool watch_stale(const struct watch_host *h, const struct watch *w, double now);
/* Its server states prices that count: believed, and fresh. */
bool watch_priced(const struct watch_host *h, const struct watch *w, double now);
/* How it is asked and pushed. */
struct mount_place watch_place(const struct watch_host *h, const struct watch *w);
/* Which of the mounts of one export has their knobs: W, or another one. NULL: none yet. */
const struct watch *watch_owner(const struct watch_host *h, const struct watch *w);
/* What is done about writes: what was decided, but WRITE_NORMAL where it is to defer and the knob could not be
 * turned, or to accelerate and syncfs failed. */
enum write_way watch_way(const struct watch_host *h, const struct watch *w);
/* KiB that read-ahead is set to; 0: it is as found. */
uint32_t watch_readahead(const struct watch_host *h, const struct watch *w);
/* For people: a line of the mount, and one of its use where prices count. */
void watch_show(const struct watch_host *h, const struct watch *w, FILE *out);

#endif
