/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Calls that would have no answer. See unanswered.h. */
#include "unanswered.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <time.h>

/* NFSv4 answers all. */
static bool is_dropped(fsal_status_t status)
{
	return status.major == ERR_FSAL_NOT_OPENED || status.major == ERR_FSAL_NOMEM;
}

/* The first time: what fails so may do so for each READ. */
static void say(const struct call *call, fsal_status_t status)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		LogWarn(COMPONENT_FSAL,
			"RA: the FSAL below failed a READ of inode %" PRIu64
			" by %s, errno %d, to which the server gives no answer: it is asked again, "
			"or else the client told to come again",
			call->obj_hdl->fileid, msg_fsal_err(status.major), status.minor);
}

bool unanswered_again(struct call *call, struct fsal_obj_handle *sub, fsal_status_t *status,
		      fsal_async_cb cb)
{
	if (!is_dropped(*status) || call->read_arg->state != NULL) /* with a state it is NFSv4's */
		return false;
	say(call, *status);
	if (!call->again && sub->fs != NULL) { /* one that answers on this thread */
		call->again = true;
		SUBCALL(call->exp,
			sub->obj_ops->read2(sub, call->bypass, cb, call->read_arg, call));
		return true;
	}
	*status = fsalstat(ERR_FSAL_DELAY, EAGAIN);
	return false;
}

static void say_find(fsal_status_t status)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		LogWarn(COMPONENT_FSAL,
			"RA: the FSAL below found no file by %s, errno %d, to which the server "
			"gives no answer: it is asked again, or else the client told to come "
			"again",
			msg_fsal_err(status.major), status.minor);
}

bool unanswered_find(fsal_status_t *status, unsigned int *tries)
{
	struct timespec wait = {.tv_nsec = (long)(CLOCK_MS << *tries)};

	if (!is_dropped(*status))
		return false;
	say_find(*status);
	if (*tries == UNANSWERED_TRIES) {
		*status = fsalstat(ERR_FSAL_DELAY, EAGAIN);
		return false;
	}
	nanosleep(&wait, NULL);
	++*tries;
	return true;
}
