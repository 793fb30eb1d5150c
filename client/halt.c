/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* When a group halts. See halt.h. */
#include <math.h>

#include "halt.h"

const char *const halt_why_texts[HALT_WHYS] = {
	[HALT_NO_PRICES] = "there are no prices that count",
	[HALT_CHEAP] = "the server is not dearer than it would pay",
	[HALT_RUN] = "it has its turn",
	[HALT_LOOK] = "how dear is the server without it?",
	[HALT_DEARER] = "the server is dearer than it would pay",
};

static void go_on(struct halt *h, enum halt_why why, double run, double now)
{
	*h = (struct halt){.why = why, .since = now, .run = fmin(run, HALT_RUN_MOST)};
}

static void stop(struct halt *h, double now)
{
	h->halted = true;
	h->why = HALT_LOOK;
	h->since = now;
}

/* It was we who made it dear: so dear, or twice, is nothing new. */
static void go_on_alone(struct halt *h, double now)
{
	const double level = fmax(h->peak, h->level / 2);

	go_on(h, HALT_CHEAP, fmax(h->run, HALT_RUN_LEAST) * HALT_LONGER, now);
	h->level = level;
}

/* PRICE is dear, and of after the change. */
static void judge_halted(struct halt *h, double price, double bid, double now)
{
	const double halted = now - h->since, over = price / fmax(bid, 1e-9) - 1;

	if (halted >= over * HALT_RUN_LEAST)
		go_on(h, HALT_RUN, halted / over, now);
	else
		h->why = HALT_DEARER;
}

static void end_halt(struct halt *h, double now)
{
	if (now - h->since < HALT_OWN)
		go_on_alone(h, now);
	else
		go_on(h, HALT_CHEAP, HALT_RUN_LEAST, now);
}

/* It runs, and others make no more than its bid: as good as a look. */
static void note_cheap(struct halt *h, double answered)
{
	h->why = HALT_CHEAP;
	h->since = fmax(h->since, answered);
	h->run = fmax(h->run, HALT_RUN_LEAST * HALT_LONGER);
}

static void judge_running(struct halt *h, double price, double bid, double now)
{
	const bool dear = price > bid * HALT_DEAR;
	const bool rose = h->level > 0 && price > h->level * HALT_ROSE;
	const double run = fmax(h->run, HALT_RUN_LEAST);

	h->peak = fmax(h->peak, price);
	h->why = dear ? HALT_RUN : HALT_CHEAP;
	h->run = run;
	if (dear && (now - h->since >= run || (rose && now - h->since >= HALT_RUN_LEAST)))
		stop(h, now);
}

bool halt_judge(struct halt *h, bool priced, double price, double bid, double answered, double now)
{
	if (!priced) {
		if (h->halted || h->why != HALT_NO_PRICES)
			go_on(h, HALT_NO_PRICES, HALT_RUN_LEAST, now);
		return h->halted;
	}
	if (h->halted && price <= bid)
		end_halt(h, now);
	else if (h->halted && now - h->since >= HALT_MOST)
		go_on(h, HALT_RUN, HALT_RUN_LEAST, now);
	else if (!h->halted && price <= bid)
		note_cheap(h, answered);
	else if (h->halted && answered >= h->since + HALT_SETTLE)
		judge_halted(h, price, bid, now);
	else if (!h->halted && answered >= h->since + HALT_SETTLE)
		judge_running(h, price, bid, now);
	return h->halted;
}
