/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Trying scattered reads one by one and together. See depth_evidence.h. */
#include "sched/depth_evidence.h"

/* The challenger must be faster by so much: what is subtracted from each ratio. */
#define MARGIN 0.06
/* A trial counts this much at most: one that is clear decides, one that is not needs others. */
#define PAIR_MAX 0.36
/* Sums that end a trial. */
#define WON  0.28
#define LOST (-0.1)
/* So many overtook others: it has an order of its own. That none did has less than this chance then. */
#define OVERTOOK    2
#define CHANCE_NONE 1e-4
/* So many times as long as a read lately: the drive was elsewhere, or hung. */
#define PAUSE 4
/* A trial that is due keeps short chunks from going together for so long (ns) before its first window. */
#define PATIENCE UINT64_C(1000000000)
/* A challenger that takes so many times as long for its first few reads loses at once. */
#define HOPELESS       1.5
#define HOPELESS_READS (DEPTH_WINDOW / 4)
/* One whose windows differ in load, or in how long reads are, by more says nothing: it counts as equal. */
#define LIKE_RATIO 1.5
/* What a disk reads in the time of a seek (bytes), about. */
#define SEEK_WORTH 1048576.0

void depth_evidence_init(struct depth_evidence *e, uint32_t bound)
{
	if (!bound)
		bound = 1;
	*e = (struct depth_evidence){.bound = bound,
				     .probing = bound > 1,
				     .trial = bound < DEPTH_TRIAL_MIN ? bound : DEPTH_TRIAL_MIN,
				     .chance = 1};
}

void depth_evidence_restore(struct depth_evidence *e, bool together, const double ns[2])
{
	uint64_t at = e->at;

	if (e->decided || e->bound == 1)
		return;
	depth_evidence_init(e, e->bound);
	e->at = at;
	e->decided = true;
	e->probing = !together; /* the order will tell soon whether that is so still */
	e->together = together;
	e->quiet = together ? DEPTH_CONFIRM : DEPTH_QUIET_ALONE;
	e->ns[0] = ns[0];
	e->ns[1] = ns[1];
}

uint32_t depth_evidence_level(const struct depth_evidence *e)
{
	if (e->probing)
		return e->trial;
	if (e->together == e->trying)
		return 1;
	return e->trying ? e->trial : e->bound;
}

/* Who serves them one by one may have the next one at hand. */
static uint32_t most_there(const struct depth_evidence *e)
{
	uint32_t level = depth_evidence_level(e);

	return level == 1 ? 2 : level;
}

/* What a read takes (ns), as far as it is known; 0: it is not. */
static double usual(const struct depth_evidence *e)
{
	if (e->used.ns > 0)
		return e->used.ns;
	return e->reads >= PAUSE ? (double)e->busy / e->reads : 0;
}

void depth_evidence_pass(struct depth_evidence *e, uint32_t running, uint64_t now)
{
	uint64_t ns = e->at != 0 ? now - e->at : 0, most = (uint64_t)(PAUSE * usual(e));

	if (running)
		e->busy += most && ns > most ? most : ns;
	e->at = now;
}

static void clear_window(struct depth_evidence *e)
{
	e->reads = 0;
	e->load = e->bytes = e->busy = 0;
}

/* A window at another level begins once the drive has as many reads as that, or no more. */
static void begin_window(struct depth_evidence *e, bool trying, double load)
{
	bool changed = trying != e->trying;
	uint32_t level;

	clear_window(e);
	e->trying = trying;
	level = depth_evidence_level(e);
	if (changed)
		e->settling = level < (uint32_t)load ? level : (uint32_t)load;
}

static void set_trial(struct depth_evidence *e, double load)
{
	uint32_t half = (uint32_t)load / 2;

	if (half < DEPTH_TRIAL_MIN)
		half = DEPTH_TRIAL_MIN;
	e->trial = half < e->bound ? half : e->bound;
}

/* By how much the time B is shorter than A; negative: longer. */
static double gain(double a, double b)
{
	double x = a > b ? a / b - 1 : 1 - b / a;

	return x > PAIR_MAX ? PAIR_MAX : x < -PAIR_MAX ? -PAIR_MAX : x;
}

static void won(struct depth_evidence *e)
{
	e->together = !e->together;
	e->decided = true;
	e->lost = 0;
	e->lost_at = 0;
	e->quiet = DEPTH_CONFIRM;
}

static void lost(struct depth_evidence *e, double load)
{
	e->decided = true;
	e->quiet = (uint64_t)(e->together ? DEPTH_QUIET : DEPTH_QUIET_ALONE) << e->lost;
	if (e->lost < DEPTH_QUIET_DOUBLED)
		e->lost++;
	if (load > e->lost_at)
		e->lost_at = load;
}

static bool are_alike(double a, double b)
{
	return a < b * LIKE_RATIO && b < a * LIKE_RATIO;
}

