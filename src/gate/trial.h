/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Something that may crash or hang, tried in a child of this process, within a bounded time. */
#ifndef GATE_TRIAL_H
#define GATE_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TRIAL_SAYS_MAX 4096  /* bytes that it may say: more counts as failed */
#define TRIAL_MS       10000 /* it may take */

/*
 * Calls body(says, arg) in a child. Returns true if it returned true there; else false, and `why` (of `size`
 * bytes) has what it said, or how it ended. This process is left as it was, whatever body does. Any
 * thread may call.
 */
bool trial(bool (*body)(FILE *says, void *arg), void *arg, unsigned int ms, char *why, size_t size);

#endif /* GATE_TRIAL_H */
