/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The file descriptor route into the sub-FSAL. */
#ifndef RA_OPEN_HANDLE_H
#define RA_OPEN_HANDLE_H

#include "disk/backing_slot.h"
#include "disk/wire_handle.h"

struct fsal_obj_handle;

/* The kernel's handle of SUB; false: it has none that is known. With op_ctx. */
bool open_handle_decode(struct fsal_obj_handle *sub, struct kernel_handle *kh);
/* A backing_opener for the slot of a struct ra_handle. With op_ctx. */
int open_handle(struct backing_slot *slot, int access, int *err);

#endif /* RA_OPEN_HANDLE_H */
