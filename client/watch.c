/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One mount. See watch.h. */
#include <math.h>
#include <string.h>

#include "common/log.h"
#include "watch.h"

/* ---- what is mounted --------------------------------------------------------------------- */

static void tell_news(struct watch *w, enum news n)
{
	static const char *const text[] = {
		[NEWS_BELIEVED] = "the server states prices",
		[NEWS_NO_PRICES] = "the server states no prices",
		[NEWS_NO_ANSWER] = "no answer",
		[NEWS_STUCK] = "not asked: too many calls hang in mounts that are gone",
	};
	char obstacle[64];

	if (n == w->news)
		return;
	w->news = n;
	if (n == NEWS_NOT_MOUNTED)
		log_line(LOG_LEVEL_EVENT, "%s: %s", w->path,
			 mount_obstacle(&w->mount, obstacle, sizeof(obstacle)));
	else if (n == NEWS_BELIEVED)
		log_line(LOG_LEVEL_EVENT, "%s: %s: write %.3g, read-ahead %.3g", w->path, text[n],
			 w->detector.prices.write, w->detector.prices.readahead);
	else
		log_line(LOG_LEVEL_EVENT, "%s: %s", w->path, text[n]);
}

/* Mounts of one export have their knobs in common: those belong to the mount that came first. */
static const struct watch *owner_of_knobs(const struct watch_host *h, const struct watch *w)
{
	for (unsigned int i = 0; i < h->settings.mount_count; i++) {
		const struct watch *o = &h->watches[i];

		if (o != w && o->knobs.owns && strcmp(o->mount.device, w->mount.device) == 0)
			return o;
	}
	return NULL;
}

static void claim_knobs(const struct watch_host *h, struct watch *w)
{
	if (!w->knobs.owns && w->mount.kind == MOUNT_NFS3 && !owner_of_knobs(h, w))
		mount_knobs_own(&w->knobs, h->settings.root, w->mount.device);
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
	w->decision = (struct decision){0};
	w->news = NEWS_NONE;
	w->answered = now;
	w->push_told = w->pushed = false;
	owner = m->kind == MOUNT_NFS3 ? owner_of_knobs(h, w) : NULL;
	if (owner)
		log_line(LOG_LEVEL_EVENT, "%s: has its knobs in common with %s, whose they are",
			 w->path, owner->path);
}

static void read_mounts(struct watch_host *h, double now)
{
	char path[KNOB_PATH];

	if (now - h->mounts_read < h->settings.interval / MOUNTS_PACE)
		return;
	h->mounts_read = now;
	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", h->settings.root);
	mount_table_read(&h->mounts, path);
}

void watch_look(struct watch_host *h, struct watch *w, double now)
{
	struct mount m;

	read_mounts(h, now);
	if (w->looked != h->mounts.changes) {
		mount_table_find(&h->mounts, w->path, &m);
		if (!mount_same(&m, &w->mount))
			adopt_mount(h, w, &m, now);
		w->looked = h->mounts.changes;
	}
	claim_knobs(h, w);
}

/* ---- acting ------------------------------------------------------------------------------ */

static int64_t ratio_of(const struct watch_host *h, const struct watch *w)
{
	const unsigned int share = DEFER_RATIO_SUM / h->settings.mount_count;

	if (w->decision.way != WRITE_DEFER)
		return KNOB_AS_FOUND;
	return share < DEFER_RATIO ? share : DEFER_RATIO;
}

static struct mount_place place_of(const struct watch_host *h, const struct watch *w)
{
	return (struct mount_place){h->settings.root, w->path, h->settings.replies,
				    w->mount.server};
}

static void accelerate(struct watch_host *h, struct watch *w)
{
	const double least = h->settings.dirty_min * 1024;
	const struct mount_place at = place_of(h, w);

	if (w->decision.way != WRITE_ACCELERATE || w->pushed ||
	    (double)machine_dirty(&h->machine, w->mount.device) < fmax(least, 1))
		return;
	w->pushed = true;
	if (!h->settings.dry_run && w->calls.mount == w->mount.id &&
	    mount_calls_push(&w->calls, &at, &h->pool))
		w->totals.pushes++;
}

static void after_push(struct watch *w)
{
	int error;

	if (!mount_calls_pushed(&w->calls, &error) || !error || w->push_told)
		return;
	w->push_told = true;
	log_line(LOG_LEVEL_EVENT, "%s: syncfs: %s", w->path, strerror(error));
}

bool watch_priced(const struct watch_host *h, const struct watch *w, double now)
{
	return w->mount.kind == MOUNT_NFS3 && w->detector.believed &&
	       now - w->answered < h->settings.answer;
}

static struct decide_input input_of(struct watch_host *h, struct watch *w, double now)
{
	struct decide_input in = {
		.priced = watch_priced(h, w, now),
		.write = w->detector.prices.write,
		.readahead = w->detector.prices.readahead,
		.dirty = h->machine.dirty,
		.memory_short = h->machine.memory_short,
	};

	if (in.memory_short)
		in.readahead_found = mount_knobs_readahead_found(&w->knobs);
	return in;
}

static void set_ratio(struct watch_host *h, struct watch *w)
{
	const int64_t percent = ratio_of(h, w);
	char why[64];

	if (percent == w->knobs.ratio_set)
		return;
	snprintf(why, sizeof(why), "writes: %s", write_way_names[w->decision.way]);
	mount_knobs_ratio(&w->knobs, percent, why, &h->hand);
}

