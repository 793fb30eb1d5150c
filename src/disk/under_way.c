/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* READs at the FSAL below. See under_way.h. */
#include "disk/under_way.h"

#include "common/clock.h"

void under_way_init(struct under_way *w)
{
	w->watched = NULL;
	w->seen = NULL;
	w->io = NULL;
	w->begun = 0;
}

/* One hold is enough for both. */
static void see(struct under_way *w, struct backing *b)
{
	if (w->seen == NULL)
		w->seen = backing_hold(b);
}

void under_way_watch(struct under_way *w, struct backing *b)
{
	w->watched = backing_asks(b, &w->read);
	if (w->watched != NULL)
		see(w, b);
}

void under_way_time(struct under_way *w, struct backing *b, uint64_t offset, uint64_t len,
		    bool resident)
{
	see(w, b);
	w->offset = offset;
	w->len = len;
	w->resident = resident;
	w->begun = clock_now();
}

void under_way_enter(struct under_way *w, struct export_io *io)
{
	export_io_enter_again(io);
	w->io = export_io_ref(io);
}

void under_way_end(struct under_way *w, bool brought)
{
	struct backing *b = w->seen;
	struct export_io *io = w->io;

	if (w->watched != NULL)
		overdue_end(w->watched, &w->read);
	if (w->begun != 0 && brought)
		backing_answered(b, w->offset, w->len, w->resident, clock_now() - w->begun);
	under_way_init(w);
	if (b != NULL)
		backing_release(b);
	if (io == NULL)
		return;
	export_io_leave(io);
	export_io_put(io);
}
