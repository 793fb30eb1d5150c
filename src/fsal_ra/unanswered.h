/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Calls to which the server gives no answer at all: NFSv3's that the FSAL below fails by NOT_OPENED (EBADF: its
 * descriptor was lost) or NOMEM. Ganesha drops them for the client to send again (nfs_RetryableError()), which
 * one that has a connection need not do.
 *
 *   sub-FSAL --NOT_OPENED--> asked again --NOT_OPENED--> DELAY: the client is told to come again
 *                                        --> what it answers then
 *
 * READs; and whatever looks for a file by its handle or its name. The kernel says ENOMEM of a handle whose inode's
 * number has just gone to a new file, as long as that is being created (iget_locked() of one that is I_CREATING); some
 * milliseconds later it says what has become of the old one.
 */
#ifndef RA_UNANSWERED_H
#define RA_UNANSWERED_H

#include "call.h"
#include "common/clock.h"

/*
 * CALL's READ was answered by its sub-FSAL's handle SUB with *STATUS. True: it was asked again, and CB is called,
 * or has been. False: *STATUS is the answer, which is DELAY where it would have been none.
 */
bool unanswered_again(struct call *call, struct fsal_obj_handle *sub, fsal_status_t *status,
		      fsal_async_cb cb);

/*
 * The same of *STATUS of a handle or a name that was looked for; *TRIES is 0 at first. True: look again; it has waited
 * for 1 ms, or each time twice as long, so many times: 31 ms in sum at most. False: *STATUS is the answer.
 */
#define UNANSWERED_TRIES 5
bool unanswered_find(fsal_status_t *status, unsigned int *tries);

#endif /* RA_UNANSWERED_H */
