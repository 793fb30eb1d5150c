/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A read of the FSAL below that the caller waits for, on whatever thread it ends. */
#ifndef RA_READ_BELOW_H
#define RA_READ_BELOW_H

#include "call.h"

/* ARG of its handle SUB, as read2() takes it. With an op context of the FSAL's export. */
fsal_status_t read_below(struct fsal_obj_handle *sub, bool bypass, struct fsal_io_arg *arg);
/* CALL's READ, which is parked and has a backing of a cluster: its STATUS is told. With nobody's op context. */
void read_below_of(struct call *call);

#endif /* RA_READ_BELOW_H */
