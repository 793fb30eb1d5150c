/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Control groups whose cached data is kept. See watch.h and keep.h. */
#include <string.h>

#include "common/log.h"
#include "octal.h"
#include "watch.h"

static struct keep_input input_of(const struct watch_host *h, double now)
{
	struct keep_input in = {.lost = h->cache_lost, .pressed = h->machine.pressed};

	for (unsigned int i = 0; i < h->settings.mount_count; i++) {
		const struct watch *w = &h->watches[i];

		if (!watch_priced(h, w, now) || w->doubt.frozen || w->doubt.jumping)
			continue;
		in.priced = true;
		in.used |= w->use.last.there && now - w->use.read_at < DECIDE_UNUSED;
	}
	return in;
}

static void tell(struct watch_host *h)
{
	const char *would = h->hand.dry_run ? "would be " : "";
	const char *way = h->keep.kept ? "kept: programs read again what memory has no room for"
				       : "as without us";

	for (unsigned int i = 0; i < h->settings.keeps.count; i++) {
		const char *name = h->settings.keeps.at[i].name;

		log_line(LOG_LEVEL_EVENT, "%s: its cached data: %s%s", name, would, way);
		history_add(&h->history, "%s: its cached data: %s%s", name, would, way);
	}
}

/* What was lost before says nothing of what is now. */
static void begin_anew(struct watch_host *h)
{
	for (unsigned int i = 0; i < h->settings.mount_count; i++)
		h->watches[i].use.soon = (struct use_bytes){0};
}

void watch_keep_tick(struct watch_host *h, double now)
{
	const struct keep_input in = input_of(h, now);
	const bool was = h->keep.kept;

	if (!h->keep.count)
		return;
	h->keep.kept = keep_judge(was, &in);
	if (h->keep.kept != was)
		tell(h);
	if (h->keep.kept && !was)
		begin_anew(h);
	if (h->hand.dry_run || (h->keep.kept == was && now - h->keep.looked < KEEP_PACE))
		return;
	h->keep.looked = now;
	if (h->keep.kept)
		keep_hold(&h->keep, h->machine.total, &h->hand.recorder);
	else if (was)
		keep_release(&h->keep);
}

void watch_keep_release(struct watch_host *h)
{
	keep_release(&h->keep);
}

void watch_keep_list(struct watch_host *h, const struct settings *settings)
{
	struct keep was = h->keep;

	memset(&h->keep, 0, sizeof(h->keep));
	for (unsigned int i = 0; i < settings->keeps.count; i++)
		if (!keep_add(&h->keep, settings->root, settings->keeps.at[i].name,
			      settings->keeps.at[i].weight))
			log_line(LOG_LEVEL_WARN,
				 "keep %s: is no name of a control group, or there "
				 "are too many: it is left alone",
				 settings->keeps.at[i].name);
	keep_take_over(&h->keep, &was);
}

void watch_keep_show(const struct watch_host *h, FILE *out)
{
	for (unsigned int i = 0; i < h->settings.keeps.count; i++) {
		const char *name = h->settings.keeps.at[i].name;

		fputs("group ", out);
		octal_print(out, name);
		fprintf(out, ": its cached data: %s\n",
			keep_keeps(&h->keep, h->settings.root, name) ? "kept"
			: h->keep.kept ? "not kept: memory.low is not as high as it should be"
				       : "as without us");
	}
}
