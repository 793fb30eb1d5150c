/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See times.h. */
#include "times.h"

#define US 1000 /* ns */

void replay_times_add(struct replay_times *t, uint64_t due, uint64_t sent, uint64_t answered)
{
	latency_add(&t->latency, (answered - sent) / US);
	latency_add(&t->late, (sent - due) / US);
	latency_add(&t->waited, (answered - due) / US);
}

void replay_times_merge(struct replay_times *into, const struct replay_times *from)
{
	latency_merge(&into->latency, &from->latency);
	latency_merge(&into->late, &from->late);
	latency_merge(&into->waited, &from->waited);
}
