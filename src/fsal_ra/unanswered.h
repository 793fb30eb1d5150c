/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * READs to which the server gives no answer at all: NFSv3's that the FSAL below fails by NOT_OPENED (EBADF: its
 * descriptor was lost) or NOMEM. Ganesha drops them for the client to send again (nfs_RetryableError()), which
 * one that has a connection need not do.
 *
 *   sub-FSAL --NOT_OPENED--> asked again --NOT_OPENED--> DELAY: the client is told to come again
 *                                        --> what it answers then
 */
#ifndef RA_UNANSWERED_H
#define RA_UNANSWERED_H

#include "call.h"

/*
 * CALL's READ was answered by its sub-FSAL's handle SUB with *STATUS. True: it was asked again, and CB is called,
 * or has been. False: *STATUS is the answer, which is DELAY where it would have been none.
 */
bool unanswered_again(struct call *call, struct fsal_obj_handle *sub, fsal_status_t *status,
		      fsal_async_cb cb);

#endif /* RA_UNANSWERED_H */
