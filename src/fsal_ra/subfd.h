/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The file descriptor route into the sub-FSAL. */
#ifndef RA_SUBFD_H
#define RA_SUBFD_H

struct ra_handle;

/*
 * Opens the handle's file for ACCESS (O_RDONLY, O_RDWR), without touching its access time; the caller
 * closes it. -1 and
 * *err: EOPNOTSUPP where the sub-FSAL's handles are not known to us, or what open said. With op_ctx.
 */
int ra_subfd_open(struct ra_handle *hdl, int access, int *err);

#endif /* RA_SUBFD_H */