static bool are_like(const struct depth_window *a, const struct depth_window *b)
{
	return are_alike(a->load, b->load) && are_alike(a->len, b->len);
}

/* The present one, which has reads. */
static struct depth_window present(const struct depth_evidence *e)
{
	return (struct depth_window){.ns = (double)e->busy / e->reads,
				     .load = (double)e->load / e->reads,
				     .len = SEEK_WORTH + (double)e->bytes / e->reads};
}

static bool is_due(const struct depth_evidence *e, double load)
{
	if (!e->quiet)
		return true;
	return !e->together && e->lost_at > 0 && load >= 2 * e->lost_at;
}

/* A trial lies between two windows of what is used: counts it. */
static void judge(struct depth_evidence *e, const struct depth_window *w)
{
	double best = w->ns < e->used.ns ? w->ns : e->used.ns;
	bool alike = are_like(w, &e->tried) && are_like(&e->used, &e->tried);

	e->sum += (alike ? gain(best, e->tried.ns) : 0) - MARGIN;
	if (e->sum > LOST && e->sum < WON)
		return;
	if (e->sum >= WON)
		won(e);
	else
		lost(e, e->tried.load);
	e->sum = 0;
}

/* What is used has had a window: is it the challenger's turn? */
static void used_window(struct depth_evidence *e, const struct depth_window *w)
{
	bool together = e->together;

	e->ns[together] = w->ns;
	e->quiet -= e->quiet < DEPTH_WINDOW ? e->quiet : DEPTH_WINDOW;
	if (e->tried.ns > 0)
		judge(e, w);
	e->tried.ns = 0;
	e->used = *w;
	e->used.ns = e->ns[e->together];
	if (e->together != together || (e->sum == 0 && !is_due(e, w->load))) {
		begin_window(e, false, w->load);
		return;
	}
	if (e->sum == 0)
		set_trial(e, w->load);
	begin_window(e, true, w->load);
}

/* The challenger has had one. */
static void trial_window(struct depth_evidence *e, const struct depth_window *w)
{
	e->tried = *w;
	e->ns[!e->together] = w->ns;
	begin_window(e, false, w->load);
}

static void end_window(struct depth_evidence *e)
{
	struct depth_window w = present(e);

	if (w.load < DEPTH_LOAD_MIN || !e->busy)
		begin_window(e, false, w.load);
	else if (e->trying)
		trial_window(e, &w);
	else
		used_window(e, &w);
}

static bool is_hopeless(const struct depth_evidence *e)
{
	struct depth_window w;

	if (!e->trying || e->reads != HOPELESS_READS)
		return false;
	w = present(e);
	return are_alike(w.len, e->used.len) && w.ns > HOPELESS * e->used.ns;
}

void depth_evidence_disturbed(struct depth_evidence *e)
{
	if (e->probing)
		return; /* it is the order that tells */
	e->quiet -= e->quiet < e->reads ? e->quiet : e->reads;
	clear_window(e);
}

bool depth_evidence_waits(const struct depth_evidence *e)
{
	return e->trying || !e->quiet;
}

/* Of one that is due, and does not come about for want of reads, no more for now. */
static void put_off(struct depth_evidence *e, uint64_t now)
{
	if (!e->together || e->trying || e->quiet)
		e->due = 0;
	else if (!e->due)
		e->due = now;
	else if (now - e->due > PATIENCE) {
		e->quiet = DEPTH_CONFIRM;
		e->due = 0;
	}
}

/* What order they come in is known, or will not be: then the times tell. */
static void end_probing(struct depth_evidence *e)
{
	e->probing = false;
	begin_window(e, false, 0);
	if (e->overtook >= OVERTOOK)
		won(e);
	else /* the first ones come while the queue is being filled */
		e->settling = DEPTH_WINDOW;
}

void depth_evidence_order(struct depth_evidence *e, uint32_t there, uint32_t older,
			  uint32_t younger)
{
	if (!e->probing)
		return;
	if (older)
		e->overtook++;
	else
		e->chance *= (double)(there - younger) / there;
	if (e->overtook >= OVERTOOK || e->chance < CHANCE_NONE)
		end_probing(e);
}

void depth_evidence_read(struct depth_evidence *e, uint32_t running, uint32_t outstanding,
			 uint64_t len, uint64_t now)
{
	depth_evidence_pass(e, running, now);
	if (e->probing) {
		/* else they go one by one, or all at once, and their order does not tell */
		if (outstanding > 1 && ++e->reads == DEPTH_WINDOW)
			end_probing(e);
		return;
	}
	put_off(e, now);
	if (e->bound == 1 || running > most_there(e)) {
		clear_window(e); /* the drive still has some of before */
	} else if (e->settling) {
		e->settling--;
		clear_window(e);
	} else {
		e->load += outstanding;
		e->bytes += len;
		if (++e->reads == DEPTH_WINDOW || is_hopeless(e))
			end_window(e);
	}
}
