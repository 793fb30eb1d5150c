/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is mounted where, out of /proc/self/mountinfo. The mount point itself is never touched:
 * where its server hangs, so would we.
 */
#ifndef CLIENT_MOUNTS_H
#define CLIENT_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOUNT_DEVICE 24 /* bytes of a name */

enum mount_kind {
	MOUNT_NONE,   /* nothing is mounted there */
	MOUNT_AUTOFS, /* will be mounted when somebody looks; we do not */
	MOUNT_OTHER,  /* not NFS */
	MOUNT_NFS4,   /* NFS, of another version than 3 */
	MOUNT_NFS3,   /* the one kind that carries prices */
};

struct mount {
	enum mount_kind kind;
	unsigned int id;	   /* another one for each mount */
	unsigned int parent;	   /* the id of what it is mounted on */
	bool automounted;	   /* it lies below a mount of autofs, direct or indirect */
	char device[MOUNT_DEVICE]; /* major:minor, the name of its bdi */
	char type[24];		   /* of file system */
	uint32_t server; /* a number made of the server's name; servers seldom share one */
	uint32_t source; /* the same of server and export */
};

/* The text of mountinfo, read again from time to time. All zero: not yet. */
struct mount_table {
	char *text;	   /* its lines, with a 0 behind each; NULL: none */
	size_t size, room; /* bytes: of the text without its 0, and allocated */
	uint64_t changes;  /* how often another text was read */
};

/* What keeps this mount from carrying prices, in words; "": nothing. */
const char *mount_obstacle(const struct mount *m, char *text, size_t size);
/* The same mount still, as far as the table tells: what is mounted anew at once may have the same id and device. */
bool mount_same(const struct mount *a, const struct mount *b);

/* A line of mountinfo, any bytes. False: not about PATH, or malformed; *M is as before. */
bool mount_parse(const char *line, const char *path, struct mount *m);

/*
 * Reads the file MOUNTINFO into T, once for all mounts. 0; or an errno when it cannot be read, and T
 * is as before.
 */
int mount_table_read(struct mount_table *t, const char *mountinfo);
/* What is mounted at PATH; of several mounts the one on top. A mount of autofs is found by the way from parent to
 * parent, where the table has them: one for the same path is the parent, too. */
void mount_table_find(const struct mount_table *t, const char *path, struct mount *m);
/*
 * Whether PATH, which is tidy (path_text.h), lies on a file system that may hang because something else does: a server, a daemon,
 * a look that mounts. By the text of PATH, which is not touched: links in it lead elsewhere. False without a table.
 */
bool mount_table_may_hang(const struct mount_table *t, const char *path);
void mount_table_free(struct mount_table *t);

#endif
