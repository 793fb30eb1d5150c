/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Memory and its limits. See machine.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "common/log.h"
#include "common/text.h"

static ssize_t read_text(struct price_source *s, const char *name, char *buf, size_t size)
{
	const struct machine *m = (const struct machine *)s;
	char path[SOURCE_NAME + KNOB_PATH];

	snprintf(path, sizeof(path), "%s%s", m->root, name);
	return text_read_path(path, buf, size);
}

void machine_init(struct machine *m, const char *root, uint32_t flush_point, bool dry_run)
{
	static const struct memory_limits unused = {.reads_min = 1, .window = 1};
	static const struct net_limits net = {.full = 0.95, .window = NETWORK_WINDOW};

	memset(m, 0, sizeof(*m));
	m->source.read = read_text;
	m->root = root;
	m->flush_point = flush_point;
	m->dry_run = dry_run;
	meter_memory_init(&m->meter, &unused);
	meter_net_init(&m->net, &net);
	knob_init(&m->background, root, "/proc/sys/vm/dirty_background_ratio");
	knob_init(&m->limit, root, "/proc/sys/vm/dirty_ratio");
}

static bool number_of(struct machine *m, const char *key, uint64_t *number)
{
	const char *at = text_line(m->source.text, key);

	return at && text_numbers(at, number, 1);
}

/* The two limits as they are in force: of the text that the meter has just read. */
static void look_at_limits(struct machine *m)
{
	if (!number_of(m, "nr_dirty_background_threshold ", &m->background_pages) ||
	    !number_of(m, "nr_dirty_threshold ", &m->limit_pages))
		m->background_pages = m->limit_pages = 0;
}

/* Percent of memory that the limit in force is; 0: it is a number of bytes, or cannot be read. */
static double limit_ratio(struct machine *m)
{
	uint64_t now;

	if (m->limit.held)
		return (double)m->limit.ours;
	return knob_read(&m->limit, &now) ? (double)now : 0;
}

/* Pages that may be dirty: where a deferral would raise the limits, as many as then. */
static double full_pages(struct machine *m)
{
	const double full = (double)m->meter.full_pages;
	const double ratio = m->flush_point && m->limit_pages ? limit_ratio(m) : 0;
	const double raised = m->flush_point + FLUSH_POINT_ROOM / 2.0;

	return ratio > 0 ? fmax(full, (double)m->limit_pages / ratio * raised) : full;
}

/* Control groups, where SHARE of a memory may be dirty. */
static struct group_memory look_at_groups(struct machine *m, double share)
{
	struct group_memory g = GROUP_MEMORY_NONE;

	group_memory_above(&g, &m->source, share);
	for (unsigned int i = 0; m->groups && i < m->groups->count; i++)
		group_memory_add(&g, &m->source, m->groups->at[i].name, share);
	return g;
}

void machine_glance(struct machine *m)
{
	meter_memory_sample(&m->meter, &m->source, 0, NULL);
}

void machine_look(struct machine *m)
{
	const double page = (double)sysconf(_SC_PAGESIZE);
	uint64_t total, available, idle;
	struct group_memory g;
	double full;

	machine_glance(m);
	look_at_limits(m);
	m->memory_short = false;
	m->pressed = 1;
	full = full_pages(m) * page;
	m->dirty = full > 0 ? fmin((double)m->meter.dirty_pages * page / full, 1) : 0;
	if (!source_read(&m->source, "/proc/meminfo") || !number_of(m, "MemTotal:", &total) ||
	    !number_of(m, "MemAvailable:", &available) || !total)
		return;
	m->total = (double)total * 1024;
	if (number_of(m, "MemFree:", &idle) && full > 0)
		m->pressed = fmax(1 - (double)idle * 1024 / full, 0);
	g = look_at_groups(m, full / ((double)total * 1024));
	m->dirty = fmin(fmax(m->dirty, g.dirty), 1);
	m->memory_short = available < total / MEMORY_SHORT || g.available * MEMORY_SHORT < 1;
}

double machine_burst_time(const struct machine *m)
{
	const double room = (double)m->background_pages * (double)sysconf(_SC_PAGESIZE);

	return room > 0 ? room / BURST_RATE : INFINITY;
}

/* Bytes a second of one direction, without what mounts moved since the same look: bursts of theirs are not others'. */
static double of_others(const struct rate *card, const struct rate *mounts, uint64_t window)
{
	double seconds, since;
	const double all = rate_growth(card, window, &seconds);

	return seconds > 0 ? (all - rate_growth(mounts, (uint64_t)llround(seconds * 1e9), &since)) /
				     seconds
			   : 0;
}

/* Of a link that is full both ways: the direction that others use more. */
static double use_of_others(const struct machine *m, const struct net_interface *in)
{
	const struct net_limits *limits = &m->net.limits;
	const double received = of_others(&in->received, &m->received, limits->window);
	const double sent = of_others(&in->sent, &m->sent, limits->window);
	const double full = (double)in->speed * 1e6 * limits->full;

	return fmin(fmax(fmax(received, sent), 0) * 8 / full, 1);
}

void machine_network(struct machine *m, const struct traffic *mounts, uint64_t now)
{
	m->now = (double)now / 1e9;
	m->network = 0;
	rate_add(&m->received, NETWORK_WINDOW, now, mounts->received);
	rate_add(&m->sent, NETWORK_WINDOW, now, mounts->sent);
	meter_net_sample(&m->net, &m->source, now);
	for (unsigned int i = 0; i < m->net.n; i++) {
		const struct net_interface *in = &m->net.interfaces[i];

		if (strcmp(in->name, m->net.busiest) == 0)
			m->network = use_of_others(m, in);
	}
}

