/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * RENAME. Ganesha does not say which file it replaces, so that is looked up before, by who needs it:
 *
 *   write-back      what was to be written out of a file without a name need not be
 *   what is kept    of both files it goes, above a cluster whose client keeps nothing (remote_io.h): of the one that is
 *                   gone a READ is to be answered as the FSAL below does
 */
#include "rename.h"

#include "remote_io.h"
#include "subcall.h"
#include "writeback/writeback.h"

/* Whether anybody needs to know which file goes that is replaced in NEWDIR. */
static bool matters(const struct ra_handle *newdir)
{
	struct writeback_stats s;

	if (remote_keeps(newdir) && remote_kept() != 0)
		return true;
	writeback_stats(&s);
	return s.files != 0 || s.kept != 0;
}

/* The file that a RENAME to NAME would replace, NULL if there is none that matters. To be released. */
static struct fsal_obj_handle *replaced(struct fsal_obj_handle *dir_hdl, const char *name)
{
	struct fsal_obj_handle *obj = NULL;

	if (!matters(ra_handle_of(dir_hdl)) ||
	    FSAL_IS_ERROR(dir_hdl->obj_ops->lookup(dir_hdl, name, &obj, NULL)))
		return NULL;
	if (obj->type == REGULAR_FILE)
		return obj;
	obj->obj_ops->release(obj);
	return NULL;
}

/* HDL is the core's own handle; OLD, NULL or another file's, one that was just looked up: others have what is kept. */
static void drop_kept(struct ra_handle *hdl, struct fsal_obj_handle *old)
{
	if (!remote_keeps(hdl))
		return;
	backing_invalidate(&hdl->slot, 0, UINT64_MAX);
	if (old != NULL)
		backing_drop_others(&ra_handle_of(old)->slot);
}

fsal_status_t ra_rename(struct fsal_obj_handle *obj_hdl, struct fsal_obj_handle *olddir_hdl,
			const char *old_name, struct fsal_obj_handle *newdir_hdl,
			const char *new_name RA_DIR2_PARAMS)
{
	struct fsal_obj_handle *olddir = ra_sub_of(olddir_hdl);
	struct fsal_obj_handle *old = replaced(newdir_hdl, new_name);
	fsal_status_t status;

	/* The vector is the old directory's, the first argument the object's. */
	status =
		ra_changed(obj_hdl, SUBCALL(ra_export_of_op(),
					    olddir->obj_ops->rename(ra_sub_of(obj_hdl), olddir,
								    old_name, ra_sub_of(newdir_hdl),
								    new_name RA_DIR2_ARGS)));
	if (!FSAL_IS_ERROR(status)) {
		ra_io_renamed(); /* descriptors of files without a link are looked for */
		if (old != NULL)
			writeback_unlinked(&ra_handle_of(old)->slot);
		writeback_renamed(); /* another may have been faster */
		drop_kept(ra_handle_of(obj_hdl), old);
	}
	if (old != NULL)
		old->obj_ops->release(old);
	return status;
}
