/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is mounted where, out of /proc/self/mountinfo. The mount point itself is never touched:
 * where its server hangs, so would we.
 */
#ifndef CLIENT_MOUNTS_H
#define CLIENT_MOUNTS_H

#include <stdbool.h>

enum mount_kind {
	MOUNT_NONE,  /* nothing is mounted there */
	MOUNT_OTHER, /* not NFS */
	MOUNT_NFS4,  /* NFS, of another version than 3 */
	MOUNT_NFS3,
};

struct mount {
	enum mount_kind kind;
	unsigned int id; /* another one for each mount */
	char device[24]; /* major:minor, the name of its bdi */
	char type[24];	 /* of file system */
};

/* One line of mountinfo. False: it is not about PATH, or malformed; *M is as before. */
bool mount_parse(const char *line, const char *path, struct mount *m);

/*
 * What is mounted at PATH, in the file MOUNTINFO; of several mounts the one on top. 0, or an errno
 * when the file cannot be read.
 */
int mount_find(const char *mountinfo, const char *path, struct mount *m);

#endif
