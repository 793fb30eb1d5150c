/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Places of a few each, by hash. See flow_told.h. */
#include "pricing/flow_told.h"

#define SETS (FLOW_TOLD_MAX / FLOW_TOLD_WAYS)

static unsigned int first_place(uint64_t client, uint16_t export_id)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */

	return (unsigned int)(((client * odd) ^ export_id) * odd >> 40) % SETS * FLOW_TOLD_WAYS;
}

uint64_t flow_told(struct flow_told *t, uint64_t client, uint16_t export_id, uint64_t disk_time,
		   uint64_t now, uint64_t interval)
{
	unsigned int first = first_place(client, export_id), place = first;
	uint64_t before;

	for (unsigned int i = first; i < first + FLOW_TOLD_WAYS; i++) {
		if (t->flow[i].client == client && t->flow[i].export_id == export_id) {
			before = t->flow[i].disk_time;
			t->flow[i].disk_time = disk_time;
			t->flow[i].at = now;
			return disk_time > before ? disk_time - before : 0;
		}
		if (t->flow[i].at < t->flow[place].at)
			place = i;
	}
	t->flow[place].client = client;
	t->flow[place].export_id = export_id;
	t->flow[place].disk_time = disk_time;
	t->flow[place].at = now;
	return disk_time <= interval ? disk_time : 0;
}