uint64_t machine_dirty(struct machine *m, const char *device)
{
	uint64_t kib;

	if (source_read(&m->source, "/sys/kernel/debug/bdi/%s/stats", device) &&
	    number_of(m, "BdiReclaimable:", &kib))
		return kib * 1024;
	return m->meter.dirty_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Lets go of both limits, and of the setting: SIGHUP brings it back. */
static bool leave_alone(struct machine *m)
{
	knob_release(&m->background);
	knob_release(&m->limit);
	m->flush_point = 0;
	return false;
}

static bool may_raise(struct machine *m)
{
	const uint32_t background = m->flush_point, limit = background + FLUSH_POINT_ROOM;

	if (!knob_hold(&m->background) || !knob_hold(&m->limit)) {
		log_line(LOG_LEVEL_EVENT, "flush-point: %s cannot be read: left alone",
			 m->background.path);
		return leave_alone(m);
	}
	/* 0: somebody has set a number of bytes in its place. */
	if (!m->background.found || !m->limit.found || m->background.found >= background ||
	    m->limit.found >= limit) {
		log_line(LOG_LEVEL_EVENT,
			 "flush-point: vm.dirty_background_ratio is %u and vm.dirty_ratio %u: left "
			 "alone",
			 (unsigned int)m->background.found, (unsigned int)m->limit.found);
		return leave_alone(m);
	}
	return true;
}

/* Both or none. */
static bool raise_limits(struct machine *m, const struct knob_recorder *recorder)
{
	struct knob *failed = NULL;

	if (!may_raise(m))
		return false;
	/* The limit first: the other must stay below it. */
	if (!knob_turn(&m->limit, m->flush_point + FLUSH_POINT_ROOM, recorder))
		failed = &m->limit;
	else if (!knob_turn(&m->background, m->flush_point, recorder))
		failed = &m->background;
	if (!failed)
		return true;
	if (failed->error == ECANCELED) { /* no record: tried again */
		knob_restore(&m->limit);
		knob_restore(&m->background);
		return false;
	}
	log_line(LOG_LEVEL_EVENT, "flush-point: %s: %s: left alone", failed->path,
		 strerror(failed->error));
	return leave_alone(m);
}

void machine_flush_point(struct machine *m, bool raise, const struct knob_recorder *recorder)
{
	bool as_found = true;

	if (raise == m->raised || !m->flush_point)
		return;
	if (!m->dry_run && raise && !raise_limits(m, recorder))
		return;
	if (!m->dry_run && !raise) {
		as_found = knob_release(&m->background);
		as_found &= knob_release(&m->limit);
	}
	m->raised = raise;
	if (as_found)
		log_line(tell_change(&m->told, !raise, m->now), "dirty memory: %s%s",
			 m->dry_run ? "would " : "",
			 raise ? "raise the flushing point" : "put the flushing point back");
	else
		m->told.left_out = false; /* it was said, of the knob */
}

static void say_calm(struct machine *m)
{
	if (tell_calm(&m->told, m->now))
		log_line(LOG_LEVEL_EVENT, "dirty memory: the flushing point %s %s by now",
			 m->dry_run ? "would be" : "is", m->raised ? "raised" : "back");
}

/* Percent of memory that is dirty, as both limits are counted; 0: not known. */
static double dirty_percent(struct machine *m)
{
	return m->limit_pages
		       ? (double)m->meter.dirty_pages * limit_ratio(m) / (double)m->limit_pages
		       : 0;
}

/* Below the point where the kernel would make writers wait with the limits as they were. */
static bool drained(const struct machine *m, double dirty)
{
	return dirty < (double)(m->background.found + m->limit.found) / 2;
}

/* The point from where the kernel writes is a little below what is DIRTY: it writes, and makes nobody wait for that. */
static void lower_background(struct machine *m, double dirty, const struct knob_recorder *recorder)
{
	uint64_t point = dirty > FLUSH_DRAIN_ROOM ? (uint64_t)(dirty - FLUSH_DRAIN_ROOM) : 0;

	if (!m->background.held)
		return;
	if (point > m->flush_point)
		point = m->flush_point;
	/* one that somebody else has set meanwhile is theirs: to write it would undo a limit in bytes */
	if (point <= m->background.found || !knob_holds_on(&m->background) ||
	    (point != m->background.ours && !knob_turn(&m->background, point, recorder)))
		knob_release(&m->background);
}

static void drain(struct machine *m, const struct knob_recorder *recorder)
{
	const double dirty = dirty_percent(m);

	if (m->drain_until <= 0)
		m->drain_until = m->now + FLUSH_DRAIN_MAX;
	if (!knob_holds_on(&m->limit) || drained(m, dirty) || m->now >= m->drain_until) {
		m->drain_until = 0;
		machine_flush_point(m, false, recorder);
	} else {
		lower_background(m, dirty, recorder);
	}
}

static void follow(struct machine *m, bool raise, const struct knob_recorder *recorder)
{
	if (m->raised && !raise && !m->dry_run) {
		drain(m, recorder);
		return;
	}
	if (raise && m->drain_until > 0) /* it drained: the other again */
		m->raised = false;
	m->drain_until = 0;
	machine_flush_point(m, raise, recorder);
}

void machine_flush_follow(struct machine *m, bool raise, const struct knob_recorder *recorder)
{
	follow(m, raise, recorder);
	say_calm(m);
}

void machine_set_flush_point(struct machine *m, uint32_t percent)
{
	if (percent == m->flush_point)
		return;
	machine_flush_point(m, false, NULL);
	m->flush_point = percent;
}
