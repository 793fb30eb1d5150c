/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Programs that halt while the server is dear: a control group with a willingness to pay of its own, also
 * for what it waits for. (CA-NFS, section 5: backup, indexing and the like "halt automatically when
 * resources become congested".) An unpatched kernel has one knob for that: cgroup.freeze of cgroup v2.
 *
 *        price > bid for RUN             price <= bid
 *   run ------------------------> halted ------------> run, HALT_LONGER times as long if it was only
 *    ^                               |                 we who made it dear
 *    '-------------------------------'
 *      halted for (price / bid - 1) times the next run, or HALT_MOST; or prices end
 *
 * bid = weight * price_min. What a server says while the group runs is made by the group, too; so a group
 * that runs is halted from time to time to see what is said without it. Is it cheap then
 * within HALT_OWN, the group was alone, or as good as alone, and runs for longer until the next such look:
 * HALT_RUN_LEAST, HALT_LONGER times that and so on up to HALT_RUN_MOST. A server whose scheduler gives those
 * who write the disk while nobody reads is then left to do so.
 * More load makes a price no lower: one that is not above the bid says that others make no more, whether the
 * group was halted when it was made or not. So a look ends with the first such price, and a run begins anew.
 * Somebody who comes meanwhile is seen by the price, where that is not at its most: HALT_ROSE times what it
 * rose to in the run before, for a price that turns of write-back make jumps (unit.agent_halt has such ones).
 *
 * Beside others it has the part of the time that its bid is of the price which they make, 2 of 22 s at least: so
 * a price that is near its bid, a little above or below, makes little difference.
 *
 * So a group alone has 30 of 32 s or so, one beside others that make the server very dear 2 of 22. Pure: prices
 * and times are handed in. One thread.
 */
#ifndef CLIENT_HALT_H
#define CLIENT_HALT_H

#include <stdbool.h>

/* s: an answer that is so much younger than a change tells of it (prices are made once a second, of half
 * a second). */
#define HALT_SETTLE 1.75
/* s */
#define HALT_RUN_LEAST 2
#define HALT_RUN_MOST  30
#define HALT_LONGER    4
#define HALT_MOST      20
#define HALT_ROSE      2
/* s: so long does what it has written keep the server busy. */
#define HALT_OWN 4
/* The price above so many bids: halt. As in decide.h. */
#define HALT_DEAR 1.25

enum halt_why {
	HALT_NO_PRICES, /* runs: there are none that count */
	HALT_CHEAP,	/* runs: the server is not dear */
	HALT_RUN,	/* runs: dear, but it has its turn */
	HALT_LOOK,	/* halted: how dear is it without? */
	HALT_DEARER,	/* halted */
	HALT_WHYS
};
extern const char *const halt_why_texts[HALT_WHYS];

/* All zero is the beginning. */
struct halt {
	bool halted;
	enum halt_why why;
	double since; /* s: when it was halted, or went on, or ran and was told a cheap price */
	double run;   /* s: this long, then it is looked without it */
	double level; /* a price that is nothing new: the highest of the last run; 0: unknown */
	double peak;  /* the highest price of this run */
};

/* ANSWERED: when PRICE was told. Returns h->halted. */
bool halt_judge(struct halt *h, bool priced, double price, double bid, double answered, double now);

#endif
