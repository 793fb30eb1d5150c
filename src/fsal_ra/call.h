/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A client's read or write on its way through the sub-FSAL.
 *
 * A call record stands in for the caller's argument while the sub-FSAL works, since the sub-FSAL
 * completes with its own handle. Records come from a small free list per thread, to which the thread
 * that answers gives them back: no malloc per read once a thread has warmed up.
 *
 *   answered on the request's thread:   call_new --> sub-FSAL --> call_done
 *   answered later by another thread:   call_new --> call_park ... call_resume --> call_done
 *                                                                             --> call_resumed
 */
#ifndef RA_CALL_H
#define RA_CALL_H

#include "common/home_list.h"
#include "disk/backing_slot.h"
#include "disk/under_way.h"
#include "subcall.h"
#include "writeback/pacer.h"

struct call {
	struct home_record record; /* first */
	struct ra_export *exp;
	struct fsal_obj_handle *obj_hdl;
	fsal_async_cb done_cb;
	void *caller_arg;
	/* resume.h */
	const struct fsal_io_arg *resume_arg;
	TAILQ_ENTRY(call) resume_link;
	fsal_status_t failed; /* before it was resumed */
	/* Of one that is parked. */
	struct gsh_export *gsh_export; /* referenced; passed to the op context */
	struct export_io *io;
	struct user_cred creds;
	/* Only of a read. */
	struct sched_req req;
	struct backing *backing;
	struct fsal_io_arg *read_arg;
	uint64_t came; /* ns */
	bool bypass, fetched;
	bool own;		 /* it may be answered from our own descriptor */
	bool absent;		 /* not in memory, as was found just now */
	bool again;		 /* the sub-FSAL was asked once more */
	bool told;		 /* ... and has answered: STATUS */
	bool refused;		 /* let go by what hangs, it found no room to go by itself */
	struct under_way below;	 /* at the FSAL below */
	struct dispatcher *past; /* it is at the cluster past that one's queue; NULL: it is not */
	size_t amount;		 /* bytes that are in its reply already */
	uint64_t
		due; /* it waits for a walk's job that has its file, of which it wants so many bytes */
	/* Only of a write. */
	struct fsal_io_arg *write_arg;
	bool stable;
	uint64_t began;	      /* ns: a cluster's; 0: where a local file system is below */
	fsal_status_t status; /* also of a read that was told */
	struct paced paced;
};

/* Life of the free lists; 0 or an errno. stop: when no call is under way, nor will be. */
int calls_start(void);
void calls_stop(void);

/* With op_ctx. */
struct call *call_new(struct fsal_obj_handle *obj_hdl, fsal_async_cb done_cb, void *caller_arg);
/* An fsal_async_cb for the sub-FSAL, with the call as its argument: answers the caller. */
void call_done(struct fsal_obj_handle *sub, fsal_status_t status, void *obj_data,
	       void *caller_data);

/* Bytes of a read or write: the request's own fields are not set by every version. */
size_t call_length(const struct fsal_io_arg *arg);

/* With op_ctx: keeps what another thread needs. False: the export is closing. */
bool call_park(struct call *call);
/* As if it had not been parked. */
void call_unpark(struct call *call);
/*
 * On another thread: CTX becomes the op context of the request. CALL may be gone by the time of
 * call_resumed(), which takes what call_resume() returned. NULL: the server ends and frees what CALL refers to, so
 * that nobody can be answered; CALL is gone.
 */
struct export_io *call_resume(struct call *call, struct req_op_context *ctx);
void call_resumed(struct export_io *io);
/* The context alone, of which the caller has taken the export's reference, and which he releases. */
void call_context(struct call *call, struct req_op_context *ctx);

#endif /* RA_CALL_H */
