/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Processor time of the host, and of a limited control group. See meter_cpu.h. */
#include <string.h>

#include "pricing/meter.h"
#include "pricing/meter_cpu.h"

/* Columns of /proc/stat's first line; guests' time is already in the first two. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, COLUMNS };

void meter_cpu_init(struct meter_cpu *m, uint64_t window)
{
	memset(m, 0, sizeof(*m));
	m->window = window;
}

/* The first four columns are as old as Linux; the others may be missing. */
static bool host_sample(struct meter_cpu *m, struct price_source *s, uint64_t now)
{
	uint64_t column[COLUMNS] = {0};
	const char *at;
	double total = 0;

	if (!source_read(s, "/proc/stat"))
		return false;
	at = text_line(s->text, "cpu ");
	if (!at || !text_numbers(at, column, IDLE + 1))
		return false;
	for (int i = 0; i < COLUMNS && text_number(&at, &column[i]); i++)
		total += (double)column[i];
	/* iowait may go back a little: then both begin anew */
	if (m->total.n && total < m->total.at[m->total.n - 1].count)
		m->busy.n = 0;
	rate_add(&m->total, m->window, now, total);
	rate_add(&m->busy, m->window, now, total - (double)column[IDLE] - (double)column[IOWAIT]);
	return true;
}

/* Without two points, as after a restart of the counters, what it was. */
static double host_use(const struct meter_cpu *m)
{
	double seconds, total = rate_growth(&m->total, m->window, &seconds);

	return total > 0 ? meter_share(rate_growth(&m->busy, m->window, &seconds), total) : m->host;
}

/* Whether CONTROLLER is one of the comma-separated names between AT and END. */
static bool names_controller(const char *at, const char *end, const char *controller)
{
	size_t len = strlen(controller);

	while (at < end) {
		size_t n = strcspn(at, ",:");

		if (n == len && !memcmp(at, controller, len))
			return true;
		at += n + 1;
	}
	return false;
}

/* A line "ID:CONTROLLERS:/PATH"; returns its path if it is the one for processors. */
static const char *cpu_path(const char *line, bool *v1)
{
	const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

	if (!path || strcspn(line, "\n") < (size_t)(path - line) || path[1] != '/')
		return NULL;
	*v1 = names_controller(names + 1, path, "cpu");
	return *v1 || !strncmp(line, "0::", 3) ? path + 1 : NULL;
}

/* Finds the server's control group. One in the old hierarchy wins: there the limits are. */
static void find_group(struct meter_cpu *m, struct price_source *s)
{
	char found[SOURCE_NAME] = "";
	bool v1 = false;

	if (source_read(s, "/proc/self/cgroup"))
		for (const char *line = s->text; line && !v1; line = text_next_line(line)) {
			const char *path = cpu_path(line, &v1);
			size_t len = path ? strcspn(path, "\n") : 0;

			if (!path || len >= sizeof(found))
				continue;
			memcpy(found, path, len);
			found[len] = '\0';
		}
	if (found[0] && !found[1])
		found[0] = '\0'; /* the root */
	if (v1 != m->group_v1 || strcmp(found, m->group_path)) {
		memset(m->groups, 0, sizeof(m->groups));
		memcpy(m->group_path, found, sizeof(found));
		m->group_v1 = v1;
	}
}

static double allowed_v2(struct price_source *s, const char *path)
{
	uint64_t max[2];

	if (!source_read(s, "/sys/fs/cgroup%s/cpu.max", path) || !text_numbers(s->text, max, 2))
		return 0; /* also "max": no limit */
	return max[1] ? (double)max[0] / (double)max[1] : 0;
}

static double allowed_v1(struct price_source *s, const char *path)
{
	uint64_t quota, period;

	if (!source_read(s, "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", path) ||
	    !text_numbers(s->text, &quota, 1))
		return 0; /* also "-1": no limit */
	if (!source_read(s, "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", path) ||
	    !text_numbers(s->text, &period, 1) || !period)
		return 0;
	return (double)quota / (double)period;
}

/* Seconds that the group has used so far. */
static bool group_used(struct meter_cpu *m, struct price_source *s, const char *path, double *used)
{
	const char *at;
	uint64_t n;

	if (m->group_v1) {
		if (!source_read(s, "/sys/fs/cgroup/cpuacct%s/cpuacct.usage", path) ||
		    !text_numbers(s->text, &n, 1))
			return false;
		*used = (double)n / 1e9;
		return true;
	}
	if (!source_read(s, "/sys/fs/cgroup%s/cpu.stat", path))
		return false;
	at = text_line(s->text, "usage_usec ");
	if (!at || !text_numbers(at, &n, 1))
		return false;
	*used = (double)n / 1e6;
	return true;
}

static bool group_sample(struct meter_cpu *m, struct price_source *s, uint64_t now,
			 struct cpu_group *g, const char *path)
{
	double used;

	g->allowed = m->group_v1 ? allowed_v1(s, path) : allowed_v2(s, path);
	if (g->allowed <= 0)
		return true;
	if (!group_used(m, s, path, &used))
		return false;
	rate_add(&g->used, m->window, now, used);
	return true;
}

/*
 * From the server's own group upwards. Where one is not visible, in a container, its root may be.
 */
static bool groups_sample(struct meter_cpu *m, struct price_source *s, uint64_t now)
{
	char path[SOURCE_NAME];

	m->group = 0;
	find_group(m, s);
	memcpy(path, m->group_path, sizeof(path));
	for (int i = 0; i < CPU_GROUPS_MAX; i++) {
		struct cpu_group *g = &m->groups[i];
		char *slash = strrchr(path, '/');
		double use;

		if (!group_sample(m, s, now, g, path))
			return false;
		use = g->allowed > 0 ? meter_share(rate_per_second(&g->used, m->window), g->allowed)
				     : 0;
		if (use > m->group)
			m->group = use;
		if (!slash)
			break;
		*slash = '\0';
	}
	return true;
}

void meter_cpu_sample(struct meter_cpu *m, struct price_source *s, uint64_t now)
{
	m->unknown[0] = '\0';
	if (!host_sample(m, s, now)) {
		meter_unknown(m->unknown, s->name);
		m->host = 0;
	} else {
		m->host = host_use(m);
	}
	if (!groups_sample(m, s, now))
		meter_unknown(m->unknown, s->name);
	m->utilization = m->host > m->group ? m->host : m->group;
}
