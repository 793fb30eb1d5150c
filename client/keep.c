/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a group keeps of memory. See keep.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "decide.h"
#include "group_memory.h"
#include "keep.h"

bool keep_judge(bool kept, const struct keep_input *in)
{
	if (!in->priced || !in->used)
		return false;
	return kept ? in->pressed > DECIDE_PRESSED / DECIDE_HYSTERESIS : in->lost;
}

/* The place of the group that is the first LENGTH bytes of NAME; NULL: there are too many. */
static struct keep_place *place_of(struct keep *k, const char *root, const char *name, int length)
{
	struct knob wanted;

	knob_init(&wanted, root, "/sys/fs/cgroup%.*s/memory.low", length, name);
	for (unsigned int i = 0; i < k->count; i++)
		if (strcmp(k->at[i].knob.path, wanted.path) == 0)
			return &k->at[i];
	if (k->count == KEEP_KNOBS)
		return NULL;
	k->at[k->count] = (struct keep_place){.knob = wanted};
	return &k->at[k->count++];
}

bool keep_add(struct keep *k, const char *root, const char *name, double percent)
{
	if (!group_is_name(name) || !name[1])
		return false;
	for (size_t i = 1; i <= strlen(name); i++) {
		struct keep_place *p;

		if (name[i] && name[i] != '/')
			continue;
		p = place_of(k, root, name, (int)i);
		if (!p)
			return false;
		p->percent = fmin(p->percent + percent, 100);
	}
	return true;
}

static void hold(struct keep_place *p, uint64_t bytes, const struct knob_recorder *recorder)
{
	uint64_t now;

	if (p->theirs || !knob_read(&p->knob, &now)) {
		if (p->theirs || knob_is_gone(&p->knob) || p->knob.error == EDOM)
			p->knob.held = false; /* not there now, or without a bound */
		return;
	}
	if (p->knob.held && !p->knob.turning) {
		if (now == p->knob.ours)
			return;
		p->knob.held = false;
		p->theirs = now != p->knob.found; /* else a new one of that name */
	}
	if (!p->theirs && now < bytes)
		knob_turn(&p->knob, bytes, recorder);
}

void keep_hold(struct keep *k, double total, const struct knob_recorder *recorder)
{
	for (unsigned int i = 0; i < k->count; i++)
		hold(&k->at[i], (uint64_t)(total * k->at[i].percent / 100), recorder);
}

void keep_take_over(struct keep *k, struct keep *was)
{
	k->kept = was->kept && k->count;
	for (unsigned int i = 0; i < k->count; i++) {
		struct keep_place *p = &k->at[i];

		for (unsigned int j = 0; j < was->count; j++) {
			struct keep_place *q = &was->at[j];

			if (strcmp(p->knob.path, q->knob.path) != 0 || p->percent != q->percent)
				continue;
			*p = *q;
			q->knob.held = false;
		}
	}
	keep_release(was);
}

bool keep_holds(const struct keep *k)
{
	for (unsigned int i = 0; i < k->count; i++)
		if (k->at[i].knob.held)
			return true;
	return false;
}

void keep_release(struct keep *k)
{
	for (unsigned int i = k->count; i > 0; i--) {
		knob_restore(&k->at[i - 1].knob);
		k->at[i - 1].theirs = false;
	}
}
