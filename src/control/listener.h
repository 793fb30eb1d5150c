/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The listening socket and its place in the file system. */
#ifndef CONTROL_LISTENER_H
#define CONTROL_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

struct listener {
	int fd;
	int dir;	  /* of the socket's file */
	int lock;	  /* while it is made */
	const char *name; /* in path: the last component */
	dev_t dev;	  /* of the file that we made */
	ino_t ino;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/*
 * Opens it, non-blocking, mode 0600, or 0660 of GROUP where that is not (gid_t)-1. Returns 0, or an errno after
 * LOG was told why.
 */
int listener_open(struct listener *l, const char *path, gid_t group, void (*log)(const char *line));
/* Closes it and removes its file, unless that is another's by now. */
void listener_close(struct listener *l);

#endif /* CONTROL_LISTENER_H */
