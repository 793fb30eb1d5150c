/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Progress on stderr: a bar on a terminal, else a line every few seconds. */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#define BAR_WIDTH     40
#define BAR_INTERVAL  0.2 /* seconds */
#define LINE_INTERVAL 5.0

void progress_begin(struct progress *p)
{
	p->terminal = isatty(STDERR_FILENO);
	p->next = p->terminal ? BAR_INTERVAL : LINE_INTERVAL;
	p->shown = false;
}

static void bar(double share, double elapsed, double mb)
{
	char cells[BAR_WIDTH + 1];

	for (int i = 0; i < BAR_WIDTH; i++)
		cells[i] = i < share * BAR_WIDTH ? '#' : '.';
	cells[BAR_WIDTH] = 0;
	fprintf(stderr, "\r[%s] %3.0f %%  %.0f s  %.1f MB/s ", cells, 100 * share, elapsed,
		mb / elapsed);
}

void progress_update(struct progress *p, double elapsed, uint64_t bytes, uint64_t planned)
{
	double share = planned ? (double)bytes / (double)planned : 0;
	double mb = (double)bytes / 1e6;

	if (elapsed < p->next)
		return;
	p->next = elapsed + (p->terminal ? BAR_INTERVAL : LINE_INTERVAL);
	if (share > 1)
		share = 1;
	if (p->terminal)
		bar(share, elapsed, mb);
	else
		fprintf(stderr, "nfsbench: %3.0f %%  %.0f s  %.1f MB/s\n", 100 * share, elapsed,
			mb / elapsed);
	p->shown = true;
}

void progress_end(struct progress *p)
{
	if (p->terminal && p->shown)
		fputs("\r\033[K", stderr);
}
