/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * READs and WRITEs that end in two steps, from Ganesha 6.5 on: the FSAL below has the data, but must close a file, which it
 * may not do on the thread that told it so. It asks (fsal_resume) to be called once more with the same argument.
 *
 *   core --read2--> ours --read2--> FSAL        a record of the call (call.h)
 *   core <---cb---- ours <---cb---- FSAL        "resume": the record is kept
 *   core --read2--> ours --read2--> FSAL        the same record, with what the core says now
 *   core <---cb---- ours <---cb---- FSAL        the answer
 *
 * FSAL_CEPH then calls the callback of the first call, not of the second: so there is one record for both. It forgets an error of the
 * first step, too, which is told in the end here.
 *
 * Any thread. Kept are no more than the server has requests.
 */
#ifndef RA_RESUME_H
#define RA_RESUME_H

#include "call.h"

/*
 * CALL, of ARG, was answered by *STATUS. True: it is to be resumed, the caller was told, and nothing else is to be done; the
 * CALL may be gone. False: *STATUS is the answer.
 */
bool resume_wanted(struct call *call, struct fsal_io_arg *arg, fsal_status_t *status);
/* With op_ctx: the record of ARG, which is resumed, with its new caller; NULL: none is kept. */
struct call *resume_taken(struct fsal_obj_handle *obj_hdl, const struct fsal_io_arg *arg,
			  fsal_async_cb done_cb, void *caller_arg);

#endif /* RA_RESUME_H */
