/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The two calls that touch a mount, each in a child (async_call.h), as either may hang with its
 * server:
 *
 *   ask    statfs(2), which is one FSSTAT: the counters that carry prices
 *   push   syncfs(2): what has been written goes to the server now
 *
 * A call is that of one mount, by its id: where another mount stands at the path, a call that still
 * hangs in the one before is dropped, and its answer counts no more. One thread.
 */
#ifndef CLIENT_MOUNT_CALLS_H
#define CLIENT_MOUNT_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "async_call.h"
#include "mounts.h"

/* Calls to one server of which pushes, which last, leave the rest of the places to questions, which do not. */
#define PUSHES_MAX (ASYNC_GROUP_MAX / 2)

struct mount_place {
	const char *root; /* before PATH: "" but in tests */
	const char *path; /* where it is mounted */
	const char *
		replies; /* a file to take replies from in place of statfs, or a directory of them; NULL */
	uint32_t server; /* of struct mount */
	const char *
		device; /* the same: nothing else is pushed; NULL: whatever stands there, in tests */
};

struct mount_reply {
	uint64_t total, avail; /* inodes, as f_files and f_favail of statvfs(3) */
	int error;	       /* errno, 0 */
};

/* All zero: none under way. */
struct mount_calls {
	struct async_call ask, push;
	unsigned int mount; /* the id of whose they are */
};

/* From now on of mount ID. False: the calls of the one before hang, as too many others do. */
bool mount_calls_adopt(struct mount_calls *c, unsigned int id, struct async_pool *pool);
/* Nobody asks any more: they are given up, also those that hang. */
void mount_calls_leave(struct mount_calls *c, struct async_pool *pool);
/* Begins a call, where that kind is not under way. False: it is, or too many to its server are: PUSHES_MAX for a push. */
bool mount_calls_ask(struct mount_calls *c, const struct mount_place *at, struct async_pool *pool);
bool mount_calls_push(struct mount_calls *c, const struct mount_place *at, struct async_pool *pool);
/* A question is under way. */
bool mount_calls_asks(const struct mount_calls *c);
/* True once for each call that has returned. */
bool mount_calls_asked(struct mount_calls *c, struct mount_reply *reply);
bool mount_calls_pushed(struct mount_calls *c, int *error);

#endif
