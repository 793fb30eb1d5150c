/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The remote kind of backing: reading ahead into a FSAL's own cache. See backing_remote.h. */
#include "disk/backing_remote.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "common/clock.h"
#include "common/container.h"
#include "common/log.h"
#include "disk/scratch.h"
#include "remote/hint.h"
#include "remote/overdue.h"
#include "remote/self_check.h"
#include "remote/use_once.h"
#include "remote/vouching.h"

/* The size is asked for no sooner than this after the last time (ns). */
#define SIZE_AGE CLOCK_SECOND

/*
 * What is fetched ahead of a file that others change all the time is taken to stay for so long (ns): a reader has a tenth of a
 * second before him then, of which he loses some with each change that is heard of, which is one a second. And for so long after.
 */
#define CHANGED_KEPT (200 * CLOCK_MS)
#define CHANGED_AGE  (10 * CLOCK_SECOND)

struct remote {
	struct backing base;
	struct export_io *io; /* referenced */
	struct remote_file f;
	_Atomic uint64_t size_asked; /* ns */
	struct self_check check;
	uint64_t serial; /* of all that were ever open: the file to `keep` */
	struct vouching vouching;
	_Atomic uint64_t changed_until; /* ns: others change it; 0: no */
	atomic_bool holds;		/* something was kept since read-ahead of it stopped last */
	struct hint hint[];		/* one, of what the FSAL keeps; none with `keep` */
};

/* Reads through the FSALs' clients that keep what was read. */
static struct overdue under_way = OVERDUE_INITIALIZER(under_way);

static struct remote *remote_of(struct backing *b)
{
	return CONTAINER_OF(b, struct remote, base);
}

static uint64_t now_of(const struct backing *b)
{
	return dispatcher_now(&b->device->dispatcher);
}

static uint64_t brought(struct backing *b)
{
	return atomic_load_explicit(&b->device->brought, memory_order_relaxed);
}

static uint64_t size_of(const struct backing *b)
{
	return atomic_load_explicit(&b->size, memory_order_relaxed);
}

/* ---- bytes kept here --------------------------------------------------------------------- */

static void say_unvouched(const struct remote *r)
{
	const struct device *device = r->base.device;

	log_line(LOG_LEVEL_EVENT,
		 "device %u:%u: the change attribute of file %llu does not come within %llu ms, or "
		 "not at all, without which nothing is given that was fetched ahead: not fetched "
		 "ahead for %llu s",
		 major(device->dev), minor(device->dev), (unsigned long long)r->base.file,
		 (unsigned long long)(VOUCHING_TIME / CLOCK_MS),
		 (unsigned long long)(atomic_load(&r->vouching.check.pause) / CLOCK_SECOND));
}

/*
 * Something was heard of the file at NOW. Where others change it all the time, each second what lies ahead of its readers goes,
 * and is fetched again: then little is to lie there, until they have not for CHANGED_AGE; and as long as the change is not SETTLED,
 * for then it goes with the next answer anyway.
 */
static void judge(struct remote *r, bool settled, uint64_t now)
{
	enum use_once_verdict verdict = use_once_judge(r->f.keep, r->serial);
	uint64_t age = use_once_age(r->f.keep), was = atomic_load(&r->changed_until), until = was;

	if (verdict == USE_ONCE_IN_VAIN || (verdict == USE_ONCE_OF_USE && now < was))
		until = now + CHANGED_AGE;
	else if (!settled && was < now + USE_ONCE_VOUCHED)
		until = now + USE_ONCE_VOUCHED;
	if (now < until) {
		/* another thread may have heard more */
		while (was < until && !atomic_compare_exchange_weak(&r->changed_until, &was, until))
			;
		atomic_store(&r->base.kept_for, CHANGED_KEPT < age ? CHANGED_KEPT : age);
	} else if (was != 0 && atomic_compare_exchange_strong(&r->changed_until, &was, 0)) {
		atomic_store(&r->base.kept_for, age);
	}
}

/* Asks for the change attribute where that is due. */
static void vouch(struct remote *r, uint64_t now)
{
	uint64_t change;
	bool told, settled;

	if (!vouching_may_ask(&r->vouching, now) || !use_once_asks(r->f.keep, r->serial, now))
		return;
	vouching_asks(&r->vouching, now);
	told = r->f.calls->change(r->f.handle, &change, &settled);
	if (told) {
		use_once_told(r->f.keep, r->serial, change, settled, now);
		judge(r, settled, now);
	}
	if (!vouching_told(&r->vouching, now, told, now_of(&r->base)))
		return;
	/* What lies here would be of use to nobody. */
	atomic_store(&r->holds, false);
	use_once_drop(r->f.keep, r->serial, 0, UINT64_MAX);
	say_unvouched(r);
}

