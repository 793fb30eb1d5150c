/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the kernel counts of NFS mounts, out of /proc/self/mountstats: what programs asked for beside
 * what came from the server. Their quotient is the hit rate of the cache. What programs read by mmap
 * is not in the first. Nothing here touches a mount.
 */
#ifndef CLIENT_MOUNTSTATS_H
#define CLIENT_MOUNTSTATS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Since it was mounted. All zero: there is no NFS mount at the path. */
struct mountstats {
	bool there;
	uint64_t programs_read, programs_written; /* bytes, by read(2), write(2) and their like */
	uint64_t direct_read;			  /* of these: past the cache (O_DIRECT) */
	uint64_t server_read, server_written;	  /* bytes */
	uint64_t reads, writes;			  /* READs and WRITEs that were sent */
	uint64_t opens;				  /* open(2) */
	uint64_t age;				  /* s: since it was mounted */
};

/* Reads all of IN, any bytes: COUNT mounts by their PATHS into FOUND; of several at a path the last, which
 * is the one on top. */
void mountstats_read(FILE *in, const char *const *paths, unsigned int count,
		     struct mountstats *found);

#endif
