/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Floors as disk time. See admission.h. */
#include "shares/admission.h"

#include <math.h>
#include <stdio.h>

double floor_time(const struct share_limit *floor, const struct share_disk *d)
{
	double time = floor->time / 100.0;
	double bytes = (double)floor->bandwidth * d->ns_per_byte / 1e9;
	double requests = floor->iops * d->seek / 1e9;

	return fmax(time, fmax(bytes, requests));
}

/* What the floor of an operator's rule comes to beyond what is counted of the rule that it hides. */
static double floor_beyond(const struct share_rules *rules, const struct share_rule *rule,
			   const struct share_disk *d)
{
	const struct share_rule *hidden = &rules->rule[rule->hides];
	double time = floor_time(&rule->share.floor, d);

	if (rule->hides == 0)
		return time;
	time -= floor_time(&hidden->share.floor, d);
	/* of others than addresses it is counted once in all: as much without this one */
	return time > 0 || client_list_is_addresses(&hidden->clients) ? time : 0;
}

double floors_of_rules(const struct share_rules *rules, const struct share_disk *d)
{
	double sum = 0;

	for (uint32_t i = 1; i < rules->n; i++) {
		const struct share_rule *rule = &rules->rule[i];

		if (rule->by_operator)
			sum += floor_beyond(rules, rule, d);
		else
			sum += client_list_least(&rule->clients) *
			       floor_time(&rule->share.floor, d);
	}
	return sum;
}

bool floors_exceed(double sum, const struct share_disk *d, char *why, size_t size)
{
	char known[96] = "";

	if (sum * 100 <= FLOORS_MAX + 1e-6)
		return false;
	if (d->ns_per_byte > 0)
		snprintf(known, sizeof(known), " (%s, of %.0f MB/s and %.1f ms a seek)", d->name,
			 1e3 / d->ns_per_byte, d->seek / 1e6);
	snprintf(why, size,
		 "the floors come to %.0f percent of the disk's time%s: %d percent is the "
		 "most",
		 sum * 100, known, FLOORS_MAX);
	return true;
}
