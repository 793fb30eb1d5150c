/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* min_ratio and read_ahead_kb of a mount. See mount_knobs.h. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "mount_knobs.h"

#define MILLIONTHS 10000 /* in a percent */

void mount_knobs_init(struct mount_knobs *m, const char *path)
{
	*m = (struct mount_knobs){
		.path = path, .ratio.set = KNOB_AS_FOUND, .readahead.set = KNOB_AS_FOUND};
}

void mount_knobs_own(struct mount_knobs *m, const char *root, const char *device, uint32_t page_kib)
{
	m->owns = true;
	m->page_kib = page_kib;
	m->ratio.name = "min_ratio";
	m->ratio.unit = MILLIONTHS;
	knob_init(&m->ratio.knob, root, "/sys/class/bdi/%s/min_ratio_fine", device);
	if (access(m->ratio.knob.path, F_OK)) {
		m->ratio.unit = 1;
		knob_init(&m->ratio.knob, root, "/sys/class/bdi/%s/min_ratio", device);
	}
	m->readahead.name = "read_ahead_kb";
	m->readahead.unit = 1;
	knob_init(&m->readahead.knob, root, "/sys/class/bdi/%s/read_ahead_kb", device);
}

static void put_back(struct mount_knobs *m, struct mount_knob *k, bool dry_run, double now)
{
	const enum log_level level = tell_change(&k->told, true, now);

	if (dry_run || knob_restore(&k->knob)) {
		log_line(level, "%s: %s as it was", m->path, k->name);
		return;
	}
	k->told.left_out = false;
	log_line(LOG_LEVEL_EVENT, "%s: %s stays as it is: %s", m->path, k->name,
		 knob_why(&k->knob));
}

static void say_refusal(const struct mount_knobs *m, const struct mount_knob *k,
			enum log_level level)
{
	if (k->pause <= 0)
		log_line(level, "%s: %s: can be turned again", m->path, k->knob.path);
	else
		log_line(level, "%s: %s: %s: %s for now", m->path, k->knob.path,
			 strerror(k->refusal), k->set != KNOB_AS_FOUND ? "no further" : "not used");
}

/* It cannot be turned so now: says why, once. What it was turned to before stays, or it is not used. */
static void refuse(struct mount_knobs *m, struct mount_knob *k, double now)
{
	const bool first = k->pause <= 0;

	k->refusal = k->knob.error;
	if (k->set == KNOB_AS_FOUND) {
		knob_restore(&k->knob);
	} else if (!knob_holds_on(&k->knob)) {
		put_back(m, k, false, now);
		k->set = KNOB_AS_FOUND;
	}
	k->pause = first ? KNOB_AGAIN : fmin(2 * k->pause, KNOB_AGAIN_MOST);
	k->again_at = now + k->pause;
	if (first)
		say_refusal(m, k, tell_change(&k->refused, false, now));
}

static void take_again(struct mount_knobs *m, struct mount_knob *k, double now)
{
	if (k->pause <= 0)
		return;
	k->pause = 0;
	say_refusal(m, k, tell_change(&k->refused, true, now));
}

/* False: not turned, for now. Without a record it is tried again; who records says why not. */
static bool try(struct mount_knobs *m, struct mount_knob *k, int64_t value,
		const struct knob_hand *hand, double now)
{
	if (now < k->again_at)
		return false;
	if (knob_turn(&k->knob, (uint64_t)value * k->unit, &hand->recorder)) {
		take_again(m, k, now);
		return true;
	}
	if (k->knob.error != ECANCELED)
		refuse(m, k, now);
	return false;
}

static void turn(struct mount_knobs *m, struct mount_knob *k, int64_t value, const char *why,
		 const struct knob_hand *hand, double now)
{
	if (k->set == value || !k->knob.path[0])
		return;
	if (value == KNOB_AS_FOUND)
		put_back(m, k, hand->dry_run, now);
	else if (hand->dry_run || try(m, k, value, hand, now))
		log_line(tell_change(&k->told, false, now), "%s: %s: %s %s to %" PRIi64, m->path,
			 why, hand->dry_run ? "would set" : "set", k->name, value);
	else
		return;
	k->set = value;
}

void mount_knobs_ratio(struct mount_knobs *m, int64_t percent, const char *why,
		       const struct knob_hand *hand, double now)
{
	turn(m, &m->ratio, percent, why, hand, now);
}

void mount_knobs_readahead(struct mount_knobs *m, int64_t kib, const char *why,
			   const struct knob_hand *hand, double now)
{
	if (kib != KNOB_AS_FOUND && kib < m->page_kib)
		kib = m->page_kib; /* less is none */
	turn(m, &m->readahead, kib, why, hand, now);
}

static void calm(struct mount_knobs *m, struct mount_knob *k, bool dry_run, double now)
{
	if (tell_calm(&k->refused, now))
		say_refusal(m, k, LOG_LEVEL_EVENT);
	if (!tell_calm(&k->told, now))
		return;
	if (k->set == KNOB_AS_FOUND)
		log_line(LOG_LEVEL_EVENT, "%s: %s as it was by now", m->path, k->name);
	else
		log_line(LOG_LEVEL_EVENT, "%s: %s %sset to %" PRIi64 " by now", m->path, k->name,
			 dry_run ? "would be " : "", k->set);
}

void mount_knobs_calm(struct mount_knobs *m, const struct knob_hand *hand, double now)
{
	calm(m, &m->ratio, hand->dry_run, now);
	calm(m, &m->readahead, hand->dry_run, now);
}

uint32_t mount_knobs_readahead_found(struct mount_knobs *m)
{
	struct knob *k = &m->readahead.knob;
	uint64_t found = k->found;

	if (!k->path[0])
		return 0;
	return k->held || knob_read(k, &found) ? (uint32_t)found : 0;
}

void mount_knobs_release(struct mount_knobs *m, const struct knob_hand *hand)
{
	m->ratio.told = m->readahead.told = (struct tell){0};
	mount_knobs_ratio(m, KNOB_AS_FOUND, "", hand, 0);
	mount_knobs_readahead(m, KNOB_AS_FOUND, "", hand, 0);
}

void mount_knobs_disown(struct mount_knobs *m)
{
	knob_restore(&m->ratio.knob);
	knob_restore(&m->readahead.knob);
	mount_knobs_init(m, m->path);
}
