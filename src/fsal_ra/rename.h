/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* RENAME, which may take a file's last name away. */
#ifndef RA_RENAME_H
#define RA_RENAME_H

#include "compat.h"

/*
 * The method of a handle of ours, with op_ctx: the status is that of the FSAL below. Afterwards nothing is given of what was
 * fetched ahead before of OBJ_HDL's file, nor of one that it replaced, where that is kept here (remote_keeps()).
 */
fsal_status_t ra_rename(struct fsal_obj_handle *obj_hdl, struct fsal_obj_handle *olddir_hdl,
			const char *old_name, struct fsal_obj_handle *newdir_hdl,
			const char *new_name RA_DIR2_PARAMS);

#endif /* RA_RENAME_H */
