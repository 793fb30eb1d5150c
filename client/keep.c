/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a group keeps of memory. See keep.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/log.h"
#include "decide.h"
#include "group_memory.h"
#include "keep.h"

bool keep_judge(bool kept, const struct keep_input *in)
{
	if (!in->priced || !in->used)
		return false;
	return kept ? in->pressed > DECIDE_PRESSED / AUCTION_HYSTERESIS : in->lost;
}

static void name_knob(struct knob *k, const char *root, const char *name, int length)
{
	knob_init(k, root, "/sys/fs/cgroup%.*s/memory.low", length, name);
}

/* Its place, and 1; 0: it has none. */
static unsigned int find(const struct keep *k, const struct knob *wanted)
{
	for (unsigned int i = 0; i < k->count; i++)
		if (strcmp(k->at[i].knob.path, wanted->path) == 0)
			return i + 1;
	return 0;
}

/* The place, and 1, of the group that is the first LENGTH bytes of NAME. */
static unsigned int place_of(struct keep *k, const char *root, const char *name, int length,
			     unsigned int above)
{
	struct knob wanted;
	unsigned int found;

	name_knob(&wanted, root, name, length);
	found = find(k, &wanted);
	if (found)
		return found;
	k->at[k->count] = (struct keep_place){.knob = wanted, .above = above};
	return ++k->count;
}

/* Of the group NAME and those above it, how many have no place yet. */
static unsigned int new_ones(const struct keep *k, const char *root, const char *name)
{
	unsigned int count = 0;
	struct knob wanted;

	for (size_t i = 1; i <= strlen(name); i++) {
		if (name[i] && name[i] != '/')
			continue;
		name_knob(&wanted, root, name, (int)i);
		count += !find(k, &wanted);
	}
	return count;
}

bool keep_add(struct keep *k, const char *root, const char *name, double percent)
{
	unsigned int place = 0;

	if (!group_is_name(name) || !name[1] || k->count + new_ones(k, root, name) > KEEP_KNOBS)
		return false;
	for (size_t i = 1; i <= strlen(name); i++) {
		struct keep_place *p;

		if (name[i] && name[i] != '/')
			continue;
		place = place_of(k, root, name, (int)i, place);
		p = &k->at[place - 1];
		p->percent = fmin(p->percent + percent, 100);
	}
	k->at[place - 1].named = true;
	return true;
}

/* Without a record it is tried again as well; who records says why not. */
static bool turn(struct keep_place *p, uint64_t bytes, const struct knob_recorder *recorder)
{
	const bool was = p->refused;

	p->refused = false;
	if (knob_turn(&p->knob, bytes, recorder))
		return true;
	if (p->knob.error == ECANCELED)
		return false;
	p->refused = true;
	if (!was)
		log_line(LOG_LEVEL_WARN, "keep: %s: %s: not kept for now", p->knob.path,
			 strerror(p->knob.error));
	knob_restore(&p->knob);
	return false;
}

/* Which group of that name is there; 0: none. False: that cannot be told now. */
static bool group_of(const struct keep_place *p, uint64_t *group)
{
	const char *end = strrchr(p->knob.path, '/');
	char path[KNOB_PATH];
	struct stat st;

	*group = 0;
	if (!end)
		return true;
	snprintf(path, sizeof(path), "%.*s", (int)(end - p->knob.path), p->knob.path);
	if (stat(path, &st))
		return errno == ENOENT || errno == ENOTDIR;
	*group = st.st_ino;
	return true;
}

/* A new group of that name is as nobody has turned it. */
static void look_which(struct keep_place *p)
{
	uint64_t group;

	if (!group_of(p, &group) || group == p->group)
		return;
	p->group = group;
	p->knob.held = p->theirs = false;
}

/* Whether it stands at as much by then. */
static bool hold(struct keep_place *p, uint64_t bytes, const struct knob_recorder *recorder)
{
	uint64_t now;

	look_which(p);
	if (!knob_read(&p->knob, &now)) {
		if (p->theirs || knob_is_gone(&p->knob) || p->knob.error == EDOM)
			p->knob.held = false; /* not there now, or without a bound */
		return p->knob.held || p->knob.error == EDOM;
	}
	if (p->knob.held && !p->knob.turning) {
		if (now == p->knob.ours)
			return true;
		p->knob.held = false;
		p->theirs = true;
		log_line(LOG_LEVEL_EVENT, "keep: %s: stays as it is: somebody else has turned it",
			 p->knob.path);
	}
	return now >= bytes || (!p->theirs && turn(p, bytes, recorder));
}

void keep_hold(struct keep *k, double total, const struct knob_recorder *recorder)
{
	for (unsigned int i = 0; i < k->count && total > 0; i++) {
		struct keep_place *p = &k->at[i];

		p->keeps = hold(p, (uint64_t)(total * p->percent / 100), recorder);
	}
}

void keep_take_over(struct keep *k, struct keep *was)
{
	k->kept = was->kept && k->count;
	for (unsigned int i = 0; i < k->count; i++) {
		struct keep_place *p = &k->at[i], *q;
		const unsigned int found = find(was, &p->knob);

		if (!found || p->percent != was->at[found - 1].percent)
			continue;
		q = &was->at[found - 1];
		p->knob = q->knob;
		p->group = q->group;
		p->theirs = q->theirs;
		p->keeps = q->keeps;
		p->refused = q->refused;
		q->knob.held = false;
	}
	keep_release(was);
}

static bool keeps(const struct keep *k, const struct keep_place *p)
{
	while (p->keeps && p->above)
		p = &k->at[p->above - 1];
	return p->keeps;
}

bool keep_holds(const struct keep *k)
{
	for (unsigned int i = 0; i < k->count; i++)
		if (k->at[i].named && keeps(k, &k->at[i]))
			return true;
	return false;
}

bool keep_keeps(const struct keep *k, const char *root, const char *name)
{
	struct knob wanted;
	unsigned int found;

	name_knob(&wanted, root, name, (int)strlen(name));
	found = find(k, &wanted);
	return found && k->at[found - 1].named && keeps(k, &k->at[found - 1]);
}

void keep_release(struct keep *k)
{
	for (unsigned int i = k->count; i > 0; i--) {
		struct keep_place *p = &k->at[i - 1];

		knob_release(&p->knob);
		p->theirs = p->keeps = p->refused = false;
	}
}