/* Before something is given. Where there is nothing a reader need not wait for the answer. */
static bool may_hold(struct remote *r)
{
	if (!atomic_load_explicit(&r->holds, memory_order_relaxed))
		return false;
	vouch(r, now_of(&r->base));
	return true;
}

static bool is_kept(struct remote *r, uint64_t offset, uint64_t len)
{
	if (!may_hold(r))
		return false;
	return use_once_has(r->f.keep, r->serial, offset, len, now_of(&r->base));
}

static size_t remote_take(struct backing *b, const struct iovec *iov, int n, uint64_t offset)
{
	struct remote *r = remote_of(b);
	uint64_t len = 0;

	if (r->f.keep == NULL)
		return 0;
	for (int i = 0; i < n; i++)
		len += iov[i].iov_len;
	if (len >= size_of(b) || offset >= size_of(b) - len)
		return 0; /* the file's end is the FSAL's to tell */
	if (!may_hold(r))
		return 0;
	return use_once_take(r->f.keep, r->serial, iov, n, offset, len, now_of(b)) ? len : 0;
}

static void remote_shown(struct backing *b, const struct use_once_attrs *a)
{
	struct remote *r = remote_of(b);

	if (r->f.keep == NULL)
		return;
	use_once_shown(r->f.keep, r->serial, a);
	judge(r, a->settled, now_of(b));
}

/* ---- what is known ----------------------------------------------------------------------- */

static bool remote_resident(struct backing *b, uint64_t offset, uint64_t len)
{
	struct remote *r = remote_of(b);
	uint64_t size = size_of(b);
	uint64_t end = len < size && offset < size - len ? offset + len : size;

	if (offset >= end)
		return true; /* nothing to read there */
	if (r->f.keep != NULL)
		return is_kept(r, offset, end - offset);
	return hint_has(r->hint, offset, end - offset, brought(b), r->f.cache);
}

/* Where a cluster puts what nobody knows: file order. */
static bool remote_place_known(struct backing *b, uint64_t offset, uint64_t *block)
{
	(void)b;
	(void)offset;
	(void)block;
	return false;
}

static bool remote_block(struct backing *b, uint64_t offset, bool if_few, uint64_t *block)
{
	(void)if_few;
	return remote_place_known(b, offset, block);
}

/* What was read took the cluster's time: the caller has filled in the order. */
static bool remote_written(struct backing *b, uint64_t offset, uint64_t len,
			   struct extent_span *span)
{
	(void)b;
	(void)offset;
	(void)len;
	(void)span;
	return true;
}

static void remote_refresh_size(struct backing *b)
{
	struct remote *r = remote_of(b);
	uint64_t now = now_of(b), asked = atomic_load(&r->size_asked), size;

	if (elapsed(asked, now) < SIZE_AGE ||
	    !atomic_compare_exchange_strong(&r->size_asked, &asked, now))
		return;
	if (r->f.calls->size(r->f.handle, &size))
		atomic_store_explicit(&b->size, size, memory_order_relaxed);
}

/* The FSAL drops a handle of a removed file with the last of its names, as ever. */
static bool remote_is_removed(struct backing *b)
{
	(void)b;
	return false;
}

static void remote_changed(struct backing *b, uint64_t offset, uint64_t len)
{
	struct remote *r = remote_of(b);

	if (r->f.keep != NULL)
		use_once_drop(r->f.keep, r->serial, offset, len);
	else
		hint_drop(r->hint, offset, len);
}

static bool remote_prefetches(struct backing *b, uint64_t now, bool takes)
{
	struct remote *r = remote_of(b);

	if (r->f.keep != NULL && !takes)
		return false; /* all would be moved twice */
	return !self_check_stopped(&r->check, now) && vouching_works(&r->vouching, now);
}

/*
 * What a read of LEN bytes takes on the cluster (ns); 0: not known yet. Of seeks too few may have been timed for long, where all is
 * read in chunks.
 */
static uint64_t expected(struct backing *b, uint64_t len)
{
	struct cost_model cost = dispatcher_cost(&b->device->dispatcher);

	if (!cost_seek_known(&cost))
		return self_check_expected(&remote_of(b)->check, len);
	return (uint64_t)(cost.seek_ns + (double)len * cost.ns_per_byte);
}

