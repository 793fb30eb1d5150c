/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The kernel's counters of all mounts, and what follows from them. See watch.h. */
#include <math.h>
#include <unistd.h>

#include "watch.h"

static bool read_counters(struct watch_host *h, struct mountstats found[MOUNTS_MAX])
{
	const char *paths[MOUNTS_MAX];
	char name[KNOB_PATH];
	FILE *in;

	snprintf(name, sizeof(name), "%s/proc/self/mountstats", h->settings.root);
	in = fopen(name, "re");
	if (!in)
		return false;
	for (unsigned int i = 0; i < h->settings.mount_count; i++)
		paths[i] = h->watches[i].path;
	mountstats_read(in, paths, h->settings.mount_count, found);
	fclose(in);
	return true;
}

/* What a mount has moved since the last look, if there was one. */
static void add_moved(struct traffic *moved, const struct mountstats *from,
		      const struct mountstats *to)
{
	if (!from->there || !to->there)
		return;
	moved->received += fmax((double)to->server_read - (double)from->server_read, 0);
	moved->sent += fmax((double)to->server_written - (double)from->server_written, 0);
}

/* What was mounted anew between two looks at mountinfo may look the same there: its counters tell. */
static void find_replaced(struct watch_host *h, const struct mountstats *found)
{
	for (unsigned int i = 0; i < h->settings.mount_count; i++)
		h->watches[i].replaced |= mount_use_replaced(&h->watches[i].use, &found[i]);
}

/* Of mounts with knobs, so that two of one export, which are counted together, count once. */
static void add_up(struct watch_host *h, const struct mountstats *found, double now)
{
	struct use_bytes soon = {0}, late = {0};

	for (unsigned int i = 0; i < h->settings.mount_count; i++) {
		struct watch *w = &h->watches[i];
		const struct mountstats before = w->use.last;

		mount_use_feed(&w->use, &found[i], now);
		if (!w->knobs.owns)
			continue;
		add_moved(&h->moved, &before, &found[i]);
		soon.read += w->use.soon.read;
		soon.fetched += w->use.soon.fetched;
		late.read += w->use.late.read;
		late.fetched += w->use.late.fetched;
	}
	h->worth = use_worth(&soon, &late) * h->machine.pressed;
	h->cache_lost = h->machine.pressed > DECIDE_PRESSED && use_lost(&soon, h->cache_lost);
}

/* What programs wrote since the last question: deferred, it makes no WRITEs. */
static bool has_written(const struct watch_host *h, const struct watch *w)
{
	return (double)(w->use.last.programs_written - w->use.asked_written) >=
	       fmax(h->settings.dirty_min * 1024, 1);
}

/* A mount whose programs begin to write is asked as soon as it may be: a burst is short; but one that is being
 * asked. True: there is one whose server states prices. */
static bool hasten(struct watch_host *h)
{
	bool any = false;

	for (unsigned int i = 0; i < h->settings.mount_count; i++) {
		struct watch *w = &h->watches[i];

		if (!w->use.last.there || w->decision.way == WRITE_DEFER || !has_written(h, w) ||
		    mount_calls_asks(&w->calls))
			continue;
		any |= w->detector.believed;
		w->ask_at = fmin(w->ask_at, w->asked + fmax(ASK_LEAST, h->settings.interval *
									       (1 - ASK_EARLY)));
	}
	return any;
}

/* Where no burst could be deferred now there is no hurry. */
static double burst_time(const struct watch_host *h)
{
	if (h->settings.decide.defer)
		for (unsigned int i = 0; i < h->settings.mount_count; i++)
			if (h->watches[i].detector.believed &&
			    h->watches[i].decision.way != WRITE_DEFER)
				return machine_burst_time(&h->machine);
	return INFINITY;
}

static bool is_overdue(const struct watch_host *h, double now)
{
	return now - h->used >= h->settings.interval * (1 - ASK_EARLY);
}

/* Without a new look: not yet, unless the machine's dirty memory has grown meanwhile. */
static bool is_due(struct watch_host *h, double now)
{
	const double grown = ((double)h->machine.meter.dirty_pages - h->dirty_pages) *
			     (double)sysconf(_SC_PAGESIZE) / 1024;

	if (now - h->used < (h->misled ? USE_PACE : fmin(h->burst_time, USE_PACE)))
		return false;
	return is_overdue(h, now) || grown >= fmax(h->settings.dirty_min, 1);
}

static void look_at_network(struct watch_host *h, double now)
{
	if (now - h->networked < USE_PACE)
		return;
	h->machine.net.limits.capacity = (uint64_t)h->settings.network_capacity;
	machine_network(&h->machine, &h->moved, (uint64_t)(now * 1e9));
	h->networked = now;
}

void watch_use_look(struct watch_host *h, double now)
{
	static const struct mountstats none;
	struct mountstats found[MOUNTS_MAX];
	const bool early = !is_overdue(h, now);

	h->burst_time = burst_time(h);
	if (!is_due(h, now))
		return;
	h->used = now;
	h->dirty_pages = (double)h->machine.meter.dirty_pages;
	if (!read_counters(h, found))
		for (unsigned int i = 0; i < h->settings.mount_count; i++)
			found[i] = none;
	else
		find_replaced(h, found);
	add_up(h, found, now);
	h->misled = !hasten(h) && early;
	look_at_network(h, now);
}

double watch_use_interval(const struct watch_host *h, const struct watch *w)
{
	const double interval = h->settings.interval;
	const bool promising = w->detector.turns && !w->detector.disproofs && !w->detector.believed;

	/* So that it does not take long to believe. */
	if (promising)
		return fmin(ASK_SOON, interval);
	return h->settings.halts.count ? fmin(ASK_HALTS, interval) : interval;
}

/* Autofs shall not see it used by us alone. What is held back is in use: that ends by itself. */
static bool is_left_to_autofs(const struct watch *w, double now)
{
	return w->mount.automounted && w->use.last.there && w->decision.way != WRITE_DEFER &&
	       now - fmax(w->use.read_at, w->use.written_at) >= ASK_USED;
}

double watch_use_idle(const struct watch_host *h, const struct watch *w)
{
	return w->asked + fmin(ASK_IDLE, watch_answer(h) / 2);
}

bool watch_use_asks(const struct watch_host *h, const struct watch *w, double now)
{
	if (is_left_to_autofs(w, now))
		return false;
	if (!w->use.last.there || !(w->detector.believed || w->detector.disproofs))
		return true;
	return mount_use_calls(&w->use) >= ASK_CALLS || has_written(h, w) ||
	       w->decision.way == WRITE_DEFER || h->settings.halts.count ||
	       w->answered < w->asked || now >= watch_use_idle(h, w);
}

double watch_answer(const struct watch_host *h)
{
	return fmax(h->settings.answer, 2 * h->settings.interval);
}

bool watch_stale(const struct watch_host *h, const struct watch *w, double now)
{
	return now - w->answered >= watch_answer(h);
}

bool watch_priced(const struct watch_host *h, const struct watch *w, double now)
{
	return w->mount.kind == MOUNT_NFS3 && w->detector.believed && !watch_stale(h, w, now);
}
