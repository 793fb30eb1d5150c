/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Writes to a cluster that are not stable yet. See far_write.h. */
#include "far_write.h"

#include <errno.h>

#include "common/clock.h"
#include "timed_out.h"
#include "writeback/pacer.h"
#include "writeback/writeback.h"

/* A COMMIT of ours that others wait for, which have been answered below meanwhile, hangs after so long (ns). */
#define OURS_HANGS (10 * CLOCK_SECOND)

static struct unstable unstable = UNSTABLE_INITIALIZER(unstable);

void far_write_set_max(uint64_t max)
{
	unstable_set_max(&unstable, max);
}

/* Whether STATUS says of data that it is lost, and not only that nobody tried to make it stable. */
static bool is_loss(fsal_status_t status)
{
	switch (status.major) {
	case ERR_FSAL_DELAY:
		return status_timed_out(status);
	case ERR_FSAL_NO_ERROR:
	case ERR_FSAL_PERM:
	case ERR_FSAL_ACCESS:
	case ERR_FSAL_SHARE_DENIED:
	case ERR_FSAL_STALE:
		return false;
	default:
		return true;
	}
}

/* One of ours is over: the FSAL below may have told an error for good, and the WRITE in whose name it was made is not its answer. */
static void record(struct fsal_obj_handle *obj_hdl, struct kept_error *place, fsal_status_t status)
{
	struct backing *b = backing_peek(&ra_handle_of(obj_hdl)->slot);
	int err = is_loss(status) ? (status.minor ? status.minor : EIO) : 0;

	writeback_expected(place, b != NULL ? b->device->dev : 0, obj_hdl->fileid, err);
	if (b != NULL)
		backing_release(b);
}

/*
 * The file is made stable, by one of ours, which has a PLACE for its error, or a client's (NULL). Both FSALs make all of it stable,
 * whatever the range. Where a client's finds no error ours may have been told it, and not recorded it yet; else it would be told
 * that what is lost is stable.
 */
static fsal_status_t commit(struct fsal_obj_handle *obj_hdl, off_t offset, size_t len,
			    struct kept_error *place)
{
	struct unstable_file *f = &ra_handle_of(obj_hdl)->unstable;
	uint64_t begun = unstable_begin(&unstable, f), since = clock_now();
	fsal_status_t status = SUB_OBJ(obj_hdl, commit2, offset, len);
	bool ours = place != NULL;

	if (ours)
		record(obj_hdl, place, status);
	unstable_end(&unstable, f, begun, !FSAL_IS_ERROR(status), ours, clock_now() - since);
	if (!ours && !FSAL_IS_ERROR(status) &&
	    !unstable_wait_ours(&unstable, f, clock_now() + OURS_HANGS))
		status = fsalstat(ERR_FSAL_DELAY, EAGAIN); /* it is not known yet */
	return status;
}

void far_write_first(struct fsal_obj_handle *obj_hdl, const struct writeback_settings *s)
{
	struct ra_handle *hdl = ra_handle_of(obj_hdl);
	struct kept_error *place;

	if (!s->on || !s->reply_delay_max ||
	    !unstable_is_due(&unstable, &hdl->unstable, clock_now()))
		return;
	place = writeback_expect(&hdl->slot);
	if (place != NULL)
		(void)commit(obj_hdl, 0, 0, place);
	else /* its error, which the FSAL below tells once, is there for the client's COMMIT */
		unstable_end(&unstable, &hdl->unstable, 0, false, true, 0);
}

uint64_t far_wrote(struct fsal_obj_handle *obj_hdl, uint64_t bytes,
		   const struct writeback_settings *s)
{
	uint64_t now = clock_now();
	double level, rate;

	unstable_wrote(&unstable, &ra_handle_of(obj_hdl)->unstable, bytes, now);
	if (!s->on)
		return 0;
	level = unstable_level(&unstable, now, &rate);
	return pacer_delay_at((uint64_t)(uintptr_t)op_ctx->client, bytes, level, rate,
			      s->reply_delay_max);
}

fsal_status_t far_commit(struct fsal_obj_handle *obj_hdl, off_t offset, size_t len)
{
	return commit(obj_hdl, offset, len, NULL);
}

void far_write_reader(uint64_t now)
{
	unstable_read(&unstable, now);
}

void far_write_forget(struct ra_handle *hdl)
{
	unstable_forget(&unstable, &hdl->unstable);
}

double far_write_level(void)
{
	return unstable_priced(&unstable, clock_now());
}

uint64_t far_write_bytes(void)
{
	return unstable_bytes(&unstable, clock_now());
}
