/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Control groups that halt while the server is dear. See watch.h and halt.h. */
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "octal.h"
#include "watch.h"

/* The mount whose server is dearest now, NULL: none states prices that count. */
static const struct watch *dearest(const struct watch_host *h, double now)
{
	const struct watch *found = NULL;

	for (unsigned int i = 0; i < h->settings.mount_count; i++) {
		const struct watch *w = &h->watches[i];

		if (watch_priced(h, w, now) && !w->doubt.frozen && !w->doubt.jumping &&
		    (!found || w->detector.prices.write > found->detector.prices.write))
			found = w;
	}
	return found;
}

static void tell(struct watch_host *h, struct watch_group *g, bool changed, double price,
		 double bid, double now)
{
	const char *way = g->halt.halted ? "halted" : "goes on";
	const char *why = halt_why_texts[g->halt.why], *would = h->hand.dry_run ? "would be " : "";
	enum log_level level = LOG_LEVEL_EVENT;

	if (changed)
		level = tell_change(&g->told, !g->halt.halted, now);
	else if (!tell_calm(&g->told, now))
		return;
	log_line(level, "%s: %s%s%s (the server's price %.3g, its %.3g): %s", g->path, would, way,
		 changed ? "" : " by now", price, bid, why);
	if (changed)
		history_add(&h->history, "%s: %s%s (the server's price %.3g, its %.3g): %s",
			    g->path, would, way, price, bid, why);
}

static void refuse(struct watch_group *g, const char *why)
{
	g->refused = true;
	log_line(LOG_LEVEL_WARN, "halt %s: %s: it is left alone", g->path, why);
}

/* Why it is not ours to halt now; NULL: it is. Who halts it while we hold it writes what stands there already, so that
 * cannot be told: then it goes on when we say so. */
static const char *why_away(struct watch_group *g)
{
	uint64_t now;

	if (g->knob.held)
		return NULL;
	if (!knob_read(&g->knob, &now))
		return knob_is_gone(&g->knob) ? "is not there" : "cannot be read";
	return now ? "somebody else has frozen it" : NULL;
}

/* Not for good, and tried again whenever it would be halted. */
static const char not_now[] = "cannot be turned now";

/* WHY: NULL, or with the cause where the last call of its knob failed for one. */
static void say_away(const struct watch_group *g, enum log_level level, const char *why)
{
	const int cause = why && !knob_is_gone(&g->knob) ? g->knob.error : 0;

	log_line(level, "halt %s: %s%s%s", g->path, why ? why : "can be halted", cause ? ": " : "",
		 cause ? strerror(cause) : "");
}

static void note_away(struct watch_group *g, const char *why, double now)
{
	if (why != g->away)
		say_away(g, tell_change(&g->away_told, !why, now), why);
	else if (tell_calm(&g->away_told, now))
		say_away(g, LOG_LEVEL_EVENT, why);
	g->away = why;
}

static bool is_free(struct watch_group *g, double now)
{
	const char *why = why_away(g);

	if (why || g->away != not_now) /* that it can be read does not say that it can be turned */
		note_away(g, why, now);
	return !why;
}

/* Want of descriptors or memory, or a signal. */
static bool is_passing(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR ||
	       error == EAGAIN;
}

/* It runs on, for now or for good. */
static void turn_failed(struct watch_group *g, double now)
{
	g->halt = (struct halt){0};
	if (is_passing(g->knob.error))
		note_away(g, not_now, now);
	else if (g->knob.error != ECANCELED && !knob_is_gone(&g->knob))
		refuse(g, strerror(g->knob.error));
	knob_restore(&g->knob);
}

static void turn(struct watch_host *h, struct watch_group *g, double now)
{
	if (h->hand.dry_run)
		return;
	if (!g->halt.halted)
		knob_release(&g->knob);
	else if (knob_turn(&g->knob, 1, &h->hand.recorder))
		note_away(g, NULL, now);
	else
		turn_failed(g, now);
}

static void tick(struct watch_host *h, struct watch_group *g, const struct watch *w, double bid,
		 double now)
{
	const double price = w ? w->detector.prices.write : 0;
	const bool was = g->halt.halted;

	if (g->refused || !g->knob.path[0] || !is_free(g, now))
		return;
	if (halt_judge(&g->halt, w != NULL, price, bid, w ? w->answered : 0, now) != was)
		turn(h, g, now);
	tell(h, g, g->halt.halted != was, price, bid, now);
}

void watch_groups_tick(struct watch_host *h, double now)
{
	const struct watch *w = h->settings.halts.count ? dearest(h, now) : NULL;

	for (unsigned int i = 0; i < h->settings.halts.count; i++)
		tick(h, &h->groups[i], w,
		     h->settings.halts.at[i].weight * h->settings.decide.price_min, now);
}

void watch_groups_release(struct watch_host *h)
{
	for (unsigned int i = 0; i < WEIGHTS_MAX; i++)
		if (h->groups[i].path)
			knob_release(&h->groups[i].knob);
}

/* The one with K among OLD that may go on as it is; NULL: there is none. */
static struct watch_group *find(struct watch_group old[WEIGHTS_MAX], const struct knob *k)
{
	for (unsigned int i = 0; i < WEIGHTS_MAX && k->path[0]; i++)
		if (old[i].path && !old[i].refused && strcmp(old[i].knob.path, k->path) == 0)
			return &old[i];
	return NULL;
}

static void begin(struct watch_host *h, struct watch_group *g)
{
	bool known = true;

	if (!group_is_name(g->path))
		refuse(g, "is no name of a control group");
	else if (group_holds_us(&h->machine.source, g->path))
		refuse(g, "the agent itself is in it");
	else if (group_holds_init(&h->machine.source, g->path, &known))
		refuse(g, "process 1 is in it");
	else if (!known)
		refuse(g,
		       "whether process 1 is in it cannot be told: /proc/1/cgroup cannot be read");
}

void watch_groups_list(struct watch_host *h, const struct settings *settings)
{
	struct watch_group old[WEIGHTS_MAX], *was;

	memcpy(old, h->groups, sizeof(old));
	memset(h->groups, 0, sizeof(h->groups));
	for (unsigned int i = 0; i < settings->halts.count; i++) {
		struct watch_group *g = &h->groups[i];
		const char *name = h->settings.halts.at[i].name;

		knob_init(&g->knob, settings->root, "/sys/fs/cgroup%s/cgroup.freeze", name);
		was = find(old, &g->knob);
		if (was)
			*g = *was;
		g->path = name;
		if (was)
			was->path = NULL;
		else
			begin(h, g);
	}
	for (unsigned int i = 0; i < WEIGHTS_MAX; i++)
		if (old[i].path)
			knob_release(&old[i].knob);
	h->machine.groups = &h->settings.halts;
}

void watch_groups_show(const struct watch_host *h, FILE *out)
{
	for (unsigned int i = 0; i < h->settings.halts.count; i++) {
		const struct watch_group *g = &h->groups[i];
		const char *apart = g->refused ? "it cannot be halted" : g->away;

		fputs("group ", out);
		octal_print(out, g->path);
		fprintf(out, ": %s: %s\n",
			apart		 ? "left alone"
			: g->halt.halted ? "halted"
					 : "runs",
			apart ? apart : halt_why_texts[g->halt.why]);
	}
}
