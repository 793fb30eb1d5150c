/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The file that a request is about. */
#ifndef CONTROL_FILE_OF_H
#define CONTROL_FILE_OF_H

#include "control/control.h"
#include "control/facts.h"

/*
 * By its name, member "file"; with "dev", both as stat(2) has them, that is the inode's number, of which the host knows
 * what it is called. -1: none is named. On the channel's thread.
 */
static inline int64_t file_of(struct control_call *call, const struct control_host *host)
{
	int64_t file = control_number(call, "file"), dev = control_number(call, "dev");

	return file < 0 || dev < 0 ? file : (int64_t)host->file_name((uint64_t)dev, (uint64_t)file);
}

#endif /* CONTROL_FILE_OF_H */
