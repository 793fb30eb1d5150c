/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Progress on stderr: a bar on a terminal, else a line every few seconds. */
#ifndef NFSBENCH_PROGRESS_H
#define NFSBENCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool terminal;
	double next; /* seconds since the start when to speak again */
	bool shown;
};

void progress_begin(struct progress *p);
/* Cheap to call often: speaks at most a few times a second. */
void progress_update(struct progress *p, double elapsed, uint64_t bytes, uint64_t planned);
void progress_end(struct progress *p);

#endif
