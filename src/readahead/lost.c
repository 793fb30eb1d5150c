/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reads that find nothing in memory though it was asked for: it is late, or has come and is gone. See readahead.h.
 *
 *   late    the window grows: the next is asked for earlier
 *   lost    what waits is given up, the window shrinks, and the run begins anew, once for all that was asked for until then
 */
#include "readahead/beside.h"
#include "readahead/engine.h"
#include "readahead/evidence.h"
#include "readahead/readahead.h"
#include "readahead/way.h"
#include "readahead/window.h"

void readahead_late(struct readahead *ra, const struct readahead_tuning *t,
		    const struct cursor_ref *cursor)
{
	struct cursor *c = heur_cursor_get(&ra->table, *cursor);

	if (!c)
		return;
	if (c->window && c->window < t->window_max) {
		struct window_limits l = {.max = t->window_max};

		c->window = (uint32_t)window_grow(&l, c->window);
	}
	heur_file_put(c->file);
}

static uint64_t lowest(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Whether what is at the position AT of C was brought: what it asked for itself has come, or others' has (GONE). */
static bool was_brought(const struct cursor *c, uint64_t at, bool gone)
{
	if (!c->ra_end || at >= c->done_end)
		return false;
	if (at < c->start || at < c->own)
		return gone;
	return !way_is_stride(c->way) || cursor_bytes(c, at, at + 1);
}

void readahead_lost(struct readahead *ra, const struct readahead_tuning *t,
		    struct readahead_counters *counters, const struct cursor_ref *cursor,
		    uint64_t offset)
{
	struct cursor *c = heur_cursor_get(&ra->table, *cursor);
	bool gone;

	if (!c)
		return;
	gone = beside_gone(c->file, offset);
	offset = way_from(c->way, offset, offset + 1);
	if (was_brought(c, offset, gone)) {
		struct window_limits l = {.max = t->window_max};

		evidence_lost(ra, counters, c);
		c->window = (uint32_t)window_shrink(&l, c->window);
		if (!c->queued)
			cursor_end_run(c);
		else
			c->own = c->ra_end; /* once is enough, however much of it is asked for */
		c->start = lowest(offset, c->next, c->read_end);
		cursor_check(c);
	}
	heur_file_put(c->file);
}
