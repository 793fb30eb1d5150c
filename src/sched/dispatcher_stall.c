/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Requests that hang, as the dispatcher's threads see them: at the disk (stall.c), or after it while
 * their client is answered, for the kernel may stop a copy out of the page cache too. Who hangs loses
 * its place among Queue_Depth and gets it back when it goes on; the log says both. See dispatcher.h.
 */
#include <assert.h>
#include <inttypes.h>

#include "common/clock.h"
#include "common/log.h"
#include "sched/dispatcher_parts.h"

static struct subject subject_of(const struct sched_req *r, uint64_t silent)
{
	static const char *const whats[SCHED_CLASSES] = {"read", "prefetch", "write-back"};

	return (struct subject){whats[r->class], r->file, r->offset, silent};
}

void dispatcher_log_stall(struct dispatcher *d, const struct subject *s, bool over)
{
	lock_drop(&d->lock);
	log_line(over ? LOG_LEVEL_EVENT : LOG_LEVEL_WARN,
		 "device %s: the %s of inode %" PRIu64 " at offset %" PRIu64 " %s %.1f s%s",
		 d->name, s->what, s->file, s->offset, over ? "goes on after" : "has hung for",
		 (double)s->silent / (double)CLOCK_SECOND, over ? "" : ": others pass it");
	lock_take(&d->lock);
}

uint64_t dispatcher_sign(struct dispatcher *d, struct sched_req *r)
{
	uint64_t now = d->ops->now(), silent = now - r->sign;

	/* again, for while the log is written others may pass it once more */
	for (; sched_sign(&d->queue, r, now); now = d->ops->now(), silent = now - r->sign) {
		struct subject s = subject_of(r, silent);

		drive_reads_to(&d->drive, r, now);
		if (!r->in_gap) /* in a gap it is the chunk that has the place */
			dispatcher_take_place(d, r->scattered);
		pthread_cond_broadcast(&d->work); /* reads of its file were parked */
		dispatcher_log_stall(d, &s, true);
	}
	return now;
}

uint64_t dispatcher_stall_at(const struct dispatcher *d)
{
	const struct finishing *f = TAILQ_FIRST(&d->finishing);
	uint64_t at = sched_stall_at(&d->queue), limit = d->queue.limits.stall_time;

	if (f && limit && d->passed < SCHED_STALLED_MAX && f->since + limit < at)
		at = f->since + limit;
	return at;
}

bool dispatcher_free_place(struct dispatcher *d, uint64_t now, struct subject *s,
			   struct sched_list *woken)
{
	struct finishing *f = TAILQ_FIRST(&d->finishing);
	struct sched_req *r = sched_stall(&d->queue, now);

	if (r) {
		*s = subject_of(r, now - r->sign);
		sched_let_go(&d->queue, r, now, woken);
		drive_reads_from(&d->drive, r, now);
		if (d->opening && d->opening->chunk == r) /* others have the disk */
			d->opening = NULL;
		if (!r->in_gap)
			dispatcher_give_place(d, r->scattered);
		return true;
	}
	if (!f || now < dispatcher_stall_at(d))
		return false;
	*s = f->subject;
	s->silent = now - f->since;
	TAILQ_REMOVE(&d->finishing, f, link);
	f->passed = true;
	d->queue.stats.stalls++;
	d->passed++;
	dispatcher_give_place(d, f->scattered);
	return true;
}

void dispatcher_finish_begin(struct dispatcher *d, const struct sched_req *r, uint64_t now,
			     struct finishing *f)
{
	*f = (struct finishing){.subject = subject_of(r, 0),
				.since = now,
				.in_gap = r->in_gap,
				.scattered = r->scattered};
	if (!f->in_gap) /* else it is the chunk that is watched */
		TAILQ_INSERT_TAIL(&d->finishing, f, link);
}

void dispatcher_finish_end(struct dispatcher *d, struct finishing *f)
{
	if (f->passed) {
		f->subject.silent = d->ops->now() - f->since;
		dispatcher_log_stall(d, &f->subject, true); /* which may hang too */
		d->passed--;
		dispatcher_take_place(d, f->scattered);
	} else if (!f->in_gap) {
		TAILQ_REMOVE(&d->finishing, f, link);
	}
}