static void set_readahead(struct watch_host *h, struct watch *w, double price)
{
	const int64_t kib = w->decision.readahead ? (int64_t)w->decision.readahead : KNOB_AS_FOUND;
	char why[64];

	if (kib == w->knobs.readahead_set)
		return;
	snprintf(why, sizeof(why), "price of read-ahead %.3g", price);
	mount_knobs_readahead(&w->knobs, kib, why, &h->hand);
}

static void tell_decision(struct watch_host *h, const struct watch *w, double price)
{
	const char *way = write_way_names[w->decision.way],
		   *why = decide_why_texts[w->decision.why];

	log_line(LOG_LEVEL_EVENT, "%s: writes: %s (the server's price %.3g, ours %.3g): %s",
		 w->path, way, price, w->decision.ours, why);
	history_add(&h->history, "%s: %s (the server's price %.3g, ours %.3g): %s", w->path, way,
		    price, w->decision.ours, why);
}

static void count_deferral(struct watch *w, enum write_way was, double now)
{
	if (was == WRITE_DEFER)
		w->totals.deferred += now - w->acted;
	else if (w->decision.way == WRITE_DEFER)
		w->totals.deferrals++;
	w->acted = now;
}

static void act(struct watch_host *h, struct watch *w, double now)
{
	const struct decide_input in = input_of(h, w, now);
	const enum write_way was = w->decision.way;

	decide(&w->decision, &h->settings.decide, &in, now);
	count_deferral(w, was, now);
	if (w->decision.way != was)
		tell_decision(h, w, in.priced ? in.write : 0);
	set_ratio(h, w);
	set_readahead(h, w, in.readahead);
	accelerate(h, w);
}

/* ---- asking ------------------------------------------------------------------------------ */

bool watch_feed(struct watch *w, double now)
{
	struct mount_reply reply;

	if (!mount_calls_asked(&w->calls, &reply) || reply.error || w->calls.mount != w->mount.id)
		return false;
	w->answered = now;
	w->pushed = false;
	w->totals.replies++;
	fsstat_detector_feed(&w->detector, reply.total, reply.avail);
	return true;
}

/* A server that may be one with prices is asked more often, so that it does not take long. */
static double interval_of(const struct watch_host *h, const struct watch *w)
{
	const double interval = h->settings.interval;
	bool promising = w->detector.turns && !w->detector.disproofs && !w->detector.believed;

	return promising ? fmin(ASK_SOON, interval) : interval;
}

/* A time of our own between ASK_EARLY before the interval's end and that end. */
static double next_ask(struct watch_host *h, const struct watch *w, double now)
{
	h->draw = h->draw * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return now + interval_of(h, w) * (1 - ASK_EARLY * (double)(h->draw >> 40) / (1 << 24));
}

void watch_ask(struct watch_host *h, struct watch *w, double now)
{
	const struct mount_place at = place_of(h, w);

	if (now < w->ask_at)
		return;
	w->ask_at = next_ask(h, w, now);
	if (!mount_calls_adopt(&w->calls, w->mount.id, &h->pool))
		tell_news(w, NEWS_STUCK);
	else if (w->mount.kind == MOUNT_NFS3 && !mount_calls_ask(&w->calls, &at, &h->pool))
		w->ask_at = fmin(w->ask_at, now + ASK_SOON); /* when others have returned */
}

static void tell(const struct watch_host *h, struct watch *w, double now)
{
	if (w->mount.kind != MOUNT_NFS3)
		tell_news(w, NEWS_NOT_MOUNTED);
	else if (w->calls.mount != w->mount.id)
		return; /* not asked yet, or watch_ask() says why not */
	else if (now - w->answered >= h->settings.answer)
		tell_news(w, NEWS_NO_ANSWER);
	else if (w->detector.believed)
		tell_news(w, NEWS_BELIEVED);
	else if (w->detector.disproofs)
		tell_news(w, NEWS_NO_PRICES);
}

void watch_tick(struct watch_host *h, struct watch *w, double now)
{
	if (now >= w->ask_at)
		watch_look(h, w, now);
	if (watch_feed(w, now))
		w->ask_at = fmin(w->ask_at, now + interval_of(h, w));
	after_push(w);
	tell(h, w, now);
	act(h, w, now);
	watch_ask(h, w, now);
}

void watch_release(struct watch_host *h, struct watch *w)
{
	mount_knobs_release(&w->knobs, &h->hand);
}

void watch_show(const struct watch *w, FILE *out)
{
	static const char *const text[] = {"not asked yet", "believed", "no prices", "no answer",
					   "not asked: too many calls hang"};
	char obstacle[64];

	fprintf(out, "mount %s %s: ", w->path, w->mount.device);
	if (w->news == NEWS_NOT_MOUNTED)
		fputs(mount_obstacle(&w->mount, obstacle, sizeof(obstacle)), out);
	else
		fputs(text[w->news], out);
	if (w->news == NEWS_BELIEVED)
		fprintf(out, ", write %.3g, read-ahead %.3g, ours %.3g, %s: %s",
			w->detector.prices.write, w->detector.prices.readahead, w->decision.ours,
			write_way_names[w->decision.way], decide_why_texts[w->decision.why]);
	fputc('\n', out);
}
