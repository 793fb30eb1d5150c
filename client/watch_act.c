/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A mount is judged, and its knobs turned. See watch.h. */
#include <math.h>
#include <string.h>

#include "common/log.h"
#include "watch.h"

struct mount_place watch_place(const struct watch_host *h, const struct watch *w)
{
	const char *root = h->settings.root;

	return (struct mount_place){root, w->path, h->settings.replies, w->mount.server,
				    *root ? NULL : w->mount.device};
}

/* Bytes that programs have written and that are to be sent: what was written over meanwhile never is, so no
 * more than the kernel says. */
static double waiting(struct watch_host *h, const struct watch *w)
{
	const struct mountstats *s = &w->use.last;

	if (s->programs_written <= s->server_written)
		return 0;
	return fmin((double)(s->programs_written - s->server_written),
		    (double)machine_dirty(&h->machine, w->mount.device));
}

/* Programs do not leave their files open: what is deferred goes out all the same, when they wait for it. What
 * was on its way when the deferral began is not that, nor what an earlier one has left waiting. */
static bool defer_vain(struct watch_host *h, struct watch *w, double now)
{
	const struct mountstats *from = &w->deferred, *to = &w->use.last;
	double wrote, sent;

	if (w->decision.way == WRITE_DEFER &&
	    (now - w->decision.since < AUCTION_DWELL || watch_way(h, w) != WRITE_DEFER)) {
		w->deferred = w->use.last;
		w->waiting = waiting(h, w);
	}
	if (w->decision.way == WRITE_DEFER && from->there && to->there &&
	    to->programs_written >= from->programs_written &&
	    to->server_written >= from->server_written) {
		wrote = (double)(to->programs_written - from->programs_written);
		sent = (double)(to->server_written - from->server_written);
		if (wrote >= VAIN_BYTES && sent - w->waiting >= wrote * VAIN_SHARE)
			w->vain_until = now + VAIN_TIME;
	}
	return now < w->vain_until;
}

static struct decide_input input_of(struct watch_host *h, struct watch *w, double now)
{
	const uint32_t turned = watch_readahead(h, w);
	const bool kept =
		keep_holds(&h->keep); /* then nobody gains where written data goes early */
	struct decide_input in = {
		.priced = watch_priced(h, w, now),
		.doubted = w->doubt.frozen || w->doubt.jumping,
		.write = w->detector.prices.write,
		.readahead = w->detector.prices.readahead,
		.dirty = h->machine.dirty,
		.worth = h->worth,
		.pressed = kept ? 0 : h->machine.pressed,
		.defer_vain = defer_vain(h, w, now),
		.cache_lost = h->cache_lost,
		.network = h->machine.network,
		.weight = weights_of(&h->settings.weights, w->path),
		.memory_short = h->machine.memory_short,
		.readahead_found = w->readahead_found,
	};

	w->use.readahead = turned ? turned : w->readahead_found;
	in.evidence = mount_use_evidence(&w->use, &in.effectiveness);
	if (w->use.last.there) {
		in.writes_unused = now - w->use.written_at >= DECIDE_UNUSED;
		in.reads_unused = now - w->use.read_at >= DECIDE_UNUSED;
	}
	return in;
}

/* ---- min_ratio: all of them together stay below 100 -------------------------------------- */

static bool holds_ratio(const struct watch *w)
{
	return w->knobs.owns && w->decision.way == WRITE_DEFER;
}

static int64_t share_of_ratio(const struct watch_host *h)
{
	unsigned int count = 0, share;

	for (unsigned int i = 0; i < h->settings.mount_count; i++)
		count += holds_ratio(&h->watches[i]);
	share = DEFER_RATIO_SUM / (count ? count : 1);
	return share < 1 ? 1 : share < DEFER_RATIO ? share : DEFER_RATIO;
}

static void turn_ratio(struct watch_host *h, struct watch *w, int64_t percent, double now)
{
	char why[64];

	if (percent == w->knobs.ratio.set)
		return;
	snprintf(why, sizeof(why), "writes: %s", write_way_names[w->decision.way]);
	mount_knobs_ratio(&w->knobs, percent, why, &h->hand, now);
}

