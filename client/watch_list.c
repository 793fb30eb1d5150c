/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which mounts are looked after, and that settings may change while they are. See watch.h. */
#include <string.h>

#include "watch.h"

static struct watch *find(struct watch *watches, unsigned int count, const char *path)
{
	for (unsigned int i = 0; i < count; i++)
		if (watches[i].path && strcmp(watches[i].path, path) == 0)
			return &watches[i];
	return NULL;
}

static void let_go(struct watch_host *h, struct watch *w)
{
	watch_release(h, w);
	mount_calls_leave(&w->calls, &h->pool);
}

void watch_list(struct watch_host *h, const struct settings *settings)
{
	const unsigned int count = h->settings.mount_count;
	struct watch old[MOUNTS_MAX], *was;

	memcpy(old, h->watches, sizeof(old));
	for (unsigned int i = 0; i < settings->mount_count; i++) {
		struct watch *w = &h->watches[i];

		was = find(old, count, settings->mounts[i]);
		*w = was ? *was : (struct watch){0};
		w->path = settings->mounts[i];
		if (was) {
			w->knobs.path = w->path;
			was->path = NULL;
		} else {
			mount_knobs_init(&w->knobs, w->path);
		}
	}
	for (unsigned int i = 0; i < count; i++)
		if (old[i].path)
			let_go(h, &old[i]);
	h->settings = *settings;
	watch_groups_list(h, settings);
	watch_keep_list(h, settings);
	machine_set_flush_point(&h->machine, (uint32_t)settings->flush_point);
}
