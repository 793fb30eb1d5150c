/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the server's parser cannot check: names out of a list, ranges (its own message names neither
 * parameter nor range), numbers that must agree. Each message names the right values.
 */
#include "params_table.h"

#include <inttypes.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "disk/residency.h"
#include "pricing/ghost_cache.h"
#include "readahead/heuristic.h"
#include "readahead/rules.h"
#include "sched/policy.h"

/* Heuristics, rules or policies that a message lists. */
#define NAMES_MAX 16

struct check {
	ra_params_wrong wrong;
	void *arg;
	int errors;
};

static void __attribute__((format(printf, 2, 3))) complain(struct check *c, const char *format, ...)
{
	char line[PARAMETER_WHY];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	c->wrong(c->arg, line);
	c->errors++;
}

/* NAMES end with NULL; capitals do not matter, as in the server's own blocks. */
static void check_name(struct check *c, const char *name, const char *value,
		       const char *const *names)
{
	char list[256] = "";

	for (int i = 0; names[i] != NULL; i++) {
		size_t at = strlen(list);

		if (strcasecmp(value, names[i]) == 0)
			return;
		snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "", names[i]);
	}
	complain(c, "%s = %s is none of %s", name, value, list);
}

static void check_order(struct check *c, const char *low_name, uint64_t low, const char *high_name,
			uint64_t high)
{
	if (low > high)
		complain(c, "%s = %" PRIu64 " is above %s = %" PRIu64, low_name, low, high_name,
			 high);
}

/* A ceiling of 0 is none. */
static void check_floor(struct check *c, const char *floor_name, uint64_t floor,
			const char *ceiling_name, uint64_t ceiling)
{
	if (ceiling != 0)
		check_order(c, floor_name, floor, ceiling_name, ceiling);
}

static void check_ranges(struct check *c, const void *params, bool of_server)
{
	unsigned int n;
	const struct parameter *p = ra_parameters(&n);
	struct parameter_value v;
	char why[PARAMETER_WHY];

	for (unsigned int i = 0; i < n; i++) {
		if (p[i].kind != PARAMETER_NUMBER || (p[i].of == PARAMETER_OF_SERVER) != of_server)
			continue;
		ra_params_get(&p[i], params, &v);
		if (!parameter_in_range(&p[i], v.number, why, sizeof(why)))
			complain(c, "%s", why);
	}
}

static void check_export_names(struct check *c, const struct ra_export_params *p)
{
	static const char *const prices[] = {"auto", "true", "false", NULL};
	const char *names[NAMES_MAX + 1] = {NULL};
	const struct heuristic_ops *h;
	const struct readahead_rules *r;
	const struct sched_policy *s;

	for (unsigned int i = 0; i < NAMES_MAX && (h = heuristic_nth(i)) != NULL; i++)
		names[i] = h->name;
	check_name(c, "Heuristic", p->heuristic, names);
	memset(names, 0, sizeof(names));
	for (unsigned int i = 0; i < NAMES_MAX && (r = rules_nth(i)) != NULL; i++)
		names[i] = r->name;
	check_name(c, "Rules", p->rules, names);
	memset(names, 0, sizeof(names));
	for (unsigned int i = 0; i < NAMES_MAX && (s = sched_policy_nth(i)) != NULL; i++)
		names[i] = s->name;
	check_name(c, "Scheduler", p->scheduler, names);
	check_name(c, "Fsstat_Prices", p->fsstat_prices, prices);
}

int ra_params_check_export(const struct ra_export_params *p, ra_params_wrong wrong, void *arg)
{
	struct check c = {wrong, arg, 0};

	check_export_names(&c, p);
	check_ranges(&c, p, false);
	check_order(&c, "Chunk_Min", p->chunk_min, "Chunk_Max", p->chunk_max);
	check_order(&c, "Window_Init", p->window_init, "Window_Max", p->window_max);
	check_order(&c, "Seq_Threshold", p->seq_threshold, "Seq_Max", p->seq_max);
	check_floor(&c, "Floor_Bandwidth", p->floor_bandwidth, "Ceiling_Bandwidth",
		    p->ceiling_bandwidth);
	check_floor(&c, "Floor_Iops", p->floor_iops, "Ceiling_Iops", p->ceiling_iops);
	check_floor(&c, "Floor_Time", p->floor_time, "Ceiling_Time", p->ceiling_time);
	return c.errors;
}

int ra_params_check_module(const struct ra_module_params *p, ra_params_wrong wrong, void *arg)
{
	static const char *const meters[] = {"depth", "delay", NULL};
	const char *probes[NAMES_MAX + 1] = {NULL};
	struct check c = {wrong, arg, 0};

	check_ranges(&c, p, true);
	check_order(&c, "Price_Sample", p->price_sample, "Price_Interval", p->price_interval);
	for (unsigned int i = 0; i < NAMES_MAX; i++)
		probes[i] = residency_probe_nth(i);
	check_name(&c, "Residency_Probe", p->residency_probe, probes);
	check_name(&c, "Disk_Meter", p->disk_meter, meters);
	if (strlen(p->network_interface) >= IFNAMSIZ)
		complain(&c,
			 "Network_Interface = %s is longer than the name of an interface can be: "
			 "%d characters",
			 p->network_interface, IFNAMSIZ - 1);
	if (p->learnt_directory[0] != '\0' && p->learnt_directory[0] != '/' &&
	    strcasecmp(p->learnt_directory, "none") != 0)
		complain(&c, "Learnt_Directory = %s is neither an absolute path nor none",
			 p->learnt_directory);
	if (p->ghost_memory != 0 && p->ghost_memory < GHOST_MEMORY_MIN)
		complain(&c,
			 "Ghost_Memory = %" PRIu64
			 " is too small: 0 for none, or at least %d bytes",
			 p->ghost_memory, GHOST_MEMORY_MIN);
	return c.errors;
}