static void say_stopped(const struct backing *b, const struct remote *r)
{
	log_line(LOG_LEVEL_EVENT,
		 "device %u:%u: what was fetched ahead of file %llu is not kept (another writes to "
		 "it, or the cache is too small): not fetched ahead for %llu s",
		 major(b->device->dev), minor(b->device->dev), (unsigned long long)b->file,
		 (unsigned long long)(atomic_load(&r->check.pause) / CLOCK_SECOND));
}

static void remote_answered(struct backing *b, uint64_t offset, uint64_t len, bool resident,
			    uint64_t took)
{
	struct remote *r = remote_of(b);
	enum delay_kind kind = delay_kind_of_read(len);

	if (!resident)
		meter_delay_add(&b->device->evidence.delay, kind, took);
	if (!resident && kind == DELAY_SMALL)
		device_answered_small(b->device, took, now_of(b));
	if (r->f.keep != NULL)
		return;
	if (!resident) { /* the FSAL has it now */
		hint_add(r->hint, offset, len, offset + len >= size_of(b), brought(b));
		return;
	}
	if (!self_check_read(&r->check, took, expected(b, len), now_of(b))) {
		if (atomic_load_explicit(&b->kept_for, memory_order_relaxed) != 0 &&
		    atomic_load(&r->check.pause) == 0)
			atomic_store(&b->kept_for, 0);
		return;
	}
	atomic_store(&b->kept_for, CHANGED_KEPT); /* the next trial is a small one */
	hint_drop(r->hint, 0, UINT64_MAX);
	say_stopped(b, r);
}

/* ---- reads that wait for too long --------------------------------------------------------- */

static struct overdue *remote_asks(struct backing *b, struct overdue_read *r, uint64_t now)
{
	if (remote_of(b)->f.keep != NULL)
		return NULL; /* its client is not known to forget readers */
	overdue_begin(&under_way, r, b, now);
	return &under_way;
}

static bool hold_overdue(void *file)
{
	if (!backing_use(file))
		return false; /* closed: nothing to ask with */
	backing_hold(file);
	return true;
}

/* The first time: most clusters never have one. */
static void say_overdue(const struct backing *b)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		log_line(LOG_LEVEL_EVENT,
			 "device %u:%u: a read of file %llu takes longer than %llu ms: the cluster "
			 "is asked for its size, lest the client library has forgotten the reader",
			 major(b->device->dev), minor(b->device->dev), (unsigned long long)b->file,
			 (unsigned long long)(OVERDUE_AFTER / CLOCK_MS));
}

void backings_wake_overdue(uint64_t now)
{
	struct backing *b;
	uint64_t size;

	while ((b = overdue_next(&under_way, now, hold_overdue)) != NULL) {
		say_overdue(b);
		(void)remote_of(b)->f.calls->size(remote_of(b)->f.handle, &size);
		/* Not idle: closed, there would be nothing to ask with the next time. */
		atomic_store_explicit(&b->used, now, memory_order_relaxed);
		backing_put(b);
	}
}

/* ---- reading ahead ------------------------------------------------------------------------- */

/* Through our handle. */
static ssize_t read_watched(struct remote *r, char *buffer, size_t len, uint64_t offset)
{
	struct overdue_read here;
	struct overdue *watched = backing_asks(&r->base, &here);
	ssize_t got = r->f.calls->read(r->f.handle, buffer, len, offset);

	if (watched != NULL)
		overdue_end(watched, &here);
	return got;
}

/* Before a read whose bytes are to be kept: what use_once_put() wants to know. */
static uint64_t mark(struct remote *r)
{
	if (r->f.keep == NULL)
		return 0;
	vouch(r, now_of(&r->base));
	return use_once_mark(r->f.keep, r->serial);
}

/* ASKED: where what is wanted of the file ends. */
static void keep(struct remote *r, uint64_t marked, const char *data, uint64_t len, uint64_t offset,
		 uint64_t asked)
{
	use_once_put(r->f.keep, r->serial, marked, offset, data, len, asked, now_of(&r->base));
	if (!atomic_load_explicit(&r->holds, memory_order_relaxed))
		atomic_store(&r->holds, true);
}

