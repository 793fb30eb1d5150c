/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Named works: which clients ask what. */
#ifndef SCHEDSIM_WORKS_H
#define SCHEDSIM_WORKS_H

#include "sim.h"

#define WORK_GROUPS 4

/* Of a group: an address each, one for all, that of the group before, the first ones again. */
enum sim_addresses { SIM_EACH, SIM_ONE, SIM_SAME, SIM_AGAIN };

struct sim_work_kind {
	const char *name, *about;
	uint64_t seconds; /* at most */
	bool first;	  /* it ends with the first client that is done; else with the last */
	struct {
		unsigned int clients; /* alike, each with a file of its own */
		enum sim_addresses addresses;
		struct sim_client_kind kind;
	} group[WORK_GROUPS];
};

extern const struct sim_work_kind sim_works[];

/* NULL: no work of that NAME. */
const struct sim_work_kind *sim_work_find(const char *name);
/* Its clients, to be freed; *N: how many. NULL: out of memory. */
struct sim_client_kind *sim_work_clients(const struct sim_work_kind *w, unsigned int *n);

#endif
