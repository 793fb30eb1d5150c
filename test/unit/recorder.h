/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What an agent's record of a knob comes to (struct knob_recorder): it was kept, or the file system is full. */
#ifndef TEST_RECORDER_H
#define TEST_RECORDER_H

#include <stdbool.h>

static inline bool record_kept(void *arg)
{
	(void)arg;
	return true;
}

static inline bool record_full(void *arg)
{
	(void)arg;
	return false;
}

#endif
