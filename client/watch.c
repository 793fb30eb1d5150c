/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One mount. See watch.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "watch.h"

/* ---- what is mounted --------------------------------------------------------------------- */

/* A mount below autofs that is used now and then is asked and not asked for ever: that is said at first. Whatever else it is. */
static enum log_level level_of(struct watch *w, enum news n, double now)
{
	if (n == NEWS_UNUSED)
		return tell_change(&w->unused_told, false, now);
	if (w->news == NEWS_UNUSED && n == NEWS_BELIEVED)
		return tell_change(&w->unused_told, true, now);
	w->unused_told = (struct tell){0};
	return LOG_LEVEL_EVENT;
}

static void tell_news(struct watch *w, enum news n, double now)
{
	static const char *const text[] = {
		[NEWS_BELIEVED] = "the server states prices",
		[NEWS_NO_PRICES] = "the server states no prices",
		[NEWS_NO_ANSWER] = "no answer",
		[NEWS_STUCK] = "not asked: too many calls hang in mounts that are gone",
		[NEWS_CROWDED] = "not asked: too many calls are under way in other mounts",
		[NEWS_UNUSED] = "not asked while nobody uses it, so that autofs can unmount it",
	};
	char obstacle[64];
	enum log_level level;

	if (n == w->news)
		return;
	level = level_of(w, n, now);
	w->news = n;
	if (n == NEWS_NOT_MOUNTED)
		log_line(level, "%s: %s", w->path,
			 mount_obstacle(&w->mount, obstacle, sizeof(obstacle)));
	else if (n == NEWS_BELIEVED)
		log_line(level, "%s: %s: write %.3g, read-ahead %.3g", w->path, text[n],
			 w->detector.prices.write, w->detector.prices.readahead);
	else
		log_line(level, "%s: %s", w->path, text[n]);
}

static void claim_knobs(const struct watch_host *h, struct watch *w)
{
	if (w->mount.kind == MOUNT_NFS3 && !watch_owner(h, w))
		mount_knobs_own(&w->knobs, h->settings.root, w->mount.device,
				(uint32_t)(sysconf(_SC_PAGESIZE) / 1024));
}

/*
 * Another mount: what we knew was of the one before. Its knobs went with it, unless another mount
 * of the same export is still there.
 */
static void adopt_mount(struct watch_host *h, struct watch *w, const struct mount *m, double now)
{
	const struct watch *owner;

	mount_knobs_disown(&w->knobs);
	w->mount = *m;
	w->detector = (struct fsstat_detector){0};
	w->doubt = (struct doubt){0};
	w->decision = (struct decision){0};
	w->told = w->unused_told = (struct tell){0};
	w->use = (struct mount_use){0};
	w->asked = 0;
	w->vain_until = 0;
	w->news = NEWS_NONE;
	w->answered = now;
	w->push_told = w->push_fails = w->pushed = w->crowded = w->replaced = false;
	owner = m->kind == MOUNT_NFS3 ? watch_owner(h, w) : NULL;
	if (owner)
		log_line(LOG_LEVEL_EVENT, "%s: has its knobs in common with %s, whose they are",
			 w->path, owner->path);
}

void watch_read_mounts(struct watch_host *h, double now)
{
	char path[KNOB_PATH];

	if (now - h->mounts_read < h->settings.interval / MOUNTS_PACE)
		return;
	h->mounts_read = now;
	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", h->settings.root);
	mount_table_read(&h->mounts, path);
}

/* The same text, but another mount: all is forgotten, and its knobs are looked up anew. */
static void begin_anew(struct watch_host *h, struct watch *w, double now)
{
	const struct mount m = w->mount;

	mount_calls_leave(&w->calls, &h->pool);
	adopt_mount(h, w, &m, now);
}

void watch_look(struct watch_host *h, struct watch *w, double now)
{
	struct mount m;

	watch_read_mounts(h, now);
	if (w->looked != h->mounts.changes) {
		mount_table_find(&h->mounts, w->path, &m);
		if (!mount_same(&m, &w->mount))
			adopt_mount(h, w, &m, now);
		w->looked = h->mounts.changes;
	}
	if (w->replaced && w->mount.kind == MOUNT_NFS3)
		begin_anew(h, w, now);
	w->replaced = false;
	claim_knobs(h, w);
}

/* ---- asking ------------------------------------------------------------------------------ */

bool watch_feed(struct watch *w, double now)
{
	struct mount_reply reply;

	if (!mount_calls_asked(&w->calls, &reply) || reply.error || w->calls.mount != w->mount.id)
		return false;
	w->answered = w->asked > 0 ? w->asked : now; /* its age is that of the question */
	w->pushed = w->crowded = false;
	w->totals.replies++;
	fsstat_detector_feed(&w->detector, reply.total, reply.avail);
	return true;
}

/* A time of our own between ASK_EARLY before the interval's end and that end. */
static double next_ask(struct watch_host *h, const struct watch *w, double now)
{
	const double interval = watch_use_interval(h, w);

	h->draw = h->draw * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return now +
	       fmax(ASK_LEAST, interval * (1 - ASK_EARLY * (double)(h->draw >> 40) / (1 << 24)));
}

/* Of one that has begun: what comes late is as old as its own question. */
static void note_question(struct watch *w, double now)
{
	if (w->answered >= w->asked)
		w->waits_since = now;
	w->asked = now;
	mount_use_asked(&w->use);
}

