/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Calls to which the server gives no answer at all: NFSv3's that the FSAL below fails by NOT_OPENED (EBADF: its
 * descriptor was lost) or NOMEM. Ganesha drops them for the client to send again (nfs_RetryableError()), which
 * one that has a connection need not do.
 *
 *   sub-FSAL --NOT_OPENED--> asked again --NOT_OPENED--> DELAY: the client is told to come again
 *                                        --> what it answers then
 *
 * READs; and whatever asks for a file by its handle or its name: FSAL_VFS says NOMEM of one that is replaced by
 * another at that moment, too, and of that it says the second time what has become of it.
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

/*
 * The same of *STATUS of a handle or a name that was looked for. *AGAIN is false at first. True: look again. False:
 * *STATUS is the answer.
 */
bool unanswered_find(fsal_status_t *status, bool *again);

#endif /* RA_UNANSWERED_H */
