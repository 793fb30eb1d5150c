/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which clients of work clients run when: all at once, or one after another; and from when to when
 * what they get is measured (steady.h). For the other works: all flows always run.
 */
#ifndef NFSBENCH_TURNS_H
#define NFSBENCH_TURNS_H

#include "load.h"

/* At the beginning, and whenever the one before is done (alone). */
void turns_begin(struct load *load, unsigned int turn, double now);
/* Then the first requests of the flows with a rate whose turn it is are due, at NS, and no others. */
void turns_due(struct load *load, uint64_t ns);
/* The flow may issue requests. */
bool turns_run(const struct load *load, const struct flow *f);
/* Its turn has begun, whether it still runs or not. */
bool turns_has(const struct load *load, const struct flow *f);
/* The time is over, or FLOW has nothing more to do (or else NULL): true when somebody stops now. */
bool turns_end(struct load *load, const struct flow *flow, double now);
/* All flows of the present turn are done. */
bool turns_done(const struct load *load);

#endif