/* One read of our handle, noted. */
static ssize_t read_one(struct dispatcher *d, struct remote *r, char *buffer, size_t len,
			uint64_t offset, uint64_t asked)
{
	uint64_t marked = mark(r);
	uint64_t begun = dispatcher_now(d), took;
	ssize_t got;

	if (!remote_prefetches(&r->base, begun, true))
		return 0; /* by what was heard a moment ago */
	got = read_watched(r, buffer, len, offset);
	took = dispatcher_now(d) - begun;
	meter_delay_add(&r->base.device->evidence.delay, delay_kind_of_read(len), took);
	if (got < 0)
		self_check_failed(&r->check, dispatcher_now(d));
	if (got <= 0)
		return got;
	self_check_came(&r->check, (uint64_t)got, took);
	device_brought(r->base.device, (uint64_t)got, dispatcher_now(d));
	if (r->f.keep != NULL)
		keep(r, marked, buffer, (uint64_t)got, offset, asked);
	else
		hint_add_ahead(r->hint, offset, (uint64_t)got, brought(&r->base));
	return got;
}

/* As remote_fetch(), through a buffer that is thrown away; of that what is before ASKED is wanted. */
static ssize_t read_all(struct dispatcher *d, struct remote *r, uint64_t offset, uint64_t len,
			uint64_t asked)
{
	size_t room = len < SCRATCH_MAX ? len : SCRATCH_MAX;
	char *buffer = scratch_take(room);
	uint64_t done = 0;
	ssize_t got = -1;

	while (buffer != NULL && done < len) {
		size_t n = len - done < room ? len - done : room;

		got = read_one(d, r, buffer, n, offset + done, asked);
		if (got <= 0)
			break;
		done += (uint64_t)got;
	}
	scratch_give(buffer, room, dispatcher_now(d));
	return done ? (ssize_t)done : got;
}

/* What is kept here is kept by whole units: those that a record lies on are read, up to the end of the file. */
static ssize_t remote_fetch(struct dispatcher *d, struct backing *b, struct kernel_windows *w,
			    uint64_t offset, uint64_t len)
{
	struct remote *r = remote_of(b);
	uint64_t before = r->f.keep != NULL ? offset % USE_ONCE_UNIT : 0;
	uint64_t behind = r->f.keep != NULL ? -(offset + len) % USE_ONCE_UNIT : 0;
	uint64_t end = offset + len, size = size_of(b);
	ssize_t got;

	(void)w;
	if (end + behind > size)
		behind = end < size ? size - end : 0;
	got = read_all(d, r, offset - before, before + len + behind, end);
	if (got <= 0)
		return got;
	got -= (ssize_t)before;
	return got < 0 ? 0 : got > (ssize_t)len ? (ssize_t)len : got;
}

static void remote_close(struct backing *b)
{
	struct remote *r = remote_of(b);
	struct export_io *io = r->io;

	if (r->f.keep != NULL)
		use_once_forget(r->f.keep, r->serial);
	r->f.calls->close(r->f.handle);
	export_io_put(io);
}

static void remote_fini(struct backing *b)
{
	struct remote *r = remote_of(b);

	if (r->f.keep == NULL)
		hint_fini(r->hint);
}

static const struct backing_ops remote_ops = {
	.resident = remote_resident,
	.block = remote_block,
	.place_known = remote_place_known,
	.written = remote_written,
	.refresh_size = remote_refresh_size,
	.is_removed = remote_is_removed,
	.changed = remote_changed,
	.fetch = remote_fetch,
	.prefetches = remote_prefetches,
	.answered = remote_answered,
	.asks = remote_asks,
	.take = remote_take,
	.shown = remote_shown,
	.close = remote_close,
	.fini = remote_fini,
};

struct backing *backing_remote_new(const struct remote_file *f, struct export_io *io,
				   struct device *device, int *err)
{
	static _Atomic uint64_t serials;
	size_t hints = f->keep == NULL ? 1 : 0;
	struct remote *r = calloc(1, sizeof(*r) + hints * sizeof(r->hint[0]));

	if (r == NULL) {
		*err = ENOMEM;
		return NULL;
	}
	r->serial = atomic_fetch_add(&serials, 1) + 1;
	backing_init(&r->base, &remote_ops, device, f->file, f->size);
	r->base.fd = -1;
	r->base.io = io;
	r->io = export_io_ref(io);
	r->f = *f;
	atomic_init(&r->base.kept_for, f->keep != NULL ? use_once_age(f->keep) : 0);
	hot_never(&r->base.hot);
	atomic_init(&r->size_asked, now_of(&r->base));
	if (hints != 0)
		hint_init(r->hint);
	return &r->base;
}