/* Where others have all places it is due still, as soon as one of them has returned. */
static void ask(struct watch_host *h, struct watch *w, double now)
{
	const struct mount_place at = watch_place(h, w);

	if (mount_calls_ask(&w->calls, &at, &h->pool)) {
		note_question(w, now);
	} else if (mount_calls_asks(&w->calls)) {
		w->ask_at = fmin(w->ask_at, now + ASK_SOON);
	} else {
		w->ask_at = now;
		w->crowded = true;
	}
}

void watch_ask(struct watch_host *h, struct watch *w, double now)
{
	if (now < w->ask_at)
		return;
	w->ask_at = next_ask(h, w, now);
	if (!watch_use_asks(h, w, now)) {
		const double idle = watch_use_idle(h, w);

		w->crowded = false;
		if (idle > now)
			w->ask_at = fmin(w->ask_at, idle);
		return;
	}
	if (!mount_calls_adopt(&w->calls, w->mount.id, &h->pool)) {
		tell_news(w, NEWS_STUCK, now);
	} else if (w->mount.kind == MOUNT_NFS3) {
		ask(h, w, now);
	}
}

/* Why a mount that should have been asked has not answered for so long: where it was not asked, or was only just
 * now again, that is no silence of its server's. */
static enum news why_stale(const struct watch_host *h, const struct watch *w, double now)
{
	if (w->answered < w->asked && now - w->waits_since >= watch_answer(h))
		return NEWS_NO_ANSWER;
	if (w->crowded)
		return NEWS_CROWDED;
	return w->mount.automounted ? NEWS_UNUSED : NEWS_NO_ANSWER;
}

static void tell(const struct watch_host *h, struct watch *w, double now)
{
	if (tell_calm(&w->unused_told, now))
		log_line(LOG_LEVEL_EVENT, "%s: %s by now", w->path,
			 w->news == NEWS_UNUSED ? "not asked" : "asked again");
	if (w->mount.kind != MOUNT_NFS3)
		tell_news(w, NEWS_NOT_MOUNTED, now);
	else if (w->calls.mount != w->mount.id)
		return; /* not asked yet, or watch_ask() says why not */
	else if (watch_stale(h, w, now))
		tell_news(w, why_stale(h, w, now), now);
	else if (w->detector.believed)
		tell_news(w, NEWS_BELIEVED, now);
	else if (w->detector.disproofs)
		tell_news(w, NEWS_NO_PRICES, now);
}

static void after_push(struct watch *w)
{
	int error;

	if (!mount_calls_pushed(&w->calls, &error))
		return;
	w->push_fails = error != 0;
	w->totals.pushes += !error;
	if (!error || w->push_told)
		return;
	w->push_told = true;
	log_line(LOG_LEVEL_EVENT, "%s: syncfs: %s", w->path, strerror(error));
}

static void hear(struct watch_host *h, struct watch *w, double now)
{
	if (!watch_feed(w, now))
		return;
	w->ask_at = fmin(w->ask_at, now + watch_use_interval(h, w));
	w->held_back = watch_way(h, w) == WRITE_DEFER
			       ? (double)machine_dirty(&h->machine, w->mount.device)
			       : 0;
	if (w->detector.believed)
		doubt_feed(&w->doubt, &w->detector.prices, h->settings.decide.price_min, now);
	else
		w->doubt = (struct doubt){0};
}

/* What it stands at without us may change: looked at again where it is used. */
static void look_at_readahead(struct watch *w, double now)
{
	const bool unused = w->use.last.there && now - w->use.read_at >= DECIDE_UNUSED;

	if (w->detector.believed && !unused)
		w->readahead_found = mount_knobs_readahead_found(&w->knobs);
}

/* All but asking. */
static void judge(struct watch_host *h, struct watch *w, double now)
{
	const bool due = now >= w->ask_at;

	if (due || now >= w->look_at || w->replaced)
		watch_look(h, w, now);
	if ((due && !w->crowded) || now >= w->look_at) {
		w->look_at = now + h->settings.interval;
		look_at_readahead(w, now);
	}
	hear(h, w, now);
	after_push(w);
	tell(h, w, now);
	watch_act(h, w, now);
}

void watch_tick(struct watch_host *h, struct watch *w, double now)
{
	judge(h, w, now);
	watch_ask(h, w, now);
}

/* Behind a tick: for a place to ask. */
static bool is_waiting(const struct watch *w, double now)
{
	return w->ask_at <= now;
}

double watch_next(const struct watch *w, double now)
{
	const double ask = is_waiting(w, now) ? now + ASK_SOON : w->ask_at;

	return fmin(ask, decide_due(&w->decision, now));
}

static int by_question(const void *a, const void *b)
{
	const struct watch *const *v = a, *const *w = b;

	return ((*v)->asked > (*w)->asked) - ((*v)->asked < (*w)->asked);
}

double watch_tick_all(struct watch_host *h, double now)
{
	struct watch *order[MOUNTS_MAX];
	double next = INFINITY;

	/* All, before one asks: who has returned leaves its place. */
	for (unsigned int i = 0; i < h->settings.mount_count; i++) {
		order[i] = &h->watches[i];
		judge(h, order[i], now);
	}
	qsort(order, h->settings.mount_count, sizeof(order[0]), by_question);
	h->crowded = false;
	for (unsigned int i = 0; i < h->settings.mount_count; i++) {
		watch_ask(h, order[i], now);
		h->crowded |= is_waiting(order[i], now);
		next = fmin(next, watch_next(order[i], now));
	}
	return next;
}

void watch_release(struct watch_host *h, struct watch *w)
{
	mount_knobs_release(&w->knobs, &h->hand);
}

void watch_round(struct watch_host *h, double now)
{
	watch_use_look(h, now);
	watch_groups_tick(h, now);
	watch_keep_tick(h, now);
}
