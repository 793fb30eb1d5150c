/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Hit rates, worth and effectiveness out of counters. See mount_use.h. */
#include <math.h>

#include "mount_use.h"

static void forget(struct use_bytes *b, double seconds, double constant)
{
	const double left = exp(-seconds / constant);

	b->read *= left;
	b->fetched *= left;
}

static void add(struct use_bytes *b, double read, double fetched)
{
	b->read += read;
	b->fetched += fetched;
}

static bool went_back(const struct mountstats *from, const struct mountstats *to)
{
	return to->programs_read < from->programs_read || to->direct_read < from->direct_read ||
	       to->server_read < from->server_read ||
	       to->programs_written < from->programs_written ||
	       to->server_written < from->server_written || to->reads < from->reads ||
	       to->writes < from->writes || to->opens < from->opens || to->age < from->age;
}

bool mount_use_replaced(const struct mount_use *u, const struct mountstats *s)
{
	return u->last.there && (!s->there || went_back(&u->last, s));
}

static double less(double a, double b)
{
	return a > b ? a - b : 0;
}

static void grow(struct mount_use *u, const struct mountstats *s, double now)
{
	const struct mountstats *l = &u->last;
	const double direct = (double)(s->direct_read - l->direct_read);
	const double read = less((double)(s->programs_read - l->programs_read), direct);
	const double fetched = less((double)(s->server_read - l->server_read), direct);

	add(&u->soon, read, fetched);
	add(&u->late, read, fetched);
	add(&u->turned, read, fetched);
	if (u->turned.fetched > USE_FADE * USE_EVIDENCE)
		u->turned = (struct use_bytes){u->turned.read / 2, u->turned.fetched / 2};
	add(&u->opened, read, fetched);
	u->opens += (double)(s->opens - l->opens);
	if (u->opens > USE_FADE * USE_OPENS) {
		u->opened = (struct use_bytes){u->opened.read / 2, u->opened.fetched / 2};
		u->opens /= 2;
	}
	if (read > 0 || fetched > 0)
		u->read_at = now;
	if (s->programs_written != l->programs_written || s->server_written != l->server_written)
		u->written_at = now;
}

/* All is forgotten. What was never written to is not taken for written to: its data would be held back by
 * limits that are the machine's. */
static void begin(struct mount_use *u, const struct mountstats *s, double now)
{
	const bool written = s->programs_written || s->server_written;

	*u = (struct mount_use){
		.last = *s, .at = now, .read_at = now, .written_at = written ? now : -INFINITY};
	mount_use_asked(u);
}

void mount_use_feed(struct mount_use *u, const struct mountstats *s, double now)
{
	if (!u->last.there || mount_use_replaced(u, s)) {
		begin(u, s, now);
		return;
	}
	forget(&u->soon, now - u->at, USE_SOON);
	forget(&u->late, now - u->at, USE_LATE);
	grow(u, s, now);
	u->last = *s;
	u->at = now;
}

double use_hit_rate(const struct use_bytes *b)
{
	return b->read > b->fetched ? 1 - b->fetched / b->read : 0;
}

static double worth_over(const struct use_bytes *b, double constant)
{
	return use_hit_rate(b) * fmin(b->read / constant / USE_READS_MIN, 1);
}

double use_worth(const struct use_bytes *soon, const struct use_bytes *late)
{
	return fmax(worth_over(soon, USE_SOON), worth_over(late, USE_LATE));
}

bool use_lost(const struct use_bytes *soon, bool was)
{
	const double hits = use_hit_rate(soon);

	return soon->read >= USE_READS_MIN * USE_SOON && hits > USE_AGAIN &&
	       hits < (was ? USE_WHOLE : USE_FITS);
}

/* What of a read-ahead is used where files end early; 1 where few were opened. */
static double used_of_each(const struct mount_use *u)
{
	const double length = u->readahead * 1024.0;
	const double waste = less(u->opened.fetched, u->opened.read);

	return u->opens >= USE_OPENS && length > 0 ? length / (length + waste / u->opens) : 1;
}

static double used_of_all(const struct mount_use *u)
{
	return u->turned.fetched > 0 ? fmin(u->turned.read / u->turned.fetched, 1) : 1;
}

/* Of files that end early nothing is known until there were some: long streams would say it is all used. */
static bool awaits_opens(const struct mount_use *u)
{
	return u->by_opens && u->opens < USE_OPENS && u->at - u->turned_at < USE_OPENS_WAIT;
}

enum use_evidence mount_use_evidence(const struct mount_use *u, double *effectiveness)
{
	const struct use_bytes *b = &u->turned;

	if (!u->last.there)
		return USE_NOT_COUNTED;
	if (b->fetched < USE_EVIDENCE || b->read * USE_MAPPED < b->fetched || awaits_opens(u))
		return USE_TOO_LITTLE;
	*effectiveness = fmin(used_of_all(u), used_of_each(u));
	return USE_KNOWN;
}

void mount_use_turned(struct mount_use *u)
{
	u->by_opens = u->opens >= USE_OPENS ? used_of_each(u) < used_of_all(u)
					    : u->by_opens && awaits_opens(u);
	u->turned_at = u->at;
	u->turned = u->opened = (struct use_bytes){0};
	u->opens = 0;
}

uint64_t mount_use_calls(const struct mount_use *u)
{
	return u->last.reads + u->last.writes - u->asked_calls;
}

void mount_use_asked(struct mount_use *u)
{
	u->asked_calls = u->last.reads + u->last.writes;
	u->asked_written = u->last.programs_written;
}
