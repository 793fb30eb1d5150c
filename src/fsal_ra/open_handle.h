/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The file descriptor route into the sub-FSAL. */
#ifndef RA_OPEN_HANDLE_H
#define RA_OPEN_HANDLE_H

#include "disk/backing_slot.h"

/* A backing_opener for the slot of a struct ra_handle. With op_ctx. */
int open_handle(struct backing_slot *slot, int access, int *err);

#endif /* RA_OPEN_HANDLE_H */
