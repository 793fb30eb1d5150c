/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See explain.h. Rules in the order in which one would ask: is it on, is it seen, may it, is it worth it. */
#include "control/explain.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "readahead/effectiveness.h"

#define MIB(bytes) ((double)(bytes) / (1 << 20))
/* Below this share of what was fetched that was read, waste is worth a line. */
#define WASTE_TOLD 0.75
/* A share of Readahead_Memory from which on it is short: as the engine's own. */
#define MEMORY_SHORT 0.75
/* The share of reads that continue a stream exactly below which a file is called scattered. */
#define SCATTERED 0.5
/* Dirty_Budget's share from which on writers are slowed down. */
#define PACED_FROM 0.75

static void __attribute__((format(printf, 3, 4)))
say(const struct explain *e, const char *parameter, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	e->line(e->arg, text, parameter);
}

/* ---- a file ------------------------------------------------------------------------------ */

/* False: nothing of it is fetched ahead, whatever else. */
static bool is_on(const struct explain *e, const struct explain_file *f)
{
	if (f->export_id >= 0 && strcmp(f->heuristic, "off") == 0) {
		say(e, "Heuristic", "read-ahead is off for export %" PRId64, f->export_id);
		return false;
	}
	return true;
}

static void explain_streams(const struct explain *e, const struct explain_file *f)
{
	const struct readahead_file_look *l = &f->file->look;

	if (l->cursors == 0)
		say(e, "Cursors_Per_File",
		    "no stream of it is followed: its cursors were given to other files");
	else if (l->count < f->seq_threshold && l->exact < SCATTERED)
		say(e, "Seq_Threshold",
		    "its reads are scattered: %.0f %% of them continue another exactly, the most "
		    "sequential stream has a count of %u, and read-ahead begins at %" PRIu64,
		    l->exact * 100, l->count, f->seq_threshold);
	else if (l->count < f->seq_threshold)
		say(e, "Seq_Threshold",
		    "it is too early: the most sequential stream has a count of %u, and read-ahead "
		    "begins at %" PRIu64,
		    l->count, f->seq_threshold);
	else
		say(e, "Window_Max",
		    "%u of its %u streams %s fetched ahead: the most sequential has a count of %u, "
		    "and up to %.1f MiB are fetched ahead of a reader",
		    l->streams, l->cursors, l->streams == 1 ? "is" : "are", l->count,
		    MIB(l->window));
}

static void explain_price(const struct explain *e, const struct explain_file *f)
{
	const struct readahead_file_look *l = &f->file->look;
	double known = (double)l->read + (double)l->wasted;
	double worth = known > 0 ? (double)l->read / known : 1;
	double share = effectiveness_share(f->price, worth);

	if (known > 0 && worth < WASTE_TOLD)
		say(e, "Window_Max",
		    "of what was fetched ahead lately %.0f %% was read: its windows are %u times "
		    "smaller",
		    worth * 100, 1u << (l->penalty < 16 ? l->penalty : 16));
	if (f->priced && share < 1)
		say(e, "Price_Readahead",
		    "the price of read-ahead is %.2f, more than its read-ahead is worth: it gets "
		    "%.0f %% of its window",
		    f->price, share * 100);
	else if (f->priced && l->withheld)
		say(e, "Price_Readahead",
		    "a chunk was held back lately, because the price was too high then");
}

static void explain_memory(const struct explain *e, const struct explain_file *f)
{
	if ((double)f->unread >= MEMORY_SHORT * (double)f->memory)
		say(e, "Readahead_Memory",
		    "memory for read-ahead is short: %.0f of %.0f MiB hold data fetched and not "
		    "yet read",
		    MIB(f->unread), MIB(f->memory));
	else if (f->file->look.unread != 0)
		say(e, NULL, "%.1f MiB of it are fetched, or being fetched, and not yet read",
		    MIB(f->file->look.unread));
}

static void explain_device(const struct explain *e, const struct explain_file *f)
{
	const struct dispatcher_stats *q = &f->device->queue;

	if (!f->device->demand_queued)
		say(e, "Queue_Depth",
		    "what is not in memory is read from the device directly, past the queue");
	else if (q->queued[SCHED_DEMAND] != 0)
		say(e, "Max_Wait",
		    "reads of clients that wait for the device: %u, prefetches: %u; ractl top says "
		    "whom it serves",
		    q->queued[SCHED_DEMAND], q->queued[SCHED_PREFETCH]);
}

