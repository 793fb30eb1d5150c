/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* min_ratio and read_ahead_kb of a mount. See mount_knobs.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/log.h"
#include "mount_knobs.h"

void mount_knobs_init(struct mount_knobs *m, const char *path)
{
	*m = (struct mount_knobs){
		.path = path, .ratio_set = KNOB_AS_FOUND, .readahead_set = KNOB_AS_FOUND};
}

void mount_knobs_own(struct mount_knobs *m, const char *root, const char *device)
{
	m->owns = true;
	knob_init(&m->ratio, root, "/sys/class/bdi/%s/min_ratio", device);
	knob_init(&m->readahead, root, "/sys/class/bdi/%s/read_ahead_kb", device);
}

static void put_back(struct mount_knobs *m, struct knob *k, const char *name, bool dry_run)
{
	if (dry_run || knob_restore(k))
		log_line(LOG_LEVEL_EVENT, "%s: %s as it was", m->path, name);
	else
		log_line(LOG_LEVEL_EVENT, "%s: %s stays as it is: %s", m->path, name,
			 k->error == EBUSY ? "somebody else has turned it" : strerror(k->error));
}

/* It cannot be used: says why, and uses it no more. */
static void give_up(struct mount_knobs *m, struct knob *k)
{
	log_line(LOG_LEVEL_EVENT, "%s: %s: %s: not used", m->path, k->path, strerror(k->error));
	knob_restore(k);
	k->path[0] = '\0';
}

/* SET: what we wanted of it last. Without a record it is tried again; who records says why not. */
static void turn(struct mount_knobs *m, struct knob *k, int64_t *set, int64_t value,
		 const char *why, const struct knob_hand *hand)
{
	const char *name = strrchr(k->path, '/');

	if (*set == value || !name)
		return;
	name++;
	if (value == KNOB_AS_FOUND) {
		put_back(m, k, name, hand->dry_run);
	} else if (hand->dry_run) {
		log_line(LOG_LEVEL_EVENT, "%s: %s: would set %s to %" PRIi64, m->path, why, name,
			 value);
	} else if (knob_turn(k, (uint64_t)value, &hand->recorder)) {
		log_line(LOG_LEVEL_EVENT, "%s: %s: set %s to %" PRIi64, m->path, why, name, value);
	} else if (k->error == ECANCELED) {
		return;
	} else {
		give_up(m, k);
	}
	*set = value;
}

void mount_knobs_ratio(struct mount_knobs *m, int64_t percent, const char *why,
		       const struct knob_hand *hand)
{
	turn(m, &m->ratio, &m->ratio_set, percent, why, hand);
}

void mount_knobs_readahead(struct mount_knobs *m, int64_t kib, const char *why,
			   const struct knob_hand *hand)
{
	turn(m, &m->readahead, &m->readahead_set, kib, why, hand);
}

uint32_t mount_knobs_readahead_found(struct mount_knobs *m)
{
	uint64_t found = m->readahead.found;

	if (!m->readahead.path[0])
		return 0;
	return m->readahead.held || knob_read(&m->readahead, &found) ? (uint32_t)found : 0;
}

void mount_knobs_release(struct mount_knobs *m, const struct knob_hand *hand)
{
	mount_knobs_ratio(m, KNOB_AS_FOUND, "", hand);
	mount_knobs_readahead(m, KNOB_AS_FOUND, "", hand);
}

void mount_knobs_disown(struct mount_knobs *m)
{
	knob_restore(&m->ratio);
	knob_restore(&m->readahead);
	mount_knobs_init(m, m->path);
}