/* Where one more defers, the others first give of theirs: the kernel refuses a sum of 100. */
static void set_ratio(struct watch_host *h, struct watch *w, double now)
{
	const int64_t share = share_of_ratio(h);

	if (w->decision.way != WRITE_DEFER) {
		turn_ratio(h, w, KNOB_AS_FOUND, now);
		return;
	}
	for (unsigned int i = 0; i < h->settings.mount_count; i++)
		if (h->watches[i].knobs.ratio.set > share)
			turn_ratio(h, &h->watches[i], share, now);
	turn_ratio(h, w, share, now);
}

/* ---- read_ahead_kb, syncfs --------------------------------------------------------------- */

static void set_readahead(struct watch_host *h, struct watch *w, double now)
{
	const struct decision *d = &w->decision;
	const int64_t kib = d->readahead ? (int64_t)d->readahead : KNOB_AS_FOUND;
	char why[96];

	if (kib == w->knobs.readahead.set)
		return;
	snprintf(why, sizeof(why), "price of read-ahead %.3g, ours %.3g", d->ahead, d->ahead_ours);
	mount_knobs_readahead(&w->knobs, kib, why, &h->hand, now);
}

static void accelerate(struct watch_host *h, struct watch *w)
{
	const double least = h->settings.dirty_min * 1024;
	const struct mount_place at = watch_place(h, w);

	if (w->decision.way != WRITE_ACCELERATE || w->pushed ||
	    (double)machine_dirty(&h->machine, w->mount.device) < fmax(least, 1))
		return;
	w->pushed = h->settings.dry_run ||
		    (w->calls.mount == w->mount.id && mount_calls_push(&w->calls, &at, &h->pool));
}

/* ---- what is said ------------------------------------------------------------------------ */

static double asked_by(const struct decision *d)
{
	return d->why == WHY_NO_PRICES ? 0 : d->theirs;
}

static void say_way(const struct watch *w, enum log_level level, const char *since)
{
	const struct decision *d = &w->decision;

	log_line(level, "%s: writes: %s%s (the server's price %.3g, ours %.3g): %s", w->path,
		 write_way_names[d->way], since, asked_by(d), d->ours, decide_texts[d->why].why);
}

static void tell_way(struct watch_host *h, struct watch *w, double now)
{
	const struct decision *d = &w->decision;
	const bool left_out = w->told.left_out;

	say_way(w, tell_change(&w->told, d->way == WRITE_NORMAL, now), "");
	if (w->told.left_out && !left_out)
		log_line(LOG_LEVEL_EVENT,
			 "%s: writes: to and fro: said again after %d minutes without a change; "
			 "--explain has the last ones",
			 w->path, TELL_CALM / 60);
	history_add(&h->history, "%s: %s (the server's price %.3g, ours %.3g): %s", w->path,
		    write_way_names[d->way], asked_by(d), d->ours, decide_texts[d->why].why);
}

/* The first of steps in one direction. */
static void tell_step(struct watch_host *h, const struct watch *w)
{
	const struct decision *d = &w->decision;
	char size[32] = "as found";

	if (d->readahead)
		snprintf(size, sizeof(size), "%u KiB", d->readahead);
	history_add(&h->history, "%s: read-ahead %s (the server's price %.3g, ours %.3g): %s",
		    w->path, size, d->ahead, d->ahead_ours, decide_texts[d->ahead_why].why);
}

/* WAS: what was done since it was judged last. */
static void count_deferral(struct watch_host *h, struct watch *w, enum write_way was, double now)
{
	if (was == WRITE_DEFER)
		w->totals.deferred += now - w->acted;
	else if (watch_way(h, w) == WRITE_DEFER)
		w->totals.deferrals++;
	w->acted = now;
}

void watch_act(struct watch_host *h, struct watch *w, double now)
{
	const struct decide_input in = input_of(h, w, now);
	const enum write_way was = w->decision.way, did = watch_way(h, w);
	const enum decide_why ahead_was = w->decision.ahead_why;

	if (decide(&w->decision, &h->settings.decide, &in, now)) {
		mount_use_turned(&w->use);
		if (w->decision.ahead_why != ahead_was)
			tell_step(h, w);
	}
	if (w->decision.way != was)
		tell_way(h, w, now);
	else if (tell_calm(&w->told, now))
		say_way(w, LOG_LEVEL_EVENT, " by now");
	set_ratio(h, w, now);
	set_readahead(h, w, now);
	mount_knobs_calm(&w->knobs, &h->hand, now);
	count_deferral(h, w, did, now);
	accelerate(h, w);
}