void explain_file(const struct explain *e, const struct explain_file *f)
{
	const struct readahead_file_look *l = &f->file->look;

	if (f->now > l->used && l->used != 0)
		say(e, NULL,
		    "it was last read %.1f s ago (reads that memory alone answers are not seen)",
		    (double)(f->now - l->used) / 1e9);
	if (!is_on(e, f))
		return;
	explain_streams(e, f);
	explain_price(e, f);
	explain_memory(e, f);
	if (f->device != NULL)
		explain_device(e, f);
}

/* ---- a client ---------------------------------------------------------------------------- */

/* The wait (ms) below which PERCENT of those counted in WAITS (by 2^b us) stayed; 0: there is none. */
static double below_ms(const uint64_t waits[FACTS_WAIT_BUCKETS], double percent)
{
	struct sched_stats s = {0};

	_Static_assert(sizeof(s.waits) == FACTS_WAIT_BUCKETS * sizeof(waits[0]),
		       "the same buckets");
	memcpy(s.waits, waits, sizeof(s.waits));
	return (double)sched_wait_percentile(&s, percent) / 1e6;
}

static double wait_ms(const struct flow_stats *flow, double percent)
{
	return below_ms(flow->waits, percent);
}

static void explain_held_back(const struct explain *e, const struct explain_flow *f)
{
	if (f->flow->throttled)
		say(e, f->flow->of_export ? "Ceiling_Bandwidth" : "CLIENT",
		    "%s: a ceiling holds it back (ractl shares)", f->device);
	if (f->flow->refused != 0)
		say(e, "Queue_Limit",
		    "%s: %" PRIu64
		    " of its requests were refused at first, for it had as many queued as one "
		    "client may",
		    f->device, f->flow->refused);
}

void explain_flow(const struct explain *e, const struct explain_flow *f)
{
	const struct flow_stats *s = f->flow;

	say(e, s->of_export ? "Weight" : "CLIENT",
	    "%s, export %u: it had %.0f %% of the disk's time, by its weight of %u it is entitled "
	    "to %.0f %%",
	    f->device, s->id.export_id, f->share * 100, s->group_weight, f->fair * 100);
	if (s->queued[SCHED_DEMAND] + s->joined + s->running != 0)
		say(e, "Max_Wait", "%s: reads of it that wait now: %u, that are on the disk: %u",
		    f->device, s->queued[SCHED_DEMAND] + s->joined, s->running);
	if (s->queued[SCHED_WRITEBACK] != 0)
		say(e, "Writeback_Share",
		    "%s: write-outs of what it wrote that wait for the disk: %u; its COMMITs wait "
		    "for them",
		    f->device, s->queued[SCHED_WRITEBACK]);
	if (wait_ms(s, 50) > 0)
		say(e, "Max_Wait",
		    "%s: half of its reads waited less than %.1f ms in the queue, and all but one "
		    "in a "
		    "hundred less than %.1f ms",
		    f->device, wait_ms(s, 50), wait_ms(s, 99));
	if (f->behind != NULL)
		say(e, "CLIENT", "%s: while it waited, %s had the disk for longest", f->device,
		    f->behind);
	explain_held_back(e, f);
	if (!f->demand_queued)
		say(e, "Queue_Depth", "%s: its reads go to the device directly, past the queue",
		    f->device);
}

/* ---- writes ------------------------------------------------------------------------------ */

void explain_writing(const struct explain *e, const struct writing_facts *w)
{
	double level = w->dirty_budget ? (double)w->dirty_bytes / (double)w->dirty_budget : 0;

	if (w->replies_held != 0 || level >= PACED_FROM)
		say(e, "Write_Delay_Max",
		    "writes: %.0f %% of Dirty_Budget (%.0f MiB) are dirty, so replies to writes "
		    "are delayed: %u now",
		    level * 100, MIB(w->dirty_budget), w->replies_held);
	else
		say(e, "Dirty_Budget",
		    "writes: %.0f %% of Dirty_Budget are dirty: no reply to a write is delayed",
		    level * 100);
	if (below_ms(w->commit_waits, 50) > 0)
		say(e, "Writeback_Share",
		    "writes: half of all clients' COMMITs took less than %.1f ms, and all but one "
		    "in a hundred less than %.1f ms",
		    below_ms(w->commit_waits, 50), below_ms(w->commit_waits, 99));
	if (w->writeback_errors == 0)
		say(e, NULL, "writes: no write-out failed since the start");
	else
		say(e, NULL,
		    "writes: %" PRIu64
		    " write-outs failed since the start, %u errors wait for a COMMIT to tell",
		    w->writeback_errors, w->errors_kept);
}
