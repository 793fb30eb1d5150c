/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Turns of turns.h. */
#include "turns.h"

#define ALONE_WARM_UP 0.1 /* of the time that a client has alone */

void turns_begin(struct load *load, unsigned int turn, double now)
{
	const struct options *o = load->options;

	load->turn = turn;
	load->turn_began = now;
	load->turn_ended = false;
	for (unsigned int i = 0; i < load->group_count && load->groups[i].spec; i++) {
		struct group *g = &load->groups[i];

		if (!load->turns)
			steady_begin(&g->steady, now + o->warm_up);
		else if (g->turn == turn)
			steady_begin(&g->steady, now + ALONE_WARM_UP * o->alone);
	}
}

void turns_due(struct load *load, uint64_t ns)
{
	for (unsigned int i = 0; i < load->flow_count; i++) {
		struct flow *f = &load->flows[i];

		if (f->interval && !f->done)
			f->due = turns_has(load, f) ? ns : UINT64_MAX;
	}
}

bool turns_has(const struct load *load, const struct flow *f)
{
	return !load->turns || load->groups[f->group].turn == load->turn;
}

bool turns_run(const struct load *load, const struct flow *f)
{
	return !load->turn_ended && turns_has(load, f);
}

bool turns_end(struct load *load, const struct flow *flow, double now)
{
	const struct options *o = load->options;
	double most = load->turns ? o->alone : o->duration;

	if (!load->groups[0].spec || load->turn_ended || (!flow && now - load->turn_began < most))
		return false;
	load->turn_ended = true;
	for (unsigned int i = 0; i < load->group_count; i++) {
		if (!load->turns || load->groups[i].turn == load->turn)
			steady_end(&load->groups[i].steady, now);
	}
	return true;
}

bool turns_done(const struct load *load)
{
	for (unsigned int i = 0; i < load->flow_count; i++) {
		if (turns_has(load, &load->flows[i]) && !load->flows[i].done)
			return false;
	}
	return true;
}
