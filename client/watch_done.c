/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is done about a mount, which is not always what was decided. See watch.h. */
#include <string.h>

#include "watch.h"

/* Mounts of one export have their knobs in common: those belong to the mount that came first. */
const struct watch *watch_owner(const struct watch_host *h, const struct watch *w)
{
	if (w->knobs.owns)
		return w;
	for (unsigned int i = 0; i < h->settings.mount_count; i++) {
		const struct watch *o = &h->watches[i];

		if (o->knobs.owns && strcmp(o->mount.device, w->mount.device) == 0)
			return o;
	}
	return NULL;
}

enum write_way watch_way(const struct watch_host *h, const struct watch *w)
{
	const struct watch *owner;

	if (w->decision.way == WRITE_ACCELERATE && w->push_fails)
		return WRITE_NORMAL;
	if (w->decision.way != WRITE_DEFER)
		return w->decision.way;
	owner = watch_owner(h, w);
	return owner && owner->knobs.ratio.set == KNOB_AS_FOUND ? WRITE_NORMAL : WRITE_DEFER;
}

uint32_t watch_readahead(const struct watch_host *h, const struct watch *w)
{
	const struct watch *owner;

	if (!w->decision.readahead)
		return 0;
	owner = watch_owner(h, w);
	return owner && owner->knobs.readahead.set == KNOB_AS_FOUND ? 0 : w->decision.readahead;
}
